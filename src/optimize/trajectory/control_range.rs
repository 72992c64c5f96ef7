//! What control values may be, and what is wrong with a problem over them.

use crate::rollout::SimulationError;

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

    /// Refuses bounds and scales that make no sense, of the control value at a place in a row.
    pub(super) fn check(&self, index: usize) -> Result<(), TrajectoryProblemError> {
        let Self { lower, upper, scale } = *self;
        if lower.partial_cmp(&upper).is_none_or(|order| order.is_gt()) {
            return Err(TrajectoryProblemError::Bounds { index, lower, upper });
        }
        if !(scale > 0.0 && scale.is_finite()) {
            return Err(TrajectoryProblemError::Scale { index, found: scale });
        }
        Ok(())
    }
}

/// Why there is no such problem of trajectory optimization.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum TrajectoryProblemError {
    /// The times do not make steps.
    #[error(transparent)]
    Simulation(#[from] SimulationError),
    /// The knots do not fit the motion.
    #[error(transparent)]
    Knots(SimulationError),
    /// There is not one range for each control value.
    #[error("there are ranges for {found} control values, but actuators and forces take {expected}")]
    Ranges {
        /// Ranges.
        found: usize,
        /// Control values.
        expected: usize,
    },
    /// A control value that there is not, or twice.
    #[error("control {index} is to be optimized: there are {expected}, counted from 0, each at most once")]
    Place {
        /// Its place in a row.
        index: usize,
        /// Control values.
        expected: usize,
    },
    /// There is nothing to optimize.
    #[error("no control value of an actuator or a force is to be optimized: there is nothing to do")]
    NoControls,
    /// A bound that is no number, or a lower one above the upper one.
    #[error(
        "control {index}: the lower bound is {lower} and the upper bound {upper}; the lower one must not exceed the upper one"
    )]
    Bounds {
        /// Place of the control value in a row.
        index: usize,
        /// Its lower bound.
        lower: f64,
        /// Its upper bound.
        upper: f64,
    },
    /// A scale that is not positive.
    #[error("control {index}: the scale is {found}, it must be positive and finite")]
    Scale {
        /// Place of the control value in a row.
        index: usize,
        /// Its scale.
        found: f64,
    },
    /// A method that does not take a smoothed cost.
    #[error("a smoothed cost needs the method `lbfgs`, found `{method}`: the others take residuals")]
    Smoothed {
        /// The method.
        method: &'static str,
    },
}
