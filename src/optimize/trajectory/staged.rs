//! A trajectory problem as stages, one for each knot that is held.

use std::ops::Range;

use argmin::core::{CostFunction, Error};
use nalgebra::{DMatrix, DVector};

use super::control_range::TrajectoryProblemError;
use super::problem::TrajectoryProblem;
use crate::multibody::AppliedForces;
use crate::optimize::ilqr::{Expansion, Policy, StageExpansion, StagedProblem};
use crate::rollout::{StepLinearization, TrajectoryResiduals, simulate_with_feedback};

/// A [`TrajectoryProblem`] whose controls are held from knot to knot, for
/// [`Ilqr`](crate::optimize::ilqr::Ilqr). A stage is the steps during which one knot is held; its
/// feedback acts on the state at its start, in the state's tangent space. Hessians are those of
/// Gauss–Newton.
///
/// One iteration costs a linearization of all steps and, for each trial of the line search, one
/// rollout.
#[derive(Debug)]
pub struct StagedTrajectory<'p, 'a, A, R> {
    problem: &'p TrajectoryProblem<'a, A, R>,
    holds: Vec<Range<usize>>,
}

impl<'p, 'a, A: AppliedForces, R: TrajectoryResiduals> StagedTrajectory<'p, 'a, A, R> {
    /// The stages of a problem.
    ///
    /// # Errors
    /// When the controls are not held from knot to knot.
    pub fn new(problem: &'p TrajectoryProblem<'a, A, R>) -> Result<Self, TrajectoryProblemError> {
        let holds = problem.map().holds().ok_or(TrajectoryProblemError::NotHeld)?;
        Ok(Self { problem, holds })
    }
}

impl<A: AppliedForces, R: TrajectoryResiduals> CostFunction for StagedTrajectory<'_, '_, A, R> {
    type Param = Vec<f64>;
    type Output = f64;

    fn cost(&self, x: &Vec<f64>) -> Result<f64, Error> {
        self.problem.cost(x)
    }
}

impl<A: AppliedForces, R: TrajectoryResiduals> StagedProblem for StagedTrajectory<'_, '_, A, R> {
    fn stage_dimension(&self) -> usize {
        self.problem.map().dimension()
    }

    fn bounds(&self) -> (&[f64], &[f64]) {
        self.problem.bounds()
    }

    fn expand(&self, x: &[f64]) -> Result<Expansion, Error> {
        let linear = self.problem.linearized(&*self.problem.motion(x)?)?;
        let scales = DVector::from_iterator(self.stage_dimension(), self.problem.scales());
        let stages = self.holds.iter().map(|hold| stage_expansion(&linear.steps[hold.clone()], &scales));
        Ok(Expansion {
            stages: stages.collect(),
            end_gradient: linear.end.by_state.tr_mul(&linear.end.values),
            end_hessian: linear.end.by_state.tr_mul(&linear.end.by_state),
        })
    }

    fn roll_out(&self, nominal: &[f64], policy: &Policy) -> Result<(Vec<f64>, f64), Error> {
        let problem = self.problem;
        let motion = problem.motion(nominal)?;
        let task = problem.task();
        let m = self.stage_dimension();
        let (lower, upper) = problem.bounds();
        let mut x = nominal.to_vec();
        // The values of the present stage, and the stage after it.
        let (mut values, mut next_stage) = (Vec::new(), 0);
        problem.counter().count_rollout();
        let simulated = simulate_with_feedback(
            task.model,
            task.initial,
            &task.settings,
            task.until,
            task.applied,
            |number, state, row| {
                if next_stage < self.holds.len() && number >= self.holds[next_stage].start {
                    let range = next_stage * m..(next_stage + 1) * m;
                    let difference = motion.trajectory.states[number].difference(state);
                    let bounds = (&lower[range.clone()], &upper[range.clone()]);
                    let changed = policy.variables(next_stage, &nominal[range.clone()], &difference, bounds);
                    x[range.clone()].copy_from_slice(&changed);
                    values = problem.values_of_knot(&changed).collect();
                    next_stage += 1;
                }
                row.copy_from_slice(&values);
            },
        );
        let (trajectory, controls) = simulated?;
        let motion = problem.remember(problem.with_residuals(x, controls, trajectory)?);
        Ok((motion.x.clone(), motion.cost()))
    }
}

/// The expansion of consecutive steps under the same controls, by the state before them and the
/// controls over their scales.
fn stage_expansion(steps: &[StepLinearization], scales: &DVector<f64>) -> StageExpansion {
    let m = scales.len();
    let n = steps.first().map_or(0, |step| step.by_state.nrows());
    // The present state by that at the start of the stage, then by the controls.
    let mut state = DMatrix::identity(n, n + m);
    let mut expansion = StageExpansion {
        by_state: DMatrix::zeros(n, n),
        by_control: DMatrix::zeros(n, m),
        gradient: DVector::zeros(n + m),
        hessian: DMatrix::zeros(n + m, n + m),
    };
    let scaled = |by_control: &DMatrix<f64>| {
        let mut by_control = by_control.clone();
        by_control.column_iter_mut().zip(scales.iter()).for_each(|(mut column, s)| column *= *s);
        by_control
    };
    for step in steps {
        let residuals = &step.residuals;
        if !residuals.values.is_empty() {
            let mut by_both = &residuals.by_state * &state;
            let mut by_control = by_both.columns_mut(n, m);
            by_control += scaled(&residuals.by_control);
            expansion.gradient.gemv_tr(1.0, &by_both, &residuals.values, 1.0);
            expansion.hessian.gemm_tr(1.0, &by_both, &by_both, 1.0);
        }
        state = &step.by_state * state;
        let mut by_control = state.columns_mut(n, m);
        by_control += scaled(&step.by_control);
    }
    expansion.by_state.copy_from(&state.columns(0, n));
    expansion.by_control.copy_from(&state.columns(n, m));
    expansion
}
