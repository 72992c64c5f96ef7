//! The forces on the free bodies with their transposed derivatives.

use rayon::prelude::*;

use super::applied_sensitivity::{AppliedWorkspace, ForcePoint, add_transposed_by_inputs};
use super::contact_forces::{pair_wrench, shares, with_pair};
use super::contact_sensitivity::ContactSensitivity;
use super::forces::AppliedForces;
use super::kinematics::BodyFrame;
use super::model::{GeometryPair, Model};
use super::model_gradient::{ModelGradient, SEEDS, SeededModel};
use super::state::State;
use crate::contact::{Workspace, contact_jacobian};
use crate::scalar::DualArray;
use crate::spatial::{RigidTransform, SpatialForce, SpatialVelocity};

/// What one thread works with: scratch of the contact queries, and what they found.
#[derive(Debug, Default)]
struct Share {
    scratch: Workspace,
    contacts: Vec<ContactSensitivity>,
}

/// The forces on the free bodies at a state, with what their transposed derivatives take; and
/// the memory for it, reused from one evaluation to the next.
#[derive(Debug, Default)]
pub struct ForceSensitivity {
    frames: Vec<BodyFrame>,
    free: Vec<Option<usize>>,
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
    /// Evaluates contact with its derivatives, and the user's forces: the total on each free body
    /// about its origin, in W, without gravity.
    pub fn evaluate(&mut self, at: &ForcePoint, applied: &impl AppliedForces) -> &[SpatialForce] {
        self.evaluate_contact(at.model.model(), at.state);
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
        }
        applied.apply(at.model.model(), at.state, at.time, at.control, &mut self.forces);
        &self.forces
    }

    /// The forces of the last evaluation.
    pub fn forces(&self) -> &[SpatialForce] {
        &self.forces
    }

    /// Finds the contacts, in the order of [`Model::pairs`] whatever the number of threads.
    fn evaluate_contact(&mut self, model: &Model, state: &State) {
        model.body_frames(state, &mut self.frames);
        model.free_indices(&mut self.free);
        let (threads, size) = shares(model.pairs.len());
        self.shares.resize_with(threads.max(self.shares.len()), Share::default);
        self.shares.iter_mut().for_each(|share| share.contacts.clear());
        let frames = &self.frames[..];
        let find = |pairs: &[GeometryPair], share: &mut Share| {
            for pair in pairs {
                let scratch = &mut share.scratch;
                let found =
                    with_pair(model, frames, pair, |query| contact_jacobian(query, &model.contact, scratch));
                if let Some((patch, jacobian)) = found {
                    let wrench = &patch.wrench_on_a;
                    share.contacts.push(ContactSensitivity::new(model, frames, pair, wrench, &jacobian));
                }
            }
        };
        if threads == 1 {
            find(&model.pairs, &mut self.shares[0]);
        } else {
            let parts = model.pairs.par_chunks(size).zip(self.shares.par_iter_mut());
            parts.for_each(|(pairs, share)| find(pairs, share));
        }
    }

    /// The transposed derivative at the point of the last evaluation: adds to `by_state` (twelve
    /// numbers for each free body), `by_control` and `by_model` the derivatives of one number,
    /// given those by the force on each free body.
    pub fn add_transposed(
        &mut self,
        at: &ForcePoint,
        applied: &impl AppliedForces,
        by_force: &[SpatialForce],
        by_state: &mut [f64],
        by_control: &mut [f64],
        by_model: &mut ModelGradient,
    ) {
        for contact in self.shares.iter().flat_map(|share| &share.contacts) {
            contact.add_transposed(&self.free, by_force, by_state, by_model);
        }
        self.add_by_sizes(at, by_force, &mut by_model.direct);
        self.add_applied_transposed(at, applied, by_force, by_state, by_control, by_model);
    }

    /// The part of [`Self::add_transposed`] that is due to the user's forces. It does not need an
    /// evaluation before it.
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
