//! Models and states without their derivatives.

use crate::multibody::{Model, ModelIdentity, State};
use crate::scalar::Scalar;

/// The model and the state of steps without their derivatives, cached from one step to the next: the
/// model is copied when another one comes.
#[derive(Debug, Default)]
pub(super) struct RealParts {
    model: Option<(ModelIdentity, Model)>,
    state: State,
}

impl RealParts {
    /// Those of a model and a state.
    pub fn of<T: Scalar>(&mut self, model: &Model<T>, state: &State<T>) -> (&Model, &State) {
        let identity = model.identity();
        let cached = self.model.take().filter(|(of, _)| *of == identity);
        let (_, model) = self.model.insert(cached.unwrap_or_else(|| (identity, model.real())));
        state.write_real(&mut self.state);
        (model, &self.state)
    }
}
