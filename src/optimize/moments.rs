//! The moments of a simulated motion, at which costs and constraints read it.

use std::cell::RefCell;

use crate::multibody::State;
use crate::rollout::{Controls, Moment, Rollout, StepEnd, Trajectory};

/// Does some work with the states of a motion, at the start of every step and at the end: that of the last step, or
/// another time before it with the state there.
pub(super) fn at_moments<V>(
    rollout: &Rollout<'_>,
    Trajectory { times, states }: &Trajectory,
    controls: &Controls,
    end: Option<&(f64, State)>,
    work: impl FnOnce(&[Moment]) -> V,
) -> V {
    let (contacts, forces) = (RefCell::default(), RefCell::default());
    let integrator = rollout.settings.integrator;
    let last = times.len() - 1;
    let until = end.map_or(times[last], |(time, _)| *time);
    let moment = |step: usize| {
        let (ends, next) = (step == last, times.get(step + 1));
        let length = next.map_or(0.0, |next| next - times[step]);
        Moment {
            step,
            time: if ends { until } else { times[step] },
            dt: if step + 1 == last { until - times[step] } else { length },
            model: rollout.model,
            state: end.filter(|_| ends).map_or(&states[step], |(_, state)| state),
            control: if ends { &[] } else { controls.row(step) },
            contacts: &contacts,
            step_end: states.get(step + 1).map(|end| StepEnd::new(integrator, length, end, &forces)),
        }
    };
    work(&(0..times.len()).map(moment).collect::<Vec<_>>())
}
