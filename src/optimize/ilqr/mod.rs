//! The iterative linear-quadratic regulator within bounds, as a solver for argmin.

mod backward_pass;
mod regularization;
mod stages;

use std::collections::VecDeque;

use argmin::core::{Error, KV, Problem, Solver, State, TerminationStatus};
use serde::{Deserialize, Serialize};

pub(super) use backward_pass::backward_pass;
use regularization::NEGLIGIBLE;
pub(super) use regularization::Regularization;
pub use stages::{Expansion, Policy, StageExpansion, StagedProblem};

use super::bounds::projected_gradient_norm;
use super::checkpoint::Resumable;
use super::evaluations::Evaluations;
use super::solver::{Convergence, DescentState, Tolerances, check_setting, exit};
use crate::interruption;
use crate::optimize::data_error::InvalidField;
use backward_pass::gradient;

/// # Iterative linear-quadratic regulator within bounds (iLQR, box-DDP)
///
/// Minimizes the cost of a motion over the variables of its stages, l ≤ u ≤ h. Each iteration
/// expands motion and cost around the present one ([`StagedProblem::expand`]), solves the
/// linear-quadratic problem backward by dynamic programming, with the bounds kept by a projected
/// Newton method in each stage, and rolls out with the resulting changes *and feedback gains*. Its
/// cost grows linearly with the number of stages, and the feedback keeps the new motion close to
/// where the expansion holds.
///
/// A step is accepted when it reduces the cost by a part of what was predicted. A rollout that fails (an
/// error, or a cost that is not finite) counts as a step that is too long; only at the start is it an
/// error. The regularization λ sets the length of steps, as in the Levenberg–Marquardt method. It is
/// relative to the largest Hessian entry of each variable so far, so that units do not matter. It grows
/// when a step is rejected; when one is accepted, it follows Nielsen's rule from the ratio of actual to
/// predicted reduction. A backward pass is cheap next to a rollout, and a regularized step better than a
/// part of a full one, which is why there is no line search over α as in the paper.
///
/// With least-squares costs and Gauss–Newton Hessians the backward pass always finds descent.
///
/// Requires an initial parameter vector, which is moved into the bounds.
///
/// ## Requirements on the optimization problem
///
/// The optimization problem is required to implement [`StagedProblem`] (and with it argmin's
/// `CostFunction`); variables are `Vec<f64>`.
///
/// ## Reference
///
/// Y. Tassa, N. Mansard, E. Todorov (2014). Control-limited differential dynamic programming.
/// IEEE International Conference on Robotics and Automation, 1168–1175.
///
/// H. B. Nielsen (1999). Damping parameter in Marquardt's method. IMM-REP-1999-05, Technical
/// University of Denmark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ilqr {
    tolerances: Tolerances,
    #[serde(flatten)]
    regularization: Regularization,
    scales: Vec<f64>,
    /// The costs before the last iterations that were made, the oldest first.
    recent: VecDeque<f64>,
    convergence: Option<Convergence>,
    /// Around the present variables; made again after a resume.
    #[serde(skip)]
    expansion: Option<Expansion>,
}

/// Regularization at which a step that is still rejected shows that the cost cannot be reduced.
const LARGEST_REGULARIZATION: f64 = 1e12;
/// Smallest ratio of actual to predicted reduction of an accepted step.
const SMALLEST_GAIN_RATIO: f64 = 1e-3;
/// A step that promises less than this part of the cost and is rejected has met the noise of the
/// cost (a simulation holds an iteration's tolerance).
const NOISE_OF_COST: f64 = 1e-10;

/// Iterations whose reduction of the cost is judged together.
const JUDGED_ITERATIONS: usize = 5;

/// The policy of the quadratic expansion around variables, which may be an optimum, with as little regularization as
/// lets every stage have a minimum. `None` where even much of it does not.
pub(super) fn policy_around(expansion: &Expansion, x: &[f64], bounds: (&[f64], &[f64])) -> Option<Policy> {
    let mut regularization = 0.0;
    while regularization <= LARGEST_REGULARIZATION {
        let mut scales = vec![0.0; x.len()];
        if let Some(pass) = backward_pass(expansion, x, bounds, regularization, &mut scales) {
            return Some(pass.policy);
        }
        regularization = (10.0 * regularization).max(NEGLIGIBLE);
    }
    None
}

impl Default for Ilqr {
    fn default() -> Self {
        Self::new()
    }
}

impl Ilqr {
    /// The method with no regularization at first; tolerances are 10⁻¹⁰ (cost, relative) and 0
    /// (gradient).
    pub fn new() -> Self {
        Self {
            tolerances: Tolerances { gradient: 0.0, cost: 1e-10 },
            regularization: Regularization::default(),
            scales: Vec::new(),
            recent: VecDeque::new(),
            convergence: None,
            expansion: None,
        }
    }

    /// Sets the regularization λ at the start: a larger one makes first steps more cautious.
    ///
    /// # Errors
    /// It must be finite and not negative.
    pub fn with_initial_regularization(mut self, regularization: f64) -> Result<Self, Error> {
        self.regularization =
            Regularization::starting_at(check_setting("initial regularization", regularization, 0.0)?);
        Ok(self)
    }

    /// The method ends when no derivative of the cost with respect to a variable is larger than this.
    /// Derivatives that push a variable against its bound do not count. The default is 0: never.
    ///
    /// # Errors
    /// It must be finite and not negative.
    pub fn with_gradient_tolerance(mut self, tolerance: f64) -> Result<Self, Error> {
        self.tolerances = self.tolerances.with_gradient(tolerance)?;
        Ok(self)
    }

    /// It ends when an unregularized step promises to reduce the cost by less than this part of it,
    /// or five iterations together have not reduced it by more (default 10⁻¹⁰).
    ///
    /// # Errors
    /// It must be finite and not negative.
    pub fn with_cost_tolerance(mut self, tolerance: f64) -> Result<Self, Error> {
        self.tolerances = self.tolerances.with_cost(tolerance)?;
        Ok(self)
    }

    /// Why the method stopped by itself; `None` while it runs or where something else ended it.
    pub fn convergence(&self) -> Option<Convergence> {
        self.convergence
    }

    /// The expansion around variables, where it is not at hand.
    fn expansion<O: StagedProblem>(
        &mut self,
        problem: &mut Problem<O>,
        x: &[f64],
    ) -> Result<Expansion, Error> {
        match self.expansion.take() {
            Some(expansion) => Ok(expansion),
            None => problem.problem("expansion_count", |problem| problem.expand(x)),
        }
    }
}

impl Resumable for Ilqr {
    fn check(&self, (lower, _): (&[f64], &[f64])) -> Result<(), InvalidField> {
        self.tolerances.check()?;
        self.regularization.check()?;
        InvalidField::check_numbers("solver.scales", &self.scales, lower.len(), 0.0)
    }

    fn evaluated_again(&self) -> Evaluations {
        Evaluations { jacobians: 1, ..Evaluations::default() }
    }
}

/// Bounds of all variables.
fn bounds_of<O: StagedProblem>(problem: &Problem<O>) -> Result<(Vec<f64>, Vec<f64>), Error> {
    let problem = problem.problem.as_ref().ok_or_else(|| Error::msg("`Ilqr`: there is no problem"))?;
    let (lower, upper) = problem.bounds();
    Ok((lower.to_vec(), upper.to_vec()))
}

impl<O: StagedProblem> Solver<O, DescentState> for Ilqr {
    fn name(&self) -> &str {
        "Iterative linear-quadratic regulator"
    }

    fn init(
        &mut self,
        problem: &mut Problem<O>,
        mut state: DescentState,
    ) -> Result<(DescentState, Option<KV>), Error> {
        let mut x = state.take_param().ok_or_else(|| {
            Error::msg("`Ilqr` requires an initial parameter vector: set it with `Executor::configure`")
        })?;
        let (lower, upper) = bounds_of(problem)?;
        if x.len() != lower.len() {
            return Err(Error::msg(format!("{} variables, but the problem has {}", x.len(), lower.len())));
        }
        x.iter_mut().zip(lower.iter().zip(&upper)).for_each(|(x, (&l, &u))| *x = x.max(l).min(u));
        let cost = problem.cost(&x)?;
        if !cost.is_finite() {
            return Err(Error::msg(format!("the cost at the start is {cost}")));
        }
        self.regularization = Regularization::starting_at(self.regularization.value());
        (self.convergence, self.expansion) = (None, None);
        self.scales = vec![0.0; x.len()];
        self.recent.clear();
        let expansion = self.expansion(problem, &x)?;
        let gradient = gradient(&expansion);
        let norm = projected_gradient_norm(&x, &gradient, &lower, &upper);
        self.expansion = Some(expansion);
        let kv = argmin::kv!("gradient_norm" => norm;);
        Ok((state.param(x).cost(cost).gradient(gradient), Some(kv)))
    }

    fn next_iter(
        &mut self,
        problem: &mut Problem<O>,
        mut state: DescentState,
    ) -> Result<(DescentState, Option<KV>), Error> {
        let missing = || Error::msg("`Ilqr`: the state was not initialized");
        let x = state.take_param().ok_or_else(missing)?;
        let cost = state.get_cost();
        let (lower, upper) = bounds_of(problem)?;
        let expansion = self.expansion(problem, &x)?;
        let bounds = (&lower[..], &upper[..]);
        // Only a step that is not held back tells whether there is anything left to gain.
        let free = backward_pass(&expansion, &x, bounds, 0.0, &mut self.scales);
        if free.is_some_and(|pass| pass.predicted_reduction() <= self.tolerances.cost * cost.abs()) {
            self.convergence = Some(Convergence::Cost);
        }
        let mut last_error = None;
        let accepted = loop {
            if self.convergence.is_some() {
                break None;
            }
            let pass = backward_pass(&expansion, &x, bounds, self.regularization.value(), &mut self.scales);
            if let Some(pass) = pass {
                let predicted = pass.predicted_reduction();
                match problem.problem("rollout_count", |p| p.roll_out(&x, &pass.policy)) {
                    Ok((trial, trial_cost)) => {
                        let ratio = (cost - trial_cost) / predicted;
                        // False for a cost that is NaN.
                        if ratio >= SMALLEST_GAIN_RATIO && trial_cost < cost {
                            match problem.problem("expansion_count", |p| p.expand(&trial)) {
                                Ok(new) => break Some((trial, trial_cost, ratio, new)),
                                Err(error) => last_error = Some(error),
                            }
                        }
                    }
                    Err(error) => last_error = Some(error),
                }
                if predicted <= NOISE_OF_COST * cost.abs() && self.regularization.value() <= 1.0 {
                    self.convergence = Some(Convergence::Cost);
                    break None;
                }
            }
            self.regularization.reject();
            if interruption::is_requested() || self.regularization.value() > LARGEST_REGULARIZATION {
                let mut reason = "no step reduces the cost although its gradient is not zero: the cost \
                                  is not smooth here, or its derivative is wrong"
                    .to_owned();
                if let Some(error) = last_error {
                    reason = format!("no step reduces the cost; the last trial failed: {error}");
                }
                let gradient = gradient(&expansion);
                self.expansion = Some(expansion);
                let state = state.param(x).cost(cost).gradient(gradient);
                return Ok((state.terminate_with(exit(reason)), None));
            }
        };
        self.recent.push_back(cost);
        let (x, cost, expansion) = match accepted {
            Some((x, cost, ratio, expansion)) => {
                self.regularization.accept(ratio);
                (x, cost, expansion)
            }
            None => (x, cost, expansion),
        };
        let gradient = gradient(&expansion);
        self.expansion = Some(expansion);
        let norm = projected_gradient_norm(&x, &gradient, &lower, &upper);
        if norm <= self.tolerances.gradient && self.convergence.is_none() {
            self.convergence = Some(Convergence::Gradient);
        }
        if self.recent.len() == JUDGED_ITERATIONS {
            let before = self.recent.pop_front().unwrap_or(f64::INFINITY);
            if before - cost <= self.tolerances.cost * before.abs() && self.convergence.is_none() {
                self.convergence = Some(Convergence::Cost);
            }
        }
        let kv = argmin::kv!("gradient_norm" => norm; "regularization" => self.regularization.value(););
        Ok((state.param(x).cost(cost).gradient(gradient), Some(kv)))
    }

    fn terminate(&mut self, _: &DescentState) -> TerminationStatus {
        Convergence::status(self.convergence)
    }
}

#[cfg(test)]
mod tests;
