//! Shapes, surface and volume meshes.

mod boundary;
mod dissection;
#[cfg(test)]
pub(crate) mod kuhn_grid;
mod mesh;
mod polyhedron;
mod quadrature;
mod surface_distance;

pub(crate) use boundary::TETRAHEDRON_FACES;
pub use boundary::{VertexPlace, boundary_faces, vertex_places};
pub(crate) use dissection::dissection_order;
pub use mesh::{SurfaceMesh, VolumeMesh};
pub use polyhedron::{ConvexPolyhedron, HalfSpace};
pub use quadrature::{TrianglePoint, triangle_rule};
pub use surface_distance::{SurfaceDistance, closest_point_on_triangle};
