//! How the balance of momentum of a free body over a step, without contact and applied forces,
//! follows the state before it, gravity, and the body's mass properties.
//!
//! With the body, its velocities and gravity turned together the balance turns as well. So its
//! derivative with respect to a turn of the body alone follows from those with respect to the velocities
//! and gravity.

use nalgebra::{Matrix3, Matrix6, SMatrix, Vector3};

use super::free_body::{BODY, BodyInertia, six};
use crate::multibody::{BodyState, FreeMotionSensitivity, MassProperties};
use crate::scalar::DualArray;
use crate::spatial::{MASS_NUMBERS, SpatialForce, SpatialVelocity, cross_matrix, from_quarters};

/// Derivatives of momenta, angular and linear, with respect to a vector.
type ByVector = SMatrix<f64, 6, 3>;

/// The derivatives of p − M V, with the momentum p at the end of the step, about the body's origin,
/// and of the body's free motion.
#[derive(Clone, Debug)]
pub(super) struct BodySensitivity {
    /// How the free motion follows, which p and the pose after the step contain.
    pub free: FreeMotionSensitivity,
    /// With respect to a turn of the body before the step.
    by_turn: ByVector,
    /// With respect to the velocity before the step.
    by_velocity: Matrix6<f64>,
    /// With respect to gravity.
    by_gravity: ByVector,
    /// With respect to the mass properties, if they are asked for.
    by_mass: Option<Box<[DualArray<MASS_NUMBERS>; BODY]>>,
}

/// Derivatives with respect to a vector from their two halves.
fn stacked(upper: Matrix3<f64>, lower: Matrix3<f64>) -> ByVector {
    ByVector::from_fn(|i, k| if i < 3 { upper[(i, k)] } else { lower[(i - 3, k)] })
}

impl BodySensitivity {
    /// For a step of `dt` seconds from the state `before` to the velocity `after`; by the mass
    /// properties only if asked.
    pub fn new(
        mass: &MassProperties,
        before: &BodyState,
        after: &SpatialVelocity,
        gravity: &Vector3<f64>,
        dt: f64,
        of_mass: bool,
    ) -> Self {
        let body = BodyInertia::new(mass, before);
        let v = &before.velocity;
        let rotation = before.orientation.to_matrix();
        let free = FreeMotionSensitivity::new(mass, &rotation, &v.rotational, dt, of_mass);
        let left =
            body.free_momentum(v, &free.value, &SpatialForce::zero(), gravity, dt) - body.momentum(after);
        let by_velocity = body.matrix() * body.free_velocity_by_velocity(&free);
        let lever = cross_matrix(&body.offset) * (body.mass * dt);
        let by_gravity = stacked(lever, Matrix3::from_diagonal_element(body.mass * dt));
        let turning =
            |v: &SpatialVelocity| stacked(cross_matrix(&v.rotational), cross_matrix(&v.translational));
        let by_turn = by_velocity * turning(v) - body.matrix() * turning(after)
            + by_gravity * cross_matrix(gravity)
            - stacked(cross_matrix(&left.rotational), cross_matrix(&left.translational));
        let by_mass = of_mass.then(|| {
            type Dual = DualArray<MASS_NUMBERS>;
            let body = BodyInertia::new(&mass.seeded(0), &BodyState::<Dual>::lift(before));
            let (v, gravity) = (SpatialVelocity::lift(v), gravity.map(Dual::from));
            let free = free.seeded_by_mass();
            let left = body.free_momentum(&v, &free, &SpatialForce::zero(), &gravity, dt.into())
                - body.momentum(&SpatialVelocity::lift(after));
            Box::new(six(&left.rotational, &left.translational))
        });
        Self { free, by_turn, by_velocity, by_gravity, by_mass }
    }

    /// Adds the derivatives of `mu` times it: to `by_state` (turn, position, angular and linear
    /// velocity), by gravity, and by the mass properties.
    pub fn add_vjp(
        &self,
        mu: &[f64],
        by_state: &mut [f64],
        by_gravity: &mut Vector3<f64>,
        by_mass: &mut MassProperties,
    ) {
        let along = |column: &[f64]| column.iter().zip(mu).map(|(x, m)| x * m).sum::<f64>();
        let columns = |m: &'_ [f64], k: usize| along(&m[BODY * k..BODY * (k + 1)]);
        for k in 0..3 {
            by_state[k] += columns(self.by_turn.as_slice(), k);
            by_gravity[k] += columns(self.by_gravity.as_slice(), k);
        }
        for k in 0..6 {
            by_state[6 + k] += columns(self.by_velocity.as_slice(), k);
        }
        if let Some(rows) = &self.by_mass {
            let mut by = [0.0; MASS_NUMBERS];
            for (row, m) in rows.iter().zip(mu) {
                for (by, eps) in by.iter_mut().zip(&row.eps) {
                    *by += m * eps;
                }
            }
            by_mass.add_numbers(&by);
        }
    }
}

impl BodyInertia<f64> {
    /// The derivative of [`Mechanism::free_velocity`] with respect to the velocity.
    fn free_velocity_by_velocity(&self, free: &FreeMotionSensitivity) -> Matrix6<f64> {
        let lever = cross_matrix(&self.offset);
        let by_spin = free.angular_velocity.by_angular_velocity;
        let of_origin = lever * (by_spin - Matrix3::identity()) - free.swing.by_angular_velocity;
        from_quarters(by_spin, Matrix3::zeros(), of_origin, Matrix3::identity())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::multibody::FreeMotion;
    use crate::spatial::Quaternion;
    use approx::assert_relative_eq;

    #[test]
    fn derivatives_agree_with_differences() {
        let mass = MassProperties {
            mass: 1.7,
            center_of_mass: Vector3::new(0.1, -0.3, 0.2),
            inertia: Matrix3::new(0.9, 0.1, -0.2, 0.1, 1.1, 0.05, -0.2, 0.05, 1.3),
        };
        let before = BodyState {
            orientation: Quaternion::from_wxyz(0.8, 0.3, -0.4, 0.2),
            position: Vector3::new(0.3, 0.1, -0.7),
            velocity: SpatialVelocity::new(Vector3::new(1.1, -0.6, 0.8), Vector3::new(0.4, 0.9, -1.2)),
        };
        let after = SpatialVelocity::new(Vector3::new(0.7, -0.2, 1.3), Vector3::new(-0.5, 0.6, 0.3));
        let (gravity, dt) = (Vector3::new(0.4, -1.2, -9.5), 0.1);
        let mu = [0.3, -0.8, 1.1, 0.6, -0.4, 0.9];
        // Turn, velocity, gravity, mass properties.
        let value = |step: &[f64; 25]| {
            let part = |i: usize| Vector3::new(step[i], step[i + 1], step[i + 2]);
            let mut moved = before;
            moved.orientation = before.orientation.rotated_by(&part(0));
            moved.velocity.rotational += part(3);
            moved.velocity.translational += part(6);
            let mut mass = mass;
            mass.mass += step[12];
            mass.center_of_mass += part(13);
            mass.inertia += Matrix3::from_row_slice(&step[16..]);
            let body = BodyInertia::new(&mass, &moved);
            let free = FreeMotion::new(&mass, &moved.orientation.to_matrix(), &moved.velocity.rotational, dt);
            let free =
                body.free_momentum(&moved.velocity, &free, &SpatialForce::zero(), &(gravity + part(9)), dt);
            let left = free - body.momentum(&after);
            six(&left.rotational, &left.translational).iter().zip(&mu).map(|(x, m)| x * m).sum::<f64>()
        };
        let (mut by_state, mut by_gravity, mut by_mass) =
            ([0.0; 12], Vector3::zeros(), MassProperties::zero());
        let sensitivity = BodySensitivity::new(&mass, &before, &after, &gravity, dt, true);
        sensitivity.add_vjp(&mu, &mut by_state, &mut by_gravity, &mut by_mass);
        let mut found = by_state[..3].to_vec();
        found.extend(&by_state[6..]);
        found.extend(by_gravity.iter());
        found.push(by_mass.mass);
        found.extend(by_mass.center_of_mass.iter());
        found.extend(by_mass.inertia.transpose().iter());
        assert_eq!(by_state[3..6], [0.0; 3]);
        let h = 1e-6;
        for (k, found) in found.into_iter().enumerate() {
            let mut step = [0.0; 25];
            // Inertia changes symmetrically.
            let mirror = if k < 16 { k } else { 16 + 3 * ((k - 16) % 3) + (k - 16) / 3 };
            let along = |h: f64, step: &mut [f64; 25]| {
                step[k] = h;
                step[mirror] = h;
                value(step)
            };
            let count = if mirror == k { 1.0 } else { 2.0 };
            let difference = (along(h, &mut step) - along(-h, &mut step)) / (2.0 * h);
            assert_relative_eq!(found * count, difference, max_relative = 1e-7, epsilon = 1e-8);
        }
        let without = BodySensitivity::new(&mass, &before, &after, &gravity, dt, false);
        let mut none = MassProperties::zero();
        without.add_vjp(&mu, &mut by_state, &mut by_gravity, &mut none);
        assert_eq!(none, MassProperties::zero());
    }
}
