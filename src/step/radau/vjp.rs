//! The vector–Jacobian product of Radau IIA steps.

use super::super::derivative::StepCotangent;
use super::super::derivative_workspace::{DerivativeWorkspace, Stage};
use super::super::runge_kutta::{moved_vjp, stage_vjp};
use super::super::step_point::StepPoint;
use super::super::{StepError, StepProblem};
use super::adjoint::StepDerivative;
use super::coefficients::RadauOrder;
use super::{Solver, derivative_at};

/// What a step keeps for [`vjp`].
#[derive(Debug)]
pub(in crate::step) struct RadauTape {
    increments: Vec<f64>,
    derivative: StepDerivative,
}

impl RadauTape {
    /// That of a step that the solver has just solved.
    pub fn new(order: RadauOrder, step: &StepProblem<'_>, solver: &mut Solver) -> Result<Self, StepError> {
        let increments = solver.increments().to_vec();
        let derivative = derivative_at(order, step, &increments, &mut solver.jacobians)?;
        Ok(Self { increments, derivative })
    }

    /// The memory that it holds besides its own, bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.increments) + self.derivative.bytes()
    }
}

/// The vector–Jacobian product of a step, from its tape.
pub(in crate::step) fn vjp(
    order: RadauOrder,
    at: &StepPoint<'_>,
    tape: &RadauTape,
    workspace: &mut DerivativeWorkspace,
    out: &mut StepCotangent<'_>,
) {
    let n = at.before.tangent_dimension();
    let RadauTape { increments, derivative } = tape;
    let DerivativeWorkspace { by_state, by_stage, .. } = &mut *workspace;
    by_state.clear();
    by_state.resize(n, 0.0);
    by_stage.clear();
    by_stage.extend_from_slice(out.state);
    moved_vjp(at.before, at.after, &increments[increments.len() - n..], by_stage, by_state);
    let rates = derivative.cotangent_of_rates(by_stage);
    let mut stages = std::mem::take(&mut workspace.stages);
    stages.resize_with(order.stages().max(stages.len()), Stage::default);
    let parts = increments.chunks_exact(n.max(1)).zip(rates.chunks_exact(n.max(1)));
    for ((stage, (increment, by_rate)), node) in stages.iter_mut().zip(parts).zip(order.coefficients().nodes)
    {
        stage.tangent.clear();
        stage.tangent.extend_from_slice(increment);
        stage.state.set_moved(at.before, &stage.tangent);
        stage.by_rate.clear();
        stage.by_rate.extend_from_slice(by_rate);
        stage_vjp(at, *node, stage, None, workspace, out);
    }
    workspace.stages = stages;
    out.state.copy_from_slice(&workspace.by_state);
}
