//! Why a model could not be made from values of its parameters.

use super::parameter::Parameter;
use crate::field::FieldError;
use crate::spatial::MassPropertiesError;

/// Why a model could not be made from values of its parameters.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ParameterError {
    /// There is no such body, material, geometry or direction.
    #[error("the model has no parameter {0:?}")]
    NoSuchParameter(Parameter),
    /// A value is out of its range.
    #[error("{name} is {value}; it must be {allowed}")]
    Value {
        /// Name of the parameter.
        name: String,
        /// The value.
        value: f64,
        /// What is allowed.
        allowed: &'static str,
    },
    /// The parameter belongs to the initial state, but a parameter of the model is needed.
    #[error(
        "{name} is a move of the initial state, not a parameter of the model; change the state that the motion starts from"
    )]
    OfState {
        /// Name of the parameter.
        name: String,
    },
    /// The mass properties cannot be made.
    #[error("body `{body}`: {source}")]
    Mass {
        /// Name of the body.
        body: String,
        /// What is wrong.
        source: MassPropertiesError,
    },
    /// A pressure field cannot be made.
    #[error("{name}: {source}")]
    Field {
        /// Name of the parameter.
        name: String,
        /// What is wrong.
        source: FieldError,
    },
}
