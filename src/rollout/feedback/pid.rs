//! Proportional, integral and derivative feedback of a joint's coordinate, or of a body's position or rotation along
//! an axis.

use nalgebra::Vector3;

use super::controller::{Controller, Observation};
use super::output::Output;
use crate::rollout::control_knots::ControlKnots;
use crate::rollout::quantity::Quantity;
use crate::scalar::Scalar;

/// The command k_p e + k_i ∫ e dt − k_d ẋ of a measured x with e = target − x. The parameters are k_p, k_i and k_d,
/// then the target at its knots.
#[derive(Clone, Debug, PartialEq)]
pub struct Pid {
    observed: [Quantity; 2],
    axis: Vector3<f64>,
    target: ControlKnots,
    output: Output,
}

impl Pid {
    /// The feedback of a quantity along an axis, or of a number along [`Vector3::x`], to a target that has knots. After
    /// the quantity comes its rate.
    pub fn new(observed: [Quantity; 2], axis: Vector3<f64>, target: ControlKnots, output: Output) -> Self {
        Self { observed, axis, target, output }
    }
}

impl Controller for Pid {
    fn observed(&self) -> &[Quantity] {
        &self.observed
    }

    fn controls(&self) -> &[usize] {
        self.output.controls()
    }

    fn parameter_count(&self) -> usize {
        3 + self.target.times().len()
    }

    fn memory_dimension(&self) -> usize {
        1
    }

    fn control<T: Scalar>(
        &self,
        at: &Observation<T>,
        parameters: &[T],
        memory: &mut [T],
        commands: &mut [T],
    ) {
        let (position, rate) = at.values.split_at(at.values.len() / 2);
        let along = |x: &[T]| x.iter().zip(&self.axis).fold(T::from(0.0), |sum, (&x, &a)| sum + x * a);
        let (gains, values) = parameters.split_at(3);
        let weights = self.target.weights(at.time + 0.5 * at.period);
        let target = weights.fold(T::from(0.0), |sum, (knot, weight)| sum + values[knot] * weight);
        let error = target - along(position);
        memory[0] += error * at.period;
        self.output.add(gains[0] * error + gains[1] * memory[0] - gains[2] * along(rate), commands);
    }
}
