//! Newton and Euler: from the force on a body to its acceleration.

use nalgebra::{Matrix3, Vector3};

use crate::multibody::{BodyState, TANGENT_DIMENSION};
use crate::scalar::Scalar;
use crate::spatial::{MassProperties, SpatialForce};

/// How the velocity of a free body changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BodyAcceleration<T = f64> {
    /// Angular acceleration in W, rad/s².
    pub angular: Vector3<T>,
    /// Acceleration of the centre of mass in W, m/s².
    pub of_center_of_mass: Vector3<T>,
    /// Acceleration of the body's origin in W, m/s².
    pub of_origin: Vector3<T>,
}

/// The acceleration of a free body under gravity and a force `f_bo_w` (about the body's origin,
/// in W, gravity not included), with the gyroscopic moment ω × Iω.
pub fn body_acceleration<T: Scalar>(
    mass: &MassProperties<T>,
    gravity: &Vector3<T>,
    state: &BodyState<T>,
    force: &SpatialForce<T>,
) -> BodyAcceleration<T> {
    let rotation = state.orientation.to_matrix();
    let offset = rotation * mass.center_of_mass;
    let about_center = force.shifted(&offset);
    // The inertia is constant in the body's axes, so the equation of rotation is solved there.
    let spin = rotation.transpose() * state.velocity.rotational;
    let moment = rotation.transpose() * about_center.rotational - spin.cross(&(mass.inertia * spin));
    let angular = rotation * solve(&mass.inertia, &moment);
    let of_center_of_mass = about_center.translational * mass.mass.recip() + gravity;
    let w = state.velocity.rotational;
    let of_origin = of_center_of_mass - angular.cross(&offset) - w.cross(&w.cross(&offset));
    BodyAcceleration { angular, of_center_of_mass, of_origin }
}

/// The derivatives of one number, such as a loss, with respect to what the acceleration of a body
/// depends on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BodyCotangent {
    /// With respect to the body's state, in its tangent space (see [`TANGENT_DIMENSION`]).
    pub state: [f64; TANGENT_DIMENSION],
    /// With respect to the spatial force on the body about its origin, in W.
    pub force: SpatialForce,
    /// With respect to the mass properties; the inertia's elements are taken as nine independent
    /// numbers, and the derivative is symmetric.
    pub mass: MassProperties,
    /// With respect to the acceleration of gravity in W.
    pub gravity: Vector3<f64>,
}

/// The vector–Jacobian product of [`body_acceleration`]: from the derivatives of one number with respect
/// to the three accelerations to those with respect to everything that they depend on. Those with
/// respect to the force do not depend on the force.
pub(crate) fn body_acceleration_vjp(
    mass: &MassProperties,
    state: &BodyState,
    force: &SpatialForce,
    by_acceleration: &BodyAcceleration,
) -> BodyCotangent {
    let rotation = state.orientation.to_matrix();
    let to_body = rotation.transpose();
    let offset = rotation * mass.center_of_mass;
    let about_center = force.shifted(&offset);
    let w = state.velocity.rotational;
    let spin = to_body * w;
    let momentum = mass.inertia * spin;
    let in_body = solve(&mass.inertia, &(to_body * about_center.rotational - spin.cross(&momentum)));
    let angular = rotation * in_body;
    // a_o = a_c − α×o − ω×(ω×o)
    let by_origin = by_acceleration.of_origin;
    let by_center = by_acceleration.of_center_of_mass + by_origin;
    let by_angular = by_acceleration.angular - offset.cross(&by_origin);
    let turned = by_origin.cross(&w);
    let mut by_w = -w.cross(&offset).cross(&by_origin) - offset.cross(&turned);
    let mut by_offset = angular.cross(&by_origin) - turned.cross(&w);
    // a_c = F/m + g
    let mut by_force = by_center / mass.mass;
    let by_mass = -by_center.dot(&force.translational) / (mass.mass * mass.mass);
    // α = R I⁻¹ M with M = Rᵀτ − s×(I s), s = Rᵀω
    let by_moment = solve(&mass.inertia, &(to_body * by_angular));
    let by_momentum = spin.cross(&by_moment);
    let by_spin = mass.inertia * by_momentum - momentum.cross(&by_moment);
    let by_inertia = by_momentum * spin.transpose() - by_moment * in_body.transpose();
    let by_torque = rotation * by_moment;
    let by_spin_w = rotation * by_spin;
    by_w += by_spin_w;
    let mut by_rotation =
        angular.cross(&by_angular) - about_center.rotational.cross(&by_torque) - w.cross(&by_spin_w);
    // τ about the centre = τ − o×F
    by_offset -= force.translational.cross(&by_torque);
    by_force -= by_torque.cross(&offset);
    // o = R c
    by_rotation += offset.cross(&by_offset);
    let mut by_state = [0.0; TANGENT_DIMENSION];
    by_state[..3].copy_from_slice(by_rotation.as_slice());
    by_state[6..9].copy_from_slice(by_w.as_slice());
    BodyCotangent {
        state: by_state,
        force: SpatialForce::new(by_torque, by_force),
        mass: MassProperties {
            mass: by_mass,
            center_of_mass: to_body * by_offset,
            inertia: (by_inertia + by_inertia.transpose()) * 0.5,
        },
        gravity: by_center,
    }
}

/// The solution of a well-conditioned 3×3 system by Cramer's rule.
pub(crate) fn solve<T: Scalar>(matrix: &Matrix3<T>, right: &Vector3<T>) -> Vector3<T> {
    let (x, y, z) =
        (matrix.column(0).into_owned(), matrix.column(1).into_owned(), matrix.column(2).into_owned());
    let yz = y.cross(&z);
    let inverse = x.dot(&yz).recip();
    Vector3::new(
        right.dot(&yz) * inverse,
        x.dot(&right.cross(&z)) * inverse,
        x.dot(&y.cross(right)) * inverse,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spatial::{Quaternion, SpatialVelocity};
    use approx::assert_relative_eq;

    #[test]
    fn momentum_balance_holds_about_the_origin() {
        let inertia = Matrix3::new(0.3, 0.02, -0.01, 0.02, 0.4, 0.03, -0.01, 0.03, 0.5);
        let mass = MassProperties { mass: 1.7, center_of_mass: Vector3::new(0.2, -0.1, 0.3), inertia };
        let state = BodyState {
            orientation: Quaternion::from_wxyz(0.4, 0.1, -0.7, 0.3),
            position: Vector3::new(1.0, 2.0, 3.0),
            velocity: SpatialVelocity::new(Vector3::new(1.1, -0.6, 2.0), Vector3::new(0.3, 0.2, 0.1)),
        };
        let force = SpatialForce::new(Vector3::new(0.4, 0.9, -0.2), Vector3::new(3.0, -1.0, 2.0));
        let gravity = Vector3::new(0.0, 0.0, -9.81);
        let a = body_acceleration(&mass, &gravity, &state, &force);
        // Rates of linear and angular momentum about W's origin, written out in W.
        let r = state.orientation.to_matrix();
        let c = r * mass.center_of_mass;
        let i = r * inertia * r.transpose();
        let w = state.velocity.rotational;
        let linear = a.of_center_of_mass * mass.mass;
        assert_relative_eq!(linear, force.translational + gravity * mass.mass, epsilon = 1e-13);
        let spin_rate = i * a.angular + w.cross(&(i * w)) + (state.position + c).cross(&linear);
        let moment = force.rotational
            + state.position.cross(&force.translational)
            + (state.position + c).cross(&(gravity * mass.mass));
        assert_relative_eq!(spin_rate, moment, epsilon = 1e-12);
        let rigid = a.of_origin + a.angular.cross(&c) + w.cross(&w.cross(&c));
        assert_relative_eq!(rigid, a.of_center_of_mass, epsilon = 1e-13);
    }
}
