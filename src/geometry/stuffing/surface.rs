//! From a lattice and a closed surface to tetrahedra.

use std::collections::HashMap;

use nalgebra::Vector3;

use super::lattice::Lattice;
use super::stencils::{self, Corners};
use crate::geometry::surface_distance::SurfaceDistance;
use crate::geometry::validate::orientation;
use crate::geometry::winding::Winding;
use crate::parallel::in_parallel;

/// Cuts nearer to a point than these parts of a short and of a long edge have the point moved to them: the best for uniform
/// sizes (Labelle and Shewchuk 2007, table 1), with which all dihedral angles are between 10.7° and 164.8°.
const NEAR: [f64; 2] = [0.41189, 0.24999];
/// Steps of a search for a cut along an edge where triangles tell none, as in a hole.
const BISECTIONS: usize = 20;
/// A point on a triangle is looked at this part of an edge beside, so that its winding number is not between.
const BESIDE: Vector3<f64> = Vector3::new(3.1e-7, 1.7e-7, 2.3e-7);
/// Points in a row that are looked at together.
const ROW: usize = 8;
/// How far the crossings along an edge may be from the difference of the winding numbers of its ends.
const OFF: f64 = 0.4;

/// Tetrahedra whose boundary lies on a surface.
pub(super) struct Stuffed {
    pub vertices: Vec<Vector3<f64>>,
    pub tetrahedra: Vec<[u32; 4]>,
    /// For each vertex the triangle that it lies on; none inside.
    pub on: Vec<Option<usize>>,
}

/// Where the surface cuts an edge.
#[derive(Clone, Copy)]
struct Cut {
    position: Vector3<f64>,
    /// The part of the edge before it, from the inside.
    along: f64,
    triangle: Option<usize>,
}

/// What is known of the lattice while tetrahedra are made.
struct State<'a> {
    lattice: &'a Lattice,
    sides: Vec<i8>,
    cuts: HashMap<[u32; 2], u32>,
    vertices: Vec<Vector3<f64>>,
}

impl Corners for State<'_> {
    fn side(&self, point: u32) -> i8 {
        self.sides[point as usize]
    }

    fn cut(&self, inside: u32, outside: u32) -> u32 {
        // Every edge from inside to outside has one.
        self.cuts.get(&[inside, outside]).copied().unwrap_or(inside)
    }

    fn comes_first(&self, a: u32, b: u32, outside: u32) -> bool {
        match self.lattice.is_long([a, b]) {
            true => self.lattice.is_even(a),
            false => !self.lattice.is_long([a, outside]),
        }
    }

    fn is_shorter(&self, first: [u32; 2], second: [u32; 2]) -> bool {
        let length =
            |[a, b]: [u32; 2]| (self.vertices[a as usize] - self.vertices[b as usize]).norm_squared();
        (length(first), first) < (length(second), second)
    }
}

/// The winding numbers of all points of a lattice: those of a few in a row that no triangle comes near are the same.
fn winding_numbers(tree: &SurfaceDistance, winding: &Winding, lattice: &Lattice) -> Vec<f64> {
    let beside = BESIDE * lattice.size();
    let places: Vec<Vector3<f64>> =
        (0..lattice.len() as u32).map(|point| lattice.place(point) + beside).collect();
    let of_row = |row: &[Vector3<f64>]| {
        let [first, last] = [row[0], row[row.len() - 1]];
        let (middle, radius) = ((first + last) / 2.0, (last - first).norm() * (0.5 + 1e-9));
        match row.iter().all(|place| (place - middle).norm() <= radius) && tree.distance(&middle) > radius {
            true => vec![winding.number(&middle); row.len()],
            false => row.iter().map(|place| winding.number(place)).collect(),
        }
    };
    let of_rows = |rows: &[Vector3<f64>]| rows.chunks(ROW).flat_map(of_row).collect::<Vec<f64>>();
    in_parallel(places.chunks(64 * ROW), of_rows).into_iter().flatten().collect()
}

/// Where the surface is left on the way from a point inside to one outside, and the triangle there.
fn cut(tree: &SurfaceDistance, winding: &Winding, ends: [Vector3<f64>; 2], numbers: [f64; 2]) -> Cut {
    let [from, to] = ends;
    let at = |along: f64| from + (to - from) * along;
    let crossings = winding.crossings(&from, &to);
    let total: f64 = crossings.iter().map(|crossing| crossing.change).sum();
    if (numbers[0] + total - numbers[1]).abs() < OFF {
        let mut number = numbers[0];
        for crossing in crossings {
            number += crossing.change;
            if number <= 0.5 {
                return Cut {
                    position: at(crossing.along),
                    along: crossing.along,
                    triangle: Some(crossing.triangle),
                };
            }
        }
    }
    let (mut inside, mut outside) = (0.0, 1.0);
    for _ in 0..BISECTIONS {
        let middle = (inside + outside) / 2.0;
        *(if winding.number(&at(middle)) > 0.5 { &mut inside } else { &mut outside }) = middle;
    }
    let position = at(outside);
    let nearest = tree.nearest(&position);
    Cut { position, along: outside, triangle: nearest.map(|(_, triangle)| triangle) }
}

/// Fills what a surface winds around with the tetrahedra of a lattice, cut at the surface (isosurface stuffing, Labelle and
/// Shewchuk 2007).
pub(super) fn stuff(tree: &SurfaceDistance, winding: &Winding, lattice: &Lattice) -> Stuffed {
    let numbers = winding_numbers(tree, winding, lattice);
    let is_inside = |point: u32| numbers[point as usize] > 0.5;
    let edges: Vec<[u32; 2]> = lattice
        .edges()
        .filter(|&[a, b]| is_inside(a) != is_inside(b))
        .map(|[a, b]| if is_inside(a) { [a, b] } else { [b, a] })
        .collect();
    let of_edge = |&ends: &[u32; 2]| {
        cut(tree, winding, ends.map(|end| lattice.place(end)), ends.map(|end| numbers[end as usize]))
    };
    let cuts = in_parallel(edges.chunks(256), |edges| edges.iter().map(of_edge).collect::<Vec<_>>());
    let cuts: Vec<Cut> = cuts.into_iter().flatten().collect();

    let points = lattice.len() as u32;
    let mut vertices: Vec<Vector3<f64>> = (0..points).map(|point| lattice.place(point)).collect();
    let mut sides: Vec<i8> = (0..points).map(|point| if is_inside(point) { 1 } else { -1 }).collect();
    let mut on = vec![None; vertices.len()];
    let left = warp(lattice, &edges, &cuts, |point, cut| {
        (vertices[point], sides[point], on[point]) = (cut.position, 0, cut.triangle);
    });
    let mut state = State { lattice, sides, cuts: HashMap::with_capacity(left.len()), vertices };
    for (edge, cut) in left {
        state.cuts.insert(edge, state.vertices.len() as u32);
        state.vertices.push(cut.position);
        on.push(cut.triangle);
    }
    let mut tetrahedra = Vec::new();
    lattice.tetrahedra().for_each(|points| stencils::fill(&state, points, &mut tetrahedra));
    let State { vertices, .. } = state;
    for corners in &mut tetrahedra {
        if orientation(corners.map(|v| vertices[v as usize])) < 0 {
            corners.swap(2, 3);
        }
    }
    Stuffed { vertices, tetrahedra, on }
}

/// Moves points that a cut is near to the nearest such cut, and returns the cuts of the edges that are left.
fn warp(
    lattice: &Lattice,
    edges: &[[u32; 2]],
    cuts: &[Cut],
    mut to_surface: impl FnMut(usize, &Cut),
) -> Vec<([u32; 2], Cut)> {
    let mut near = Vec::new();
    for (number, (&[inside, outside], cut)) in edges.iter().zip(cuts).enumerate() {
        let (length, limit) =
            if lattice.is_long([inside, outside]) { (1.0, NEAR[1]) } else { (0.75_f64.sqrt(), NEAR[0]) };
        for (point, along) in [(inside, cut.along), (outside, 1.0 - cut.along)] {
            if along < limit {
                near.push((point, along * length, number));
            }
        }
    }
    near.sort_by_key(|&(point, _, number)| (point, number));
    let mut warped = vec![false; lattice.len()];
    for run in near.chunk_by(|a, b| a.0 == b.0) {
        let ends_open = |number: usize| edges[number].iter().all(|&end| !warped[end as usize]);
        let nearest = run.iter().filter(|(.., number)| ends_open(*number)).min_by(|a, b| a.1.total_cmp(&b.1));
        if let Some(&(point, _, number)) = nearest {
            warped[point as usize] = true;
            to_surface(point as usize, &cuts[number]);
        }
    }
    let open = |edge: &[u32; 2]| edge.iter().all(|&end| !warped[end as usize]);
    edges.iter().zip(cuts).filter(|(edge, _)| open(edge)).map(|(edge, cut)| (*edge, *cut)).collect()
}
