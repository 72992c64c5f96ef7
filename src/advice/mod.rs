//! What to expect of a scene before it is simulated, and what to change in it.
//!
//! Each two bodies that can touch are pressed together, with the weight of the lighter one or as they are in a motion,
//! with their own meshes and fields. What comes of it (penetration, patch, stiffness, how long an impact lasts) is held
//! against time step, meshes and materials.

mod elastic;
mod elastic_material;
mod pressing;
mod remarks;
mod resolution;

use std::collections::BTreeSet;

use serde::Serialize;

pub use elastic::{AdvisedModulus, ElasticAdvice, ElasticMaterial, ElasticSolution};
pub use elastic_material::Elastic;
pub use pressing::{Pressed, Pressing};
pub use resolution::{Fineness, ResolutionAdvice};

use crate::geometry::Shape;
use crate::multibody::{BodyFrame, GeometryPair, Model, PairWorkspace, State};
use crate::rollout::SimulationSettings;
use crate::spatial::SpatialVelocity;
use elastic::elastic_advice;
use pressing::{mass, press};
use remarks::{Subject, mesh, remarks};
use resolution::{is_pressed, resolution_advice};

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
    /// The bodies as elastic ones, where one of them is to be that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elastic: Option<ElasticAdvice>,
    /// How fine the meshes of primitive shapes should be, of each shape once: where it is pressed hardest.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resolutions: Vec<ResolutionAdvice>,
    /// What should be changed: each a sentence with its number, and what to write instead.
    pub remarks: Vec<String>,
}

/// The frames of the bodies in a state in which they do not move.
fn frames_at_rest(model: &Model, state: &State, frames: &mut Vec<BodyFrame>) {
    model.body_frames(state, frames);
    frames.iter_mut().for_each(|frame| frame.velocity = SpatialVelocity::zero());
}

/// The pairs of geometries with a pressure between them, those of two bodies together.
fn pressed_pairs(model: &Model) -> Vec<Vec<GeometryPair>> {
    let compliant: Vec<_> = model.pairs().iter().copied().filter(|pair| !model.is_rigid_pair(pair)).collect();
    compliant.chunk_by(|p, q| p.bodies == q.bodies).map(<[_]>::to_vec).collect()
}

/// Presses the bodies of a model together two by two, from where they are in a state.
///
/// # Panics
/// When the state does not belong to the model.
pub fn advise(model: &Model, state: &State, settings: &SimulationSettings, how: &Pressing) -> Advice {
    let mut frames = Vec::new();
    frames_at_rest(model, state, &mut frames);
    let pairs = pressed_pairs(model);
    together(pairs.iter().map(|pairs| pair_advice(model, &frames, pairs, settings, how)).collect())
}

/// The advice on all pairs of bodies, with that on the resolution of shapes: of each where it is pressed hardest and, of the
/// same load, on the smallest surface, so that one number is told for all its contacts.
fn together(mut looked: Vec<(Subject, PairAdvice)>) -> Advice {
    let mut order: Vec<_> = looked.iter_mut().filter(|(_, advice)| advice.pressed.is_some()).collect();
    let area = |advice: &PairAdvice| advice.pressed.map_or(0.0, |pressed| pressed.area);
    order.sort_by(|(_, p), (_, q)| q.load.total_cmp(&p.load).then(area(p).total_cmp(&area(q))));
    let mut known = Vec::new();
    for (subject, advice) in order {
        let places: BTreeSet<_> = subject.pairs.iter().flat_map(GeometryPair::geometries).collect();
        // Whether there is a mesh of which no resolution is known.
        let mut is_unknown = false;
        for place in places {
            let geometry = &subject.model.bodies()[place.0].geometries[place.1];
            let Some(primitive) = geometry.primitive else {
                is_unknown |= !geometry.collider.geometry.is_half_space();
                continue;
            };
            let shape = (primitive, geometry.material);
            // Flat faces need no resolution.
            let is_box = matches!(primitive.0, Shape::Box { .. });
            if !is_box && !known.contains(&shape) && is_pressed(subject, place) {
                known.push(shape);
                let found = resolution_advice(subject, place);
                is_unknown |= found.is_none();
                advice.resolutions.extend(found.filter(|found| found.advised != found.now));
            }
        }
        advice.remarks.extend(advice.resolutions.iter().map(ResolutionAdvice::remark));
        if is_unknown && advice.resolutions.is_empty() {
            advice.remarks.extend(advice.pressed.as_ref().and_then(mesh));
        }
    }
    Advice { pairs: looked.into_iter().map(|(_, advice)| advice).collect() }
}

/// Where two bodies press each other hardest on a motion that is looked at.
#[derive(Clone, Debug)]
struct Hardest {
    pairs: Vec<GeometryPair>,
    force: f64,
    frames: Vec<BodyFrame>,
}

/// Presses bodies together two by two as they are in a motion: where the pressure's force between them is largest, along
/// it and with as much of it.
#[derive(Debug)]
pub struct MotionAdvice<'m> {
    model: &'m Model,
    hardest: Vec<Hardest>,
    frames: Vec<BodyFrame>,
    workspace: PairWorkspace,
}

impl<'m> MotionAdvice<'m> {
    /// Before a motion of this model.
    pub fn new(model: &'m Model) -> Self {
        let none = |pairs| Hardest { pairs, force: 0.0, frames: Vec::new() };
        let hardest = pressed_pairs(model).into_iter().map(none).collect();
        Self { model, hardest, frames: Vec::new(), workspace: PairWorkspace::default() }
    }

    /// Looks at a state of the motion.
    ///
    /// # Panics
    /// When it does not belong to the model.
    pub fn observe(&mut self, state: &State) {
        frames_at_rest(self.model, state, &mut self.frames);
        for hardest in &mut self.hardest {
            let contact = self.model.body_pair_contact(&self.frames, &hardest.pairs, &mut self.workspace);
            let force = contact.wrench_on_a.translational.norm();
            if force > hardest.force {
                hardest.force = force;
                hardest.frames.clone_from(&self.frames);
            }
        }
    }

    /// What to expect of the bodies that touched. They are pressed together from where they are: of `how` the load, another
    /// one than theirs, and the elastic materials count.
    pub fn advice(&self, settings: &SimulationSettings, how: &Pressing) -> Advice {
        let touched = || self.hardest.iter().filter(|hardest| hardest.force > 0.0);
        let pressing = |hardest: &Hardest| {
            let (load, elastic) = (how.load.or(Some(hardest.force)), how.elastic.clone());
            Pressing { load, elastic, ..Default::default() }
        };
        let hows: Vec<Pressing> = touched().map(pressing).collect();
        let looked = touched()
            .zip(&hows)
            .map(|(hardest, how)| pair_advice(self.model, &hardest.frames, &hardest.pairs, settings, how));
        together(looked.collect())
    }
}

fn pair_advice<'m>(
    model: &'m Model,
    frames: &'m [BodyFrame],
    pairs: &'m [GeometryPair],
    settings: &'m SimulationSettings,
    how: &'m Pressing,
) -> (Subject<'m>, PairAdvice) {
    let bodies = [pairs[0].bodies.a, pairs[0].bodies.b];
    let masses = bodies.map(|body| mass(model, body));
    let lighter = masses[0].min(masses[1]);
    let gravity = if model.gravity().norm() > 0.0 { model.gravity().norm() } else { GRAVITY };
    // Links without a mass of their own weigh nothing that could be told.
    let weight = if lighter.is_finite() { lighter * gravity } else { LOAD_WITHOUT_MASS };
    let load = how.load.unwrap_or(weight);
    let effective_mass = 1.0 / masses.iter().map(|mass| 1.0 / mass).sum::<f64>();
    let pressed = press(model, frames, pairs, load, how);
    let time = |pressed: &Pressed| std::f64::consts::PI * (effective_mass / pressed.stiffness).sqrt();
    // None where the force falls with the penetration, or nothing has a mass.
    let contact_time = pressed.as_ref().ok().map(time).filter(|time| time.is_finite());
    let subject = Subject { model, frames, pairs, settings, load, how, effective_mass };
    let mut remarks = remarks(&subject, &pressed);
    let elastic =
        elastic_advice(&subject).and_then(|advice| advice.map_err(|remark| remarks.push(remark)).ok());
    let [a, b] = bodies.map(|body| model.bodies()[body].name.clone());
    let (pressed, resolutions) = (pressed.ok(), Vec::new());
    (subject, PairAdvice { a, b, load, pressed, contact_time, elastic, resolutions, remarks })
}

#[cfg(test)]
mod tests;
