//! Derivatives of losses over events in reverse mode.

use super::super::adjoint::{LossGradient, loss_gradient};
use super::super::checked_step::checked_step_taped;
use super::super::checkpoints::Checkpoints;
use super::super::error::SimulationError;
use super::super::loss::LossFunctions;
use super::super::moment::{Moment, MomentGradient};
use super::super::simulate::Rollout;
use super::event::{Event, check_all};
use super::loss::{EventLoss, EventMoment, MomentCotangent, differentiated};
use crate::multibody::{DifferentiatedModel, ModelGradient, Parameter};
use crate::step::{DerivativeWorkspace, StepCotangent, StepWorkspace, Tape};

/// A loss over events of a rollout and its gradient with respect to the initial state, the control values and
/// `parameters`, by the adjoint method: from the time and state of each event through the part of the step before it,
/// and from there in one sweep backward over all steps (see [`loss_gradient`]).
///
/// `events` are those that [`Rollout::find_events`] has found in this rollout, or some of them, in the order that the loss
/// takes them in.
///
/// # Errors
/// When the model does not have a parameter, an event is grazing ([`SimulationError::GrazingEvent`]) or of another rollout,
/// or the simulation fails.
pub fn event_loss_gradient(
    rollout: &Rollout<'_>,
    events: &[Event],
    loss: &impl EventLoss,
    parameters: &[Parameter],
    checkpoints: Checkpoints,
) -> Result<LossGradient, SimulationError> {
    check_all(rollout, events, rollout.schedule()?.len())?;
    let moments: Vec<EventMoment> = events.iter().map(Event::moment).collect();
    let (value, cotangents) = differentiated(loss, &moments);
    let model = rollout.differentiated(parameters)?;
    let controls = rollout.control_rows()?;
    let mut by_model = ModelGradient::zero(&model);
    let mut pulls = Vec::with_capacity(events.len());
    for (event, by) in events.iter().zip(cotangents) {
        let control = controls.row(event.place.step);
        pulls.push(pulled_back(rollout, event, by, control, &model, &mut by_model)?);
    }
    // The part of each step up to an event hangs on the state before the step.
    let at_events = LossFunctions {
        running: |moment: &Moment, by: &mut MomentGradient| {
            for (event, pull) in events.iter().zip(&pulls) {
                if event.place.step == moment.step {
                    by.state.iter_mut().zip(&pull.by_state).for_each(|(sum, x)| *sum += x);
                    by.control.iter_mut().zip(&pull.by_control).for_each(|(sum, x)| *sum += x);
                }
            }
            0.0
        },
        terminal: |_: &Moment, _: &mut MomentGradient| 0.0,
    };
    let mut gradient = loss_gradient(rollout, &at_events, parameters, checkpoints)?;
    gradient.value = value;
    let nothing = vec![0.0; rollout.start().tangent_dimension()];
    let own = model.by_parameters(&nothing, &by_model);
    gradient.by_parameters.iter_mut().zip(own).for_each(|(sum, x)| *sum += x);
    Ok(gradient)
}

/// The derivatives of a loss with respect to the state before a step and the control values in it.
struct Pull {
    by_state: Vec<f64>,
    by_control: Vec<f64>,
}

/// Carries the derivatives with respect to the time and the state of an event back to the start of its step, and adds
/// those with respect to the model.
fn pulled_back(
    rollout: &Rollout<'_>,
    event: &Event,
    by: MomentCotangent,
    control: &[f64],
    model: &DifferentiatedModel<'_>,
    by_model: &mut ModelGradient,
) -> Result<Pull, SimulationError> {
    let place = &event.place;
    let rate = event.checked_rate()?;
    let problem = event.part_of_step(rollout, &place.before, control);
    let (mut workspace, mut tape) = (StepWorkspace::default(), Tape::default());
    let integrator = rollout.settings.integrator;
    let after = checked_step_taped(integrator, &problem, place.at.number, model, &mut workspace, &mut tape)?;
    // The loss follows the length of the part through time and state, and the length the event's function.
    let by_length = by.time + by.state.iter().zip(&event.state_rate).map(|(a, b)| a * b).sum::<f64>();
    let by_function = -by_length / rate;
    let mut by_state = by.state;
    let of_function = place.function.by_state(rollout.model, &after);
    by_state.iter_mut().zip(of_function).for_each(|(sum, x)| *sum += by_function * x);
    let of_function = place.function.by_parameters(rollout.model, &after, model.parameters())?;
    by_model.direct.iter_mut().zip(of_function).for_each(|(sum, x)| *sum += by_function * x);
    let mut by_control = vec![0.0; control.len()];
    let mut out = StepCotangent { state: &mut by_state, control: &mut by_control, model: by_model };
    tape.vjp(model, rollout.applied, &mut DerivativeWorkspace::default(), &mut out);
    Ok(Pull { by_state, by_control })
}
