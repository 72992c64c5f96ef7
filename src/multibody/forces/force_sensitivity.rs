//! The forces on all that moves with their vector–Jacobian products.

use rayon::prelude::*;

use super::applied_forces::{DifferentiableForces, add_vjp_by_parameters};
use super::force_values::{AppliedColumn, AppliedWorkspace, ForcePoint, Forces};
use super::joint_dynamics::add_link_motions;
use super::load_forces::for_each_load_derivative;
use super::total_forces::add_drives_and_applied;
use crate::multibody::contact::contact_forces::{StepStart, shares};
use crate::multibody::contact::contact_vjp::{PairCotangent, PairScratch, pair_cotangent};
use crate::multibody::tree::JointState;
use crate::multibody::{BodyFrame, BroadPhase, JointKinematics, Model, ModelGradient, TANGENT_DIMENSION};
use crate::spatial::SpatialForce;

/// What one thread works with: scratch of the contact queries, and what they found.
#[derive(Debug, Default)]
struct Share {
    scratch: PairScratch,
    contacts: Vec<PairCotangent>,
}

/// The evaluation of the forces on all that moves together with their vector–Jacobian products:
/// memory that is reused from one to the next.
#[derive(Debug, Default)]
pub struct ForceSensitivity {
    frames: Vec<BodyFrame>,
    start: StepStart,
    moving: Vec<Option<usize>>,
    joints: JointKinematics,
    broad_phase: BroadPhase,
    shares: Vec<Share>,
    forces: Forces,
    by_motion: Vec<f64>,
    applied: AppliedWorkspace,
}

impl ForceSensitivity {
    /// The forces on all bodies and joints and their vector–Jacobian product: adds to `by_state` (in the
    /// tangent space), `by_control` (commands first) and `by_model` the derivatives of one number, given
    /// those with respect to the forces.
    pub fn evaluate_vjp(
        &mut self,
        at: &ForcePoint,
        applied: &dyn DifferentiableForces,
        by_force: &Forces,
        by_state: &mut [f64],
        by_control: &mut [f64],
        by_model: &mut ModelGradient,
    ) -> &Forces {
        let (model, commands) = (at.model.model(), at.commands);
        self.evaluate_contact(at, &by_force.bodies);
        self.forces.reset(model);
        self.by_motion.clear();
        self.by_motion.resize(TANGENT_DIMENSION * by_force.bodies.len(), 0.0);
        for contact in self.shares.iter().flat_map(|share| &share.contacts) {
            let bodies = contact.pair.bodies;
            if let Some(i) = self.moving[bodies.a] {
                self.forces.bodies[i] += contact.wrench_on_a;
            }
            if let Some(i) = self.moving[bodies.b] {
                self.forces.bodies[i] += contact.wrench_on_b();
            }
            contact.add_to(model, &self.moving, &mut self.by_motion, by_model);
        }
        for Share { scratch, contacts } in &mut self.shares {
            // From the last on, so that the next contacts take their memory in their order.
            contacts.drain(..).rev().for_each(|contact| scratch.take_back(contact));
        }
        let (by_bodies, by_joints) = by_state.split_at_mut(at.state.body_tangent_dimension());
        by_bodies.iter_mut().zip(&self.by_motion).for_each(|(by, x)| *by += x);
        add_link_motions(model, &mut self.joints, &self.by_motion, by_joints);
        let joints = &at.state.joints;
        add_drives_vjp(model, commands, joints, &by_force.joints, by_joints, by_control, by_model);
        self.add_applied_vjp(at, applied, by_force, by_state, by_control, by_model);
        add_drives_and_applied(model, at.state, at.time, applied, commands, at.control, &mut self.forces);
        &self.forces
    }

    /// Finds the contacts, in the order of [`Model::pairs`] whatever the number of threads.
    fn evaluate_contact(&mut self, at: &ForcePoint, by_force: &[SpatialForce]) {
        let model = at.model.model();
        self.start.frames.clear();
        if let Some((before, length)) = at.step.filter(|_| !model.rigid_pairs.is_empty()) {
            self.start.length = length;
            model.update_frames(before, &mut self.start.frames, &mut self.joints);
        }
        model.update_frames(at.state, &mut self.frames, &mut self.joints);
        model.moving_indices(&mut self.moving);
        let candidates = self.broad_phase.with_rigid_pairs(model, &self.frames);
        let (threads, size) = shares(candidates.len());
        self.shares.resize_with(threads.max(self.shares.len()), Share::default);
        let (frames, moving) = ((&self.frames[..], &self.start), &self.moving[..]);
        let known = at.surfaces.filter(|known| known.pairs() == candidates.len());
        let find = |first: usize, pairs: &[usize], share: &mut Share| {
            let Share { scratch, contacts } = share;
            let found = |(k, &pair): (usize, &usize)| {
                let (pair, known) = (&model.pairs[pair], known.map(|known| known.of(first + k)));
                pair_cotangent(at.model, frames, moving, pair, by_force, scratch, known)
            };
            contacts.extend(pairs.iter().enumerate().filter_map(found));
        };
        if threads == 1 {
            find(0, candidates, &mut self.shares[0]);
        } else {
            let parts = candidates.par_chunks(size).enumerate().zip(self.shares.par_iter_mut());
            parts.for_each(|((part, pairs), share)| find(part * size, pairs, share));
        }
    }

    /// The part of [`Self::evaluate_vjp`] that is due to the derivatives of the model's loads, its actuators on free bodies
    /// and the user's forces.
    pub fn add_applied_vjp(
        &mut self,
        at: &ForcePoint,
        applied: &dyn DifferentiableForces,
        by_force: &Forces,
        by_state: &mut [f64],
        by_control: &mut [f64],
        by_model: &mut ModelGradient,
    ) {
        let (by_commands, by_user) = by_control.split_at_mut(at.commands.len());
        for_each_load_derivative(at, &mut |by_what, entry| {
            let along = entry.along(by_force);
            match by_what {
                AppliedColumn::State(k) => by_state[k] += along,
                AppliedColumn::Command(k) => by_commands[k] += along,
                AppliedColumn::Parameter(k) => by_model.direct[k] += along,
                AppliedColumn::Control(_) => {}
            }
        });
        applied.add_force_vjp(at, by_force, by_state, by_user, &mut self.applied);
        add_vjp_by_parameters(applied, at, by_force, &mut by_model.direct, &mut self.applied);
    }
}

/// Adds the derivatives of a number through the forces of actuators and stops, given those with respect
/// to the forces along the joints: with respect to configuration and velocity to `by_joints`, and with
/// respect to the commands and the gains.
fn add_drives_vjp(
    model: &Model,
    commands: &[f64],
    joints: &JointState,
    by_force: &[f64],
    by_joints: &mut [f64],
    by_commands: &mut [f64],
    by_model: &mut ModelGradient,
) {
    let nv = joints.v.len();
    model.for_each_joint_law(commands, &mut |at, law| {
        let by = law.slopes(|law, q, v| law.force(q, v), joints.q[at.q], joints.v[at.v]);
        // A coordinate that is driven has the same index in the tangent space as in v.
        by_joints[at.v] += by_force[at.v] * by[0];
        by_joints[nv + at.v] += by_force[at.v] * by[1];
        if let Some((command, ratio)) = at.command() {
            by_commands[command] += by_force[at.v] * by[2] * ratio;
        }
        if by_model.of_joint_laws {
            let slopes = law.number_slopes(|law, q, v| law.force(q, v), joints.q[at.q], joints.v[at.v]);
            by_model.add_law_numbers(&at, slopes, by_force[at.v]);
        }
    });
}
