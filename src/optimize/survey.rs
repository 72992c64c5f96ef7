//! A first look around a start: constant offsets of the controls.
//!
//! From a start that fails, a grip that loses the object, say, the gradient often shows nothing:
//! what comes after the failure does not depend on the controls. A constant offset of one of them
//! may be all that is missing, and a few simulations tell.

use super::optimized::OptimizedProblem;
use super::surroundings::CostsOfPoints;
use crate::optimize::ilqr::StagedProblem;

/// Offsets that are tried, in parts of a control's range; of one without bounds, in twice its scale.
const OFFSETS: [f64; 6] = [0.25, -0.25, 0.0625, -0.0625, 0.015_625, -0.015_625];
/// Part of the cost at which an offset is worth leaving the start for.
const WORTH_LEAVING: f64 = 0.5;
/// Most times that one offset is put on another.
const ROUNDS: usize = 3;
/// Parts of the way to the upper and the lower bound, or of so many scales where there is none, that are gone where nothing
/// nearer changes the cost, and the part of the cost at which that is worth it.
const PARTS: [f64; 8] = [1.0, 0.5, 0.25, 0.125, -1.0, -0.5, -0.25, -0.125];
const FARTHEST: f64 = 8.0;
const WORTH_GOING: f64 = 0.999;

/// The lowest of the points far away, out to the bounds, where one is clearly lower than this point with this cost: each
/// control, and those with the same bounds together, moved by the same part of the way at all knots, or by a part that grows
/// from knot to knot. For a point around which nothing changes the cost of something that is not touched.
pub fn lowest_far_away(problem: &dyn OptimizedProblem, x: &[f64], cost: f64) -> Option<Vec<f64>> {
    let (bounds, controls) = (problem.bounds(), problem.controls());
    let count =
        |controls: &[usize], control: usize| controls.iter().filter(|c| **c == control).count() as f64;
    let mut trials = Vec::new();
    for group in groups(bounds, &controls) {
        for (part, grows) in PARTS.iter().flat_map(|part| [(part, false), (part, true)]) {
            let moved = |(i, &x): (usize, &f64)| {
                let (knot, last) = (count(&controls[..i], controls[i]), count(&controls, controls[i]) - 1.0);
                let far =
                    if *part > 0.0 { bounds.1[i].min(x + FARTHEST) } else { bounds.0[i].max(x - FARTHEST) };
                let part = part.abs() * if grows && last > 0.0 { knot / last } else { 1.0 };
                if group.contains(&controls[i]) { x + part * (far - x) } else { x }
            };
            trials.push(x.iter().enumerate().map(moved).collect::<Vec<f64>>());
        }
    }
    let found = problem.costs(&trials);
    let known = trials.into_iter().zip(found).filter_map(|(trial, found)| Some((trial, found?)));
    let lowest = known.min_by(|a, b| a.1.total_cmp(&b.1))?;
    (lowest.1 < WORTH_GOING * cost).then_some(lowest.0)
}

/// The start, or one that differs from it by constant offsets of controls and has less than half of
/// its cost; with the cost. `controls` are those that variables are values of; controls with the same bounds
/// are also moved together. `costs` evaluates the cost at many points.
pub(crate) fn survey(
    (mut x, mut cost): (Vec<f64>, f64),
    bounds: (&[f64], &[f64]),
    controls: &[usize],
    costs: &CostsOfPoints<'_>,
) -> (Vec<f64>, f64) {
    let groups = groups(bounds, controls);
    for _ in 0..ROUNDS {
        let shift = |group: &[usize], offset: f64| -> Vec<f64> {
            let moved = |(i, &x): (usize, &f64)| {
                let (lower, upper) = (bounds.0[i], bounds.1[i]);
                let range = Some(upper - lower).filter(|range| range.is_finite()).unwrap_or(2.0);
                let offset = if group.contains(&controls[i]) { offset * range } else { 0.0 };
                (x + offset).max(lower).min(upper)
            };
            x.iter().enumerate().map(moved).collect()
        };
        let mut trials: Vec<Vec<f64>> =
            groups.iter().flat_map(|group| OFFSETS.map(|offset| shift(group, offset))).collect();
        let found = costs(&trials);
        let known = found.iter().enumerate().filter_map(|(i, cost)| Some((i, (*cost)?)));
        match known.filter(|(_, cost)| cost.is_finite()).min_by(|a, b| a.1.total_cmp(&b.1)) {
            Some((i, lowest)) if lowest < WORTH_LEAVING * cost => {
                (x, cost) = (trials.swap_remove(i), lowest);
            }
            _ => break,
        }
    }
    (x, cost)
}

/// The controls that are moved together: each alone, and those with the same bounds.
fn groups(bounds: (&[f64], &[f64]), controls: &[usize]) -> Vec<Vec<usize>> {
    let count = controls.iter().max().map_or(0, |last| last + 1);
    let of = |control: usize| {
        let first = controls.iter().position(|other| *other == control);
        first.map(|i| (bounds.0[i], bounds.1[i]))
    };
    let mut groups: Vec<Vec<usize>> = (0..count).map(|control| vec![control]).collect();
    for first in 0..count {
        let alike: Vec<usize> = (0..count).filter(|other| of(*other) == of(first)).collect();
        if alike.len() > 1 && alike[0] == first {
            groups.push(alike);
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two controls at four knots.
    const TURNS: [usize; 8] = [0, 1, 0, 1, 0, 1, 0, 1];

    /// Nothing is held unless both forces are above 3 N at all times; then less force costs less.
    fn grip(points: &[Vec<f64>]) -> Vec<Option<f64>> {
        let cost = |x: &Vec<f64>| {
            let force: f64 = x.iter().sum();
            if force > 90.0 {
                None
            } else {
                Some(if x.iter().all(|x| *x > 3.0) { 0.01 * force } else { 50.0 })
            }
        };
        points.iter().map(cost).collect()
    }

    #[test]
    fn two_fingers_are_closed_together_where_one_alone_does_nothing() {
        let (lower, upper) = ([0.0; 8], [20.0; 8]);
        let (x, cost) = survey((vec![2.0; 8], 50.0), (&lower, &upper), &TURNS, &grip);
        // The least offset that holds: a sixteenth of the range.
        assert_eq!(x, [3.25; 8]);
        assert_eq!(cost, 0.26);
        // A start that holds is kept.
        let held = vec![5.0; 8];
        assert_eq!(survey((held.clone(), 0.4), (&lower, &upper), &TURNS, &grip), (held, 0.4));
    }

    #[test]
    fn controls_without_bounds_are_moved_by_their_scale_and_stay_within_bounds_where_there_are_some() {
        let bounds = (&[f64::NEG_INFINITY, 0.0][..], &[f64::INFINITY, 1.0][..]);
        let far = |points: &[Vec<f64>]| -> Vec<Option<f64>> {
            assert!(points.iter().all(|x| (0.0..=1.0).contains(&x[1])), "{points:?}");
            points.iter().map(|x| Some((x[0] - 2.0).powi(2) + 1e-3)).collect()
        };
        let (x, _) = survey((vec![0.5, 0.9], 2.251), bounds, &TURNS[..2], &far);
        assert_eq!(x, [2.0, 0.9]);
    }
}
