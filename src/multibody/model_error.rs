//! Why a model could not be made.

use super::actuator_error::ActuatorError;
use super::mass::MassError;
use super::model_builder::LARGEST_PAIR_COUNT;
use crate::contact::ContactError;

/// Why a model could not be made.
#[derive(Debug, thiserror::Error, PartialEq)]
pub enum ModelError {
    /// A free body has no usable mass.
    #[error("body `{body}`: {source}")]
    Mass {
        /// Name of the body.
        body: String,
        /// What is wrong.
        source: MassError,
    },
    /// Two geometries could touch between which contact cannot be computed.
    #[error(
        "bodies `{a}` and `{b}` could touch, but {source}; or fix both bodies, or leave the pair out of contact"
    )]
    Pair {
        /// Name of the one body.
        a: String,
        /// Name of the other body.
        b: String,
        /// Why contact between them cannot be computed.
        source: ContactError,
    },
    /// There are too many pairs of geometries.
    #[error(
        "up to {count} pairs of geometries could touch; at most {LARGEST_PAIR_COUNT} are allowed: leave out bodies, or fix them"
    )]
    TooManyPairs {
        /// How many pairs there could be.
        count: usize,
    },
    /// A body is said to be a link that joints do not move.
    #[error("body `{body}` is not a link that joints of the mechanism move")]
    NoLink {
        /// Name of the body.
        body: String,
    },
    /// Two bodies have the same name.
    #[error("bodies {first} and {second} are both called `{name}`; names of bodies must be unique")]
    BodyName {
        /// The name.
        name: String,
        /// Place of the one body.
        first: usize,
        /// Place of the other body.
        second: usize,
    },
    /// A geometry names a material that the model does not have.
    #[error(
        "body `{body}`: geometry {geometry} names material {material}; it must be below {count}, the number of materials"
    )]
    NoMaterial {
        /// Name of the body.
        body: String,
        /// Place of the geometry in the body.
        geometry: usize,
        /// Place of the material that it names.
        material: usize,
        /// How many materials there are.
        count: usize,
    },
    /// A compliant geometry has a material without a modulus.
    #[error(
        "body `{body}`: geometry {geometry} is compliant, but the hydroelastic_modulus of its material is {value}; it must be positive and finite"
    )]
    Modulus {
        /// Name of the body.
        body: String,
        /// Place of the geometry in the body.
        geometry: usize,
        /// The modulus.
        value: f64,
    },
    /// A parameter of a material is out of its range.
    #[error("{owner}: {parameter} is {value}; it must be {allowed}")]
    Material {
        /// Which material it is.
        owner: String,
        /// Name of the parameter.
        parameter: String,
        /// Its value.
        value: f64,
        /// What is allowed.
        allowed: String,
    },
    /// A number of gravity or of the contact settings is out of its range.
    #[error("{what} is {value}; it must be {allowed}")]
    Value {
        /// Which number it is.
        what: String,
        /// Its value.
        value: f64,
        /// What is allowed.
        allowed: &'static str,
    },
    /// A pair of bodies to be left out of contact is none.
    #[error(
        "bodies {a} and {b} are to be left out of contact; a pair is two different places below {count}, the number of bodies"
    )]
    Apart {
        /// Place of the one body.
        a: usize,
        /// Place of the other body.
        b: usize,
        /// How many bodies there are.
        count: usize,
    },
    /// An actuator cannot be.
    #[error(transparent)]
    Actuator(#[from] ActuatorError),
    /// Two actuators have the same name.
    #[error("actuators {first} and {second} are both called `{name}`; names of actuators must be unique")]
    ActuatorName {
        /// The name.
        name: String,
        /// Place of the one actuator.
        first: usize,
        /// Place of the other actuator.
        second: usize,
    },
}
