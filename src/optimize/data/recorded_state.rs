//! What recordings hold of a body at one time.

use nalgebra::Vector3;

use crate::spatial::Quaternion;

/// A body's pose and velocity at one time of a recording.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RecordedState {
    /// Time, s.
    pub time: f64,
    /// Position of the body's origin in W, m.
    pub position: Vector3<f64>,
    /// Orientation of the body in W.
    pub orientation: Quaternion,
    /// Velocity of the body's origin in W, m/s.
    pub linear_velocity: Vector3<f64>,
    /// Angular velocity of the body in W, rad/s.
    pub angular_velocity: Vector3<f64>,
    /// The line of the file that it stands in, counted from 1, if it comes from one.
    pub line: Option<u64>,
}
