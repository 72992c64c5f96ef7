//! The schema of actuators and their commands in scene files. As in [`crate::io::scene::schema`], only
//! the form is checked.

use std::fmt;

#[cfg(test)]
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde::{Deserialize, Serialize};

use crate::io::scene::load_schema::LoadFrameTable;
use crate::io::strict::Exactly;
use crate::rollout::KnotInterpolation;

/// A drive of joints, or a force or torque on a free body, `[[actuators]]`, with its command: one of `joints`, `force` and
/// `torque`.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::io) struct ActuatorTable {
    /// Its name. No other actuator may have the same.
    pub name: String,
    /// The joints that it drives, at least one.
    #[serde(default)]
    #[cfg_attr(test, schemars(schema_with = "driven_joints"))]
    pub joints: Option<Vec<DrivenJointTable>>,
    /// How its command becomes a force. Needed with `joints`, and only there.
    pub drive: Option<DriveTable>,
    /// A force on a free body, whose size is the command.
    pub force: Option<BodyForceTable>,
    /// A torque on a free body, whose size is the command.
    pub torque: Option<BodyTorqueTable>,
    /// Largest force on each joint, or largest size of the force or torque on the body. Commands beyond it act as it does,
    /// and derivatives with respect to them are 0.
    #[cfg_attr(test, schemars(extend("x-unit" = "N m or N", "x-default" = "the least effort of its joints in their robot's file; none for a force or torque")))]
    pub effort: Option<f64>,
    /// A force, velocity or position, depending on the drive. Needed by a position drive.
    #[cfg_attr(test, schemars(extend("x-default" = "0")))]
    pub command: Option<CommandTable>,
}

/// A force at a point of a free body along a direction.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::io) struct BodyForceTable {
    /// Name of the body, which moves freely.
    pub body: String,
    /// Where the force acts, in the body's frame.
    #[cfg_attr(test, schemars(extend("x-unit" = "m", "default" = [0, 0, 0])))]
    pub point: Option<Exactly<f64, 3>>,
    /// Its direction, of any length but 0.
    pub direction: Exactly<f64, 3>,
    /// The axes of the direction.
    #[serde(default)]
    pub frame: LoadFrameTable,
}

/// A torque on a free body about an axis.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::io) struct BodyTorqueTable {
    /// Name of the body, which moves freely.
    pub body: String,
    /// Its axis, of any length but 0.
    pub axis: Exactly<f64, 3>,
    /// The axes that the axis is given in.
    #[serde(default)]
    pub frame: LoadFrameTable,
}

/// Names of joints, or tables.
#[cfg(test)]
fn driven_joints(generator: &mut SchemaGenerator) -> Schema {
    let table = generator.subschema_for::<DrivenJointTable>();
    json_schema!({ "type": "array", "items": { "anyOf": [{ "type": "string" }, table] } })
}

/// How a drive turns its command into a force: `"force"`, or a table with one of the others.
#[derive(Clone, Copy, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(in crate::io) enum DriveTable {
    /// The command is the force, N m or N.
    Force,
    /// The force follows a velocity.
    Velocity(VelocityServoTable),
    /// The force follows a position.
    Position(PositionServoTable),
}

/// How a drive on all joints of a robot turns commands into forces: as one of an actuator, joint by joint, or by computed
/// torque.
#[derive(Clone, Copy, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(in crate::io) enum RobotDriveTable {
    /// The command is the force, N m or N.
    Force,
    /// The force follows a velocity.
    Velocity(VelocityServoTable),
    /// The force follows a position.
    Position(PositionServoTable),
    /// The forces on all joints together are those with which each joint goes to its command as a damped oscillator of its own.
    ComputedTorque(ComputedTorqueTable),
}

/// Computed torque, also called inverse dynamics control: the forces on all joints of a robot are τ = M(q) a + h(q, v) with the
/// mass matrix M, all that acts on the robot by itself, h (Coriolis and centrifugal forces, gravity, the damping and the
/// springs of its joints), and the accelerations a = ω² (command − q) − 2 ζ ω v, with the natural frequency ω and the damping
/// ratio ζ. Without contact q'' = a follows for every joint, whatever the configuration and whatever the other joints do.
///
/// Friction and stops of joints are not cancelled, nor is what the robot holds. Limits of effort do not apply, those of its file
/// either. The base is fixed, all joints have one coordinate or follow others, and all that is joined to the robot belongs to
/// robots with the same drive. Every solver takes it; implicit ones take the law at the end of the step. Parameters of
/// fits and designs are ω² and 2 ζ ω, `joints.NAME.computed_torque.stiffness` and `damping`, of any of its joints.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::io) struct ComputedTorqueTable {
    /// The natural frequency ω: after a step of the command a critically damped joint is within 5 % of it after 4.7/ω.
    #[cfg_attr(test, schemars(extend("x-unit" = "rad/s")))]
    pub natural_frequency: f64,
    /// The damping ratio ζ: below 1 a joint overshoots its command.
    #[serde(default = "one")]
    pub damping_ratio: f64,
}

/// Force −damping (v − command).
#[derive(Clone, Copy, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::io) struct VelocityServoTable {
    /// Force per deviation of the velocity.
    #[cfg_attr(test, schemars(extend("x-unit" = "N m s/rad or N s/m")))]
    pub damping: f64,
}

/// Force −stiffness (q − command) − damping v.
#[derive(Clone, Copy, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::io) struct PositionServoTable {
    /// Force per deviation of the position.
    #[cfg_attr(test, schemars(extend("x-unit" = "N m/rad or N/m")))]
    pub stiffness: f64,
    /// Force per velocity.
    #[serde(default)]
    #[cfg_attr(test, schemars(extend("x-unit" = "N m s/rad or N s/m")))]
    pub damping: f64,
}

/// A joint that an actuator drives; its name alone stands for a ratio of 1 and coordinate 0.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields, remote = "Self")]
pub(in crate::io) struct DrivenJointTable {
    /// Name of the joint (with the prefix of its robot).
    pub joint: String,
    /// Factor of the command at this joint.
    #[serde(default = "one")]
    pub ratio: f64,
    /// Index of the velocity coordinate of a joint with several, counted from 0.
    #[serde(default)]
    pub coordinate: usize,
}

pub(super) fn one() -> f64 {
    1.0
}

impl<'de> Deserialize<'de> for DrivenJointTable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct DrivenJointVisitor;

        impl<'de> Visitor<'de> for DrivenJointVisitor {
            type Value = DrivenJointTable;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a joint, or { joint = NAME, ratio = …, coordinate = … }")
            }

            fn visit_str<E: Error>(self, name: &str) -> Result<DrivenJointTable, E> {
                Ok(DrivenJointTable { joint: name.to_owned(), ratio: one(), coordinate: 0 })
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<DrivenJointTable, A::Error> {
                DrivenJointTable::deserialize(MapAccessDeserializer::new(map))
            }
        }

        deserializer.deserialize_any(DrivenJointVisitor)
    }
}

/// The command of an actuator: a constant number, or values over time.
#[derive(Debug)]
#[cfg_attr(test, derive(JsonSchema))]
#[cfg_attr(test, schemars(untagged))]
pub(in crate::io) enum CommandTable {
    /// A constant number.
    Constant(f64),
    /// Values over time.
    Knots(KnotsTable),
}

/// Values over time. Before the first and after the last knot the value at that knot holds.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::io) struct KnotsTable {
    /// Times of the knots, increasing.
    #[cfg_attr(test, schemars(extend("x-unit" = "s")))]
    pub times: Vec<f64>,
    /// The value at each knot.
    pub values: Vec<f64>,
    /// The interpolation between the knots.
    #[serde(default)]
    pub interpolation: InterpolationTable,
}

/// The interpolation of values between knots. Each step has the value at its middle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(in crate::io) enum InterpolationTable {
    /// Each value is held until the next knot.
    #[default]
    Hold,
    /// The values are linear between knots.
    Linear,
    /// A cubic B-spline with the values as control points, which it smooths; knots must be equally
    /// spaced.
    Cubic,
}

impl InterpolationTable {
    pub fn kind(self) -> KnotInterpolation {
        match self {
            Self::Hold => KnotInterpolation::ZeroOrderHold,
            Self::Linear => KnotInterpolation::Linear,
            Self::Cubic => KnotInterpolation::Cubic,
        }
    }
}

impl<'de> Deserialize<'de> for CommandTable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct CommandVisitor;

        impl<'de> Visitor<'de> for CommandVisitor {
            type Value = CommandTable;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, or { times = […], values = […], interpolation = … }")
            }

            fn visit_f64<E: Error>(self, x: f64) -> Result<CommandTable, E> {
                Ok(CommandTable::Constant(x))
            }

            fn visit_i64<E: Error>(self, x: i64) -> Result<CommandTable, E> {
                Ok(CommandTable::Constant(x as f64))
            }

            fn visit_u64<E: Error>(self, x: u64) -> Result<CommandTable, E> {
                Ok(CommandTable::Constant(x as f64))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<CommandTable, A::Error> {
                KnotsTable::deserialize(MapAccessDeserializer::new(map)).map(CommandTable::Knots)
            }
        }

        deserializer.deserialize_any(CommandVisitor)
    }
}
