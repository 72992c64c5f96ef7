//! Whether a mesh is what contact queries need: closed, oriented, without degenerate elements.

use std::collections::HashMap;

use nalgebra::Vector3;

use super::boundary::sorted_faces;
use super::error::MeshError;
use super::mesh::{SurfaceMesh, VolumeMesh};

/// A volume or area below this fraction of the sum of the magnitudes of the terms that make it
/// up is rounding.
const DEGENERATE: f64 = 1e-14;

/// Whether each component of a triangle's area vector is as small as the rounding of the products
/// that make it up.
pub(super) fn is_degenerate_triangle([a, b, c]: [Vector3<f64>; 3]) -> bool {
    let (u, v) = (b - a, c - a);
    let magnitudes = |i: usize, j: usize| (u[i] * v[j]).abs() + (u[j] * v[i]).abs();
    let n = u.cross(&v);
    n.x.abs() <= DEGENERATE * magnitudes(1, 2)
        && n.y.abs() <= DEGENERATE * magnitudes(2, 0)
        && n.z.abs() <= DEGENERATE * magnitudes(0, 1)
}

/// Six times the signed volume of a tetrahedron, and 0 where it is as small as the rounding of
/// the determinant.
fn determinant_or_zero([a, b, c, d]: [Vector3<f64>; 4]) -> f64 {
    let (u, v, w) = (b - a, c - a, d - a);
    let determinant = u.cross(&v).dot(&w);
    let (p, q) = (u.abs(), v.abs());
    let magnitude =
        Vector3::new(p.y * q.z + p.z * q.y, p.z * q.x + p.x * q.z, p.x * q.y + p.y * q.x).dot(&w.abs());
    if determinant.abs() <= DEGENERATE * magnitude { 0.0 } else { determinant }
}

/// Whether a tetrahedron is positive (1), inverted (−1) or without volume (0), as far as
/// rounding lets that be told.
pub(super) fn orientation(corners: [Vector3<f64>; 4]) -> i8 {
    let determinant = determinant_or_zero(corners);
    if determinant > 0.0 {
        1
    } else if determinant < 0.0 {
        -1
    } else {
        0
    }
}

/// Checks what surface and volume meshes have in common: coordinates and indices.
pub(super) fn check_indices<const N: usize>(
    element: &'static str,
    vertices: &[Vector3<f64>],
    elements: &[[u32; N]],
) -> Result<(), MeshError> {
    if elements.is_empty() {
        return Err(MeshError::Empty { element });
    }
    let count = vertices.len().max(elements.len());
    if count > (u32::MAX / 4) as usize {
        return Err(MeshError::TooLarge { count });
    }
    for (vertex, position) in vertices.iter().enumerate() {
        if !position.iter().all(|x| x.is_finite()) {
            return Err(MeshError::NonFiniteVertex { vertex, position: (*position).into() });
        }
    }
    for (index, corners) in elements.iter().enumerate() {
        for &vertex in corners {
            if vertex as usize >= vertices.len() {
                return Err(MeshError::IndexOutOfRange { element, index, vertex, vertices: vertices.len() });
            }
        }
    }
    Ok(())
}

impl SurfaceMesh {
    /// Checks that a surface has finite coordinates, indices in range, no triangle without area, no
    /// open edge, one orientation, and that it faces outward.
    ///
    /// # Errors
    /// The first fault found.
    pub fn validate(&self) -> Result<(), MeshError> {
        check_indices("triangle", &self.vertices, &self.triangles)?;
        let mut edges = HashMap::with_capacity(3 * self.triangles.len());
        for (triangle, &[a, b, c]) in self.triangles.iter().enumerate() {
            if is_degenerate_triangle(self.corners(triangle)) {
                return Err(MeshError::DegenerateTriangle { triangle });
            }
            for (from, to) in [(a, b), (b, c), (c, a)] {
                if let Some(first) = edges.insert((from, to), triangle) {
                    return Err(MeshError::EdgeOrientation { first, second: triangle, from, to });
                }
            }
        }
        for (triangle, &[a, b, c]) in self.triangles.iter().enumerate() {
            for (from, to) in [(a, b), (b, c), (c, a)] {
                if !edges.contains_key(&(to, from)) {
                    return Err(MeshError::OpenEdge { triangle, from, to });
                }
            }
        }
        let volume = self.volume();
        if !(volume > 0.0 && volume.is_finite()) {
            return Err(MeshError::Inward { volume });
        }
        Ok(())
    }
}

impl VolumeMesh {
    /// Checks that a volume mesh has finite coordinates, indices in range, only tetrahedra of
    /// positive volume, and that each face belongs to one tetrahedron or to two on opposite sides.
    ///
    /// # Errors
    /// The first fault found.
    pub fn validate(&self) -> Result<(), MeshError> {
        check_indices("tetrahedron", &self.vertices, &self.tetrahedra)?;
        for tetrahedron in 0..self.tetrahedra.len() {
            match determinant_or_zero(self.corners(tetrahedron)) {
                d if d > 0.0 => {}
                d if d < 0.0 => return Err(MeshError::Inverted { tetrahedron, volume: d / 6.0 }),
                _ => return Err(MeshError::ZeroVolume { tetrahedron }),
            }
        }
        let faces = sorted_faces(&self.tetrahedra);
        for run in faces.chunk_by(|a, b| a.key == b.key) {
            if run.len() < 2 {
                continue;
            }
            let (first, second) = (run[0].tetrahedron as usize, run[1].tetrahedron as usize);
            let face = run[0].key;
            if run.len() > 2 {
                return Err(MeshError::CrowdedFace { face, count: run.len(), first, second });
            }
            let [a, b, c] = run[0].outward;
            if [[a, b, c], [b, c, a], [c, a, b]].contains(&run[1].outward) {
                return Err(MeshError::OverlappingTetrahedra { first, second, face });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::{SurfaceMesh, VolumeMesh};

    #[test]
    fn each_fault_of_a_surface_is_found() {
        let good = SurfaceMesh::icosphere(1.0, 1);
        good.validate().unwrap();
        let with = |change: &dyn Fn(&mut SurfaceMesh)| {
            let mut mesh = good.clone();
            change(&mut mesh);
            mesh.validate().unwrap_err()
        };
        assert_eq!(with(&|m| m.triangles.clear()), MeshError::Empty { element: "triangle" });
        assert!(matches!(
            with(&|m| m.vertices[3].y = f64::NAN),
            MeshError::NonFiniteVertex { vertex: 3, .. }
        ));
        assert!(matches!(
            with(&|m| m.triangles[7][1] = 99),
            MeshError::IndexOutOfRange { index: 7, vertex: 99, vertices: 42, .. }
        ));
        assert_eq!(
            with(&|m| m.triangles[7][1] = m.triangles[7][0]),
            MeshError::DegenerateTriangle { triangle: 7 }
        );
        assert!(matches!(with(&|m| m.triangles.truncate(79)), MeshError::OpenEdge { .. }));
        assert!(matches!(with(&|m| m.triangles[5].swap(0, 1)), MeshError::EdgeOrientation { .. }));
        let volume = -good.volume();
        assert_eq!(
            with(&|m| m.triangles.iter_mut().for_each(|t| t.swap(0, 1))),
            MeshError::Inward { volume }
        );
    }

    #[test]
    fn each_fault_of_a_volume_is_found() {
        let good = VolumeMesh::icosphere(1.0, 1);
        good.validate().unwrap();
        let with = |change: &dyn Fn(&mut VolumeMesh)| {
            let mut mesh = good.clone();
            change(&mut mesh);
            mesh.validate().unwrap_err()
        };
        assert!(matches!(
            with(&|m| m.tetrahedra[7].swap(0, 1)),
            MeshError::Inverted { tetrahedron: 7, volume } if volume < 0.0
        ));
        assert_eq!(
            with(&|m| m.tetrahedra[7][0] = m.tetrahedra[7][1]),
            MeshError::ZeroVolume { tetrahedron: 7 }
        );
        assert!(matches!(
            with(&|m| m.tetrahedra.push(m.tetrahedra[0])),
            MeshError::OverlappingTetrahedra { first: 0, second: 80, .. } | MeshError::CrowdedFace { .. }
        ));
        let lone = VolumeMesh { vertices: good.vertices.clone(), tetrahedra: vec![good.tetrahedra[0]; 2] };
        assert!(matches!(lone.validate(), Err(MeshError::OverlappingTetrahedra { first: 0, second: 1, .. })));
    }

    #[test]
    fn a_flat_tetrahedron_in_a_slanted_plane_has_no_volume() {
        let plane = |x: f64, y: f64| Vector3::new(x, y, 0.3 * x - 0.7 * y + 0.11);
        let corners = [plane(0.0, 0.0), plane(1.3, 0.1), plane(0.2, 0.9), plane(0.77, 0.31)];
        assert_eq!(orientation(corners), 0);
    }
}
