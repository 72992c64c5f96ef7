//! What can be wrong with a pressure field.

use crate::geometry::{LARGEST_TETRAHEDRON_COUNT, MeshError};

/// The most layers that a mesh is cut into.
pub const LARGEST_LAYER_COUNT: usize = 64;

/// Why a pressure field could not be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum FieldError {
    /// There is no such mesh.
    #[error(transparent)]
    Mesh(Box<MeshError>),
    /// The number of extents is not the number of vertices.
    #[error("the mesh has {vertices} vertices but {extents} extents were given; one each is needed")]
    ExtentCount { vertices: usize, extents: usize },
    /// The number of derivatives with respect to coordinates is not three times the number of vertices.
    #[error(
        "the mesh has {vertices} vertices but {derivatives} derivatives with respect to their coordinates \
         were given; three each are needed"
    )]
    CoordinateCount { vertices: usize, derivatives: usize },
    /// An extent is not a finite number of at least 0.
    #[error("the extent of vertex {vertex} is {value}; it must be finite and at least 0")]
    ExtentValue { vertex: usize, value: f64 },
    /// A tetrahedron names a vertex that does not exist.
    #[error("tetrahedron {tetrahedron} names vertex {index}, but there are {vertices} vertices")]
    VertexIndex { tetrahedron: usize, index: u32, vertices: usize },
    /// The field of a tetrahedron overflows.
    #[error(
        "the extent's slope in tetrahedron {tetrahedron} is not finite; the coordinates of its vertices are too large or too small"
    )]
    NotFinite { tetrahedron: usize },
    /// A tetrahedron has no volume, or is inverted.
    #[error("tetrahedron {tetrahedron} has volume {volume:e} m³; it must be positive")]
    Volume { tetrahedron: usize, volume: f64 },
    /// Every vertex lies on the boundary.
    #[error(
        "none of the mesh's {vertices} vertices lies inside it, so the pressure would be 0 \
         everywhere; split its tetrahedra or give a mesh with interior vertices"
    )]
    NoInteriorVertex { vertices: usize },
    /// A core vertex is not inside the mesh.
    #[error(
        "core vertex {vertex} does not lie inside the mesh; a core vertex must be one of the \
         {vertices} vertices, in a tetrahedron and not on the boundary"
    )]
    CoreVertex { vertex: u32, vertices: usize },
    /// No core vertex was given.
    #[error("the core is empty; Laplace's equation needs at least one vertex where the extent is 1")]
    EmptyCore,
    /// The core threshold is not a fraction.
    #[error("the core threshold is {value}; it must be greater than 0 and at most 1")]
    CoreThreshold { value: f64 },
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
    MaximumPrinciple { vertex: usize, value: f64 },
    /// The thickness is not a length.
    #[error("a skirt of {thickness} m; its thickness must be at least 0 and finite")]
    SkirtThickness { thickness: f64 },
    /// The body has a skirt.
    #[error("the body has a skirt of {thickness} m; a second one cannot be put around it")]
    SecondSkirt {
        /// Thickness of the skirt that is there.
        thickness: f64,
    },
    /// The skirt reaches farther outward than the field inward.
    #[error(
        "a skirt of {thickness} m; it must be thinner than {allowed:.3e} m, the depth at which the \
         extent reaches its largest value at the mean slope that it has at the boundary"
    )]
    Thick {
        thickness: f64,
        /// The thickness from which on it is too thick.
        allowed: f64,
    },
    /// The extent is the same everywhere around the boundary, or its mean slope there overflows.
    #[error(
        "no skirt can be made: the extent does not grow inward in any tetrahedron at the boundary, or too steeply"
    )]
    Flat,
    /// A tetrahedron would be turned over.
    #[error(
        "a skirt of {thickness} m turns over tetrahedron {tetrahedron}; it must be thinner than the \
         hollows and gaps of the body"
    )]
    TurnedOver { thickness: f64, tetrahedron: usize },
    /// The exponent of a pressure law is not a positive number.
    #[error("the exponent of the pressure law is {value}; it must be positive and finite")]
    LawExponent { value: f64 },
    /// A table of a pressure law has too few points.
    #[error("the table of the pressure law has {points} points; it needs at least 2")]
    LawPointCount { points: usize },
    /// A table of a pressure law does not begin at the boundary.
    #[error("the first point of the pressure law is ({}, {}); it must be (0, 0)", found[0], found[1])]
    LawFirstPoint { found: [f64; 2] },
    /// A point of a pressure law is not above and behind the one before.
    #[error(
        "point {point} of the pressure law, counted from 0, is ({}, {}); both numbers must be finite and greater than \
         those of the point before, ({}, {}), and the slope between them finite and above 0",
        found[0], found[1], before[0], before[1]
    )]
    LawPoint {
        /// The point, counted from 0.
        point: usize,
        found: [f64; 2],
        /// Extent and value of the point before.
        before: [f64; 2],
    },
    /// A table of a pressure law ends before the core.
    #[error(
        "the last point of the pressure law is ({}, {}); the table must reach an extent of at least 1",
        found[0], found[1]
    )]
    LawLastPoint { found: [f64; 2] },
    /// The number of layers is not one that a mesh is cut into.
    #[error("{layers} layers; a mesh is cut into 1 to {LARGEST_LAYER_COUNT}")]
    LayerCount { layers: usize },
    /// Two levels are too close to each other, or not in order.
    #[error(
        "level {level}, counted from 0, is {value}; it must be finite and at least {least}, which is the level before (0 \
         before the first) and 10⁻⁴ of the largest extent"
    )]
    Level {
        /// The level, counted from 0.
        level: usize,
        value: f64,
        least: f64,
    },
    /// Layers would give a mesh too many tetrahedra.
    #[error(
        "cut into layers the mesh would have more than {LARGEST_TETRAHEDRON_COUNT} tetrahedra; take fewer layers or a \
         coarser mesh"
    )]
    TooManyLayers,
}

impl From<MeshError> for FieldError {
    fn from(error: MeshError) -> Self {
        Self::Mesh(Box::new(error))
    }
}
