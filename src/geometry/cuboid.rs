//! The box, cut along its medial axis.
//!
//! The points nearer to one face than to the others form a cell under that face. Its floor lies
//! on the medial axis: the points at depth m, half the smallest edge, form the rectangle with the
//! half-extents h − m (a segment or a point where edges are equal), and planes lead from its
//! corners to those of the box. Each cell is the cone from the face's centre to its other
//! facets, and the distance to the boundary is linear on it, so the pressure field is exact.

use super::mesh::VolumeMesh;
use super::tessellation::{MEDIAL_TOLERANCE, Tessellation};

/// The number of tetrahedra when all edges differ; it is less for prisms and cubes.
pub(super) const TETRAHEDRA_AT_MOST: f64 = 44.0;

/// The mesh of a box with full edge lengths `size`.
pub(super) fn volume_mesh(size: [f64; 3]) -> VolumeMesh {
    let half = size.map(|s| 0.5 * s);
    let depth = half[0].min(half[1]).min(half[2]);
    let medial = half.map(|h| if h - depth < MEDIAL_TOLERANCE * depth { 0.0 } else { h - depth });

    let mut mesh = Tessellation::default();
    // Bit k of a corner's number tells the sign of its coordinate along axis k.
    let is_high = |corner: usize, axis: usize| corner >> axis & 1 == 1;
    let signed = |corner: usize, axis: usize, x: f64| if is_high(corner, axis) { x } else { -x };
    let corners: Vec<u32> = (0..8)
        .map(|c| mesh.vertex(signed(c, 0, half[0]), signed(c, 1, half[1]), signed(c, 2, half[2])))
        .collect();
    // The medial vertex next to each corner: corners on both sides of an axis along which the
    // medial axis has no extent share it.
    let mut inner = [0; 8];
    for corner in 0..8 {
        let flat: usize = (0..3).filter(|&k| medial[k] == 0.0).map(|k| 1 << k).sum();
        let first = corner & !flat;
        inner[corner] = if first < corner {
            inner[first]
        } else {
            let at = |k: usize| if medial[k] == 0.0 { 0.0 } else { signed(corner, k, medial[k]) };
            mesh.vertex(at(0), at(1), at(2))
        };
    }

    for axis in 0..3 {
        let (u, v) = ((axis + 1) % 3, (axis + 2) % 3);
        for side in [0, 1 << axis] {
            let mut centre = [0.0; 3];
            centre[axis] = if side == 0 { -half[axis] } else { half[axis] };
            let centre = mesh.vertex(centre[0], centre[1], centre[2]);
            let face = [side, side | 1 << u, side | 1 << u | 1 << v, side | 1 << v];
            for k in 0..4 {
                // In ascending order, so that both cells at this edge cut the facet alike.
                let (a, b) = (face[k].min(face[(k + 1) % 4]), face[k].max(face[(k + 1) % 4]));
                mesh.tetrahedron([centre, corners[a], corners[b], inner[a]]);
                if inner[a] != inner[b] {
                    mesh.tetrahedron([centre, corners[b], inner[b], inner[a]]);
                }
            }
            if medial[u] > 0.0 && medial[v] > 0.0 {
                let floor = face.map(|corner| inner[corner]);
                // The corner of the floor nearest to the axes' low ends is the same on both sides.
                mesh.tetrahedron([centre, floor[0], floor[1], floor[2]]);
                mesh.tetrahedron([centre, floor[0], floor[2], floor[3]]);
            }
        }
    }
    mesh.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::boundary_faces;

    #[test]
    fn the_three_kinds_of_medial_axis() {
        // Edges, vertices and tetrahedra; the counts of the first and the cube are Drake's. The
        // cones have 24 facets at the corners, two for each medial edge under a box edge, and
        // four on the rectangle.
        for (size, vertices, tetrahedra) in [
            ([0.2, 0.16, 0.12], 18, 44),
            ([0.1, 0.2, 0.1], 16, 32),
            ([0.2, 0.1, 0.2], 18, 44),
            ([0.1, 0.1, 0.1], 15, 24),
            ([0.1, 0.1, 0.1 + 1e-12], 15, 24),
        ] {
            let mesh = volume_mesh(size);
            mesh.validate().unwrap();
            assert_eq!((mesh.vertices.len(), mesh.tetrahedra.len()), (vertices, tetrahedra), "{size:?}");
            assert_eq!(boundary_faces(&mesh.tetrahedra).len(), 24);
        }
    }
}
