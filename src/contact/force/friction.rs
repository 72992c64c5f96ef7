//! Coulomb friction as a smooth function of the slip velocity (Elandt eq. 7, regularized).
//!
//! The friction traction is `−p h(s) v_t` with s = |v_t|², so that no root of a slip of zero is
//! ever taken.

use crate::contact::settings::{ContactSettings, FrictionRegularization};
use crate::scalar::Scalar;

/// The velocity at which friction has fallen from static to dynamic (by a factor e), in units
/// of the stiction velocity: well above it, so that the static value is nearly reached.
const STRIBECK_RATIO: f64 = 10.0;

/// atan(√y)/√y, smooth at 0.
///
/// Below y = 0.0144 its power series is summed to machine precision, as Drake does.
// Out of line, so that the usual regularization is short enough to be inlined.
#[inline(never)]
fn atan_quotient<T: Scalar>(y: T) -> T {
    if y.real() < 0.0144 {
        let mut sum = T::from(0.0);
        // 0.0144¹⁰/21 < 10⁻¹⁹.
        for k in (0..10).rev() {
            let sign = if k % 2 == 0 { 1.0 } else { -1.0 };
            sum = sum * y + sign / f64::from(2 * k + 1);
        }
        sum
    } else {
        let x = y.sqrt();
        x.atan() / x
    }
}

/// Rises from 0 to 1 over 0 ≤ x ≤ 1 with two derivatives vanishing at both ends, divided by x,
/// as a function of y = x².
fn quintic_step_quotient<T: Scalar>(y: T) -> T {
    // Below this the root, whose derivative grows without bound, contributes nothing.
    if y.real() < 1e-30 {
        return y * 10.0;
    }
    let x = y.sqrt();
    y * (x * (x * 6.0 - 15.0) + 10.0)
}

/// The smooth or arctangent form of slip over slip speed, in s/m: 1 / |v_t| at high slip.
#[inline(always)]
pub(crate) fn slip_quotient<T: Scalar>(s: T, settings: &ContactSettings) -> T {
    let v_s = settings.stiction_velocity;
    match settings.friction_regularization {
        FrictionRegularization::Atan => atan_quotient(s / (v_s * v_s)) * (std::f64::consts::FRAC_2_PI / v_s),
        _ => (s + v_s * v_s).sqrt().recip(),
    }
}

/// The factors, in s/m, of the static and of the dynamic friction coefficient in the
/// [`friction_factor`], which is linear in both, for the square `s` of the slip speed.
// Inlined, so that the roots of several quadrature points are taken side by side.
#[inline(always)]
pub(crate) fn friction_weights<T: Scalar>(s: T, settings: &ContactSettings) -> [T; 2] {
    let v_s = settings.stiction_velocity;
    if settings.friction_regularization != FrictionRegularization::Stribeck {
        // Coulomb's coefficient falls from static to dynamic with the slip velocity (Stribeck
        // effect, in Tustin's form).
        let quotient = slip_quotient(s, settings);
        let ratio = STRIBECK_RATIO * v_s;
        let of_static = (s * (-1.0 / (ratio * ratio))).exp() * quotient;
        return [of_static, quotient - of_static];
    }
    let y = s / (v_s * v_s);
    if y.real() < 1.0 {
        return [quintic_step_quotient(y) / v_s, T::from(0.0)];
    }
    let x = y.sqrt();
    let quotient = (x * v_s).recip();
    if x.real() < 3.0 {
        let z = (x - 1.0) * 0.5;
        let fallen = quintic_step_quotient(z * z) * z * quotient;
        [quotient - fallen, fallen]
    } else {
        [T::from(0.0), quotient]
    }
}

/// The factor h(s) of the friction traction `−p h(s) v_t`, in s/m, for the square `s` of the
/// slip speed.
///
/// Smooth everywhere, with two exceptions in the Stribeck curve: its third derivative at no
/// slip, at v_s and at 3 v_s.
pub(crate) fn friction_factor<T: Scalar>(
    s: T,
    static_friction: T,
    dynamic_friction: T,
    settings: &ContactSettings,
) -> T {
    if T::NDERIV == 0 && static_friction.real() == dynamic_friction.real() {
        if static_friction.real() == 0.0 {
            return T::from(0.0);
        }
        if settings.friction_regularization != FrictionRegularization::Stribeck {
            return dynamic_friction * slip_quotient(s, settings);
        }
    }
    let [of_static, of_dynamic] = friction_weights(s, settings);
    static_friction * of_static + dynamic_friction * of_dynamic
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;
    use num_dual::Dual64;

    const ALL: [FrictionRegularization; 3] =
        [FrictionRegularization::Smooth, FrictionRegularization::Atan, FrictionRegularization::Stribeck];

    fn settings(friction_regularization: FrictionRegularization) -> ContactSettings {
        ContactSettings { friction_regularization, stiction_velocity: 1e-3, ..Default::default() }
    }

    #[test]
    fn derivative_agrees_with_differences() {
        for law in ALL {
            let settings = settings(law);
            for slip in [1e-6, 3e-5, 1.1e-4, 1.3e-4, 9e-4, 1.7e-3, 2.9e-3, 3.2e-3, 0.02, 1.0] {
                let s: f64 = slip * slip;
                let h = 1e-5 * s;
                let f = |s: f64| friction_factor(s, 0.8, 0.5, &settings);
                let difference = (f(s + h) - f(s - h)) / (2.0 * h);
                let c = Dual64::from;
                let exact = friction_factor(c(s).derivative(), c(0.8), c(0.5), &settings).eps;
                assert_relative_eq!(exact, difference, max_relative = 1e-5, epsilon = 1e-3 * f(s) / 1e-6);
            }
        }
    }

    #[test]
    fn finite_at_no_slip_and_coulomb_at_high_slip() {
        for law in ALL {
            let settings = settings(law);
            let at_rest = friction_factor(Dual64::new(0.0, 1.0), 0.8.into(), 0.5.into(), &settings);
            assert!(at_rest.re.is_finite() && at_rest.eps.is_finite());
            let slip = 1e3;
            assert_relative_eq!(
                friction_factor(slip * slip, 0.8, 0.5, &settings) * slip,
                0.5,
                max_relative = 1e-5
            );
        }
    }

    #[test]
    fn atan_quotient_is_continuous_where_the_series_ends() {
        let (a, b) = (atan_quotient(0.0144_f64.next_down()), atan_quotient(0.0144));
        assert_relative_eq!(a, b, max_relative = 1e-15);
    }
}
