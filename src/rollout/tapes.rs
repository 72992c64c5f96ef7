//! The tapes of steps that a sweep backward comes back to.

use crate::step::{Integrator, Tape};

/// Memory that the tapes of a sweep may take, bytes; the tapes of steps beyond are made again.
const MOST_BYTES: usize = 256 << 20;

/// The tapes of steps, until they are swept over, and the memory of those that were.
#[derive(Debug)]
pub(super) struct Tapes {
    /// By the number of their steps, ascending.
    kept: Vec<(usize, Tape)>,
    spare: Vec<Tape>,
    /// The memory of those that are kept, and what it may be.
    bytes: usize,
    most: usize,
}

impl Tapes {
    /// None yet, of steps of a kind.
    pub fn of(integrator: Integrator) -> Self {
        // Making the tape of a semi-implicit Euler step is nothing but to copy its states.
        let most = if integrator == Integrator::SemiImplicitEuler { 0 } else { MOST_BYTES };
        Self { kept: Vec::new(), spare: Vec::new(), bytes: 0, most }
    }

    /// The memory of those that are kept, bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether another may be kept.
    pub fn has_room(&self) -> bool {
        self.bytes < self.most
    }

    /// A tape to write on.
    pub fn blank(&mut self) -> Tape {
        self.spare.pop().unwrap_or_default()
    }

    /// Keeps the tape of a step that comes after all whose tapes are kept.
    pub fn keep(&mut self, step: usize, tape: Tape) {
        self.bytes += tape.bytes();
        self.kept.push((step, tape));
    }

    /// The tape of a step that comes after all others whose tapes are kept; `None` if its own is not.
    pub fn take(&mut self, step: usize) -> Option<Tape> {
        let (_, tape) = self.kept.pop_if(|(number, _)| *number == step)?;
        self.bytes -= tape.bytes();
        Some(tape)
    }

    /// Takes back a tape that has served.
    pub fn give_back(&mut self, tape: Tape) {
        self.spare.push(tape);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tapes_come_back_in_reverse_and_only_for_their_steps() {
        let mut tapes = Tapes::of(Integrator::RungeKutta4);
        for step in [3, 4, 6] {
            assert!(tapes.has_room());
            let tape = tapes.blank();
            tapes.keep(step, tape);
        }
        assert!(tapes.bytes() > 0);
        let taken =
            [7, 6, 5, 4, 3, 2].map(|step| tapes.take(step).map(|tape| tapes.give_back(tape)).is_some());
        assert_eq!(taken, [false, true, false, true, true, false]);
        assert_eq!((tapes.bytes(), tapes.spare.len()), (0, 3));
        assert!(!Tapes::of(Integrator::SemiImplicitEuler).has_room());
        let mut full = Tapes { most: 1, ..tapes };
        let tape = full.blank();
        full.keep(0, tape);
        assert!(!full.has_room(), "one tape is more than a byte");
    }
}
