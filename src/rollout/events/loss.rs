//! Losses over the events of a rollout.

use crate::multibody::{DIRECTIONS, State, for_each_tangent_chunk};
use crate::scalar::{DualArray, Scalar};

/// The time and the state of an event, in scalars that may carry derivatives.
#[derive(Clone, Debug, PartialEq)]
pub struct EventMoment<T = f64> {
    /// Time, s.
    pub time: T,
    /// The state at that time.
    pub state: State<T>,
}

/// A number that depends on the times and states of events, evaluated in any scalar, so that dual numbers can
/// differentiate it.
///
/// ```
/// use isobar::rollout::{EventLoss, EventMoment};
/// use isobar::scalar::Scalar;
///
/// /// The time of flight between a lift-off and the next touch.
/// struct TimeOfFlight;
///
/// impl EventLoss for TimeOfFlight {
///     fn value<T: Scalar>(&self, events: &[EventMoment<T>]) -> T {
///         events[1].time - events[0].time
///     }
/// }
/// ```
pub trait EventLoss {
    /// The number, from the events in the order in which they are given.
    fn value<T: Scalar>(&self, events: &[EventMoment<T>]) -> T;
}

/// The derivatives of a loss with respect to one event.
#[derive(Clone, Debug)]
pub(super) struct MomentCotangent {
    /// With respect to its time.
    pub time: f64,
    /// With respect to its state, in the tangent space.
    pub state: Vec<f64>,
}

/// The value of a loss, and its derivatives with respect to each event.
pub(super) fn differentiated(loss: &impl EventLoss, events: &[EventMoment]) -> (f64, Vec<MomentCotangent>) {
    type Direction = DualArray<DIRECTIONS>;
    let mut moments: Vec<EventMoment<Direction>> = events
        .iter()
        .map(|event| EventMoment { time: event.time.into(), state: State::lift(&event.state) })
        .collect();
    let mut by = Vec::with_capacity(events.len());
    for (i, event) in events.iter().enumerate() {
        moments[i].time = Direction::variable(event.time, 0);
        let time = loss.value(&moments).eps[0];
        moments[i].time = event.time.into();
        let mut state = vec![0.0; event.state.tangent_dimension()];
        for_each_tangent_chunk(&event.state, &mut State::default(), &mut |lifted, directions| {
            moments[i].state.clone_from(lifted);
            let along = loss.value(&moments).eps;
            state[directions].iter_mut().zip(along).for_each(|(out, x)| *out = x);
        });
        moments[i].state = State::lift(&event.state);
        by.push(MomentCotangent { time, state });
    }
    (loss.value(events), by)
}
