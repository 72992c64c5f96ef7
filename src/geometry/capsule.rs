//! The capsule: its medial axis is the segment between the centres of its half-balls.

use std::f64::consts::{FRAC_PI_2, TAU};

use super::mesh::VolumeMesh;
use super::tessellation::{Tessellation, edge_count};

/// Edges around the capsule, and from its equator to a pole.
fn divisions(radius: f64, resolution: f64) -> [f64; 2] {
    [edge_count(TAU * radius, resolution, 3.0), edge_count(FRAC_PI_2 * radius, resolution, 1.0)]
}

/// Number of tetrahedra at a resolution, as a float so that it cannot overflow.
pub(super) fn tetrahedron_count(radius: f64, resolution: f64) -> f64 {
    let [around, to_pole] = divisions(radius, resolution);
    around * (3.0 + 2.0 * (2.0 * to_pole - 1.0))
}

/// The mesh of a capsule around z: ⌈2πR / resolution⌉ edges around (at least 3) and
/// ⌈πR/2 / resolution⌉ from the rim of the cylindrical part, `length` long, to a pole.
pub(super) fn volume_mesh(radius: f64, length: f64, resolution: f64) -> VolumeMesh {
    let [around, to_pole] = divisions(radius, resolution).map(|x| x as usize);
    let mut mesh = Tessellation::default();
    let ends = [-1.0, 1.0].map(|side| mesh.vertex(0.0, 0.0, 0.5 * side * length));
    let mut rims = Vec::with_capacity(2);
    for (side, end) in [-1.0, 1.0].into_iter().zip(ends) {
        let rings: Vec<Vec<u32>> = (0..to_pole)
            .map(|k| {
                let (sin, cos) = (FRAC_PI_2 * k as f64 / to_pole as f64).sin_cos();
                mesh.circle(around, radius * cos, side * (0.5 * length + radius * sin))
            })
            .collect();
        let pole = mesh.vertex(0.0, 0.0, side * (0.5 * length + radius));
        for (i, j) in (0..around).map(|i| (i, (i + 1) % around)) {
            for pair in rings.windows(2) {
                mesh.tetrahedron([end, pair[0][i], pair[0][j], pair[1][j]]);
                mesh.tetrahedron([end, pair[0][i], pair[1][j], pair[1][i]]);
            }
            let last = &rings[to_pole - 1];
            mesh.tetrahedron([end, last[i], last[j], pole]);
        }
        rims.push(rings.into_iter().next().unwrap_or_default());
    }
    for (i, j) in (0..around).map(|i| (i, (i + 1) % around)) {
        mesh.prism([ends[0], rims[0][i], rims[0][j]], [ends[1], rims[1][i], rims[1][j]]);
    }
    mesh.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_as_foretold() {
        for resolution in [0.02, 0.05, 0.4] {
            let mesh = volume_mesh(0.05, 0.12, resolution);
            mesh.validate().unwrap();
            assert_eq!(mesh.tetrahedra.len() as f64, tetrahedron_count(0.05, resolution));
        }
    }
}
