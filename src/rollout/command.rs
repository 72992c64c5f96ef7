//! The command of one actuator over time, by knots of its own.

use super::control_knots::{ControlKnots, KnotInterpolation};
use super::controls::Controls;
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
    /// When the times do not make knots, or there is not a finite value for each.
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
    /// When it is not finite.
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
}

impl Controls {
    /// The rows of commands for each step, given the times at which steps begin and the last one ends
    /// (see [`super::SimulationSettings::step_times`]). A row, which is constant over its step, has the values at the
    /// step's middle.
    pub fn of_commands(commands: &[Command], step_times: &[f64]) -> Controls {
        let mut controls = Controls::zeros(step_times.len().saturating_sub(1), commands.len());
        for (step, span) in step_times.windows(2).enumerate() {
            let middle = 0.5 * (span[0] + span[1]);
            controls.row_mut(step).iter_mut().zip(commands).for_each(|(u, command)| *u = command.at(middle));
        }
        controls
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_the_values_at_the_middles_of_steps() {
        let knots = KnotValues { times: vec![0.0, 1.0], values: vec![2.0, 4.0] };
        let ramp = Command::new(KnotInterpolation::Linear, knots).unwrap();
        let commands = [Command::constant(7.0).unwrap(), ramp];
        let controls = Controls::of_commands(&commands, &[0.0, 0.5, 1.0, 1.5]);
        assert_eq!(controls.values(), [7.0, 2.5, 7.0, 3.5, 7.0, 4.0]);
        assert_eq!(Controls::of_commands(&commands, &[0.0]).steps(), 0);
        assert_eq!(Controls::of_commands(&[], &[0.0, 0.1]), Controls::none());
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
