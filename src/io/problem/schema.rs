//! What a file of trajectory optimization may hold. The comments are the text of its reference, as
//! in [`crate::io::scene::schema`].

use std::path::PathBuf;

use nalgebra::Vector3;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;

use crate::io::problem::ensemble_schema::{EnsembleTable, NumberTable, VaryTable};
use crate::io::scene::actuator_schema::{InterpolationTable, KnotsTable};
use crate::io::scene::quantity_schema::{BodyPairTable, CoordinateTable, OrientationTable, SeenBodyTable};
use crate::io::scene::quantity_tables::{ANGULAR_VELOCITY, Of, POSITION, VELOCITY};
use crate::io::strict::Exactly;
use crate::optimize::objective::{Deviation, When};
use crate::optimize::randomized_smoothing::SmoothingSettings;
use crate::optimize::trajectory::TrajectoryMethod;
#[cfg(test)]
use crate::optimize::trajectory::{MAXIMUM_ROUNDS, TrajectorySettings};
use crate::rollout::Quantity;

/// A problem defines a cost of a scene's motion and the actuator commands that may change to lower it.
/// It is a TOML or JSON file.
///
/// All numbers are in SI units, angles in radians. The cost is the sum over its terms of
/// ½ ∫ |w (x − target)|² dt, or of ½ |w (x − target)|² at the end.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::io) struct ProblemTable {
    /// The scene file, relative to the problem.
    pub scene: PathBuf,
    /// End of the motion, which begins at 0. With `end_time` it is where the optimization starts from.
    #[cfg_attr(test, schemars(extend("x-unit" = "s")))]
    pub until: f64,
    /// For how long the motion goes on after `until`, with commands that stay at what they are there. What a grip holds at
    /// `until` it may let go after it, if nothing costs there: costs, constraints and success count to the end of this time.
    /// Not with `end_time`.
    #[cfg_attr(test, schemars(extend("x-unit" = "s")))]
    #[serde(default)]
    pub hold: f64,
    /// Lets the end of the motion be optimized: knots are stretched with the motion, and steps keep their length. The
    /// method is `lbfgs`.
    #[cfg_attr(test, schemars(extend("x-default" = "the end is `until`")))]
    pub end_time: Option<EndTimeTable>,
    /// Knots of the commands that are optimized. Needed with `controls`.
    pub knots: Option<ProblemKnotsTable>,
    /// The actuators whose commands are optimized, at least one unless there are `controller_parameters`,
    /// `model_parameters` or `end_time`. The other actuators keep the commands of the scene.
    #[serde(default)]
    pub controls: Vec<ControlTable>,
    /// Parameters of the scene's controllers that are optimized. With controllers or members of an ensemble the
    /// method is `lbfgs`.
    #[serde(default)]
    pub controller_parameters: Vec<NumberTable>,
    /// Parameters of the model and of its initial state that are optimized: a design. The method is `lbfgs`.
    #[serde(default)]
    pub model_parameters: Vec<NumberTable>,
    /// How many members an ensemble has, and what of their costs is minimized. Needed with `vary`.
    #[cfg_attr(test, schemars(extend("x-default" = "the scene alone")))]
    pub ensemble: Option<EnsembleTable>,
    /// What differs from member to member.
    #[serde(default)]
    pub vary: Vec<VaryTable>,
    /// When a member of the test succeeds: all of these hold. Each is written as a cost whose `deviation` is `above`
    /// or `below`, and holds where no such deviation is left: at all times, or at the end; weights of 0 leave axes out.
    #[serde(default)]
    pub success: Vec<CostTable>,
    /// The terms of the cost, at least one.
    pub costs: Vec<CostTable>,
    /// What the motion has to keep.
    #[serde(default)]
    pub constraints: Vec<ConstraintTable>,
    /// Settings of the optimization.
    #[serde(default)]
    pub optimizer: OptimizerTable,
}

impl ProblemTable {
    /// Whether values of commands at knots are all that is optimized.
    pub fn optimizes_commands_alone(&self) -> bool {
        self.controller_parameters.is_empty() && self.model_parameters.is_empty() && self.end_time.is_none()
    }
}

/// The end of the motion as a variable.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::io) struct EndTimeTable {
    /// Earliest end.
    #[cfg_attr(test, schemars(extend("x-unit" = "s")))]
    pub lower: f64,
    /// Latest end.
    #[cfg_attr(test, schemars(extend("x-unit" = "s")))]
    pub upper: f64,
    /// The scale of the optimizer's variable.
    #[cfg_attr(test, schemars(extend("x-unit" = "s", "x-default" = "half of the distance of the bounds")))]
    pub scale: Option<f64>,
    /// What each second of the motion costs.
    #[serde(default)]
    #[cfg_attr(test, schemars(extend("x-unit" = "1/s")))]
    pub weight: f64,
}

/// Knots in time; exactly one of `count` and `times` is given.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::io) struct ProblemKnotsTable {
    /// The number of equally spaced knots.
    pub count: Option<usize>,
    /// The times of the knots, increasing.
    #[cfg_attr(test, schemars(extend("x-unit" = "s")))]
    pub times: Option<Vec<f64>>,
    /// The interpolation of values between knots.
    #[serde(default)]
    pub interpolation: InterpolationTable,
}

/// An actuator whose command is optimized, `[[controls]]`.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::io) struct ControlTable {
    /// Its name in the scene.
    pub actuator: String,
    /// Smallest command, in its unit.
    #[cfg_attr(test, schemars(extend("x-default" = "none")))]
    pub lower: Option<f64>,
    /// Largest command.
    #[cfg_attr(test, schemars(extend("x-default" = "none")))]
    pub upper: Option<f64>,
    /// The scale of the optimizer's variables.
    #[cfg_attr(test, schemars(extend("x-default" = "half of the distance of the bounds, or 1")))]
    pub scale: Option<f64>,
    /// The command at the start of the optimization, clamped to its bounds.
    #[cfg_attr(test, schemars(extend("x-default" = "that of the scene")))]
    pub start: Option<StartTable>,
}

/// The start of an optimization. A command over time is sampled at the knots, or for held knots in the
/// middle of the time for which each is held.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(
    untagged,
    expecting = "must be a number, one number for each knot, or { times = […], values = […], interpolation = … }"
)]
pub(in crate::io) enum StartTable {
    /// A number for all knots.
    Constant(f64),
    /// One number for each knot.
    AtKnots(Vec<f64>),
    /// A command over time.
    Command(KnotsTable),
}

/// A table of exactly one quantity, and of fields of its own after it.
macro_rules! quantity_table {
    ($(#[$about:meta])* $name:ident { $($own:tt)* }) => {
        $(#[$about])*
        #[derive(Debug, Deserialize)]
        #[cfg_attr(test, derive(JsonSchema))]
        #[serde(deny_unknown_fields)]
        pub(in crate::io) struct $name {
            /// Its name in results.
            #[cfg_attr(test, schemars(extend("x-default" = "made from the quantity")))]
            pub name: Option<String>,
            /// The command of an actuator, by its name.
            pub control: Option<String>,
            /// A coordinate of a joint, rad or m.
            pub joint_position: Option<CoordinateTable>,
            /// A velocity of a joint, rad/s or m/s.
            pub joint_velocity: Option<CoordinateTable>,
            /// The position of a body's origin, m, in W or in the frame of another body.
            pub position: Option<SeenBodyTable>,
            /// The rotation vector that turns the target orientation into the body's, rad.
            pub orientation: Option<OrientationTable>,
            /// The velocity of a body's origin, m/s, in W, or as seen from another body, in its frame.
            pub velocity: Option<SeenBodyTable>,
            /// The angular velocity of a body, rad/s, in W, or relative to another body, in its frame.
            pub angular_velocity: Option<SeenBodyTable>,
            /// The contact force that one body exerts on another, in W, N: that of the state, by the law of forces at an
            /// instant. `step_force` differs where velocities change much within a step.
            pub contact_force: Option<BodyPairTable>,
            /// The contact force that one body exerts on another over a step, in W, N: the impulse that the step was taken with,
            /// divided by its length; for the solvers `lagged`, `similar`, `sap` and `tamsi`. Not at the end, where no step
            /// starts.
            pub step_force: Option<BodyPairTable>,
            /// The area of the surface on which two bodies touch, m²; 0 where they do not.
            pub contact_area: Option<BodyPairTable>,
            /// The largest pressure on that surface, without damping, Pa; 0 where they do not touch.
            pub largest_pressure: Option<BodyPairTable>,
            /// The velocity at which a body slips on another, in W, m/s: the mean along the surface of contact,
            /// weighted by the pressure; 0 where they do not touch.
            pub slip: Option<BodyPairTable>,
            /// The moment of the contact of two bodies about the origin of the body that it acts on, in W, N m.
            pub contact_torque: Option<BodyPairTable>,
            $($own)*
        }

        impl $name {
            /// The quantities that it may have, by their keys.
            pub fn quantities(&self) -> [(&'static str, Option<Of<'_>>); 13] {
                let q = |t| Of::Coordinate(t, |joint| joint.q.clone(), |index| Quantity::JointPosition { index });
                let v = |t| Of::Coordinate(t, |joint| joint.v.clone(), |index| Quantity::JointVelocity { index });
                [
                    ("control", self.control.as_deref().map(Of::Actuator)),
                    ("joint_position", self.joint_position.as_ref().map(q)),
                    ("joint_velocity", self.joint_velocity.as_ref().map(v)),
                    ("position", Of::body(&self.position, POSITION)),
                    ("orientation", self.orientation.as_ref().map(Of::Target)),
                    ("velocity", Of::body(&self.velocity, VELOCITY)),
                    ("angular_velocity", Of::body(&self.angular_velocity, ANGULAR_VELOCITY)),
                    ("contact_force", Of::contact(&self.contact_force, |on, from| Quantity::ContactForce { on, from, expressed_in: None })),
                    ("step_force", Of::contact(&self.step_force, |on, from| Quantity::StepForce { on, from })),
                    ("contact_area", Of::contact(&self.contact_area, |on, from| Quantity::ContactArea { on, from })),
                    ("largest_pressure", Of::contact(&self.largest_pressure, |on, from| Quantity::LargestPressure { on, from })),
                    ("slip", Of::contact(&self.slip, |on, from| Quantity::Slip { on, from })),
                    ("contact_torque", Of::contact(&self.contact_torque, |on, from| Quantity::ContactTorque { on, from })),
                ]
            }
        }
    };
}

quantity_table! {
    /// A term of the cost, `[[costs]]`: exactly one quantity, from `control` to `contact_torque`.
    CostTable {
        /// The target of the quantity, in its unit.
        #[cfg_attr(test, schemars(extend("default" = 0.0)))]
        pub target: Option<TargetTable>,
        /// The weight of a deviation, which is multiplied by it before it is squared.
        #[cfg_attr(test, schemars(extend("x-unit" = "1 / quantity")))]
        pub weight: ComponentsTable,
        /// Which deviations count.
        #[serde(default)]
        pub deviation: Deviation,
        /// When the cost applies.
        #[serde(default)]
        pub when: When,
    }
}

quantity_table! {
    /// A constraint, `[[constraints]]`: exactly one quantity, from `control` to `contact_torque`, and bounds: `equal`,
    /// `length`, or at least one of `lower` and `upper`.
    ///
    /// It is kept by an augmented Lagrangian: the optimization is done in rounds, after each of which multipliers
    /// and penalties of the constraints are updated. Multipliers are the derivatives of the lowest cost with respect to the bounds.
    ConstraintTable {
        /// Smallest value.
        #[cfg_attr(test, schemars(extend("x-unit" = "that of the quantity", "x-default" = "none")))]
        pub lower: Option<ComponentsTable>,
        /// Largest value.
        #[cfg_attr(test, schemars(extend("x-unit" = "that of the quantity", "x-default" = "none")))]
        pub upper: Option<ComponentsTable>,
        /// The value that is to be reached.
        #[cfg_attr(test, schemars(extend("x-unit" = "that of the quantity", "x-default" = "none")))]
        pub equal: Option<ComponentsTable>,
        /// Largest length of the vector, such as a force or slip in any direction.
        #[cfg_attr(test, schemars(extend("x-unit" = "that of the quantity", "x-default" = "none")))]
        pub length: Option<f64>,
        /// When it has to hold: all the time, which is at the start of every step and at the end, or at the end.
        #[serde(default)]
        pub when: When,
        /// What violations are measured in, so that penalties of different quantities are alike.
        #[cfg_attr(test, schemars(extend("x-unit" = "that of the quantity", "x-default" = "the largest magnitude of its bounds, or 1")))]
        pub scale: Option<f64>,
        /// The violation that is allowed.
        #[cfg_attr(test, schemars(extend("x-unit" = "that of the quantity", "x-default" = "1e-3 of the scale")))]
        pub tolerance: Option<f64>,
    }
}

/// One number, which stands for all axes, or one for each.
#[derive(Clone, Copy, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(untagged, expecting = "must be a number or [x, y, z]")]
pub(in crate::io) enum ComponentsTable {
    /// The same for all axes.
    Same(f64),
    /// One number each for x, y and z. Not allowed for commands and joints.
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

/// The target of a quantity.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(
    untagged,
    expecting = "must be a number, [x, y, z], or { times = […], values = […] } with such values"
)]
pub(in crate::io) enum TargetTable {
    /// A constant target.
    Constant(ComponentsTable),
    /// A target that changes over time.
    Path(PathTable),
}

/// A target that is linear between its times, and constant before the first and after the last.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::io) struct PathTable {
    /// Times, increasing.
    #[cfg_attr(test, schemars(extend("x-unit" = "s")))]
    pub times: Vec<f64>,
    /// The target at each.
    pub values: Vec<ComponentsTable>,
}

/// Several starts: the start of the file, and others normally distributed around it.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ScatteredStarts {
    /// The number of starts, including that of the file.
    pub count: usize,
    /// Standard deviation, in the scale of each variable; of its logarithm where that is the variable.
    pub spread: f64,
    /// Seed of the random numbers.
    #[serde(default)]
    pub seed: u64,
}

/// Settings of the optimization.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub(in crate::io) struct OptimizerTable {
    /// The method.
    pub kind: TrajectoryMethod,
    /// Most iterations.
    #[cfg_attr(test, schemars(extend("default" = TrajectorySettings::default().max_iterations)))]
    pub max_iterations: Option<u64>,
    /// Most rounds, where there are constraints. Each has at most `max_iterations`.
    #[cfg_attr(test, schemars(extend("default" = MAXIMUM_ROUNDS)))]
    pub max_rounds: Option<usize>,
    /// The optimization ends when an iteration lowers, or is predicted to lower, the cost by less than
    /// this part of the cost.
    #[cfg_attr(test, schemars(extend("x-default" = "1e-3 of `auto`, 1e-6 of ensembles, 1e-8 of the others")))]
    pub cost_tolerance: Option<f64>,
    /// Damping of the first steps, relative to the diagonal of the Hessian. A larger value is more
    /// cautious, for a start far from any solution. Not allowed with `lbfgs`.
    #[cfg_attr(test, schemars(extend("x-default" = "the method's own")))]
    pub initial_damping: Option<f64>,
    /// Several starts. The best result is kept.
    #[cfg_attr(test, schemars(extend("x-default" = "one")))]
    pub starts: Option<ScatteredStarts>,
    /// Smooths the cost over random perturbations. For `lbfgs` only, the method of ensembles. Commands are perturbed beyond
    /// their bounds, all else within them.
    #[cfg_attr(test, schemars(extend("x-default" = "none")))]
    pub smoothing: Option<SmoothingSettings>,
}
