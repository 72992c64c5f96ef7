//! The schema of controllers in scene files, and in the files that `isobar optimize` writes. As in
//! [`crate::io::scene::schema`], only the form is checked.

#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::io::scene::actuator_schema::{InterpolationTable, one};
use crate::io::scene::quantity_schema::{BodyPairTable, SeenBodyTable};
use crate::io::strict::Exactly;

/// A feedback controller, `[[controllers]]`. Its commands are added to those of the actuators' own tables and of
/// other controllers.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::io) struct ControllerTable {
    /// Its name. No other controller may have the same. Problem files name its parameters by it:
    /// `controllers.NAME.PARAMETER`.
    pub name: String,
    /// Time from one sample to the next, a whole number of steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(extend("x-unit" = "s", "x-default" = "a step")))]
    pub period: Option<f64>,
    /// Time from a sample to when its commands act, a whole number of steps. Until the first ones act, the
    /// controller adds nothing.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[cfg_attr(test, schemars(extend("x-unit" = "s")))]
    pub delay: f64,
    /// Errors of what it observes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(extend("x-default" = "none")))]
    pub noise: Option<NoiseTable>,
    /// The law by which it commands.
    pub law: LawTable,
}

fn is_zero(x: &f64) -> bool {
    *x == 0.0
}

fn is_one(x: &f64) -> bool {
    *x == 1.0
}

/// Standard deviations of normally distributed errors of sensors, by what they measure. Each sample has errors of
/// its own.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::io) struct NoiseTable {
    /// Seed of the random numbers; members of an ensemble have seeds of their own, made from it.
    #[serde(default)]
    pub seed: u64,
    /// Of positions and rotations.
    #[serde(default)]
    #[cfg_attr(test, schemars(extend("x-unit" = "m or rad")))]
    pub position: f64,
    /// Of velocities, those of slip included.
    #[serde(default)]
    #[cfg_attr(test, schemars(extend("x-unit" = "m/s or rad/s")))]
    pub velocity: f64,
    /// Of forces.
    #[serde(default)]
    #[cfg_attr(test, schemars(extend("x-unit" = "N")))]
    pub force: f64,
    /// Of areas.
    #[serde(default)]
    #[cfg_attr(test, schemars(extend("x-unit" = "m²")))]
    pub area: f64,
}

/// The law of a controller.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(in crate::io) enum LawTable {
    /// A timetable: commands over time, whatever happens.
    Knots(KnotsLawTable),
    /// Proportional, integral and derivative feedback of the position of a joint or a body.
    Pid(PidTable),
    /// Regulation of a grip force, whose set point slip may raise.
    GripForce(GripForceTable),
    /// A command that slip raises.
    SlipReflex(SlipReflexTable),
    /// Linear feedback about a nominal motion, with gains that change over time: what `isobar optimize` writes as
    /// the policy of iLQR.
    LinearFeedback(LinearFeedbackTable),
    /// A neural network with one hidden layer.
    NeuralNetwork(NeuralNetworkTable),
}

/// An actuator that a controller commands: its name, or a table with the factor of the command.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(untagged, expecting = "must be the name of an actuator, or { actuator = NAME, ratio = … }")]
pub(in crate::io) enum CommandedTable {
    /// Its name.
    Name(String),
    /// Its name and the factor.
    Table(CommandedActuatorTable),
}

/// An actuator and the factor of the command.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::io) struct CommandedActuatorTable {
    /// Name of the actuator.
    pub actuator: String,
    /// Factor of the command.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub ratio: f64,
}

/// Commands by knots. Parameters: `values`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::io) struct KnotsLawTable {
    /// Names of the actuators.
    pub actuators: Vec<String>,
    /// Times of the knots, increasing.
    #[cfg_attr(test, schemars(extend("x-unit" = "s")))]
    pub times: Vec<f64>,
    /// The interpolation between the knots.
    #[serde(default)]
    pub interpolation: InterpolationTable,
    /// At each knot a number for each actuator.
    pub values: Vec<f64>,
}

/// The command proportional · e + integral · ∫ e dt − derivative · rate, with e = target − measured. Exactly one of
/// `joint`, `position` and `rotation` is given. Parameters: `proportional`, `integral`, `derivative`, `target`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::io) struct PidTable {
    /// The actuators.
    pub actuators: Vec<CommandedTable>,
    /// The coordinate of a joint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub joint: Option<MeasuredJointTable>,
    /// The position of a body's origin along an axis.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<MeasuredBodyTable>,
    /// The rotation of a body from the orientation of W, or of the other body, about an axis: a component of the
    /// rotation vector.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rotation: Option<MeasuredBodyTable>,
    /// Command per error.
    #[serde(default)]
    pub proportional: f64,
    /// Command per integral of the error.
    #[serde(default)]
    pub integral: f64,
    /// Command per rate.
    #[serde(default)]
    pub derivative: f64,
    /// The target: a number at each of `target_times`, one alone if there are none.
    pub target: Vec<f64>,
    /// Times of the target, which is linear in between.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, schemars(extend("x-unit" = "s", "x-default" = "none")))]
    pub target_times: Vec<f64>,
}

/// A coordinate of a joint whose configuration is a sum of moves.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::io) struct MeasuredJointTable {
    /// Name of the joint (with the prefix of its robot).
    pub joint: String,
    /// Index of its velocity coordinate, counted from 0.
    #[serde(default)]
    pub coordinate: usize,
}

/// A body and an axis.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::io) struct MeasuredBodyTable {
    /// Its name.
    pub body: String,
    /// Name of the body that it is seen from.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(extend("x-default" = "the world")))]
    pub relative_to: Option<String>,
    /// The axis, in W or in the frame of the other body.
    pub axis: Exactly<f64, 3>,
}

/// The command feedforward · a + proportional · e + integral · ∫ e dt, with a = set_point + r, what is aimed at, and
/// e = a − F. F is the mean over the contacts of the pressure integrated over each; r is what slip has raised,
/// r' = gain · slip − release · r. Parameters: `set_point`, `proportional`, `integral`, `feedforward`, and with `slip`
/// `slip.gain`, `slip.release`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::io) struct GripForceTable {
    /// The actuators.
    pub actuators: Vec<CommandedTable>,
    /// The contacts whose force is measured, at least one.
    pub contacts: Vec<BodyPairTable>,
    /// The force that is aimed at: a number, or one for each of `set_point_times`.
    #[cfg_attr(test, schemars(extend("x-unit" = "N")))]
    pub set_point: SetPointTable,
    /// Times of the set point, which is linear in between.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, schemars(extend("x-unit" = "s", "x-default" = "none")))]
    pub set_point_times: Vec<f64>,
    /// Command per error.
    #[cfg_attr(test, schemars(extend("x-unit" = "1/N")))]
    pub proportional: f64,
    /// Command per integral of the error.
    #[serde(default)]
    #[cfg_attr(test, schemars(extend("x-unit" = "1/(N s)")))]
    pub integral: f64,
    /// Command per force that is aimed at: 1 where the command is a force.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[cfg_attr(test, schemars(extend("x-unit" = "1/N")))]
    pub feedforward: f64,
    /// How slip raises the set point.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(extend("x-default" = "it does not")))]
    pub slip: Option<SlipTable>,
}

/// A set point.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(untagged, expecting = "must be a number, or a list of numbers")]
pub(in crate::io) enum SetPointTable {
    /// The same at all times.
    Constant(f64),
    /// One for each time.
    Over(Vec<f64>),
}

impl SetPointTable {
    /// The numbers.
    pub fn values(&self) -> &[f64] {
        match self {
            Self::Constant(value) => std::slice::from_ref(value),
            Self::Over(values) => values,
        }
    }

    /// The numbers, to be changed.
    pub fn values_mut(&mut self) -> &mut [f64] {
        match self {
            Self::Constant(value) => std::slice::from_mut(value),
            Self::Over(values) => values,
        }
    }
}

/// How slip raises something, r' = gain · slip − release · r. The slip of a contact is
/// (√(v² + threshold²) − threshold) F / (F + force), with the slip velocity v and the normal force F.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::io) struct SlipTable {
    /// What a length of slip raises it by.
    #[cfg_attr(test, schemars(extend("x-unit" = "N/m, or command/m")))]
    pub gain: f64,
    /// The rate at which it falls again.
    #[serde(default)]
    #[cfg_attr(test, schemars(extend("x-unit" = "1/s")))]
    pub release: f64,
    /// The slip velocity below which creep counts little.
    #[serde(default = "slip_threshold")]
    #[cfg_attr(test, schemars(extend("x-unit" = "m/s")))]
    pub threshold: f64,
    /// The normal force below which slip counts little.
    #[serde(default = "slip_force")]
    #[cfg_attr(test, schemars(extend("x-unit" = "N")))]
    pub force: f64,
    /// The time from which on slip counts, such as when a hand begins to lift. While it closes, what it pushes into its
    /// middle slides along its pads.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[cfg_attr(test, schemars(extend("x-unit" = "s")))]
    pub from: f64,
}

fn slip_threshold() -> f64 {
    2e-3
}

fn slip_force() -> f64 {
    0.1
}

/// A command that slip raises. Parameters: `slip.gain`, `slip.release`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::io) struct SlipReflexTable {
    /// The actuators.
    pub actuators: Vec<CommandedTable>,
    /// The contacts whose slip is felt, at least one; their mean counts.
    pub contacts: Vec<BodyPairTable>,
    /// How slip raises the command.
    pub slip: SlipTable,
}

/// Commands by knots, whose values are decided one after the other from the state: those of the file, plus gains times
/// the deviation from the state of the file and the changes of the knots before, within bounds. It has no parameters.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::io) struct LinearFeedbackTable {
    /// Names of the actuators.
    pub actuators: Vec<String>,
    /// Times of the knots, increasing.
    #[cfg_attr(test, schemars(extend("x-unit" = "s")))]
    pub times: Vec<f64>,
    /// The interpolation between the knots.
    #[serde(default)]
    pub interpolation: InterpolationTable,
    /// Smallest command of each actuator.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, schemars(extend("x-default" = "no bounds")))]
    pub lower: Vec<f64>,
    /// Largest command of each actuator.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, schemars(extend("x-default" = "no bounds")))]
    pub upper: Vec<f64>,
    /// A stage for each knot.
    pub stages: Vec<FeedbackStageTable>,
}

/// When the values at a knot are decided, and how.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::io) struct FeedbackStageTable {
    /// The time.
    #[cfg_attr(test, schemars(extend("x-unit" = "s")))]
    pub time: f64,
    /// The nominal state: of each free body its orientation as a quaternion w, x, y, z, its position, angular velocity
    /// and velocity, all in W; then the joints' configuration and velocity.
    pub state: Vec<f64>,
    /// The nominal value of each actuator.
    pub values: Vec<f64>,
    /// For each actuator a row: the gain on each number of the tangent from the nominal state (of each free body
    /// rotation, translation, angular velocity and velocity; then changes of the joints' configuration and velocity),
    /// then on the changes of the values at the knots before, the nearest first.
    pub gains: Vec<Vec<f64>>,
}

/// Two layers: u = scale · (W₂ tanh(W₁ x + b₁) + b₂). Parameters: `hidden_weights`, `hidden_offsets`, `output_weights`,
/// `output_offsets`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::io) struct NeuralNetworkTable {
    /// What it sees, at least one.
    pub inputs: Vec<NetworkInputTable>,
    /// What it commands, at least one.
    pub outputs: Vec<NetworkOutputTable>,
    /// Number of hidden units.
    pub hidden: usize,
    /// W₁, row by row: for each hidden unit a number for each number that it sees.
    #[serde(default)]
    #[cfg_attr(test, schemars(extend("x-default" = "small random numbers")))]
    pub hidden_weights: Vec<f64>,
    /// b₁, a number for each hidden unit.
    #[serde(default)]
    #[cfg_attr(test, schemars(extend("x-default" = "zeros")))]
    pub hidden_offsets: Vec<f64>,
    /// W₂, row by row: for each output a number for each hidden unit.
    #[serde(default)]
    #[cfg_attr(test, schemars(extend("x-default" = "zeros")))]
    pub output_weights: Vec<f64>,
    /// b₂, a number for each output.
    #[serde(default)]
    #[cfg_attr(test, schemars(extend("x-default" = "zeros")))]
    pub output_offsets: Vec<f64>,
    /// Seed of the random numbers.
    #[serde(default)]
    pub seed: u64,
}

/// What a network sees: exactly one quantity, from `joint_position` to `slip_velocity`.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub(in crate::io) struct NetworkInputTable {
    /// A coordinate of a joint, rad or m.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub joint_position: Option<MeasuredJointTable>,
    /// A velocity of a joint, rad/s or m/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub joint_velocity: Option<MeasuredJointTable>,
    /// The position of a body's origin, m, three numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<SeenBodyTable>,
    /// The rotation vector of a body, rad, three numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rotation: Option<SeenBodyTable>,
    /// The velocity of a body's origin, m/s, three numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub velocity: Option<SeenBodyTable>,
    /// The angular velocity of a body, rad/s, three numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub angular_velocity: Option<SeenBodyTable>,
    /// The contact force on a body, in its frame, N, three numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contact_force: Option<BodyPairTable>,
    /// The pressure integrated over the contact of two bodies, N.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub normal_force: Option<BodyPairTable>,
    /// The area of that contact, m².
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patch_area: Option<BodyPairTable>,
    /// Its centroid, in the frame of the body that feels it, m, three numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patch_centroid: Option<BodyPairTable>,
    /// The velocity with which the other body slides there, in the frame of the body that feels it, m/s, three numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slip_velocity: Option<BodyPairTable>,
    /// What is taken off each number.
    #[serde(skip_serializing_if = "is_zero")]
    pub offset: f64,
    /// What it is then divided by.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(extend("default" = 1.0)))]
    pub scale: Option<f64>,
}

/// A command of a network.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::io) struct NetworkOutputTable {
    /// The actuators.
    pub actuators: Vec<CommandedTable>,
    /// What the network's number is multiplied by.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub scale: f64,
}
