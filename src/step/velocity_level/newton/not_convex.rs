//! TAMSI, which minimizes nothing: three iterations, one after the other.

use super::{Newton, NewtonError, Search, SolverTolerance};
use crate::step::velocity_level::problem::Problem;

/// Iterations of TAMSI's own line search before convex problems take over: it takes fewer than
/// half as many where it converges at all.
const TRANSITION_AWARE_ITERATIONS: usize = 40;
/// Most convex problems in place of TAMSI's, how many of them are not damped, and the iterations
/// on TAMSI's own problem after each of them.
const FROZEN_PROBLEMS: usize = 60;
const UNDAMPED_PROBLEMS: usize = 10;
const DECREASE_ITERATIONS: usize = 20;

impl Newton {
    /// TAMSI's solver: Newton's method with its own line search. If that does not converge, a sequence
    /// of convex problems is solved, each with friction from the normal impulses of the one before. From
    /// each of their solutions Newton's method is tried again, with a line search that decreases the
    /// violation of the balance. Where neither converges friction is continued from none
    /// ([`Newton::continue_friction`]).
    pub(super) fn solve_not_convex(
        &mut self,
        problem: &mut Problem,
        stiction_velocity: f64,
        tolerance: &SolverTolerance,
    ) -> Result<(), NewtonError> {
        let limited = |iterations: usize| SolverTolerance {
            max_iterations: tolerance.max_iterations.min(iterations),
            ..*tolerance
        };
        self.start.clear();
        self.start.extend_from_slice(&self.velocity);
        let search = Search::TransitionAware { stiction_velocity };
        let first = self.iterate(problem, search, &limited(TRANSITION_AWARE_ITERATIONS));
        if first.is_ok() || tolerance.max_iterations <= TRANSITION_AWARE_ITERATIONS {
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
        if outcome.is_err() {
            self.velocity.copy_from_slice(&self.start);
            let (continued, iterations) = self.continue_friction(problem, &limited(DECREASE_ITERATIONS));
            outcome = continued;
            total += iterations;
            residual = self.statistics.residual;
        }
        self.statistics.iterations = total;
        self.statistics.residual = residual;
        outcome
    }
}
