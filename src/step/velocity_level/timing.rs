//! Where the time of a velocity-level step goes.

use std::time::Duration;

/// The time that the parts of a velocity-level step took, by the wall clock. What it leaves out (poses,
/// mass matrix, applied forces, the new state) grows with the bodies alone.
#[derive(Clone, Copy, Debug, Default)]
pub struct StepTiming {
    /// Finding the contacts: broad phase, contact surfaces, and the stiffness of each face (with
    /// SAP its regularization too).
    pub geometry: Duration,
    /// Solving for the velocities, from contacts and mass matrix on: Newton's method, with the
    /// impulses of all faces at each iteration and the factorizations.
    pub solver: Duration,
}
