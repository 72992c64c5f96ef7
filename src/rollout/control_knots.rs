//! Open-loop controls from a few numbers: knots in time, and the interpolation between them.
//!
//! Every interpolation is linear in the values at the knots, with weights that are not negative and sum
//! to one. So bounds on the values at the knots hold for the controls of every step, and constant values
//! give constant controls.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::controls::Controls;
use super::error::SimulationError;
use crate::scalar::{DualArray, Scalar};

/// The interpolation of controls between their values at knots. Before the first knot and after the last
/// one they keep the value at that knot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum KnotInterpolation {
    /// Each value is held until the next knot.
    #[default]
    ZeroOrderHold,
    /// The control is linear between two knots.
    Linear,
    /// The uniform cubic B-spline that has the values at the knots as its control points, twice
    /// continuously differentiable (C. de Boor, *A Practical Guide to Splines*, 1978, chapters IX
    /// and XI; the control points beyond the ends continue the first and the last two on a
    /// straight line). It passes through the first and the last value and any that lie on
    /// straight lines, and smooths the others: unlike a spline through all values it never leaves
    /// the range of four neighbouring ones. Knots must be equally spaced.
    Cubic,
}

/// Knots in time, the same for every control value.
#[derive(Clone, Debug, PartialEq)]
pub struct ControlKnots {
    interpolation: KnotInterpolation,
    times: Vec<f64>,
}

/// Relative difference of spacings that is rounding.
const EQUAL_SPACING: f64 = 1e-9;

impl ControlKnots {
    /// Knots at increasing times in s.
    ///
    /// # Errors
    /// There is no knot, the times do not increase or are not finite, or the interpolation is cubic and
    /// the knots are not equally spaced.
    pub fn new(interpolation: KnotInterpolation, times: Vec<f64>) -> Result<Self, SimulationError> {
        if times.is_empty() {
            return Err(SimulationError::NoKnots);
        }
        let mut before = f64::NEG_INFINITY;
        for (index, &found) in times.iter().enumerate() {
            if !found.is_finite() || found <= before {
                return Err(SimulationError::KnotTimes { index, found, before });
            }
            before = found;
        }
        if interpolation == KnotInterpolation::Cubic && times.len() > 2 {
            let expected = (times[times.len() - 1] - times[0]) / (times.len() - 1) as f64;
            let unequal = |i: usize| {
                (times[i] - times[0] - i as f64 * expected).abs()
                    > EQUAL_SPACING * times.len() as f64 * expected
            };
            if (1..times.len()).any(unequal) {
                let spacing = |i: usize| times[i] - times[i - 1];
                let expected = spacing(1);
                // The one that is farthest from the first.
                let off = |i: &usize| (spacing(*i) - expected).abs();
                let index = (2..times.len()).max_by(|a, b| off(a).total_cmp(&off(b))).unwrap_or(1);
                return Err(SimulationError::KnotSpacing { index, found: spacing(index), expected });
            }
        }
        Ok(Self { interpolation, times })
    }

    /// This many equally spaced knots for a motion until a time in s. Held values divide the time into
    /// equal parts; with the other interpolations the first and the last knot are at the ends of the
    /// motion.
    ///
    /// # Errors
    /// There is no knot, or the end is not positive and finite.
    pub fn uniform(
        interpolation: KnotInterpolation,
        count: usize,
        until: f64,
    ) -> Result<Self, SimulationError> {
        let parts = match interpolation {
            KnotInterpolation::ZeroOrderHold => count,
            KnotInterpolation::Linear | KnotInterpolation::Cubic => count.saturating_sub(1).max(1),
        };
        Self::new(interpolation, (0..count).map(|i| until * (i as f64 / parts as f64)).collect())
    }

    /// The interpolation between the knots.
    pub fn interpolation(&self) -> KnotInterpolation {
        self.interpolation
    }

    /// Times of the knots, s.
    pub fn times(&self) -> &[f64] {
        &self.times
    }

    /// The same knots with times counted from a time in s.
    pub(super) fn counted_from(&self, start: f64) -> Self {
        Self {
            interpolation: self.interpolation,
            times: self.times.iter().map(|time| time - start).collect(),
        }
    }

    /// The interpolated value at a time in s, given the `values` at the knots.
    ///
    /// # Panics
    /// When there is not a value for each knot.
    pub fn value_at(&self, time: f64, values: &[f64]) -> f64 {
        assert_eq!(values.len(), self.times.len(), "one value for each knot");
        self.weights_at(time).iter().map(|(knot, weight)| weight * values[knot]).sum()
    }

    /// The knots whose values the controls at a time in s are made of, each with its weight.
    pub fn weights(&self, time: f64) -> impl Iterator<Item = (usize, f64)> + use<> {
        self.weights_at(time).iter()
    }

    /// The weights of the values at knots in the controls at a time in s. At knots between which controls are
    /// linear their derivatives are those to the right.
    fn weights_at<T: Scalar>(&self, time: T) -> KnotWeights<T> {
        let last = self.times.len() - 1;
        let (zero, unit) = (T::from(0.0), T::from(1.0));
        // The knot at or before the time, and how far the time is on the way to the next.
        let index = self.times.partition_point(|&t| t <= time.real()).saturating_sub(1);
        let one = |first| KnotWeights { first, weights: [unit, zero, zero, zero] };
        if index == last || time.real() < self.times[0] {
            return one(index);
        }
        let s = (time - self.times[index]) / (self.times[index + 1] - self.times[index]);
        match self.interpolation {
            KnotInterpolation::ZeroOrderHold => one(index),
            KnotInterpolation::Linear => KnotWeights { first: index, weights: [unit - s, s, zero, zero] },
            KnotInterpolation::Cubic => {
                let r = unit - s;
                let [before, here, next, after] = [
                    r * r * r / 6.0,
                    (s * s * s * 3.0 - s * s * 6.0 + 4.0) / 6.0,
                    (r * r * r * 3.0 - r * r * 6.0 + 4.0) / 6.0,
                    s * s * s / 6.0,
                ];
                let (mut here, mut next) = (here, next);
                let (has_before, has_after) = (index > 0, index + 1 < last);
                if !has_before {
                    (here, next) = (here + before * 2.0, next - before);
                }
                if !has_after {
                    (here, next) = (here - after, next + after * 2.0);
                }
                let after = if has_after { after } else { zero };
                match has_before {
                    true => KnotWeights { first: index - 1, weights: [before, here, next, after] },
                    false => KnotWeights { first: index, weights: [here, next, after, zero] },
                }
            }
        }
    }

    /// The map from values at the knots to a row of `dimension` controls for each step. The times are
    /// those at which the steps begin and at which the last one ends (see
    /// [`super::SimulationSettings::step_times`]). A row, which is constant over its step, has the value
    /// at the step's middle.
    ///
    /// # Errors
    /// No step depends on a knot.
    pub fn map(&self, dimension: usize, step_times: &[f64]) -> Result<KnotMap, SimulationError> {
        let rows: Vec<KnotWeights> =
            step_times.windows(2).map(|span| self.weights_at(0.5 * (span[0] + span[1]))).collect();
        let mut used = vec![false; self.times.len()];
        rows.iter().flat_map(KnotWeights::iter).for_each(|(knot, _)| used[knot] = true);
        if let Some(index) = used.iter().position(|used| !used) {
            let until = step_times.last().copied().unwrap_or(0.0);
            let (time, knots, steps) = (self.times[index], self.times.len(), rows.len());
            return Err(SimulationError::UnusedKnot { index, time, knots, steps, until });
        }
        Ok(self.map_of(dimension, rows))
    }

    fn map_of(&self, dimension: usize, rows: Vec<KnotWeights>) -> KnotMap {
        KnotMap { interpolation: self.interpolation, dimension, knots: self.times.len(), rows }
    }

    /// The same map where the motion ends at another time than that in s which the knots are for, and the knots are
    /// stretched with it; and its derivative with respect to the end, the last of `step_times`, with the others held.
    /// Some knots may have no step.
    pub(crate) fn stretched_map(&self, dimension: usize, step_times: &[f64], end: f64) -> [KnotMap; 2] {
        type Dual = DualArray<1>;
        let of_motion = Dual::variable(step_times.last().copied().unwrap_or(end), 0);
        let steps = step_times.len().saturating_sub(1);
        let rows: Vec<KnotWeights<Dual>> = (0..steps)
            .map(|step| {
                let after = if step + 1 == steps { of_motion } else { Dual::from(step_times[step + 1]) };
                self.weights_at((after + step_times[step]) * (0.5 * end) / of_motion)
            })
            .collect();
        let part = |of: fn(&Dual) -> f64| {
            let row = |row: &KnotWeights<Dual>| KnotWeights {
                first: row.first,
                weights: row.weights.each_ref().map(of),
            };
            self.map_of(dimension, rows.iter().map(row).collect())
        };
        [part(|weight| weight.re), part(|weight| weight.eps[0])]
    }
}

/// The weights of consecutive knots, of which there are at most four.
#[derive(Clone, Copy, Debug, PartialEq)]
struct KnotWeights<T = f64> {
    first: usize,
    weights: [T; 4],
}

impl KnotWeights {
    fn iter(&self) -> impl Iterator<Item = (usize, f64)> + use<> {
        let first = self.first;
        self.weights.into_iter().enumerate().filter(|(_, w)| *w != 0.0).map(move |(k, w)| (first + k, w))
    }

    /// The last knot of these.
    fn last(&self) -> usize {
        self.iter().last().map_or(self.first, |(knot, _)| knot)
    }
}

/// The linear map from values at knots to the controls of every step. The values are ordered knot
/// after knot, those of one knot as in a row of the controls.
#[derive(Clone, Debug, PartialEq)]
pub struct KnotMap {
    interpolation: KnotInterpolation,
    dimension: usize,
    knots: usize,
    rows: Vec<KnotWeights>,
}

impl KnotMap {
    /// Number of control values of a step, and of a knot.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// Number of steps.
    pub fn steps(&self) -> usize {
        self.rows.len()
    }

    /// Number of values at all knots.
    pub fn variables(&self) -> usize {
        self.knots * self.dimension
    }

    /// The knots that the row of a step depends on, each with its weight.
    ///
    /// # Panics
    /// When there is no such step.
    pub fn weights(&self, step: usize) -> impl Iterator<Item = (usize, f64)> + use<> {
        self.rows[step].iter()
    }

    /// The steps of each knot's stage: those that depend on this knot and on none after it. Stages
    /// follow each other in time. Those of the first knots are empty where knots are not held: the
    /// first step depends on one or two more.
    pub fn stages(&self) -> Vec<Range<usize>> {
        let until = |knot: usize| self.rows.partition_point(|row| row.last() < knot);
        (0..self.knots).map(|knot| until(knot)..until(knot + 1)).collect()
    }

    /// How many knots before that of its stage a step may depend on: 0 for held knots, 1 for linear
    /// and 3 for cubic ones.
    pub fn reach(&self) -> usize {
        self.rows.iter().map(|row| row.last() - row.first).max().unwrap_or(0)
    }

    /// Puts the controls of a step in a row.
    ///
    /// # Panics
    /// When there is no such step, or a knot that it depends on has no values.
    pub fn put_row(&self, step: usize, values: &[f64], row: &mut [f64]) {
        row.fill(0.0);
        for (knot, weight) in self.weights(step) {
            let at_knot = &values[knot * self.dimension..][..self.dimension];
            row.iter_mut().zip(at_knot).for_each(|(u, v)| *u += weight * v);
        }
    }

    /// The controls of every step.
    ///
    /// # Panics
    /// When there are not [`Self::variables`] values.
    pub fn controls(&self, values: &[f64]) -> Controls {
        assert_eq!(values.len(), self.variables(), "one value for each knot and control");
        let mut controls = Controls::zeros(self.rows.len(), self.dimension);
        for step in 0..self.rows.len() {
            self.put_row(step, values, controls.row_mut(step));
        }
        controls
    }

    /// The vector–Jacobian product of the map: from the derivatives of a number with respect to the
    /// controls of every step to those with respect to the values at knots.
    ///
    /// # Panics
    /// When the controls are not those of this map's steps.
    pub fn vjp(&self, by_controls: &Controls) -> Vec<f64> {
        assert_eq!(by_controls.dimension(), self.dimension, "the map's controls");
        let mut by_values = vec![0.0; self.variables()];
        for step in 0..self.rows.len() {
            for (knot, weight) in self.weights(step) {
                let at_knot = &mut by_values[knot * self.dimension..][..self.dimension];
                at_knot.iter_mut().zip(by_controls.row(step)).for_each(|(v, u)| *v += weight * u);
            }
        }
        by_values
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rollout::SimulationSettings;
    use proptest::prelude::*;

    const KINDS: [KnotInterpolation; 3] =
        [KnotInterpolation::ZeroOrderHold, KnotInterpolation::Linear, KnotInterpolation::Cubic];

    #[test]
    fn cubic_knots_that_are_not_equally_spaced_are_refused_by_the_one_that_is_not() {
        let cubic = |times: &[f64]| ControlKnots::new(KnotInterpolation::Cubic, times.to_vec());
        for (times, index, found, expected) in [
            ([0.0, 1.0, 2.0, 3.5], 3, 1.5, 1.0),
            ([1.0, 3.0, 4.0, 6.0], 2, 1.0, 2.0),
            ([0.0, 1.0, 2.0, 3.0 + 1e-7], 3, 1.0 + 1e-7, 1.0),
        ] {
            let Err(SimulationError::KnotSpacing { index: i, found: f, expected: e }) = cubic(&times) else {
                panic!("{times:?}")
            };
            assert_eq!((i, e), (index, expected));
            assert!((f - found).abs() < 1e-14, "{f}");
        }
        // Rounding is no difference, and what is joined by lines has any spacing.
        assert!(cubic(&[0.0, 0.1, 0.2, 0.1 + 0.2, 0.4 + 1e-15]).is_ok());
        assert!(ControlKnots::new(KnotInterpolation::Linear, vec![0.0, 1.0, 1.5]).is_ok());
    }

    fn times(steps: usize) -> Vec<f64> {
        let settings = SimulationSettings { time_step: 0.01, ..Default::default() };
        settings.step_times(0.01 * steps as f64).expect("valid")
    }

    proptest! {
        #[test]
        fn controls_stay_within_the_range_of_the_knots(
            values in prop::collection::vec(-1.0..1.0f64, 1..9), kind in 0usize..3, steps in 40usize..90,
        ) {
            let knots = ControlKnots::uniform(KINDS[kind], values.len(), 0.01 * steps as f64).unwrap();
            let map = knots.map(1, &times(steps)).unwrap();
            let (low, high) = values.iter().fold((1.0_f64, -1.0_f64), |(l, h), &v| (l.min(v), h.max(v)));
            for step in 0..steps {
                let sum: f64 = map.weights(step).map(|(_, w)| w).sum();
                prop_assert!((sum - 1.0).abs() < 1e-14);
                prop_assert!(map.weights(step).all(|(_, w)| w > 0.0));
                let u = map.controls(&values).row(step)[0];
                prop_assert!(u >= low - 1e-14 && u <= high + 1e-14);
            }
        }

        #[test]
        fn the_vjp_is_that_of_the_map(
            v in prop::collection::vec(-1.0..1.0f64, 10), w in prop::collection::vec(-1.0..1.0f64, 74),
            kind in 0usize..3,
        ) {
            let map = ControlKnots::uniform(KINDS[kind], 5, 0.37).unwrap().map(2, &times(37)).unwrap();
            let along: f64 = map.controls(&v).values().iter().zip(&w).map(|(a, b)| a * b).sum();
            let back = map.vjp(&Controls::from_values(2, w).unwrap());
            let also: f64 = back.iter().zip(&v).map(|(a, b)| a * b).sum();
            prop_assert!((along - also).abs() < 1e-12);
        }
    }

    #[test]
    fn each_kind_is_what_it_says() {
        let steps = times(100);
        let middle = |step: usize| 0.01 * (step as f64 + 0.5);
        for kind in [KnotInterpolation::Linear, KnotInterpolation::Cubic] {
            // Linear functions of time are reproduced, up to both ends.
            let knots = ControlKnots::uniform(kind, 6, 1.0).unwrap();
            let values: Vec<f64> = knots.times().iter().map(|t| 3.0 - 2.0 * t).collect();
            let controls = knots.map(1, &steps).unwrap().controls(&values);
            for step in 0..100 {
                assert!((controls.row(step)[0] - (3.0 - 2.0 * middle(step))).abs() < 1e-14);
            }
        }
        for (kind, stages, reach) in [
            (KnotInterpolation::Linear, vec![0..0, 0..25, 25..50, 50..75, 75..100], 1),
            (KnotInterpolation::Cubic, vec![0..0, 0..0, 0..25, 25..50, 50..100], 3),
        ] {
            let map = ControlKnots::uniform(kind, 5, 1.0).unwrap().map(1, &steps).unwrap();
            assert_eq!((map.stages(), map.reach()), (stages, reach));
        }
        let held = ControlKnots::new(KnotInterpolation::ZeroOrderHold, vec![0.0, 0.3, 0.35]).unwrap();
        let map = held.map(1, &steps).unwrap();
        assert_eq!((map.stages(), map.reach()), (vec![0..30, 30..35, 35..100], 0));
        let controls = map.controls(&[1.0, 2.0, 3.0]);
        assert_eq!([29, 30, 34, 35].map(|i| controls.row(i)[0]), [1.0, 2.0, 2.0, 3.0]);
        // The cubic is twice continuously differentiable across knots.
        let knots = ControlKnots::uniform(KnotInterpolation::Cubic, 6, 1.0).unwrap();
        let value = |t: f64| -> f64 {
            let values = [0.3, -1.0, 2.0, 0.7, 0.1, -0.4];
            knots.value_at(t, &values)
        };
        let second = |t: f64, h: f64| (value(t) - 2.0 * value(t + h) + value(t + 2.0 * h)) / (h * h);
        for t in [0.2, 0.4, 0.6, 0.8] {
            let (left, right) = (second(t, -1e-4), second(t, 1e-4));
            assert!((left - right).abs() < 0.2, "{t}: {left} {right}");
        }
        assert!(second(0.4, 1e-4).abs() > 10.0);
    }

    #[test]
    fn bad_knots_are_refused() {
        let kind = KnotInterpolation::Linear;
        assert_eq!(ControlKnots::new(kind, vec![]), Err(SimulationError::NoKnots));
        let message = |kind, times: &[f64]| ControlKnots::new(kind, times.to_vec()).unwrap_err().to_string();
        assert!(message(kind, &[0.0, 0.0]).contains("knot 1 is at 0 s"));
        assert!(message(kind, &[f64::NAN]).contains("knot 0 is at NaN s"));
        assert!(message(KnotInterpolation::Cubic, &[0.0, 1.0, 2.5]).contains("equally spaced"));
        let late = ControlKnots::new(kind, vec![0.0, 0.5, 2.0, 3.0]).unwrap();
        let unused = late.map(1, &times(100)).unwrap_err();
        assert!(matches!(unused, SimulationError::UnusedKnot { index: 3, steps: 100, .. }), "{unused}");
        assert!(ControlKnots::uniform(kind, 2, f64::NAN).is_err());
    }
}
