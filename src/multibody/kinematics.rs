//! Where the bodies and their geometries are, and how fast they move.

use super::model::{BodyGeometry, Model, Motion};
use super::state::State;
use crate::scalar::Scalar;
use crate::spatial::{RigidTransform, SpatialVelocity};

/// Pose and velocity of a frame in W.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BodyFrame<T = f64> {
    /// Pose in W.
    pub pose: RigidTransform<T>,
    /// Velocity in W, of the frame's origin.
    pub velocity: SpatialVelocity<T>,
}

impl<T: Scalar> BodyFrame<T> {
    /// The frame of a geometry fixed to the body that has this frame.
    pub fn of_geometry(&self, geometry: &BodyGeometry<T>) -> Self {
        let offset = self.pose.rotation * geometry.x_bg.translation;
        Self { pose: self.pose * geometry.x_bg, velocity: self.velocity.shifted(&offset) }
    }
}

impl<T: Scalar> Model<T> {
    /// The frames of all bodies, written into `frames`, in the order of [`Model::bodies`].
    pub fn body_frames(&self, state: &State<T>, frames: &mut Vec<BodyFrame<T>>) {
        frames.clear();
        let mut free = state.bodies.iter();
        frames.extend(self.bodies.iter().filter_map(|body| {
            Some(match &body.motion {
                Motion::Fixed { x_wb, v_wb } => BodyFrame { pose: *x_wb, velocity: *v_wb },
                Motion::Free { .. } => {
                    let s = free.next()?;
                    BodyFrame { pose: s.pose(), velocity: s.velocity }
                }
            })
        }));
        debug_assert_eq!(frames.len(), self.bodies.len(), "a state for each free body");
    }
}
