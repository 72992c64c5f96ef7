//! What control values may be, and what is wrong with a problem over them.

use crate::optimize::error::ProblemError;

/// What one control value may be, in its unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ControlRange {
    /// Smallest value; −∞ where there is none.
    pub lower: f64,
    /// Largest value, not below the smallest; +∞ where there is none.
    pub upper: f64,
    /// The magnitude that the optimizer's variables are measured in; positive.
    pub scale: f64,
}

impl ControlRange {
    /// Between two bounds, measured in half of their distance where that is finite and positive,
    /// in 1 otherwise.
    pub fn new(lower: f64, upper: f64) -> Self {
        let half = 0.5 * (upper - lower);
        let scale = if half.is_finite() && half > 0.0 { half } else { 1.0 };
        Self { lower, upper, scale }
    }

    /// Without bounds, measured in a magnitude.
    pub fn unbounded(scale: f64) -> Self {
        Self { lower: f64::NEG_INFINITY, upper: f64::INFINITY, scale }
    }

    /// Refuses bounds and scales that make no sense, of the control value at an index in a row.
    pub(in crate::optimize) fn check(&self, index: usize) -> Result<(), ProblemError> {
        let Self { lower, upper, scale } = *self;
        if lower.partial_cmp(&upper).is_none_or(|order| order.is_gt()) {
            return Err(ProblemError::Bounds { index, lower, upper });
        }
        if !(scale > 0.0 && scale.is_finite()) {
            return Err(ProblemError::Scale { index, found: scale });
        }
        Ok(())
    }
}
