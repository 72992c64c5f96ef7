//! The tapes of steps that a sweep backward comes back to.

use std::cell::RefCell;

use crate::step::Tape;

/// Memory that the tapes of a sweep may take, bytes; the tapes of steps beyond are made again.
const MOST_BYTES: usize = 256 << 20;

/// Memory of tapes that a thread keeps from one sweep to the next, bytes.
const MOST_SPARE_BYTES: usize = 64 << 20;

/// Tapes that have served.
#[allow(clippy::vec_box, reason = "boxes go from one list to the other, so that no tape is copied")]
type Spare = Vec<Box<Tape>>;

/// The tapes of steps, until they are swept over, and the memory of those that were.
#[derive(Debug)]
pub(super) struct Tapes {
    /// By the number of their steps, ascending.
    kept: Vec<(usize, Box<Tape>)>,
    spare: Spare,
    /// The memory of those that are kept, and what it may be.
    bytes: usize,
    most: usize,
}

thread_local! {
    /// The memory of tapes that have served, for the next sweep of the thread: to ask the system for a
    /// page costs more than to fill it.
    static SPARE: RefCell<Spare> = const { RefCell::new(Vec::new()) };
}

impl Default for Tapes {
    /// None yet.
    fn default() -> Self {
        Self { kept: Vec::new(), spare: SPARE.take(), bytes: 0, most: MOST_BYTES }
    }
}

impl Drop for Tapes {
    fn drop(&mut self) {
        let kept = self.kept.drain(..).map(|(_, tape)| tape);
        let mut bytes = 0;
        let spare = self.spare.drain(..).chain(kept).take_while(|tape| {
            bytes += tape.bytes();
            bytes <= MOST_SPARE_BYTES
        });
        let spare = spare.collect();
        // A thread that ends has none.
        let _ = SPARE.try_with(|all| all.replace(spare));
    }
}

impl Tapes {
    /// The memory of those that are kept, bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether another may be kept.
    pub fn has_room(&self) -> bool {
        self.bytes < self.most
    }

    /// A tape to write on.
    pub fn blank(&mut self) -> Box<Tape> {
        self.spare.pop().unwrap_or_default()
    }

    /// Keeps the tape of a step that comes after all whose tapes are kept.
    pub fn keep(&mut self, step: usize, tape: Box<Tape>) {
        self.bytes += tape.bytes();
        self.kept.push((step, tape));
    }

    /// The tape of a step that comes after all others whose tapes are kept; `None` if its own is not.
    pub fn take(&mut self, step: usize) -> Option<Box<Tape>> {
        let (_, tape) = self.kept.pop_if(|(number, _)| *number == step)?;
        self.bytes -= tape.bytes();
        Some(tape)
    }

    /// Takes back a tape that has served.
    pub fn give_back(&mut self, tape: Box<Tape>) {
        self.spare.push(tape);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tapes_come_back_in_reverse_and_only_for_their_steps() {
        let mut tapes = Tapes::default();
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
        tapes.most = 1;
        let tape = tapes.blank();
        tapes.keep(0, tape);
        assert!(!tapes.has_room(), "one tape is more than a byte");
        // The next sweep of the thread takes over the memory.
        drop(tapes);
        assert_eq!((Tapes::default().spare.len(), Tapes::default().bytes()), (3, 0));
    }
}
