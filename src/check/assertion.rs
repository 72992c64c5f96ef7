//! An assertion on a gradient, for tests.

use std::convert::Infallible;

use super::comparison::CheckSettings;
use super::gradient::{CheckedParameter, check_gradient};

/// Asserts that a function's gradient is that of its value at `x`: each derivative is compared with
/// differences, as [`check_gradient`] does, with steps relative to the magnitude of its argument (1 where
/// that is 0). For tests of your own.
///
/// # Panics
/// With the table when a derivative is wrong, or when more are undecided than
/// [`CheckSettings::undecided`] allows; and when the gradient has another length than `x`.
///
/// # Examples
/// ```
/// use isobar::check::assert_gradient;
///
/// /// The energy of a spring, and its derivatives with respect to stiffness and stretch.
/// fn energy(x: &[f64]) -> (f64, Vec<f64>) {
///     let (stiffness, stretch) = (x[0], x[1]);
///     (0.5 * stiffness * stretch * stretch, vec![0.5 * stretch * stretch, stiffness * stretch])
/// }
///
/// assert_gradient(energy, &[40.0, 0.1]);
/// ```
/// A factor that was forgotten is found:
/// ```should_panic
/// # use isobar::check::assert_gradient;
/// assert_gradient(|x| (x[0] * x[0], vec![x[0]]), &[0.3]);
/// ```
#[track_caller]
#[allow(clippy::panic, reason = "an assertion")]
pub fn assert_gradient(f: impl Fn(&[f64]) -> (f64, Vec<f64>) + Sync, x: &[f64]) {
    let (_, gradient) = f(x);
    assert_eq!(gradient.len(), x.len(), "the gradient has a number for each argument");
    let parameter = |(i, value): (usize, &f64)| CheckedParameter {
        name: format!("x[{i}]"),
        unit: 1.0,
        scale: if *value == 0.0 { 1.0 } else { value.abs() },
    };
    let parameters: Vec<CheckedParameter> = x.iter().enumerate().map(parameter).collect();
    let value = |x: &[f64]| Ok::<_, Infallible>(f(x).0);
    let Ok(report) = check_gradient("f", &parameters, value, x, &gradient, &CheckSettings::default());
    if !report.passed() {
        panic!("the gradient is wrong, or differences cannot tell\n{report}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn right_gradients_pass_and_at_a_minimum_too() {
        let f = |x: &[f64]| {
            let value = 3.0 + (x[0] - 1.0).powi(2) + x[0] * x[1];
            (value, vec![2.0 * (x[0] - 1.0) + x[1], x[0]])
        };
        assert_gradient(f, &[0.3, -2.0]);
        assert_gradient(f, &[0.3, 0.0]);
        assert_gradient(|x| (7.0 + x[0].powi(2), vec![2.0 * x[0]]), &[0.0]);
        assert_gradient(|x| (7.0 + (x[0] - 0.1).powi(4), vec![4.0 * (x[0] - 0.1).powi(3)]), &[0.1 + 1e-6]);
    }

    #[test]
    #[should_panic(expected = "x[1]")]
    fn a_wrong_gradient_panics_with_the_table() {
        assert_gradient(|x| (x[0] * x[1], vec![x[1], 1.0001 * x[0]]), &[0.3, -2.0]);
    }
}
