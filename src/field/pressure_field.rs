//! The pressure field of a compliant body.

use crate::geometry::VolumeMesh;

/// Why a pressure field could not be made.
#[derive(Debug, thiserror::Error, PartialEq)]
pub enum FieldError {
    /// The number of extents is not the number of vertices.
    #[error("the mesh has {vertices} vertices but {extents} extents were given; one each is needed")]
    ExtentCount {
        /// Vertices in the mesh.
        vertices: usize,
        /// Extents given.
        extents: usize,
    },
    /// An extent is not a finite number of at least 0.
    #[error("the extent of vertex {vertex} is {value}; it must be finite and at least 0")]
    ExtentValue {
        /// The vertex.
        vertex: usize,
        /// Its extent.
        value: f64,
    },
}

/// A piecewise linear field of the extent ε on a tetrahedral mesh, ready for contact queries.
///
/// The pressure is E_h ε; the modulus belongs to the material, so that one field serves all.
#[derive(Clone, Debug)]
pub struct PressureField {
    mesh: VolumeMesh,
    extent: Vec<f64>,
}

impl PressureField {
    /// A field from a valid mesh and an extent for every vertex.
    ///
    /// # Errors
    /// When the number of extents is wrong or one of them is negative or not finite.
    pub fn new(mesh: VolumeMesh, extent: Vec<f64>) -> Result<Self, FieldError> {
        Ok(Self { mesh, extent })
    }

    /// The mesh.
    pub fn mesh(&self) -> &VolumeMesh {
        &self.mesh
    }

    /// The extent of every vertex.
    pub fn extent(&self) -> &[f64] {
        &self.extent
    }
}
