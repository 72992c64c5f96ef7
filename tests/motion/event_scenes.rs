//! Bodies that fall and touch, for the tests of events.

use nalgebra::{Matrix3, Vector3};

use crate::moving_bodies::compliant;

use isobar::contact::{Collider, ContactGeometry, ContactModel, Material};
use isobar::geometry::Shape;
use isobar::multibody::{
    Body, BodyGeometry, BodyState, MassProperties, MassSource, Model, ModelBuilder, NamedMaterial,
};
use isobar::rollout::EventKind;
use isobar::spatial::{Quaternion, RigidTransform, SpatialVelocity, rotation_from_rpy};
use isobar::step::{ControlledMethod, ErrorControlled, Integrator, SolverTolerance, VelocityLevel};

pub const GRAVITY: f64 = 9.81;
pub const RADIUS: f64 = 0.05;
pub const MASS: f64 = 0.2;

pub fn controlled(method: ControlledMethod, accuracy: f64) -> Integrator {
    Integrator::ErrorControlled(ErrorControlled { method, accuracy })
}

pub fn place(rpy: [f64; 3], p: [f64; 3]) -> RigidTransform {
    RigidTransform::new(rotation_from_rpy(rpy[0], rpy[1], rpy[2]), Vector3::from(p))
}

pub fn body_state(rpy: [f64; 3], p: [f64; 3], w: [f64; 3], v: [f64; 3]) -> BodyState {
    BodyState {
        orientation: Quaternion::from_matrix(&rotation_from_rpy(rpy[0], rpy[1], rpy[2])),
        position: Vector3::from(p),
        velocity: SpatialVelocity::new(Vector3::from(w), Vector3::from(v)),
    }
}

pub fn foam(modulus: f64, dissipation: f64) -> Vec<NamedMaterial> {
    vec![NamedMaterial { name: "foam".into(), material: Material::new(modulus, dissipation, 0.3) }]
}

pub fn geometry(
    geometry: ContactGeometry,
    materials: &[NamedMaterial],
    x_bg: RigidTransform,
) -> BodyGeometry {
    let is_rigid = geometry.is_rigid();
    let material = if is_rigid { Material::NONE } else { materials[0].material };
    let collider = Collider::new(geometry, material, 0.1);
    BodyGeometry { material: (!is_rigid).then_some(0), ..BodyGeometry::new(collider).at(x_bg) }
}

/// A ball whose mesh is turned, so that it is lowest in one vertex.
pub fn ball(materials: &[NamedMaterial]) -> BodyGeometry {
    compliant(&Shape::Sphere { radius: RADIUS }, 0.05, place([0.3, 0.2, 0.1], [0.0; 3]), materials, 0)
}

/// How far below its origin the ball's lowest vertex is.
pub fn lowest(ball: &BodyGeometry) -> f64 {
    let ContactGeometry::Compliant(field) = &*ball.collider.geometry else { panic!("compliant") };
    field.mesh().vertices.iter().map(|v| -(ball.x_bg * *v).z).fold(0.0, f64::max)
}

pub fn mass(of: f64) -> MassProperties {
    MassProperties {
        mass: of,
        center_of_mass: Vector3::zeros(),
        inertia: Matrix3::identity() * (0.4 * of * 0.0025),
    }
}

/// Free bodies over others that do not move; two of which touch.
pub fn model(
    free: Vec<BodyGeometry>,
    fixed: Vec<(RigidTransform, BodyGeometry)>,
    materials: Vec<NamedMaterial>,
) -> Model {
    let mut bodies: Vec<Body> = (free.into_iter().enumerate())
        .map(|(i, own)| {
            Body::free(format!("free {i}"), MassSource::Given(mass(MASS)), vec![own]).expect("a mass")
        })
        .collect();
    let fixed = fixed.into_iter().enumerate();
    bodies.extend(fixed.map(|(i, (pose, own))| Body::fixed(format!("fixed {i}"), pose, vec![own])));
    ModelBuilder { bodies, materials, ..Default::default() }.build().expect("a model")
}

pub fn up(body: usize) -> EventKind {
    EventKind::Apex { body, direction: Vector3::z() }
}

pub fn touch(model: &Model, pair: usize) -> EventKind {
    EventKind::Touch { pair: model.pairs()[pair] }
}

pub fn lift_off(model: &Model, pair: usize) -> EventKind {
    EventKind::LiftOff { pair: model.pairs()[pair] }
}

/// Solved until nothing improves that derivatives could tell.
pub fn lagged() -> VelocityLevel {
    let tolerance = SolverTolerance { relative: 1e-12, max_iterations: 50 };
    VelocityLevel { model: ContactModel::Lagged, tolerance }
}
