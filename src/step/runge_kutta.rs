//! The classical Runge–Kutta method of order 4, on the manifold of poses.
//!
//! Munthe-Kaas' form of it: the unknown is the tangent that leads from the state at the start of
//! the step to the present one, which lives in a vector space, so the classical method applies.

use nalgebra::Vector3;

use crate::multibody::{
    AppliedForces, ForceWorkspace, Model, State, TANGENT_DIMENSION, body_acceleration, total_forces,
};
use crate::scalar::Scalar;

/// The state after a step of `dt` seconds.
pub(super) fn step<T: Scalar>(
    model: &Model<T>,
    state: &State<T>,
    time: f64,
    dt: f64,
    applied: &impl AppliedForces,
    control: &[T],
    workspace: &mut ForceWorkspace<T>,
) -> State<T> {
    let mut rate_after = |rate: Option<&[T]>, part: f64| {
        let h = T::from(part * dt);
        let tangent: Vec<T> = match rate {
            None => vec![T::from(0.0); state.tangent_dimension()],
            Some(rate) => rate.iter().map(|&r| r * h).collect(),
        };
        tangent_rate(model, state, &tangent, time + part * dt, applied, control, workspace)
    };
    let k1 = rate_after(None, 0.0);
    let k2 = rate_after(Some(&k1), 0.5);
    let k3 = rate_after(Some(&k2), 0.5);
    let k4 = rate_after(Some(&k3), 1.0);
    let sixth = T::from(dt / 6.0);
    let tangent: Vec<T> = (0..k1.len()).map(|i| (k1[i] + (k2[i] + k3[i]) * 2.0 + k4[i]) * sixth).collect();
    state.moved(&tangent)
}

/// The rate of the tangent that leads from `start` to the present state, where it is `tangent`.
fn tangent_rate<T: Scalar>(
    model: &Model<T>,
    start: &State<T>,
    tangent: &[T],
    time: f64,
    applied: &impl AppliedForces,
    control: &[T],
    workspace: &mut ForceWorkspace<T>,
) -> Vec<T> {
    let state = start.moved(tangent);
    let forces = total_forces(model, &state, time, applied, control, workspace);
    let mut rate = Vec::with_capacity(tangent.len());
    let bodies = model.free_bodies().zip(&state.bodies).zip(forces);
    for ((((_, held, mass), body), force), part) in bodies.zip(tangent.chunks_exact(TANGENT_DIMENSION)) {
        let acceleration = body_acceleration(mass, held.guide(), &model.gravity, body, force);
        let rotation = Vector3::new(part[0], part[1], part[2]);
        for v in [
            rotation_vector_rate(&rotation, &body.velocity.rotational),
            body.velocity.translational,
            acceleration.angular,
            acceleration.of_origin,
        ] {
            rate.extend(v.iter().copied());
        }
    }
    rate
}

/// The rate u̇ of a rotation vector u at angular velocity ω (outer frame): the inverse of the
/// exponential map's differential, ω − ½ u×ω + ¹⁄₁₂ u×(u×ω). The next term is of the fourth order
/// in u, which a method of order 4 does not see.
fn rotation_vector_rate<T: Scalar>(u: &Vector3<T>, angular_velocity: &Vector3<T>) -> Vector3<T> {
    let first = u.cross(angular_velocity);
    angular_velocity - first * T::from(0.5) + u.cross(&first) * T::from(1.0 / 12.0)
}
