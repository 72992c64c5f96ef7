//! The law of computed torque, by which the drives of a tree of bodies cancel all that acts on it by itself.
//!
//! Computed torque are the efforts of inverse dynamics,
//!
//! > τ = M(q) a + C(q, v) v − τ_g + D v + K (q − q_rest), a = stiffness (u − q) − damping v
//!
//! with commanded positions u (Siciliano, Sciavicco, Villani and Oriolo 2009, *Robotics: Modelling, Planning and
//! Control*, §8.5.2, inverse dynamics control). What they take beside M(q) a cancels the forces that depend on the motion,
//! gravity, and the joints' own damping and springs. In such trees these forces do not act, and M(q) (v̇ − a) = τ + Σ Jᵀ f is
//! left of the balance: without other forces every coordinate follows v̇ = stiffness (u − q) − damping v, whatever the
//! configuration and whatever the others do. Friction and stops of joints are not cancelled.
//!
//! The gains are the same for all coordinates of a tree: M(q) times a matrix of different gains would not be symmetric, and an
//! implicit step would not be the minimum of a cost.

use crate::scalar::Scalar;

/// The linear law that the coordinates of a tree under computed torque follow:
/// acceleration = stiffness (u − q) − damping v, with the commanded position u.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ComputedTorque<T = f64> {
    /// Acceleration for each deviation from the commanded position, 1/s².
    pub stiffness: T,
    /// Deceleration for each velocity, 1/s.
    pub damping: T,
}

impl ComputedTorque {
    /// The law of a damped oscillator: with the natural frequency ω in rad/s and the damping ratio ζ the stiffness is ω² and
    /// the damping 2 ζ ω. At a ratio of 1 it comes to the command as fast as it can without overshoot.
    pub fn oscillator(natural_frequency: f64, damping_ratio: f64) -> Self {
        Self {
            stiffness: natural_frequency * natural_frequency,
            damping: 2.0 * damping_ratio * natural_frequency,
        }
    }

    /// Constant gains as scalars `T`.
    pub(super) fn lifted<T: Scalar>(&self) -> ComputedTorque<T> {
        ComputedTorque { stiffness: T::from(self.stiffness), damping: T::from(self.damping) }
    }
}

impl<T: Scalar> ComputedTorque<T> {
    /// The law without its derivatives.
    pub(super) fn real(&self) -> ComputedTorque {
        ComputedTorque { stiffness: self.stiffness.real(), damping: self.damping.real() }
    }

    /// The acceleration towards a commanded position, from a position and a velocity.
    pub fn acceleration(&self, command: T, q: T, v: T) -> T {
        self.stiffness * (command - q) - self.damping * v
    }

    /// What the mass matrix is multiplied by in a step of `time_step` seconds that takes the law at its end,
    /// s = 1 + δt damping + δt² stiffness: M (v⁺ − v) = δt M (stiffness (u − q − δt v⁺) − damping v⁺) is
    /// s M v⁺ = M (v + δt stiffness (u − q)).
    pub fn step_factor(&self, time_step: T) -> T {
        (self.stiffness * time_step + self.damping) * time_step + 1.0
    }
}
