//! What a solver of velocities needs: the momentum balance of a step without contact.
//!
//! Over a step δt with velocity v before and v* after it, damping and springs taken at the end,
//! A (v* − v) = δt (τ + τ_g + Σ Jᵀ f − C(q, v) v − D v − K (q − q_rest) − δt K v), with
//! A = M(q) + δt D + δt² K (Masterjohn et al. 2022, §IV-A). Contact then adds impulses,
//! A (v − v*) = Jᵀ γ, with J from [`Workspace::jacobian_columns`].

use nalgebra::{DMatrix, Vector3};

use super::inverse_dynamics::BodyForce;
use super::mechanism::Mechanism;
use super::workspace::Workspace;
use crate::scalar::Scalar;

impl<T: Scalar> Mechanism<T> {
    /// The matrix A = M(q) + δt D + δt² K of a step of `time_step` seconds, of trees under computed torque
    /// (1 + δt damping + δt² stiffness) M(q) with the numbers of [`ComputedTorque`](super::ComputedTorque), nv×nv, written into
    /// `matrix`, at the configuration of the last [`Mechanism::update_kinematics`].
    /// It is block diagonal by [`Mechanism::trees`], and [`Mechanism::factorize`] takes it.
    ///
    /// # Panics
    /// When `matrix` is not nv×nv.
    pub fn step_matrix(&self, workspace: &mut Workspace<T>, time_step: T, matrix: &mut DMatrix<T>) {
        self.mass_matrix(workspace, matrix);
        for tree in &self.trees {
            let Some(law) = tree.computed_torque else { continue };
            let (v, factor) = (&tree.v, law.step_factor(time_step));
            matrix.view_mut((v.start, v.start), (v.len(), v.len())).iter_mut().for_each(|m| *m *= factor);
        }
        for (_, joint) in self.passive_joints() {
            for k in joint.v.clone() {
                matrix[(k, k)] += joint.damping * time_step;
            }
            if joint.q.len() == 1 {
                let k = joint.v.start;
                matrix[(k, k)] += joint.spring.stiffness * (time_step * time_step);
            }
        }
    }
}

/// Configuration and velocity at the start of a step, and what acts during it.
#[derive(Clone, Copy, Debug)]
pub struct StepInput<'a, T = f64> {
    /// Configuration; that of the last [`Mechanism::update_kinematics`].
    pub q: &'a [T],
    /// Velocity; that of the last [`Mechanism::update_kinematics`].
    pub v: &'a [T],
    /// Generalized forces of drives.
    pub tau: &'a [T],
    /// Acceleration of gravity in W, m/s².
    pub gravity: Vector3<T>,
    /// Forces on bodies.
    pub applied: &'a [BodyForce<T>],
}

impl<T: Scalar> Mechanism<T> {
    /// The impulse δt (τ + τ_g + Σ Jᵀ f − C(q, v) v − D v − K (q − q_rest) − δt K v) that A turns into
    /// the change of velocity of a step of `time_step` seconds without contact, written into
    /// `impulse`. Centrifugal and gyroscopic forces are those at the start of the step. Of trees under computed torque it is
    /// δt (τ + Σ Jᵀ f), without what their drives do.
    ///
    /// # Panics
    /// When a slice does not fit the mechanism.
    pub(crate) fn free_impulse(
        &self,
        workspace: &mut Workspace<T>,
        input: &StepInput<T>,
        time_step: T,
        impulse: &mut [T],
    ) {
        let StepInput { q, v, tau, gravity, applied } = input;
        self.check_lengths(&[q.len()], &[v.len(), tau.len(), impulse.len()]);
        self.bias_forces(workspace, gravity, applied, impulse);
        for (c, t) in impulse.iter_mut().zip(*tau) {
            *c = *t - *c;
        }
        self.passive_forces(q, v, impulse);
        for (_, joint) in self.passive_joints() {
            if joint.q.len() == 1 {
                let k = joint.v.start;
                impulse[k] -= joint.spring.stiffness * v[k] * time_step;
            }
        }
        for c in impulse.iter_mut() {
            *c *= time_step;
        }
    }

    /// The velocity v* at the end of a step of `time_step` seconds without contact, written into
    /// `free_velocity`, by the factors of A (see [`Mechanism::step_matrix`]).
    ///
    /// # Panics
    /// When a slice or the matrix does not fit the mechanism.
    pub fn free_velocity(
        &self,
        workspace: &mut Workspace<T>,
        input: &StepInput<T>,
        time_step: T,
        factors: &DMatrix<T>,
        free_velocity: &mut [T],
    ) {
        self.free_impulse(workspace, input, time_step, free_velocity);
        self.solve(factors, free_velocity);
        for (c, v) in free_velocity.iter_mut().zip(input.v) {
            *c += *v;
        }
    }
}
