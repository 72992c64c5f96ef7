//! The numbers that a simulation can be differentiated with respect to.

use super::actuator::Drive;
use super::body::Motion;
use super::mass::MassSource;
use super::model::Model;
use super::state::TANGENT_DIMENSION;
use super::tree::JointLimits;
use crate::contact::{ContactGeometry, MaterialParameter};
use crate::field::FieldError;
use crate::spatial::{MassProperties, MassPropertiesError};

/// Names of the tangent directions of a free body, in their order.
pub const TANGENT_NAMES: [&str; TANGENT_DIMENSION] =
    ["rx", "ry", "rz", "px", "py", "pz", "wx", "wy", "wz", "vx", "vy", "vz"];

/// A number that a simulation depends on and that derivatives can be taken with respect to. Bodies,
/// materials, joints and actuators are given by their index in the [`Model`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Parameter {
    /// A displacement of a free body's initial state along one direction of its tangent space (see
    /// [`TANGENT_DIMENSION`]). Its value is 0.
    InitialTangent {
        /// The body.
        body: usize,
        /// The direction, 0 to 11: rotation, position, angular velocity and velocity, each along three
        /// axes. Functions such as [`Parameter::initial_velocity`] name them.
        index: usize,
    },
    /// A displacement of the joints' initial state along one direction of its tangent space: first the
    /// directions of the configuration, then those of the velocity, each in the order of the velocity
    /// coordinates of [`Model::mechanism`]. Its value is 0.
    InitialJoint {
        /// The direction, 0 to 2 nv − 1.
        index: usize,
    },
    /// A parameter of a material, in its unit. Only steps with the contact model SAP depend on the
    /// relaxation time, and only models with a law of the user's own depend on that law's parameters.
    Material {
        /// The material in [`Model::materials`].
        material: usize,
        /// Which parameter.
        parameter: MaterialParameter,
    },
    /// The mass of a free body or a link, kg, at the size that its geometries have in the model. A given
    /// inertia does not change with the mass; an inertia computed from the geometries stays proportional
    /// to it.
    Mass {
        /// The body.
        body: usize,
    },
    /// A component of the inertia of a link, or of a free body whose inertia was given, about the centre
    /// of mass and in the body's axes, kg m². The symmetric component changes with it. A free body whose
    /// inertia comes from its geometries has no such parameter.
    Inertia {
        /// The body.
        body: usize,
        /// Row of the component, 0 to 2.
        row: usize,
        /// Column of the component, 0 to 2.
        column: usize,
    },
    /// A coordinate of the centre of mass of a link, or of a free body whose centre of mass was given,
    /// in the body's frame, m. A free body whose centre of mass comes from its geometries has no such
    /// parameter.
    CenterOfMass {
        /// The body.
        body: usize,
        /// The coordinate, 0 to 2.
        axis: usize,
    },
    /// A component of the acceleration of gravity in W, m/s².
    Gravity {
        /// The component, 0 to 2.
        axis: usize,
    },
    /// The viscous damping of each velocity coordinate of a joint, N m s/rad or N s/m.
    JointDamping {
        /// The joint in [`Mechanism::joints`](super::tree::Mechanism::joints).
        joint: usize,
    },
    /// The stiffness of the spring of a joint with one coordinate, N m/rad or N/m; 0 where it has
    /// none.
    SpringStiffness {
        /// The joint in [`Mechanism::joints`](super::tree::Mechanism::joints).
        joint: usize,
    },
    /// The position at which the spring of a joint with one coordinate is at rest, rad or m.
    SpringRest {
        /// The joint in [`Mechanism::joints`](super::tree::Mechanism::joints).
        joint: usize,
    },
    /// A number of the stops at the ends of a joint's range, where it has them. With respect to it forces have a
    /// kink where the joint reaches a stop.
    JointStop {
        /// The joint in [`Mechanism::joints`](super::tree::Mechanism::joints).
        joint: usize,
        /// Which number.
        number: StopNumber,
    },
    /// The largest force of an actuator that has a limit, N m or N. Only an actuator at its limit depends on it.
    EffortLimit {
        /// The actuator in [`Model::actuators`].
        actuator: usize,
    },
    /// The gain on the position of an actuator that is a position servo, N m/rad or N/m.
    DriveStiffness {
        /// The actuator in [`Model::actuators`].
        actuator: usize,
    },
    /// The gain on the velocity of an actuator that is a position or velocity servo, N m s/rad or
    /// N s/m.
    DriveDamping {
        /// The actuator in [`Model::actuators`].
        actuator: usize,
    },
    /// A factor on the size of a geometry about the origin of its own frame (on the thickness of a
    /// half-space); its value is 1. Extents stay as they are at the vertices. Mass, centre of mass and
    /// inertia change with the size where they are computed from the geometry. With a given density the
    /// mass grows with the cube of the scale and the inertia with its fifth power. With a given mass the
    /// inertia grows with the square. A given inertia does not change.
    GeometryScale {
        /// The body.
        body: usize,
        /// The geometry in [`super::Body::geometries`].
        geometry: usize,
    },
    /// A coordinate of a vertex of a geometry's mesh, in the geometry's frame, m. Extents stay as they are
    /// at the vertices; [`ExtentSource`](crate::field::ExtentSource) lets them follow. Mass, centre of mass and
    /// inertia change with the volume that the mesh gains or loses
    /// where they are computed from the geometry. See [`Parameter::vertices`].
    MeshVertex {
        /// The body.
        body: usize,
        /// The geometry in [`super::Body::geometries`].
        geometry: usize,
        /// The vertex of the mesh, of a skirt's if the field has one.
        vertex: usize,
        /// The axis of the geometry's frame, 0 to 2.
        axis: usize,
    },
    /// A move of a geometry's frame on its body, in the body's axes: a turn about the frame's origin (rad), or a
    /// shift (m); its value is 0. Mass properties follow where they are computed from the geometry. See
    /// [`Parameter::places`].
    GeometryPose {
        /// The body.
        body: usize,
        /// The geometry in [`super::Body::geometries`].
        geometry: usize,
        /// Turns about x, y and z, then shifts: 0 to 5.
        axis: usize,
    },
    /// A move of a body that does not move by itself, in W: a turn about the body's origin (rad), or a shift
    /// (m); its value is 0. See [`Parameter::places`].
    FixedPose {
        /// The body.
        body: usize,
        /// Turns about x, y and z, then shifts: 0 to 5.
        axis: usize,
    },
    /// The extent at a vertex of a compliant geometry's mesh: the pressure there over the hydroelastic
    /// modulus. See [`Parameter::extents`].
    Extent {
        /// The body.
        body: usize,
        /// The geometry in [`super::Body::geometries`].
        geometry: usize,
        /// The vertex of the mesh.
        vertex: usize,
    },
}

/// A number of the stops of a joint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StopNumber {
    /// The lower end of the range, rad or m.
    Lower,
    /// The upper end of the range, rad or m.
    Upper,
    /// The stiffness of the stops, N m/rad or N/m.
    Stiffness,
    /// The Hunt–Crossley dissipation of the stops, s/rad or s/m.
    Dissipation,
}

impl StopNumber {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Lower, Self::Upper, Self::Stiffness, Self::Dissipation];

    /// Its name in a scene file.
    fn name(self) -> &'static str {
        match self {
            Self::Lower => "lower",
            Self::Upper => "upper",
            Self::Stiffness => "stop_stiffness",
            Self::Dissipation => "stop_dissipation",
        }
    }

    /// The number in the limits of a joint.
    pub(super) fn of_mut<T>(self, limits: &mut JointLimits<T>) -> &mut T {
        match self {
            Self::Lower => &mut limits.lower,
            Self::Upper => &mut limits.upper,
            Self::Stiffness => &mut limits.stiffness,
            Self::Dissipation => &mut limits.dissipation,
        }
    }
}

/// Why a model could not be made from values of its parameters.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ParameterError {
    /// There is no such body, material, geometry or direction.
    #[error("the model has no parameter {0:?}")]
    NoSuchParameter(Parameter),
    /// A value is out of its range.
    #[error("{name} is {value}; it must be {allowed}")]
    Value {
        /// Name of the parameter.
        name: String,
        /// The value.
        value: f64,
        /// What is allowed.
        allowed: &'static str,
    },
    /// The parameter belongs to the initial state, but a parameter of the model is needed.
    #[error(
        "{name} is a move of the initial state, not a parameter of the model; change the state that the motion starts from"
    )]
    OfState {
        /// Name of the parameter.
        name: String,
    },
    /// The mass properties cannot be made.
    #[error("body `{body}`: {source}")]
    Mass {
        /// Name of the body.
        body: String,
        /// What is wrong.
        source: MassPropertiesError,
    },
    /// A pressure field cannot be made.
    #[error("{name}: {source}")]
    Field {
        /// Name of the parameter.
        name: String,
        /// What is wrong.
        source: FieldError,
    },
}

impl Parameter {
    /// A rotation of a free body's initial orientation about an axis of W, rad.
    pub fn initial_rotation(body: usize, axis: usize) -> Self {
        Self::InitialTangent { body, index: axis }
    }

    /// A shift of a free body's initial position along an axis of W, m.
    pub fn initial_position(body: usize, axis: usize) -> Self {
        Self::InitialTangent { body, index: 3 + axis }
    }

    /// A change of a free body's initial angular velocity about an axis of W, rad/s.
    pub fn initial_angular_velocity(body: usize, axis: usize) -> Self {
        Self::InitialTangent { body, index: 6 + axis }
    }

    /// A change of a free body's initial velocity along an axis of W, m/s.
    pub fn initial_velocity(body: usize, axis: usize) -> Self {
        Self::InitialTangent { body, index: 9 + axis }
    }

    /// A name that tells the parameters of a model apart, such as `ball.vz` or
    /// `foam.hydroelastic_modulus`.
    pub fn name(&self, model: &Model) -> String {
        let body = |i: usize| model.bodies.get(i).map_or("?", |b| b.name.as_str());
        let material = |i: usize| model.materials.get(i).map_or("?", |m| m.name.as_str());
        let joint = |i: usize| model.mechanism.joints().get(i).map_or("?", |j| j.name.as_str());
        let actuator = |i: usize| model.actuators.get(i).map_or("?", |a| a.name.as_str());
        match *self {
            Self::InitialTangent { body: b, index } => {
                format!("{}.{}", body(b), TANGENT_NAMES.get(index).unwrap_or(&"?"))
            }
            Self::InitialJoint { index } => joint_tangent_name(model, index),
            Self::Material { material: m, parameter } => {
                format!("{}.{}", material(m), parameter.name(model.contact.law))
            }
            Self::Mass { body: b } => format!("{}.mass", body(b)),
            Self::Inertia { body: b, row, column } => format!("{}.inertia[{row}][{column}]", body(b)),
            Self::CenterOfMass { body: b, axis } => format!("{}.center_of_mass[{axis}]", body(b)),
            Self::Gravity { axis } => format!("gravity[{axis}]"),
            Self::JointDamping { joint: j } => format!("{}.damping", joint(j)),
            Self::SpringStiffness { joint: j } => format!("{}.spring.stiffness", joint(j)),
            Self::SpringRest { joint: j } => format!("{}.spring.rest", joint(j)),
            Self::JointStop { joint: j, number } => format!("{}.{}", joint(j), number.name()),
            Self::EffortLimit { actuator: a } => format!("{}.effort", actuator(a)),
            Self::DriveStiffness { actuator: a } => format!("{}.drive.stiffness", actuator(a)),
            Self::DriveDamping { actuator: a } => format!("{}.drive.damping", actuator(a)),
            Self::GeometryScale { body: b, geometry } => {
                format!("{}.geometries[{geometry}].scale", body(b))
            }
            Self::MeshVertex { body: b, geometry, vertex, axis } => {
                let axis = ["x", "y", "z"].get(axis).unwrap_or(&"?");
                format!("{}.geometries[{geometry}].vertices[{vertex}].{axis}", body(b))
            }
            Self::Extent { body: b, geometry, vertex } => {
                format!("{}.geometries[{geometry}].extents[{vertex}]", body(b))
            }
            Self::GeometryPose { body: b, geometry, axis } => {
                format!("{}.geometries[{geometry}].{}", body(b), TANGENT_NAMES.get(axis).unwrap_or(&"?"))
            }
            Self::FixedPose { body: b, axis } => {
                format!("{}.{}", body(b), TANGENT_NAMES.get(axis).unwrap_or(&"?"))
            }
        }
    }

    /// The value that the parameter has in a model: 0 for directions of the initial state, 1 for
    /// scales.
    ///
    /// # Errors
    /// When the model has no such parameter.
    pub fn value(&self, model: &Model) -> Result<f64, ParameterError> {
        let missing = || ParameterError::NoSuchParameter(*self);
        let material = |i: usize| model.materials.get(i).map(|m| &m.material).ok_or_else(missing);
        match *self {
            Self::InitialTangent { .. } | Self::InitialJoint { .. } => {
                self.initial_tangent(model).map(|_| 0.0).ok_or_else(missing)
            }
            Self::Material { material: m, parameter } => material(m)?.get(parameter).ok_or_else(missing),
            Self::Mass { body } => Ok(model.body_mass(body).ok_or_else(missing)?.mass),
            Self::Inertia { body, row, column } => {
                let inertia = given_mass(model, body).ok_or_else(missing)?.inertia;
                inertia.get((row, column)).copied().ok_or_else(missing)
            }
            Self::CenterOfMass { body, axis } => {
                let center = given_mass(model, body).ok_or_else(missing)?.center_of_mass;
                center.get(axis).copied().ok_or_else(missing)
            }
            Self::Gravity { axis } => model.gravity.get(axis).copied().ok_or_else(missing),
            Self::JointDamping { joint } => {
                model.mechanism.joints().get(joint).map(|j| j.damping).ok_or_else(missing)
            }
            Self::SpringStiffness { joint } => {
                let joint = model.mechanism.joints().get(joint).filter(|j| j.q.len() == 1);
                joint.map(|j| j.spring.stiffness).ok_or_else(missing)
            }
            Self::SpringRest { joint } => {
                let joint = model.mechanism.joints().get(joint).filter(|j| j.q.len() == 1);
                joint.map(|j| j.spring.rest).ok_or_else(missing)
            }
            Self::JointStop { joint, number } => {
                let mut limits = model.mechanism.joints().get(joint).ok_or_else(missing)?.limits;
                let ends = [limits.lower, limits.upper];
                let value = *number.of_mut(&mut limits);
                let exists = value.is_finite() && ends.iter().any(|end| end.is_finite());
                exists.then_some(value).ok_or_else(missing)
            }
            Self::EffortLimit { actuator } => {
                let effort = model.actuators.get(actuator).map(|a| a.effort);
                effort.filter(|effort| effort.is_finite()).ok_or_else(missing)
            }
            Self::DriveStiffness { actuator } => match model.actuators.get(actuator).map(|a| a.drive) {
                Some(Drive::Position { stiffness, .. }) => Ok(stiffness),
                _ => Err(missing()),
            },
            Self::DriveDamping { actuator } => match model.actuators.get(actuator).map(|a| a.drive) {
                Some(Drive::Position { damping, .. } | Drive::Velocity { damping }) => Ok(damping),
                _ => Err(missing()),
            },
            Self::GeometryScale { body, geometry } => {
                let geometries = model.bodies.get(body).map(|b| &b.geometries);
                geometries.and_then(|g| g.get(geometry)).map(|_| 1.0).ok_or_else(missing)
            }
            Self::MeshVertex { body, geometry, vertex, axis } => {
                let shape = contact_geometry(model, body, geometry).ok_or_else(missing)?;
                let vertex = shape.vertices().get(vertex).ok_or_else(missing)?;
                vertex.get(axis).copied().ok_or_else(missing)
            }
            Self::Extent { body, geometry, vertex } => {
                let shape = contact_geometry(model, body, geometry).ok_or_else(missing)?;
                shape.extents().get(vertex).copied().ok_or_else(missing)
            }
            Self::GeometryPose { body, geometry, axis } => {
                let exists = contact_geometry(model, body, geometry).is_some() && axis < 6;
                exists.then_some(0.0).ok_or_else(missing)
            }
            Self::FixedPose { body, axis } => {
                let exists = model.bodies.get(body).is_some_and(|b| !b.is_moving()) && axis < 6;
                exists.then_some(0.0).ok_or_else(missing)
            }
        }
    }

    /// Whether the parameter moves the initial state, and leaves the model as it is.
    pub(super) fn is_of_state(&self) -> bool {
        matches!(self, Self::InitialTangent { .. } | Self::InitialJoint { .. })
    }

    /// The direction of the state's tangent space that a parameter moves the initial state along.
    pub(crate) fn initial_tangent(&self, model: &Model) -> Option<usize> {
        match *self {
            Self::InitialTangent { body, index } => {
                let free = model.bodies.get(body).filter(|b| b.is_free()).and(model.moving_index(body))?;
                (index < TANGENT_DIMENSION).then_some(free * TANGENT_DIMENSION + index)
            }
            Self::InitialJoint { index } => {
                let exists = index < 2 * model.mechanism.velocity_dimension();
                exists.then(|| model.free_bodies().count() * TANGENT_DIMENSION + index)
            }
            _ => None,
        }
    }

    /// The body that a parameter is a mass property of.
    pub(super) fn mass_of_body(&self) -> Option<usize> {
        match *self {
            Self::Mass { body } | Self::Inertia { body, .. } | Self::CenterOfMass { body, .. } => Some(body),
            _ => None,
        }
    }

    /// All geometries that a parameter changes or moves, each by its body and its index there.
    pub(super) fn geometries(&self, model: &Model) -> Vec<(usize, usize)> {
        match *self {
            Self::FixedPose { body, .. } => {
                (0..model.bodies[body].geometries.len()).map(|geometry| (body, geometry)).collect()
            }
            _ => self.geometry().into_iter().collect(),
        }
    }

    /// The body and the geometry whose shape or place on its body a parameter belongs to.
    pub(super) fn geometry(&self) -> Option<(usize, usize)> {
        match *self {
            Self::GeometryScale { body, geometry }
            | Self::MeshVertex { body, geometry, .. }
            | Self::GeometryPose { body, geometry, .. }
            | Self::Extent { body, geometry, .. } => Some((body, geometry)),
            _ => None,
        }
    }

    /// Checks that a value makes sense for the parameter.
    pub(super) fn check(&self, model: &Model, value: f64) -> Result<(), ParameterError> {
        let (good, allowed) = match self {
            Self::InitialTangent { .. }
            | Self::InitialJoint { .. }
            | Self::Inertia { .. }
            | Self::CenterOfMass { .. }
            | Self::Gravity { .. }
            | Self::MeshVertex { .. }
            | Self::Extent { .. }
            | Self::GeometryPose { .. }
            | Self::FixedPose { .. }
            | Self::SpringRest { .. }
            | Self::JointStop { number: StopNumber::Lower | StopNumber::Upper, .. }
            | Self::Material { parameter: MaterialParameter::Own(_), .. } => (true, "finite"),
            Self::Material { parameter: MaterialParameter::HydroelasticModulus, .. }
            | Self::Mass { .. }
            | Self::EffortLimit { .. }
            | Self::GeometryScale { .. } => (value > 0.0, "positive and finite"),
            Self::Material { .. }
            | Self::JointDamping { .. }
            | Self::SpringStiffness { .. }
            | Self::JointStop { .. }
            | Self::DriveStiffness { .. }
            | Self::DriveDamping { .. } => (value >= 0.0, "at least 0 and finite"),
        };
        if good && value.is_finite() {
            Ok(())
        } else {
            Err(ParameterError::Value { name: self.name(model), value, allowed })
        }
    }
}

/// What a geometry of a body is in contact.
pub(super) fn contact_geometry(model: &Model, body: usize, geometry: usize) -> Option<&ContactGeometry> {
    Some(&*model.bodies.get(body)?.geometries.get(geometry)?.collider.geometry)
}

/// The mass properties of a free body, if they were given, or of a link.
pub(super) fn given_mass(model: &Model, body: usize) -> Option<&MassProperties> {
    match &model.bodies.get(body)?.motion {
        Motion::Free { source: MassSource::Given(_), mass, .. } => Some(mass),
        Motion::Link { .. } => model.body_mass(body),
        _ => None,
    }
}

/// The name of a direction of the joints' initial state: the joint's, with the number of the
/// coordinate where it has several, and `q` or `v`.
fn joint_tangent_name(model: &Model, index: usize) -> String {
    let nv = model.mechanism.velocity_dimension();
    let (coordinate, what) = if index < nv { (index, "q") } else { (index - nv, "v") };
    match model.mechanism.joints().iter().find(|j| j.v.contains(&coordinate)) {
        Some(joint) if joint.v.len() == 1 => format!("{}.{what}", joint.name),
        Some(joint) => format!("{}.{what}[{}]", joint.name, coordinate - joint.v.start),
        None => "?".to_owned(),
    }
}
