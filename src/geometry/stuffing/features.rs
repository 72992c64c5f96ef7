//! Vertices of a filled surface moved: to its sharp edges and corners, out where it is curved, and to where it is deepest.

use std::collections::BTreeSet;

use nalgebra::{Matrix3, Vector3};

use super::measure::dihedral_angles;
use super::splits::{LEAST_GAIN, Split};
use super::surface::Stuffed;
use crate::geometry::boundary::boundary_faces;
use crate::geometry::mesh::{SurfaceMesh, tetrahedron_volume};
use crate::geometry::surface_distance::{SurfaceDistance, closest_point_on_triangle};

/// Normals with a smaller cosine between them are those of two faces that meet in a sharp edge.
pub(super) const SMOOTH: f64 = 0.9;
/// How far a vertex may be moved, as a part of the lattice's size.
const FARTHEST: f64 = 1.0;
/// How far beside the surface the place of an edge or corner may come out, as a part of the lattice's size.
pub(super) const OFF: f64 = 0.02;
/// How far an edge that is cut off may lie from the middle of what cuts it off, as a part of the lattice's size, ...
const FARTHEST_CUT_OFF: f64 = 2.5;
/// ... and how far beside the surface, as a curved edge does, before it is moved there.
const OFF_CURVED: f64 = 0.1;
/// Planes whose normals' products sum to less than this in a direction say nothing of it.
const LEAST_EIGENVALUE: f64 = 0.05;
/// The dihedral angles that a move may leave, degrees.
const ANGLES: [f64; 2] = [10.0, 160.0];
/// The least cosine between a face and the surface at its middle where the surface is curved and not sharp.
const NEARLY_FLAT: f64 = 0.9;
/// Vertices that are moved to where they are deeper.
const DEEPEST: usize = 4;
/// The smallest step of that, as a part of the lattice's size.
const SMALLEST_STEP: f64 = 1e-3;
/// How much deeper a step must lead, as a part of its length.
const LEAST_DEEPENING: f64 = 0.01;

/// What stays as vertices move.
pub(super) struct Topology {
    /// The faces of the boundary.
    pub faces: Vec<[u32; 3]>,
    /// The tetrahedra of each vertex.
    pub around: Vec<Vec<usize>>,
}

/// Where a vertex may be moved.
struct Move {
    vertex: usize,
    to: Vector3<f64>,
    is_corner: bool,
    length: f64,
}

/// Moves vertices of the boundary that are near a sharp edge or corner of the surface there, where that leaves tetrahedra
/// of good shape: the lattice cuts such edges off.
///
/// The place is the point nearest to the planes of the triangles that the vertex and its neighbours lie on, as in dual
/// contouring (Ju et al. 2002). Where the surface is curved rather than sharp, it is not on the surface, and is left out.
pub(super) fn sharpen(
    stuffed: &mut Stuffed,
    Topology { faces, around }: &Topology,
    surface: &SurfaceMesh,
    tree: &SurfaceDistance,
    size: f64,
) {
    let count = stuffed.vertices.len();
    let mut beside = vec![BTreeSet::new(); count];
    for face in faces {
        for k in 0..3 {
            beside[face[k] as usize].extend([face[(k + 1) % 3], face[(k + 2) % 3]]);
        }
    }
    let mut moves: Vec<Move> = (0..count)
        .filter(|&vertex| !beside[vertex].is_empty())
        .filter_map(|vertex| place(stuffed, surface, tree, size, vertex, &beside))
        .collect();
    moves.sort_by(|a, b| b.is_corner.cmp(&a.is_corner).then(a.length.total_cmp(&b.length)));
    for Move { vertex, to, .. } in moves {
        move_to(stuffed, &around[vertex], vertex, to);
    }
}

/// The points on sharp edges for edges of the boundary that cut them off: from one face to another with no vertex on the edge
/// between.
pub(super) fn cut_off(
    stuffed: &Stuffed,
    Topology { faces, .. }: &Topology,
    surface: &SurfaceMesh,
    tree: &SurfaceDistance,
    size: f64,
) -> Vec<Split> {
    let sides = faces.iter().flat_map(|&[a, b, c]| [[a, b], [b, c], [c, a]]);
    let point = |edge: [u32; 2]| {
        let [first, second] = edge.map(|v| stuffed.on[v as usize]);
        let normals = [first?, second?].map(|triangle| {
            let [a, b, c] = surface.corners(triangle);
            (b - a).cross(&(c - a)).try_normalize(0.0)
        });
        let normals = [normals[0]?, normals[1]?];
        let [from, to] = edge.map(|v| stuffed.vertices[v as usize]);
        // How far each end is from the plane of the other.
        let [here, there] = [normals[1].dot(&(from - to)), normals[0].dot(&(to - from))];
        if normals[0].dot(&normals[1]) > SMOOTH || here.abs().min(there.abs()) < LEAST_GAIN * size {
            return None;
        }
        let part = here.abs() / (here.abs() + there.abs());
        let middle = from + (to - from) * part;
        let planes = [(normals[0], -there * part), (normals[1], -here * (1.0 - part))];
        let (way, _) = meeting(&planes, OFF * size)?;
        let (distance, triangle) = tree.nearest(&(middle + way))?;
        if distance > OFF_CURVED * size || way.norm() > FARTHEST_CUT_OFF * size {
            return None;
        }
        let at = closest_point_on_triangle(&(middle + way), &surface.corners(triangle)).position;
        Some(Split { edge, at, on: Some(triangle), gain: (at - middle).norm() })
    };
    // Each is a side of two faces, once in each order.
    sides.filter(|[a, b]| a < b).filter_map(point).collect()
}

/// Moves vertices of the boundary where the surface is curved, so that the faces between them are not all on its inner side: by
/// what the middles of the faces around are off, less a quarter, as the volume asks for. Vertices with a face across a sharp edge
/// stay.
pub(super) fn round(
    stuffed: &mut Stuffed,
    Topology { faces, around }: &Topology,
    surface: &SurfaceMesh,
    tree: &SurfaceDistance,
) {
    let count = stuffed.vertices.len();
    let (mut normals, mut off) = (vec![Vector3::zeros(); count], vec![(0.0, 0.0); count]);
    for &face in faces {
        let [a, b, c] = face.map(|v| stuffed.vertices[v as usize]);
        let (normal, middle) = ((b - a).cross(&(c - a)), (a + b + c) / 3.0);
        let (area, nearest) = (normal.norm(), tree.nearest(&middle));
        let Some((_, triangle)) = nearest.filter(|_| area > 0.0) else { continue };
        let corners = surface.corners(triangle);
        let there = (corners[1] - corners[0]).cross(&(corners[2] - corners[0]));
        let is_smooth = there.dot(&normal) > NEARLY_FLAT * there.norm() * area;
        let gap = (closest_point_on_triangle(&middle, &corners).position - middle).dot(&normal) / area;
        for v in face {
            let (sum, weight) = &mut off[v as usize];
            *sum += if is_smooth { gap * area } else { f64::NAN };
            *weight += area;
            normals[v as usize] += normal;
        }
    }
    for vertex in 0..count {
        let (sum, weight) = off[vertex];
        if let Some(normal) = normals[vertex].try_normalize(0.0).filter(|_| sum.is_finite() && sum != 0.0) {
            let to = stuffed.vertices[vertex] + normal * (0.75 * sum / weight);
            move_to(stuffed, &around[vertex], vertex, to);
        }
    }
}

/// Moves the vertices that lie deepest to where they are deeper, as far as that leaves tetrahedra of good shape: extents are
/// relative to the largest distance to the boundary, and that should not hang on where the lattice has a point.
pub(super) fn deepen(
    stuffed: &mut Stuffed,
    Topology { around, .. }: &Topology,
    boundary: &SurfaceDistance,
    size: f64,
) {
    let is_inside = |&vertex: &usize| stuffed.on[vertex].is_none() && !around[vertex].is_empty();
    let depth = |vertex: usize| (boundary.distance(&stuffed.vertices[vertex]), vertex);
    let mut depths: Vec<(f64, usize)> = (0..stuffed.vertices.len()).filter(is_inside).map(depth).collect();
    depths.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    for (mut depth, vertex) in depths.into_iter().take(DEEPEST) {
        let mut step = size / 4.0;
        while step > SMALLEST_STEP * size {
            let from = stuffed.vertices[vertex];
            let ways =
                (0..27).map(|k| Vector3::new(k % 3, k / 3 % 3, k / 9).map(|i| step * (f64::from(i) - 1.0)));
            let deeper = ways
                .map(|way| (boundary.distance(&(from + way)), from + way))
                .filter(|way| way.0 > depth + LEAST_DEEPENING * step);
            match deeper.max_by(|a, b| a.0.total_cmp(&b.0)) {
                Some((new, to)) if move_to(stuffed, &around[vertex], vertex, to) => depth = new,
                _ => step /= 2.0,
            }
        }
    }
}

impl Topology {
    pub fn of(stuffed: &Stuffed) -> Self {
        let mut around = vec![Vec::new(); stuffed.vertices.len()];
        for (number, corners) in stuffed.tetrahedra.iter().enumerate() {
            corners.iter().for_each(|&vertex| around[vertex as usize].push(number));
        }
        Self { faces: boundary_faces(&stuffed.tetrahedra), around }
    }
}

/// Moves a vertex unless that would leave one of its tetrahedra without good shape; whether it was moved.
pub(super) fn move_to(stuffed: &mut Stuffed, around: &[usize], vertex: usize, to: Vector3<f64>) -> bool {
    let from = std::mem::replace(&mut stuffed.vertices[vertex], to);
    let moved = around.iter().all(|&tetrahedron| is_good(stuffed, stuffed.tetrahedra[tetrahedron]));
    if !moved {
        stuffed.vertices[vertex] = from;
    }
    moved
}

/// Whether a tetrahedron has good shape.
pub(super) fn is_good(stuffed: &Stuffed, tetrahedron: [u32; 4]) -> bool {
    let corners = tetrahedron.map(|v| stuffed.vertices[v as usize]);
    let [least, most] = dihedral_angles(&corners).map(f64::to_degrees);
    tetrahedron_volume(&corners) > 0.0 && least >= ANGLES[0] && most <= ANGLES[1]
}

/// The sharp edge or corner near a vertex, if there is one.
fn place(
    stuffed: &Stuffed,
    surface: &SurfaceMesh,
    tree: &SurfaceDistance,
    size: f64,
    vertex: usize,
    beside: &[BTreeSet<u32>],
) -> Option<Move> {
    let at = stuffed.vertices[vertex];
    let near: BTreeSet<u32> = beside[vertex].iter().flat_map(|&v| &beside[v as usize]).copied().collect();
    let mut near: Vec<(f64, usize)> =
        near.iter().map(|&v| ((stuffed.vertices[v as usize] - at).norm(), v as usize)).collect();
    near.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let mut planes: Vec<(Vector3<f64>, f64)> = Vec::new();
    for (_, v) in near {
        let Some(triangle) = stuffed.on[v] else { continue };
        let [a, b, c] = surface.corners(triangle);
        let Some(normal) = (b - a).cross(&(c - a)).try_normalize(0.0) else { continue };
        if planes.iter().all(|(other, _)| other.dot(&normal) < SMOOTH) {
            planes.push((normal, normal.dot(&(a - at))));
        }
    }
    // Planes farther away may be those of another edge.
    (2..=planes.len()).rev().find_map(|count| {
        let (to, is_corner) = meeting(&planes[..count], OFF * size)?;
        let length = to.norm();
        let (distance, triangle) = tree.nearest(&(at + to))?;
        if length > FARTHEST * size || distance > OFF * size {
            return None;
        }
        let to = closest_point_on_triangle(&(at + to), &surface.corners(triangle)).position;
        Some(Move { vertex, to, is_corner, length })
    })
}

/// The point nearest to the origin where planes, of unit normals and offsets, meet, and whether they meet nowhere else; none if
/// it is farther from one of them than `off`.
pub(super) fn meeting(planes: &[(Vector3<f64>, f64)], off: f64) -> Option<(Vector3<f64>, bool)> {
    let matrix: Matrix3<f64> = planes.iter().map(|(normal, _)| normal * normal.transpose()).sum();
    let right: Vector3<f64> = planes.iter().map(|(normal, offset)| normal * *offset).sum();
    let eigen = matrix.symmetric_eigen();
    let (mut point, mut rank) = (Vector3::zeros(), 0);
    for (value, direction) in eigen.eigenvalues.iter().zip(eigen.eigenvectors.column_iter()) {
        if *value > LEAST_EIGENVALUE {
            rank += 1;
            point += direction * (direction.dot(&right) / value);
        }
    }
    let fits = |(normal, offset): &(Vector3<f64>, f64)| (normal.dot(&point) - offset).abs() <= off;
    planes.iter().all(fits).then_some((point, rank == 3))
}
