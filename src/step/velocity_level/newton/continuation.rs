//! TAMSI by continuation: friction grows from none to what it is.
//!
//! Without friction the balance has one solution, the minimum of a convex function. With the
//! coefficients of friction multiplied by a part s solutions form a curve in the velocities v and s,
//! and because they stay bounded for all s (friction only takes energy) the curve that begins
//! without friction gets to s = 1. On its way there it may turn back in s, where contacts jam or
//! let go and there are several solutions. So it is followed by its length (Keller 1977): a step
//! along the tangent, and Newton's method back to the curve in the plane across it.

use super::{Newton, NewtonError, Search, SolverTolerance};
use crate::linear_algebra::Values;
use crate::step::velocity_level::problem::{Coefficients, Problem};

/// The first step, where the change of v that friction causes to begin with, and s, count as 1.
const FIRST_LENGTH: f64 = 0.1;
/// Most factorizations: curves that were followed took at most 600.
const ITERATIONS: usize = 3000;
/// Most iterations back to the curve; after at most so many the next step is twice as long.
const CORRECTIONS: usize = 8;
const EASY_CORRECTIONS: usize = 4;
/// What may be left of the balance on the curve, in lengths.
const ON_CURVE: f64 = 1e-7;
/// A step that goes back to the curve by more than this part of its length may have left it for
/// another part of it.
const LARGEST_CORRECTION: f64 = 0.5;
/// So may one over which the tangent turns by more than this cosine, if it is not so short that the
/// curve must have a kink there: where contacts part.
const SMALLEST_COSINE: f64 = 0.5;
const KINK_LENGTH: f64 = 1e-6;
/// The shortest step.
const SMALLEST_LENGTH: f64 = 1e-12;
/// The last step is aimed at s = 1 if it is longer than this part of what was tried, and halved
/// otherwise.
const NOT_SHORTER: f64 = 0.999;

/// A point of the curve, or a direction: velocities, and the part of friction.
#[derive(Clone, Debug)]
struct Point {
    velocity: Vec<f64>,
    part: f64,
}

impl Point {
    /// This and a multiple of another.
    fn plus(&self, by: f64, other: &Self) -> Self {
        let velocity = self.velocity.iter().zip(&other.velocity).map(|(v, w)| v + by * w).collect();
        Self { velocity, part: self.part + by * other.part }
    }
}

/// The balance close to a point.
struct Linearization {
    /// Newton's step at the same part of friction.
    step: Vec<f64>,
    /// How the velocities follow the part of friction.
    by_part: Vec<f64>,
    /// The direction of s along the curve. The product of the signs of det K and ds is constant, also
    /// where the curve turns back and where it has a kink.
    backward: bool,
    /// Whether the point is on the curve.
    is_on_curve: bool,
}

/// The curve of solutions.
struct Curve<'a> {
    newton: &'a mut Newton,
    problem: &'a mut Problem,
    friction: Coefficients,
    tolerance: SolverTolerance,
    /// The change of the velocities that counts as 1, by their kinetic energy.
    scale: f64,
    iterations: usize,
}

impl Newton {
    /// Solves TAMSI's balance by continuation, from the velocities in `self.velocity`; also returns
    /// how many iterations that took.
    pub(super) fn continue_friction(
        &mut self,
        problem: &mut Problem,
        tolerance: &SolverTolerance,
    ) -> (Result<(), NewtonError>, usize) {
        let friction = problem.friction();
        let mut curve =
            Curve { newton: self, problem, friction, tolerance: *tolerance, scale: 1.0, iterations: 0 };
        let outcome = curve.follow();
        let Curve { friction, iterations, .. } = curve;
        problem.set_friction(&friction, 1.0);
        (outcome, iterations)
    }
}

impl Curve<'_> {
    /// The product of two directions.
    fn dot(&self, a: &Point, b: &Point) -> f64 {
        self.dot_of_velocities(&a.velocity, &b.velocity) / (self.scale * self.scale) + a.part * b.part
    }

    fn dot_of_velocities(&self, a: &[f64], b: &[f64]) -> f64 {
        let weight = &self.problem.scale.weight;
        a.iter().zip(b).zip(weight).map(|((a, b), w)| a * b / (w * w)).sum()
    }

    /// Newton's method at a given part of friction, from the velocities in `newton.velocity`.
    fn solve_at(
        &mut self,
        part: f64,
        search: Search,
        tolerance: &SolverTolerance,
    ) -> Result<(), NewtonError> {
        self.problem.set_friction(&self.friction, part);
        self.newton.statistics.iterations = 0;
        let outcome = self.newton.iterate(self.problem, search, tolerance);
        self.iterations += self.newton.statistics.iterations;
        outcome
    }

    /// The balance at a point; `None` if K is singular there.
    fn linearize(&mut self, at: &Point) -> Option<Linearization> {
        let Self { newton, problem, friction, .. } = self;
        self.iterations += 1;
        newton.velocity.copy_from_slice(&at.velocity);
        // The balance is linear in the coefficients of friction.
        problem.set_friction(friction, 1.0);
        newton.evaluate(problem);
        let mut by_part: Vec<f64> = newton.residual.iter().map(|r| -r).collect();
        problem.set_friction(friction, 0.0);
        newton.evaluate(problem);
        by_part.iter_mut().zip(&newton.residual).for_each(|(b, r)| *b += r);
        problem.set_friction(friction, at.part);
        let left = newton.evaluate(problem);
        newton.set_matrix(problem);
        newton.factor.factorize(Values::General).ok()?;
        let mut step: Vec<f64> = newton.residual.iter().map(|r| -r).collect();
        let weight = &problem.scale.weight;
        let length = super::weighted_length(step.iter().copied(), weight);
        let is_on_curve = left <= self.tolerance.relative || length <= ON_CURVE * self.scale;
        newton.factor.factors().solve(&mut step);
        newton.factor.factors().solve(&mut by_part);
        let backward = newton.factor.has_negative_determinant();
        Some(Linearization { step, by_part, backward, is_on_curve })
    }

    /// The direction of the curve, of length 1.
    fn tangent(&self, linearization: Linearization) -> Point {
        let tangent = Point { velocity: linearization.by_part, part: 1.0 };
        let length = self.dot(&tangent, &tangent).sqrt();
        let by = if linearization.backward { -1.0 / length } else { 1.0 / length };
        Point { velocity: tangent.velocity.iter().map(|v| by * v).collect(), part: by }
    }

    /// A step along the tangent and back to the curve: the point there, its tangent, and the
    /// iterations. `None` if the step is too long.
    fn step(&mut self, from: &Point, tangent: &Point, length: f64) -> Option<(Point, Point, usize)> {
        let predicted = from.plus(length, tangent);
        let mut at = predicted.clone();
        for corrections in 0..CORRECTIONS {
            let linearization = self.linearize(&at)?;
            if linearization.is_on_curve {
                let correction = at.plus(-1.0, &predicted);
                let new_tangent = self.tangent(linearization);
                let follows = self.dot(&correction, &correction).sqrt() <= LARGEST_CORRECTION * length
                    && (length < KINK_LENGTH || self.dot(&new_tangent, tangent) > SMALLEST_COSINE);
                return follows.then_some((at, new_tangent, corrections));
            }
            // In the plane across the tangent: (v, s) + (step + by_part ds, ds).
            let step = Point { velocity: linearization.step, part: 0.0 };
            let by_part = Point { velocity: linearization.by_part, part: 1.0 };
            let off_plane = self.dot(tangent, &at.plus(-1.0, &predicted)) + self.dot(tangent, &step);
            let change = -off_plane / self.dot(tangent, &by_part);
            at = at.plus(1.0, &step).plus(change, &by_part);
            if !at.part.is_finite() {
                return None;
            }
        }
        None
    }

    /// Follows the curve to s = 1.
    fn follow(&mut self) -> Result<(), NewtonError> {
        self.solve_at(0.0, Search::Convex, &SolverTolerance::default())?;
        let mut from = Point { velocity: self.newton.velocity.clone(), part: 0.0 };
        let linearization = self.linearize(&from).ok_or(NewtonError::NotConverged)?;
        let change = self.dot_of_velocities(&linearization.by_part, &linearization.by_part).sqrt();
        if change > 0.0 {
            self.scale = change;
        }
        let mut tangent = self.tangent(linearization);
        let mut length = FIRST_LENGTH;
        let tolerance = self.tolerance;
        while self.iterations < ITERATIONS && length > SMALLEST_LENGTH {
            let Some((to, new_tangent, corrections)) = self.step(&from, &tangent, length) else {
                length *= 0.5;
                continue;
            };
            if to.part >= 1.0 {
                let way = (1.0 - from.part) / (to.part - from.part);
                let between = from.plus(way, &to.plus(-1.0, &from));
                self.newton.velocity.copy_from_slice(&between.velocity);
                let outcome = self.solve_at(1.0, Search::Decrease, &tolerance);
                if outcome.is_ok() {
                    return Ok(());
                }
                length *= if way < NOT_SHORTER { way.clamp(0.1, 0.9) } else { 0.5 };
                continue;
            }
            (from, tangent) = (to, new_tangent);
            if corrections <= EASY_CORRECTIONS {
                length *= 2.0;
            }
        }
        // What is reported is what is left of the balance itself.
        self.newton.velocity.copy_from_slice(&from.velocity);
        self.problem.set_friction(&self.friction, 1.0);
        self.newton.statistics.residual = self.newton.evaluate(self.problem);
        Err(NewtonError::NotConverged)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;

    use crate::contact::ContactModel;
    use crate::step::StepProblem;
    use crate::step::velocity_level::tests::{model, state, taken};
    use crate::step::velocity_level::{VelocityLevel, Workspace};

    #[test]
    fn the_curve_leads_to_the_solution_that_newtons_method_finds() {
        let model = model();
        let method = VelocityLevel { model: ContactModel::Tamsi, ..Default::default() };
        let mut workspace = Workspace::default();
        let mut total = 0;
        for number in 0..10 {
            let state = state(&model, number);
            let step = StepProblem::new(&model, &state, 1e-3);
            taken(&method, &step, &mut workspace);
            let Workspace { problem, newton, .. } = &mut workspace;
            let found = newton.velocity.clone();
            newton.set_velocity(&state);
            let (outcome, iterations) = newton.continue_friction(problem, &SolverTolerance::default());
            outcome.expect("a solution");
            total += iterations;
            assert!(newton.statistics.residual <= 1e-11);
            let size = found.iter().fold(0.0, |size: f64, v| size.max(v.abs()));
            for (v, w) in newton.velocity.iter().zip(&found) {
                assert_relative_eq!(v, w, epsilon = 1e-7 * size);
            }
        }
        assert!((500..1200).contains(&total), "{total} iterations");
    }
}
