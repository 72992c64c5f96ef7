//! A step in `f64`: what the velocities are solved from, whatever scalars the step carries.

use crate::multibody::{Forces, Model, ModelIdentity, State};
use crate::scalar::Scalar;

/// What a step depends on, in `f64`.
#[derive(Clone, Copy, Debug)]
pub(super) struct RealStep<'a> {
    pub model: &'a Model,
    pub state: &'a State,
    /// The user's forces.
    pub forces: &'a Forces,
    /// The commands of the actuators.
    pub commands: &'a [f64],
    /// Length of the step, s.
    pub dt: f64,
}

/// The model and the state of steps without their derivatives, kept from one step to the next: the
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
        let kept = self.model.take().filter(|(of, _)| *of == identity);
        let (_, model) = self.model.insert(kept.unwrap_or_else(|| (identity, model.real())));
        state.write_real(&mut self.state);
        (model, &self.state)
    }
}
