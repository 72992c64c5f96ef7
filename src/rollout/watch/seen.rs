//! What the watch is shown of a step.

use crate::multibody::{BodyFrame, JointKinematics, Model, State};
use crate::rollout::report::TakenStep;

/// A step as the watch sees it.
pub(super) struct Seen<'a> {
    pub model: &'a Model,
    pub time: f64,
    pub after: &'a State,
    pub taken: &'a TakenStep<'a>,
    /// At the start of the step.
    pub before_frames: &'a [BodyFrame],
    pub frames: &'a [BodyFrame],
    /// After the step.
    pub joints: &'a mut JointKinematics,
}
