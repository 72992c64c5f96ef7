//! How a simulation advances, and when its steps are taken.

use super::error::{MAXIMUM_STEPS, SimulationError};
use crate::step::Integrator;

/// How a simulation advances.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SimulationSettings {
    /// The method of one step.
    pub integrator: Integrator,
    /// Length of a step, s; positive.
    pub time_step: f64,
}

impl Default for SimulationSettings {
    /// Velocity-level steps of 1 ms, with lagged friction.
    fn default() -> Self {
        Self { integrator: Integrator::default(), time_step: 1e-3 }
    }
}

/// When the steps of a simulation begin: at 0 and at multiples of the time step. The last step is
/// shorter where the end is not a multiple.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepSchedule {
    time_step: f64,
    until: f64,
    steps: usize,
}

impl SimulationSettings {
    /// The steps of a simulation until a time in s.
    ///
    /// # Errors
    /// When the time step or the end is out of range, or there are too many steps.
    pub fn schedule(&self, until: f64) -> Result<StepSchedule, SimulationError> {
        let time_step = self.time_step;
        if !(time_step > 0.0 && time_step.is_finite()) {
            return Err(SimulationError::TimeStep(time_step));
        }
        if !(until >= 0.0 && until.is_finite()) {
            return Err(SimulationError::Until(until));
        }
        // A remainder that is only rounding is not a step of its own.
        let steps = (until / time_step - 1e-9).ceil().max(0.0);
        if steps > MAXIMUM_STEPS {
            return Err(SimulationError::TooManySteps { until, time_step });
        }
        Ok(StepSchedule { time_step, until, steps: steps as usize })
    }

    /// The times of a simulation: 0, multiples of the time step, and `until` in s (see
    /// [`StepSchedule`]).
    ///
    /// # Errors
    /// When the time step or the end is out of range, or there are too many steps.
    pub fn step_times(&self, until: f64) -> Result<Vec<f64>, SimulationError> {
        let schedule = self.schedule(until)?;
        Ok((0..=schedule.steps()).map(|steps| schedule.time(steps)).collect())
    }
}

impl StepSchedule {
    /// Number of steps.
    pub fn steps(&self) -> usize {
        self.steps
    }

    /// The time after so many steps, s.
    pub fn time(&self, steps: usize) -> f64 {
        if steps < self.steps { steps as f64 * self.time_step } else { self.until }
    }

    pub(super) fn list(&self) -> Vec<StepTime> {
        (0..self.steps).map(|before| self.step(before)).collect()
    }

    /// The step after so many others.
    pub(crate) fn step(&self, before: usize) -> StepTime {
        let (time, regular) = (self.time(before), before + 1 < self.steps);
        let remaining = self.time(before + 1) - time;
        // Differences of multiples of the step are not the same to the last bit.
        let whole = regular || (remaining - self.time_step).abs() < 1e-9 * self.time_step;
        StepTime { time, dt: if whole { self.time_step } else { remaining }, number: before + 1 }
    }
}

/// When a step is taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct StepTime {
    /// Time at its start, s.
    pub time: f64,
    /// Its length, s.
    pub dt: f64,
    /// Its number in the simulation, from 1.
    pub number: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_end_where_asked() {
        let step_times = |time_step: f64, until: f64| {
            SimulationSettings { time_step, ..Default::default() }.step_times(until)
        };
        assert_eq!(step_times(0.25, 1.0).expect("valid"), [0.0, 0.25, 0.5, 0.75, 1.0]);
        assert_eq!(step_times(0.4, 1.0).expect("valid"), [0.0, 0.4, 0.8, 1.0]);
        assert_eq!(step_times(0.1, 0.0).expect("valid"), [0.0]);
        assert_eq!(step_times(1e-3, 0.3).expect("valid").len(), 301);
        assert_eq!(step_times(0.0, 1.0), Err(SimulationError::TimeStep(0.0)));
        assert!(matches!(step_times(f64::NAN, 1.0), Err(SimulationError::TimeStep(_))));
        assert_eq!(step_times(0.1, -1.0), Err(SimulationError::Until(-1.0)));
        assert!(matches!(step_times(1e-300, 1.0), Err(SimulationError::TooManySteps { .. })));
    }

    #[test]
    fn steps_have_the_same_bits_but_for_a_shorter_last_one() {
        let lengths = |time_step: f64, until: f64| -> Vec<f64> {
            let settings = SimulationSettings { time_step, ..Default::default() };
            settings.schedule(until).expect("valid").list().iter().map(|at| at.dt).collect()
        };
        assert_eq!(lengths(1e-3, 0.3), [1e-3; 300]);
        assert_eq!(lengths(0.25, 1.0), [0.25; 4]);
        let [a, b, last] = lengths(0.4, 1.0)[..] else { panic!("three steps") };
        assert!(a == 0.4 && b == 0.4 && (last - 0.2).abs() < 1e-15, "{last}");
        let step =
            SimulationSettings { time_step: 0.4, ..Default::default() }.schedule(1.0).expect("valid").step(2);
        assert_eq!((step.time, step.number), (0.8, 3));
    }
}
