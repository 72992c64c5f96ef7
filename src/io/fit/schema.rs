//! What a fit file may hold. The comments are the text of its reference, as in [`crate::io::scene::schema`].

use std::collections::BTreeMap;
use std::path::PathBuf;

#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;

use crate::io::scene::actuator_schema::InterpolationTable;
use crate::io::strict::Exactly;
use crate::optimize::data::Columns;
use crate::optimize::fit::FitSettings;
use crate::optimize::identification::{LossKind, Sensor, StateDeviations};
use crate::optimize::parameters::FitParameter;

/// A fit says which parameters of which scene to fit to which measurements. It is a TOML or JSON file; files
/// that it names are relative to it.
///
/// All numbers are in SI units. At least one of `trajectories`, `recordings` and `indentations` is needed.
/// Trajectories are of scenes with one free body and no joints that move; recordings of sensors are of any scene.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::io) struct FitTable {
    /// The scene file.
    pub scene: PathBuf,
    /// The parameters that are fitted, at least one.
    pub parameters: Vec<FitParameter>,
    /// Recorded motion.
    #[serde(default)]
    pub trajectories: Vec<TrajectoriesTable>,
    /// What sensors measure in the recordings.
    #[serde(default)]
    pub sensors: Vec<Sensor>,
    /// Motions that the sensors recorded.
    #[serde(default)]
    pub recordings: Vec<RecordingsTable>,
    /// Indentation tests.
    #[serde(default)]
    pub indentations: Vec<IndentationsTable>,
    /// Other models of the same measurements, for `isobar fit --compare`.
    #[serde(default)]
    pub candidates: Vec<CandidateTable>,
    /// Settings of the fit.
    #[serde(default)]
    pub solver: FitSettings,
}

/// Another model of the same measurements, `[[candidates]]`: what the fit file says, but for what stands here. The fit
/// file without candidates is a model too, with the name `as given`.
///
/// `isobar fit FIT --compare` predicts recordings that were left out of a fit by each of the models and says which
/// predicts them best, and which is the simplest that does as well. `isobar fit FIT --candidate NAME` fits one.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::io) struct CandidateTable {
    /// Its name, different from the others.
    pub name: String,
    /// The scene file.
    #[cfg_attr(test, schemars(extend("x-default" = "the fit's")))]
    pub scene: Option<PathBuf>,
    /// Names of parameters of the fit that it does not have; the scene's values stand.
    #[serde(default)]
    pub without: Vec<String>,
    /// Parameters that it has in addition, or in the place of those with the same names.
    #[serde(default)]
    pub parameters: Vec<FitParameter>,
    /// What is known of the states that simulations start at, in a fit of this model. What is predicted starts in the
    /// same way for all models.
    #[cfg_attr(test, schemars(extend("x-default" = "as in `trajectories`")))]
    pub starts: Option<StartsTable>,
}

/// Recordings of the motion of one body, `[[trajectories]]`.
///
/// A recording is a CSV file with a header and the columns `t_s` (increasing), `px_m`, `py_m`, `pz_m`,
/// `qw`, `qx`, `qy`, `qz` (unit quaternion, body to world), `vx_m_s`, `vy_m_s`, `vz_m_s`, and the
/// angular velocity as `wx_rad_s`, `wy_rad_s`, `wz_rad_s` (world frame) or `wx_body_rad_s`,
/// `wy_body_rad_s`, `wz_body_rad_s` (body frame). The names may also begin with the name of the body and
/// a dot, such as `ball.px_m` in files of `isobar simulate`. Other columns are not used, which a warning says; lines
/// that begin with `#` are comments. The scene's loads and commands act at the times of the file.
///
/// Positions and velocities say the same twice: a file that contradicts itself and agrees once quaternions are read as
/// x, y, z, w, or positions in mm, and the like, is refused.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::io) struct TrajectoriesTable {
    /// Name of the body in the scene.
    pub body: String,
    /// File names. In the last part of a path `*` stands for any text, and all files that match are
    /// read.
    pub files: Vec<String>,
    /// What the files call their columns, and in which units they have them, by the names above.
    #[serde(default)]
    pub columns: Columns,
    /// Earliest recorded time used.
    #[cfg_attr(test, schemars(extend("x-unit" = "s", "x-default" = "the first")))]
    pub from: Option<f64>,
    /// Latest recorded time used.
    #[cfg_attr(test, schemars(extend("x-unit" = "s", "x-default" = "the last")))]
    pub until: Option<f64>,
    /// Longest time simulated from one recorded state.
    #[cfg_attr(test, schemars(extend("x-unit" = "s", "x-default" = "unlimited: from the first state alone")))]
    pub horizon: Option<f64>,
    /// Whether simulations start only at recorded states in which the body touches nothing, in that
    /// state, the one before it and the one after it.
    #[serde(default)]
    pub free_starts: bool,
    /// Standard deviation of positions.
    #[cfg_attr(test, schemars(extend("x-unit" = "m")))]
    pub position_sigma: f64,
    /// Standard deviation of orientations.
    #[cfg_attr(test, schemars(extend("x-unit" = "rad")))]
    pub orientation_sigma: f64,
    /// Standard deviation of velocities.
    #[cfg_attr(test, schemars(extend("x-unit" = "m/s", "x-default" = "not compared")))]
    pub linear_velocity_sigma: Option<f64>,
    /// Standard deviation of angular velocities.
    #[cfg_attr(test, schemars(extend("x-unit" = "rad/s", "x-default" = "not compared")))]
    pub angular_velocity_sigma: Option<f64>,
    /// What is known of the states that simulations start at. Errors of recorded states that are taken as exact
    /// make estimates wrong by many of their standard errors, the more the shorter the horizon.
    #[cfg_attr(test, schemars(extend("x-default" = "`\"estimated\"` where standard deviations of velocities are given")))]
    pub starts: Option<StartsTable>,
    /// Standard deviation of positions at starts.
    #[cfg_attr(test, schemars(extend("x-unit" = "m", "x-default" = "`position_sigma`")))]
    pub start_position_sigma: Option<f64>,
    /// Standard deviation of orientations at starts.
    #[cfg_attr(test, schemars(extend("x-unit" = "rad", "x-default" = "`orientation_sigma`")))]
    pub start_orientation_sigma: Option<f64>,
    /// Standard deviation of velocities at starts.
    #[cfg_attr(test, schemars(extend("x-unit" = "m/s", "x-default" = "`linear_velocity_sigma`")))]
    pub start_linear_velocity_sigma: Option<f64>,
    /// Standard deviation of angular velocities at starts.
    #[cfg_attr(test, schemars(extend("x-unit" = "rad/s", "x-default" = "`angular_velocity_sigma`")))]
    pub start_angular_velocity_sigma: Option<f64>,
    /// Length of the residuals of one recorded time, in standard deviations, from which they count
    /// less than squared.
    #[cfg_attr(test, schemars(extend("x-default" = "never")))]
    pub outlier_limit: Option<f64>,
    /// How much those beyond the limit count.
    #[serde(default)]
    pub outlier_loss: LossKind,
    /// Delay of the recorded velocities: half an interval if they were computed from positions by
    /// backward differences.
    #[serde(default)]
    #[cfg_attr(test, schemars(extend("x-unit" = "s")))]
    pub velocity_delay: f64,
}

/// What is known of the states that simulations start at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(in crate::io) enum StartsTable {
    /// They were measured with errors: the true ones are estimated along with the parameters, each recorded state
    /// being one measurement.
    Estimated,
    /// They are exact.
    Recorded,
}

/// Motions that sensors recorded, `[[recordings]]`: of the scene, from its initial state on, under its commands.
///
/// A recording is a CSV file with a header, the column `t_s` (increasing) and those that the sensors name; where a
/// quantity was not sampled its fields are empty. Other columns are not used, which a warning says; lines that begin
/// with `#` are comments.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::io) struct RecordingsTable {
    /// File names. In the last part of a path `*` stands for any text, and all files that match are
    /// read.
    pub files: Vec<String>,
    /// What the files call their columns, and in which units they have them, by `t_s` and the names that sensors have.
    #[serde(default)]
    pub columns: Columns,
    /// The time of the recording at which the scene is in its initial state. Times of the scene's commands count from
    /// there.
    #[cfg_attr(test, schemars(extend("x-unit" = "s", "x-default" = "its first row")))]
    pub start_time: Option<f64>,
    /// Latest recorded time used.
    #[cfg_attr(test, schemars(extend("x-unit" = "s", "x-default" = "the last")))]
    pub until: Option<f64>,
    /// Recorded commands: for an actuator the column that holds its command, instead of the command in the scene.
    #[serde(default)]
    pub commands: BTreeMap<String, String>,
    /// What recorded commands are between their rows.
    #[serde(default)]
    pub command_interpolation: InterpolationTable,
    /// Numbers of the scene's initial state that are others in these recordings, by their fields in the scene file:
    /// `{ "bodies.ball.translation[2]" = 0.3, "joints.left.position" = 0.02 }`.
    #[serde(default)]
    pub initial: BTreeMap<String, f64>,
    /// How well the initial state is known. What has a standard deviation is estimated along with the
    /// parameters, for each recording by itself.
    #[serde(default)]
    pub start: StateDeviations,
}

/// An indentation test, `[[indentations]]`: a body is moved from its pose in the scene along a direction
/// into the other bodies, with all bodies at rest.
///
/// Its table is a CSV file with the columns `depth_m` and `force_N`, and `sigma_N` if rows have
/// standard deviations of their own.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::io) struct IndentationsTable {
    /// Name of the body in the scene.
    pub body: String,
    /// Direction of its motion in W, of any length.
    pub direction: Exactly<f64, 3>,
    /// The table.
    pub file: String,
    /// What the table calls its columns, and in which units it has them, by the names above.
    #[serde(default)]
    pub columns: Columns,
    /// Standard deviation of forces; needed where the table has no column `sigma_N`.
    #[cfg_attr(test, schemars(extend("x-unit" = "N")))]
    pub force_sigma: Option<f64>,
    /// By how much less deep than the table says the body is: a gap that it crosses before it touches. As a parameter
    /// `indentations[INDEX].offset`, with the place of the table, counted from 0.
    #[serde(default)]
    #[cfg_attr(test, schemars(extend("x-unit" = "m")))]
    pub offset: f64,
    /// Residual of one row, in standard deviations, from which it counts less than squared.
    #[cfg_attr(test, schemars(extend("x-default" = "never")))]
    pub outlier_limit: Option<f64>,
    /// How much those beyond the limit count.
    #[serde(default)]
    pub outlier_loss: LossKind,
}
