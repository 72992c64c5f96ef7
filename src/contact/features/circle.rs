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
/// Points that are nearer to the axis than this part of the radius have no direction away from it.
const ON_AXIS: f64 = 1e-12;

/// The points `center + x cos φ + y sin φ`, with x and y perpendicular and as long as the radius.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Circle<T = f64> {
    pub center: Vector3<T>,
    pub x: Vector3<T>,
    pub y: Vector3<T>,
}

/// What a line that turns around an axis is: normal · (ρ, h) = offset.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TurnedLine<T = f64> {
    /// Where ρ and h are 0.
    pub origin: Vector3<T>,
    /// The axis, of length 1.
    pub axis: Vector3<T>,
    /// Out of the body; of length 1.
    pub normal: [f64; 2],
    pub offset: T,
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

/// Where a function of an angle is 0, from a start beside it; `at` gives its value and slope. At a minimum of what it is the
/// derivative of slopes are positive: where `rises`, it goes downhill from where they are not.
fn settle(start: f64, rises: bool, at: impl Fn(f64) -> [f64; 2]) -> f64 {
    let mut angle = start;
    let (mut longest, mut last) = (LONGEST_STEP, f64::INFINITY);
    for _ in 0..STEPS {
        let [value, slope] = at(angle);
        let downhill = rises && slope <= 0.0;
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

impl<T: Scalar> TurnedLine<T> {
    /// The line with `f` applied to each number.
    pub fn map<U>(&self, f: impl Fn(T) -> U + Copy) -> TurnedLine<U> {
        let v = |p: &Vector3<T>| Vector3::new(f(p.x), f(p.y), f(p.z));
        TurnedLine {
            origin: v(&self.origin),
            axis: v(&self.axis),
            normal: self.normal,
            offset: f(self.offset),
        }
    }

    /// It on a body at a pose.
    pub(super) fn placed(&self, pose: &RigidTransform<T>) -> Self {
        Self { origin: *pose * self.origin, axis: pose.rotation * self.axis, ..*self }
    }

    fn along(&self, [rho, height]: [T; 2]) -> T {
        rho * T::from(self.normal[0]) + height * T::from(self.normal[1])
    }

    fn normal_at(&self, out: &Vector3<T>) -> Vector3<T> {
        out * T::from(self.normal[0]) + self.axis * T::from(self.normal[1])
    }

    /// How far a point is from it.
    pub(super) fn from_point(&self, point: &Vector3<T>) -> Nearest<T> {
        let p = point - self.origin;
        let (out, rho, height) = from_axis(&p, &self.axis, p.dot(&p).real().max(f64::MIN_POSITIVE));
        (self.along([rho, height]) - self.offset, self.normal_at(&out), *point)
    }

    /// How far a circle is from it: the smallest distance beside the point at the angle `start`.
    pub(super) fn from_circle(&self, circle: &Circle<T>, start: f64) -> Nearest<T> {
        let angle = self.nearest_angle(circle, start);
        let seen = circle.seen_from(&self.origin, &self.axis, angle);
        (self.along(seen.place) - self.offset, self.normal_at(&seen.out), seen.point)
    }

    /// Where that is.
    pub(super) fn nearest_angle(&self, circle: &Circle<T>, start: f64) -> T {
        let (real_circle, real) = (circle.real(), self.map(|x| x.real()));
        let at = |angle: f64| {
            let seen = real_circle.seen_from(&real.origin, &real.axis, angle);
            [real.along(seen.first), real.along(seen.second)]
        };
        let angle = settle(start, true, at);
        let least = LEVEL * real_circle.x.norm();
        with_derivatives(angle, at(angle)[1], least, |angle| {
            self.along(circle.seen_from(&self.origin, &self.axis, angle).first)
        })
    }
}

/// A circle around an axis.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AxisCircle<T = f64> {
    pub center: Vector3<T>,
    /// Of length 1.
    pub axis: Vector3<T>,
    pub radius: T,
}

impl<T: Scalar> AxisCircle<T> {
    /// The circle with `f` applied to each number.
    pub fn map<U>(&self, f: impl Fn(T) -> U + Copy) -> AxisCircle<U> {
        let v = |p: &Vector3<T>| Vector3::new(f(p.x), f(p.y), f(p.z));
        AxisCircle { center: v(&self.center), axis: v(&self.axis), radius: f(self.radius) }
    }

    /// It on a body at a pose.
    pub(super) fn placed(&self, pose: &RigidTransform<T>) -> Self {
        Self { center: *pose * self.center, axis: pose.rotation * self.axis, ..*self }
    }

    /// From the circle to a point that is seen from its center.
    pub(super) fn to(&self, seen: &Seen<T>) -> [T; 2] {
        [seen.place[0] - self.radius, seen.place[1]]
    }

    /// The derivative of half the square of the distance with respect to the angle.
    pub(super) fn approach(&self, seen: &Seen<T>) -> T {
        let to = self.to(seen);
        to[0] * seen.first[0] + to[1] * seen.first[1]
    }

    /// How far a circle is from it, along the common normal of the two beside the point at the angle `start`: normal·(ρ, h) is
    /// `sign` (−h', ρ') divided by its length.
    pub(super) fn from_circle(&self, circle: &Circle<T>, start: f64, sign: f64) -> Nearest<T> {
        let (real_circle, real) = (circle.real(), self.map(|x| x.real()));
        let at = |angle: f64| {
            let seen = real_circle.seen_from(&real.center, &real.axis, angle);
            let [to, first, second] = [real.to(&seen), seen.first, seen.second];
            let speed = first[0] * first[0] + first[1] * first[1];
            [real.approach(&seen), speed + to[0] * second[0] + to[1] * second[1]]
        };
        let angle = settle(start, false, at);
        let radius = real_circle.x.norm();
        let angle = with_derivatives(angle, at(angle)[1], LEVEL * radius * radius, |angle| {
            self.approach(&circle.seen_from(&self.center, &self.axis, angle))
        });
        let seen = circle.seen_from(&self.center, &self.axis, angle);
        let ([rho, height], [by_rho, by_height]) = (self.to(&seen), seen.first);
        let square = by_rho * by_rho + by_height * by_height;
        if square.real() <= (LEVEL * radius).powi(2) {
            // The circles run in one direction: there is no common normal.
            return (rho * T::from(sign), seen.out * T::from(sign), seen.point);
        }
        let unit = square.sqrt().recip() * T::from(sign);
        let (across, along) = (-by_height * unit, by_rho * unit);
        (rho * across + height * along, seen.out * across + self.axis * along, seen.point)
    }
}
