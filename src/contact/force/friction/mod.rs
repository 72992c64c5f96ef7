//! Coulomb friction as a smooth function of the slip velocity (Elandt eq. 7, regularized).
//!
//! The friction traction is `−p h(s) v_t` with s = |v_t|², so that no root of a slip of zero is
//! ever taken. Each regularization is a file; what they share is here. Whoever adds one adds a file and
//! its arm in [`friction_weights`].

mod arctangent;
mod smooth;
mod stribeck;
pub(in crate::contact) mod tustin;

use crate::contact::settings::{ContactSettings, FrictionRegularization};
use crate::scalar::Scalar;

/// The smooth or arctangent form of slip over slip speed, in s/m: 1 / |v_t| at high slip.
#[inline(always)]
pub(crate) fn slip_quotient<T: Scalar>(s: T, settings: &ContactSettings<T>) -> T {
    match settings.friction_regularization {
        FrictionRegularization::Atan => arctangent::quotient(s, settings.stiction_velocity),
        _ => smooth::quotient(s, settings.stiction_velocity),
    }
}

/// The factors, in s/m, of the static and of the dynamic friction coefficient in the
/// [`friction_factor`], which is linear in both, for the square `s` of the slip speed.
// Inlined, so that the roots of several quadrature points are taken side by side.
#[inline(always)]
pub(crate) fn friction_weights<T: Scalar>(s: T, settings: &ContactSettings<T>) -> [T; 2] {
    let v_s = settings.stiction_velocity;
    match settings.friction_regularization {
        FrictionRegularization::Stribeck => stribeck::weights(s, v_s),
        FrictionRegularization::Smooth | FrictionRegularization::Atan => {
            let quotient = slip_quotient(s, settings);
            let of_static = tustin::static_part(s, v_s) * quotient;
            [of_static, quotient - of_static]
        }
    }
}

/// [`friction_factor`] at several slip velocities side by side.
#[inline(always)]
pub(crate) fn friction_factors<T: Scalar, const N: usize>(
    s: &[T; N],
    static_friction: T,
    dynamic_friction: T,
    settings: &ContactSettings<T>,
) -> [T; N] {
    let usual = T::NDERIV == 0 && settings.friction_regularization == FrictionRegularization::Smooth;
    if !usual || static_friction.real() != dynamic_friction.real() {
        return s.map(|s| friction_factor(s, static_friction, dynamic_friction, settings));
    }
    let mut factor = [T::from(0.0); N];
    if static_friction.real() != 0.0 {
        for k in 0..N {
            factor[k] = dynamic_friction * smooth::quotient(s[k], settings.stiction_velocity);
        }
    }
    factor
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
    settings: &ContactSettings<T>,
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
                let exact = friction_factor(c(s).derivative(), c(0.8), c(0.5), &settings.lift()).eps;
                assert_relative_eq!(exact, difference, max_relative = 1e-5, epsilon = 1e-3 * f(s) / 1e-6);
            }
        }
    }

    #[test]
    fn finite_at_no_slip_and_coulomb_at_high_slip() {
        for law in ALL {
            let settings = settings(law);
            let at_rest = friction_factor(Dual64::new(0.0, 1.0), 0.8.into(), 0.5.into(), &settings.lift());
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
    fn friction_falls_from_static_to_dynamic_with_the_slip_velocity() {
        let coefficient = |law, slip: f64| friction_factor(slip * slip, 0.8, 0.5, &settings(law)) * slip;
        for law in [FrictionRegularization::Smooth, FrictionRegularization::Atan] {
            for slip in [1e-3, 5e-3, 1e-2, 2e-2] {
                // Tustin's curve, times the regularization's part of Coulomb friction.
                let fallen = 0.5 + 0.3 * (-(slip / 1e-2_f64).powi(2)).exp();
                let part = slip * slip_quotient(slip * slip, &settings(law));
                assert_relative_eq!(coefficient(law, slip), fallen * part, max_relative = 1e-12);
            }
        }
        // 6 x⁵ − 15 x⁴ + 10 x³, up to v_s and from there to 3 v_s.
        for (slip, expected) in [
            (2.5e-4, 0.8 * 0.103515625),
            (5e-4, 0.4),
            (1e-3, 0.8),
            (1.5e-3, 0.8 - 0.3 * 0.103515625),
            (2e-3, 0.65),
            (3e-3, 0.5),
            (0.1, 0.5),
        ] {
            let found = coefficient(FrictionRegularization::Stribeck, slip);
            assert_relative_eq!(found, expected, max_relative = 1e-12);
        }
    }
}
