//! Shapes, surface and volume meshes: made, read, checked, measured.

mod boundary;
mod capsule;
mod cuboid;
mod cylinder;
mod dissection;
mod ellipsoid;
mod error;
mod hull;
#[cfg(test)]
pub(crate) mod kuhn_grid;
mod mass_properties;
mod mesh;
mod point_blocks;
mod polyhedron;
mod quadrature;
mod read;
mod shape;
mod sphere;
mod surface_distance;
mod tessellation;
mod tetrahedralize;
mod validate;
mod write;

pub(crate) use boundary::TETRAHEDRON_FACES;
pub use boundary::{VertexPlace, boundary_faces, boundary_surface, vertex_places};
pub(crate) use dissection::dissection_order;
pub use error::MeshError;
pub use hull::convex_hull;
pub use mass_properties::{surface_mass_properties, surface_volume, volume_mass_properties};
pub use mesh::{Scalable, SurfaceMesh, VolumeMesh, scaled, tetrahedron_volume};
pub use polyhedron::{ConvexPolyhedron, HalfSpace};
pub use quadrature::{TrianglePoint, triangle_rule};
pub use read::{ReadMeshError, read_surface_mesh, read_volume_mesh};
pub use shape::{LARGEST_ASPECT_RATIO, LARGEST_TETRAHEDRON_COUNT, LENGTH_RANGE, Shape, ShapeError};
pub use sphere::{icosphere_level, icosphere_surface, icosphere_volume};
pub use surface_distance::{SurfaceDistance, closest_point_on_triangle};
pub use tetrahedralize::tetrahedralize;
pub use validate::{validate_surface, validate_volume};
pub use write::{write_surface_mesh, write_volume_mesh};
