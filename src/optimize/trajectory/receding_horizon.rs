//! Receding-horizon control: the commands of the next moments are planned again and again, each time from the state that
//! was come to and from the plan before.

use argmin::core::Error;

use super::problem::{TrajectoryProblem, TrajectoryTask};
use crate::multibody::State;
use crate::optimize::error::ProblemError;
use crate::optimize::evaluations::Evaluations;
use crate::optimize::ilqr::{Expansion, Regularization, StagedProblem, backward_pass};
use crate::optimize::optimized::OptimizedProblem;
use crate::optimize::variables::ControlRange;
use crate::rollout::{ControlKnots, DifferentiableResiduals, Moment, ResidualsIn};
use crate::scalar::Scalar;

/// A planner that looks ahead over a horizon. Its task's motion is one from a state at time 0 to the horizon; residuals
/// are told the time of the whole motion.
///
/// Each plan takes a few iterations of iLQR ([`Ilqr`](crate::optimize::ilqr::Ilqr)) from the plan before, moved on in
/// time: what is not solved now is solved next time. So that a plan takes a time that is known beforehand, an iteration
/// is one linearization and at most [`MOST_TRIALS`](Self::MOST_TRIALS) rollouts, and the regularization that a plan ended
/// with begins the next one.
///
/// # Reference
/// M. Diehl, H. G. Bock, J. P. Schlöder (2005). A real-time iteration scheme for nonlinear optimization in optimal
/// feedback control. SIAM Journal on Control and Optimization 43(5), 1714–1736.
#[derive(Debug)]
pub struct RecedingHorizon<'a> {
    task: TrajectoryTask<'a>,
    knots: ControlKnots,
    ranges: Vec<ControlRange>,
    iterations: u64,
    regularization: Regularization,
    /// The time that the last plan begins at, and its values at knots.
    time: f64,
    values: Vec<f64>,
}

/// What was planned, and what it took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// The cost of the plan.
    pub cost: f64,
    /// The cost of the plan before, moved on, from the present state.
    pub cost_before: f64,
    /// Rollouts and linearizations.
    pub evaluations: Evaluations,
}

/// Most rollouts of an iteration.
const MOST_TRIALS: usize = 3;
/// A plan that promises to lower the cost by less than this part of it is left as it is.
const SMALLEST_REDUCTION: f64 = 1e-6;

/// Variables of lower cost, and that cost, where a few trials find them. A regularization under which there is nothing
/// left to gain is dropped: the next plan begins elsewhere.
fn better<P: StagedProblem>(
    regularization: &mut Regularization,
    staged: &P,
    expansion: &Expansion,
    x: &[f64],
    cost: f64,
) -> Option<(Vec<f64>, f64)> {
    let mut scales = vec![0.0; x.len()];
    for _ in 0..MOST_TRIALS {
        if let Some(pass) = backward_pass(expansion, x, staged.bounds(), regularization.value(), &mut scales)
        {
            let predicted = pass.predicted_reduction();
            if predicted <= SMALLEST_REDUCTION * cost {
                *regularization = Regularization::default();
                return None;
            }
            let trial = staged.roll_out(x, &pass.policy).ok();
            if let Some((better, its_cost)) = trial.filter(|(_, its_cost)| *its_cost < cost) {
                regularization.accept((cost - its_cost) / predicted);
                return Some((better, its_cost));
            }
        }
        regularization.reject();
    }
    None
}

/// Residuals of a motion that begins later.
struct Later<'r> {
    residuals: &'r dyn DifferentiableResiduals,
    time: f64,
}

impl<'r, T: Scalar> ResidualsIn<T> for Later<'r>
where
    dyn DifferentiableResiduals + 'r: ResidualsIn<T>,
{
    fn add_running(&self, moment: &Moment<T>, residuals: &mut Vec<T>) {
        let moment = Moment { time: moment.time + self.time, ..*moment };
        ResidualsIn::<T>::add_running(self.residuals, &moment, residuals);
    }

    fn add_terminal(&self, moment: &Moment<T>, residuals: &mut Vec<T>) {
        let moment = Moment { time: moment.time + self.time, ..*moment };
        ResidualsIn::<T>::add_terminal(self.residuals, &moment, residuals);
    }
}

impl<'a> RecedingHorizon<'a> {
    /// Most rollouts of an iteration. Where none of them lowers the cost, the plan is left as it is.
    pub const MOST_TRIALS: usize = MOST_TRIALS;

    /// A planner that takes at most so many iterations (at least 1) for a plan, with a range for each control value. The first
    /// plan starts from `start`, values at knots, knot after knot.
    ///
    /// # Errors
    /// When knots, ranges or start do not match the task.
    pub fn new(
        task: TrajectoryTask<'a>,
        knots: ControlKnots,
        ranges: Vec<ControlRange>,
        iterations: u64,
        start: Vec<f64>,
    ) -> Result<Self, ProblemError> {
        let problem = TrajectoryProblem::new(task, &knots, &ranges)?;
        let (found, expected) = (start.len(), problem.map().variables());
        if found != expected {
            return Err(ProblemError::ValueCount { found, expected });
        }
        let (iterations, regularization) = (iterations.max(1), Regularization::default());
        Ok(Self { task, knots, ranges, iterations, regularization, time: 0.0, values: start })
    }

    /// Plans from a state at a time in s.
    ///
    /// # Errors
    /// When the motion of the plan before cannot be simulated or differentiated from this state; that plan is kept
    /// then.
    pub fn plan(&mut self, time: f64, state: &State) -> Result<Plan, Error> {
        let start = self.moved_on(time);
        let residuals = Later { residuals: self.task.residuals, time };
        let task = TrajectoryTask { initial: state, residuals: &residuals, ..self.task };
        let problem = TrajectoryProblem::new(task, &self.knots, &self.ranges)?;
        let (lower, upper) = problem.bounds();
        let mut x = problem.variables(&start)?;
        x.iter_mut().zip(lower.iter().zip(upper)).for_each(|(x, (&l, &u))| *x = x.max(l).min(u));
        let staged: &dyn OptimizedProblem = &problem;
        let cost_before = problem.cost(&x)?;
        let mut cost = cost_before;
        for _ in 0..self.iterations {
            let expansion = problem.expand(&x)?;
            match better(&mut self.regularization, &staged, &expansion, &x, cost) {
                Some((better, its_cost)) => (x, cost) = (better, its_cost),
                None => break,
            }
        }
        (self.time, self.values) = (time, problem.values(&x)?);
        Ok(Plan { cost, cost_before, evaluations: problem.evaluations() })
    }

    /// The values at knots of the last plan, read off later.
    fn moved_on(&self, time: f64) -> Vec<f64> {
        let m = self.ranges.len();
        let later = (time - self.time).max(0.0);
        let times = self.knots.times();
        times.iter().flat_map(|t| (0..m).map(move |i| self.value(t + later, i))).collect()
    }

    fn value(&self, since_plan: f64, control: usize) -> f64 {
        let m = self.ranges.len();
        self.knots.weights(since_plan).map(|(knot, weight)| weight * self.values[knot * m + control]).sum()
    }

    /// The commands of the last plan at a time in s, one for each control value.
    pub fn put_commands(&self, time: f64, row: &mut [f64]) {
        row.iter_mut().enumerate().for_each(|(i, u)| *u = self.value(time - self.time, i));
    }
}

#[cfg(test)]
mod tests {
    use argmin::core::CostFunction;
    use nalgebra::{DMatrix, DVector};

    use super::*;
    use crate::optimize::ilqr::{Policy, StageExpansion};

    /// The cost ½ (x − 3)² of one stage, whose rollouts fail or not.
    struct Failing(bool);

    impl CostFunction for Failing {
        type Param = Vec<f64>;
        type Output = f64;
        fn cost(&self, x: &Vec<f64>) -> Result<f64, Error> {
            Ok(0.5 * (x[0] - 3.0) * (x[0] - 3.0))
        }
    }

    impl StagedProblem for Failing {
        fn controls(&self) -> Vec<usize> {
            vec![0]
        }

        fn bounds(&self) -> (&[f64], &[f64]) {
            (&[-10.0], &[10.0])
        }

        fn expand(&self, x: &[f64]) -> Result<Expansion, Error> {
            let stage = StageExpansion {
                by_state: DMatrix::identity(1, 1),
                by_control: DMatrix::zeros(1, 1),
                gradient: DVector::from_vec(vec![0.0, x[0] - 3.0]),
                hessian: DMatrix::from_diagonal(&DVector::from_vec(vec![0.0, 1.0])),
            };
            let (end_gradient, end_hessian) = (DVector::zeros(1), DMatrix::zeros(1, 1));
            Ok(Expansion { stages: vec![stage], end_gradient, end_hessian })
        }

        fn roll_out(&self, x: &[f64], policy: &Policy) -> Result<(Vec<f64>, f64), Error> {
            let x = vec![x[0] + policy.changes[0][0]];
            let cost = self.cost(&x)?;
            if self.0 { Err(Error::msg("it fails")) } else { Ok((x, cost)) }
        }
    }

    #[test]
    fn a_planner_that_has_failed_for_long_plans_again() {
        let mut regularization = Regularization::default();
        let x = [0.0];
        let mut plan = |fails: bool| {
            let staged = Failing(fails);
            let expansion = staged.expand(&x).expect("it is there");
            better(&mut regularization, &staged, &expansion, &x, 4.5)
        };
        for failures in 0..60 {
            for _ in 0..failures {
                assert_eq!(plan(true), None);
            }
            // Held back to nothing it may take one plan more.
            let found = plan(false).or_else(|| plan(false)).expect("a step");
            assert!(found.1 < 4.5, "{failures}: {found:?}");
        }
    }
}
