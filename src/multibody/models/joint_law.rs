//! Forces along single joint coordinates: those of actuators, those of the stops at the ends of a joint's
//! range, and friction.

use super::actuator::{Actuator, Drive, DrivenCoordinate};
use crate::contact::hunt_crossley_cost;
use crate::multibody::tree::JointState;
use crate::scalar::{DualArray, Scalar};

/// The law of a force along one joint coordinate. The force decreases with the position and the velocity
/// of the coordinate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum JointLaw<T = f64> {
    /// The force of an actuator.
    Drive { drive: Drive<T>, effort: T, command: T },
    /// The force of the stop at an end of the range: stiffness x (1 − dissipation ẋ₋)₊ at a distance x
    /// beyond that end.
    Stop { end: T, upper: bool, stiffness: T, dissipation: T },
    /// Coulomb friction, regularized as friction of contact is: −friction v/√(v² + v_s²) with the stiction
    /// velocity v_s.
    Friction { friction: T, stiction_velocity: T },
}

/// What a [`JointLaw`] belongs to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum LawOrigin {
    /// An actuator, whose command is the control value with this index, times a ratio.
    Drive { actuator: usize, ratio: f64 },
    /// A joint's stop, at the upper or the lower end.
    Stop { joint: usize, upper: bool },
    /// A joint's friction.
    Friction { joint: usize },
}

/// The indices of the coordinate that a [`JointLaw`] acts on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct CoordinateIndices {
    /// The velocity coordinate.
    pub v: usize,
    /// The configuration coordinate.
    pub q: usize,
    /// What the law belongs to.
    pub origin: LawOrigin,
}

impl CoordinateIndices {
    /// The control value that is the command, and its ratio; `None` for all but actuators.
    pub fn command(&self) -> Option<(usize, f64)> {
        match self.origin {
            LawOrigin::Drive { actuator, ratio } => Some((actuator, ratio)),
            LawOrigin::Stop { .. } | LawOrigin::Friction { .. } => None,
        }
    }
}

/// A force within a limit of effort. Beyond it, it no longer follows what it comes from; at the limit it still does.
pub(in crate::multibody) fn limited<T: Scalar>(force: T, effort: T) -> T {
    match force.real() {
        real if real.abs() <= effort.real() => force,
        real if real > 0.0 => effort,
        _ => -effort,
    }
}

impl<T: Scalar> JointLaw<T> {
    /// The force at a position and a velocity.
    ///
    /// The force is not smooth where an effort limit or a stop is reached; there the derivative is
    /// one-sided.
    pub fn force(&self, q: T, v: T) -> T {
        match *self {
            Self::Drive { drive, effort, command } => {
                let force = match drive {
                    Drive::Force => command,
                    // It acts on the tree as a whole.
                    Drive::ComputedTorque => T::from(0.0),
                    Drive::Velocity { damping } => damping * (command - v),
                    Drive::Position { stiffness, damping } => stiffness * (command - q) - damping * v,
                };
                limited(force, effort)
            }
            Self::Stop { end, upper, stiffness, dissipation } => {
                let sign = if upper { 1.0 } else { -1.0 };
                let beyond = (q - end) * sign;
                let damping = v * dissipation * sign + 1.0;
                if beyond.real() <= 0.0 || damping.real() <= 0.0 {
                    T::from(0.0)
                } else {
                    beyond * damping * stiffness * -sign
                }
            }
            // The square root is of no less than v_s².
            Self::Friction { friction, stiction_velocity } => {
                -friction * v / (v * v + stiction_velocity * stiction_velocity).sqrt()
            }
        }
    }

    /// The impulse over a step of `dt` seconds, with position and velocity at its end: `q` is the
    /// position at its start, `v` the velocity at its end.
    pub fn impulse(&self, dt: T, q: T, v: T) -> T {
        self.force(q + v * dt, v) * dt
    }
}

impl<T: Scalar> Actuator<T> {
    /// The law of its force on one of its coordinates under a command.
    pub(crate) fn law(&self, at: &DrivenCoordinate, command: T) -> JointLaw<T> {
        JointLaw::Drive { drive: self.drive, effort: self.effort, command: command * at.ratio }
    }

    /// The force with which it acts on one of its coordinates in a state of the joints, under a command: what a
    /// sensor of the motor's effort measures, N m or N. At the limit of effort its derivatives are one-sided. Of
    /// [`Drive::ComputedTorque`], whose efforts are those of the tree as a whole, it is 0.
    ///
    /// # Panics
    /// When the state does not have the coordinate.
    pub fn force(&self, at: &DrivenCoordinate, command: T, joints: &JointState<T>) -> T {
        self.law(at, command).force(joints.q[at.q], joints.v[at.v])
    }
}

impl JointLaw<f64> {
    /// Whether the force is nothing in all states.
    pub fn is_nothing(&self) -> bool {
        matches!(
            *self,
            Self::Friction { friction: 0.0, .. } | Self::Drive { drive: Drive::ComputedTorque, .. }
        )
    }

    /// The magnitude of the terms that cancel in the force at a position: stiffness times position. The
    /// rounding of the force is relative to it.
    pub fn cancelled_force(&self, q: f64) -> f64 {
        match *self {
            Self::Drive { drive: Drive::Position { stiffness, .. }, command, .. } => {
                stiffness * (q.abs() + command.abs())
            }
            Self::Drive { .. } | Self::Friction { .. } => 0.0,
            Self::Stop { end, stiffness, .. } => stiffness * (q.abs() + end.abs()),
        }
    }

    /// The derivatives of a function of the law, such as [`JointLaw::force`], with respect to position,
    /// velocity and command (0 for all but drives).
    pub fn slopes(
        &self,
        function: impl FnOnce(&JointLaw<DualArray<3>>, DualArray<3>, DualArray<3>) -> DualArray<3>,
        q: f64,
        v: f64,
    ) -> [f64; 3] {
        let lifted = match *self {
            Self::Drive { drive, effort, command } => JointLaw::Drive {
                drive: drive.lifted(),
                effort: DualArray::constant(effort),
                command: DualArray::variable(command, 2),
            },
            Self::Stop { end, upper, stiffness, dissipation } => JointLaw::Stop {
                end: DualArray::constant(end),
                upper,
                stiffness: DualArray::constant(stiffness),
                dissipation: DualArray::constant(dissipation),
            },
            Self::Friction { friction, stiction_velocity } => JointLaw::Friction {
                friction: DualArray::constant(friction),
                stiction_velocity: DualArray::constant(stiction_velocity),
            },
        };
        function(&lifted, DualArray::variable(q, 0), DualArray::variable(v, 1)).eps
    }

    /// The derivatives of a function of the law, such as [`JointLaw::force`], with respect to its own
    /// numbers: stiffness, damping and limit of effort of a drive (0 for a gain that it does not have); end,
    /// stiffness and dissipation of a stop; friction and stiction velocity, the first two of three.
    pub fn number_slopes(
        &self,
        function: impl FnOnce(&JointLaw<DualArray<3>>, DualArray<3>, DualArray<3>) -> DualArray<3>,
        q: f64,
        v: f64,
    ) -> [f64; 3] {
        let number = DualArray::variable;
        let lifted = match *self {
            Self::Drive { drive, effort, command } => {
                let drive = match drive {
                    Drive::Force => Drive::Force,
                    Drive::ComputedTorque => Drive::ComputedTorque,
                    Drive::Velocity { damping } => Drive::Velocity { damping: number(damping, 1) },
                    Drive::Position { stiffness, damping } => {
                        Drive::Position { stiffness: number(stiffness, 0), damping: number(damping, 1) }
                    }
                };
                JointLaw::Drive { drive, effort: number(effort, 2), command: DualArray::constant(command) }
            }
            Self::Stop { end, upper, stiffness, dissipation } => JointLaw::Stop {
                end: number(end, 0),
                upper,
                stiffness: number(stiffness, 1),
                dissipation: number(dissipation, 2),
            },
            Self::Friction { friction, stiction_velocity } => JointLaw::Friction {
                friction: number(friction, 0),
                stiction_velocity: number(stiction_velocity, 1),
            },
        };
        function(&lifted, DualArray::constant(q), DualArray::constant(v)).eps
    }

    /// The cost in J whose negative derivative with respect to the velocity is [`JointLaw::impulse`].
    /// The cost of a drive is zero at the velocity at which the drive's force vanishes, or at velocity 0
    /// if the force does not depend on the velocity; that of friction is zero at rest.
    pub fn cost(&self, dt: f64, q: f64, v: f64) -> f64 {
        match *self {
            Self::Drive { drive, effort, command } => {
                // The force is clamped(a − b v).
                let (a, b) = match drive {
                    Drive::Force => (command, 0.0),
                    Drive::ComputedTorque => return 0.0,
                    Drive::Velocity { damping } => (damping * command, damping),
                    Drive::Position { stiffness, damping } => {
                        (stiffness * (command - q), stiffness * dt + damping)
                    }
                };
                if b == 0.0 {
                    return -dt * a.clamp(-effort, effort) * v;
                }
                let force = (a - b * v).abs();
                let integral =
                    if force <= effort { 0.5 * force * force } else { effort * (force - 0.5 * effort) };
                dt * integral / b
            }
            Self::Stop { end, upper, stiffness, dissipation } => {
                let sign = if upper { 1.0 } else { -1.0 };
                let load = stiffness * (q - end) * sign;
                hunt_crossley_cost(dt, load, stiffness, dissipation, -sign * v)
            }
            // √(v² + v_s²) − v_s, without the difference of like numbers.
            Self::Friction { friction, stiction_velocity } => {
                dt * friction * v * v / (v.hypot(stiction_velocity) + stiction_velocity)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;

    const LAWS: [JointLaw; 8] = [
        JointLaw::Drive { drive: Drive::Force, effort: 5.0, command: 2.0 },
        JointLaw::Drive { drive: Drive::Velocity { damping: 3.0 }, effort: 2.0, command: 0.3 },
        JointLaw::Drive {
            drive: Drive::Position { stiffness: 200.0, damping: 4.0 },
            effort: 6.0,
            command: 0.11,
        },
        JointLaw::Stop { end: 0.08, upper: true, stiffness: 1e4, dissipation: 0.7 },
        JointLaw::Stop { end: 0.12, upper: false, stiffness: 1e4, dissipation: 0.7 },
        JointLaw::Stop { end: 0.2, upper: true, stiffness: 1e4, dissipation: 0.7 },
        JointLaw::Friction { friction: 3.0, stiction_velocity: 0.2 },
        JointLaw::Friction { friction: 0.4, stiction_velocity: 1e-3 },
    ];

    #[test]
    fn the_cost_is_the_integral_of_the_impulse() {
        for law in LAWS {
            for v in [-2.3, -1.1, -0.31, 0.02, 0.57, 1.9] {
                let (dt, q, h) = (3e-3, 0.1, 1e-6);
                let slope = (law.cost(dt, q, v + h) - law.cost(dt, q, v - h)) / (2.0 * h);
                assert_relative_eq!(-slope, law.impulse(dt, q, v), epsilon = 1e-8, max_relative = 1e-7);
            }
        }
    }

    #[test]
    fn the_impulse_never_grows_with_the_velocity() {
        for law in LAWS {
            let impulses: Vec<f64> =
                (-200..200).map(|i| law.impulse(3e-3, 0.1, 0.013 * f64::from(i))).collect();
            assert!(impulses.windows(2).all(|w| w[1] <= w[0] + 1e-15), "{law:?}");
        }
    }
}
