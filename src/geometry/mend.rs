//! From triangles as files list them to a closed surface that faces outward.

use std::collections::{HashMap, HashSet};

use nalgebra::Vector3;

use super::error::MeshError;
use super::mesh::{SurfaceMesh, drop_unused_vertices};
use super::validate::is_degenerate_triangle;

/// What tells places from others: the bits of the coordinates, with −0 as 0.
pub(super) fn place(vertex: &Vector3<f64>) -> [u64; 3] {
    [vertex.x, vertex.y, vertex.z].map(|x| (x + 0.0).to_bits())
}

/// Has elements that have corners at one place share the first vertex there.
pub(super) fn share_vertices<const N: usize>(vertices: &[Vector3<f64>], elements: &mut [[u32; N]]) {
    let mut first = HashMap::with_capacity(vertices.len());
    for vertex in elements.iter_mut().flatten() {
        *vertex = *first.entry(place(&vertices[*vertex as usize])).or_insert(*vertex);
    }
}

/// The surface that triangles are meant to be, and what was done for it that may not be meant.
///
/// A surface that is closed is kept as it is, but for parts that face inward, which are turned. Else vertices at
/// the same place become one, triangles that come twice are left out, and those without area too, or the edge that
/// crosses them is turned; and triangles that are turned otherwise than their neighbours are turned. What is still
/// not closed then is left so. All indices must be in range.
pub(super) fn mended(mut mesh: SurfaceMesh) -> (SurfaceMesh, Vec<String>) {
    let is_closed = |mesh: &SurfaceMesh| matches!(mesh.validate(), Ok(()) | Err(MeshError::Inward { .. }));
    let mut turned = vec![false; mesh.triangles.len()];
    if !is_closed(&mesh) {
        share_vertices(&mesh.vertices, &mut mesh.triangles);
        mesh.triangles = without_repetitions(&mesh.triangles);
        let mut flat = mesh.clone();
        mesh.triangles.retain(|corners| !is_degenerate_triangle(corners.map(|v| flat.vertices[v as usize])));
        turned = make_consistent(&mut mesh);
        if mesh.triangles.len() < flat.triangles.len() && !is_closed(&mesh) {
            let turned_too = make_consistent(&mut flat);
            turn_edges_of_flat(&mut flat);
            if is_closed(&flat) {
                (mesh, turned) = (flat, turned_too);
            }
        }
    }
    turn_outward(&mut mesh, &mut turned);
    mesh.vertices = drop_unused_vertices(&mesh.vertices, &mut mesh.triangles);
    let (count, all) = (turned.iter().filter(|&&turned| turned).count(), turned.len());
    let note = || format!("{count} of {all} triangles faced inward and are turned round, to face outward");
    (mesh, (count > 0).then(note).into_iter().collect())
}

/// The triangles of three corners, each once. Two that face each other close nothing; where all do, as in files that
/// are drawn from both sides, one of each is kept.
fn without_repetitions(triangles: &[[u32; 3]]) -> Vec<[u32; 3]> {
    let key = |[a, b, c]: [u32; 3]| {
        let mut sorted = [a, b, c];
        sorted.sort_unstable();
        (sorted, sorted == [a, b, c] || sorted == [b, c, a] || sorted == [c, a, b])
    };
    let good = || triangles.iter().filter(|[a, b, c]| a != b && b != c && c != a);
    let ways: HashSet<_> = good().map(|&corners| key(corners)).collect();
    let faces_none = |&&corners: &&[u32; 3]| !ways.contains(&(key(corners).0, !key(corners).1));
    let keep_one = !good().any(|corners| faces_none(&corners));
    let mut seen = HashSet::new();
    good().filter(|t| keep_one || faces_none(t)).filter(|&&t| seen.insert(key(t).0)).copied().collect()
}

/// The pairs of triangles at an edge between which a body lies, where bodies touch in the edge; for each triangle whether
/// it runs along the edge.
fn around_solids(mesh: &SurfaceMesh, edge: [u32; 2], triangles: &[(usize, bool)]) -> Vec<[(usize, bool); 2]> {
    let [from, to] = edge.map(|vertex| mesh.vertices[vertex as usize]);
    let Some(along) = (to - from).try_normalize(0.0) else { return Vec::new() };
    // Directions off the edge, as angles from the first.
    let off = |triangle: usize| {
        let opposite = mesh.triangles[triangle].into_iter().find(|vertex| !edge.contains(vertex));
        let to = opposite.map_or(from, |vertex| mesh.vertices[vertex as usize]) - from;
        to - along * along.dot(&to)
    };
    let first = off(triangles[0].0);
    let mut around: Vec<_> = triangles
        .iter()
        .map(|&(triangle, forward)| {
            let here = off(triangle);
            let angle = along.dot(&first.cross(&here)).atan2(first.dot(&here));
            // Where bodies touch in a face, one ends before the other begins.
            ((1e6 * angle.rem_euclid(std::f64::consts::TAU)).round() as u64, !forward, (triangle, forward))
        })
        .collect();
    around.sort_unstable();
    // A body begins behind a triangle that runs against the edge, for the last of them beyond the first again.
    let (mut open, mut pairs, mut paired) = (Vec::new(), Vec::new(), vec![false; around.len()]);
    for k in (0..around.len()).chain(0..around.len()) {
        let (.., triangle) = around[k];
        match (triangle.1, paired[k]) {
            (_, true) => {}
            (false, false) => open.push(k),
            (true, false) => {
                if let Some(behind) = open.pop() {
                    (paired[behind], paired[k]) = (true, true);
                    pairs.push([around[behind].2, triangle]);
                }
            }
        }
    }
    pairs
}

/// A neighbour of a triangle: which, whether it is turned otherwise, and the edge between them.
type Neighbour = (usize, bool, [u32; 2]);

/// The neighbours of each triangle over its edges.
fn neighbours(mesh: &SurfaceMesh) -> Vec<Vec<Neighbour>> {
    let mut edges = Vec::with_capacity(3 * mesh.triangles.len());
    for (t, &[a, b, c]) in mesh.triangles.iter().enumerate() {
        edges.extend([(a, b), (b, c), (c, a)].map(|(p, q)| ([p.min(q), p.max(q)], t, p < q)));
    }
    edges.sort_unstable();
    let mut neighbours = vec![Vec::new(); mesh.triangles.len()];
    for run in edges.chunk_by(|a, b| a.0 == b.0) {
        let edge = run[0].0;
        let around: Vec<_> = run.iter().map(|&(_, triangle, forward)| (triangle, forward)).collect();
        let pairs = match around[..] {
            [a, b] => vec![[a, b]],
            _ => around_solids(mesh, edge, &around),
        };
        for [a, b] in pairs {
            neighbours[a.0].push((b.0, a.1 == b.1, edge));
            neighbours[b.0].push((a.0, a.1 == b.1, edge));
        }
    }
    neighbours
}

/// For each part of a surface that hangs together by its edges, the triangles, and whether each is turned otherwise than
/// the first.
fn parts(neighbours: &[Vec<Neighbour>]) -> Vec<Vec<(usize, bool)>> {
    let mut seen = vec![false; neighbours.len()];
    let mut parts = Vec::new();
    for first in 0..neighbours.len() {
        if std::mem::replace(&mut seen[first], true) {
            continue;
        }
        let mut part = vec![(first, false)];
        let mut next = 0;
        while let Some(&(triangle, is_turned)) = part.get(next) {
            for &(neighbour, differs, _) in &neighbours[triangle] {
                if !std::mem::replace(&mut seen[neighbour], true) {
                    part.push((neighbour, is_turned != differs));
                }
            }
            next += 1;
        }
        parts.push(part);
    }
    parts
}

/// Turns triangles as the most of their part are, and gives triangles around a vertex that hang together there a vertex
/// of their own; tells which were turned.
fn make_consistent(mesh: &mut SurfaceMesh) -> Vec<bool> {
    let neighbours = neighbours(mesh);
    let mut turned = vec![false; mesh.triangles.len()];
    for part in parts(&neighbours) {
        let most = 2 * part.iter().filter(|(_, is_turned)| *is_turned).count() > part.len();
        for (triangle, _) in part.into_iter().filter(|(_, is_turned)| *is_turned != most) {
            turned[triangle] = true;
            mesh.triangles[triangle].swap(1, 2);
        }
    }
    let listed = mesh.triangles.clone();
    let mut seen = vec![[false; 3]; listed.len()];
    let mut used = vec![false; mesh.vertices.len()];
    for (first, k) in (0..listed.len()).flat_map(|t| (0..3).map(move |k| (t, k))) {
        let vertex = listed[first][k];
        let mut own = vertex;
        if !seen[first][k] && std::mem::replace(&mut used[vertex as usize], true) {
            own = mesh.vertices.len() as u32;
            mesh.vertices.push(mesh.vertices[vertex as usize]);
        }
        let mut around = vec![first];
        while let Some(triangle) = around.pop() {
            let Some(k) = listed[triangle].iter().position(|&corner| corner == vertex) else { continue };
            if !std::mem::replace(&mut seen[triangle][k], true) {
                mesh.triangles[triangle][k] = own;
                let there = neighbours[triangle].iter().filter(|(.., edge)| edge.contains(&vertex));
                around.extend(there.map(|&(neighbour, ..)| neighbour));
            }
        }
    }
    turned
}

/// Turns the longest edge of each triangle without area, so that both triangles there have one.
fn turn_edges_of_flat(mesh: &mut SurfaceMesh) {
    let corners_from = |[a, b, c]: [u32; 3], from: u32| match from {
        _ if from == a => [a, b, c],
        _ if from == b => [b, c, a],
        _ => [c, a, b],
    };
    let mut edges = HashMap::new();
    for (t, &[a, b, c]) in mesh.triangles.iter().enumerate() {
        edges.extend([(a, b), (b, c), (c, a)].map(|edge| (edge, t)));
    }
    let mut flat: Vec<usize> =
        (0..mesh.triangles.len()).filter(|&t| is_degenerate_triangle(mesh.corners(t))).collect();
    for _ in 0..8 * flat.len() {
        let Some(t) = flat.pop() else { break };
        let [a, b, c] = mesh.triangles[t];
        let length = |p: u32, q: u32| (mesh.vertices[p as usize] - mesh.vertices[q as usize]).norm();
        let edges_of_it = [[a, b, c], [b, c, a], [c, a, b]];
        let longest =
            edges_of_it.into_iter().max_by(|x, y| length(x[0], x[1]).total_cmp(&length(y[0], y[1])));
        let [u, v, w] = longest.unwrap_or([a, b, c]);
        let Some(&other) = edges.get(&(v, u)) else { continue };
        let [_, _, x] = corners_from(mesh.triangles[other], v);
        if x == w {
            continue;
        }
        (mesh.triangles[t], mesh.triangles[other]) = ([w, u, x], [x, v, w]);
        edges.extend([((w, u), t), ((u, x), t), ((x, w), t)]);
        edges.extend([((x, v), other), ((v, w), other), ((w, x), other)]);
        flat.extend([t, other].into_iter().filter(|&t| is_degenerate_triangle(mesh.corners(t))));
    }
}

/// Places of a part that are looked at, whether they are in others.
const PLACES: usize = 12;

/// Turns the parts that face inward, but for hollows in others.
fn turn_outward(mesh: &mut SurfaceMesh, turned: &mut [bool]) {
    let parts: Vec<Vec<usize>> =
        parts(&neighbours(mesh)).into_iter().map(|part| part.into_iter().map(|(t, _)| t).collect()).collect();
    let reference = mesh.vertices.first().copied().unwrap_or_default();
    let volume = |mesh: &SurfaceMesh, part: &[usize]| -> f64 {
        let six = part.iter().map(|&t| {
            let [a, b, c] = mesh.corners(t).map(|corner| corner - reference);
            a.cross(&b).dot(&c)
        });
        six.sum()
    };
    let turn = |mesh: &mut SurfaceMesh, turned: &mut [bool], part: &[usize]| {
        for &t in part {
            mesh.triangles[t].swap(1, 2);
            turned[t] = !turned[t];
        }
    };
    if parts.iter().map(|part| volume(mesh, part)).sum::<f64>() < 0.0 {
        parts.iter().for_each(|part| turn(mesh, turned, part));
    }
    let total: f64 = parts.iter().map(|part| volume(mesh, part)).sum();
    for (i, part) in parts.iter().enumerate() {
        if parts.len() == 1 || volume(mesh, part) > -1e-12 * total {
            continue;
        }
        // Parts may touch, so that one place is not enough.
        let places: Vec<Vector3<f64>> = part
            .iter()
            .step_by(part.len().div_ceil(PLACES))
            .map(|&t| mesh.corners(t).iter().sum::<Vector3<f64>>() / 3.0)
            .collect();
        let others = parts.iter().enumerate().filter(|(j, _)| *j != i).flat_map(|(_, other)| other);
        let seen = others.flat_map(|&t| places.iter().map(move |at| (t, at)));
        let around: f64 = seen.map(|(t, at)| solid_angle(mesh.corners(t).map(|corner| corner - at))).sum();
        if around < std::f64::consts::TAU * places.len() as f64 {
            turn(mesh, turned, part);
        }
    }
}

/// The solid angle of a triangle seen from the origin, positive from behind (Van Oosterom and Strackee 1983).
pub(super) fn solid_angle([a, b, c]: [Vector3<f64>; 3]) -> f64 {
    let [p, q, r] = [a.norm(), b.norm(), c.norm()];
    let below = p * q * r + a.dot(&b) * r + b.dot(&c) * p + c.dot(&a) * q;
    2.0 * a.dot(&b.cross(&c)).atan2(below)
}
