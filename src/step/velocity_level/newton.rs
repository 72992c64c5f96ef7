//! Newton's method for the velocities at the end of a step.
//!
//! The convex models minimize a function of the velocities: Newton's step with an exact line search
//! always converges (arXiv 2110.10107, §IV). If a step does not halve the violation of the balance, the
//! matrix is made with directions of friction as separate unknowns ([`Problem::turn_friction`]). This
//! keeps many contacts near stiction from blocking one another. TAMSI has no such function: its step is
//! cut where a contact's slip velocity would pass by zero or turn too far ([`super::transition_aware`]).
//! If that does not converge, friction is computed from fixed normal impulses, which makes the problem
//! convex, and these impulses are corrected from one such problem to the next. What is left is solved by
//! continuation, with friction that grows from none.
//!
//! Where a factorization takes much longer than a solution, later steps are found with the one of an
//! earlier iteration, by minimal residuals.

mod continuation;
mod line_search;
mod not_convex;

use nalgebra::{Matrix6, Vector6};

use super::balance_scale::weighted_length;
use super::free_body::write_velocities;
use super::problem::Problem;
use super::transition_aware::step_limit;
use crate::linear_algebra::{BlockFactor, MinimalResidual, Values, dot};
use crate::multibody::State;

/// When the iteration for the velocities ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SolverTolerance {
    /// Largest residual of the balance of momentum of any body or tree of joints. It is relative to the
    /// sum of the magnitudes of the terms that are balanced there: momenta, gravity, forces, and the
    /// loads of contacts, which cancel at rest. Each term is divided by the square root of the inertia
    /// that it acts on. The iteration also ends if the residual is below 10⁻⁷, an iteration no longer
    /// halves it, and the velocities change by no more than 10⁻¹¹ of their magnitude, or below 10⁻⁴ if they
    /// change by no more than 2·10⁻¹⁶ of it: with very stiff contact rounding allows no better. [`SolverStatistics::residual`] is the residual that is left.
    pub relative: f64,
    /// Most iterations.
    pub max_iterations: usize,
}

impl Default for SolverTolerance {
    fn default() -> Self {
        Self { relative: 1e-11, max_iterations: 100 }
    }
}

/// A balance to this part of its terms that no further iteration improves is as good as rounding
/// allows, if that iteration changes the velocities no more than [`SAME_VELOCITY`]: stiff contact
/// multiplies the rounding of the velocities.
const STAGNATION: f64 = 1e-7;
/// Changes of the velocities by this part of them are rounding.
const SAME_VELOCITY: f64 = 1e-11;
/// The same where nothing changes the velocities: between a body and one of 10⁵ times its mass, whose contact is as stiff as that
/// mass asks for.
const STIFF_STAGNATION: f64 = 1e-4;
/// The matrix of the last iteration takes one more step where that ends the iteration, with this
/// much in reserve, if the violation of the balance shrinks as it did last.
const RESERVE: f64 = 100.0;
/// Where a factorization takes at least as many times the multiplications of a solution, steps
/// are looked for with the factorization of an earlier iteration,
const COSTLY: usize = 8;
/// after an iteration that leaves at most this part of the violation of the balance, or whose step
/// slip velocities have cut: the matrix has not changed much then,
const CLOSE: f64 = 0.25;
/// with at most as many products,
const MOST_PRODUCTS: usize = 12;
/// to an error that is this part of what Newton's method itself leaves, or the tolerance allows;
/// within these bounds, in parts of the violation.
const INEXACT: f64 = 0.1;
const SMALLEST_INEXACTNESS: f64 = 1e-6;
const LARGEST_INEXACTNESS: f64 = 1e-2;
/// Directions of friction become unknowns where an iteration leaves more than this part of the
/// violation of the balance.
const SLOW: f64 = 0.5;

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
    /// What is left of the balance of momentum, relative to the magnitudes of its terms (see
    /// [`SolverTolerance::relative`]).
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
    /// For each tree the sum of the magnitudes of what is balanced.
    magnitude: Vec<f64>,
    trial: Vec<f64>,
    /// Solutions with the factorization of an earlier iteration.
    iterative: MinimalResidual,
    /// The velocities that TAMSI's iteration starts from.
    start: Vec<f64>,
}

impl Newton {
    /// Sets the velocities to those of a state.
    pub fn set_velocity(&mut self, state: &State) {
        write_velocities(state, &mut self.velocity);
    }

    /// Evaluates the balance at the velocities of a state; returns what is left of it.
    pub fn evaluate_at(&mut self, problem: &Problem, state: &State) -> f64 {
        self.set_velocity(state);
        self.prepare(problem);
        self.evaluate(problem)
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
        problem.set_structure(&mut self.factor);
        self.statistics = SolverStatistics {
            contacts: problem.contact_count(),
            patches: problem.patches.len(),
            ..SolverStatistics::default()
        };
    }

    /// The balance at the present velocities: what is left of it, relative to the magnitudes of
    /// its terms, for the tree where that is largest.
    fn evaluate(&mut self, problem: &Problem) -> f64 {
        problem.evaluate(&self.velocity, &mut self.impulse, &mut self.by_patch);
        problem.inertia_times(&self.velocity, &mut self.inertia_velocity);
        for i in 0..self.residual.len() {
            self.residual[i] = self.inertia_velocity[i] - problem.momentum[i] - self.impulse[i];
        }
        let net = self.by_patch.iter().map(|(w, _)| w.fixed_rows::<3>(3).norm());
        problem.scale.evaluate(net, &mut self.magnitude);
        let mut largest = 0.0;
        for (tree, at) in problem.trees().enumerate() {
            let weight = &problem.scale.weight[at.clone()];
            let length = |m: &[f64]| weighted_length(m[at.clone()].iter().copied(), weight);
            let momenta = [&self.inertia_velocity, &problem.momentum, &self.impulse].map(|m| length(m));
            let magnitude = &mut self.magnitude[tree];
            *magnitude += momenta.iter().sum::<f64>();
            let left = length(&self.residual);
            if left.is_nan() {
                return left;
            }
            // Without any momentum there is nothing to balance.
            if left > problem.scale.trees[tree].rounding {
                largest = f64::max(largest, left / *magnitude);
            }
        }
        largest
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
        let costly = self.factor.relative_work() >= COSTLY;
        if costly && problem.has_stiction_corner() {
            // Among so many contacts one passes by its corner at the first step, nearly always.
            problem.hold_friction();
        }
        let mut residual = self.evaluate(problem);
        let (mut best, mut before) = (f64::INFINITY, None);
        let mut shrinks = None;
        loop {
            self.statistics.residual = residual;
            if !residual.is_finite() {
                return Err(NewtonError::NotFinite);
            }
            let done = residual <= tolerance.relative
                || (residual > 0.5 * best && self.has_stagnated(&problem.scale.weight, residual));
            if !done && self.statistics.iterations >= tolerance.max_iterations {
                return Err(NewtonError::NotConverged);
            }
            if done && !self.keep_factor {
                return Ok(());
            }
            if done && problem.release_friction() {
                self.evaluate(problem);
            }
            let suffices = |before: f64| RESERVE * residual * residual <= tolerance.relative * before;
            let reuse = !done && !costly && before.is_some_and(suffices);
            if !reuse {
                self.set_matrix(problem);
            }
            for (s, r) in self.step.iter_mut().zip(&self.residual) {
                *s = -r;
            }
            let close = !done
                && costly
                && shrinks
                    .is_some_and(|by| self.solve_iteratively(&problem.scale.weight, residual, by, tolerance));
            if !reuse && !close && self.factor.factorize(kind).is_err() {
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
            if !close {
                self.factor.factors().solve(&mut self.step);
            }
            self.statistics.iterations += 1;
            let before_step = residual;
            let mut cut = false;
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
                    cut = limit < 1.0;
                    self.advance(limit);
                    self.evaluate(problem)
                }
                Search::Decrease => self.decrease(problem),
            };
            // What is left of the violation, where an earlier factorization may serve.
            shrinks = Some(residual / before_step).filter(|by| cut || *by <= CLOSE);
        }
    }

    /// Solves for the step with the factorization of an earlier iteration, after an iteration that
    /// left the part `shrinks` of the violation of the balance; false, with the step as it was, if
    /// that takes too long.
    fn solve_iteratively(
        &mut self,
        weight: &[f64],
        residual: f64,
        shrinks: f64,
        tolerance: &SolverTolerance,
    ) -> bool {
        // What is left of Newton's own error is about the square of what was left last.
        let useful = (INEXACT * shrinks * shrinks).max(SMALLEST_INEXACTNESS);
        let last = INEXACT * tolerance.relative / residual;
        let accuracy = useful.max(last).min(LARGEST_INEXACTNESS);
        self.iterative.solve(&self.factor, weight, &mut self.step, accuracy, MOST_PRODUCTS)
    }

    /// Whether the last step changed the velocities by no more than this part of them, by their kinetic energy.
    fn step_is_within(&self, weight: &[f64], part: f64) -> bool {
        let square = |v: &[f64]| v.iter().zip(weight).map(|(v, w)| (v / w).powi(2)).sum::<f64>();
        square(&self.step) <= part * part * square(&self.velocity)
    }

    /// Whether the last step was no change of the velocities.
    fn step_is_rounding(&self, weight: &[f64]) -> bool {
        self.step_is_within(weight, SAME_VELOCITY)
    }

    /// Whether what is left of the balance is what rounding of the velocities makes of it.
    fn has_stagnated(&self, weight: &[f64], residual: f64) -> bool {
        let part = if residual <= STAGNATION { SAME_VELOCITY } else { f64::EPSILON };
        residual <= STIFF_STAGNATION && self.step_is_within(weight, part)
    }

    /// Takes the longest of the halves of a step that decreases the violation of the balance.
    fn decrease(&mut self, problem: &Problem) -> f64 {
        let weight = &problem.scale.weight;
        let length = |residual: &[f64]| weighted_length(residual.iter().copied(), weight);
        let before = length(&self.residual);
        let mut part = 1.0;
        self.advance(part);
        loop {
            let residual = self.evaluate(problem);
            if length(&self.residual) < before || part < SMALLEST_PART {
                return residual;
            }
            part *= 0.5;
            self.advance(-part);
        }
    }

    /// Factorizes K at the velocities of the last evaluation.
    pub fn factorize(&mut self, problem: &Problem, kind: Values) -> Result<(), ()> {
        self.set_matrix(problem);
        self.factor.factorize(kind).map_err(|_| ())
    }

    /// K at the velocities of the last evaluation.
    fn set_matrix(&mut self, problem: &Problem) {
        problem.set_matrix(&self.velocity, &self.by_patch, &mut self.factor);
    }

    /// The trees with the largest residuals (or residuals that are not finite), the worst first.
    pub fn worst_trees(&self, problem: &Problem) -> Vec<usize> {
        let parts: Vec<_> = problem.trees().collect();
        let size = |tree: usize| {
            let part = parts[tree].clone();
            let residual = self.residual[part.clone()].iter().copied();
            let length = weighted_length(residual, &problem.scale.weight[part]);
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
}
