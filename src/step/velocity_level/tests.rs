use approx::assert_relative_eq;
use nalgebra::{Matrix3, Vector3};

use super::{Balance, VelocityLevel, Workspace};
use crate::contact::{Collider, ContactModel, Material};
use crate::geometry::Shape;
use crate::multibody::tree::{BodyDescription, JointDescription, JointKind, JointLimits, Mechanism};
use crate::multibody::{
    AppliedForces, Body, BodyGeometry, BodyState, Forces, MassProperties, MassSource, Model, ModelBuilder,
    Motion, NamedMaterial, State,
};
use crate::scalar::Scalar;
use crate::spatial::{Quaternion, RigidTransform, SpatialForce, SpatialVelocity};
use crate::step::StepProblem;

/// The mass of the body on the joint, kg.
const PRESS: f64 = 0.7;

/// The state after a step.
pub(super) fn taken(method: &VelocityLevel, step: &StepProblem<'_>, workspace: &mut Workspace) -> State {
    let mut after = State::default();
    method.step(step, false, workspace, &mut Balance::default(), &mut after).expect("a step");
    after
}

/// A ball between two boxes that slide and turn on the ground, and a ball on a vertical slide, in its lower
/// stop, that touches it and the ground.
pub(super) fn model() -> Model {
    let foam = Material::new(1e6, 1.0, 0.6).with_relaxation_time(1e-3);
    let geometry = |collider: Collider| vec![BodyGeometry::new(collider).of_material(0)];
    let shaped = |shape: Shape| geometry(Collider::of_shape(&shape, 0.05, foam).expect("a shape"));
    let mass_of = |mass: f64| {
        let inertia = Matrix3::identity() * (mass * 1e-3);
        MassProperties { mass, center_of_mass: Vector3::zeros(), inertia }
    };
    let free = |name: &str, shape: Shape, mass: f64| {
        Body::free(name, MassSource::Given(mass_of(mass)), shaped(shape)).expect("a mass")
    };
    let place = RigidTransform::from_translation([0.0, 0.107, 0.0492]);
    let kind = JointKind::Prismatic { axis: Vector3::z() };
    let mut slide = JointDescription::new("slide", kind, None, "press", place);
    slide.limits = JointLimits { lower: 5e-4, ..Default::default() };
    let press = BodyDescription { name: "press".into(), mass: Some(mass_of(PRESS)) };
    let ground = geometry(Collider::rigid_half_space(foam));
    let bodies = vec![
        Body::fixed("ground", RigidTransform::identity(), ground),
        free("left", Shape::Box { size: [0.1, 0.1, 0.1] }, 0.5),
        free("ball", Shape::Sphere { radius: 0.05 }, 2.0),
        free("right", Shape::Box { size: [0.1, 0.1, 0.08] }, 0.1),
        Body::link("press", 0, shaped(Shape::Sphere { radius: 0.05 })),
    ];
    let mechanism = Mechanism::new(vec![press], vec![slide]).expect("a slide");
    let materials = vec![NamedMaterial { name: "foam".into(), material: foam }];
    ModelBuilder { mechanism, bodies, materials, ..Default::default() }.build().expect("a model")
}

/// States from rest to fast sliding.
pub(super) fn state(model: &Model, number: usize) -> State {
    let speed = [0.0, 0.01, 0.1, 1.0, 3.0][number % 5];
    let noise = |k: usize| (1.7 * (k + 13 * number) as f64).sin();
    let places = [[-0.098, 0.0, 0.0495], [0.0, 0.01, 0.0492], [0.098, -0.01, 0.0397]];
    let bodies = places.iter().enumerate().map(|(i, place)| {
        let vector = |first: usize| Vector3::from_fn(|k, _| noise(100 * i + first + k));
        let turn = vector(0) * 2e-3;
        BodyState {
            orientation: Quaternion::from_wxyz(1.0, turn.x, turn.y, turn.z).normalized(),
            position: Vector3::from(*place) + vector(10) * 2e-4,
            velocity: SpatialVelocity::new(vector(20) * (10.0 * speed), vector(30) * speed),
        }
    });
    State::new(bodies.collect(), model.mechanism.state(vec![1e-4], vec![0.1 * speed]))
}

/// The line search finds the minimum of a cost by the impulses' power along a step.
#[test]
fn the_power_along_a_step_is_that_of_the_impulses_and_its_slope_that_of_differences() {
    let model = model();
    for kind in [ContactModel::Sap, ContactModel::Lagged, ContactModel::Similar] {
        let method = VelocityLevel { model: kind, ..Default::default() };
        let mut workspace = Workspace::default();
        for number in 0..5 {
            let state = state(&model, number);
            taken(&method, &StepProblem::new(&model, &state, 1e-3), &mut workspace);
            let Workspace { problem, newton, .. } = &workspace;
            let n = problem.dimension();
            let v = &newton.velocity;
            let dv: Vec<f64> = (0..n).map(|k| 0.1 * (2.3 * k as f64).cos()).collect();
            let at = |alpha: f64| -> Vec<f64> { v.iter().zip(&dv).map(|(v, d)| v + alpha * d).collect() };
            let (mut impulse, mut kept) = (vec![0.0; n], vec![0.0; n]);
            for alpha in [0.1, 0.37, 1.0] {
                let (power, curvature) = problem.along(v, &dv, alpha);
                problem.evaluate(&at(alpha), &mut impulse, &mut Vec::new());
                let dot = |a: &[f64]| a.iter().zip(&dv).map(|(a, d)| a * d).sum::<f64>();
                assert_relative_eq!(power, dot(&impulse), max_relative = 1e-9, epsilon = 1e-12);
                let h = 1e-6;
                let difference = |f: &dyn Fn(f64) -> f64| (f(alpha + h) - f(alpha - h)) / (2.0 * h);
                let by_alpha = difference(&|alpha| problem.along(v, &dv, alpha).0);
                assert_relative_eq!(curvature, -by_alpha, max_relative = 1e-3);
                problem.inertia_times(&at(alpha), &mut kept);
                let slope = dot(&kept) - dot(&problem.momentum) - power;
                let of_cost = difference(&|alpha| problem.cost(&at(alpha)).expect("a convex model"));
                assert_relative_eq!(slope, of_cost, max_relative = 1e-5);
            }
        }
    }
}

/// Seen from a belt what lies on it moves as on the ground.
#[test]
fn a_moving_ground_carries_its_velocity_into_the_step() {
    let mut still = model().into_builder();
    still.mechanism = Mechanism::default();
    still.bodies.pop();
    let belt_velocity = Vector3::new(0.4, -0.3, 0.0);
    let mut belt = still.clone();
    let Motion::Fixed { v_wb, .. } = &mut belt.bodies[0].motion else { panic!("the ground") };
    v_wb.translational = belt_velocity;
    let [still, belt] = [still, belt].map(|builder| builder.build().expect("a model"));
    let state = State::of_bodies(state(&model(), 2).bodies);
    let mut carried = state.clone();
    carried.bodies.iter_mut().for_each(|body| body.velocity.translational += belt_velocity);
    for kind in [ContactModel::Sap, ContactModel::Lagged, ContactModel::Similar, ContactModel::Tamsi] {
        let method = VelocityLevel { model: kind, ..Default::default() };
        let after = |model: &Model, state: &State| {
            taken(&method, &StepProblem::new(model, state, 1e-3), &mut Workspace::default())
        };
        let (at_rest, on_belt) = (after(&still, &state), after(&belt, &carried));
        for (a, b) in at_rest.bodies.iter().zip(&on_belt.bodies) {
            let expected = a.velocity.translational + belt_velocity;
            assert_relative_eq!(b.velocity.translational, expected, epsilon = 1e-9);
            assert_relative_eq!(b.velocity.rotational, a.velocity.rotational, epsilon = 1e-7);
        }
    }
}

/// A wrench on each moving body, and a force on the joint.
struct Wrenches;

/// The parts of those.
const TORQUE: Vector3<f64> = Vector3::new(0.3, -0.1, 0.2);
const FORCE: Vector3<f64> = Vector3::new(-4.0, 5.0, 7.0);
const ON_JOINT: f64 = 11.0;

impl AppliedForces for Wrenches {
    fn apply<T: Scalar>(&self, _: &Model<T>, _: &State<T>, _: f64, _: &[T], forces: &mut Forces<T>) {
        for body in &mut forces.bodies[..3] {
            *body += SpatialForce::new(TORQUE.map(T::from), FORCE.map(T::from));
        }
        forces.joints[0] += T::from(ON_JOINT);
    }
}

#[test]
fn the_balance_is_measured_against_gravity_forces_and_the_loads_of_contacts() {
    let (model, dt) = (model(), 2e-3);
    let state = state(&model, 3);
    let mut workspace = Workspace::default();
    let (time, applied) = (0.0, &Wrenches);
    let step = StepProblem {
        model: &model,
        state: &state,
        time,
        time_step: dt,
        applied,
        control: &[],
        substeps: None,
        asleep: &[],
    };
    taken(&VelocityLevel::default(), &step, &mut workspace);
    let problem = &workspace.problem;
    let scale = &problem.scale;
    // By the roots of inertia: of 1e-3 m² times a mass, and of a mass; each body's origin is its centre.
    let masses = [0.5, 2.0, 0.1];
    let gravity = 9.81 * dt;
    let mut expected: Vec<f64> = masses
        .iter()
        .map(|m: &f64| {
            let of_user = (TORQUE.norm_squared() / (m * 1e-3) + FORCE.norm_squared() / m).sqrt();
            gravity * m.sqrt() + of_user * dt
        })
        .collect();
    // The slide carries its stop and its force.
    let of_joint = scale.weight[18];
    expected.push(gravity * PRESS.sqrt() + ON_JOINT * of_joint * dt);
    let mut magnitudes = Vec::new();
    scale.evaluate(std::iter::empty(), &mut magnitudes);
    assert_eq!(magnitudes.len(), 4);
    for (found, expected) in magnitudes.iter().zip(&expected) {
        assert_relative_eq!(found, expected, max_relative = 1e-9);
    }
    for (tree, m) in masses.iter().enumerate() {
        let weight = &scale.weight[6 * tree..6 * (tree + 1)];
        for (k, w) in weight.iter().enumerate() {
            assert_relative_eq!(w * w, 1.0 / if k < 3 { m * 1e-3 } else { *m }, max_relative = 1e-9);
        }
    }
    // A patch weighs on a body as a force at its centroid, with the lever of its size.
    assert!(problem.patches.len() >= 6);
    let elastic = |patch: &super::coupled_patch::CoupledPatch| {
        let faces = &problem.contacts.constants[patch.contacts.contacts.clone()];
        faces.iter().map(|face| face.load).sum::<f64>() * dt
    };
    for larger in [0.0, 3.0] {
        let net: Vec<f64> = problem.patches.iter().map(|patch| larger * elastic(patch)).collect();
        scale.evaluate(net.iter().copied(), &mut magnitudes);
        let mut expected = expected.clone();
        for patch in &problem.patches {
            let load = elastic(patch) * f64::max(larger, 1.0);
            let positions = &problem.contacts.position[patch.contacts.contacts.clone()];
            let centroid = positions.iter().sum::<Vector3<f64>>() / positions.len() as f64;
            let lever = positions.iter().map(|x| (x - centroid).norm()).fold(0.0, f64::max);
            let place = patch.contacts.x_wf * (patch.contacts.origin + centroid);
            let bodies = model.pairs[patch.pair].bodies;
            for body in [bodies.a, bodies.b] {
                match body {
                    0 => {}
                    4 => expected[3] += of_joint * load,
                    body => {
                        let (m, arm) = (masses[body - 1], place - state.bodies[body - 1].position);
                        let square = if bodies.a == 4 || bodies.b == 4 {
                            // Beside a link each velocity of a free body counts by itself.
                            let speed = |k: usize| Vector3::ith(k, 1.0).cross(&arm).norm() + lever;
                            (0..3).map(|k| speed(k).powi(2) / (m * 1e-3) + 1.0 / m).sum::<f64>()
                        } else {
                            3.0 * (arm.norm() + lever).powi(2) / (m * 1e-3) + 1.0 / m
                        };
                        expected[body - 1] += square.sqrt() * load;
                    }
                }
            }
        }
        for (found, expected) in magnitudes.iter().zip(&expected) {
            assert_relative_eq!(found, expected, max_relative = 1e-9);
        }
    }
}
