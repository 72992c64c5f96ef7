//! L-BFGS within bounds, as a solver for argmin.

use std::collections::VecDeque;

use argmin::core::{
    CostFunction, Error, Gradient, KV, Problem, Solver, TerminationReason, TerminationStatus,
};
use serde::{Deserialize, Serialize};

use super::bounds::{Bounds, check_bounds, check_tolerance, projected_gradient_norm};
use super::lbfgs::DescentState;
use super::levenberg_marquardt::Convergence;

/// # L-BFGS within bounds
///
/// Minimizes a smooth function subject to l ≤ x ≤ u. Variables that sit on a bound which the
/// gradient pushes against are held there; the others move along the limited-memory
/// quasi-Newton direction of their own subspace (two-metric projection), and the step is found
/// along the projected path P(x + αd), by doubling and bisection, for sufficient decrease and,
/// where no bound interferes, the weak Wolfe condition on the slope.
///
/// A pair (s, y) is remembered only if sᵀy is clearly positive, so that every direction descends;
/// where rounding spoils one all the same, or no step along it reduces the cost, the method goes on
/// from the gradient with an empty memory. A cost that cannot be evaluated or is not finite counts
/// as a step too long; only at the start is it an error. Without bounds it is the ordinary L-BFGS.
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
/// D. P. Bertsekas (1982). Projected Newton methods for optimization problems with simple
/// constraints. SIAM J. Control Optim. 20, 221–246.
///
/// M. Schmidt, D. Kim, S. Sra (2012). Projected Newton-type methods in machine learning. In:
/// Optimization for Machine Learning, MIT Press, 305–329 (§11.4: two-metric projection, with
/// L-BFGS).
///
/// J. Nocedal (1980). Updating quasi-Newton matrices with limited storage. Mathematics of
/// Computation 35, 773–782.
///
/// A. S. Lewis, M. L. Overton (2013). Nonsmooth optimization via quasi-Newton methods.
/// Mathematical Programming 141, 135–163, Algorithm 2.6 (the search).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProjectedLbfgs {
    #[serde(with = "super::bounds::saved_bounds")]
    bounds: Bounds,
    memory: usize,
    gradient_tolerance: f64,
    cost_tolerance: f64,
    longest_first_move: f64,
    pairs: VecDeque<Pair>,
    convergence: Option<Convergence>,
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

impl Default for ProjectedLbfgs {
    fn default() -> Self {
        Self::new()
    }
}

impl ProjectedLbfgs {
    /// The method without bounds, with a memory of 30 pairs (little next to a rollout), a first move of length 1 and
    /// tolerances of 10⁻¹⁰ (cost, relative) and 0 (gradient).
    pub fn new() -> Self {
        Self {
            bounds: None,
            memory: 30,
            gradient_tolerance: 0.0,
            cost_tolerance: 1e-10,
            longest_first_move: 1.0,
            pairs: VecDeque::new(),
            convergence: None,
        }
    }

    /// Keeps the variables within `lower` and `upper` (±∞ where there is no bound).
    ///
    /// # Errors
    /// Lengths differ, or a lower bound is above its upper one or not a number.
    pub fn with_bounds(mut self, lower: Vec<f64>, upper: Vec<f64>) -> Result<Self, Error> {
        check_bounds(&lower, &upper)?;
        self.bounds = Some((lower, upper));
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
        self.longest_first_move = check_tolerance("longest first move", length, f64::MIN_POSITIVE)?;
        Ok(self)
    }

    /// It ends when no derivative of the cost by a variable is larger than this, those aside that
    /// push against a bound (default 0: never).
    ///
    /// # Errors
    /// It must be finite and not negative.
    pub fn with_gradient_tolerance(mut self, tolerance: f64) -> Result<Self, Error> {
        self.gradient_tolerance = check_tolerance("gradient tolerance", tolerance, 0.0)?;
        Ok(self)
    }

    /// It ends when an iteration, and then one along the gradient, lower the cost by less than
    /// this part of it (default 10⁻¹⁰).
    ///
    /// # Errors
    /// It must be finite and not negative.
    pub fn with_cost_tolerance(mut self, tolerance: f64) -> Result<Self, Error> {
        self.cost_tolerance = check_tolerance("cost tolerance", tolerance, 0.0)?;
        Ok(self)
    }

    /// Why the method stopped by itself; `None` while it runs or where something else ended it.
    pub fn convergence(&self) -> Option<Convergence> {
        self.convergence
    }

    fn bound(&self, i: usize) -> (f64, f64) {
        self.bounds.as_ref().map_or((f64::NEG_INFINITY, f64::INFINITY), |(l, u)| (l[i], u[i]))
    }

    fn projected(&self, x: &[f64], direction: &[f64], step: f64) -> Vec<f64> {
        let moved = |i: usize| {
            let (lower, upper) = self.bound(i);
            (x[i] + step * direction[i]).max(lower).min(upper)
        };
        (0..x.len()).map(moved).collect()
    }

    fn gradient_norm(&self, x: &[f64], gradient: &[f64]) -> f64 {
        let none = || (vec![f64::NEG_INFINITY; x.len()], vec![f64::INFINITY; x.len()]);
        let (lower, upper) = self.bounds.clone().unwrap_or_else(none);
        projected_gradient_norm(x, gradient, &lower, &upper)
    }

    /// A descent direction of the variables that may move, zero for the others.
    fn direction(&self, x: &[f64], gradient: &[f64]) -> Vec<f64> {
        // A variable about to reach a bound is held as well, or steps would become ever shorter
        // (Bertsekas 1982, eq. 32). The distance goes to zero at the solution.
        let (mut reach, one) = (0.0_f64, self.projected(x, gradient, -1.0));
        one.iter().zip(x).for_each(|(p, x)| reach = reach.max((p - x).abs()));
        let reach = reach.min(1e-6);
        let free = |i: usize| {
            let ((lower, upper), g) = (self.bound(i), gradient[i]);
            let (near_lower, near_upper) = (x[i] - lower <= reach, upper - x[i] <= reach);
            lower < upper && !(near_lower && g > 0.0 || near_upper && g < 0.0)
        };
        let free: Vec<bool> = (0..x.len()).map(free).collect();
        let dot = |a: &[f64], b: &[f64]| -> f64 {
            a.iter().zip(b).zip(&free).filter(|(_, free)| **free).map(|((a, b), _)| a * b).sum()
        };
        // The two-loop recursion in the subspace of free variables.
        let mut q: Vec<f64> = gradient.iter().zip(&free).map(|(&g, &f)| if f { g } else { 0.0 }).collect();
        let usable: Vec<(&Pair, f64)> = self
            .pairs
            .iter()
            .map(|pair| (pair, dot(&pair.s, &pair.y)))
            .filter(|(pair, sy)| {
                *sy > SMALLEST_COSINE * (dot(&pair.s, &pair.s) * dot(&pair.y, &pair.y)).sqrt()
            })
            .collect();
        let mut alphas = Vec::with_capacity(usable.len());
        for (pair, sy) in usable.iter().rev() {
            let alpha = dot(&pair.s, &q) / sy;
            q.iter_mut()
                .zip(&pair.y)
                .zip(&free)
                .for_each(|((q, y), &f)| *q -= if f { alpha * y } else { 0.0 });
            alphas.push(alpha);
        }
        let scale = match usable.last() {
            Some((pair, sy)) => sy / dot(&pair.y, &pair.y),
            None => {
                let length = dot(&q, &q).sqrt();
                if length > self.longest_first_move { self.longest_first_move / length } else { 1.0 }
            }
        };
        q.iter_mut().for_each(|q| *q *= scale);
        for ((pair, sy), alpha) in usable.iter().zip(alphas.iter().rev()) {
            let beta = dot(&pair.y, &q) / sy;
            let change = alpha - beta;
            q.iter_mut()
                .zip(&pair.s)
                .zip(&free)
                .for_each(|((q, s), &f)| *q += if f { change * s } else { 0.0 });
        }
        // Held variables go the rest of the way to their bound.
        let to_bound = |i: usize| {
            let (lower, upper) = self.bound(i);
            if gradient[i] > 0.0 { lower - x[i] } else { upper - x[i] }
        };
        let near = |i: usize| {
            if gradient[i] == 0.0 || self.bound(i).0 == self.bound(i).1 { 0.0 } else { to_bound(i) }
        };
        (0..x.len()).map(|i| if free[i] { -q[i] } else { near(i) }).collect()
    }

    /// A point along the projected path that reduces the cost, with its cost and gradient.
    fn search<O>(&self, problem: &mut Problem<O>, at: &Point, direction: &[f64]) -> Option<Point>
    where
        O: CostFunction<Param = Vec<f64>, Output = f64> + Gradient<Param = Vec<f64>, Gradient = Vec<f64>>,
    {
        let (mut step, mut too_short, mut too_long) = (1.0, 0.0, f64::INFINITY);
        let mut best: Option<Point> = None;
        for _ in 0..LARGEST_TRIAL {
            let x = self.projected(&at.x, direction, step);
            if x == at.x || best.as_ref().is_some_and(|best| best.x == x) {
                break;
            }
            let slope: f64 = (0..x.len()).map(|i| at.gradient[i] * (x[i] - at.x[i])).sum();
            let cost = problem.cost(&x).unwrap_or(f64::NAN);
            // False for a cost that is not a number. A step from one that is good already must be
            // better still.
            let good = slope < 0.0 && cost <= at.cost + SUFFICIENT_DECREASE * slope && cost < at.cost;
            let good = good && best.as_ref().is_none_or(|best| cost < best.cost);
            let gradient = if good { problem.gradient(&x).ok() } else { None };
            match gradient.filter(|g| g.iter().all(|g| g.is_finite())) {
                None => {
                    too_long = step;
                    if best.is_some() {
                        break;
                    }
                    let bisected = 0.5 * (too_short + too_long);
                    // The minimum of the parabola through the cost's slope and value, with care.
                    let bend = cost - at.cost - slope;
                    let parabola =
                        if bend > 0.0 && slope < 0.0 { -0.5 * slope / bend * step } else { bisected };
                    step =
                        if parabola.is_finite() { parabola.clamp(0.1 * step, 0.5 * step) } else { bisected };
                }
                Some(gradient) => {
                    let moving = |i: &usize| {
                        let (lower, upper) = self.bound(*i);
                        x[*i] > lower && x[*i] < upper
                    };
                    let along =
                        |g: &[f64]| (0..x.len()).filter(moving).map(|i| g[i] * direction[i]).sum::<f64>();
                    let enough = along(&gradient) >= CURVATURE * along(&at.gradient);
                    best = Some(Point { x, cost, gradient });
                    if enough {
                        break;
                    }
                    too_short = step;
                    step = if too_long.is_finite() { 0.5 * (too_short + too_long) } else { 2.0 * step };
                }
            }
        }
        best
    }

    fn remember(&mut self, from: &Point, to: &Point) {
        let s: Vec<f64> = to.x.iter().zip(&from.x).map(|(a, b)| a - b).collect();
        let y: Vec<f64> = to.gradient.iter().zip(&from.gradient).map(|(a, b)| a - b).collect();
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        if dot(&s, &y) > SMALLEST_COSINE * (dot(&s, &s) * dot(&y, &y)).sqrt() {
            if self.pairs.len() == self.memory {
                self.pairs.pop_front();
            }
            self.pairs.push_back(Pair { s, y });
        }
    }
}

/// Variables with cost and gradient.
struct Point {
    x: Vec<f64>,
    cost: f64,
    gradient: Vec<f64>,
}

impl<O> Solver<O, DescentState> for ProjectedLbfgs
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
            Error::msg(
                "`ProjectedLbfgs` requires an initial parameter vector: set it with `Executor::configure`",
            )
        })?;
        if let Some((lower, _)) = &self.bounds
            && lower.len() != start.len()
        {
            return Err(Error::msg(format!(
                "bounds for {} variables, but there are {}",
                lower.len(),
                start.len()
            )));
        }
        (self.convergence, self.pairs) = (None, VecDeque::new());
        let x = self.projected(&start, &vec![0.0; start.len()], 0.0);
        let (cost, gradient) = (problem.cost(&x)?, problem.gradient(&x)?);
        if !cost.is_finite() || gradient.iter().any(|g| !g.is_finite()) {
            return Err(Error::msg("cost or gradient at the start is not finite"));
        }
        let kv = argmin::kv!("gradient_norm" => self.gradient_norm(&x, &gradient););
        Ok((state.param(x).cost(cost).gradient(gradient), Some(kv)))
    }

    fn next_iter(
        &mut self,
        problem: &mut Problem<O>,
        mut state: DescentState,
    ) -> Result<(DescentState, Option<KV>), Error> {
        let missing = || Error::msg("`ProjectedLbfgs`: the state was not initialized");
        let x = state.take_param().ok_or_else(missing)?;
        let gradient = match state.take_gradient() {
            Some(gradient) => gradient,
            None => problem.gradient(&x)?,
        };
        let start = Point { x, cost: state.get_cost(), gradient };
        let mut at = start;
        let before = at.cost;
        loop {
            let direction = self.direction(&at.x, &at.gradient);
            let found = self.search(problem, &at, &direction);
            let from_gradient = self.pairs.is_empty();
            if let Some(found) = found {
                self.remember(&at, &found);
                at = found;
                if before - at.cost > self.cost_tolerance * before.abs() {
                    break;
                }
            }
            if from_gradient {
                self.convergence = Some(Convergence::Cost);
                break;
            }
            self.pairs.clear();
        }
        let norm = self.gradient_norm(&at.x, &at.gradient);
        if norm <= self.gradient_tolerance {
            self.convergence = Some(Convergence::Gradient);
        }
        let kv = argmin::kv!("gradient_norm" => norm;);
        Ok((state.param(at.x).cost(at.cost).gradient(at.gradient), Some(kv)))
    }

    fn terminate(&mut self, _: &DescentState) -> TerminationStatus {
        match self.convergence {
            Some(_) => TerminationStatus::Terminated(TerminationReason::SolverConverged),
            None => TerminationStatus::NotTerminated,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use argmin::core::{Executor, State};
    use proptest::prelude::*;

    /// Rosenbrock's function in n dimensions, without a value where the first variable exceeds a
    /// limit.
    struct Rosenbrock(f64);

    impl CostFunction for Rosenbrock {
        type Param = Vec<f64>;
        type Output = f64;
        fn cost(&self, x: &Vec<f64>) -> Result<f64, Error> {
            if x[0] > self.0 {
                return Err(Error::msg("outside"));
            }
            Ok(x.windows(2).map(|w| 100.0 * (w[1] - w[0] * w[0]).powi(2) + (1.0 - w[0]).powi(2)).sum())
        }
    }

    impl Gradient for Rosenbrock {
        type Param = Vec<f64>;
        type Gradient = Vec<f64>;
        fn gradient(&self, x: &Vec<f64>) -> Result<Vec<f64>, Error> {
            let mut g = vec![0.0; x.len()];
            for i in 0..x.len() - 1 {
                let d = x[i + 1] - x[i] * x[i];
                g[i] += -400.0 * x[i] * d - 2.0 * (1.0 - x[i]);
                g[i + 1] += 200.0 * d;
            }
            Ok(g)
        }
    }

    fn minimize(start: Vec<f64>, lower: f64, upper: f64, limit: f64) -> (ProjectedLbfgs, DescentState) {
        let n = start.len();
        let solver = ProjectedLbfgs::new().with_cost_tolerance(1e-14).unwrap();
        let solver = solver.with_bounds(vec![lower; n], vec![upper; n]).unwrap();
        let executor = Executor::new(Rosenbrock(limit), solver);
        let end = executor.configure(|state| state.param(start).max_iters(3000)).run().expect("runs");
        (end.solver, end.state)
    }

    proptest! {
        #[test]
        fn ends_at_a_stationary_point_within_any_bounds(
            start in prop::collection::vec(-3.0..3.0f64, 2..7),
            lower in prop_oneof![Just(f64::NEG_INFINITY), -2.0..0.5f64],
            width in prop_oneof![Just(f64::INFINITY), 0.1..2.0f64],
        ) {
            let upper = if lower.is_finite() { lower + width } else { f64::INFINITY };
            let (solver, state) = minimize(start, lower, upper, f64::INFINITY);
            prop_assert!(solver.convergence().is_some(), "{state:?}");
            let x = state.get_param().expect("there");
            prop_assert!(x.iter().all(|&x| x >= lower && x <= upper));
            prop_assert!(solver.gradient_norm(x, state.get_gradient().expect("there")) < 2e-4, "{state:?}");
        }
    }

    #[test]
    fn points_without_a_value_are_stepped_back_from() {
        let (_, state) = minimize(vec![-1.0, 2.0, 0.0], f64::NEG_INFINITY, f64::INFINITY, 1.05);
        assert!(state.get_best_cost() < 1e-10);
        let problem = || Executor::new(Rosenbrock(0.0), ProjectedLbfgs::new());
        let failed = problem().configure(|state| state.param(vec![1.0, 1.0])).run().err().expect("fails");
        assert!(failed.to_string().contains("outside"));
    }

    #[test]
    fn a_start_at_the_minimum_is_converged() {
        let (solver, state) = minimize(vec![1.0, 1.0], -5.0, 5.0, f64::INFINITY);
        assert!(solver.convergence().is_some());
        assert_eq!(state.get_cost(), 0.0);
    }
}
