//! An event of a rollout.

use super::super::error::SimulationError;
use super::super::schedule::StepTime;
use super::super::simulate::Rollout;
use super::features::Features;
use super::function::EventFunction;
use super::kind::EventKind;
use super::loss::EventMoment;
use crate::multibody::State;
use crate::scalar::Scalar;
use crate::step::{StepProblem, Substep};

/// How far the rounding of an event's function may shift an event that is not grazing, s.
const MOST_SHIFT: f64 = 1e-10;

/// Something that happens at a time of a rollout, which [`Rollout::find_events`] has found.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// What happens.
    pub kind: EventKind,
    /// When it happens, s.
    pub time: f64,
    /// The state at that time.
    pub state: State,
    /// The rate of the state at that time, in its tangent space (see [`State`]): how the state at the end of a step
    /// follows the length of the step.
    pub state_rate: Vec<f64>,
    /// The rate of the function that vanishes: of the gap in m/s, negative at a touch and positive at a lift-off; of
    /// the velocity along the direction of an apex in m/s², negative.
    pub rate: f64,
    /// The features of the geometries that touch; none at an apex.
    pub features: Option<Features>,
    /// Whether they are the only ones. Where several touch at the same time, such as the corners of a box that lands
    /// flat, the time has a kink, and derivatives are those of the time at which these features touch.
    pub is_unique: bool,
    pub(super) place: Place,
}

/// Where in a rollout an event lies, and what it takes to come there again.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Place {
    /// The steps before the one that it lies in.
    pub step: usize,
    /// When that step is taken.
    pub at: StepTime,
    /// The part of the step until the event, s.
    pub length: f64,
    /// The substeps that this part has if the error is controlled, the last one cut short; empty otherwise.
    pub substeps: Vec<Substep>,
    /// The state at the start of the step.
    pub before: State,
    /// The function that vanishes.
    pub function: EventFunction,
    /// How much of its value may be rounding.
    pub rounding: f64,
}

impl Event {
    /// Its time and state, without derivatives.
    pub fn moment(&self) -> EventMoment {
        EventMoment { time: self.time, state: self.state.clone() }
    }

    /// The rate of the event's function, if it is not grazing.
    ///
    /// # Errors
    /// [`SimulationError::GrazingEvent`] where the rate is zero, of the wrong sign, or so small that rounding alone
    /// shifts the event by more than 0.1 ns.
    pub(super) fn checked_rate(&self) -> Result<f64, SimulationError> {
        let Self { rate, time, .. } = *self;
        let falls = !matches!(self.kind, EventKind::LiftOff { .. });
        // Written so that NaN is caught too.
        let is_clear = rate.abs() * MOST_SHIFT > self.place.rounding && (rate < 0.0) == falls;
        if is_clear { Ok(rate) } else { Err(SimulationError::GrazingEvent { time, rate }) }
    }

    /// Checks that the event can be one of a rollout, with `steps` steps.
    pub(super) fn check(&self, rollout: &Rollout<'_>, steps: usize) -> Result<(), SimulationError> {
        self.kind.check(rollout.model)?;
        let (step, found) = (self.place.step, self.state.tangent_dimension());
        let expected = rollout.start().tangent_dimension();
        match step < steps && found == expected {
            true => Ok(()),
            false => {
                Err(SimulationError::EventOfOtherRollout { time: self.time, step, steps, found, expected })
            }
        }
    }

    /// The part of its step until the event, from a state and under control values that may carry derivatives.
    pub(super) fn part_of_step<'s, T: Scalar>(
        &'s self,
        rollout: &Rollout<'s, T>,
        state: &'s State<T>,
        control: &'s [T],
    ) -> StepProblem<'s, T> {
        let Place { at, length, substeps, .. } = &self.place;
        let held = (!substeps.is_empty()).then_some(&substeps[..]);
        let Rollout { model, applied, .. } = *rollout;
        StepProblem {
            model,
            state,
            time: at.time,
            time_step: *length,
            applied,
            control,
            substeps: held,
            asleep: &[],
        }
    }
}

/// Checks that events can be those of a rollout and are not grazing.
pub(super) fn check_all(
    rollout: &Rollout<'_>,
    events: &[Event],
    steps: usize,
) -> Result<(), SimulationError> {
    for event in events {
        event.check(rollout, steps)?;
        event.checked_rate()?;
    }
    Ok(())
}
