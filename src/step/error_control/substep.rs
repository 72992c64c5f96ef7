//! Substeps that are given, in scalars of any kind.

use super::super::{Integrator, StepError, StepProblem, StepWorkspace};
use super::extrapolation::extrapolate;
use super::{ControlledMethod, Substep};
use crate::multibody::State;
use crate::scalar::Scalar;

/// States within a step, in memory that the next one reuses.
#[derive(Debug)]
pub(in crate::step) struct Scratch<T> {
    /// Before a substep, in its middle, and after one step of its whole length.
    before: State<T>,
    middle: State<T>,
    whole: State<T>,
}

impl<T> Default for Scratch<T> {
    fn default() -> Self {
        Self { before: State::default(), middle: State::default(), whole: State::default() }
    }
}

/// What is called after each step of fixed length that a substep consists of, with the step and the state after
/// it.
type Visit<'v, T> = &'v mut dyn FnMut(&StepProblem<'_, T>, &State<T>, &StepWorkspace<T>);

/// The state after a step that has these substeps. `visit` is called after each step of fixed length.
#[inline(never)]
pub(in crate::step) fn repeat<T: Scalar>(
    method: ControlledMethod,
    step: &StepProblem<'_, T>,
    substeps: &[Substep],
    workspace: &mut StepWorkspace<T>,
    after: &mut State<T>,
    visit: Visit<'_, T>,
) -> Result<(), StepError> {
    let mut scratch = std::mem::take(&mut workspace.substeps);
    scratch.before.clone_from(step.state);
    let mut done = 0.0;
    let mut outcome = Ok(());
    for (i, &Substep { length, order }) in substeps.iter().enumerate() {
        if i > 0 {
            std::mem::swap(&mut scratch.before, after);
        }
        let Scratch { before, middle, whole } = &mut scratch;
        let part = StepProblem { state: before, substeps: None, ..step.part(done, length) };
        outcome = take_substep((method, order), &part, workspace, [middle, whole], after, visit);
        if outcome.is_err() {
            break;
        }
        done += length;
    }
    workspace.substeps = scratch;
    outcome
}

/// The state after one substep.
fn take_substep<T: Scalar>(
    (method, order): (ControlledMethod, i32),
    step: &StepProblem<'_, T>,
    workspace: &mut StepWorkspace<T>,
    [middle, whole]: [&mut State<T>; 2],
    after: &mut State<T>,
    visit: Visit<'_, T>,
) -> Result<(), StepError> {
    let integrator = method.of_order(order);
    let mut take = |step: &StepProblem<'_, T>, after: &mut State<T>| {
        fixed_step(integrator, step, workspace, after)?;
        visit(step, after, workspace);
        Ok::<_, StepError>(())
    };
    let half = 0.5 * step.time_step;
    match method {
        ControlledMethod::BogackiShampine
        | ControlledMethod::DormandPrince
        | ControlledMethod::Radau
        | ControlledMethod::Landing(_)
        | ControlledMethod::Divided(_) => take(step, after),
        ControlledMethod::VelocityLevel(_) => {
            take(&step.part(0.0, half), middle)?;
            take(&StepProblem { state: middle, ..step.part(half, half) }, after)
        }
        ControlledMethod::Extrapolated(_) => {
            take(step, whole)?;
            take(&step.part(0.0, half), middle)?;
            take(&StepProblem { state: middle, ..step.part(half, half) }, after)?;
            extrapolate(whole, after);
            Ok(())
        }
    }
}

/// A step of fixed length: it does not come back to error-controlled steps.
pub(super) fn fixed_step<T: Scalar>(
    integrator: Integrator,
    step: &StepProblem<'_, T>,
    workspace: &mut StepWorkspace<T>,
    after: &mut State<T>,
) -> Result<(), StepError> {
    integrator.check(step)?;
    integrator.fixed_step_into(step, workspace, after)
}
