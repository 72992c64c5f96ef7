//! The values of a model's parameters, and which values they may have.

use super::parameter::{Parameter, StopNumber};
use super::parameter_error::ParameterError;
use crate::contact::{ContactGeometry, MaterialParameter};
use crate::multibody::tree::Joint;
use crate::multibody::{Drive, MassSource, Model, Motion};
use crate::spatial::MassProperties;

impl Parameter {
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
            Self::PseudoInertia { body, index } => {
                let numbers = model.body_mass(body).map(|_| model.deformation(body));
                numbers.and_then(|numbers| numbers.get(index).copied()).ok_or_else(missing)
            }
            Self::Gravity { axis } => model.gravity.get(axis).copied().ok_or_else(missing),
            Self::JointDamping { joint } => {
                let joint = model.mechanism.joints().get(joint).filter(|j| j.follows.is_none());
                joint.map(|j| j.damping).ok_or_else(missing)
            }
            Self::JointFriction { joint } => {
                let joint = model.mechanism.joints().get(joint).filter(|j| j.q.len() == 1);
                joint.map(|j| j.friction).ok_or_else(missing)
            }
            Self::JointStictionVelocity { joint } => {
                let rubs = |j: &&Joint| j.q.len() == 1 && j.friction > 0.0;
                let joint = model.mechanism.joints().get(joint).filter(rubs);
                joint.map(|j| j.stiction_velocity).ok_or_else(missing)
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
                let own = model.mechanism.joints().get(joint).filter(|j| j.q.len() == 1);
                let mut limits = own.ok_or_else(missing)?.limits;
                let ends = [limits.lower, limits.upper];
                let value = *number.of_mut(&mut limits);
                let exists = value.is_finite() && ends.iter().any(|end| end.is_finite());
                exists.then_some(value).ok_or_else(missing)
            }
            Self::EffortLimit { actuator } => {
                let effort = model.actuators.get(actuator).map(|a| a.effort);
                effort.filter(|effort| effort.is_finite()).ok_or_else(missing)
            }
            Self::Load { load, part, axis } => {
                let vector = model.loads.get(load).and_then(|load| load.history.part(part));
                vector.and_then(|vector| vector.get(axis)).copied().ok_or_else(missing)
            }
            Self::DriveStiffness { actuator } => match model.actuators.get(actuator).map(|a| a.drive) {
                Some(Drive::Position { stiffness, .. }) => Ok(stiffness),
                _ => Err(missing()),
            },
            Self::DriveDamping { actuator } => match model.actuators.get(actuator).map(|a| a.drive) {
                Some(Drive::Position { damping, .. } | Drive::Velocity { damping }) => Ok(damping),
                _ => Err(missing()),
            },
            Self::TreeStiffness { tree } => {
                let law = model.mechanism.trees().get(tree).and_then(|tree| tree.computed_torque);
                law.map(|law| law.stiffness).ok_or_else(missing)
            }
            Self::TreeDamping { tree } => {
                let law = model.mechanism.trees().get(tree).and_then(|tree| tree.computed_torque);
                law.map(|law| law.damping).ok_or_else(missing)
            }
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
            Self::PressureExponent { body, geometry } => contact_geometry(model, body, geometry)
                .and_then(ContactGeometry::exponent)
                .ok_or_else(missing),
            Self::GeometryPose { body, geometry, axis } => {
                let exists = contact_geometry(model, body, geometry).is_some() && axis < 6;
                exists.then_some(0.0).ok_or_else(missing)
            }
            Self::JointFrame { joint, axis } => {
                let exists = joint < model.mechanism.joints().len() && axis < 6;
                exists.then_some(0.0).ok_or_else(missing)
            }
            Self::JointAxis { joint, axis } => {
                let own = model.mechanism.joints().get(joint).filter(|j| j.kind.is_single());
                own.filter(|_| axis < 3).map(|_| 0.0).ok_or_else(missing)
            }
            Self::StictionVelocity => Ok(model.contact.stiction_velocity),
            Self::BristleLength => model.contact.bristle_length.ok_or_else(missing),
            Self::TimeStep => Ok(model.time_step_factor),
            Self::FixedPose { body, axis } => {
                let exists = model.bodies.get(body).is_some_and(|b| !b.is_moving()) && axis < 6;
                exists.then_some(0.0).ok_or_else(missing)
            }
        }
    }

    /// Whether no negative value makes sense for the parameter.
    pub(crate) fn is_never_negative(&self, model: &Model) -> bool {
        self.check(model, -1.0).is_err()
    }

    /// Checks that a value makes sense for the parameter.
    pub(super) fn check(&self, model: &Model, value: f64) -> Result<(), ParameterError> {
        let (good, allowed) = match self {
            Self::InitialTangent { .. }
            | Self::InitialJoint { .. }
            | Self::Inertia { .. }
            | Self::CenterOfMass { .. }
            | Self::PseudoInertia { .. }
            | Self::Gravity { .. }
            | Self::MeshVertex { .. }
            | Self::Extent { .. }
            | Self::GeometryPose { .. }
            | Self::FixedPose { .. }
            | Self::JointFrame { .. }
            | Self::JointAxis { .. }
            | Self::SpringRest { .. }
            | Self::Load { .. }
            | Self::JointStop { number: StopNumber::Lower | StopNumber::Upper, .. }
            | Self::Material { parameter: MaterialParameter::Own(_), .. } => (true, "finite"),
            Self::Material { parameter: MaterialParameter::HydroelasticModulus, .. }
            | Self::Mass { .. }
            | Self::EffortLimit { .. }
            | Self::StictionVelocity
            | Self::JointStictionVelocity { .. }
            | Self::BristleLength
            | Self::TimeStep
            | Self::GeometryScale { .. }
            | Self::PressureExponent { .. } => (value > 0.0, "positive and finite"),
            Self::Material { .. }
            | Self::JointDamping { .. }
            | Self::JointFriction { .. }
            | Self::SpringStiffness { .. }
            | Self::JointStop { .. }
            | Self::DriveStiffness { .. }
            | Self::DriveDamping { .. }
            | Self::TreeStiffness { .. }
            | Self::TreeDamping { .. } => (value >= 0.0, "at least 0 and finite"),
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
