//! The signed distance of two features, with the points where they come nearest and the normal, in any scalar.

use nalgebra::Vector3;

use super::circle::{Axis, Circle, Corner, Wall};
use crate::scalar::Scalar;
use crate::spatial::{RigidTransform, times_vector};

/// Two features, each in the frame of its body.
///
/// The first body is A unless the gap is `flipped`, where it is B.
#[derive(Clone, Debug)]
pub(crate) struct LocalGap<T = f64> {
    /// What the features are.
    pub kind: GapKind<T>,
    /// Whether the first body is B.
    pub flipped: bool,
}

/// Two features: the first one that of the first body. What turns around an axis has many numbers, which the others would
/// be copied with.
#[derive(Clone, Debug)]
pub(crate) enum GapKind<T = f64> {
    /// A ball (a vertex where its radius is 0) and a plane.
    PointPlane { point: Vector3<T>, radius: T, normal: Vector3<T>, offset: T },
    /// The lowest point of a circle over a plane; the circle must not be parallel to the plane.
    CirclePlane { center: Vector3<T>, axis: Vector3<T>, radius: T, normal: Vector3<T>, offset: T },
    /// Two balls, whose centres must not coincide; `radius` is the sum of their radii, and `first_radius` that of the
    /// first.
    PointPoint { point: Vector3<T>, other: Vector3<T>, radius: T, first_radius: T },
    /// A ball and a rod around a line, with the radii as above.
    PointLine { point: Vector3<T>, from: Vector3<T>, along: Vector3<T>, radius: T, first_radius: T },
    /// Two rods around lines that cross at a distance, with the radii as above. The normal is the product of their
    /// directions times `sign`, out of the second body.
    LineLine {
        from: Vector3<T>,
        along: Vector3<T>,
        other_from: Vector3<T>,
        other_along: Vector3<T>,
        radius: T,
        first_radius: T,
        sign: f64,
    },
    /// A point and a wall: a line that turns around an axis.
    PointWall { point: Vector3<T>, axis: Axis<T>, wall: Box<Wall<T>> },
    /// A circle and a wall; it is nearest beside its point at the angle `start`, rad.
    CircleWall { circle: Box<Circle<T>>, axis: Axis<T>, wall: Box<Wall<T>>, start: f64 },
    /// A circle and where two walls meet, beside the point of the circle at the angle `start`, rad.
    CircleCorner { circle: Box<Circle<T>>, axis: Axis<T>, corner: Box<Corner<T>>, start: f64 },
}

/// How far two bodies are from each other, in W.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gap<T = f64> {
    /// The distance, negative where they overlap, m.
    pub distance: T,
    /// The normal, out of B and into A.
    pub normal: Vector3<T>,
    /// Half-way between the nearest points of the two bodies.
    pub point: Vector3<T>,
}

/// A vector of length 1.
fn unit<T: Scalar>(v: Vector3<T>) -> (Vector3<T>, T) {
    let length = v.dot(&v).sqrt();
    (v * length.recip(), length)
}

impl<T: Scalar> LocalGap<T> {
    /// The features with `f` applied to each number.
    pub fn map<U>(&self, f: impl Fn(T) -> U + Copy) -> LocalGap<U> {
        let v = |x: &Vector3<T>| Vector3::new(f(x.x), f(x.y), f(x.z));
        let kind = match &self.kind {
            GapKind::PointPlane { point, radius, normal, offset } => GapKind::PointPlane {
                point: v(point),
                radius: f(*radius),
                normal: v(normal),
                offset: f(*offset),
            },
            GapKind::CirclePlane { center, axis, radius, normal, offset } => GapKind::CirclePlane {
                center: v(center),
                axis: v(axis),
                radius: f(*radius),
                normal: v(normal),
                offset: f(*offset),
            },
            GapKind::PointPoint { point, other, radius, first_radius } => GapKind::PointPoint {
                point: v(point),
                other: v(other),
                radius: f(*radius),
                first_radius: f(*first_radius),
            },
            GapKind::PointLine { point, from, along, radius, first_radius } => GapKind::PointLine {
                point: v(point),
                from: v(from),
                along: v(along),
                radius: f(*radius),
                first_radius: f(*first_radius),
            },
            GapKind::LineLine { from, along, other_from, other_along, radius, first_radius, sign } => {
                GapKind::LineLine {
                    from: v(from),
                    along: v(along),
                    other_from: v(other_from),
                    other_along: v(other_along),
                    radius: f(*radius),
                    first_radius: f(*first_radius),
                    sign: *sign,
                }
            }
            GapKind::PointWall { point, axis, wall } => {
                GapKind::PointWall { point: v(point), axis: axis.map(f), wall: Box::new(wall.map(f)) }
            }
            GapKind::CircleWall { circle, axis, wall, start } => GapKind::CircleWall {
                circle: Box::new(circle.map(f)),
                axis: axis.map(f),
                wall: Box::new(wall.map(f)),
                start: *start,
            },
            GapKind::CircleCorner { circle, axis, corner, start } => GapKind::CircleCorner {
                circle: Box::new(circle.map(f)),
                axis: axis.map(f),
                corner: Box::new(corner.map(f)),
                start: *start,
            },
        };
        LocalGap { kind, flipped: self.flipped }
    }

    /// Of a ball over a plane: which body has the ball, 0 for A and 1 for B, and its radius.
    pub fn ball_over_plane(&self) -> Option<(usize, T)> {
        match &self.kind {
            GapKind::PointPlane { radius, .. } => Some((usize::from(self.flipped), *radius)),
            _ => None,
        }
    }

    /// Whether one of the features is a ball or a corner. Distances of others have kinks on the way to where they are: where a
    /// circle is level, or two edges are parallel.
    pub fn is_of_point(&self) -> bool {
        !self.is_of_circle() && !matches!(self.kind, GapKind::LineLine { .. })
    }

    /// Whether one of the features is a circle, whose nearest point may go far around with little motion.
    pub fn is_of_circle(&self) -> bool {
        matches!(
            self.kind,
            GapKind::CirclePlane { .. } | GapKind::CircleWall { .. } | GapKind::CircleCorner { .. }
        )
    }

    /// The distance as [`at`](Self::at) has it, where another point is over the same plane, with the normal of that one.
    pub fn at_with_normal(
        &self,
        x_wa: &RigidTransform<T>,
        x_wb: &RigidTransform<T>,
        normal: &Vector3<T>,
    ) -> Gap<T> {
        let &GapKind::PointPlane { point, radius, offset, .. } = &self.kind else {
            return self.at(x_wa, x_wb);
        };
        let (ball, plane, out) = if self.flipped { (x_wb, x_wa, -normal) } else { (x_wa, x_wb, *normal) };
        let center = *ball * point;
        let distance = out.dot(&(center - plane.translation)) - offset - radius;
        let point = center - out * (radius + distance * T::from(0.5));
        Gap { distance, normal: *normal, point }
    }

    /// The distance with the bodies at poses in W.
    pub fn at(&self, x_wa: &RigidTransform<T>, x_wb: &RigidTransform<T>) -> Gap<T> {
        let (first, second) = if self.flipped { (x_wb, x_wa) } else { (x_wa, x_wb) };
        let half = T::from(0.5);
        // The normal points out of the second body; `point` is on the first.
        let (distance, normal, on_first) = match &self.kind {
            GapKind::PointPlane { normal, .. } => {
                let normal = times_vector(&second.rotation, normal);
                return self.at_with_normal(x_wa, x_wb, &if self.flipped { -normal } else { normal });
            }
            &GapKind::CirclePlane { center, axis, radius, normal, offset } => {
                let (center, axis) = (*first * center, first.rotation * axis);
                let normal = second.rotation * normal;
                // By the product with the axis: down in the plane of the circle, as the difference of the normal and its part
                // along the axis, would have errors of rounding over the tilt along the normal.
                let (level, tilt) = unit(normal.cross(&axis));
                let lowest = center + level.cross(&axis) * radius;
                let distance = normal.dot(&(center - second.translation)) - offset - radius * tilt;
                (distance, normal, lowest)
            }
            &GapKind::PointPoint { point, other, radius, first_radius } => {
                let center = *first * point;
                let (normal, length) = unit(center - *second * other);
                (length - radius, normal, center - normal * first_radius)
            }
            &GapKind::PointLine { point, from, along, radius, first_radius } => {
                let center = *first * point;
                let (along, _) = unit(second.rotation * along);
                let out = center - *second * from;
                let (normal, length) = unit(out - along * along.dot(&out));
                (length - radius, normal, center - normal * first_radius)
            }
            &GapKind::LineLine { from, along, other_from, other_along, radius, first_radius, sign } => {
                let (along, other_along) = (first.rotation * along, second.rotation * other_along);
                let (normal, length) = unit(along.cross(&other_along) * T::from(sign));
                let (from, other_from) = (*first * from, *second * other_from);
                let between = other_from - from;
                // Where the first line passes the second one.
                let part = between.cross(&other_along).dot(&normal) * T::from(sign) / length;
                let nearest = from + along * part;
                (-normal.dot(&between) - radius, normal, nearest - normal * first_radius)
            }
            GapKind::PointWall { point, axis, wall } => {
                axis.placed(second).point_to_wall(&(*first * *point), wall)
            }
            GapKind::CircleWall { circle, axis, wall, start } => {
                axis.placed(second).circle_to_wall(&circle.placed(first), wall, *start)
            }
            GapKind::CircleCorner { circle, axis, corner, start } => {
                axis.placed(second).circle_to_corner(&circle.placed(first), corner, *start)
            }
        };
        let point = on_first - normal * (distance * half);
        let normal = if self.flipped { -normal } else { normal };
        Gap { distance, normal, point }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::super::circle::Line;
    use super::*;
    use crate::scalar::DualArray;
    use crate::spatial::rotation_exponential;

    fn v(x: f64, y: f64, z: f64) -> Vector3<f64> {
        Vector3::new(x, y, z)
    }

    pub fn kinds() -> Vec<GapKind> {
        vec![
            GapKind::PointPlane {
                point: v(0.1, 0.2, -0.1),
                radius: 0.05,
                normal: v(0.6, 0.0, 0.8),
                offset: 0.1,
            },
            GapKind::CirclePlane {
                center: v(0.0, 0.1, -0.3),
                axis: v(0.0, 0.6, 0.8),
                radius: 0.2,
                normal: v(0.0, 0.0, 1.0),
                offset: 0.02,
            },
            GapKind::PointPoint {
                point: v(0.1, 0.0, 0.2),
                other: v(0.0, 0.3, 0.0),
                radius: 0.3,
                first_radius: 0.1,
            },
            GapKind::PointLine {
                point: v(0.1, 0.0, 0.2),
                from: v(0.0, 0.3, 0.0),
                along: v(0.0, 0.3, 0.9),
                radius: 0.3,
                first_radius: 0.1,
            },
            GapKind::LineLine {
                from: v(0.1, 0.0, 0.2),
                along: v(0.5, 0.1, 0.0),
                other_from: v(0.0, 0.3, 0.0),
                other_along: v(0.0, 0.3, 0.9),
                radius: 0.1,
                first_radius: 0.05,
                sign: -1.0,
            },
            GapKind::PointWall {
                point: v(0.1, 0.2, -0.1),
                axis: axis(),
                wall: Box::new(wall([-0.8, 0.6], -0.3)),
            },
            GapKind::CircleWall {
                circle: Box::new(circle()),
                axis: axis(),
                wall: Box::new(wall([-0.8, 0.6], -0.9)),
                start: 0.5,
            },
            GapKind::CircleWall {
                circle: Box::new(circle()),
                axis: axis(),
                wall: Box::new(wall([1.0, 0.0], 0.4)),
                start: 2.5,
            },
        ]
    }

    fn circle() -> Circle {
        Circle { center: v(0.1, 0.05, -0.3), x: v(0.2, 0.0, 0.0), y: v(0.0, 0.16, 0.12) }
    }

    fn axis() -> Axis {
        Axis { origin: v(0.02, 0.03, 0.1), direction: v(0.0, 0.6, 0.8) }
    }

    fn wall(normal: [f64; 2], offset: f64) -> Wall {
        Wall { line: Line { normal, offset }, corners: [None, None] }
    }

    #[test]
    fn distances_change_as_the_points_move_along_the_normal() {
        // The derivative of a distance is the velocity of the material points along the normal; its change through
        // the points' own motion over the bodies is of second order.
        for (case, kind) in kinds().into_iter().enumerate() {
            for flipped in [false, true] {
                let gap = LocalGap { kind: kind.clone(), flipped };
                let pose_a = RigidTransform::new(rotation_exponential(&v(0.2, -0.3, 0.1)), v(0.0, 0.1, 0.9));
                let pose_b = RigidTransform::new(rotation_exponential(&v(-0.4, 0.1, 0.6)), v(0.1, 0.0, -0.2));
                let here = gap.at(&pose_a, &pose_b);
                let lifted = gap.map(DualArray::<6>::constant);
                let seed = |k: usize| DualArray::<6>::variable(0.0, k);
                let moved = RigidTransform::lift(&pose_a).moved(
                    &Vector3::new(seed(0), seed(1), seed(2)),
                    &Vector3::new(seed(3), seed(4), seed(5)),
                );
                let there = lifted.at(&moved, &RigidTransform::lift(&pose_b));
                let on_a = here.point + here.normal * (0.5 * here.distance);
                let by_turn = (on_a - pose_a.translation).cross(&here.normal);
                for k in 0..3 {
                    assert!((there.distance.eps[k] - by_turn[k]).abs() < 1e-12, "{case} {flipped} turn {k}");
                    assert!(
                        (there.distance.eps[3 + k] - here.normal[k]).abs() < 1e-12,
                        "{case} {flipped} {k}"
                    );
                }
                // And that of differences.
                for k in 0..6 {
                    let at = |d: f64| {
                        let mut by = [0.0; 6];
                        by[k] = d;
                        let (turn, shift) = (v(by[0], by[1], by[2]), v(by[3], by[4], by[5]));
                        gap.at(&pose_a.moved(&turn, &shift), &pose_b)
                    };
                    let (plus, minus) = (at(1e-5), at(-1e-5));
                    let slope = (plus.distance - minus.distance) / 2e-5;
                    assert!((slope - there.distance.eps[k]).abs() < 1e-8, "{case} {flipped} difference {k}");
                    let slope = (plus.point - minus.point) / 2e-5;
                    assert!((slope - there.point.map(|x| x.eps[k])).amax() < 1e-8, "{case} point {k}");
                    let slope = (plus.normal - minus.normal) / 2e-5;
                    assert!((slope - there.normal.map(|x| x.eps[k])).amax() < 1e-8, "{case} normal {k}");
                }
            }
        }
    }

    #[test]
    fn the_lowest_point_of_a_circle_that_is_hardly_tilted_is_exact() {
        let (radius, height) = (0.12, 0.3);
        let kind = GapKind::CirclePlane {
            center: Vector3::zeros(),
            axis: Vector3::z(),
            radius,
            normal: Vector3::z(),
            offset: 0.0,
        };
        let gap = LocalGap { kind, flipped: false };
        let plane = RigidTransform::from_translation(Vector3::zeros());
        for tilt in [1e-1_f64, 1e-3, 1e-5] {
            for k in 0..20 {
                let (s, c) = (0.3 * f64::from(k)).sin_cos();
                // About an axis in the plane, after a turn about the circle's own.
                let rotation = rotation_exponential(&v(tilt * c, tilt * s, 0.0))
                    * rotation_exponential(&v(0.0, 0.0, 0.7 * f64::from(k)));
                let here = gap.at(&RigidTransform::new(rotation, v(0.2, -0.1, height)), &plane);
                let off = here.distance - (height - radius * tilt.sin());
                assert!(off.abs() < 2e-16, "tilt {tilt}: {off:e}");
                assert!((here.point - here.normal * (0.5 * here.distance)).z.abs() < 2e-16);
            }
        }
    }
}
