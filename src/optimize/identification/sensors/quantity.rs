//! What a channel of a sensor measures, as a function of the state, in any scalar.

use nalgebra::Vector3;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::multibody::tree::{JointState, Mechanism};
use crate::multibody::{Actuator, DrivenCoordinate, JointKinematics, Model, Motion, State, rotation_between};
use crate::optimize::error::ProblemError;
use crate::optimize::identification::{body_index, parameter_path::listed};
use crate::scalar::Scalar;
use crate::spatial::Quaternion;

/// A quantity that sensors measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QuantityKind {
    /// Position of a body's origin in the world, m: three columns.
    Position,
    /// Orientation of a body in the world: the four columns w, x, y, z of a unit quaternion.
    Orientation,
    /// Velocity of a body's origin, along the world's axes, m/s: three columns.
    LinearVelocity,
    /// Angular velocity of a body, along the world's axes, rad/s: three columns.
    AngularVelocity,
    /// Position of a joint with one coordinate, rad or m.
    JointPosition,
    /// Velocity of a joint with one coordinate, rad/s or m/s.
    JointVelocity,
    /// Force of an actuator on a joint that it drives, N m or N.
    ActuatorForce,
}

impl QuantityKind {
    /// Its name in a file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Position => "position",
            Self::Orientation => "orientation",
            Self::LinearVelocity => "linear_velocity",
            Self::AngularVelocity => "angular_velocity",
            Self::JointPosition => "joint_position",
            Self::JointVelocity => "joint_velocity",
            Self::ActuatorForce => "actuator_force",
        }
    }

    /// The names of its columns in files of `isobar simulate`, after the name of the body or joint and a dot; those of
    /// forces of actuators, which such files do not have, after the actuator's.
    pub fn columns(self) -> &'static [&'static str] {
        match self {
            Self::Position => &["px_m", "py_m", "pz_m"],
            Self::Orientation => &["qw", "qx", "qy", "qz"],
            Self::LinearVelocity => &["vx_m_s", "vy_m_s", "vz_m_s"],
            Self::AngularVelocity => &["wx_rad_s", "wy_rad_s", "wz_rad_s"],
            Self::JointPosition => &["q"],
            Self::JointVelocity => &["v"],
            Self::ActuatorForce => &["force"],
        }
    }

    /// Number of independent numbers in a deviation from it: three of orientations, a rotation vector.
    pub fn dimension(self) -> usize {
        self.columns().len().min(3)
    }

    /// The unit of its deviations.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Position => "m",
            Self::Orientation => "rad",
            Self::LinearVelocity => "m/s",
            Self::AngularVelocity => "rad/s",
            Self::JointPosition => "rad or m",
            Self::JointVelocity => "rad/s or m/s",
            Self::ActuatorForce => "N m or N",
        }
    }
}

/// A quantity of a model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Quantity {
    pub kind: QuantityKind,
    of: Place,
}

/// Where it is measured.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    /// A free body, by its index among these.
    Free(usize),
    /// A link, by its index in the mechanism.
    Link(usize),
    /// A coordinate of a joint: its indices in configuration and velocity.
    Joint { q: usize, v: usize },
    /// An actuator, and one of its coordinates.
    Actuator { actuator: usize, at: DrivenCoordinate },
}

/// A value of a quantity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Reading<T> {
    /// A vector, or in its first coordinate a number.
    Vector(Vector3<T>),
    Rotation(Quaternion<T>),
}

/// A moment of a motion, with what readings take of the model.
#[derive(Debug)]
pub(super) struct Observed<'a, T> {
    pub mechanism: &'a Mechanism<T>,
    pub actuators: &'a [Actuator<T>],
    pub state: &'a State<T>,
    /// The commands of the actuators over the step that ended there.
    pub commands: &'a [f64],
}

impl Quantity {
    /// The quantity of a body, joint or actuator with this name; `joint` tells which of several joints of an actuator.
    ///
    /// # Errors
    /// When the model does not have it.
    pub fn of(
        model: &Model,
        kind: QuantityKind,
        name: &str,
        joint: Option<&str>,
    ) -> Result<Self, ProblemError> {
        let of = match kind {
            QuantityKind::Position
            | QuantityKind::Orientation
            | QuantityKind::LinearVelocity
            | QuantityKind::AngularVelocity => {
                let index = body_index(model, name)?;
                let free = |i: &usize| model.bodies[*i].is_free();
                match model.bodies[index].motion {
                    Motion::Free { .. } => Place::Free((0..index).filter(free).count()),
                    Motion::Link { link } => Place::Link(link),
                    Motion::Fixed { .. } => return Err(ProblemError::FixedBody { name: name.to_owned() }),
                }
            }
            QuantityKind::JointPosition | QuantityKind::JointVelocity => {
                let joints = model.mechanism.joints();
                let single = joints.iter().filter(|joint| joint.v.len() == 1 && joint.q.len() == 1);
                let found = single.clone().find(|joint| joint.name == name);
                let found = found.ok_or_else(|| ProblemError::NoSuchPart {
                    what: "joint with one coordinate",
                    name: name.to_owned(),
                    found: listed(single.map(|joint| joint.name.as_str())),
                })?;
                Place::Joint { q: found.q.start, v: found.v.start }
            }
            QuantityKind::ActuatorForce => {
                let actuator = model.actuators.iter().position(|actuator| actuator.name == name);
                let actuator = actuator.ok_or_else(|| ProblemError::NoSuchPart {
                    what: "actuator",
                    name: name.to_owned(),
                    found: listed(model.actuators.iter().map(|actuator| actuator.name.as_str())),
                })?;
                let driven = &model.actuators[actuator].coordinates;
                let name_of = |at: &DrivenCoordinate| {
                    let own = model.mechanism.joints().iter().find(|joint| joint.v.contains(&at.v));
                    own.map_or("?", |joint| joint.name.as_str())
                };
                let at = match joint {
                    Some(joint) => driven.iter().find(|at| name_of(at) == joint),
                    None => driven.first().filter(|_| driven.len() == 1),
                };
                let at = *at.ok_or_else(|| ProblemError::NoSuchPart {
                    what: "joint driven by the actuator (`joint`)",
                    name: joint.unwrap_or("").to_owned(),
                    found: listed(driven.iter().map(name_of)),
                })?;
                Place::Actuator { actuator, at }
            }
        };
        Ok(Self { kind, of })
    }

    /// The actuator whose force it is, and the coordinate.
    pub fn actuator(&self) -> Option<(usize, DrivenCoordinate)> {
        match self.of {
            Place::Actuator { actuator, at } => Some((actuator, at)),
            _ => None,
        }
    }

    /// Its value. `joints` is scratch memory with the kinematics of the state's joints, if a link is looked at.
    fn reading<T: Scalar>(&self, at: &Observed<'_, T>, joints: &mut JointKinematics<T>) -> Reading<T> {
        let JointState { q, v, .. } = &at.state.joints;
        match self.of {
            Place::Joint { q: index, .. } if self.kind == QuantityKind::JointPosition => {
                Reading::number(q[index])
            }
            Place::Joint { v: index, .. } => Reading::number(v[index]),
            Place::Actuator { actuator, at: coordinate } => {
                let command = T::from(at.commands.get(actuator).copied().unwrap_or(0.0));
                Reading::number(at.actuators[actuator].force(&coordinate, command, &at.state.joints))
            }
            Place::Free(body) => {
                let body = &at.state.bodies[body];
                self.of_body(
                    body.position,
                    || body.orientation,
                    body.velocity.rotational,
                    body.velocity.translational,
                )
            }
            Place::Link(link) => {
                let workspace = joints.of(at.mechanism);
                let (pose, velocity) =
                    (workspace.body_pose(at.mechanism, link), workspace.body_velocity(at.mechanism, link));
                let orientation = || Quaternion::from_matrix(&pose.rotation);
                self.of_body(pose.translation, orientation, velocity.rotational, velocity.translational)
            }
        }
    }

    fn of_body<T: Scalar>(
        &self,
        position: Vector3<T>,
        orientation: impl FnOnce() -> Quaternion<T>,
        angular: Vector3<T>,
        linear: Vector3<T>,
    ) -> Reading<T> {
        match self.kind {
            QuantityKind::Orientation => Reading::Rotation(orientation()),
            QuantityKind::LinearVelocity => Reading::Vector(linear),
            QuantityKind::AngularVelocity => Reading::Vector(angular),
            _ => Reading::Vector(position),
        }
    }
}

/// The readings of several quantities.
pub(super) fn readings<T: Scalar>(
    quantities: &[Quantity],
    at: &Observed<'_, T>,
    joints: &mut JointKinematics<T>,
) -> Vec<Reading<T>> {
    if quantities.iter().any(|quantity| matches!(quantity.of, Place::Link(_))) {
        joints.update(at.mechanism, &at.state.joints.q, &at.state.joints.v);
    }
    quantities.iter().map(|quantity| quantity.reading(at, joints)).collect()
}

impl<T: Scalar> Reading<T> {
    fn number(x: T) -> Self {
        Self::Vector(Vector3::new(x, T::from(0.0), T::from(0.0)))
    }

    fn vector(&self) -> Vector3<T> {
        match self {
            Self::Vector(vector) => *vector,
            Self::Rotation(quaternion) => quaternion.v,
        }
    }

    /// How far it is from what was measured of the same quantity, in the first [`QuantityKind::dimension`] numbers; of
    /// orientations the rotation vector in W from the measured one, at most half a turn, where it jumps.
    pub fn deviation(&self, measured: &Reading<f64>) -> [T; 3] {
        match (self, measured) {
            (Self::Rotation(x), Reading::Rotation(measured)) => {
                rotation_between(&Quaternion::lift(measured), x).into()
            }
            (x, measured) => (x.vector() - measured.vector().map(T::from)).into(),
        }
    }
}

/// How far the length of a recorded quaternion may be from 1; it is normalized.
const QUATERNION_TOLERANCE: f64 = 1e-2;

impl Reading<f64> {
    /// What the columns of a quantity say, in SI units.
    ///
    /// # Errors
    /// A quaternion that is far from a unit one: its length.
    pub fn measured(kind: QuantityKind, values: &[f64]) -> Result<Self, f64> {
        let at = |k: usize| values.get(k).copied().unwrap_or(0.0);
        if kind != QuantityKind::Orientation {
            return Ok(Self::Vector(Vector3::new(at(0), at(1), at(2))));
        }
        let length = values.iter().map(|x| x * x).sum::<f64>().sqrt();
        match (length - 1.0).abs() <= QUATERNION_TOLERANCE {
            true => Ok(Self::Rotation(Quaternion::from_wxyz(at(0), at(1), at(2), at(3)))),
            false => Err(length),
        }
    }
}
