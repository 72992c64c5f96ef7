//! Which features of a body of revolution and a plate with a hole come near each other.
//!
//! Bodies of revolution touch with the circles that stick out of them. In the half-plane through the axis of the other body
//! such a circle is a closed curve, and that body's surface is made of lines, its walls, and of the points where they meet.
//! Where such a point sticks out, one of three is what the curve is nearest to: the wall before it, the wall after it, or
//! the point itself, which is a circle too. That is the one along whose normal they can be moved apart most easily,
//! and it is the wall where the nearest point of the curve lies beside the wall, and the circle where the common
//! normal of both circles lies between those of its walls. A bolt's cylinder or cone and a hole's touch along lines
//! alone, which end at circles: circles against walls and against circles are all there is.
//!
//! A circle may be near at several of its points, as where a bolt jams: all that are nearest beside themselves are found. Where a
//! whole circle is as near (a bolt upright on a plate, a cone along the axis of a mouth) points all around it are taken.

use std::f64::consts::TAU;

use nalgebra::Vector3;

use super::circle::{Axis, Beside, Circle, Corner, Line, Seen, Wall};
use super::prepare::{Around, FeatureKind, FeaturePair, Plane, Point, Start};
use crate::geometry::{Profile, Ring, Wall as ProfileWall};
use crate::spatial::RigidTransform;

/// A circle that is tilted by less than this (the sine of the angle) lies in a plane.
const UPRIGHT: f64 = 1e-7;
/// One that is tilted by less than this may come to lie in it: it touches with points.
const NEARLY_UPRIGHT: f64 = 0.1;
/// The same where points and the circle are both taken: the circle comes in little deeper than the points are.
const NEARLY_UPRIGHT_WITH_POINTS: f64 = 0.02;
/// Points of a circle that lies on a surface.
const RIM_POINTS: usize = 16;
/// Points of a circle between which its nearest ones are looked for.
const SAMPLES: usize = 48;
/// Distances that differ by less than this part of the radius around a circle are the same.
const ALIKE: f64 = 1e-9;
/// Points of a circle that are nearer to each other than this part of the radius are one.
const ONE_POINT: f64 = 1e-10;
/// What is deeper than this many margins is on another side of the body.
const DEEPEST: f64 = 4.0;

/// Whether the rim of a cylinder that nearly stands on its end is made of points, among them the lowest one, or is a
/// circle, whose lowest point moves around it. Points can all lie on a plane; a circle has the derivatives. Or it is both: points
/// keep what rocks out of the plane in a step that does not look at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rim {
    Points,
    Circle,
    Both,
}

/// A body of revolution with its size and the pose of its geometry in W.
type Placed<'a> = (&'a Profile, f64, &'a RigidTransform);

/// Adds the lowest points of a circle over a plane if they are nearer than `margin`: `down` is the normal of the plane in the
/// frame of the circle's geometry, and `height` tells how far over it a place is.
pub(super) fn rim_on_plane(
    ring: &Ring,
    down: &Vector3<f64>,
    height: impl Fn([f64; 3]) -> f64,
    plane: Plane,
    margin: f64,
    rim: Rim,
    mut add: impl FnMut(FeatureKind),
) {
    let &Ring { radius, height: level, .. } = ring;
    let tilt = down.x.hypot(down.y);
    let lowest = lowest_on_rim(ring, down, tilt);
    if height(lowest) >= margin {
        return;
    }
    let mut point = |place: [f64; 3]| {
        add(FeatureKind::PointPlane { point: Point::Place(place), radius: 0.0, plane });
    };
    if radius == 0.0 {
        point(lowest);
        return;
    }
    let is_circle = is_circle(tilt, rim);
    // Beside points that stay, one that runs around the rim has no place of its own.
    if tilt > UPRIGHT && rim == Rim::Points && !is_circle {
        point(lowest);
    }
    if !is_circle || rim == Rim::Both {
        rim_points(ring).for_each(&mut point);
    }
    if is_circle {
        add(FeatureKind::CirclePlane { height: level, radius, plane });
    }
}

fn is_circle(tilt: f64, rim: Rim) -> bool {
    let least = match rim {
        Rim::Points => NEARLY_UPRIGHT,
        Rim::Circle => UPRIGHT,
        Rim::Both => NEARLY_UPRIGHT_WITH_POINTS,
    };
    tilt > least
}

fn lowest_on_rim(ring: &Ring, down: &Vector3<f64>, tilt: f64) -> [f64; 3] {
    if tilt > UPRIGHT {
        [-down.x / tilt * ring.radius, -down.y / tilt * ring.radius, ring.height]
    } else {
        [ring.radius, 0.0, ring.height]
    }
}

fn rim_points(ring: &Ring) -> impl Iterator<Item = [f64; 3]> + use<> {
    let &Ring { radius, height, .. } = ring;
    (0..RIM_POINTS).map(move |k| {
        let (sin, cos) = (TAU * k as f64 / RIM_POINTS as f64).sin_cos();
        [radius * cos, radius * sin, height]
    })
}

/// Adds the features of a bolt (a cylinder, a cone or both) and a plate with a hole, the bolt first, that are nearer than
/// `margin`.
pub(super) fn bolt_and_hole(
    bolt: Placed<'_>,
    hole: Placed<'_>,
    margin: f64,
    rim: Rim,
    found: &mut Vec<FeaturePair>,
) {
    let start = found.len();
    circles_on_walls(hole, bolt, margin, rim, found);
    found[start..].iter_mut().for_each(FeaturePair::exchange);
    circles_on_walls(bolt, hole, margin, rim, found);
    circles_on_circles(bolt, hole, margin, found);
}

/// Where a circle is nearest to a wall.
#[derive(Clone, Debug)]
struct Nearest {
    wall: usize,
    kind: FeatureKind,
    distance: f64,
    /// In the frame of the wall's geometry.
    point: Vector3<f64>,
    /// Whether the point is beside the wall (0), or beyond its first (−1) or last (1) end.
    beyond: i8,
}

/// A wall at the size of its geometry.
struct Sized<'a> {
    wall: &'a ProfileWall,
    line: Line,
    size: f64,
}

impl<'a> Sized<'a> {
    fn new(wall: &'a ProfileWall, size: f64) -> Self {
        Self { wall, line: Line { normal: wall.normal, offset: wall.offset * size }, size }
    }

    fn is_plane(&self) -> bool {
        self.wall.normal[0] == 0.0
    }

    fn plane(&self) -> Plane {
        let up = self.wall.normal[1];
        Plane::Level { height: self.wall.offset * up, up }
    }

    fn distance(&self, point: &Vector3<f64>) -> f64 {
        self.line.from([point.x.hypot(point.y), point.z])
    }

    /// Whether a point is beyond an end where the body's surface turns away. Where it turns toward the point, the other wall is
    /// in the way as well.
    fn beyond(&self, point: &Vector3<f64>) -> i8 {
        let wall = self.wall;
        let from = [point.x.hypot(point.y) - wall.point[0] * self.size, point.z - wall.point[1] * self.size];
        let along = from[0] * wall.along[0] + from[1] * wall.along[1];
        if wall.rings[0].is_some() && along < wall.range[0] * self.size {
            -1
        } else if wall.rings[1].is_some() && along > wall.range[1] * self.size {
            1
        } else {
            0
        }
    }

    fn nearest(&self, index: usize, kind: FeatureKind, point: Vector3<f64>) -> Nearest {
        Nearest { wall: index, kind, distance: self.distance(&point), point, beyond: self.beyond(&point) }
    }
}

/// The circles of one body against the walls of another; the first one's features come first.
fn circles_on_walls(
    (round, round_size, x_wr): Placed<'_>,
    (body, body_size, x_wb): Placed<'_>,
    margin: f64,
    rim: Rim,
    found: &mut Vec<FeaturePair>,
) {
    let x_br = x_wb.inverse() * *x_wr;
    let walls: Vec<Sized<'_>> = body.walls.iter().map(|wall| Sized::new(wall, body_size)).collect();
    for ring in &round.rings {
        let radius = ring.radius * round_size;
        let circle = circle_of(ring, round_size, &x_br);
        let mut nearest: Vec<Nearest> = Vec::new();
        for (index, sized) in walls.iter().enumerate() {
            if ring.radius == 0.0 {
                let point = Point::Place([0.0, 0.0, ring.height]);
                let kind = if sized.is_plane() {
                    FeatureKind::PointPlane { point, radius: 0.0, plane: sized.plane() }
                } else {
                    FeatureKind::PointWall { point, wall: Box::new(wall_of(body, index)) }
                };
                nearest.push(sized.nearest(index, kind, circle.center));
            } else if sized.is_plane() {
                on_level(ring, round_size, &x_br, (index, sized), margin, rim, &mut nearest);
            } else {
                on_wall(ring, round_size, &x_br, &circle, (index, sized), wall_of(body, index), &mut nearest);
            }
        }
        let near = |n: &&Nearest| n.distance < margin && n.distance > -DEEPEST * margin;
        let met = nearest.iter().filter(near).filter(|of| is_met(of, &nearest, &walls, ONE_POINT * radius));
        found.extend(met.map(|of| FeaturePair { kind: of.kind.clone(), flipped: false }));
    }
}

/// Whether a circle meets a wall where it is nearest to it, and neither a wall next to it nor the circle between the two.
fn is_met(of: &Nearest, all: &[Nearest], walls: &[Sized<'_>], one_point: f64) -> bool {
    let next = |end: usize| {
        walls[of.wall].wall.rings[end]?;
        (of.wall + 2 * end).checked_sub(1)
    };
    let from_next = |wall: usize| walls[wall].distance(&of.point);
    let is_farther = |distance: f64, wall: usize| (distance, wall) > (of.distance, of.wall);
    match of.beyond {
        0 if of.distance >= 0.0 => true,
        // What is outside of the next wall is outside, and a circle that is inside both leaves through the nearer one.
        0 => !all.iter().any(|other| {
            let is_next = [0, 1].into_iter().filter_map(next).any(|wall| wall == other.wall);
            let is_inside = other.beyond == 0 && other.distance < 0.0;
            let is_beside = of.point.xy().dot(&other.point.xy()) >= 0.0;
            is_next
                && (from_next(other.wall) >= 0.0
                    || (is_inside && is_beside && is_farther(other.distance, other.wall)))
        }),
        // Where the circle is as good as a point there, and beyond both, it meets the plane that is farther.
        end => next(usize::from(end > 0)).is_some_and(|wall| {
            let is_point = |other: &Nearest| {
                other.wall == wall && other.beyond == -end && (of.point - other.point).norm() <= one_point
            };
            !is_farther(from_next(wall), wall) && all.iter().any(is_point)
        }),
    }
}

/// Whether a point (in the frame of a body's geometry) is over a disk or a ring of it, and not beyond its edge.
pub(super) fn is_over(plane: Plane, point: &Vector3<f64>, body: &Profile, size: f64) -> bool {
    let mut walls = body.walls.iter().map(|wall| Sized::new(wall, size)).filter(Sized::is_plane);
    walls.any(|sized| sized.plane() == plane && sized.beyond(point) == 0)
}

/// A circle in the frame of another geometry.
fn circle_of(ring: &Ring, size: f64, x_br: &RigidTransform) -> Circle {
    let radius = ring.radius * size;
    let [x, y] = [0, 1].map(|k| x_br.rotation.column(k) * radius);
    Circle { center: *x_br * Vector3::new(0.0, 0.0, ring.height * size), x, y }
}

/// A circle over a ring or a disk.
fn on_level(
    ring: &Ring,
    size: f64,
    x_br: &RigidTransform,
    (index, sized): (usize, &Sized<'_>),
    margin: f64,
    rim: Rim,
    out: &mut Vec<Nearest>,
) {
    let plane = sized.plane();
    let down = x_br.rotation.row(2).transpose() * sized.wall.normal[1];
    let tilt = down.x.hypot(down.y);
    let in_body = |place: [f64; 3]| *x_br * (Vector3::from(place) * size);
    let lowest = lowest_on_rim(ring, &down, tilt);
    let kind_of =
        |place: [f64; 3]| FeatureKind::PointPlane { point: Point::Place(place), radius: 0.0, plane };
    if is_circle(tilt, rim) {
        let kind = FeatureKind::CirclePlane { height: ring.height, radius: ring.radius, plane };
        out.push(sized.nearest(index, kind, in_body(lowest)));
        return;
    }
    if sized.distance(&in_body(lowest)) >= margin {
        return;
    }
    if tilt > UPRIGHT {
        out.push(sized.nearest(index, kind_of(lowest), in_body(lowest)));
    }
    out.extend(rim_points(ring).map(|place| sized.nearest(index, kind_of(place), in_body(place))));
}

/// A circle beside a cone or a cylinder.
fn on_wall(
    ring: &Ring,
    size: f64,
    x_br: &RigidTransform,
    circle: &Circle,
    (index, sized): (usize, &Sized<'_>),
    wall: Wall,
    out: &mut Vec<Nearest>,
) {
    let around = Around { height: ring.height, radius: ring.radius };
    let beside = Beside { circle: *circle, axis: z_axis() };
    let seen = |angle: f64| beside.seen(angle);
    let distance = |seen: &Seen<f64>| sized.line.from(seen.place);
    let slope = |seen: &Seen<f64>| sized.line.along_normal(&seen.first);
    let angle = |k: usize| TAU * k as f64 / SAMPLES as f64;
    let samples: Vec<Seen<f64>> = (0..SAMPLES).map(|k| seen(angle(k))).collect();
    let (least, most) = samples
        .iter()
        .map(distance)
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), d| (a.min(d), b.max(d)));
    if most - least <= ALIKE * ring.radius * size {
        out.extend(rim_points(ring).map(|place| {
            let kind = FeatureKind::PointWall { point: Point::Place(place), wall: Box::new(wall) };
            sized.nearest(index, kind, *x_br * (Vector3::from(place) * size))
        }));
        return;
    }
    for k in 0..SAMPLES {
        let (here, next) = (slope(&samples[k]), slope(&samples[(k + 1) % SAMPLES]));
        if here < 0.0 && next >= 0.0 {
            let start = root(angle(k), angle(k + 1), |angle| slope(&seen(angle)));
            let kind = FeatureKind::CircleWall { circle: around, wall: Box::new(wall), start: Start(start) };
            out.push(sized.nearest(index, kind, circle.point(start)));
        }
    }
}

/// Where a function that is negative at one angle and not at another, or the other way around, is 0 in between.
fn root(mut low: f64, mut high: f64, at: impl Fn(f64) -> f64) -> f64 {
    let (mut at_low, mut at_high) = (at(low), at(high));
    let rises = at_low < 0.0;
    for _ in 0..60 {
        // The secant, held off the ends so that both come nearer.
        let part = (at_low / (at_low - at_high)).clamp(0.02, 0.98);
        let part = if part.is_finite() { part } else { 0.5 };
        let between = low + (high - low) * part;
        let value = at(between);
        if (value < 0.0) == rises {
            (low, at_low) = (between, value);
        } else {
            (high, at_high) = (between, value);
        }
        if value == 0.0 || high - low < 1e-13 {
            break;
        }
    }
    0.5 * (low + high)
}

/// The z axis of a geometry in its own frame.
fn z_axis() -> Axis {
    Axis { origin: Vector3::zeros(), direction: Vector3::z() }
}

/// Where two walls of a body meet, at a size.
fn corner_of(profile: &Profile, ring: &Ring, size: f64) -> Corner {
    let line = |wall: usize| {
        let ProfileWall { normal, offset, .. } = profile.walls[wall];
        Line { normal, offset: offset * size }
    };
    Corner { at: [ring.radius * size, ring.height * size], lines: ring.walls.map(line) }
}

/// A wall of a body with the corners that it ends in, in the body's first size. (A tip is no corner: nothing is beyond it.)
fn wall_of(profile: &Profile, index: usize) -> Wall {
    let ProfileWall { normal, offset, rings, .. } = profile.walls[index];
    let corner = |ring: Option<usize>| {
        ring.map(|ring| &profile.rings[ring])
            .filter(|ring| ring.radius > 0.0)
            .map(|ring| corner_of(profile, ring, 1.0))
    };
    Wall { line: Line { normal, offset }, corners: rings.map(corner) }
}

/// The circles of two bodies against each other.
fn circles_on_circles(
    (bolt, bolt_size, x_wb): Placed<'_>,
    (hole, hole_size, x_wh): Placed<'_>,
    margin: f64,
    found: &mut Vec<FeaturePair>,
) {
    let x_hb = x_wh.inverse() * *x_wb;
    let has_radius = |ring: &&Ring| ring.radius > 0.0;
    for ring in bolt.rings.iter().filter(has_radius) {
        let beside = Beside { circle: circle_of(ring, bolt_size, &x_hb), axis: z_axis() };
        let radius = ring.radius * bolt_size;
        for edge in hole.rings.iter().filter(has_radius) {
            let corner = corner_of(hole, edge, hole_size);
            let angle = |k: usize| TAU * k as f64 / SAMPLES as f64;
            let approach = |angle: f64| beside.approach(&corner.at, angle)[0];
            let to = |seen: &Seen<f64>| [0, 1].map(|k| seen.place[k] - corner.at[k]);
            let samples: Vec<(f64, bool)> = (0..SAMPLES)
                .map(|k| {
                    let [across, along] = to(&beside.seen(angle(k)));
                    // What is nearer than this at a point is not farther at its neighbours.
                    let reach = DEEPEST * margin + radius * TAU / SAMPLES as f64;
                    (approach(angle(k)), across.hypot(along) <= reach)
                })
                .collect();
            for k in 0..SAMPLES {
                let (here, next) = (samples[k], samples[(k + 1) % SAMPLES]);
                if here.0 >= 0.0 || next.0 < 0.0 || !(here.1 || next.1) {
                    continue;
                }
                // Wherever their normal is one of the corner the circle has to stay outside of it, if it meets it there or not: two
                // circles cross at two points, which hold the bolt together.
                let start = root(angle(k), angle(k + 1), approach);
                let Some(sign) = beside.common_normal(&corner, start) else { continue };
                let at = beside.seen(start);
                let speed = at.first[0].hypot(at.first[1]);
                let normal = [-at.first[1] * sign / speed, at.first[0] * sign / speed];
                let [across, along] = to(&at);
                let distance = normal[0] * across + normal[1] * along;
                if distance < margin && distance > -DEEPEST * margin {
                    let circle = Around { height: ring.height, radius: ring.radius };
                    let corner = Box::new(corner_of(hole, edge, 1.0));
                    let kind = FeatureKind::CircleCorner { circle, corner, start: Start(start) };
                    found.push(FeaturePair { kind, flipped: false });
                }
            }
        }
    }
}
