//! The derivatives of error-controlled steps, from the tapes of their substeps.

use nalgebra::DMatrix;

use super::super::derivative::{StepCotangent, StepJacobian};
use super::super::{DerivativeWorkspace, Integrator, StepError, StepProblem, StepWorkspace, Tape};
use super::extrapolation::{extrapolate, extrapolated_rows, extrapolation_vjp};
use super::{ControlledMethod, ErrorControlled, Substep};
use crate::multibody::{DifferentiableForces, DifferentiatedModel, State};

/// The tapes of the steps of fixed length that an error-controlled step consists of.
#[derive(Debug, Default)]
pub(in crate::step) struct SubstepTapes {
    /// Those in use come first; the others are memory for later.
    tapes: Vec<Tape>,
    count: usize,
    /// Whether each substep is three steps: one of its whole length, then two halves.
    extrapolated: bool,
}

impl SubstepTapes {
    /// Memory in bytes that the tapes hold.
    pub fn bytes(&self) -> usize {
        self.tapes[..self.count].iter().map(Tape::bytes).sum()
    }

    /// Writes the tapes of a step, whose substeps are held or found. Returns the state after it.
    pub fn write(
        &mut self,
        control: ErrorControlled,
        step: &StepProblem<'_>,
        differentiated: &DifferentiatedModel<'_>,
        workspace: &mut StepWorkspace,
    ) -> Result<State, StepError> {
        control.set_exactness(step, workspace);
        let mut search = workspace.search.take().unwrap_or_default();
        let outcome = control.find_substeps(step, &mut search).and_then(|_| {
            self.record(control.method, step, &search.statistics.substeps, differentiated, workspace)
        });
        search.is_last = false;
        workspace.search = Some(search);
        outcome
    }

    /// The same with substeps that are known.
    fn record(
        &mut self,
        method: ControlledMethod,
        step: &StepProblem<'_>,
        substeps: &[Substep],
        differentiated: &DifferentiatedModel<'_>,
        workspace: &mut StepWorkspace,
    ) -> Result<State, StepError> {
        self.extrapolated = matches!(method, ControlledMethod::Extrapolated(_));
        self.count = 0;
        let mut taped = |integrator: Integrator, step: StepProblem<'_>| {
            if self.tapes.len() == self.count {
                self.tapes.push(Tape::default());
            }
            let tape = &mut self.tapes[self.count];
            self.count += 1;
            integrator.fixed_step_taped(&step, differentiated, workspace, tape)
        };
        let (mut state, mut done) = (step.state.clone(), 0.0);
        for &Substep { length, order } in substeps {
            let integrator = method.of_order(order);
            let part = StepProblem { substeps: None, state: &state, ..step.part(done, length) };
            let half = 0.5 * length;
            state = match method {
                ControlledMethod::BogackiShampine
                | ControlledMethod::DormandPrince
                | ControlledMethod::Radau
                | ControlledMethod::Landing(_)
                | ControlledMethod::Divided(_) => taped(integrator, part)?,
                ControlledMethod::VelocityLevel(_) => {
                    let middle = taped(integrator, part.part(0.0, half))?;
                    taped(integrator, StepProblem { state: &middle, ..part.part(half, half) })?
                }
                ControlledMethod::Extrapolated(_) => {
                    let whole = taped(integrator, part)?;
                    let middle = taped(integrator, part.part(0.0, half))?;
                    let mut after =
                        taped(integrator, StepProblem { state: &middle, ..part.part(half, half) })?;
                    extrapolate(&whole, &mut after);
                    after
                }
            };
            done += length;
        }
        Ok(state)
    }

    /// The derivative of the whole step.
    pub fn jacobian(
        &mut self,
        differentiated: &DifferentiatedModel<'_>,
        applied: &dyn DifferentiableForces,
        workspace: &mut DerivativeWorkspace,
    ) -> Result<StepJacobian, StepError> {
        let mut all: Option<StepJacobian> = None;
        let mut jacobian = |tape: &mut Tape| tape.jacobian(differentiated, applied, workspace);
        for substep in self.tapes[..self.count].chunks_mut(if self.extrapolated { 3 } else { 1 }) {
            let part = match substep {
                [whole, second, third] => {
                    let of_whole = jacobian(whole)?;
                    let halves = composed(&jacobian(second)?, &jacobian(third)?);
                    let rows = |of_whole: &DMatrix<f64>, halves: &DMatrix<f64>| {
                        extrapolated_rows([&whole.after, &third.after], of_whole, halves)
                    };
                    StepJacobian {
                        by_state: rows(&of_whole.by_state, &halves.by_state),
                        by_control: rows(&of_whole.by_control, &halves.by_control),
                        by_parameters: rows(&of_whole.by_parameters, &halves.by_parameters),
                    }
                }
                [tape, ..] => jacobian(tape)?,
                [] => continue,
            };
            all = Some(match all {
                Some(before) => composed(&before, &part),
                None => part,
            });
        }
        // A step has at least one substep.
        all.ok_or(StepError::TimeStep(0.0))
    }

    /// The vector–Jacobian product of the whole step (see [`Tape::vjp`]).
    pub fn vjp(
        &mut self,
        differentiated: &DifferentiatedModel<'_>,
        applied: &dyn DifferentiableForces,
        workspace: &mut DerivativeWorkspace,
        out: &mut StepCotangent<'_>,
    ) {
        let mut by_whole = std::mem::take(&mut workspace.by_whole);
        let size = if self.extrapolated { 3 } else { 1 };
        for substep in self.tapes[..self.count].chunks_mut(size).rev() {
            match substep {
                [whole, second, third] => {
                    extrapolation_vjp([&whole.after, &third.after], out.state, &mut by_whole);
                    third.vjp(differentiated, applied, workspace, out);
                    second.vjp(differentiated, applied, workspace, out);
                    let StepCotangent { state, control, model } = &mut *out;
                    let mut of_whole = StepCotangent { state: &mut by_whole, control, model };
                    whole.vjp(differentiated, applied, workspace, &mut of_whole);
                    state.iter_mut().zip(&by_whole).for_each(|(sum, x)| *sum += x);
                }
                tapes => tapes.iter_mut().rev().for_each(|tape| {
                    tape.vjp(differentiated, applied, workspace, out);
                }),
            }
        }
        workspace.by_whole = by_whole;
    }
}

/// The derivative of two steps, one after the other.
fn composed(first: &StepJacobian, second: &StepJacobian) -> StepJacobian {
    let through = |x: &DMatrix<f64>| &second.by_state * x;
    StepJacobian {
        by_state: through(&first.by_state),
        by_control: through(&first.by_control) + &second.by_control,
        by_parameters: through(&first.by_parameters) + &second.by_parameters,
    }
}
