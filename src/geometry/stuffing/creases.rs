//! The creases of the distance to the boundary, where it is equally far in several directions: vertices moved and edges split
//! there.
//!
//! In a tetrahedron the distance is taken as linear. Across a crease it then comes out too small, and the body too soft.

use std::collections::BTreeSet;

use nalgebra::Vector3;

use super::features::{OFF, SMOOTH, Topology, meeting, move_to};
use super::splits::{LEAST_GAIN, Split, edges};
use super::surface::Stuffed;
use crate::geometry::mesh::SurfaceMesh;
use crate::geometry::surface_distance::SurfaceDistance;
use crate::parallel::in_parallel;

/// How far a vertex may be moved, as a part of the lattice's size.
const FARTHEST: f64 = 0.45;
/// How deep edges are split, as a part of the lattice's size: bodies that touch lightly meet no deeper.
const DEEPEST: f64 = 1.5;

/// The distance of a vertex to the boundary, and the direction in which it grows.
type Slope = (f64, Vector3<f64>);

/// The slope at each vertex that is used.
fn slopes(
    stuffed: &Stuffed,
    around: &[Vec<usize>],
    surface: &SurfaceMesh,
    tree: &SurfaceDistance,
) -> Vec<Option<Slope>> {
    let slope = |vertex: usize| {
        if let Some(triangle) = stuffed.on[vertex] {
            let [a, b, c] = surface.corners(triangle);
            return Some((0.0, (c - a).cross(&(b - a)).try_normalize(0.0)?));
        }
        let way = stuffed.vertices[vertex] - tree.nearest_point(&stuffed.vertices[vertex]);
        Some((way.norm(), way.try_normalize(0.0)?))
    };
    let of_some = |vertices: &[usize]| {
        let of_one = |&vertex: &usize| if around[vertex].is_empty() { None } else { slope(vertex) };
        vertices.iter().map(of_one).collect::<Vec<_>>()
    };
    let vertices: Vec<usize> = (0..around.len()).collect();
    in_parallel(vertices.chunks(256), of_some).into_iter().flatten().collect()
}

/// Moves vertices inside that are near a crease there, where that leaves tetrahedra of good shape.
pub(super) fn to_creases(
    stuffed: &mut Stuffed,
    Topology { around, .. }: &Topology,
    surface: &SurfaceMesh,
    tree: &SurfaceDistance,
    size: f64,
) {
    let slopes = slopes(stuffed, around, surface, tree);
    let mut moves: Vec<(f64, usize, Vector3<f64>)> = Vec::new();
    for vertex in (0..around.len()).filter(|&vertex| stuffed.on[vertex].is_none()) {
        let (at, Some((least, first))) = (stuffed.vertices[vertex], slopes[vertex]) else { continue };
        let beside: BTreeSet<u32> = around[vertex].iter().flat_map(|&t| stuffed.tetrahedra[t]).collect();
        // What the distance would be here if it went on as at each neighbour.
        let mut others: Vec<Slope> = beside
            .into_iter()
            .filter_map(|v| {
                let (distance, away) = slopes[v as usize]?;
                Some((distance + away.dot(&(at - stuffed.vertices[v as usize])), away))
            })
            .collect();
        others.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut apart = vec![first];
        let mut planes: Vec<(Vector3<f64>, f64)> = Vec::new();
        for (distance, away) in others {
            if apart.iter().all(|other| other.dot(&away) < SMOOTH) {
                apart.push(away);
                let across = first - away;
                planes.push((across.normalize(), (distance - least) / across.norm()));
            }
        }
        let to = (1..=planes.len().min(3)).rev().find_map(|count| {
            let (to, _) = meeting(&planes[..count], OFF * size)?;
            let off = tree.distance(&(at + to)) - (least + first.dot(&to));
            (to.norm() < FARTHEST * size && off.abs() < OFF * size).then_some(to)
        });
        moves.extend(to.map(|to| (to.norm(), vertex, at + to)));
    }
    moves.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    for (_, vertex, to) in moves {
        move_to(stuffed, &around[vertex], vertex, to);
    }
}

/// The points where edges cross a crease near the boundary.
pub(super) fn crossings(
    stuffed: &Stuffed,
    Topology { around, .. }: &Topology,
    surface: &SurfaceMesh,
    tree: &SurfaceDistance,
    size: f64,
) -> Vec<Split> {
    let slopes = slopes(stuffed, around, surface, tree);
    // How much larger the distance that goes on from the other end is at each end.
    let larger = |[a, b]: [u32; 2]| {
        let ((first, away), (second, back)) = (slopes[a as usize]?, slopes[b as usize]?);
        let along = stuffed.vertices[b as usize] - stuffed.vertices[a as usize];
        let [here, there] = [second - back.dot(&along) - first, first + away.dot(&along) - second];
        let crosses = away.dot(&back) <= SMOOTH && here.min(there) >= LEAST_GAIN * size;
        crosses.then_some([here, there])
    };
    let crossing = |edge: [u32; 2]| {
        let [here, there] = larger(edge)?;
        let part = here / (here + there);
        let [from, to] = edge.map(|v| stuffed.vertices[v as usize]);
        let [first, second] = edge.map(|v| slopes[v as usize].map_or(0.0, |slope| slope.0));
        let at = from + (to - from) * part;
        let distance = tree.distance(&at);
        let gain = distance - (first + (second - first) * part);
        (distance < DEEPEST * size).then_some(Split { edge, at, on: None, gain })
    };
    let edges = edges(&stuffed.tetrahedra, |&edge| larger(edge).is_some());
    edges.into_iter().filter_map(crossing).collect()
}
