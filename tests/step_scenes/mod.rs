//! Bodies and scenes that the tests and benchmarks of velocity-level steps share.
#![allow(dead_code, reason = "each test binary uses its own part of this module")]

use std::sync::Arc;

use isobar::contact::{Collider, ContactGeometry, ContactModel, ContactSettings, Material};
use isobar::field::{PressureField, RigidSurface, primitive_field};
use isobar::geometry::{Shape, boundary_surface};
use isobar::multibody::{
    Body, BodyGeometry, BodyState, MassProperties, MassSource, Model, NamedMaterial, State,
};
use isobar::spatial::{Quaternion, RigidTransform, SpatialVelocity};
use nalgebra::{Matrix3, Vector3};

/// The contact models of velocity-level steps.
pub const MODELS: [ContactModel; 4] =
    [ContactModel::Sap, ContactModel::Lagged, ContactModel::Similar, ContactModel::Tamsi];

/// Gravity, m/s².
pub const GRAVITY: f64 = 9.81;

/// A material with equal friction coefficients.
pub fn material(hydroelastic_modulus: f64, dissipation: f64, relaxation_time: f64, friction: f64) -> Material {
    Material {
        hydroelastic_modulus,
        dissipation,
        relaxation_time,
        static_friction: friction,
        dynamic_friction: friction,
    }
}

/// A compliant primitive.
pub fn compliant(shape: Shape, resolution: f64) -> Arc<ContactGeometry> {
    let (mesh, extent) = primitive_field(&shape, resolution).expect("a valid shape");
    Arc::new(ContactGeometry::Compliant(PressureField::new(mesh, extent).expect("a valid field")))
}

/// A rigid primitive.
pub fn rigid(shape: Shape, resolution: f64) -> Arc<ContactGeometry> {
    let (mesh, _) = primitive_field(&shape, resolution).expect("a valid shape");
    Arc::new(ContactGeometry::Rigid(RigidSurface::new(boundary_surface(&mesh))))
}

/// A scene under construction.
#[derive(Default)]
pub struct Builder {
    bodies: Vec<Body>,
    materials: Vec<NamedMaterial>,
    states: Vec<BodyState>,
}

/// The moments of inertia of a solid ball.
pub fn ball_inertia(mass: f64, radius: f64) -> Matrix3<f64> {
    Matrix3::identity() * (0.4 * mass * radius * radius)
}

/// The moments of inertia of a solid box.
pub fn box_inertia(mass: f64, size: [f64; 3]) -> Matrix3<f64> {
    let [x, y, z] = size.map(|s| s * s);
    Matrix3::from_diagonal(&(Vector3::new(y + z, z + x, x + y) * (mass / 12.0)))
}

/// The moments of inertia of a solid cylinder around z.
pub fn cylinder_inertia(mass: f64, radius: f64, length: f64) -> Matrix3<f64> {
    let across = mass * (3.0 * radius * radius + length * length) / 12.0;
    Matrix3::from_diagonal(&Vector3::new(across, across, 0.5 * mass * radius * radius))
}

impl Builder {
    /// Adds a material of its own for a geometry in its body's frame.
    fn geometry(&mut self, geometry: Arc<ContactGeometry>, material: Material, thickness: f64) -> BodyGeometry {
        self.materials.push(NamedMaterial { name: format!("material {}", self.materials.len()), material });
        BodyGeometry {
            x_bg: RigidTransform::identity(),
            collider: Collider::new(geometry, material, thickness),
            material: Some(self.materials.len() - 1),
            unit_mass: None,
        }
    }

    /// Adds a fixed body.
    pub fn fixed(
        &mut self,
        geometry: Arc<ContactGeometry>,
        material: Material,
        thickness: f64,
        pose: RigidTransform,
    ) {
        let geometry = self.geometry(geometry, material, thickness);
        let name = format!("body {}", self.bodies.len());
        self.bodies.push(Body::fixed(name, pose, SpatialVelocity::zero(), vec![geometry]));
    }

    /// Adds a free body, held by a guide along an axis with a damping if one is given.
    pub fn free(
        &mut self,
        geometry: Arc<ContactGeometry>,
        material: Material,
        mass: f64,
        inertia: Matrix3<f64>,
        guide: Option<(Vector3<f64>, f64)>,
        state: BodyState,
    ) {
        let geometry = self.geometry(geometry, material, 1.0);
        let mass = MassProperties { mass, center_of_mass: Vector3::zeros(), inertia };
        let name = format!("body {}", self.bodies.len());
        let mut body = Body::free(name, MassSource::Given(mass), vec![geometry]).expect("a valid mass");
        if let Some((axis, damping)) = guide {
            body = body.along(axis, damping);
        }
        self.bodies.push(body);
        self.states.push(state);
    }

    /// The model under gravity along −z (or none), and the initial state.
    pub fn build(self, gravity: Vector3<f64>, settings: ContactSettings) -> (Model, State) {
        let model = Model::new(self.bodies, self.materials, gravity, settings, &[]).expect("a valid model");
        (model, State { bodies: self.states })
    }
}

/// At rest without rotation.
pub fn resting(position: Vector3<f64>) -> BodyState {
    moving(Quaternion::identity(), position, Vector3::zeros(), Vector3::zeros())
}

/// A state of one body.
pub fn moving(
    orientation: Quaternion,
    position: Vector3<f64>,
    angular: Vector3<f64>,
    linear: Vector3<f64>,
) -> BodyState {
    BodyState { orientation, position, velocity: SpatialVelocity::new(angular, linear) }
}

/// The weight of `down`-ward gravity.
pub fn down() -> Vector3<f64> {
    Vector3::new(0.0, 0.0, -GRAVITY)
}
