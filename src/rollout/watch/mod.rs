//! Finds what a simulation does that its user would not want and might not notice. The motion is
//! examined step by step, and the findings are returned as values.

mod energy;
mod energy_change;
mod passage;
mod patch_look;
mod rebound;
mod rolling;
mod seen;
mod warning;

pub use warning::{MotionWarning, WarningCause};

use self::energy::Energies;
use self::passage::Passages;
use self::patch_look::{PatchLook, smallest_extent};
use self::rebound::Rebounds;
use self::rolling::Rolling;
use self::seen::Seen;
use super::report::{StepReport, TakenStep};
use crate::contact::{ContactPair, FeaturePair, Features, PairMaterial, Rim, Workspace, find_features};
use crate::multibody::{BodyFrame, GeometryPair, JointKinematics, Model, State, with_pair};
use crate::spatial::RigidTransform;
use crate::step::Gliding;

/// An explicit method follows a contact of stiffness k on a mass m if ω δt with ω = √(k/m) is at
/// most this: of the contact, half a period π/ω, three steps see something then. Semi-implicit
/// Euler is unstable beyond 2, the Runge–Kutta method beyond 2√2.
const RESOLVED_TURN: f64 = 1.0;
/// An explicit method is unstable where friction changes a slip velocity by more than this times
/// itself over a step.
const STABLE_FRICTION: f64 = 2.0;
/// A contact is looked at again when its force has grown by this factor.
const GROWTH: f64 = 1.2;
/// Overlaps at the start are told if they are deeper than this part of the body's smallest side.
const DEEP_OVERLAP: f64 = 0.1;

/// Overlaps of rigid bodies at the start count from this part of the smaller body's smallest side: one step undoes them.
const RIGID_OVERLAP: f64 = 1e-4;

/// The smallest side of the smaller of two geometries, m.
fn smaller_size(model: &Model, pair: &GeometryPair) -> f64 {
    let sizes = pair
        .geometries()
        .map(|(body, geometry)| smallest_extent(&model.bodies[body].geometries[geometry].collider));
    sizes[0].min(sizes[1])
}

/// How deep two rigid geometries overlap, m; 0 where they are apart.
fn rigid_overlap(query: &ContactPair) -> f64 {
    let (mut found, here) = (Features::default(), RigidTransform::identity());
    find_features((query.a, &query.x_wa), (query.b, &query.x_wb), 0.0, Rim::Points, &mut found);
    let distance = |features: &FeaturePair| {
        features.prepare((query.a, &here), (query.b, &here)).at(&query.x_wa, &query.x_wb).distance
    };
    found.pairs.iter().fold(0.0, |depth, features| f64::max(depth, -distance(features)))
}

/// What is known of a pair of geometries.
#[derive(Clone, Copy, Debug, Default)]
struct PairState {
    /// The force at which it was looked at last, N.
    looked_at: f64,
    /// How much friction changes a slip velocity over a step there, per force, m/s/N.
    slope: f64,
    stiffness_told: bool,
    friction_told: bool,
    gliding_told: bool,
}

/// Watches a simulation. Call [`Self::look`] with every report, including that of the initial state.
#[derive(Debug, Default)]
pub struct Watch {
    started: bool,
    warnings: Vec<MotionWarning>,
    pairs: Vec<PairState>,
    passages: Passages,
    energies: Energies,
    rebounds: Rebounds,
    rolling: Rolling,
    /// Of the state that is looked at, and of the one before.
    frames: Vec<BodyFrame>,
    before: Vec<BodyFrame>,
    joints: JointKinematics,
    scratch: Workspace,
}

impl Watch {
    /// The warnings so far, in order of time.
    pub fn into_warnings(self) -> Vec<MotionWarning> {
        self.warnings
    }

    /// Examines a state of a simulation and the step that led to it. At the initial state it also looks
    /// for deep overlaps.
    pub fn look(&mut self, step: &StepReport<'_>) {
        let StepReport { model, time, state, .. } = *step;
        match &step.taken {
            Some(taken) if self.started => self.look_at_step(model, time, state, taken),
            _ => self.look_at_start(model, state, time),
        }
    }

    fn look_at_step(&mut self, model: &Model, time: f64, after: &State, taken: &TakenStep<'_>) {
        std::mem::swap(&mut self.frames, &mut self.before);
        model.update_frames(after, &mut self.frames, &mut self.joints);
        for glide in taken.gliding() {
            if !std::mem::replace(&mut self.pairs[glide.pair].gliding_told, true) {
                let Gliding { slip_velocity, gap, depth, .. } = glide;
                let cause = WarningCause::Gliding { slip_velocity, gap, depth };
                self.warnings.push(MotionWarning::of_pair(model, glide.pair, time, cause));
            }
        }
        for (pair, force) in taken.explicit_loads() {
            if !self.look_at_explicit(model, after, pair, force, taken) {
                // One step has thrown them apart: they touched at its start.
                model.update_frames(taken.before, &mut self.frames, &mut self.joints);
                self.look_at_explicit(model, taken.before, pair, force, taken);
                model.update_frames(after, &mut self.frames, &mut self.joints);
            }
        }
        let Self { passages, energies, rebounds, rolling, warnings, frames, before, joints, .. } = self;
        passages.after_step(model, frames, time, taken.time_step, warnings);
        let mut seen = Seen { model, time, after, taken, before_frames: before, frames, joints };
        rebounds.after_step(&mut seen, warnings);
        rolling.after_step(&seen, warnings);
        energies.after_step(seen, warnings);
    }

    /// The contact of a pair, if it has one.
    fn look_at_patch(&mut self, model: &Model, pair: &GeometryPair) -> Option<PatchLook> {
        let Self { frames, scratch, .. } = self;
        with_pair(model, frames, pair, |query: &ContactPair| PatchLook::new(query, &model.contact, scratch))
    }

    /// Whether an explicit step is short enough for the stiffness and the friction of a contact that
    /// bears a force in N, in a state whose frames are there. Returns whether there is such a contact then, or
    /// it need not be looked at.
    fn look_at_explicit(
        &mut self,
        model: &Model,
        state: &State,
        pair: usize,
        force: f64,
        taken: &TakenStep<'_>,
    ) -> bool {
        let TakenStep { start: time, time_step: dt, .. } = *taken;
        let known = self.pairs[pair];
        // Friction turns stiff as sliding slows down, at the same force.
        let v_s = model.contact.stiction_velocity;
        let stiff_friction = !known.friction_told && known.slope * force > STABLE_FRICTION * v_s;
        let grown = !(known.stiffness_told && known.friction_told) && force > GROWTH * known.looked_at;
        if !grown && !stiff_friction {
            return true;
        }
        let Some(look) = self.look_at_patch(model, &model.pairs[pair]) else { return false };
        self.pairs[pair].looked_at = force;
        let bodies = model.pairs[pair].bodies;
        // A body may give way more easily along the surface than into it: a ball rolls.
        let [into, along] = [look.normal, look.slip_direction()].map(|direction| {
            let Self { frames, joints, .. } = &mut *self;
            patch_look::mobility(model, state, frames, joints, bodies, &look.centroid, &direction)
        });
        let turn = (look.stiffness * into).sqrt() * dt;
        if turn > RESOLVED_TURN && !known.stiffness_told {
            self.pairs[pair].stiffness_told = true;
            let longest = dt * RESOLVED_TURN / turn;
            let cause = WarningCause::StiffContact { stiffness: look.stiffness, turn, dt, longest };
            self.warnings.push(MotionWarning::of_pair(model, pair, time, cause));
        }
        let per_force = with_pair(model, &self.frames, &model.pairs[pair], |query: &ContactPair| {
            PairMaterial::of(query.a, query.b, None).static_friction
        }) * dt
            * along;
        self.pairs[pair].slope = per_force;
        let slope = per_force * force;
        // Faster sliding is not stiff: friction does not turn it round within a step.
        if slope > STABLE_FRICTION * v_s && look.slip.norm() <= slope && !known.friction_told {
            self.pairs[pair].friction_told = true;
            let cause = WarningCause::StiffFriction { ratio: slope / v_s, limit: STABLE_FRICTION };
            self.warnings.push(MotionWarning::of_pair(model, pair, time, cause));
        }
        true
    }

    /// Begins: tells deep overlaps, and bodies inside others.
    fn look_at_start(&mut self, model: &Model, state: &State, time: f64) {
        model.update_frames(state, &mut self.frames, &mut self.joints);
        self.passages = Passages::new(model, &self.frames);
        self.pairs = vec![PairState::default(); model.pairs.len()];
        self.started = true;
        self.energies = Energies::new(model, state, &self.frames, &mut self.joints);
        (self.rebounds, self.rolling) = (Rebounds::default(), Rolling::default());
        let mut deep = vec![false; model.pairs.len()];
        for (index, pair) in model.pairs.iter().enumerate() {
            if model.is_rigid_pair(pair) {
                let depth = with_pair(model, &self.frames, pair, rigid_overlap);
                if depth > RIGID_OVERLAP * smaller_size(model, pair) {
                    let cause = WarningCause::RigidOverlap { depth };
                    self.warnings.push(MotionWarning::of_pair(model, index, time, cause));
                    deep[index] = true;
                }
                continue;
            }
            let Some(look) = self.look_at_patch(model, pair) else { continue };
            self.energies.add_stored(model, &self.frames, pair);
            let size = smaller_size(model, pair);
            if look.depth > DEEP_OVERLAP * size {
                // Where middles are close, pressure over gradient is more than there can be.
                let (depth, force) = (look.depth.min(size), look.force.norm());
                let cause = WarningCause::DeepStart { depth, size, force };
                self.warnings.push(MotionWarning::of_pair(model, index, time, cause));
                deep[index] = true;
            }
        }
        self.passages.look_at_start(model, &deep, time, &mut self.warnings);
    }
}
