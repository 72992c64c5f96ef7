//! The sphere: an icosahedron, subdivided, and its centre.

use std::collections::HashMap;

use nalgebra::Vector3;

use super::mesh::{SurfaceMesh, VolumeMesh};

/// The longest edge of an icosphere of radius 1, times 2^level, is below this for every level
/// but 0.
const LONGEST_EDGE: f64 = 1.3233;

/// The edge of an icosahedron of circumradius 1.
const ICOSAHEDRON_EDGE: f64 = 1.051_462_224_238_267_3;

/// The triangles of the icosahedron, counter-clockwise seen from outside.
const ICOSAHEDRON: [[u32; 3]; 20] = [
    [0, 11, 5],
    [0, 5, 1],
    [0, 1, 7],
    [0, 7, 10],
    [0, 10, 11],
    [1, 5, 9],
    [5, 11, 4],
    [11, 10, 2],
    [10, 7, 6],
    [7, 1, 8],
    [3, 9, 4],
    [3, 4, 2],
    [3, 2, 6],
    [3, 6, 8],
    [3, 8, 9],
    [4, 9, 5],
    [2, 4, 11],
    [6, 2, 10],
    [8, 6, 7],
    [9, 8, 1],
];

/// Number of tetrahedra at a resolution, as a float so that it cannot overflow.
pub(super) fn tetrahedron_count(radius: f64, resolution: f64) -> f64 {
    20.0 * 4.0_f64.powf(level(radius, resolution))
}

fn level(radius: f64, resolution: f64) -> f64 {
    if radius * ICOSAHEDRON_EDGE <= resolution {
        0.0
    } else {
        // Logarithms one by one: the quotient may overflow.
        (LONGEST_EDGE.log2() + radius.log2() - resolution.log2()).ceil().max(1.0)
    }
}

/// The lowest level of an icosphere whose edges are all at most `resolution` metres long. Both
/// lengths must be positive and finite.
pub(crate) fn icosphere_level(radius: f64, resolution: f64) -> u32 {
    level(radius, resolution) as u32
}

impl SurfaceMesh {
    /// An icosphere: the icosahedron with each triangle divided into four `level` times, all
    /// vertices at `radius` metres from the origin. It has 20·4^level triangles; a level above 10
    /// is not useful.
    pub fn icosphere(radius: f64, level: u32) -> SurfaceMesh {
        let g = (1.0 + 5.0_f64.sqrt()) / 2.0;
        let mut vertices: Vec<Vector3<f64>> = [
            [-1.0, g, 0.0],
            [1.0, g, 0.0],
            [-1.0, -g, 0.0],
            [1.0, -g, 0.0],
            [0.0, -1.0, g],
            [0.0, 1.0, g],
            [0.0, -1.0, -g],
            [0.0, 1.0, -g],
            [g, 0.0, -1.0],
            [g, 0.0, 1.0],
            [-g, 0.0, -1.0],
            [-g, 0.0, 1.0],
        ]
        .iter()
        .map(|&v| Vector3::from(v).normalize())
        .collect();
        let mut triangles = ICOSAHEDRON.to_vec();
        for _ in 0..level {
            let mut midpoints = HashMap::with_capacity(triangles.len() * 3 / 2);
            let mut midpoint = |a: u32, b: u32| {
                *midpoints.entry((a.min(b), a.max(b))).or_insert_with(|| {
                    vertices.push((vertices[a as usize] + vertices[b as usize]).normalize());
                    (vertices.len() - 1) as u32
                })
            };
            let mut finer = Vec::with_capacity(4 * triangles.len());
            for [a, b, c] in triangles {
                let (ab, bc, ca) = (midpoint(a, b), midpoint(b, c), midpoint(c, a));
                finer.extend([[a, ab, ca], [b, bc, ab], [c, ca, bc], [ab, bc, ca]]);
            }
            triangles = finer;
        }
        SurfaceMesh { vertices: vertices.into_iter().map(|v| v * radius).collect(), triangles }
    }
}

impl VolumeMesh {
    /// The ball inside [`SurfaceMesh::icosphere`]: vertex 0 is the centre, which all 20·4^level
    /// tetrahedra share; vertex i + 1 is the surface's vertex i.
    pub fn icosphere(radius: f64, level: u32) -> VolumeMesh {
        let surface = SurfaceMesh::icosphere(radius, level);
        let mut vertices = vec![Vector3::zeros()];
        vertices.extend(surface.vertices);
        let tetrahedra = surface.triangles.iter().map(|&[a, b, c]| [a + 1, b + 1, 0, c + 1]).collect();
        VolumeMesh { vertices, tetrahedra }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::mesh::tetrahedron_volume;

    #[test]
    fn icosphere_counts_and_layout() {
        for level in 0..4 {
            let surface = SurfaceMesh::icosphere(0.5, level);
            surface.validate().unwrap();
            assert_eq!(surface.triangles.len(), 20 << (2 * level));
            assert_eq!(surface.vertices.len(), (10 << (2 * level)) + 2);
            assert!(surface.vertices.iter().all(|v| (v.norm() - 0.5).abs() < 1e-15));
            let volume = VolumeMesh::icosphere(0.5, level);
            assert_eq!(volume.vertices[0], Vector3::zeros());
            for i in 0..volume.tetrahedra.len() {
                assert!(volume.tetrahedra[i].contains(&0));
                assert!(tetrahedron_volume(&volume.corners(i)) > 0.0);
            }
        }
    }

    #[test]
    fn no_edge_is_longer_than_the_resolution_and_the_level_is_the_lowest() {
        let longest = |level| {
            let mesh = SurfaceMesh::icosphere(2.0, level);
            let edge = |a: u32, b: u32| (mesh.vertices[a as usize] - mesh.vertices[b as usize]).norm();
            mesh.triangles
                .iter()
                .map(|&[a, b, c]| edge(a, b).max(edge(b, c)).max(edge(c, a)))
                .fold(0.0, f64::max)
        };
        for resolution in [5.0, 2.11, 2.1, 1.3, 0.7, 0.33, 0.2] {
            let level = icosphere_level(2.0, resolution);
            assert!(longest(level) <= resolution);
            // Up to the 7 % by which the bound on the longest edge is above that of level 1.
            assert!(level == 0 || longest(level - 1) > resolution * 0.93);
        }
    }
}
