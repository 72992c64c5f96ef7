//! Extent from the distance to the boundary.

use super::error::FieldError;
use crate::geometry::{SurfaceDistance, VertexPlace, VolumeMesh, boundary_faces, vertex_places};

/// The extent of each vertex of a valid mesh: its distance to the boundary over the largest such
/// distance of a vertex, ε = d / max d.
///
/// It is exactly 0 on the boundary (and at vertices that no tetrahedron uses) and 1 at the deepest
/// vertex. Source: Elandt et al. 2019, §VI-A: any field that vanishes on the boundary and grows
/// inward is a choice of extent.
///
/// # Errors
/// When no vertex lies inside: the field would be 0 everywhere.
pub fn distance_extent(mesh: &VolumeMesh) -> Result<Vec<f64>, FieldError> {
    let mut extent = boundary_distance(mesh)?;
    let deepest = extent.iter().copied().fold(0.0, f64::max);
    for value in &mut extent {
        *value /= deepest;
    }
    Ok(extent)
}

/// The distance of each vertex of a valid mesh to the boundary, metres: exactly 0 on the boundary
/// and at vertices that no tetrahedron uses.
///
/// # Errors
/// When no vertex lies inside.
pub(crate) fn boundary_distance(mesh: &VolumeMesh) -> Result<Vec<f64>, FieldError> {
    let places = vertex_places(mesh.vertices.len(), &mesh.tetrahedra);
    if !places.contains(&VertexPlace::Interior) {
        return Err(FieldError::NoInteriorVertex { vertices: mesh.vertices.len() });
    }
    let boundary = SurfaceDistance::new(&mesh.vertices, &boundary_faces(&mesh.tetrahedra));
    Ok(places
        .iter()
        .zip(&mesh.vertices)
        .map(|(place, vertex)| match place {
            VertexPlace::Interior => boundary.distance(vertex),
            VertexPlace::Boundary | VertexPlace::Unused => 0.0,
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::kuhn_grid::kuhn_grid;
    use nalgebra::Vector3;

    #[test]
    fn extent_of_a_cube_is_the_distance_to_its_nearest_side() {
        let mut mesh = kuhn_grid([6, 6, 6], 0.1, 3);
        // The deepest vertex at the middle, so that max d is 1/2.
        let middle = 3 * 49 + 3 * 7 + 3;
        mesh.vertices[middle] = Vector3::repeat(0.5);
        // A vertex that no tetrahedron uses must not count as deep.
        mesh.vertices.push(Vector3::repeat(9.0));
        let extent = distance_extent(&mesh).unwrap();
        assert_eq!(extent[middle], 1.0);
        for (i, p) in mesh.vertices.iter().enumerate() {
            let d = p.iter().map(|x| x.min(1.0 - x)).fold(0.5, f64::min);
            if d <= 0.0 {
                assert_eq!(extent[i], 0.0);
            } else {
                assert!((extent[i] - 2.0 * d).abs() < 1e-15);
            }
        }
    }

    #[test]
    fn a_mesh_without_interior_vertex_has_no_distance_extent() {
        let error = distance_extent(&kuhn_grid([1, 1, 4], 0.0, 1)).unwrap_err();
        assert_eq!(error, FieldError::NoInteriorVertex { vertices: 20 });
    }

    #[test]
    fn twenty_thousand_vertices_take_less_than_a_second() {
        let mesh = kuhn_grid([26, 26, 26], 0.1, 1);
        let start = std::time::Instant::now();
        let extent = distance_extent(&mesh).unwrap();
        assert!(start.elapsed().as_secs_f64() < 1.0, "{:?}", start.elapsed());
        assert_eq!(extent.len(), 27 * 27 * 27);
    }
}
