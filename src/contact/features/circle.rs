//! Circles beside surfaces that turn around an axis (cones, cylinders), and beside other circles, in any scalar.
//!
//! All distances to a body of revolution are those in the half-plane through its axis: there a point is its distance ρ from
//! the axis and its height h along it, a wall is a line, a circle around the axis a point, and another circle a closed
//! curve. The point of that curve that is nearest is found in `f64`, from a start beside it; its derivatives come
//! from Newton's method at that point, a step for each order (the implicit function theorem), so that the distance, the point and
//! the normal all have theirs. The distance alone would do without: the circle is perpendicular to the normal there.

use nalgebra::Vector3;

use crate::scalar::Scalar;
use crate::spatial::RigidTransform;

/// Where Newton's method ends, rad.
const SMALLEST_STEP: f64 = 1e-15;
/// Its longest step, rad.
const LONGEST_STEP: f64 = 0.3;
/// Its most steps.
const STEPS: usize = 60;
/// A distance curves by less than this part of the radius where all points of a circle are as near: the point has no derivative.
const LEVEL: f64 = 1e-11;
/// Circles whose directions differ by less than this (the sine of the angle) have no common normal.
const PARALLEL: f64 = 1e-5;
/// How far outside of those of its lines the normal of a corner may lie.
const BETWEEN: f64 = 1e-9;
/// Points that are nearer to the axis than this part of the radius have no direction away from it.
const ON_AXIS: f64 = 1e-12;

/// The points `center + x cos φ + y sin φ`, with x and y perpendicular and as long as the radius.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Circle<T = f64> {
    pub center: Vector3<T>,
    pub x: Vector3<T>,
    pub y: Vector3<T>,
}

/// An axis: a place on it, and its direction, of length 1.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Axis<T = f64> {
    pub origin: Vector3<T>,
    pub direction: Vector3<T>,
}

/// A line in the half-plane through an axis: normal · (ρ, h) = offset, with the normal, of length 1, out of the body. The body is
/// to its left.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Line<T = f64> {
    pub normal: [f64; 2],
    pub offset: T,
}

/// Where one line ends and the next one begins, and the body sticks out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Corner<T = f64> {
    pub at: [T; 2],
    pub lines: [Line<T>; 2],
}

/// A line, and the corners at its two ends where it has them: beyond an end it is what is there of the body instead.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Wall<T = f64> {
    pub line: Line<T>,
    pub corners: [Option<Corner<T>>; 2],
}

/// A distance, the normal out of the body around the axis, and the nearest point of the circle.
pub(super) type Nearest<T> = (T, Vector3<T>, Vector3<T>);

/// A point of a circle seen from an axis.
pub(super) struct Seen<T> {
    pub point: Vector3<T>,
    /// Away from the axis, of length 1.
    pub out: Vector3<T>,
    /// ρ and h, and their first and second derivatives with respect to φ.
    pub place: [T; 2],
    pub first: [T; 2],
    pub second: [T; 2],
}

impl<T: Scalar> Circle<T> {
    /// The circle with `f` applied to each number.
    pub fn map<U>(&self, f: impl Fn(T) -> U + Copy) -> Circle<U> {
        let v = |p: &Vector3<T>| Vector3::new(f(p.x), f(p.y), f(p.z));
        Circle { center: v(&self.center), x: v(&self.x), y: v(&self.y) }
    }

    /// It on a body at a pose.
    pub(super) fn placed(&self, pose: &RigidTransform<T>) -> Self {
        Self { center: *pose * self.center, x: pose.rotation * self.x, y: pose.rotation * self.y }
    }

    /// The real parts.
    fn real(&self) -> Circle {
        let v = |p: &Vector3<T>| p.map(|x| x.real());
        Circle { center: v(&self.center), x: v(&self.x), y: v(&self.y) }
    }

    pub fn point(&self, angle: T) -> Vector3<T> {
        let (sin, cos) = angle.sin_cos();
        self.center + self.x * cos + self.y * sin
    }

    /// Its point at an angle from an axis.
    pub(super) fn seen_from(&self, origin: &Vector3<T>, axis: &Vector3<T>, angle: T) -> Seen<T> {
        let (sin, cos) = angle.sin_cos();
        let round = self.x * cos + self.y * sin;
        let point = self.center + round;
        let (first, second) = (self.y * cos - self.x * sin, -round);
        let (out, rho, height) = from_axis(&(point - origin), axis, self.x.dot(&self.x).real());
        let [up, curve] = [axis.dot(&first), axis.dot(&second)];
        let (slope, bend) = if rho.real() > 0.0 {
            let slope = out.dot(&first);
            let inverse = rho.recip();
            let across = first.dot(&first) - up * up - slope * slope;
            (slope, out.dot(&second) + across * inverse)
        } else {
            (T::from(0.0), T::from(0.0))
        };
        Seen { point, out, place: [rho, height], first: [slope, up], second: [bend, curve] }
    }
}

/// The direction away from an axis, the distance from it and the height, of a point `p` from a place on it. On the axis itself the
/// direction is one of all, and the distance has no derivative. `scale` is the square of a length that is large beside rounding.
pub(super) fn from_axis<T: Scalar>(p: &Vector3<T>, axis: &Vector3<T>, scale: f64) -> (Vector3<T>, T, T) {
    let height = axis.dot(p);
    let away = p - axis * height;
    let square = away.dot(&away);
    if square.real() > ON_AXIS * ON_AXIS * scale {
        let rho = square.sqrt();
        (away * rho.recip(), rho, height)
    } else {
        let k = if axis.x.real().abs() < 0.7 { 0 } else { 1 };
        let mut beside = Vector3::from_element(T::from(0.0));
        beside[k] = T::from(1.0);
        let across = beside - axis * axis[k];
        (across * across.dot(&across).sqrt().recip(), T::from(0.0), height)
    }
}

/// The minimum of a function of an angle, from a start beside it; `at` gives its first two derivatives.
fn settle(start: f64, at: impl Fn(f64) -> [f64; 2]) -> f64 {
    let mut angle = start;
    let (mut longest, mut last) = (LONGEST_STEP, f64::INFINITY);
    for _ in 0..STEPS {
        let [value, slope] = at(angle);
        let downhill = slope <= 0.0;
        // Newton's method may go around in a circle.
        if !downhill && value.abs() > last {
            longest *= 0.5;
        }
        last = if downhill { f64::INFINITY } else { value.abs() };
        let step = if downhill { -longest * value.signum() } else { -value / slope };
        if !step.is_finite() || value == 0.0 {
            break;
        }
        angle += step.clamp(-longest, longest);
        if step.abs() <= SMALLEST_STEP {
            break;
        }
    }
    angle
}

/// The angle with the derivatives that the equation `value` = 0 implies at the solution `angle`, with its slope there.
fn with_derivatives<T: Scalar>(angle: f64, slope: f64, least: f64, value: impl Fn(T) -> T) -> T {
    let mut lifted = T::from(angle);
    if slope.abs() > least {
        for _ in 0..T::NDERIV {
            let left = value(lifted);
            lifted -= (left - T::from(left.real())) * T::from(1.0 / slope);
        }
    }
    lifted
}

impl<T: Scalar> Axis<T> {
    /// The axis with `f` applied to each number.
    pub fn map<U>(&self, f: impl Fn(T) -> U + Copy) -> Axis<U> {
        let v = |p: &Vector3<T>| Vector3::new(f(p.x), f(p.y), f(p.z));
        Axis { origin: v(&self.origin), direction: v(&self.direction) }
    }

    /// It on a body at a pose.
    pub(super) fn placed(&self, pose: &RigidTransform<T>) -> Self {
        Self { origin: *pose * self.origin, direction: pose.rotation * self.direction }
    }

    /// How far a point is from a wall.
    pub(super) fn point_to_wall(&self, point: &Vector3<T>, wall: &Wall<T>) -> Nearest<T> {
        let p = point - self.origin;
        let (out, rho, height) = from_axis(&p, &self.direction, p.dot(&p).real().max(f64::MIN_POSITIVE));
        let place = [rho.real(), height.real()];
        let mut line = &wall.line;
        for (end, corner) in wall.corners.iter().enumerate() {
            // Beyond both lines of a corner it is the plane that is farther.
            if let Some(corner) = corner.as_ref().filter(|corner| corner.is_beyond(end, place)) {
                let [first, last] = corner.lines.each_ref().map(|line| line.map(|x| x.real()).from(place));
                line = &corner.lines[usize::from(last > first)];
            }
        }
        (line.from([rho, height]), self.normal(line.normal, &out), *point)
    }

    /// How far a circle is from a wall: the smallest distance beside its point at the angle `start`.
    pub(super) fn circle_to_wall(&self, circle: &Circle<T>, wall: &Wall<T>, start: f64) -> Nearest<T> {
        let real = Beside { circle: circle.real(), axis: self.map(|x| x.real()) };
        let angle = real.nearest_to_line(&wall.line.map(|x| x.real()), start);
        let place = real.seen(angle).place;
        for (end, corner) in wall.corners.iter().enumerate() {
            if let Some(corner) = corner.as_ref().filter(|corner| corner.is_beyond(end, place)) {
                return self.circle_to_corner(circle, corner, angle);
            }
        }
        self.circle_to_line(circle, &wall.line, angle, &real)
    }

    /// How far a circle is from a corner beside its point at the angle `start`: from one of its two walls, or from the circle that
    /// the corner is, whichever they are moved apart along most easily.
    pub(super) fn circle_to_corner(&self, circle: &Circle<T>, corner: &Corner<T>, start: f64) -> Nearest<T> {
        let real = Beside { circle: circle.real(), axis: self.map(|x| x.real()) };
        match real.nearest_to_corner(&corner.map(|x| x.real()), start) {
            NearestPart::Line(line, angle) => self.circle_to_line(circle, &corner.lines[line], angle, &real),
            NearestPart::Circle(angle, sign) => {
                let slope = real.approach(&corner.map(|x| x.real()).at, angle)[1];
                let radius = real.circle.x.norm();
                let angle = with_derivatives(angle, slope, LEVEL * radius * radius, |angle| {
                    approach(&corner.at, &circle.seen_from(&self.origin, &self.direction, angle))
                });
                let seen = circle.seen_from(&self.origin, &self.direction, angle);
                let to = [seen.place[0] - corner.at[0], seen.place[1] - corner.at[1]];
                let [by_rho, by_height] = seen.first;
                let unit = (by_rho * by_rho + by_height * by_height).sqrt().recip() * T::from(sign);
                let [across, along] = [-by_height * unit, by_rho * unit];
                let normal = seen.out * across + self.direction * along;
                (to[0] * across + to[1] * along, normal, seen.point)
            }
        }
    }

    /// The distance from a line where it is smallest, at an angle.
    fn circle_to_line(&self, circle: &Circle<T>, line: &Line<T>, angle: f64, real: &Beside) -> Nearest<T> {
        let slope = line.map(|x| x.real()).along_normal(&real.seen(angle).second);
        let angle = with_derivatives(angle, slope, LEVEL * real.circle.x.norm(), |angle| {
            line.along_normal(&circle.seen_from(&self.origin, &self.direction, angle).first)
        });
        let seen = circle.seen_from(&self.origin, &self.direction, angle);
        (line.from(seen.place), self.normal(line.normal, &seen.out), seen.point)
    }

    fn normal(&self, normal: [f64; 2], out: &Vector3<T>) -> Vector3<T> {
        out * T::from(normal[0]) + self.direction * T::from(normal[1])
    }
}

impl<T: Scalar> Line<T> {
    /// The line with `f` applied to each number.
    pub fn map<U>(&self, f: impl Fn(T) -> U) -> Line<U> {
        Line { normal: self.normal, offset: f(self.offset) }
    }

    pub(super) fn along_normal(&self, place: &[T; 2]) -> T {
        place[0] * T::from(self.normal[0]) + place[1] * T::from(self.normal[1])
    }

    /// How far a place is from it.
    pub(super) fn from(&self, place: [T; 2]) -> T {
        self.along_normal(&place) - self.offset
    }
}

impl<T: Scalar> Corner<T> {
    /// The corner with `f` applied to each number.
    pub fn map<U>(&self, f: impl Fn(T) -> U + Copy) -> Corner<U> {
        let [first, last] = &self.lines;
        Corner { at: self.at.map(f), lines: [first.map(f), last.map(f)] }
    }

    /// Whether a place is beyond the corner, which is at the first (0) or last (1) end of a line.
    fn is_beyond(&self, end: usize, place: [f64; 2]) -> bool {
        // It is the second line of the corner at its first end.
        let [across, along] = self.lines[1 - end].normal;
        let passed = (place[1] - self.at[1].real()) * across - (place[0] - self.at[0].real()) * along;
        if end == 0 { passed < 0.0 } else { passed > 0.0 }
    }
}

impl Corner {
    /// Whether a direction lies between the normals of the two lines, give or take.
    pub(super) fn is_between(&self, direction: [f64; 2]) -> bool {
        let [first, last] = self.lines.map(|line| line.normal);
        let cross = |a: [f64; 2], b: [f64; 2]| a[0] * b[1] - a[1] * b[0];
        let middle = [first[0] + last[0], first[1] + last[1]];
        cross(first, direction) >= -BETWEEN
            && cross(direction, last) >= -BETWEEN
            && middle[0] * direction[0] + middle[1] * direction[1] > 0.0
    }
}

impl<T: Scalar> Wall<T> {
    /// The wall with `f` applied to each number.
    pub fn map<U>(&self, f: impl Fn(T) -> U + Copy) -> Wall<U> {
        let corner = |end: usize| self.corners[end].as_ref().map(|corner| corner.map(f));
        Wall { line: self.line.map(f), corners: [corner(0), corner(1)] }
    }
}

/// The derivative of half the square of the distance from a circle around the axis with respect to the angle.
fn approach<T: Scalar>(at: &[T; 2], seen: &Seen<T>) -> T {
    (seen.place[0] - at[0]) * seen.first[0] + (seen.place[1] - at[1]) * seen.first[1]
}

/// What of a corner is nearest to a circle, and at which of the circle's angles.
pub(super) enum NearestPart {
    /// One of its lines.
    Line(usize, f64),
    /// Itself; with the sign of the common normal, (−h', ρ') divided by its length.
    Circle(f64, f64),
}

/// A circle beside an axis.
pub(super) struct Beside {
    pub circle: Circle,
    pub axis: Axis,
}

impl Beside {
    pub fn seen(&self, angle: f64) -> Seen<f64> {
        self.circle.seen_from(&self.axis.origin, &self.axis.direction, angle)
    }

    fn nearest_to_line(&self, line: &Line, start: f64) -> f64 {
        settle(start, |angle| {
            let seen = self.seen(angle);
            [line.along_normal(&seen.first), line.along_normal(&seen.second)]
        })
    }

    /// The derivative of half the square of the distance from a circle around the axis, and its slope.
    pub fn approach(&self, at: &[f64; 2], angle: f64) -> [f64; 2] {
        let seen = self.seen(angle);
        let Seen { place, first, second, .. } = &seen;
        let speed = first[0] * first[0] + first[1] * first[1];
        let bend = (place[0] - at[0]) * second[0] + (place[1] - at[1]) * second[1];
        [approach(at, &seen), speed + bend]
    }

    /// The sign of the normal that the circle has in common with a corner, at an angle, if there is one that points out of it.
    pub fn common_normal(&self, corner: &Corner, angle: f64) -> Option<f64> {
        let [by_rho, by_height] = self.seen(angle).first;
        let speed = by_rho.hypot(by_height);
        if speed <= PARALLEL * self.circle.x.norm() {
            return None;
        }
        let is_normal = |sign: &f64| corner.is_between([-by_height * sign / speed, by_rho * sign / speed]);
        [1.0, -1.0].into_iter().find(is_normal)
    }

    fn nearest_to_corner(&self, corner: &Corner, start: f64) -> NearestPart {
        let angle = settle(start, |angle| self.approach(&corner.at, angle));
        if let Some(sign) = self.common_normal(corner, angle) {
            return NearestPart::Circle(angle, sign);
        }
        let angles = corner.lines.each_ref().map(|line| self.nearest_to_line(line, start));
        let places = angles.map(|angle| self.seen(angle).place);
        let line = match [0, 1].map(|k| corner.is_beyond(1 - k, places[k])) {
            [false, true] => 0,
            [true, false] => 1,
            // Inside both, or beyond both where the circle is as good as a point.
            _ => {
                let [first, last] = [0, 1].map(|k| corner.lines[k].from(places[k]));
                usize::from(last > first)
            }
        };
        NearestPart::Line(line, angles[line])
    }
}
