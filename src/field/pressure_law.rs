//! Pressure laws: how the pressure of a body grows with the extent.

use super::error::FieldError;
use super::law_table::LawTable;
use super::layers::{graded_levels, split_at_levels};
use super::pressure_field::{PressureField, check_extents};
use crate::geometry::VolumeMesh;
use crate::scalar::Scalar;

/// Where [`PressureLaw::default_layers`] finds the law well enough met: linear pieces miss it by at most this part of its
/// value.
pub const LAW_MISS: f64 = 0.05;
/// The part of the largest extent from which on [`PressureLaw::default_layers`] looks at that.
const LOOKED_AT: f64 = 0.1;
/// The most layers that [`PressureLaw::default_layers`] answers with.
pub const MOST_DEFAULT_LAYERS: usize = 16;
/// How many points of a layer are looked at for how far a linear piece misses the law.
const SAMPLES: usize = 16;

/// How the pressure p of a body follows from the extent ε: p = E f(ε) with the hydroelastic modulus E and an increasing
/// function f, f(0) = 0.
///
/// With the linear law, f(ε) = ε, the pressure is proportional to the extent (Elandt et al. 2019, §VI-A). Other laws
/// make bodies that stiffen, or soften, as they are pressed: skin over bone, foam that is crushed, a soft layer on a
/// hard core.
///
/// A law is applied to the extents at the vertices of a mesh ([`Self::apply`]), and the pressure is linear in between as
/// in every [`PressureField`]. So the surface of equal pressure stays a plane in each pair of tetrahedra, the energy is
/// the integral of the same field, and the force is its slope, exactly as for the linear law; queries are not slower
/// for it. But of a law a mesh knows only the values at its vertices. Those of primitive shapes have none between the
/// boundary and the core, where f is 0 and f(1). [`Self::field`] therefore cuts a mesh into layers first.
///
/// # Examples
/// A ball with a soft skin over a core that is ten times as stiff:
/// ```
/// use isobar::field::{FieldError, PressureLaw, primitive_field};
/// use isobar::geometry::Shape;
///
/// let law = PressureLaw::table(vec![[0.0, 0.0], [0.6, 0.3], [0.7, 0.5], [1.0, 5.0]])?;
/// let (mesh, extent) = primitive_field(&Shape::Sphere { radius: 0.05 }, 0.02).expect("a valid ball");
/// let ball = law.field(mesh, extent, 10)?;
/// assert_eq!(ball.extent().iter().copied().fold(0.0, f64::max), 5.0);
/// # Ok::<(), FieldError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum PressureLaw {
    /// f(ε) = ε.
    #[default]
    Linear,
    /// f(ε) = ε^exponent.
    Power {
        /// The exponent, positive and finite: above 1 the body stiffens as it is pressed, below 1 it softens.
        exponent: f64,
    },
    /// A curve through points.
    Table(LawTable),
}

impl PressureLaw {
    /// The law f(ε) = ε^exponent.
    ///
    /// # Errors
    /// When the exponent is not positive and finite.
    pub fn power(exponent: f64) -> Result<Self, FieldError> {
        let law = Self::Power { exponent };
        law.check([]).map(|()| law)
    }

    /// The law whose curve passes through points, each an extent and the value of f there; see [`LawTable`].
    ///
    /// The values are in units of the modulus, and need not end at 1: with (1, 5) as the last point the pressure is five
    /// times the modulus where the extent is 1.
    ///
    /// # Errors
    /// As [`LawTable::new`].
    pub fn table(points: Vec<[f64; 2]>) -> Result<Self, FieldError> {
        LawTable::new(points).map(Self::Table)
    }

    /// Checks the law, as far as it has not been when it was made, and extents that it is to be applied to.
    pub(super) fn check(&self, extent: impl IntoIterator<Item = f64>) -> Result<(), FieldError> {
        match *self {
            // Written so that NaN is caught too.
            Self::Power { exponent } if !(exponent > 0.0 && exponent.is_finite()) => {
                Err(FieldError::LawExponent { value: exponent })
            }
            _ => check_extents(extent),
        }
    }

    /// f at an extent of at least 0, with the derivatives that those of the extent imply, of any order.
    ///
    /// At ε = 0 a power other than 1 has the value 0 without any derivative, also where its slope is infinite (exponents
    /// below 1): the extent is 0 at vertices on the boundary, and stays 0 wherever these move. A table continues as a
    /// straight line before its first and after its last point.
    pub fn value<T: Scalar>(&self, extent: T) -> T {
        match self {
            Self::Linear => extent,
            Self::Power { exponent } if *exponent == 1.0 => extent,
            Self::Power { .. } if is_zero(extent.real()) => T::from(0.0),
            // The same rounding for all scalars, which their powers do not have.
            Self::Power { exponent } => (extent.ln() * *exponent).exp(),
            Self::Table(table) => table.value(extent),
        }
    }

    /// The slope f'(ε) at an extent of at least 0, as of [`Self::value`]: never infinite or NaN; of a power other than 1 it
    /// is 0 at ε = 0.
    pub fn slope(&self, extent: f64) -> f64 {
        match self {
            Self::Linear => 1.0,
            Self::Power { exponent } if *exponent == 1.0 => 1.0,
            Self::Power { .. } if is_zero(extent) => 0.0,
            Self::Power { exponent } => exponent * (extent.ln() * (exponent - 1.0)).exp(),
            Self::Table(table) => table.slope(extent),
        }
    }

    /// The exponent of a power.
    pub fn exponent(&self) -> Option<f64> {
        match *self {
            Self::Power { exponent } => Some(exponent),
            Self::Linear | Self::Table(_) => None,
        }
    }

    /// The value of the law at each of these extents: what takes the place of the extents in a [`PressureField`], the
    /// pressure over the hydroelastic modulus.
    ///
    /// # Errors
    /// When the exponent of a power is not positive and finite, or an extent is negative or not finite.
    pub fn apply(&self, extent: &[f64]) -> Result<Vec<f64>, FieldError> {
        self.check(extent.iter().copied())?;
        Ok(extent.iter().map(|&value| self.value(value)).collect())
    }

    /// The pressure field of this law on a mesh with an extent for each vertex, cut into so many layers before
    /// ([`graded_levels`], [`split_at_levels`]); with one layer the mesh is as it is.
    ///
    /// The field has the law's values exactly at the layers, and misses it in between by at most the error of linear
    /// interpolation of f, h² max|f''|/8 in a layer whose extents differ by h: at an extent ε of a mesh in n layers h is
    /// about 2 √ε/n, so that the error falls with n² for all powers from 1 on. With the linear law it is the same function
    /// for any number of layers. The number of tetrahedra grows in proportion to that of layers, about three for each
    /// tetrahedron and layer and six where two of its vertices are in the core.
    ///
    /// # Errors
    /// As [`graded_levels`], [`split_at_levels`], [`Self::apply`] and [`PressureField::new`].
    pub fn field(
        &self,
        mesh: VolumeMesh,
        extent: Vec<f64>,
        layers: usize,
    ) -> Result<PressureField, FieldError> {
        let levels = graded_levels(&extent, layers)?;
        let (mesh, extent) = if levels.is_empty() {
            (mesh, extent)
        } else {
            let layered = split_at_levels(&mesh, &extent, &levels)?;
            (layered.mesh, layered.extent)
        };
        let field = PressureField::new(mesh, self.apply(&extent)?)?;
        Ok(field.with_exponent(self.exponent()))
    }

    /// The least number of layers with which the field misses the law by at most [`LAW_MISS`] of the law's value wherever
    /// the extent is at least a tenth of the largest, or [`MOST_DEFAULT_LAYERS`] where none is enough.
    ///
    /// It is 1 for the linear law, 9 for the exponent 1.5, 15 for 2, 6 for 0.5.
    pub fn default_layers(&self, largest: f64) -> usize {
        let is_met = |layers: usize| {
            let level = |k: usize| largest * (k as f64 / layers as f64).powi(2);
            (0..layers).all(|k| {
                let [low, high] = [level(k), level(k + 1)];
                let [at_low, at_high] = [low, high].map(|extent| self.value(extent));
                (0..SAMPLES).all(|i| {
                    let part = i as f64 / SAMPLES as f64;
                    let extent = low + (high - low) * part;
                    let miss = self.value(extent) - (at_low + (at_high - at_low) * part);
                    extent < LOOKED_AT * largest || miss.abs() <= LAW_MISS * self.value(extent)
                })
            })
        };
        (1..MOST_DEFAULT_LAYERS).find(|&layers| is_met(layers)).unwrap_or(MOST_DEFAULT_LAYERS)
    }
}

/// Whether an extent is 0, or so small that powers of it may overflow.
fn is_zero(extent: f64) -> bool {
    extent < f64::MIN_POSITIVE
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scalar::DualArray;
    use num_dual::{Dual64, HyperDual64};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn powers_grow_and_have_the_slope_of_differences(exponent in 0.1..8.0f64, extent in 0.01..2.0f64) {
            let law = PressureLaw::power(exponent).unwrap();
            let exact = extent.powf(exponent);
            prop_assert!((law.value(extent) - exact).abs() <= 1e-13 * exact);
            prop_assert!(law.value(extent * 1.001) > law.value(extent));
            let slope = law.slope(extent);
            let dual = law.value(Dual64::new(extent, 1.0));
            prop_assert_eq!(dual.re, law.value(extent));
            prop_assert!((dual.eps - slope).abs() <= 1e-12 * slope);
            let h = 1e-5 * extent;
            let difference = (law.value(extent + h) - law.value(extent - h)) / (2.0 * h);
            prop_assert!((difference - slope).abs() <= 1e-7 * slope, "{difference} {slope}");
            let second = law.value(HyperDual64::new(extent, 1.0, 1.0, 0.0)).eps1eps2;
            let difference = (law.slope(extent + h) - law.slope(extent - h)) / (2.0 * h);
            let size = slope / extent;
            prop_assert!((difference - second).abs() <= 1e-6 * size, "{difference} {second}");
        }

        #[test]
        fn nothing_is_infinite_near_the_boundary(exponent in 1e-6..8.0f64, e in -330..=0i32) {
            let law = PressureLaw::power(exponent).unwrap();
            let extent = 10f64.powi(e);
            let dual = law.value(DualArray::<1> { re: extent, eps: [1.0] });
            for x in [law.value(extent), law.slope(extent), dual.re, dual.eps[0]] {
                prop_assert!(x.is_finite() && x >= 0.0);
            }
        }
    }

    #[test]
    fn the_boundary_has_no_pressure_and_no_derivative() {
        for exponent in [0.3, 0.5, 1.5, 2.0, 3.0] {
            let law = PressureLaw::power(exponent).unwrap();
            assert_eq!(law.value(HyperDual64::new(0.0, 1.0, 1.0, 0.0)), HyperDual64::from(0.0));
            assert_eq!((law.value(0.0), law.slope(0.0), law.value(1.0)), (0.0, 0.0, 1.0));
        }
        for law in [PressureLaw::Linear, PressureLaw::power(1.0).unwrap()] {
            assert_eq!(law.value(Dual64::new(0.0, 2.0)), Dual64::new(0.0, 2.0));
            assert_eq!(law.slope(0.0), 1.0);
        }
    }

    #[test]
    fn as_many_layers_as_a_law_needs() {
        let layers = |exponent| PressureLaw::power(exponent).unwrap().default_layers(1.0);
        assert_eq!([1.0, 1.5, 2.0, 3.0].map(layers), [1, 9, 15, 16]);
        assert_eq!([0.5, 200.0].map(layers), [6, MOST_DEFAULT_LAYERS]);
        assert_eq!(PressureLaw::Linear.default_layers(1.0), 1);
        // A power looks the same at any scale.
        assert_eq!(PressureLaw::power(2.0).unwrap().default_layers(7.0), 15);
    }

    #[test]
    fn bad_numbers_are_refused() {
        for value in [0.0, -1.0, f64::INFINITY] {
            assert_eq!(PressureLaw::power(value), Err(FieldError::LawExponent { value }));
            let unchecked = PressureLaw::Power { exponent: value };
            assert_eq!(unchecked.apply(&[0.5]), Err(FieldError::LawExponent { value }));
        }
        assert!(PressureLaw::power(f64::NAN).is_err());
        let error = FieldError::ExtentValue { vertex: 1, value: -0.5 };
        assert_eq!(PressureLaw::Linear.apply(&[0.0, -0.5]), Err(error));
        assert_eq!(PressureLaw::power(2.0).unwrap().apply(&[0.0, 0.5, 3.0]).unwrap().len(), 3);
    }
}
