//! Whether the process was asked to stop.
//!
//! Optimizations look at it between iterations and end with what they have come to; whoever steps a
//! simulation by itself can look at it between steps.

use std::sync::atomic::{AtomicBool, Ordering};

static REQUESTED: AtomicBool = AtomicBool::new(false);

/// Asks all optimizations of this process, and what else looks at it, to end.
pub fn request() {
    REQUESTED.store(true, Ordering::Relaxed);
}

/// Takes the request back, once all has ended that it was meant for: a process that goes on can optimize again.
pub fn withdraw() {
    REQUESTED.store(false, Ordering::Relaxed);
}

/// Whether the process was asked to stop.
pub fn is_requested() -> bool {
    REQUESTED.load(Ordering::Relaxed)
}
