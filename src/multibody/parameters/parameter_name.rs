//! What the parameters of a model are called, and their units.

use super::parameter::{Parameter, StopNumber};
use crate::contact::{DissipationModel, MaterialParameter};
use crate::multibody::{LoadKind, LoadPart, Model, TANGENT_DIMENSION};

/// Names of the tangent directions of a free body, in their order.
pub const TANGENT_NAMES: [&str; TANGENT_DIMENSION] =
    ["rx", "ry", "rz", "px", "py", "pz", "wx", "wy", "wz", "vx", "vy", "vz"];

impl Parameter {
    /// A name that tells the parameters of a model apart, such as `ball.vz` or
    /// `foam.hydroelastic_modulus`.
    pub fn name(&self, model: &Model) -> String {
        let body = |i: usize| model.bodies.get(i).map_or("?", |b| b.name.as_str());
        let material = |i: usize| model.materials.get(i).map_or("?", |m| m.name.as_str());
        let joint = |i: usize| model.mechanism.joints().get(i).map_or("?", |j| j.name.as_str());
        let first_joint =
            |i: usize| model.mechanism.trees().get(i).map_or("?", |tree| joint(tree.joints.start));
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
            Self::PseudoInertia { body: b, index } => format!("{}.pseudo_inertia[{index}]", body(b)),
            Self::Gravity { axis } => format!("gravity[{axis}]"),
            Self::JointDamping { joint: j } => format!("{}.damping", joint(j)),
            Self::JointFriction { joint: j } => format!("{}.friction", joint(j)),
            Self::JointStictionVelocity { joint: j } => format!("{}.stiction_velocity", joint(j)),
            Self::SpringStiffness { joint: j } => format!("{}.spring.stiffness", joint(j)),
            Self::SpringRest { joint: j } => format!("{}.spring.rest", joint(j)),
            Self::JointStop { joint: j, number } => format!("{}.{}", joint(j), number.name()),
            Self::EffortLimit { actuator: a } => format!("{}.effort", actuator(a)),
            Self::Load { load, part, axis } => {
                let (name, what) = model.loads.get(load).map_or(("?", "?"), |l| (&l.name, l.kind.name()));
                match part {
                    LoadPart::Constant => format!("{name}.{what}[{axis}]"),
                    LoadPart::Knot(knot) => format!("{name}.{what}.values[{knot}][{axis}]"),
                    LoadPart::Mean => format!("{name}.{what}.mean[{axis}]"),
                    LoadPart::Sine => format!("{name}.{what}.sine[{axis}]"),
                    LoadPart::Cosine => format!("{name}.{what}.cosine[{axis}]"),
                }
            }
            Self::DriveStiffness { actuator: a } => format!("{}.drive.stiffness", actuator(a)),
            Self::DriveDamping { actuator: a } => format!("{}.drive.damping", actuator(a)),
            Self::TreeStiffness { tree } => format!("{}.computed_torque.stiffness", first_joint(tree)),
            Self::TreeDamping { tree } => format!("{}.computed_torque.damping", first_joint(tree)),
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
            Self::PressureExponent { body: b, geometry } => {
                format!("{}.geometries[{geometry}].pressure_law.power.exponent", body(b))
            }
            Self::GeometryPose { body: b, geometry, axis } => {
                format!("{}.geometries[{geometry}].{}", body(b), TANGENT_NAMES.get(axis).unwrap_or(&"?"))
            }
            Self::JointFrame { joint: j, axis } => {
                format!("{}.frame.{}", joint(j), TANGENT_NAMES.get(axis).unwrap_or(&"?"))
            }
            Self::JointAxis { joint: j, axis } => {
                format!("{}.axis.{}", joint(j), TANGENT_NAMES.get(axis).unwrap_or(&"?"))
            }
            Self::StictionVelocity => "contact.stiction_velocity".to_owned(),
            Self::BristleLength => "contact.bristle_length".to_owned(),
            Self::TimeStep => "time_step".to_owned(),
            Self::FixedPose { body: b, axis } => {
                format!("{}.{}", body(b), TANGENT_NAMES.get(axis).unwrap_or(&"?"))
            }
        }
    }

    /// The unit of the parameter, `1` where it has none. Of the directions of orientations it is rad.
    pub fn unit(&self, model: &Model) -> &'static str {
        match *self {
            Self::InitialTangent { index, .. } => ["rad", "m", "rad/s", "m/s"][index / 3 % 4],
            Self::InitialJoint { index } => {
                let nv = model.mechanism.velocity_dimension();
                let (coordinate, [angle, length]) =
                    if index < nv { (index, ["rad", "m"]) } else { (index - nv, ["rad/s", "m/s"]) };
                let mut joints = model.mechanism.joints().iter();
                let joint = joints.find(|joint| joint.v.contains(&coordinate));
                let translates = joint.is_some_and(|j| j.kind.is_translation(coordinate - j.v.start));
                if translates { length } else { angle }
            }
            Self::Material { parameter, .. } => match parameter {
                MaterialParameter::HydroelasticModulus => "Pa",
                MaterialParameter::Dissipation => match model.contact.dissipation_model {
                    DissipationModel::HuntCrossley => "s/m",
                    DissipationModel::StrainRate => "s",
                },
                MaterialParameter::RelaxationTime => "s",
                MaterialParameter::StaticFriction
                | MaterialParameter::DynamicFriction
                | MaterialParameter::FrictionEllipsoid(0 | 1) => "1",
                MaterialParameter::FrictionEllipsoid(_) => "m",
                MaterialParameter::Own(_) => "the law's unit",
            },
            Self::Mass { .. } => "kg",
            Self::Inertia { .. } => "kg m²",
            Self::FixedPose { axis, .. }
            | Self::GeometryPose { axis, .. }
            | Self::JointFrame { axis, .. } => {
                if axis < 3 {
                    "rad"
                } else {
                    "m"
                }
            }
            Self::JointAxis { .. } => "rad",
            Self::PseudoInertia { index: 7.., .. }
            | Self::CenterOfMass { .. }
            | Self::BristleLength
            | Self::MeshVertex { .. } => "m",
            Self::JointDamping { .. } | Self::DriveDamping { .. } => "N m s/rad or N s/m",
            Self::SpringStiffness { .. } | Self::DriveStiffness { .. } => "N m/rad or N/m",
            Self::SpringRest { .. } => "rad or m",
            Self::TreeStiffness { .. } => "1/s²",
            Self::TreeDamping { .. } => "1/s",
            Self::Load { load, .. } => match model.loads.get(load).map(|load| load.kind) {
                Some(LoadKind::Torque) => "N m",
                _ => "N",
            },
            Self::EffortLimit { .. } | Self::JointFriction { .. } => "N m or N",
            Self::JointStop { number, .. } => match number {
                StopNumber::Lower | StopNumber::Upper => "rad or m",
                StopNumber::Stiffness => "N m/rad or N/m",
                StopNumber::Dissipation => "s/rad or s/m",
            },
            Self::StictionVelocity => "m/s",
            Self::JointStictionVelocity { .. } => "rad/s or m/s",
            Self::Gravity { .. } => "m/s²",
            Self::GeometryScale { .. }
            | Self::PseudoInertia { .. }
            | Self::Extent { .. }
            | Self::PressureExponent { .. }
            | Self::TimeStep => "1",
        }
    }
}

impl Model {
    /// What a control value of the model is called: the command of an actuator, or one of the user's forces.
    pub fn control_name(&self, index: usize) -> String {
        match self.actuators.get(index) {
            Some(actuator) => format!("command of {}", actuator.name),
            None => format!("control {}", index - self.actuators.len()),
        }
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
