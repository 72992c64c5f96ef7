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

/// Lower and upper bounds of all variables, where there are any.
pub(super) type Bounds = Option<(Vec<f64>, Vec<f64>)>;

/// Refuses bounds of different number, and lower ones that are above their upper ones or no
/// number.
pub(super) fn check_bounds(lower: &[f64], upper: &[f64]) -> Result<(), Error> {
    if lower.len() != upper.len() {
        return Err(Error::msg(format!("{} lower bounds and {} upper bounds", lower.len(), upper.len())));
    }
    match (0..lower.len()).find(|&i| lower[i].partial_cmp(&upper[i]).is_none_or(|o| o.is_gt())) {
        Some(i) => Err(Error::msg(format!(
            "bounds of variable {i}: lower {} must not exceed upper {}",
            lower[i], upper[i]
        ))),
        None => Ok(()),
    }
}

/// Bounds in a file, with nothing in the place of an infinite one: not every format has infinity.
pub(super) mod saved_bounds {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::Bounds;

    type Saved = Option<(Vec<Option<f64>>, Vec<Option<f64>>)>;

    pub fn serialize<S: Serializer>(bounds: &Bounds, serializer: S) -> Result<S::Ok, S::Error> {
        let finite = |all: &[f64]| all.iter().map(|&x| Some(x).filter(|x| x.is_finite())).collect();
        let saved: Saved = bounds.as_ref().map(|(lower, upper)| (finite(lower), finite(upper)));
        saved.serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Bounds, D::Error> {
        let or = |all: Vec<Option<f64>>, none: f64| all.into_iter().map(|x| x.unwrap_or(none)).collect();
        let saved = Saved::deserialize(deserializer)?;
        Ok(saved.map(|(lower, upper)| (or(lower, f64::NEG_INFINITY), or(upper, f64::INFINITY))))
    }
}
