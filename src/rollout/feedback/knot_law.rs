//! Commands by knots, as a controller: a timetable that takes no notice of the motion.

use super::controller::{Controller, Observation};
use crate::rollout::control_knots::ControlKnots;
use crate::rollout::quantity::Quantity;
use crate::scalar::Scalar;

/// An open-loop command for each of some control values. The parameters are the values at the knots, knot after
/// knot.
#[derive(Clone, Debug, PartialEq)]
pub struct KnotLaw {
    /// The knots.
    pub knots: ControlKnots,
    /// The control values.
    pub controls: Vec<usize>,
}

impl Controller for KnotLaw {
    fn observed(&self) -> &[Quantity] {
        &[]
    }

    fn controls(&self) -> &[usize] {
        &self.controls
    }

    fn parameter_count(&self) -> usize {
        self.knots.times().len() * self.controls.len()
    }

    /// The interpolated values in the middle of the time for which they are held.
    fn control<T: Scalar>(&self, at: &Observation<T>, values: &[T], _: &mut [T], commands: &mut [T]) {
        for (knot, weight) in self.knots.weights(at.time + 0.5 * at.period) {
            let at_knot = &values[knot * self.controls.len()..];
            commands.iter_mut().zip(at_knot).for_each(|(out, &value)| *out += value * weight);
        }
    }
}
