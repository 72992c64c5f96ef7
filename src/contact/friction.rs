//! Coulomb friction as a smooth function of the slip velocity (Elandt eq. 7, regularized).
//!
//! The friction traction is `−p h(s) v_t` with s = |v_t|², so that no root of a slip of zero is
//! ever taken.

use super::settings::{ContactSettings, FrictionRegularization};
use crate::scalar::Scalar;

/// The velocity at which friction has fallen from static to dynamic (by a factor e), in units
/// of the stiction velocity: well above it, so that the static value is nearly reached.
const STRIBECK_RATIO: f64 = 10.0;

/// atan(√y)/√y, smooth at 0.
///
/// Below y = 0.0144 its power series is summed to machine precision, as Drake does.
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

/// The factor h(s) of the friction traction `−p h(s) v_t`, in s/m, for the square `s` of the
/// slip speed.
///
/// Smooth everywhere, with two exceptions in the Stribeck curve: its third derivative at no
/// slip, at v_s and at 3 v_s.
pub fn friction_factor<T: Scalar>(
    s: T,
    static_friction: T,
    dynamic_friction: T,
    settings: &ContactSettings,
) -> T {
    if T::NDERIV == 0 && static_friction.real() == 0.0 && dynamic_friction.real() == 0.0 {
        return T::from(0.0);
    }
    let v_s = settings.stiction_velocity;
    // Coulomb's coefficient falls from static to dynamic with the slip velocity (Stribeck
    // effect, in Tustin's form).
    let coefficient = || {
        let excess = static_friction - dynamic_friction;
        if T::NDERIV == 0 && excess.real() == 0.0 {
            dynamic_friction
        } else {
            let ratio = STRIBECK_RATIO * v_s;
            dynamic_friction + excess * (-s / (ratio * ratio)).exp()
        }
    };
    match settings.friction_regularization {
        FrictionRegularization::Smooth => coefficient() / (s + v_s * v_s).sqrt(),
        FrictionRegularization::Atan => {
            coefficient() * atan_quotient(s / (v_s * v_s)) * (std::f64::consts::FRAC_2_PI / v_s)
        }
        FrictionRegularization::Stribeck => {
            let y = s / (v_s * v_s);
            if y.real() < 1.0 {
                static_friction * quintic_step_quotient(y) / v_s
            } else {
                let x = y.sqrt();
                let falling = if x.real() < 3.0 {
                    let z = (x - 1.0) * 0.5;
                    static_friction - (static_friction - dynamic_friction) * quintic_step_quotient(z * z) * z
                } else {
                    dynamic_friction
                };
                falling / (x * v_s)
            }
        }
    }
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
