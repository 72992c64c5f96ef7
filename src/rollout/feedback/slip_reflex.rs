//! A reflex: what slips is held more firmly.

use super::controller::{Controller, Observation};
use super::output::Output;
use super::slip::{SlipSense, raised};
use crate::rollout::quantity::Quantity;
use crate::scalar::Scalar;

/// A command r that slip raises and that falls again, r' = gain · slip − release · r. The parameters are gain and
/// release. With it the grip of fingers that are driven by forces follows slip; [`super::GripForce`] has the same
/// for its set point.
#[derive(Clone, Debug, PartialEq)]
pub struct SlipReflex {
    sense: SlipSense,
    observed: Vec<Quantity>,
    output: Output,
}

impl SlipReflex {
    /// A reflex to what some sensors feel.
    pub fn new(sense: SlipSense, output: Output) -> Self {
        Self { observed: sense.observed(), sense, output }
    }
}

impl Controller for SlipReflex {
    fn observed(&self) -> &[Quantity] {
        &self.observed
    }

    fn controls(&self) -> &[usize] {
        self.output.controls()
    }

    fn parameter_count(&self) -> usize {
        2
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
        let slip = self.sense.speed(at.time, at.values);
        memory[0] = raised(memory[0], slip, [parameters[0], parameters[1]], at.period);
        self.output.add(memory[0], commands);
    }
}
