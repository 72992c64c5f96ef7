//! Models: the immutable description of what moves and what can touch.

use std::sync::atomic::{AtomicU64, Ordering};

use nalgebra::Vector3;

use super::actuator::Actuator;
use super::body::{Body, Motion};
use super::joint_law::{CoordinateIndices, JointLaw, LawOrigin};
use super::load_history::Load;
use super::mass::Deformed;
use super::pair::{BodyPair, GeometryPair};
use super::state::State;
use crate::contact::{ContactSettings, Deflection, Material};
use crate::multibody::tree::{Joint, JointLimits, JointState, Mechanism};
use crate::scalar::{Scalar, lift_vector, real_vector};
use crate::spatial::MassProperties;

/// A material that bodies share by its index in [`Model::materials`].
#[derive(Clone, Debug, PartialEq)]
pub struct NamedMaterial<T = f64> {
    /// Its name.
    pub name: String,
    /// Its parameters.
    pub material: Material<T>,
}

/// What moves and what can touch: immutable, and shared by every state.
///
/// A [`ModelBuilder`](crate::multibody::ModelBuilder) makes it and checks it. To change a part of a model, make a
/// builder of it with [`Model::into_builder`]; to change the values of parameters, use
/// [`Model::with_parameters`].
#[derive(Clone, Debug)]
pub struct Model<T = f64> {
    pub(crate) bodies: Vec<Body<T>>,
    pub(crate) mechanism: Mechanism<T>,
    pub(crate) actuators: Vec<Actuator<T>>,
    pub(crate) materials: Vec<NamedMaterial<T>>,
    pub(crate) gravity: Vector3<T>,
    pub(crate) loads: Vec<Load<T>>,
    pub(crate) contact: ContactSettings<T>,
    /// Whether what all contacts follow carries derivatives: the settings of contact, the length of steps.
    pub(crate) contact_varies: bool,
    /// What the length of every step is multiplied by (see [`Parameter::TimeStep`](crate::multibody::Parameter::TimeStep)).
    pub(crate) time_step_factor: T,
    /// The bodies whose masses parameters have deformed.
    pub(crate) deformed: Vec<Deformed<T>>,
    /// The pairs of bodies that were left out of contact, in increasing order.
    pub(super) apart: Vec<BodyPair>,
    pub(crate) pairs: Vec<GeometryPair>,
    /// The indices in `pairs` of those of rigid geometries.
    pub(crate) rigid_pairs: Vec<usize>,
    /// The mass of the heaviest body when the model was built, kg: what the stiffness of rigid contacts is in proportion to. It
    /// does not follow masses that are parameters.
    pub(crate) heaviest: f64,
    pub(super) identity: ModelIdentity,
}

/// The identity of a model. Models are not changed once they are made, so models with the same identity
/// are copies of each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ModelIdentity(u64);

impl ModelIdentity {
    /// A new identity that no model has yet.
    pub(super) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// Gives the collider of every geometry the material that the geometry names.
pub(in crate::multibody) fn share_materials<T: Scalar>(
    bodies: &mut [Body<T>],
    materials: &[NamedMaterial<T>],
) {
    for geometry in bodies.iter_mut().flat_map(|body| &mut body.geometries) {
        if let Some(named) = geometry.material.and_then(|index| materials.get(index)) {
            geometry.collider.material = named.material;
        }
    }
}

impl<T> Model<T> {
    /// The bodies. Wherever a body is given by an index, it is the index in this list.
    pub fn bodies(&self) -> &[Body<T>] {
        &self.bodies
    }

    /// The joints, and the bodies that they carry.
    pub fn mechanism(&self) -> &Mechanism<T> {
        &self.mechanism
    }

    /// The actuators that drive the joints and push free bodies, in the order of their commands among the control values.
    pub fn actuators(&self) -> &[Actuator<T>] {
        &self.actuators
    }

    /// The materials, which geometries name by their index. The collider of such a geometry has a copy
    /// of the material.
    pub fn materials(&self) -> &[NamedMaterial<T>] {
        &self.materials
    }

    /// The acceleration of gravity in W, m/s².
    pub fn gravity(&self) -> &Vector3<T> {
        &self.gravity
    }

    /// The forces and torques on free bodies over time.
    pub fn loads(&self) -> &[Load<T>] {
        &self.loads
    }

    /// The settings of contact queries.
    pub fn contact(&self) -> &ContactSettings<T> {
        &self.contact
    }

    /// The pairs of geometries that can touch, in increasing order.
    pub fn pairs(&self) -> &[GeometryPair] {
        &self.pairs
    }

    /// [`Self::pairs`], those of each two bodies together.
    pub fn pairs_by_bodies(&self) -> impl Iterator<Item = &[GeometryPair]> {
        self.pairs.chunk_by(|p, q| p.bodies == q.bodies)
    }
}

impl<T> Model<T> {
    /// Those of the pairs of which both geometries are rigid. There is no pressure between them: velocity-level steps of
    /// fixed length and steps by complementarity alone take models that have some.
    pub fn rigid_pairs(&self) -> impl ExactSizeIterator<Item = &GeometryPair> {
        self.rigid_pairs.iter().map(|&index| &self.pairs[index])
    }

    /// Whether both geometries of a pair are rigid.
    pub(crate) fn is_rigid_pair(&self, pair: &GeometryPair) -> bool {
        is_rigid_pair(&self.bodies, pair)
    }
}

impl<T: Scalar> Model<T> {
    /// A constant model as scalars `T`.
    #[inline(never)]
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
            loads: m.loads.iter().map(Load::lift).collect(),
            contact: m.contact.lift(),
            contact_varies: false,
            time_step_factor: T::from(m.time_step_factor),
            deformed: m.deformed.iter().map(|deformed| deformed.map(T::from)).collect(),
            apart: m.apart.clone(),
            pairs: m.pairs.clone(),
            rigid_pairs: m.rigid_pairs.clone(),
            heaviest: m.heaviest,
            identity: ModelIdentity::new(),
        }
    }

    pub(crate) fn identity(&self) -> ModelIdentity {
        self.identity
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
            loads: self.loads.iter().map(Load::real).collect(),
            contact: self.contact.real(),
            contact_varies: false,
            time_step_factor: self.time_step_factor.real(),
            deformed: self.deformed.iter().map(|deformed| deformed.map(|x| x.real())).collect(),
            apart: self.apart.clone(),
            pairs: self.pairs.clone(),
            rigid_pairs: self.rigid_pairs.clone(),
            heaviest: self.heaviest,
            identity: ModelIdentity::new(),
        }
    }

    /// The free bodies, in the order of a state's bodies, each with its index in [`Model::bodies`] and
    /// its mass properties.
    pub fn free_bodies(&self) -> impl Iterator<Item = (usize, &Body<T>, &MassProperties<T>)> {
        self.bodies.iter().enumerate().filter_map(|(i, body)| Some((i, body, body.mass()?)))
    }

    /// The index of a body in a state's list of free bodies; `None` for a fixed one.
    pub fn free_index(&self, body: usize) -> Option<usize> {
        if !self.bodies.get(body)?.is_free() {
            return None;
        }
        Some(self.bodies[..body].iter().filter(|b| b.is_free()).count())
    }

    /// The links, in the order of [`Model::bodies`], each with its index there and in
    /// [`Mechanism::bodies`].
    pub fn links(&self) -> impl Iterator<Item = (usize, usize)> {
        self.bodies.iter().enumerate().filter_map(|(i, body)| match body.motion {
            Motion::Link { link } => Some((i, link)),
            _ => None,
        })
    }

    /// Number of moving bodies: free bodies and links.
    pub fn moving_count(&self) -> usize {
        self.bodies.iter().filter(|body| body.is_moving()).count()
    }

    /// For each body its index among the moving ones, free bodies first (in the order of a state's
    /// bodies), then links; written into `indices`.
    pub fn moving_indices(&self, indices: &mut Vec<Option<usize>>) {
        indices.clear();
        indices.resize(self.bodies.len(), None);
        let free = self.bodies.iter().enumerate().filter(|(_, body)| body.is_free()).map(|(i, _)| i);
        for (index, body) in free.chain(self.links().map(|(i, _)| i)).enumerate() {
            indices[body] = Some(index);
        }
    }

    /// The index of a body among the moving ones (see [`Model::moving_indices`]); `None` for a fixed
    /// one.
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

    /// The index of the body with this name.
    pub fn body_index(&self, name: &str) -> Option<usize> {
        self.bodies.iter().position(|b| b.name == name)
    }

    /// The index of the material with this name.
    pub fn material_index(&self, name: &str) -> Option<usize> {
        self.materials.iter().position(|m| m.name == name)
    }

    /// Number of deflections in a state: one for each of [`Self::pairs`] if there are bristles, or none.
    pub fn bristle_count(&self) -> usize {
        self.contact.bristle_length.map_or(0, |_| self.pairs.len())
    }

    /// A state of this model whose bristles are not deflected, if it says nothing of them.
    #[must_use]
    pub fn completed(&self, mut state: State<T>) -> State<T> {
        self.complete(&mut state);
        state
    }

    /// [`Self::completed`], in place.
    pub(crate) fn complete(&self, state: &mut State<T>) {
        if state.bristles.is_empty() {
            state.bristles.resize(self.bristle_count(), Deflection::zero());
        }
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
        if let Some(joint) = joints.find(|j| !finite(&q[j.q.clone()]) || !finite(&v[j.v.clone()])) {
            return Some(&self.mechanism.bodies()[joint.child].name);
        }
        let (pair, _) = self.pairs.iter().zip(&state.bristles).find(|(_, s)| !s.is_finite())?;
        Some(&self.bodies[pair.bodies.a].name)
    }

    /// The pairs of geometries of two bodies that can touch in this model.
    pub fn pairs_of(&self, bodies: BodyPair) -> impl Iterator<Item = &GeometryPair> {
        self.pairs.iter().filter(move |pair| pair.bodies == bodies)
    }

    /// Number of commands of actuators. They are the first control values; those of the user's forces
    /// follow.
    pub fn command_dimension(&self) -> usize {
        self.actuators.len()
    }

    /// Calls `visit` with every law of a force along a single coordinate: first those of the actuators
    /// under their commands, then those of each joint's friction and stops.
    pub(crate) fn for_each_joint_law(
        &self,
        commands: &[T],
        visit: &mut dyn FnMut(CoordinateIndices, JointLaw<T>),
    ) {
        for (i, actuator) in self.actuators.iter().enumerate() {
            for at in actuator.coordinates() {
                let law = actuator.law(at, commands[i]);
                let origin = LawOrigin::Drive { actuator: i, ratio: at.ratio };
                visit(CoordinateIndices { v: at.v, q: at.q, origin }, law);
            }
        }
        for (i, joint) in self.mechanism.joints().iter().enumerate() {
            // Ranges of joints that follow others are not enforced.
            if joint.v.len() != 1 || joint.q.len() != 1 {
                continue;
            }
            let at = |origin| CoordinateIndices { v: joint.v.start, q: joint.q.start, origin };
            let Joint { friction, stiction_velocity, .. } = *joint;
            // Where it is 0, derivatives with respect to it are not.
            visit(at(LawOrigin::Friction { joint: i }), JointLaw::Friction { friction, stiction_velocity });
            let JointLimits { lower, upper, stiffness, dissipation, .. } = joint.limits;
            for (end, upper) in [(lower, false), (upper, true)] {
                if end.real().is_finite() {
                    let law = JointLaw::Stop { end, upper, stiffness, dissipation };
                    visit(at(LawOrigin::Stop { joint: i, upper }), law);
                }
            }
        }
    }
}

/// Whether both geometries of a pair are rigid.
pub(super) fn is_rigid_pair<T>(bodies: &[Body<T>], pair: &GeometryPair) -> bool {
    pair.geometries()
        .into_iter()
        .all(|(body, geometry)| bodies[body].geometries[geometry].collider.geometry.is_rigid())
}
