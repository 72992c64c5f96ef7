//! Models and states that carry derivatives with respect to chosen parameters.

use std::sync::Arc;

use nalgebra::{Matrix3, Vector3};

use super::parameter::Parameter;
use super::parameter_error::ParameterError;
use super::shape_mass::unit_mass_with_vertices;
use crate::contact::ContactGeometry;
use crate::field::FieldError;
use crate::multibody::models::body::unit_parts;
use crate::multibody::models::mass::Deformed;
use crate::multibody::models::model::share_materials;
use crate::multibody::tree::{ComputedTorque, Joint};
use crate::multibody::{Body, BodyGeometry, Drive, MassSource, Model, Motion, State};
use crate::scalar::{DualArray, Scalar, lift_vector, real_vector};
use crate::spatial::{MassProperties, MassPropertiesError, PSEUDO_INERTIA_NUMBERS, RigidTransform};

/// The model and the state with some parameters set to values in a scalar `T`, so that everything
/// computed from them carries the values' derivatives. With `f64` it evaluates at other values.
///
/// Parameters that are not listed keep the values they have in `model` and `state`, as constants. A
/// parameter that is listed twice takes the last value. Displacements of the initial state along
/// different directions are applied together.
///
/// # Errors
/// When the model has no such parameter, a value is out of its range, an inertia is not positive
/// definite, or the mass properties or a pressure field cannot be made.
///
/// # Examples
/// The derivative of a falling body's motion with respect to gravity, from a simulation in dual numbers:
/// ```
/// use isobar::multibody::{Body, BodyState, Parameter, MassSource, ModelBuilder, State, seeded};
/// use isobar::rollout::{Rollout, SimulationSettings};
/// use isobar::spatial::{MassProperties, RigidTransform};
/// use nalgebra::{Matrix3, Vector3};
/// use num_dual::Dual64;
///
/// let mass = MassProperties { mass: 2.0, center_of_mass: Vector3::zeros(), inertia: Matrix3::identity() };
/// let body = Body::free("drone", MassSource::Given(mass), vec![])?;
/// let model = ModelBuilder { bodies: vec![body], ..Default::default() }.build()?;
/// let start = State::of_bodies(vec![BodyState::at_rest(&RigidTransform::identity())]);
/// let gravity = Dual64::from(-9.81).derivative();
/// let (model, start) = seeded(&model, &start, &[(Parameter::Gravity { axis: 2 }, gravity)])?;
/// let motion = Rollout::new(&model, &start, SimulationSettings::default(), 0.1).simulate()?;
/// let height = motion.states[100].bodies[0].position.z;
/// // The height is half of gravity times the square of the time, up to the error of the steps.
/// assert!((height.eps - 0.5 * 0.1 * 0.1).abs() < 1e-4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn seeded<T: Scalar>(
    model: &Model,
    state: &State,
    values: &[(Parameter, T)],
) -> Result<(Model<T>, State<T>), ParameterError> {
    let out = with_values(model, values)?;
    let mut tangent = vec![T::from(0.0); state.tangent_dimension()];
    for &(parameter, value) in values.iter().filter(|(parameter, _)| parameter.is_of_state()) {
        let target = parameter.initial_tangent(model).and_then(|i| tangent.get_mut(i));
        *target.ok_or(ParameterError::NoSuchParameter(parameter))? = value;
    }
    Ok((out, State::lift(state).moved(&tangent)))
}

/// [`seeded`] with a direction for each of at most `N` parameters, in their order.
pub(crate) fn seeded_along<const N: usize>(
    model: &Model,
    state: &State,
    parameters: impl Iterator<Item = Parameter>,
) -> Result<(Model<DualArray<N>>, State<DualArray<N>>), ParameterError> {
    let variable =
        |(k, parameter): (usize, Parameter)| Ok((parameter, DualArray::variable(parameter.value(model)?, k)));
    let values = parameters.enumerate().map(variable).collect::<Result<Vec<_>, ParameterError>>()?;
    seeded(model, state, &values)
}

impl Model {
    /// The model with some of its parameters set to other values: a material's parameter is then that of
    /// the material and of every collider that has it. A parameter listed twice takes the last value.
    /// Static friction may come out below dynamic friction, which [`ModelBuilder`](crate::multibody::ModelBuilder)
    /// refuses: derivatives with respect to the two are looked for on both sides.
    ///
    /// # Errors
    /// When a parameter belongs to the initial state, which is not part of a model (see [`seeded`]), and
    /// the errors of [`seeded`].
    pub fn with_parameters(&self, values: &[(Parameter, f64)]) -> Result<Self, ParameterError> {
        match values.iter().find(|(parameter, _)| parameter.is_of_state()) {
            Some((parameter, _)) => Err(ParameterError::OfState { name: parameter.name(self) }),
            None => with_values(self, values),
        }
    }
}

/// The model with the parameters of the model set. Displacements of the initial state are only checked.
#[inline(never)]
fn with_values<T: Scalar>(model: &Model, values: &[(Parameter, T)]) -> Result<Model<T>, ParameterError> {
    let mut out = Model::<T>::lift(model);
    let mut remass = vec![false; model.bodies.len()];
    for &(parameter, value) in values {
        parameter.value(model)?;
        parameter.check(model, value.real())?;
        match parameter {
            // The state is not part of the model; all that belong to one shape or one place change it
            // together, below.
            Parameter::InitialTangent { .. }
            | Parameter::InitialJoint { .. }
            | Parameter::GeometryScale { .. }
            | Parameter::MeshVertex { .. }
            | Parameter::Extent { .. }
            | Parameter::PressureExponent { .. }
            | Parameter::PseudoInertia { .. }
            | Parameter::GeometryPose { .. }
            | Parameter::FixedPose { .. }
            | Parameter::JointFrame { .. }
            | Parameter::JointAxis { .. } => {}
            Parameter::Material { material, parameter: field } => {
                let target = out.materials[material].material.get_mut(field);
                *target.ok_or(ParameterError::NoSuchParameter(parameter))? = value;
            }
            Parameter::Mass { body } => {
                let present = parameter.value(model)?;
                match &mut out.bodies[body].motion {
                    Motion::Free { source, .. } => *source = source.with_mass(present, value),
                    _ => set_link_mass(&mut out, body, |mass| mass.mass = value),
                }
                remass[body] = true;
            }
            Parameter::Inertia { body, row, column } => {
                let set = |given: &mut MassProperties<T>| {
                    given.inertia[(row, column)] = value;
                    given.inertia[(column, row)] = value;
                };
                match &mut out.bodies[body].motion {
                    Motion::Free { source: MassSource::Given(given), .. } => set(given),
                    _ => set_link_mass(&mut out, body, set),
                }
                remass[body] = true;
            }
            Parameter::CenterOfMass { body, axis } => {
                match &mut out.bodies[body].motion {
                    Motion::Free { source: MassSource::Given(given), .. } => {
                        given.center_of_mass[axis] = value;
                    }
                    _ => set_link_mass(&mut out, body, |mass| mass.center_of_mass[axis] = value),
                }
                remass[body] = true;
            }
            Parameter::Gravity { axis } => out.gravity[axis] = value,
            Parameter::StictionVelocity => {
                out.contact.stiction_velocity = value;
                out.contact_varies = T::NDERIV > 0;
            }
            Parameter::BristleLength => {
                out.contact.bristle_length = Some(value);
                out.contact_varies = T::NDERIV > 0;
            }
            Parameter::TimeStep => {
                out.time_step_factor = value;
                out.contact_varies = T::NDERIV > 0;
            }
            Parameter::JointDamping { joint } => change_joint(&mut out, joint, |j| j.damping = value),
            Parameter::JointFriction { joint } => change_joint(&mut out, joint, |j| j.friction = value),
            Parameter::JointStictionVelocity { joint } => {
                change_joint(&mut out, joint, |j| j.stiction_velocity = value);
            }
            Parameter::SpringStiffness { joint } => {
                change_joint(&mut out, joint, |j| j.spring.stiffness = value);
            }
            Parameter::SpringRest { joint } => change_joint(&mut out, joint, |j| j.spring.rest = value),
            Parameter::JointStop { joint, number } => {
                change_joint(&mut out, joint, |j| *number.of_mut(&mut j.limits) = value);
            }
            Parameter::EffortLimit { actuator } => out.actuators[actuator].effort = value,
            Parameter::Load { load, part, axis } => {
                if let Some(vector) = out.loads[load].history.part_mut(part) {
                    vector[axis] = value;
                }
            }
            Parameter::DriveStiffness { actuator } => {
                if let Drive::Position { stiffness, .. } = &mut out.actuators[actuator].drive {
                    *stiffness = value;
                }
            }
            Parameter::DriveDamping { actuator } => match &mut out.actuators[actuator].drive {
                Drive::Position { damping, .. } | Drive::Velocity { damping } => *damping = value,
                Drive::Force | Drive::ComputedTorque => {}
            },
            Parameter::TreeStiffness { tree } => change_law(&mut out, tree, |law| law.stiffness = value),
            Parameter::TreeDamping { tree } => change_law(&mut out, tree, |law| law.damping = value),
        }
    }
    // Masses that are set are no longer deformed ones.
    out.deformed.retain(|deformed| !remass[deformed.body]);
    for change in ShapeChange::all(values) {
        let (body, geometry) = change.geometry;
        let original = &model.bodies[body].geometries[geometry];
        out.bodies[body].geometries[geometry] = change
            .of(original)
            .map_err(|source| ParameterError::Field { name: change.parameter.name(model), source })?;
        remass[body] = true;
    }
    move_places(model, values, &mut out, &mut remass);
    move_joints(values, &mut out);
    let Model { bodies, materials, mechanism, .. } = &mut out;
    share_materials(bodies, materials);
    for (body, remass) in bodies.iter_mut().zip(remass) {
        let Body { name, motion, geometries } = body;
        if !remass {
            continue;
        }
        let failed = |source| ParameterError::Mass { body: name.clone(), source };
        match motion {
            Motion::Free { source, mass } => {
                *mass = source.resolve(unit_parts(geometries)).map_err(failed)?;
                check_inertia(&mass.inertia.map(|x| x.real())).map_err(failed)?;
            }
            Motion::Link { link } => {
                if let Some(mass) = &mechanism.bodies()[*link].mass {
                    check_inertia(&mass.inertia.map(|x| x.real())).map_err(failed)?;
                }
            }
            Motion::Fixed { .. } => {}
        }
    }
    deform_masses(model, values, &mut out);
    Ok(out)
}

impl Model {
    /// The numbers that the mass of a body is deformed by.
    pub(super) fn deformation(&self, body: usize) -> [f64; PSEUDO_INERTIA_NUMBERS] {
        let found = self.deformed.iter().find(|deformed| deformed.body == body);
        found.map_or([0.0; PSEUDO_INERTIA_NUMBERS], |deformed| deformed.numbers)
    }
}

/// Deforms the masses that bodies had in the model, last of all: those that came from geometries are given then.
fn deform_masses<T: Scalar>(model: &Model, values: &[(Parameter, T)], out: &mut Model<T>) {
    for &(parameter, value) in values {
        let Parameter::PseudoInertia { body, index } = parameter else { continue };
        let known = out.deformed.iter().position(|deformed| deformed.body == body);
        let place = known.or_else(|| {
            let (before, numbers) = (*model.body_mass(body)?, [T::from(0.0); PSEUDO_INERTIA_NUMBERS]);
            out.deformed.push(Deformed { body, before, numbers });
            Some(out.deformed.len() - 1)
        });
        if let Some(place) = place {
            out.deformed[place].numbers[index] = value;
        }
    }
    for deformed in out.deformed.clone() {
        match &mut out.bodies[deformed.body].motion {
            Motion::Free { source, mass } => {
                *mass = deformed.mass();
                *source = MassSource::Given(*mass);
            }
            _ => set_link_mass(out, deformed.body, |mass| *mass = deformed.mass()),
        }
    }
}

/// Changes the mass properties of a link.
fn set_link_mass<T: Scalar>(model: &mut Model<T>, body: usize, change: impl FnOnce(&mut MassProperties<T>)) {
    let Motion::Link { link } = model.bodies[body].motion else { return };
    let Some(mut mass) = model.mechanism.bodies()[link].mass else { return };
    change(&mut mass);
    model.mechanism = std::mem::take(&mut model.mechanism).with_body_mass(link, mass);
}

/// Changes the damping, the friction, the spring or the stops of a joint.
fn change_joint<T: Scalar>(model: &mut Model<T>, joint: usize, change: impl FnOnce(&mut Joint<T>)) {
    let mut changed = model.mechanism.joints()[joint].clone();
    change(&mut changed);
    let Joint { damping, rotor_inertia, spring, limits, friction, stiction_velocity, .. } = changed;
    let mechanism = std::mem::take(&mut model.mechanism);
    let mechanism = mechanism.with_joint_parameters(joint, damping, rotor_inertia, spring, limits);
    model.mechanism = mechanism.with_joint_friction(joint, friction, stiction_velocity);
}

/// Changes the gains of a tree under computed torque.
fn change_law<T: Scalar>(model: &mut Model<T>, tree: usize, change: impl FnOnce(&mut ComputedTorque<T>)) {
    let changed = &model.mechanism.trees()[tree];
    if let (Some(mut law), joint) = (changed.computed_torque, changed.joints.start) {
        change(&mut law);
        model.mechanism = std::mem::take(&mut model.mechanism).with_computed_torque(joint, law);
    }
}

/// Checks that an inertia can be divided by: that it is positive definite.
///
/// The triangle inequality of the principal moments is not checked: a flat body satisfies it with
/// equality, and differences are taken on both sides of that.
fn check_inertia(inertia: &Matrix3<f64>) -> Result<(), MassPropertiesError> {
    if inertia.cholesky().is_some() {
        return Ok(());
    }
    Err(MassPropertiesError::Inertia(inertia.symmetric_eigenvalues().into()))
}

/// Moves geometries on their bodies, and bodies that do not move by themselves.
fn move_places<T: Scalar>(model: &Model, values: &[(Parameter, T)], out: &mut Model<T>, remass: &mut [bool]) {
    // A body, and the geometry that moves on it or none where the body moves.
    type Place = (usize, Option<usize>);
    // The last value for each axis.
    let mut moves: Vec<(Place, [T; 6])> = Vec::new();
    for &(parameter, value) in values {
        let (place, axis) = match parameter {
            Parameter::GeometryPose { body, geometry, axis } => ((body, Some(geometry)), axis),
            Parameter::FixedPose { body, axis } => ((body, None), axis),
            _ => continue,
        };
        let index = moves.iter().position(|(known, _)| *known == place).unwrap_or_else(|| {
            moves.push((place, [T::from(0.0); 6]));
            moves.len() - 1
        });
        moves[index].1[axis] = value;
    }
    for ((body, geometry), by) in moves {
        let (turn, shift) = (Vector3::new(by[0], by[1], by[2]), Vector3::new(by[3], by[4], by[5]));
        let own = &mut out.bodies[body];
        match (geometry, &mut own.motion) {
            (Some(geometry), _) => {
                let x_bg = &model.bodies[body].geometries[geometry].x_bg;
                own.geometries[geometry].x_bg = RigidTransform::lift(x_bg).moved(&turn, &shift);
                remass[body] = true;
            }
            (None, Motion::Fixed { x_wb, .. }) => *x_wb = x_wb.moved(&turn, &shift),
            (None, _) => {}
        }
    }
}

/// Moves the frames of joints, then their axes.
fn move_joints<T: Scalar>(values: &[(Parameter, T)], out: &mut Model<T>) {
    // The last value for each axis: a turn and a shift of the frame, and a turn of the axis.
    let mut moves: Vec<(usize, [Vector3<T>; 3])> = Vec::new();
    for &(parameter, value) in values {
        let (joint, part, axis) = match parameter {
            Parameter::JointFrame { joint, axis } => (joint, axis / 3, axis % 3),
            Parameter::JointAxis { joint, axis } => (joint, 2, axis),
            _ => continue,
        };
        let index = moves.iter().position(|(known, _)| *known == joint).unwrap_or_else(|| {
            moves.push((joint, [Vector3::from_element(T::from(0.0)); 3]));
            moves.len() - 1
        });
        moves[index].1[part][axis] = value;
    }
    for (joint, [turn, shift, of_axis]) in moves {
        let mechanism = std::mem::take(&mut out.mechanism);
        out.mechanism = mechanism.with_moved_joint(joint, &turn, &shift).with_turned_axis(joint, &of_axis);
    }
}

/// How the shape of one geometry changes.
struct ShapeChange<T> {
    geometry: (usize, usize),
    /// One of its parameters, for messages.
    parameter: Parameter,
    scale: Option<T>,
    /// The exponent of its pressure law.
    exponent: Option<T>,
    /// Coordinates of vertices: vertex, axis, value.
    vertices: Vec<(usize, usize, T)>,
    /// Extents at vertices.
    extents: Vec<(usize, T)>,
}

impl<T: Scalar> ShapeChange<T> {
    /// The changes of all geometries, each once.
    fn all(values: &[(Parameter, T)]) -> Vec<Self> {
        let mut changes: Vec<Self> = Vec::new();
        for &(parameter, value) in values {
            let (Some(geometry), false) =
                (parameter.geometry(), matches!(parameter, Parameter::GeometryPose { .. }))
            else {
                continue;
            };
            let index = changes.iter().position(|change| change.geometry == geometry);
            let index = index.unwrap_or_else(|| {
                let (vertices, extents) = (Vec::new(), Vec::new());
                changes.push(Self { geometry, parameter, scale: None, exponent: None, vertices, extents });
                changes.len() - 1
            });
            match parameter {
                Parameter::GeometryScale { .. } => changes[index].scale = Some(value),
                Parameter::MeshVertex { vertex, axis, .. } => {
                    changes[index].vertices.push((vertex, axis, value));
                }
                Parameter::Extent { vertex, .. } => changes[index].extents.push((vertex, value)),
                Parameter::PressureExponent { .. } => changes[index].exponent = Some(value),
                _ => {}
            }
        }
        changes
    }

    /// The geometry with the change: first vertices and extents, then its size about the origin of its frame.
    fn of(&self, original: &BodyGeometry) -> Result<BodyGeometry<T>, FieldError> {
        let mut out = BodyGeometry::<T>::lift(original);
        let scale = self.scale.unwrap_or(T::from(1.0));
        let shape = &*original.collider.geometry;
        if shape.is_half_space() {
            out.collider.thickness *= scale;
            return Ok(out);
        }
        let mut vertices: Vec<Vector3<T>> = shape.vertices().iter().map(lift_vector).collect();
        self.vertices.iter().for_each(|&(vertex, axis, value)| vertices[vertex][axis] = value);
        if !self.vertices.is_empty() {
            out.unit_mass = unit_mass_with_vertices(original, &vertices);
        }
        if self.scale.is_some() {
            out.unit_mass = out.unit_mass.map(|m| m.enlarged(scale));
            vertices.iter_mut().for_each(|v| *v *= scale);
        }
        let mut extents: Vec<T> = shape.extents().iter().map(|&e| T::from(e)).collect();
        if let (Some(exponent), Some(present)) = (self.exponent, shape.exponent()) {
            // Below 0 is a skirt, which stays.
            for extent in extents.iter_mut().filter(|extent| extent.real() > 0.0) {
                *extent *= ((exponent / present - 1.0) * extent.ln()).exp();
            }
        }
        self.extents.iter().for_each(|&(vertex, value)| extents[vertex] = value);
        let real: Vec<Vector3<f64>> = vertices.iter().map(real_vector).collect();
        let real_extents: Vec<f64> = extents.iter().map(|e| e.real()).collect();
        if real != shape.vertices() || real_extents != shape.extents() {
            out.collider.geometry = Arc::new(match shape {
                ContactGeometry::Compliant(field) => {
                    let exponent = self.exponent.map(|exponent| exponent.real()).or(field.exponent());
                    let field = field.reshaped(real, real_extents, scale.real())?;
                    ContactGeometry::Compliant(field.with_exponent(exponent))
                }
                ContactGeometry::Rigid(surface) => ContactGeometry::Rigid(surface.reshaped(real)),
                half_space => half_space.clone(),
            });
        }
        if T::NDERIV > 0 && (self.scale.is_some() || !self.vertices.is_empty()) {
            out.collider.vertices = Some(vertices.into());
        }
        if T::NDERIV > 0 && (self.exponent.is_some() || !self.extents.is_empty()) {
            out.collider.extent = Some(extents.into());
        }
        Ok(out)
    }
}
