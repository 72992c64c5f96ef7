//! Forces along single joint coordinates: the drives that actuators turn commands into, and the
//! stops at the ends of a joint's range.

use super::model_error::ModelError;
use super::tree::{JointKind, Mechanism};
use crate::contact::hunt_crossley_cost;
use crate::scalar::{DualArray, Scalar};

/// How an actuator turns its command u into a force on a coordinate with position q and velocity v.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Drive<T = f64> {
    /// The command is the force, N m or N.
    Force,
    /// A velocity servo: force damping (u − v).
    Velocity {
        /// Gain, N m s/rad or N s/m.
        damping: T,
    },
    /// A position servo: force stiffness (u − q) − damping v.
    Position {
        /// Gain on the position, N m/rad or N/m.
        stiffness: T,
        /// Gain on the velocity, N m s/rad or N s/m.
        damping: T,
    },
}

/// The derivatives of one number with respect to a stiffness and a damping.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct GainGradient {
    /// With respect to the stiffness.
    pub stiffness: f64,
    /// With respect to the damping.
    pub damping: f64,
}

impl GainGradient {
    /// Adds `by` times the derivative `factor`, by the chain rule.
    pub(crate) fn add(&mut self, by: &Self, factor: f64) {
        self.stiffness += by.stiffness * factor;
        self.damping += by.damping * factor;
    }
}

/// A joint coordinate that an actuator drives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DrivenCoordinate {
    /// Its index among the velocity coordinates.
    pub v: usize,
    /// Its index among the configuration coordinates.
    pub q: usize,
    /// The factor on the command for this coordinate. Two fingers that close against each other along
    /// the same axis have the factors 1 and −1.
    pub ratio: f64,
}

/// A drive on one or several joint coordinates, with one command.
#[derive(Clone, Debug, PartialEq)]
pub struct Actuator<T = f64> {
    /// Its name, unique in the model.
    pub name: String,
    /// How the command becomes a force.
    pub drive: Drive<T>,
    /// Largest force on each coordinate, N m or N; ∞ without a limit. At the limit the force no longer
    /// depends on command and motion, and its derivatives vanish.
    pub effort: f64,
    /// The coordinates that it drives.
    pub coordinates: Vec<DrivenCoordinate>,
}

/// The coordinates of a joint whose configuration is a sum of moves: all but the rotations of ball and
/// free joints. By their indices in the joint's velocity and configuration.
fn additive_coordinates(kind: &JointKind) -> &'static [(usize, usize)] {
    match kind {
        JointKind::Fixed | JointKind::Ball => &[],
        JointKind::Revolute { .. } | JointKind::Prismatic { .. } => &[(0, 0)],
        JointKind::Planar => &[(0, 0), (1, 1), (2, 2)],
        JointKind::Free => &[(3, 4), (4, 5), (5, 6)],
    }
}

impl Actuator {
    /// An actuator on joints, each by its name, the velocity coordinate of the joint (0 for joints
    /// that have one), and the ratio of its command.
    ///
    /// # Errors
    /// When a joint or coordinate does not exist, no coordinate or one coordinate twice is given, a gain
    /// is negative, or the limit is not positive.
    pub fn new(
        name: impl Into<String>,
        mechanism: &Mechanism,
        joints: &[(&str, usize, f64)],
        drive: Drive,
        effort: f64,
    ) -> Result<Self, ModelError> {
        let name = name.into();
        let resolve = |&(joint, index, ratio): &(&str, usize, f64)| {
            let known =
                || mechanism.joints().iter().map(|j| format!("`{}`", j.name)).collect::<Vec<_>>().join(", ");
            let found = mechanism.joint_index(joint).map(|i| &mechanism.joints()[i]).ok_or_else(|| {
                ModelError::NoJoint { actuator: name.clone(), joint: joint.to_owned(), known: known() }
            })?;
            let coordinates = additive_coordinates(&found.kind);
            let (dv, dq) = coordinates.iter().find(|(v, _)| *v == index).ok_or_else(|| {
                let has: Vec<String> = coordinates.iter().map(|(v, _)| v.to_string()).collect();
                let allowed = if has.is_empty() {
                    "it has none".to_owned()
                } else {
                    format!("it has {}", has.join(", "))
                };
                ModelError::NoCoordinate {
                    actuator: name.clone(),
                    joint: joint.to_owned(),
                    kind: found.kind.name(),
                    index,
                    allowed,
                }
            })?;
            Ok(DrivenCoordinate { v: found.v.start + dv, q: found.q.start + dq, ratio })
        };
        let coordinates = joints.iter().map(resolve).collect::<Result<Vec<_>, _>>()?;
        let made = Self { name, drive, effort, coordinates };
        made.check(mechanism)?;
        Ok(made)
    }

    /// Checks the numbers of the actuator, and that the mechanism has its coordinates.
    pub(super) fn check(&self, mechanism: &Mechanism) -> Result<(), ModelError> {
        let actuator = || self.name.clone();
        let value = |what, value, good: bool, allowed| {
            let error = || ModelError::ActuatorValue { actuator: actuator(), what, value, allowed };
            if good { Ok(()) } else { Err(error()) }
        };
        let gain = |what, x: f64| value(what, x, x >= 0.0 && x.is_finite(), "at least 0 and finite");
        match self.drive {
            Drive::Force => {}
            Drive::Velocity { damping } => gain("its damping", damping)?,
            Drive::Position { stiffness, damping } => {
                gain("its stiffness", stiffness)?;
                gain("its damping", damping)?;
            }
        }
        value("its largest effort", self.effort, self.effort > 0.0, "positive")?;
        if self.coordinates.is_empty() {
            return Err(ModelError::NothingDriven { actuator: actuator() });
        }
        for (i, &DrivenCoordinate { v, q, ratio }) in self.coordinates.iter().enumerate() {
            value("a ratio", ratio, ratio.is_finite(), "finite")?;
            let driven = mechanism.joints().iter().flat_map(|joint| {
                let at = |&(dv, dq): &(usize, usize)| (joint.v.start + dv, joint.q.start + dq);
                additive_coordinates(&joint.kind).iter().map(at)
            });
            if !driven.clone().any(|at| at == (v, q)) {
                let allowed: Vec<String> = driven.map(|(v, q)| format!("({v}, {q})")).collect();
                let allowed = if allowed.is_empty() { "none".to_owned() } else { allowed.join(", ") };
                return Err(ModelError::DrivenPlace { actuator: actuator(), v, q, allowed });
            }
            if self.coordinates[..i].iter().any(|other| other.v == v) {
                return Err(ModelError::DrivenTwice { actuator: actuator(), v });
            }
        }
        Ok(())
    }
}

impl<T: Scalar> Actuator<T> {
    /// A constant actuator as scalars `T`.
    pub fn lift(a: &Actuator) -> Self {
        Self {
            name: a.name.clone(),
            drive: a.drive.lifted(),
            effort: a.effort,
            coordinates: a.coordinates.clone(),
        }
    }

    /// The actuator without its derivatives.
    pub fn real(&self) -> Actuator {
        Actuator {
            name: self.name.clone(),
            drive: self.drive.real(),
            effort: self.effort,
            coordinates: self.coordinates.clone(),
        }
    }
}

impl Drive {
    /// A constant drive in scalars of another kind.
    fn lifted<T: Scalar>(&self) -> Drive<T> {
        match *self {
            Self::Force => Drive::Force,
            Self::Velocity { damping } => Drive::Velocity { damping: T::from(damping) },
            Self::Position { stiffness, damping } => {
                Drive::Position { stiffness: T::from(stiffness), damping: T::from(damping) }
            }
        }
    }
}

impl<T: Scalar> Drive<T> {
    fn real(&self) -> Drive {
        match self {
            Self::Force => Drive::Force,
            Self::Velocity { damping } => Drive::Velocity { damping: damping.real() },
            Self::Position { stiffness, damping } => {
                Drive::Position { stiffness: stiffness.real(), damping: damping.real() }
            }
        }
    }
}

/// The law of a force along one joint coordinate. The force decreases with the position and the velocity
/// of the coordinate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum JointLaw<T = f64> {
    /// The force of an actuator.
    Drive { drive: Drive<T>, effort: f64, command: T },
    /// The force of the stop at an end of the range: stiffness x (1 − dissipation ẋ₋)₊ at a distance x
    /// beyond that end.
    Stop { end: f64, upper: bool, stiffness: f64, dissipation: f64 },
}

/// The indices of the coordinate that a [`JointLaw`] acts on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct CoordinateIndices {
    /// The velocity coordinate.
    pub v: usize,
    /// The configuration coordinate.
    pub q: usize,
    /// The control value that is the command, and its ratio; `None` for stops.
    pub command: Option<(usize, f64)>,
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
                    Drive::Velocity { damping } => damping * (command - v),
                    Drive::Position { stiffness, damping } => stiffness * (command - q) - damping * v,
                };
                if force.real().abs() <= effort { force } else { T::from(effort.copysign(force.real())) }
            }
            Self::Stop { end, upper, stiffness, dissipation } => {
                let sign = if upper { 1.0 } else { -1.0 };
                let beyond = (q - end) * sign;
                let damping = v * (sign * dissipation) + 1.0;
                if beyond.real() <= 0.0 || damping.real() <= 0.0 {
                    T::from(0.0)
                } else {
                    beyond * damping * (-sign * stiffness)
                }
            }
        }
    }

    /// The impulse over a step of `dt` seconds, with position and velocity at its end: `q` is the
    /// position at its start, `v` the velocity at its end.
    pub fn impulse(&self, dt: f64, q: T, v: T) -> T {
        self.force(q + v * dt, v) * dt
    }
}

impl JointLaw<f64> {
    /// The magnitude of the terms that cancel in the force at a position: stiffness times position. The
    /// rounding of the force is relative to it.
    pub fn cancelled_force(&self, q: f64) -> f64 {
        match *self {
            Self::Drive { drive: Drive::Position { stiffness, .. }, command, .. } => {
                stiffness * (q.abs() + command.abs())
            }
            Self::Drive { .. } => 0.0,
            Self::Stop { end, stiffness, .. } => stiffness * (q.abs() + end.abs()),
        }
    }

    /// The derivatives of a function of the law, such as [`JointLaw::force`], with respect to position,
    /// velocity and command (0 for stops).
    pub fn slopes(
        &self,
        function: impl FnOnce(&JointLaw<DualArray<3>>, DualArray<3>, DualArray<3>) -> DualArray<3>,
        q: f64,
        v: f64,
    ) -> [f64; 3] {
        let lifted = match *self {
            Self::Drive { drive, effort, command } => {
                JointLaw::Drive { drive: drive.lifted(), effort, command: DualArray::variable(command, 2) }
            }
            Self::Stop { end, upper, stiffness, dissipation } => {
                JointLaw::Stop { end, upper, stiffness, dissipation }
            }
        };
        function(&lifted, DualArray::variable(q, 0), DualArray::variable(v, 1)).eps
    }

    /// The derivatives of a function of the law, such as [`JointLaw::force`], with respect to the gains
    /// of its drive (0 for those that it does not have, and for stops).
    pub fn gain_slopes(
        &self,
        function: impl FnOnce(&JointLaw<DualArray<2>>, DualArray<2>, DualArray<2>) -> DualArray<2>,
        q: f64,
        v: f64,
    ) -> GainGradient {
        let Self::Drive { drive, effort, command } = *self else { return GainGradient::default() };
        let (stiff, damped) = (|x| DualArray::variable(x, 0), |x| DualArray::variable(x, 1));
        let drive = match drive {
            Drive::Force => Drive::Force,
            Drive::Velocity { damping } => Drive::Velocity { damping: damped(damping) },
            Drive::Position { stiffness, damping } => {
                Drive::Position { stiffness: stiff(stiffness), damping: damped(damping) }
            }
        };
        let lifted = JointLaw::Drive { drive, effort, command: DualArray::constant(command) };
        let [stiffness, damping] = function(&lifted, DualArray::constant(q), DualArray::constant(v)).eps;
        GainGradient { stiffness, damping }
    }

    /// The cost in J whose negative derivative with respect to the velocity is [`JointLaw::impulse`].
    /// The cost of a drive is zero at the velocity at which the drive's force vanishes, or at velocity 0
    /// if the force does not depend on the velocity.
    pub fn cost(&self, dt: f64, q: f64, v: f64) -> f64 {
        match *self {
            Self::Drive { drive, effort, command } => {
                // The force is clamped(a − b v).
                let (a, b) = match drive {
                    Drive::Force => (command, 0.0),
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
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;

    const LAWS: [JointLaw; 6] = [
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
