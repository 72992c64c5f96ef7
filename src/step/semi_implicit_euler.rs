//! The semi-implicit Euler method.

use crate::multibody::{
    AppliedForces, BodyState, ForceWorkspace, Guide, MassProperties, Model, State, body_acceleration,
    total_forces,
};
use crate::scalar::Scalar;
use crate::spatial::{SpatialForce, SpatialVelocity};
use nalgebra::Vector3;

/// The state after a step of `dt` seconds: forces at the present state change the velocity, the
/// new velocity changes the pose, the orientation by the exponential map.
pub(super) fn step<T: Scalar>(
    model: &Model<T>,
    state: &State<T>,
    time: f64,
    dt: f64,
    applied: &impl AppliedForces,
    control: &[T],
    workspace: &mut ForceWorkspace<T>,
) -> State<T> {
    let forces = total_forces(model, state, time, applied, control, workspace);
    let bodies = model.free_bodies().zip(&state.bodies).zip(forces);
    State {
        bodies: bodies
            .map(|(((_, held, mass), body), f)| step_body(mass, held.guide(), &model.gravity, body, f, dt))
            .collect(),
    }
}

/// The step of one body. It is taken by the centre of mass, so that momentum is kept to
/// rounding wherever the body's origin is.
fn step_body<T: Scalar>(
    mass: &MassProperties<T>,
    guide: Option<&Guide<T>>,
    gravity: &Vector3<T>,
    body: &BodyState<T>,
    force: &SpatialForce<T>,
    dt: f64,
) -> BodyState<T> {
    let dt = T::from(dt);
    let acceleration = body_acceleration(mass, guide, gravity, body, force);
    let offset = body.orientation.to_matrix() * mass.center_of_mass;
    let center_velocity = body.velocity.shifted(&offset).translational + acceleration.of_center_of_mass * dt;
    let angular_velocity = body.velocity.rotational + acceleration.angular * dt;
    let center = body.position + offset + center_velocity * dt;
    let orientation = body.orientation.rotated_by(&(angular_velocity * dt));
    let new_offset = orientation.to_matrix() * mass.center_of_mass;
    BodyState {
        orientation,
        position: center - new_offset,
        velocity: SpatialVelocity::new(
            angular_velocity,
            center_velocity - angular_velocity.cross(&new_offset),
        ),
    }
}
