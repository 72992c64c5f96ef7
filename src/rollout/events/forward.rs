//! Derivatives of events in forward mode, by dual numbers.

use std::ops::ControlFlow;

use nalgebra::DMatrix;

use super::super::checked_step::checked_step;
use super::super::error::SimulationError;
use super::super::simulate::Rollout;
use super::event::{Event, check_all};
use crate::multibody::{Parameter, State, seeded_along};
use crate::parallel::in_parallel;
use crate::scalar::{CHUNK, DualArray};
use crate::step::StepWorkspace;

type Dual = DualArray<CHUNK>;

/// How an event follows parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct EventGradient {
    /// The derivative of its time in s with respect to each parameter.
    pub time: Vec<f64>,
    /// The derivative of the state at its time: a row for each direction of the tangent space (see
    /// [`State::moved`]), and a column for each parameter.
    pub state: DMatrix<f64>,
}

/// The derivatives of the times and states of events of a rollout with respect to `parameters`, in forward mode:
/// eight of them at a time, on several threads. The initial state is among the parameters
/// ([`Parameter::InitialTangent`], [`Parameter::InitialJoint`]).
///
/// `events` are those that [`Rollout::find_events`] has found in this rollout, or some of them, in any order. A time of
/// flight is the difference of two times, and so is its derivative.
///
/// # Errors
/// When the model does not have a parameter, an event is grazing ([`SimulationError::GrazingEvent`]) or of another rollout,
/// or the simulation fails.
pub fn event_gradients(
    rollout: &Rollout<'_>,
    events: &[Event],
    parameters: &[Parameter],
) -> Result<Vec<EventGradient>, SimulationError> {
    check_all(rollout, events, rollout.schedule()?.len())?;
    let rows = rollout.start().tangent_dimension();
    let none = EventGradient { time: Vec::new(), state: DMatrix::zeros(rows, parameters.len()) };
    let mut gradients = vec![none; events.len()];
    for part in in_parallel(parameters.chunks(CHUNK), |chunk| chunk_gradients(rollout, events, chunk)) {
        let part: Vec<EventGradient> = part?;
        for (all, part) in gradients.iter_mut().zip(part) {
            let first = all.time.len();
            all.time.extend(&part.time);
            all.state.columns_mut(first, part.time.len()).copy_from(&part.state);
        }
    }
    Ok(gradients)
}

/// The derivatives with respect to at most [`CHUNK`] parameters.
fn chunk_gradients(
    rollout: &Rollout<'_>,
    events: &[Event],
    chunk: &[Parameter],
) -> Result<Vec<EventGradient>, SimulationError> {
    let Rollout { model, initial, settings, until, applied, substeps, .. } = *rollout;
    let (model, initial) = seeded_along::<CHUNK>(model, initial, chunk.iter().copied())?;
    let controls = rollout.control_rows()?.map(|_, &u| Dual::from(u));
    let dual = Rollout::new(&model, &initial, settings, until)
        .under(applied.differentiable())
        .with_controls(&controls);
    let dual = Rollout { substeps, ..dual };
    let last = events.iter().map(|event| event.place.step).max();
    let mut gradients: Vec<Option<EventGradient>> = vec![None; events.len()];
    let mut workspace = StepWorkspace::default();
    dual.try_for_each(|report| {
        for (event, gradient) in events.iter().zip(&mut gradients) {
            if event.place.step == report.steps {
                let control = controls.row(report.steps);
                *gradient =
                    Some(one_gradient(&dual, event, report.state, control, chunk.len(), &mut workspace)?);
            }
        }
        let flow = if last.is_some_and(|last| report.steps < last) {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        };
        Ok::<_, SimulationError>(flow)
    })?;
    // Every event lies in a step of the rollout.
    Ok(gradients.into_iter().flatten().collect())
}

/// The derivatives of one event, from the state at the start of its step with its own.
fn one_gradient(
    rollout: &Rollout<'_, Dual>,
    event: &Event,
    before: &State<Dual>,
    control: &[Dual],
    parameters: usize,
    workspace: &mut StepWorkspace<Dual>,
) -> Result<EventGradient, SimulationError> {
    let rate = event.checked_rate()?;
    let problem = event.part_of_step(rollout, before, control);
    let at = event.place.at;
    let after = checked_step(rollout.settings.integrator, &problem, at.number, workspace)?;
    let change = event.place.function.at_state(rollout.model, &after).eps;
    let time: Vec<f64> = change[..parameters].iter().map(|change| -change / rate).collect();
    let held = State::lift(&after.real()).difference(&after);
    let state = DMatrix::from_fn(held.len(), parameters, |row, column| {
        held[row].eps[column] + event.state_rate[row] * time[column]
    });
    Ok(EventGradient { time, state })
}
