//! Bodies: how they move and their geometries.

use super::mass::MassSource;
use crate::contact::{Collider, ContactGeometry};
use crate::geometry::Shape;
use crate::scalar::Scalar;
use crate::spatial::{MassProperties, MassPropertiesError, RigidTransform, SpatialVelocity};

/// A geometry fixed to a body.
#[derive(Clone, Debug)]
pub struct BodyGeometry<T = f64> {
    /// Pose of the geometry's frame G in the body's frame B.
    pub x_bg: RigidTransform<T>,
    /// Geometry and material.
    pub collider: Collider<T>,
    /// Index of the material in [`Model::materials`](crate::multibody::Model::materials), which the collider then gets.
    /// `None` for the collider's own, which a model lists by the body's name and the geometry's number; or for none: a rigid
    /// geometry of [`Material::NONE`](crate::contact::Material::NONE) has the friction and the parameters of an own law of
    /// what it touches.
    pub material: Option<usize>,
    /// Mass properties of the geometry filled with unit density, in its own frame. `None` for
    /// half-spaces.
    pub unit_mass: Option<MassProperties<T>>,
    /// The shape that its mesh was made of, and the resolution, m, where it is known: in models of scenes.
    pub primitive: Option<(Shape, f64)>,
}

impl BodyGeometry {
    /// A geometry in the body's own frame, with the collider's own material, and the mass properties of its mesh.
    pub fn new(collider: Collider) -> Self {
        let unit_mass = match &*collider.geometry {
            ContactGeometry::Compliant(field) => field.mesh().mass_properties().ok(),
            ContactGeometry::Rigid(surface) => surface.mesh().mass_properties().ok(),
            ContactGeometry::CompliantHalfSpace | ContactGeometry::RigidHalfSpace => None,
        };
        Self { x_bg: RigidTransform::identity(), collider, material: None, unit_mass, primitive: None }
    }

    /// The geometry at a pose in the body's frame.
    #[must_use]
    pub fn at(self, x_bg: RigidTransform) -> Self {
        Self { x_bg, ..self }
    }

    /// The geometry with the material of an index in [`Model::materials`](crate::multibody::Model::materials).
    #[must_use]
    pub fn of_material(self, index: usize) -> Self {
        Self { material: Some(index), ..self }
    }
}

impl<T: Scalar> BodyGeometry<T> {
    /// A constant geometry as scalars `T`.
    pub fn lift(g: &BodyGeometry<f64>) -> Self {
        Self {
            x_bg: RigidTransform::lift(&g.x_bg),
            collider: Collider::lift(&g.collider),
            material: g.material,
            unit_mass: g.unit_mass.as_ref().map(MassProperties::lift),
            primitive: g.primitive,
        }
    }

    /// The geometry without its derivatives.
    pub fn real(&self) -> BodyGeometry {
        BodyGeometry {
            x_bg: self.x_bg.real(),
            collider: self.collider.real(),
            material: self.material,
            unit_mass: self.unit_mass.as_ref().map(MassProperties::real),
            primitive: self.primitive,
        }
    }
}

/// How a body moves.
#[derive(Clone, Debug)]
pub enum Motion<T = f64> {
    /// The pose of the body does not change. Its velocity enters dissipation and friction only; it is
    /// zero unless the body stands for a moving surface such as a belt.
    Fixed {
        /// Pose of the body in W.
        x_wb: RigidTransform<T>,
        /// Velocity of the body in W.
        v_wb: SpatialVelocity<T>,
    },
    /// The body moves freely under forces.
    Free {
        /// The source of its mass properties.
        source: MassSource<T>,
        /// Its mass properties.
        mass: MassProperties<T>,
    },
    /// The body is carried by joints. It is a body of [`Model::mechanism`](crate::multibody::Model::mechanism),
    /// which holds its mass properties.
    Link {
        /// Its index in [`Mechanism::bodies`](crate::multibody::tree::Mechanism::bodies).
        link: usize,
    },
}

/// A rigid body (rigid in its motion; its geometries may be compliant in contact).
#[derive(Clone, Debug)]
pub struct Body<T = f64> {
    /// Its name, unique in the model.
    pub name: String,
    /// How the body moves.
    pub motion: Motion<T>,
    /// Its geometries.
    pub geometries: Vec<BodyGeometry<T>>,
}

impl<T: Scalar> Body<T> {
    /// A body at rest at a pose in W.
    pub fn fixed(name: impl Into<String>, x_wb: RigidTransform<T>, geometries: Vec<BodyGeometry<T>>) -> Self {
        let v_wb = SpatialVelocity::zero();
        Self { name: name.into(), motion: Motion::Fixed { x_wb, v_wb }, geometries }
    }

    /// A free body.
    ///
    /// # Errors
    /// When the mass properties do not belong to any distribution of mass.
    pub fn free(
        name: impl Into<String>,
        source: MassSource<T>,
        geometries: Vec<BodyGeometry<T>>,
    ) -> Result<Self, MassPropertiesError> {
        let mass = source.resolve(unit_parts(&geometries))?;
        mass.real().validate()?;
        Ok(Self { name: name.into(), motion: Motion::Free { source, mass }, geometries })
    }

    /// A body that is carried by joints: the body with index `link` in the model's mechanism.
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

/// The mass properties of the geometries filled with unit density, in the body's frame.
pub(crate) fn unit_parts<T: Scalar>(
    geometries: &[BodyGeometry<T>],
) -> impl Iterator<Item = MassProperties<T>> + Clone {
    geometries.iter().filter_map(|g| g.unit_mass.as_ref().map(|m| m.seen_from(&g.x_bg)))
}
