//! How well tetrahedra stand for the surface that they fill.

use std::f64::consts::FRAC_PI_2;

use nalgebra::Vector3;

use crate::geometry::holes::area;
use crate::geometry::mesh::{SurfaceMesh, VolumeMesh};
use crate::geometry::surface_distance::{SurfaceDistance, Triangle};
use crate::geometry::winding::Winding;

/// Places of the surface that are looked at, beside its vertices.
const PLACES: usize = 4000;
/// The part of the surface that may have thinner walls behind it than the thickness told.
const THIN_PART: f64 = 0.05;
/// How far from the surface there must be outside, as a part of the lattice's size: gaps between pieces that are narrower are
/// taken as closed.
const GAP: f64 = 0.05;
/// How far below the surface walls are looked at from, as a part of the lattice's size.
const BELOW: f64 = 1e-4;

/// The smallest and the largest angle between two faces of a tetrahedron, radians.
pub(super) fn dihedral_angles(corners: &[Vector3<f64>; 4]) -> [f64; 2] {
    let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
    for (a, b, c, d) in [(0, 1, 2, 3), (0, 2, 1, 3), (0, 3, 1, 2), (1, 2, 0, 3), (1, 3, 0, 2), (2, 3, 0, 1)] {
        let along = corners[b] - corners[a];
        let [u, v] = [corners[c] - corners[a], corners[d] - corners[a]].map(|to| along.cross(&to));
        let angle = u.cross(&v).norm().atan2(u.dot(&v));
        (least, most) = (least.min(angle), most.max(angle));
    }
    [least, most]
}

/// The smallest and the largest dihedral angle of a mesh, radians; a right angle without tetrahedra.
pub(super) fn angles_of(mesh: &VolumeMesh) -> [f64; 2] {
    let all = (0..mesh.tetrahedra.len()).map(|tetrahedron| dihedral_angles(&mesh.corners(tetrahedron)));
    all.fold([FRAC_PI_2; 2], |[least, most], [a, b]| [least.min(a), most.max(b)])
}

/// A place on a surface.
struct Place {
    position: Vector3<f64>,
    /// The normal, outward.
    normal: Vector3<f64>,
    /// The area that it stands for, m².
    area: f64,
}

/// Places spread evenly over the triangles of a surface, and vertices, which stand for no area.
fn places(surface: &SurfaceMesh) -> Vec<Place> {
    let areas: Vec<Vector3<f64>> = (0..surface.triangles.len()).map(|t| area(surface.corners(t))).collect();
    let spacing = areas.iter().map(|area| area.norm()).sum::<f64>() / PLACES as f64;
    let (mut places, mut due, mut seen) = (Vec::new(), 0.5, vec![false; surface.vertices.len()]);
    let stride = surface.vertices.len().div_ceil(PLACES).max(1);
    for (triangle, vector) in areas.iter().enumerate() {
        let Some(normal) = vector.try_normalize(0.0) else { continue };
        let [a, b, c] = surface.corners(triangle);
        due += vector.norm() / spacing;
        while due >= 1.0 {
            due -= 1.0;
            // A sequence that fills the unit square evenly (Roberts 2018), folded into the triangle.
            let [u, v] = [0.754_877_666_246_693, 0.569_840_290_998_053]
                .map(|step| (0.3 + step * places.len() as f64).fract());
            let [u, v] = if u + v > 1.0 { [1.0 - u, 1.0 - v] } else { [u, v] };
            places.push(Place { position: a + (b - a) * u + (c - a) * v, normal, area: spacing });
        }
        for vertex in surface.triangles[triangle].map(|v| v as usize) {
            if vertex % stride == 0 && !std::mem::replace(&mut seen[vertex], true) {
                places.push(Place { position: surface.vertices[vertex], normal, area: 0.0 });
            }
        }
    }
    places
}

/// What is looked at in a surface apart from its tetrahedra.
pub(super) struct Sampled {
    places: Vec<Place>,
    /// The thickness of the walls, m: a twentieth of the surface has thinner ones behind it.
    pub thickness: f64,
}

/// Places of a closed surface where it has outside on its outer side, not where pieces overlap, and the thickness behind them.
pub(super) fn sampled(surface: &SurfaceMesh, winding: &Winding, size: f64, diagonal: f64) -> Sampled {
    let mut places = places(surface);
    places.retain(|place| winding.number(&(place.position + place.normal * (GAP * size))) <= 0.5);
    let thickness = |place: &Place| {
        let [from, to] = [BELOW * size, 2.0 * diagonal].map(|depth| place.position - place.normal * depth);
        let mut number = 1.0;
        let left = winding.crossings(&from, &to).into_iter().find(|crossing| {
            number += crossing.change;
            number <= 0.5
        });
        (left.map_or(0.0, |crossing| crossing.along * (to - from).norm()), place.area)
    };
    let mut walls: Vec<(f64, f64)> = places.iter().filter(|place| place.area > 0.0).map(thickness).collect();
    walls.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut rest = THIN_PART * walls.iter().map(|wall| wall.1).sum::<f64>();
    let wall = walls.iter().find(|wall| {
        rest -= wall.1;
        rest < 0.0
    });
    Sampled { thickness: wall.map_or(0.0, |wall| wall.0), places }
}

/// The distance of the boundary of tetrahedra and a surface, m: the largest of the distances of points of each to the other
/// (Hausdorff), at the places of the surface and the middles of the boundary's faces.
pub(super) fn distance(sampled: &Sampled, surface: &SurfaceDistance, boundary: &SurfaceDistance) -> f64 {
    let there = sampled.places.iter().map(|place| boundary.distance(&place.position));
    let middle = |triangle: &Triangle| triangle.corners.iter().sum::<Vector3<f64>>() / 3.0;
    let back = boundary.triangles.iter().map(|triangle| surface.distance(&middle(triangle)));
    there.chain(back).fold(0.0, f64::max)
}
