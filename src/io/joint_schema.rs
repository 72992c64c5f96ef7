//! Joints, robots and actuators as a scene file writes them: the form alone, as in
//! [`super::schema`].

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::strict::{Exactly, map_without_duplicates};
use crate::rollout::KnotInterpolation;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum JointType {
    Fixed,
    Revolute,
    Prismatic,
    Planar,
    Ball,
    Free,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct JointTable {
    #[serde(rename = "type")]
    pub kind: JointType,
    pub name: Option<String>,
    pub parent: Option<String>,
    pub axis: Option<Exactly<f64, 3>>,
    pub translation: Option<Exactly<f64, 3>>,
    pub quaternion_wxyz: Option<Exactly<f64, 4>>,
    pub rpy: Option<Exactly<f64, 3>>,
    pub rotation_matrix: Option<Exactly<Exactly<f64, 3>, 3>>,
    pub position: Option<Coordinates>,
    pub velocity: Option<Coordinates>,
    pub lower: Option<f64>,
    pub upper: Option<f64>,
    pub stop_stiffness: Option<f64>,
    pub stop_dissipation: Option<f64>,
    #[serde(default)]
    pub damping: f64,
    #[serde(default)]
    pub rotor_inertia: f64,
    pub spring: Option<SpringTable>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SpringTable {
    pub stiffness: f64,
    #[serde(default)]
    pub rest: f64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum BaseTable {
    #[default]
    Fixed,
    Free,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RobotTable {
    pub urdf: PathBuf,
    #[serde(default)]
    pub packages: Vec<PathBuf>,
    #[serde(default)]
    pub prefix: String,
    #[serde(default)]
    pub base: BaseTable,
    pub translation: Option<Exactly<f64, 3>>,
    pub quaternion_wxyz: Option<Exactly<f64, 4>>,
    pub rpy: Option<Exactly<f64, 3>>,
    pub rotation_matrix: Option<Exactly<Exactly<f64, 3>, 3>>,
    #[serde(default, deserialize_with = "map_without_duplicates")]
    pub positions: BTreeMap<String, Coordinates>,
    #[serde(default, deserialize_with = "map_without_duplicates")]
    pub velocities: BTreeMap<String, Coordinates>,
    /// For each link that collides the name of its material, or [`RIGID`].
    #[serde(default, deserialize_with = "map_without_duplicates")]
    pub materials: BTreeMap<String, String>,
    pub resolution: Option<f64>,
    /// Whether links of the robot touch each other.
    #[serde(default = "yes")]
    pub self_contact: bool,
    /// Whether joints that mimic others are read as independent ones.
    #[serde(default)]
    pub independent_mimic_joints: bool,
}

/// What stands in place of a material's name for a rigid link.
pub(super) const RIGID: &str = "rigid";

fn yes() -> bool {
    true
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ActuatorTable {
    pub name: String,
    pub joints: Vec<DrivenJointTable>,
    pub drive: DriveTable,
    pub effort: Option<f64>,
    pub command: Option<CommandTable>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum DriveTable {
    Force,
    Velocity(VelocityServoTable),
    Position(PositionServoTable),
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct VelocityServoTable {
    pub damping: f64,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PositionServoTable {
    pub stiffness: f64,
    #[serde(default)]
    pub damping: f64,
}

/// One number, or as many as the joint has coordinates.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Coordinates {
    One(f64),
    Several(Vec<f64>),
}

impl Coordinates {
    pub fn as_slice(&self) -> &[f64] {
        match self {
            Self::One(x) => std::slice::from_ref(x),
            Self::Several(x) => x,
        }
    }
}

impl<'de> Deserialize<'de> for Coordinates {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct CoordinatesVisitor;

        impl<'de> Visitor<'de> for CoordinatesVisitor {
            type Value = Coordinates;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, or a list with a number for each coordinate of the joint")
            }

            fn visit_f64<E: Error>(self, x: f64) -> Result<Coordinates, E> {
                Ok(Coordinates::One(x))
            }

            fn visit_i64<E: Error>(self, x: i64) -> Result<Coordinates, E> {
                Ok(Coordinates::One(x as f64))
            }

            fn visit_u64<E: Error>(self, x: u64) -> Result<Coordinates, E> {
                Ok(Coordinates::One(x as f64))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Coordinates, A::Error> {
                let mut numbers = Vec::new();
                while let Some(x) = list.next_element()? {
                    numbers.push(x);
                }
                Ok(Coordinates::Several(numbers))
            }
        }

        deserializer.deserialize_any(CoordinatesVisitor)
    }
}

/// A joint that an actuator drives: its name, or a table.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, remote = "Self")]
pub(super) struct DrivenJointTable {
    pub joint: String,
    #[serde(default = "one")]
    pub ratio: f64,
    #[serde(default)]
    pub coordinate: usize,
}

fn one() -> f64 {
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

/// The command of an actuator over time.
#[derive(Debug)]
pub(super) enum CommandTable {
    Constant(f64),
    Knots(KnotsTable),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct KnotsTable {
    pub times: Vec<f64>,
    pub values: Vec<f64>,
    #[serde(default)]
    pub interpolation: InterpolationTable,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum InterpolationTable {
    #[default]
    Hold,
    Linear,
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
