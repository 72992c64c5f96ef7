//! Vector–Jacobian products: from those of one number by the motions of bodies, or by generalized
//! forces, to those by the coordinates of the joints and by the bodies' masses.

use nalgebra::Vector3;

use super::mechanism::Mechanism;
use super::workspace::Workspace;
use crate::scalar::DualArray;
use crate::spatial::{
    MASS_NUMBERS, MassProperties, RigidTransform, SpatialForce, SpatialInertia, SpatialVelocity,
};

/// The derivatives of a number with respect to the motion of one body.
#[derive(Clone, Copy, Debug)]
pub struct MotionCotangent {
    /// The body: its index in [`Mechanism::bodies`].
    pub body: usize,
    /// With respect to the pose: rotation of the body about its origin, then translation, both in W.
    pub pose: SpatialForce,
    /// With respect to the velocity: angular velocity of the body, then velocity of its origin, both in
    /// W.
    pub velocity: SpatialForce,
}

impl Mechanism {
    /// Adds to `by_q` and `by_v` the derivatives of a number with respect to configuration (in its
    /// tangent space) and velocity, given those with respect to the motions of bodies, at the state of
    /// the last [`Mechanism::update_kinematics`].
    ///
    /// All that a joint carries turns with a move S along one of its directions; with forces about a
    /// fixed point in W's axes, its derivative is S · Σ (P_i + V_i ×* H_i) + Ψ · Σ H_i, with those P_i
    /// by poses and H_i by velocities, and Ψ as in [`Mechanism::inverse_dynamics_derivatives`].
    ///
    /// # Panics
    /// When a slice does not have nv numbers, or a body is not there.
    pub(crate) fn motion_vjp(
        &self,
        workspace: &mut Workspace,
        by_motion: impl IntoIterator<Item = MotionCotangent>,
        by_q: &mut [f64],
        by_v: &mut [f64],
    ) {
        self.check_lengths(&[], &[by_q.len(), by_v.len()]);
        let mut poses = vec![SpatialForce::zero(); self.joints.len()];
        workspace.forces.fill(SpatialForce::zero());
        for MotionCotangent { body, pose, velocity } in by_motion {
            let b = &self.bodies[body];
            let Some(joint) = b.joint else { continue };
            let m = &workspace.motions[joint];
            let to_o = -(m.rotation * b.x_mb.translation + m.position);
            // The velocity of the origin is v + ω × p: it changes with p as well.
            let moving =
                SpatialForce::new(Vector3::zeros(), velocity.translational.cross(&m.velocity.rotational));
            let by_velocity = velocity.shifted(&to_o);
            workspace.forces[joint] += by_velocity;
            poses[joint] += (pose + moving).shifted(&to_o) + m.velocity.cross_force(&by_velocity);
        }
        for (index, joint) in self.joints.iter().enumerate().rev() {
            let (m, by_pose, by_velocity) =
                (&workspace.motions[index], poses[index], workspace.forces[index]);
            for (i, c) in joint.columns.clone().enumerate() {
                let (s, k) = (&workspace.columns[c], self.coordinate[c]);
                let mut psi = m.velocity.cross(s);
                if joint.kind.moves_its_center() && joint.kind.is_translation(i) {
                    psi.translational += s.translational.cross(&m.relative.rotational);
                }
                by_q[k] += s.dot(&by_pose) + psi.dot(&by_velocity);
                by_v[k] += s.dot(&by_velocity);
            }
            if let Some(parent) = joint.parent {
                poses[parent] += by_pose;
                workspace.forces[parent] += by_velocity;
            }
        }
    }
}

/// The velocities of bodies in W that go with the rates `v` of the coordinates, at the
/// configuration of the workspace: angular velocity and velocity of the origin, in W's axes.
pub(in crate::multibody) fn velocities_of_bodies(
    mechanism: &Mechanism,
    workspace: &Workspace,
    v: &[f64],
    bodies: impl Iterator<Item = usize>,
    mut visit: impl FnMut(SpatialVelocity),
) {
    let velocities = velocities_at(mechanism, workspace, v);
    for body in bodies {
        let body = &mechanism.bodies[body];
        visit(body.joint.map_or_else(SpatialVelocity::zero, |joint| {
            let m = &workspace.motions[joint];
            velocities[joint].shifted(&(m.rotation * body.x_mb.translation + m.position))
        }));
    }
}

/// The velocities of what the joints carry, about the point O of their trees, at the rates `v`
/// and the configuration of the workspace.
fn velocities_at(mechanism: &Mechanism, workspace: &Workspace, v: &[f64]) -> Vec<SpatialVelocity> {
    let mut velocities: Vec<SpatialVelocity> = Vec::with_capacity(mechanism.joints.len());
    for joint in &mechanism.joints {
        let mut velocity = joint.parent.map_or_else(SpatialVelocity::zero, |p| velocities[p]);
        for c in joint.columns.clone() {
            velocity += workspace.columns[c] * v[mechanism.coordinate[c]];
        }
        velocities.push(velocity);
    }
    velocities
}

impl Mechanism {
    /// The derivatives of `left`ᵀ τ, with τ of [`Mechanism::inverse_dynamics`] at the
    /// state and the accelerations that the workspace holds, by gravity.
    ///
    /// # Panics
    /// When `left` does not have nv numbers.
    pub(crate) fn inverse_dynamics_by_gravity(&self, workspace: &Workspace, left: &[f64]) -> Vector3<f64> {
        self.check_lengths(&[], &[left.len()]);
        let along = velocities_at(self, workspace, left);
        let parts = along.iter().zip(&workspace.motions).zip(&workspace.tree);
        let parts = parts.filter(|(_, tree)| !self.trees[**tree].is_weightless);
        -parts.map(|((w, m), _)| m.inertia.times(w).translational).sum::<Vector3<f64>>()
    }

    /// The derivatives of `left`ᵀ τ, with τ of [`Mechanism::inverse_dynamics`] at the state and the
    /// accelerations that the workspace holds, by the mass properties of each body that has mass and
    /// moves. `visit` is called with the body's index in [`Mechanism::bodies`] and with them; an
    /// inertia's elements are taken as nine independent numbers, and the derivative is symmetric.
    ///
    /// # Panics
    /// When `left` does not have nv numbers.
    pub(crate) fn inverse_dynamics_by_masses(
        &self,
        workspace: &Workspace,
        left: &[f64],
        mut visit: impl FnMut(usize, &MassProperties),
    ) {
        type Dual = DualArray<MASS_NUMBERS>;
        self.check_lengths(&[], &[left.len()]);
        let along = velocities_at(self, workspace, left);
        for (index, body) in self.bodies.iter().enumerate() {
            let (Some(joint), Some(mass)) = (body.joint, &body.mass) else { continue };
            let m = &workspace.motions[joint];
            let x_ob = RigidTransform::new(m.rotation, m.position) * body.x_mb;
            let seeded = mass.seeded::<MASS_NUMBERS>(0);
            let inertia = SpatialInertia::of_body(&seeded, &RigidTransform::lift(&x_ob));
            let felt = workspace.felt_motion(self, joint);
            let [w, a, v] = [&along[joint], &workspace.accelerations[joint], &felt.velocity]
                .map(SpatialVelocity::<Dual>::lift);
            let force = inertia.times(&a) + v.cross_force(&inertia.times(&v));
            let mut by = MassProperties::zero();
            by.add_numbers(&w.dot(&force).eps);
            visit(index, &by);
        }
    }
}
