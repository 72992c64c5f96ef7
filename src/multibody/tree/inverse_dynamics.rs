//! From motion to the forces that it takes: the recursive Newton–Euler algorithm.

use nalgebra::Vector3;

use super::mechanism::Mechanism;
use super::workspace::Workspace;
use crate::scalar::Scalar;
use crate::spatial::{SpatialForce, SpatialVelocity};

/// A force on one body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BodyForce<T = f64> {
    /// Place of the body in [`Mechanism::bodies`].
    pub body: usize,
    /// Moment about the body's origin and force, in W's axes.
    pub force: SpatialForce<T>,
}

/// The acceleration of the world that weighs on bodies like gravity does.
#[inline]
pub(super) fn minus_gravity<T: Scalar>(gravity: &Vector3<T>) -> SpatialVelocity<T> {
    SpatialVelocity::new(Vector3::from_element(T::from(0.0)), -gravity)
}

impl<T: Scalar> Workspace<T> {
    /// Subtracts forces on bodies, about the point O of their trees, from the forces of the
    /// joints that carry them. What acts on a body fixed to the world has no effect.
    pub(super) fn subtract_applied(&mut self, mechanism: &Mechanism<T>, applied: &[BodyForce<T>]) {
        for BodyForce { body, force } in applied {
            let body = &mechanism.bodies[*body];
            if let Some(joint) = body.joint {
                let m = &self.motions[joint];
                let position = m.rotation * body.x_mb.translation + m.position;
                self.forces[joint] = self.forces[joint] - force.shifted(&-position);
            }
        }
    }
}

/// The generalized forces τ that give the acceleration `vdot`,
/// M(q) v̇ + C(q, v) v = τ + τ_g + Σ Jᵀ f, written into `tau`, by the recursive Newton–Euler
/// algorithm (Featherstone 2008, table 5.1) at the state of the last
/// [`update_kinematics`](super::update_kinematics).
///
/// Rotor inertia counts; damping and springs do not: [`passive_forces`](super::passive_forces)
/// has them.
///
/// # Panics
/// When a slice does not have nv numbers, or a body is not there.
pub fn inverse_dynamics<T: Scalar>(
    mechanism: &Mechanism<T>,
    workspace: &mut Workspace<T>,
    vdot: &[T],
    gravity: &Vector3<T>,
    applied: &[BodyForce<T>],
    tau: &mut [T],
) {
    mechanism.check_lengths(&[], &[vdot.len(), tau.len()]);
    let at_rest = minus_gravity(gravity);
    for (index, joint) in mechanism.joints.iter().enumerate() {
        let m = &workspace.motions[index];
        let mut a = joint.parent.map_or(at_rest, |p| workspace.accelerations[p]) + m.bias;
        for k in joint.v.clone() {
            a += workspace.columns[k] * vdot[k];
        }
        workspace.accelerations[index] = a;
        workspace.forces[index] = m.inertia.times(&a) + m.velocity.cross_force(&m.inertia.times(&m.velocity));
    }
    workspace.subtract_applied(mechanism, applied);
    for (index, joint) in mechanism.joints.iter().enumerate().rev() {
        let force = workspace.forces[index];
        for k in joint.v.clone() {
            tau[k] = workspace.columns[k].dot(&force) + joint.rotor_inertia * vdot[k];
        }
        if let Some(parent) = joint.parent {
            workspace.forces[parent] += force;
        }
    }
}

/// The generalized forces of gravity, τ_g, written into `tau`: what gravity adds to τ in
/// M(q) v̇ + C(q, v) v = τ + τ_g.
///
/// # Panics
/// When `tau` does not have nv numbers.
pub fn gravity_forces<T: Scalar>(
    mechanism: &Mechanism<T>,
    workspace: &mut Workspace<T>,
    gravity: &Vector3<T>,
    tau: &mut [T],
) {
    mechanism.check_lengths(&[], &[tau.len()]);
    for (force, m) in workspace.forces.iter_mut().zip(&workspace.motions) {
        *force = SpatialForce::new(m.inertia.first_moment.cross(gravity), gravity * m.inertia.mass);
    }
    for (index, joint) in mechanism.joints.iter().enumerate().rev() {
        let force = workspace.forces[index];
        for k in joint.v.clone() {
            tau[k] = workspace.columns[k].dot(&force);
        }
        if let Some(parent) = joint.parent {
            workspace.forces[parent] += force;
        }
    }
}

/// The generalized forces of damping and springs, −D v − K (q − q_rest), added to `tau`.
///
/// # Panics
/// When a slice does not have the mechanism's length.
pub fn passive_forces<T: Scalar>(mechanism: &Mechanism<T>, q: &[T], v: &[T], tau: &mut [T]) {
    mechanism.check_lengths(&[q.len()], &[v.len(), tau.len()]);
    for joint in &mechanism.joints {
        for k in joint.v.clone() {
            tau[k] -= joint.damping * v[k];
        }
        // Only joints with one coordinate have springs.
        if joint.q.len() == 1 {
            let spring = &joint.spring;
            tau[joint.v.start] -= spring.stiffness * (q[joint.q.start] - spring.rest);
        }
    }
}
