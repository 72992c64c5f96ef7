//! The parameters of a model behind those of a fit.

use nalgebra::DMatrix;

use super::sensors::SensorParameter;
use crate::multibody::{Model, Parameter, ParameterError, State, seeded};
use crate::scalar::Scalar;

/// What a parameter of a fit stands for.
#[derive(Clone, Debug)]
pub(super) enum Target {
    /// The parameters of the model that take its value; each belongs to one parameter of the fit.
    Model(Vec<Parameter>),
    /// A number of a sensor.
    Sensor(SensorParameter),
}

impl Target {
    /// The parameters of the model.
    pub fn of_model(&self) -> &[Parameter] {
        match self {
            Self::Model(parameters) => parameters,
            Self::Sensor(_) => &[],
        }
    }

    /// Whether both set something.
    pub fn overlaps(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Model(own), Self::Model(other)) => own.iter().any(|parameter| other.contains(parameter)),
            (Self::Sensor(own), Self::Sensor(other)) => own == other,
            _ => false,
        }
    }
}

/// What the parameters of a fit stand for.
#[derive(Clone, Debug)]
pub(super) struct Targets(pub Vec<Target>);

impl Targets {
    /// The model and the state with values of the fit's parameters.
    pub fn seeded<T: Scalar>(
        &self,
        model: &Model,
        state: &State,
        values: &[T],
    ) -> Result<(Model<T>, State<T>), ParameterError> {
        let values: Vec<(Parameter, T)> = self
            .0
            .iter()
            .zip(values)
            .flat_map(|(target, &value)| target.of_model().iter().map(move |&parameter| (parameter, value)))
            .collect();
        seeded(model, state, &values)
    }

    /// All parameters of the model.
    pub fn parameters(&self) -> Vec<Parameter> {
        self.0.iter().flat_map(Target::of_model).copied().collect()
    }

    /// The parameters of sensors, with their values.
    pub fn of_sensors<T: Copy>(&self, values: &[T]) -> Vec<(&SensorParameter, T)> {
        self.0
            .iter()
            .zip(values)
            .filter_map(|(target, &value)| match target {
                Target::Sensor(parameter) => Some((parameter, value)),
                Target::Model(_) => None,
            })
            .collect()
    }

    /// Derivatives with respect to the fit's parameters at these values, from those with respect to
    /// [`Self::parameters`] of the model that has the values and then, if there are more columns, those with respect to
    /// the parameters of sensors.
    pub fn gathered(&self, by: &DMatrix<f64>, values: &[f64]) -> DMatrix<f64> {
        let mut gathered = DMatrix::zeros(by.nrows(), self.0.len());
        let (mut next, mut next_of_sensor) = (0, self.parameters().len());
        for (k, (target, value)) in self.0.iter().zip(values).enumerate() {
            match target {
                Target::Model(parameters) => {
                    for parameter in parameters {
                        gathered.column_mut(k).axpy(rate(parameter, *value), &by.column(next), 1.0);
                        next += 1;
                    }
                }
                Target::Sensor(_) if next_of_sensor < by.ncols() => {
                    gathered.column_mut(k).copy_from(&by.column(next_of_sensor));
                    next_of_sensor += 1;
                }
                Target::Sensor(_) => {}
            }
        }
        gathered
    }
}

/// How a parameter of the model that has a value changes with the value. Sizes of a model are relative to the
/// size that it has; all else is added.
fn rate(parameter: &Parameter, value: f64) -> f64 {
    match parameter {
        Parameter::GeometryScale { .. } => value.recip(),
        _ => 1.0,
    }
}
