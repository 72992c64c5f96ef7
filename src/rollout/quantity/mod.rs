//! What can be read off a motion: by costs, constraints and success, by controllers and networks, and by sensors. Here is
//! what there is, and which models have it; `value.rs` evaluates it in any scalar.

mod value;

pub(crate) use value::Reader;

use super::error::SimulationError;
use crate::multibody::{BodyPair, Drive, Model};
use crate::scalar::Scalar;
use crate::spatial::Quaternion;

/// A quantity of a motion: one number, or a vector of three.
///
/// Bodies are given by their indices in the model. With `relative_to` a quantity is as it is seen from that body, in its
/// frame, and else in W. A contact acts on, or is felt by, the body `on`; the other one is `from`. Of a contact all but the
/// mean of forces over a step is of the state, and 0 where the bodies do not touch.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "above is what the fields are")]
pub enum Quantity {
    /// A control value, by its index in the row of a step: a command of an actuator, or one of the user's forces.
    Control { index: usize },
    /// The force of an actuator along a coordinate, by its index among those that it drives, under the command of the
    /// step, N m or N.
    ActuatorForce { actuator: usize, coordinate: usize },
    /// A configuration coordinate of the joints, by its index in [`crate::multibody::tree::JointState::q`], rad or m.
    JointPosition { index: usize },
    /// A velocity coordinate of the joints, by its index in [`crate::multibody::tree::JointState::v`], rad/s or m/s.
    JointVelocity { index: usize },
    /// The position of a body's origin, m.
    Position { body: usize, relative_to: Option<usize> },
    /// The rotation vector that turns the target, an orientation in W or in the frame of the other body, into the
    /// body's, rad, at most half a turn.
    Orientation { body: usize, relative_to: Option<usize>, target: Quaternion },
    /// The velocity of a body's origin, m/s.
    Velocity { body: usize, relative_to: Option<usize> },
    /// The angular velocity of a body, rad/s.
    AngularVelocity { body: usize, relative_to: Option<usize> },
    /// The contact force in N by the contact law of accelerations (see [`Model::contact_wrench`]), along the axes of a
    /// body, or of W.
    ContactForce { on: usize, from: usize, expressed_in: Option<usize> },
    /// The contact force in N over the step that starts there, in W: the impulse of the contacts over the step, divided by
    /// its length (see [`super::Moment::step_force`]). Of velocity-level steps alone, and not at the end of a motion;
    /// elsewhere it is not a number.
    StepForce { on: usize, from: usize },
    /// The moment of that impulse about the origin of the body `on`, divided by the length of the step, in W, N m.
    StepTorque { on: usize, from: usize },
    /// The moment of the contact about the origin of the body `on`, in W, N m.
    ContactTorque { on: usize, from: usize },
    /// The undamped pressure integrated over the contact surfaces, N (see [`crate::multibody::PatchReading::force`]).
    NormalForce { on: usize, from: usize },
    /// The part of the contact force along the force that the pressure would have at rest, N.
    GripForce { on: usize, from: usize },
    /// The area of the contact surfaces, m².
    ContactArea { on: usize, from: usize },
    /// The largest undamped pressure on these, Pa. Its derivative jumps where another vertex of the surface takes over
    /// (see [`Model::pair_pressure`]).
    LargestPressure { on: usize, from: usize },
    /// The centroid of these, in the frame of the body `on`, m.
    ContactCentroid { on: usize, from: usize },
    /// The velocity at which the body `on` slips on the other, in W, m/s: the mean of the tangential velocity over the
    /// surfaces, weighted by the pressure (see [`Model::pair_slip`]).
    Slip { on: usize, from: usize },
    /// The velocity with which the other body slides over the body `on` at the centroid of the surfaces, in the frame of
    /// `on`, m/s (see [`crate::multibody::PatchReading::slip`]).
    SlipVelocity { on: usize, from: usize },
}

impl Quantity {
    /// Whether it is of a step, so that there is none at the end of a motion.
    pub fn is_of_step(&self) -> bool {
        matches!(
            self,
            Self::Control { .. }
                | Self::ActuatorForce { .. }
                | Self::StepForce { .. }
                | Self::StepTorque { .. }
        )
    }

    /// How many numbers it is: 1 or 3.
    pub fn dimension(&self) -> usize {
        match self {
            Self::Control { .. }
            | Self::ActuatorForce { .. }
            | Self::JointPosition { .. }
            | Self::JointVelocity { .. }
            | Self::NormalForce { .. }
            | Self::GripForce { .. }
            | Self::ContactArea { .. }
            | Self::LargestPressure { .. } => 1,
            _ => 3,
        }
    }

    /// Its unit.
    pub fn unit(&self) -> &'static str {
        match self {
            Self::Control { .. } | Self::ActuatorForce { .. } => "N m or N",
            Self::JointPosition { .. } => "rad or m",
            Self::JointVelocity { .. } => "rad/s or m/s",
            Self::Position { .. } | Self::ContactCentroid { .. } => "m",
            Self::Orientation { .. } => "rad",
            Self::Velocity { .. } | Self::Slip { .. } | Self::SlipVelocity { .. } => "m/s",
            Self::AngularVelocity { .. } => "rad/s",
            Self::ContactForce { .. }
            | Self::StepForce { .. }
            | Self::NormalForce { .. }
            | Self::GripForce { .. } => "N",
            Self::ContactArea { .. } => "m²",
            Self::LargestPressure { .. } => "Pa",
            Self::ContactTorque { .. } | Self::StepTorque { .. } => "N m",
        }
    }

    /// The bodies `on` and `from` whose contact it is of.
    pub(crate) fn contact(&self) -> Option<(usize, usize)> {
        match *self {
            Self::ContactForce { on, from, .. }
            | Self::StepForce { on, from }
            | Self::StepTorque { on, from }
            | Self::ContactTorque { on, from }
            | Self::NormalForce { on, from }
            | Self::GripForce { on, from }
            | Self::ContactArea { on, from }
            | Self::LargestPressure { on, from }
            | Self::ContactCentroid { on, from }
            | Self::Slip { on, from }
            | Self::SlipVelocity { on, from } => Some((on, from)),
            _ => None,
        }
    }

    /// Checks that motions of a model, with this number of control values in each step, have it.
    pub(crate) fn check<T: Scalar>(&self, model: &Model<T>, controls: usize) -> Result<(), SimulationError> {
        let within = |what, index: usize, count: usize| match index < count {
            true => Ok(()),
            false => Err(SimulationError::NoSuch { what, index, count }),
        };
        let body = |index: usize| within("body", index, model.bodies.len());
        if let Some((on, from)) = self.contact() {
            body(on)?;
            body(from)?;
            if model.pairs_of(BodyPair::of(on, from)).next().is_none() {
                let [a, b] = [on, from].map(|b| model.bodies[b].name.clone());
                return Err(SimulationError::NoContact { a, b });
            }
        }
        let joints = &model.mechanism;
        match *self {
            Self::Control { index } => within("control value", index, controls),
            Self::ActuatorForce { actuator, coordinate } => {
                within("actuator", actuator, model.actuators.len())?;
                let own = &model.actuators[actuator];
                // Efforts of computed torque are those of a robot as a whole.
                let is_own = own.drive != Drive::ComputedTorque;
                within(
                    "coordinate of an actuator",
                    coordinate,
                    if is_own { own.coordinates().len() } else { 0 },
                )
            }
            Self::JointPosition { index } => {
                within("joint position", index, joints.configuration_dimension())
            }
            Self::JointVelocity { index } => within("joint velocity", index, joints.velocity_dimension()),
            Self::Position { body: b, relative_to }
            | Self::Orientation { body: b, relative_to, .. }
            | Self::Velocity { body: b, relative_to }
            | Self::AngularVelocity { body: b, relative_to } => {
                body(b)?;
                relative_to.map_or(Ok(()), body)
            }
            Self::ContactForce { expressed_in, .. } => expressed_in.map_or(Ok(()), body),
            _ => Ok(()),
        }
    }
}
