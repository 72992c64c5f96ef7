//! The Levenberg–Marquardt method with bounds, as a solver for argmin.

mod correction;
mod damped_step;
mod linear_model;
mod resumed;
mod secant;
mod stops;

use argmin::core::{Error, IterState, Jacobian, KV, Operator, Problem, Solver, State, TerminationStatus};
use nalgebra::{DMatrix, DVector};
use serde::{Deserialize, Serialize};

use self::linear_model::{LinearModel, evaluate, residuals_at};
use self::stops::Stops;
use super::bounds::Bounds;
use super::least_squares::half_square;
use super::solver::{Convergence, Tolerances, check_setting, exit};
use crate::interruption;

/// The state that argmin iterates: variables, gradient Jᵀr, Jacobian J, residuals r, and the cost
/// ½‖r‖².
pub type LeastSquaresState = IterState<Vec<f64>, Vec<f64>, DMatrix<f64>, (), Vec<f64>, f64>;

/// # Levenberg–Marquardt method
///
/// Minimizes ½‖r(x)‖² subject to l ≤ x ≤ u. Each iteration minimizes the damped linear model
///
/// ½‖r + J p‖² + ½ λ ‖D p‖²   subject to   l − x ≤ p ≤ u − x
///
/// by an active set: variables that would leave their bounds are set on them and the others
/// solved again, through a QR factorization of J (so JᵀJ is never formed). D holds the largest
/// column norms of J seen so far (Moré), which makes the method invariant to the units of the
/// variables; λ follows Nielsen's rule from the ratio of actual to predicted reduction.
///
/// With [`with_acceleration`](Self::with_acceleration) a step whose reduction falls short of the model's is tried once more
/// with the acceleration that the residuals at its end tell: they bend along the way, and a path that bends with them leads farther through a curved valley than a short
/// straight one.
///
/// Where Jacobians cost more than residuals ([`with_secant_updates`](Self::with_secant_updates)), the one of an
/// iteration follows from that of the one before by Broyden's update as long as the linear model tells well how the cost
/// falls; that a step is rejected, or that the method has converged, is decided with an evaluated one.
///
/// Where residuals have kinks the cost may fall on and on by next to nothing: with
/// [`with_end_in_noise`](Self::with_end_in_noise) the method ends when twenty iterations
/// together have lowered it by less than what an error of a tenth of a standard error costs, and no step promises more.
///
/// With [`with_stops`](Self::with_stops) no step takes a variable beyond ten times its value or its start, and one that the
/// residuals stop depending on where it goes stays there, for as long as they do not.
///
/// If the residuals cannot be evaluated at a trial point (an error, or a number that is not finite), the
/// step counts as too long: it is rejected and the damping grows. Only at the start is it an error.
///
/// Requires an initial parameter vector. The solution is the state's last parameter vector
/// (`get_param`): its cost may exceed the best one by rounding, but it is the more accurate.
///
/// ## Requirements on the optimization problem
///
/// The optimization problem is required to implement [`Operator`] (the residuals, `Vec<f64>` of
/// length m) and [`Jacobian`] (m × n, [`DMatrix`]); variables are `Vec<f64>` of length n.
///
/// ## Reference
///
/// J. J. Moré (1978). The Levenberg–Marquardt algorithm: implementation and theory. Lecture
/// Notes in Mathematics 630, 105–116.
///
/// H. B. Nielsen (1999). Damping parameter in Marquardt's method. IMM-REP-1999-05, Technical
/// University of Denmark.
///
/// C. Kanzow, N. Yamashita, M. Fukushima (2004). Levenberg–Marquardt methods with strong local
/// convergence properties for solving nonlinear equations with convex constraints. J. Comput.
/// Appl. Math. 172, 375–397 (projection on bounds).
///
/// M. K. Transtrum, J. P. Sethna (2012). Improvements to the Levenberg–Marquardt algorithm for nonlinear least-squares
/// minimization. arXiv 1201.5885 (acceleration; here from the end of the step instead of a difference at its start).
///
/// C. G. Broyden (1965). A class of methods for solving nonlinear simultaneous equations. Math. Comput. 19, 577–593.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LevenbergMarquardt {
    bounds: Bounds,
    initial_damping: f64,
    tolerances: Tolerances,
    step_tolerance: f64,
    damping: f64,
    growth: f64,
    scale: Vec<f64>,
    convergence: Option<Convergence>,
    #[serde(default)]
    secant_updates: bool,
    #[serde(default)]
    has_acceleration: bool,
    #[serde(default)]
    ends_in_noise: bool,
    #[serde(default)]
    negligible: f64,
    /// Updates of the Jacobian since it was evaluated.
    #[serde(default)]
    updates: usize,
    /// The costs so far.
    #[serde(default)]
    costs: Vec<f64>,
    #[serde(default)]
    stops: Option<Stops>,
    #[serde(default)]
    keeps_linearization: bool,
    /// Residuals and Jacobian, column by column, where checkpoints keep them.
    #[serde(default)]
    linearization: Option<(Vec<f64>, Vec<f64>)>,
}

/// Damping at which a step that is still rejected shows that the cost cannot be reduced.
const LARGEST_DAMPING: f64 = 1e16;
/// Damping that hardly changes a step.
const NEGLIGIBLE_DAMPING: f64 = 1e-6;
/// Changes of the cost below this part of it are rounding.
const ROUNDING_OF_COST: f64 = 1e-13;
/// A step that promises less than this part of the cost and is rejected has met the noise of the
/// residuals (those of a simulation hold an iteration's tolerance).
const NOISE_OF_COST: f64 = 1e-10;
/// The error that noise may leave, as a part of a standard error.
const NOISE: f64 = 0.1;
/// So many iterations must together lower the cost by more than that.
const MOST_IDLE: usize = 20;
/// Ratio of actual to predicted reduction below which a step is tried with a correction too.
const FULL_GAIN_RATIO: f64 = 0.75;
/// Smallest ratio of actual to predicted reduction of an accepted step.
const SMALLEST_GAIN_RATIO: f64 = 1e-4;

impl Default for LevenbergMarquardt {
    fn default() -> Self {
        Self::new()
    }
}

impl LevenbergMarquardt {
    /// The method without bounds; relative tolerances are 10⁻¹² (gradient), 10⁻¹⁸ (cost) and
    /// 10⁻¹² (step), the initial damping is 10⁻³.
    pub fn new() -> Self {
        Self {
            bounds: Bounds::default(),
            initial_damping: 1e-3,
            tolerances: Tolerances { gradient: 1e-12, cost: 1e-18 },
            step_tolerance: 1e-12,
            damping: 0.0,
            growth: 2.0,
            scale: Vec::new(),
            convergence: None,
            secant_updates: false,
            has_acceleration: false,
            ends_in_noise: false,
            negligible: 0.0,
            updates: 0,
            costs: Vec::new(),
            stops: None,
            keeps_linearization: false,
            linearization: None,
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

    /// Sets the initial damping λ, relative to the scaling D² (default 10⁻³); larger is more
    /// cautious.
    ///
    /// # Errors
    /// It must be positive and finite.
    pub fn with_initial_damping(mut self, damping: f64) -> Result<Self, Error> {
        self.initial_damping = check_setting("initial damping", damping, f64::MIN_POSITIVE)?;
        Ok(self)
    }

    /// Sets the tolerance on the cosine of the angle between the residuals and the columns of
    /// the Jacobian.
    ///
    /// # Errors
    /// It must be finite and not negative.
    pub fn with_gradient_tolerance(mut self, tolerance: f64) -> Result<Self, Error> {
        self.tolerances = self.tolerances.with_gradient(tolerance)?;
        Ok(self)
    }

    /// Sets the tolerance on the predicted reduction of the cost relative to the cost. A tolerance
    /// of 10⁻¹⁴ leaves an error of about 10⁻⁷ standard errors in the variables.
    ///
    /// # Errors
    /// It must be finite and not negative.
    pub fn with_cost_tolerance(mut self, tolerance: f64) -> Result<Self, Error> {
        self.tolerances = self.tolerances.with_cost(tolerance)?;
        Ok(self)
    }

    /// Sets the tolerance on the step relative to the variables, both scaled by D.
    ///
    /// # Errors
    /// It must be finite and not negative.
    pub fn with_step_tolerance(mut self, tolerance: f64) -> Result<Self, Error> {
        self.step_tolerance = check_setting("step tolerance", tolerance, 0.0)?;
        Ok(self)
    }

    /// Whether Jacobians are updated from the residuals where that does (default: no), for problems in which one costs
    /// several times what the residuals do. Iterations may be a few more, Jacobians are fewer.
    #[must_use]
    pub fn with_secant_updates(self, updates: bool) -> Self {
        Self { secant_updates: updates, ..self }
    }

    /// Whether steps that fall short are tried once more with an acceleration (default: no), for residuals that bend so much
    /// that straight steps must be short.
    #[must_use]
    pub fn with_acceleration(self, acceleration: bool) -> Self {
        Self { has_acceleration: acceleration, ..self }
    }

    /// Whether it ends where the cost falls by next to nothing (default: no), for residuals with kinks or noise.
    #[must_use]
    pub fn with_end_in_noise(self, ends: bool) -> Self {
        Self { ends_in_noise: ends, ..self }
    }

    /// It ends as soon as no step promises more than an error of this part of a standard error costs (default: 0), for a
    /// solution that something else goes on from, or whose residuals jump by as much.
    #[must_use]
    pub fn with_negligible_error(self, part: f64) -> Self {
        Self { negligible: part, ..self }
    }

    /// Whether checkpoints keep the last residuals and their Jacobian (default: no; a run that goes on evaluates them again).
    /// They must where the problem may not evaluate to the same again, and where secant updates are to go on.
    #[must_use]
    pub fn with_kept_linearization(self, keeps: bool) -> Self {
        Self { keeps_linearization: keeps, ..self }
    }

    /// Why the method stopped by itself; `None` while it runs or where something else ended it.
    pub fn convergence(&self) -> Option<Convergence> {
        self.convergence
    }

    fn update_scale(&mut self, jacobian: &DMatrix<f64>) {
        self.scale.resize(jacobian.ncols(), 0.0);
        for (d, column) in self.scale.iter_mut().zip(jacobian.column_iter()) {
            *d = d.max(column.norm());
        }
    }

    /// Whether the last iterations, with one that lowers the cost to `after`, have together lowered it by next to nothing.
    fn is_idle(&mut self, cost: f64, after: &LinearModel) -> bool {
        self.costs.push(cost);
        let first = self.costs.len().checked_sub(MOST_IDLE);
        first.is_some_and(|first| {
            self.costs[first] - half_square(&after.residuals) <= after.cost_of_error(NOISE)
        })
    }

    /// Whether the linear model promises no more than an error of this part of a standard error costs, even without damping.
    fn promises_only(&self, part: f64, x: &[f64], model: &LinearModel) -> bool {
        let whole = Self { damping: NEGLIGIBLE_DAMPING, ..self.clone() };
        model.reduction(&whole.step(x, &model.gradient, &model.r, &model.q)) <= model.cost_of_error(part)
    }
}

impl<O> Solver<O, LeastSquaresState> for LevenbergMarquardt
where
    O: Operator<Param = Vec<f64>, Output = Vec<f64>> + Jacobian<Param = Vec<f64>, Jacobian = DMatrix<f64>>,
{
    fn name(&self) -> &str {
        "Levenberg-Marquardt method"
    }

    fn init(
        &mut self,
        problem: &mut Problem<O>,
        mut state: LeastSquaresState,
    ) -> Result<(LeastSquaresState, Option<KV>), Error> {
        let start = state.take_param().ok_or_else(|| {
            Error::msg("`LevenbergMarquardt` requires an initial parameter vector: set it with `Executor::configure`")
        })?;
        let x = self.bounds.start(&start)?;
        let (residuals, jacobian) = evaluate(problem, &x)?;
        (self.damping, self.growth, self.convergence) = (self.initial_damping, 2.0, None);
        self.updates = 0;
        self.costs.clear();
        self.scale.clear();
        self.stops = self.stops.take().map(|stops| stops.renewed(&x)).transpose()?;
        self.update_scale(&jacobian);
        let gradient = jacobian.tr_mul(&DVector::from_column_slice(&residuals));
        let cost = half_square(&residuals);
        let gradient = gradient.as_slice().to_vec();
        let kv = argmin::kv!("gradient_norm" => self.bounds.projected_gradient_norm(&x, &gradient););
        let state = state.param(x).residuals(residuals).jacobian(jacobian).cost(cost);
        Ok((state.gradient(gradient), Some(kv)))
    }

    fn next_iter(
        &mut self,
        problem: &mut Problem<O>,
        mut state: LeastSquaresState,
    ) -> Result<(LeastSquaresState, Option<KV>), Error> {
        let missing = || Error::msg("`LevenbergMarquardt`: the state was not initialized");
        let x = state.take_param().ok_or_else(missing)?;
        let mut model = match (state.take_residuals(), state.take_jacobian(), self.linearization.take()) {
            (Some(residuals), Some(jacobian), _) => LinearModel::new(residuals, jacobian),
            (_, _, Some((residuals, jacobian))) => {
                let jacobian = DMatrix::from_vec(residuals.len(), x.len(), jacobian);
                LinearModel::new(residuals, jacobian)
            }
            _ => {
                self.updates = 0;
                let (residuals, jacobian) = evaluate(problem, &x)?;
                LinearModel::new(residuals, jacobian)
            }
        };
        let cost = half_square(&model.residuals);
        if self.updates == 0 {
            self.find_stops(&x, &model);
        }
        if self.updates > 0 && self.has_no_gradient(&x, &model) {
            model = self.renewed(problem, &x, model)?;
            if self.has_no_gradient(&x, &model) {
                self.convergence = Some(Convergence::Gradient);
            }
        }

        if self.negligible > 0.0 && self.updates == 0 && self.promises_only(self.negligible, &x, &model) {
            self.convergence.get_or_insert(Convergence::Cost);
        }
        let has_ended = self.convergence.is_some();

        let norm = |v: &mut dyn Iterator<Item = f64>| v.map(|x| x * x).sum::<f64>().sqrt();
        let x_norm = norm(&mut x.iter().zip(&self.scale).map(|(x, d)| x * d));

        let (mut last_error, mut may_correct) = (None, self.has_acceleration);
        let accepted = loop {
            if has_ended {
                break None;
            }
            let p = self.step(&x, &model.gradient, &model.r, &model.q);
            let predicted = model.reduction(&p);
            let step_norm = norm(&mut p.iter().zip(&self.scale).map(|(p, d)| p * d));
            let mut trial: Vec<f64> =
                (0..x.len()).map(|i| self.bounds.moved_inside(i, x[i] + p[i])).collect();
            // A step that is short because of the damping alone says nothing.
            if step_norm <= self.step_tolerance * x_norm && self.damping <= 1.0 {
                self.convergence = Some(Convergence::Step);
            }
            // A small reduction is the model's own only where it is hardly damped.
            let small = predicted <= self.tolerances.cost * cost;
            if small && self.damping <= NEGLIGIBLE_DAMPING && self.convergence.is_none() {
                self.convergence = Some(Convergence::Cost);
            }
            if self.convergence.is_some() && self.secant_updates {
                if self.updates == 0 {
                    break None;
                }
                model = self.renewed(problem, &x, model)?;
                continue;
            }
            if predicted > 0.0 {
                match residuals_at(problem, &trial) {
                    Ok(mut new) => {
                        let mut actual = model.actual_reduction(&new);
                        // A bend that is told from noise is none.
                        let may_bend = may_correct && self.updates == 0 && predicted > NOISE_OF_COST * cost;
                        if may_bend && actual < FULL_GAIN_RATIO * predicted {
                            may_correct = false;
                            if let Some(corrected) = self.corrected(&x, &trial, &model, &new)
                                && let Ok(found) = residuals_at(problem, &corrected)
                                && model.actual_reduction(&found) > actual
                            {
                                actual = model.actual_reduction(&found);
                                (trial, new) = (corrected, found);
                            }
                        }
                        // Where the reduction drowns in rounding the step is still good: the
                        // gradient has more digits left than the cost.
                        let drowned =
                            self.damping <= 1.0 && predicted.max(actual.abs()) <= ROUNDING_OF_COST * cost;
                        let ratio = if drowned { 1.0 } else { actual / predicted };
                        if ratio > SMALLEST_GAIN_RATIO {
                            match self.next_jacobian(problem, &model, (&x, &trial), &new, ratio) {
                                Ok(j) => break Some((trial, new, j, ratio)),
                                Err(e) => last_error = Some(e),
                            }
                        }
                    }
                    Err(e) => last_error = Some(e),
                }
            }
            if self.updates > 0 {
                model = self.renewed(problem, &x, model)?;
                continue;
            }
            if predicted <= NOISE_OF_COST * cost && self.damping <= 1.0 && self.convergence.is_none() {
                self.convergence = Some(Convergence::Cost);
            }
            if self.convergence.is_some() {
                break None;
            }
            self.damping *= self.growth;
            self.growth *= 2.0;
            let is_stopped = interruption::is_requested();
            if is_stopped || trial == x || !self.damping.is_finite() || self.damping > LARGEST_DAMPING {
                if !is_stopped && self.promises_only(NOISE, &x, &model) {
                    self.convergence = Some(Convergence::Noise);
                    break None;
                }
                let cosine = self.gradient_cosine(&x, &model.gradient, &model.jacobian, (2.0 * cost).sqrt());
                let mut reason = format!(
                    "no step reduces the cost although its gradient is not zero (cosine {cosine:.1e}): \
                     the residuals are noisy or their Jacobian is wrong"
                );
                if let Some(e) = last_error {
                    reason = format!("no step reduces the cost; the last trial failed: {e}");
                }
                let state = model.into_state(state, x);
                return Ok((state.terminate_with(exit(reason)), None));
            }
        };

        let (x, model) = match accepted {
            Some((trial, residuals, jacobian, ratio)) => {
                self.damping *= (1.0 - (2.0 * ratio - 1.0).powi(3)).max(1.0 / 3.0);
                self.growth = 2.0;
                if self.updates == 0 {
                    self.update_scale(&jacobian);
                }
                let model = LinearModel::new(residuals, jacobian);
                if self.ends_in_noise
                    && self.is_idle(cost, &model)
                    && self.updates == 0
                    && self.promises_only(NOISE, &trial, &model)
                {
                    self.convergence.get_or_insert(Convergence::Noise);
                }
                (trial, model)
            }
            None => (x, model),
        };
        // Here and not only where it is asked whether to end, so that a checkpoint of this iteration tells.
        let residual_norm = (2.0 * half_square(&model.residuals)).sqrt();
        if self.convergence.is_none()
            && self.updates == 0
            && self.gradient_cosine(&x, &model.gradient, &model.jacobian, residual_norm)
                <= self.tolerances.gradient
        {
            self.convergence = Some(Convergence::Gradient);
        }
        if self.keeps_linearization {
            self.linearization = Some((model.residuals.clone(), model.jacobian.as_slice().to_vec()));
        }
        let norm = self.bounds.projected_gradient_norm(&x, &model.gradient);
        let kv = argmin::kv!("gradient_norm" => norm; "damping" => self.damping;);
        Ok((model.into_state(state, x), Some(kv)))
    }

    fn terminate(&mut self, state: &LeastSquaresState) -> TerminationStatus {
        if let (Some(x), Some(g), Some(j)) = (state.get_param(), state.get_gradient(), state.get_jacobian()) {
            let residual_norm = (2.0 * state.cost).sqrt();
            if self.convergence.is_none()
                && self.updates == 0
                && self.gradient_cosine(x, g, j, residual_norm) <= self.tolerances.gradient
            {
                self.convergence = Some(Convergence::Gradient);
            }
        }
        Convergence::status(self.convergence)
    }
}

#[cfg(test)]
mod tests;
