//! The parameters of a model behind those of a fit.

use nalgebra::DMatrix;

use crate::multibody::{Model, Parameter, ParameterError, State, seeded};
use crate::scalar::Scalar;

/// For each parameter of a fit, the parameters of the model that take its value; each belongs to one.
#[derive(Clone, Debug)]
pub(super) struct Targets(pub Vec<Vec<Parameter>>);

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
            .flat_map(|(targets, &value)| targets.iter().map(move |&parameter| (parameter, value)))
            .collect();
        seeded(model, state, &values)
    }

    /// All parameters of the model.
    pub fn parameters(&self) -> Vec<Parameter> {
        self.0.iter().flatten().copied().collect()
    }

    /// Derivatives with respect to the fit's parameters at these values, from those with respect to
    /// [`Self::parameters`] of the model that has the values.
    pub fn gathered(&self, by_model: &DMatrix<f64>, values: &[f64]) -> DMatrix<f64> {
        let mut gathered = DMatrix::zeros(by_model.nrows(), self.0.len());
        let mut next = by_model.column_iter();
        for (k, (targets, value)) in self.0.iter().zip(values).enumerate() {
            for (parameter, column) in targets.iter().zip(&mut next) {
                gathered.column_mut(k).axpy(rate(parameter, *value), &column, 1.0);
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
