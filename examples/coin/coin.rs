//! A sliding and spinning coin (Masterjohn §V-A): a rigid disk of the size of a quarter dollar on
//! a compliant plane.
//!
//! Sliding friction and drilling friction come to rest together: whatever the coin is set off
//! with, v/(ωR) tends to 0.653. With friction sampled at the centroids of the faces the limit is
//! that of these points, see [`limit`].

use std::f64::consts::{PI, TAU};

use isobar::contact::{Collider, ContactSettings, Material, SurfaceRepresentation};
use isobar::field::RigidSurface;
use isobar::geometry::SurfaceMesh;
use isobar::multibody::{
    Body, BodyGeometry, BodyState, MassProperties, MassSource, Model, ModelBuilder, NamedMaterial, State,
};
use isobar::spatial::RigidTransform;
use isobar::step::{Integrator, StepError, StepProblem, StepWorkspace};
use nalgebra::{Matrix3, Vector2, Vector3};

/// Radius, thickness (m) and mass (kg) of the coin.
pub const RADIUS: f64 = 0.01213;
pub const THICKNESS: f64 = 0.00175;
pub const MASS: f64 = 0.00567;
const FRICTION: f64 = 0.2;
/// Modulus and depth of the plane.
const MODULUS: f64 = 1e9;
const DEPTH: f64 = THICKNESS;
const GRAVITY: f64 = 9.81;

/// How the coin's faces are divided.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Division {
    /// Segments of the circle.
    pub segments: usize,
    /// Rings around the centre; with one the face is a fan of triangles.
    pub rings: usize,
}

/// The fan of the paper.
pub const FAN: Division = Division { segments: 152, rings: 1 };

/// The coin, its bottom in the plane z = 0: two faces and the rim, normals outward.
fn mesh(division: Division) -> SurfaceMesh {
    let Division { segments, rings } = division;
    let (mut vertices, mut triangles) = (Vec::new(), Vec::new());
    let number =
        |ring: usize, k: usize| if ring == 0 { 0 } else { (1 + (ring - 1) * segments + k % segments) as u32 };
    let count = (1 + rings * segments) as u32;
    for z in [0.0, THICKNESS] {
        vertices.push(Vector3::new(0.0, 0.0, z));
        for ring in 1..=rings {
            let r = RADIUS * ring as f64 / rings as f64;
            // Every other ring is turned by half a segment, so that triangles are not thin.
            let phase = if rings > 1 { 0.5 * (ring % 2) as f64 } else { 0.0 };
            vertices.extend((0..segments).map(|k| {
                let angle = TAU * (k as f64 + phase) / segments as f64;
                Vector3::new(r * angle.cos(), r * angle.sin(), z)
            }));
        }
    }
    let mut face = |[a, b, c]: [u32; 3]| {
        triangles.push([a, c, b]);
        triangles.push([count + a, count + b, count + c]);
    };
    for k in 0..segments {
        face([0, number(1, k), number(1, k + 1)]);
        for ring in 1..rings {
            // Of each quadrilateral the two triangles with the shorter diagonal.
            let (a, b) = (number(ring, k), number(ring, k + 1));
            let (c, d) = (number(ring + 1, k), number(ring + 1, k + 1));
            if ring % 2 == 0 {
                face([a, c, b]);
                face([b, c, d]);
            } else {
                face([a, c, d]);
                face([a, d, b]);
            }
        }
    }
    for k in 0..segments {
        let (a, b) = (number(rings, k), number(rings, k + 1));
        triangles.push([a, b, count + b]);
        triangles.push([a, count + b, count + a]);
    }
    SurfaceMesh { vertices, triangles }
}

/// Centroids and areas of the faces that touch the plane.
pub fn points(division: Division, surface: SurfaceRepresentation) -> Vec<(Vector2<f64>, f64)> {
    let mesh = mesh(division);
    let bottom = mesh.triangles.iter().map(|t| t.map(|k| mesh.vertices[k as usize]));
    let bottom = bottom.filter(|t| t.iter().all(|v| v.z == 0.0)).map(|t| t.map(|v| v.xy()));
    let mut points = Vec::new();
    for [a, b, c] in bottom {
        let area = 0.5 * (b - a).perp(&(c - a)).abs();
        let centroid = (a + b + c) / 3.0;
        match surface {
            SurfaceRepresentation::Polygons => points.push((centroid, area)),
            SurfaceRepresentation::Triangles => {
                points.extend([(a, b), (b, c), (c, a)].map(|(p, q)| ((p + q + centroid) / 3.0, area / 3.0)));
            }
        }
    }
    points
}

/// The limit of v/(ωR) with a uniform pressure at these points, weighted by area: where the
/// deceleration of v and of ωR are in the ratio of the two.
pub fn limit(points: &[(Vector2<f64>, f64)]) -> f64 {
    let excess = |ratio: f64| {
        let (mut force, mut moment) = (0.0, 0.0);
        for (x, weight) in points {
            let x = x / RADIUS;
            let v = Vector2::new(ratio - x.y, x.x);
            let direction = v / (v.norm() + 1e-15);
            force += weight * direction.x;
            moment += weight * x.perp(&direction);
        }
        // m v̇ = −F and ½ m R² ω̇ = −M.
        force / ratio - 2.0 * moment
    };
    let (mut low, mut high): (f64, f64) = (0.05, 3.0);
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if excess(middle) * excess(low) > 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

/// The model, and the coin at rest where the plane bears its weight.
pub fn model(division: Division, surface: SurfaceRepresentation, stiction_velocity: f64) -> (Model, State) {
    let material = Material::new(MODULUS, 10.0, FRICTION).with_relaxation_time(1e-3);
    let materials = vec![NamedMaterial { name: "metal".into(), material }];
    let middle = RigidTransform::from_translation([0.0, 0.0, -0.5 * THICKNESS]);
    let coin = Collider::rigid(RigidSurface::new(mesh(division)), material);
    let coin = BodyGeometry::new(coin).at(middle).of_material(0);
    let plane = BodyGeometry::new(Collider::compliant_half_space(material, DEPTH)).of_material(0);
    let square = MASS * RADIUS * RADIUS;
    let across = 0.25 * square + MASS * THICKNESS * THICKNESS / 12.0;
    let mass = MassProperties {
        mass: MASS,
        center_of_mass: Vector3::zeros(),
        inertia: Matrix3::from_diagonal(&Vector3::new(across, across, 0.5 * square)),
    };
    let bodies = vec![
        Body::free("coin", MassSource::Given(mass), vec![coin]).expect("a valid mass"),
        Body::fixed("plane", RigidTransform::identity(), vec![plane]),
    ];
    let settings = ContactSettings { surface, stiction_velocity, ..Default::default() };
    let gravity = Vector3::new(0.0, 0.0, -GRAVITY);
    let model = ModelBuilder { bodies, materials, gravity, contact: settings, ..Default::default() };
    let model = model.build().expect("a valid model");
    let area: f64 = points(division, surface).iter().map(|p| p.1).sum();
    let sink = MASS * GRAVITY * DEPTH / (MODULUS * area);
    let pose = RigidTransform::from_translation([0.0, 0.0, 0.5 * THICKNESS - sink]);
    (model, State::of_bodies(vec![BodyState::at_rest(&pose)]))
}

/// Sets the coin off with v/(ωR) = `ratio`, the larger of v and ωR being `speed` in m/s.
pub fn set_off(state: &mut State, ratio: f64, speed: f64) {
    let (v, rim) = if ratio > 1.0 { (speed, speed / ratio) } else { (speed * ratio, speed) };
    let velocity = &mut state.bodies[0].velocity;
    velocity.translational = Vector3::new(v, 0.0, 0.0);
    velocity.rotational = Vector3::new(0.0, 0.0, rim / RADIUS);
}

/// What the coin does from step to step.
#[derive(Clone, Debug, Default)]
pub struct Slide {
    /// Time in s, v and ωR in m/s after each step.
    pub speeds: Vec<[f64; 3]>,
    /// Position x, y in m and angle times R in m.
    pub places: Vec<[f64; 3]>,
}

impl Slide {
    /// v/(ωR) at the last step after which the coin moves faster than `speed`.
    pub fn ratio_above(&self, speed: f64) -> Option<f64> {
        let last = self.speeds.iter().rev().find(|[_, v, rim]| v.max(*rim) > speed)?;
        Some(last[1] / last[2])
    }
}

/// Lets the coin slide until it is slower than 0.5 mm/s, or until the end.
pub fn slide(
    model: &Model,
    start: &State,
    integrator: Integrator,
    dt: f64,
    until: f64,
) -> Result<Slide, StepError> {
    let mut state = start.clone();
    let mut workspace = StepWorkspace::default();
    let mut out = Slide::default();
    let mut angle = 0.0;
    for step in 1..=(until / dt).round() as usize {
        state = integrator.step(&StepProblem::new(model, &state, dt), &mut workspace)?;
        let body = &state.bodies[0];
        let (v, w) = (body.velocity.translational, body.velocity.rotational.z);
        angle += w * dt;
        out.speeds.push([step as f64 * dt, v.xy().norm(), (w * RADIUS).abs()]);
        out.places.push([body.position.x, body.position.y, angle * RADIUS]);
        if v.xy().norm().max((w * RADIUS).abs()) < 5e-4 {
            break;
        }
    }
    Ok(out)
}

/// The area of the disk over that of the faces: how round the coin is.
pub fn roundness(division: Division) -> f64 {
    let area: f64 = points(division, SurfaceRepresentation::Polygons).iter().map(|p| p.1).sum();
    area / (PI * RADIUS * RADIUS)
}

/// ‖x − x_ref‖ / ‖x_ref‖ over the times that both have, as the paper has it.
pub fn relative_error(own: &Slide, every: usize, reference: &Slide, reference_every: usize) -> f64 {
    let places = own.places.iter().skip(every - 1).step_by(every);
    let exact = reference.places.iter().skip(reference_every - 1).step_by(reference_every);
    let (mut difference, mut size) = (0.0, 0.0);
    for (a, b) in places.zip(exact) {
        difference += a.iter().zip(b).map(|(x, y)| (x - y).powi(2)).sum::<f64>();
        size += b.iter().map(|y| y * y).sum::<f64>();
    }
    (difference / size).sqrt()
}

/// The slope between the first and the last point on logarithmic axes.
pub fn order(points: &[(f64, f64)]) -> f64 {
    let (a, b) = (points[0], points[points.len() - 1]);
    (b.1 / a.1).ln() / (b.0 / a.0).ln()
}
