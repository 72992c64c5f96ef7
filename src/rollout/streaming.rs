//! A simulation whose states are looked at one after the other and not kept.

use std::ops::ControlFlow;

use super::command::Command;
use super::error::SimulationError;
use super::schedule::SimulationSettings;
use super::simulate::{check_initial, checked_step};
use super::watch::Watch;
use crate::multibody::{Model, NoForces, State};
use crate::step::{StepProblem, StepWorkspace};

/// A state of a simulation that is under way.
#[derive(Clone, Copy, Debug)]
pub struct Streamed<'a> {
    /// Steps taken so far.
    pub steps: usize,
    /// Steps of the whole simulation.
    pub all_steps: usize,
    /// Time, s.
    pub time: f64,
    /// The state.
    pub state: &'a State,
}

/// Simulates a model under commands from a state at time 0 until a time in s, in memory that does
/// not depend on the number of steps: `observer` is called with every state, the first and the last
/// included, and ends the simulation early by breaking off. `watch` looks at every step, if it is given.
///
/// Afterwards `state` is the last one that was observed, also where a step failed. The states have
/// the same bits as those of [`super::simulate_controlled`] under the same commands.
///
/// # Errors
/// When the settings are out of range, the state does not belong to the model, there is not a
/// command for each actuator, or a step fails; and what `observer` fails with.
pub fn simulate_streaming<E: From<SimulationError>>(
    state: &mut State,
    model: &Model,
    settings: &SimulationSettings,
    until: f64,
    commands: &[Command],
    mut watch: Option<&mut Watch>,
    mut observer: impl FnMut(Streamed) -> Result<ControlFlow<()>, E>,
) -> Result<(), E> {
    let schedule = settings.schedule(until)?;
    check_initial(model, state)?;
    let (found, expected) = (commands.len(), model.command_dimension());
    if found != expected {
        return Err(SimulationError::ControlDimension { found, expected }.into());
    }
    let mut workspace = StepWorkspace::default();
    let mut row = vec![0.0; commands.len()];
    let all_steps = schedule.steps();
    for steps in 0..=all_steps {
        let time = schedule.time(steps);
        if steps < all_steps {
            let middle = 0.5 * (time + schedule.time(steps + 1));
            row.iter_mut().zip(commands).for_each(|(u, command)| *u = command.at(middle));
        }
        let flow = observer(Streamed { steps, all_steps, time, state })?;
        if flow.is_break() || steps == all_steps {
            break;
        }
        let at = schedule.step(steps);
        let (time, time_step) = (at.time, at.dt);
        let step = StepProblem { model, state, time, time_step, applied: &NoForces, control: &row };
        *state = checked_step(settings.integrator, &step, at.number, &mut workspace)?;
        if let Some(watch) = &mut watch {
            watch.after_step(model, at.time, at.dt, state, &workspace);
        }
    }
    Ok(())
}
