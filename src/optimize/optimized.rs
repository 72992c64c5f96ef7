//! What an optimization asks of a problem, and how its solvers see it.

use std::cell::RefCell;
use std::sync::Arc;

use argmin::core::{CostFunction, Error, Gradient, Jacobian, Operator};
use nalgebra::DMatrix;

use super::evaluations::{EvaluationCounter, Evaluations};
use super::ilqr::{Expansion, Policy, StagedProblem};
use super::randomized_smoothing::SharedCost;
use super::variables::SharedVariables;
use crate::interruption;
use crate::multibody::State;
use crate::parallel::in_parallel;
use crate::rollout::{Controls, Moment, Motion, Rollout, Trajectory};
use crate::step::StepProblem;

/// A problem that [`optimize_trajectory`](super::trajectory::optimize_trajectory) solves: the commands of one motion, or whatever
/// the members of an ensemble share. As `&dyn OptimizedProblem` it is one for argmin's solvers.
///
/// A problem of commands alone has residuals, half of whose sum of squares is the cost, and stages for
/// [`Ilqr`](super::ilqr::Ilqr). Where it has none they are an error.
pub trait OptimizedProblem: SharedCost {
    /// The variables.
    fn shared_variables(&self) -> &SharedVariables;

    /// The counter of evaluations, which outlives the problem.
    fn counter(&self) -> Arc<EvaluationCounter>;

    /// The evaluations so far.
    fn evaluations(&self) -> Evaluations {
        self.counter().read()
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

    /// The cost, from memory where the problem keeps its last motions.
    ///
    /// # Errors
    /// Those of [`SharedCost::cost_at`].
    fn cost(&self, x: &[f64]) -> Result<f64, Error> {
        self.cost_at(x)
    }

    /// Its gradient, of a motion from memory where there is one.
    ///
    /// # Errors
    /// Those of [`SharedCost::cost_and_gradient_at`].
    fn gradient(&self, x: &[f64]) -> Result<Vec<f64>, Error> {
        Ok(self.cost_and_gradient_at(x)?.1)
    }

    /// The residuals.
    ///
    /// # Errors
    /// There are none, or the motion cannot be simulated.
    fn residuals(&self, _x: &[f64]) -> Result<Vec<f64>, Error> {
        Err(Error::msg(WITHOUT_STAGES))
    }

    /// The derivatives of the residuals, a row each.
    ///
    /// # Errors
    /// There are none, or the motion cannot be simulated or differentiated.
    fn jacobian(&self, _x: &[f64]) -> Result<DMatrix<f64>, Error> {
        Err(Error::msg(WITHOUT_STAGES))
    }

    /// Whether there are stages and residuals.
    fn has_stages(&self) -> bool {
        false
    }

    /// As [`StagedProblem::expand`].
    ///
    /// # Errors
    /// There are no stages, or the motion cannot be simulated or differentiated.
    fn expand(&self, _x: &[f64]) -> Result<Expansion, Error> {
        Err(Error::msg(WITHOUT_STAGES))
    }

    /// As [`StagedProblem::roll_out`].
    ///
    /// # Errors
    /// There are no stages, or a motion cannot be simulated.
    fn roll_out(&self, _nominal: &[f64], _policy: &Policy) -> Result<(Vec<f64>, f64), Error> {
        Err(Error::msg(WITHOUT_STAGES))
    }
}

const WITHOUT_STAGES: &str = "the problem has neither stages nor residuals";

/// Does some work with the states of a motion, at the start of every step and at the end: that of the last step, or
/// another time before it with the state there.
pub(super) fn at_moments<V>(
    rollout: &Rollout<'_>,
    Trajectory { times, states }: &Trajectory,
    controls: &Controls,
    end: Option<&(f64, State)>,
    work: impl FnOnce(&[Moment]) -> V,
) -> V {
    let (contacts, forces) = (RefCell::default(), RefCell::default());
    let (integrator, model, applied) = (rollout.settings.integrator, rollout.model, rollout.applied);
    let last = times.len() - 1;
    let until = end.map_or(times[last], |(time, _)| *time);
    let moment = |step: usize| {
        let time = times[step];
        let Some(after) = states.get(step + 1) else {
            let state = end.map_or(&states[step], |(_, state)| state);
            return Moment { step, time: until, ..Moment::instant(model, state, &[], &contacts) };
        };
        let (state, time_step, substeps) =
            (&states[step], times[step + 1] - time, rollout.held_substeps(step));
        let control = controls.row(step);
        let problem = StepProblem { model, state, time, time_step, applied, control, substeps, asleep: &[] };
        let moment = Moment::of_step(step, integrator, problem, after, (&contacts, &forces));
        Moment { dt: if step + 1 == last { until - time } else { time_step }, ..moment }
    };
    work(&(0..times.len()).map(moment).collect::<Vec<_>>())
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

impl CostFunction for Borrowed<'_> {
    type Param = Vec<f64>;
    type Output = f64;

    fn cost(&self, x: &Vec<f64>) -> Result<f64, Error> {
        OptimizedProblem::cost(*self, x)
    }
}

impl Gradient for Borrowed<'_> {
    type Param = Vec<f64>;
    type Gradient = Vec<f64>;

    fn gradient(&self, x: &Vec<f64>) -> Result<Vec<f64>, Error> {
        OptimizedProblem::gradient(*self, x)
    }
}

impl Operator for Borrowed<'_> {
    type Param = Vec<f64>;
    type Output = Vec<f64>;

    fn apply(&self, x: &Vec<f64>) -> Result<Vec<f64>, Error> {
        self.residuals(x)
    }
}

impl Jacobian for Borrowed<'_> {
    type Param = Vec<f64>;
    type Jacobian = DMatrix<f64>;

    fn jacobian(&self, x: &Vec<f64>) -> Result<DMatrix<f64>, Error> {
        OptimizedProblem::jacobian(*self, x)
    }
}

impl StagedProblem for Borrowed<'_> {
    fn has_stages(&self) -> bool {
        OptimizedProblem::has_stages(*self)
    }

    fn controls(&self) -> Vec<usize> {
        self.shared_variables().controls()
    }

    fn bounds(&self) -> (&[f64], &[f64]) {
        self.shared_variables().bounds()
    }

    fn expand(&self, x: &[f64]) -> Result<Expansion, Error> {
        OptimizedProblem::expand(*self, x)
    }

    fn roll_out(&self, nominal: &[f64], policy: &Policy) -> Result<(Vec<f64>, f64), Error> {
        OptimizedProblem::roll_out(*self, nominal, policy)
    }

    fn costs(&self, points: &[Vec<f64>]) -> Vec<Option<f64>> {
        // Once all is asked to end, what is left of a look around is not looked at.
        in_parallel(points, |x| (!interruption::is_requested()).then(|| self.cost_at(x).ok())?)
    }
}
