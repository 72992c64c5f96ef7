//! The schema of joints and robots in scene files. As in [`crate::io::scene::schema`], only the form is
//! checked.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

#[cfg(test)]
use schemars::JsonSchema;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};

use crate::io::scene::actuator_schema::{CommandTable, RobotDriveTable, one};
use crate::io::strict::{Exactly, map_without_duplicates};
#[cfg(test)]
use crate::multibody::tree::{JointLimits, STICTION_VELOCITY};

/// How a joint moves, with its coordinates in the order of `position` and `velocity`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(in crate::io) enum JointType {
    /// The joint does not move.
    Fixed,
    /// Rotation about its axis: the angle in rad.
    Revolute,
    /// Translation along its axis: the distance in m.
    Prismatic,
    /// Motion in the xy plane of its frame: x and y in m, the angle in rad.
    Planar,
    /// Any rotation: the quaternion w, x, y, z; the angular velocity in rad/s.
    Ball,
    /// Any motion: the quaternion w, x, y, z, then x, y, z in m; the angular velocity in rad/s,
    /// then the velocity in m/s.
    Free,
}

/// The joint that carries a body, `[bodies.joint]`. Its frame is fixed on the parent by `translation` and a rotation;
/// at position 0 the body's frame is the same.
///
/// In trajectories its coordinates are called `NAME.q` and `NAME.v`, or `NAME.q[0]`, … if there are
/// several.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::io) struct JointTable {
    /// How it moves.
    #[serde(rename = "type")]
    pub kind: JointType,
    /// Its name. No other joint may have the same.
    #[cfg_attr(test, schemars(extend("x-default" = "the body's name")))]
    pub name: Option<String>,
    /// The body or robot link that carries the joint. A body must be `fixed` or have a joint too.
    #[cfg_attr(test, schemars(extend("x-default" = "the world")))]
    pub parent: Option<String>,
    /// Direction in the joint's frame, of any length. Needed by revolute and prismatic joints, not
    /// allowed for others.
    pub axis: Option<Exactly<f64, 3>>,
    /// Position of the joint's frame in the parent's.
    #[cfg_attr(test, schemars(extend("x-unit" = "m", "default" = [0, 0, 0])))]
    pub translation: Option<Exactly<f64, 3>>,
    /// Orientation in the parent's frame: a unit quaternion w, x, y, z.
    pub quaternion_wxyz: Option<Exactly<f64, 4>>,
    /// Orientation in the parent's frame: angles of roll, pitch and yaw.
    #[cfg_attr(test, schemars(extend("x-unit" = "rad")))]
    pub rpy: Option<Exactly<f64, 3>>,
    /// Orientation in the parent's frame: a rotation matrix, row by row.
    pub rotation_matrix: Option<Exactly<Exactly<f64, 3>, 3>>,
    /// Coordinates at the start.
    #[cfg_attr(test, schemars(extend("x-unit" = "rad or m", "x-default" = "0, no rotation")))]
    pub position: Option<Coordinates>,
    /// Velocities at the start.
    #[cfg_attr(test, schemars(extend("x-unit" = "rad/s or m/s", "x-default" = "0")))]
    pub velocity: Option<Coordinates>,
    /// Least position. Like all the following fields except `damping` and `rotor_inertia`, it is allowed
    /// for revolute and prismatic joints only.
    #[cfg_attr(test, schemars(extend("x-unit" = "rad or m", "x-default" = "none")))]
    pub lower: Option<f64>,
    /// Largest position.
    #[cfg_attr(test, schemars(extend("x-unit" = "rad or m", "x-default" = "none")))]
    pub upper: Option<f64>,
    /// Stiffness of the compliant stops at both ends of the range.
    #[cfg_attr(test, schemars(extend("x-unit" = "N m/rad or N/m", "default" = JointLimits::default().stiffness)))]
    pub stop_stiffness: Option<f64>,
    /// Hunt–Crossley dissipation of the stops.
    #[cfg_attr(test, schemars(extend("x-unit" = "s/rad or s/m", "default" = JointLimits::default().dissipation)))]
    pub stop_dissipation: Option<f64>,
    /// Viscous damping of each coordinate.
    #[serde(default)]
    #[cfg_attr(test, schemars(extend("x-unit" = "N m s/rad or N s/m")))]
    pub damping: f64,
    /// Coulomb friction: the joint resists sliding with the force −friction v/√(v² + stiction_velocity²).
    #[serde(default)]
    #[cfg_attr(test, schemars(extend("x-unit" = "N m or N")))]
    pub friction: f64,
    /// The velocity at which the friction is regularized. Where less than the friction pulls at the joint, it
    /// creeps at about this speed.
    #[cfg_attr(test, schemars(extend("x-unit" = "rad/s or m/s", "default" = STICTION_VELOCITY)))]
    pub stiction_velocity: Option<f64>,
    /// Inertia of the drive's rotor as seen at the joint; it is added for each coordinate.
    #[serde(default)]
    #[cfg_attr(test, schemars(extend("x-unit" = "kg m² or kg")))]
    pub rotor_inertia: f64,
    /// A linear spring on the position.
    #[cfg_attr(test, schemars(extend("x-default" = "none")))]
    pub spring: Option<SpringTable>,
    /// Another joint that this one follows. Then it has no coordinate of its own: its damping, friction, rotor
    /// and spring act at the other joint, and `position`, `velocity`, `lower` and `upper` are given there.
    #[cfg_attr(test, schemars(extend("x-default" = "none")))]
    pub mimic: Option<MimicTable>,
}

/// How a joint follows another, as fingers of grippers do: its position is multiplier × q + offset, with the
/// position q of the other. Both have one coordinate.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::io) struct MimicTable {
    /// Name of the joint that is followed (with the prefix of its robot). It may follow another in turn.
    pub joint: String,
    /// The factor.
    #[serde(default = "one")]
    pub multiplier: f64,
    /// The position where the other joint is at 0.
    #[serde(default)]
    #[cfg_attr(test, schemars(extend("x-unit" = "rad or m")))]
    pub offset: f64,
}

/// A linear spring on a joint's position.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::io) struct SpringTable {
    /// Stiffness.
    #[cfg_attr(test, schemars(extend("x-unit" = "N m/rad or N/m")))]
    pub stiffness: f64,
    /// Position without force.
    #[serde(default)]
    #[cfg_attr(test, schemars(extend("x-unit" = "rad or m")))]
    pub rest: f64,
}

/// How a robot's root link is connected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(in crate::io) enum BaseTable {
    /// The root link does not move relative to the world or its `parent`.
    #[default]
    Fixed,
    /// The root link moves freely: it has a free joint on the world with the name of the link.
    Free,
}

/// A robot from a URDF, SDF or MJCF file, `[[robots]]`: its links are bodies, its joints are joints. Joints that mimic others
/// follow them; the ranges of these joints are not enforced. Loops are refused.
///
/// An SDF file has one model, of links and of joints that are fixed, revolute, continuous, prismatic or ball, with poses
/// as versions from 1.5 on have them; a `plane` is a half-space, and a `static` model does not move. Or it has one world,
/// whose models are one robot: links and joints have the names of their models before their own, as `box::lid`, and a
/// model that stands on nothing moves freely. A world of one model is that model. Includes are not read.
///
/// A link can touch other bodies, with its `collision` elements, if `materials` names it or its file has Drake's
/// `proximity_properties` for them: rigid, or compliant with a hydroelastic modulus. The file then gives the material
/// (modulus, dissipation, relaxation time, and friction, which is 1 without), which is called as the link, and the
/// resolution; what the scene says of a link is instead of that. Drake's collision filter groups, rotor inertias, gear
/// ratios and convex meshes are read too.
///
/// An MJCF file, MuJoCo's, has bodies with joints, frames, defaults, includes, masses from geoms or `inertial`, and
/// meshes, whose hulls collide. Its coordinates are those of the file, `ref` included, and its free joints start where
/// the file has their bodies. Its actuators are read: `motor`, `position`, `velocity`, and `general` with such a law,
/// with the square of their gear in the gains; the command of a servo is the position or velocity of the joint, times
/// the gear. They pull `fixed` tendons too: motors all joints of one, each by its factor; servos one whose length is in
/// proportion to one position, as where fingers follow each other. Other tendons, flexes, plugins, muscles, equalities
/// but those of two joints in proportion, height fields and `attach` are refused. `solref` and `solimp` have no part in
/// a material, which `materials` gives by the names of geoms, links or classes. `<contact>` pairs, fluids and the
/// file's gravity are told and not read.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::io) struct RobotTable {
    /// The file, relative to the scene: an MJCF file if its element is `mujoco`, an SDF file if its name ends in `.sdf`,
    /// else a URDF file.
    pub urdf: PathBuf,
    /// Folders that are ROS packages or hold them, for `package://` names of meshes; relative to
    /// the scene.
    #[serde(default)]
    pub packages: Vec<PathBuf>,
    /// A prefix for the names of its links and joints everywhere else in the scene.
    #[serde(default)]
    pub prefix: String,
    /// How the root link is connected.
    #[serde(default)]
    pub base: BaseTable,
    /// The body, or the link of another robot (with its prefix), that the base is mounted on. Not
    /// allowed with a free base.
    #[cfg_attr(test, schemars(extend("x-default" = "the world")))]
    pub parent: Option<String>,
    /// Position of the base in its parent's frame: of the root link, or of the frame of an SDF or MJCF file.
    #[cfg_attr(test, schemars(extend("x-unit" = "m", "default" = [0, 0, 0])))]
    pub translation: Option<Exactly<f64, 3>>,
    /// Orientation in the parent's frame: a unit quaternion w, x, y, z.
    pub quaternion_wxyz: Option<Exactly<f64, 4>>,
    /// Orientation in the parent's frame: angles of roll, pitch and yaw.
    #[cfg_attr(test, schemars(extend("x-unit" = "rad")))]
    pub rpy: Option<Exactly<f64, 3>>,
    /// Orientation in the parent's frame: a rotation matrix, row by row.
    pub rotation_matrix: Option<Exactly<Exactly<f64, 3>, 3>>,
    /// The keyframe of an MJCF file that joints start at, by its name. Where `positions` has a joint, that counts.
    #[cfg_attr(test, schemars(extend("x-default" = "none")))]
    pub keyframe: Option<String>,
    /// Initial coordinates of joints, by their names in its file. Those of all other joints are 0, or where an MJCF file
    /// has them start, but for joints that mimic others.
    #[serde(default, deserialize_with = "map_without_duplicates")]
    #[cfg_attr(test, schemars(extend("x-unit" = "rad or m")))]
    pub positions: BTreeMap<String, Coordinates>,
    /// Initial velocities of joints, by their names in its file. Those of all other joints are 0.
    #[serde(default, deserialize_with = "map_without_duplicates")]
    #[cfg_attr(test, schemars(extend("x-unit" = "rad/s or m/s")))]
    pub velocities: BTreeMap<String, Coordinates>,
    /// The Coulomb friction of each of its joints with one coordinate, instead of what its file says: some files have more
    /// there than their drives' effort, and nothing moves.
    #[cfg_attr(test, schemars(extend("x-unit" = "N m or N", "x-default" = "that of the file")))]
    pub joint_friction: Option<f64>,
    /// The material of each link that can touch other bodies, by the name in its file of a geometry, the link or a class of
    /// an MJCF file, of which the first counts: the name of a material, `rigid`, or `none` for what touches nothing.
    /// Without it, that of its file.
    #[serde(default, deserialize_with = "map_without_duplicates")]
    pub materials: BTreeMap<String, String>,
    /// What links collide with where their file has a mesh: `mesh`, or `convex`, which is the convex hull of its
    /// vertices, whatever its triangles are; for all links, or a table by their names in the file.
    #[cfg_attr(test, schemars(extend("x-default" = "`mesh`, or as the file declares it")))]
    pub collision: Option<CollisionTable>,
    /// Resolution of the primitive shapes of its links.
    #[cfg_attr(test, schemars(extend("x-unit" = "m", "x-default" = "that of the file or of each shape")))]
    pub resolution: Option<f64>,
    /// Whether links of the robot touch each other.
    #[serde(default = "yes")]
    pub self_contact: bool,
    /// An SRDF file, relative to the scene. Pairs of links in its `disable_collisions` elements do not touch
    /// each other; nothing else of it is read.
    #[cfg_attr(test, schemars(extend("x-default" = "none")))]
    pub srdf: Option<PathBuf>,
    /// A drive on every joint with one coordinate that follows no other and that no table of `actuators` drives:
    /// an actuator each, with the name of the joint and, but for `computed_torque`, its effort in the file. It is
    /// instead of the actuators of an MJCF file.
    #[cfg_attr(test, schemars(extend("x-default" = "those of an MJCF file, else none")))]
    pub drive: Option<RobotDriveTable>,
    /// Whether the robot's drives carry its weight, as controllers of arms do: gravity does not act on its links, and
    /// the force that this takes is not counted in limits of effort. What it holds has its weight. Not allowed
    /// with a free base. Drives of computed torque do so by themselves.
    #[serde(default)]
    pub gravity_compensation: bool,
    /// Commands of these drives, by the joints' names in the file, or of the file's actuators, by their own. Those of all
    /// others are, of position drives and of computed torque, where the joint starts, and else 0.
    #[serde(default, deserialize_with = "map_without_duplicates")]
    pub commands: BTreeMap<String, CommandTable>,
    /// Whether joints that mimic others are read as independent joints, which then need drives of their
    /// own. Otherwise they follow the others.
    #[serde(default)]
    pub independent_mimic_joints: bool,
}

/// What a link with a mesh collides with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(in crate::io) enum CollisionKind {
    /// The mesh.
    Mesh,
    /// The convex hull of its vertices.
    Convex,
}

/// One kind for all links, or one for each by its name.
#[derive(Debug)]
#[cfg_attr(test, derive(JsonSchema))]
#[cfg_attr(test, schemars(untagged))]
pub(in crate::io) enum CollisionTable {
    /// Of all links.
    All(CollisionKind),
    /// Of some.
    Some(BTreeMap<String, CollisionKind>),
}

impl<'de> Deserialize<'de> for CollisionTable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct CollisionVisitor;

        impl<'de> Visitor<'de> for CollisionVisitor {
            type Value = CollisionTable;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("\"mesh\", \"convex\", or a table of these by the names of links")
            }

            fn visit_str<E: Error>(self, kind: &str) -> Result<CollisionTable, E> {
                CollisionKind::deserialize(kind.into_deserializer()).map(CollisionTable::All)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<CollisionTable, A::Error> {
                map_without_duplicates(MapAccessDeserializer::new(map)).map(CollisionTable::Some)
            }
        }

        deserializer.deserialize_any(CollisionVisitor)
    }
}

/// The values that stand for a rigid link, and for one that touches nothing, instead of a material's name.
pub(in crate::io) const RIGID: &str = "rigid";
pub(in crate::io) const NONE: &str = "none";

fn yes() -> bool {
    true
}

/// One number, or as many as the joint has coordinates.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(test, derive(JsonSchema))]
#[cfg_attr(test, schemars(untagged))]
pub(in crate::io) enum Coordinates {
    /// Of a joint with one coordinate.
    One(f64),
    /// Of any joint.
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
