//! Why an extent could not be computed.

/// Why the extent of a mesh could not be computed.
#[derive(Debug, thiserror::Error, PartialEq)]
pub enum ExtentError {
    /// Every vertex lies on the boundary.
    #[error(
        "none of the mesh's {vertices} vertices lies inside it, so the pressure would be 0 \
         everywhere; split its tetrahedra or give a mesh with interior vertices"
    )]
    NoInteriorVertex {
        /// Vertices in the mesh.
        vertices: usize,
    },
    /// A core vertex is not inside the mesh.
    #[error(
        "core vertex {vertex} does not lie inside the mesh; a core vertex must be one of the \
         {vertices} vertices, in a tetrahedron and not on the boundary"
    )]
    CoreVertex {
        /// The vertex given.
        vertex: u32,
        /// Vertices in the mesh.
        vertices: usize,
    },
    /// No core vertex was given.
    #[error("the core is empty; Laplace's equation needs at least one vertex where the extent is 1")]
    EmptyCore,
    /// The core threshold is not a fraction.
    #[error("the core threshold is {value}; it must be greater than 0 and at most 1")]
    CoreThreshold {
        /// The threshold given.
        value: f64,
    },
    /// The stiffness matrix is not positive definite.
    #[error(
        "the Cholesky factorization of the mesh's Laplace matrix failed; a tetrahedron has no \
         volume or nearly none"
    )]
    Factorization,
    /// An interior vertex is cut off from the core.
    #[error(
        "Laplace's equation gives vertex {vertex} the extent {value}, outside (0, 1]: no path of \
         interior vertices leads from it to the core; add a core vertex near it or refine the mesh"
    )]
    MaximumPrinciple {
        /// The vertex.
        vertex: usize,
        /// Its extent.
        value: f64,
    },
}
