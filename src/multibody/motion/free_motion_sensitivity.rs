//! The derivatives of [`FreeMotion`] in closed form: every step's Jacobian needs them for every body,
//! and dual numbers would carry zeros through most of the products. It is tested against them.

use nalgebra::{Matrix3, Vector3};

use super::dynamics::solve;
use super::free_motion::{FreeMotion, real_midpoint_rate};
use crate::scalar::DualArray;
use crate::spatial::{
    MASS_NUMBERS, MassProperties, cross_matrix, rotation_exponential, rotation_exponential_jacobian,
    rotation_exponential_less_identity,
};

/// A⁻¹ B.
fn solve_columns(a: &Matrix3<f64>, b: &Matrix3<f64>) -> Matrix3<f64> {
    Matrix3::from_columns(&[0, 1, 2].map(|k| solve(a, &b.column(k).into_owned())))
}

/// A motion, and what its derivatives have in common. The names are those of [`FreeMotion::new`]; all
/// but the rotation is in the body's axes.
struct Linearization<'a> {
    mass: &'a MassProperties,
    rotation: &'a Matrix3<f64>,
    dt: f64,
    value: FreeMotion,
    spin: Vector3<f64>,
    extra_rate: Vector3<f64>,
    /// The change of the angular velocity, seen from the body.
    change: Vector3<f64>,
    /// E, E − 1, and how E follows its angle.
    turned: Matrix3<f64>,
    turn: Matrix3<f64>,
    jacobian: Matrix3<f64>,
    /// Eᵀ Π₀ − Π₀ by the rate.
    by_rate: Matrix3<f64>,
    /// How the violation of the equation for the rate follows the rate, if there is a solution.
    slope: Option<Matrix3<f64>>,
}

impl<'a> Linearization<'a> {
    fn new(
        mass: &'a MassProperties,
        rotation: &'a Matrix3<f64>,
        angular_velocity: &Vector3<f64>,
        dt: f64,
    ) -> Self {
        let inertia = &mass.inertia;
        let spin = rotation.transpose() * angular_velocity;
        let momentum = inertia * spin;
        let rate = real_midpoint_rate(inertia, &spin, &momentum, dt);
        let extra_rate = rate.unwrap_or_default();
        let value = FreeMotion::with_rate(mass, rotation, angular_velocity, &extra_rate, dt);
        let angle = (spin + extra_rate) * dt;
        let jacobian = rotation_exponential_jacobian(&angle);
        let (turned, turn) = (rotation_exponential(&angle), rotation_exponential_less_identity(&angle));
        let by_rate = turned.transpose() * cross_matrix(&momentum) * jacobian * dt;
        let slope = rate.map(|_| inertia - by_rate * 0.5);
        let change = solve(inertia, &(turn.transpose() * momentum));
        Self { mass, rotation, dt, value, spin, extra_rate, change, turned, turn, jacobian, by_rate, slope }
    }

    /// How the rate follows what changes the sum that it halves, Eᵀ Π₀ − Π₀ − 2 I times the rate.
    fn rate_by(&self, sum: &Matrix3<f64>) -> Matrix3<f64> {
        self.slope.map_or_else(Matrix3::zeros, |slope| solve_columns(&slope, &(sum * 0.5)))
    }

    /// How the motion's vectors, in W, follow a vector, given how the spin, the extra rate and the
    /// change of the angular velocity do.
    fn in_world(
        &self,
        spin_by: &Matrix3<f64>,
        rate_by: &Matrix3<f64>,
        change_by: &Matrix3<f64>,
    ) -> [ByVector; 4] {
        let Self { rotation, dt, value, turned, turn, .. } = self;
        let rotation = *rotation;
        // How E follows it: as a turn on its left.
        let left_turn = self.jacobian * (spin_by + rate_by) * *dt;
        let velocity_change = turn * spin_by + turned * change_by
            - cross_matrix(&(turned * (self.spin + self.change))) * left_turn;
        let center = turned * self.mass.center_of_mass;
        let angular = rotation * (spin_by + velocity_change);
        let extra_turn = rotation * (rate_by - velocity_change) * *dt;
        let (after, way) = (rotation * center, rotation * (turn * self.mass.center_of_mass));
        let way_by = -(rotation * cross_matrix(&center) * left_turn);
        let moved = cross_matrix(&value.angular_velocity) * way_by;
        let swing = moved - cross_matrix(&way) * angular;
        let extra_shift = (moved - cross_matrix(&after) * angular) * *dt - way_by;
        [angular, extra_turn, extra_shift, swing]
    }

    /// The derivatives of the vectors with respect to the angular velocity before the step.
    fn by_angular_velocity(&self) -> [ByVector; 4] {
        let (inertia, one) = (&self.mass.inertia, Matrix3::identity());
        let by_spin = self.turn.transpose() * inertia;
        let rate_by = self.rate_by(&(by_spin + self.by_rate));
        let change_by = solve_columns(inertia, &(by_spin + self.by_rate * (one + rate_by)));
        self.in_world(&one, &rate_by, &change_by).map(|by_spin| by_spin * self.rotation.transpose())
    }

    /// The motion with its derivatives with respect to the numbers of the mass properties. An element
    /// of the inertia, in row a and column b, adds e_a w_b to I w: it acts through w = extra rate,
    /// change and spin.
    fn by_mass(&self) -> FreeMotion<DualArray<MASS_NUMBERS>> {
        let (inertia, none) = (&self.mass.inertia, Matrix3::zeros());
        let one = Matrix3::identity();
        let rate_by_extra = self.rate_by(&(one * -2.0));
        let rate_by_spin = self.rate_by(&self.turn.transpose());
        let change_by_extra = solve_columns(inertia, &(self.by_rate * rate_by_extra));
        let change_by_spin = solve_columns(inertia, &(self.turn.transpose() + self.by_rate * rate_by_spin));
        let change_by_change = solve_columns(inertia, &-one);
        let parts = [
            (self.in_world(&none, &rate_by_extra, &change_by_extra), &self.extra_rate),
            (self.in_world(&none, &rate_by_spin, &change_by_spin), &self.spin),
            (self.in_world(&none, &none, &change_by_change), &self.change),
        ];
        let turning = cross_matrix(&self.value.angular_velocity) * self.rotation;
        let swing = turning * self.turn;
        let extra_shift = turning * self.turned * self.dt - self.rotation * self.turn;
        let by_center = [none, none, extra_shift, swing];
        let vector = |index: usize, value: &Vector3<f64>| {
            Vector3::from_fn(|row, _| {
                let mut number = DualArray::from(value[row]);
                for a in 0..3 {
                    number.eps[1 + a] = by_center[index][(row, a)];
                    for b in 0..3 {
                        let products = parts.iter().map(|(by, w)| by[index][(row, a)] * w[b]);
                        number.eps[4 + 3 * a + b] = products.sum();
                    }
                }
                number
            })
        };
        let [angular_velocity, extra_turn, extra_shift, swing] = self.value.parts();
        FreeMotion {
            angular_velocity: vector(0, angular_velocity),
            extra_turn: vector(1, extra_turn),
            extra_shift: vector(2, extra_shift),
            swing: vector(3, swing),
        }
    }
}

/// Derivatives of a vector with respect to a vector.
type ByVector = Matrix3<f64>;

/// How a vector of [`FreeMotion`] follows the state before the step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VectorSensitivity {
    /// With respect to a turn of the body, its angular velocity in W held.
    pub by_turn: ByVector,
    /// With respect to the angular velocity.
    pub by_angular_velocity: ByVector,
}

/// The derivatives of [`FreeMotion`].
#[derive(Clone, Debug)]
pub(crate) struct FreeMotionSensitivity {
    pub value: FreeMotion,
    pub angular_velocity: VectorSensitivity,
    pub extra_turn: VectorSensitivity,
    pub extra_shift: VectorSensitivity,
    pub swing: VectorSensitivity,
    /// With respect to the numbers of the mass properties, if they are asked for.
    by_mass: Option<FreeMotion<DualArray<MASS_NUMBERS>>>,
}

impl FreeMotionSensitivity {
    /// For a step of `dt` seconds; by the mass properties only if asked.
    pub fn new(
        mass: &MassProperties,
        rotation: &Matrix3<f64>,
        angular_velocity: &Vector3<f64>,
        dt: f64,
        of_mass: bool,
    ) -> Self {
        let motion = Linearization::new(mass, rotation, angular_velocity, dt);
        let value = motion.value;
        let spin = cross_matrix(angular_velocity);
        // With body and velocity turned together every vector turns as well.
        let sensitivity = |v: &Vector3<f64>, by_angular_velocity: ByVector| {
            let by_turn = by_angular_velocity * spin - cross_matrix(v);
            VectorSensitivity { by_turn, by_angular_velocity }
        };
        let by_mass = of_mass.then(|| motion.by_mass());
        let [angular, turn, shift, swing] = motion.by_angular_velocity();
        Self {
            angular_velocity: sensitivity(&value.angular_velocity, angular),
            extra_turn: sensitivity(&value.extra_turn, turn),
            extra_shift: sensitivity(&value.extra_shift, shift),
            swing: sensitivity(&value.swing, swing),
            value,
            by_mass,
        }
    }

    /// Adds the derivatives with respect to the state (turn, position, angular and linear velocity) and
    /// to the mass properties, from those with respect to the vectors of [`FreeMotion`].
    pub fn add_vjp(&self, by: &FreeMotion, by_state: &mut [f64], by_mass: &mut MassProperties) {
        let sensitivities = [&self.angular_velocity, &self.extra_turn, &self.extra_shift, &self.swing];
        for (sensitivity, by) in sensitivities.into_iter().zip(by.parts()) {
            let turn = sensitivity.by_turn.tr_mul(by);
            let velocity = sensitivity.by_angular_velocity.tr_mul(by);
            for axis in 0..3 {
                by_state[axis] += turn[axis];
                by_state[6 + axis] += velocity[axis];
            }
        }
        if let Some(motion) = &self.by_mass {
            let rows = motion.parts().into_iter().flatten();
            let mut numbers = [0.0; MASS_NUMBERS];
            for (row, by) in rows.zip(by.parts().into_iter().flatten()) {
                for (number, eps) in numbers.iter_mut().zip(&row.eps) {
                    *number += by * eps;
                }
            }
            by_mass.add_numbers(&numbers);
        }
    }

    /// The motion with derivatives with respect to the numbers of the mass properties, if they were
    /// asked for, else constant.
    pub fn seeded_by_mass(&self) -> FreeMotion<DualArray<MASS_NUMBERS>> {
        self.by_mass.unwrap_or_else(|| FreeMotion::lift(&self.value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::multibody::motion::free_motion::tests::{body, moments, vector};
    use crate::scalar::real_vector;
    use crate::spatial::Quaternion;
    use approx::assert_relative_eq;
    use proptest::prelude::*;

    #[test]
    fn derivatives_agree_with_differences() {
        let mass = body([0.5, 0.9, 1.1]);
        let orientation = Quaternion::from_wxyz(0.8, 0.3, -0.4, 0.2);
        let (velocity, dt) = (Vector3::new(3.0, -2.0, 5.0), 0.15);
        let by = FreeMotion {
            angular_velocity: Vector3::new(0.3, -0.8, 1.1),
            extra_turn: Vector3::new(0.6, -0.4, 0.9),
            extra_shift: Vector3::new(-0.2, 0.5, 0.7),
            swing: Vector3::new(0.1, 1.3, -0.6),
        };
        let value = |step: &[f64]| {
            let part = |i: usize| Vector3::new(step[i], step[i + 1], step[i + 2]);
            let mut mass = mass;
            mass.center_of_mass += part(6);
            mass.inertia += Matrix3::from_row_slice(&step[9..18]);
            let rotation = orientation.rotated_by(&part(0)).to_matrix();
            let motion = FreeMotion::new(&mass, &rotation, &(velocity + part(3)), dt);
            motion.parts().iter().zip(by.parts()).map(|(x, by)| x.dot(by)).sum::<f64>()
        };
        let rotation = orientation.to_matrix();
        let sensitivity = FreeMotionSensitivity::new(&mass, &rotation, &velocity, dt, true);
        let (mut by_state, mut by_mass) = ([0.0; 12], MassProperties::zero());
        sensitivity.add_vjp(&by, &mut by_state, &mut by_mass);
        let mut found = [&by_state[..3], &by_state[6..9], by_mass.center_of_mass.as_slice()].concat();
        found.extend(by_mass.inertia.transpose().iter());
        for (k, found) in found.into_iter().enumerate() {
            // Inertia changes symmetrically.
            let mirror = if k < 9 { k } else { 9 + 3 * ((k - 9) % 3) + (k - 9) / 3 };
            let along = |h: f64| {
                let mut step = [0.0; 18];
                (step[k], step[mirror]) = (h, h);
                value(&step)
            };
            let count = if mirror == k { 1.0 } else { 2.0 };
            let difference = (along(1e-6) - along(-1e-6)) / 2e-6;
            assert_relative_eq!(found * count, difference, max_relative = 1e-7, epsilon = 1e-8);
        }
    }

    proptest! {
        #[test]
        fn the_closed_form_is_that_of_dual_numbers(
            moments in moments(),
            center in vector(0.3),
            velocity in vector(10.0),
            axis in vector(2.0),
            dt in prop_oneof![1e-4..1e-2, 0.01..1.0, 10.0..100.0],
        ) {
            type Dual = DualArray<3>;
            let mut mass = body(moments);
            mass.center_of_mass = center;
            let rotation = rotation_exponential(&axis);
            let seeded = Vector3::from_fn(|i, _| Dual::variable(velocity[i], i));
            let (lifted_mass, lifted_rotation) = (MassProperties::lift(&mass), rotation.map(Dual::from));
            let lifted = FreeMotion::new(&lifted_mass, &lifted_rotation, &seeded, Dual::from(dt));
            let motion = Linearization::new(&mass, &rotation, &velocity, dt);
            let slopes = motion.by_angular_velocity();
            prop_assert_eq!(motion.value.parts().map(|v| *v), lifted.parts().map(real_vector));
            let scale = 1e-11 * (1.0 + dt) * (1.0 + velocity.norm() * dt);
            for (slope, expected) in slopes.iter().zip(lifted.parts()) {
                let expected = Matrix3::from_fn(|i, k| expected[i].eps[k]);
                let size = expected.norm().max(1.0);
                prop_assert!((slope - expected).norm() <= scale * size, "{slope} {expected}");
            }
            let constant = velocity.map(DualArray::<MASS_NUMBERS>::from);
            let lifted = FreeMotion::new(&mass.seeded(0), &rotation.map(DualArray::from), &constant, DualArray::from(dt));
            let closed = motion.by_mass();
            let scale = scale * (1.0 + mass.inertia.norm().recip().powi(2)) * (1.0 + velocity.norm());
            for (found, expected) in closed.parts().into_iter().zip(lifted.parts()) {
                for (found, expected) in found.iter().zip(expected) {
                    for (found, expected) in found.eps.iter().zip(expected.eps) {
                        let allowed = scale * expected.abs().max(1.0);
                        prop_assert!((found - expected).abs() <= allowed, "{found} {expected}");
                    }
                }
            }
        }
    }
}
