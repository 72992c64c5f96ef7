//! Regulation of a grip force to a set point, which slip may raise.

use super::controller::{Controller, Observation};
use super::observed::Observed;
use super::output::Output;
use super::slip::{SlipSense, raised};
use crate::scalar::Scalar;

/// The command k_p e + k_i ∫ e dt with e = set point + r − F: F is the mean normal force of some contacts, and r is
/// what slip has raised, r' = gain · slip − release · r. The parameters are the set point (N), k_p and k_i; with
/// sensors of slip also gain and release.
///
/// Where nothing is touched the integral closes the gripper at the rate k_i times the set point.
#[derive(Clone, Debug, PartialEq)]
pub struct GripForce {
    contacts: usize,
    slip: Option<SlipSense>,
    observed: Vec<Observed>,
    output: Output,
}

impl GripForce {
    /// The regulation of the mean force at contacts, each given by the body that feels it and the other one.
    pub fn new(contacts: &[(usize, usize)], slip: Option<SlipSense>, output: Output) -> Self {
        let forces = contacts.iter().map(|&(on, from)| Observed::NormalForce { on, from });
        let observed = forces.chain(slip.iter().flat_map(SlipSense::observed)).collect();
        Self { contacts: contacts.len(), slip, observed, output }
    }
}

impl Controller for GripForce {
    fn observed(&self) -> &[Observed] {
        &self.observed
    }

    fn controls(&self) -> &[usize] {
        self.output.controls()
    }

    fn parameter_count(&self) -> usize {
        if self.slip.is_some() { 5 } else { 3 }
    }

    fn memory_dimension(&self) -> usize {
        if self.slip.is_some() { 2 } else { 1 }
    }

    fn control<T: Scalar>(
        &self,
        at: &Observation<T>,
        parameters: &[T],
        memory: &mut [T],
        commands: &mut [T],
    ) {
        let (forces, slips) = at.values.split_at(self.contacts);
        let sum = forces.iter().fold(T::from(0.0), |sum, &force| sum + force);
        let mut error = parameters[0] - sum * (1.0 / self.contacts.max(1) as f64);
        if let Some(sense) = &self.slip {
            memory[1] = raised(memory[1], sense.speed(slips), [parameters[3], parameters[4]], at.period);
            error += memory[1];
        }
        memory[0] += error * at.period;
        self.output.add(parameters[1] * error + parameters[2] * memory[0], commands);
    }
}
