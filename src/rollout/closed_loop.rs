//! Rollouts under feedback controllers.

use std::ops::{ControlFlow, Range};

use super::controls::Controls;
use super::error::SimulationError;
use super::feedback::{Controller, LoopMemory, LoopMoment, SampledController};
use super::report::StepReport;
use super::simulate::{Motion, Observer, Rollout, Trajectory, fallibly};
use super::watch::Watch;
use crate::multibody::State;
use crate::scalar::Scalar;

/// A rollout under controllers: what they command is added to the control values of the rollout, which may have none.
///
/// Controllers sample at the beginning of steps; steps of any kind hold the commands constant, those whose error is
/// controlled over all their substeps. See [`Controller`] for an example.
#[derive(Debug)]
pub struct ClosedLoop<'a, C, T = f64> {
    /// The rollout, and the control values that are added to.
    pub rollout: Rollout<'a, T>,
    /// The controllers. Each observes the same state, and not what the others command.
    pub controllers: &'a [SampledController<C>],
    /// The parameters of all controllers, one controller after the other.
    pub parameters: &'a [T],
}

impl<C, T> Clone for ClosedLoop<'_, C, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C, T> Copy for ClosedLoop<'_, C, T> {}

impl<'a, C, T> ClosedLoop<'a, C, T> {
    /// A rollout under controllers with their parameters.
    pub fn new(
        rollout: Rollout<'a, T>,
        controllers: &'a [SampledController<C>],
        parameters: &'a [T],
    ) -> Self {
        Self { rollout, controllers, parameters }
    }
}

impl<C: Controller, T: Scalar> ClosedLoop<'_, C, T> {
    /// The states at all times, and the control values of every step, commands of controllers included. A rollout
    /// with these control values gives the same states.
    ///
    /// # Errors
    /// The errors of [`Rollout::simulate`], and when controllers and their parameters do not fit the model.
    pub fn simulate(&self) -> Result<(Trajectory<T>, Controls<T>), SimulationError> {
        let steps = self.rollout.settings.schedule(self.rollout.until)?.steps();
        let mut controls = Controls::zeros(steps, self.rollout.control_dimension());
        let mut trajectory = Trajectory::empty();
        self.for_each(|step| {
            if let (Some(taken), Some(number)) = (&step.taken, step.steps.checked_sub(1)) {
                controls.row_mut(number).copy_from_slice(taken.control);
            }
            trajectory.push(step);
        })?;
        Ok((trajectory, controls))
    }

    /// Simulates without keeping the states, as [`Rollout::for_each`] does.
    ///
    /// # Errors
    /// The errors of [`Self::simulate`].
    pub fn for_each(&self, mut observer: impl FnMut(&StepReport<'_, T>)) -> Result<(), SimulationError> {
        self.observe(&mut |step| {
            observer(step);
            ControlFlow::Continue(())
        })
    }

    /// The same for an observer that may fail or end the simulation early, as [`Rollout::try_for_each`] does.
    ///
    /// # Errors
    /// The errors of [`Self::simulate`], and those of `observer`.
    pub fn try_for_each<E: From<SimulationError>>(
        &self,
        observer: impl FnMut(&StepReport<'_, T>) -> Result<ControlFlow<()>, E>,
    ) -> Result<(), E> {
        fallibly(observer, |observer| self.observe(observer))
    }

    fn observe(&self, observer: Observer<'_, T>) -> Result<(), SimulationError> {
        self.check()?;
        let Self { rollout, controllers, parameters } = *self;
        let mut memory = LoopMemory::new(controllers);
        let has_rows = rollout.controls.dimension() > 0;
        let mut control = |step: usize, span: Range<f64>, state: &State<T>, row: &mut [T]| {
            row.fill(T::from(0.0));
            if has_rows {
                rollout.controls.put_row(step, span.clone(), row);
            }
            let (model, time_step) = (rollout.model, rollout.settings.time_step);
            let at = LoopMoment { step, time: span.start, time_step, model, state };
            memory.advance(controllers, parameters, &at, row, |_, _, _| {});
        };
        rollout.observe_under(&mut control, observer)
    }

    /// Checks that controllers, parameters and control values fit the model.
    pub(super) fn check(&self) -> Result<(), SimulationError> {
        let Self { rollout, controllers, parameters } = self;
        let count = rollout.control_dimension();
        if rollout.controls.dimension() > 0 {
            rollout.controls.check(count, rollout.settings.schedule(rollout.until)?.steps())?;
        }
        for SampledController { controller, .. } in *controllers {
            if let Some(&index) = controller.controls().iter().find(|&&index| index >= count) {
                return Err(SimulationError::ControllerOutput { index, count });
            }
            for observed in controller.observed() {
                if observed.is_of_step() {
                    return Err(SimulationError::ObservedOfStep);
                }
                observed.check(rollout.model, 0).map_err(|error| match error {
                    SimulationError::NoSuch { what, index, count } => {
                        SimulationError::Observed { what, index, count }
                    }
                    error => error,
                })?;
            }
            controller.nominal().map_or(Ok(()), |nominal| nominal.check(rollout.model))?;
        }
        let expected = controllers.iter().map(|c| c.controller.parameter_count()).sum();
        match parameters.len() == expected {
            true => Ok(()),
            false => Err(SimulationError::ControllerParameters { found: parameters.len(), expected }),
        }
    }
}

impl<C: Controller> ClosedLoop<'_, C> {
    /// Simulates, and keeps the states and what a [`Watch`] notices, up to the end or to a step that fails.
    pub fn motion(&self) -> Motion {
        let (mut trajectory, mut watch) = (Trajectory::empty(), Watch::default());
        let outcome = self.for_each(|step| {
            watch.look(step);
            trajectory.push(step);
        });
        Motion { trajectory, warnings: watch.into_warnings(), outcome }
    }
}
