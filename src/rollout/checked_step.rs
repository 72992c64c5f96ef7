//! Steps of simulations: their failures say when they were taken and which bodies they concern.

use super::error::SimulationError;
use super::schedule::StepTime;
use crate::multibody::{DifferentiatedModel, Model, State};
use crate::scalar::Scalar;
use crate::step::{
    DerivativeWorkspace, Integrator, StepError, StepJacobian, StepProblem, StepWorkspace, Tape,
};

/// The failure of a step, with the time and the bodies that it concerns.
pub(crate) fn step_failed<T: Scalar>(model: &Model<T>, at: StepTime, source: StepError) -> SimulationError {
    let named = source.bodies().iter().filter_map(|&i| model.bodies.get(i));
    let names: Vec<String> = named.map(|body| format!("`{}`", body.name)).collect();
    SimulationError::Step { time: at.time, step: at.number, bodies: names.join(", "), source }
}

/// The failure of a step's derivative.
fn not_differentiated(step: &StepProblem<'_>, number: usize, error: StepError) -> SimulationError {
    match error {
        StepError::Parameter(source) => SimulationError::Parameter(source),
        source => failed(step, number, source),
    }
}

/// A step of a simulation, into a state that is there already.
#[inline(never)]
pub(crate) fn checked_step_into<T: Scalar>(
    integrator: Integrator,
    step: &StepProblem<'_, T>,
    number: usize,
    workspace: &mut StepWorkspace<T>,
    after: &mut State<T>,
) -> Result<(), SimulationError> {
    integrator.step_into(step, workspace, after).map_err(|source| failed(step, number, source))?;
    log_step(integrator, step, number, workspace);
    check_finite(step, number, after)
}

/// A step of a simulation.
pub(crate) fn checked_step<T: Scalar>(
    integrator: Integrator,
    step: &StepProblem<'_, T>,
    number: usize,
    workspace: &mut StepWorkspace<T>,
) -> Result<State<T>, SimulationError> {
    let mut after = State::default();
    checked_step_into(integrator, step, number, workspace, &mut after)?;
    Ok(after)
}

/// The same, with its tape.
pub(crate) fn checked_step_taped(
    integrator: Integrator,
    step: &StepProblem<'_>,
    number: usize,
    differentiated: &DifferentiatedModel<'_>,
    workspace: &mut StepWorkspace,
    tape: &mut Tape,
) -> Result<State, SimulationError> {
    let outcome = integrator.step_taped(step, differentiated, workspace, tape);
    let after = outcome.map_err(|source| failed(step, number, source))?;
    log_step(integrator, step, number, workspace);
    check_finite(step, number, &after)?;
    Ok(after)
}

/// The memory of steps that are differentiated.
#[derive(Default)]
pub(crate) struct LinearSteps {
    steps: StepWorkspace,
    tape: Tape,
    derivatives: DerivativeWorkspace,
}

impl LinearSteps {
    /// A step of a simulation, number `number`, with its Jacobian.
    pub fn take(
        &mut self,
        integrator: Integrator,
        step: &StepProblem<'_>,
        number: usize,
        model: &DifferentiatedModel<'_>,
    ) -> Result<(State, StepJacobian), SimulationError> {
        let after = checked_step_taped(integrator, step, number, model, &mut self.steps, &mut self.tape)?;
        Ok((after, self.jacobian(step, number, model)?))
    }

    /// The Jacobian of a step that led to this state.
    pub fn along(
        &mut self,
        integrator: Integrator,
        step: &StepProblem<'_>,
        (number, after): (usize, &State),
        model: &DifferentiatedModel<'_>,
    ) -> Result<StepJacobian, SimulationError> {
        let outcome = integrator.tape(step, after, model, &mut self.steps, &mut self.tape);
        outcome.map_err(|error| not_differentiated(step, number, error))?;
        self.jacobian(step, number, model)
    }

    fn jacobian(
        &mut self,
        step: &StepProblem<'_>,
        number: usize,
        model: &DifferentiatedModel<'_>,
    ) -> Result<StepJacobian, SimulationError> {
        let outcome = self.tape.jacobian(model, step.applied, &mut self.derivatives);
        outcome.map_err(|error| not_differentiated(step, number, error))
    }
}

/// Logs how a step went, number `number` of a simulation.
fn log_step<T: Scalar>(
    integrator: Integrator,
    step: &StepProblem<'_, T>,
    number: usize,
    workspace: &StepWorkspace<T>,
) {
    if !log::log_enabled!(log::Level::Trace) {
        return;
    }
    let at = format!("step {number} at {} s", step.time);
    if let (true, Some(substeps)) = (integrator.is_error_controlled(), workspace.substeps()) {
        log::trace!(
            "{at}: {} substeps, the shortest {:.3e} s, {} rejected, {} factorizations, {} evaluations",
            substeps.substeps.len(),
            substeps.shortest(),
            substeps.rejected,
            substeps.factorizations,
            substeps.evaluations
        );
    } else if integrator.velocity_level_method().is_some() {
        let statistics = workspace.statistics();
        log::trace!(
            "{at}: {} faces of {} pairs, {} iterations, residual {:.1e}",
            statistics.contacts,
            statistics.patches,
            statistics.iterations,
            statistics.residual
        );
    } else {
        log::trace!("{at}: {} pairs push", workspace.contact_loads(integrator).count());
    }
}

/// The failure of a step, number `number` of a simulation.
pub(crate) fn failed<T: Scalar>(
    step: &StepProblem<'_, T>,
    number: usize,
    source: StepError,
) -> SimulationError {
    let StepProblem { model, time, time_step: dt, .. } = *step;
    step_failed(model, StepTime { time, dt, number }, source)
}

/// Checks the state after a step, number `number` of a simulation.
fn check_finite<T: Scalar>(
    step: &StepProblem<'_, T>,
    number: usize,
    after: &State<T>,
) -> Result<(), SimulationError> {
    let StepProblem { model, time, time_step, .. } = *step;
    match model.first_not_finite(after) {
        None => Ok(()),
        Some(body) => {
            let body = body.to_owned();
            Err(SimulationError::NotFinite { time: time + time_step, steps: number, time_step, body })
        }
    }
}
