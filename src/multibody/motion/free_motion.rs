//! The motion of a free body over a step on which no moment acts: what a step adds forces to.
//!
//! Euler's equation İω = Iω × ω in the body's axes is solved by a midpoint rule on rotations
//! (Krysl & Endres 2005, *Explicit Newmark/Verlet algorithm for time integration of the rotational
//! dynamics of rigid bodies*, discuss the family): with the angular momentum Π in the body's axes
//! and E = exp(δt \[ω_m\]×),
//!
//! > I ω_m = (Π₀ + Π₁)/2, Π₁ = Eᵀ Π₀, R₁ = R₀ E.
//!
//! R₁Π₁ = R₀Π₀: angular momentum in the world is kept to rounding, whatever the step. Π₁ − Π₀ is
//! a multiple of ω_m × Π_m, which is normal to ω_m = I⁻¹Π_m, so the kinetic energy ½ Πᵀ I⁻¹ Π is
//! kept as well. A body that turns about a principal axis turns exactly. With the gyroscopic moment
//! taken at the start of the step instead, energy grows by a part of (ω δt)² in every step.

use nalgebra::{Matrix3, Vector3};

use super::dynamics::solve;
use crate::scalar::{Scalar, lift_vector, real_matrix, real_vector};
use crate::spatial::{
    MassProperties, cross_matrix, rotation_exponential, rotation_exponential_jacobian,
    rotation_exponential_less_identity,
};

/// Newton steps for the rate of turning; three or four are usual where it turns by less than a
/// radian.
const MAXIMUM_ITERATIONS: usize = 20;
/// What is left of the angular momentum where the iteration ends, in its own parts: a few roundings.
const RESIDUAL: f64 = 4.0 * f64::EPSILON;
/// What may be left where it does not end.
const ACCEPTABLE_RESIDUAL: f64 = 1e-10;

/// What a step of a free body without moments does, apart from a uniform motion; in W.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FreeMotion<T = f64> {
    /// Angular velocity after the step, ω*, rad/s.
    pub angular_velocity: Vector3<T>,
    /// How far the turn over the step is from δt ω*, rad: R₁ = exp(δt ω* + extra_turn) R₀.
    pub extra_turn: Vector3<T>,
    /// How far the origin's way over the step is from δt times its velocity after the step, m,
    /// where the centre of mass goes straight.
    pub extra_shift: Vector3<T>,
    /// The change of the velocity of the centre of mass relative to the origin, were the body to
    /// turn with ω* all the time, m/s: ω* × (o₁ − o₀) with the centre of mass at o from the origin.
    pub swing: Vector3<T>,
}

impl<T: Scalar> FreeMotion<T> {
    /// Over a step of `dt` seconds from an orientation and an angular velocity in W.
    pub fn new(
        mass: &MassProperties<T>,
        rotation: &Matrix3<T>,
        angular_velocity: &Vector3<T>,
        dt: T,
    ) -> Self {
        let spin = rotation.transpose() * angular_velocity;
        let momentum = mass.inertia * spin;
        // All as differences to a uniform turn: derivatives with respect to the inertia are of the order
        // of the step, and would be lost between terms that cancel.
        let extra_rate = midpoint_rate(&mass.inertia, &spin, &momentum, dt);
        Self::with_rate(mass, rotation, angular_velocity, &extra_rate, dt)
    }

    /// The motion of a body whose rate of turning exceeds that at the start by so much, in the body's
    /// axes.
    pub(super) fn with_rate(
        mass: &MassProperties<T>,
        rotation: &Matrix3<T>,
        angular_velocity: &Vector3<T>,
        extra_rate: &Vector3<T>,
        dt: T,
    ) -> Self {
        let spin = rotation.transpose() * angular_velocity;
        let momentum = mass.inertia * spin;
        let angle = (spin + extra_rate) * dt;
        let turn = rotation_exponential_less_identity(&angle);
        let change = solve(&mass.inertia, &(turn.transpose() * momentum));
        let change = rotation * (turn * (spin + change) + change);
        let angular_velocity = angular_velocity + change;
        let moved = angular_velocity * dt;
        let before = rotation * mass.center_of_mass;
        let way = rotation * (turn * mass.center_of_mass);
        Self {
            angular_velocity,
            extra_turn: (rotation * extra_rate - change) * dt,
            extra_shift: moved.cross(&(before + way)) - way,
            swing: angular_velocity.cross(&way),
        }
    }

    /// A constant motion.
    pub fn lift(motion: &FreeMotion) -> Self {
        Self {
            angular_velocity: lift_vector(&motion.angular_velocity),
            extra_turn: lift_vector(&motion.extra_turn),
            extra_shift: lift_vector(&motion.extra_shift),
            swing: lift_vector(&motion.swing),
        }
    }

    pub(super) fn parts(&self) -> [&Vector3<T>; 4] {
        [&self.angular_velocity, &self.extra_turn, &self.extra_shift, &self.swing]
    }
}

/// I (ω − ω₀) − (Eᵀ Π₀ − Π₀)/2 with E = exp(δt \[ω\]×), by how much ω exceeds ω₀.
fn violation<T: Scalar>(
    inertia: &Matrix3<T>,
    spin: &Vector3<T>,
    extra: &Vector3<T>,
    momentum: &Vector3<T>,
    dt: T,
) -> Vector3<T> {
    let back = rotation_exponential_less_identity(&((spin + extra) * -dt));
    inertia * extra - back * momentum * T::from(0.5)
}

/// How the violation follows the rate.
fn violation_slope(
    inertia: &Matrix3<f64>,
    rate: &Vector3<f64>,
    momentum: &Vector3<f64>,
    dt: f64,
) -> Matrix3<f64> {
    let angle = rate * dt;
    let turned = cross_matrix(momentum) * rotation_exponential_jacobian(&angle);
    inertia - rotation_exponential(&-angle) * turned * (0.5 * dt)
}

/// By how much the rate ω_m of turning over a step exceeds that at its start, in the body's axes.
///
/// None where Newton's method finds none (a body that turns by several radians in a step).
pub(super) fn real_midpoint_rate(
    inertia: &Matrix3<f64>,
    spin: &Vector3<f64>,
    momentum: &Vector3<f64>,
    dt: f64,
) -> Option<Vector3<f64>> {
    let scale = momentum.norm();
    let mut extra = Vector3::zeros();
    let mut left = violation(inertia, spin, &extra, momentum, dt);
    for _ in 0..MAXIMUM_ITERATIONS {
        if left.norm() <= RESIDUAL * scale {
            break;
        }
        extra -= solve(&violation_slope(inertia, &(spin + extra), momentum, dt), &left);
        left = violation(inertia, spin, &extra, momentum, dt);
    }
    (left.norm() <= ACCEPTABLE_RESIDUAL * scale).then_some(extra)
}

/// [`real_midpoint_rate`] with the derivatives that its equation implies.
///
/// Zero where there is none: angular momentum is kept all the same, and energy between the bounds
/// that this sets.
fn midpoint_rate<T: Scalar>(
    inertia: &Matrix3<T>,
    spin: &Vector3<T>,
    momentum: &Vector3<T>,
    dt: T,
) -> Vector3<T> {
    let (real_inertia, start, b) = (real_matrix(inertia), real_vector(spin), real_vector(momentum));
    let Some(extra) = real_midpoint_rate(&real_inertia, &start, &b, dt.real()) else {
        return Vector3::from_element(T::from(0.0));
    };
    let mut lifted = extra.map(T::from);
    if T::NDERIV > 0 {
        let slope = violation_slope(&real_inertia, &(start + extra), &b, dt.real()).map(T::from);
        for _ in 0..T::NDERIV {
            let left = violation(inertia, spin, &lifted, momentum, dt);
            // What is left of the real part is rounding.
            let left = left.map(|x| x - x.real());
            lifted -= solve(&slope, &left);
        }
    }
    lifted
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use approx::assert_relative_eq;
    use proptest::prelude::*;

    pub fn body(moments: [f64; 3]) -> MassProperties {
        let axes = rotation_exponential(&Vector3::new(0.4, -0.9, 0.3));
        let inertia = axes * Matrix3::from_diagonal(&Vector3::from(moments)) * axes.transpose();
        MassProperties { mass: 1.7, center_of_mass: Vector3::new(0.1, -0.3, 0.2), inertia }
    }

    pub fn vector(range: f64) -> impl Strategy<Value = Vector3<f64>> {
        proptest::array::uniform3(-range..range).prop_map(Vector3::from)
    }

    /// Principal moments, as of any distribution of mass.
    pub fn moments() -> impl Strategy<Value = [f64; 3]> {
        proptest::array::uniform3(0.02..1.0f64).prop_map(|[x, y, z]| [y + z, z + x, x + y])
    }

    proptest! {
        #[test]
        fn angular_momentum_and_energy_are_kept_at_any_step(
            moments in moments(), turn in vector(3.0), velocity in vector(1.0), dt in 0.01..1.5f64
        ) {
            let mass = body(moments);
            let rotation = rotation_exponential(&turn);
            let velocity = velocity.normalize();
            let motion = FreeMotion::new(&mass, &rotation, &velocity, dt);
            let after = rotation_exponential(&(motion.angular_velocity * dt + motion.extra_turn)) * rotation;
            let momentum = |r: &Matrix3<f64>, w: &Vector3<f64>| r * mass.inertia * r.transpose() * w;
            let (l, l_after) = (momentum(&rotation, &velocity), momentum(&after, &motion.angular_velocity));
            prop_assert!((l - l_after).norm() < 1e-14 * l.norm());
            let (e, e_after) = (l.dot(&velocity), l_after.dot(&motion.angular_velocity));
            prop_assert!((e - e_after).abs() < 1e-13 * e, "{} {}", e, e_after);
        }
    }

    #[test]
    fn a_principal_axis_is_turned_about_exactly() {
        let mass = body([0.5, 0.9, 1.1]);
        let axis = rotation_exponential(&Vector3::new(0.4, -0.9, 0.3)).column(1).into_owned();
        for rate in [0.0, 1e-9, 2.0, 40.0] {
            let velocity = axis * rate;
            let motion = FreeMotion::new(&mass, &Matrix3::identity(), &velocity, 0.1);
            assert_relative_eq!(motion.angular_velocity, velocity, epsilon = 1e-14 * rate);
            assert!(motion.extra_turn.norm() <= 1e-15 * rate);
        }
    }

    #[test]
    fn the_centre_of_mass_goes_straight() {
        let mass = body([0.5, 0.9, 1.1]);
        let rotation = rotation_exponential(&Vector3::new(0.3, 0.2, -0.6));
        let (velocity, dt) = (Vector3::new(2.0, -1.0, 3.0), 0.2);
        let motion = FreeMotion::new(&mass, &rotation, &velocity, dt);
        let before = rotation * mass.center_of_mass;
        let turn = rotation_exponential(&(motion.angular_velocity * dt + motion.extra_turn));
        let after = turn * before;
        assert_relative_eq!(motion.swing, motion.angular_velocity.cross(&(after - before)), epsilon = 1e-14);
        // The centre of mass at rest: the origin has the velocity −ω × o, and moves by o₀ − o₁.
        let origin = motion.extra_shift - motion.angular_velocity.cross(&after) * dt;
        assert_relative_eq!(origin, before - after, epsilon = 1e-14);
    }

    #[test]
    fn order_two() {
        // A turn in two halves differs from that in one by the third order of the step.
        let mass = body([0.5, 0.9, 1.1]);
        let velocity = Vector3::new(1.0, 2.0, -0.5);
        let error = |dt: f64| {
            let one = FreeMotion::new(&mass, &Matrix3::identity(), &velocity, dt).angular_velocity;
            let half = FreeMotion::new(&mass, &Matrix3::identity(), &velocity, 0.5 * dt);
            let r = rotation_exponential(&(half.angular_velocity * (0.5 * dt) + half.extra_turn));
            let two = FreeMotion::new(&mass, &r, &half.angular_velocity, 0.5 * dt).angular_velocity;
            (one - two).norm()
        };
        let order = (error(0.1) / error(0.05)).log2();
        assert!((order - 3.0).abs() < 0.1, "{order}");
    }

    #[test]
    fn a_turn_of_many_radians_keeps_momentum() {
        let mass = body([0.03, 1.0, 1.02]);
        for dt in [3.0, 10.0, 300.0, 1e6] {
            let velocity = Vector3::new(1.0, 2.0, -0.5);
            let motion = FreeMotion::new(&mass, &Matrix3::identity(), &velocity, dt);
            let turn = rotation_exponential(&(motion.angular_velocity * dt + motion.extra_turn));
            let l = mass.inertia * velocity;
            let after = turn * mass.inertia * turn.transpose() * motion.angular_velocity;
            assert!((l - after).norm() < 1e-9 * dt.max(1.0) * l.norm(), "{dt}");
        }
    }
}
