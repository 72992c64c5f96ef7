//! Which states of a trajectory are kept for the way back.

use crate::multibody::State;

/// Which states of a trajectory are kept for the backward sweep of an adjoint; the others are
/// computed again when they are needed. The gradient has the same bits whatever is kept.
///
/// Where consecutive states are kept, the tapes of the steps between them are kept too (see
/// [`crate::step::Tape`]), up to about 256 MiB in all. The other tapes are recomputed, which costs one
/// search for contacts each. With [`Self::Binomial`] all are made again, and semi-implicit Euler needs
/// none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Checkpoints {
    /// All of them: no step is taken twice.
    #[default]
    All,
    /// About √N of N steps, and as many between two of them while the sweep is there: every step
    /// is taken twice.
    SquareRoot,
    /// One every so many steps (at least 1), and all between two of them while the sweep is there:
    /// every step is taken twice.
    Every(usize),
    /// At most this many states besides the initial one, placed so that few steps are repeated (Griewank
    /// & Walther, Algorithm 799: revolve, 2000). With s checkpoints each step is taken at most t + 1
    /// times if there are at most (s + t + 1)! / ((s + 1)! t!) steps.
    Binomial(usize),
}

/// The same for a known number of steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Placement {
    /// A checkpoint every so many steps, at least 1.
    Equidistant(usize),
    /// At most this many besides the initial state.
    Binomial(usize),
}

impl Checkpoints {
    /// Where checkpoints are put among a number of steps.
    pub(super) fn placement(self, steps: usize) -> Placement {
        match self {
            Self::All => Placement::Equidistant(steps.max(1)),
            Self::SquareRoot => Placement::Equidistant(((steps as f64).sqrt().ceil() as usize).max(1)),
            Self::Every(spacing) => Placement::Equidistant(spacing.max(1)),
            Self::Binomial(spare) => Placement::Binomial(spare),
        }
    }
}

/// How many states an adjoint kept at the same time, and the memory they took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckpointMemory {
    /// States kept at the same time, at most.
    pub states: usize,
    /// Peak memory in bytes of what was kept at the same time: these states, and the tapes of the steps
    /// between them.
    pub bytes: usize,
    /// Steps taken on the way, those taken again included.
    pub steps_taken: usize,
}

impl CheckpointMemory {
    /// Takes note of a number of states, and of tapes of so many bytes, that are kept at the same
    /// time.
    pub(super) fn note(&mut self, states: usize, example: &State, tapes: usize) {
        self.states = self.states.max(states);
        self.bytes = self.bytes.max(states * example.bytes() + tapes);
    }
}

/// Steps that can be reversed with `spare` checkpoints besides the state at their start, while
/// none is passed more than `passes` times: the binomial coefficient (s + t + 1 over s + 1).
fn reach(spare: usize, passes: usize) -> u128 {
    let mut product: u128 = 1;
    for i in 1..=passes as u128 {
        // Divisible at every turn: a binomial coefficient itself.
        product = product.saturating_mul(spare as u128 + 1 + i) / i;
    }
    product
}

/// After how many of `steps` steps the next of `spare` checkpoints is put. There are at least two
/// steps and one spare checkpoint.
pub(super) fn next_checkpoint(steps: usize, spare: usize) -> usize {
    let mut passes = 1;
    while reach(spare, passes) < steps as u128 {
        passes += 1;
    }
    // The part before it is passed once now, and has all checkpoints later; the part behind it has
    // one checkpoint less, and should not be so short that it needs fewer passes.
    let behind = reach(spare - 1, passes - 1);
    let before = reach(spare, passes - 1).min((steps as u128).saturating_sub(behind));
    (before as usize).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Steps taken to reverse a number of steps, the pass to their end included.
    fn cost(steps: usize, spare: usize) -> usize {
        match (steps, spare) {
            (1, _) => 0,
            (_, 0) => steps * (steps - 1) / 2,
            _ => {
                let first = next_checkpoint(steps, spare);
                first + cost(first, spare) + cost(steps - first, spare - 1)
            }
        }
    }

    #[test]
    fn checkpoints_are_placed_optimally() {
        // The least cost by exhaustive search over the places of the next checkpoint.
        let (most_steps, most_spare) = (40, 5);
        let mut best = vec![vec![0_usize; most_spare + 1]; most_steps + 1];
        for steps in 2..=most_steps {
            for spare in 0..=most_spare {
                best[steps][spare] = match spare {
                    0 => steps * (steps - 1) / 2,
                    _ => (1..steps)
                        .map(|first| first + best[first][spare] + best[steps - first][spare - 1])
                        .min()
                        .expect("at least one place"),
                };
                assert_eq!(cost(steps, spare), best[steps][spare], "{steps} steps, {spare} spare");
            }
        }
    }
}
