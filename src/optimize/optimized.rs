//! What an optimization asks of a problem, and how its solvers see it.

use std::sync::Arc;

use argmin::core::{CostFunction, Error, Gradient, Jacobian, Operator};
use nalgebra::DMatrix;

use super::evaluations::{EvaluationCounter, Evaluations};
use super::ilqr::{Expansion, Policy, StagedProblem};
use super::randomized_smoothing::SharedCost;
use super::trajectory::TrajectoryProblem;
use super::variables::SharedVariables;
use crate::parallel::in_parallel;
use crate::rollout::{Moment, Motion};

/// A problem that [`optimize_trajectory`](super::trajectory::optimize_trajectory) solves: the commands of one motion, or whatever
/// the members of an ensemble share.
pub trait OptimizedProblem: SharedCost {
    /// The variables.
    fn shared_variables(&self) -> &SharedVariables;

    /// The counter of evaluations, which outlives the problem.
    fn counter(&self) -> Arc<EvaluationCounter>;

    /// The evaluations so far.
    fn evaluations(&self) -> Evaluations {
        self.counter().read()
    }

    /// The costs of many points, computed on rayon's threads; `None` for a point that cannot be simulated.
    fn costs(&self, points: &[Vec<f64>]) -> Vec<Option<f64>> {
        in_parallel(points, |x| self.cost_at(x).ok())
    }

    /// Does some work with the states of the motion, of an ensemble those of one of its members: at the start of every
    /// step, and at the end.
    ///
    /// # Errors
    /// When there is not one number for each variable, or the simulation fails.
    ///
    /// # Panics
    /// When there is no such member.
    fn at_moments_of(&self, member: usize, x: &[f64], work: &mut dyn FnMut(&[Moment])) -> Result<(), Error>;

    /// The motion, of an ensemble that of one of its members, with its warnings.
    ///
    /// # Errors
    /// When there is not one number for each variable.
    ///
    /// # Panics
    /// When there is no such member.
    fn motion_of(&self, member: usize, x: &[f64]) -> Result<Motion, Error>;

    /// The problem as one of commands alone, which has stages and residuals, and remembers its last motions.
    fn as_trajectory(&self) -> Option<&TrajectoryProblem<'_>> {
        None
    }
}

/// A problem at perturbed variables: all but those at knots stay within their bounds, since there may be no model, controller
/// or motion beyond them.
pub struct WithinBounds<'p>(pub &'p dyn OptimizedProblem);

impl SharedCost for WithinBounds<'_> {
    fn cost_at(&self, x: &[f64]) -> Result<f64, Error> {
        self.0.cost_at(&self.0.shared_variables().within(x))
    }

    fn cost_and_gradient_at(&self, x: &[f64]) -> Result<(f64, Vec<f64>), Error> {
        let within = self.0.shared_variables().within(x);
        let (cost, mut gradient) = self.0.cost_and_gradient_at(&within)?;
        let moved = gradient.iter_mut().zip(within.iter().zip(x)).filter(|(_, (within, x))| within != x);
        moved.for_each(|(by, _)| *by = 0.0);
        Ok((cost, gradient))
    }
}

/// A problem by reference, as solvers take it.
type Borrowed<'p> = &'p (dyn OptimizedProblem + 'p);

/// The problem of a solver that needs stages or residuals.
fn trajectory<'p>(problem: Borrowed<'p>) -> Result<&'p TrajectoryProblem<'p>, Error> {
    problem.as_trajectory().ok_or_else(|| Error::msg("the problem has neither stages nor residuals"))
}

impl CostFunction for Borrowed<'_> {
    type Param = Vec<f64>;
    type Output = f64;

    fn cost(&self, x: &Vec<f64>) -> Result<f64, Error> {
        self.as_trajectory().map_or_else(|| self.cost_at(x), |problem| problem.cost(x))
    }
}

impl Gradient for Borrowed<'_> {
    type Param = Vec<f64>;
    type Gradient = Vec<f64>;

    fn gradient(&self, x: &Vec<f64>) -> Result<Vec<f64>, Error> {
        let alone = || Ok(self.cost_and_gradient_at(x)?.1);
        self.as_trajectory().map_or_else(alone, |problem| problem.gradient(x))
    }
}

impl Operator for Borrowed<'_> {
    type Param = Vec<f64>;
    type Output = Vec<f64>;

    fn apply(&self, x: &Vec<f64>) -> Result<Vec<f64>, Error> {
        trajectory(*self)?.apply(x)
    }
}

impl Jacobian for Borrowed<'_> {
    type Param = Vec<f64>;
    type Jacobian = DMatrix<f64>;

    fn jacobian(&self, x: &Vec<f64>) -> Result<DMatrix<f64>, Error> {
        trajectory(*self)?.jacobian(x)
    }
}

impl StagedProblem for Borrowed<'_> {
    fn has_stages(&self) -> bool {
        self.as_trajectory().is_some()
    }

    fn stage_dimension(&self) -> usize {
        self.as_trajectory().map_or(self.shared_variables().count(), StagedProblem::stage_dimension)
    }

    fn controls(&self) -> Vec<usize> {
        self.shared_variables().controls()
    }

    fn bounds(&self) -> (&[f64], &[f64]) {
        self.shared_variables().bounds()
    }

    fn expand(&self, x: &[f64]) -> Result<Expansion, Error> {
        trajectory(*self)?.expand(x)
    }

    fn roll_out(&self, nominal: &[f64], policy: &Policy) -> Result<(Vec<f64>, f64), Error> {
        trajectory(*self)?.roll_out(nominal, policy)
    }

    fn costs(&self, points: &[Vec<f64>]) -> Vec<Option<f64>> {
        OptimizedProblem::costs(*self, points)
    }
}
