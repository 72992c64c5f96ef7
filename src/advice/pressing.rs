//! Two bodies pressed together with a force.

use nalgebra::{Matrix3, SymmetricEigen, Vector3};
use serde::Serialize;

use super::elastic::ElasticMaterial;
use crate::contact::{Workspace, for_each_contact_polygon};
use crate::multibody::{BodyFrame, BodyGeometry, BodyPair, GeometryPair, Model, PairWorkspace, with_pair};

/// How the bodies of a scene are pressed together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pressing {
    /// The force, N; without it the weight of the lighter of two bodies (of a link: its own, without what it
    /// carries), or 1 N where neither has a mass.
    pub load: Option<f64>,
    /// The way of the lighter of two bodies towards the other in W, of any length but 0; without it they are moved
    /// apart where they overlap, and otherwise along the normal of a half-space or from centre to centre.
    pub direction: Option<Vector3<f64>>,
    /// A point in W: the lighter body is first moved sideways, so that its centre goes through it on its way. Without it
    /// bodies start where they are.
    pub place: Option<Vector3<f64>>,
    /// Materials of the scene that stand for elastic ones, whose moduli are looked for. The bodies of others are rigid then.
    pub elastic: Vec<ElasticMaterial>,
}

/// Parts of the smaller body's size by which bodies approach each other while none is met.
const APPROACH: f64 = 0.02;
/// Forces below this part of the load are rounding: bodies that only touch have some.
const ROUNDING: f64 = 1e-9;
/// Bisections of a distance.
const BISECTIONS: usize = 40;

/// Two bodies that are pressed together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Pressed {
    /// How far they have come since they first touched, m.
    pub penetration: f64,
    /// Area of the contact surface, m².
    pub area: f64,
    /// Number of its polygons: elements of the one body cut by those of the other.
    pub elements: usize,
    /// Largest pressure, Pa.
    pub max_pressure: f64,
    /// How the force grows with the penetration, N/m.
    pub stiffness: f64,
}

/// Why two bodies cannot be pressed together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum NotPressed {
    /// They do not meet, moved towards each other.
    Apart,
    /// They give way throughout: the largest force between them, N.
    Sinks(f64),
}

/// One body on its way towards another.
pub(super) struct Press<'m> {
    model: &'m Model,
    pairs: &'m [GeometryPair],
    /// The frames of the bodies, of which that of A is moved.
    frames: Vec<BodyFrame>,
    start: Vector3<f64>,
    /// The way of A towards B, a unit vector.
    direction: Vector3<f64>,
    /// Smallest size of a bounded body of the two, m.
    size: f64,
    /// The way of A until it touches B, m.
    touch: f64,
    /// The force from which on they touch, N.
    least: f64,
    workspace: PairWorkspace,
}

impl<'m> Press<'m> {
    /// Brings two bodies, to be pressed with a load, to where they just touch; `None` if they do not meet.
    pub fn new(
        model: &'m Model,
        frames: &[BodyFrame],
        pairs: &'m [GeometryPair],
        load: f64,
        how: &Pressing,
    ) -> Option<Self> {
        let BodyPair { a, b } = pairs[0].bodies;
        let moves_b = mass(model, b) < mass(model, a);
        let sign = if moves_b { -1.0 } else { 1.0 };
        let size = thickness(model, &pairs[0]);
        let sizes = [a, b].map(|body| model.bodies()[body].size());
        let largest = sizes.iter().flatten().map(|size| size.norm()).fold(0.0, f64::max);
        let mut press = Self {
            model,
            pairs,
            frames: frames.to_vec(),
            start: frames[a].pose.translation,
            direction: Vector3::zeros(),
            size,
            touch: 0.0,
            least: ROUNDING * load,
            workspace: PairWorkspace::default(),
        };
        let force = press.wrench_on_a(0.0);
        press.direction = match how.direction {
            Some(direction) => direction.normalize() * sign,
            None if force.norm() > press.least => -force / force.norm(),
            None => towards(model, frames, &pairs[0])?,
        };
        if let (Some(place), Some(center)) = (how.place, center(model, frames, &pairs[0], moves_b)) {
            let way = place - center;
            press.start += (way - press.direction * way.dot(&press.direction)) * sign;
        }
        let step = APPROACH * size;
        let far = (frames[b].pose.translation - frames[a].pose.translation).norm() + 2.0 * largest;
        if !(step > 0.0 && far.is_finite()) {
            return None;
        }
        // To a place where they do not touch, then forwards to where they do.
        let steps = (far / step).ceil() as usize;
        let apart = (0..=steps).map(|i| -(i as f64) * step).find(|&way| !press.touches(way))?;
        let mut ends = (1..=steps)
            .map(|i| apart + i as f64 * step)
            .find(|&way| press.touches(way))
            .map(|way| [way - step, way])?;
        for _ in 0..BISECTIONS {
            let middle = 0.5 * (ends[0] + ends[1]);
            ends[usize::from(press.touches(middle))] = middle;
        }
        press.touch = ends[1];
        Some(press)
    }

    /// The same way with other geometries of the same bodies, and some of their pairs.
    pub fn on(&self, model: &'m Model, pairs: &'m [GeometryPair]) -> Self {
        let (frames, workspace) = (self.frames.clone(), PairWorkspace::default());
        Self { model, pairs, frames, workspace, ..*self }
    }

    /// The force on A in W with A moved by a way.
    fn wrench_on_a(&mut self, way: f64) -> Vector3<f64> {
        let a = self.pairs[0].bodies.a;
        self.frames[a].pose.translation = self.start + self.direction * way;
        self.model.body_pair_contact(&self.frames, self.pairs, &mut self.workspace).wrench_on_a.translational
    }

    /// The force against the way, N.
    fn force(&mut self, way: f64) -> f64 {
        let direction = self.direction;
        -self.wrench_on_a(way).dot(&direction)
    }

    /// Whether the bodies push on each other.
    fn touches(&mut self, way: f64) -> bool {
        self.force(way) > self.least
    }

    /// The force against the way at a penetration, N.
    pub fn force_at(&mut self, penetration: f64) -> f64 {
        self.force(self.touch + penetration)
    }

    /// The penetration at which the force is a load.
    pub fn penetration(&mut self, load: f64) -> Result<f64, NotPressed> {
        let mut ends = [0.0, 1e-4 * self.size];
        let mut largest = 0.0_f64;
        loop {
            let force = self.force_at(ends[1]);
            largest = largest.max(force);
            if force >= load {
                break;
            }
            if ends[1] > self.size {
                return Err(NotPressed::Sinks(largest));
            }
            ends = [ends[1], 1.5 * ends[1]];
        }
        for _ in 0..BISECTIONS {
            let middle = 0.5 * (ends[0] + ends[1]);
            ends[usize::from(self.force_at(middle) >= load)] = middle;
        }
        Ok(ends[1])
    }

    /// Smallest size of a bounded body of the two, m.
    pub fn size(&self) -> f64 {
        self.size
    }

    /// The contact surface at a penetration.
    pub fn patch(&mut self, penetration: f64) -> Patch {
        self.force_at(penetration);
        let mut sums = PatchSums { along: self.direction, ..Default::default() };
        let mut workspace = Workspace::default();
        for pair in self.pairs {
            with_pair(self.model, &self.frames, pair, |query| {
                for_each_contact_polygon(query, self.model.contact(), &mut workspace, |p| {
                    sums.add(p.vertices);
                });
            });
        }
        sums.patch()
    }

    /// The way of A towards B, a unit vector.
    pub fn direction(&self) -> Vector3<f64> {
        self.direction
    }

    /// How the force grows at a penetration, N/m.
    pub fn stiffness_at(&mut self, penetration: f64) -> f64 {
        let step = 1e-3 * penetration;
        (self.force_at(penetration + step) - self.force_at(penetration - step)) / (2.0 * step)
    }

    /// The bodies pressed together with a load.
    fn pressed(&mut self, load: f64) -> Result<Pressed, NotPressed> {
        let penetration = self.penetration(load)?;
        let stiffness = self.stiffness_at(penetration);
        let elements = self.patch(penetration).elements;
        let contact = self.model.body_pair_contact(&self.frames, self.pairs, &mut self.workspace);
        let (area, max_pressure) = (contact.area, contact.max_pressure);
        Ok(Pressed { penetration, area, elements, max_pressure, stiffness })
    }
}

/// A contact surface seen along the way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patch {
    /// Its area across the way, m²: the side walls of a stamp have none.
    pub area: f64,
    /// The sides of the rectangle with the same second moments of area, m, and their directions in W.
    pub length: f64,
    pub width: f64,
    pub axes: [Vector3<f64>; 2],
    /// Number of its polygons.
    pub elements: usize,
}

impl Patch {
    /// Whether it is so many polygons wide.
    pub fn shows(&self, across: f64) -> bool {
        self.elements > 0 && self.width >= across * (self.area / self.elements as f64).sqrt()
    }
}

/// Sums over the triangles of a contact surface.
#[derive(Default)]
struct PatchSums {
    along: Vector3<f64>,
    elements: usize,
    area: f64,
    first: Vector3<f64>,
    second: Matrix3<f64>,
}

impl PatchSums {
    fn add(&mut self, vertices: &[Vector3<f64>]) {
        self.elements += 1;
        for k in 2..vertices.len() {
            let [a, b, c] = [vertices[0], vertices[k - 1], vertices[k]];
            let area = 0.5 * (b - a).cross(&(c - a)).dot(&self.along).abs();
            let sum = a + b + c;
            let squares = [a, b, c, sum].iter().map(|x| x * x.transpose()).sum::<Matrix3<f64>>();
            self.area += area;
            self.first += sum * (area / 3.0);
            self.second += squares * (area / 12.0);
        }
    }

    fn patch(&self) -> Patch {
        let area = self.area.max(f64::MIN_POSITIVE);
        let mean = self.first / area;
        let across = Matrix3::identity() - self.along * self.along.transpose();
        let moments = across * (self.second / area - mean * mean.transpose()) * across;
        let eigen = SymmetricEigen::new(moments);
        // The way itself has none.
        let mut order = [0, 1, 2];
        order.sort_by(|&i, &j| eigen.eigenvalues[j].total_cmp(&eigen.eigenvalues[i]));
        let side = |k: usize| (12.0 * eigen.eigenvalues[order[k]].max(0.0)).sqrt();
        let axis = |k: usize| eigen.eigenvectors.column(order[k]).into_owned();
        let axes = [axis(0), axis(1)];
        Patch { area: self.area, length: side(0), width: side(1), axes, elements: self.elements }
    }
}

/// The smallest size of a bounded body of two, m; ∞ without any.
pub(super) fn thickness(model: &Model, pair: &GeometryPair) -> f64 {
    let sizes = [pair.bodies.a, pair.bodies.b].map(|body| model.bodies()[body].size());
    sizes.iter().flatten().map(|size| size.min()).fold(f64::INFINITY, f64::min)
}

/// Presses two bodies together.
pub(super) fn press(
    model: &Model,
    frames: &[BodyFrame],
    pairs: &[GeometryPair],
    load: f64,
    how: &Pressing,
) -> Result<Pressed, NotPressed> {
    Press::new(model, frames, pairs, load, how).ok_or(NotPressed::Apart)?.pressed(load)
}

/// The way of the first geometry towards the second: along the normal of a half-space, or from centre to
/// centre; `None` if these are the same.
fn towards(model: &Model, frames: &[BodyFrame], pair: &GeometryPair) -> Option<Vector3<f64>> {
    let up = |body: usize, index: usize| {
        let pose = frames[body].pose * model.bodies()[body].geometries[index].x_bg;
        pose.rotation.column(2).into_owned()
    };
    let way = match [false, true].map(|of_b| center(model, frames, pair, of_b)) {
        [Some(from), Some(to)] => to - from,
        [None, _] => up(pair.bodies.a, pair.geometry_a),
        [_, None] => -up(pair.bodies.b, pair.geometry_b),
    };
    (way.norm() > 0.0).then(|| way / way.norm())
}

/// The centre of the geometry of A, or of B, in W; none of a half-space.
fn center(model: &Model, frames: &[BodyFrame], pair: &GeometryPair, of_b: bool) -> Option<Vector3<f64>> {
    let (body, geometry) = one_of(model, pair, of_b);
    let shape = &geometry.collider.geometry;
    (!shape.is_half_space()).then(|| frames[body].pose * geometry.x_bg * middle(shape.vertices()))
}

/// The geometry of A, or of B, with its body.
pub(super) fn one_of<'m>(model: &'m Model, pair: &GeometryPair, of_b: bool) -> (usize, &'m BodyGeometry) {
    let GeometryPair { bodies, geometry_a, geometry_b } = *pair;
    let (body, index) = if of_b { (bodies.b, geometry_b) } else { (bodies.a, geometry_a) };
    (body, &model.bodies()[body].geometries[index])
}

/// How long the geometry of A, or of B, is along a direction in W, m; ∞ of a half-space.
pub(super) fn span(
    model: &Model,
    frames: &[BodyFrame],
    pair: &GeometryPair,
    of_b: bool,
    along: &Vector3<f64>,
) -> f64 {
    let (body, geometry) = one_of(model, pair, of_b);
    if geometry.collider.geometry.is_half_space() {
        return f64::INFINITY;
    }
    let along = (frames[body].pose.rotation * geometry.x_bg.rotation).transpose() * along;
    let ways = geometry.collider.geometry.vertices().iter().map(|vertex| vertex.dot(&along));
    let [least, most] = ways.fold([f64::INFINITY, f64::NEG_INFINITY], |[a, b], x| [x.min(a), x.max(b)]);
    most - least
}

/// The mass of a body; a fixed one is infinitely heavy.
pub(super) fn mass(model: &Model, body: usize) -> f64 {
    model.body_mass(body).map_or(f64::INFINITY, |mass| mass.mass)
}

/// The middle of the box around points.
fn middle(points: &[Vector3<f64>]) -> Vector3<f64> {
    let ends =
        points.iter().map(|point| [*point, *point]).reduce(|[low, high], [p, _]| [low.inf(&p), high.sup(&p)]);
    ends.map_or(Vector3::zeros(), |[low, high]| (low + high) * 0.5)
}
