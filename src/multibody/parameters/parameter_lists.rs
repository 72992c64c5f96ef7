//! Lists of the parameters of a model.

use super::parameter::{Parameter, StopNumber};
use super::parameter_value::{contact_geometry, given_mass};
use crate::contact::{ContactGeometry, MaterialParameter};
use crate::multibody::{BodyGeometry, LoadPart, Model, TANGENT_DIMENSION};

/// The components of those vectors of loads that are `wanted`.
fn of_loads(model: &Model, wanted: impl Fn(LoadPart) -> bool) -> Vec<Parameter> {
    let mut parameters = Vec::new();
    for (load, l) in model.loads.iter().enumerate() {
        for part in l.history.parts().into_iter().filter(|&part| wanted(part)) {
            parameters.extend((0..3).map(|axis| Parameter::Load { load, part, axis }));
        }
    }
    parameters
}

impl Parameter {
    /// The relaxation time of every material that a geometry uses. These parameters matter only with the
    /// contact model SAP, in addition to [`Parameter::all`].
    pub fn relaxation_times(model: &Model) -> Vec<Parameter> {
        let geometries = || model.bodies.iter().flat_map(|b| &b.geometries);
        (0..model.materials.len())
            .filter(|&material| geometries().any(|g| g.material == Some(material)))
            .map(|material| Parameter::Material { material, parameter: MaterialParameter::RelaxationTime })
            .collect()
    }

    /// The coordinates of all vertices of a geometry's mesh, three for each; none of a half-space or of a
    /// geometry that the model does not have. They matter in addition to [`Parameter::all`].
    pub fn vertices(model: &Model, body: usize, geometry: usize) -> Vec<Parameter> {
        let count = contact_geometry(model, body, geometry).map_or(0, |shape| shape.vertices().len());
        let of = |vertex| (0..3).map(move |axis| Self::MeshVertex { body, geometry, vertex, axis });
        (0..count).flat_map(of).collect()
    }

    /// The extents at all vertices of a compliant geometry's mesh; none of other geometries. They matter in
    /// addition to [`Parameter::all`].
    pub fn extents(model: &Model, body: usize, geometry: usize) -> Vec<Parameter> {
        let count = contact_geometry(model, body, geometry).map_or(0, |shape| shape.extents().len());
        (0..count).map(|vertex| Self::Extent { body, geometry, vertex }).collect()
    }

    /// The parameters that a model has in addition to [`Parameter::all`], of settings, places and steps, and then those of
    /// meshes and knots, of which there are many.
    pub fn beyond_all(model: &Model) -> [Vec<Parameter>; 2] {
        let few = Self::of_contact(model).into_iter().chain([Self::TimeStep]).chain(Self::places(model));
        let mut many = Self::relaxation_times(model);
        many.extend(Self::load_knots(model));
        for (body, b) in model.bodies.iter().enumerate() {
            for geometry in 0..b.geometries.len() {
                many.extend(Self::vertices(model, body, geometry));
                many.extend(Self::extents(model, body, geometry));
            }
        }
        [few.collect(), many]
    }

    /// The poses of all geometries on their bodies, of all bodies that do not move, and of the frames of all joints, six
    /// numbers for each; and the axes of joints that have one, three numbers for each. They matter in addition to
    /// [`Parameter::all`].
    pub fn places(model: &Model) -> Vec<Parameter> {
        let mut places = Vec::new();
        for (body, b) in model.bodies.iter().enumerate() {
            if !b.is_moving() {
                places.extend((0..6).map(|axis| Self::FixedPose { body, axis }));
            }
            for geometry in 0..b.geometries.len() {
                places.extend((0..6).map(|axis| Self::GeometryPose { body, geometry, axis }));
            }
        }
        for (joint, j) in model.mechanism.joints().iter().enumerate() {
            places.extend((0..6).map(|axis| Self::JointFrame { joint, axis }));
            if j.kind.is_single() {
                places.extend((0..3).map(|axis| Self::JointAxis { joint, axis }));
            }
        }
        places
    }

    /// The settings of contact that have derivatives: the stiction velocity and, where there is one, the bristle
    /// length; none of a model without compliant pairs. They matter in addition to [`Parameter::all`].
    pub fn of_contact(model: &Model) -> Vec<Parameter> {
        let all = [Self::StictionVelocity, Self::BristleLength];
        let exists = |parameter: &Self| !model.pairs.is_empty() && parameter.value(model).is_ok();
        all.into_iter().filter(exists).collect()
    }

    /// The values at all knots of the loads, three for each knot. They matter in addition to [`Parameter::all`].
    pub fn load_knots(model: &Model) -> Vec<Parameter> {
        of_loads(model, |part| matches!(part, LoadPart::Knot(_)))
    }

    /// Every parameter that a result can depend on. These are the initial tangent of every free body and
    /// of the joints; the mass of every free body and link, with the centre of mass and the inertia
    /// where they were given; the values of loads that are constant or periodic; the parameters of every material that a geometry uses; the size of every
    /// geometry that has one (rigid half-spaces do not); gravity; all dampings, frictions, spring stiffnesses and gains
    /// of joints and actuators that are not 0; where the springs are at rest; the stops of joints; and limits
    /// of effort.
    ///
    /// Relaxation times are not among them, since they matter with one contact model only: see
    /// [`Parameter::relaxation_times`]. Nor are the numbers of meshes, of which there are many: see
    /// [`Parameter::vertices`], [`Parameter::extents`] and, for loads that are given by knots, [`Parameter::load_knots`]. Nor are poses on bodies, of fixed bodies and of joints: see
    /// [`Parameter::places`]; nor settings of contact: see [`Parameter::of_contact`].
    pub fn all(model: &Model) -> Vec<Parameter> {
        let mut parameters = Vec::new();
        for (body, _, _) in model.free_bodies() {
            parameters.extend((0..TANGENT_DIMENSION).map(|index| Parameter::InitialTangent { body, index }));
        }
        let joints = 2 * model.mechanism.velocity_dimension();
        parameters.extend((0..joints).map(|index| Parameter::InitialJoint { index }));
        let geometries = || model.bodies.iter().flat_map(|b| &b.geometries);
        for material in 0..model.materials.len() {
            let uses = |g: &BodyGeometry| g.material == Some(material);
            if geometries().any(|g| uses(g) && !g.collider.geometry.is_rigid()) {
                let elastic = [MaterialParameter::HydroelasticModulus, MaterialParameter::Dissipation];
                parameters.extend(elastic.map(|parameter| Parameter::Material { material, parameter }));
            }
            if geometries().any(uses) {
                let friction = [MaterialParameter::StaticFriction, MaterialParameter::DynamicFriction];
                parameters.extend(friction.map(|parameter| Parameter::Material { material, parameter }));
                let semi_axes = (0..3).map(|axis| Parameter::Material {
                    material,
                    parameter: MaterialParameter::FrictionEllipsoid(axis),
                });
                let is_used =
                    |p: &Parameter| model.rigid_pairs().len() > 0 && p.value(model).is_ok_and(|e| e > 0.0);
                parameters.extend(semi_axes.filter(is_used));
                let own = 0..model.contact.law.map_or(0, |law| law.parameters().len());
                parameters.extend(
                    own.map(|k| Parameter::Material { material, parameter: MaterialParameter::Own(k) }),
                );
            }
        }
        for body in (0..model.bodies.len()).filter(|&b| model.body_mass(b).is_some()) {
            parameters.push(Parameter::Mass { body });
            if given_mass(model, body).is_some() {
                parameters.extend((0..3).map(|axis| Parameter::CenterOfMass { body, axis }));
                let upper = (0..3).flat_map(|row| (row..3).map(move |column| (row, column)));
                parameters.extend(upper.map(|(row, column)| Parameter::Inertia { body, row, column }));
            }
        }
        for (body, b) in model.bodies.iter().enumerate() {
            let sized = b.geometries.iter().enumerate();
            let sized =
                sized.filter(|(_, g)| !matches!(*g.collider.geometry, ContactGeometry::RigidHalfSpace));
            parameters.extend(sized.map(|(geometry, _)| Parameter::GeometryScale { body, geometry }));
            let all = (0..b.geometries.len()).map(|geometry| Parameter::PressureExponent { body, geometry });
            parameters.extend(all.filter(|exponent| exponent.value(model).is_ok()));
        }
        if model.moving_count() > 0 {
            parameters.extend((0..3).map(|axis| Parameter::Gravity { axis }));
        }
        parameters.extend(of_loads(model, |part| !matches!(part, LoadPart::Knot(_))));
        let of_joints = (0..model.mechanism.joints().len()).flat_map(|joint| {
            let (damping, friction) = (Parameter::JointDamping { joint }, Parameter::JointFriction { joint });
            let stiction_velocity = Parameter::JointStictionVelocity { joint };
            [damping, friction, stiction_velocity, Parameter::SpringStiffness { joint }]
        });
        let springs = (0..model.mechanism.joints().len())
            .filter(|&joint| model.mechanism.joints()[joint].spring.stiffness > 0.0)
            .map(|joint| Parameter::SpringRest { joint });
        let stops = (0..model.mechanism.joints().len())
            .flat_map(|joint| StopNumber::ALL.map(|number| Parameter::JointStop { joint, number }));
        let efforts = (0..model.actuators.len()).map(|actuator| Parameter::EffortLimit { actuator });
        let limits = stops.chain(efforts).filter(|limit| limit.value(model).is_ok());
        let of_drives = (0..model.actuators.len()).flat_map(|actuator| {
            [Parameter::DriveStiffness { actuator }, Parameter::DriveDamping { actuator }]
        });
        let of_trees = (0..model.mechanism.trees().len())
            .flat_map(|tree| [Parameter::TreeStiffness { tree }, Parameter::TreeDamping { tree }]);
        parameters.extend(
            of_joints
                .chain(of_drives)
                .chain(of_trees)
                .filter(|i| i.value(model).is_ok_and(|value| value > 0.0)),
        );
        parameters.extend(springs.chain(limits));
        parameters
    }
}
