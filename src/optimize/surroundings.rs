//! The behaviour of a cost around the point at which a method came to rest: the cost still falls, it has
//! a kink, it is dominated by noise, or nothing is left to gain.

use serde::{Deserialize, Serialize};

use super::bounds::held;
use super::gaussian::gaussian;

/// Steps that are tried along each direction, in the optimizer's variables, the longest first.
const STEPS: [f64; 5] = [1e-1, 1e-2, 1e-3, 1e-4, 1e-6];
/// Step that a gradient or a slope is judged by: what it promises over it.
const JUDGED_STEP: f64 = 1e-2;
/// Distance of the points that tell the noise of the cost, and their number.
const NOISE_STEP: f64 = 1e-7;
const NOISE_POINTS: usize = 8;
/// Standard deviations of the noise that a change of the cost must exceed to be sure.
const NOISE_THAT_IS_SURE: f64 = 5.0;
/// Largest ratio of the rises over the last two steps, 10⁻⁴ and 10⁻⁶, at a kink: about 10² there, and
/// 10⁴ beyond a smooth minimum.
const LARGEST_RATIO_OF_RISES: f64 = 1e3;
/// A cost that is this part of what steps of a tenth of the scales come to is zero: it is a sum of squares of numbers that are
/// rounded, and scatters more than it is worth.
const ZERO: f64 = 1e-10;
/// Variables of the largest derivatives that are moved alone.
const LARGEST_DERIVATIVES: usize = 3;
/// Random directions, each of which is tried both ways.
const RANDOM_DIRECTIONS: usize = 2;

/// The costs of many points; `None` of a point that cannot be evaluated.
pub type CostsOfPoints<'a> = dyn Fn(&[Vec<f64>]) -> Vec<Option<f64>> + 'a;

/// What is known of a cost around a point. All numbers are relative to the cost there, or where that is as good as zero to a
/// small part of what it is a step away.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Surroundings {
    /// Directions that were tried: down the gradient, the variables with the largest derivatives
    /// alone, each control at all knots together, and random ones.
    pub directions: usize,
    /// Points that could not be evaluated.
    pub failed: usize,
    /// The largest reduction by a step along one of them, 0 where there is none.
    pub reduction: f64,
    /// The reduction that the gradient promises for a step by a hundredth of the controls' scales.
    pub promised: f64,
    /// The largest reduction that a one-sided slope promises for such a step along any direction;
    /// negative where the cost rises along all.
    pub one_sided: f64,
    /// Whether the cost rises at once along the negative gradient: by more than the noise within 10⁻⁶ of
    /// the scales, and not with the square of the step, as it would beyond a smooth minimum.
    pub rises_at_once: bool,
    /// The noise: what the cost of neighbouring points, 10⁻⁷ of the scales apart, scatters by.
    pub noise: f64,
}

/// What surroundings say, for a tolerance of the cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SurroundingsVerdict {
    /// Nothing is left to gain, and the gradient says so too.
    Stationary,
    /// Steps lower the cost by less than the tolerance.
    AtRest,
    /// Steps lower the cost by more than the tolerance.
    Descends,
    /// The gradient promises descent, but along no direction does the cost fall.
    Kink,
    /// The noise of the cost exceeds the tolerance, and no step lowers the cost by clearly more than that noise.
    Chattering,
}

impl Surroundings {
    /// Looks around a point with its cost and gradient; `controls` are those that variables are values of, `costs` evaluates the cost at many points. Returns also the lowest of the points
    /// that were tried, where one is lower.
    pub fn examine(
        (x, cost, gradient): (&[f64], f64, &[f64]),
        bounds: (&[f64], &[f64]),
        controls: &[usize],
        costs: &CostsOfPoints<'_>,
    ) -> (Self, Option<(Vec<f64>, f64)>) {
        let downhill = down_the_gradient(x, gradient, bounds);
        let directions = directions(&downhill, controls);
        let moved = |direction: &[f64], step: f64| -> Vec<f64> {
            let bounds = bounds.0.iter().zip(bounds.1);
            let moved = x.iter().zip(direction).map(|(x, d)| x + step * d);
            moved.zip(bounds).map(|(x, (&l, &h))| x.max(l).min(h)).collect()
        };
        let mut points: Vec<Vec<f64>> =
            directions.iter().flat_map(|d| STEPS.map(|step| moved(d, step))).collect();
        let steps = points.len();
        points.extend((1..=NOISE_POINTS).map(|k| moved(&downhill, k as f64 * NOISE_STEP)));
        let found = costs(&points);
        let known = |i: usize| found[i].filter(|cost| cost.is_finite());
        let mut far: Vec<f64> = (0..steps).step_by(STEPS.len()).filter_map(known).map(f64::abs).collect();
        far.sort_by(f64::total_cmp);
        let size = cost.max(ZERO * far.get(far.len() / 2).unwrap_or(&0.0));
        let size = if size > 0.0 { size } else { 1.0 };
        let lowest = (0..steps)
            .filter_map(|i| Some((i, known(i)?)))
            .min_by(|a, b| a.1.total_cmp(&b.1))
            .filter(|(_, lowest)| *lowest < cost);
        let slopes = (STEPS.len() - 1..steps).step_by(STEPS.len()).filter_map(|i| {
            let moved = distance(&points[i], x);
            Some((cost - known(i)?) / moved * JUDGED_STEP / size).filter(|_| moved > 0.0)
        });
        let slope: f64 = gradient.iter().zip(&downhill).map(|(g, d)| g * d).sum();
        let mut neighbours = vec![cost];
        neighbours.extend((steps..points.len()).map_while(known));
        let noise = scatter(&neighbours);
        let rise = |step: usize| known(step).map_or(f64::NAN, |found| found - cost);
        let [far, near] = [STEPS.len() - 2, STEPS.len() - 1].map(rise);
        let surroundings = Self {
            directions: directions.len(),
            failed: (0..points.len()).filter(|&i| known(i).is_none()).count(),
            reduction: lowest.map_or(0.0, |(_, lowest)| (cost - lowest) / size),
            promised: -slope * JUDGED_STEP / size,
            one_sided: slopes.max_by(f64::total_cmp).unwrap_or(0.0),
            rises_at_once: near > NOISE_THAT_IS_SURE * noise && far < LARGEST_RATIO_OF_RISES * near,
            noise: noise / size,
        };
        (surroundings, lowest.map(|(i, lowest)| (points.swap_remove(i), lowest)))
    }

    /// The verdict of the surroundings. Reductions smaller than the tolerance, relative to the cost, do
    /// not count.
    pub fn verdict(&self, tolerance: f64) -> SurroundingsVerdict {
        if self.reduction > tolerance.max(NOISE_THAT_IS_SURE * self.noise) {
            SurroundingsVerdict::Descends
        } else if self.noise > tolerance {
            SurroundingsVerdict::Chattering
        } else if self.promised <= tolerance {
            SurroundingsVerdict::Stationary
        } else if self.one_sided <= tolerance && self.rises_at_once {
            SurroundingsVerdict::Kink
        } else {
            SurroundingsVerdict::AtRest
        }
    }
}

/// The largest distance of a variable.
fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

/// The direction against the gradient, without the variables that bounds hold, with a largest
/// component of 1; zero where the gradient is.
fn down_the_gradient(x: &[f64], gradient: &[f64], bounds: (&[f64], &[f64])) -> Vec<f64> {
    let free = |i: usize| if held(x[i], gradient[i], (bounds.0[i], bounds.1[i])) { 0.0 } else { gradient[i] };
    let mut direction: Vec<f64> = (0..x.len()).map(|i| -free(i)).collect();
    normalize(&mut direction);
    direction
}

/// Divides by the largest component.
fn normalize(direction: &mut [f64]) {
    let largest = direction.iter().fold(0.0_f64, |largest, d| largest.max(d.abs()));
    if largest > 0.0 {
        direction.iter_mut().for_each(|d| *d /= largest);
    }
}

/// The directions that are tried.
fn directions(downhill: &[f64], controls: &[usize]) -> Vec<Vec<f64>> {
    let n = downhill.len();
    let only = |keep: &dyn Fn(usize) -> f64| (0..n).map(keep).collect::<Vec<f64>>();
    let mut all = vec![downhill.to_vec()];
    let mut by_size: Vec<usize> = (0..n).filter(|&i| downhill[i] != 0.0).collect();
    by_size.sort_by(|&a, &b| downhill[b].abs().total_cmp(&downhill[a].abs()));
    for largest in by_size.into_iter().take(LARGEST_DERIVATIVES) {
        all.push(only(&|i| if i == largest { downhill[i].signum() } else { 0.0 }));
    }
    for control in 0..controls.iter().max().map_or(0, |last| last + 1) {
        let together = |sign: f64| only(&|i| if controls[i] == control { sign } else { 0.0 });
        all.extend([together(1.0), together(-1.0)]);
    }
    for k in 0..RANDOM_DIRECTIONS {
        let mut random = gaussian(0, k, n);
        normalize(&mut random);
        let opposite = random.iter().map(|d| -d).collect();
        all.extend([random, opposite]);
    }
    all
}

/// The standard deviation of the noise of values at equal distances, from the median of their third
/// differences: of a smooth function these are nothing next to its noise, also where it has its least, and of one kink or
/// jump among them, which three of six have, the lower median knows nothing.
fn scatter(values: &[f64]) -> f64 {
    let third = values.windows(4).map(|v| (v[3] - v[0] - 3.0 * (v[2] - v[1])).abs());
    let mut sizes: Vec<f64> = third.collect();
    sizes.sort_by(f64::total_cmp);
    // The variance of a third difference of independent numbers is twenty times theirs; half of all
    // normally distributed numbers are within 0.6745 standard deviations.
    sizes.get(sizes.len().saturating_sub(1) / 2).map_or(0.0, |median| median / (0.6745 * 20.0_f64.sqrt()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FREE: (&[f64], &[f64]) = (&[f64::NEG_INFINITY; 2], &[f64::INFINITY; 2]);

    /// What a cost says around a point, and the lowest point that was found.
    fn around(
        cost: impl Fn(&[f64]) -> f64,
        x: [f64; 2],
        gradient: [f64; 2],
        bounds: (&[f64], &[f64]),
    ) -> (SurroundingsVerdict, Option<(Vec<f64>, f64)>) {
        let all = |points: &[Vec<f64>]| points.iter().map(|x| Some(cost(x))).collect();
        let (found, lowest) = Surroundings::examine((&x, cost(&x), &gradient), bounds, &[0; 2], &all);
        (found.verdict(1e-4), lowest)
    }

    #[test]
    fn a_minimum_a_slope_a_kink_and_noise_are_told_apart() {
        use SurroundingsVerdict::{AtRest, Chattering, Descends, Kink, Stationary};
        let bowl = |x: &[f64]| 1.0 + x[0] * x[0] + 3.0 * x[1] * x[1];
        assert_eq!(around(bowl, [0.0; 2], [0.0; 2], FREE), (Stationary, None));
        let (verdict, lowest) = around(bowl, [0.5, 0.0], [1.0, 0.0], FREE);
        let (x, cost) = lowest.expect("lower");
        assert_eq!(verdict, Descends);
        assert!(x[0] < 0.5 && cost == bowl(&x) && cost < 1.25 - 0.08, "{x:?}");
        // So near to a smooth minimum that each step leads beyond it there is nothing to gain either.
        let stiff = |x: &[f64]| 1.0 + 1e6 * x[0] * x[0] + x[1] * x[1];
        assert_eq!(around(stiff, [1e-7, 0.0], [0.2, 0.0], FREE).0, AtRest);
        // A bound holds what the gradient asks for.
        let bounds: (&[f64], &[f64]) = (&[0.5, -1.0], &[2.0, 1.0]);
        assert_eq!(around(bowl, [0.5, 0.0], [1.0, 0.0], bounds).0, Stationary);
        // In the kink of |x| the derivative of one side promises what neither side holds.
        let valley = |x: &[f64]| 1.0 + 3.0 * x[0].abs() + 2.0 * x[1].abs();
        assert_eq!(around(valley, [0.0; 2], [3.0, 0.0], FREE), (Kink, None));
        // Beside it, less is left than the tolerance, however steep it is.
        assert_eq!(around(valley, [1e-5, 0.0], [3.0, 0.0], FREE).0, AtRest);
        // A cost of which nothing is left but rounding.
        let zero = |x: &[f64]| (x[0] - 0.3).powi(2) + 3.0 * (x[1] - 0.1).powi(2);
        assert_eq!(around(zero, [0.3 + 1e-15, 0.1], [2e-15, 0.0], FREE).0, Stationary);
        let noise = |x: &[f64]| 1e-3 * (2.7182e9 * x[0] + 7e8 * x[1]).sin();
        let noisy = |x: &[f64]| 1.0 + noise(x);
        // What lowers the cost by far more than it scatters is taken.
        assert_eq!(around(|x| noisy(x) + x[0], [0.3, 0.1], [1.0, 0.0], FREE).0, Descends);
        // One cliff is no noise.
        let cliff = |x: &[f64]| if x[0] > 0.3 - 2.5e-7 { 1.0 + 2.0 * x[0] } else { 50.0 };
        assert_eq!(around(cliff, [0.3, 0.1], [2.0, 0.0], FREE).0, Kink);
        assert_eq!(around(noisy, [0.3, 0.1], [1.0, 0.0], FREE).0, Chattering);
    }

    #[test]
    fn points_that_cannot_be_evaluated_are_left_out() {
        let all = |points: &[Vec<f64>]| points.iter().map(|x| (x[0] > 0.95).then(|| x[0])).collect();
        let free = (&[f64::NEG_INFINITY][..], &[f64::INFINITY][..]);
        let (found, lowest) = Surroundings::examine((&[1.0], 1.0, &[1.0]), free, &[0], &all);
        assert_eq!(found.verdict(1e-4), SurroundingsVerdict::Descends);
        assert_eq!(lowest, Some((vec![0.99], 0.99)));
        assert!(found.failed > 0);
    }
}
