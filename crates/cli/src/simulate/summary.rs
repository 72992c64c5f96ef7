//! What `isobar simulate` prints at its end.

use std::io::{self, Write};

use serde::Serialize;

use super::arguments::SimulateArguments;
use super::substeps::Substeps;
use crate::messages::{Escaping, text_output};
use crate::outputs::{print_json, write_json};
use crate::{Error, is_zero, skirt_line};
use isobar::io::{Scene, SceneSummary};
use isobar::multibody::State;
use isobar::rollout::{DiscretizationError, SimulationSettings};

/// What is printed. SI units, world frame.
#[derive(Debug, Serialize)]
pub(super) struct Summary {
    /// The trajectory file, `-` for standard output, nothing for none.
    out: Option<String>,
    steps: usize,
    time_step: f64,
    until: f64,
    /// Thickness of the skirts, m.
    #[serde(skip_serializing_if = "is_zero")]
    skirt: f64,
    loaded: SceneSummary,
    /// What error-controlled steps took.
    #[serde(skip_serializing_if = "Option::is_none")]
    substeps: Option<Substeps>,
    /// The estimated errors of the steps, where they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    discretization_errors: Option<Vec<DiscretizationError>>,
    bodies: Vec<BodySummary>,
    joints: Vec<JointSummary>,
}

/// Where a joint ended up: its configuration and velocity coordinates.
#[derive(Debug, Serialize)]
struct JointSummary {
    name: String,
    kind: &'static str,
    q: Vec<f64>,
    v: Vec<f64>,
}

/// Where a free body ended up.
#[derive(Debug, Serialize)]
struct BodySummary {
    name: String,
    position: [f64; 3],
    quaternion_wxyz: [f64; 4],
    linear_velocity: [f64; 3],
    angular_velocity: [f64; 3],
}

impl Summary {
    /// The summary of a simulation that ended in a state.
    pub fn new(
        scene: &Scene,
        loaded: SceneSummary,
        (discretization_errors, substeps): (Option<Vec<DiscretizationError>>, Option<Substeps>),
        settings: &SimulationSettings,
        arguments: &SimulateArguments,
        steps: usize,
        last: &State,
    ) -> Self {
        let bodies = scene.model.free_bodies().zip(&last.bodies).map(|((_, body, _), s)| BodySummary {
            name: body.name.clone(),
            position: s.position.into(),
            quaternion_wxyz: [s.orientation.w, s.orientation.v.x, s.orientation.v.y, s.orientation.v.z],
            linear_velocity: s.velocity.translational.into(),
            angular_velocity: s.velocity.rotational.into(),
        });
        let joints = scene.model.mechanism().joints_with_coordinates().map(|joint| JointSummary {
            name: joint.name.clone(),
            kind: joint.kind.name(),
            q: last.joints.q[joint.q.clone()].to_vec(),
            v: last.joints.v[joint.v.clone()].to_vec(),
        });
        Self {
            out: arguments.out.as_ref().map(|path| path.display().to_string()),
            steps,
            time_step: settings.time_step,
            until: arguments.until,
            skirt: scene.skirt,
            loaded,
            substeps,
            discretization_errors,
            bodies: bodies.collect(),
            joints: joints.collect(),
        }
    }

    /// Prints it where the trajectory is not.
    pub fn print(&self, arguments: &SimulateArguments) -> Result<(), Error> {
        if self.out.as_deref() != Some("-") {
            return match arguments.json {
                true => print_json(self),
                false => Ok(self.print_text(&mut text_output())?),
            };
        }
        // Where standard error cannot be written to nobody waits for it.
        let mut text = Vec::new();
        match arguments.json {
            true => write_json(&mut text, self)?,
            false => self.print_text(&mut Escaping(&mut text))?,
        }
        let _ = io::stderr().write_all(&text);
        Ok(())
    }

    fn print_text(&self, out: &mut dyn Write) -> io::Result<()> {
        write!(out, "{} steps of {} s until t = {} s", self.steps, self.time_step, self.until)?;
        match self.out.as_deref() {
            None => writeln!(out)?,
            Some("-") => writeln!(out, ", written to standard output")?,
            Some(path) => writeln!(out, ", written to {path}")?,
        }
        if let Some(substeps) = &self.substeps {
            substeps.print_text(out)?;
        }
        if let Some(line) = skirt_line(self.skirt) {
            writeln!(out, "{line}")?;
        }
        for body in &self.bodies {
            writeln!(out, "{}", body.name)?;
            for (label, v) in [
                ("position, m", &body.position),
                ("velocity, m/s", &body.linear_velocity),
                ("angular velocity, rad/s", &body.angular_velocity),
            ] {
                print_numbers(out, label, v)?;
            }
        }
        for joint in &self.joints {
            writeln!(out, "{} ({})", joint.name, joint.kind)?;
            print_numbers(out, "q", &joint.q)?;
            print_numbers(out, "v", &joint.v)?;
        }
        for error in self.discretization_errors.iter().flatten() {
            let DiscretizationError { name, position, angle } = error;
            writeln!(out, "discretization error of {name}, at the end and at most")?;
            print_numbers(out, "position, m", position)?;
            print_numbers(out, "angle, rad", angle)?;
        }
        Ok(())
    }
}

/// A line of numbers.
fn print_numbers(out: &mut dyn Write, label: &str, numbers: &[f64]) -> std::io::Result<()> {
    write!(out, "  {label:<24}")?;
    for x in numbers {
        write!(out, " {x:>14.6e}")?;
    }
    writeln!(out)
}
