//! Step problems: everything that a step depends on.

use super::Substep;
use crate::multibody::{ForcesIn, Model, NoForces, State};
use crate::scalar::Scalar;

/// A step to be taken: its initial state, its length, and the forces and controls that act during it.
#[derive(Debug)]
pub struct StepProblem<'a, T = f64> {
    /// The model.
    pub model: &'a Model<T>,
    /// The state at its start.
    pub state: &'a State<T>,
    /// Time at its start, s.
    pub time: f64,
    /// Its length, s, times the model's factor (see [`Parameter::TimeStep`](crate::multibody::Parameter::TimeStep)).
    pub time_step: f64,
    /// The user's forces.
    pub applied: &'a dyn ForcesIn<T>,
    /// Control values, constant during the step: the commands of the actuators, then those of the
    /// user's forces (see [`AppliedForces::control_dimension`]).
    ///
    /// [`AppliedForces::control_dimension`]: crate::multibody::AppliedForces::control_dimension
    pub control: &'a [T],
    /// The substeps of an error-controlled step where they are held: those that it had before (see
    /// [`StepWorkspace::substeps`](super::StepWorkspace::substeps)); `None` to find them.
    pub substeps: Option<&'a [Substep]>,
    /// For each body whether it sleeps: velocity-level steps leave it where it is, as if it were fixed, and do not look for its
    /// contacts with others that sleep or are fixed. Empty where none does. Derivatives know nothing of it.
    pub asleep: &'a [bool],
}

impl<T> Clone for StepProblem<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for StepProblem<'_, T> {}

impl<'a, T: Scalar> StepProblem<'a, T> {
    /// A step at time 0 without forces of the user's and without control values.
    pub fn new(model: &'a Model<T>, state: &'a State<T>, time_step: f64) -> Self {
        Self {
            model,
            state,
            time: 0.0,
            time_step,
            applied: &NoForces,
            control: &[],
            substeps: None,
            asleep: &[],
        }
    }
}

impl<'a, T> StepProblem<'a, T> {
    /// The same step under other forces of the user's.
    pub fn under(self, applied: &'a dyn ForcesIn<T>) -> Self {
        Self { applied, ..self }
    }

    /// How long the step is, s.
    pub(crate) fn length(&self) -> T
    where
        T: Scalar,
    {
        self.model.time_step_factor * self.time_step
    }

    /// The time that forces are told at a time during the step, s: the model's factor on its length changes none of them.
    pub(super) fn force_time(&self, time: f64) -> f64
    where
        T: Scalar,
    {
        let factor = self.model.time_step_factor.real();
        if factor == 1.0 { time } else { self.time + (time - self.time) / factor }
    }

    /// A part of the step, from `begin` s after its start and `length` s long, from the same state.
    pub(super) fn part(self, begin: f64, length: f64) -> Self {
        Self { time: self.time + begin, time_step: length, ..self }
    }
}
