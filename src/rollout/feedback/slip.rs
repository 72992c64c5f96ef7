//! How a gripper feels that something slips.

use super::nominal_states::SAME_TIME;
use crate::rollout::quantity::Quantity;
use crate::scalar::Scalar;

/// Sensors of slip at some contacts. The slip of one is (√(v² + v₀²) − v₀) F / (F + F₀), with the slip velocity v
/// and the normal force F: smooth everywhere, quadratic for creep below the threshold v₀, and nothing where contact
/// begins, so that touching does not count as slipping. Before a time that is given nothing counts: while a gripper
/// closes, what it pushes into its middle slides along its pads.
#[derive(Clone, Debug, PartialEq)]
pub struct SlipSense {
    /// Each contact by the body that feels it and the other one.
    pub contacts: Vec<(usize, usize)>,
    /// The threshold v₀, m/s; positive.
    pub threshold: f64,
    /// The force F₀, N; positive.
    pub force: f64,
    /// The time from which on slip counts, s.
    pub from: f64,
}

impl SlipSense {
    /// What it observes: of each contact the normal force and the slip velocity.
    pub(super) fn observed(&self) -> Vec<Quantity> {
        let of = |&(on, from): &(usize, usize)| {
            [Quantity::NormalForce { on, from }, Quantity::SlipVelocity { on, from }]
        };
        self.contacts.iter().flat_map(of).collect()
    }

    /// The mean slip of the contacts, m/s, from what was observed at a time in s.
    pub(super) fn speed<T: Scalar>(&self, time: f64, observed: &[T]) -> T {
        let mut sum = T::from(0.0);
        if time < self.from - SAME_TIME {
            return sum;
        }
        for contact in observed.chunks_exact(4) {
            let force = contact[0];
            let square = contact[1..].iter().fold(T::from(0.0), |sum, &v| sum + v * v);
            let speed = (square + self.threshold * self.threshold).sqrt() - self.threshold;
            // An error of the sensor must not make the force negative; below zero there is no contact.
            if force.real() > 0.0 {
                sum += speed * force * (force + self.force).recip();
            }
        }
        sum * (1.0 / self.contacts.len().max(1) as f64)
    }
}

/// What slip raises: r' = gain · slip − release · r, by an implicit step, which is stable whatever the release is.
pub(super) fn raised<T: Scalar>(before: T, slip: T, [gain, release]: [T; 2], period: f64) -> T {
    (before + gain * slip * period) * (release * period + 1.0).recip()
}
