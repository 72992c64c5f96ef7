//! The immutable description of what moves and what can touch.

use nalgebra::Vector3;

use super::actuator::Actuator;
use super::kinematics::JointKinematics;
use super::mass::{MassError, MassSource};
use super::pair::{BodyPair, GeometryPair, geometry_pairs};
use super::state::State;
use super::tree::{JointState, Mechanism, kinetic_energy, momentum as mechanism_momentum, potential_energy};
use crate::contact::{Collider, ContactError, ContactSettings, Material};
use crate::scalar::{Scalar, lift_vector, real_vector};
use crate::spatial::{MassProperties, RigidTransform, SpatialVelocity};

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

/// A geometry fixed to a body.
#[derive(Clone, Debug)]
pub struct BodyGeometry<T = f64> {
    /// Pose of the geometry's frame G in the body's frame B.
    pub x_bg: RigidTransform<T>,
    /// Geometry and material.
    pub collider: Collider<T>,
    /// Place of the material in [`Model::materials`]. `None` only for a rigid geometry without
    /// one: it takes the friction of whatever it touches.
    pub material: Option<usize>,
    /// Mass properties of the geometry filled with unit density, in its own frame. `None` for
    /// half-spaces.
    pub unit_mass: Option<MassProperties<T>>,
}

impl<T: Scalar> BodyGeometry<T> {
    /// A constant geometry as scalars `T`.
    pub fn lift(g: &BodyGeometry<f64>) -> Self {
        Self {
            x_bg: RigidTransform::lift(&g.x_bg),
            collider: Collider::lift(&g.collider),
            material: g.material,
            unit_mass: g.unit_mass.as_ref().map(MassProperties::lift),
        }
    }

    /// The geometry without its derivatives.
    pub fn real(&self) -> BodyGeometry {
        BodyGeometry {
            x_bg: self.x_bg.real(),
            collider: self.collider.real(),
            material: self.material,
            unit_mass: self.unit_mass.as_ref().map(MassProperties::real),
        }
    }
}

/// How a body moves.
#[derive(Clone, Debug)]
pub enum Motion<T = f64> {
    /// Its pose does not change. Its velocity, zero unless the body stands for a moving surface
    /// such as a belt, enters dissipation and friction only.
    Fixed {
        /// Pose of the body in W.
        x_wb: RigidTransform<T>,
        /// Velocity of the body in W.
        v_wb: SpatialVelocity<T>,
    },
    /// It moves freely under forces.
    Free {
        /// What its mass properties are made from.
        source: MassSource<T>,
        /// Its mass properties.
        mass: MassProperties<T>,
    },
    /// Joints carry it: it is a body of [`Model::mechanism`], which has its mass.
    Link {
        /// Its place in [`Mechanism::bodies`].
        link: usize,
    },
}

/// A rigid body (rigid in its motion; its geometries may be compliant in contact).
#[derive(Clone, Debug)]
pub struct Body<T = f64> {
    /// Its name, unique in the model.
    pub name: String,
    /// How it moves.
    pub motion: Motion<T>,
    /// Its geometries.
    pub geometries: Vec<BodyGeometry<T>>,
}

impl<T: Scalar> Body<T> {
    /// A body that does not move.
    pub fn fixed(
        name: impl Into<String>,
        x_wb: RigidTransform<T>,
        v_wb: SpatialVelocity<T>,
        geometries: Vec<BodyGeometry<T>>,
    ) -> Self {
        Self { name: name.into(), motion: Motion::Fixed { x_wb, v_wb }, geometries }
    }

    /// A free body.
    ///
    /// # Errors
    /// When its mass properties are not those of any distribution of mass.
    pub fn free(
        name: impl Into<String>,
        source: MassSource<T>,
        geometries: Vec<BodyGeometry<T>>,
    ) -> Result<Self, MassError> {
        let mass = source.resolve(unit_parts(&geometries))?;
        mass.real().validate()?;
        Ok(Self { name: name.into(), motion: Motion::Free { source, mass }, geometries })
    }

    /// A body that joints carry: that at `link` in the bodies of the model's mechanism.
    pub fn link(name: impl Into<String>, link: usize, geometries: Vec<BodyGeometry<T>>) -> Self {
        Self { name: name.into(), motion: Motion::Link { link }, geometries }
    }

    /// A constant body as scalars `T`.
    pub fn lift(b: &Body<f64>) -> Self {
        let motion = match &b.motion {
            Motion::Fixed { x_wb, v_wb } => {
                Motion::Fixed { x_wb: RigidTransform::lift(x_wb), v_wb: SpatialVelocity::lift(v_wb) }
            }
            Motion::Free { source, mass } => {
                Motion::Free { source: MassSource::lift(source), mass: MassProperties::lift(mass) }
            }
            Motion::Link { link } => Motion::Link { link: *link },
        };
        Self {
            name: b.name.clone(),
            motion,
            geometries: b.geometries.iter().map(BodyGeometry::lift).collect(),
        }
    }

    /// The body without its derivatives.
    pub fn real(&self) -> Body {
        let motion = match &self.motion {
            Motion::Fixed { x_wb, v_wb } => Motion::Fixed { x_wb: x_wb.real(), v_wb: v_wb.real() },
            Motion::Free { source, mass } => Motion::Free { source: source.real(), mass: mass.real() },
            Motion::Link { link } => Motion::Link { link: *link },
        };
        Body {
            name: self.name.clone(),
            motion,
            geometries: self.geometries.iter().map(BodyGeometry::real).collect(),
        }
    }

    /// Whether the body moves freely, without joints.
    pub fn is_free(&self) -> bool {
        matches!(self.motion, Motion::Free { .. })
    }

    /// Whether forces move the body, freely or on joints.
    pub fn is_moving(&self) -> bool {
        !matches!(self.motion, Motion::Fixed { .. })
    }

    /// The mass properties of a free body.
    pub fn mass(&self) -> Option<&MassProperties<T>> {
        match &self.motion {
            Motion::Fixed { .. } | Motion::Link { .. } => None,
            Motion::Free { mass, .. } => Some(mass),
        }
    }
}

/// The geometries filled with unit density, seen from the body's frame.
pub(super) fn unit_parts<T: Scalar>(
    geometries: &[BodyGeometry<T>],
) -> impl Iterator<Item = MassProperties<T>> + Clone {
    geometries.iter().filter_map(|g| g.unit_mass.as_ref().map(|m| m.seen_from(&g.x_bg)))
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
        let mut pairs = Vec::new();
        for b in 0..bodies.len() {
            for a in 0..b {
                let moving = bodies[a].is_moving() || bodies[b].is_moving();
                let connected = are_connected(&mechanism, &bodies[a], &bodies[b]);
                if moving && !connected && !apart.contains(&BodyPair { a, b }) {
                    pairs.extend(geometry_pairs(&bodies, BodyPair { a, b })?);
                }
            }
        }
        pairs.sort_unstable();
        Ok(Self { bodies, mechanism, actuators: Vec::new(), materials, gravity, contact, pairs })
    }
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

    /// Kinetic energy of a state plus potential energy of gravity (zero at W's origin) and of the
    /// joints' springs, J.
    pub fn mechanical_energy(&self, state: &State<T>) -> T {
        let mut energy = T::from(0.0);
        for ((_, _, m), s) in self.free_bodies().zip(&state.bodies) {
            let r = s.orientation.to_matrix();
            let c = r * m.center_of_mass;
            let v = s.velocity.shifted(&c).translational;
            let w = r.transpose() * s.velocity.rotational;
            energy += (v.dot(&v) * m.mass + w.dot(&(m.inertia * w))) * 0.5;
            energy -= self.gravity.dot(&(s.position + c)) * m.mass;
        }
        let mut joints = JointKinematics::default();
        let JointState { q, v, .. } = &state.joints;
        let workspace = joints.update(&self.mechanism, q, v);
        energy += kinetic_energy(&self.mechanism, workspace, v);
        energy + potential_energy(&self.mechanism, workspace, q, &self.gravity)
    }

    /// Angular momentum of a state about W's origin, in W, kg m²/s.
    pub fn angular_momentum(&self, state: &State<T>) -> Vector3<T> {
        let mut momentum = Vector3::from_element(T::from(0.0));
        for ((_, _, m), s) in self.free_bodies().zip(&state.bodies) {
            let r = s.orientation.to_matrix();
            let c = r * m.center_of_mass;
            let v = s.velocity.shifted(&c).translational;
            momentum += r * (m.inertia * (r.transpose() * s.velocity.rotational));
            momentum += (s.position + c).cross(&v) * m.mass;
        }
        let mut joints = JointKinematics::default();
        let workspace = joints.update(&self.mechanism, &state.joints.q, &state.joints.v);
        momentum + mechanism_momentum(&self.mechanism, workspace).rotational
    }
}
