//! The lengths of substeps.
//!
//! They are the length of the step times powers of the fourth root of ½, or all or half of what is left of
//! it: functions of the errors that are constant but for jumps.

/// The part of the error that is allowed which the next length is chosen for.
const SAFETY: f64 = 0.8;

/// The most that a length grows and shrinks by from one substep to the next.
const MOST_GROWTH: f64 = 5.0;
const LEAST_SHRINKING: f64 = 0.1;

/// The shortest length that is tried, s.
pub(super) const SHORTEST: f64 = 1e-12;

/// The longest length of a substep of a step of `whole` s that is at most `wished` s.
pub(in crate::step) fn quantized(whole: f64, wished: f64) -> f64 {
    let quarters = (4.0 * (whole / wished).log2() - 1e-9).ceil().max(0.0);
    whole * (-0.25 * quarters).exp2()
}

/// The length of the next substep if `wished` s are wished for and `left` s are left of the step; and whether
/// that is all that is left. No remainder is left that is shorter than the substep before it.
pub(in crate::step) fn fitted(wished: f64, left: f64) -> (f64, bool) {
    match () {
        () if wished >= left * (1.0 - 1e-9) => (left, true),
        () if wished > 0.5 * left => (0.5 * left, false),
        () => (wished, false),
    }
}

/// The factor that a length is to change by after a substep whose error was `error` times what is allowed
/// and grows with the power `order` of the length.
pub(in crate::step) fn factor(error: f64, order: i32) -> f64 {
    if !error.is_finite() {
        return LEAST_SHRINKING;
    }
    let wished = SAFETY * error.max(1e-12).powf(-1.0 / f64::from(order));
    wished.clamp(LEAST_SHRINKING, MOST_GROWTH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_few() {
        assert_eq!(quantized(0.8, 0.8), 0.8);
        assert_eq!(quantized(0.8, 5.0), 0.8);
        assert_eq!(quantized(0.8, 0.4), 0.4);
        assert_eq!(quantized(0.8, 0.1), 0.1);
        let least = quantized(0.8, 0.3999);
        assert!((least - 0.4 / 2.0_f64.powf(0.25)).abs() < 1e-15, "{least}");
        // What differs a little has the same length.
        assert_eq!(quantized(1e-2, 1.2345e-3), quantized(1e-2, 1.2346e-3));
    }

    #[test]
    fn substeps_fill_the_step() {
        assert_eq!(fitted(0.3, 0.3), (0.3, true));
        assert_eq!(fitted(0.3, 0.1), (0.1, true));
        assert_eq!(fitted(0.3, 0.5), (0.25, false));
        assert_eq!(fitted(0.3, 0.7), (0.3, false));
    }

    #[test]
    fn lengths_follow_the_error() {
        assert_eq!(factor(0.0, 2), MOST_GROWTH);
        assert_eq!(factor(f64::NAN, 2), LEAST_SHRINKING);
        assert_eq!(factor(f64::INFINITY, 5), LEAST_SHRINKING);
        assert!((factor(4.0, 2) - 0.4).abs() < 1e-15);
        assert!(factor(1.0, 5) < 1.0);
    }
}
