//! Why a model could not be made from values of its parameters.

use super::parameter::Parameter;
use crate::field::FieldError;
use crate::spatial::MassPropertiesError;

/// Why a model could not be made from values of its parameters.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum ParameterError {
    /// There is no such body, material, geometry or direction.
    #[error("the model has no parameter {0:?}")]
    NoSuchParameter(Parameter),
    /// A value is out of its range.
    #[error("{name} is {value}; it must be {allowed}")]
    Value { name: String, value: f64, allowed: &'static str },
    /// The parameter belongs to the initial state, but a parameter of the model is needed.
    #[error(
        "{name} is a move of the initial state, not a parameter of the model; change the state that the motion starts from"
    )]
    OfState { name: String },
    /// The mass properties cannot be made.
    #[error("body `{body}`: {source}")]
    Mass { body: String, source: MassPropertiesError },
    /// A pressure field cannot be made.
    #[error("{name}: {source}")]
    Field { name: String, source: FieldError },
}
