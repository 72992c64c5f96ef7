//! The builder of models, and the checks that it makes.

use std::collections::HashMap;

use nalgebra::Vector3;

use super::actuator::{Actuator, check_computed_torque};
use super::body::{Body, Motion};
use super::load_history::{Load, check_loads};
use super::model::{Model, ModelIdentity, NamedMaterial, is_rigid_pair, share_materials};
use super::pair::{BodyPair, GeometryPair};
use crate::contact::{ContactError, ContactSettings, Material, MaterialParameter, OwnLaw, check_pair};
use crate::multibody::ModelError;
use crate::multibody::model_error::LARGEST_PAIR_COUNT;
use crate::multibody::tree::Mechanism;
use crate::scalar::Scalar;

/// The parts that a [`Model`] is built from.
///
/// Fields that are not given can be taken from [`ModelBuilder::default`]: no joints, no bodies, no
/// actuators, no materials, no loads, the default contact settings, no pairs left apart, and the gravity of the
/// earth, (0, 0, −9.81) m/s². For a model without gravity, set it to zero.
#[derive(Clone, Debug)]
pub struct ModelBuilder {
    /// The joints, and the bodies that they carry.
    pub mechanism: Mechanism,
    /// The bodies. Those that joints carry are links of the mechanism.
    pub bodies: Vec<Body>,
    /// The actuators that drive the joints and push free bodies, in the order of their commands among the control values.
    pub actuators: Vec<Actuator>,
    /// The materials that geometries name by their indices in this list. The collider of a geometry that
    /// names a material gets that material, whatever it had before; the model lists those of other colliders after them.
    pub materials: Vec<NamedMaterial>,
    /// The acceleration of gravity in W, m/s².
    pub gravity: Vector3<f64>,
    /// Forces and torques on free bodies over time.
    pub loads: Vec<Load>,
    /// The settings of contact queries.
    pub contact: ContactSettings,
    /// Pairs of bodies that are left out of contact, in any order, by their indices in
    /// [`ModelBuilder::bodies`].
    pub apart: Vec<BodyPair>,
}

impl Default for ModelBuilder {
    fn default() -> Self {
        Self {
            mechanism: Mechanism::default(),
            bodies: Vec::new(),
            actuators: Vec::new(),
            materials: Vec::new(),
            gravity: Vector3::new(0.0, 0.0, -9.81),
            loads: Vec::new(),
            contact: ContactSettings::default(),
            apart: Vec::new(),
        }
    }
}

impl ModelBuilder {
    /// Builds the model of these parts. In it all geometries of different bodies can touch, unless both
    /// bodies are fixed, the pair is in [`ModelBuilder::apart`], one joint connects the two links, or
    /// the links move as one. Bodies of the mechanism that are fixed to the world are not its links. If
    /// such a body is a fixed body here and must not touch the links that it carries, add the pair to
    /// [`ModelBuilder::apart`] (see [`Mechanism::are_connected`]).
    ///
    /// # Errors
    /// The following are refused: two half-spaces that could touch; two bodies
    /// or two actuators with the same name; a body without a usable mass; a link that the mechanism does
    /// not have or that is fixed to the world; a geometry that names a material that does not exist, or
    /// that is compliant without a positive modulus; a number of a material, of gravity, of the contact
    /// settings, of an actuator or of a load that is out of its range; a load or an actuator on a body that is not free; two loads of one kind with the same name; a pair to be left out of contact that names
    /// a body that does not exist; and an actuator on coordinates that the mechanism does not have.
    pub fn build(self) -> Result<Model, ModelError> {
        let Self { mechanism, mut bodies, actuators, mut materials, gravity, loads, contact, mut apart } =
            self;
        for value in &gravity {
            check_value("a component of gravity", *value, value.is_finite(), "finite")?;
        }
        check_settings(&contact)?;
        for named in &materials {
            check_material(&named.material, contact.law, || format!("material `{}`", named.name))?;
        }
        check_geometries(&bodies, materials.len(), contact.law)?;
        list_own_materials(&mut bodies, &mut materials);
        share_materials(&mut bodies, &materials);
        check_bodies(&bodies, &mechanism)?;
        let is_free = |body: usize| bodies.get(body).is_some_and(Body::is_free);
        check_actuators(&actuators, &mechanism, is_free)?;
        check_computed_torque(&actuators, &mechanism)?;
        check_loads(&loads, is_free)?;
        for pair in &mut apart {
            let (BodyPair { a, b }, count) = (*pair, bodies.len());
            if a == b || a.max(b) >= count {
                return Err(ModelError::Apart { a, b, count });
            }
            *pair = BodyPair::of(a, b);
        }
        apart.sort_unstable();
        apart.dedup();
        let pairs = touching_pairs(&mechanism, &bodies, &apart)?;
        let rigid_pairs = (0..pairs.len()).filter(|&index| is_rigid_pair(&bodies, &pairs[index])).collect();
        let identity = ModelIdentity::new();
        let masses = bodies.iter().filter_map(|body| match &body.motion {
            Motion::Fixed { .. } => None,
            Motion::Free { mass, .. } => Some(mass.mass),
            Motion::Link { link } => mechanism.bodies()[*link].mass.as_ref().map(|mass| mass.mass),
        });
        let heaviest = masses.fold(0.0, f64::max);
        Ok(Model {
            bodies,
            mechanism,
            actuators,
            materials,
            gravity,
            loads,
            contact,
            contact_varies: false,
            time_step_factor: 1.0,
            deformed: Vec::new(),
            apart,
            pairs,
            rigid_pairs,
            heaviest,
            identity,
        })
    }
}

impl Model {
    /// The parts that the model was built from. Change some of them to build another model; unchanged,
    /// they give the same model with the same pairs.
    #[must_use]
    pub fn into_builder(self) -> ModelBuilder {
        let Self { bodies, mechanism, actuators, materials, gravity, loads, contact, apart, .. } = self;
        ModelBuilder { mechanism, bodies, actuators, materials, gravity, loads, contact, apart }
    }
}

/// Checks a number that does not belong to a body, a material or an actuator.
fn check_value(what: &str, value: f64, good: bool, allowed: &'static str) -> Result<(), ModelError> {
    if good { Ok(()) } else { Err(ModelError::Value { what: what.to_owned(), value, allowed }) }
}

/// Checks the numbers of the contact settings.
fn check_settings(contact: &ContactSettings) -> Result<(), ModelError> {
    let width = contact.positive_part_width;
    let good = width >= 0.0 && width.is_finite();
    check_value("the contact's positive_part_width", width, good, "at least 0 and finite")?;
    let velocity = contact.stiction_velocity;
    let good = velocity > 0.0 && velocity.is_finite();
    check_value("the contact's stiction_velocity", velocity, good, "positive and finite")?;
    let stiffness = contact.rigid_stiffness;
    let good = stiffness > 0.0 && stiffness.is_finite();
    check_value("the contact's rigid_stiffness", stiffness, good, "positive and finite")?;
    if let Some(length) = contact.bristle_length {
        let good = length > 0.0 && length.is_finite();
        check_value("the contact's bristle_length", length, good, "positive and finite")?;
    }
    let order = contact.quadrature_order.unwrap_or(1);
    let good = (1..=5).contains(&order);
    check_value("the contact's quadrature_order", f64::from(order), good, "1, 2, 3, 4 or 5")
}

/// Checks the parameters of a material; the modulus may be 0, as rigid bodies do not use it.
fn check_material(
    material: &Material,
    law: Option<OwnLaw>,
    owner: impl Fn() -> String,
) -> Result<(), ModelError> {
    let own = (0..material.own.len()).map(MaterialParameter::Own);
    for parameter in MaterialParameter::BUILT_IN.into_iter().chain(own) {
        let Some(value) = material.get(parameter) else { continue };
        let is_own = matches!(parameter, MaterialParameter::Own(_));
        if !(value.is_finite() && (is_own || value >= 0.0)) {
            let allowed = if is_own { "finite" } else { "at least 0 and finite" }.to_owned();
            return Err(ModelError::Material {
                owner: owner(),
                parameter: parameter.name(law),
                value,
                allowed,
            });
        }
    }
    let (value, most) = (material.dynamic_friction, material.static_friction);
    if value > most {
        let parameter = MaterialParameter::DynamicFriction.name(law);
        let allowed = format!("at most {most}, as static_friction is");
        return Err(ModelError::Material { owner: owner(), parameter, value, allowed });
    }
    Ok(())
}

/// Checks that geometries name materials that exist, or have valid materials of their own.
fn check_geometries(bodies: &[Body], materials: usize, law: Option<OwnLaw>) -> Result<(), ModelError> {
    for body in bodies {
        for (geometry, g) in body.geometries.iter().enumerate() {
            match g.material {
                Some(material) if material >= materials => {
                    let (body, count) = (body.name.clone(), materials);
                    return Err(ModelError::NoMaterial { body, geometry, material, count });
                }
                Some(_) => {}
                None => check_material(&g.collider.material, law, || {
                    format!("the material of geometry {geometry} of body `{}`", body.name)
                })?,
            }
        }
    }
    Ok(())
}

/// Puts the materials that colliders have of their own into the list, so that every geometry with a material names it.
fn list_own_materials(bodies: &mut [Body], materials: &mut Vec<NamedMaterial>) {
    for body in bodies {
        for (i, geometry) in body.geometries.iter_mut().enumerate() {
            let material = geometry.collider.material;
            if geometry.material.is_none() && material != Material::NONE {
                geometry.material = Some(materials.len());
                materials.push(NamedMaterial { name: format!("{} {i}", body.name), material });
            }
        }
    }
}

/// Checks the names, the masses and the links of bodies, and the moduli of their geometries.
fn check_bodies(bodies: &[Body], mechanism: &Mechanism) -> Result<(), ModelError> {
    let mut indices = HashMap::with_capacity(bodies.len());
    for (second, body) in bodies.iter().enumerate() {
        if let Some(first) = indices.insert(body.name.as_str(), second) {
            return Err(ModelError::BodyName { name: body.name.clone(), first, second });
        }
        match &body.motion {
            Motion::Fixed { .. } => {}
            Motion::Free { mass, .. } => mass
                .validate()
                .map_err(|error| ModelError::Mass { body: body.name.clone(), source: error })?,
            Motion::Link { link } => {
                if mechanism.bodies().get(*link).is_none_or(|b| b.joint.is_none()) {
                    return Err(ModelError::NoLink { body: body.name.clone() });
                }
            }
        }
        for (geometry, g) in body.geometries.iter().enumerate() {
            let value = g.collider.material.hydroelastic_modulus;
            if !g.collider.geometry.is_rigid() && value <= 0.0 {
                return Err(ModelError::Modulus { body: body.name.clone(), geometry, value });
            }
        }
    }
    Ok(())
}

/// Checks actuators and their names.
fn check_actuators(
    actuators: &[Actuator],
    mechanism: &Mechanism,
    is_free: impl Fn(usize) -> bool,
) -> Result<(), ModelError> {
    for (second, actuator) in actuators.iter().enumerate() {
        if let Some(first) = actuators[..second].iter().position(|a| a.name == actuator.name) {
            return Err(ModelError::ActuatorName { name: actuator.name.clone(), first, second });
        }
        actuator.check(mechanism, &is_free)?;
    }
    Ok(())
}

/// The pairs of geometries that can touch, in increasing order; `apart` is in increasing order too.
fn touching_pairs(
    mechanism: &Mechanism,
    bodies: &[Body],
    apart: &[BodyPair],
) -> Result<Vec<GeometryPair>, ModelError> {
    let count = |body: &Body| body.geometries.len();
    let moving: usize = bodies.iter().filter(|b| b.is_moving()).map(count).sum();
    let fixed = bodies.iter().map(count).sum::<usize>() - moving;
    check_pair_count(moving.saturating_mul(moving / 2 + fixed))?;
    let solid: Vec<usize> = (0..bodies.len()).filter(|&i| count(&bodies[i]) > 0).collect();
    let mut pairs = Vec::new();
    for (i, &b) in solid.iter().enumerate() {
        for &a in &solid[..i] {
            // First of all, since a scene may have many fixed bodies, none of which touch.
            if !bodies[a].is_moving() && !bodies[b].is_moving() {
                continue;
            }
            let connected = are_connected(mechanism, &bodies[a], &bodies[b]);
            if !connected && apart.binary_search(&BodyPair { a, b }).is_err() {
                pairs.extend(pairs_between(bodies, BodyPair { a, b }, true)?);
            }
        }
    }
    pairs.sort_unstable();
    Ok(pairs)
}

/// Checks that the number of pairs of geometries is within its limit, before the pairs are listed.
///
/// # Errors
/// When there are too many pairs.
pub fn check_pair_count(count: usize) -> Result<(), ModelError> {
    if count <= LARGEST_PAIR_COUNT { Ok(()) } else { Err(ModelError::TooManyPairs { count }) }
}

/// The pairs of geometries of two bodies.
///
/// # Errors
/// When two of them are rigid, or two are half-spaces.
pub fn geometry_pairs<T: Scalar>(
    bodies: &[Body<T>],
    pair: BodyPair,
) -> Result<Vec<GeometryPair>, ModelError> {
    pairs_between(bodies, pair, false)
}

/// The pairs of geometries of two bodies; two rigid ones are an error unless they are `allowed`.
fn pairs_between<T: Scalar>(
    bodies: &[Body<T>],
    pair: BodyPair,
    rigid_allowed: bool,
) -> Result<Vec<GeometryPair>, ModelError> {
    let (a, b) = (&bodies[pair.a], &bodies[pair.b]);
    let mut pairs = Vec::with_capacity(a.geometries.len() * b.geometries.len());
    for (geometry_a, ga) in a.geometries.iter().enumerate() {
        for (geometry_b, gb) in b.geometries.iter().enumerate() {
            match check_pair(&ga.collider.geometry, &gb.collider.geometry) {
                Ok(()) => {}
                // Which steps can take them is said where these are chosen.
                Err(ContactError::RigidRigid) if rigid_allowed => {}
                Err(source) => {
                    return Err(ModelError::Pair { a: a.name.clone(), b: b.name.clone(), source });
                }
            }
            pairs.push(GeometryPair { bodies: pair, geometry_a, geometry_b });
        }
    }
    Ok(pairs)
}

impl<T: Scalar> Model<T> {
    /// The pairs of geometries of two bodies, whether or not these bodies can touch in the model.
    ///
    /// # Errors
    /// When two of them are rigid, or two are half-spaces.
    pub fn geometry_pairs(&self, bodies: BodyPair) -> Result<Vec<GeometryPair>, ModelError> {
        geometry_pairs(&self.bodies, bodies)
    }
}

/// Whether two links move as one, or a single joint lies between them.
fn are_connected(mechanism: &Mechanism, a: &Body, b: &Body) -> bool {
    match (&a.motion, &b.motion) {
        (Motion::Link { link: a }, Motion::Link { link: b }) => mechanism.are_connected(*a, *b),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
