//! Joints that follow others, and friction in joints: dynamics in the reduced coordinate, and steps with
//! their derivatives.

use crate::folder::Folder;
use crate::mechanisms::{forces, mass, numbers, pose, random, vector};
use crate::step_derivatives::worst_error;
use isobar::contact::ContactModel;
use isobar::io::Scene;
use isobar::multibody::tree::{
    BodyDescription, JointDescription, JointKind, JointSpring, JointState, Mechanism, Mimic, Workspace,
};
use isobar::multibody::{Model, NoForces, Parameter, State, seeded};
use isobar::rollout::{
    Checkpoints, Controls, Loss, Moment, Rollout, SimulationSettings, loss_gradient, loss_gradient_forward,
};
use isobar::scalar::Scalar;
use isobar::step::{Integrator, SolverTolerance, StepProblem, StepWorkspace, VelocityLevel};
use nalgebra::{DMatrix, DVector, Vector3};
use proptest::prelude::*;
use rand::Rng;
use rand::seq::SliceRandom;

const GRAVITY: Vector3<f64> = Vector3::new(0.3, -0.4, -9.7);

/// A mechanism with joints that follow others, the same without, the state of the first, and the
/// velocities of the second by those of the first.
struct Case {
    reduced: Mechanism,
    whole: Mechanism,
    state: JointState,
    g: DMatrix<f64>,
}

impl Case {
    /// The state of the whole mechanism.
    fn whole_state(&self) -> JointState {
        let mut state = self.whole.neutral_state();
        for joint in self.whole.joints() {
            let own = self.reduced.joint_index(&joint.name).expect("the same joint");
            let own = &self.reduced.joints()[own];
            match &own.follows {
                None => state.q[joint.q.clone()].copy_from_slice(&self.state.q[own.q.clone()]),
                Some(follows) => {
                    let q = self.state.q[self.reduced.joints()[follows.joint].q.start];
                    state.q[joint.q.start] = follows.ratio * q + follows.offset;
                }
            }
        }
        state.v = (&self.g * DVector::from_column_slice(&self.state.v)).as_slice().to_vec();
        state
    }
}

/// A random tree on the world, some of whose joints follow others on any branch, before or after them.
fn case(seed: u64, count: usize) -> Case {
    let rng = &mut random(seed);
    let (mut bodies, mut joints) = (Vec::new(), Vec::new());
    for i in 0..count {
        let parent = rng.random_range(0..=i).checked_sub(1).map(|p| format!("body {p}"));
        let axis = vector(rng).normalize();
        let kind = match rng.random_range(0..6) {
            0 | 1 => JointKind::Prismatic { axis },
            2 => JointKind::Ball,
            _ => JointKind::Revolute { axis },
        };
        bodies.push(BodyDescription { name: format!("body {i}"), mass: Some(mass(rng)) });
        let name = format!("joint {i}");
        let mut joint = JointDescription::new(name, kind, parent.as_deref(), format!("body {i}"), pose(rng));
        (joint.damping, joint.rotor_inertia) = (rng.random_range(0.1..1.0), rng.random_range(0.01..0.3));
        if kind != JointKind::Ball {
            let stiffness = rng.random_range(1.0..5.0);
            joint.spring = Some(JointSpring { stiffness, rest: rng.random_range(-1.0..1.0) });
            joint.friction = rng.random_range(0.1..1.0);
        }
        joints.push(joint);
    }
    let whole = Mechanism::new(bodies.clone(), joints.clone()).expect("a tree");
    let single: Vec<usize> = (0..count).filter(|&i| joints[i].kind != JointKind::Ball).collect();
    // Each follows the one before it in a random order, or leads.
    let mut order = single.clone();
    order.shuffle(rng);
    for pair in order.windows(2) {
        if rng.random_bool(0.6) {
            let multiplier = rng.random_range(0.5..2.0) * if rng.random_bool(0.5) { 1.0 } else { -1.0 };
            let joint = joints[pair[0]].name.clone();
            let offset = rng.random_range(-1.0..1.0);
            joints[pair[1]].mimic = Some(Mimic { joint, multiplier, offset });
        }
    }
    let reduced = Mechanism::new(bodies, joints).expect("a tree");
    let state = crate::mechanisms::state(rng, &reduced);
    let mut g = DMatrix::zeros(whole.velocity_dimension(), reduced.velocity_dimension());
    for joint in whole.joints() {
        let own = &reduced.joints()[reduced.joint_index(&joint.name).expect("the same joint")];
        let (leader, ratio) = match &own.follows {
            None => (own, 1.0),
            Some(follows) => (&reduced.joints()[follows.joint], follows.ratio),
        };
        for (row, column) in joint.v.clone().zip(leader.v.clone()) {
            g[(row, column)] = ratio;
        }
    }
    Case { reduced, whole, state, g }
}

fn assert_close(got: &[f64], expected: &[f64], tolerance: f64, what: &str) {
    assert_eq!(got.len(), expected.len());
    let scale = expected.iter().fold(1.0f64, |s, x| s.max(x.abs()));
    for (g, e) in got.iter().zip(expected) {
        assert!((g - e).abs() <= tolerance * scale, "{what}: {g} {e}");
    }
}

fn workspace(mechanism: &Mechanism, state: &JointState) -> Workspace {
    let mut workspace = Workspace::new(mechanism);
    mechanism.update_kinematics(&state.q, &state.v, &mut workspace);
    workspace
}

proptest! {
    /// All is what the mechanism with all coordinates has, with its velocities G v and forces Gᵀ τ.
    #[test]
    fn reduced_coordinates_move_all_joints(seed: u64, count in 2..9usize) {
        let case = case(seed, count);
        let Case { reduced, whole, state, g } = &case;
        let all = case.whole_state();
        let (n, m) = (reduced.velocity_dimension(), whole.velocity_dimension());
        prop_assert_eq!(reduced.trees().iter().map(|tree| tree.v.len()).sum::<usize>(), n);
        let (mut own, mut other) = (workspace(reduced, state), workspace(whole, &all));
        for body in 0..count {
            let (a, b) = (own.body_pose(reduced, body), other.body_pose(whole, body));
            assert_close(a.translation.as_slice(), b.translation.as_slice(), 1e-13, "position");
            assert_close(a.rotation.as_slice(), b.rotation.as_slice(), 1e-13, "rotation");
            let (a, b) = (own.body_velocity(reduced, body), other.body_velocity(whole, body));
            assert_close(a.translational.as_slice(), b.translational.as_slice(), 1e-12, "velocity");
            assert_close(a.rotational.as_slice(), b.rotational.as_slice(), 1e-12, "spin");
        }
        let (mut matrix, mut of_all) = (DMatrix::zeros(n, n), DMatrix::zeros(m, m));
        reduced.step_matrix(&mut own, 0.1, &mut matrix);
        whole.step_matrix(&mut other, 0.1, &mut of_all);
        let expected = g.transpose() * of_all * g;
        assert_close(matrix.as_slice(), expected.as_slice(), 1e-12, "M + δt D + δt² K");
        let rng = &mut random(seed ^ 1);
        let (vdot, applied) = (DVector::from_vec(numbers(rng, n)), forces(rng, reduced));
        let (mut tau, mut tau_of_all) = (vec![0.0; n], vec![0.0; m]);
        reduced.inverse_dynamics(&mut own, vdot.as_slice(), &GRAVITY, &applied, &mut tau);
        whole.inverse_dynamics(&mut other, (g * &vdot).as_slice(), &GRAVITY, &applied, &mut tau_of_all);
        reduced.passive_forces(&state.q, &state.v, &mut tau);
        whole.passive_forces(&all.q, &all.v, &mut tau_of_all);
        let expected = g.transpose() * DVector::from_vec(tau_of_all);
        assert_close(&tau, expected.as_slice(), 1e-12, "forces");
        // Friction of the same sign everywhere adds up.
        let friction = |of: &Mechanism| of.joints().iter().map(|joint| joint.friction).collect::<Vec<_>>();
        let (own_friction, all_friction) = (friction(reduced), friction(whole));
        for joint in reduced.joints_with_coordinates().filter(|joint| joint.v.len() == 1) {
            let column = g.column(joint.v.start);
            let sum = whole.joints().iter().zip(&all_friction).filter(|(j, _)| j.v.len() == 1);
            let sum: f64 = sum.map(|(j, friction)| column[j.v.start].abs() * friction).sum();
            let index = reduced.joint_index(&joint.name).expect("it is there");
            assert_close(&[own_friction[index]], &[sum], 1e-13, "friction");
        }
    }
}

/// A hand on a ball joint whose right finger follows the left one, and its tip too; it holds a ball. There
/// is friction in its joints.
const HAND: &str = r#"
gravity = [0.1, 0.3, -9.81]

[materials.soft]
hydroelastic_modulus = 2e5
dissipation = 0.9
relaxation_time = 0.01
friction = 0.6

[solver]
kind = "lagged"
time_step = 1e-3

[[bodies]]
name = "palm"
mass = 0.5
center_of_mass = [0.01, 0.02, 0.05]
inertia = [[1e-3, 1e-4, 0], [1e-4, 2e-3, 0], [0, 0, 1.5e-3]]
joint = { type = "ball", translation = [0, 0, 0.3], damping = 0.05 }

[[bodies]]
name = "left"
mass = 0.1
center_of_mass = [0, 0.002, 0.003]
inertia = [[1e-4, 0, 0], [0, 2e-4, 0], [0, 0, 1.5e-4]]
[bodies.joint]
type = "prismatic"
parent = "palm"
axis = [1, 0, 0]
translation = [-0.0495, 0, 0.1]
damping = 0.3
friction = 2.0
stiction_velocity = 0.05
rotor_inertia = 0.05
upper = 0.0008
stop_stiffness = 2e4
position = 0.001
velocity = 0.03
[[bodies.geometries]]
shape = { box = { size = [0.02, 0.05, 0.05] } }
material = "soft"

[[bodies]]
name = "right"
mass = 0.1
center_of_mass = [0.001, 0, 0.003]
inertia = [[1e-4, 0, 0], [0, 2e-4, 0], [0, 0, 1.5e-4]]
[bodies.joint]
type = "prismatic"
parent = "palm"
axis = [1, 0, 0]
translation = [0.0495, 0, 0.1]
friction = 1.0
mimic = { joint = "left", multiplier = -1 }

[[bodies]]
name = "tip"
mass = 0.05
center_of_mass = [0, 0.001, 0.002]
inertia = [[1e-5, 0, 0], [0, 2e-5, 0], [0, 0, 1.5e-5]]
[bodies.joint]
type = "revolute"
parent = "right"
axis = [0, 1, 0.2]
spring = { stiffness = 0.5, rest = 0.1 }
mimic = { joint = "right", multiplier = 3, offset = 0.02 }
[[bodies.geometries]]
shape = { box = { size = [0.02, 0.05, 0.05] } }
material = "soft"

[[bodies]]
name = "ball"
mass = 0.2
translation = [0.0005, 0.001, 0.401]
rpy = [0.3, -0.2, 0.5]
linear_velocity = [0.02, 0.01, -0.03]
angular_velocity = [0.3, -0.2, 0.1]
[[bodies.geometries]]
shape = { sphere = { radius = 0.04, resolution = 0.035 } }
material = "soft"

[[actuators]]
name = "grip"
joints = ["left"]
drive = { position = { stiffness = 3e3, damping = 20.0 } }
effort = 40.0
command = 0.006
"#;

fn hand() -> (Model, State) {
    let folder = Folder::new("hand");
    let scene = Scene::load(folder.file("hand.toml", HAND)).expect("a scene");
    let mut start = scene.state;
    for (k, v) in start.joints.v.iter_mut().enumerate() {
        *v += 0.1 * (1.3 * k as f64 + 0.4).sin();
    }
    (scene.model, start)
}

fn integrators() -> Vec<Integrator> {
    let tolerance = SolverTolerance { relative: 1e-14, max_iterations: 200 };
    let exact = |model| Integrator::VelocityLevel(VelocityLevel { model, tolerance });
    let models = [ContactModel::Sap, ContactModel::Lagged, ContactModel::Similar, ContactModel::Tamsi];
    let mut all = vec![Integrator::SemiImplicitEuler, Integrator::RungeKutta4];
    all.extend(models.map(exact));
    all
}

/// Products of the tape, its Jacobian, and steps in dual numbers.
#[test]
fn steps_have_their_derivatives() {
    let (model, state) = hand();
    assert_eq!(state.joints.v.len(), 4);
    let weights: Vec<f64> = (0..state.tangent_dimension()).map(|i| (1.7 * i as f64).sin()).collect();
    for integrator in integrators() {
        let error = worst_error(integrator, &model, &state, &NoForces, &[0.006], &weights);
        assert!(error < 1e-10, "{integrator:?}: {error:e}");
    }
}

/// Steps in dual numbers against central differences of fourth order.
#[test]
fn steps_agree_with_differences() {
    type Dual = isobar::scalar::DualArray<8>;
    let (model, start) = hand();
    let joint = model.mechanism().joint_index("left").expect("there");
    let parameters = [Parameter::JointFriction { joint }, Parameter::JointStictionVelocity { joint }];
    let (n, nv) = (start.tangent_dimension(), start.joints.v.len());
    for integrator in integrators() {
        let after = integrator
            .step(
                &StepProblem { control: &[0.006], ..StepProblem::new(&model, &start, 1e-3) },
                &mut StepWorkspace::default(),
            )
            .expect("step");
        // The joints' directions, and the friction with its stiction velocity.
        for column in n - 2 * nv..n + parameters.len() {
            let parameter = parameters[column.saturating_sub(n)];
            let value = parameter.value(&model).expect("there");
            let h = if column < n { 2e-7 } else { 1e-3 * value };
            let moved = |by: f64| {
                let mut tangent = vec![0.0; n];
                let mut model = model.clone();
                if column < n {
                    tangent[column] = by;
                } else {
                    model = seeded(&model, &start, &[(parameter, value + by)]).expect("valid").0;
                }
                let state = start.moved(&tangent);
                let step = StepProblem { control: &[0.006], ..StepProblem::new(&model, &state, 1e-3) };
                let end = integrator.step(&step, &mut StepWorkspace::default()).expect("step");
                DVector::from_vec(after.difference(&end))
            };
            let expected = (8.0 * (moved(h) - moved(-h)) - (moved(2.0 * h) - moved(-2.0 * h))) / (12.0 * h);
            let seed = if column < n { Dual::from(0.0) } else { Dual::variable(value, 0) };
            let (lifted, state) = match column < n {
                true => (Model::lift(&model), State::<Dual>::lift(&start)),
                false => seeded(&model, &start, &[(parameter, seed)]).expect("valid"),
            };
            let mut tangent = vec![Dual::from(0.0); n];
            if column < n {
                tangent[column] = Dual::variable(0.0, 0);
            }
            let state = state.moved(&tangent);
            let control = [Dual::from(0.006)];
            let step = StepProblem { control: &control, ..StepProblem::new(&lifted, &state, 1e-3) };
            let end = integrator.step(&step, &mut StepWorkspace::default()).expect("step");
            let found: Vec<f64> = State::lift(&after).difference(&end).iter().map(|x| x.eps[0]).collect();
            let error = (DVector::from_vec(found) - &expected).amax() / expected.amax();
            assert!(error < 1e-6, "{integrator:?}, column {column}: {error:e}");
        }
    }
}

/// Where the ball and the hand go.
struct Task;

impl Loss for Task {
    fn running<T: Scalar>(&self, moment: &Moment<T>) -> T {
        let off = moment.state.bodies[0].position - Vector3::new(0.0, 0.0, 0.4).map(T::from);
        (off.dot(&off) + moment.control[0] * moment.control[0]) * moment.dt
    }

    fn terminal<T: Scalar>(&self, moment: &Moment<T>) -> T {
        let joints = &moment.state.joints;
        joints.q.iter().chain(&joints.v).fold(T::from(0.0), |sum, &x| sum + x * x)
    }
}

#[test]
fn adjoint_is_forward() {
    let (model, initial) = hand();
    let steps = 40;
    let controls = Controls::from_values(1, (0..steps).map(|i| 0.006 + 1e-4 * i as f64).collect());
    let controls = controls.expect("one value for each step");
    let parameters = Parameter::all(&model);
    for integrator in integrators() {
        let time_step = if matches!(integrator, Integrator::VelocityLevel(_)) { 1e-3 } else { 1e-4 };
        let r = Rollout {
            controls: (&controls).into(),
            ..Rollout::new(
                &model,
                &initial,
                SimulationSettings { integrator, time_step },
                time_step * steps as f64,
            )
        };
        let adjoint = loss_gradient(&r, &Task, &parameters, Checkpoints::All).expect("simulates");
        let forward = loss_gradient_forward(&r, &Task, &parameters).expect("simulates");
        for (parameter, (a, f)) in
            parameters.iter().zip(adjoint.by_parameters.iter().zip(&forward.by_parameters))
        {
            let error = (a - f).abs() / a.abs().max(f.abs()).max(1e-9);
            assert!(error < 1e-9, "{integrator:?} {}: {a:e} {f:e}", parameter.name(&model));
            if matches!(parameter, Parameter::JointFriction { .. } | Parameter::JointStictionVelocity { .. })
            {
                assert!(*a != 0.0, "{integrator:?}");
            }
        }
    }
}

/// An arm of 0.3 kg m² on a hinge with friction, that swings in its gravity or not.
fn arm(friction: f64, gravity: f64, position: f64, velocity: f64, stiction: f64) -> (Model, State) {
    let text = format!(
        r#"
gravity = [0, 0, {gravity}]
[[bodies]]
name = "arm"
mass = 2.0
center_of_mass = [0, 0, -0.25]
inertia = [[0.175, 0, 0], [0, 0.175, 0], [0, 0, 0.1]]
[bodies.joint]
type = "revolute"
axis = [0, 1, 0]
position = {position}
velocity = {velocity}
friction = {friction}
stiction_velocity = {stiction}
"#
    );
    let folder = Folder::new("arm");
    let scene = Scene::load(folder.file("arm.toml", &text)).expect("a scene");
    (scene.model, scene.state)
}

fn simulated(
    model: &Model,
    initial: &State,
    integrator: Integrator,
    time_step: f64,
    until: f64,
) -> Vec<State> {
    let settings = SimulationSettings { integrator, time_step };
    Rollout::new(model, initial, settings, until).simulate().expect("simulates").states
}

/// Without gravity the speed falls by friction over inertia in a second, and the arm stops after
/// I ω/τ, having turned by I ω²/(2 τ); what regularization adds is of the order of its velocity.
#[test]
fn friction_stops_a_turning_arm() {
    let (inertia, friction, speed, stiction) = (0.3, 0.6, 2.0, 1e-4);
    let (model, initial) = arm(friction, 0.0, 0.0, speed, stiction);
    let lagged = Integrator::velocity_level(ContactModel::Lagged);
    let states = simulated(&model, &initial, lagged, 1e-3, 1.5);
    let half = &states[500].joints.v[0];
    assert!((half - (speed - friction / inertia * 0.5)).abs() < 1e-6, "{half}");
    let last = &states[1500].joints;
    let expected = inertia * speed * speed / (2.0 * friction);
    // The error of the steps is half of one with the speed at the start.
    assert!((last.q[0] - expected).abs() < 0.6e-3 * speed, "{}", last.q[0]);
    assert!(last.v[0].abs() < 1e-12 * speed, "{}", last.v[0]);
    // With the regularized law: (√(v² + s²) − s asinh(s/v)) falls by τ/I in a second.
    let stiction = 0.5;
    let (model, initial) = arm(friction, 0.0, 0.0, speed, stiction);
    let smooth = simulated(&model, &initial, Integrator::RungeKutta4, 1e-3, 1.2);
    let fall = |v: f64| v.hypot(stiction) - stiction * (stiction / v).asinh();
    let expected = fall(speed) - friction / inertia * 1.2;
    let found = fall(smooth[1200].joints.v[0]);
    assert!((found - expected).abs() < 1e-10, "{found} {expected}");
}

/// A pendulum loses the work of friction over its way: from one turning point a to the next b,
/// m g l (cos b − cos a) = τ (a + b); where gravity pulls with less than friction it stays.
#[test]
fn friction_stops_a_swinging_arm() {
    let (weight, friction, start) = (2.0 * 9.81 * 0.25, 0.3, 1.0);
    let (model, initial) = arm(friction, -9.81, start, 0.0, 1e-5);
    let integrator = Integrator::velocity_level(ContactModel::Lagged);
    let states = simulated(&model, &initial, integrator, 2e-4, 12.0);
    let q: Vec<f64> = states.iter().map(|state| state.joints.q[0]).collect();
    let turns = q.windows(3).filter(|w| (w[1] - w[0]) * (w[2] - w[1]) < 0.0).map(|w| w[1].abs());
    let turns: Vec<f64> = turns.filter(|turn| *turn > 0.08).collect();
    let mut amplitude = start;
    assert!(turns.len() >= 6, "{turns:?}");
    for turn in &turns[..6] {
        // Newton's method for the next turning point.
        let mut next = amplitude;
        for _ in 0..50 {
            let left = weight * (next.cos() - amplitude.cos()) - friction * (amplitude + next);
            next -= left / (-weight * next.sin() - friction);
        }
        assert!((turn - next).abs() < 1e-3, "{turn} {next}");
        amplitude = next;
    }
    let last = &states[states.len() - 1].joints;
    assert!(weight * last.q[0].sin().abs() < friction, "{}", last.q[0]);
    assert!(last.v[0].abs() < 1e-5, "{}", last.v[0]);
}

/// Drives that carry the weight of a tree: it moves as without gravity, to the bit, and gravity has no
/// influence on it.
#[test]
fn compensated_trees_have_no_weight() {
    let (heavy, initial) = arm(0.2, -9.81, 0.7, 0.4, 1e-2);
    let (light, _) = arm(0.2, 0.0, 0.7, 0.4, 1e-2);
    let mechanism = heavy.mechanism().clone().with_gravity_compensation(0);
    let held = isobar::multibody::ModelBuilder { mechanism, ..heavy.clone().into_builder() };
    let held = held.build().expect("a model");
    for integrator in integrators() {
        let states = simulated(&held, &initial, integrator, 1e-3, 0.1);
        assert_eq!(states, simulated(&light, &initial, integrator, 1e-3, 0.1), "{integrator:?}");
        assert_ne!(states, simulated(&heavy, &initial, integrator, 1e-3, 0.1), "{integrator:?}");
        let r = Rollout::new(&held, &initial, SimulationSettings { integrator, time_step: 1e-3 }, 0.1);
        let gravity = [0, 1, 2].map(|axis| Parameter::Gravity { axis });
        let gradient = loss_gradient(&r, &Ends, &gravity, Checkpoints::All).expect("simulates");
        assert_eq!(gradient.by_parameters, [0.0; 3], "{integrator:?}");
    }
    let at = |model: &Model| model.mechanical_energy(&initial);
    assert_eq!(at(&held), at(&light));
    let (mut workspace, mut tau) = (workspace(held.mechanism(), &initial.joints), [1.0]);
    held.mechanism().gravity_forces(&mut workspace, &GRAVITY, &mut tau);
    assert_eq!(tau, [0.0]);
}

/// Where the joints end.
struct Ends;

impl Loss for Ends {
    fn terminal<T: Scalar>(&self, moment: &Moment<T>) -> T {
        moment.state.joints.q[0] + moment.state.joints.v[0]
    }
}
