//! What to expect of a scene before it is simulated, and what to change in it.
//!
//! Each two bodies that can touch are pressed together with the weight of the lighter one, with their own
//! meshes and fields. What comes of it (penetration, patch, stiffness, how long an impact lasts) is held
//! against time step, meshes and materials.

mod pressing;
mod remarks;

use serde::Serialize;

pub use pressing::Pressed;

use crate::multibody::{BodyFrame, GeometryPair, Model, State};
use crate::rollout::SimulationSettings;
use pressing::press;
use remarks::{Subject, remarks};

/// Gravity where a scene has none, m/s².
const GRAVITY: f64 = 9.81;

/// The force between bodies neither of which has a mass, N.
const LOAD_WITHOUT_MASS: f64 = 1.0;

/// What to expect of a scene.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Advice {
    /// One for each two bodies that can touch.
    pub pairs: Vec<PairAdvice>,
}

/// What to expect of two bodies.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PairAdvice {
    /// Name of body A.
    pub a: String,
    /// Name of body B.
    pub b: String,
    /// The force that they are pressed together with, N.
    pub load: f64,
    /// What comes of it; `None` if they do not meet on the way towards each other, or do not carry it.
    #[serde(flatten)]
    pub pressed: Option<Pressed>,
    /// How long an impact lasts, s: half a period of the lighter of them on the contact's stiffness.
    pub contact_time: Option<f64>,
    /// What should be changed: each a sentence with its number, and what to write instead.
    pub remarks: Vec<String>,
}

/// Presses the bodies of a model together two by two, from where they are in a state.
///
/// `load` is the force in N; without it that is the weight of the lighter of two bodies (of a link: its
/// own, without what it carries), or 1 N where neither has a mass.
///
/// # Panics
/// When the state does not belong to the model.
pub fn advise(model: &Model, state: &State, settings: &SimulationSettings, load: Option<f64>) -> Advice {
    let mut frames: Vec<BodyFrame> = Vec::new();
    model.body_frames(state, &mut frames);
    for frame in &mut frames {
        frame.velocity = crate::spatial::SpatialVelocity::zero();
    }
    let compliant: Vec<_> = model.pairs().iter().copied().filter(|pair| !model.is_rigid_pair(pair)).collect();
    let groups = compliant.chunk_by(|p, q| p.bodies == q.bodies);
    Advice { pairs: groups.map(|pairs| pair_advice(model, &frames, pairs, settings, load)).collect() }
}

fn pair_advice(
    model: &Model,
    frames: &[BodyFrame],
    pairs: &[GeometryPair],
    settings: &SimulationSettings,
    load: Option<f64>,
) -> PairAdvice {
    let bodies = [pairs[0].bodies.a, pairs[0].bodies.b];
    let masses = bodies.map(|body| model.body_mass(body).map_or(f64::INFINITY, |mass| mass.mass));
    let lighter = masses[0].min(masses[1]);
    let gravity = if model.gravity().norm() > 0.0 { model.gravity().norm() } else { GRAVITY };
    // Links without a mass of their own weigh nothing that could be told.
    let weight = if lighter.is_finite() { lighter * gravity } else { LOAD_WITHOUT_MASS };
    let load = load.unwrap_or(weight);
    // A fixed body is infinitely heavy.
    let effective_mass = 1.0 / masses.iter().map(|mass| 1.0 / mass).sum::<f64>();
    let pressed = press(model, frames, pairs, load);
    let time = |pressed: &Pressed| std::f64::consts::PI * (effective_mass / pressed.stiffness).sqrt();
    // None where the force falls with the penetration, or nothing has a mass.
    let contact_time = pressed.as_ref().ok().map(time).filter(|time| time.is_finite());
    let subject = Subject { model, frames, pairs, settings, load, effective_mass };
    let remarks = remarks(&subject, &pressed);
    let [a, b] = bodies.map(|body| model.bodies()[body].name.clone());
    PairAdvice { a, b, load, pressed: pressed.ok(), contact_time, remarks }
}

#[cfg(test)]
mod tests;
