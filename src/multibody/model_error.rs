//! Why a model could not be made.

use crate::contact::ContactError;
use crate::spatial::MassPropertiesError;

/// Most pairs of geometries that can touch: a list of them takes 3 GiB.
pub(super) const LARGEST_PAIR_COUNT: usize = 100_000_000;

/// Why a model could not be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum ModelError {
    /// A free body has no usable mass.
    #[error("body `{body}`: {source}")]
    Mass { body: String, source: MassPropertiesError },
    /// Two geometries could touch between which contact cannot be computed.
    #[error("bodies `{a}` and `{b}` could touch, but {source}; or leave the pair out of contact")]
    Pair {
        a: String,
        b: String,
        /// Why contact between them cannot be computed.
        source: ContactError,
    },
    /// A load cannot act.
    #[error("load {index} {what}")]
    Load {
        /// Its index in the list of loads.
        index: usize,
        what: &'static str,
    },
    /// An actuator cannot act on its body.
    #[error("actuator `{actuator}` {what}")]
    BodyLoad { actuator: String, what: &'static str },
    /// There are too many pairs of geometries.
    #[error(
        "up to {count} pairs of geometries could touch; at most {LARGEST_PAIR_COUNT} are allowed: leave out bodies, or fix them"
    )]
    TooManyPairs { count: usize },
    /// A body is said to be a link that joints do not move.
    #[error("body `{body}` is not a link that joints of the mechanism move")]
    NoLink { body: String },
    /// Two bodies have the same name.
    #[error("bodies {first} and {second} are both called `{name}`; names of bodies must be unique")]
    BodyName { name: String, first: usize, second: usize },
    /// A geometry names a material that the model does not have.
    #[error(
        "body `{body}`: geometry {geometry} names material {material}; it must be below {count}, the number of materials"
    )]
    NoMaterial {
        body: String,
        /// Index of the geometry in the body.
        geometry: usize,
        /// Index of the material that it names.
        material: usize,
        count: usize,
    },
    /// A compliant geometry has a material without a modulus.
    #[error(
        "body `{body}`: geometry {geometry} is compliant, but the hydroelastic_modulus of its material is {value}; it must be positive and finite"
    )]
    Modulus {
        body: String,
        /// Index of the geometry in the body.
        geometry: usize,
        value: f64,
    },
    /// A parameter of a material is out of its range.
    #[error("{owner}: {parameter} is {value}; it must be {allowed}")]
    Material { owner: String, parameter: String, value: f64, allowed: String },
    /// A number of gravity or of the contact settings is out of its range.
    #[error("{what} is {value}; it must be {allowed}")]
    Value { what: String, value: f64, allowed: &'static str },
    /// A pair of bodies to be left out of contact is none.
    #[error(
        "bodies {a} and {b} are to be left out of contact; a pair is two different indices below {count}, the number of bodies"
    )]
    Apart { a: usize, b: usize, count: usize },
    /// Two actuators have the same name.
    #[error("actuators {first} and {second} are both called `{name}`; names of actuators must be unique")]
    ActuatorName { name: String, first: usize, second: usize },
    /// There is no such joint.
    #[error("actuator `{actuator}`: there is no joint `{joint}` that can move; there are {known}")]
    NoJoint { actuator: String, joint: String, known: String },
    /// The joint has no such coordinate.
    #[error(
        "actuator `{actuator}`: joint `{joint}` ({kind}) has no coordinate {index} with a position of its own; {allowed}"
    )]
    NoCoordinate { actuator: String, joint: String, kind: &'static str, index: usize, allowed: String },
    /// It drives no coordinate.
    #[error("actuator `{actuator}` drives no coordinate; it needs at least one")]
    NothingDriven { actuator: String },
    /// It drives a coordinate twice.
    #[error("actuator `{actuator}` drives velocity coordinate {v} twice; a coordinate is driven once")]
    DrivenTwice {
        actuator: String,
        /// The coordinate's index among the velocity coordinates.
        v: usize,
    },
    /// No joint has a coordinate at these places.
    #[error(
        "actuator `{actuator}` drives velocity coordinate {v} with configuration coordinate {q}; the mechanism has {allowed}"
    )]
    DrivenPlace { actuator: String, v: usize, q: usize, allowed: String },
    /// A number is out of range.
    #[error("actuator `{actuator}`: {what} is {value}; it must be {allowed}")]
    ActuatorValue { actuator: String, what: &'static str, value: f64, allowed: &'static str },
    /// An actuator leads a joint by computed torque, whose tree is not under it.
    #[error(
        "actuator `{actuator}` has the drive of computed torque, but joint `{joint}` belongs to a tree of bodies that is not under it; `Mechanism::with_computed_torque` puts a tree under it"
    )]
    NotComputedTorque { actuator: String, joint: String },
    /// A coordinate of a tree under computed torque is not commanded by exactly one actuator with that drive.
    #[error(
        "joint `{joint}` ({kind}) belongs to a tree of bodies under computed torque, and {found} actuators with that drive command its coordinate {coordinate}; each coordinate takes one, so that the tree has no ball and no free joint"
    )]
    NotLed { joint: String, kind: &'static str, coordinate: usize, found: usize },
    /// Two bodies or two joints have the same name.
    #[error("there are two {what} with the name `{name}`; names must be unique")]
    DuplicateName { what: &'static str, name: String },
    /// A joint names a body that is not there.
    #[error("joint `{joint}`: its {role} `{name}` is not among the bodies: {known}")]
    UnknownBody { joint: String, role: &'static str, name: String, known: String },
    /// Two joints have the same child.
    #[error(
        "body `{body}` is the child of joint `{first}` and of joint `{second}`, which closes a loop; a body must be the child of one joint"
    )]
    TwoParents { body: String, first: String, second: String },
    /// No joint has this body as its child.
    #[error("body `{0}` is not connected: no joint has it as its child")]
    Unconnected(String),
    /// Bodies are children of each other in a ring.
    #[error(
        "the joints {0} make a loop: each is carried by the one before it; joints must make a tree that starts at the world"
    )]
    Loop(String),
    /// Nothing resists a joint's motion.
    #[error(
        "joint `{joint}` moves without resistance: `{body}` and all that it carries have zero inertia in the joint's direction; give it mass and inertia, or the joint a rotor inertia, or fix the joint"
    )]
    ZeroInertia { joint: String, body: String },
    /// A joint's lower limit is above its upper one.
    #[error(
        "joint `{joint}`: its limits are reversed: lower is {lower}, upper is {upper}; lower must be at most upper"
    )]
    LimitsReversed { joint: String, lower: f64, upper: f64 },
    /// A number of a joint is out of range.
    #[error("joint `{joint}`: {field} is {found}; it must be {allowed}")]
    JointValue { joint: String, field: &'static str, found: String, allowed: &'static str },
}
