//! Shapes, surface and volume meshes: made, read, checked, measured.

mod boundary;
mod capsule;
mod convex_shape;
mod cuboid;
mod cylinder;
mod dissection;
mod ellipsoid;
mod error;
mod holes;
mod hull;
#[cfg(test)]
pub(crate) mod kuhn_grid;
mod mass_properties;
mod mend;
mod mesh;
mod overlap;
mod point_blocks;
mod polyhedron;
mod quadrature;
mod read;
mod revolved;
mod shape;
mod sphere;
mod stuffing;
mod surface_distance;
mod tessellation;
mod tetrahedralize;
mod validate;
mod winding;
mod write;

pub(crate) use boundary::TETRAHEDRON_FACES;
pub(crate) use boundary::{NO_NEIGHBOUR, VertexPlace, boundary_faces, neighbours, vertex_places};
pub(crate) use convex_shape::{ConvexHull, ConvexShape};
pub(crate) use dissection::dissection_order;
pub use error::{LARGEST_ASPECT_RATIO, LARGEST_TETRAHEDRON_COUNT, LENGTH_RANGE, MeshError};
pub(crate) use mass_properties::{Moments, Solid};
pub(crate) use mesh::tetrahedron_volume;
pub use mesh::{SurfaceMesh, VolumeMesh};
pub(crate) use overlap::doubly_counted;
pub use polyhedron::{ConvexPolyhedron, HalfSpace};
pub(crate) use quadrature::{LARGEST_TRIANGLE_RULE, TrianglePoint, triangle_rule};
pub use read::ReadMeshError;
pub(crate) use read::{read_pieces, read_points};
pub use revolved::Revolved;
pub(crate) use revolved::{Profile, Ring, Wall};
pub use shape::Shape;
#[cfg(test)]
pub(crate) use shape::tests::any_shape;
pub use stuffing::Filled;
pub use surface_distance::SurfaceDistance;
pub(crate) use surface_distance::{closest_point_on_triangle, distance_squared};
