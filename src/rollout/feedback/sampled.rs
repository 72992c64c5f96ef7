//! When a controller samples, and for how long its commands are under way.

use super::noise::SensorNoise;

/// A controller with its sampling. It samples at the beginning of every `period`-th step; its commands act from
/// `delay` steps later, each until the next one does. Until the first one acts it adds nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct SampledController<C> {
    /// The law.
    pub controller: C,
    /// Steps from one sample to the next, at least 1.
    pub period: usize,
    /// Steps from a sample to when its commands act.
    pub delay: usize,
    /// Errors of what it observes, if there are any.
    pub noise: Option<SensorNoise>,
}

impl<C> SampledController<C> {
    /// A controller that samples every so many steps (at least 1), without delay and noise.
    pub fn new(controller: C, period: usize) -> Self {
        Self { controller, period: period.max(1), delay: 0, noise: None }
    }

    /// The same, whose commands act so many steps later.
    #[must_use]
    pub fn delayed(self, delay: usize) -> Self {
        Self { delay, ..self }
    }

    /// Whether it samples at the start of a step.
    pub(super) fn samples_at(&self, step: usize) -> bool {
        step.is_multiple_of(self.period.max(1))
    }

    /// Samples whose commands are kept: the last one, and those that may be under way.
    pub(in crate::rollout) fn kept_samples(&self) -> usize {
        self.delay.div_ceil(self.period.max(1)) + 1
    }

    /// How many samples before the last one, at a step, that was whose commands act there; `None` before the
    /// first ones do.
    pub(in crate::rollout) fn age_at(&self, step: usize) -> Option<usize> {
        let period = self.period.max(1);
        let sampled = step.checked_sub(self.delay)?;
        Some(step / period - sampled / period)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_act_a_delay_after_their_sample() {
        for period in 1..5 {
            for delay in 0..9 {
                let timing = SampledController::new((), period).delayed(delay);
                for step in 0..40 {
                    // The latest sample that is old enough.
                    let acting = (0..=step).rev().find(|s| s % period == 0 && s + delay <= step);
                    let last = step / period;
                    assert_eq!(
                        timing.age_at(step),
                        acting.map(|s| last - s / period),
                        "{period} {delay} {step}"
                    );
                    assert!(timing.age_at(step).is_none_or(|age| age < timing.kept_samples()));
                }
            }
        }
    }
}
