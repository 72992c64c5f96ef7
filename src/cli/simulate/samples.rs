//! Some of the states of a simulation, however long it is.

use crate::multibody::State;
use crate::rollout::Streamed;

/// Most samples that are kept; at least half as many are, where there are so many states.
const MOST: usize = 400;

/// A state and the commands of the step that begins there.
pub(in crate::cli) struct Sample {
    pub time: f64,
    pub state: State,
    pub commands: Vec<f64>,
}

/// States at equal numbers of steps from each other, the first of the simulation included.
pub(in crate::cli) struct Samples {
    pub all: Vec<Sample>,
    /// Steps from one to the next.
    stride: usize,
}

impl Default for Samples {
    fn default() -> Self {
        Self { all: Vec::new(), stride: 1 }
    }
}

impl Samples {
    /// Keeps a state if it is one of the samples. The last state of the simulation begins no step, and
    /// is none where there are others.
    pub(super) fn observe(&mut self, streamed: &Streamed) {
        let ends = streamed.steps == streamed.all_steps && streamed.steps > 0;
        if ends || !streamed.steps.is_multiple_of(self.stride) {
            return;
        }
        if self.all.len() == MOST {
            let mut number = 0;
            self.all.retain(|_| {
                number += 1;
                number % 2 == 1
            });
            self.stride *= 2;
            if !streamed.steps.is_multiple_of(self.stride) {
                return;
            }
        }
        let Streamed { time, state, commands, .. } = *streamed;
        self.all.push(Sample { time, state: state.clone(), commands: commands.to_vec() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_stay_few_and_equally_far_apart() {
        let state = State::default();
        for steps in [0, 3, 399, 400, 401, 12_345] {
            let mut samples = Samples::default();
            for taken in 0..=steps {
                let (time, commands) = (taken as f64, &[][..]);
                samples.observe(&Streamed { steps: taken, all_steps: steps, time, state: &state, commands });
            }
            let times: Vec<f64> = samples.all.iter().map(|sample| sample.time).collect();
            assert!(times.len() <= MOST && times.len() >= (MOST / 2).min(steps.max(1)), "{steps}");
            assert!(times.windows(2).all(|t| t[1] - t[0] == samples.stride as f64), "{steps}");
            assert_eq!(times[0], 0.0);
        }
    }
}
