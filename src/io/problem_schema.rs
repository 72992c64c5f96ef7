//! What a file of trajectory optimization may hold.

use std::path::PathBuf;

use nalgebra::Vector3;
use serde::Deserialize;

use super::joint_schema::{InterpolationTable, KnotsTable};
use super::strict::Exactly;
use crate::optimize::objective::{Deviation, When};
use crate::optimize::randomized_smoothing::SmoothingSettings;
use crate::optimize::trajectory::TrajectoryMethod;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ProblemTable {
    pub scene: PathBuf,
    pub until: f64,
    pub knots: ProblemKnotsTable,
    pub controls: Vec<ControlTable>,
    pub costs: Vec<CostTable>,
    #[serde(default)]
    pub optimizer: OptimizerTable,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ProblemKnotsTable {
    pub count: Option<usize>,
    pub times: Option<Vec<f64>>,
    #[serde(default)]
    pub interpolation: InterpolationTable,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ControlTable {
    pub actuator: String,
    pub lower: Option<f64>,
    pub upper: Option<f64>,
    pub scale: Option<f64>,
    pub start: Option<StartTable>,
}

/// Where an optimization starts.
#[derive(Debug, Deserialize)]
#[serde(
    untagged,
    expecting = "must be a number, one number for each knot, or { times = […], values = […], interpolation = … }"
)]
pub(super) enum StartTable {
    Constant(f64),
    AtKnots(Vec<f64>),
    Command(KnotsTable),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CostTable {
    pub name: Option<String>,
    pub control: Option<String>,
    pub joint_position: Option<CoordinateTable>,
    pub joint_velocity: Option<CoordinateTable>,
    pub position: Option<RelativeTable>,
    pub orientation: Option<OrientationTable>,
    pub velocity: Option<OfBodyTable>,
    pub angular_velocity: Option<OfBodyTable>,
    pub contact_force: Option<ContactTable>,
    pub contact_torque: Option<ContactTable>,
    pub target: Option<TargetTable>,
    pub weight: ComponentsTable,
    #[serde(default, with = "DeviationTable")]
    pub deviation: Deviation,
    #[serde(default, with = "WhenTable")]
    pub when: When,
}

#[derive(Deserialize)]
#[serde(remote = "Deviation", rename_all = "snake_case")]
enum DeviationTable {
    Both,
    Above,
    Below,
}

#[derive(Deserialize)]
#[serde(remote = "When", rename_all = "snake_case")]
enum WhenTable {
    Running,
    End,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CoordinateTable {
    pub joint: String,
    #[serde(default)]
    pub coordinate: usize,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OfBodyTable {
    pub body: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RelativeTable {
    pub body: String,
    pub relative_to: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OrientationTable {
    pub body: String,
    pub relative_to: Option<String>,
    pub quaternion_wxyz: Option<Exactly<f64, 4>>,
    pub rpy: Option<Exactly<f64, 3>>,
    pub rotation_matrix: Option<Exactly<Exactly<f64, 3>, 3>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ContactTable {
    pub on: String,
    pub from: String,
}

/// One number, or one for each axis.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(untagged, expecting = "must be a number or [x, y, z]")]
pub(super) enum ComponentsTable {
    Same(f64),
    Each(Exactly<f64, 3>),
}

impl ComponentsTable {
    /// All three: the number stands for each.
    pub fn vector(self) -> Vector3<f64> {
        match self {
            Self::Same(x) => Vector3::repeat(x),
            Self::Each(v) => Vector3::from(v.0),
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(
    untagged,
    expecting = "must be a number, [x, y, z], or { times = […], values = […] } with such values"
)]
pub(super) enum TargetTable {
    Constant(ComponentsTable),
    Path(PathTable),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PathTable {
    pub times: Vec<f64>,
    pub values: Vec<ComponentsTable>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct OptimizerTable {
    pub kind: TrajectoryMethod,
    pub max_iterations: Option<u64>,
    pub cost_tolerance: Option<f64>,
    pub initial_damping: Option<f64>,
    pub starts: Option<StartsTable>,
    pub smoothing: Option<SmoothingSettings>,
}

/// Several starts.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StartsTable {
    pub count: usize,
    pub spread: f64,
    #[serde(default)]
    pub seed: u64,
}
