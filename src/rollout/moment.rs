//! Where on a trajectory a loss is evaluated, and its derivatives there.

use std::cell::RefCell;

use crate::multibody::{DifferentiableForces, ForcesIn, Model, NoForces, PairWorkspace, State};
use crate::scalar::Scalar;
use crate::spatial::SpatialForce;
use crate::step::{Integrator, StepForces, StepProblem};

/// Where on a trajectory a term of a loss is evaluated.
#[derive(Clone, Copy, Debug)]
pub struct Moment<'a, T = f64> {
    /// The number of the step that starts here, from 0; at the end the number of steps.
    pub step: usize,
    /// Time, s.
    pub time: f64,
    /// Length of the step that starts here, s, as far as it is part of the motion; 0 at the end.
    pub dt: f64,
    /// The model.
    pub model: &'a Model<T>,
    /// The state.
    pub state: &'a State<T>,
    /// Control values of the step that starts here; none at the end.
    pub control: &'a [T],
    /// Memory for readings of contacts (see [`Model::patch_reading`]): with it, what is known of them at this state is
    /// not computed again for every direction that derivatives are taken along.
    pub contacts: &'a RefCell<PairWorkspace>,
    /// How the step that starts here ends; none at the end of the motion.
    pub step_end: Option<StepEnd<'a, T>>,
}

impl<'a, T: Scalar> Moment<'a, T> {
    /// The start of a step of this number, which led to the state `after`.
    pub(crate) fn of_step(
        number: usize,
        integrator: Integrator,
        step: StepProblem<'a, T>,
        after: &'a State<T>,
        (contacts, memory): (&'a RefCell<PairWorkspace>, &'a RefCell<StepForces>),
    ) -> Self {
        let StepProblem { model, state, time, time_step: dt, control, .. } = step;
        let step_end = Some(StepEnd { state: after, integrator, step, memory });
        Self { step: number, time, dt, model, state, control, contacts, step_end }
    }

    /// A state by itself, of no step that is looked at.
    pub(crate) fn instant(
        model: &'a Model<T>,
        state: &'a State<T>,
        control: &'a [T],
        contacts: &'a RefCell<PairWorkspace>,
    ) -> Self {
        Self { step: 0, time: 0.0, dt: 0.0, model, state, control, contacts, step_end: None }
    }

    /// The wrench on body `on` about its origin, in W, that body `from` exerts over the step that starts here, N and N m:
    /// the impulse of their contacts over the step, divided by its length. It is the force that the step was taken with,
    /// which that of the state by the law of an instant ([`Model::contact_wrench`]) comes to with shorter steps.
    ///
    /// `None` at the end of a motion, and of steps other than velocity-level ones.
    pub fn step_force(&self, on: usize, from: usize) -> Option<SpatialForce<T>> {
        let StepEnd { state, integrator, step, memory } = self.step_end?;
        integrator.step_force(&step, state, (on, from), &mut memory.borrow_mut())
    }
}

impl Moment<'_> {
    /// The moment in scalars that carry derivatives; the forces are [`Self::applied`] in these scalars.
    pub(super) fn lifted<'b, U>(
        &'b self,
        model: &'b Model<U>,
        state: &'b State<U>,
        control: &'b [U],
        (end, applied): (&'b State<U>, &'b dyn ForcesIn<U>),
    ) -> Moment<'b, U> {
        let Moment { step, time, dt, contacts, step_end, .. } = *self;
        let step_end = step_end.map(|StepEnd { integrator, step, memory, .. }| {
            let StepProblem { time, time_step, substeps, .. } = step;
            let step = StepProblem { model, state, time, time_step, applied, control, substeps, asleep: &[] };
            StepEnd { state: end, integrator, step, memory }
        });
        Moment { step, time, dt, model, state, control, contacts, step_end }
    }

    /// The user's forces of the step that starts here.
    pub(super) fn applied(&self) -> &dyn DifferentiableForces {
        self.step_end.map_or(&NoForces, |of_step| of_step.step.applied.differentiable())
    }
}

/// The end of the step that starts at a moment.
#[derive(Debug)]
pub struct StepEnd<'a, T = f64> {
    state: &'a State<T>,
    integrator: Integrator,
    step: StepProblem<'a, T>,
    memory: &'a RefCell<StepForces>,
}

impl<T> Clone for StepEnd<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for StepEnd<'_, T> {}

impl<'a, T> StepEnd<'a, T> {
    /// The state at the end of the step.
    pub fn state(&self) -> &'a State<T> {
        self.memory.borrow_mut().were_read = true;
        self.state
    }

    /// The state at the end, for the derivatives with respect to it.
    pub(super) fn constant(&self) -> &'a State<T> {
        self.state
    }

    /// Whether the end has been asked for since the last time that this was asked.
    pub(super) fn take_was_read(&self) -> bool {
        std::mem::take(&mut self.memory.borrow_mut().were_read)
    }
}

/// The derivatives of a term of a loss.
#[derive(Debug)]
pub struct MomentGradient<'a> {
    /// With respect to the state in its tangent space (see [`State::moved`]).
    pub state: &'a mut [f64],
    /// With respect to the state at the end of the step that starts here; empty at the end of the motion.
    pub step_end: &'a mut [f64],
    /// With respect to the control values.
    pub control: &'a mut [f64],
    /// With respect to the parameters that were asked for, in their order, where the term reads them in
    /// [`Moment::model`]: with state and control values held.
    pub parameters: &'a mut [f64],
}
