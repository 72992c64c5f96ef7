//! Holes of a surface, and what closes them.

use std::collections::{BTreeMap, HashMap};

use nalgebra::Vector3;

use super::mend::share_vertices;
use super::mesh::SurfaceMesh;

/// Holes smaller than this part of the area of a surface are gaps between triangles that meet but for rounding.
const GAP: f64 = 1e-6;

/// What was open in a surface.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Holes {
    pub count: usize,
    /// The sum of their areas as a part of the area of the surface.
    pub area: f64,
}

/// The surface with a fan of triangles over each hole, around the mean of its rim. Each edge is run through as often in one
/// direction as in the other then, so that the winding number is whole everywhere off the triangles. All indices must be in
/// range.
///
/// The area of a hole is that of its rim's vector area: rims that come back on the same way have none, as where an edge of
/// one triangle lies along those of two others.
pub(super) fn closed(surface: &SurfaceMesh) -> (SurfaceMesh, Holes) {
    let mut mesh = surface.clone();
    share_vertices(&mesh.vertices, &mut mesh.triangles);
    let mut edges: BTreeMap<[u32; 2], i32> = BTreeMap::new();
    for &[a, b, c] in &mesh.triangles {
        for [from, to] in [[a, b], [b, c], [c, a]] {
            let (edge, sign) = if from < to { ([from, to], 1) } else { ([to, from], -1) };
            *edges.entry(edge).or_default() += sign;
        }
    }
    edges.retain(|[from, to], runs| *runs != 0 && from != to);
    // Rims: what hangs together, by its least vertex.
    let mut rim: HashMap<u32, u32> = edges.keys().flatten().map(|&vertex| (vertex, vertex)).collect();
    fn least(rim: &HashMap<u32, u32>, mut vertex: u32) -> u32 {
        while rim[&vertex] != vertex {
            vertex = rim[&vertex];
        }
        vertex
    }
    for &[from, to] in edges.keys() {
        let (a, b) = (least(&rim, from), least(&rim, to));
        rim.insert(a.max(b), a.min(b));
    }
    let mut rims: BTreeMap<u32, Vec<([u32; 2], i32)>> = BTreeMap::new();
    for (edge, runs) in edges {
        rims.entry(least(&rim, edge[0])).or_default().push((edge, runs));
    }
    let whole: f64 = (0..surface.triangles.len()).map(|t| area(surface.corners(t)).norm()).sum();
    let mut holes = Holes::default();
    for edges in rims.values() {
        let ends = edges.iter().flat_map(|(edge, _)| edge.map(|v| mesh.vertices[v as usize]));
        let middle = ends.sum::<Vector3<f64>>() / (2 * edges.len()) as f64;
        let apex = mesh.vertices.len() as u32;
        mesh.vertices.push(middle);
        let mut hole = Vector3::zeros();
        for &([from, to], runs) in edges {
            let triangle = if runs > 0 { [to, from, apex] } else { [from, to, apex] };
            for _ in 0..runs.abs() {
                hole += area(triangle.map(|v| mesh.vertices[v as usize]));
                mesh.triangles.push(triangle);
            }
        }
        if hole.norm() > GAP * whole {
            holes.count += 1;
            holes.area += hole.norm() / whole;
        }
    }
    (mesh, holes)
}

/// The area vector of a triangle, m²: along its normal.
pub(super) fn area([a, b, c]: [Vector3<f64>; 3]) -> Vector3<f64> {
    (b - a).cross(&(c - a)) / 2.0
}
