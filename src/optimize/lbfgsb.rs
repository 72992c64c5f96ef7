//! L-BFGS within bounds, as a solver for argmin.
//!
//! argmin's own L-BFGS knows no bounds, and it stops where the Moré–Thuente search ends on a limit
//! of its own: such a step may have sᵀy ≤ 0, and with that pair in the memory the next direction
//! need not descend.

mod quadratic_model;

use std::collections::VecDeque;

use argmin::core::{
    CostFunction, Error, Gradient, KV, Problem, Solver, State, TerminationReason, TerminationStatus,
};
use serde::{Deserialize, Serialize};

use super::bounds::Bounds;
use super::checkpoint::Resumable;
use super::solver::{Convergence, DescentState, Tolerances, check_setting};
use crate::interruption;
use crate::linear_algebra::dot;
use crate::optimize::data_error::InvalidField;
use quadratic_model::QuadraticModel;

/// # L-BFGS within bounds (L-BFGS-B)
///
/// Minimizes a smooth function subject to l ≤ x ≤ u. Each iteration finds (nearly) the minimum of a
/// limited-memory quadratic model within the bounds, and searches on the straight line to it, which
/// stays within the bounds, by doubling and bisection for the weak Wolfe conditions.
///
/// A pair (s, y) is stored only if sᵀy is clearly positive, so that every direction is one of descent.
/// If rounding nevertheless spoils a direction, or no step along it reduces the cost, the method
/// continues from the gradient with an empty memory. If the cost cannot be evaluated or is not finite,
/// the step counts as too long; only at the start is this an error. Without bounds it is the ordinary
/// L-BFGS.
///
/// Requires an initial parameter vector, which is moved into the bounds.
///
/// ## Requirements on the optimization problem
///
/// The optimization problem is required to implement [`CostFunction`] and [`Gradient`] on
/// `Vec<f64>`.
///
/// ## Reference
///
/// R. H. Byrd, P. Lu, J. Nocedal, C. Zhu (1995). A limited memory algorithm for bound constrained
/// optimization. SIAM Journal on Scientific Computing 16, 1190–1208.
///
/// J. L. Morales, J. Nocedal (2011). Remark on algorithm 778: L-BFGS-B: Fortran subroutines for
/// large-scale bound constrained optimization. ACM Transactions on Mathematical Software 38, 7.
///
/// A. S. Lewis, M. L. Overton (2013). Nonsmooth optimization via quasi-Newton methods.
/// Mathematical Programming 141, 135–163, Algorithm 2.6 (the search).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lbfgsb {
    bounds: Bounds,
    memory: usize,
    tolerances: Tolerances,
    longest_first_move: f64,
    pairs: VecDeque<Pair>,
    convergence: Option<Convergence>,
    has_found_no_step: bool,
    /// That of the last iteration, for a run that goes on: the problem may not evaluate to the same again.
    #[serde(default)]
    gradient: Option<Vec<f64>>,
}

/// A step and the change of the gradient over it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Pair {
    s: Vec<f64>,
    y: Vec<f64>,
}

/// Part of the cost's slope that a step must gain.
const SUFFICIENT_DECREASE: f64 = 1e-4;
/// Part of the slope that may be left.
const CURVATURE: f64 = 0.9;
/// Smallest cosine between s and y of a pair that is remembered.
const SMALLEST_COSINE: f64 = 1e-8;
/// Most trials of a line search.
const LARGEST_TRIAL: usize = 40;

impl Default for Lbfgsb {
    fn default() -> Self {
        Self::new()
    }
}

impl Lbfgsb {
    /// The method without bounds, with a memory of 30 pairs (little next to a rollout), a first move of length 1 and
    /// tolerances of 10⁻¹⁰ (cost, relative) and 0 (gradient).
    pub fn new() -> Self {
        Self {
            bounds: Bounds::default(),
            memory: 30,
            tolerances: Tolerances { gradient: 0.0, cost: 1e-10 },
            longest_first_move: 1.0,
            pairs: VecDeque::new(),
            convergence: None,
            has_found_no_step: false,
            gradient: None,
        }
    }

    /// Keeps the variables within `lower` and `upper` (±∞ where there is no bound).
    ///
    /// # Errors
    /// Lengths differ, or a lower bound is above its upper one or NaN.
    pub fn with_bounds(mut self, lower: Vec<f64>, upper: Vec<f64>) -> Result<Self, Error> {
        self.bounds = Bounds::new(lower, upper)?;
        Ok(self)
    }

    /// Sets the number of pairs remembered.
    ///
    /// # Errors
    /// It must be at least 1.
    pub fn with_memory(mut self, memory: usize) -> Result<Self, Error> {
        if memory == 0 {
            return Err(Error::msg("L-BFGS: the memory is 0, it must be at least 1"));
        }
        self.memory = memory;
        Ok(self)
    }

    /// Limits a move along the gradient alone, the first one, to this Euclidean length.
    ///
    /// # Errors
    /// It must be positive and finite.
    pub fn with_longest_first_move(mut self, length: f64) -> Result<Self, Error> {
        self.longest_first_move = check_setting("longest first move", length, f64::MIN_POSITIVE)?;
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

    /// It ends when an iteration, and then one along the gradient, lower the cost by less than
    /// this part of it (default 10⁻¹⁰).
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

    /// Whether the method stopped because no step along the gradient reduces the cost, at a minimum
    /// to rounding or at a kink.
    pub fn has_found_no_step(&self) -> bool {
        self.has_found_no_step
    }

    /// A point along a direction that reduces the cost, with its cost and gradient.
    fn search<O>(&self, problem: &mut Problem<O>, at: &Point, direction: &[f64]) -> Option<Point>
    where
        O: CostFunction<Param = Vec<f64>, Output = f64> + Gradient<Param = Vec<f64>, Gradient = Vec<f64>>,
    {
        let slope = dot(&at.gradient, direction);
        // As far as the bounds, which are not before the end of the direction.
        let mut longest = f64::INFINITY;
        for (i, &d) in direction.iter().enumerate() {
            let (lower, upper) = self.bounds.of(i);
            let room = if d > 0.0 { upper - at.x[i] } else { lower - at.x[i] };
            if d != 0.0 {
                longest = longest.min((room / d).max(1.0));
            }
        }
        let length = dot(direction, direction).sqrt();
        let first = if self.pairs.is_empty() { self.longest_first_move / length } else { 1.0 };
        let (mut step, mut too_short, mut too_long) = (first.min(1.0), 0.0, f64::INFINITY);
        let mut best: Option<Point> = None;
        for _ in 0..LARGEST_TRIAL {
            if interruption::is_requested() {
                return None;
            }
            let moved = |i: usize| self.bounds.moved_inside(i, at.x[i] + step * direction[i]);
            let x: Vec<f64> = (0..at.x.len()).map(moved).collect();
            if x == at.x || best.as_ref().is_some_and(|best| best.x == x) {
                break;
            }
            let cost = problem.cost(&x).unwrap_or(f64::NAN);
            // False for a cost that is NaN. A step from one that is good already must be better still.
            let good = cost <= at.cost + SUFFICIENT_DECREASE * step * slope && cost < at.cost;
            let good = good && best.as_ref().is_none_or(|best| cost < best.cost);
            let gradient = if good { problem.gradient(&x).ok() } else { None };
            match gradient.filter(|g| g.iter().all(|g| g.is_finite())) {
                None => {
                    if best.is_some() {
                        break;
                    }
                    too_long = step;
                    let bisected = 0.5 * (too_short + too_long);
                    // The minimum of the parabola through the cost's slope and value, with care.
                    let bend = cost - at.cost - step * slope;
                    let parabola = if bend > 0.0 { -0.5 * slope * step * step / bend } else { bisected };
                    step =
                        if parabola.is_finite() { parabola.clamp(0.1 * step, 0.5 * step) } else { bisected };
                }
                Some(gradient) => {
                    let enough = dot(&gradient, direction) >= CURVATURE * slope;
                    best = Some(Point { x, cost, gradient });
                    if enough || step >= longest {
                        break;
                    }
                    too_short = step;
                    step = if too_long.is_finite() { 0.5 * (too_short + too_long) } else { 2.0 * step };
                    step = step.min(longest);
                }
            }
        }
        best
    }

    fn remember(&mut self, from: &Point, to: &Point) {
        let s: Vec<f64> = to.x.iter().zip(&from.x).map(|(a, b)| a - b).collect();
        let y: Vec<f64> = to.gradient.iter().zip(&from.gradient).map(|(a, b)| a - b).collect();
        if dot(&s, &y) > SMALLEST_COSINE * (dot(&s, &s) * dot(&y, &y)).sqrt() {
            if self.pairs.len() == self.memory {
                self.pairs.pop_front();
            }
            self.pairs.push_back(Pair { s, y });
        }
    }
}

impl Resumable for Lbfgsb {
    fn check(&self, bounds: (&[f64], &[f64])) -> Result<(), InvalidField> {
        self.bounds.check(bounds)?;
        self.tolerances.check()?;
        let field = |name: &str| format!("solver.{name}");
        let number = InvalidField::check_number;
        number(&field("memory"), self.memory as f64, 1.0, f64::INFINITY)?;
        number(&field("longest_first_move"), self.longest_first_move, f64::MIN_POSITIVE, f64::INFINITY)?;
        number(&field("pairs"), self.pairs.len() as f64, 0.0, self.memory as f64)?;
        if let Some(gradient) = &self.gradient {
            let count = bounds.0.len();
            InvalidField::check_numbers(&field("gradient"), gradient, count, f64::NEG_INFINITY)?;
        }
        for (i, Pair { s, y }) in self.pairs.iter().enumerate() {
            for (name, numbers) in [("s", s), ("y", y)] {
                let field = field(&format!("pairs[{i}].{name}"));
                InvalidField::check_numbers(&field, numbers, bounds.0.len(), f64::NEG_INFINITY)?;
            }
            number(&field(&format!("pairs[{i}]: s·y")), dot(s, y), f64::MIN_POSITIVE, f64::INFINITY)?;
        }
        Ok(())
    }
}

/// Variables with cost and gradient.
struct Point {
    x: Vec<f64>,
    cost: f64,
    gradient: Vec<f64>,
}

impl<O> Solver<O, DescentState> for Lbfgsb
where
    O: CostFunction<Param = Vec<f64>, Output = f64> + Gradient<Param = Vec<f64>, Gradient = Vec<f64>>,
{
    fn name(&self) -> &str {
        "L-BFGS within bounds"
    }

    fn init(
        &mut self,
        problem: &mut Problem<O>,
        mut state: DescentState,
    ) -> Result<(DescentState, Option<KV>), Error> {
        let start = state.take_param().ok_or_else(|| {
            Error::msg("`Lbfgsb` requires an initial parameter vector: set it with `Executor::configure`")
        })?;
        (self.convergence, self.has_found_no_step, self.pairs) = (None, false, VecDeque::new());
        let x = self.bounds.start(&start)?;
        let (cost, gradient) = (problem.cost(&x)?, problem.gradient(&x)?);
        if !cost.is_finite() || gradient.iter().any(|g| !g.is_finite()) {
            return Err(Error::msg("cost or gradient at the start is not finite"));
        }
        self.gradient = Some(gradient.clone());
        let kv = argmin::kv!("gradient_norm" => self.bounds.projected_gradient_norm(&x, &gradient););
        Ok((state.param(x).cost(cost).gradient(gradient), Some(kv)))
    }

    fn next_iter(
        &mut self,
        problem: &mut Problem<O>,
        mut state: DescentState,
    ) -> Result<(DescentState, Option<KV>), Error> {
        let missing = || Error::msg("`Lbfgsb`: the state was not initialized");
        let x = state.take_param().ok_or_else(missing)?;
        let gradient = match state.take_gradient().or_else(|| self.gradient.take()) {
            Some(gradient) => gradient,
            None => problem.gradient(&x)?,
        };
        let start = Point { x, cost: state.get_cost(), gradient };
        let mut at = start;
        let before = at.cost;
        let (lower, upper) = self.bounds.all(at.x.len());
        loop {
            let pairs = self.pairs.iter().map(|pair| (&pair.s[..], &pair.y[..]));
            let direction = QuadraticModel::new(at.x.len(), pairs)
                .and_then(|model| model.direction(&at.x, &at.gradient, (&lower, &upper)));
            let found = direction.and_then(|direction| self.search(problem, &at, &direction));
            if found.is_none() && interruption::is_requested() {
                let state = state.param(at.x).cost(at.cost).gradient(at.gradient);
                return Ok((state.terminate_with(TerminationReason::Interrupt), None));
            }
            let from_gradient = self.pairs.is_empty();
            self.has_found_no_step = found.is_none();
            if let Some(found) = found {
                self.remember(&at, &found);
                at = found;
                if before - at.cost > self.tolerances.cost * before.abs() {
                    break;
                }
            }
            if from_gradient {
                self.convergence = Some(Convergence::Cost);
                break;
            }
            self.pairs.clear();
        }
        self.gradient = Some(at.gradient.clone());
        let norm = self.bounds.projected_gradient_norm(&at.x, &at.gradient);
        if norm <= self.tolerances.gradient {
            self.convergence = Some(Convergence::Gradient);
        }
        let kv = argmin::kv!("gradient_norm" => norm;);
        Ok((state.param(at.x).cost(at.cost).gradient(at.gradient), Some(kv)))
    }

    fn terminate(&mut self, _: &DescentState) -> TerminationStatus {
        Convergence::status(self.convergence)
    }
}

#[cfg(test)]
mod tests;
