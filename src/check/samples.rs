//! The values of a function at both sides of a point, and what they say about a claimed
//! derivative there.

use std::ops::Range;

use super::comparison::{CheckSettings, Comparison, Verdict};

/// Fewest step sizes that a derivative is judged by.
const FEWEST_LEVELS: usize = 5;
/// Values at equal distances that noise is measured by.
const VALUES_BESIDE: usize = 8;
/// The factor from one distance at which noise is measured to the next. Jumps at regular distances then
/// appear among the values of at least one of them.
const DISTANCE_RATIO: f64 = (VALUES_BESIDE - 1) as f64;
/// The longest of them, as a part of the largest step: farther away curvature shows.
const LONGEST_DISTANCE: f64 = 2e-3;
/// Noise is at most this many times its estimate from so few values.
const NOISE_RESERVE: f64 = 4.0;
/// Estimates of the same noise by differences of several orders are alike within this factor.
const SAME_NOISE: f64 = 4.0;

/// The values of several quantities at one argument: each a vector of components of one kind.
type Values = Vec<Vec<f64>>;

/// The values around a point, largest step first.
pub(super) struct Sampled {
    at: f64,
    center: Values,
    /// The steps that the rounded arguments really make, to the right and to the left.
    steps: Vec<[f64; 2]>,
    values: Vec<[Values; 2]>,
    /// Values at equal distances on one side, where noise was measured: for each distance, the
    /// smallest first.
    beside: Vec<Vec<Values>>,
    /// From one step to the next.
    ratio: f64,
    /// For each quantity the first step that counts; none where all do.
    first: Vec<usize>,
}

fn component(values: &Values, quantity: usize, i: usize) -> f64 {
    values.get(quantity).and_then(|q| q.get(i)).copied().unwrap_or(f64::NAN)
}

/// The standard deviation of noise on values at equal distances, from their differences of the
/// second to the fourth order, in which a smooth function leaves less and less (Hamming's table;
/// Moré and Wild, Estimating computational noise, 2011). Noise leaves the same in all: a lower order
/// that leaves much more than the least has seen curvature.
fn noise_of(values: &[f64]) -> f64 {
    let mut table = values.to_vec();
    let mut binomial = 1.0;
    let mut estimates = Vec::new();
    for order in 1..=4 {
        table = table.windows(2).map(|w| w[1] - w[0]).collect();
        binomial *= 2.0 * (2.0 * f64::from(order) - 1.0) / f64::from(order);
        if order >= 2 && !table.is_empty() {
            let square = table.iter().map(|d| d * d).sum::<f64>() / table.len() as f64;
            estimates.push((square / binomial).sqrt());
        }
    }
    let least = estimates.iter().copied().fold(f64::INFINITY, f64::min);
    let alike = estimates.iter().filter(|&&estimate| estimate <= SAME_NOISE * least);
    alike.copied().fold(0.0, f64::max)
}

impl Sampled {
    /// Values at the steps that the settings ask for, relative to `scale`.
    pub fn around<E>(
        f: &mut impl FnMut(f64) -> Result<Values, E>,
        at: f64,
        scale: f64,
        settings: &CheckSettings,
    ) -> Result<Self, E> {
        let count = settings.steps.max(8);
        let ratio = (settings.largest_step / settings.smallest_step).powf(1.0 / (count - 1) as f64);
        let center = f(at)?;
        let (mut steps, mut values) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for k in 0..count {
            let wanted = settings.largest_step * scale / ratio.powi(k as i32);
            let (plus, minus) = (at + wanted, at - wanted);
            steps.push([plus - at, at - minus]);
            values.push([f(plus)?, f(minus)?]);
        }
        Ok(Self { at, center, steps, values, beside: Vec::new(), ratio, first: Vec::new() })
    }

    /// Evaluates the function at equal distances on one side: how far its values are from a smooth
    /// function's there is noise, from rounding and from iterations that end, which every difference
    /// has over its step.
    ///
    /// The distances are the smallest step and longer ones. What rounds on the way may hardly change
    /// with the parameter: the values then are smooth at the smallest steps, with a slope of their own,
    /// and jump only from time to time.
    pub fn measure_noise<E>(&mut self, f: &mut impl FnMut(f64) -> Result<Values, E>) -> Result<(), E> {
        let step = |list: Option<&[f64; 2]>| list.map_or(0.0, |step| step[0]);
        let (smallest, largest) = (step(self.steps.last()), step(self.steps.first()));
        let longer = std::iter::successors(Some(smallest), |distance| Some(distance * DISTANCE_RATIO))
            .skip(1)
            .take_while(|&distance| distance > smallest && distance <= LONGEST_DISTANCE * largest);
        let mut at_distance = |distance: f64| {
            (1..=VALUES_BESIDE).map(|k| f(self.at + k as f64 * distance)).collect::<Result<Vec<_>, E>>()
        };
        self.beside =
            std::iter::once(smallest).chain(longer).map(&mut at_distance).collect::<Result<_, E>>()?;
        Ok(())
    }

    /// The noise of a component of a quantity of this magnitude: the noise at the smallest distance, or
    /// that at a longer one if it may be rounding. More than that is a kink there.
    fn noise(&self, quantity: usize, i: usize, magnitude: f64) -> f64 {
        let of_distance = |values: &Vec<Values>| {
            noise_of(&values.iter().map(|v| component(v, quantity, i)).collect::<Vec<f64>>())
        };
        let mut noise = self.beside.iter().map(of_distance);
        let smallest = noise.next().unwrap_or(0.0);
        noise.filter(|&noise| noise <= WANDERING * f64::EPSILON * magnitude).fold(smallest, f64::max)
    }

    /// The arguments on both sides, smallest step first, each with its index among the steps.
    pub fn arguments(&self) -> impl Iterator<Item = (usize, [f64; 2])> {
        let at = self.at;
        self.steps.iter().enumerate().rev().map(move |(k, s)| (k, [at + s[0], at - s[1]]))
    }

    /// Lets only the steps from the place `first[quantity]` on count, at which nothing happens
    /// that derivatives may jump at. Too few of them count as none.
    pub fn restrict(&mut self, first: Vec<usize>) {
        self.first = first;
    }

    /// Whether enough steps count to judge a quantity by.
    pub fn has_enough(&self, quantity: usize) -> bool {
        self.levels(quantity).len() >= FEWEST_LEVELS
    }

    fn levels(&self, quantity: usize) -> Range<usize> {
        let n = self.steps.len();
        self.first.get(quantity).copied().unwrap_or(0).min(n)..n
    }

    /// Compares the claimed derivatives of all quantities, of which `magnitudes` has for each what
    /// it rounds at, at least. A quantity with too few steps that count is judged by all.
    pub fn judge(
        &self,
        claimed: &[Vec<f64>],
        magnitudes: &[f64],
        settings: &CheckSettings,
    ) -> Vec<Vec<Comparison>> {
        let judge_quantity = |(g, claimed): (usize, &Vec<f64>)| {
            let levels = if self.has_enough(g) { self.levels(g) } else { 0..self.steps.len() };
            let of_component = |i: usize| {
                let values = self.values[levels.clone()].iter();
                Samples {
                    center: component(&self.center, g, i),
                    steps: &self.steps[levels.clone()],
                    samples: values.map(|[p, m]| (component(p, g, i), component(m, g, i))).collect(),
                    rounding: 0.0,
                    ratio: self.ratio,
                }
            };
            let mut components: Vec<Samples> = (0..claimed.len()).map(of_component).collect();
            let floor = magnitudes.get(g).copied().unwrap_or(0.0);
            let magnitude = components.iter().map(Samples::largest).fold(floor, f64::max);
            for (i, samples) in components.iter_mut().enumerate() {
                let noise = NOISE_RESERVE * self.noise(g, i, magnitude);
                samples.rounding = noise.max(4.0 * f64::EPSILON * magnitude);
            }
            // Rounding of a component next to which others change much is not a dependence.
            let slopes = components.iter().map(|s| s.reference().0.abs());
            let steepest = slopes.filter(|d| d.is_finite()).fold(0.0, f64::max);
            components.iter().zip(claimed).map(|(s, &c)| s.judge(c, steepest, settings)).collect()
        };
        claimed.iter().enumerate().map(judge_quantity).collect()
    }
}

/// One component's values around the point, largest step first.
struct Samples<'a> {
    center: f64,
    steps: &'a [[f64; 2]],
    samples: Vec<(f64, f64)>,
    rounding: f64,
    ratio: f64,
}

/// What kind of point the samples surround.
enum Point {
    Smooth,
    /// With the derivatives from the left and from the right.
    Kink([f64; 2]),
    Jump,
    /// The function is far from linear even over the smallest step.
    Unsettled,
}

/// The note on [`Point::Unsettled`].
pub(super) const UNSETTLED: &str = "differences do not settle at the smallest steps: the value is extremely sensitive \
     to this parameter, as where time steps are too long for the friction or the stiffness";

/// Differences that are this many times their errors apart are not of the same derivative.
const DISAGREEMENT: f64 = 2.0;
/// Noise above this many roundings of a value is not rounding.
const WANDERING: f64 = 1e3;
/// Second differences that at the smallest of four steps are at least this part of those at the
/// largest have not fallen: at a kink they fall in proportion to the step.
const NOT_FALLEN: f64 = 0.2;
/// Change of a difference from one step to the next above which it has not settled.
const SETTLED: f64 = 0.05;

impl Samples<'_> {
    fn largest(&self) -> f64 {
        self.samples.iter().fold(self.center.abs(), |a, s| a.max(s.0.abs()).max(s.1.abs()))
    }

    fn central(&self, k: usize) -> f64 {
        let (plus, minus) = self.samples[k];
        (plus - minus) / (self.steps[k][0] + self.steps[k][1])
    }

    fn one_sided(&self, k: usize) -> [f64; 2] {
        let (plus, minus) = self.samples[k];
        [(self.center - minus) / self.steps[k][1], (plus - self.center) / self.steps[k][0]]
    }

    /// The best difference, its error, and its index: the one with the least error that agrees with
    /// all at smaller steps, as far as they round. Where a function levels off at a distance its
    /// differences there change little, but are not its derivative.
    fn reference(&self) -> (f64, f64, usize) {
        let n = self.samples.len();
        let central: Vec<f64> = (0..n).map(|k| self.central(k)).collect();
        let r2 = self.ratio * self.ratio;
        let extrapolated: Vec<f64> = central.windows(2).map(|w| (r2 * w[1] - w[0]) / (r2 - 1.0)).collect();
        let mut best = (f64::NAN, f64::INFINITY, n - 1);
        let mut finer: Vec<(f64, f64)> = Vec::with_capacity(n);
        for k in (1..n - 1).rev() {
            let rounding = self.rounding / self.steps[k][0];
            let estimate = |list: &[f64], at: usize| {
                let change = (list[at] - list[at - 1]).abs().max((list[at] - list[at + 1]).abs());
                (list[at], change + rounding)
            };
            let by_steps = estimate(&central, k);
            let agrees = |(value, error): (f64, f64)| {
                finer.iter().all(|(v, e)| (value - v).abs() <= DISAGREEMENT * (error + e))
            };
            let of_richardson = (k >= 2).then(|| estimate(&extrapolated, k - 1));
            for (value, error) in [Some(by_steps), of_richardson].into_iter().flatten() {
                if error < best.1 && agrees((value, error)) {
                    best = (value, error, k);
                }
            }
            finer.push((by_steps.0, rounding));
        }
        best
    }

    /// Whether differences at the smallest steps, though far above rounding, still change from
    /// each step to the next.
    fn unsettled(&self) -> bool {
        let n = self.samples.len();
        (n - 4..n).all(|k| {
            let (now, before) = (self.central(k), self.central(k - 1));
            let (plus, minus) = self.samples[k];
            (plus - minus).abs() > 1e3 * self.rounding && (now - before).abs() > SETTLED * now.abs()
        })
    }

    /// Whether the value at the point lies beside those around it however close they are: its second
    /// differences do not fall over the smallest steps, though they are above rounding. The slope at
    /// the point belongs to something narrower than the smallest step.
    fn lies_apart(&self, second: &[f64]) -> bool {
        let smallest = &second[second.len() - 4..];
        smallest.iter().all(|s| s.abs() > 2.0 * self.rounding)
            && smallest[3].abs() > NOT_FALLEN * smallest[0].abs()
    }

    /// Whether a slope as steep as claimed would end within the smallest step, while the values vary
    /// from step to step by far more than rounding, so that no digit of a difference is reliable. What
    /// looks like noise may then be that slope, and differences cannot decide.
    fn is_out_of_reach(&self, claimed: f64, difference: f64, error: f64) -> bool {
        if 10.0 * error < difference.abs() {
            return false;
        }
        let smallest = self.steps.last().map_or(0.0, |step| step[0]);
        let wanders = self.rounding > WANDERING * f64::EPSILON * self.largest();
        wanders && claimed.abs() * smallest >= self.rounding / (2.0 * NOISE_RESERVE)
    }

    /// Smooth, kink or jump, from how second differences fall with the step.
    fn point(&self) -> Point {
        let n = self.samples.len();
        let significant = 100.0 * self.rounding;
        let jumps = |values: &dyn Fn(usize) -> f64| {
            let last = values(n - 1);
            last.abs() > significant && (n - 4..n).all(|k| (values(k) / last - 1.0).abs() < 0.1)
        };
        if jumps(&|k| self.samples[k].0 - self.center) || jumps(&|k| self.center - self.samples[k].1) {
            return Point::Jump;
        }
        let second: Vec<f64> =
            (0..n).map(|k| self.samples[k].0 - 2.0 * self.center + self.samples[k].1).collect();
        if self.unsettled() || self.lies_apart(&second) {
            return Point::Unsettled;
        }
        let expected = |k: usize| self.ratio.powf(k as f64);
        // The smallest steps at which s falls in proportion to h, four in a row.
        let in_proportion = |k: usize| {
            let fall = (second[k - 1] / second[k]).ln() / self.ratio.ln();
            second[k].abs() > significant && (0.75..1.25).contains(&fall)
        };
        let Some(last) = (3..n).rev().find(|&k| (k - 2..=k).all(in_proportion)) else {
            return Point::Smooth;
        };
        // Below them s must not fall faster: then the kink is at a distance, and x is smooth.
        for k in last + 1..n {
            let proportional = second[last].abs() / expected(k - last);
            let tail = second[k..].iter().fold(0.0f64, |a, b| a.max(b.abs()));
            if proportional > 10.0 * self.rounding && tail < 0.3 * proportional {
                return Point::Smooth;
            }
        }
        let (a, b) = (self.one_sided(last - 1), self.one_sided(last));
        Point::Kink([0, 1].map(|i| (self.ratio * b[i] - a[i]) / (self.ratio - 1.0)))
    }

    fn judge(&self, claimed: f64, steepest: f64, settings: &CheckSettings) -> Comparison {
        let (difference, error, k) = self.reference();
        let larger = claimed.abs().max(difference.abs());
        let discrepancy = (claimed - difference).abs();
        let mut result = Comparison {
            value: self.center,
            claimed,
            difference,
            difference_error: error,
            one_sided: self.one_sided(k),
            relative_error: if larger > 0.0 { discrepancy / larger } else { 0.0 },
            step: self.steps[k][0],
            verdict: Verdict::Ok,
            note: String::new(),
        };
        let unchanged = self.samples.iter().all(|s| s.0 == self.center && s.1 == self.center);
        let slight =
            |x: f64| x.abs() <= 1e-9 * steepest && x.abs() <= error.max(self.rounding / self.steps[0][0]);
        (result.verdict, result.note) = if !claimed.is_finite() {
            (Verdict::Wrong, "the claimed derivative is not finite".into())
        } else if !self.center.is_finite()
            || self.samples.iter().any(|s| !s.0.is_finite() || !s.1.is_finite())
        {
            (Verdict::Noisy, "the function is not finite near this point".into())
        } else if unchanged && claimed == 0.0 {
            (Verdict::Zero, String::new())
        } else {
            match self.point() {
                Point::Jump => (Verdict::Kink, "the value jumps here".into()),
                Point::Kink(sides) => {
                    result.one_sided = sides;
                    result.difference = 0.5 * (sides[0] + sides[1]);
                    (Verdict::Kink, kink_note(claimed, sides, settings.tolerance))
                }
                Point::Smooth if slight(claimed) && slight(difference) => (Verdict::Zero, String::new()),
                Point::Unsettled => (Verdict::Noisy, UNSETTLED.into()),
                Point::Smooth => match smooth_verdict(discrepancy, larger, error, settings.tolerance) {
                    (Verdict::Wrong, _) if self.is_out_of_reach(claimed, difference, error) => {
                        (Verdict::Noisy, UNSETTLED.into())
                    }
                    verdict => verdict,
                },
            }
        };
        result
    }
}

pub(super) fn kink_note(claimed: f64, [left, right]: [f64; 2], tolerance: f64) -> String {
    // One-sided differences are of first order only.
    let near = |x: f64| (claimed - x).abs() <= tolerance.max(1e-4) * left.abs().max(right.abs());
    let what = if near(left) {
        "claimed is the left one"
    } else if near(right) {
        "claimed is the right one"
    } else if claimed > left.min(right) && claimed < left.max(right) {
        "claimed lies between"
    } else {
        "claimed is neither"
    };
    format!("left {left:.6e}, right {right:.6e}; {what}")
}

fn smooth_verdict(discrepancy: f64, larger: f64, error: f64, tolerance: f64) -> (Verdict, String) {
    if error <= 10.0 * tolerance * larger {
        let right = discrepancy <= tolerance * larger + error;
        return (if right { Verdict::Ok } else { Verdict::Wrong }, String::new());
    }
    // The differences are poor; a claim far outside their error is wrong all the same.
    if discrepancy > 10.0 * error {
        (Verdict::Wrong, String::new())
    } else {
        (Verdict::Noisy, format!("differences are known to {error:.1e} only"))
    }
}
