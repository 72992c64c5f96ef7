//! Which features of two rigid geometries come near each other.

use nalgebra::Vector3;

use super::manifold::{Corners, polyhedra};
use super::point_polyhedron::ball_and_polyhedron;
use super::prepare::{FeatureKind, FeaturePair, Plane, Point};
use super::revolved::{Rim, bolt_and_hole, is_over, rim_on_plane};
use crate::contact::{Collider, ContactGeometry};
use crate::geometry::{ConvexShape, MeshError};
use crate::spatial::RigidTransform;

/// Why two rigid geometries have no distance here.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub(crate) enum NoFeatures {
    /// One of them has no hull.
    #[error("of which one has no convex hull ({0})")]
    Hull(MeshError),
    /// Distances of these two kinds of shapes are not there.
    #[error("{0} and {1}")]
    Shapes(&'static str, &'static str),
    /// One of them is not convex, and the other no half-space.
    #[error(
        "of which one is a mesh that fills {:.0} % of its convex hull: make it of convex pieces (`shape = {{ convex = {{ file = …, pieces = true }} }}`, of a file with one object for each), or take the hull for it (`shape = {{ convex = {{ file = … }} }}`), or make one of the two bodies compliant", 100.0 * .0
    )]
    NotConvex(f64),
}

/// A mesh that fills this part of its convex hull is convex but for its facets.
const CONVEX: f64 = 0.999;

/// What a geometry is to rigid contact.
enum Side<'a> {
    HalfSpace,
    Convex(&'a ConvexShape, f64),
}

impl<'a> Side<'a> {
    fn of(geometry: &'a ContactGeometry) -> Result<Self, NoFeatures> {
        match geometry {
            ContactGeometry::Rigid(surface) => {
                let shape = surface.convex_shape().map_err(|error| NoFeatures::Hull(error.clone()))?;
                let size = match shape {
                    // A hull of a mesh is made anew with the mesh.
                    ConvexShape::Polyhedron(_) => 1.0,
                    _ => surface.size_at::<f64>(None),
                };
                Ok(Self::Convex(shape, size))
            }
            _ => Ok(Self::HalfSpace),
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::HalfSpace => "half_space",
            Self::Convex(shape, _) => shape.name(),
        }
    }
}

/// Whether there are distances of two shapes.
fn have_distance(a: &Side<'_>, b: &Side<'_>) -> bool {
    match (a, b) {
        (Side::HalfSpace, Side::HalfSpace) => false,
        (Side::HalfSpace, Side::Convex(shape, _)) | (Side::Convex(shape, _), Side::HalfSpace) => {
            !matches!(shape, ConvexShape::Hole(_))
        }
        (Side::Convex(ConvexShape::Revolved(_), _), Side::Convex(ConvexShape::Hole(_), _))
        | (Side::Convex(ConvexShape::Hole(_), _), Side::Convex(ConvexShape::Revolved(_), _)) => true,
        (Side::Convex(a, _), Side::Convex(b, _)) => {
            ![a, b].iter().any(|of| matches!(of, ConvexShape::Revolved(_) | ConvexShape::Hole(_)))
        }
    }
}

/// What two rigid geometries are to each other: a body of revolution is its mesh to what it has no distance from.
fn sides<'a>(a: &'a ContactGeometry, b: &'a ContactGeometry) -> Result<[Side<'a>; 2], NoFeatures> {
    let own = [Side::of(a)?, Side::of(b)?];
    if have_distance(&own[0], &own[1]) {
        return Ok(own);
    }
    let names = [own[0].name(), own[1].name()];
    let meshed = |side: Side<'a>, geometry: &'a ContactGeometry| match (&side, geometry) {
        (Side::Convex(ConvexShape::Revolved(_), _), ContactGeometry::Rigid(surface)) => {
            let hull = surface.mesh_hull().map_err(|error| NoFeatures::Hull(error.clone()))?;
            Ok(Side::Convex(hull, 1.0))
        }
        _ => Ok(side),
    };
    let [of_a, of_b] = own;
    let meshed = [meshed(of_a, a)?, meshed(of_b, b)?];
    if have_distance(&meshed[0], &meshed[1]) {
        Ok(meshed)
    } else {
        Err(NoFeatures::Shapes(names[0], names[1]))
    }
}

/// Whether there are distances of two rigid geometries.
///
/// # Errors
/// When one has no hull, or is another than its hull where that matters, or distances of the two shapes are not there.
pub(crate) fn check_features(a: &ContactGeometry, b: &ContactGeometry) -> Result<(), NoFeatures> {
    if let [Side::Convex(a, _), Side::Convex(b, _)] = sides(a, b)? {
        let filled = [a, b].map(|of| if let ConvexShape::Polyhedron(hull) = of { hull.filled } else { 1.0 });
        if let Some(filled) = filled.into_iter().find(|filled| *filled < CONVEX) {
            return Err(NoFeatures::NotConvex(filled));
        }
    }
    Ok(())
}

/// The radius of a ball around the origin of a geometry that holds it; infinite for a half-space.
pub(crate) fn reach(geometry: &ContactGeometry) -> f64 {
    match geometry {
        ContactGeometry::Rigid(surface) => surface
            .convex_shape()
            .map_or(f64::INFINITY, |shape| shape.reach() * surface.size_at::<f64>(None).max(1.0)),
        _ => f64::INFINITY,
    }
}

/// Whether the balls around two geometries are apart.
pub(crate) fn are_apart(a: (&RigidTransform, f64), b: (&RigidTransform, f64), margin: f64) -> bool {
    let between: Vector3<f64> = a.0.translation - b.0.translation;
    if a.1.is_finite() && b.1.is_finite() {
        return between.norm() > a.1 + b.1 + margin;
    }
    let (plane, body, reach) = if a.1.is_finite() { (b.0, a.0, a.1) } else { (a.0, b.0, b.1) };
    let up = plane.rotation.column(2).into_owned();
    up.dot(&(body.translation - plane.translation)) > reach + margin
}

/// Pairs of features that come near each other, and the memory of looking for them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Features {
    pub pairs: Vec<FeaturePair>,
    corners: [Corners; 2],
}

/// Adds the pairs of features that are nearer than `margin` (m) with the geometries at poses in W.
pub(crate) fn find_features(
    a: (&Collider, &RigidTransform),
    b: (&Collider, &RigidTransform),
    margin: f64,
    rim: Rim,
    Features { pairs: found, corners }: &mut Features,
) {
    let Ok([side_a, side_b]) = sides(&a.0.geometry, &b.0.geometry) else { return };
    let start = found.len();
    match (&side_a, &side_b) {
        (Side::Convex(shape, size), Side::HalfSpace) => {
            on_plane(shape, *size, (a.1, b.1), margin, rim, found);
        }
        (Side::HalfSpace, Side::Convex(shape, size)) => {
            on_plane(shape, *size, (b.1, a.1), margin, rim, found);
            found[start..].iter_mut().for_each(FeaturePair::exchange);
        }
        (Side::Convex(ConvexShape::Polyhedron(of_a), _), Side::Convex(ConvexShape::Polyhedron(of_b), _)) => {
            polyhedra((of_a, a.1), (of_b, b.1), margin, corners, found);
        }
        (
            Side::Convex(ConvexShape::Revolved(bolt), size),
            Side::Convex(ConvexShape::Hole(hole), hole_size),
        ) => {
            bolt_and_hole((bolt, *size, a.1), (hole, *hole_size, b.1), margin, rim, found);
        }
        (
            Side::Convex(ConvexShape::Hole(hole), hole_size),
            Side::Convex(ConvexShape::Revolved(bolt), size),
        ) => {
            bolt_and_hole((bolt, *size, b.1), (hole, *hole_size, a.1), margin, rim, found);
            found[start..].iter_mut().for_each(FeaturePair::exchange);
        }
        (Side::Convex(round, size), Side::Convex(ConvexShape::Polyhedron(hull), _)) => {
            for (point, radius) in ball_centers(round) {
                let center = *a.1 * (Vector3::from(point) * *size);
                ball_and_polyhedron((point, radius, center), (hull, b.1), *size, margin, found);
            }
        }
        (Side::Convex(ConvexShape::Polyhedron(hull), _), Side::Convex(round, size)) => {
            for (point, radius) in ball_centers(round) {
                let center = *b.1 * (Vector3::from(point) * *size);
                ball_and_polyhedron((point, radius, center), (hull, a.1), *size, margin, found);
            }
            found[start..].iter_mut().for_each(FeaturePair::exchange);
        }
        (Side::Convex(of_a, size_a), Side::Convex(of_b, size_b)) => {
            round_bodies((of_a, *size_a, a.1), (of_b, *size_b, b.1), margin, found);
        }
        (Side::HalfSpace, Side::HalfSpace) => {}
    }
}

/// Whether a point of a rim is still over the disk or the ring of a plate or a bolt that it was found over, with the geometries
/// at poses in W: it is looked for at the lowest place, which is another one at each pose.
pub(crate) fn is_still_over(
    features: &FeaturePair,
    a: (&Collider, &RigidTransform),
    b: (&Collider, &RigidTransform),
) -> bool {
    let FeatureKind::PointPlane { point: Point::Place(place), plane: plane @ Plane::Level { .. }, .. } =
        features.kind
    else {
        return false;
    };
    let (first, second) = if features.flipped { (b, a) } else { (a, b) };
    let (Ok(Side::Convex(_, size)), Ok(Side::Convex(body, body_size))) =
        (Side::of(&first.0.geometry), Side::of(&second.0.geometry))
    else {
        return false;
    };
    let (ConvexShape::Revolved(profile) | ConvexShape::Hole(profile)) = body else { return false };
    let point = second.1.inverse() * (*first.1 * (Vector3::from(place) * size));
    is_over(plane, &point, profile, body_size)
}

/// The centres of the balls that a ball or a capsule ends in and their radius, at the first size.
fn ball_centers(shape: &ConvexShape) -> impl Iterator<Item = ([f64; 3], f64)> + use<> {
    let (count, half_length, radius) = match *shape {
        ConvexShape::Ball { radius } => (1, 0.0, radius),
        ConvexShape::Capsule { radius, half_length } => (2, half_length, radius),
        _ => (0, 0.0, 0.0),
    };
    [half_length, -half_length].into_iter().take(count).map(move |z| ([0.0, 0.0, z], radius))
}

/// A convex body over the plane of a half-space.
fn on_plane(
    shape: &ConvexShape,
    size: f64,
    (x_wf, x_wg): (&RigidTransform, &RigidTransform),
    margin: f64,
    rim: Rim,
    found: &mut Vec<FeaturePair>,
) {
    let up = x_wg.rotation.column(2).into_owned();
    let height = |p: Vector3<f64>| up.dot(&(*x_wf * p - x_wg.translation));
    let plane = Plane::HalfSpace;
    let mut add = |kind| found.push(FeaturePair { kind, flipped: false });
    match shape {
        ConvexShape::Ball { .. } | ConvexShape::Capsule { .. } => {
            for (point, radius) in ball_centers(shape) {
                if height(Vector3::from(point) * size) - radius * size < margin {
                    add(FeatureKind::PointPlane { point: Point::Place(point), radius, plane });
                }
            }
        }
        ConvexShape::Polyhedron(hull) => {
            for (vertex, &of_mesh) in hull.vertices.iter().zip(&hull.of_mesh) {
                if height(*vertex) < margin {
                    add(FeatureKind::PointPlane { point: Point::Vertex(of_mesh), radius: 0.0, plane });
                }
            }
        }
        ConvexShape::Revolved(profile) => {
            let down = x_wf.rotation.tr_mul(&up);
            for ring in profile.rings.iter().rev() {
                let height = |p: [f64; 3]| height(Vector3::from(p) * size);
                rim_on_plane(ring, &down, height, plane, margin, rim, &mut add);
            }
        }
        // There is no distance of a plate from a plane.
        ConvexShape::Hole(_) => {}
    }
}

/// The segment of a ball (a point) or a capsule in W, and its radius.
fn segment(shape: &ConvexShape, size: f64, x_w: &RigidTransform) -> ([Vector3<f64>; 2], f64, f64) {
    let (radius, half_length) = match *shape {
        ConvexShape::Ball { radius } => (radius, 0.0),
        ConvexShape::Capsule { radius, half_length } => (radius, half_length),
        _ => (0.0, 0.0),
    };
    let ends = [half_length, -half_length].map(|z| *x_w * Vector3::new(0.0, 0.0, z * size));
    (ends, radius, half_length)
}

/// Where two segments come nearest, as parts of their lengths.
fn nearest_of_segments(p: &[Vector3<f64>; 2], q: &[Vector3<f64>; 2]) -> (f64, f64) {
    let (d1, d2, r) = (p[1] - p[0], q[1] - q[0], p[0] - q[0]);
    let (a, e, f) = (d1.norm_squared(), d2.norm_squared(), d2.dot(&r));
    if a == 0.0 && e == 0.0 {
        return (0.0, 0.0);
    }
    if a == 0.0 {
        return (0.0, (f / e).clamp(0.0, 1.0));
    }
    let c = d1.dot(&r);
    if e == 0.0 {
        return ((-c / a).clamp(0.0, 1.0), 0.0);
    }
    let b = d1.dot(&d2);
    let denominator = a * e - b * b;
    let s = if denominator > 1e-12 * a * e { ((b * f - c * e) / denominator).clamp(0.0, 1.0) } else { 0.5 };
    let t = (b * s + f) / e;
    if t < 0.0 {
        ((-c / a).clamp(0.0, 1.0), 0.0)
    } else if t > 1.0 {
        (((b - c) / a).clamp(0.0, 1.0), 1.0)
    } else {
        (s, t)
    }
}

/// Balls and capsules.
fn round_bodies(
    a: (&ConvexShape, f64, &RigidTransform),
    b: (&ConvexShape, f64, &RigidTransform),
    margin: f64,
    found: &mut Vec<FeaturePair>,
) {
    let (ends_a, radius_a, half_a) = segment(a.0, a.1, a.2);
    let (ends_b, radius_b, half_b) = segment(b.0, b.1, b.2);
    let (s, t) = nearest_of_segments(&ends_a, &ends_b);
    let on_a = ends_a[0] + (ends_a[1] - ends_a[0]) * s;
    let on_b = ends_b[0] + (ends_b[1] - ends_b[0]) * t;
    let between = on_a - on_b;
    if between.norm() - radius_a * a.1 - radius_b * b.1 >= margin {
        return;
    }
    let end = |half: f64, part: f64| Point::Place([0.0, 0.0, if part < 0.5 { half } else { -half }]);
    let line = |half: f64| [Point::Place([0.0, 0.0, half]), Point::Place([0.0, 0.0, -half])];
    let inside = |half: f64, part: f64| half > 0.0 && part > 0.0 && part < 1.0;
    let mut add = |kind, flipped| found.push(FeaturePair { kind, flipped });
    match (inside(half_a, s), inside(half_b, t)) {
        (false, false) => add(
            FeatureKind::PointPoint {
                point: end(half_a, s),
                radius: radius_a,
                other: end(half_b, t),
                other_radius: radius_b,
            },
            false,
        ),
        (false, true) => add(
            FeatureKind::PointLine {
                point: end(half_a, s),
                radius: radius_a,
                line: line(half_b),
                line_radius: radius_b,
            },
            false,
        ),
        (true, false) => add(
            FeatureKind::PointLine {
                point: end(half_b, t),
                radius: radius_b,
                line: line(half_a),
                line_radius: radius_a,
            },
            true,
        ),
        (true, true) => {
            let cross = (ends_a[1] - ends_a[0]).cross(&(ends_b[1] - ends_b[0]));
            let parallel = cross.norm_squared()
                <= 1e-12 * (ends_a[1] - ends_a[0]).norm_squared() * (ends_b[1] - ends_b[0]).norm_squared();
            if parallel {
                // Rods side by side touch along a line: at the ends of what they share.
                for (k, point) in ends_a.iter().enumerate() {
                    let along = (ends_b[1] - ends_b[0]).normalize();
                    let from = (point - ends_b[0]).dot(&along);
                    if from >= 0.0 && from <= 2.0 * half_b * b.1 {
                        let point = line(half_a)[k];
                        let kind = FeatureKind::PointLine {
                            point,
                            radius: radius_a,
                            line: line(half_b),
                            line_radius: radius_b,
                        };
                        add(kind, false);
                    }
                }
                for (k, point) in ends_b.iter().enumerate() {
                    let along = (ends_a[1] - ends_a[0]).normalize();
                    let from = (point - ends_a[0]).dot(&along);
                    if from >= 0.0 && from <= 2.0 * half_a * a.1 {
                        let point = line(half_b)[k];
                        let kind = FeatureKind::PointLine {
                            point,
                            radius: radius_b,
                            line: line(half_a),
                            line_radius: radius_a,
                        };
                        add(kind, true);
                    }
                }
            } else {
                let sign = if cross.dot(&between) >= 0.0 { 1.0 } else { -1.0 };
                let (line, other) = (line(half_a), line(half_b));
                add(
                    FeatureKind::LineLine { line, radius: radius_a, other, other_radius: radius_b, sign },
                    false,
                );
            }
        }
    }
}
