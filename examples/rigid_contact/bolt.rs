//! The bolt of Hotz et al. (1999), §1, as `bolt.toml` has it: its motion, and how deep it overlaps the plate, by samples.

use std::error::Error;
use std::f64::consts::TAU;
use std::path::Path;

use isobar::Scene;
use isobar::multibody::{BodyState, Model, State};
use isobar::spatial::RigidTransform;
use isobar::step::{ComplementarityMethod, Integrator, RigidContact, StepError, StepProblem, StepWorkspace};
use nalgebra::Vector3;

/// The scene file.
pub const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/rigid_contact/bolt.toml");
/// Points of each circle at which the overlap is looked for before it is made exact between them.
const SAMPLES: usize = 512;

/// A scene with a bolt and a hole.
pub struct BoltScene {
    pub model: Model,
    pub start: State,
    pub time_step: f64,
    /// The corners of the profiles (distance from the axis, height), each with the body to the left of the line through them.
    pub bolt: Vec<[f64; 2]>,
    pub hole: Vec<[f64; 2]>,
}

/// The motion of the bolt.
#[derive(Debug, Default)]
pub struct BoltMotion {
    pub states: Vec<BodyState>,
    pub contacts: Vec<Vec<RigidContact>>,
}

impl BoltScene {
    /// The scene of the file.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, Box<dyn Error>> {
        let table: toml::Table = std::fs::read_to_string(&path)?.parse()?;
        let shape = |body: usize, kind: &str| table["bodies"][body]["geometries"][0]["shape"][kind].clone();
        let (bolt, hole) = (shape(0, "bolt"), shape(1, "hole"));
        let number = |of: &toml::Value, name: &str| of[name].as_float().ok_or(format!("{name} is no number"));
        // A tip where nothing is said.
        let tip = bolt.get("tip_radius").map_or(Some(0.0), toml::Value::as_float);
        let (radius, tip) = (number(&bolt, "radius")?, tip.ok_or("tip_radius is no number")?);
        let half = 0.5 * number(&bolt, "length")?;
        let low = -half - number(&bolt, "tip_length")?;
        let (wide, narrow) = (number(&hole, "mouth_radius")?, number(&hole, "radius")?);
        let (mouth, depth) = (number(&hole, "mouth_depth")?, number(&hole, "depth")?);
        let scene = Scene::load(&path)?;
        Ok(Self {
            bolt: vec![[0.0, low], [tip, low], [radius, -half], [radius, half], [0.0, half]],
            hole: vec![[1.0, 0.0], [wide, 0.0], [narrow, -mouth], [narrow, -depth], [0.0, -depth]],
            time_step: scene.time_step,
            start: scene.state,
            model: scene.model,
        })
    }

    /// The same with another coefficient of friction.
    pub fn with_friction(self, friction: f64) -> Result<Self, Box<dyn Error>> {
        let mut builder = self.model.into_builder();
        for material in &mut builder.materials {
            material.material.dynamic_friction = friction;
            material.material.static_friction = friction;
        }
        Ok(Self { model: builder.build()?, ..self })
    }

    /// The motion over a number of steps by a method.
    pub fn simulate(&self, method: ComplementarityMethod, steps: usize) -> Result<BoltMotion, StepError> {
        let mut workspace = StepWorkspace::default();
        let mut state = self.start.clone();
        let mut motion = BoltMotion { states: vec![state.bodies[0]], contacts: vec![Vec::new()] };
        for step in 0..steps {
            let time = step as f64 * self.time_step;
            let problem = StepProblem { time, ..StepProblem::new(&self.model, &state, self.time_step) };
            state = Integrator::Complementarity(method).step(&problem, &mut workspace)?;
            motion.states.push(state.bodies[0]);
            motion.contacts.push(workspace.rigid_contacts().to_vec());
        }
        Ok(motion)
    }

    /// How far the lowest point of the bolt is below the face of the plate, m.
    pub fn insertion(&self, state: &BodyState) -> f64 {
        let pose = state.pose();
        let lowest = |[radius, height]: [f64; 2]| {
            let axis = pose.rotation.column(2);
            (pose.translation + axis * height).z - radius * (1.0 - axis.z * axis.z).max(0.0).sqrt()
        };
        -self.bolt.iter().copied().map(lowest).fold(f64::INFINITY, f64::min)
    }

    /// The smallest distance of the bolt and the plate (m), negative where they overlap, at samples of the circles that bound
    /// the walls of each and of lines between these.
    pub fn distance(&self, state: &BodyState) -> f64 {
        let pose = state.pose();
        nearest(&self.bolt, &pose, &self.hole).min(nearest(&self.hole, &pose.inverse(), &self.bolt))
    }
}

/// The smallest distance of a body of revolution at a pose from another one at the origin.
fn nearest(own: &[[f64; 2]], pose: &RigidTransform, other: &[[f64; 2]]) -> f64 {
    let mut least = f64::INFINITY;
    for (i, corner) in own.iter().enumerate().filter(|(_, corner)| corner[0] < 0.5) {
        let at = |[radius, height]: [f64; 2], angle: f64| {
            let (sin, cos) = angle.sin_cos();
            signed_distance(other, &(*pose * Vector3::new(radius * cos, radius * sin, height)))
        };
        let step = TAU / SAMPLES as f64;
        let samples: Vec<f64> = (0..SAMPLES).map(|k| at(*corner, k as f64 * step)).collect();
        for (k, &here) in samples.iter().enumerate() {
            let (before, after) = (samples[(k + SAMPLES - 1) % SAMPLES], samples[(k + 1) % SAMPLES]);
            if here <= before && here <= after && here < 1e-3 {
                // The golden section of what lies between the neighbours.
                let (mut low, mut high) = ((k as f64 - 1.0) * step, (k as f64 + 1.0) * step);
                for _ in 0..40 {
                    let (a, b) = (high - 0.618 * (high - low), low + 0.618 * (high - low));
                    if at(*corner, a) < at(*corner, b) { high = b } else { low = a }
                }
                least = least.min(at(*corner, 0.5 * (low + high)));
            }
            least = least.min(here);
        }
        let Some(next) = own.get(i + 1).filter(|next| next[0] < 0.5) else { continue };
        for angle in (0..SAMPLES).step_by(16).map(|k| k as f64 * step) {
            for part in (1..10).map(|k| f64::from(k) / 10.0) {
                let between = [0, 1].map(|k| corner[k] + part * (next[k] - corner[k]));
                least = least.min(at(between, angle));
            }
        }
    }
    least
}

/// The distance of a point from a body of revolution around the z axis, negative inside: that from the nearest of its lines.
fn signed_distance(corners: &[[f64; 2]], point: &Vector3<f64>) -> f64 {
    let p = [point.x.hypot(point.y), point.z];
    let (mut least, mut side) = (f64::INFINITY, 0.0_f64);
    for pair in corners.windows(2) {
        let along = [pair[1][0] - pair[0][0], pair[1][1] - pair[0][1]];
        let from = [p[0] - pair[0][0], p[1] - pair[0][1]];
        let length = along[0].hypot(along[1]);
        if length == 0.0 {
            continue;
        }
        let part = ((from[0] * along[0] + from[1] * along[1]) / (length * length)).clamp(0.0, 1.0);
        let far = (from[0] - part * along[0]).hypot(from[1] - part * along[1]);
        // To the right of the line is outside. At a corner the line that is seen most directly tells.
        let beside = (from[0] * along[1] - from[1] * along[0]) / length;
        if far < least - 1e-14 || (far < least + 1e-14 && beside.abs() > side.abs()) {
            (least, side) = (far, beside);
        }
    }
    least * side.signum()
}
