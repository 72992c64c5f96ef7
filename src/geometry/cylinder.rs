//! The cylinder, cut along its medial axis.
//!
//! The points equally far from the wall and a cap form a cone at each end. Where the cylinder is
//! longer than wide, a segment of the axis joins the cones' tips; where it is shorter, they are
//! cut off by a disc half way up; where both are equal, the tips meet in one point.

use std::f64::consts::TAU;

use super::mesh::VolumeMesh;
use super::tessellation::{MEDIAL_TOLERANCE, Tessellation, edge_count};

/// Number of tetrahedra at a resolution, at most, as a float so that it cannot overflow.
pub(super) fn tetrahedron_count(radius: f64, resolution: f64) -> f64 {
    9.0 * edge_count(TAU * radius, resolution, 3.0)
}

/// The mesh of a cylinder around z, with ⌈2πR / resolution⌉ edges (at least 3) around each rim.
pub(super) fn volume_mesh(radius: f64, length: f64, resolution: f64) -> VolumeMesh {
    let n = edge_count(TAU * radius, resolution, 3.0) as usize;
    let half = 0.5 * length;
    let mut mesh = Tessellation::default();
    let (low, high) = (mesh.circle(n, radius, -half), mesh.circle(n, radius, half));
    let (low_centre, high_centre) = (mesh.vertex(0.0, 0.0, -half), mesh.vertex(0.0, 0.0, half));
    let tolerance = MEDIAL_TOLERANCE * radius.min(half);
    let sectors = (0..n).map(|i| (i, (i + 1) % n));
    if half - radius > tolerance {
        let low_tip = mesh.vertex(0.0, 0.0, radius - half);
        let high_tip = mesh.vertex(0.0, 0.0, half - radius);
        for (i, j) in sectors {
            mesh.tetrahedron([low_centre, low[i], low[j], low_tip]);
            mesh.tetrahedron([high_centre, high[i], high[j], high_tip]);
            mesh.prism([low_tip, low[i], low[j]], [high_tip, high[i], high[j]]);
        }
    } else if radius - half > tolerance {
        let rim = mesh.circle(n, radius - half, 0.0);
        let centre = mesh.vertex(0.0, 0.0, 0.0);
        for (i, j) in sectors {
            mesh.prism([rim[i], low[i], high[i]], [rim[j], low[j], high[j]]);
            mesh.prism([centre, rim[i], rim[j]], [low_centre, low[i], low[j]]);
            mesh.prism([centre, rim[i], rim[j]], [high_centre, high[i], high[j]]);
        }
    } else {
        let centre = mesh.vertex(0.0, 0.0, 0.0);
        for (i, j) in sectors {
            mesh.tetrahedron([low_centre, low[i], low[j], centre]);
            mesh.tetrahedron([high_centre, high[i], high[j], centre]);
            mesh.tetrahedron([low[i], low[j], high[j], centre]);
            mesh.tetrahedron([low[i], high[i], high[j], centre]);
        }
    }
    mesh.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_kinds_of_medial_axis() {
        // Length over radius, tetrahedra per sector, and medial vertices.
        for (length, per_sector, medial) in [(3.0, 5, 2), (2.0, 4, 1), (2.0 + 1e-9, 4, 1), (1.0, 9, 11)] {
            let mesh = volume_mesh(1.0, length, TAU / 10.0 * 1.0001);
            mesh.validate().unwrap();
            assert_eq!(mesh.tetrahedra.len(), 10 * per_sector);
            assert_eq!(mesh.vertices.len(), 2 * 11 + medial);
        }
    }
}
