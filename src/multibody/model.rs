//! The immutable description of what moves and what can touch.

use nalgebra::Vector3;

use super::actuator::{Actuator, JointLaw, JointPlace};
use super::body::{Body, Motion};
use super::mass::MassError;
use super::pair::{BodyPair, GeometryPair};
use super::state::State;
use super::tree::{JointState, Mechanism};
use crate::contact::{ContactError, ContactSettings, Material, check_pair};
use crate::scalar::{Scalar, lift_vector, real_vector};
use crate::spatial::MassProperties;

/// Most pairs of geometries that can touch: a list of them takes 3 GiB.
const LARGEST_PAIR_COUNT: usize = 100_000_000;

/// Why a model could not be made.
#[derive(Debug, thiserror::Error, PartialEq)]
pub enum ModelError {
    /// A free body has no usable mass.
    #[error("body `{body}`: {source}")]
    Mass {
        /// Name of the body.
        body: String,
        /// What is wrong.
        source: MassError,
    },
    /// Two geometries could touch between which contact cannot be computed.
    #[error(
        "bodies `{a}` and `{b}` could touch, but {source}; or fix both bodies, or leave the pair out of contact"
    )]
    Pair {
        /// Name of the one body.
        a: String,
        /// Name of the other body.
        b: String,
        /// Why contact between them cannot be computed.
        source: ContactError,
    },
    /// There are too many pairs of geometries.
    #[error(
        "up to {count} pairs of geometries could touch; at most {LARGEST_PAIR_COUNT} are allowed: leave out bodies, or fix them"
    )]
    TooManyPairs {
        /// How many pairs there could be.
        count: usize,
    },
    /// A body is said to be a link that joints do not move.
    #[error("body `{body}` is not a link that joints of the mechanism move")]
    NoLink {
        /// Name of the body.
        body: String,
    },
}

/// A material that bodies share by its place in [`Model::materials`].
#[derive(Clone, Debug, PartialEq)]
pub struct NamedMaterial<T = f64> {
    /// Its name.
    pub name: String,
    /// Its parameters.
    pub material: Material<T>,
}

/// What moves and what can touch: immutable, and shared by every state.
#[derive(Clone, Debug)]
pub struct Model<T = f64> {
    /// The bodies.
    pub bodies: Vec<Body<T>>,
    /// The joints, and the bodies that they carry.
    pub mechanism: Mechanism<T>,
    /// The drives of the joints, in the order of their commands among the control values.
    pub actuators: Vec<Actuator<T>>,
    /// The materials that geometries name.
    pub materials: Vec<NamedMaterial<T>>,
    /// Acceleration of gravity in W, m/s².
    pub gravity: Vector3<T>,
    /// What contact queries compute.
    pub contact: ContactSettings,
    /// The geometries that can touch, in increasing order.
    pub pairs: Vec<GeometryPair>,
}

impl Model<f64> {
    /// A model of free and fixed bodies, in which all geometries of different bodies can touch,
    /// unless both bodies are fixed or the pair is in `apart`.
    ///
    /// # Errors
    /// When two rigid geometries, or two half-spaces, could touch.
    pub fn new(
        bodies: Vec<Body>,
        materials: Vec<NamedMaterial>,
        gravity: Vector3<f64>,
        contact: ContactSettings,
        apart: &[BodyPair],
    ) -> Result<Self, ModelError> {
        Self::with_joints(Mechanism::default(), bodies, materials, gravity, contact, apart)
    }

    /// A model some of whose bodies are links of a mechanism. Besides what [`Model::new`] leaves
    /// out, links that one joint connects do not touch each other, nor do those that move as one.
    /// Bodies of the mechanism that are fixed to the world are not its links: where one that is a
    /// fixed body here must not touch the links on it, that pair belongs in `apart` (see
    /// [`Mechanism::are_connected`]).
    ///
    /// # Errors
    /// When two rigid geometries, or two half-spaces, could touch, or a body is a link that the
    /// mechanism does not have or that is fixed to the world.
    pub fn with_joints(
        mechanism: Mechanism,
        bodies: Vec<Body>,
        materials: Vec<NamedMaterial>,
        gravity: Vector3<f64>,
        contact: ContactSettings,
        apart: &[BodyPair],
    ) -> Result<Self, ModelError> {
        for body in &bodies {
            if let Motion::Link { link } = body.motion
                && mechanism.bodies().get(link).is_none_or(|b| b.joint.is_none())
            {
                return Err(ModelError::NoLink { body: body.name.clone() });
            }
        }
        let count = |body: &Body| body.geometries.len();
        let moving: usize = bodies.iter().filter(|b| b.is_moving()).map(count).sum();
        let fixed = bodies.iter().map(count).sum::<usize>() - moving;
        check_pair_count(moving.saturating_mul(moving / 2 + fixed))?;
        let mut apart = apart.to_vec();
        apart.sort_unstable();
        let solid: Vec<usize> = (0..bodies.len()).filter(|&i| count(&bodies[i]) > 0).collect();
        let mut pairs = Vec::new();
        for (i, &b) in solid.iter().enumerate() {
            for &a in &solid[..i] {
                // First of all, since a scene may have many fixed bodies, none of which touch.
                if !bodies[a].is_moving() && !bodies[b].is_moving() {
                    continue;
                }
                let connected = are_connected(&mechanism, &bodies[a], &bodies[b]);
                if !connected && apart.binary_search(&BodyPair { a, b }).is_err() {
                    pairs.extend(geometry_pairs(&bodies, BodyPair { a, b })?);
                }
            }
        }
        pairs.sort_unstable();
        Ok(Self { bodies, mechanism, actuators: Vec::new(), materials, gravity, contact, pairs })
    }
}

/// Checks that so many pairs of geometries are not too many, before they are listed.
///
/// # Errors
/// When they are.
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
    let (a, b) = (&bodies[pair.a], &bodies[pair.b]);
    let mut pairs = Vec::with_capacity(a.geometries.len() * b.geometries.len());
    for (geometry_a, ga) in a.geometries.iter().enumerate() {
        for (geometry_b, gb) in b.geometries.iter().enumerate() {
            check_pair(&ga.collider.geometry, &gb.collider.geometry).map_err(|source| ModelError::Pair {
                a: a.name.clone(),
                b: b.name.clone(),
                source,
            })?;
            pairs.push(GeometryPair { bodies: pair, geometry_a, geometry_b });
        }
    }
    Ok(pairs)
}

/// Whether two links move as one, or a single joint lies between them.
fn are_connected(mechanism: &Mechanism, a: &Body, b: &Body) -> bool {
    match (&a.motion, &b.motion) {
        (Motion::Link { link: a }, Motion::Link { link: b }) => mechanism.are_connected(*a, *b),
        _ => false,
    }
}

impl<T: Scalar> Model<T> {
    /// A constant model as scalars `T`.
    pub fn lift(m: &Model<f64>) -> Self {
        Self {
            bodies: m.bodies.iter().map(Body::lift).collect(),
            mechanism: Mechanism::lift(&m.mechanism),
            actuators: m.actuators.iter().map(Actuator::lift).collect(),
            materials: m
                .materials
                .iter()
                .map(|n| NamedMaterial { name: n.name.clone(), material: Material::lift(&n.material) })
                .collect(),
            gravity: lift_vector(&m.gravity),
            contact: m.contact,
            pairs: m.pairs.clone(),
        }
    }

    /// The model without its derivatives.
    pub fn real(&self) -> Model {
        Model {
            bodies: self.bodies.iter().map(Body::real).collect(),
            mechanism: self.mechanism.real(),
            actuators: self.actuators.iter().map(Actuator::real).collect(),
            materials: self
                .materials
                .iter()
                .map(|n| NamedMaterial { name: n.name.clone(), material: n.material.real() })
                .collect(),
            gravity: real_vector(&self.gravity),
            contact: self.contact,
            pairs: self.pairs.clone(),
        }
    }

    /// The free bodies, in the order of a state's bodies, each with its place in
    /// [`Model::bodies`] and its mass properties.
    pub fn free_bodies(&self) -> impl Iterator<Item = (usize, &Body<T>, &MassProperties<T>)> {
        self.bodies.iter().enumerate().filter_map(|(i, body)| Some((i, body, body.mass()?)))
    }

    /// The place of a body in a state's list of free bodies; `None` for a fixed one.
    pub fn free_index(&self, body: usize) -> Option<usize> {
        if !self.bodies.get(body)?.is_free() {
            return None;
        }
        Some(self.bodies[..body].iter().filter(|b| b.is_free()).count())
    }

    /// The links, in the order of [`Model::bodies`], each with its place there and in
    /// [`Mechanism::bodies`].
    pub fn links(&self) -> impl Iterator<Item = (usize, usize)> {
        self.bodies.iter().enumerate().filter_map(|(i, body)| match body.motion {
            Motion::Link { link } => Some((i, link)),
            _ => None,
        })
    }

    /// Number of bodies that forces move: free ones and links.
    pub fn moving_count(&self) -> usize {
        self.bodies.iter().filter(|body| body.is_moving()).count()
    }

    /// For each body its place among the moving ones, free bodies first (in the order of a state's
    /// bodies), then links; written into `indices`.
    pub fn moving_indices(&self, indices: &mut Vec<Option<usize>>) {
        indices.clear();
        indices.resize(self.bodies.len(), None);
        let free = self.bodies.iter().enumerate().filter(|(_, body)| body.is_free()).map(|(i, _)| i);
        for (place, body) in free.chain(self.links().map(|(i, _)| i)).enumerate() {
            indices[body] = Some(place);
        }
    }

    /// The place of a body among the moving ones (see [`Model::moving_indices`]); `None` for a
    /// fixed one.
    pub fn moving_index(&self, body: usize) -> Option<usize> {
        let free = |bodies: &[Body<T>]| bodies.iter().filter(|b| b.is_free()).count();
        match self.bodies.get(body)?.motion {
            Motion::Fixed { .. } => None,
            Motion::Free { .. } => Some(free(&self.bodies[..body])),
            Motion::Link { .. } => {
                Some(free(&self.bodies) + self.links().take_while(|(i, _)| *i < body).count())
            }
        }
    }

    /// The mass properties of a free body or a link, in its frame.
    pub fn body_mass(&self, body: usize) -> Option<&MassProperties<T>> {
        match &self.bodies.get(body)?.motion {
            Motion::Fixed { .. } => None,
            Motion::Free { mass, .. } => Some(mass),
            Motion::Link { link } => self.mechanism.bodies()[*link].mass.as_ref(),
        }
    }

    /// The place of the body with this name.
    pub fn body_index(&self, name: &str) -> Option<usize> {
        self.bodies.iter().position(|b| b.name == name)
    }

    /// The place of the material with this name.
    pub fn material_index(&self, name: &str) -> Option<usize> {
        self.materials.iter().position(|m| m.name == name)
    }

    /// The name of the first body, free or moved by a joint, whose state is not finite.
    pub fn first_not_finite(&self, state: &State<T>) -> Option<&str> {
        let mut free = self.free_bodies().zip(&state.bodies);
        if let Some(((_, body, _), _)) = free.find(|(_, s)| !s.is_finite()) {
            return Some(&body.name);
        }
        let finite = |x: &[T]| x.iter().all(|x| x.real().is_finite());
        let JointState { q, v, .. } = &state.joints;
        let mut joints = self.mechanism.joints().iter();
        let joint = joints.find(|j| !finite(&q[j.q.clone()]) || !finite(&v[j.v.clone()]))?;
        Some(&self.mechanism.bodies()[joint.child].name)
    }

    /// The pairs of geometries of two bodies that can touch in this model.
    pub fn pairs_of(&self, bodies: BodyPair) -> impl Iterator<Item = &GeometryPair> {
        self.pairs.iter().filter(move |pair| pair.bodies == bodies)
    }

    /// Number of commands: the first of the control values, those of the user's forces follow.
    pub fn command_dimension(&self) -> usize {
        self.actuators.len()
    }

    /// Calls `visit` with every force along a single coordinate: those of the actuators under
    /// their commands, then the stops.
    pub(crate) fn for_each_joint_law(&self, commands: &[T], mut visit: impl FnMut(JointPlace, JointLaw<T>)) {
        for (i, actuator) in self.actuators.iter().enumerate() {
            for at in &actuator.coordinates {
                let command = commands[i] * at.ratio;
                let law = JointLaw::Drive { drive: actuator.drive, effort: actuator.effort, command };
                visit(JointPlace { v: at.v, q: at.q, command: Some((i, at.ratio)) }, law);
            }
        }
        for joint in self.mechanism.joints() {
            let limits = &joint.limits;
            for (end, upper) in [(limits.lower, false), (limits.upper, true)] {
                if end.is_finite() {
                    let place = JointPlace { v: joint.v.start, q: joint.q.start, command: None };
                    let (stiffness, dissipation) = (limits.stiffness, limits.dissipation);
                    visit(place, JointLaw::Stop { end, upper, stiffness, dissipation });
                }
            }
        }
    }
}
