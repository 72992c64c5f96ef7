//! Descent without choosing a method: a first look around, then iLQR and L-BFGS by turns.

use argmin::core::{Error, Gradient, KV, Problem, Solver, State, TerminationReason, TerminationStatus};
use serde::{Deserialize, Serialize};

use super::checkpoint::Resumable;
use super::evaluations::Evaluations;
use super::ilqr::{Ilqr, StagedProblem};
use super::lbfgsb::Lbfgsb;
use super::solver::{Convergence, DescentState, check_setting};
use super::surroundings::Surroundings;
use super::survey::survey;
use super::termination::Termination;
use crate::interruption;
use crate::optimize::data_error::InvalidField;

/// # iLQR and L-BFGS by turns
///
/// For costs through contact, which have plateaus and kinks. A survey first tries a few constant offsets
/// of the controls, and takes one of them as the start if its cost is less than half of the given
/// start's. From there [`Ilqr`] and [`Lbfgsb`] take turns, each until its iterations gain little. Where
/// the local model of one method misleads it, the other often still descends. When a round of both has
/// gained less than the tolerance, the method looks around ([`Surroundings`]): it goes on from a point
/// that is clearly lower, and ends otherwise. Of a problem without stages ([`StagedProblem::has_stages`]) all turns are those
/// of L-BFGS, each to its end.
///
/// Requires an initial parameter vector, which is moved into the bounds.
///
/// ## Requirements on the optimization problem
///
/// The optimization problem is required to implement [`StagedProblem`] and argmin's `Gradient`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Automatic {
    tolerance: f64,
    regularization: f64,
    turn: Turn,
    /// Costs since the turn began.
    costs: Vec<f64>,
    cost_before_round: f64,
    termination: Option<Termination>,
}

impl Resumable for Automatic {
    fn check(&self, bounds: (&[f64], &[f64])) -> Result<(), InvalidField> {
        let number = InvalidField::check_number;
        number("solver.tolerance", self.tolerance, 0.0, f64::INFINITY)?;
        number("solver.regularization", self.regularization, 0.0, f64::INFINITY)?;
        number("solver.cost_before_round", self.cost_before_round, f64::NEG_INFINITY, f64::INFINITY)?;
        let count = self.costs.len();
        InvalidField::check_numbers("solver.costs", &self.costs, count, f64::NEG_INFINITY)?;
        match &self.turn {
            Turn::Ilqr(solver) => solver.check(bounds),
            Turn::Lbfgs(solver) => solver.check(bounds),
        }
    }

    fn evaluated_again(&self) -> Evaluations {
        match &self.turn {
            Turn::Ilqr(solver) => solver.evaluated_again(),
            Turn::Lbfgs(solver) => solver.evaluated_again(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Turn {
    Ilqr(Ilqr),
    Lbfgs(Lbfgsb),
}

/// Iterations that are judged together, and the part of the cost that they have to take away for a
/// turn to go on.
const JUDGED_ITERATIONS: usize = 5;
const LEAST_GAIN: f64 = 1e-2;

impl Default for Automatic {
    fn default() -> Self {
        Self::new()
    }
}

impl Automatic {
    /// The method with a tolerance of 10⁻³ of the cost, and an initial regularization of 0.5.
    pub fn new() -> Self {
        Self {
            tolerance: 1e-3,
            regularization: 0.5,
            turn: Turn::Ilqr(Ilqr::new()),
            costs: Vec::new(),
            cost_before_round: f64::INFINITY,
            termination: None,
        }
    }

    /// Sets the tolerance: reductions by less than this part of the cost do not count.
    ///
    /// # Errors
    /// It must be finite and not negative.
    pub fn with_cost_tolerance(mut self, tolerance: f64) -> Result<Self, Error> {
        self.tolerance = check_setting("cost tolerance", tolerance, 0.0)?;
        Ok(self)
    }

    /// Sets the regularization with which each turn of iLQR begins; larger is more cautious.
    ///
    /// # Errors
    /// It must be finite and not negative.
    pub fn with_initial_regularization(mut self, regularization: f64) -> Result<Self, Error> {
        self.regularization = check_setting("initial regularization", regularization, 0.0)?;
        Ok(self)
    }

    /// How the method ended; `None` while it runs or where something else ended it.
    pub fn termination(&self) -> Option<&Termination> {
        self.termination.as_ref()
    }

    /// Begins the turn of iLQR, or of L-BFGS.
    fn begin<O>(
        &mut self,
        ilqr: bool,
        problem: &mut Problem<O>,
        state: DescentState,
    ) -> Result<(DescentState, Option<KV>), Error>
    where
        O: StagedProblem + Gradient<Param = Vec<f64>, Gradient = Vec<f64>>,
    {
        let (state, kv, turn) = if ilqr {
            let mut solver = Ilqr::new()
                .with_initial_regularization(self.regularization)?
                .with_cost_tolerance(self.tolerance.min(LEAST_GAIN))?;
            let (state, kv) = solver.init(problem, state)?;
            (state, kv, Turn::Ilqr(solver))
        } else {
            let inner = of(problem)?;
            let (lower, upper) = inner.bounds();
            let tolerance = if inner.has_stages() { 0.0 } else { self.tolerance };
            let mut solver =
                Lbfgsb::new().with_bounds(lower.to_vec(), upper.to_vec())?.with_cost_tolerance(tolerance)?;
            let (state, kv) = solver.init(problem, state)?;
            (state, kv, Turn::Lbfgs(solver))
        };
        self.turn = turn;
        self.costs = vec![state.get_cost()];
        Ok((state, kv))
    }

    /// Looks around: how the method ends, or a lower point.
    fn look_around<O>(&self, problem: &mut Problem<O>, x: &Vec<f64>, cost: f64) -> Result<Rest, Error>
    where
        O: StagedProblem + Gradient<Param = Vec<f64>, Gradient = Vec<f64>>,
    {
        let gradient = problem.gradient(x)?;
        let problem = of(problem)?;
        let (surroundings, lowest) =
            Surroundings::examine((x, cost, &gradient), problem.bounds(), &problem.controls(), &|points| {
                problem.costs(points)
            });
        let convergence = match &self.turn {
            Turn::Lbfgs(solver) if !problem.has_stages() && !solver.has_found_no_step() => {
                solver.convergence()
            }
            _ => None,
        };
        Ok(match (Termination::judged(convergence, surroundings, self.tolerance), lowest) {
            (Termination::Stuck { .. }, Some((x, cost))) => Rest::GoOn(x, cost),
            (termination, _) => Rest::End(termination),
        })
    }
}

/// What follows a look around.
enum Rest {
    GoOn(Vec<f64>, f64),
    End(Termination),
}

fn of<O>(problem: &Problem<O>) -> Result<&O, Error> {
    problem.problem.as_ref().ok_or_else(|| Error::msg("`Automatic`: there is no problem"))
}

impl<O> Solver<O, DescentState> for Automatic
where
    O: StagedProblem + Gradient<Param = Vec<f64>, Gradient = Vec<f64>>,
{
    fn name(&self) -> &str {
        "iLQR and L-BFGS by turns"
    }

    fn init(
        &mut self,
        problem: &mut Problem<O>,
        mut state: DescentState,
    ) -> Result<(DescentState, Option<KV>), Error> {
        let mut x = state.take_param().ok_or_else(|| {
            Error::msg("`Automatic` requires an initial parameter vector: set it with `Executor::configure`")
        })?;
        self.termination = None;
        let inner = of(problem)?;
        let (lower, upper) = inner.bounds();
        if x.len() != lower.len() {
            return Err(Error::msg(format!("{} variables, but the problem has {}", x.len(), lower.len())));
        }
        x.iter_mut().zip(lower.iter().zip(upper)).for_each(|(x, (&l, &u))| *x = x.max(l).min(u));
        let cost = inner.cost(&x)?;
        if !cost.is_finite() {
            return Err(Error::msg(format!("the cost at the start is {cost}")));
        }
        let (x, cost) = survey((x, cost), (lower, upper), &inner.controls(), &|points| inner.costs(points));
        self.cost_before_round = cost;
        if interruption::is_requested() {
            return Ok((state.param(x).cost(cost), None));
        }
        let has_stages = inner.has_stages();
        self.begin(has_stages, problem, state.param(x))
    }

    fn next_iter(
        &mut self,
        problem: &mut Problem<O>,
        state: DescentState,
    ) -> Result<(DescentState, Option<KV>), Error> {
        let ((mut state, kv), is_ilqr, ended) = match &mut self.turn {
            Turn::Ilqr(solver) => {
                let next = solver.next_iter(problem, state)?;
                (next, true, solver.convergence().is_some())
            }
            Turn::Lbfgs(solver) => {
                let next = solver.next_iter(problem, state)?;
                (next, false, solver.convergence().is_some())
            }
        };
        // From the end of the iteration before, a run that goes on comes to the same.
        if interruption::is_requested() {
            return Ok((state.terminate_with(TerminationReason::Interrupt), kv));
        }
        // That one method has found no step does not end the other.
        let ended = ended || state.terminated();
        state.termination_status = TerminationStatus::NotTerminated;
        let cost = state.get_cost();
        self.costs.push(cost);
        let before = self.costs.len().checked_sub(1 + JUDGED_ITERATIONS).map(|i| self.costs[i]);
        let has_stages = of(problem)?.has_stages();
        if !ended && (!has_stages || before.is_none_or(|before| before - cost > LEAST_GAIN * before)) {
            return Ok((state, kv));
        }
        if !is_ilqr {
            let gained = self.cost_before_round - cost;
            self.cost_before_round = cost;
            if !has_stages || gained <= self.tolerance * cost.abs() {
                let x = state.get_param().ok_or_else(|| Error::msg("`Automatic`: there are no variables"))?;
                match self.look_around(problem, x, cost)? {
                    _ if interruption::is_requested() => {
                        return Ok((state.terminate_with(TerminationReason::Interrupt), kv));
                    }
                    Rest::GoOn(x, cost) => {
                        self.cost_before_round = cost;
                        state = state.param(x);
                    }
                    Rest::End(termination) => {
                        self.termination = Some(termination);
                        return Ok((state, kv));
                    }
                }
            }
        }
        let (state, _) = self.begin(!is_ilqr && has_stages, problem, state)?;
        Ok((state, kv))
    }

    fn terminate(&mut self, _: &DescentState) -> TerminationStatus {
        match &self.termination {
            Some(Termination::Converged { .. }) => {
                TerminationStatus::Terminated(TerminationReason::SolverConverged)
            }
            Some(other) => TerminationStatus::Terminated(TerminationReason::SolverExit(other.to_string())),
            // It may have been asked to stop.
            None => Convergence::status(None),
        }
    }
}

#[cfg(test)]
mod tests;
