//! From two features, found in `f64`, to their numbers in any scalar.

use nalgebra::Vector3;

use super::circle::{Axis, Circle, Corner, Wall};
use super::gap::{GapKind, LocalGap};
use crate::contact::{Collider, ContactGeometry};
use crate::scalar::Scalar;
use crate::spatial::RigidTransform;

/// A point of a geometry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Point {
    /// A vertex of its mesh.
    Vertex(usize),
    /// A place in the frame of a shape, which grows with it.
    Place([f64; 3]),
}

/// A plane of a geometry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Plane {
    /// The plane z = 0 of a half-space.
    HalfSpace,
    /// That of three vertices of a mesh, counter-clockwise seen from outside.
    Face([usize; 3]),
    /// One perpendicular to the z axis: its height, which grows with the geometry, and its normal along z, 1 or −1.
    Level { height: f64, up: f64 },
}

/// An angle around a circle, rad, beside which a point is looked for. Two are the same where they lead to one point.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Start(pub f64);

impl Start {
    /// Angles that are nearer lead to one point, rad.
    const APART: f64 = 0.5;
}

impl PartialEq for Start {
    fn eq(&self, other: &Self) -> bool {
        let turns = (self.0 - other.0) / std::f64::consts::TAU;
        (turns - turns.round()).abs() * std::f64::consts::TAU < Self::APART
    }
}

/// A circle around the z axis of a geometry, at its first size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Around {
    pub height: f64,
    pub radius: f64,
}

/// Two features that come near each other; of geometry A, then of geometry B, unless flipped.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FeaturePair {
    pub kind: FeatureKind,
    /// Whether the first feature is that of B.
    pub flipped: bool,
}

/// What two features are.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum FeatureKind {
    /// A point, with the radius of a ball around it, and a plane.
    PointPlane { point: Point, radius: f64, plane: Plane },
    /// A circle around the z axis of the first geometry, and a plane.
    CirclePlane { height: f64, radius: f64, plane: Plane },
    /// Two points, each with the radius of a ball around it.
    PointPoint { point: Point, radius: f64, other: Point, other_radius: f64 },
    /// A point and a line through two points, with radii.
    PointLine { point: Point, radius: f64, line: [Point; 2], line_radius: f64 },
    /// Two lines, with radii.
    LineLine { line: [Point; 2], radius: f64, other: [Point; 2], other_radius: f64, sign: f64 },
    /// A point and a wall of the second geometry, around its z axis, in its first size.
    PointWall { point: Point, wall: Box<Wall> },
    /// A circle around the z axis of the first geometry and such a wall.
    CircleWall { circle: Around, wall: Box<Wall>, start: Start },
    /// A circle and where two walls meet.
    CircleCorner { circle: Around, corner: Box<Corner>, start: Start },
}

/// A geometry whose numbers carry derivatives.
struct Numbers<'a, T> {
    collider: &'a Collider<T>,
    x_bg: &'a RigidTransform<T>,
    size: T,
}

impl<'a, T: Scalar> Numbers<'a, T> {
    fn new(collider: &'a Collider<T>, x_bg: &'a RigidTransform<T>) -> Self {
        let size = match &*collider.geometry {
            ContactGeometry::Rigid(surface) => surface.size_at(collider.vertices.as_deref()),
            _ => T::from(1.0),
        };
        Self { collider, x_bg, size }
    }

    /// A vertex in the frame of the geometry.
    fn vertex(&self, index: usize) -> Vector3<T> {
        match (&self.collider.vertices, &*self.collider.geometry) {
            (Some(vertices), _) => vertices[index],
            (None, ContactGeometry::Rigid(surface)) => surface.mesh().vertices[index].map(T::from),
            (None, _) => Vector3::from_element(T::from(0.0)),
        }
    }

    /// A point in the frame of the body.
    fn point(&self, point: Point) -> Vector3<T> {
        let in_geometry = match point {
            Point::Vertex(index) => self.vertex(index),
            Point::Place(place) => Vector3::from(place).map(T::from) * self.size,
        };
        *self.x_bg * in_geometry
    }

    fn length(&self, length: f64) -> T {
        self.size * T::from(length)
    }

    /// A plane in the frame of the body: its normal, and where it is along it.
    fn plane(&self, plane: Plane) -> (Vector3<T>, T) {
        let (normal, on_it) = match plane {
            Plane::HalfSpace => {
                (Vector3::new(0.0, 0.0, 1.0).map(T::from), Vector3::from_element(T::from(0.0)))
            }
            Plane::Face(corners) => {
                let [a, b, c] = corners.map(|index| self.vertex(index));
                let normal = (b - a).cross(&(c - a));
                (normal * normal.dot(&normal).sqrt().recip(), a)
            }
            Plane::Level { height, up } => (
                Vector3::new(0.0, 0.0, up).map(T::from),
                Vector3::new(0.0, 0.0, height).map(T::from) * self.size,
            ),
        };
        let normal = self.x_bg.rotation * normal;
        (normal, normal.dot(&(*self.x_bg * on_it)))
    }

    /// The z axis in the frame of the body.
    fn axis(&self) -> Axis<T> {
        Axis { origin: self.x_bg.translation, direction: self.x_bg.rotation.column(2).into_owned() }
    }

    fn circle(&self, around: Around) -> Circle<T> {
        let radius = self.length(around.radius);
        let [x, y] = [0, 1].map(|k| self.x_bg.rotation.column(k) * radius);
        Circle { center: self.point(Point::Place([0.0, 0.0, around.height])), x, y }
    }

    fn line(&self, ends: [Point; 2]) -> (Vector3<T>, Vector3<T>) {
        let [from, to] = ends.map(|end| self.point(end));
        (from, to - from)
    }
}

impl FeaturePair {
    /// The numbers of the features, with the derivatives that the geometries carry.
    pub fn prepare<T: Scalar>(
        &self,
        a: (&Collider<T>, &RigidTransform<T>),
        b: (&Collider<T>, &RigidTransform<T>),
    ) -> LocalGap<T> {
        let (first, second) = if self.flipped { (b, a) } else { (a, b) };
        let (first, second) = (Numbers::new(first.0, first.1), Numbers::new(second.0, second.1));
        let kind = match &self.kind {
            &FeatureKind::PointPlane { point, radius, plane } => {
                let (normal, offset) = second.plane(plane);
                GapKind::PointPlane {
                    point: first.point(point),
                    radius: first.length(radius),
                    normal,
                    offset,
                }
            }
            &FeatureKind::CirclePlane { height, radius, plane } => {
                let (normal, offset) = second.plane(plane);
                GapKind::CirclePlane {
                    center: first.point(Point::Place([0.0, 0.0, height])),
                    axis: first.axis().direction,
                    radius: first.length(radius),
                    normal,
                    offset,
                }
            }
            &FeatureKind::PointPoint { point, radius, other, other_radius } => {
                let first_radius = first.length(radius);
                GapKind::PointPoint {
                    point: first.point(point),
                    other: second.point(other),
                    radius: first_radius + second.length(other_radius),
                    first_radius,
                }
            }
            &FeatureKind::PointLine { point, radius, line, line_radius } => {
                let (from, along) = second.line(line);
                let first_radius = first.length(radius);
                let radius = first_radius + second.length(line_radius);
                GapKind::PointLine { point: first.point(point), from, along, radius, first_radius }
            }
            &FeatureKind::LineLine { line, radius, other, other_radius, sign } => {
                let ((from, along), (other_from, other_along)) = (first.line(line), second.line(other));
                let first_radius = first.length(radius);
                let radius = first_radius + second.length(other_radius);
                GapKind::LineLine { from, along, other_from, other_along, radius, first_radius, sign }
            }
            FeatureKind::PointWall { point, wall } => GapKind::PointWall {
                point: first.point(*point),
                axis: second.axis(),
                wall: Box::new(wall.map(|x| second.length(x))),
            },
            FeatureKind::CircleWall { circle, wall, start } => GapKind::CircleWall {
                circle: Box::new(first.circle(*circle)),
                axis: second.axis(),
                wall: Box::new(wall.map(|x| second.length(x))),
                start: start.0,
            },
            FeatureKind::CircleCorner { circle, corner, start } => GapKind::CircleCorner {
                circle: Box::new(first.circle(*circle)),
                axis: second.axis(),
                corner: Box::new(corner.map(|x| second.length(x))),
                start: start.0,
            },
        };
        LocalGap { kind, flipped: self.flipped }
    }

    /// The vertices of geometry A (0) or B (1) that the features are made of.
    pub fn vertices_of(&self, side: usize) -> Vec<usize> {
        let of_plane = |plane: Plane| match plane {
            Plane::HalfSpace | Plane::Level { .. } => Vec::new(),
            Plane::Face(corners) => corners.to_vec(),
        };
        let of_points = |points: &[Point]| {
            let vertex = |point: &Point| match *point {
                Point::Vertex(index) => Some(index),
                Point::Place(_) => None,
            };
            points.iter().filter_map(vertex).collect::<Vec<_>>()
        };
        let is_first = (side == 0) != self.flipped;
        match (&self.kind, is_first) {
            (
                FeatureKind::PointPlane { point, .. }
                | FeatureKind::PointPoint { point, .. }
                | FeatureKind::PointLine { point, .. }
                | FeatureKind::PointWall { point, .. },
                true,
            ) => of_points(&[*point]),
            (FeatureKind::CirclePlane { .. }, true)
            | (FeatureKind::CircleWall { .. } | FeatureKind::CircleCorner { .. }, _)
            | (FeatureKind::PointWall { .. }, false) => Vec::new(),
            (FeatureKind::PointPlane { plane, .. } | FeatureKind::CirclePlane { plane, .. }, false) => {
                of_plane(*plane)
            }
            (FeatureKind::PointPoint { other, .. }, false) => of_points(std::slice::from_ref(other)),
            (FeatureKind::LineLine { line, .. }, true) | (FeatureKind::PointLine { line, .. }, false) => {
                of_points(line)
            }
            (FeatureKind::LineLine { other, .. }, false) => of_points(other),
        }
    }

    /// Whether the features are those wherever the bodies are, as points over an unbounded plane.
    pub fn is_lasting(&self) -> bool {
        matches!(
            self.kind,
            FeatureKind::PointPlane { plane: Plane::HalfSpace, .. }
                | FeatureKind::CirclePlane { plane: Plane::HalfSpace, .. }
        )
    }

    /// Whether it is a point of a cylinder's rim, or of another circle around the axis of its shape.
    pub fn is_rim_point(&self) -> bool {
        match self.kind {
            FeatureKind::PointPlane { point: Point::Place([x, y, _]), radius: 0.0, .. } => {
                x != 0.0 || y != 0.0
            }
            _ => false,
        }
    }

    /// Whether they are beside a wall or a corner that turns around an axis, with a normal of its own at each place.
    pub fn is_around_axis(&self) -> bool {
        matches!(
            self.kind,
            FeatureKind::PointWall { .. } | FeatureKind::CircleWall { .. } | FeatureKind::CircleCorner { .. }
        )
    }

    /// Whether two pairs of features of the same geometries touch along one normal, and share their friction.
    pub fn is_of_one_patch(&self, other: &Self) -> bool {
        let level = |pair: &Self| match pair.kind {
            FeatureKind::PointPlane { plane, .. } | FeatureKind::CirclePlane { plane, .. } => {
                Some(plane).filter(|plane| matches!(plane, Plane::Level { .. }))
            }
            _ => None,
        };
        !self.is_around_axis()
            && !other.is_around_axis()
            && level(self) == level(other)
            && (level(self).is_none() || self.flipped == other.flipped)
    }

    /// Whether two pairs of features of the same geometries are points over the same plane, and have one normal.
    pub fn are_over_one_plane(&self, other: &Self) -> bool {
        match (&self.kind, &other.kind) {
            (FeatureKind::PointPlane { plane, .. }, FeatureKind::PointPlane { plane: of_other, .. }) => {
                self.flipped == other.flipped && plane == of_other
            }
            _ => false,
        }
    }

    /// Exchanges the two bodies.
    pub(super) fn exchange(&mut self) {
        self.flipped = !self.flipped;
    }
}
