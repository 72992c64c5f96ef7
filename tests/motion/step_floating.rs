//! Ball and free joints of mechanisms without forces: what they carry turns like a free body.

use isobar::contact::ContactModel;
use isobar::multibody::tree::{BodyDescription, JointDescription, JointKind, Mechanism, Workspace};
use isobar::multibody::{Body, Model, ModelBuilder, State};
use isobar::step::{Integrator, StepProblem, StepWorkspace};
use nalgebra::Vector3;
use rand_chacha::ChaCha8Rng;

use crate::mechanisms::{mass, numbers, pose, random, vector};
use crate::step_scenes::MODELS;

fn integrators() -> impl Iterator<Item = Integrator> {
    MODELS.map(Integrator::velocity_level).into_iter().chain([Integrator::SemiImplicitEuler])
}

/// A model of links without geometries and without forces; each joint with its kind and its parent.
pub fn model(rng: &mut ChaCha8Rng, joints: &[(JointKind, Option<usize>)]) -> Model {
    let name = |i: usize| format!("body {i}");
    let bodies = (0..joints.len()).map(|i| BodyDescription { name: name(i), mass: Some(mass(rng)) });
    let bodies: Vec<_> = bodies.collect();
    let joint = |(i, (kind, parent)): (usize, &(JointKind, Option<usize>))| {
        let parent = parent.map(name);
        let mut joint =
            JointDescription::new(format!("joint {i}"), *kind, parent.as_deref(), name(i), pose(rng));
        joint.x_mc = pose(rng);
        joint
    };
    let joints: Vec<_> = joints.iter().enumerate().map(joint).collect();
    let mechanism = Mechanism::new(bodies, joints).expect("a tree");
    let links = (0..mechanism.bodies().len()).map(|i| Body::link(name(i), i, Vec::new())).collect();
    let model = ModelBuilder { mechanism, bodies: links, gravity: Vector3::zeros(), ..Default::default() };
    model.build().expect("a model")
}

/// A state far from the neutral one, in which the first joint turns with 1 rad/s and all others move
/// with at most `limbs`.
pub fn start(rng: &mut ChaCha8Rng, model: &Model, limbs: f64) -> State {
    let neutral = model.mechanism().neutral_state();
    let moves: Vec<f64> = numbers(rng, neutral.v.len()).iter().map(|x| 2.0 * x).collect();
    let mut v: Vec<f64> = numbers(rng, neutral.v.len()).iter().map(|x| limbs * x).collect();
    let spin = vector(rng).normalize();
    v[..3].copy_from_slice(spin.as_slice());
    let still = vec![0.0; v.len()];
    let joints = model.mechanism().state(neutral.moved(&moves, &still).q, v);
    State::new(vec![], joints)
}

fn run(
    integrator: Integrator,
    model: &Model,
    start: &State,
    dt: f64,
    steps: usize,
    mut visit: impl FnMut(usize, &State),
) {
    let mut workspace = StepWorkspace::default();
    let mut state = start.clone();
    for step in 1..=steps {
        state = integrator
            .step(&StepProblem::new(model, &state, dt), &mut workspace)
            .expect("a step without forces");
        visit(step, &state);
    }
}

/// Angular momentum about the centre of mass and the momentum of all, in W; and the sum of the
/// magnitudes that they are summed from.
fn momenta(model: &Model, state: &State) -> ([Vector3<f64>; 2], f64) {
    let mut workspace = Workspace::new(model.mechanism());
    model.mechanism().update_kinematics(&state.joints.q, &state.joints.v, &mut workspace);
    let about_origin = model.mechanism().momentum(&workspace);
    let (mut mass, mut moment, mut size) = (0.0, Vector3::zeros(), 0.0);
    for (i, body) in model.mechanism().bodies().iter().enumerate() {
        let own = body.mass.expect("a mass");
        mass += own.mass;
        let pose = workspace.body_pose(model.mechanism(), i);
        moment += pose * own.center_of_mass * own.mass;
        let v = workspace.body_velocity(model.mechanism(), i);
        let speed = v.translational.norm() + v.rotational.norm();
        size += (1.0 + pose.translation.norm()) * own.mass * speed;
    }
    let about_center = about_origin.shifted(&(moment / mass));
    ([about_center.rotational, about_center.translational], size)
}

#[test]
fn a_floating_base_keeps_the_momentum_of_all_that_it_carries() {
    let (x, y) = (JointKind::Revolute { axis: Vector3::x() }, JointKind::Revolute { axis: Vector3::y() });
    let slide = JointKind::Prismatic { axis: Vector3::new(0.6, 0.0, 0.8) };
    let carried: [&[_]; 3] = [
        &[(JointKind::Free, None)],
        &[(JointKind::Free, None), (x, Some(0)), (y, Some(1)), (slide, Some(0))],
        &[(JointKind::Free, None), (JointKind::Ball, Some(0)), (y, Some(1))],
    ];
    for (seed, joints) in carried.into_iter().enumerate() {
        for (turn, steps) in [(0.06, 400), (1.0, 30)] {
            for integrator in integrators() {
                let rng = &mut random(seed as u64);
                let model = model(rng, joints);
                let start = start(rng, &model, 0.3);
                let ([spin, linear], mut size) = momenta(&model, &start);
                run(integrator, &model, &start, turn, steps, |step, state| {
                    let case = format!("{integrator:?}, {joints:?}, {turn} rad a step, step {step}");
                    let ([l, p], now) = momenta(&model, state);
                    size = now.max(size);
                    // Steps of a radian are divided.
                    let parts = if turn < 1.0 { 1.0 } else { 32.0 };
                    let rounding = 1e-15 * (20.0 + step as f64) * parts * size;
                    assert!((l - spin).norm() < rounding, "{case}: {l} {spin}");
                    assert!((p - linear).norm() < rounding, "{case}: {p} {linear}");
                });
            }
        }
    }
}

#[test]
fn the_energy_of_ball_and_free_joints_does_not_drift() {
    let x = JointKind::Revolute { axis: Vector3::x() };
    let carried: [&[_]; 4] = [
        &[(JointKind::Free, None)],
        &[(JointKind::Ball, None)],
        &[(JointKind::Free, None), (x, Some(0)), (JointKind::Ball, Some(1))],
        &[(x, None), (JointKind::Ball, Some(0)), (x, Some(1))],
    ];
    for (seed, joints) in carried.into_iter().cycle().take(8).enumerate() {
        // Radians a step, steps, and the part of the energy that may come or go.
        for (turn, steps, allowed) in [(0.01, 500, 1e-3), (0.06, 500, 0.02), (1.0, 40, 0.02)] {
            for integrator in
                [Integrator::velocity_level(ContactModel::Lagged), Integrator::SemiImplicitEuler]
            {
                let rng = &mut random(seed as u64);
                let model = model(rng, joints);
                let start = start(rng, &model, 0.3);
                let energy = model.mechanical_energy(&start);
                run(integrator, &model, &start, turn, steps, |step, state| {
                    let change = model.mechanical_energy(state) / energy - 1.0;
                    let case = format!("{integrator:?}, {joints:?}, {turn} rad a step, step {step}");
                    assert!(change.abs() < allowed, "{case}: energy changes by {change}");
                });
            }
        }
    }
}

#[test]
fn steps_converge_to_the_motion_of_small_ones() {
    let x = JointKind::Revolute { axis: Vector3::x() };
    let joints = [(JointKind::Free, None), (x, Some(0)), (JointKind::Ball, Some(1))];
    let rng = &mut random(5);
    let model = model(rng, &joints);
    let start = start(rng, &model, 0.5);
    let end = |integrator, steps: usize| {
        let mut end = start.clone();
        run(integrator, &model, &start, 0.3 / steps as f64, steps, |_, state| end = state.clone());
        end
    };
    let exact = end(Integrator::RungeKutta4, 1000);
    let error = |steps| {
        let found = end(Integrator::velocity_level(ContactModel::Lagged), steps);
        exact.difference(&found).iter().map(|x| x * x).sum::<f64>().sqrt()
    };
    // Without forces the midpoint rule is of second order.
    let (coarse, fine) = (error(50), error(100));
    assert!(fine < 1e-3 && (3.6..4.4).contains(&(coarse / fine)), "{coarse} {fine}");
}
