//! Bodies in contact under forces of the user, for the tests of derivatives of steps and rollouts.

#![allow(dead_code, reason = "not every test that includes this module uses all of it")]

use nalgebra::{Matrix3, Vector3};

use isobar::contact::{Collider, ContactSettings, Material};
use isobar::field::RigidSurface;
use isobar::geometry::Shape;
use isobar::multibody::{
    AppliedForces, Body, BodyGeometry, BodyState, ForceDependence, Forces, MassProperties, MassSource, Model,
    ModelBuilder, Motion, NamedMaterial, State, StateDependence,
};
use isobar::scalar::Scalar;
use isobar::spatial::{Quaternion, RigidTransform, SpatialVelocity, rotation_from_rpy};

/// Foam and rubber of these moduli, and the ratio of their static to their dynamic friction.
pub fn materials(moduli: [f64; 2], static_over_dynamic: f64) -> Vec<NamedMaterial> {
    let material = |name: &str, hydroelastic_modulus, dissipation, friction| NamedMaterial {
        name: name.to_owned(),
        material: Material::new(hydroelastic_modulus, dissipation, friction)
            .with_static_friction(static_over_dynamic * friction)
            .with_relaxation_time(0.01)
            .with_own([0.4, 1.5, 0.3, 0.5]),
    };
    vec![material("foam", moduli[0], 0.7, 0.4), material("rubber", moduli[1], 0.3, 0.8)]
}

fn pose(rpy: [f64; 3], p: [f64; 3]) -> RigidTransform {
    RigidTransform::new(rotation_from_rpy(rpy[0], rpy[1], rpy[2]), Vector3::from(p))
}

pub fn compliant(
    shape: &Shape,
    resolution: f64,
    x_bg: RigidTransform,
    materials: &[NamedMaterial],
    material: usize,
) -> BodyGeometry {
    let collider = Collider::of_shape(shape, resolution, materials[material].material).expect("valid shape");
    BodyGeometry::new(collider).at(x_bg).of_material(material)
}

/// A compliant half-space of a material, or a rigid one without.
pub fn half_space(materials: &[NamedMaterial], material: Option<usize>) -> BodyGeometry {
    let rigid = || Collider::rigid_half_space(Material::NONE);
    let collider =
        material.map_or_else(rigid, |i| Collider::compliant_half_space(materials[i].material, 0.08));
    BodyGeometry { material, ..BodyGeometry::new(collider) }
}

fn rigid_without_material(shape: &Shape, x_bg: RigidTransform) -> BodyGeometry {
    let surface = RigidSurface::new(shape.surface_mesh(0.03).expect("valid shape"));
    BodyGeometry::new(Collider::rigid(surface, Material::NONE)).at(x_bg)
}

/// A body of two shapes and materials, turned and off its origin.
pub fn dumbbell(materials: &[NamedMaterial]) -> Body {
    let parts = vec![
        compliant(
            &Shape::Sphere { radius: 0.05 },
            0.04,
            pose([0.3, 0.1, -0.4], [0.06, 0.01, -0.02]),
            materials,
            0,
        ),
        compliant(
            &Shape::Box { size: [0.08, 0.06, 0.09] },
            0.1,
            pose([-0.2, 0.5, 0.1], [-0.05, 0.0, 0.01]),
            materials,
            1,
        ),
    ];
    Body::free("dumbbell", MassSource::Density(300.0), parts).expect("a volume")
}

/// A dumbbell on a compliant ground that moves like a belt; a box with a given mass leaning on the
/// dumbbell; and a rigid ball without a material that lies on the dumbbell.
pub fn heap(settings: ContactSettings) -> (Model, State) {
    let materials = materials([4e4, 8e4], 1.2);
    let given = MassProperties {
        mass: 0.3,
        center_of_mass: Vector3::new(0.01, -0.02, 0.015),
        inertia: Matrix3::new(4e-4, 3e-5, -2e-5, 3e-5, 5e-4, 1e-5, -2e-5, 1e-5, 6e-4),
    };
    let side = compliant(
        &Shape::Box { size: [0.08, 0.07, 0.1] },
        0.1,
        pose([0.1, -0.1, 0.3], [0.0, 0.01, 0.0]),
        &materials,
        0,
    );
    let block = Body::free("block", MassSource::Given(given), vec![side]).expect("valid mass");
    let ball_mass =
        MassProperties { mass: 0.1, center_of_mass: Vector3::zeros(), inertia: Matrix3::identity() * 3e-5 };
    let ball = rigid_without_material(&Shape::Sphere { radius: 0.03 }, pose([0.0; 3], [0.0, 0.005, 0.0]));
    let ball = Body::free("ball", MassSource::Given(ball_mass), vec![ball]).expect("valid mass");
    let v_wb = SpatialVelocity::new(Vector3::zeros(), Vector3::new(0.1, -0.05, 0.0));
    let mut ground = Body::fixed("ground", RigidTransform::identity(), vec![half_space(&materials, Some(1))]);
    ground.motion = Motion::Fixed { x_wb: RigidTransform::identity(), v_wb };
    let gravity = Vector3::new(0.0, 0.3, -9.81);
    let apart = vec![isobar::multibody::BodyPair { a: 2, b: 3 }];
    let bodies = vec![dumbbell(&materials), block, ball, ground];
    let model = ModelBuilder { bodies, materials, gravity, contact: settings, apart, ..Default::default() };
    let model = model.build().expect("compliant");
    let body = |q: [f64; 4], p: [f64; 3], w: [f64; 3], v: [f64; 3]| BodyState {
        orientation: Quaternion::from_wxyz(q[0], q[1], q[2], q[3]),
        position: Vector3::from(p),
        velocity: SpatialVelocity::new(Vector3::from(w), Vector3::from(v)),
    };
    let state = State::of_bodies(vec![
        body([0.9, 0.05, -0.08, 0.3], [0.2, -0.1, 0.049], [0.4, -0.6, 0.9], [0.21, 0.13, -0.15]),
        body([0.95, 0.1, 0.05, -0.2], [0.11, -0.205, 0.048], [-0.3, 0.2, 0.1], [0.05, 0.12, -0.1]),
        body([1.0, 0.02, 0.03, 0.04], [0.255, -0.06, 0.098], [0.5, 0.1, -0.4], [0.1, 0.0, -0.2]),
    ]);
    (model, state)
}

/// Control values of [`Pull`].
pub const CONTROLS: usize = 5;

/// A thrust fixed to the first body (three control values), a torque about z on the second, a
/// spring between the first two whose stiffness is controlled and follows a material's modulus,
/// and drag.
#[derive(Clone, Copy, Debug)]
pub struct Pull;

impl AppliedForces for Pull {
    fn control_dimension(&self) -> usize {
        CONTROLS
    }

    fn apply<T: Scalar>(
        &self,
        model: &Model<T>,
        state: &State<T>,
        time: f64,
        control: &[T],
        forces: &mut Forces<T>,
    ) {
        let (first, second) = (&state.bodies[0], &state.bodies[1]);
        let thrust = first.orientation.to_matrix() * Vector3::new(control[0], control[1], control[2]);
        forces.bodies[0].translational += thrust;
        forces.bodies[0].rotational +=
            Vector3::new(T::from(0.01), T::from(0.0), T::from(0.02)).cross(&thrust);
        forces.bodies[1].rotational.z += control[3] * (1.0 + (20.0 * time).sin());
        let stiffness = model.materials()[0].material.hydroelastic_modulus * 1e-4 * (control[4] + 1.0);
        let pull = (second.position - first.position) * stiffness;
        forces.bodies[0].translational += pull;
        forces.bodies[1].translational -= pull;
        for (body, force) in state.bodies.iter().zip(&mut forces.bodies) {
            force.translational -= body.velocity.translational * T::from(0.05);
            force.rotational -= body.velocity.rotational * T::from(1e-5);
        }
    }
}

/// The same thrust, fixed to each body, and drag of its turning: each body's force depends on its own
/// state alone, and says so.
#[derive(Clone, Copy, Debug)]
pub struct Thrust;

impl AppliedForces for Thrust {
    fn control_dimension(&self) -> usize {
        3
    }

    fn apply<T: Scalar>(
        &self,
        _: &Model<T>,
        state: &State<T>,
        _: f64,
        control: &[T],
        forces: &mut Forces<T>,
    ) {
        for (body, force) in state.bodies.iter().zip(&mut forces.bodies) {
            let thrust = Vector3::new(control[0], control[1], control[2]);
            force.translational += body.orientation.to_matrix() * thrust;
            force.rotational -= body.velocity.rotational * T::from(1e-5);
        }
    }

    fn dependence(&self) -> ForceDependence {
        ForceDependence { state: StateDependence::SameBody, model: false }
    }
}
