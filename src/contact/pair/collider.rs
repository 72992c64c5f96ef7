//! The bodies that touch: each is a geometry with its material and the derivatives that they carry.

use std::sync::Arc;

use nalgebra::Vector3;

use crate::contact::pair::material::Material;
use crate::field::hierarchy::Hierarchy;
use crate::field::{FieldError, PressureField, RigidSurface, check_skirt};
use crate::geometry::{Shape, SurfaceMesh};
use crate::scalar::Scalar;

/// The immutable, shareable part of a body in contact.
#[derive(Clone, Debug)]
pub enum ContactGeometry {
    /// A compliant body: a pressure field on a tetrahedral mesh.
    Compliant(PressureField),
    /// A compliant half-space that fills z ≤ 0 of its frame; the extent is depth / thickness.
    CompliantHalfSpace,
    /// A rigid body: a closed triangle surface.
    Rigid(RigidSurface),
    /// A rigid half-space that fills z ≤ 0 of its frame.
    RigidHalfSpace,
}

impl ContactGeometry {
    /// Whether the body is rigid.
    pub fn is_rigid(&self) -> bool {
        matches!(self, Self::Rigid(_) | Self::RigidHalfSpace)
    }

    /// Whether the body is a half-space.
    pub fn is_half_space(&self) -> bool {
        matches!(self, Self::CompliantHalfSpace | Self::RigidHalfSpace)
    }

    /// The bounding volumes of its mesh; `None` of half-spaces.
    pub(crate) fn hierarchy(&self) -> Option<&Hierarchy> {
        match self {
            Self::Compliant(field) => Some(field.hierarchy()),
            Self::Rigid(surface) => Some(surface.hierarchy()),
            Self::CompliantHalfSpace | Self::RigidHalfSpace => None,
        }
    }

    /// The vertices of the mesh, in the geometry's frame; none of a half-space.
    pub(crate) fn vertices(&self) -> &[Vector3<f64>] {
        match self {
            Self::Compliant(field) => &field.mesh().vertices,
            Self::Rigid(surface) => &surface.mesh().vertices,
            Self::CompliantHalfSpace | Self::RigidHalfSpace => &[],
        }
    }

    /// Its surface: the boundary of a field's mesh, with the skirt where there is one; `None` of half-spaces.
    pub(crate) fn surface_mesh(&self) -> Option<SurfaceMesh> {
        match self {
            Self::Compliant(field) => Some(field.mesh().boundary()),
            Self::Rigid(surface) => Some(surface.mesh().clone()),
            Self::CompliantHalfSpace | Self::RigidHalfSpace => None,
        }
    }
}

/// A geometry with its material, in scalars that may carry derivatives.
///
/// The mesh itself is shared and in `f64`. If its vertices or extents are to carry derivatives, they are
/// given here and replace those of the mesh; their real parts must be equal to the mesh's.
#[derive(Clone, Debug)]
pub struct Collider<T = f64> {
    /// The geometry.
    pub geometry: Arc<ContactGeometry>,
    /// The material.
    pub material: Material<T>,
    /// Depth in metres at which a compliant half-space reaches extent 1; not used otherwise.
    pub thickness: T,
    /// Thickness in metres of the skirt of a compliant half-space (see [`Self::with_skirt`]), in which
    /// its pressure continues below zero above it; 0 for none. It is not used for other geometries,
    /// whose fields have skirts of their own.
    pub skirt: f64,
    /// Vertex positions with derivatives, if they have any.
    pub vertices: Option<Arc<[Vector3<T>]>>,
    /// Vertex extents with derivatives, if they have any.
    pub extent: Option<Arc<[T]>>,
}

impl Collider<f64> {
    /// A compliant body with a pressure field.
    pub fn compliant(field: PressureField, material: Material<f64>) -> Self {
        Self::new(Arc::new(ContactGeometry::Compliant(field)), material, 0.0)
    }

    /// A compliant body of a shape, meshed at a resolution in metres ([`PressureField::of_shape`]).
    ///
    /// # Errors
    /// As [`Shape::volume_mesh`].
    pub fn of_shape(shape: &Shape, resolution: f64, material: Material<f64>) -> Result<Self, FieldError> {
        Ok(Self::compliant(PressureField::of_shape(shape, resolution)?, material))
    }

    /// A rigid body. Only the friction of its material is used.
    pub fn rigid(surface: RigidSurface, material: Material<f64>) -> Self {
        Self::new(Arc::new(ContactGeometry::Rigid(surface)), material, 0.0)
    }

    /// A compliant half-space below the plane z = 0 of its frame. The extent reaches 1 at the depth
    /// `thickness` in metres.
    pub fn compliant_half_space(material: Material<f64>, thickness: f64) -> Self {
        Self::new(Arc::new(ContactGeometry::CompliantHalfSpace), material, thickness)
    }

    /// A rigid half-space below the plane z = 0 of its frame. Only the friction of its material is used.
    pub fn rigid_half_space(material: Material<f64>) -> Self {
        Self::new(Arc::new(ContactGeometry::RigidHalfSpace), material, 0.0)
    }

    /// A collider without derivatives, of a geometry that others may share. `thickness` matters for
    /// compliant half-spaces only (see [`Self::compliant_half_space`]).
    pub fn new(geometry: impl Into<Arc<ContactGeometry>>, material: Material<f64>, thickness: f64) -> Self {
        Self { geometry: geometry.into(), material, thickness, skirt: 0.0, vertices: None, extent: None }
    }

    /// Adds a skirt of thickness δ in metres to a compliant collider. The pressure then continues below
    /// zero outside of the body, so that there is a contact surface, and a smooth onset of the force
    /// (see [`crate::contact::onset`]), before the bodies touch. A thickness of 0 leaves the collider as
    /// it is, and so does any thickness if the collider is rigid.
    ///
    /// The force begins at a distance of δ (1 + κ), where κ is the ratio of the smaller to the larger
    /// stiffness and the stiffness of a body is its modulus times the slope of its extent: 2 δ between
    /// equally stiff bodies, and δ to a rigid one. The width of the onset is the pressure that the less
    /// stiff body reaches in its skirt, so the derivatives with respect to the two moduli are one-sided
    /// where both stiffnesses are exactly equal. The vertices of the geometry become those of
    /// [`PressureField::with_skirt`], and must not carry derivatives before.
    ///
    /// # Errors
    /// The errors of [`PressureField::with_skirt`], and for a compliant half-space a skirt that is not
    /// thinner than the depth at which the extent reaches 1.
    pub fn with_skirt(&self, thickness: f64) -> Result<Self, FieldError> {
        check_skirt(thickness)?;
        let mut out = self.clone();
        if thickness == 0.0 {
            return Ok(out);
        }
        match self.geometry.as_ref() {
            ContactGeometry::Compliant(field) => {
                out.geometry = Arc::new(ContactGeometry::Compliant(field.with_skirt(thickness)?));
                (out.vertices, out.extent) = (None, None);
            }
            ContactGeometry::CompliantHalfSpace => {
                if self.skirt > 0.0 {
                    return Err(FieldError::SecondSkirt { thickness: self.skirt });
                }
                if thickness >= self.thickness {
                    return Err(FieldError::Thick { thickness, allowed: self.thickness });
                }
                out.skirt = thickness;
            }
            ContactGeometry::Rigid(_) | ContactGeometry::RigidHalfSpace => {}
        }
        Ok(out)
    }
}

impl<T: Scalar> Collider<T> {
    /// A constant collider as scalars `T`.
    pub fn lift(c: &Collider<f64>) -> Self {
        Self {
            geometry: Arc::clone(&c.geometry),
            material: Material::lift(&c.material),
            thickness: T::from(c.thickness),
            skirt: c.skirt,
            vertices: c.vertices.as_ref().map(|v| v.iter().map(|x| x.map(T::from)).collect()),
            extent: c.extent.as_ref().map(|e| e.iter().map(|&x| T::from(x)).collect()),
        }
    }

    /// The collider without its derivatives. Allocates nothing.
    pub fn real(&self) -> Collider<f64> {
        let (geometry, material) = (Arc::clone(&self.geometry), self.material.real());
        Collider { skirt: self.skirt, ..Collider::new(geometry, material, self.thickness.real()) }
    }

    /// Thickness of the collider's skirt, metres; 0 if it has none.
    pub fn skirt_thickness(&self) -> f64 {
        match self.geometry.as_ref() {
            ContactGeometry::Compliant(field) => field.skirt().thickness,
            ContactGeometry::CompliantHalfSpace => self.skirt,
            ContactGeometry::Rigid(_) | ContactGeometry::RigidHalfSpace => 0.0,
        }
    }

    /// How far the pressure falls below zero in the collider's skirt, Pa; 0 if it has none.
    pub(crate) fn skirt_pressure(&self) -> T {
        let modulus = self.material.hydroelastic_modulus;
        match self.geometry.as_ref() {
            ContactGeometry::Compliant(field) => modulus * field.skirt().extent,
            ContactGeometry::CompliantHalfSpace => modulus / self.thickness * self.skirt,
            ContactGeometry::Rigid(_) | ContactGeometry::RigidHalfSpace => T::from(0.0),
        }
    }

    /// Whether the geometry's vertices or extents carry derivatives.
    pub fn has_shape_derivatives(&self) -> bool {
        self.vertices.is_some() || self.extent.is_some()
    }
}
