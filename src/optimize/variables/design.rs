//! Designs: numbers of the members' models and of their initial states that are optimized with commands and controllers.

use nalgebra::Vector3;

use super::control_range::ControlRange;
use crate::multibody::{Model, Parameter, ParameterError, State, seeded};
use crate::optimize::error::ProblemError;
use crate::spatial::rotation_exponential_jacobian;

/// A number of the models or of their initial states that is optimized.
#[derive(Clone, Debug, PartialEq)]
pub struct DesignVariable {
    /// Its name.
    pub name: String,
    /// What it may be, and its scale, in its unit.
    pub range: ControlRange,
    /// Whether its logarithm is the optimizer's variable; then the scale does not matter, and its bounds are positive.
    pub log: bool,
}

/// What the design variables are in the model of one member.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Design {
    /// For each variable the parameters that take its value.
    variables: Vec<Vec<Parameter>>,
    /// The parameters that a gradient is taken with respect to, each once.
    parameters: Vec<Parameter>,
}

impl Design {
    /// Variables, each given by the parameters of a model that take its value, such as static and dynamic friction of one
    /// material (see [`parameters_at`](crate::optimize::identification::parameters_at)). Displacements of the initial
    /// state are from that of the member, and factors of sizes are on those of its model.
    ///
    /// # Errors
    /// When the model has no such parameter, a variable has none, two variables have the same one, or one is a turn that
    /// does not add up with others.
    pub fn new(model: &Model, variables: Vec<Vec<Parameter>>) -> Result<Self, ProblemError> {
        let mut parameters: Vec<Parameter> = Vec::new();
        for (index, variable) in variables.iter().enumerate() {
            let wrong = |message: String| Err(ProblemError::Design { index, message });
            if variable.is_empty() {
                return wrong("it has no parameters; it needs at least one".to_owned());
            }
            for parameter in variable {
                if let Err(error) = parameter.value(model) {
                    return wrong(error.to_string());
                }
                if is_turn_of_place(parameter) || is_turn_of_joint(model, parameter) {
                    let what = "turns of geometries, of fixed bodies, of joints, and of ball and free joints at the start";
                    return wrong(format!("{what} are no variables"));
                }
                if parameters.iter().any(|other| other.overlaps(parameter)) {
                    return wrong(format!(
                        "its parameter {} is that of another variable",
                        parameter.name(model)
                    ));
                }
                parameters.push(*parameter);
            }
        }
        // Turns about several axes of one body do not add up: their derivatives need all three.
        for (body, _) in parameters.clone().iter().filter_map(initial_turn) {
            let all = (0..3).map(|axis| Parameter::initial_rotation(body, axis));
            let missing: Vec<_> = all.filter(|turn| !parameters.contains(turn)).collect();
            parameters.extend(missing);
        }
        Ok(Self { variables, parameters })
    }

    /// Number of variables.
    pub fn count(&self) -> usize {
        self.variables.len()
    }

    /// The parameters that a gradient has to be taken with respect to.
    pub(in crate::optimize) fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    fn parameter_values(&self, values: &[f64]) -> Vec<(Parameter, f64)> {
        let of = |(variable, &value): (&Vec<Parameter>, &f64)| -> Vec<(Parameter, f64)> {
            variable.iter().map(|&parameter| (parameter, value)).collect()
        };
        self.variables.iter().zip(values).flat_map(of).collect()
    }

    /// The model and the initial state with values of the variables, in their units.
    ///
    /// # Errors
    /// When the model cannot have such values.
    pub fn at(
        &self,
        model: &Model,
        initial: &State,
        values: &[f64],
    ) -> Result<(Model, State), ParameterError> {
        seeded(model, initial, &self.parameter_values(values))
    }

    /// The derivatives with respect to the values of the variables, from those with respect to [`Self::parameters`] of the
    /// model that has these values.
    pub(in crate::optimize) fn by_values(&self, values: &[f64], by_parameters: &[f64]) -> Vec<f64> {
        let of_parameters = self.parameter_values(values);
        let value_of = |wanted: Parameter| {
            of_parameters.iter().find(|(p, _)| *p == wanted).map_or(0.0, |(_, value)| *value)
        };
        let derivative = |wanted: Parameter| {
            let index = self.parameters.iter().position(|parameter| *parameter == wanted);
            index.map_or(0.0, |index| by_parameters[index])
        };
        let of_parameter = |parameter: Parameter| match (parameter, initial_turn(&parameter)) {
            // A factor on the size that the design has already.
            (Parameter::GeometryScale { .. }, _) => derivative(parameter) / value_of(parameter),
            // exp(δ + dδ) = exp(J dδ) exp(δ), and the derivative is that of a turn on the left.
            (_, Some((body, axis))) => {
                let of_axes = |of: &dyn Fn(Parameter) -> f64| {
                    Vector3::from_fn(|axis, _| of(Parameter::initial_rotation(body, axis)))
                };
                let jacobian = rotation_exponential_jacobian(&of_axes(&value_of));
                jacobian.column(axis).dot(&of_axes(&derivative))
            }
            _ => derivative(parameter),
        };
        self.variables
            .iter()
            .map(|variable| variable.iter().map(|&parameter| of_parameter(parameter)).sum())
            .collect()
    }
}

/// Whether a parameter turns a geometry on its body, a fixed body or a joint: turns about several axes do not add up.
fn is_turn_of_place(parameter: &Parameter) -> bool {
    matches!(
        parameter,
        Parameter::GeometryPose { axis: ..3, .. }
            | Parameter::FixedPose { axis: ..3, .. }
            | Parameter::JointFrame { axis: ..3, .. }
            | Parameter::JointAxis { .. }
    )
}

/// Whether a parameter turns the initial configuration of a ball or free joint.
fn is_turn_of_joint(model: &Model, parameter: &Parameter) -> bool {
    let Parameter::InitialJoint { index } = *parameter else { return false };
    let mut joints = model.mechanism.joints().iter();
    joints.any(|joint| {
        joint.kind.is_spherical()
            && joint.v.contains(&index)
            && !joint.kind.is_translation(index - joint.v.start)
    })
}

/// The body whose initial orientation a parameter turns, and about which axis.
fn initial_turn(parameter: &Parameter) -> Option<(usize, usize)> {
    match *parameter {
        Parameter::InitialTangent { body, index } if index < 3 => Some((body, index)),
        _ => None,
    }
}
