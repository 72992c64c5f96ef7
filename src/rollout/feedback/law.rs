//! The laws that come with isobar.

use super::controller::{Controller, ControllerCotangent, ControllerPoint, Observation};
use super::grip_force::GripForce;
use super::knot_feedback::KnotFeedback;
use super::knot_law::KnotLaw;
use super::neural_network::NeuralNetwork;
use super::nominal_states::NominalStates;
use super::pid::Pid;
use super::slip_reflex::SlipReflex;
use crate::rollout::quantity::Quantity;
use crate::scalar::Scalar;

/// One of the controllers that scene files can have.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ControlLaw {
    /// A timetable.
    Knots(KnotLaw),
    /// Feedback of a joint's or a body's position.
    Pid(Pid),
    /// Regulation of a grip force.
    GripForce(GripForce),
    /// A command that slip raises.
    SlipReflex(SlipReflex),
    /// Linear feedback about a nominal motion.
    KnotFeedback(KnotFeedback),
    /// A neural network.
    NeuralNetwork(NeuralNetwork),
}

/// Calls a method of whichever law it is.
macro_rules! of_law {
    ($law:expr, $inner:ident => $call:expr) => {
        match $law {
            ControlLaw::Knots($inner) => $call,
            ControlLaw::Pid($inner) => $call,
            ControlLaw::GripForce($inner) => $call,
            ControlLaw::SlipReflex($inner) => $call,
            ControlLaw::KnotFeedback($inner) => $call,
            ControlLaw::NeuralNetwork($inner) => $call,
        }
    };
}

impl Controller for ControlLaw {
    fn observed(&self) -> &[Quantity] {
        of_law!(self, law => law.observed())
    }

    fn nominal(&self) -> Option<&NominalStates> {
        of_law!(self, law => law.nominal())
    }

    fn controls(&self) -> &[usize] {
        of_law!(self, law => law.controls())
    }

    fn parameter_count(&self) -> usize {
        of_law!(self, law => law.parameter_count())
    }

    fn memory_dimension(&self) -> usize {
        of_law!(self, law => law.memory_dimension())
    }

    fn control<T: Scalar>(
        &self,
        at: &Observation<T>,
        parameters: &[T],
        memory: &mut [T],
        commands: &mut [T],
    ) {
        of_law!(self, law => law.control(at, parameters, memory, commands));
    }

    fn add_vjp(&self, at: &ControllerPoint<'_>, by_commands: &[f64], by: &mut ControllerCotangent<'_>) {
        of_law!(self, law => law.add_vjp(at, by_commands, by));
    }
}
