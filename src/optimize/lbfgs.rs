//! argmin's L-BFGS, made to end at a minimum.
//!
//! With argmin's Moré–Thuente search, L-BFGS stops with "search direction must be a descent
//! direction" when a search ended on its step or width limit: such a step need not satisfy the
//! curvature condition, and a pair (s, y) with sᵀy ≤ 0 in the memory spoils the next direction.
//! Here the search is one whose every accepted step has sᵀy > 0, and where rounding spoils the
//! direction all the same, the method starts again from the best point with an empty memory
//! (whose first direction is −∇f).

use argmin::core::observers::{Observe, ObserverMode};
use argmin::core::{
    CostFunction, Error, Executor, Gradient, IterState, KV, LineSearch, Problem, Solver, State,
    TerminationReason, TerminationStatus,
};
use argmin::solver::quasinewton::LBFGS;

/// The state that L-BFGS and its line search iterate.
pub type DescentState = IterState<Vec<f64>, Vec<f64>, (), (), (), f64>;

/// # Bisection for the weak Wolfe conditions
///
/// Finds a step α along a descent direction d with f(x + αd) ≤ f(x) + c₁ α dᵀ∇f(x) and
/// dᵀ∇f(x + αd) ≥ c₂ dᵀ∇f(x), by doubling until one is known to be too long and bisection after.
/// Costs that are not finite, or that cannot be evaluated, count as too long. If rounding leaves
/// no such step, the search ends at the longest step known to satisfy the first condition, or at
/// the start.
///
/// ## Requirements on the optimization problem
///
/// The optimization problem is required to implement [`CostFunction`] and [`Gradient`] on
/// `Vec<f64>`.
///
/// ## Reference
///
/// A. S. Lewis, M. L. Overton (2013). Nonsmooth optimization via quasi-Newton methods.
/// Mathematical Programming 141, 135–163, Algorithm 2.6.
#[derive(Clone, Debug)]
pub struct WeakWolfeLineSearch {
    direction: Option<Vec<f64>>,
    initial_step: f64,
    longest_first_move: f64,
    start: Option<(Vec<f64>, f64, Vec<f64>)>,
    slope: f64,
    step: f64,
    too_short: f64,
    too_long: f64,
    done: bool,
}

const SUFFICIENT_DECREASE: f64 = 1e-4;
const CURVATURE: f64 = 0.9;

impl Default for WeakWolfeLineSearch {
    fn default() -> Self {
        Self::new()
    }
}

impl WeakWolfeLineSearch {
    /// The search with c₁ = 10⁻⁴, c₂ = 0.9 and no limit on the first trial.
    pub fn new() -> Self {
        Self {
            direction: None,
            initial_step: 1.0,
            longest_first_move: f64::INFINITY,
            start: None,
            slope: 0.0,
            step: 1.0,
            too_short: 0.0,
            too_long: f64::INFINITY,
            done: false,
        }
    }

    /// Limits the first trial to a move of this (Euclidean) length: useful where the variables
    /// are scaled to order one and a gradient may be huge.
    ///
    /// # Errors
    /// It must be positive.
    pub fn with_longest_first_move(mut self, length: f64) -> Result<Self, Error> {
        if length.is_nan() || length <= 0.0 {
            return Err(Error::msg(format!("longest first move is {length}, it must be positive")));
        }
        self.longest_first_move = length;
        Ok(self)
    }
}

impl LineSearch<Vec<f64>, f64> for WeakWolfeLineSearch {
    fn search_direction(&mut self, direction: Vec<f64>) {
        self.direction = Some(direction);
    }

    fn initial_step_length(&mut self, step: f64) -> Result<(), Error> {
        if step.is_nan() || step <= 0.0 {
            return Err(Error::msg(format!("initial step length is {step}, it must be positive")));
        }
        self.initial_step = step;
        Ok(())
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

impl<O> Solver<O, DescentState> for WeakWolfeLineSearch
where
    O: CostFunction<Param = Vec<f64>, Output = f64> + Gradient<Param = Vec<f64>, Gradient = Vec<f64>>,
{
    fn name(&self) -> &str {
        "Weak Wolfe bisection"
    }

    fn init(
        &mut self,
        problem: &mut Problem<O>,
        mut state: DescentState,
    ) -> Result<(DescentState, Option<KV>), Error> {
        let direction = self.direction.as_ref().ok_or_else(|| Error::msg("line search: no direction set"))?;
        let x = state.take_param().ok_or_else(|| Error::msg("line search: no initial parameter vector"))?;
        let cost = if state.cost.is_finite() { state.cost } else { problem.cost(&x)? };
        let gradient = match state.take_gradient() {
            Some(gradient) => gradient,
            None => problem.gradient(&x)?,
        };
        self.slope = dot(direction, &gradient);
        if self.slope.is_nan() || self.slope >= 0.0 {
            return Err(Error::msg("line search: the direction is not a descent direction"));
        }
        let length = dot(direction, direction).sqrt();
        self.step = self.initial_step.min(self.longest_first_move / length);
        (self.too_short, self.too_long, self.done) = (0.0, f64::INFINITY, false);
        self.start = Some((x.clone(), cost, gradient.clone()));
        Ok((state.param(x).cost(cost).gradient(gradient), None))
    }

    fn next_iter(
        &mut self,
        problem: &mut Problem<O>,
        state: DescentState,
    ) -> Result<(DescentState, Option<KV>), Error> {
        let (Some((x, start_cost, _)), Some(direction)) = (&self.start, &self.direction) else {
            return Err(Error::msg("line search: not initialized"));
        };
        let trial: Vec<f64> = x.iter().zip(direction).map(|(x, d)| x + self.step * d).collect();
        let cost = problem.cost(&trial).unwrap_or(f64::NAN);
        let mut state = state;
        let mut reached = None;
        // The comparison is false for a cost that is not a number.
        if cost <= start_cost + SUFFICIENT_DECREASE * self.step * self.slope {
            reached = problem.gradient(&trial).ok().filter(|g| g.iter().all(|g| g.is_finite()));
        }
        match reached {
            None => self.too_long = self.step,
            Some(gradient) => {
                let slope = dot(direction, &gradient);
                self.done = slope >= CURVATURE * self.slope;
                self.too_short = self.step;
                state = state.param(trial.clone()).cost(cost).gradient(gradient);
            }
        }
        let last = self.step;
        self.step =
            if self.too_long.is_finite() { 0.5 * (self.too_short + self.too_long) } else { 2.0 * self.step };
        let next: Vec<f64> = x.iter().zip(direction).map(|(x, d)| x + self.step * d).collect();
        // Rounding leaves nothing between too short and too long, or the function falls for ever.
        self.done |= self.step == last || next == trial || !self.step.is_finite() || next == *x;
        Ok((state, None))
    }

    fn terminate(&mut self, _state: &DescentState) -> TerminationStatus {
        match self.done {
            true => TerminationStatus::Terminated(TerminationReason::SolverConverged),
            false => TerminationStatus::NotTerminated,
        }
    }
}

/// How long L-BFGS goes on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LbfgsSettings {
    /// Number of pairs remembered.
    pub memory: usize,
    /// Most iterations, all restarts together.
    pub max_iterations: u64,
    /// It ends when the gradient's norm is below this (in the unit of the cost per variable).
    pub gradient_tolerance: f64,
    /// It ends when an iteration, and then a restart, lower the cost by less than this part.
    pub cost_tolerance: f64,
    /// Longest first trial of a line search, in the optimizer's variables.
    pub longest_first_move: f64,
}

impl Default for LbfgsSettings {
    fn default() -> Self {
        Self {
            memory: 7,
            max_iterations: 500,
            gradient_tolerance: 0.0,
            cost_tolerance: 1e-14,
            longest_first_move: 1.0,
        }
    }
}

/// Where L-BFGS ended.
#[derive(Clone, Debug, PartialEq)]
pub struct LbfgsResult {
    /// The best point.
    pub x: Vec<f64>,
    /// Its cost.
    pub cost: f64,
    /// Iterations made, all restarts together.
    pub iterations: u64,
    /// How often it started again with an empty memory.
    pub restarts: u64,
    /// Whether a tolerance was met (otherwise the iterations ran out).
    pub converged: bool,
}

/// The problem by reference: argmin drops the problem when a line search fails, so it may own no
/// more than this.
struct Borrowed<'a, O>(&'a O);

impl<O: CostFunction> CostFunction for Borrowed<'_, O> {
    type Param = O::Param;
    type Output = O::Output;
    fn cost(&self, x: &Self::Param) -> Result<Self::Output, Error> {
        self.0.cost(x)
    }
}

impl<O: Gradient> Gradient for Borrowed<'_, O> {
    type Param = O::Param;
    type Gradient = O::Gradient;
    fn gradient(&self, x: &Self::Param) -> Result<Self::Gradient, Error> {
        self.0.gradient(x)
    }
}

/// Minimizes a smooth function from `start` by argmin's L-BFGS, with restarts (see the module).
///
/// `observer`, where given, is told of every iteration.
///
/// # Errors
/// The cost or gradient at the start cannot be evaluated or is not finite, or the memory is 0.
pub fn minimize_lbfgs<O, B>(
    problem: &O,
    start: Vec<f64>,
    settings: &LbfgsSettings,
    observer: Option<B>,
) -> Result<LbfgsResult, Error>
where
    O: CostFunction<Param = Vec<f64>, Output = f64> + Gradient<Param = Vec<f64>, Gradient = Vec<f64>>,
    B: Observe<DescentState> + Clone + 'static,
{
    if settings.memory == 0 {
        return Err(Error::msg("L-BFGS: the memory is 0, it must be at least 1"));
    }
    let cost = problem.cost(&start)?;
    if !cost.is_finite() || problem.gradient(&start)?.iter().any(|g| !g.is_finite()) {
        return Err(Error::msg("L-BFGS: cost or gradient at the start is not finite"));
    }
    let mut result = LbfgsResult { x: start, cost, iterations: 0, restarts: 0, converged: false };
    loop {
        let remaining = settings.max_iterations.saturating_sub(result.iterations);
        if remaining == 0 {
            return Ok(result);
        }
        let search = WeakWolfeLineSearch::new().with_longest_first_move(settings.longest_first_move)?;
        // argmin compares the change of the cost with an absolute tolerance.
        let solver = LBFGS::new(search, settings.memory)
            .with_tolerance_grad(settings.gradient_tolerance)?
            .with_tolerance_cost((settings.cost_tolerance * result.cost.abs()).max(f64::MIN_POSITIVE))?;
        let mut executor = Executor::new(Borrowed(problem), solver)
            .configure(|state| state.param(result.x.clone()).max_iters(remaining));
        if let Some(observer) = &observer {
            executor = executor.add_observer(observer.clone(), ObserverMode::Always);
        }
        let state = executor.run()?.state;
        result.iterations += state.get_iter().max(1);
        let (before, best) = (result.cost, state.get_best_cost());
        if let Some(x) = state.get_best_param()
            && best < before
        {
            result.x = x.clone();
            result.cost = best;
        }
        if state.get_termination_reason() == Some(&TerminationReason::MaxItersReached) {
            return Ok(result);
        }
        // Converged only if a descent along −∇f, from an empty memory, gains nothing either.
        if before - result.cost <= settings.cost_tolerance * before.abs() {
            result.converged = true;
            return Ok(result);
        }
        result.restarts += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone)]
    struct Silent;
    impl Observe<DescentState> for Silent {}

    /// Rosenbrock's function in n dimensions, multiplied by a factor.
    struct Rosenbrock(f64);

    impl CostFunction for Rosenbrock {
        type Param = Vec<f64>;
        type Output = f64;
        fn cost(&self, x: &Vec<f64>) -> Result<f64, Error> {
            let f: f64 =
                x.windows(2).map(|w| 100.0 * (w[1] - w[0] * w[0]).powi(2) + (1.0 - w[0]).powi(2)).sum();
            Ok(self.0 * f)
        }
    }

    impl Gradient for Rosenbrock {
        type Param = Vec<f64>;
        type Gradient = Vec<f64>;
        fn gradient(&self, x: &Vec<f64>) -> Result<Vec<f64>, Error> {
            let mut g = vec![0.0; x.len()];
            for i in 0..x.len() - 1 {
                let d = x[i + 1] - x[i] * x[i];
                g[i] += self.0 * (-400.0 * x[i] * d - 2.0 * (1.0 - x[i]));
                g[i + 1] += self.0 * 200.0 * d;
            }
            Ok(g)
        }
    }

    #[test]
    fn rosenbrock_from_many_starts_and_at_any_scale_of_the_cost() {
        for scale in [1e-8, 1.0, 1e8] {
            for k in 0..40 {
                let start: Vec<f64> = (0..4).map(|i| 3.0 * ((7 * k + 3 * i) as f64).sin()).collect();
                let settings = LbfgsSettings { max_iterations: 2000, ..Default::default() };
                let end = minimize_lbfgs(&Rosenbrock(scale), start.clone(), &settings, Some(Silent)).unwrap();
                assert!(end.converged, "{start:?} {end:?}");
                let g = Rosenbrock(1.0).gradient(&end.x).unwrap();
                // A stationary point (in four dimensions there is a second minimum).
                assert!(g.iter().all(|g| g.abs() < 1e-6), "{start:?} {end:?} {g:?}");
            }
        }
    }

    /// −ln x + x, with no value for x ≤ 0.
    struct Barrier;

    impl CostFunction for Barrier {
        type Param = Vec<f64>;
        type Output = f64;
        fn cost(&self, x: &Vec<f64>) -> Result<f64, Error> {
            if x[0] > 0.0 { Ok(x[0] - x[0].ln()) } else { Err(Error::msg("outside")) }
        }
    }

    impl Gradient for Barrier {
        type Param = Vec<f64>;
        type Gradient = Vec<f64>;
        fn gradient(&self, x: &Vec<f64>) -> Result<Vec<f64>, Error> {
            Ok(vec![1.0 - 1.0 / x[0]])
        }
    }

    #[test]
    fn points_without_a_value_are_stepped_back_from() {
        let settings = LbfgsSettings { longest_first_move: 100.0, ..Default::default() };
        let end = minimize_lbfgs(&Barrier, vec![30.0], &settings, None::<Silent>).unwrap();
        assert!((end.x[0] - 1.0).abs() < 1e-6 && end.converged, "{end:?}");
        let outside = minimize_lbfgs(&Barrier, vec![-1.0], &settings, None::<Silent>);
        assert!(outside.unwrap_err().to_string().contains("outside"));
    }
}
