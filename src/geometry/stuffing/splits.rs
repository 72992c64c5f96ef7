//! Edges of tetrahedra split in two.

use nalgebra::Vector3;

use super::features::{Topology, is_good};
use super::surface::Stuffed;

/// Edges are split where that changes the boundary or the distance to it by this part of the lattice's size.
pub(super) const LEAST_GAIN: f64 = 0.03;

/// A point to split an edge at.
pub(super) struct Split {
    /// The vertices at the edge's ends.
    pub edge: [u32; 2],
    /// The new vertex.
    pub at: Vector3<f64>,
    /// The triangle that it lies on; none inside.
    pub on: Option<usize>,
    /// By how much it changes the boundary or the distance to it, m.
    pub gain: f64,
}

/// The edges of tetrahedra that a test holds for, once each.
pub(super) fn edges(tetrahedra: &[[u32; 4]], test: impl Fn(&[u32; 2]) -> bool) -> Vec<[u32; 2]> {
    let ends = [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]];
    let of_one = |corners: &[u32; 4]| ends.map(|ends| ends.map(|k: usize| corners[k]));
    let sorted = tetrahedra.iter().flat_map(of_one).map(|[a, b]| [a.min(b), a.max(b)]);
    let mut edges: Vec<[u32; 2]> = sorted.filter(test).collect();
    edges.sort_unstable();
    edges.dedup();
    edges
}

/// Splits edges, those with the largest gain first, where that leaves tetrahedra of good shape; of each tetrahedron one at most.
pub(super) fn split(
    stuffed: &mut Stuffed,
    Topology { around, .. }: &Topology,
    mut splits: Vec<Split>,
    size: f64,
) {
    splits.retain(|split| split.gain > LEAST_GAIN * size);
    splits.sort_by(|a, b| b.gain.total_cmp(&a.gain).then(a.edge.cmp(&b.edge)));
    let mut changed = vec![false; stuffed.tetrahedra.len()];
    for Split { edge: [a, b], at, on, .. } in splits {
        let both = |t: &&usize| around[b as usize].contains(t);
        let those: Vec<usize> = around[a as usize].iter().filter(both).copied().collect();
        if those.iter().any(|&t| changed[t]) {
            continue;
        }
        let middle = stuffed.vertices.len() as u32;
        stuffed.vertices.push(at);
        let without = |t: usize, end: u32| stuffed.tetrahedra[t].map(|v| if v == end { middle } else { v });
        let halves: Vec<[[u32; 4]; 2]> = those.iter().map(|&t| [b, a].map(|end| without(t, end))).collect();
        if !halves.iter().flatten().all(|&half| is_good(stuffed, half)) {
            stuffed.vertices.pop();
            continue;
        }
        stuffed.on.push(on);
        for (t, [first, second]) in those.into_iter().zip(halves) {
            changed[t] = true;
            stuffed.tetrahedra[t] = first;
            stuffed.tetrahedra.push(second);
        }
    }
}
