//! From motion to the forces that it takes: the recursive Newton–Euler algorithm.

use nalgebra::Vector3;

use super::mechanism::{Mechanism, Tree};
use super::workspace::Workspace;
use crate::scalar::Scalar;
use crate::spatial::{SpatialForce, SpatialVelocity};

/// A force on one body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BodyForce<T = f64> {
    /// Index of the body in [`Mechanism::bodies`].
    pub body: usize,
    /// Moment about the body's origin and force, in W's axes.
    pub force: SpatialForce<T>,
}

/// The acceleration of the world that weighs on the bodies of a tree like gravity does.
#[inline]
pub(super) fn minus_gravity<T: Scalar>(tree: &Tree<T>, gravity: &Vector3<T>) -> SpatialVelocity<T> {
    if tree.is_weightless {
        return SpatialVelocity::zero();
    }
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

    /// Writes the parts of the forces along the joints into `tau`, and adds the forces to those
    /// of what carries them.
    fn pass_forces(&mut self, mechanism: &Mechanism<T>, tau: &mut [T]) {
        tau.fill(T::from(0.0));
        for (index, joint) in mechanism.joints.iter().enumerate().rev() {
            let force = self.forces[index];
            for c in joint.columns.clone() {
                tau[mechanism.coordinate[c]] += self.columns[c].dot(&force);
            }
            if let Some(parent) = joint.parent {
                self.forces[parent] += force;
            }
        }
    }
}

impl<T: Scalar> Mechanism<T> {
    /// The generalized forces τ that give the acceleration `vdot`,
    /// M(q) v̇ + C(q, v) v = τ + τ_g + Σ Jᵀ f, written into `tau`, by the recursive Newton–Euler
    /// algorithm (Featherstone 2008, table 5.1) at the state of the last
    /// [`Mechanism::update_kinematics`].
    ///
    /// Rotor inertia is included. Damping and springs are not, which [`Mechanism::passive_forces`] computes,
    /// nor is friction. In trees under computed torque, whose drives cancel C(q, v) v and τ_g, neither is part of τ, here and
    /// in all other dynamics.
    ///
    /// # Panics
    /// When a slice does not have nv numbers, or a body is not there.
    pub fn inverse_dynamics(
        &self,
        workspace: &mut Workspace<T>,
        vdot: &[T],
        gravity: &Vector3<T>,
        applied: &[BodyForce<T>],
        tau: &mut [T],
    ) {
        self.check_lengths(&[], &[vdot.len(), tau.len()]);
        newton_euler(self, workspace, Some(vdot), gravity, applied, tau);
        for joint in &self.joints {
            for k in joint.v.clone() {
                tau[k] += joint.rotor_inertia * vdot[k];
            }
        }
    }

    /// The forces C(q, v) v − τ_g − Σ Jᵀ f, written into `bias`: [`Mechanism::inverse_dynamics`] at v̇ = 0.
    ///
    /// # Panics
    /// When `bias` does not have nv numbers, or a body is not there.
    pub fn bias_forces(
        &self,
        workspace: &mut Workspace<T>,
        gravity: &Vector3<T>,
        applied: &[BodyForce<T>],
        bias: &mut [T],
    ) {
        self.check_lengths(&[], &[bias.len()]);
        newton_euler(self, workspace, None, gravity, applied, bias);
    }
}

/// The forces on the bodies at an acceleration, and their parts along the joints, without rotors.
fn newton_euler<T: Scalar>(
    mechanism: &Mechanism<T>,
    workspace: &mut Workspace<T>,
    vdot: Option<&[T]>,
    gravity: &Vector3<T>,
    applied: &[BodyForce<T>],
    tau: &mut [T],
) {
    for (index, joint) in mechanism.joints.iter().enumerate() {
        let felt = workspace.felt_motion(mechanism, index);
        let inertia = &workspace.motions[index].inertia;
        let at_rest = || minus_gravity(&mechanism.trees[workspace.tree[index]], gravity);
        let mut a = joint.parent.map_or_else(at_rest, |p| workspace.accelerations[p]) + felt.bias;
        if let Some(vdot) = vdot {
            for c in joint.columns.clone() {
                a += workspace.columns[c] * vdot[mechanism.coordinate[c]];
            }
        }
        workspace.forces[index] =
            inertia.times(&a) + felt.velocity.cross_force(&inertia.times(&felt.velocity));
        workspace.accelerations[index] = a;
    }
    workspace.subtract_applied(mechanism, applied);
    workspace.pass_forces(mechanism, tau);
}

impl<T: Scalar> Mechanism<T> {
    /// The generalized forces of gravity, τ_g, written into `tau`: what gravity adds to τ in
    /// M(q) v̇ + C(q, v) v = τ + τ_g. They are 0 in trees whose drives carry their weight.
    ///
    /// # Panics
    /// When `tau` does not have nv numbers.
    pub fn gravity_forces(&self, workspace: &mut Workspace<T>, gravity: &Vector3<T>, tau: &mut [T]) {
        self.check_lengths(&[], &[tau.len()]);
        for ((force, m), tree) in workspace.forces.iter_mut().zip(&workspace.motions).zip(&workspace.tree) {
            *force = match self.trees[*tree].is_weightless {
                true => SpatialForce::zero(),
                false => SpatialForce::new(m.inertia.first_moment.cross(gravity), gravity * m.inertia.mass),
            };
        }
        workspace.pass_forces(self, tau);
    }

    /// The generalized forces of damping and springs, −D v − K (q − q_rest), added to `tau`. They are 0 in trees under
    /// computed torque.
    ///
    /// # Panics
    /// When a slice does not have the mechanism's length.
    pub fn passive_forces(&self, q: &[T], v: &[T], tau: &mut [T]) {
        self.check_lengths(&[q.len()], &[v.len(), tau.len()]);
        for (_, joint) in self.passive_joints() {
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
}
