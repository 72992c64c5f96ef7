//! A step that was taken, at which derivatives are asked for.

use super::StepProblem;
use crate::multibody::{DifferentiableForces, DifferentiatedModel, ForcePoint, State};

/// A step that was taken, at which derivatives are asked for: a [`StepProblem`] with its outcome.
#[derive(Clone, Copy, Debug)]
pub(super) struct StepPoint<'a> {
    /// The model, with the parameters to differentiate with respect to.
    pub model: &'a DifferentiatedModel<'a>,
    pub before: &'a State,
    pub after: &'a State,
    pub time: f64,
    /// The length of the step that the problem says, s.
    pub time_step: f64,
    /// How long it is, s: that times the model's factor.
    pub dt: f64,
    pub applied: &'a dyn DifferentiableForces,
    pub control: &'a [f64],
}

impl<'a> StepPoint<'a> {
    pub fn new(step: &StepProblem<'a>, after: &'a State, model: &'a DifferentiatedModel<'a>) -> Self {
        let (StepProblem { state: before, time, time_step, applied, control, .. }, dt) =
            (*step, step.length());
        let applied = applied.differentiable();
        Self { model, before, after, time, time_step, dt, applied, control }
    }

    /// The point at which forces are evaluated at a state and a time during the step.
    pub(super) fn forces_at(&self, state: &'a State, time: f64) -> ForcePoint<'a> {
        let (commands, control) = self.split_control();
        ForcePoint { model: self.model, state, time, commands, control, surfaces: None, step: None }
    }

    /// The commands of the model's actuators, and the control values of the user's forces.
    pub(super) fn split_control(&self) -> (&'a [f64], &'a [f64]) {
        self.control.split_at(self.model.model().command_dimension())
    }
}
