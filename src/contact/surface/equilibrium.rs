//! The plane of equal pressure that a polygon lies in. Everything here is `f64`.

use nalgebra::Vector3;

use crate::contact::settings::FaceFilter;
use crate::field::LinearFunction;

/// Two gradients closer than this, relative to their size, have no plane of equal pressure.
pub(super) const PARALLEL_FIELDS: f64 = 1e-12;

/// Two skirts that end at pressures closer than this, relative to their size, end at the same one:
/// to clip by both would place vertices by rounding.
pub(super) const SAME_BOUND: f64 = 1e-9;

/// cos(5π/8): Drake's limit on the angle between a face's normal and the pressure increase.
const DRAKE_COSINE: f64 = -0.382_683_432_365_089_8;

/// The plane a polygon lies in, and the fields around it, in F's frame.
#[derive(Clone, Copy, Debug)]
pub struct Equilibrium {
    /// Unit normal out of F, into O.
    pub normal: Vector3<f64>,
    /// Gradient of O's pressure, Pa/m; `None` where O is rigid.
    pub gradient_o: Option<Vector3<f64>>,
    /// F's pressure in Pa as a function of position.
    pub pressure: LinearFunction,
}

impl Equilibrium {
    /// Whether Drake would keep a face with this normal: it must be within 5π/8 of the
    /// direction in which each compliant body's pressure grows.
    pub(super) fn passes(&self, filter: FaceFilter) -> bool {
        let along = |normal: f64, gradient: &Vector3<f64>| {
            normal * gradient.dot(&self.normal) > DRAKE_COSINE * gradient.norm()
        };
        filter == FaceFilter::None
            || (along(-1.0, &self.pressure.gradient)
                && self.gradient_o.as_ref().is_none_or(|g| along(1.0, g)))
    }
}

/// A linear function times a number.
#[inline(always)]
pub(super) fn scaled(f: &LinearFunction, by: f64) -> LinearFunction {
    LinearFunction { gradient: f.gradient * by, offset: f.offset * by }
}
