//! What files say a quantity of a motion is of. As in [`crate::io::scene::schema`], only the form is checked.

#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::io::strict::Exactly;

/// A coordinate of a joint.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::io) struct CoordinateTable {
    /// Name of the joint (with the prefix of its robot).
    pub joint: String,
    /// Index of the coordinate if there are several, counted from 0.
    #[serde(default)]
    pub coordinate: usize,
}

/// A body, seen from another one.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::io) struct SeenBodyTable {
    /// Its name.
    pub body: String,
    /// Name of the other body.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(extend("x-default" = "the world")))]
    pub relative_to: Option<String>,
}

/// A body, seen from another one, and its target orientation: at most one of `quaternion_wxyz`, `rpy`
/// and `rotation_matrix`. Without any it is no rotation.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::io) struct OrientationTable {
    /// Its name.
    pub body: String,
    /// Name of the other body.
    #[cfg_attr(test, schemars(extend("x-default" = "the world")))]
    pub relative_to: Option<String>,
    /// The target orientation: a unit quaternion w, x, y, z.
    pub quaternion_wxyz: Option<Exactly<f64, 4>>,
    /// The target orientation: angles of roll, pitch and yaw.
    #[cfg_attr(test, schemars(extend("x-unit" = "rad")))]
    pub rpy: Option<Exactly<f64, 3>>,
    /// The target orientation: a rotation matrix, row by row.
    pub rotation_matrix: Option<Exactly<Exactly<f64, 3>, 3>>,
}

/// Two bodies in contact.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::io) struct BodyPairTable {
    /// The body that the contact acts on, such as a finger that feels it.
    pub on: String,
    /// The body that exerts it, such as what the finger holds.
    pub from: String,
}
