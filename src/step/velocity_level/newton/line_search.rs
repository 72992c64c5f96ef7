//! How far the step of a convex model goes: to the minimum of the cost along it.

use super::{Newton, STAGNATION, dot};
use crate::step::velocity_level::problem::Problem;

/// A full step is taken where it leaves at most this part of the slope along it.
const GOOD_SLOPE: f64 = 0.25;
/// The line search ends at this part of the slope at its start.
const LINE_SEARCH_SLOPE: f64 = 1e-3;
/// Most evaluations of a line search.
const LINE_SEARCH_EVALUATIONS: usize = 60;

impl Newton {
    /// Takes the step of a convex model, as far as it decreases the cost; the step is then what was taken.
    pub(super) fn descend(&mut self, problem: &mut Problem, before: f64) -> f64 {
        let slope = dot(&self.residual, &self.step);
        self.trial.copy_from_slice(&self.velocity);
        problem.turn_friction(&self.trial, &self.step);
        self.advance(1.0);
        let residual = self.evaluate(problem);
        let slope_after = dot(&self.residual, &self.step);
        // The cost has its minimum at or beyond the full step, or close to it. Where the balance
        // is rounding the slopes are too, but not if it gets worse by a step that is none: then the step has
        // passed by a kink.
        if slope_after <= 0.0
            || (slope_after <= -GOOD_SLOPE * slope && residual < before)
            || (before <= STAGNATION && (residual <= before || self.step_is_rounding(&problem.scale.weight)))
        {
            return residual;
        }
        let start = std::mem::take(&mut self.trial);
        let alpha = self.line_search(problem, &start, slope, slope_after);
        self.velocity.copy_from_slice(&start);
        self.trial = start;
        self.step.iter_mut().for_each(|step| *step *= alpha);
        self.advance(1.0);
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
