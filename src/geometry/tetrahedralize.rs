//! Filling a closed surface with tetrahedra that share one inner vertex.
//!
//! A convex or star-shaped surface is filled by a fan from a point that sees all its triangles, which keeps the surface as it
//! is. [`SurfaceMesh::fill`] fills others.

use nalgebra::{Matrix4, Vector3, Vector4};

use super::error::MeshError;
use super::mesh::{SurfaceMesh, VolumeMesh};
use super::validate::orientation;

/// Pivots of the search for the kernel before it is given up; it takes a few dozen.
const PIVOTS_AT_MOST: usize = 1000;

/// The half-space n·x + t ≤ b of the points at least t inside of a plane.
type Row = Vector4<f64>;

/// The least distance of a point inside the planes; negative where it is outside of one.
fn least_distance(planes: &[(Row, f64)], point: &Vector3<f64>) -> f64 {
    planes.iter().map(|(row, b)| b - row.xyz().dot(point)).fold(f64::INFINITY, f64::min)
}

/// The point whose least distance inside the planes of the triangles is largest: the centre of
/// the largest ball in the kernel, if there is a kernel.
///
/// The linear program max t, n_i·x + t ≤ b_i, is solved by the dual simplex method with four
/// planes in the basis: at each pivot the plane that is violated most enters. The start is a
/// regular tetrahedron around the surface, whose planes never bound a kernel.
fn deepest_point(planes: &[(Row, f64)], vertices: &[Vector3<f64>], size: f64) -> Vector3<f64> {
    let mut all: Vec<(Row, f64)> = [[1.0, 1.0, 1.0], [1.0, -1.0, -1.0], [-1.0, 1.0, -1.0], [-1.0, -1.0, 1.0]]
        .iter()
        .map(|&n| {
            let n = Vector3::from(n).normalize();
            let support = vertices.iter().map(|v| n.dot(v)).fold(f64::NEG_INFINITY, f64::max);
            (Row::new(n.x, n.y, n.z, 1.0), support)
        })
        .collect();
    all.extend_from_slice(planes);
    let mut basis = [0, 1, 2, 3];
    let mut point = Vector3::zeros();
    for _ in 0..PIVOTS_AT_MOST {
        let rows = Matrix4::from_rows(&basis.map(|i| all[i].0.transpose()));
        let Some(inverse) = rows.try_inverse() else { break };
        let solution = inverse * Row::from(basis.map(|i| all[i].1));
        point = solution.xyz();
        let mut entering = (1e-13 * size, None);
        for (index, (row, b)) in all.iter().enumerate() {
            let violation = row.dot(&solution) - b;
            if violation > entering.0 {
                entering = (violation, Some(index));
            }
        }
        let Some(entering) = entering.1 else { break };
        // The multipliers of the basis, and how they change as the plane enters.
        let multipliers = inverse.transpose() * Row::w();
        let change = inverse.transpose() * all[entering].0;
        let mut leaving = (f64::INFINITY, None);
        for k in 0..4 {
            let ratio = multipliers[k].max(0.0) / change[k];
            if change[k] > 1e-12 && ratio < leaving.0 {
                leaving = (ratio, Some(k));
            }
        }
        let Some(leaving) = leaving.1 else { break };
        basis[leaving] = entering;
    }
    point
}

impl SurfaceMesh {
    /// Fills a closed surface that is convex or star-shaped: vertices as in the surface, then one in
    /// its inside that all tetrahedra share; tetrahedron i lies under triangle i.
    ///
    /// The inner vertex is the centre of mass if that is at least half as deep inside the planes of
    /// the triangles as the deepest point, and the deepest point otherwise.
    ///
    /// # Errors
    /// When the surface is not valid, or no point sees all its triangles.
    pub fn tetrahedralize(&self) -> Result<VolumeMesh, MeshError> {
        self.validate()?;
        // About a point amid the mesh, so that no digits are lost far from the origin.
        let middle = self.vertices.iter().sum::<Vector3<f64>>() / self.vertices.len() as f64;
        let vertices: Vec<Vector3<f64>> = self.vertices.iter().map(|v| v - middle).collect();
        let size = vertices.iter().map(|v| v.norm()).fold(0.0, f64::max);
        let planes: Vec<(Row, f64)> = self
            .triangles
            .iter()
            .map(|t| {
                let [a, b, c] = t.map(|v| vertices[v as usize]);
                let n = (b - a).cross(&(c - a)).normalize();
                (Row::new(n.x, n.y, n.z, 1.0), n.dot(&a))
            })
            .collect();
        let deepest = deepest_point(&planes, &vertices, size);
        let centroid = self.mass_properties()?.center_of_mass - middle;
        let depth = least_distance(&planes, &deepest);
        let inner = if least_distance(&planes, &centroid) >= 0.5 * depth { centroid } else { deepest };

        let apex = self.vertices.len() as u32;
        let mut mesh = VolumeMesh { vertices: self.vertices.clone(), tetrahedra: Vec::new() };
        mesh.vertices.push(inner + middle);
        mesh.tetrahedra = self.triangles.iter().map(|&[a, b, c]| [a, b, apex, c]).collect();
        // A fan as flat as this has tetrahedra, but no useful pressure field.
        let flat =
            |triangle: &usize| planes[*triangle].1 - planes[*triangle].0.xyz().dot(&inner) < 1e-9 * size;
        let behind = |triangle: &usize| flat(triangle) || orientation(mesh.corners(*triangle)) != 1;
        match (0..planes.len()).find(behind) {
            Some(triangle) => Err(MeshError::NotStarShaped { triangle }),
            None => Ok(mesh),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::geometry::{Shape, SurfaceMesh};
    use approx::assert_relative_eq;
    use proptest::prelude::*;

    fn check(surface: &SurfaceMesh) -> VolumeMesh {
        let mesh = surface.tetrahedralize().unwrap();
        mesh.validate().unwrap();
        let volume = mesh.mass_properties().unwrap().mass;
        assert_relative_eq!(volume, surface.volume(), max_relative = 1e-12);
        mesh
    }

    /// The prism of unit height over a polygon in the plane z = 0 that is given as triangles.
    pub(crate) fn prism(outline: &[[f64; 2]], triangles: &[[u32; 3]]) -> SurfaceMesh {
        let n = outline.len() as u32;
        let mut vertices: Vec<_> = outline.iter().map(|p| Vector3::new(p[0], p[1], 0.0)).collect();
        vertices.extend(outline.iter().map(|p| Vector3::new(p[0], p[1], 1.0)));
        let mut all: Vec<[u32; 3]> = triangles.iter().map(|&[a, b, c]| [a, c, b]).collect();
        all.extend(triangles.iter().map(|t| t.map(|v| v + n)));
        for i in 0..n {
            let j = (i + 1) % n;
            all.extend([[i, j, j + n], [i, j + n, i + n]]);
        }
        SurfaceMesh { vertices, triangles: all }
    }

    #[test]
    fn a_box_is_filled_from_its_centroid() {
        let mut surface = Shape::Box { size: [0.1, 0.2, 0.9] }.surface_mesh(1.0).unwrap();
        let offset = Vector3::new(10.0, 20.0, 30.0);
        surface.vertices.iter_mut().for_each(|v| *v += offset);
        let mesh = check(&surface);
        assert_relative_eq!(mesh.vertices[mesh.vertices.len() - 1], offset, epsilon = 1e-12);
    }

    #[test]
    fn a_star_whose_centroid_does_not_see_everything_is_filled() {
        // An L with arms so long and thin that its centroid lies outside; its kernel is the elbow.
        let l = prism(
            &[[0.0, 0.0], [5.0, 0.0], [5.0, 0.3], [0.3, 0.3], [0.3, 5.0], [0.0, 5.0]],
            &[[0, 1, 2], [0, 2, 3], [0, 3, 5], [3, 4, 5]],
        );
        let centroid = l.mass_properties().unwrap().center_of_mass;
        assert!(centroid.x > 0.3 && centroid.y > 0.3);
        let mesh = check(&l);
        let inner = mesh.vertices[mesh.vertices.len() - 1];
        assert!(inner.x < 0.3 && inner.y < 0.3);
        // The ball in the elbow has half its width.
        assert!((inner.x - 0.15).abs() < 1e-9 && (inner.y - 0.15).abs() < 1e-9, "{inner}");
    }

    #[test]
    fn a_surface_without_a_kernel_is_refused() {
        // A U: from no point are both arms' insides seen.
        let u = prism(
            &[[0.0, 0.0], [3.0, 0.0], [3.0, 3.0], [2.0, 3.0], [2.0, 1.0], [1.0, 1.0], [1.0, 3.0], [0.0, 3.0]],
            &[[0, 1, 4], [0, 4, 5], [1, 2, 4], [2, 3, 4], [0, 5, 7], [5, 6, 7]],
        );
        let error = u.tetrahedralize().unwrap_err();
        assert!(matches!(error, MeshError::NotStarShaped { .. }));
        assert!(error.to_string().contains("isobar mesh") && error.to_string().contains("tetrahedra = {}"));
        let mut open = u;
        open.triangles.pop();
        assert!(matches!(open.tetrahedralize(), Err(MeshError::OpenEdge { .. })));
    }

    proptest! {
        #[test]
        fn hulls_are_filled(points in prop::collection::vec([-1.0..1.0_f64, -1.0..1.0, -1.0..1.0], 6..60)) {
            let points: Vec<Vector3<f64>> = points.into_iter().map(Vector3::from).collect();
            check(&SurfaceMesh::convex_hull(&points).unwrap());
        }

        #[test]
        fn stars_are_filled(radii in prop::collection::vec(0.3..3.0_f64, 42), centre in [-9.0..9.0_f64, -9.0..9.0, -9.0..9.0]) {
            // A ball with each vertex moved along its radius: its centre sees every triangle.
            let mut surface = SurfaceMesh::icosphere(1.0, 1);
            for (vertex, radius) in surface.vertices.iter_mut().zip(&radii) {
                *vertex = *vertex * *radius + Vector3::from(centre);
            }
            check(&surface);
        }
    }
}
