//! The convex hull of points (quickhull).
//!
//! Which faces a point sees is decided by an exact predicate (Shewchuk's `orient3d`), and faces
//! in the point's own plane count as seen, so they are replaced: the topology stays that of a
//! sphere whatever the rounding, and no triangle without area appears. Points within a small
//! tolerance of the hull are left out, so coplanar points on a face or edge do not split it.

use nalgebra::Vector3;
use robust::{Coord3D, orient3d};

use super::error::MeshError;
use super::mesh::{SurfaceMesh, drop_unused_vertices};
use super::point_blocks::{Block, PointBlocks};

/// Points that stick out by less than this fraction of the size of the set are left out.
const TOLERANCE: f64 = 1e-12;

/// A face of the hull while it grows.
struct Face {
    corners: [u32; 3],
    /// The faces across the edges 0→1, 1→2, 2→0.
    neighbours: [usize; 3],
    normal: Vector3<f64>,
    /// Points outside of this face, not yet on the hull.
    outside: Vec<u32>,
    alive: bool,
}

struct Hull<'a> {
    points: &'a [Vector3<f64>],
    centre: Vector3<f64>,
    tolerance: f64,
    faces: Vec<Face>,
    blocks: PointBlocks,
}

fn coordinates(p: &Vector3<f64>) -> Coord3D<f64> {
    Coord3D { x: p.x, y: p.y, z: p.z }
}

impl Hull<'_> {
    fn point(&self, index: u32) -> &Vector3<f64> {
        &self.points[index as usize]
    }

    /// Adds a face and returns its number; its neighbours are set by the caller.
    fn add_face(&mut self, corners: [u32; 3]) -> usize {
        let [a, b, c] = corners.map(|v| *self.point(v));
        let normal = (b - a).cross(&(c - a));
        // A normal too short to be normalized gives zero distances: the face gets no points.
        let normal = normal.try_normalize(f64::MIN_POSITIVE).unwrap_or_else(Vector3::zeros);
        self.faces.push(Face { corners, neighbours: [0; 3], normal, outside: Vec::new(), alive: true });
        self.faces.len() - 1
    }

    fn distance(&self, face: usize, point: u32) -> f64 {
        let face = &self.faces[face];
        face.normal.dot(&(self.point(point) - self.point(face.corners[0])))
    }

    /// Negative where a point is on the outer side of a face's plane, 0 where it is in it.
    fn side(&self, point: u32, face: usize) -> f64 {
        let [a, b, c] = self.faces[face].corners.map(|v| coordinates(self.point(v)));
        orient3d(a, b, c, coordinates(self.point(point)))
    }

    /// Gives each point to the face that it is farthest outside of, or to none.
    fn assign(&mut self, points: impl Iterator<Item = u32>, faces: &[usize]) {
        for point in points {
            let mut best = (self.tolerance, None);
            for &face in faces {
                let distance = self.distance(face, point);
                if distance > best.0 {
                    best = (distance, Some(face));
                }
            }
            if let Some(face) = best.1 {
                self.faces[face].outside.push(point);
            }
        }
    }

    /// The point farthest in the direction of a face that has points outside, a corner of the
    /// hull. All points are looked for: a corner as far may be assigned to another face.
    fn farthest(&self, face: usize) -> Option<u32> {
        if self.faces[face].outside.is_empty() {
            return None;
        }
        let Face { normal, corners, .. } = &self.faces[face];
        let start = self.point(corners[0]);
        let distance = |point: u32| normal.dot(&(self.point(point) - start));
        let bound = |block: &Block| block.bound(normal, start);
        let largest = self.blocks.largest(distance, bound);
        if largest <= self.tolerance {
            return None;
        }
        let mut near = self.blocks.at_least(largest - self.tolerance, distance, bound);
        // Of corners that are as far from the centre it is the first.
        near.sort_unstable();
        farthest_from(self.points, &self.centre, near.into_iter())
    }

    /// Replaces the faces that a point sees by those between it and the horizon.
    fn insert(&mut self, point: u32, start: usize) -> Vec<usize> {
        let mut seen = vec![start];
        self.faces[start].alive = false;
        // Edges (from, to, face beyond) between seen faces and others.
        let mut horizon = Vec::new();
        let mut next = 0;
        while next < seen.len() {
            let face = seen[next];
            next += 1;
            for side in 0..3 {
                let neighbour = self.faces[face].neighbours[side];
                if !self.faces[neighbour].alive {
                    continue;
                }
                if self.side(point, neighbour) <= 0.0 {
                    self.faces[neighbour].alive = false;
                    seen.push(neighbour);
                } else {
                    let corners = self.faces[face].corners;
                    horizon.push((corners[side], corners[(side + 1) % 3], neighbour));
                }
            }
        }
        let mut new_faces = Vec::with_capacity(horizon.len());
        let mut from_of = std::collections::HashMap::with_capacity(horizon.len());
        for &(from, to, beyond) in &horizon {
            let face = self.add_face([from, to, point]);
            self.faces[face].neighbours[0] = beyond;
            let corners = self.faces[beyond].corners;
            if let Some(side) = (0..3).find(|&k| corners[k] == to) {
                self.faces[beyond].neighbours[side] = face;
            }
            from_of.insert(from, face);
            new_faces.push(face);
        }
        for &face in &new_faces {
            if let Some(&after) = from_of.get(&self.faces[face].corners[1]) {
                self.faces[face].neighbours[1] = after;
                self.faces[after].neighbours[2] = face;
            }
        }
        let orphans: Vec<u32> =
            seen.iter().flat_map(|&face| std::mem::take(&mut self.faces[face].outside)).collect();
        self.assign(orphans.into_iter().filter(|&p| p != point), &new_faces);
        new_faces
    }
}

/// The point with the largest measure (a convex function of position), if that exceeds the
/// tolerance. Of those within the tolerance of the largest it is the one farthest from the
/// centre: a corner of the hull and not a point between two.
fn farthest_corner(
    points: &[Vector3<f64>],
    centre: &Vector3<f64>,
    tolerance: f64,
    measure: impl Fn(usize) -> f64,
) -> Option<u32> {
    let largest = (0..points.len()).map(&measure).fold(f64::NEG_INFINITY, f64::max);
    if largest <= tolerance {
        return None;
    }
    let near = (0..points.len()).filter(|&i| measure(i) >= largest - tolerance);
    farthest_from(points, centre, near.map(|i| i as u32))
}

/// The first of those points that are farthest from the centre.
fn farthest_from(
    points: &[Vector3<f64>],
    centre: &Vector3<f64>,
    among: impl Iterator<Item = u32>,
) -> Option<u32> {
    let mut best = (f64::NEG_INFINITY, None);
    for i in among {
        let radius = (points[i as usize] - centre).norm();
        if radius > best.0 {
            best = (radius, Some(i));
        }
    }
    best.1
}

impl SurfaceMesh {
    /// The convex hull of points as a closed surface; its vertices are the corners of the hull, in
    /// the order of the points. Points that stick out of the hull of the others by less than 10⁻¹²
    /// of the size of the set may be left out.
    ///
    /// # Errors
    /// When a coordinate is not finite, there are too many points, or they do not span a volume.
    pub fn convex_hull(points: &[Vector3<f64>]) -> Result<SurfaceMesh, MeshError> {
        let count = points.len();
        if count > (u32::MAX / 4) as usize {
            return Err(MeshError::TooLarge { count });
        }
        if let Some(vertex) = points.iter().position(|p| !p.iter().all(|x| x.is_finite())) {
            return Err(MeshError::NonFiniteVertex { vertex, position: points[vertex].into() });
        }
        let flat = || MeshError::FlatPoints { points: count };
        let centre = points.iter().map(|p| p / count as f64).sum::<Vector3<f64>>();
        let size = points.iter().map(|p| (p - centre).norm()).fold(0.0, f64::max);
        let tolerance = TOLERANCE * size;
        if size == 0.0 {
            return Err(flat());
        }
        // A simplex of points far apart: a point, the farthest from it, from their line, from their
        // plane.
        let point = |i: u32| points[i as usize];
        let farthest = |measure: &dyn Fn(usize) -> f64| {
            farthest_corner(points, &centre, tolerance, measure).ok_or_else(flat)
        };
        let a = farthest(&|i| (points[i] - centre).norm())?;
        let b = farthest(&|i| (points[i] - point(a)).norm())?;
        let along = (point(b) - point(a)).normalize();
        let c = farthest(&|i| along.cross(&(points[i] - point(a))).norm())?;
        let normal = along.cross(&(point(c) - point(a))).normalize();
        let d = farthest(&|i| normal.dot(&(points[i] - point(a))).abs())?;
        let [p, q, r, s] = [a, b, c, d].map(|i| coordinates(&point(i)));
        let sign = orient3d(p, q, r, s);
        if sign == 0.0 {
            return Err(flat());
        }
        // `orient3d` is positive where the last point is behind the triangle of the others.
        let [b, c] = if sign > 0.0 { [b, c] } else { [c, b] };
        let blocks = PointBlocks::new(points);
        let mut hull = Hull { points, centre, tolerance, faces: Vec::new(), blocks };
        for corners in [[a, b, c], [a, d, b], [b, d, c], [c, d, a]] {
            hull.add_face(corners);
        }
        for (face, neighbours) in [[1, 2, 3], [3, 2, 0], [1, 3, 0], [2, 1, 0]].into_iter().enumerate() {
            hull.faces[face].neighbours = neighbours;
        }
        hull.assign((0..count as u32).filter(|p| ![a, b, c, d].contains(p)), &[0, 1, 2, 3]);

        let mut pending = vec![0, 1, 2, 3];
        while let Some(face) = pending.pop() {
            if !hull.faces[face].alive {
                continue;
            }
            if let Some(point) = hull.farthest(face) {
                // Only what is strictly outside goes in, so no point goes in twice.
                if hull.side(point, face) < 0.0 {
                    pending.extend(hull.insert(point, face));
                }
            }
        }
        let mut triangles: Vec<[u32; 3]> = hull.faces.iter().filter(|f| f.alive).map(|f| f.corners).collect();
        let vertices = drop_unused_vertices(points, &mut triangles);
        let mesh = SurfaceMesh { vertices, triangles };
        mesh.validate()?;
        Ok(mesh)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Shape;
    use crate::spatial::rotation_exponential;
    use approx::assert_relative_eq;
    use proptest::prelude::*;

    /// The largest distance of a point outside of a face of the hull.
    fn largest_outside(hull: &SurfaceMesh, points: &[Vector3<f64>]) -> f64 {
        let mut largest = f64::NEG_INFINITY;
        for triangle in 0..hull.triangles.len() {
            let [a, b, c] = hull.corners(triangle);
            let normal = (b - a).cross(&(c - a)).normalize();
            largest = points.iter().map(|p| normal.dot(&(p - a))).fold(largest, f64::max);
        }
        largest
    }

    fn box_grid(n: usize, rotation: Vector3<f64>) -> Vec<Vector3<f64>> {
        let turn = rotation_exponential(&rotation);
        let at = |i: usize| i as f64 / (n - 1) as f64 - 0.5;
        (0..n * n * n)
            .map(|k| turn * Vector3::new(at(k % n), 2.0 * at(k / n % n), 0.5 * at(k / n / n)))
            .collect()
    }

    #[test]
    fn a_grid_in_a_turned_box_gives_its_eight_corners() {
        for n in 2..6 {
            for rotation in [[0.0; 3], [0.3, -0.7, 1.1], [1e-9, 0.0, 0.0]] {
                let hull = SurfaceMesh::convex_hull(&box_grid(n, rotation.into())).unwrap();
                assert_eq!((hull.vertices.len(), hull.triangles.len()), (8, 12), "{n} {rotation:?}");
                assert_relative_eq!(hull.volume(), 1.0, epsilon = 1e-13);
            }
        }
    }

    #[test]
    fn the_hull_of_a_convex_mesh_is_the_mesh() {
        for shape in [
            Shape::Sphere { radius: 0.2 },
            Shape::Cylinder { radius: 0.1, length: 0.3 },
            Shape::Capsule { radius: 0.1, length: 0.3 },
        ] {
            let mesh = shape.surface_mesh(0.02).unwrap();
            let hull = SurfaceMesh::convex_hull(&mesh.vertices).unwrap();
            assert_relative_eq!(hull.volume(), mesh.volume(), max_relative = 1e-12);
            assert!(largest_outside(&hull, &mesh.vertices) < 1e-12);
        }
    }

    #[test]
    fn points_without_volume_are_refused() {
        let p = |x: f64, y: f64, z: f64| Vector3::new(x, y, z);
        let plane: Vec<_> = (0..20).map(|i| p(i as f64, (i * i) as f64, 3.0 * i as f64)).collect();
        let line: Vec<_> = (0..20).map(|i| p(1.0, 2.0, 3.0) * i as f64).collect();
        for points in [vec![], vec![p(1.0, 1.0, 1.0); 5], line, plane] {
            let expected = MeshError::FlatPoints { points: points.len() };
            assert_eq!(SurfaceMesh::convex_hull(&points), Err(expected));
        }
        let bad = [p(0.0, 0.0, 0.0), p(0.0, f64::NAN, 0.0)];
        assert!(matches!(SurfaceMesh::convex_hull(&bad), Err(MeshError::NonFiniteVertex { vertex: 1, .. })));
    }

    proptest! {
        #[test]
        fn all_points_are_inside(points in prop::collection::vec([-1.0..1.0_f64, -1.0..1.0, -1.0..1.0], 4..80)) {
            let points: Vec<Vector3<f64>> = points.into_iter().map(Vector3::from).collect();
            let hull = SurfaceMesh::convex_hull(&points).unwrap();
            prop_assert!(largest_outside(&hull, &points) < 1e-9);
        }

        #[test]
        fn points_on_a_coarse_grid(points in prop::collection::vec([0..4_i32, 0..4, 0..4], 4..60), turn in [-3.0..3.0_f64, -3.0..3.0, -3.0..3.0]) {
            let turn = rotation_exponential(&Vector3::from(turn));
            let points: Vec<Vector3<f64>> = points.into_iter().map(|p| turn * Vector3::from(p.map(f64::from))).collect();
            match SurfaceMesh::convex_hull(&points) {
                Ok(hull) => prop_assert!(largest_outside(&hull, &points) < 1e-11),
                Err(MeshError::FlatPoints { .. }) => {}
                Err(error) => prop_assert!(false, "{error}"),
            }
        }
    }
}
