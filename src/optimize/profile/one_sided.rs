//! Parameters that the data bound from one side only.
//!
//! Of a positive parameter that a fit has not determined the cost is followed decade by decade to both sides, with the others
//! fitted again. Where it passes the level of the 95 % interval on one side only, the limit is found by halving the decade.

use std::collections::VecDeque;

use argmin::core::Error;

use super::walk::Walk;
use super::{held_substeps, walk};
use crate::optimize::fit::{Fit, FitSettings, ROUGH};
use crate::optimize::least_squares::{LeastSquares, Residuals, half_square};
use crate::optimize::parameters::FitParameters;
use crate::optimize::uncertainty::Identifiability;

/// Most decades that are looked at on each side.
const DECADES: i32 = 4;
/// Halvings of the one that the limit lies in, which leave 8 % of it.
const HALVINGS: usize = 5;
/// Of a limit near a bound so many at most, until this part of its distance from there is left.
const MOST_HALVINGS: usize = 25;
const LEFT: f64 = 0.01;
/// Most iterations of the others at a point, which start nearby.
const MOST_ITERATIONS: u64 = 2;
/// Distance as a part of that at the limit, within which all is flat.
const FLAT: f64 = 0.1;
/// Of a cost that is a parabola, the distance halfway from a bound to the limit, as a part of that at the limit, where the bound
/// is as far from the minimum beyond it as the level: √((√2 − ½)/2).
const HALFWAY: f64 = 0.676;

/// Gives each positive parameter that is not determined, but that the data bound from one side, that limit for its verdict.
/// The limit is one against the least cost on the way. Its level takes the residuals' variance for no less than
/// `long_run_variance` (see [`Diagnostics::long_run_variance`](crate::optimize::identification::Diagnostics::long_run_variance)): of what
/// the model misses, many samples in a row say the same.
/// `goes_on` is asked before each cost; once it says no, the verdicts that are missing stay as they are.
///
/// # Errors
/// The substeps cannot be found.
pub fn judge_one_sided<R: Residuals>(
    model: &R,
    parameters: &FitParameters,
    settings: &FitSettings,
    result: &mut Fit,
    long_run_variance: f64,
    goes_on: &dyn Fn() -> bool,
) -> Result<(), Error> {
    use Identifiability::{AtBound, NoDependence, TooUncertain};
    let is_open = |i: &usize| {
        let estimate = &result.uncertainty.estimates[*i];
        let is_undetermined =
            matches!(estimate.identifiability, TooUncertain { .. } | NoDependence | AtBound { .. });
        is_undetermined && estimate.value >= 0.0
    };
    let open: Vec<usize> = (0..parameters.len()).filter(is_open).collect();
    if open.is_empty() {
        return Ok(());
    }
    // A limit is known to 8 %, and asks for no finer motions.
    let rougher = model.rougher();
    let model = rougher.as_ref().unwrap_or(model);
    let held = held_substeps(model, result)?;
    let mut rough = result.clone();
    if rougher.is_some() {
        let problem = LeastSquares::of(model, parameters);
        let problem = held.iter().fold(problem, |problem, held| problem.holding(held));
        rough.cost_after = half_square(&problem.residuals_at(&result.values())?);
    }
    let cost_tolerance = settings.cost_tolerance.max(ROUGH);
    let settings = FitSettings { max_iterations: MOST_ITERATIONS, cost_tolerance, ..*settings };
    for index in open {
        let found = walk(model, parameters, (index, held.as_ref()), settings, &rough)
            .map(|walk| Walk { variance: walk.variance.max(long_run_variance), ..walk })
            .and_then(|walk| limit(&walk, parameters, &rough, goes_on));
        // Where the model cannot be evaluated, or the time is over, nothing is known.
        if let Ok(Some(verdict)) = found {
            result.uncertainty.estimates[index].identifiability = verdict;
        }
    }
    Ok(())
}

/// The limit of the parameter that is walked along, if it has one on one side only.
fn limit(
    walk: &Walk<'_>,
    parameters: &FitParameters,
    result: &Fit,
    goes_on: &dyn Fn() -> bool,
) -> Result<Option<Identifiability>, Error> {
    let (own, estimate) = (walk.own, &result.uncertainty.estimates[walk.index]);
    let mut others = parameters.variables(&result.values())?;
    others.remove(walk.index);
    // The model's own unknowns go on from the same point as the others: after one far out they may be nonsense.
    let at = |value: f64, (start, unknowns): &(Vec<f64>, Vec<f64>)| {
        if !goes_on() {
            return Err(Error::msg("interrupted"));
        }
        walk.model.start_from(unknowns, walk.held);
        let (at, cost) = walk.at(own.to_scaled(value), start.clone())?;
        Ok((value, cost, (at.others, walk.model.unknowns())))
    };
    let others = (others, walk.model.unknowns());
    // A fit may end where the cost still falls to what it is as it gets flat: what counts is the least on the way.
    let is_beyond = |cost: f64, least: f64, part: f64| {
        2.0 * (cost - least) >= (part * walk.level).powi(2) * walk.variance * (least / walk.cost)
    };
    // From a value of 0 on; the values, their costs and the others there.
    let first = estimate.value.max(1e-3 * own.scale()).clamp(own.lower, own.upper);
    let mut points = VecDeque::from([(first, walk.cost, others.clone())]);
    let (mut least, mut is_last) = (walk.cost, false);
    // Up to where the model can be evaluated.
    let mut is_over = [false; 2];
    for decade in 0..DECADES {
        for (sign, is_over) in [-1, 1].into_iter().zip(&mut is_over) {
            let Some((end, cost, start)) = (if sign < 0 { points.front() } else { points.back() }) else {
                break;
            };
            let next = (end * 10.0_f64.powi(sign)).clamp(own.lower, own.upper);
            if *is_over || next == *end || next <= 0.0 || is_beyond(*cost, least, 1.0) {
                continue;
            }
            let is_known = if sign < 0 { *end < first } else { *end > first };
            let found = match at(next, start) {
                Err(_) if goes_on() && (is_last || is_known) => {
                    *is_over = true;
                    continue;
                }
                found => found?,
            };
            least = least.min(found.1);
            if sign < 0 { points.push_front(found) } else { points.push_back(found) }
        }
        // Two decades at least, for where it gets flat on the other side.
        let is_found =
            [points.front(), points.back()].into_iter().flatten().any(|p| is_beyond(p.1, least, 1.0));
        if is_last || (is_found && decade > 0) {
            break;
        }
        is_last = is_found;
    }
    let lowest = points.iter().position(|point| point.1 == least).unwrap_or(0);
    let below = (0..lowest).rev().find(|&i| is_beyond(points[i].1, least, 1.0));
    let above = (lowest..points.len()).find(|&i| is_beyond(points[i].1, least, 1.0));
    let is_at_bound = matches!(estimate.identifiability, Identifiability::AtBound { .. });
    let (is_least, mut outside, (mut inside, _, mut start)) = match (below, above) {
        (Some(below), None) => (true, points[below].0, points[below + 1].clone()),
        (None, Some(above)) => (false, points[above].0, points[above - 1].clone()),
        (None, None) if is_at_bound && !points.iter().any(|point| is_beyond(point.1, least, FLAT)) => {
            return Ok(Some(Identifiability::NoDependence));
        }
        _ => return Ok(None),
    };
    // Of a quantity that may be negative nothing small is the end, unless there are no such values.
    if !is_least && own.lower < 0.0 && !own.log {
        let negative = at((-outside).max(own.lower), &others);
        if negative.is_ok_and(|at| is_beyond(at.1, least, 1.0)) {
            return Ok(None);
        }
    }
    let is_left = |inside: f64, outside: f64| {
        is_at_bound && (outside - inside).abs() > LEFT * (outside - estimate.value).abs()
    };
    for halving in 0..MOST_HALVINGS {
        if halving >= HALVINGS && !is_left(inside, outside) {
            break;
        }
        let middle = (inside * outside).sqrt();
        let found = at(middle, &start)?;
        if is_beyond(found.1, least, 1.0) {
            outside = middle;
        } else {
            (inside, start) = (middle, found.2);
        }
    }
    // On a bound the data may ask for a value beyond it.
    if is_at_bound && is_beyond(at(0.5 * (estimate.value + inside), &start)?.1, least, HALFWAY) {
        return Ok(None);
    }
    let limit = inside;
    Ok(Some(if is_least { Identifiability::AtLeast { limit } } else { Identifiability::AtMost { limit } }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optimize::fit::fit;
    use crate::optimize::parameters::FitParameter;
    use crate::optimize::profile::student_quantile;
    use crate::scalar::Scalar;

    const MEASURED: usize = 20;

    /// Measurements of a + g(θ) t_k, with t_k = k − 9.5 and noise that changes neither a nor the slope; g is θ, or what
    /// saturates, 1 − e^−θ.
    struct Slope {
        saturates: bool,
        slope: f64,
    }

    fn time(k: usize) -> f64 {
        k as f64 - 9.5
    }

    impl Slope {
        fn measured(&self) -> Vec<f64> {
            // At right angles to a constant and to the times: + − − + over and over.
            let noise = |k: usize| if matches!(k % 4, 0 | 3) { 1.0 } else { -1.0 };
            (0..MEASURED).map(|k| 3.0 + self.slope * time(k) + noise(k)).collect()
        }

        /// The slope at the limit: (g − slope)² Σt² is above the least of it by t² s².
        fn reach(&self, least: f64) -> f64 {
            let square: f64 = (0..MEASURED).map(|k| time(k).powi(2)).sum();
            let variance = (MEASURED as f64 + least.powi(2) * square) / (MEASURED - 2) as f64;
            (least.powi(2) + student_quantile(MEASURED - 2).powi(2) * variance / square).sqrt()
        }
    }

    impl Residuals for Slope {
        fn residuals<T: Scalar>(&self, p: &[T]) -> Result<Vec<T>, Error> {
            let slope = if self.saturates { -(-p[0]).exp() + 1.0 } else { p[0] };
            let with_times = self.measured().into_iter().enumerate();
            Ok(with_times.map(|(k, y)| p[1] + slope * time(k) - y).collect())
        }
    }

    fn judged(model: &Slope, unknown: FitParameter) -> Fit {
        judged_with(model, unknown, 0.0)
    }

    fn judged_with(model: &Slope, unknown: FitParameter, long_run_variance: f64) -> Fit {
        let list = FitParameters::new(vec![unknown, FitParameter::new("a", 1.0)]).unwrap();
        let settings = FitSettings::default();
        let mut result = fit(model, &list, &settings, None).unwrap();
        let mut interrupted = result.clone();
        judge_one_sided(model, &list, &settings, &mut interrupted, 0.0, &|| false).unwrap();
        assert_eq!(interrupted.uncertainty.estimates, result.uncertainty.estimates);
        judge_one_sided(model, &list, &settings, &mut result, long_run_variance, &|| true).unwrap();
        assert!(result.converged && result.iterations < 20, "{result:?}");
        let constant = &result.uncertainty.estimates[1];
        assert!(
            constant.identifiability.is_identified() && (constant.value - 3.0).abs() < 1e-6,
            "{result:?}"
        );
        result
    }

    #[test]
    fn what_saturates_is_at_least_the_value_from_which_the_data_do_not_tell() {
        // The data ask for a little more than there is.
        let model = Slope { saturates: true, slope: 1.01 };
        let expected = -(model.reach(0.01) - 0.01).ln();
        // From wherever it starts, and also at a bound, where nothing is gained any more.
        for unknown in [
            FitParameter::new("b", 0.5),
            FitParameter::new("b", 0.5).logarithmic(),
            FitParameter::new("b", 0.05).bounded(0.0, 30.0),
            FitParameter::new("b", 20.0).bounded(0.0, 30.0),
            FitParameter::new("b", 30.0).bounded(0.0, 30.0),
        ] {
            let found = judged(&model, unknown).uncertainty.estimates[0].clone();
            let Identifiability::AtLeast { limit } = found.identifiability else { panic!("{found:?}") };
            assert!((limit / expected - 1.0).abs() < 0.09, "{limit} and not {expected}");
            assert!(found.value < 100.0, "{found:?}");
        }
    }

    #[test]
    fn limits_are_as_wide_as_the_long_run_variance_says() {
        let model = Slope { saturates: true, slope: 1.01 };
        let limit = |long_run_variance: f64| {
            let result = judged_with(&model, FitParameter::new("b", 0.5), long_run_variance);
            let found = &result.uncertainty.estimates[0].identifiability;
            let Identifiability::AtLeast { limit } = found else { panic!("{found:?}") };
            *limit
        };
        // The noise has a variance of 1. What is left to the asymptote at the limit, e^−b, is half again as large, to 8 %.
        let (one, more) = (-(-limit(0.0)).exp_m1(), -(-limit(2.25)).exp_m1());
        let part = (1.01 - more) / (1.01 - one);
        assert!((part - 1.5).abs() < 0.2, "{part}");
    }

    #[test]
    fn what_is_too_little_to_be_seen_is_at_most_the_value_that_would_be() {
        let model = Slope { saturates: false, slope: -0.01 };
        let expected = model.reach(0.01) - 0.01;
        for unknown in
            [FitParameter::new("b", 0.5).bounded(0.0, 9.0), FitParameter::new("b", 0.5).logarithmic()]
        {
            let found = judged(&model, unknown).uncertainty.estimates[0].clone();
            let Identifiability::AtMost { limit } = found.identifiability else { panic!("{found:?}") };
            assert!((limit / expected - 1.0).abs() < 0.09, "{limit} and not {expected}");
        }
    }

    #[test]
    fn what_two_sides_bound_or_a_bound_cuts_off_is_not_one_sided() {
        // Determined; uncertain of its sign; on a bound that the data ask to pass.
        let offset = FitParameter::new("b", 0.05);
        let bounded = offset.clone().bounded(0.0, 9.0);
        for (slope, unknown, expected) in [
            (1.0, offset.clone(), "identified"),
            (0.02, offset, "not identifiable: its standard error is"),
            (-1.0, bounded, "not identifiable: at its lower bound"),
            // Far beyond it, so that the limit is next to the bound.
            (1.0, FitParameter::new("b", 0.3).bounded(0.0, 0.5), "not identifiable: at its upper bound"),
        ] {
            let result = judged(&Slope { saturates: false, slope }, unknown);
            let text = result.uncertainty.estimates[0].identifiability.to_string();
            assert!(text.starts_with(expected), "{slope}: {text}");
        }
    }
}
