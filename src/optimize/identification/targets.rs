//! What the parameters of a fit stand for: parameters of a model, numbers of sensors, offsets of indentation tables.

use nalgebra::DMatrix;

use super::parameter_path::parameters_at;
use super::sensors::{Sensor, SensorParameter};
use crate::contact::MaterialParameter;
use crate::multibody::{Model, Parameter, ParameterError, State, seeded};
use crate::optimize::error::ProblemError;
use crate::scalar::Scalar;

/// All that takes the value of one parameter of a fit; nothing belongs to two of them.
#[derive(Clone, Debug, Default)]
pub(super) struct Target {
    /// The parameter's name.
    pub name: String,
    pub model: Vec<Parameter>,
    /// Numbers of sensors.
    pub sensors: Vec<SensorParameter>,
    /// Offsets of indentation tables, by the places of these.
    pub offsets: Vec<usize>,
}

impl Target {
    /// What a path stands for.
    ///
    /// # Errors
    /// A path of another form, or of something that neither the model nor the sensors have.
    pub fn named(model: &Model, sensors: &[Sensor], path: &str) -> Result<Self, ProblemError> {
        let mut target = Self { name: path.to_owned(), ..Self::default() };
        if path.starts_with("sensors.") {
            target.sensors.push(SensorParameter::named(sensors, path)?);
        } else if let Some(rest) = path.strip_prefix("indentations[") {
            let index = rest.strip_suffix("].offset").and_then(|index| index.parse().ok());
            target.offsets.push(index.ok_or_else(|| ProblemError::Path { path: path.to_owned() })?);
        } else {
            target.model = parameters_at(model, path)?;
            if target.model.iter().any(Parameter::is_of_state) {
                return Err(ProblemError::OfStart { path: path.to_owned() });
            }
        }
        Ok(target)
    }

    /// Whether both set something.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.model.iter().any(|own| other.model.iter().any(|parameter| own.overlaps(parameter)))
            || self.sensors.iter().any(|parameter| other.sensors.contains(parameter))
            || self.offsets.iter().any(|index| other.offsets.contains(index))
    }

    /// Takes over what another one stands for.
    pub fn join(&mut self, other: Self) {
        self.model.extend(other.model);
        self.sensors.extend(other.sensors);
        self.offsets.extend(other.offsets);
    }

    /// The unit of the value.
    pub fn unit(&self, model: &Model, sensors: &[Sensor]) -> &'static str {
        match (self.model.first(), self.sensors.first()) {
            (Some(first), _) => first.unit(model),
            (None, Some(first)) => first.unit(sensors),
            (None, None) => "m",
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
            .flat_map(|(target, &value)| {
                target.model.iter().map(move |&parameter| (parameter, with_slope(&parameter, value)))
            })
            .collect();
        seeded(model, state, &values).map_err(|error| match error {
            // By the name that the fit has for it.
            ParameterError::Value { name, value, allowed } => {
                let is_it = |target: &&Target| target.model.iter().any(|own| own.name(model) == name);
                let named = self.0.iter().find(is_it).map(|target| target.name.clone());
                ParameterError::Value { name: named.unwrap_or(name), value, allowed }
            }
            other => other,
        })
    }

    /// All parameters of the model.
    pub fn parameters(&self) -> Vec<Parameter> {
        self.0.iter().flat_map(|target| &target.model).copied().collect()
    }

    /// The parameters of sensors, with their values.
    pub fn of_sensors<T: Copy>(&self, values: &[T]) -> Vec<(&SensorParameter, T)> {
        let targets = self.0.iter().zip(values);
        targets.flat_map(|(target, &value)| target.sensors.iter().map(move |own| (own, value))).collect()
    }

    /// The offset of the indentation table at this place; `None` where it is no parameter.
    pub fn offset<T: Copy>(&self, values: &[T], table: usize) -> Option<T> {
        let mut all = self.0.iter().zip(values);
        all.find(|(target, _)| target.offsets.contains(&table)).map(|(_, &value)| value)
    }

    /// Derivatives with respect to the fit's parameters at these values, from those with respect to
    /// [`Self::parameters`] of the model that has the values and then those with respect to the parameters of sensors.
    pub fn gathered(&self, by: &DMatrix<f64>, values: &[f64]) -> DMatrix<f64> {
        let mut gathered = DMatrix::zeros(by.nrows(), self.0.len());
        let (mut next, mut next_of_sensor) = (0, self.parameters().len());
        for (k, (target, value)) in self.0.iter().zip(values).enumerate() {
            for parameter in &target.model {
                gathered.column_mut(k).axpy(rate(parameter, *value), &by.column(next), 1.0);
                next += 1;
            }
            for _ in &target.sensors {
                gathered.column_mut(k).axpy(1.0, &by.column(next_of_sensor), 1.0);
                next_of_sensor += 1;
            }
        }
        gathered
    }
}

/// The least coefficient of friction that a model is given. Two coefficients that are both 0 combine to 0 without a derivative:
/// in one of them it is 0, and where both are one parameter it is 1. It is far below what differences beside 0 round at.
const LEAST_FRICTION: f64 = 1e-30;

/// The value of a parameter, where the model depends on it as it does beside that.
fn with_slope<T: Scalar>(parameter: &Parameter, value: T) -> T {
    use MaterialParameter::{DynamicFriction, StaticFriction};
    match parameter {
        Parameter::Material { parameter: StaticFriction | DynamicFriction, .. }
            if (0.0..LEAST_FRICTION).contains(&value.real()) =>
        {
            value + LEAST_FRICTION
        }
        _ => value,
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
