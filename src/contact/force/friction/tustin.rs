//! How the coefficient of friction falls from static to dynamic with the slip velocity (Stribeck effect), in
//! Tustin's form: μ_d + (μ_s − μ_d) exp(−s/(10 v_s)²) with the square s of the slip speed.
//!
//! Explicit steps and velocity-level steps have this one curve in common.

use crate::scalar::Scalar;

/// The velocity at which friction has fallen from static to dynamic (by a factor e), in units
/// of the stiction velocity: well above it, so that the static value is nearly reached.
const STRIBECK_RATIO: f64 = 10.0;

/// The part of static friction in the coefficient: 1 at rest, and 0 at high slip. `s` is the square of the
/// slip speed and `v_s` the stiction velocity in m/s. Smooth everywhere.
#[inline(always)]
pub(in crate::contact) fn static_part<T: Scalar>(s: T, v_s: T) -> T {
    let ratio = v_s * STRIBECK_RATIO;
    (s * (T::from(-1.0) / (ratio * ratio))).exp()
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;
    use num_dual::Dual64;

    #[test]
    fn it_falls_from_one_to_none_and_its_slope_is_that_of_differences() {
        assert_eq!(static_part(0.0, 1e-3), 1.0);
        assert_eq!(static_part(1.0, 1e-3), 0.0);
        assert_relative_eq!(static_part(1e-4, 1e-3), (-1.0f64).exp(), max_relative = 1e-15);
        for s in [0.0, 1e-7, 3e-5, 4e-4] {
            let exact = static_part(Dual64::new(s, 1.0), 1e-3.into()).eps;
            let difference = (static_part(s + 1e-10, 1e-3) - static_part(s - 1e-10, 1e-3)) / 2e-10;
            assert_relative_eq!(exact, difference, max_relative = 1e-6);
        }
        // So fast that the power vanishes: no infinite times nothing.
        let fast = static_part(Dual64::new(1e4, 1.0), 1e-8.into());
        assert_eq!((fast.re, fast.eps), (0.0, 0.0));
    }
}
