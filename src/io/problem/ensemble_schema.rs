//! The schema of controllers' parameters and ensembles in problem files. As in [`crate::io::scene::schema`], only the
//! form is checked.

#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;

use crate::io::strict::Exactly;
use crate::optimize::ensemble::Risk;

/// A number that is optimized beside commands, `[[controller_parameters]]` or `[[model_parameters]]`. It starts from its
/// value in the scene, clamped to its bounds.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::io) struct NumberTable {
    /// Its name. Of a controller, such as `controllers.grip.proportional`; that of a list stands for all its numbers, as
    /// in `controllers.net.hidden_weights`. Of the model, as in fit files, such as
    /// `materials.pad.hydroelastic_modulus`, `bodies.pad.geometries[0].scale` or `actuators.lift.stiffness`; and
    /// `bodies.ball.shift[0]` or `joints.lift.shift`, by how much more a body or a joint is moved at the start.
    pub name: String,
    /// Further parameters of the model that take the same value, such as the sizes of both pads.
    #[serde(default)]
    pub also: Vec<String>,
    /// Smallest value.
    #[cfg_attr(test, schemars(extend("x-default" = "none")))]
    pub lower: Option<f64>,
    /// Largest value.
    #[cfg_attr(test, schemars(extend("x-default" = "none")))]
    pub upper: Option<f64>,
    /// The scale of the optimizer's variable. Not with `log`.
    #[cfg_attr(test, schemars(extend("x-default" = "half of the distance of the bounds, or 1")))]
    pub scale: Option<f64>,
    /// Whether the optimizer's variable is the logarithm of the value, for what may change by orders of magnitude. The
    /// value must be positive.
    #[serde(default)]
    pub log: bool,
}

/// Members of an ensemble: copies of the scene in which `[[vary]]` changes something.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub(in crate::io) struct EnsembleTable {
    /// Number of members that are optimized for.
    pub members: usize,
    /// Number of other members, drawn by themselves, that the result is tried on.
    pub test: usize,
    /// Seed of all draws, and of the errors of sensors.
    pub seed: u64,
    /// What of the members' costs is minimized: `"mean"`, `"worst"`, `{ smooth_worst = TEMPERATURE }` or
    /// `{ conditional_value = PART }`.
    pub risk: Risk,
}

impl Default for EnsembleTable {
    fn default() -> Self {
        Self { members: 1, test: 0, seed: 0, risk: Risk::default() }
    }
}

/// Something that differs from member to member, `[[vary]]`: exactly one of `value`, `factor` and `offset`.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::io) struct VaryTable {
    /// A field of the scene file that is there, such as `bodies.ball.mass`, `materials.skin.friction`,
    /// `bodies.ball.translation[0]`, `controllers.grip.delay` or `bodies.ball.geometries[0].shape.mesh.file`; elements
    /// of lists are named or counted from 0. Several fields take the same draw. `scene` alone is the scene file.
    pub field: FieldsTable,
    /// What is put there.
    pub value: Option<DistributionTable>,
    /// What the scene's number is multiplied by.
    pub factor: Option<DistributionTable>,
    /// What is added to the scene's number.
    pub offset: Option<DistributionTable>,
}

/// One field or several.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(untagged, expecting = "must be a field, or a list of fields")]
pub(in crate::io) enum FieldsTable {
    /// One.
    One(String),
    /// Several.
    Several(Vec<String>),
}

impl FieldsTable {
    /// All of them.
    pub fn all(&self) -> &[String] {
        match self {
            Self::One(field) => std::slice::from_ref(field),
            Self::Several(fields) => fields,
        }
    }
}

/// Where draws come from.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(in crate::io) enum DistributionTable {
    /// Between two numbers, all equally likely.
    Uniform(Exactly<f64, 2>),
    /// Between two positive numbers, their logarithms equally likely.
    LogUniform(Exactly<f64, 2>),
    /// Normally distributed.
    Normal(NormalTable),
    /// These, one member after the other in turn; numbers, or texts such as names of files.
    List(Vec<ListedTable>),
}

/// A normal distribution.
#[derive(Clone, Copy, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::io) struct NormalTable {
    /// Mean.
    pub mean: f64,
    /// Standard deviation.
    pub deviation: f64,
}

/// An element of a list.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(untagged, expecting = "must be a number or a text")]
pub(in crate::io) enum ListedTable {
    /// A number.
    Number(f64),
    /// A text.
    Text(String),
}
