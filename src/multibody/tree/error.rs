//! What can be wrong with a mechanism.

use crate::spatial::MassPropertiesError;

/// Why bodies and joints do not make a mechanism.
#[derive(Debug, thiserror::Error, PartialEq)]
pub enum MechanismError {
    /// Two bodies or two joints have the same name.
    #[error("there are two {what} with the name `{name}`; names must be unique")]
    DuplicateName {
        /// "bodies" or "joints".
        what: &'static str,
        /// The name.
        name: String,
    },
    /// A joint names a body that is not there.
    #[error("joint `{joint}`: its {role} `{name}` is not among the bodies: {known}")]
    UnknownBody {
        /// The joint.
        joint: String,
        /// "parent" or "child".
        role: &'static str,
        /// The name found.
        name: String,
        /// The names there are.
        known: String,
    },
    /// Two joints have the same child.
    #[error(
        "body `{body}` is the child of joint `{first}` and of joint `{second}`, which closes a loop; a body must be the child of one joint"
    )]
    TwoParents {
        /// The body.
        body: String,
        /// The one joint.
        first: String,
        /// The other joint.
        second: String,
    },
    /// No joint has this body as its child.
    #[error("body `{0}` is not connected: no joint has it as its child")]
    Unconnected(String),
    /// Bodies are children of each other in a ring.
    #[error(
        "the joints {0} make a loop: each is carried by the one before it; joints must make a tree that starts at the world"
    )]
    Loop(String),
    /// A body's mass cannot be that of any body.
    #[error("body `{body}`: {source}")]
    Mass {
        /// The body.
        body: String,
        /// What is wrong.
        source: MassPropertiesError,
    },
    /// A joint moves a body that has mass, but not the inertia to go with it.
    #[error("joint `{joint}`: what it moves (bodies {bodies}) has zero or impossible inertia: {source}")]
    Composite {
        /// The joint.
        joint: String,
        /// The bodies.
        bodies: String,
        /// What is wrong.
        source: MassPropertiesError,
    },
    /// Nothing resists a joint's motion.
    #[error(
        "joint `{joint}` moves without resistance: `{body}` and all that it carries have zero inertia in the joint's direction; give it mass and inertia, or the joint a rotor inertia, or fix the joint"
    )]
    ZeroInertia {
        /// The joint.
        joint: String,
        /// Its child.
        body: String,
    },
    /// A joint's lower limit is above its upper one.
    #[error(
        "joint `{joint}`: its limits are reversed: lower is {lower}, upper is {upper}; lower must be at most upper"
    )]
    LimitsReversed {
        /// The joint.
        joint: String,
        /// The lower limit.
        lower: f64,
        /// The upper limit.
        upper: f64,
    },
    /// A number of a joint is out of range.
    #[error("joint `{joint}`: {field} is {found}; it must be {allowed}")]
    JointValue {
        /// The joint.
        joint: String,
        /// The field.
        field: &'static str,
        /// What was found.
        found: String,
        /// What is allowed.
        allowed: &'static str,
    },
}
