//! Extent from the distance to the boundary.

use nalgebra::Vector3;

use super::error::FieldError;
use crate::geometry::{
    SurfaceDistance, VertexPlace, VolumeMesh, boundary_faces, closest_point_on_triangle, distance_squared,
    vertex_places,
};
use crate::scalar::Scalar;

/// The extent of each vertex of a valid mesh: its distance to the boundary over the largest such
/// distance of a vertex, ε = d / max d.
///
/// It is exactly 0 on the boundary (and at vertices that no tetrahedron uses) and 1 at the deepest
/// vertex. Source: Elandt et al. 2019, §VI-A: any field that vanishes on the boundary and grows
/// inward is a choice of extent.
///
/// # Derivatives
/// The vertices may carry derivatives, of which the extents have theirs, of any order;
/// [`distance_extent_vjp`] has the first ones of all vertices in one sweep. The nearest triangle of each
/// vertex, whether its inside, an edge or a corner is nearest, and the deepest vertex are found in real parts.
/// At vertices on the boundary the extent stays 0 wherever they move, and its derivative is exactly 0.
///
/// The extent has a kink at a vertex with several nearest points on the boundary, as in the middle between two
/// faces, and everywhere where several vertices are equally deep. The derivative is then that of one
/// of them: of the triangle that the search meets first, and of the deepest vertex of the lowest number. It is
/// finite, and that of meshes a little beside.
///
/// # Errors
/// When no vertex lies inside: the field would be 0 everywhere.
pub fn distance_extent<T: Scalar>(mesh: &VolumeMesh<T>) -> Result<Vec<T>, FieldError> {
    let real = mesh.real();
    let of_interior = |depth: Depth| {
        let point = mesh.vertices[depth.vertex];
        let triangle = depth.triangle.map(|v| mesh.vertices[v as usize]);
        let squared = distance_squared(&point, &closest_point_on_triangle(&point, &triangle).position);
        // Where an inner vertex lies on the boundary the distance has no derivative.
        (depth.vertex, if squared.real() > 0.0 { squared.sqrt() } else { T::from(squared.real()) })
    };
    let mut extent = vec![T::from(0.0); mesh.vertices.len()];
    for (vertex, distance) in interior_depths(&real)?.into_iter().map(of_interior) {
        extent[vertex] = distance;
    }
    let (_, largest) = deepest(&extent)?;
    for value in &mut extent {
        *value /= largest;
    }
    Ok(extent)
}

/// The derivative of Σ `by_extent`·ε with respect to each vertex of a valid mesh, ε from
/// [`distance_extent`]: the vector–Jacobian product, in the geometry's frame, 1/m times the unit of
/// `by_extent`, of which there is one for each vertex.
///
/// With the nearest point q = Σ λᵢ xᵢ of a triangle and n = (p − q)/d, the distance d of p has the
/// derivatives n with respect to p and −λᵢ n with respect to the corners xᵢ, since q is where the
/// distance is least. It takes about as long as [`distance_extent`], whose derivatives it returns at
/// kinks too.
///
/// # Errors
/// As [`distance_extent`], and when the number of derivatives is not that of the vertices.
pub fn distance_extent_vjp(mesh: &VolumeMesh, by_extent: &[f64]) -> Result<Vec<Vector3<f64>>, FieldError> {
    check_count(mesh, by_extent)?;
    let depths = interior_depths(mesh)?;
    let (deepest, largest) = deepest(&distances(mesh, &depths))?;
    let by_distance = |vertex: usize| by_extent[vertex] / largest;
    // The extent of the deepest vertex is 1 whatever its distance.
    let others = depths.iter().filter(|depth| depth.vertex != deepest);
    let by_largest = -others.map(|d| by_distance(d.vertex) * d.distance / largest).sum::<f64>();
    let mut by_vertex = vec![Vector3::zeros(); mesh.vertices.len()];
    for Depth { vertex, triangle, distance } in depths {
        let by_distance = if vertex == deepest { by_largest } else { by_distance(vertex) };
        if distance > 0.0 && by_distance != 0.0 {
            let point = mesh.vertices[vertex];
            let corners = triangle.map(|v| mesh.vertices[v as usize]);
            let nearest = closest_point_on_triangle(&point, &corners);
            let outward = (point - nearest.position) * (by_distance / distance);
            by_vertex[vertex] += outward;
            for (corner, weight) in triangle.into_iter().zip(nearest.weights) {
                by_vertex[corner as usize] -= outward * weight;
            }
        }
    }
    Ok(by_vertex)
}

/// Whether there is one number for each vertex.
pub(super) fn check_count<T>(mesh: &VolumeMesh<T>, by_extent: &[f64]) -> Result<(), FieldError> {
    let (vertices, extents) = (mesh.vertices.len(), by_extent.len());
    if extents == vertices { Ok(()) } else { Err(FieldError::ExtentCount { vertices, extents }) }
}

/// The first of the vertices that lie deepest, and its distance to the boundary.
fn deepest<T: Scalar>(distances: &[T]) -> Result<(usize, T), FieldError> {
    let mut deepest = None;
    for (vertex, &distance) in distances.iter().enumerate() {
        if distance.real() > deepest.map_or(0.0, |(_, largest): (usize, T)| largest.real()) {
            deepest = Some((vertex, distance));
        }
    }
    deepest.ok_or(FieldError::NoInteriorVertex { vertices: distances.len() })
}

/// How deep an interior vertex lies.
struct Depth {
    vertex: usize,
    /// The vertices of the triangle of the boundary that is nearest.
    triangle: [u32; 3],
    /// The distance to it, m.
    distance: f64,
}

/// The depth of each interior vertex of a valid mesh.
///
/// # Errors
/// When no vertex lies inside.
fn interior_depths(mesh: &VolumeMesh) -> Result<Vec<Depth>, FieldError> {
    let places = vertex_places(mesh.vertices.len(), &mesh.tetrahedra);
    if !places.contains(&VertexPlace::Interior) {
        return Err(FieldError::NoInteriorVertex { vertices: mesh.vertices.len() });
    }
    let faces = boundary_faces(&mesh.tetrahedra);
    let boundary = SurfaceDistance::new(&mesh.vertices, &faces);
    let interior = (0..places.len()).filter(|&vertex| places[vertex] == VertexPlace::Interior);
    let depth = |vertex: usize| {
        let (distance, nearest) = boundary.nearest(&mesh.vertices[vertex])?;
        Some(Depth { vertex, triangle: faces[nearest], distance })
    };
    Ok(interior.filter_map(depth).collect())
}

/// The distance of each vertex of a valid mesh to the boundary, metres: exactly 0 on the boundary
/// and at vertices that no tetrahedron uses.
///
/// # Errors
/// When no vertex lies inside.
pub(crate) fn boundary_distance(mesh: &VolumeMesh) -> Result<Vec<f64>, FieldError> {
    Ok(distances(mesh, &interior_depths(mesh)?))
}

fn distances(mesh: &VolumeMesh, depths: &[Depth]) -> Vec<f64> {
    let mut distances = vec![0.0; mesh.vertices.len()];
    for depth in depths {
        distances[depth.vertex] = depth.distance;
    }
    distances
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
}
