//! Regulation of a grip force to a set point, which may change over time and which slip may raise.

use super::controller::{Controller, Observation};
use super::output::Output;
use super::slip::{SlipSense, raised};
use crate::rollout::control_knots::ControlKnots;
use crate::rollout::quantity::Quantity;
use crate::scalar::Scalar;

/// The command k_f a + k_p e + k_i ∫ e dt with a = set point + r, what is aimed at, and e = a − F: F is the mean normal
/// force of some contacts, and r is what slip has raised, r' = gain · slip − release · r. The parameters are the set
/// point at its knots (N), k_p, k_i and the feedforward k_f; with sensors of slip also gain and release.
///
/// Fingers that a force drives reach what is aimed at by the feedforward 1 alone, but for what friction and errors of
/// their drive take away, and follow slip without waiting for the integral. Where nothing is touched the integral closes
/// the gripper at the rate k_i times the set point.
#[derive(Clone, Debug, PartialEq)]
pub struct GripForce {
    contacts: usize,
    set_point: ControlKnots,
    slip: Option<SlipSense>,
    observed: Vec<Quantity>,
    output: Output,
}

impl GripForce {
    /// The regulation of the mean force at contacts, each given by the body that feels it and the other one, to a set
    /// point that has knots.
    pub fn new(
        contacts: &[(usize, usize)],
        set_point: ControlKnots,
        slip: Option<SlipSense>,
        output: Output,
    ) -> Self {
        let forces = contacts.iter().map(|&(on, from)| Quantity::NormalForce { on, from });
        let observed = forces.chain(slip.iter().flat_map(SlipSense::observed)).collect();
        Self { contacts: contacts.len(), set_point, slip, observed, output }
    }
}

impl Controller for GripForce {
    fn observed(&self) -> &[Quantity] {
        &self.observed
    }

    fn controls(&self) -> &[usize] {
        self.output.controls()
    }

    fn parameter_count(&self) -> usize {
        self.set_point.times().len() + if self.slip.is_some() { 5 } else { 3 }
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
        let (set_points, gains) = parameters.split_at(self.set_point.times().len());
        let weights = self.set_point.weights(at.time + 0.5 * at.period);
        let mut aim = weights.fold(T::from(0.0), |sum, (knot, weight)| sum + set_points[knot] * weight);
        if let Some(sense) = &self.slip {
            memory[1] = raised(memory[1], sense.speed(at.time, slips), [gains[3], gains[4]], at.period);
            aim += memory[1];
        }
        let error = aim - sum * (1.0 / self.contacts.max(1) as f64);
        memory[0] += error * at.period;
        self.output.add(gains[2] * aim + gains[0] * error + gains[1] * memory[0], commands);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rollout::KnotInterpolation;
    use crate::scalar::DualArray;

    /// The command of one sample at 0.2 s, with a set point that has knots at 0 and 0.4 s and slip that counts from a
    /// time on, and what is remembered.
    fn sampled<T: Scalar>(from: f64, values: &[T; 8], gains: &[T; 7]) -> (T, [T; 2]) {
        let contacts = [(0, 2), (1, 2)];
        let sense = SlipSense { contacts: contacts.to_vec(), threshold: 0.004, force: 0.3, from };
        let knots = ControlKnots::new(KnotInterpolation::Linear, vec![0.0, 0.4]).expect("knots");
        let law = GripForce::new(&contacts, knots, Some(sense), Output::new([(0, 0.5)]));
        let observed = [values[0], values[4]].into_iter().chain(values.iter().copied()).collect::<Vec<_>>();
        let at = Observation { step: 100, time: 0.199, period: 0.002, values: &observed };
        let (mut memory, mut commands) = ([T::from(0.3), T::from(1.5)], [T::from(0.0)]);
        law.control(&at, gains, &mut memory, &mut commands);
        (commands[0], memory)
    }

    const VALUES: [f64; 8] = [2.2, 0.01, -0.003, 0.02, 1.9, -0.006, 0.004, 0.013];
    const GAINS: [f64; 7] = [2.0, 4.0, 0.7, 6.0, 0.9, 300.0, 2.0];

    #[test]
    fn the_command_is_that_of_its_definition() {
        let slip = |v: &[f64]| {
            let speed = (v[1..].iter().map(|v| v * v).sum::<f64>() + 0.004_f64.powi(2)).sqrt() - 0.004;
            speed * v[0] / (v[0] + 0.3)
        };
        let slipped = 0.5 * (slip(&VALUES[..4]) + slip(&VALUES[4..]));
        let raised = (1.5 + 300.0 * slipped * 0.002) / (1.0 + 2.0 * 0.002);
        let aim = 3.0 + raised;
        let error = aim - 0.5 * (2.2 + 1.9);
        let expected = 0.5 * (0.9 * aim + 0.7 * error + 6.0 * (0.3 + 0.002 * error));
        let (command, memory) = sampled(0.199, &VALUES, &GAINS);
        assert!((command - expected).abs() < 1e-12, "{command} {expected}");
        assert!((memory[0] - 0.3 - 0.002 * error).abs() < 1e-12 && (memory[1] - raised).abs() < 1e-12);
        // What slips before it counts raises nothing.
        let (_, memory) = sampled(0.2, &VALUES, &GAINS);
        assert!((memory[1] - 1.5 / (1.0 + 2.0 * 0.002)).abs() < 1e-12);
    }

    #[test]
    fn derivatives_are_those_of_differences() {
        type Dual = DualArray<15>;
        let mut values = VALUES.map(Dual::from);
        let mut gains = GAINS.map(Dual::from);
        values.iter_mut().chain(&mut gains).enumerate().for_each(|(k, x)| x.eps[k] = 1.0);
        let (command, _) = sampled(0.0, &values, &gains);
        for k in 0..15 {
            let moved = |by: f64| {
                let (mut values, mut gains) = (VALUES, GAINS);
                if k < 8 {
                    values[k] += by;
                } else {
                    gains[k - 8] += by;
                }
                sampled(0.0, &values, &gains).0
            };
            let h = 1e-6;
            let difference = (moved(h) - moved(-h)) / (2.0 * h);
            let found = command.eps[k];
            assert!(
                (found - difference).abs() < 1e-6 * (1.0 + difference.abs()),
                "{k}: {found} {difference}"
            );
        }
    }
}
