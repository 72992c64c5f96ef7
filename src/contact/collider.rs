//! The bodies that touch: a geometry, its material, and the derivatives they carry.

use std::sync::Arc;

use nalgebra::Vector3;

use super::material::Material;
use crate::field::{PressureField, RigidSurface};
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
}

/// A geometry with its material, in scalars that may carry derivatives.
///
/// The mesh itself is shared and in `f64`; where its vertices or extents are to carry
/// derivatives they are given here and take the place of the mesh's own (their real parts must
/// be equal to it).
#[derive(Clone, Debug)]
pub struct Collider<T = f64> {
    /// The geometry.
    pub geometry: Arc<ContactGeometry>,
    /// The material.
    pub material: Material<T>,
    /// Depth in metres at which a compliant half-space reaches extent 1; not used otherwise.
    pub thickness: T,
    /// Vertex positions with derivatives, if they have any.
    pub vertices: Option<Arc<[Vector3<T>]>>,
    /// Vertex extents with derivatives, if they have any.
    pub extent: Option<Arc<[T]>>,
}

impl Collider<f64> {
    /// A collider without derivatives. `thickness` matters for compliant half-spaces only.
    pub fn new(geometry: Arc<ContactGeometry>, material: Material<f64>, thickness: f64) -> Self {
        Self { geometry, material, thickness, vertices: None, extent: None }
    }
}

impl<T: Scalar> Collider<T> {
    /// A constant collider as scalars `T`.
    pub fn lift(c: &Collider<f64>) -> Self {
        Self {
            geometry: Arc::clone(&c.geometry),
            material: Material::lift(&c.material),
            thickness: T::from(c.thickness),
            vertices: c.vertices.as_ref().map(|v| v.iter().map(|x| x.map(T::from)).collect()),
            extent: c.extent.as_ref().map(|e| e.iter().map(|&x| T::from(x)).collect()),
        }
    }

    /// The collider without its derivatives. Allocates nothing.
    pub fn real(&self) -> Collider<f64> {
        Collider::new(Arc::clone(&self.geometry), self.material.real(), self.thickness.real())
    }

    /// Whether the geometry's vertices or extents carry derivatives.
    pub fn has_shape_derivatives(&self) -> bool {
        self.vertices.is_some() || self.extent.is_some()
    }
}
