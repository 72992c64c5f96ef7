//! Two convex polyhedra: all pairs of features that keep them apart.
//!
//! The axis along which they are farthest from each other is the normal of a face, or normal to an edge of each. On a
//! face lie the vertices of the other body over it, its own vertices under the other's face, and the crossings of the
//! two outlines: where the faces are parallel these are the corners of the patch.

use nalgebra::Vector3;

use super::point_polyhedron::spread_corners;
use super::prepare::{FeatureKind, FeaturePair, Plane, Point};
use crate::geometry::ConvexHull;
use crate::spatial::RigidTransform;

/// By how much, in parts of their size, two edges have to be farther apart than faces for them to count.
const EDGES_OVER_FACES: f64 = 1e-3;
/// How far outside of an outline, in parts of the size, what touches it still counts.
const OUTLINE: f64 = 1e-9;
/// Directions whose product is shorter than this part of theirs are parallel.
const PARALLEL: f64 = 1e-6;
/// A face whose normal deviates by less than this (cosine) from the opposite one lies on it.
const FACE_ON_FACE: f64 = 0.97;

/// The corners, the normals of the faces and the edges with their lengths of a polyhedron at a pose in W: memory that is reused.
#[derive(Clone, Debug, Default)]
pub(super) struct Corners {
    vertices: Vec<Vector3<f64>>,
    normals: Vec<Vector3<f64>>,
    edges: Vec<(Vector3<f64>, f64)>,
}

/// A polyhedron at a pose in W.
struct Placed<'a> {
    hull: &'a ConvexHull,
    vertices: &'a [Vector3<f64>],
    normals: &'a [Vector3<f64>],
    edges: &'a [(Vector3<f64>, f64)],
    middle: Vector3<f64>,
}

impl<'a> Placed<'a> {
    fn new(hull: &'a ConvexHull, x_w: &RigidTransform, corners: &'a mut Corners) -> Self {
        let Corners { vertices, normals, edges } = corners;
        vertices.clear();
        vertices.extend(hull.vertices.iter().map(|v| *x_w * *v));
        normals.clear();
        normals.extend(hull.faces.iter().map(|f| x_w.rotation * f.normal));
        edges.clear();
        let along = |&[from, to]: &[usize; 2]| vertices[to] - vertices[from];
        edges.extend(hull.edges.iter().map(along).map(|along| (along, along.norm())));
        let middle = vertices.iter().sum::<Vector3<f64>>() / vertices.len().max(1) as f64;
        Self { hull, vertices, normals, edges, middle }
    }

    fn least(&self, along: &Vector3<f64>) -> f64 {
        self.vertices.iter().map(|v| v.dot(along)).fold(f64::INFINITY, f64::min)
    }

    fn most(&self, along: &Vector3<f64>) -> f64 {
        -self.least(&-along)
    }

    /// The face that another is the farthest from, and how far.
    fn separating_face(&self, other: &Self) -> (usize, f64) {
        let mut best = (0, f64::NEG_INFINITY);
        for (i, (face, normal)) in self.hull.faces.iter().zip(self.normals).enumerate() {
            let apart = other.least(normal) - self.vertices[face.corners[0]].dot(normal);
            if apart > best.1 {
                best = (i, apart);
            }
        }
        best
    }

    fn vertex(&self, index: usize) -> Point {
        Point::Vertex(self.hull.of_mesh[index])
    }

    /// How far a point is inside of a face's outline, seen along the face's normal; negative outside.
    fn inside(&self, face: usize, p: &Vector3<f64>) -> f64 {
        let corners = &self.hull.faces[face].corners;
        let sides = (0..corners.len()).map(|k| {
            let (a, b) = (self.vertices[corners[k]], self.vertices[corners[(k + 1) % corners.len()]]);
            self.normals[face].cross(&(b - a)).normalize().dot(&(p - a))
        });
        sides.fold(f64::INFINITY, f64::min)
    }
}

/// Adds the features of two polyhedra, A and B, that are nearer than `margin`.
pub(super) fn polyhedra(
    (hull_a, x_wa): (&ConvexHull, &RigidTransform),
    (hull_b, x_wb): (&ConvexHull, &RigidTransform),
    margin: f64,
    [corners_a, corners_b]: &mut [Corners; 2],
    found: &mut Vec<FeaturePair>,
) {
    let (a, b) = (Placed::new(hull_a, x_wa, corners_a), Placed::new(hull_b, x_wb, corners_b));
    let size = (a.vertices[0] - a.middle).norm().min((b.vertices[0] - b.middle).norm());
    let (face_a, apart_a) = a.separating_face(&b);
    let (face_b, apart_b) = b.separating_face(&a);
    if apart_a.max(apart_b) >= margin {
        return;
    }
    let mut edges: Option<(f64, [usize; 2], [usize; 2], f64)> = None;
    // What is beside an edge that is outermost along a normal lies behind it: most edges are left out by that.
    let behind = |of: &Placed<'_>, edge: usize, normal: &Vector3<f64>| {
        let end = of.vertices[of.hull.edges[edge][0]];
        of.hull.beside_edges[edge]
            .iter()
            .all(|&corner| (of.vertices[corner] - end).dot(normal) >= -OUTLINE * size)
    };
    for (number_a, (&edge_a, (along_a, length_a))) in hull_a.edges.iter().zip(a.edges).enumerate() {
        for (number_b, (&edge_b, (along_b, length_b))) in hull_b.edges.iter().zip(b.edges).enumerate() {
            let cross = along_a.cross(along_b);
            let length = cross.norm();
            if length <= PARALLEL * length_a * length_b {
                continue;
            }
            let sign = if cross.dot(&(a.middle - b.middle)) >= 0.0 { 1.0 } else { -1.0 };
            let normal = cross * (sign / length);
            if !behind(&a, number_a, &normal) || !behind(&b, number_b, &-normal) {
                continue;
            }
            // Only edges that are the outermost of both bodies along the normal.
            let (low, high) = (a.least(&normal), b.most(&normal));
            let outermost = a.vertices[edge_a[0]].dot(&normal) - low <= OUTLINE * size
                && high - b.vertices[edge_b[0]].dot(&normal) <= OUTLINE * size;
            let apart = low - high;
            if outermost && edges.as_ref().is_none_or(|(best, ..)| apart > *best) {
                edges = Some((apart, edge_a, edge_b, sign));
            }
        }
    }
    if let Some((apart, edge_a, edge_b, sign)) = edges
        && apart > apart_a.max(apart_b) + EDGES_OVER_FACES * size
    {
        if apart < margin {
            let kind = FeatureKind::LineLine {
                line: edge_a.map(|i| a.vertex(i)),
                radius: 0.0,
                other: edge_b.map(|i| b.vertex(i)),
                other_radius: 0.0,
                sign,
            };
            found.push(FeaturePair { kind, flipped: false });
        }
        return;
    }
    let start = found.len();
    if apart_b >= apart_a - OUTLINE * size {
        on_face(&b, face_b, &a, size, margin, found);
    } else {
        on_face(&a, face_a, &b, size, margin, found);
        found[start..].iter_mut().for_each(FeaturePair::exchange);
    }
}

/// Adds the features of a body on a face of another one; the former is the first.
fn on_face(
    ground: &Placed<'_>,
    face: usize,
    body: &Placed<'_>,
    size: f64,
    margin: f64,
    found: &mut Vec<FeaturePair>,
) {
    let normal = ground.normals[face];
    let level = ground.vertices[ground.hull.faces[face].corners[0]].dot(&normal);
    let height = |p: &Vector3<f64>| p.dot(&normal) - level;
    let plane = Plane::Face(spread_corners(ground.hull, &ground.hull.faces[face].corners));
    let start = found.len();
    let vertex_on_face = |i: usize| FeaturePair {
        kind: FeatureKind::PointPlane { point: body.vertex(i), radius: 0.0, plane },
        flipped: false,
    };
    for (i, p) in body.vertices.iter().enumerate() {
        if height(p) < margin && ground.inside(face, p) >= -OUTLINE * size {
            found.push(vertex_on_face(i));
        }
    }
    let facing = body.normals.iter().map(|n| -n.dot(&normal)).enumerate();
    let Some((lower, opposite)) = facing.max_by(|a, b| a.1.total_cmp(&b.1)) else { return };
    if opposite > FACE_ON_FACE {
        let corners = &body.hull.faces[lower].corners;
        let level = body.vertices[corners[0]].dot(&body.normals[lower]);
        let plane = Plane::Face(spread_corners(body.hull, corners));
        for &i in &ground.hull.faces[face].corners {
            let p = &ground.vertices[i];
            // Vertices on the outline are in already, as those of the body.
            if p.dot(&body.normals[lower]) - level < margin && body.inside(lower, p) > OUTLINE * size {
                let kind = FeatureKind::PointPlane { point: ground.vertex(i), radius: 0.0, plane };
                found.push(FeaturePair { kind, flipped: true });
            }
        }
    }
    crossings(ground, face, body, &normal, level, size, margin, found);
    if found.len() == start {
        // Beside the face: what is lowest.
        let lowest = body.vertices.iter().enumerate().min_by(|a, b| height(a.1).total_cmp(&height(b.1)));
        found.extend(lowest.filter(|(_, p)| height(p) < margin).map(|(i, _)| vertex_on_face(i)));
    }
}

/// Adds the edges of a body that cross the outline of a face, seen along its normal.
#[allow(clippy::too_many_arguments, reason = "two bodies, a face and what is near")]
fn crossings(
    ground: &Placed<'_>,
    face: usize,
    body: &Placed<'_>,
    normal: &Vector3<f64>,
    level: f64,
    size: f64,
    margin: f64,
    found: &mut Vec<FeaturePair>,
) {
    let corners = &ground.hull.faces[face].corners;
    for &[i, j] in &body.hull.edges {
        let (p, q) = (body.vertices[i], body.vertices[j]);
        let (height_p, height_q) = (p.dot(normal) - level, q.dot(normal) - level);
        if height_p.min(height_q) >= margin {
            continue;
        }
        for k in 0..corners.len() {
            let (c, d) = (corners[k], corners[(k + 1) % corners.len()]);
            let (a, b) = (ground.vertices[c], ground.vertices[d]);
            let out = (b - a).cross(normal).normalize();
            let (from_p, from_q) = (out.dot(&(p - a)), out.dot(&(q - a)));
            // One end well inside, the other well outside.
            if from_p.min(from_q) >= -OUTLINE * size || from_p.max(from_q) <= OUTLINE * size {
                continue;
            }
            let part = from_p / (from_p - from_q);
            let crossing = p + (q - p) * part;
            let along = (b - a).dot(&(crossing - a)) / (b - a).norm_squared();
            let height = height_p + (height_q - height_p) * part;
            if along > OUTLINE && along < 1.0 - OUTLINE && height < margin {
                let cross = (q - p).cross(&(b - a));
                if cross.norm() <= PARALLEL * (q - p).norm() * (b - a).norm() {
                    continue;
                }
                let sign = if cross.dot(normal) >= 0.0 { 1.0 } else { -1.0 };
                let kind = FeatureKind::LineLine {
                    line: [body.vertex(i), body.vertex(j)],
                    radius: 0.0,
                    other: [ground.vertex(c), ground.vertex(d)],
                    other_radius: 0.0,
                    sign,
                };
                found.push(FeaturePair { kind, flipped: false });
            }
        }
    }
}
