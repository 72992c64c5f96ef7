//! Where the control values of each step come from.

use std::ops::Range;

use super::command::Command;
use super::controls::Controls;
use super::error::SimulationError;
use crate::scalar::Scalar;

/// The control values of a simulation: of each step a row, constant over it, with the commands of
/// the model's actuators and then the values that the user's forces take.
#[derive(Debug, PartialEq)]
pub enum ControlSignal<'a, T = f64> {
    /// A row for each step.
    Rows(&'a Controls<T>),
    /// A function of time for each value, which each step takes at its middle. They take no memory
    /// for each step.
    Commands(&'a [Command]),
}

impl<T> Clone for ControlSignal<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for ControlSignal<'_, T> {}

impl<T> Default for ControlSignal<'_, T> {
    /// No control values.
    fn default() -> Self {
        Self::Commands(&[])
    }
}

impl<'a, T> From<&'a Controls<T>> for ControlSignal<'a, T> {
    fn from(controls: &'a Controls<T>) -> Self {
        Self::Rows(controls)
    }
}

impl<'a, T> From<&'a [Command]> for ControlSignal<'a, T> {
    fn from(commands: &'a [Command]) -> Self {
        Self::Commands(commands)
    }
}

impl<'a, T> From<&'a Vec<Command>> for ControlSignal<'a, T> {
    fn from(commands: &'a Vec<Command>) -> Self {
        Self::Commands(commands)
    }
}

impl<'a, T: Scalar> ControlSignal<'a, T> {
    /// Number of values of each step.
    pub fn dimension(&self) -> usize {
        match self {
            Self::Rows(controls) => controls.dimension(),
            Self::Commands(commands) => commands.len(),
        }
    }

    /// Checks that each of so many steps has so many values.
    pub(super) fn check(&self, expected: usize, steps: usize) -> Result<(), SimulationError> {
        let found = self.dimension();
        if found != expected {
            return Err(SimulationError::ControlDimension { found, expected });
        }
        match self {
            Self::Rows(controls) if found > 0 && controls.steps() != steps => {
                Err(SimulationError::ControlSteps { found: controls.steps(), expected: steps })
            }
            _ => Ok(()),
        }
    }

    /// Fills in the row of a step, counted from 0, over this span of time.
    pub(crate) fn put_row(&self, step: usize, span: Range<f64>, row: &mut [T]) {
        match *self {
            Self::Rows(controls) => row.copy_from_slice(controls.row(step)),
            Self::Commands(commands) => {
                row.iter_mut()
                    .zip(commands)
                    .for_each(|(u, command)| *u = T::from(command.over(span.clone())));
            }
        }
    }
}

impl<T: Scalar> Controls<T> {
    /// The rows of commands for each step, given the times at which steps begin and the last one ends
    /// (see [`super::SimulationSettings::step_times`]). A row, which is constant over its step, has the
    /// values at the step's middle.
    pub fn of_commands(commands: &[Command], step_times: &[f64]) -> Self {
        let mut controls = Self::zeros(step_times.len().saturating_sub(1), commands.len());
        for (step, span) in step_times.windows(2).enumerate() {
            ControlSignal::Commands(commands).put_row(step, span[0]..span[1], controls.row_mut(step));
        }
        controls
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rollout::{KnotInterpolation, KnotValues};

    #[test]
    fn rows_have_the_values_at_the_middles_of_steps() {
        let knots = KnotValues { times: vec![0.0, 1.0], values: vec![2.0, 4.0] };
        let ramp = Command::new(KnotInterpolation::Linear, knots).unwrap();
        let commands = [Command::constant(7.0).unwrap(), ramp];
        let controls: Controls = Controls::of_commands(&commands, &[0.0, 0.5, 1.0, 1.5]);
        assert_eq!(controls.values(), [7.0, 2.5, 7.0, 3.5, 7.0, 4.0]);
        assert_eq!(Controls::<f64>::of_commands(&commands, &[0.0]).steps(), 0);
        assert_eq!(Controls::<f64>::of_commands(&[], &[0.0, 0.1]), Controls::none());
    }
}
