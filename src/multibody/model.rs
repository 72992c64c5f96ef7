//! The immutable description of what moves and what can touch.

use nalgebra::Vector3;

use super::mass::{MassError, MassSource};
use super::state::State;
use crate::contact::{Collider, ContactError, ContactSettings, Material, check_pair};
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
    /// It moves under forces, freely or along a guide.
    Free {
        /// What its mass properties are made from.
        source: MassSource<T>,
        /// Its mass properties.
        mass: MassProperties<T>,
        /// The guide that it is held by, if any.
        guide: Option<Guide<T>>,
    },
}

/// A straight guide fixed in the world: a body held by it does not turn, and moves along one
/// axis only.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Guide<T = f64> {
    /// Direction of the guide in W, of length 1.
    pub axis: Vector3<f64>,
    /// Viscous damping, N/(m/s).
    pub damping: T,
}

impl<T: Scalar> Guide<T> {
    /// A constant guide as scalars `T`.
    pub fn lift(g: &Guide<f64>) -> Self {
        Self { axis: g.axis, damping: T::from(g.damping) }
    }

    /// The guide without its derivatives.
    pub fn real(&self) -> Guide {
        Guide { axis: self.axis, damping: self.damping.real() }
    }
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
        Ok(Self { name: name.into(), motion: Motion::Free { source, mass, guide: None }, geometries })
    }

    /// A free body held by a straight guide along `axis` (in W, of any length but 0) with viscous
    /// damping in N/(m/s). Its state must be at rest but for a velocity along the axis.
    pub fn along(mut self, axis: Vector3<f64>, damping: T) -> Self {
        if let Motion::Free { guide, .. } = &mut self.motion {
            *guide = Some(Guide { axis: axis.normalize(), damping });
        }
        self
    }

    /// The guide that holds a free body, if any.
    pub fn guide(&self) -> Option<&Guide<T>> {
        match &self.motion {
            Motion::Fixed { .. } => None,
            Motion::Free { guide, .. } => guide.as_ref(),
        }
    }

    /// A constant body as scalars `T`.
    pub fn lift(b: &Body<f64>) -> Self {
        let motion = match &b.motion {
            Motion::Fixed { x_wb, v_wb } => {
                Motion::Fixed { x_wb: RigidTransform::lift(x_wb), v_wb: SpatialVelocity::lift(v_wb) }
            }
            Motion::Free { source, mass, guide } => Motion::Free {
                source: MassSource::lift(source),
                mass: MassProperties::lift(mass),
                guide: guide.as_ref().map(Guide::lift),
            },
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
            Motion::Free { source, mass, guide } => Motion::Free {
                source: source.real(),
                mass: mass.real(),
                guide: guide.as_ref().map(Guide::real),
            },
        };
        Body {
            name: self.name.clone(),
            motion,
            geometries: self.geometries.iter().map(BodyGeometry::real).collect(),
        }
    }

    /// Whether the body moves freely.
    pub fn is_free(&self) -> bool {
        matches!(self.motion, Motion::Free { .. })
    }

    /// The mass properties of a free body.
    pub fn mass(&self) -> Option<&MassProperties<T>> {
        match &self.motion {
            Motion::Fixed { .. } => None,
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

/// Two bodies, by their place in [`Model::bodies`]; `a < b`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BodyPair {
    /// The one.
    pub a: usize,
    /// The other.
    pub b: usize,
}

/// Two geometries that can touch, each by body and place in [`Body::geometries`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GeometryPair {
    /// The two bodies.
    pub bodies: BodyPair,
    /// Geometry of body A.
    pub geometry_a: usize,
    /// Geometry of body B.
    pub geometry_b: usize,
}

/// What moves and what can touch: immutable, and shared by every state.
#[derive(Clone, Debug)]
pub struct Model<T = f64> {
    /// The bodies.
    pub bodies: Vec<Body<T>>,
    /// The materials that geometries name.
    pub materials: Vec<NamedMaterial<T>>,
    /// Acceleration of gravity in W, m/s².
    pub gravity: Vector3<T>,
    /// What contact queries compute.
    pub contact: ContactSettings,
    /// The geometries that can touch, in a fixed order.
    pub pairs: Vec<GeometryPair>,
}

impl Model<f64> {
    /// A model in which all geometries of different bodies can touch, unless both bodies are
    /// fixed or the pair is in `apart`.
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
        let mut pairs = Vec::new();
        for b in 0..bodies.len() {
            for a in 0..b {
                let both_fixed = !bodies[a].is_free() && !bodies[b].is_free();
                if !both_fixed && !apart.contains(&BodyPair { a, b }) {
                    pairs.extend(geometry_pairs(&bodies, BodyPair { a, b })?);
                }
            }
        }
        pairs.sort_by_key(|p| p.bodies);
        Ok(Self { bodies, materials, gravity, contact, pairs })
    }
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

impl<T: Scalar> Model<T> {
    /// A constant model as scalars `T`.
    pub fn lift(m: &Model<f64>) -> Self {
        Self {
            bodies: m.bodies.iter().map(Body::lift).collect(),
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

    /// For each body its place in a state's list of free bodies, written into `indices`.
    pub fn free_indices(&self, indices: &mut Vec<Option<usize>>) {
        indices.clear();
        let mut next = 0;
        indices.extend(self.bodies.iter().map(|body| {
            let index = body.is_free().then_some(next);
            next += usize::from(body.is_free());
            index
        }));
    }

    /// The place of the body with this name.
    pub fn body_index(&self, name: &str) -> Option<usize> {
        self.bodies.iter().position(|b| b.name == name)
    }

    /// The place of the material with this name.
    pub fn material_index(&self, name: &str) -> Option<usize> {
        self.materials.iter().position(|m| m.name == name)
    }

    /// Kinetic energy of a state plus potential energy of gravity (zero at W's origin), J.
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
        energy
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
        momentum
    }
}
