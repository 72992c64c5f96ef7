//! The command of one actuator over time, by knots of its own.

use std::ops::Range;

use super::control_knots::{ControlKnots, KnotInterpolation};
use super::error::SimulationError;

/// A command over time: knots and the values there.
#[derive(Clone, Debug, PartialEq)]
pub struct Command {
    knots: ControlKnots,
    values: Vec<f64>,
}

/// Times of knots and the value at each.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KnotValues {
    /// Times, s, increasing.
    pub times: Vec<f64>,
    /// The values there.
    pub values: Vec<f64>,
}

impl Command {
    /// A command that has these values at knots.
    ///
    /// # Errors
    /// When the times are not valid as knots, or there is not one finite value for each.
    pub fn new(interpolation: KnotInterpolation, at: KnotValues) -> Result<Self, SimulationError> {
        let KnotValues { times, values } = at;
        let knots = ControlKnots::new(interpolation, times)?;
        if values.len() != knots.times().len() {
            return Err(SimulationError::CommandCount { values: values.len(), knots: knots.times().len() });
        }
        match values.iter().position(|x| !x.is_finite()) {
            Some(index) => Err(SimulationError::CommandValue { index, found: values[index] }),
            None => Ok(Self { knots, values }),
        }
    }

    /// A command that does not change.
    ///
    /// # Errors
    /// When the value is not finite.
    pub fn constant(value: f64) -> Result<Self, SimulationError> {
        Self::new(KnotInterpolation::ZeroOrderHold, KnotValues { times: vec![0.0], values: vec![value] })
    }

    /// The knots.
    pub fn knots(&self) -> &ControlKnots {
        &self.knots
    }

    /// The values at the knots.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The command at a time in s.
    pub fn at(&self, time: f64) -> f64 {
        self.knots.value_at(time, &self.values)
    }

    /// The same values with times counted from a time in s: that at 0 is the value at this time.
    pub(crate) fn counted_from(&self, start: f64) -> Self {
        Self { knots: self.knots.counted_from(start), values: self.values.clone() }
    }

    /// The command of a step over this span of time: the value at its middle.
    pub(super) fn over(&self, step: Range<f64>) -> f64 {
        self.at(0.5 * (step.start + step.end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_counted_from_another_time() {
        for kind in [KnotInterpolation::ZeroOrderHold, KnotInterpolation::Linear, KnotInterpolation::Cubic] {
            let at = KnotValues { times: vec![0.0, 0.5, 1.0, 1.5], values: vec![1.0, -2.0, 0.5, 3.0] };
            let command = Command::new(kind, at).expect("a command");
            for time in [-1.0, -0.2, 0.0, 0.4, 0.9, 2.0] {
                let difference = command.counted_from(0.7).at(time) - command.at(time + 0.7);
                assert!(difference.abs() < 1e-12, "{kind:?} {time}");
            }
        }
    }

    #[test]
    fn commands_that_are_none() {
        let command = |times: &[f64], values: &[f64]| {
            let at = KnotValues { times: times.to_vec(), values: values.to_vec() };
            Command::new(KnotInterpolation::ZeroOrderHold, at)
        };
        assert!(matches!(command(&[], &[]), Err(SimulationError::NoKnots)));
        assert_eq!(command(&[0.0, 1.0], &[1.0]), Err(SimulationError::CommandCount { values: 1, knots: 2 }));
        assert!(matches!(command(&[0.0], &[f64::NAN]), Err(SimulationError::CommandValue { index: 0, .. })));
        assert!(matches!(Command::constant(f64::INFINITY), Err(SimulationError::CommandValue { .. })));
    }
}
