//! Newton's method for the velocities at the end of a step.
//!
//! The convex models minimize a function of the velocities: Newton's step with an exact line
//! search always converges (arXiv 2110.10107, §IV). Where a step does not halve the violation of
//! the balance, the matrix is made with directions of friction that are unknowns of their own
//! ([`Problem::turn_friction`]), which keeps many contacts near stiction from holding up one
//! another. TAMSI has no such function: its step is cut
//! where a contact's slip velocity would pass by zero or turn too far
//! ([`super::transition_aware`]). Where that does not converge, friction is taken from normal
//! impulses that are held, which makes the problem convex, and those are corrected from one such
//! problem to the next.

use nalgebra::{Matrix6, Vector6};

use super::free_body::six;
use super::problem::Problem;
use super::transition_aware::step_limit;
use crate::multibody::State;
use crate::step::block_factor::{BlockFactor, Values};

/// When the iteration for the velocities ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SolverTolerance {
    /// What may be left of the balance of momentum, relative to its largest term, each momentum
    /// weighted by the root of its inertia. The iteration also ends where less than 10⁻⁷ is left,
    /// an iteration no longer halves it and changes the velocities by no more than 10⁻¹¹ of them:
    /// with very stiff contact rounding allows no more.
    /// [`SolverStatistics::residual`] says what is left.
    pub relative: f64,
    /// Most iterations.
    pub iterations: usize,
}

impl Default for SolverTolerance {
    fn default() -> Self {
        Self { relative: 1e-11, iterations: 100 }
    }
}

/// A balance to this part of its terms that no further iteration improves is as good as rounding
/// allows, if that iteration changes the velocities no more than [`SAME_VELOCITY`]: stiff contact
/// multiplies the rounding of the velocities.
const STAGNATION: f64 = 1e-7;
/// Changes of the velocities by this part of them are rounding.
const SAME_VELOCITY: f64 = 1e-11;
/// A full step is taken where it leaves at most this part of the slope along it.
const GOOD_SLOPE: f64 = 0.25;
/// The line search ends at this part of the slope at its start.
const LINE_SEARCH_SLOPE: f64 = 1e-3;
/// Most evaluations of a line search.
const LINE_SEARCH_EVALUATIONS: usize = 60;

/// The matrix of the last iteration takes one more step where that ends the iteration, with this
/// much in reserve, if the violation of the balance shrinks as it did last.
const RESERVE: f64 = 100.0;
/// Directions of friction become unknowns where an iteration leaves more than this part of the
/// violation of the balance.
const SLOW: f64 = 0.5;

/// Iterations of TAMSI's own line search before convex problems take over: it takes fewer than
/// half as many where it converges at all.
const TRANSITION_AWARE_ITERATIONS: usize = 40;
/// Most convex problems in place of TAMSI's, how many of them are not damped, and the iterations
/// on TAMSI's own problem after each of them.
const FROZEN_PROBLEMS: usize = 60;
const UNDAMPED_PROBLEMS: usize = 10;
const DECREASE_ITERATIONS: usize = 20;
/// The smallest part of a Newton step that is tried.
const SMALLEST_PART: f64 = 1e-4;

/// How far a Newton step goes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Search {
    /// To the minimum of a convex cost.
    Convex,
    /// As far as slip velocities allow ([`step_limit`]).
    TransitionAware { stiction_velocity: f64 },
    /// As far as the violation of the balance decreases.
    Decrease,
}

/// How the iteration went.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SolverStatistics {
    /// Newton iterations.
    pub iterations: usize,
    /// What is left of the balance of momentum, relative to its largest term.
    pub residual: f64,
    /// The minimum that a convex model's step finds, J; `None` for TAMSI.
    pub cost: Option<f64>,
    /// Point contacts (faces).
    pub contacts: usize,
    /// Pairs of geometries in contact.
    pub patches: usize,
}

/// Why the iteration ended without a solution.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum NewtonError {
    /// Too many iterations, or none improves the balance any more.
    NotConverged,
    /// A number is not finite.
    NotFinite,
}

/// The memory of the iteration, and its factorization at the solution.
#[derive(Debug, Default)]
pub(super) struct Newton {
    /// The velocities.
    pub velocity: Vec<f64>,
    /// K at the solution.
    pub factor: BlockFactor,
    /// Whether K is to be factorized at the solution.
    pub keep_factor: bool,
    /// How it went.
    pub statistics: SolverStatistics,
    impulse: Vec<f64>,
    /// The impulse of each patch and its negative derivative, at the solution.
    pub by_patch: Vec<(Vector6<f64>, Matrix6<f64>)>,
    /// A v − p − Jᵀγ.
    pub residual: Vec<f64>,
    inertia_velocity: Vec<f64>,
    step: Vec<f64>,
    /// 1/√A_ii.
    weight: Vec<f64>,
    trial: Vec<f64>,
    /// The velocities that TAMSI's iteration starts from.
    start: Vec<f64>,
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// The length of a momentum in which all velocities count by their kinetic energy.
fn weighted_length(momentum: &[f64], weight: &[f64]) -> f64 {
    momentum.iter().zip(weight).map(|(m, w)| (m * w).powi(2)).sum::<f64>().sqrt()
}

impl Newton {
    /// Sets the velocities to those of a state.
    pub fn set_velocity(&mut self, state: &State) {
        self.velocity.clear();
        for body in &state.bodies {
            self.velocity.extend(six(&body.velocity.rotational, &body.velocity.translational));
        }
        self.velocity.extend_from_slice(&state.joints.v);
    }

    fn prepare(&mut self, problem: &Problem) {
        let n = problem.dimension();
        for list in [
            &mut self.impulse,
            &mut self.residual,
            &mut self.inertia_velocity,
            &mut self.step,
            &mut self.trial,
        ] {
            list.clear();
            list.resize(n, 0.0);
        }
        self.weight.clear();
        self.weight.extend(problem.inertia_diagonal().map(|m| 1.0 / m.sqrt()));
        problem.set_structure(&mut self.factor);
        self.statistics = SolverStatistics {
            contacts: problem.contact_count(),
            patches: problem.patches.len(),
            ..SolverStatistics::default()
        };
    }

    /// Balance and matrix at the present velocities; the balance relative to its terms.
    fn evaluate(&mut self, problem: &Problem) -> f64 {
        problem.evaluate(&self.velocity, &mut self.impulse, &mut self.factor, &mut self.by_patch);
        problem.inertia_times(&self.velocity, &mut self.inertia_velocity);
        for i in 0..self.residual.len() {
            self.residual[i] = self.inertia_velocity[i] - problem.momentum[i] - self.impulse[i];
        }
        let terms = [&self.inertia_velocity, &problem.momentum, &self.impulse]
            .map(|m| weighted_length(m, &self.weight));
        let largest = terms[0].max(terms[1]).max(terms[2]);
        let left = weighted_length(&self.residual, &self.weight);
        // Without any momentum there is nothing to balance.
        if largest == 0.0 { 0.0 } else { left / largest }
    }

    /// Solves the balance of momentum, from the velocities in `self.velocity`; the solution, and
    /// where it is to be kept the factorization of K at it, are left in `self`.
    pub fn solve(
        &mut self,
        problem: &mut Problem,
        convex: bool,
        stiction_velocity: f64,
        tolerance: &SolverTolerance,
    ) -> Result<(), NewtonError> {
        self.prepare(problem);
        if convex {
            self.iterate(problem, Search::Convex, tolerance)?;
        } else {
            self.solve_not_convex(problem, stiction_velocity, tolerance)?;
        }
        self.statistics.cost = problem.cost(&self.velocity);
        Ok(())
    }

    /// TAMSI: Newton's method with its own line search, and where that does not converge a
    /// sequence of convex problems whose friction is taken from the normal impulses of the last
    /// one; from each of their solutions Newton's method is tried again, with a line search that
    /// decreases the violation of the balance.
    fn solve_not_convex(
        &mut self,
        problem: &mut Problem,
        stiction_velocity: f64,
        tolerance: &SolverTolerance,
    ) -> Result<(), NewtonError> {
        let limited = |iterations: usize| SolverTolerance {
            iterations: tolerance.iterations.min(iterations),
            ..*tolerance
        };
        self.start.clear();
        self.start.extend_from_slice(&self.velocity);
        let search = Search::TransitionAware { stiction_velocity };
        let first = self.iterate(problem, search, &limited(TRANSITION_AWARE_ITERATIONS));
        if first.is_ok() || tolerance.iterations <= TRANSITION_AWARE_ITERATIONS {
            return first;
        }
        let mut total = self.statistics.iterations;
        let mut residual = self.statistics.residual;
        self.velocity.copy_from_slice(&self.start);
        let mut outcome = first;
        for round in 0..FROZEN_PROBLEMS {
            // Alternating between two solutions is damped.
            problem.freeze(&self.velocity, if round < UNDAMPED_PROBLEMS { 1.0 } else { 0.5 });
            self.statistics.iterations = 0;
            outcome = self.iterate(problem, Search::Convex, &SolverTolerance::default());
            total += self.statistics.iterations;
            let frozen = problem.take_frozen();
            if outcome.is_err() {
                break;
            }
            let convex_solution = self.velocity.clone();
            self.statistics.iterations = 0;
            outcome = self.iterate(problem, Search::Decrease, &limited(DECREASE_ITERATIONS));
            total += self.statistics.iterations;
            if outcome.is_ok() {
                residual = self.statistics.residual;
                break;
            }
            residual = self.statistics.residual;
            self.velocity.copy_from_slice(&convex_solution);
            problem.set_frozen(frozen);
        }
        problem.take_frozen();
        self.statistics.iterations = total;
        self.statistics.residual = residual;
        outcome
    }

    /// Newton's method from the velocities in `self.velocity`.
    fn iterate(
        &mut self,
        problem: &mut Problem,
        search: Search,
        tolerance: &SolverTolerance,
    ) -> Result<(), NewtonError> {
        let outcome = self.converge(problem, search, tolerance);
        problem.release_friction();
        outcome
    }

    fn converge(
        &mut self,
        problem: &mut Problem,
        search: Search,
        tolerance: &SolverTolerance,
    ) -> Result<(), NewtonError> {
        let kind = if search == Search::Convex { Values::PositiveDefinite } else { Values::General };
        let mut residual = self.evaluate(problem);
        let (mut best, mut before) = (f64::INFINITY, None);
        loop {
            self.statistics.residual = residual;
            if !residual.is_finite() {
                return Err(NewtonError::NotFinite);
            }
            let done = residual <= tolerance.relative
                || (residual <= STAGNATION && residual > 0.5 * best && self.step_is_rounding());
            if !done && self.statistics.iterations >= tolerance.iterations {
                return Err(NewtonError::NotConverged);
            }
            if done && !self.keep_factor {
                return Ok(());
            }
            if done && problem.release_friction() {
                self.evaluate(problem);
            }
            let suffices = |before: f64| RESERVE * residual * residual <= tolerance.relative * before;
            let reuse = !done && before.is_some_and(suffices);
            if !reuse && self.factor.factorize(kind).is_err() {
                // A finite matrix that is not convex may be singular, away from the solution.
                return Err(if search == Search::Convex {
                    NewtonError::NotFinite
                } else {
                    NewtonError::NotConverged
                });
            }
            if done {
                return Ok(());
            }
            best = best.min(residual);
            before = Some(residual);
            for (s, r) in self.step.iter_mut().zip(&self.residual) {
                *s = -r;
            }
            self.factor.solve(&mut self.step);
            self.statistics.iterations += 1;
            residual = match search {
                Search::Convex => {
                    let after = self.descend(problem, residual);
                    let slow = after > SLOW * residual && residual > STAGNATION;
                    if slow && !problem.holds_friction() {
                        problem.hold_friction();
                        self.evaluate(problem)
                    } else {
                        after
                    }
                }
                Search::TransitionAware { stiction_velocity } => {
                    let limit = step_limit(problem, &self.velocity, &self.step, stiction_velocity);
                    self.advance(limit);
                    self.evaluate(problem)
                }
                Search::Decrease => self.decrease(problem),
            };
        }
    }

    /// Whether the last step was no change of the velocities, by their kinetic energy.
    fn step_is_rounding(&self) -> bool {
        let square = |v: &[f64]| v.iter().zip(&self.weight).map(|(v, w)| (v / w).powi(2)).sum::<f64>();
        square(&self.step) <= SAME_VELOCITY * SAME_VELOCITY * square(&self.velocity)
    }

    /// Takes the longest of the halves of a step that decreases the violation of the balance.
    fn decrease(&mut self, problem: &Problem) -> f64 {
        let before = weighted_length(&self.residual, &self.weight);
        let mut part = 1.0;
        self.advance(part);
        loop {
            let residual = self.evaluate(problem);
            if weighted_length(&self.residual, &self.weight) < before || part < SMALLEST_PART {
                return residual;
            }
            part *= 0.5;
            self.advance(-part);
        }
    }

    /// Factorizes K at the velocities in `self.velocity`.
    pub fn factorize_at(&mut self, problem: &Problem, kind: Values) -> Result<(), ()> {
        self.prepare(problem);
        self.evaluate(problem);
        self.factor.factorize(kind).map_err(|_| ())
    }

    /// The trees with the largest residuals (or residuals that are not finite), the worst first.
    pub fn worst_trees(&self, problem: &Problem) -> Vec<usize> {
        let parts: Vec<_> = problem.trees().collect();
        let size = |tree: usize| {
            let part = parts[tree].clone();
            let length = weighted_length(&self.residual[part.clone()], &self.weight[part]);
            if length.is_nan() { f64::INFINITY } else { length }
        };
        let mut trees: Vec<usize> = (0..parts.len()).collect();
        trees.sort_by(|&a, &b| size(b).total_cmp(&size(a)));
        let worst = trees.first().map_or(0.0, |&tree| size(tree));
        trees.retain(|&tree| size(tree) >= 0.1 * worst);
        trees
    }

    fn advance(&mut self, alpha: f64) {
        for (v, s) in self.velocity.iter_mut().zip(&self.step) {
            *v += alpha * s;
        }
    }

    /// Takes the step of a convex model, as far as it decreases the cost.
    fn descend(&mut self, problem: &mut Problem, before: f64) -> f64 {
        let slope = dot(&self.residual, &self.step);
        self.trial.copy_from_slice(&self.velocity);
        problem.turn_friction(&self.trial, &self.step);
        self.advance(1.0);
        let residual = self.evaluate(problem);
        let slope_after = dot(&self.residual, &self.step);
        // The cost has its minimum at or beyond the full step, or close to it. Where the balance
        // is rounding the slopes are too.
        if slope_after <= 0.0
            || (slope_after <= -GOOD_SLOPE * slope && residual < before)
            || before <= STAGNATION
        {
            return residual;
        }
        let start = std::mem::take(&mut self.trial);
        let alpha = self.line_search(problem, &start, slope, slope_after);
        self.velocity.copy_from_slice(&start);
        self.trial = start;
        self.advance(alpha);
        self.evaluate(problem)
    }

    /// Where between 0 and 1 the slope along the step vanishes: Newton's method, kept inside a
    /// bracket.
    fn line_search(&mut self, problem: &Problem, start: &[f64], slope: f64, slope_at_one: f64) -> f64 {
        problem.inertia_times(&self.step, &mut self.inertia_velocity);
        let quadratic = dot(&self.step, &self.inertia_velocity);
        let linear = dot(&self.inertia_velocity, start) - dot(&self.step, &problem.momentum);
        let (mut low, mut high) = (0.0, 1.0);
        // Regula falsi to begin with: the slope is far from linear where contacts open.
        let mut alpha = slope / (slope - slope_at_one);
        for _ in 0..LINE_SEARCH_EVALUATIONS {
            let (power, curvature) = problem.along(start, &self.step, alpha);
            let at = linear + alpha * quadratic - power;
            if at.abs() <= LINE_SEARCH_SLOPE * slope.abs() || high - low < 1e-12 {
                break;
            }
            if at < 0.0 {
                low = alpha;
            } else {
                high = alpha;
            }
            let next = alpha - at / (quadratic + curvature);
            alpha = if next > low && next < high { next } else { 0.5 * (low + high) };
        }
        alpha
    }
}
