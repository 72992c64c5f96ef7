//! Derivatives of one number with respect to the numbers of a model, and from these with respect to its
//! parameters.

use nalgebra::{Matrix3, Vector3};

use super::force_dependence::ForceDependence;
use super::geometry_gradient::GeometryGradient;
use super::joint_gradient::{DriveGradient, JointGradient, TreeGradient};
use super::parameter::{Parameter, StopNumber};
use super::parameter_error::ParameterError;
use super::seeding::seeded_along;
use super::shape_mass::{by_place_through_mass, by_scale_through_mass, by_vertices_through_mass};
use crate::contact::{Material, ShapeTerms};
use crate::multibody::models::joint_law::{CoordinateIndices, LawOrigin};
use crate::multibody::tree::Mechanism;
use crate::multibody::{BodyCotangent, GeometryPair, MassSource, Model, Motion, State, TANGENT_DIMENSION};
use crate::scalar::{CHUNK, DualArray};
use crate::spatial::MassProperties;

/// Directions of state and control that one evaluation in dual numbers carries.
pub const DIRECTIONS: usize = TANGENT_DIMENSION;
/// Parameters that one evaluation in dual numbers carries.
pub const SEEDS: usize = 4;
/// Directions of the joints' configuration that one evaluation in dual numbers carries.
pub(crate) const JOINT_DIRECTIONS: usize = 4;

/// The derivatives of one number, such as a loss, with respect to the numbers of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelGradient {
    /// With respect to the parameters of each of [`Model::materials`].
    pub materials: Vec<Material>,
    /// With respect to the mass properties of each moving body (see [`Model::moving_index`]); an
    /// inertia's elements are taken as nine independent numbers, and the derivative is symmetric. What
    /// passes through a velocity-level step is there only if masses or sizes are among the parameters.
    pub masses: Vec<MassProperties>,
    /// With respect to the acceleration of gravity in W.
    pub gravity: Vector3<f64>,
    /// With respect to the spring, the damping, the friction and the stops of each joint of the mechanism;
    /// what passes through SAP's regularization, friction and stops are there only if they are among the
    /// parameters.
    pub joints: Vec<JointGradient>,
    /// With respect to the gains and the limit of effort of each of [`Model::actuators`], if numbers of
    /// actuators, stops or friction in joints are among the parameters; 0 for gains that the actuator does not have.
    pub drives: Vec<DriveGradient>,
    /// With respect to the gains of each tree of the mechanism that is under computed torque; what passes through SAP's
    /// regularization only if they are among the parameters.
    pub trees: Vec<TreeGradient>,
    /// With respect to the shapes and places of those geometries that a parameter belongs to, through
    /// contact: their masses aside.
    pub geometries: Vec<GeometryGradient>,
    /// Whether masses of free bodies, shapes or places of geometries are among the parameters: those by masses
    /// take extra work in velocity-level steps.
    pub(crate) of_free_bodies: bool,
    /// Whether the masses of links are among the parameters: those by them take extra work.
    pub(crate) of_links: bool,
    /// Whether springs or dampings of joints, or gains of computed torque, are among the parameters.
    pub(crate) of_springs: bool,
    /// Whether numbers of actuators, stops or friction in joints are among the parameters: those by them
    /// take extra work.
    pub(crate) of_joint_laws: bool,
    /// With respect to each of [`DifferentiatedModel::parameters`], the part that does not pass through
    /// the numbers above, but through loads, actuators on free bodies, and user forces that depend on the model.
    pub direct: Vec<f64>,
}

impl ModelGradient {
    /// Zero derivatives.
    pub fn zero(model: &DifferentiatedModel) -> Self {
        Self {
            materials: vec![Material::NONE; model.model.materials.len()],
            masses: vec![MassProperties::zero(); model.model.moving_count()],
            gravity: Vector3::zeros(),
            joints: vec![JointGradient::default(); model.model.mechanism.joints().len()],
            drives: vec![DriveGradient::default(); model.model.actuators.len()],
            trees: vec![TreeGradient::default(); model.model.mechanism.trees().len()],
            of_springs: model.parameters.iter().any(|parameter| {
                matches!(
                    parameter,
                    Parameter::JointDamping { .. }
                        | Parameter::SpringStiffness { .. }
                        | Parameter::TreeStiffness { .. }
                        | Parameter::TreeDamping { .. }
                )
            }),
            of_joint_laws: model.parameters.iter().any(|parameter| {
                matches!(
                    parameter,
                    Parameter::DriveStiffness { .. }
                        | Parameter::DriveDamping { .. }
                        | Parameter::EffortLimit { .. }
                        | Parameter::JointStop { .. }
                        | Parameter::JointFriction { .. }
                        | Parameter::JointStictionVelocity { .. }
                )
            }),
            of_links: model.asks_for_link_masses(),
            of_free_bodies: model.asks_for_free_masses(),
            geometries: model.geometries.iter().map(|&at| GeometryGradient::zero(model.model, at)).collect(),
            direct: vec![0.0; model.parameters.len()],
        }
    }

    /// Becomes zero.
    pub(crate) fn clear(&mut self) {
        self.materials.fill(Material::NONE);
        self.masses.fill(MassProperties::zero());
        self.gravity = Vector3::zeros();
        self.joints.fill(JointGradient::default());
        self.drives.fill(DriveGradient::default());
        self.trees.fill(TreeGradient::default());
        self.geometries.iter_mut().for_each(GeometryGradient::clear);
        self.direct.fill(0.0);
    }
}

/// Adds derivatives with respect to mass properties.
pub(in crate::multibody) fn add_mass(to: &mut MassProperties, by: &MassProperties) {
    to.mass += by.mass;
    to.center_of_mass += by.center_of_mass;
    to.inertia += by.inertia;
}

impl ModelGradient {
    /// Adds the derivatives through the acceleration of a body, given by its index among the free ones.
    pub fn add_body(&mut self, free: usize, by: &BodyCotangent) {
        add_mass(&mut self.masses[free], &by.mass);
        self.gravity += by.gravity;
    }
}

impl ModelGradient {
    /// Adds the derivatives with respect to a turn of a geometry's frame about its origin and to a shift of
    /// it, both in W, if they are asked for; `to_world` turns the body's axes into those of W.
    pub(crate) fn add_place(
        &mut self,
        geometry: (usize, usize),
        to_world: &Matrix3<f64>,
        by_rotation: &Vector3<f64>,
        by_translation: &Vector3<f64>,
    ) {
        if let Some(own) = self.geometries.iter_mut().find(|own| own.geometry == geometry) {
            own.rotation += to_world.tr_mul(by_rotation);
            own.translation += to_world.tr_mul(by_translation);
        }
    }

    /// Adds the derivatives of a number through the law of a joint coordinate, given that with respect to its
    /// outcome and those of the outcome with respect to the law's numbers (see `JointLaw::number_slopes`).
    pub(crate) fn add_law_numbers(&mut self, at: &CoordinateIndices, slopes: [f64; 3], by_outcome: f64) {
        let [first, second, third] = slopes.map(|slope| slope * by_outcome);
        match at.origin {
            LawOrigin::Drive { actuator, .. } => {
                let by = &mut self.drives[actuator];
                by.stiffness += first;
                by.damping += second;
                by.effort += third;
            }
            LawOrigin::Stop { joint, upper } => {
                let by = &mut self.joints[joint];
                by.ends[usize::from(upper)] += first;
                by.stop_stiffness += second;
                by.stop_dissipation += third;
            }
            LawOrigin::Friction { joint } => {
                let by = &mut self.joints[joint];
                by.friction += first;
                by.stiction_velocity += second;
            }
        }
    }

    /// Adds the derivatives with respect to the shapes of a pair of geometries, as far as they are asked for.
    pub(crate) fn add_shapes(&mut self, pair: &GeometryPair, terms: &ShapeTerms) {
        for (geometry, terms) in pair.geometries().into_iter().zip(terms.of_a_and_b()) {
            if let Some(shape) = self.geometries.iter_mut().find(|shape| shape.geometry == geometry) {
                shape.add(terms);
            }
        }
    }
}

/// A model some of whose parameters carry derivatives.
#[derive(Clone, Debug)]
pub struct SeededModel<const N: usize = SEEDS> {
    /// For each direction of the dual numbers the index of its parameter in
    /// [`DifferentiatedModel::parameters`].
    pub columns: Vec<usize>,
    /// The model.
    pub model: Model<DualArray<N>>,
}

/// A model together with the parameters that it is differentiated with respect to, and the precomputed
/// models that this takes. It is made once and used by every step.
///
/// The derivatives of contact with respect to state and materials come from its local Jacobian, those
/// with respect to the shapes of geometries from one more pass over its surface, those of the motion by
/// masses and gravity in closed form: however many parameters there are, they cost the same. Two
/// dependences are not covered by these closed forms: that on the frames and axes of joints, for which whole steps are
/// taken in dual numbers, eight parameters at a time, and that of the user's forces on the model (unless
/// [`ForceDependence::model`] says that there is none), which is evaluated in dual numbers with [`SEEDS`]
/// parameters at a time. The user's forces are taken not to depend on vertices and extents of meshes.
#[derive(Clone, Debug)]
pub struct DifferentiatedModel<'m> {
    model: &'m Model,
    parameters: Vec<Parameter>,
    /// The geometries whose shapes or places parameters belong to, as body and geometry, in increasing order.
    geometries: Vec<(usize, usize)>,
    /// Which of the parameters loads and actuators on free bodies follow.
    of_loads: Vec<usize>,
    seen_by_forces: Vec<SeededModel>,
    seen_by_steps: Vec<SeededModel<CHUNK>>,
    constant: Option<Model<DualArray<DIRECTIONS>>>,
    constant_joints: Mechanism<DualArray<JOINT_DIRECTIONS>>,
}

impl<'m> DifferentiatedModel<'m> {
    /// A model to be differentiated with respect to `parameters` while the user's forces depend on what
    /// `dependence` says and on `control_dimension` control values.
    ///
    /// # Errors
    /// When the model has no such parameter.
    pub fn new(
        model: &'m Model,
        parameters: &[Parameter],
        dependence: ForceDependence,
        control_dimension: usize,
    ) -> Result<Self, ParameterError> {
        for parameter in parameters {
            parameter.value(model)?;
        }
        let of_mesh = |parameter: &Parameter| {
            use Parameter::{Extent, MeshVertex, PressureExponent};
            matches!(parameter, MeshVertex { .. } | Extent { .. } | PressureExponent { .. })
        };
        let seen = |parameter: &Parameter| {
            dependence.model && !parameter.is_of_state() && !parameter.takes_a_step() && !of_mesh(parameter)
        };
        let mut geometries: Vec<_> = parameters.iter().flat_map(|p| p.geometries(model)).collect();
        geometries.sort_unstable();
        geometries.dedup();
        let forces_have_derivatives = dependence.has_state() || control_dimension > 0;
        Ok(Self {
            model,
            parameters: parameters.to_vec(),
            geometries,
            of_loads: (0..parameters.len()).filter(|&i| parameters[i].is_of_loads(model)).collect(),
            seen_by_forces: seeded_models(model, parameters, seen)?,
            seen_by_steps: seeded_models(model, parameters, Parameter::takes_a_step)?,
            constant_joints: Mechanism::lift(&model.mechanism),
            constant: forces_have_derivatives.then(|| Model::lift(model)),
        })
    }

    /// The model.
    pub fn model(&self) -> &'m Model {
        self.model
    }

    /// The parameters.
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// Whether the mass of a free body, or a shape that it may come from, is among the parameters.
    pub(crate) fn asks_for_free_masses(&self) -> bool {
        self.parameters.iter().any(|parameter| match parameter.mass_of_body() {
            Some(body) => self.model.bodies[body].is_free(),
            None => parameter.geometry().is_some(),
        })
    }

    /// Whether the mass of a link is among the parameters.
    pub(crate) fn asks_for_link_masses(&self) -> bool {
        let is_of_link = |body: usize| !self.model.bodies[body].is_free();
        self.parameters.iter().any(|parameter| parameter.mass_of_body().is_some_and(is_of_link))
    }

    /// The joints as constants, for derivatives with respect to their configuration.
    pub(crate) fn constant_joints(&self) -> &Mechanism<DualArray<JOINT_DIRECTIONS>> {
        &self.constant_joints
    }

    /// Whether the shape or the place of a geometry is among the parameters.
    pub(crate) fn asks_for_geometries(&self) -> bool {
        !self.geometries.is_empty()
    }

    /// Whether the shape or the place of one of two geometries is among the parameters.
    pub(crate) fn asks_for_geometry_of(&self, pair: &GeometryPair) -> bool {
        self.geometries_asked_of(pair).contains(&true)
    }

    /// Whether the shape or the place of each of two geometries is among the parameters.
    pub(crate) fn geometries_asked_of(&self, pair: &GeometryPair) -> [bool; 2] {
        pair.geometries().map(|geometry| self.geometries.contains(&geometry))
    }

    /// Which of the parameters loads and actuators on free bodies follow.
    pub(in crate::multibody) fn parameters_of_loads(&self) -> &[usize] {
        &self.of_loads
    }

    /// Models that carry the derivatives with respect to the parameters that the user's forces may
    /// depend on.
    pub(in crate::multibody) fn seen_by_forces(&self) -> &[SeededModel] {
        &self.seen_by_forces
    }

    /// Models that carry the derivatives with respect to the parameters for which whole steps are taken in dual numbers.
    pub(crate) fn seen_by_steps(&self) -> &[SeededModel<CHUNK>] {
        &self.seen_by_steps
    }

    /// The model as constants, if the user's forces depend on state or control.
    pub(in crate::multibody) fn constant(&self) -> Option<&Model<DualArray<DIRECTIONS>>> {
        self.constant.as_ref()
    }

    /// The derivatives with respect to each of the parameters, from those with respect to the model's
    /// numbers and the initial state in its tangent space.
    pub fn by_parameters(&self, by_initial: &[f64], by_model: &ModelGradient) -> Vec<f64> {
        let mut gradient = by_model.direct.clone();
        for (value, parameter) in gradient.iter_mut().zip(&self.parameters) {
            *value += self.by_numbers(parameter, by_initial, by_model);
        }
        for geometry in &by_model.geometries {
            self.add_by_geometry(geometry, by_model, &mut gradient);
        }
        gradient
    }

    /// Adds the derivatives with respect to the parameters that belong to the shape or the place of one
    /// geometry, through contact and through the mass of its body.
    fn add_by_geometry(&self, by: &GeometryGradient, by_model: &ModelGradient, gradient: &mut [f64]) {
        let (body, geometry) = by.geometry;
        let own = &self.model.bodies[body];
        let has = |wanted: fn(&Parameter) -> bool| {
            self.parameters.iter().any(|p| wanted(p) && p.geometry() == Some(by.geometry))
        };
        let mass = self.model.moving_index(body).map(|i| &by_model.masses[i]);
        let by_scale = match mass {
            Some(mass) if has(|p| matches!(p, Parameter::GeometryScale { .. })) => {
                by_scale_through_mass(self.model, body, geometry, mass)
            }
            _ => 0.0,
        };
        let through_mass = match mass {
            Some(mass) if has(|p| matches!(p, Parameter::MeshVertex { .. })) => {
                by_vertices_through_mass(self.model, body, geometry, mass)
            }
            _ => None,
        };
        let by_place = match mass {
            Some(mass) if has(|p| matches!(p, Parameter::GeometryPose { .. })) => {
                by_place_through_mass(self.model, body, geometry, mass)
            }
            _ => [0.0; 6],
        };
        for (value, parameter) in gradient.iter_mut().zip(&self.parameters) {
            if let (Parameter::FixedPose { body: fixed, axis }, Motion::Fixed { x_wb, .. }) =
                (*parameter, &own.motion)
                && fixed == body
            {
                // The geometry's frame is carried along.
                let offset = x_wb.rotation * own.geometries[geometry].x_bg.translation;
                let (turn, shift) = (x_wb.rotation * by.rotation, x_wb.rotation * by.translation);
                *value += if axis < 3 { (turn + offset.cross(&shift))[axis] } else { shift[axis - 3] };
            }
            if parameter.geometry() != Some(by.geometry) {
                continue;
            }
            *value += match *parameter {
                Parameter::GeometryScale { .. } => by.by_scale(self.model) + by_scale,
                Parameter::MeshVertex { vertex, axis, .. } => {
                    by.vertices[vertex][axis] + through_mass.as_ref().map_or(0.0, |by| by[vertex][axis])
                }
                Parameter::Extent { vertex, .. } => by.extents[vertex],
                Parameter::PressureExponent { .. } => by.by_exponent(self.model),
                Parameter::GeometryPose { axis, .. } => {
                    let of_frame = if axis < 3 { by.rotation[axis] } else { by.translation[axis - 3] };
                    of_frame + by_place[axis]
                }
                _ => 0.0,
            };
        }
    }

    /// The derivative with respect to one parameter through the numbers of the model that it sets; shapes
    /// and places of geometries aside.
    fn by_numbers(&self, parameter: &Parameter, by_initial: &[f64], by_model: &ModelGradient) -> f64 {
        let mass = |body: usize| self.model.moving_index(body).map(|i| &by_model.masses[i]);
        match *parameter {
            Parameter::InitialTangent { .. } | Parameter::InitialJoint { .. } => {
                parameter.initial_tangent(self.model).map_or(0.0, |i| by_initial[i])
            }
            Parameter::Material { material, parameter } => {
                by_model.materials[material].get(parameter).unwrap_or(0.0)
            }
            Parameter::Mass { body } => mass(body).map_or(0.0, |by| match &self.model.bodies[body].motion {
                Motion::Free { source: MassSource::Spread(_) | MassSource::Density(_), mass, .. } => {
                    // Inertia is proportional to the mass.
                    by.mass + by.inertia.dot(&mass.inertia) / mass.mass
                }
                _ => by.mass,
            }),
            Parameter::Inertia { body, row, column } => mass(body).map_or(0.0, |by| {
                let mirror = if row == column { 0.0 } else { by.inertia[(column, row)] };
                by.inertia[(row, column)] + mirror
            }),
            Parameter::CenterOfMass { body, axis } => mass(body).map_or(0.0, |by| by.center_of_mass[axis]),
            Parameter::PseudoInertia { body, index } => {
                let (Some(by), Some(mass)) = (mass(body), self.model.body_mass(body)) else { return 0.0 };
                let mut at = self.model.deformation(body).map(DualArray::<1>::from);
                at[index].eps[0] = 1.0;
                let known = self.model.deformed.iter().find(|deformed| deformed.body == body);
                let before = known.map_or(*mass, |deformed| deformed.before);
                let deformed = MassProperties::lift(&before).deformed(&at);
                by.mass * deformed.mass.eps[0]
                    + by.center_of_mass.dot(&deformed.center_of_mass.map(|x| x.eps[0]))
                    + by.inertia.dot(&deformed.inertia.map(|x| x.eps[0]))
            }
            Parameter::Gravity { axis } => by_model.gravity[axis],
            Parameter::JointDamping { joint } => by_model.joints[joint].damping,
            Parameter::JointFriction { joint } => by_model.joints[joint].friction,
            Parameter::JointStictionVelocity { joint } => by_model.joints[joint].stiction_velocity,
            Parameter::SpringStiffness { joint } => by_model.joints[joint].stiffness,
            Parameter::SpringRest { joint } => by_model.joints[joint].rest,
            Parameter::JointStop { joint, number } => {
                let by = &by_model.joints[joint];
                match number {
                    StopNumber::Lower => by.ends[0],
                    StopNumber::Upper => by.ends[1],
                    StopNumber::Stiffness => by.stop_stiffness,
                    StopNumber::Dissipation => by.stop_dissipation,
                }
            }
            Parameter::EffortLimit { actuator } => by_model.drives[actuator].effort,
            Parameter::DriveStiffness { actuator } => by_model.drives[actuator].stiffness,
            Parameter::DriveDamping { actuator } => by_model.drives[actuator].damping,
            Parameter::TreeStiffness { tree } => by_model.trees[tree].stiffness,
            Parameter::TreeDamping { tree } => by_model.trees[tree].damping,
            Parameter::GeometryScale { .. }
            | Parameter::MeshVertex { .. }
            | Parameter::Extent { .. }
            | Parameter::PressureExponent { .. }
            | Parameter::GeometryPose { .. }
            | Parameter::FixedPose { .. }
            | Parameter::JointFrame { .. }
            | Parameter::JointAxis { .. }
            | Parameter::StictionVelocity
            | Parameter::BristleLength
            | Parameter::TimeStep
            | Parameter::Load { .. } => 0.0,
        }
    }
}

/// Models seeded with those of the parameters that are `wanted`, as many at a time as the dual numbers have directions.
pub(crate) fn seeded_models<const N: usize>(
    model: &Model,
    parameters: &[Parameter],
    wanted: impl Fn(&Parameter) -> bool,
) -> Result<Vec<SeededModel<N>>, ParameterError> {
    // The model does not depend on the state that is moved along.
    let nowhere = State::default();
    let columns: Vec<usize> = (0..parameters.len()).filter(|&i| wanted(&parameters[i])).collect();
    columns
        .chunks(N)
        .map(|columns| {
            let (model, _) = seeded_along(model, &nowhere, columns.iter().map(|&i| parameters[i]))?;
            Ok(SeededModel { columns: columns.to_vec(), model })
        })
        .collect()
}
