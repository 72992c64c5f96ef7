//! Shapes, surface and volume meshes.

mod mesh;

pub use mesh::{SurfaceMesh, VolumeMesh};
