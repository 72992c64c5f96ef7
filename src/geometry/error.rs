//! What can be wrong with a mesh.

/// The shortest and longest length of a shape, metres: within them no volume of a mesh
/// underflows or overflows.
pub const LENGTH_RANGE: [f64; 2] = [1e-9, 1e9];
/// The largest ratio of two lengths of a shape: beyond it the tetrahedra of its mesh are as
/// thin as rounding.
pub const LARGEST_ASPECT_RATIO: f64 = 1e6;
/// The largest number of tetrahedra that the mesh of a primitive may have.
pub const LARGEST_TETRAHEDRON_COUNT: usize = 4_000_000;
/// The largest area of the holes of a surface that are closed to fill it, as a part of its area.
pub const LARGEST_HOLE_AREA: f64 = 0.03;
/// The largest number of cubes of a lattice that a surface is filled with: they take some 500 MB of memory.
pub const LARGEST_CUBE_COUNT: f64 = 4e6;

/// What is wrong with a mesh. Elements and vertices are counted from 0.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum MeshError {
    /// The mesh has no elements.
    #[error("the mesh has no {element}; at least one is needed")]
    Empty { element: &'static str },
    /// There are more vertices or elements than 32-bit indices can count.
    #[error("the mesh has {count} vertices or elements; at most {limit} are allowed", limit = u32::MAX / 4)]
    TooLarge { count: usize },
    /// A coordinate is infinite or NaN.
    #[error("vertex {vertex} is at ({}, {}, {}); coordinates must be finite", position[0], position[1], position[2])]
    NonFiniteVertex { vertex: usize, position: [f64; 3] },
    /// A vertex index does not exist.
    #[error("{element} {index} names vertex {vertex}, but the mesh has {vertices} vertices, counted from 0")]
    IndexOutOfRange { element: &'static str, index: usize, vertex: u32, vertices: usize },
    /// A triangle has no area.
    #[error("triangle {triangle} has no area: its corners lie on a line or coincide")]
    DegenerateTriangle { triangle: usize },
    /// A surface has a hole.
    #[error(
        "the surface is open: the edge from vertex {from} to vertex {to} of triangle {triangle} has no triangle on its other side"
    )]
    OpenEdge { triangle: usize, from: u32, to: u32 },
    /// Two triangles run through an edge in the same direction.
    #[error(
        "triangles {first} and {second} both run from vertex {from} to vertex {to}: they are oriented differently, or more than two triangles meet in this edge"
    )]
    EdgeOrientation { first: usize, second: usize, from: u32, to: u32 },
    /// The triangles of a surface face inward.
    #[error(
        "the surface encloses a volume of {volume} m³, which must be positive: it is flat, or its triangles are not counter-clockwise seen from outside"
    )]
    Inward { volume: f64 },
    /// A tetrahedron is negatively oriented.
    #[error("tetrahedron {tetrahedron} is inverted: its volume is {volume} m³; swap two of its vertices")]
    Inverted { tetrahedron: usize, volume: f64 },
    /// A tetrahedron has no volume.
    #[error("tetrahedron {tetrahedron} has no volume: its corners lie in a plane or coincide")]
    ZeroVolume { tetrahedron: usize },
    /// More than two tetrahedra share a face.
    #[error(
        "the face of vertices {}, {} and {} belongs to {count} tetrahedra, {first} and {second} among them; at most two may share a face",
        face[0], face[1], face[2]
    )]
    CrowdedFace { face: [u32; 3], count: usize, first: usize, second: usize },
    /// Two tetrahedra lie on the same side of the face they share.
    #[error(
        "tetrahedra {first} and {second} overlap: they lie on the same side of their common face of vertices {}, {} and {}",
        face[0], face[1], face[2]
    )]
    OverlappingTetrahedra { first: usize, second: usize, face: [u32; 3] },
    /// No point sees all triangles of a surface, so it cannot be filled by a fan.
    #[error(
        "the surface is not star-shaped (from the best point, triangle {triangle} is seen from behind or edge-on), so that one inner vertex does not fill it: `isobar mesh` and `SurfaceMesh::fill` fill any closed surface, in scenes tetrahedra = {{}} does"
    )]
    NotStarShaped {
        /// A triangle that the best point does not see.
        triangle: usize,
    },
    /// The holes of a surface are too large to close.
    #[error(
        "the surface is open: holes ({count}) of {:.1} % of its area leave it open what is inside; up to {:.0} % are closed here, so close them in the program that made it, or give a sheet two sides",
        100.0 * area, 100.0 * LARGEST_HOLE_AREA
    )]
    Holes {
        count: usize,
        /// The area of the holes as a part of that of the surface.
        area: f64,
    },
    /// A lattice would be too large.
    #[error(
        "a size of {size} m would give the lattice around the surface {cubes:.1e} cubes; at most {LARGEST_CUBE_COUNT:e} are allowed, so choose a larger size"
    )]
    LatticeTooFine {
        /// The size, metres.
        size: f64,
        cubes: f64,
    },
    /// No point of a lattice is inside of a surface.
    #[error(
        "no point of a lattice of {size} m is inside of the surface: a twentieth of it has walls thinner than {wall:.1e} m, so choose a size of about half of that"
    )]
    ThinnerThanLattice {
        /// The size, metres.
        size: f64,
        /// The thickness, metres.
        wall: f64,
    },
    /// Points do not span a volume.
    #[error(
        "the {points} points lie in a plane, on a line or coincide; a convex hull needs four that do not"
    )]
    FlatPoints { points: usize },
    /// A length is NaN or outside of the range allowed.
    #[error(
        "the {field} of the {shape} is {value} m; it must be a number from {:e} to {:e} m",
        LENGTH_RANGE[0],
        LENGTH_RANGE[1]
    )]
    Length {
        shape: &'static str,
        field: &'static str,
        /// The value found, metres.
        value: f64,
    },
    /// A length of a body of revolution does not go with the others.
    #[error("the {field} of the {shape} is {value} m; it must be {allowed}")]
    Profile {
        shape: &'static str,
        field: &'static str,
        /// The value found, metres.
        value: f64,
        allowed: &'static str,
    },
    /// The lengths of a shape are too different.
    #[error(
        "the {shape} is {largest} m in one direction and {smallest} m in another; the ratio must be at most {LARGEST_ASPECT_RATIO:e}"
    )]
    AspectRatio {
        shape: &'static str,
        /// Its largest length, metres.
        largest: f64,
        /// Its smallest length, metres.
        smallest: f64,
    },
    /// The resolution is not a positive number.
    #[error("the resolution of the {shape} is {value} m; it must be a positive number")]
    Resolution {
        shape: &'static str,
        /// The value found, metres.
        value: f64,
    },
    /// The mesh would be too large.
    #[error(
        "a resolution of {resolution} m would give the {shape} {tetrahedra:e} tetrahedra; at most {LARGEST_TETRAHEDRON_COUNT} are allowed, so choose a larger resolution"
    )]
    TooFine {
        shape: &'static str,
        /// The resolution asked for, metres.
        resolution: f64,
        /// The number of tetrahedra it would give.
        tetrahedra: f64,
    },
}
