//! Shapes, surface and volume meshes: made, read, checked, measured.

mod capsule;
mod cuboid;
mod cylinder;
mod ellipsoid;
mod hull;
mod mass_properties;
mod mesh;
mod read;
mod shape;
mod sphere;
mod tessellation;
mod tetrahedralize;
mod validate;
mod write;

pub use hull::convex_hull;
pub use mass_properties::{MassProperties, surface_mass_properties, surface_volume, volume_mass_properties};
pub use mesh::{
    Scalable, SurfaceMesh, VolumeMesh, boundary_faces, boundary_surface, boundary_vertices, scaled,
    tetrahedron_faces, tetrahedron_volume,
};
pub use read::{ReadMeshError, read_surface_mesh, read_volume_mesh};
pub use shape::{LARGEST_ASPECT_RATIO, LARGEST_TETRAHEDRON_COUNT, LENGTH_RANGE, Shape, ShapeError};
pub use sphere::{icosphere_level, icosphere_surface, icosphere_volume};
pub use tetrahedralize::tetrahedralize;
pub use validate::{MeshError, validate_surface, validate_volume};
pub use write::{write_surface_mesh, write_volume_mesh};
