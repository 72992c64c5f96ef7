//! Actuators: drives on joint coordinates and forces on free bodies, each with a command.

use super::load::BodyLoad;
use crate::multibody::ModelError;
use crate::multibody::tree::{ComputedTorque, JointKind, Mechanism};
use crate::scalar::Scalar;
use crate::shown::list;

/// How an actuator turns its command u into a force on a coordinate with position q and velocity v.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Drive<T = f64> {
    /// The command is the force, N m or N.
    Force,
    /// A coordinate's part of computed torque: the command is the position that it is led to, by efforts on all joints of its
    /// tree together, with the gains of [`Mechanism::with_computed_torque`]. On its coordinate alone it has no force.
    ComputedTorque,
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

/// What an actuator acts on.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Transmission {
    /// Coordinates of joints, each with its ratio; at least one.
    Joints(Vec<DrivenCoordinate>),
    /// A free body, along a direction: the command is the size of the force or torque, N or N m. The drive is
    /// [`Drive::Force`].
    Body(BodyLoad),
}

/// A drive on one or several joint coordinates, or a force or torque on a free body, with one command.
#[derive(Clone, Debug, PartialEq)]
pub struct Actuator<T = f64> {
    /// Its name, unique in the model.
    pub name: String,
    /// How the command becomes a force.
    pub drive: Drive<T>,
    /// Largest force on each coordinate, N m or N, or largest size of the force or torque on a body; ∞ without a limit.
    /// At the limit the force no longer depends on command and motion, and its derivatives vanish.
    pub effort: T,
    /// What it acts on.
    pub transmission: Transmission,
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
            let follows = found.follows.map(|follows| &mechanism.joints()[follows.joint].name);
            let coordinates = if follows.is_some() { &[] } else { additive_coordinates(&found.kind) };
            let (dv, dq) = coordinates.iter().find(|(v, _)| *v == index).ok_or_else(|| {
                let has: Vec<String> = coordinates.iter().map(|(v, _)| v.to_string()).collect();
                let allowed = if let Some(leader) = follows {
                    format!("it has none, as it follows joint `{leader}`, which can be driven")
                } else if has.is_empty() {
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
        let made = Self { name, drive, effort, transmission: Transmission::Joints(coordinates) };
        made.check(mechanism, |_| false)?;
        Ok(made)
    }

    /// An actuator on a free body, whose command is the size of the load; the effort limits it. A model checks it when it
    /// is made.
    pub fn on_body(name: impl Into<String>, load: BodyLoad, effort: f64) -> Self {
        Self { name: name.into(), drive: Drive::Force, effort, transmission: Transmission::Body(load) }
    }

    /// Checks the numbers of the actuator, and that there is what it acts on.
    pub(super) fn check(
        &self,
        mechanism: &Mechanism,
        is_free: impl Fn(usize) -> bool,
    ) -> Result<(), ModelError> {
        let actuator = || self.name.clone();
        let value = |what, value, good: bool, allowed| {
            let error = || ModelError::ActuatorValue { actuator: actuator(), what, value, allowed };
            if good { Ok(()) } else { Err(error()) }
        };
        let gain = |what, x: f64| value(what, x, x >= 0.0 && x.is_finite(), "at least 0 and finite");
        match self.drive {
            Drive::Force => {}
            Drive::ComputedTorque => {
                let allowed = "infinite, since limits of effort do not apply to computed torque";
                value("its largest effort", self.effort, self.effort == f64::INFINITY, allowed)?;
            }
            Drive::Velocity { damping } => gain("its damping", damping)?,
            Drive::Position { stiffness, damping } => {
                gain("its stiffness", stiffness)?;
                gain("its damping", damping)?;
            }
        }
        value("its largest effort", self.effort, self.effort > 0.0, "positive")?;
        let coordinates = match &self.transmission {
            Transmission::Joints(coordinates) => coordinates,
            Transmission::Body(load) => {
                let what = if !is_free(load.body) {
                    Some("acts on no free body")
                } else if self.drive != Drive::Force {
                    Some("acts on a body, but its command is not the size of a force")
                } else {
                    load.problem()
                };
                return match what {
                    Some(what) => Err(ModelError::BodyLoad { actuator: actuator(), what }),
                    None => Ok(()),
                };
            }
        };
        if coordinates.is_empty() {
            return Err(ModelError::NothingDriven { actuator: actuator() });
        }
        for (i, &DrivenCoordinate { v, q, ratio }) in coordinates.iter().enumerate() {
            value("a ratio", ratio, ratio.is_finite(), "finite")?;
            let driven = mechanism.joints_with_coordinates().flat_map(|joint| {
                let at = |&(dv, dq): &(usize, usize)| (joint.v.start + dv, joint.q.start + dq);
                additive_coordinates(&joint.kind).iter().map(at)
            });
            if !driven.clone().any(|at| at == (v, q)) {
                let allowed = list(driven.map(|(v, q)| format!("({v}, {q})")));
                return Err(ModelError::DrivenPlace { actuator: actuator(), v, q, allowed });
            }
            if coordinates[..i].iter().any(|other| other.v == v) {
                return Err(ModelError::DrivenTwice { actuator: actuator(), v });
            }
        }
        Ok(())
    }
}

impl<T> Actuator<T> {
    /// The coordinates that it drives: none where it acts on a body.
    pub fn coordinates(&self) -> &[DrivenCoordinate] {
        match &self.transmission {
            Transmission::Joints(coordinates) => coordinates,
            Transmission::Body(_) => &[],
        }
    }

    /// The load that it exerts on a free body; `None` where it drives joints.
    pub fn body_load(&self) -> Option<&BodyLoad> {
        match &self.transmission {
            Transmission::Joints(_) => None,
            Transmission::Body(load) => Some(load),
        }
    }
}

impl<T: Scalar> Actuator<T> {
    /// A constant actuator as scalars `T`.
    pub fn lift(a: &Actuator) -> Self {
        Self {
            name: a.name.clone(),
            drive: a.drive.lifted(),
            effort: T::from(a.effort),
            transmission: a.transmission.clone(),
        }
    }

    /// The actuator without its derivatives.
    pub fn real(&self) -> Actuator {
        Actuator {
            name: self.name.clone(),
            drive: self.drive.real(),
            effort: self.effort.real(),
            transmission: self.transmission.clone(),
        }
    }
}

impl Drive {
    /// A constant drive in scalars of another kind.
    pub(super) fn lifted<T: Scalar>(&self) -> Drive<T> {
        match *self {
            Self::Force => Drive::Force,
            Self::ComputedTorque => Drive::ComputedTorque,
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
            Self::ComputedTorque => Drive::ComputedTorque,
            Self::Velocity { damping } => Drive::Velocity { damping: damping.real() },
            Self::Position { stiffness, damping } => {
                Drive::Position { stiffness: stiffness.real(), damping: damping.real() }
            }
        }
    }
}

/// Checks the gains of trees under computed torque, and that each of their coordinates is led by one actuator, and no others.
pub(super) fn check_computed_torque(actuators: &[Actuator], mechanism: &Mechanism) -> Result<(), ModelError> {
    let leading = || actuators.iter().filter(|actuator| actuator.drive == Drive::ComputedTorque);
    for actuator in leading() {
        for at in actuator.coordinates() {
            if mechanism.computed_torque_of(at.v).is_none() {
                let own = mechanism.joints().iter().find(|joint| joint.v.contains(&at.v));
                let joint = own.map_or_else(String::new, |joint| joint.name.clone());
                return Err(ModelError::NotComputedTorque { actuator: actuator.name.clone(), joint });
            }
        }
    }
    for joint in mechanism.joints() {
        for (coordinate, v) in joint.v.clone().enumerate() {
            let Some((_, law)) = mechanism.computed_torque_of(v) else { break };
            let ComputedTorque { stiffness, damping } = law;
            for (field, gain) in [("stiffness", stiffness), ("damping", damping)] {
                if !(gain >= 0.0 && gain.is_finite()) {
                    let what = format!("the {field} of computed torque of joint `{}`", joint.name);
                    return Err(ModelError::Value { what, value: gain, allowed: "at least 0 and finite" });
                }
            }
            let found = leading().flat_map(Actuator::coordinates).filter(|at| at.v == v).count();
            if found != 1 {
                let (joint, kind) = (joint.name.clone(), joint.kind.name());
                return Err(ModelError::NotLed { joint, kind, coordinate, found });
            }
        }
    }
    Ok(())
}
