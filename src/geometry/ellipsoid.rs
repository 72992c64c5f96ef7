//! The ellipsoid: a sphere, stretched along the axes.

use nalgebra::Vector3;

use super::mesh::VolumeMesh;
use super::sphere::{self, icosphere_level};

fn largest(semi_axes: [f64; 3]) -> f64 {
    semi_axes.into_iter().fold(0.0, f64::max)
}

/// Number of tetrahedra at a resolution, as a float so that it cannot overflow.
pub(super) fn tetrahedron_count(semi_axes: [f64; 3], resolution: f64) -> f64 {
    sphere::tetrahedron_count(largest(semi_axes), resolution)
}

/// The icosphere of radius 1 with its vertices multiplied by the semi-axes, so fine that no
/// surface edge of the sphere around the ellipsoid is longer than the resolution. The pressure
/// is zero on the surface and grows towards the centre, which is vertex 0.
pub(super) fn volume_mesh(semi_axes: [f64; 3], resolution: f64) -> VolumeMesh {
    let mut mesh = VolumeMesh::icosphere(1.0, icosphere_level(largest(semi_axes), resolution));
    let stretch = Vector3::from(semi_axes);
    for vertex in &mut mesh.vertices {
        vertex.component_mul_assign(&stretch);
    }
    mesh
}
