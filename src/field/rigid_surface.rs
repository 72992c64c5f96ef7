//! The surface of a rigid body.

use super::hierarchy::Hierarchy;
use crate::geometry::SurfaceMesh;

/// A closed triangle surface, ready for contact queries.
#[derive(Clone, Debug)]
pub struct RigidSurface {
    mesh: SurfaceMesh,
    hierarchy: Hierarchy,
}

impl RigidSurface {
    /// A rigid surface from a valid closed mesh (see the validation in [`crate::geometry`];
    /// indices must be in range).
    pub fn new(mesh: SurfaceMesh) -> Self {
        let hierarchy = Hierarchy::build(mesh.triangles.len(), |i, points| {
            // A rigid triangle is there at every pressure.
            points.extend(mesh.triangles[i].map(|k| (mesh.vertices[k as usize], f64::NAN)));
        });
        Self { mesh, hierarchy }
    }

    /// The mesh.
    pub fn mesh(&self) -> &SurfaceMesh {
        &self.mesh
    }

    /// The bounding-volume hierarchy over the triangles.
    pub fn hierarchy(&self) -> &Hierarchy {
        &self.hierarchy
    }
}
