//! The forces on the free bodies with their transposed derivatives.

use rayon::prelude::*;

use super::applied_sensitivity::{AppliedWorkspace, ForcePoint, add_transposed_by_inputs};
use super::broad_phase::BroadPhase;
use super::contact_forces::{pair_wrench, shares};
use super::contact_transposed::{PairCotangent, pair_cotangent};
use super::forces::AppliedForces;
use super::kinematics::BodyFrame;
use super::model::{GeometryPair, Model};
use super::model_gradient::{ModelGradient, SEEDS, SeededModel};
use super::state::State;
use crate::contact::Workspace;
use crate::scalar::DualArray;
use crate::spatial::{RigidTransform, SpatialForce, SpatialVelocity};

/// What one thread works with: scratch of the contact queries, and what they found.
#[derive(Debug, Default)]
struct Share {
    scratch: Workspace,
    contacts: Vec<PairCotangent>,
}

/// The evaluation of the forces on the free bodies together with their transposed derivatives:
/// memory that is reused from one to the next.
#[derive(Debug, Default)]
pub struct ForceSensitivity {
    frames: Vec<BodyFrame>,
    free: Vec<Option<usize>>,
    broad_phase: BroadPhase,
    shares: Vec<Share>,
    forces: Vec<SpatialForce>,
    applied: AppliedWorkspace,
    seeded_frames: Vec<BodyFrame<DualArray<SEEDS>>>,
}

/// A frame as constants.
pub(crate) fn lift_frame<const N: usize>(frame: &BodyFrame) -> BodyFrame<DualArray<N>> {
    BodyFrame { pose: RigidTransform::lift(&frame.pose), velocity: SpatialVelocity::lift(&frame.velocity) }
}

impl ForceSensitivity {
    /// The total force on each free body about its origin, in W, without gravity, and its
    /// transposed derivative: adds to `by_state` (twelve numbers for each free body), `by_control`
    /// and `by_model` the derivatives of one number, given those by the force on each free body.
    pub fn evaluate_transposed(
        &mut self,
        at: &ForcePoint,
        applied: &impl AppliedForces,
        by_force: &[SpatialForce],
        by_state: &mut [f64],
        by_control: &mut [f64],
        by_model: &mut ModelGradient,
    ) -> &[SpatialForce] {
        let model = at.model.model();
        self.evaluate_contact(model, at.state, by_force);
        self.forces.clear();
        self.forces.resize(at.state.bodies.len(), SpatialForce::zero());
        for contact in self.shares.iter().flat_map(|share| &share.contacts) {
            let bodies = contact.pair.bodies;
            if let Some(i) = self.free[bodies.a] {
                self.forces[i] += contact.wrench_on_a;
            }
            if let Some(i) = self.free[bodies.b] {
                self.forces[i] += contact.wrench_on_b();
            }
            contact.add_to(model, &self.free, by_state, by_model);
        }
        self.add_by_sizes(at, by_force, &mut by_model.direct);
        self.add_applied_transposed(at, applied, by_force, by_state, by_control, by_model);
        applied.apply(model, at.state, at.time, at.control, &mut self.forces);
        &self.forces
    }

    /// Finds the contacts, in the order of [`Model::pairs`] whatever the number of threads.
    fn evaluate_contact(&mut self, model: &Model, state: &State, by_force: &[SpatialForce]) {
        model.body_frames(state, &mut self.frames);
        model.free_indices(&mut self.free);
        let candidates = self.broad_phase.candidates(model, &self.frames);
        let (threads, size) = shares(candidates.len());
        self.shares.resize_with(threads.max(self.shares.len()), Share::default);
        self.shares.iter_mut().for_each(|share| share.contacts.clear());
        let (frames, free) = (&self.frames[..], &self.free[..]);
        let find = |pairs: &[usize], share: &mut Share| {
            let Share { scratch, contacts } = share;
            let found =
                |&pair: &usize| pair_cotangent(model, frames, free, &model.pairs[pair], by_force, scratch);
            contacts.extend(pairs.iter().filter_map(found));
        };
        if threads == 1 {
            find(candidates, &mut self.shares[0]);
        } else {
            let parts = candidates.par_chunks(size).zip(self.shares.par_iter_mut());
            parts.for_each(|(pairs, share)| find(pairs, share));
        }
    }

    /// The part of [`Self::evaluate_transposed`] that is due to the derivatives of the user's forces.
    pub fn add_applied_transposed(
        &mut self,
        at: &ForcePoint,
        applied: &impl AppliedForces,
        by_force: &[SpatialForce],
        by_state: &mut [f64],
        by_control: &mut [f64],
        by_model: &mut ModelGradient,
    ) {
        applied.add_transposed(at, by_force, by_state, by_control, &mut self.applied);
        add_transposed_by_inputs(applied, at, by_force, &mut by_model.direct, &mut self.applied);
    }

    /// The part of contact's derivatives that is due to the sizes of geometries.
    fn add_by_sizes(&mut self, at: &ForcePoint, by_force: &[SpatialForce], by_inputs: &mut [f64]) {
        for SeededModel { columns, model } in at.model.sizes() {
            self.seeded_frames.clear();
            self.seeded_frames.extend(self.frames.iter().map(lift_frame));
            for share in &mut self.shares {
                for contact in &share.contacts {
                    let pair = &contact.pair;
                    if !size_has_derivatives(model, pair) {
                        continue;
                    }
                    let wrench = pair_wrench(model, &self.seeded_frames, pair, &mut share.scratch);
                    let Some(on_a) = wrench else { continue };
                    let (a, b) = (self.free[pair.bodies.a], self.free[pair.bodies.b]);
                    let on_b = -on_a.shifted(&contact.to_b.map(DualArray::from));
                    for (place, force) in [(a, on_a), (b, on_b)] {
                        let Some(i) = place else { continue };
                        for (k, &column) in columns.iter().enumerate() {
                            by_inputs[column] +=
                                by_force[i].rotational.dot(&force.rotational.map(|x| x.eps[k]))
                                    + by_force[i].translational.dot(&force.translational.map(|x| x.eps[k]));
                        }
                    }
                }
            }
        }
    }
}

/// Whether the size of one of two geometries carries derivatives.
pub(crate) fn size_has_derivatives(model: &Model<DualArray<SEEDS>>, pair: &GeometryPair) -> bool {
    let (a, b) = (&model.bodies[pair.bodies.a], &model.bodies[pair.bodies.b]);
    [&a.geometries[pair.geometry_a].collider, &b.geometries[pair.geometry_b].collider]
        .iter()
        .any(|c| c.has_shape_derivatives() || c.thickness.eps != [0.0; SEEDS])
}
