//! The surface of a rigid body.

use crate::geometry::SurfaceMesh;

/// A closed triangle surface, ready for contact queries.
#[derive(Clone, Debug)]
pub struct RigidSurface {
    mesh: SurfaceMesh,
}

impl RigidSurface {
    /// A rigid surface from a valid closed mesh.
    pub fn new(mesh: SurfaceMesh) -> Self {
        Self { mesh }
    }

    /// The mesh.
    pub fn mesh(&self) -> &SurfaceMesh {
        &self.mesh
    }
}
