//! The quantities that controllers observe.

use std::sync::Arc;

use crate::multibody::{BodyPair, Model, State};
use crate::rollout::error::SimulationError;
use crate::scalar::Scalar;
use crate::spatial::Quaternion;

/// A quantity that a controller observes of the state at the start of a step: one number or several.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Observed {
    /// A configuration coordinate of the joints, rad or m.
    JointPosition {
        /// Its index in [`crate::multibody::tree::JointState::q`].
        index: usize,
    },
    /// A velocity coordinate of the joints, rad/s or m/s.
    JointVelocity {
        /// Its index in [`crate::multibody::tree::JointState::v`].
        index: usize,
    },
    /// The position of a body's origin, m, three numbers: in W, or in the frame of another body.
    BodyPosition {
        /// The body.
        body: usize,
        /// The other body.
        relative_to: Option<usize>,
    },
    /// The rotation vector that turns a reference into a body's orientation, rad, at most half a turn, three
    /// numbers: in W, or in the frame of another body.
    BodyRotation {
        /// The body.
        body: usize,
        /// The other body.
        relative_to: Option<usize>,
        /// The reference, in W or in the frame of the other body.
        reference: Quaternion,
    },
    /// The velocity of a body's origin, m/s, three numbers: in W, or as seen from another body, in that one's
    /// frame.
    BodyVelocity {
        /// The body.
        body: usize,
        /// The other body.
        relative_to: Option<usize>,
    },
    /// The angular velocity of a body, rad/s, three numbers: in W, or relative to another body, in that one's
    /// frame.
    BodyAngularVelocity {
        /// The body.
        body: usize,
        /// The other body.
        relative_to: Option<usize>,
    },
    /// The contact force in N that one body exerts on another, in the frame of the body that it acts on, three
    /// numbers; by the contact law of accelerations (see [`Model::contact_wrench`]).
    ContactForce {
        /// The body that it acts on.
        on: usize,
        /// The body that exerts it.
        from: usize,
    },
    /// The pressure between two bodies integrated over their contact surfaces, N (see
    /// [`crate::multibody::PatchReading::force`]); 0 where they do not touch.
    NormalForce {
        /// The one body.
        on: usize,
        /// The other body.
        from: usize,
    },
    /// Area of the contact surfaces of two bodies, m²; 0 where they do not touch.
    PatchArea {
        /// The one body.
        on: usize,
        /// The other body.
        from: usize,
    },
    /// Centroid of the contact surfaces, in the frame of the body `on`, m, three numbers; zeros where the bodies
    /// do not touch.
    PatchCentroid {
        /// The body that feels it.
        on: usize,
        /// The other body.
        from: usize,
    },
    /// The velocity with which a body slides over another at their contact (see
    /// [`crate::multibody::PatchReading::slip`]), in the frame of the body `on`, m/s, three numbers; zeros where
    /// they do not touch.
    SlipVelocity {
        /// The body that feels it.
        on: usize,
        /// The body that slides.
        from: usize,
    },
    /// The tangent from a nominal state to the present one, by [`State::difference`], without bristles.
    Deviation(Arc<NominalStates>),
}

/// States of a nominal motion at increasing times.
#[derive(Clone, Debug, PartialEq)]
pub struct NominalStates {
    /// Times, s.
    pub times: Vec<f64>,
    /// A state without bristles at each.
    pub states: Vec<State>,
}

/// Differences of times below this part of a second are rounding.
pub(super) const SAME_TIME: f64 = 1e-9;

impl NominalStates {
    /// The last state that is not later than a time, or the first.
    pub(super) fn at(&self, time: f64) -> Option<&State> {
        let after = self.times.partition_point(|&t| t <= time + SAME_TIME);
        self.states.get(after.saturating_sub(1))
    }
}

impl Observed {
    /// Number of its numbers.
    pub fn width(&self) -> usize {
        match self {
            Self::JointPosition { .. }
            | Self::JointVelocity { .. }
            | Self::NormalForce { .. }
            | Self::PatchArea { .. } => 1,
            Self::BodyPosition { .. }
            | Self::BodyRotation { .. }
            | Self::BodyVelocity { .. }
            | Self::BodyAngularVelocity { .. }
            | Self::ContactForce { .. }
            | Self::PatchCentroid { .. }
            | Self::SlipVelocity { .. } => 3,
            Self::Deviation(nominal) => nominal.states.first().map_or(0, State::motion_tangent_dimension),
        }
    }

    /// The two bodies whose contact it is of.
    pub(super) fn contact(&self) -> Option<BodyPair> {
        match *self {
            Self::ContactForce { on, from }
            | Self::NormalForce { on, from }
            | Self::PatchArea { on, from }
            | Self::PatchCentroid { on, from }
            | Self::SlipVelocity { on, from } => Some(BodyPair::of(on, from)),
            _ => None,
        }
    }

    /// Checks that a model has what is observed.
    pub(crate) fn check<T: Scalar>(&self, model: &Model<T>) -> Result<(), SimulationError> {
        let within = |what, index: usize, count: usize| match index < count {
            true => Ok(()),
            false => Err(SimulationError::Observed { what, index, count }),
        };
        let body = |index: usize| within("body", index, model.bodies.len());
        match *self {
            Self::JointPosition { index } => {
                within("joint position", index, model.mechanism.configuration_dimension())
            }
            Self::JointVelocity { index } => {
                within("joint velocity", index, model.mechanism.velocity_dimension())
            }
            Self::BodyPosition { body: b, relative_to }
            | Self::BodyRotation { body: b, relative_to, .. }
            | Self::BodyVelocity { body: b, relative_to }
            | Self::BodyAngularVelocity { body: b, relative_to } => {
                body(b)?;
                relative_to.map_or(Ok(()), body)
            }
            Self::ContactForce { on, from }
            | Self::NormalForce { on, from }
            | Self::PatchArea { on, from }
            | Self::PatchCentroid { on, from }
            | Self::SlipVelocity { on, from } => {
                body(on)?;
                body(from)
            }
            Self::Deviation(ref nominal) => {
                let (bodies, joints) = (model.free_bodies().count(), model.mechanism.velocity_dimension());
                let wrong = |s: &&State| s.bodies.len() != bodies || s.joints.v.len() != joints;
                match nominal.states.iter().find(wrong) {
                    Some(s) if s.bodies.len() != bodies => {
                        Err(SimulationError::BodyCount { state: s.bodies.len(), model: bodies })
                    }
                    Some(s) => Err(SimulationError::JointCount { state: s.joints.v.len(), model: joints }),
                    None => Ok(()),
                }
            }
        }
    }
}
