//! Test meshes: a grid of cubes, each cut into the six tetrahedra of Kuhn.

use crate::geometry::VolumeMesh;
use nalgebra::Vector3;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The unit cube in `cells` cells along each axis, six tetrahedra a cell. Each interior vertex is
/// moved by up to `jitter` cell widths along each axis; up to 0.1 no tetrahedron turns over.
pub(crate) fn kuhn_grid(cells: [usize; 3], jitter: f64, seed: u64) -> VolumeMesh {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let index = |p: [usize; 3]| ((p[2] * (cells[1] + 1) + p[1]) * (cells[0] + 1) + p[0]) as u32;
    let mut vertices = Vec::new();
    for z in 0..=cells[2] {
        for y in 0..=cells[1] {
            for x in 0..=cells[0] {
                let p = [x, y, z];
                let interior = (0..3).all(|i| p[i] > 0 && p[i] < cells[i]);
                vertices.push(Vector3::from_fn(|i, _| {
                    let move_by = random.random_range(-1.0..1.0) * jitter;
                    (p[i] as f64 + if interior { move_by } else { 0.0 }) / cells[i] as f64
                }));
            }
        }
    }
    let mut tetrahedra = Vec::new();
    for z in 0..cells[2] {
        for y in 0..cells[1] {
            for x in 0..cells[0] {
                // One tetrahedron for each order in which the axes are walked.
                for (axes, even) in [
                    ([0, 1, 2], true),
                    ([1, 2, 0], true),
                    ([2, 0, 1], true),
                    ([1, 0, 2], false),
                    ([0, 2, 1], false),
                    ([2, 1, 0], false),
                ] {
                    let mut p = [x, y, z];
                    let mut tetrahedron = [index(p); 4];
                    for (i, axis) in axes.into_iter().enumerate() {
                        p[axis] += 1;
                        tetrahedron[i + 1] = index(p);
                    }
                    if !even {
                        tetrahedron.swap(2, 3);
                    }
                    tetrahedra.push(tetrahedron);
                }
            }
        }
    }
    VolumeMesh { vertices, tetrahedra }
}

/// The unit ball: concentric cubes of `layers` layers, each blown up to a sphere. Every vertex of
/// layer i has the radius i / layers. The octants mirror each other, so that no tetrahedron has
/// corners on two sides of a cube.
pub(crate) fn kuhn_ball(layers: usize) -> VolumeMesh {
    let octant = kuhn_grid([layers; 3], 0.0, 0);
    let n = layers as i64;
    let width = 2 * n + 1;
    let mut mesh = VolumeMesh { vertices: Vec::new(), tetrahedra: Vec::new() };
    for z in -n..=n {
        for y in -n..=n {
            for x in -n..=n {
                let p = Vector3::new(x as f64, y as f64, z as f64);
                let radius = p.amax() / n as f64;
                mesh.vertices.push(p.try_normalize(0.0).unwrap_or_default() * radius);
            }
        }
    }
    for signs in 0..8 {
        let sign = |axis: i64| if signs >> axis & 1 == 0 { 1 } else { -1 };
        for tetrahedron in &octant.tetrahedra {
            let mut mirrored = tetrahedron.map(|v| {
                let v = i64::from(v);
                let (x, y, z) = (v % (n + 1), v / (n + 1) % (n + 1), v / (n + 1).pow(2));
                (((sign(2) * z + n) * width + sign(1) * y + n) * width + sign(0) * x + n) as u32
            });
            if sign(0) * sign(1) * sign(2) < 0 {
                mirrored.swap(0, 1);
            }
            mesh.tetrahedra.push(mirrored);
        }
    }
    mesh
}
