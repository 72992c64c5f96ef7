//! Shapes, surface and volume meshes.

mod boundary;
#[cfg(test)]
pub(crate) mod kuhn_grid;
mod mesh;
mod surface_distance;

pub use boundary::{VertexPlace, boundary_faces, vertex_places};
pub use mesh::{SurfaceMesh, VolumeMesh};
pub use surface_distance::{SurfaceDistance, closest_point_on_triangle};
