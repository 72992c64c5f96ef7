//! From an initial state to a trajectory.

use crate::multibody::{AppliedForces, Model, State};
use crate::scalar::Scalar;
use crate::step::{Integrator, StepError, StepWorkspace};

/// Steps that a simulation may have at most.
const MAXIMUM_STEPS: f64 = 1e9;

/// How a simulation advances.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SimulationSettings {
    /// The method of one step.
    pub integrator: Integrator,
    /// Length of a step, s; positive.
    pub time_step: f64,
}

impl Default for SimulationSettings {
    /// Semi-implicit Euler with steps of 1 ms.
    fn default() -> Self {
        Self { integrator: Integrator::default(), time_step: 1e-3 }
    }
}

/// Why a simulation stopped.
#[derive(Debug, thiserror::Error, PartialEq)]
pub enum SimulationError {
    /// The length of a step is not usable.
    #[error("the time step is {0} s; it must be positive and finite")]
    TimeStep(f64),
    /// The end is not usable.
    #[error("the end of the simulation is {0} s; it must be at least 0 and finite")]
    Until(f64),
    /// There would be too many steps.
    #[error(
        "{until} s in steps of {time_step} s are more than {MAXIMUM_STEPS:e} steps; make the steps longer"
    )]
    TooManySteps {
        /// End of the simulation, s.
        until: f64,
        /// Length of a step, s.
        time_step: f64,
    },
    /// The state does not belong to the model.
    #[error("the state has {state} bodies but the model has {model} free bodies; they must be equally many")]
    BodyCount {
        /// Bodies in the state.
        state: usize,
        /// Free bodies in the model.
        model: usize,
    },
    /// The state is no longer finite.
    #[error(
        "the state of body `{body}` is not finite any more at t = {time} s, after {steps} steps of {time_step} s; make the steps shorter"
    )]
    NotFinite {
        /// Time at the end of the step, s.
        time: f64,
        /// Steps taken.
        steps: usize,
        /// Length of a step, s.
        time_step: f64,
        /// Name of the body.
        body: String,
    },
    /// A step failed.
    #[error("the step from t = {time} s, number {step}, failed for {bodies}: {source}")]
    Step {
        /// Time at the start of the step, s.
        time: f64,
        /// Number of the step, from 1.
        step: usize,
        /// Names of the bodies concerned.
        bodies: String,
        /// What went wrong.
        source: StepError,
    },
}

/// States at increasing times.
#[derive(Clone, Debug, PartialEq)]
pub struct Trajectory<T = f64> {
    /// Times in s, the first of them 0.
    pub times: Vec<f64>,
    /// The state at each time.
    pub states: Vec<State<T>>,
}

/// The times of a simulation: 0, multiples of the time step, and `until`. The last step is
/// shorter where `until` is not a multiple.
///
/// # Errors
/// When the time step or the end is out of range, or there are too many steps.
pub fn step_times(time_step: f64, until: f64) -> Result<Vec<f64>, SimulationError> {
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
    let steps = steps as usize;
    let mut times: Vec<f64> = (0..steps).map(|i| i as f64 * time_step).collect();
    times.push(until);
    Ok(times)
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

/// A step of a simulation, whose failures say when it was taken and which bodies they concern.
pub(crate) fn checked_step<T: Scalar>(
    integrator: Integrator,
    model: &Model<T>,
    state: &State<T>,
    at: StepTime,
    applied: &impl AppliedForces,
    control: &[T],
    workspace: &mut StepWorkspace<T>,
) -> Result<State<T>, SimulationError> {
    let StepTime { time, dt, number } = at;
    let after = integrator.step(model, state, time, dt, applied, control, workspace).map_err(|source| {
        let named = source.bodies().iter().filter_map(|&i| model.bodies.get(i));
        let names: Vec<String> = named.map(|body| format!("`{}`", body.name)).collect();
        SimulationError::Step { time, step: number, bodies: names.join(", "), source }
    })?;
    if let Some(index) = after.first_not_finite() {
        let body = model.free_bodies().nth(index).map_or("?", |(_, body, _)| &body.name).to_owned();
        return Err(SimulationError::NotFinite { time: time + dt, steps: number, time_step: dt, body });
    }
    Ok(after)
}

/// Simulates a model from a state at time 0 until a time in s.
///
/// `observer` is called with every time and state, the initial ones included.
///
/// # Errors
/// When the settings are out of range, the state does not belong to the model, or the state
/// stops being finite.
pub fn simulate<T: Scalar>(
    model: &Model<T>,
    initial: &State<T>,
    settings: &SimulationSettings,
    until: f64,
    applied: &impl AppliedForces,
    mut observer: impl FnMut(f64, &State<T>),
) -> Result<Trajectory<T>, SimulationError> {
    let times = step_times(settings.time_step, until)?;
    let free = model.free_bodies().count();
    if initial.bodies.len() != free {
        return Err(SimulationError::BodyCount { state: initial.bodies.len(), model: free });
    }
    let mut workspace = StepWorkspace::default();
    let mut states = Vec::with_capacity(times.len());
    observer(0.0, initial);
    states.push(initial.clone());
    for (step, span) in times.windows(2).enumerate() {
        let regular = step + 2 < times.len();
        let remaining = span[1] - span[0];
        // Differences of multiples of the step are not the same to the last bit.
        let whole = regular || (remaining - settings.time_step).abs() < 1e-9 * settings.time_step;
        let dt = if whole { settings.time_step } else { remaining };
        let at = StepTime { time: span[0], dt, number: step + 1 };
        let state =
            checked_step(settings.integrator, model, &states[step], at, applied, &[], &mut workspace)?;
        observer(span[1], &state);
        states.push(state);
    }
    Ok(Trajectory { times, states })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_end_where_asked() {
        assert_eq!(step_times(0.25, 1.0).expect("valid"), [0.0, 0.25, 0.5, 0.75, 1.0]);
        assert_eq!(step_times(0.4, 1.0).expect("valid"), [0.0, 0.4, 0.8, 1.0]);
        assert_eq!(step_times(0.1, 0.0).expect("valid"), [0.0]);
        assert_eq!(step_times(1e-3, 0.3).expect("valid").len(), 301);
        assert_eq!(step_times(0.0, 1.0), Err(SimulationError::TimeStep(0.0)));
        assert!(matches!(step_times(f64::NAN, 1.0), Err(SimulationError::TimeStep(_))));
        assert_eq!(step_times(0.1, -1.0), Err(SimulationError::Until(-1.0)));
        assert!(matches!(step_times(1e-300, 1.0), Err(SimulationError::TooManySteps { .. })));
    }
}
