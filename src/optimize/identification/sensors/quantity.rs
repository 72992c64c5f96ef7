//! What a channel of a sensor measures, as a function of the state, in any scalar.

use nalgebra::Vector3;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;

use crate::multibody::tree::{JointState, Mechanism};
use crate::multibody::{
    Actuator, BodyFrame, Drive, DrivenCoordinate, GeometryPair, JointKinematics, Model, Motion,
    PairWorkspace, State, rotation_between,
};
use crate::optimize::error::ProblemError;
use crate::optimize::identification::{body_index, parameter_path::listed};
use crate::rollout::SimulationError;
use crate::scalar::Scalar;
use crate::spatial::{Quaternion, SpatialVelocity, rotation_exponential};

/// A quantity that sensors measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
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
    /// Contact force on a body by another, along the world's axes, N: three columns. It is that of the contact law in the
    /// state; the impulse of an implicit step differs from it where velocities change much.
    ContactForce,
    /// Moment of contact on a body by another about the body's origin, along the world's axes, N m: three columns.
    ContactTorque,
    /// Normal force of contact on a body by another, N: its part along the force that the pressure would have at rest. Of
    /// several bodies the sum.
    GripForce,
    /// Area of the contact of a body with another, m².
    ContactArea,
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
            Self::ContactForce => "contact_force",
            Self::ContactTorque => "contact_torque",
            Self::GripForce => "grip_force",
            Self::ContactArea => "contact_area",
        }
    }

    /// The names of its columns in files of `isobar simulate`, after the name of the body or joint, or of two bodies that
    /// touch (`ball-table`), and a dot. Such files do not have forces of actuators, grip forces and areas.
    pub fn columns(self) -> &'static [&'static str] {
        match self {
            Self::Position => &["px_m", "py_m", "pz_m"],
            Self::Orientation => &["qw", "qx", "qy", "qz"],
            Self::LinearVelocity => &["vx_m_s", "vy_m_s", "vz_m_s"],
            Self::AngularVelocity => &["wx_rad_s", "wy_rad_s", "wz_rad_s"],
            Self::JointPosition => &["q"],
            Self::JointVelocity => &["v"],
            Self::ActuatorForce => &["force"],
            Self::ContactForce => &["fx_N", "fy_N", "fz_N"],
            Self::ContactTorque => &["tx_N_m", "ty_N_m", "tz_N_m"],
            Self::GripForce => &["grip_N"],
            Self::ContactArea => &["area_m2"],
        }
    }

    /// Whether it is of the contact of bodies.
    pub(super) fn is_of_contact(self) -> bool {
        matches!(self, Self::ContactForce | Self::ContactTorque | Self::GripForce | Self::ContactArea)
    }

    /// Whether its numbers are along axes, so that they depend on where a sensor is.
    pub(super) fn is_of_frame(self) -> bool {
        self.columns().len() > 1
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
            Self::ContactForce | Self::GripForce => "N",
            Self::ContactTorque => "N m",
            Self::ContactArea => "m²",
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
    /// The contact of a body with another, or with all.
    Contact { on: usize, by: Option<usize> },
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
    /// The model, where contact is looked at.
    pub contact: Option<&'a Model<T>>,
}

/// Scratch memory of readings.
#[derive(Debug)]
pub(super) struct ReadingWorkspace<T> {
    joints: JointKinematics<T>,
    /// Those of the bodies of the last state.
    frames: Vec<BodyFrame<T>>,
    pairs: PairWorkspace,
}

impl<T> Default for ReadingWorkspace<T> {
    fn default() -> Self {
        Self { joints: JointKinematics::default(), frames: Vec::new(), pairs: PairWorkspace::default() }
    }
}

impl Quantity {
    /// The quantity of a body, joint or actuator with this name; `joint` tells which of several joints of an actuator, `by`
    /// which other body of a contact.
    ///
    /// # Errors
    /// When the model does not have it.
    pub fn of(
        model: &Model,
        kind: QuantityKind,
        name: &str,
        joint: Option<&str>,
        by: Option<&str>,
    ) -> Result<Self, ProblemError> {
        let of = match kind {
            _ if kind.is_of_contact() => {
                let on = body_index(model, name)?;
                let by = by.map(|other| body_index(model, other)).transpose()?;
                if pairs_of(model, on, by).next().is_none() {
                    let (a, b) = (
                        name.to_owned(),
                        by.map_or("any other".to_owned(), |by| model.bodies[by].name.clone()),
                    );
                    return Err(SimulationError::NoContact { a, b }.into());
                }
                Place::Contact { on, by }
            }
            _ if by.is_some() => {
                let (found, allowed) =
                    (format!("`{}`", by.unwrap_or("")), "left out of quantities that are not of contact");
                return Err(ProblemError::Setting { field: "by", found, allowed });
            }
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
                if model.actuators.iter().any(|a| a.name == name && a.drive == Drive::ComputedTorque) {
                    let found = format!("the force of `{name}`, which has the drive of computed torque");
                    let allowed = "that of another actuator: efforts of computed torque are those of a robot as a whole and not modelled one by one";
                    return Err(ProblemError::Setting { field: "quantity", found, allowed });
                }
                let drives = |actuator: &&Actuator| {
                    actuator.body_load().is_none() && actuator.drive != Drive::ComputedTorque
                };
                let own = |actuator: &Actuator| actuator.name == name && drives(&actuator);
                let actuator = model.actuators.iter().position(own);
                let actuator = actuator.ok_or_else(|| ProblemError::NoSuchPart {
                    what: "actuator of joints",
                    name: name.to_owned(),
                    found: listed(
                        model.actuators.iter().filter(drives).map(|actuator| actuator.name.as_str()),
                    ),
                })?;
                let driven = model.actuators[actuator].coordinates();
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
            QuantityKind::ContactForce
            | QuantityKind::ContactTorque
            | QuantityKind::GripForce
            | QuantityKind::ContactArea => return Err(ProblemError::NoMeasurements),
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

    /// Its value, in a workspace with the kinematics of the state.
    fn reading<T: Scalar>(&self, at: &Observed<'_, T>, workspace: &mut ReadingWorkspace<T>) -> Reading<T> {
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
                let joints = workspace.joints.of(at.mechanism);
                let (pose, velocity) =
                    (joints.body_pose(at.mechanism, link), joints.body_velocity(at.mechanism, link));
                let orientation = || Quaternion::from_matrix(&pose.rotation);
                self.of_body(pose.translation, orientation, velocity.rotational, velocity.translational)
            }
            Place::Contact { on, by } => match at.contact {
                Some(model) => self.of_contact(model, on, by, workspace),
                None => Reading::number(T::from(0.0)),
            },
        }
    }

    /// Its value in the contact of a body with another, or with all.
    fn of_contact<T: Scalar>(
        &self,
        model: &Model<T>,
        on: usize,
        by: Option<usize>,
        workspace: &mut ReadingWorkspace<T>,
    ) -> Reading<T> {
        let ReadingWorkspace { frames, pairs: scratch, .. } = workspace;
        let pairs: Vec<GeometryPair> = pairs_of(model, on, by).copied().collect();
        match self.kind {
            QuantityKind::ContactForce => {
                Reading::Vector(model.contact_wrench_on(frames, on, &pairs, scratch).translational)
            }
            QuantityKind::ContactTorque => {
                Reading::Vector(model.contact_wrench_on(frames, on, &pairs, scratch).rotational)
            }
            QuantityKind::ContactArea => {
                Reading::number(model.body_pair_contact(frames, &pairs, scratch).area)
            }
            _ => {
                let mut resting = frames.clone();
                resting.iter_mut().for_each(|frame| frame.velocity = SpatialVelocity::zero());
                let same = |a: &GeometryPair, b: &GeometryPair| a.bodies == b.bodies;
                let of_bodies = |group: &[GeometryPair]| {
                    let pressed = model.contact_wrench_on(&resting, on, group, scratch).translational;
                    let square = pressed.dot(&pressed);
                    // Without pressure there is no direction, and no force.
                    if square.real() <= 0.0 {
                        return T::from(0.0);
                    }
                    let force = model.contact_wrench_on(frames, on, group, scratch).translational;
                    force.dot(&pressed) / square.sqrt()
                };
                let sum = pairs.chunk_by(same).map(of_bodies).fold(T::from(0.0), |sum, force| sum + force);
                Reading::number(sum)
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

/// The pairs of geometries in which a body touches another, or any.
fn pairs_of<T: Scalar>(
    model: &Model<T>,
    on: usize,
    by: Option<usize>,
) -> impl Iterator<Item = &GeometryPair> {
    let other = move |pair: &GeometryPair| match (pair.bodies.a == on, pair.bodies.b == on) {
        (true, _) => Some(pair.bodies.b),
        (_, true) => Some(pair.bodies.a),
        _ => None,
    };
    model.pairs.iter().filter(move |pair| other(pair).is_some_and(|other| by.is_none_or(|by| by == other)))
}

/// The readings of several quantities.
pub(super) fn readings<T: Scalar>(
    quantities: &[Quantity],
    at: &Observed<'_, T>,
    workspace: &mut ReadingWorkspace<T>,
) -> Vec<Reading<T>> {
    let has_contact = || quantities.iter().any(|quantity| quantity.kind.is_of_contact());
    if let Some(model) = at.contact.filter(|_| has_contact()) {
        model.update_frames(at.state, &mut workspace.frames, &mut workspace.joints);
    } else if quantities.iter().any(|quantity| matches!(quantity.of, Place::Link(_))) {
        workspace.joints.update(at.mechanism, &at.state.joints.q, &at.state.joints.v);
    }
    quantities.iter().map(|quantity| quantity.reading(at, workspace)).collect()
}

/// Where a sensor is: its frame in the world. What it measures along its own axes is in the world turned by a rotation
/// vector, in rad, and positions are then moved by where its origin is, in m.
#[derive(Clone, Copy, Debug)]
pub(super) struct SensorPose<T> {
    pub position: Vector3<T>,
    pub rotation: Vector3<T>,
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
    pub fn deviation(&self, measured: &Self) -> [T; 3] {
        match (self, measured) {
            (Self::Rotation(x), Self::Rotation(measured)) => rotation_between(measured, x).into(),
            (x, measured) => (x.vector() - measured.vector()).into(),
        }
    }

    /// A constant.
    pub fn lift(reading: &Reading<f64>) -> Self {
        match reading {
            Reading::Vector(vector) => Self::Vector(vector.map(T::from)),
            Reading::Rotation(quaternion) => Self::Rotation(Quaternion::lift(quaternion)),
        }
    }

    /// Without its derivatives.
    pub fn real(&self) -> Reading<f64> {
        match self {
            Self::Vector(vector) => Reading::Vector(vector.map(|x| x.real())),
            Self::Rotation(quaternion) => Reading::Rotation(quaternion.real()),
        }
    }

    /// What was measured along a sensor's axes, along those of the world.
    pub fn in_world(self, kind: QuantityKind, pose: &SensorPose<T>) -> Self {
        match self {
            _ if !kind.is_of_frame() => self,
            Self::Rotation(quaternion) => Self::Rotation(quaternion.rotated_by(&pose.rotation)),
            Self::Vector(vector) => {
                let turned = rotation_exponential(&pose.rotation) * vector;
                Self::Vector(if kind == QuantityKind::Position { turned + pose.position } else { turned })
            }
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
