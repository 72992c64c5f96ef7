//! Why something cannot be fitted or optimized.

use crate::multibody::{MassPropertiesError, ModelError, ParameterError};
use crate::rollout::SimulationError;

/// Most steps from one recorded state to the next.
pub(super) const LARGEST_GAP: f64 = 1e5;

/// Largest difference over its standard deviation.
pub(super) const LARGEST_RESIDUAL: f64 = 1e100;

/// Why something cannot be fitted or optimized.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum ProblemError {
    /// There is nothing to fit.
    #[error("no parameters: at least one is needed")]
    NoParameters,
    /// Two parameters have the same name.
    #[error("parameter `{name}` is listed twice: each may appear once")]
    DuplicateParameter { name: String },
    /// A number that is not finite where it must be, or NaN.
    #[error("parameter `{name}`: `{field}` is {found}, it must be {allowed}")]
    NotANumber { name: String, field: &'static str, found: f64, allowed: &'static str },
    /// The lower bound is not below the upper one.
    #[error("parameter `{name}`: `lower` is {lower}, it must be below `upper`, which is {upper}")]
    BoundsCrossed { name: String, lower: f64, upper: f64 },
    /// The start lies outside the bounds.
    #[error("parameter `{name}`: `initial` is {initial}, it must lie between {lower} and {upper}")]
    StartOutside { name: String, initial: f64, lower: f64, upper: f64 },
    /// A logarithmic scale and a number that has no logarithm.
    #[error(
        "parameter `{name}`: `{field}` is {found}, it must be positive where `log = true` \
         (leave a lower bound out to allow every positive value)"
    )]
    LogOfNonPositive { name: String, field: &'static str, found: f64 },
    /// A list of values that does not match the parameters.
    #[error("{found} values for {expected} parameters")]
    ValueCount { found: usize, expected: usize },
    /// Times and values do not belong together.
    #[error(
        "there are {times} times and {values} values; there must be one value for each time, and at least one"
    )]
    TargetCount { times: usize, values: usize },
    /// Times do not increase.
    #[error("time {index} is {time} s; times must be finite, and each larger than the one before")]
    TargetTime {
        /// Which, from 0.
        index: usize,
        /// The time, s.
        time: f64,
    },
    /// A weight is not usable.
    #[error("a weight is {0}; it must be at least 0 and finite")]
    Weight(f64),
    /// Control values and forces of steps have no value at the end.
    #[error(
        "a command or the force of a step has no value at the end, when no step starts; its cost must be a running one"
    )]
    ControlAtEnd,
    /// A number of a constraint that is not allowed.
    #[error("constraint {index}: {field} is {value}; it must be {allowed}")]
    ConstraintValue { index: usize, field: &'static str, value: f64, allowed: &'static str },
    /// A design variable that cannot be.
    #[error("design variable {index}: {message}")]
    Design { index: usize, message: String },
    /// An end of the motions that cannot be a variable.
    #[error("the end time as a variable: {0}")]
    EndTime(String),
    /// A member of an ensemble whose design does not have the shared variables.
    #[error("{member} has a design of {found} variables, but the problem has {expected}")]
    DesignCount { member: String, found: usize, expected: usize },
    /// A constraint that any motion keeps.
    #[error("constraint {index} has no bound; it needs at least one")]
    Unbounded { index: usize },
    /// The times do not make steps.
    #[error(transparent)]
    Simulation(#[from] SimulationError),
    /// The knots do not fit the motion.
    #[error(transparent)]
    Knots(SimulationError),
    /// There is not one range for each control value.
    #[error("there are ranges for {found} control values, but actuators and forces take {expected}")]
    RangeCount { found: usize, expected: usize },
    /// A control value that there is not, or twice.
    #[error("control {index} is to be optimized: there are {expected}, counted from 0, each at most once")]
    ControlPlace { index: usize, expected: usize },
    /// There is nothing to optimize.
    #[error("no control value of an actuator or a force is to be optimized: there is nothing to do")]
    NoControls,
    /// A bound that is NaN, or a lower one above the upper one.
    #[error(
        "control {index}: the lower bound is {lower} and the upper bound {upper}; the lower one must not exceed the upper one"
    )]
    Bounds {
        /// Index of the control value in a row.
        index: usize,
        lower: f64,
        upper: f64,
    },
    /// A scale that is not positive.
    #[error("control {index}: the scale is {found}, it must be positive and finite")]
    Scale {
        /// Index of the control value in a row.
        index: usize,
        found: f64,
    },
    /// A method that does not take a smoothed cost.
    #[error("a smoothed cost needs the method `lbfgs`, found `{method}`: the others take residuals")]
    Smoothed { method: &'static str },
    /// It has none of the forms.
    #[error(
        "parameter `{path}`: it must be `materials.NAME.FIELD`, `bodies.NAME.FIELD`, \
         `bodies.NAME.geometries[INDEX].scale`, `pairs.BODY.OTHER.FIELD`, `joints.NAME.FIELD`, \
         `actuators.NAME.FIELD`, `loads.NAME.FIELD`, `contact.FIELD`, `gravity[AXIS]`, `indentations[INDEX].offset`, `sensors.NAME.delay`, \
         `sensors.NAME.position[AXIS]`, `sensors.NAME.rotation[AXIS]` or `sensors.NAME.channels[INDEX].offset`"
    )]
    Path { path: String },
    /// There is no such material or body.
    #[error("parameter `{path}`: no {kind} `{name}`; the scene has {found}")]
    NoSuchName {
        path: String,
        /// `material`, `body`, `joint`, `actuator` or `load`.
        kind: &'static str,
        name: String,
        found: String,
    },
    /// The material or body has no such number.
    #[error("parameter `{path}`: no `{field}`; allowed are {allowed}")]
    NoSuchField { path: String, field: String, allowed: &'static str },
    /// The body has no such geometry.
    #[error("parameter `{path}`: the body has {found} geometries, the index must be below that")]
    NoSuchGeometry { path: String, found: usize },
    /// The mass properties come from the geometries.
    #[error(
        "parameter `{path}`: `inertia` and `center_of_mass` of the body come from its geometries; \
         only given ones can be fitted"
    )]
    MassNotGiven { path: String },
    /// The body is fixed, so its mass does not matter.
    #[error("parameter `{path}`: the body is fixed, it has no mass")]
    NoMass { path: String },
    #[error(
        "parameter `{path}`: joints move the body; a fixed or free body can be shifted, and a joint by `joints.NAME.shift`"
    )]
    OnJoints { path: String },
    /// A displacement at the start, which a fit takes from its recordings.
    #[error(
        "parameter `{path}`: a fit takes the start of a motion from its recordings, or estimates it (`starts`)"
    )]
    OfStart { path: String },
    /// There are no two such bodies.
    #[error(
        "parameter `{path}`: `{names}` are not two bodies of the scene with a dot between them; the scene has {found}"
    )]
    NoSuchPair { path: String, names: String, found: String },
    /// A body of the pair has a geometry without a material.
    #[error(
        "parameter `{path}`: body `{body}` has no material of its own and takes the friction of the other: \
         name `materials.NAME.friction` with the other's material instead, or give it one"
    )]
    NoOwnMaterial { path: String, body: String },
    /// A material of the pair is another body's too.
    #[error(
        "parameter `{path}`: body `{body}` has the material `{material}` too, so that the friction of other pairs \
         would change with it: give each body of the pair a material of its own"
    )]
    SharedMaterial { path: String, material: String, body: String },
    /// There is no measurement.
    #[error("no measurements: at least one recording or indentation test is needed")]
    NoMeasurements,
    /// Two parameters of a fit set the same parameter of the model.
    #[error("parameters `{first}` and `{second}` set the same quantity: leave one of them out")]
    Overlap { first: String, second: String },
    /// A parameter's value does not fit the model.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// Mass and inertia to start from that no distribution of mass has.
    #[error(
        "body `{body}`: {source}; start from others, or fit `bodies.{body}.pseudo_inertia[INDEX]`, which are always possible"
    )]
    Impossible { body: String, source: MassPropertiesError },
    /// A simulation failed.
    #[error("{recording}, from t = {time} s: {source}")]
    Recorded {
        recording: String,
        /// The recorded time that the simulation started from, s.
        time: f64,
        source: Box<SimulationError>,
    },
    /// A body that is not in the model.
    #[error("no body `{name}`; the scene has {found}")]
    NoSuchBody { name: String, found: String },
    /// The recorded body does not move.
    #[error("body `{name}` is fixed: only the motion of a free body can be compared with a recording")]
    FixedBody { name: String },
    /// Bodies whose motion was not recorded.
    #[error(
        "body `{other}` is free but the recordings are of `{body}` only, so where it is at their \
         start is not known: fix it, or leave it out of the scene"
    )]
    OtherFreeBody { body: String, other: String },
    /// The indented body cannot touch anything.
    #[error("body `{name}` cannot touch any other body of the scene, so it has no indentation force")]
    NothingToIndent { name: String },
    /// Every force of an indentation test pulls.
    #[error(
        "{place}: all forces are negative; a force is that against the motion, positive where the body is pressed back"
    )]
    NegativeForces {
        /// The table, and its first line.
        place: String,
    },
    /// Depths and forces of an indentation test that are each other's.
    #[error(
        "{place}: depths reach {depth} m and forces {force} N, and body `{body}` is {size} m long: the columns of depth \
         and force are swapped"
    )]
    SwappedColumns {
        /// The table, and its first line.
        place: String,
        /// The largest depth, m.
        depth: f64,
        /// The largest force, N.
        force: f64,
        body: String,
        /// Its largest size, m.
        size: f64,
    },
    /// Bodies that touch without a pressure between them.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A part of the model that a sensor measures, and that the model does not have.
    #[error("no {what} `{name}`; there are: {found}")]
    NoSuchPart { what: &'static str, name: String, found: String },
    /// Not as many columns as a quantity has.
    #[error("`columns` has {found} names; {quantity} has {expected}")]
    Columns { quantity: &'static str, found: usize, expected: String },
    /// A recorded orientation that is none.
    #[error(
        "{place}: a quaternion of length {length}, it must be of length 1 within 1 %, with the real part first"
    )]
    Quaternion {
        /// The recording, and the line.
        place: String,
        length: f64,
    },
    /// A recording of one free body, in a scene with joints.
    #[error(
        "joint `{joint}` of the scene moves, and `trajectories` are of scenes of free and fixed bodies: use \
         `recordings` with `sensors`, which are of any scene"
    )]
    MovingJoint { joint: String },
    /// A setting out of its range.
    #[error("`{field}` is {found}, it must be {allowed}")]
    Setting { field: &'static str, found: String, allowed: &'static str },
    /// No recorded state that a window may start from.
    #[error("{recording}: no three recorded states in a row without contact, so no window can start in one")]
    AlwaysTouching { recording: String },
    /// Two recorded states that are too far apart to be simulated from one to the other.
    #[error(
        "{place}: the time between this state and the one before it, {span} s, takes more than {LARGEST_GAP} steps of {time_step} s; cut the recording there, or make the steps longer"
    )]
    Gap {
        /// The recording, and the line where it has one.
        place: String,
        /// Time between the two, s.
        span: f64,
        /// Length of a step, s.
        time_step: f64,
    },
    /// The difference of the model from a measured value is too large to be squared.
    #[error(
        "{place}: the model is {residual:e} standard deviations from what was measured; at most {LARGEST_RESIDUAL:e} is allowed, so that squares do not overflow"
    )]
    Residual {
        /// The file, and the line where it has one.
        place: String,
        residual: f64,
    },
    /// The differences of the model from a measurement overflow.
    #[error("{measurement}: the differences of the model from what was measured are too large to be squared")]
    NotFinite { measurement: String },
    /// A time window that leaves no recorded time to compare with.
    #[error("{recording}: fewer than two recorded times lie between {from} s and {until} s")]
    EmptyWindow {
        recording: String,
        /// Start of the window, s.
        from: f64,
        /// End of the window, s.
        until: f64,
    },
}
