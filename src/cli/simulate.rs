//! `isobar simulate`: a scene's motion, as a trajectory file.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

use super::loaded::print_loaded;
use super::{Error, is_zero, load_scene, print_motion_warnings, skirt_line};
use crate::io::{Purpose, SceneSummary, write_trajectory, write_trajectory_with_forces};
use crate::multibody::NoForces;
use crate::rollout::{SimulationError, Trajectory, simulate_watched};

/// Arguments of `isobar simulate`.
#[derive(Debug, Args)]
pub(super) struct SimulateArguments {
    /// Scene file, TOML or JSON
    scene: PathBuf,
    /// End of the simulation, s
    #[arg(long)]
    until: f64,
    /// Trajectory file to write, CSV
    #[arg(long)]
    out: PathBuf,
    /// Commands of actuators, TOML as `isobar optimize` writes it, in place of those of the scene
    #[arg(long, value_name = "FILE")]
    commands: Option<PathBuf>,
    /// Also write the contact wrench of each pair of bodies that can touch: A-B.fx_N, ..., A-B.tz_N_m,
    /// on A about A's origin in the world frame, at each state's poses and velocities
    #[arg(long)]
    forces: bool,
    /// Print the summary as JSON
    #[arg(long)]
    json: bool,
}

/// What is printed. SI units, world frame.
#[derive(Debug, Serialize)]
struct Summary {
    out: String,
    steps: usize,
    time_step: f64,
    until: f64,
    /// Thickness of the skirts, m.
    #[serde(skip_serializing_if = "is_zero")]
    skirt: f64,
    loaded: SceneSummary,
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

/// Loads the scene, simulates it, writes the trajectory (up to the step that failed, if one did)
/// and prints a summary.
pub(super) fn run(arguments: &SimulateArguments) -> Result<(), Error> {
    let mut scene = load_scene(&arguments.scene, Purpose::Simulation)?;
    if let Some(file) = &arguments.commands {
        scene.read_commands(file)?;
    }
    let scene = scene;
    let settings = scene.simulation_settings()?;
    let failed = |source| match source {
        SimulationError::Until(until) => Error::Argument {
            name: "until",
            found: until.to_string(),
            allowed: "at least 0 and finite, in seconds",
        },
        source => Error::Simulation { path: scene.path.display().to_string(), source },
    };
    let times = settings.step_times(arguments.until).map_err(failed)?;
    let steps = times.len() - 1;
    let controls = scene.controls(&times);
    let loaded = scene.summary(scene.model.pairs.iter().map(|pair| pair.bodies));
    if !arguments.json {
        print_loaded(&loaded);
    }
    let bar = ProgressBar::new(steps as u64);
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos}/{len} steps, {eta} left") {
        bar.set_style(style);
    }
    let observe = |time: f64, _: &_| {
        if time > 0.0 {
            bar.inc(1);
        }
    };
    let mut trajectory = Trajectory::starting_at(&scene.state);
    let until = arguments.until;
    let (outcome, warnings) =
        simulate_watched(&mut trajectory, &scene.model, &settings, until, &NoForces, &controls, observe);
    bar.finish_and_clear();
    // What came before a step that failed is worth looking at.
    match &outcome {
        Err(error) if !error.is_failed_step() => {}
        _ if arguments.forces => write_trajectory_with_forces(&arguments.out, &scene.model, &trajectory)?,
        _ => write_trajectory(&arguments.out, &scene.model, &trajectory)?,
    }
    print_motion_warnings(&warnings);
    outcome.map_err(failed)?;
    let last = trajectory.states.last().unwrap_or(&scene.state);
    let bodies = scene.model.free_bodies().zip(&last.bodies).map(|((_, body, _), s)| BodySummary {
        name: body.name.clone(),
        position: s.position.into(),
        quaternion_wxyz: [s.orientation.w, s.orientation.v.x, s.orientation.v.y, s.orientation.v.z],
        linear_velocity: s.velocity.translational.into(),
        angular_velocity: s.velocity.rotational.into(),
    });
    let joints = scene.model.mechanism.joints().iter().map(|joint| JointSummary {
        name: joint.name.clone(),
        kind: joint.kind.name(),
        q: last.joints.q[joint.q.clone()].to_vec(),
        v: last.joints.v[joint.v.clone()].to_vec(),
    });
    let summary = Summary {
        out: arguments.out.display().to_string(),
        steps,
        time_step: settings.time_step,
        until: arguments.until,
        skirt: scene.skirt,
        loaded,
        bodies: bodies.collect(),
        joints: joints.collect(),
    };
    let mut out = std::io::stdout().lock();
    if arguments.json {
        serde_json::to_writer_pretty(&mut out, &summary).map_err(std::io::Error::from)?;
        writeln!(out)?;
    } else {
        writeln!(
            out,
            "{} steps of {} s until t = {} s, written to {}",
            summary.steps, summary.time_step, summary.until, summary.out
        )?;
        if let Some(line) = skirt_line(summary.skirt) {
            writeln!(out, "{line}")?;
        }
        for body in &summary.bodies {
            writeln!(out, "{}", body.name)?;
            for (label, v) in [
                ("position, m", &body.position),
                ("velocity, m/s", &body.linear_velocity),
                ("angular velocity, rad/s", &body.angular_velocity),
            ] {
                print_numbers(&mut out, label, v)?;
            }
        }
        for joint in &summary.joints {
            writeln!(out, "{} ({})", joint.name, joint.kind)?;
            print_numbers(&mut out, "q", &joint.q)?;
            print_numbers(&mut out, "v", &joint.v)?;
        }
    }
    Ok(())
}

/// A line of numbers.
fn print_numbers(out: &mut impl Write, label: &str, numbers: &[f64]) -> std::io::Result<()> {
    write!(out, "  {label:<24}")?;
    for x in numbers {
        write!(out, " {x:>14.6e}")?;
    }
    writeln!(out)
}
