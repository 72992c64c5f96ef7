//! What the tessellations of the primitives have in common.

use nalgebra::Vector3;

use super::mesh::{VolumeMesh, tetrahedron_volume};

/// When the kind of medial axis is chosen, two lengths that differ by less than this fraction of the
/// smaller one count as equal. A shorter medial edge would make tetrahedra as thin as rounding errors.
/// The pressure field is then off by at most this fraction.
pub(super) const MEDIAL_TOLERANCE: f64 = 1e-6;

/// A volume mesh under construction.
#[derive(Default)]
pub(super) struct Tessellation {
    vertices: Vec<Vector3<f64>>,
    tetrahedra: Vec<[u32; 4]>,
}

impl Tessellation {
    /// Adds a vertex and returns its index.
    pub fn vertex(&mut self, x: f64, y: f64, z: f64) -> u32 {
        self.vertices.push(Vector3::new(x, y, z));
        (self.vertices.len() - 1) as u32
    }

    /// Adds `count` vertices evenly spaced on a circle around the z axis, the first on the
    /// half-plane y = 0, x > 0, and returns their indices.
    pub fn circle(&mut self, count: usize, radius: f64, z: f64) -> Vec<u32> {
        let step = std::f64::consts::TAU / count as f64;
        let at = |i: usize| (step * i as f64).sin_cos();
        (0..count).map(|i| self.vertex(radius * at(i).1, radius * at(i).0, z)).collect()
    }

    /// Adds a tetrahedron, whatever the order of its vertices.
    pub fn tetrahedron(&mut self, [a, b, c, d]: [u32; 4]) {
        let corners = [a, b, c, d].map(|v| self.vertices[v as usize]);
        let positive = tetrahedron_volume(&corners) > 0.0;
        self.tetrahedra.push(if positive { [a, b, c, d] } else { [a, b, d, c] });
    }

    /// Adds the prism between the triangles `bottom` and `top`, whose vertices correspond, as
    /// three tetrahedra that all have the vertex `bottom[0]`.
    ///
    /// Of each side, columns i < j, the diagonal from `bottom[i]` to `top[j]` is used, so two
    /// prisms with the same order of columns on a common side fit together.
    pub fn prism(&mut self, bottom: [u32; 3], top: [u32; 3]) {
        self.tetrahedron([bottom[0], bottom[1], bottom[2], top[2]]);
        self.tetrahedron([bottom[0], bottom[1], top[1], top[2]]);
        self.tetrahedron([bottom[0], top[0], top[1], top[2]]);
    }

    pub fn finish(self) -> VolumeMesh {
        VolumeMesh { vertices: self.vertices, tetrahedra: self.tetrahedra }
    }
}

/// Number of edges, as a whole number of at least `least`, that divide a curve into arcs no
/// longer than `resolution`.
pub(super) fn edge_count(curve_length: f64, resolution: f64, least: f64) -> f64 {
    (curve_length / resolution).ceil().max(least)
}
