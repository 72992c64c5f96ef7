//! The sources of a body's mass and inertia.

use crate::scalar::Scalar;
use crate::spatial::{MassProperties, MassPropertiesError, PSEUDO_INERTIA_NUMBERS};

/// The source of a body's mass properties. It decides how they change with the mass and with the size of
/// a geometry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MassSource<T = f64> {
    /// The mass properties are given. A change of mass does not change centre of mass and inertia; a
    /// change of a geometry's size changes nothing.
    Given(MassProperties<T>),
    /// This mass in kg is spread evenly over the geometries. The inertia is proportional to the mass and
    /// grows with the square of the size.
    Spread(T),
    /// The geometries are filled with this density in kg/m³. The mass grows with the cube of the size,
    /// the inertia with its fifth power.
    Density(T),
}

impl<T: Scalar> MassSource<T> {
    /// A constant source as scalars `T`.
    pub fn lift(source: &MassSource<f64>) -> Self {
        match source {
            MassSource::Given(properties) => Self::Given(MassProperties::lift(properties)),
            MassSource::Spread(mass) => Self::Spread(T::from(*mass)),
            MassSource::Density(density) => Self::Density(T::from(*density)),
        }
    }

    /// The source without its derivatives.
    pub fn real(&self) -> MassSource {
        match self {
            Self::Given(properties) => MassSource::Given(properties.real()),
            Self::Spread(mass) => MassSource::Spread(mass.real()),
            Self::Density(density) => MassSource::Density(density.real()),
        }
    }

    /// The same source with the mass changed from `from` to `to` while the geometries stay as
    /// they are. It stays the same kind of source, so that a change of mass and a change of size
    /// can be made together in either order.
    pub fn with_mass(&self, from: f64, to: T) -> Self {
        match self {
            Self::Given(properties) => Self::Given(MassProperties { mass: to, ..*properties }),
            Self::Spread(_) => Self::Spread(to),
            Self::Density(density) => Self::Density(*density * to / from),
        }
    }

    /// The mass properties of a body whose geometries, filled with unit density and seen from
    /// the body's frame, have the properties `unit_parts`.
    ///
    /// # Errors
    /// When they are to be computed from geometries without a finite positive volume.
    pub fn resolve(
        &self,
        unit_parts: impl IntoIterator<Item = MassProperties<T>> + Clone,
    ) -> Result<MassProperties<T>, MassPropertiesError> {
        let unit = || MassProperties::composite(unit_parts).ok_or(MassPropertiesError::NoVolume);
        Ok(match self {
            Self::Given(properties) => *properties,
            Self::Density(density) => unit()?.denser(*density),
            Self::Spread(mass) => {
                let unit = unit()?;
                unit.denser(*mass / unit.mass)
            }
        })
    }
}

/// A body whose mass a parameter has deformed ([`Parameter::PseudoInertia`](crate::multibody::Parameter::PseudoInertia)).
#[derive(Clone, Debug)]
pub(crate) struct Deformed<T = f64> {
    pub body: usize,
    /// Its mass properties before.
    pub before: MassProperties,
    pub numbers: [T; PSEUDO_INERTIA_NUMBERS],
}

impl<T: Scalar> Deformed<T> {
    pub fn mass(&self) -> MassProperties<T> {
        MassProperties::lift(&self.before).deformed(&self.numbers)
    }

    /// The same with other numbers.
    pub fn map<U>(&self, of: impl FnMut(T) -> U) -> Deformed<U> {
        Deformed { body: self.body, before: self.before, numbers: self.numbers.map(of) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;
    use nalgebra::{Matrix3, Vector3};

    #[test]
    fn sources_resolve() {
        let inertia = Matrix3::from_diagonal(&Vector3::new(0.58, 0.34, 0.74));
        let unit = MassProperties { mass: 0.105, center_of_mass: Vector3::zeros(), inertia };
        let spread = MassSource::Spread(2.0).resolve([unit]).expect("volume");
        let density = MassSource::Density(2.0 / unit.mass).resolve([unit]).expect("volume");
        assert_relative_eq!(spread.mass, 2.0, epsilon = 1e-15);
        assert_relative_eq!(spread.inertia, density.inertia, epsilon = 1e-15);
        assert_eq!(MassSource::Spread(2.0).resolve([]), Err(MassPropertiesError::NoVolume));
    }
}
