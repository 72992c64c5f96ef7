//! What a step does to a free body: its motion without contact, its mass, and its pose after the step.

use nalgebra::{Matrix3, Vector3};

use crate::multibody::{BodyState, FreeMotion, MassProperties, body_acceleration};
use crate::scalar::Scalar;
use crate::spatial::{Quaternion, RigidTransform, SpatialForce, SpatialVelocity};

/// The number of velocities of a free body: angular velocity, then the velocity of the centre of mass, both in W.
pub(super) const BODY: usize = 6;

/// A free body over a step. Velocities are those at its end.
#[derive(Clone, Copy, Debug)]
pub(super) struct BodyStep<T = f64> {
    pub mass: T,
    /// About the centre of mass, in W, at the start of the step.
    pub inertia: Matrix3<T>,
    /// The centre of mass at the start.
    pub center: Vector3<T>,
    orientation: Quaternion<T>,
    center_in_body: Vector3<T>,
    /// The angular velocity without contact, ω*, and the velocity of the centre of mass.
    pub free: [Vector3<T>; 2],
    /// How far the turn over the step is from δt ω.
    extra_turn: Vector3<T>,
}

impl<T: Scalar> BodyStep<T> {
    /// A body under a force about its origin, which acts from the start, and gravity.
    pub fn new(
        mass: &MassProperties<T>,
        gravity: &Vector3<T>,
        body: &BodyState<T>,
        force: &SpatialForce<T>,
        dt: T,
    ) -> Self {
        let rotation = body.orientation.to_matrix();
        let motion = FreeMotion::new(mass, &rotation, &body.velocity.rotational, dt);
        // The gyroscopic moment is part of the free motion.
        let still = SpatialVelocity::new(Vector3::from_element(T::from(0.0)), body.velocity.translational);
        let change = body_acceleration(mass, gravity, &BodyState { velocity: still, ..*body }, force);
        let offset = rotation * mass.center_of_mass;
        let velocity = body.velocity.shifted(&offset).translational + change.of_center_of_mass * dt;
        Self {
            mass: mass.mass,
            inertia: rotation * mass.inertia * rotation.transpose(),
            center: body.position + offset,
            orientation: body.orientation,
            center_in_body: mass.center_of_mass,
            free: [motion.angular_velocity + change.angular * dt, velocity],
            extra_turn: motion.extra_turn,
        }
    }

    /// The body as numbers of another scalar.
    pub fn map<U: Scalar>(&self, f: impl Fn(T) -> U + Copy) -> BodyStep<U> {
        let v = |x: &Vector3<T>| x.map(f);
        let q = &self.orientation;
        BodyStep {
            mass: f(self.mass),
            inertia: self.inertia.map(f),
            center: v(&self.center),
            orientation: Quaternion { w: f(q.w), v: v(&q.v) },
            center_in_body: v(&self.center_in_body),
            free: [v(&self.free[0]), v(&self.free[1])],
            extra_turn: v(&self.extra_turn),
        }
    }

    /// The body on a part of its way without contact.
    pub fn part(&self, part: f64) -> Self {
        let part = T::from(part);
        Self { free: self.free.map(|v| v * part), extra_turn: self.extra_turn * part, ..*self }
    }

    fn orientation_after(&self, velocity: &[T], dt: T) -> Quaternion<T> {
        let turn = Vector3::new(velocity[0], velocity[1], velocity[2]) * dt;
        self.orientation.rotated_by(&(turn + self.extra_turn))
    }

    /// The centre of mass after the step.
    pub fn center_after(&self, velocity: &[T], dt: T) -> Vector3<T> {
        self.center + Vector3::new(velocity[3], velocity[4], velocity[5]) * dt
    }

    /// The pose after the step.
    pub fn pose_after(&self, velocity: &[T], dt: T) -> RigidTransform<T> {
        let rotation = self.orientation_after(velocity, dt).to_matrix();
        let center = self.center_after(velocity, dt);
        RigidTransform::new(rotation, center - rotation * self.center_in_body)
    }

    /// The state after the step.
    pub fn after(&self, velocity: &[T], dt: T) -> BodyState<T> {
        let orientation = self.orientation_after(velocity, dt);
        let offset = orientation.to_matrix() * self.center_in_body;
        let turn = Vector3::new(velocity[0], velocity[1], velocity[2]);
        let of_center = Vector3::new(velocity[3], velocity[4], velocity[5]);
        BodyState {
            orientation,
            position: self.center_after(velocity, dt) - offset,
            velocity: SpatialVelocity::new(turn, of_center - turn.cross(&offset)),
        }
    }
}
