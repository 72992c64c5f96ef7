//! Simulation under controls that follow the state.

use super::controls::Controls;
use super::error::SimulationError;
use super::schedule::SimulationSettings;
use super::simulate::{Trajectory, check_start, checked_step};
use crate::multibody::{AppliedForces, Model, State};
use crate::step::{StepProblem, StepWorkspace};

/// Simulates a model from a state at time 0 until a time in s; `policy` fills in the control values
/// of each step (the commands of the model's actuators, then those of the user's forces) from the
/// step's number (from 0) and the state at its start.
///
/// Returns the trajectory and the control values, a row for each step: with these
/// [`simulate_controlled`](super::simulate_controlled) gives the same trajectory.
///
/// # Errors
/// When the settings are out of range, the state does not belong to the model, or a step fails.
pub fn simulate_with_feedback(
    model: &Model,
    initial: &State,
    settings: &SimulationSettings,
    until: f64,
    applied: &impl AppliedForces,
    mut policy: impl FnMut(usize, &State, &mut [f64]),
) -> Result<(Trajectory, Controls), SimulationError> {
    let schedule = settings.step_schedule(until)?;
    let mut controls =
        Controls::zeros(schedule.len(), model.command_dimension() + applied.control_dimension());
    check_start(model, initial, applied, &controls, schedule.len())?;
    let mut trajectory = Trajectory::starting_at(initial);
    let mut workspace = StepWorkspace::default();
    for (step, &at) in schedule.iter().enumerate() {
        let state = &trajectory.states[step];
        let row = controls.row_mut(step);
        policy(step, state, row);
        let (time, time_step) = (at.time, at.dt);
        let problem = StepProblem { model, state, time, time_step, applied, control: row };
        let after = checked_step(settings.integrator, &problem, at.number, &mut workspace)?;
        trajectory.times.push(schedule.get(step + 1).map_or(until, |next| next.time));
        trajectory.states.push(after);
    }
    Ok((trajectory, controls))
}
