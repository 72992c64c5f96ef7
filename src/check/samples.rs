//! The values of a function at both sides of a point, and what they say about a claimed
//! derivative there.

use std::ops::Range;

use super::comparison::{CheckSettings, Comparison, Verdict};
use super::component::{Samples, WANDERING};
use super::noise::{NOISE_RESERVE, noise_of};

/// Fewest step sizes that a derivative is judged by.
const FEWEST_LEVELS: usize = 5;
/// Values at equal distances that noise is measured by.
const VALUES_BESIDE: usize = 8;
/// The factor from one distance at which noise is measured to the next. Jumps at regular distances then
/// appear among the values of at least one of them.
const DISTANCE_RATIO: f64 = (VALUES_BESIDE - 1) as f64;
/// The longest of them, as a part of the largest step: farther away curvature shows.
const LONGEST_DISTANCE: f64 = 2e-3;

/// The values of several quantities at one argument: each a vector of components of one kind.
type Values = Vec<Vec<f64>>;

/// The steps that are tried first, counted from the largest: of 15 from 10⁻² to 10⁻⁹ those from 3·10⁻⁴ to 10⁻⁶, where
/// differences of smooth functions are best.
const MIDDLE: Range<usize> = 3..9;
/// With fewer steps all are taken at once.
const FEWEST_STEPS_TO_LEAVE_OUT: usize = 12;

/// The values around a point, largest step first.
pub(super) struct Sampled {
    at: f64,
    /// The largest step of all, and how many there are.
    largest: f64,
    count: usize,
    /// The steps that values are known at, counted from the largest.
    known: Range<usize>,
    center: Values,
    /// The steps that the rounded arguments really make, to the right and to the left.
    steps: Vec<[f64; 2]>,
    values: Vec<[Values; 2]>,
    /// Values at equal distances on one side, where noise was measured: for each distance, the
    /// smallest first.
    beside: Vec<Vec<Values>>,
    /// The side on which there are values, where the function ends at the point: 1 or −1, else 0.
    inward: f64,
    /// From one step to the next.
    ratio: f64,
    /// For each quantity the first step that counts; none where all do.
    first: Vec<usize>,
}

fn component(values: &Values, quantity: usize, i: usize) -> f64 {
    values.get(quantity).and_then(|q| q.get(i)).copied().unwrap_or(f64::NAN)
}

/// What the parabola through values at a point, a step from it and two steps from it has a step to the other side.
fn parabola(center: &Values, one: &Values, two: &Values) -> Values {
    let of = |((c, one), two): ((&Vec<f64>, &Vec<f64>), &Vec<f64>)| {
        c.iter().zip(one).zip(two).map(|((c, one), two)| 3.0 * (c - one) + two).collect()
    };
    center.iter().zip(one).zip(two).map(of).collect()
}

impl Sampled {
    /// Values at steps of middle size, by which most derivatives are told; at all of few steps. Steps are relative to `scale`.
    /// Where the function has none on one side, as where a
    /// parameter is at the end of what is allowed, the parabola through those on the other takes their place: central
    /// differences are then one-sided ones of second order.
    ///
    /// # Errors
    /// The first error of `f` at the point, or of those on the side where it gets as far.
    pub fn around<E>(
        f: &mut dyn FnMut(f64) -> Result<Values, E>,
        at: f64,
        scale: f64,
        settings: &CheckSettings,
    ) -> Result<Self, E> {
        let count = settings.steps.max(8);
        let mut sampled = Self {
            at,
            largest: settings.largest_step * scale,
            count,
            known: MIDDLE.start..MIDDLE.start,
            center: f(at)?,
            steps: Vec::with_capacity(count),
            values: Vec::with_capacity(count),
            beside: Vec::new(),
            inward: 0.0,
            ratio: (settings.largest_step / settings.smallest_step).powf(1.0 / (count - 1) as f64),
            first: Vec::new(),
        };
        if count < FEWEST_STEPS_TO_LEAVE_OUT {
            sampled.known = 0..0;
            sampled.add_levels(f, 0..count)?;
        } else {
            sampled.add_levels(f, MIDDLE)?;
        }
        Ok(sampled)
    }

    /// Adds values at all larger steps, over which values round least, or else at all smaller ones; whether there are any.
    fn go_on<E>(&mut self, f: &mut dyn FnMut(f64) -> Result<Values, E>) -> Result<bool, E> {
        let Range { start, end } = self.known.clone();
        let more = if start > 0 { 0..start } else { end..self.count };
        let is_more = !more.is_empty();
        self.add_levels(f, more)?;
        Ok(is_more)
    }

    /// Adds values at the steps beside those that are known.
    fn add_levels<E>(
        &mut self,
        f: &mut dyn FnMut(f64) -> Result<Values, E>,
        levels: Range<usize>,
    ) -> Result<(), E> {
        let at = self.at;
        let first = if levels.end <= self.known.start { 0 } else { self.steps.len() };
        for (place, k) in (first..).zip(levels.clone()) {
            let wanted = self.largest / self.ratio.powi(k as i32);
            let (plus, minus) = (at + wanted, at - wanted);
            let (right, left) = (f(plus), f(minus));
            let mut beyond = |inside: &Values, step: f64| -> Result<Values, E> {
                self.inward = step.signum();
                Ok(parabola(&self.center, inside, &f(at + 2.0 * step)?))
            };
            let (pair, step) = match (right, left) {
                (Ok(right), Ok(left)) => ([right, left], [plus - at, at - minus]),
                (Ok(right), Err(_)) => {
                    let left = beyond(&right, plus - at)?;
                    ([right, left], [plus - at; 2])
                }
                (Err(_), Ok(left)) => ([beyond(&left, minus - at)?, left], [at - minus; 2]),
                (Err(error), Err(_)) => return Err(error),
            };
            self.steps.insert(place, step);
            self.values.insert(place, pair);
        }
        self.known = levels.start.min(self.known.start)..levels.end.max(self.known.end);
        Ok(())
    }

    /// Evaluates the function at equal distances on one side: how far its values are from a smooth
    /// function's there is noise, from rounding and from iterations that end, which every difference
    /// has over its step.
    ///
    /// The distances are the smallest step and longer ones. What rounds on the way may hardly change
    /// with the parameter: the values then are smooth at the smallest steps, with a slope of their own,
    /// and jump only from time to time.
    pub fn measure_noise<E>(&mut self, f: &mut dyn FnMut(f64) -> Result<Values, E>) -> Result<(), E> {
        let step = |list: Option<&[f64; 2]>| list.map_or(0.0, |step| step[0]);
        let (smallest, largest) = (step(self.steps.last()), step(self.steps.first()));
        let longer = std::iter::successors(Some(smallest), |distance| Some(distance * DISTANCE_RATIO))
            .skip(1)
            .take_while(|&distance| distance > smallest && distance <= LONGEST_DISTANCE * largest);
        let mut at_distance = |distance: f64| {
            let distance = if self.inward < 0.0 { -distance } else { distance };
            (1..=VALUES_BESIDE).map(|k| f(self.at + k as f64 * distance)).collect::<Result<Vec<_>, E>>()
        };
        self.beside =
            std::iter::once(smallest).chain(longer).map(&mut at_distance).collect::<Result<_, E>>()?;
        Ok(())
    }

    /// Whether noise was measured.
    pub fn knows_noise(&self) -> bool {
        !self.beside.is_empty()
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

    /// The levels that a quantity is judged by: those that count, or all where these are too few.
    fn judged(&self, quantity: usize) -> Range<usize> {
        if self.has_enough(quantity) { self.levels(quantity) } else { 0..self.steps.len() }
    }

    /// The components of a quantity, of which `magnitude` is what it rounds at, at least.
    fn components(&self, quantity: usize, count: usize, magnitude: f64) -> Vec<Samples<'_>> {
        let levels = self.judged(quantity);
        let of_component = |i: usize| {
            let values = self.values[levels.clone()].iter();
            let at = |values: &Values| component(values, quantity, i);
            Samples {
                center: at(&self.center),
                steps: &self.steps[levels.clone()],
                samples: values.map(|[p, m]| (at(p), at(m))).collect(),
                rounding: 0.0,
                least_rounding: 0.0,
                ratio: self.ratio,
            }
        };
        let mut components: Vec<Samples> = (0..count).map(of_component).collect();
        let magnitude = components.iter().map(Samples::largest).fold(magnitude, f64::max);
        for (i, samples) in components.iter_mut().enumerate() {
            // A parabola beyond its values is that much less exact.
            let reserve = if self.inward == 0.0 { 1.0 } else { 4.0 };
            let noise = reserve * NOISE_RESERVE * self.noise(quantity, i, magnitude);
            samples.least_rounding = reserve * 4.0 * f64::EPSILON * magnitude;
            samples.rounding = noise.max(samples.least_rounding);
        }
        components
    }

    /// Compares the claimed derivatives of all quantities, of which `magnitudes` has for each what
    /// it rounds at, at least. A quantity with too few steps that count is judged by all.
    pub fn judge(
        &self,
        claimed: &[Vec<f64>],
        magnitudes: &[f64],
        settings: &CheckSettings,
    ) -> Vec<Vec<Comparison>> {
        let judge_quantity = |(quantity, claimed): (usize, &Vec<f64>)| {
            let magnitude = magnitudes.get(quantity).copied().unwrap_or(0.0);
            let components = self.components(quantity, claimed.len(), magnitude);
            components.iter().zip(claimed).map(|(s, &c)| s.judge(c, settings)).collect()
        };
        claimed.iter().enumerate().map(judge_quantity).collect()
    }

    /// [`Self::judge`], with values at more steps, and at last at all, where those that are known do not make all derivatives
    /// clear. Of one that is not, `settle` tells whether it is clear all the same.
    pub fn judge_completed<E>(
        &mut self,
        f: &mut dyn FnMut(f64) -> Result<Values, E>,
        claimed: &[Vec<f64>],
        magnitudes: &[f64],
        settings: &CheckSettings,
        settle: &dyn Fn(&mut Comparison, (usize, usize)) -> bool,
    ) -> Result<Vec<Vec<Comparison>>, E> {
        let is_zero = |c: &Comparison| c.verdict == Verdict::Zero && c.claimed == 0.0 && c.difference == 0.0;
        loop {
            let mut compared = self.judge(claimed, magnitudes, settings);
            let mut all_are_clear = true;
            for (q, components) in compared.iter_mut().enumerate() {
                for (i, c) in components.iter_mut().enumerate() {
                    all_are_clear &= c.is_clear(settings) || is_zero(c) || settle(c, (q, i));
                }
            }
            if all_are_clear || !self.go_on(f)? {
                return Ok(compared);
            }
        }
    }

    /// Judges one component anew, by the derivatives from both sides.
    pub fn judge_by_sides(
        &self,
        c: &mut Comparison,
        (quantity, i): (usize, usize),
        (count, magnitude): (usize, f64),
        settings: &CheckSettings,
    ) {
        if let Some(samples) = self.components(quantity, count, magnitude).get(i) {
            samples.judge_by_sides(c, false, settings);
        }
    }
}
