//! Judging a claimed derivative by differences over a range of step sizes.
//!
//! The reference is chosen independently of the claim. Central differences D(h) and their Richardson
//! extrapolations are computed over a geometric range of steps, and the one that differs least from its
//! two neighbours is used. Its error is estimated from that difference and from rounding. Second
//! differences s(h) = f(x+h) − 2f(x) + f(x−h) show the kind of the point x: where f is smooth they fall
//! as h², at a kink as h, at a jump they stay constant, and in noise they vary irregularly.
//!
//! Steps of middle size come first. What they confirm needs no others.

use super::comparison::{CheckSettings, Comparison};
use super::samples::Sampled;

/// Compares the claimed derivative of `f` at `at` with differences, component by component.
///
/// `f` takes the value of the parameter and returns all components; `scale` is the magnitude (in the
/// parameter's unit, positive) that steps are relative to. Rounding is judged by the largest
/// component: components of one call should be of one kind.
///
/// # Errors
/// The first error of `f`.
pub fn compare_derivative<E>(
    mut f: impl FnMut(f64) -> Result<Vec<f64>, E>,
    at: f64,
    scale: f64,
    claimed: &[f64],
    settings: &CheckSettings,
) -> Result<Vec<Comparison>, E> {
    let claimed = [claimed.to_vec()];
    Ok(compare_groups(|x| Ok(vec![f(x)?]), at, scale, &claimed, &[0.0], settings)?.concat())
}

/// Compares the claimed derivatives of several quantities that `f` returns together, each a
/// vector of components of one kind; see [`compare_derivative`]. A quantity that is a small
/// difference of large numbers rounds like those: `magnitudes` has for each quantity the
/// magnitude that it rounds at, at least.
///
/// # Errors
/// The first error of `f`.
pub(crate) fn compare_groups<E>(
    mut f: impl FnMut(f64) -> Result<Vec<Vec<f64>>, E>,
    at: f64,
    scale: f64,
    claimed: &[Vec<f64>],
    magnitudes: &[f64],
    settings: &CheckSettings,
) -> Result<Vec<Vec<Comparison>>, E> {
    // As an object, so that the rest is compiled once for all functions.
    let f: &mut dyn FnMut(f64) -> Result<Vec<Vec<f64>>, E> = &mut f;
    let mut sampled = Sampled::around(f, at, scale, settings)?;
    let compared = sampled.judge_completed(f, claimed, magnitudes, settings, &|_, _| false)?;
    if compared.iter().flatten().all(|c| c.verdict.is_settled()) {
        return Ok(compared);
    }
    sampled.measure_noise(f)?;
    Ok(sampled.judge(claimed, magnitudes, settings))
}

#[cfg(test)]
mod tests {
    use super::super::comparison::Verdict;
    use super::*;
    use proptest::prelude::*;

    fn check(f: impl Fn(f64) -> f64, at: f64, claimed: f64) -> Comparison {
        let wrapped = |x: f64| Ok::<_, std::convert::Infallible>(vec![f(x)]);
        let Ok(mut all) = compare_derivative(wrapped, at, 1.0, &[claimed], &CheckSettings::default());
        all.remove(0)
    }

    /// A reproducible number in −1…1 that has nothing to do with its neighbours.
    fn noise(x: f64) -> f64 {
        let mut bits = x.to_bits().wrapping_mul(0x9E37_79B9_7F4A_7C15);
        bits ^= bits >> 29;
        bits = bits.wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits ^= bits >> 32;
        bits as f64 / u64::MAX as f64 * 2.0 - 1.0
    }

    #[test]
    fn a_slope_beyond_the_smallest_step_is_not_called_wrong() {
        // The true derivative, but linear over 10⁻¹² only.
        let steep = check(|x| (1e12 * x).asinh(), 0.0, 1e12);
        assert_eq!(steep.verdict, Verdict::Noisy, "{steep:?}");
        assert!(steep.note.contains("do not settle"));
        // Linear over 10⁻⁷: both a right and a wrong claim are seen.
        let right = check(|x| (1e7 * x).asinh(), 1e-7, 1e7 / 2f64.sqrt());
        assert_eq!(right.verdict, Verdict::Ok, "{right:?}");
        let wrong = check(|x| (1e7 * x).asinh(), 1e-7, 1e7 / 2.1f64.sqrt());
        assert_eq!(wrong.verdict, Verdict::Wrong, "{wrong:?}");
    }

    #[test]
    fn where_a_function_ends_differences_are_one_sided() {
        for side in [1.0, -1.0] {
            // Of e^(s x) − x², for s x ≥ 0 alone.
            let f = |x: f64| if side * x < 0.0 { Err(x) } else { Ok(vec![(side * x).exp() - x * x]) };
            let check = |claimed: f64| {
                compare_derivative(f, 0.0, 1.0, &[claimed], &CheckSettings::default()).unwrap().remove(0)
            };
            let right = check(side);
            assert!(right.verdict == Verdict::Ok && (right.difference - side).abs() < 1e-8, "{right:?}");
            for wrong in [1.001 * side, -side, 0.0] {
                assert_eq!(check(wrong).verdict, Verdict::Wrong, "{wrong}");
            }
        }
        // A function of one point has no differences.
        let point = |x: f64| if x == 0.0 { Ok(vec![1.0]) } else { Err(x) };
        assert!(compare_derivative(point, 0.0, 1.0, &[0.0], &CheckSettings::default()).is_err());
    }

    proptest! {
        #[test]
        fn smooth_functions_pass_and_wrong_derivatives_fail(
            x in -2.0..2.0f64, a in 0.2..3.0f64, offset in -5.0..5.0f64, off in 1e-4..1.0f64
        ) {
            let f = move |x: f64| offset + (a * x).sin() + 0.3 * x * x * x + (0.5 * x).exp();
            let d = a * (a * x).cos() + 0.9 * x * x + 0.5 * (0.5 * x).exp();
            prop_assume!(d.abs() > 0.05);
            let right = check(f, x, d);
            prop_assert_eq!(right.verdict, Verdict::Ok, "{:?}", right);
            prop_assert!(right.relative_error < 1e-7, "{:?}", right);
            let wrong = check(f, x, d * (1.0 + off));
            prop_assert_eq!(wrong.verdict, Verdict::Wrong, "{:?}", wrong);
            prop_assert_eq!(check(f, x, -d).verdict, Verdict::Wrong);
            prop_assert_eq!(check(f, x, 0.0).verdict, Verdict::Wrong);
            prop_assert_eq!(check(f, x, f64::NAN).verdict, Verdict::Wrong);
        }

        #[test]
        fn a_kink_is_recognized_on_any_smooth_background(
            a in -2.0..2.0f64, b in -2.0..2.0f64, jump in prop_oneof![-3.0..-0.01f64, 0.01..3.0f64], x in -2.0..2.0f64
        ) {
            let f = move |y: f64| 1.0 + a * y.sin() + b * y * y + jump * (y - x).max(0.0);
            let left = a * x.cos() + 2.0 * b * x;
            for claimed in [left, left + jump, left + 0.5 * jump] {
                let c = check(f, x, claimed);
                prop_assert_eq!(c.verdict, Verdict::Kink, "{:?}", c);
                prop_assert!((c.one_sided[0] - left).abs() < 1e-4 * (1.0 + left.abs()), "{:?}", c);
                prop_assert!((c.one_sided[1] - left - jump).abs() < 1e-4 * (1.0 + left.abs()), "{:?}", c);
            }
            prop_assert!(check(f, x, left).note.contains("left one"));
        }

        #[test]
        fn a_kink_at_a_distance_does_not_hide_a_derivative(
            exponent in -6.0..-1.0f64, a in 0.5..2.0f64, side in prop_oneof![Just(-1.0), Just(1.0f64)]
        ) {
            let x = 0.3;
            let corner = x + side * 10.0f64.powf(exponent);
            let f = move |y: f64| (a * y).sin() + (y - corner).max(0.0);
            let d = a * (a * x).cos() + if x > corner { 1.0 } else { 0.0 };
            let c = check(f, x, d);
            prop_assert_eq!(c.verdict, Verdict::Ok, "{:?}", c);
            let c = check(f, x, d * 1.01);
            prop_assert_eq!(c.verdict, Verdict::Wrong, "{:?}", c);
        }
    }

    #[test]
    fn absolute_value_and_positive_part() {
        assert_eq!(check(f64::abs, 0.0, 0.0).verdict, Verdict::Kink);
        assert_eq!(check(f64::abs, 0.5, 1.0).verdict, Verdict::Ok);
        let positive = |x: f64| x.max(0.0);
        assert_eq!(check(positive, 0.0, 0.0).verdict, Verdict::Kink);
        assert_eq!(check(positive, 1e-5, 1.0).verdict, Verdict::Ok);
        assert_eq!(check(positive, 1e-5, 0.9).verdict, Verdict::Wrong);
        assert_eq!(check(positive, -1e-5, 0.0).verdict, Verdict::Zero);
        assert_eq!(check(positive, -1e-5, 1.0).verdict, Verdict::Wrong);
        assert_eq!(check(positive, -0.5, 0.0).verdict, Verdict::Zero);
        // Its square has a derivative everywhere.
        assert_eq!(check(|x| x.max(0.0).powi(2) + x, 0.0, 1.0).verdict, Verdict::Ok);
    }

    #[test]
    fn no_dependence() {
        assert_eq!(check(|_| 3.0, 0.7, 0.0).verdict, Verdict::Zero);
        assert_eq!(check(|_| 3.0, 0.7, 1e-3).verdict, Verdict::Wrong);
        assert_eq!(check(|x| 3.0 + x, 0.7, 0.0).verdict, Verdict::Wrong);
    }

    #[test]
    fn a_stationary_point_has_a_derivative_of_zero() {
        for claimed in [0.0, 1e-15] {
            let c = check(|x| 1.0 + x * x, 0.0, claimed);
            assert!(matches!(c.verdict, Verdict::Ok | Verdict::Noisy | Verdict::Zero), "{c:?}");
        }
        assert_eq!(check(|x| 1.0 + x * x, 0.0, 1e-3).verdict, Verdict::Wrong);
    }

    #[test]
    fn jumps_have_no_derivative() {
        let step = |x: f64| if x > 0.0 { 1.0 } else { 0.0 };
        let c = check(step, 0.0, 0.0);
        assert_eq!(c.verdict, Verdict::Kink);
        assert!(c.note.contains("jumps"));
        assert_eq!(check(|x: f64| if x == 0.0 { 0.0 } else { x.signum() }, 0.0, 0.0).verdict, Verdict::Kink);
        assert_eq!(check(step, 0.3, 0.0).verdict, Verdict::Zero);
    }

    #[test]
    fn a_value_apart_from_its_neighbours_decides_nothing() {
        // A feature narrower than the smallest step, of which differences see the ends only.
        for (width, height) in [(1e-11, 1e-9), (1e-10, 1e-6), (1e-12, 1e-3)] {
            let f = move |x: f64| {
                x.sin() + height / (1.0 + (x / width).powi(2)) + 30.0 * width * (x / width).atan()
            };
            for claimed in [31.0, 1.0, 500.0] {
                let c = check(f, 0.0, claimed);
                assert!(matches!(c.verdict, Verdict::Noisy | Verdict::Kink), "{c:?}");
            }
        }
    }

    #[test]
    fn differences_that_only_seem_to_settle_are_not_believed() {
        // A value that saturates slowly, with noise at the smallest steps: from one large step to the
        // next its differences hardly change.
        for k in 0..100 {
            let x = 0.1 + 0.01 * f64::from(k);
            let f = move |y: f64| {
                let d = y - x;
                4.5e-5 * d + 4.5e-12 * (d / 1e-7).atan() + 4e-14 * noise(y)
            };
            let c = check(f, x, 9e-5);
            assert_ne!(c.verdict, Verdict::Wrong, "{c:?}");
        }
    }

    #[test]
    fn noise_is_told_from_a_wrong_derivative_and_from_a_kink() {
        for k in 0..100 {
            let x = 0.1 + 0.01 * k as f64;
            // Of 1e-10: the differences still have five digits.
            let slight = move |x: f64| x.sin() + 1e-10 * noise(x);
            let c = check(slight, x, x.cos());
            assert_eq!(c.verdict, Verdict::Ok, "{c:?}");
            let c = check(slight, x, 1.1 * x.cos());
            assert_eq!(c.verdict, Verdict::Wrong, "{c:?}");
            // Of 1e-4: not enough to decide, but a wrong sign shows.
            let heavy = move |x: f64| x.sin() + 1e-4 * noise(x);
            let c = check(heavy, x, x.cos());
            assert!(matches!(c.verdict, Verdict::Noisy), "{c:?}");
        }
    }

    #[test]
    fn rounding_that_is_smooth_over_the_smallest_steps_is_no_slope() {
        // A number on the way that hardly changes rounds at 10⁻¹⁶ and counts a hundredfold: between
        // its jumps the slope of the value is off by more than the tolerance.
        let d = 3.7e-5;
        for k in 0..100 {
            let (period, phase) = (10f64.powf(-6.5 + 0.0123 * k as f64), 0.2 + 0.006 * k as f64);
            let f = |x: f64| 0.47 + d * x - 1.3e-14 * ((x / period + phase).rem_euclid(1.0) - 0.5);
            let c = check(f, 0.0, d);
            assert_eq!(c.verdict, Verdict::Ok, "{period:e} {phase}: {c:?}");
            let c = check(f, 0.0, 1.001 * d);
            assert_eq!(c.verdict, Verdict::Wrong, "{period:e} {phase}: {c:?}");
        }
    }

    #[test]
    fn rounding_of_a_small_component_is_no_dependence() {
        let f = |x: f64| Ok::<_, std::convert::Infallible>(vec![1e3 * x, (1e3 * x + 1e3) - 1e3 * x - 1e3]);
        let Ok(c) = compare_derivative(f, 0.7, 1.0, &[1e3, 0.0], &CheckSettings::default());
        assert_eq!(c[0].verdict, Verdict::Ok);
        assert_eq!(c[1].verdict, Verdict::Zero, "{c:?}");
    }

    #[test]
    fn errors_and_values_that_are_not_numbers_pass_through() {
        let failing = |x: f64| if x == 0.5 { Ok(vec![x]) } else { Err("no") };
        assert_eq!(compare_derivative(failing, 0.5, 1.0, &[1.0], &CheckSettings::default()), Err("no"));
        assert_eq!(check(|x: f64| x.sqrt(), 0.0, 1.0).verdict, Verdict::Noisy);
    }
}
