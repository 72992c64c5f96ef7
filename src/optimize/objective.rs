//! Objectives: a sum of squares of deviations of a motion from targets.

use nalgebra::Vector3;
#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::multibody::Model;
use crate::optimize::error::ProblemError;
pub use crate::rollout::Quantity;
use crate::rollout::{Loss, Moment, Reader, SimulationError, TrajectoryResiduals};
use crate::scalar::{Scalar, lift_vector};

/// Which deviations from the target count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Deviation {
    /// Deviations above and below the target count alike.
    #[default]
    Both,
    /// Only deviations above the target count: the target is an upper limit, and below it the derivative
    /// is zero.
    Above,
    /// Only deviations below the target count.
    Below,
}

/// When a cost applies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// The cost applies all the time and is integrated over it.
    #[default]
    Running,
    /// The cost applies at the end.
    End,
}

/// A target that is linear between its times, and constant before the first and after the last.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    times: Vec<f64>,
    values: Vec<Vector3<f64>>,
}

impl Target {
    /// A target that does not change.
    pub fn constant(value: Vector3<f64>) -> Self {
        Self { times: vec![0.0], values: vec![value] }
    }

    /// A target with these values at these times in s.
    ///
    /// # Errors
    /// When there is not one value for each time, or the times do not increase.
    pub fn new(times: Vec<f64>, values: Vec<Vector3<f64>>) -> Result<Self, ProblemError> {
        if times.len() != values.len() || times.is_empty() {
            return Err(ProblemError::TargetCount { times: times.len(), values: values.len() });
        }
        let wrong = |&i: &usize| !times[i].is_finite() || (i > 0 && times[i] <= times[i - 1]);
        match (0..times.len()).find(wrong) {
            Some(index) => Err(ProblemError::TargetTime { index, time: times[index] }),
            None => Ok(Self { times, values }),
        }
    }

    /// The target at a time in s.
    pub fn at(&self, time: f64) -> Vector3<f64> {
        let next = self.times.partition_point(|t| *t <= time);
        let last = self.times.len() - 1;
        if next == 0 || next > last {
            return self.values[next.min(last)];
        }
        let part = (time - self.times[next - 1]) / (self.times[next] - self.times[next - 1]);
        self.values[next - 1].lerp(&self.values[next], part)
    }
}

/// The cost ½ ∫ |w (x − target)|² dt, or ½ |w (x − target)|² at the end, of a quantity x.
#[derive(Clone, Debug, PartialEq)]
pub struct CostTerm {
    /// The quantity.
    pub quantity: Quantity,
    /// Its target. For a quantity of one number only the first component is used.
    pub target: Target,
    /// The weight w of each component, in the inverse of its unit (over √s for a running cost).
    pub weight: Vector3<f64>,
    /// Which deviations count.
    pub deviation: Deviation,
    /// When it applies.
    pub when: When,
}

/// A sum of [`CostTerm`]s, expressed by residuals: the cost is half of their sum of squares.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Objective {
    terms: Vec<CostTerm>,
}

impl Objective {
    /// The sum of costs on motions of a model with this number of control values in each step.
    ///
    /// # Errors
    /// When a term does not match the model, or a weight is negative or not finite.
    pub fn new(model: &Model, controls: usize, terms: Vec<CostTerm>) -> Result<Self, ProblemError> {
        for term in &terms {
            if term.when == When::End && term.quantity.is_of_step() {
                return Err(ProblemError::ControlAtEnd);
            }
            term.quantity.check(model, controls)?;
            if let Some(w) = term.weight.iter().find(|w| !(w.is_finite() && **w >= 0.0)) {
                return Err(ProblemError::Weight(*w));
            }
        }
        Ok(Self { terms })
    }

    /// The terms.
    pub fn terms(&self) -> &[CostTerm] {
        &self.terms
    }

    /// Each term by itself, in order: the objective is their sum.
    pub fn separate_terms(&self) -> Vec<Self> {
        self.terms.iter().map(|term| Self { terms: vec![term.clone()] }).collect()
    }

    /// The part of each term in the cost of a trajectory, in order.
    pub fn parts(&self, moments: &[Moment]) -> Vec<f64> {
        let mut parts = vec![0.0; self.terms.len()];
        for moment in moments {
            let at_end = moment.dt == 0.0;
            let mut reader = Reader::default();
            for (i, part) in parts.iter_mut().enumerate() {
                let mut residuals = Vec::new();
                self.add(i, moment, at_end, &mut reader, &mut residuals);
                *part += residuals.iter().map(|r| 0.5 * r * r).sum::<f64>();
            }
        }
        parts
    }

    /// Appends the residuals of a term at a moment.
    fn add<T: Scalar>(
        &self,
        index: usize,
        moment: &Moment<T>,
        at_end: bool,
        reader: &mut Reader<T>,
        out: &mut Vec<T>,
    ) {
        let term = &self.terms[index];
        if at_end != (term.when == When::End) {
            return;
        }
        let scale = if at_end { 1.0 } else { moment.dt.sqrt() };
        let target = term.target.at(moment.time);
        let value = term.quantity.value(moment, reader);
        let off = value - lift_vector::<T>(&target);
        for axis in 0..term.quantity.dimension() {
            if term.weight[axis] > 0.0 {
                let counts = match term.deviation {
                    Deviation::Both => true,
                    Deviation::Above => off[axis].real() > 0.0,
                    Deviation::Below => off[axis].real() < 0.0,
                };
                out.push(if counts { off[axis] * (scale * term.weight[axis]) } else { T::from(0.0) });
            }
        }
    }
}

impl TrajectoryResiduals for Objective {
    fn running<T: Scalar>(&self, moment: &Moment<T>, residuals: &mut Vec<T>) {
        let mut reader = Reader::default();
        (0..self.terms.len()).for_each(|i| self.add(i, moment, false, &mut reader, residuals));
    }

    fn terminal<T: Scalar>(&self, moment: &Moment<T>, residuals: &mut Vec<T>) {
        let mut reader = Reader::default();
        (0..self.terms.len()).for_each(|i| self.add(i, moment, true, &mut reader, residuals));
    }
}
/// A component of a quantity at the end of a motion, as a loss.
#[derive(Clone, Debug, PartialEq)]
pub struct QuantityAtEnd {
    quantity: Quantity,
    component: usize,
}

impl QuantityAtEnd {
    /// The component of this number, from 0, of a quantity of a model's motions.
    ///
    /// # Errors
    /// When the model does not have the quantity, or it has not so many components, or is of a step.
    pub fn new(model: &Model, quantity: Quantity, component: usize) -> Result<Self, ProblemError> {
        let count = quantity.dimension();
        if quantity.is_of_step() {
            return Err(ProblemError::ControlAtEnd);
        }
        if component >= count {
            return Err(SimulationError::NoSuch { what: "component", index: component, count }.into());
        }
        quantity.check(model, 0)?;
        Ok(Self { quantity, component })
    }
}

impl Loss for QuantityAtEnd {
    fn terminal<T: Scalar>(&self, moment: &Moment<T>) -> T {
        self.quantity.value(moment, &mut Reader::default())[self.component]
    }
}
