//! Linear feedback with gains that change over time, about a nominal motion: the policy that iLQR finds.

use nalgebra::DMatrix;

use super::controller::{Controller, Observation};
use super::nominal_states::{NominalStates, SAME_TIME};
use crate::multibody::State;
use crate::rollout::control_knots::ControlKnots;
use crate::rollout::quantity::Quantity;
use crate::scalar::Scalar;

/// When a knot's values are decided, and how they follow the state.
#[derive(Clone, Debug, PartialEq)]
pub struct FeedbackStage {
    /// Time, s, not before that of the stage before.
    pub time: f64,
    /// The nominal state at that time, without bristles.
    pub state: State,
    /// The nominal values at the knot, one for each control value.
    pub values: Vec<f64>,
    /// Their derivatives: a row for each control value, a column for each number of the tangent from the nominal
    /// state to the present one, then for each change of the values at the knots before, the nearest first.
    pub gains: DMatrix<f64>,
}

/// Commands by knots whose values are decided one after the other, each from the state at the time of its stage:
/// vₖ + Kₖ (x ⊖ xₖ, changes of the knots before), within bounds. It has no parameters.
///
/// It must sample at every step: knots other than held ones are interpolated.
#[derive(Clone, Debug, PartialEq)]
pub struct KnotFeedback {
    knots: ControlKnots,
    stages: Vec<FeedbackStage>,
    bounds: Vec<[f64; 2]>,
    controls: Vec<usize>,
    nominal: NominalStates,
    reach: usize,
}

impl KnotFeedback {
    /// The feedback with a stage for each knot; `bounds` are the lower and upper one of each control value.
    /// `None` where numbers of stages, values or gains do not go together.
    pub fn new(
        knots: ControlKnots,
        stages: Vec<FeedbackStage>,
        bounds: Vec<[f64; 2]>,
        controls: Vec<usize>,
    ) -> Option<Self> {
        let m = controls.len();
        let n = stages.first()?.state.motion_tangent_dimension();
        let columns = stages[0].gains.ncols();
        let reach = columns.checked_sub(n)?.checked_div(m)?;
        let fits = |stage: &FeedbackStage| {
            stage.values.len() == m
                && stage.gains.shape() == (m, n + reach * m)
                && stage.state.bristles.is_empty()
                && stage.state.motion_tangent_dimension() == n
        };
        let in_order = stages.windows(2).all(|pair| pair[0].time <= pair[1].time);
        if stages.len() != knots.times().len() || bounds.len() != m || !in_order || !stages.iter().all(fits) {
            return None;
        }
        let times = stages.iter().map(|stage| stage.time).collect();
        let states = stages.iter().map(|stage| stage.state.clone()).collect();
        let nominal = NominalStates { times, states };
        Some(Self { knots, stages, bounds, controls, nominal, reach })
    }

    /// The stages.
    pub fn stages(&self) -> &[FeedbackStage] {
        &self.stages
    }

    /// The knots.
    pub fn knots(&self) -> &ControlKnots {
        &self.knots
    }

    /// The bounds of each control value.
    pub fn bounds(&self) -> &[[f64; 2]] {
        &self.bounds
    }
}

impl Controller for KnotFeedback {
    fn observed(&self) -> &[Quantity] {
        &[]
    }

    fn nominal(&self) -> Option<&NominalStates> {
        Some(&self.nominal)
    }

    fn controls(&self) -> &[usize] {
        &self.controls
    }

    /// The number of stages that were decided, then the values at the last of these knots, the latest first.
    fn memory_dimension(&self) -> usize {
        1 + (self.reach + 1) * self.controls.len()
    }

    fn control<T: Scalar>(&self, at: &Observation<T>, _: &[T], memory: &mut [T], commands: &mut [T]) {
        let m = self.controls.len();
        let (count, values) = memory.split_at_mut(1);
        let mut decided = count[0].real() as usize;
        while decided < self.stages.len() && self.stages[decided].time <= at.time + SAME_TIME {
            let stage = &self.stages[decided];
            let mut deviation = at.values.to_vec();
            for back in 1..=self.reach {
                // There is no knot before the first.
                let change = |i: usize| match decided.checked_sub(back) {
                    Some(knot) => values[(back - 1) * m + i] - self.stages[knot].values[i],
                    None => T::from(0.0),
                };
                deviation.extend((0..m).map(change));
            }
            values.rotate_right(m);
            let rows = stage.gains.row_iter().zip(&stage.values).zip(&self.bounds);
            for (out, ((gains, &nominal), &[lower, upper])) in values.iter_mut().zip(rows) {
                let start = T::from(nominal);
                let value = gains.iter().zip(&deviation).fold(start, |sum, (&k, &x)| sum + x * k);
                *out = match value.real() {
                    real if real < lower => T::from(lower),
                    real if real > upper => T::from(upper),
                    _ => value,
                };
            }
            decided += 1;
        }
        count[0] = T::from(decided as f64);
        for (knot, weight) in self.knots.weights(at.time + 0.5 * at.period) {
            // A knot that is not decided yet acts with the latest that is.
            let back = decided.saturating_sub(knot + 1).min(self.reach);
            commands.iter_mut().zip(&values[back * m..]).for_each(|(out, &value)| *out += value * weight);
        }
    }
}
