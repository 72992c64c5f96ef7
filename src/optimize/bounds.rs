//! Bounds on variables, as solvers keep them.

use argmin::core::Error;

/// Refuses a setting that is not finite or below the least value allowed.
pub(super) fn check_tolerance(what: &str, value: f64, least: f64) -> Result<f64, Error> {
    if value.is_finite() && value >= least {
        Ok(value)
    } else {
        Err(Error::msg(format!("{what} is {value}, it must be finite and at least {least}")))
    }
}

/// The largest derivative by a variable that may move downhill: those that sit on a bound and
/// would leave it do not count.
pub(super) fn projected_gradient_norm(x: &[f64], gradient: &[f64], lower: &[f64], upper: &[f64]) -> f64 {
    let mut norm = 0.0_f64;
    for (i, &g) in gradient.iter().enumerate() {
        let held = x[i] <= lower[i] && g >= 0.0 || x[i] >= upper[i] && g <= 0.0;
        if !held {
            norm = norm.max(g.abs());
        }
    }
    norm
}
