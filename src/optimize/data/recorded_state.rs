//! What recordings hold of a body at one time.

use crate::multibody::BodyState;

/// A body's pose and velocity at one time of a recording.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RecordedState {
    /// Time, s.
    pub time: f64,
    /// Pose and velocity of the body in W.
    pub body: BodyState,
    /// The line of the file that it stands in, counted from 1, if it comes from one.
    pub line: Option<u64>,
}
