//! Proportional, integral and derivative feedback of a joint's coordinate, or of a body's position or rotation along
//! an axis.

use nalgebra::Vector3;

use super::controller::{Controller, Observation};
use super::observed::Observed;
use super::output::Output;
use crate::rollout::control_knots::ControlKnots;
use crate::scalar::Scalar;
use crate::spatial::Quaternion;

/// What a [`Pid`] controls.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PidMeasurement {
    /// A coordinate of a joint.
    Joint {
        /// Its index among the configuration coordinates.
        q: usize,
        /// Its index among the velocity coordinates.
        v: usize,
    },
    /// The position of a body's origin along an axis, m: in W, or in the frame of another body.
    Position {
        /// The body.
        body: usize,
        /// The other body.
        relative_to: Option<usize>,
        /// The axis.
        axis: Vector3<f64>,
    },
    /// The component along an axis of the rotation vector that turns a reference into the body's orientation, rad.
    Rotation {
        /// The body.
        body: usize,
        /// The other body.
        relative_to: Option<usize>,
        /// The axis.
        axis: Vector3<f64>,
        /// The reference orientation.
        reference: Quaternion,
    },
}

/// The command k_p e + k_i ∫ e dt − k_d ẋ of a measured x with e = target − x. The parameters are k_p, k_i and k_d,
/// then the target at its knots.
#[derive(Clone, Debug, PartialEq)]
pub struct Pid {
    observed: [Observed; 2],
    axis: Vector3<f64>,
    target: ControlKnots,
    output: Output,
}

impl Pid {
    /// The feedback of a quantity whose target has knots.
    pub fn new(measurement: PidMeasurement, target: ControlKnots, output: Output) -> Self {
        let (observed, axis) = match measurement {
            PidMeasurement::Joint { q, v } => {
                ([Observed::JointPosition { index: q }, Observed::JointVelocity { index: v }], Vector3::x())
            }
            PidMeasurement::Position { body, relative_to, axis } => (
                [Observed::BodyPosition { body, relative_to }, Observed::BodyVelocity { body, relative_to }],
                axis,
            ),
            PidMeasurement::Rotation { body, relative_to, axis, reference } => (
                [
                    Observed::BodyRotation { body, relative_to, reference },
                    Observed::BodyAngularVelocity { body, relative_to },
                ],
                axis,
            ),
        };
        Self { observed, axis, target, output }
    }
}

impl Controller for Pid {
    fn observed(&self) -> &[Observed] {
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
