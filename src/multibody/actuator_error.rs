//! Why an actuator cannot be.

/// Why an actuator cannot be.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ActuatorError {
    /// There is no such joint.
    #[error("actuator `{actuator}`: there is no joint `{joint}` that can move; there are {known}")]
    NoJoint {
        /// The actuator.
        actuator: String,
        /// The name found.
        joint: String,
        /// The names there are.
        known: String,
    },
    /// The joint has no such coordinate.
    #[error(
        "actuator `{actuator}`: joint `{joint}` ({kind}) has no coordinate {index} with a position of its own; {allowed}"
    )]
    NoCoordinate {
        /// The actuator.
        actuator: String,
        /// The joint.
        joint: String,
        /// Its kind.
        kind: &'static str,
        /// The coordinate asked for.
        index: usize,
        /// What it has.
        allowed: String,
    },
    /// It drives no coordinate.
    #[error("actuator `{actuator}` drives no coordinate; it needs at least one")]
    Nothing {
        /// The actuator.
        actuator: String,
    },
    /// It drives a coordinate twice.
    #[error("actuator `{actuator}` drives velocity coordinate {v} twice; a coordinate is driven once")]
    Twice {
        /// The actuator.
        actuator: String,
        /// The coordinate's place among the velocity coordinates.
        v: usize,
    },
    /// No joint has a coordinate at these places.
    #[error(
        "actuator `{actuator}` drives velocity coordinate {v} with configuration coordinate {q}; the mechanism has {allowed}"
    )]
    Place {
        /// The actuator.
        actuator: String,
        /// Place among the velocity coordinates.
        v: usize,
        /// Place among the configuration coordinates.
        q: usize,
        /// The places there are.
        allowed: String,
    },
    /// A number is out of range.
    #[error("actuator `{actuator}`: {what} is {value}; it must be {allowed}")]
    Value {
        /// The actuator.
        actuator: String,
        /// What number.
        what: &'static str,
        /// Its value.
        value: f64,
        /// What is allowed.
        allowed: &'static str,
    },
}
