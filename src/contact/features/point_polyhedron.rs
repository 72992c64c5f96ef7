//! A ball and a polyhedron.

use nalgebra::Vector3;

use super::prepare::{FeatureKind, FeaturePair, Plane, Point};
use crate::geometry::ConvexHull;
use crate::spatial::RigidTransform;

/// Adds the features of a ball (its centre and radius in its geometry, and its centre in W) and a polyhedron, the
/// ball first, if they are nearer than `margin`.
pub(super) fn ball_and_polyhedron(
    ball: ([f64; 3], f64, Vector3<f64>),
    (hull, x_wg): (&ConvexHull, &RigidTransform),
    size: f64,
    margin: f64,
    found: &mut Vec<FeaturePair>,
) {
    let (place, radius, center) = ball;
    let p = x_wg.inverse() * center;
    let point = Point::Place(place);
    let vertex = |i: usize| Point::Vertex(hull.of_mesh[i]);
    let mut add = |kind| found.push(FeaturePair { kind, flipped: false });
    let heights = hull.faces.iter().map(|face| face.normal.dot(&p) - face.offset);
    let Some((face, height)) = heights.enumerate().max_by(|a, b| a.1.total_cmp(&b.1)) else { return };
    if height - radius * size >= margin {
        return;
    }
    let face_kind = |face: usize| {
        let plane = Plane::Face(corners_below(hull, &hull.faces[face].corners, &hull.faces[face].normal, &p));
        FeatureKind::PointPlane { point, radius, plane }
    };
    if height <= 0.0 {
        // The centre is inside: the face that is nearest.
        add(face_kind(face));
        return;
    }
    // The nearest point of each face that sees the centre.
    let mut best: Option<(f64, FeatureKind)> = None;
    let mut offer = |distance: f64, kind: FeatureKind| {
        if best.as_ref().is_none_or(|(least, _)| distance < *least) {
            best = Some((distance, kind));
        }
    };
    for (f, face) in hull.faces.iter().enumerate() {
        let height = face.normal.dot(&p) - face.offset;
        if height <= 0.0 {
            continue;
        }
        let foot = p - face.normal * height;
        let count = face.corners.len();
        let mut inside = true;
        for k in 0..count {
            let (i, j) = (face.corners[k], face.corners[(k + 1) % count]);
            let (a, b) = (hull.vertices[i], hull.vertices[j]);
            let edge = b - a;
            if face.normal.cross(&edge).dot(&(foot - a)) < 0.0 {
                inside = false;
                let part = edge.dot(&(p - a)) / edge.norm_squared();
                if part <= 0.0 {
                    let kind = FeatureKind::PointPoint { point, radius, other: vertex(i), other_radius: 0.0 };
                    offer((p - a).norm(), kind);
                } else if part < 1.0 {
                    let line = [vertex(i), vertex(j)];
                    let kind = FeatureKind::PointLine { point, radius, line, line_radius: 0.0 };
                    offer((p - a - edge * part).norm(), kind);
                } else {
                    let kind = FeatureKind::PointPoint { point, radius, other: vertex(j), other_radius: 0.0 };
                    offer((p - b).norm(), kind);
                }
            }
        }
        if inside {
            offer(height, face_kind(f));
        }
    }
    if let Some((distance, kind)) = best
        && distance - radius * size < margin
    {
        add(kind);
    }
}

/// Three corners of a face, as vertices of the mesh, whose plane is below a point as they move. Where one corner of four leaves the
/// plane of the others, the face becomes two triangles: those of one of the two ways to cut it have the plane of a side.
fn corners_below(
    hull: &ConvexHull,
    corners: &[usize],
    normal: &Vector3<f64>,
    p: &Vector3<f64>,
) -> [usize; 3] {
    let &[a, b, c, d] = corners else { return spread_corners(hull, corners) };
    let (from, to) = (hull.vertices[a], hull.vertices[c]);
    let is_before = normal.cross(&(to - from)).dot(&(p - from)) <= 0.0;
    if is_before { [a, b, c] } else { [a, c, d] }.map(|corner| hull.of_mesh[corner])
}

/// Three corners of a face that are far apart, as vertices of the mesh.
pub(super) fn spread_corners(hull: &ConvexHull, corners: &[usize]) -> [usize; 3] {
    let count = corners.len();
    [0, count / 3, 2 * count / 3].map(|k| hull.of_mesh[corners[k.min(count - 1)]])
}
