//! Mass, centre of mass and inertia of a rigid body.

use nalgebra::{Matrix3, Vector3};

use super::transform::RigidTransform;
use crate::scalar::{DualArray, Scalar, lift_matrix, lift_vector, real_matrix, real_vector};

/// Why no distribution of mass has given mass properties.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum MassPropertiesError {
    /// The mass is not a positive finite number.
    #[error("its mass is {0} kg; it must be positive and finite")]
    Mass(f64),
    /// The inertia is not one that a distribution of mass can have.
    #[error(
        "its inertia about the centre of mass is not symmetric positive definite with principal moments that satisfy the triangle inequality: principal moments {0:?} kg m²"
    )]
    Inertia([f64; 3]),
    /// The inertia is not symmetric.
    #[error("its inertia is not symmetric: element ({row}, {column}) is {value}, its mirror {mirror}")]
    NotSymmetric {
        /// Row of the element, from 0.
        row: usize,
        /// Column of the element, from 0.
        column: usize,
        value: f64,
        mirror: f64,
    },
    /// The mass is to come from the geometries, but they enclose no finite volume.
    #[error(
        "its geometries enclose no finite positive volume, so mass and inertia cannot come from them; give `mass` and `inertia`"
    )]
    NoVolume,
}

/// Mass, centre of mass and inertia of a rigid body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MassProperties<T = f64> {
    /// Mass, kg.
    pub mass: T,
    /// Position of the centre of mass in the body's frame, m.
    pub center_of_mass: Vector3<T>,
    /// Inertia about the centre of mass, in the body's axes, kg m².
    pub inertia: Matrix3<T>,
}

/// Numbers of mass properties: the mass, three coordinates of the centre of mass, and the nine
/// elements of the inertia, row by row.
pub(crate) const MASS_NUMBERS: usize = 13;

/// Numbers that a body is deformed by (see [`MassProperties::deformed`]).
pub const PSEUDO_INERTIA_NUMBERS: usize = 10;

impl MassProperties {
    /// Mass properties with derivatives with respect to `N` of their [`MASS_NUMBERS`] numbers, from the
    /// number `first` on: a direction for each.
    pub(crate) fn seeded<const N: usize>(&self, first: usize) -> MassProperties<DualArray<N>> {
        let variable = |value: f64, number: usize| match number.checked_sub(first) {
            Some(k) if k < N => DualArray::variable(value, k),
            _ => DualArray::from(value),
        };
        MassProperties {
            mass: variable(self.mass, 0),
            center_of_mass: Vector3::from_fn(|i, _| variable(self.center_of_mass[i], 1 + i)),
            inertia: Matrix3::from_fn(|i, k| variable(self.inertia[(i, k)], 4 + 3 * i + k)),
        }
    }

    /// Adds derivatives with respect to the numbers; those with respect to the inertia are made
    /// symmetric, as it is.
    pub(crate) fn add_numbers(&mut self, by: &[f64]) {
        self.mass += by[0];
        for i in 0..3 {
            self.center_of_mass[i] += by[1 + i];
            for k in 0..3 {
                self.inertia[(i, k)] += 0.5 * (by[4 + 3 * i + k] + by[4 + 3 * k + i]);
            }
        }
    }
}

impl<T: Scalar> MassProperties<T> {
    /// No mass.
    pub(crate) fn zero() -> Self {
        Self {
            mass: T::from(0.0),
            center_of_mass: Vector3::from_element(T::from(0.0)),
            inertia: Matrix3::from_element(T::from(0.0)),
        }
    }

    /// Constant mass properties as scalars `T`.
    pub fn lift(m: &MassProperties<f64>) -> Self {
        Self {
            mass: T::from(m.mass),
            center_of_mass: lift_vector(&m.center_of_mass),
            inertia: lift_matrix(&m.inertia),
        }
    }

    /// The mass properties without their derivatives.
    pub fn real(&self) -> MassProperties {
        MassProperties {
            mass: self.mass.real(),
            center_of_mass: real_vector(&self.center_of_mass),
            inertia: real_matrix(&self.inertia),
        }
    }

    /// The same body with every density multiplied by `factor`.
    pub fn denser(&self, factor: T) -> Self {
        Self { mass: self.mass * factor, center_of_mass: self.center_of_mass, inertia: self.inertia * factor }
    }

    /// The body enlarged about the origin of its frame by `scale` at the same density: mass
    /// grows as scale³, the centre of mass as scale, inertia as scale⁵.
    pub fn enlarged(&self, scale: T) -> Self {
        Self {
            mass: self.mass * scale.powi(3),
            center_of_mass: self.center_of_mass * scale,
            inertia: self.inertia * scale.powi(5),
        }
    }

    /// The same mass, seen from the frame A in which the present frame B has the pose `x_ab`.
    pub fn seen_from(&self, x_ab: &RigidTransform<T>) -> Self {
        Self {
            mass: self.mass,
            center_of_mass: *x_ab * self.center_of_mass,
            inertia: x_ab.rotation * self.inertia * x_ab.rotation.transpose(),
        }
    }

    /// The body stretched, sheared and shifted about its centre of mass c, and made denser: a point x goes to
    /// c + A (x − c) + t, with A = ((exp d₁, s₁, s₃), (0, exp d₂, s₂), (0, 0, exp d₃)), and the mass grows by exp α.
    /// `numbers` are α, d, s and t. Whatever these are, some distribution of mass has what comes out, and any can come out
    /// of a body with a volume (C. Rucker, P. M. Wensing, *IEEE Robot. Autom. Lett.* 7, 2022, 2932–2939, here about the centre
    /// of mass).
    pub fn deformed(&self, numbers: &[T; PSEUDO_INERTIA_NUMBERS]) -> Self {
        let [alpha, d1, d2, d3, s1, s2, s3, x, y, z] = *numbers;
        let (zero, density) = (T::from(0.0), alpha.exp());
        let a = Matrix3::new(d1.exp(), s1, s3, zero, d2.exp(), s2, zero, zero, d3.exp());
        // Second moments, of which the inertia is the trace less themselves, and the other way round.
        let moments = Matrix3::identity() * (self.inertia.trace() * 0.5) - self.inertia;
        let moments = a * moments * a.transpose() * density;
        Self {
            mass: self.mass * density,
            center_of_mass: self.center_of_mass + Vector3::new(x, y, z),
            inertia: Matrix3::identity() * moments.trace() - moments,
        }
    }

    /// Several parts, all given in one frame, taken as one rigid body (parallel axis theorem).
    /// `None` where the total mass is not positive.
    pub fn composite(parts: impl IntoIterator<Item = Self> + Clone) -> Option<Self> {
        let zero = T::from(0.0);
        let mut mass = zero;
        let mut moment = Vector3::from_element(zero);
        for part in parts.clone() {
            mass += part.mass;
            moment += part.center_of_mass * part.mass;
        }
        if mass.real() <= 0.0 || !mass.real().is_finite() {
            return None;
        }
        let center_of_mass = moment * mass.recip();
        let mut inertia = Matrix3::from_element(zero);
        for part in parts {
            let r = part.center_of_mass - center_of_mass;
            let steiner = Matrix3::identity() * r.dot(&r) - r * r.transpose();
            inertia += part.inertia + steiner * part.mass;
        }
        Some(Self { mass, center_of_mass, inertia })
    }
}

impl MassProperties<f64> {
    /// Checks that some distribution of mass has these properties.
    ///
    /// # Errors
    /// When the mass is not positive and finite, or the inertia is not symmetric positive
    /// definite or breaks the triangle inequality of principal moments (to one part in 10⁶, for
    /// figures that were rounded).
    pub fn validate(&self) -> Result<(), MassPropertiesError> {
        if !(self.mass > 0.0 && self.mass.is_finite()) {
            return Err(MassPropertiesError::Mass(self.mass));
        }
        let inertia = &self.inertia;
        let size = inertia.amax();
        for row in 0..3 {
            for column in 0..row {
                let (value, mirror) = (inertia[(row, column)], inertia[(column, row)]);
                if (value - mirror).abs() > 1e-9 * size {
                    return Err(MassPropertiesError::NotSymmetric { row, column, value, mirror });
                }
            }
        }
        let mut moments = [f64::NAN; 3];
        if inertia.iter().all(|x| x.is_finite()) {
            let eigenvalues = inertia.symmetric_eigenvalues();
            moments = [eigenvalues[0], eigenvalues[1], eigenvalues[2]];
        }
        moments.sort_by(f64::total_cmp);
        let [small, middle, large] = moments;
        if small > 0.0 && small + middle >= large * (1.0 - 1e-6) {
            Ok(())
        } else {
            Err(MassPropertiesError::Inertia(moments))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;

    /// A box of these edges filled with unit density, centred on its frame.
    fn unit_box(x: f64, y: f64, z: f64) -> MassProperties {
        let mass = x * y * z;
        let diagonal = Vector3::new(y * y + z * z, x * x + z * z, x * x + y * y) * (mass / 12.0);
        MassProperties { mass, center_of_mass: Vector3::zeros(), inertia: Matrix3::from_diagonal(&diagonal) }
    }

    #[test]
    fn two_halves_make_the_whole_box() {
        let half = unit_box(0.5, 0.7, 0.3);
        let left = half.seen_from(&RigidTransform::from_translation([-0.25, 0.0, 0.0]));
        let right = half.seen_from(&RigidTransform::from_translation([0.25, 0.0, 0.0]));
        let whole = MassProperties::composite([left, right]).expect("positive mass");
        let expected = unit_box(1.0, 0.7, 0.3);
        assert_relative_eq!(whole.mass, expected.mass, epsilon = 1e-15);
        assert_relative_eq!(whole.center_of_mass, expected.center_of_mass, epsilon = 1e-15);
        assert_relative_eq!(whole.inertia, expected.inertia, epsilon = 1e-15);
    }

    #[test]
    fn enlarging_is_the_larger_box() {
        let large = unit_box(0.5, 0.7, 0.3).enlarged(2.0);
        let expected = unit_box(1.0, 1.4, 0.6);
        assert_relative_eq!(large.mass, expected.mass, epsilon = 1e-15);
        assert_relative_eq!(large.inertia, expected.inertia, epsilon = 1e-15);
    }

    #[test]
    fn a_deformed_body_is_the_one_whose_points_have_moved() {
        // A box made longer along x and denser.
        let numbers = [0.7f64.ln(), 2f64.ln(), 0.0, 0.0, 0.0, 0.0, 0.0, 0.1, -0.2, 0.3];
        let longer = unit_box(0.5, 0.7, 0.3).deformed(&numbers);
        let expected = unit_box(1.0, 0.7, 0.3).denser(0.35);
        assert_relative_eq!(longer.mass, 0.7 * 0.5 * 0.7 * 0.3, max_relative = 1e-14);
        assert_relative_eq!(longer.center_of_mass, Vector3::new(0.1, -0.2, 0.3), max_relative = 1e-14);
        assert_relative_eq!(longer.inertia, expected.inertia * (0.7 / 0.35 / 2.0), max_relative = 1e-13);
        // Points with masses, sheared about their centre.
        let points =
            [[0.1, 0.2, -0.1], [-0.3, 0.1, 0.2], [0.2, -0.4, 0.3], [0.0, 0.1, -0.4], [0.3, 0.2, 0.1]];
        let of_points = |points: &[Vector3<f64>]| {
            let point = |p: &Vector3<f64>| MassProperties {
                mass: 0.2,
                center_of_mass: *p,
                inertia: Matrix3::zeros(),
            };
            MassProperties::composite(points.iter().map(point).collect::<Vec<_>>()).expect("some mass")
        };
        let points = points.map(Vector3::from);
        let before = of_points(&points);
        let numbers = [0.0, 0.3, -0.2, 0.1, 0.4, -0.7, 0.2, 0.0, 0.0, 0.0];
        let sheared =
            Matrix3::new(0.3f64.exp(), 0.4, 0.2, 0.0, (-0.2f64).exp(), -0.7, 0.0, 0.0, 0.1f64.exp());
        let center = before.center_of_mass;
        let after = of_points(&points.map(|p| center + sheared * (p - center)));
        let deformed = before.deformed(&numbers);
        assert_relative_eq!(deformed.inertia, after.inertia, max_relative = 1e-13);
        assert_relative_eq!(deformed.center_of_mass, after.center_of_mass, epsilon = 1e-15);
        assert_eq!(deformed.validate(), Ok(()));
    }

    #[test]
    fn impossible_mass_properties_are_refused() {
        let good = unit_box(0.5, 0.7, 0.3);
        assert_eq!(good.validate(), Ok(()));
        assert_eq!(MassProperties { mass: -1.0, ..good }.validate(), Err(MassPropertiesError::Mass(-1.0)));
        let plate = Matrix3::from_diagonal(&Vector3::new(1.0, 1.0, 2.1));
        assert!(matches!(
            MassProperties { inertia: plate, ..good }.validate(),
            Err(MassPropertiesError::Inertia(_))
        ));
        let skew = Matrix3::new(1.0, 0.2, 0.0, 0.1, 1.0, 0.0, 0.0, 0.0, 1.0);
        assert!(matches!(
            MassProperties { inertia: skew, ..good }.validate(),
            Err(MassPropertiesError::NotSymmetric { row: 1, column: 0, .. })
        ));
    }
}
