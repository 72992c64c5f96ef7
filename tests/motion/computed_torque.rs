//! Drives of computed torque: joints that follow a linear law whatever the configuration, steps with their derivatives, and
//! what models refuse.

use crate::folder::Folder;
use crate::step_derivatives::worst_error;
use isobar::contact::ContactModel;
use isobar::io::Scene;
use isobar::multibody::tree::{ComputedTorque, JointKind, Workspace};
use isobar::multibody::{
    Actuator, AppliedForces, BodyPair, Drive, Forces, Model, ModelBuilder, ModelError, PairWorkspace,
    Parameter, State,
};
use isobar::optimize::identification::parameters_at;
use isobar::rollout::{
    Checkpoints, Controls, Loss, Moment, Rollout, SimulationSettings, loss_gradient, loss_gradient_forward,
};
use isobar::scalar::{DualArray, Scalar};
use isobar::spatial::SpatialForce;
use isobar::step::{
    ComplementarityMethod, Integrator, RadauOrder, SolverTolerance, StepProblem, StepWorkspace, VelocityLevel,
};
use nalgebra::{DMatrix, DVector, Vector3};

/// An arm with a turning base, an elbow, a slide that another one follows, and a wrist: no two axes are alike, masses are off
/// the axes, and the joints have damping, springs and rotors. A pad on the last body presses on a box and on a free ball.
const ARM: &str = r#"
[materials.soft]
hydroelastic_modulus = 2e5
dissipation = 0.9
relaxation_time = 0.01
friction = 0.6

[[bodies]]
name = "upper"
mass = 1.5
center_of_mass = [0.02, 0.05, 0.1]
inertia = [[2e-2, 1e-3, 0], [1e-3, 3e-2, 0], [0, 0, 1.5e-2]]
joint = { type = "revolute", axis = [0.1, 0.2, 1], damping = 0.4, rotor_inertia = 0.02 }

[[bodies]]
name = "fore"
mass = 0.8
center_of_mass = [0.1, 0.01, -0.03]
inertia = [[1e-2, 0, 5e-4], [0, 1.2e-2, 0], [5e-4, 0, 0.8e-2]]
[bodies.joint]
type = "revolute"
parent = "upper"
axis = [0, 1, 0.1]
translation = [0.05, 0, 0.25]
spring = { stiffness = 3.0, rest = 0.2 }

[[bodies]]
name = "slider"
mass = 0.3
center_of_mass = [0.01, 0.02, 0.0]
inertia = [[1e-3, 0, 0], [0, 2e-3, 0], [0, 0, 1.5e-3]]
[bodies.joint]
type = "prismatic"
parent = "fore"
axis = [1, 0.1, 0]
translation = [0.2, 0, 0]
damping = 1.5

[[bodies]]
name = "counter"
mass = 0.2
inertia = [[1e-4, 0, 0], [0, 2e-4, 0], [0, 0, 1.5e-4]]
[bodies.joint]
type = "prismatic"
parent = "fore"
axis = [0, 1, 0]
mimic = { joint = "slider", multiplier = -0.7, offset = 0.02 }

[[bodies]]
name = "hand"
mass = 0.25
center_of_mass = [0.02, 0, 0.01]
inertia = [[5e-4, 0, 0], [0, 6e-4, 0], [0, 0, 4e-4]]
[bodies.joint]
type = "revolute"
parent = "slider"
axis = [1, 0, 0.3]
translation = [0.1, 0, 0.02]
rotor_inertia = 0.005
"#;

/// What the hand touches, at the configuration of [`pressing`].
const TOUCHED: &str = r#"
[[bodies.geometries]]
shape = { box = { size = [0.06, 0.05, 0.06] } }
material = "soft"

[[bodies]]
name = "wall"
fixed = true
translation = [0.4405, 0.005, 0.24]
[[bodies.geometries]]
shape = { box = { size = [0.1, 0.4, 0.4] } }
material = "soft"

[[bodies]]
name = "ball"
mass = 0.2
translation = [0.355, 0.068, 0.27]
linear_velocity = [0.02, 0.01, -0.03]
angular_velocity = [0.3, -0.2, 0.1]
[[bodies.geometries]]
shape = { sphere = { radius = 0.04, resolution = 0.035 } }
material = "soft"
"#;

const LAW: ComputedTorque = ComputedTorque { stiffness: 90.0, damping: 14.0 };

/// One actuator for each joint with a coordinate.
fn leading(model: &Model, drive: Drive) -> Vec<Actuator> {
    let mechanism = model.mechanism();
    let joints = mechanism.joints_with_coordinates();
    let lead = |name: &str| Actuator::new(name, mechanism, &[(name, 0, 1.0)], drive, f64::INFINITY);
    joints.map(|joint| lead(&joint.name).expect("a joint with one coordinate")).collect()
}

/// A scene with its joints under computed torque.
fn led(text: &str, law: ComputedTorque) -> (Model, State) {
    let folder = Folder::new("led");
    let Scene { model, state, .. } = Scene::load(folder.file("arm.toml", text)).expect("a scene");
    let actuators = leading(&model, Drive::ComputedTorque);
    let builder = model.into_builder();
    let mechanism = builder.mechanism.clone().with_computed_torque(0, law);
    (ModelBuilder { mechanism, actuators, ..builder }.build().expect("a model"), state)
}

/// The arm without anything that it touches, at large velocities.
fn free_arm(law: ComputedTorque) -> (Model, State) {
    let (model, mut state) = led(ARM, law);
    state.joints.q.copy_from_slice(&[0.4, -0.9, 0.03, 0.7]);
    state.joints.v.copy_from_slice(&[9.0, -12.0, 1.5, 20.0]);
    (model, state)
}

/// The arm that presses on the wall and the ball.
fn pressing() -> (Model, State) {
    let (model, mut state) = led(&format!("{ARM}{TOUCHED}"), LAW);
    state.joints.q.copy_from_slice(&[0.02, 0.01, 0.01, 0.03]);
    state.joints.v.copy_from_slice(&[0.3, -0.2, 0.15, 0.4]);
    (model, state)
}

const COMMANDS: [f64; 4] = [-0.6, 0.8, 0.09, -1.3];
const PRESSING: [f64; 4] = [0.05, -0.04, 0.05, 0.1];

fn exact(model: ContactModel) -> Integrator {
    let tolerance = SolverTolerance { relative: 1e-14, max_iterations: 200 };
    Integrator::VelocityLevel(VelocityLevel { model, tolerance })
}

fn velocity_level() -> [Integrator; 4] {
    [ContactModel::Sap, ContactModel::Lagged, ContactModel::Similar, ContactModel::Tamsi].map(exact)
}

fn complementarity() -> [Integrator; 3] {
    use ComplementarityMethod::{Ecp, Lcp, Ncp};
    [Ecp, Lcp, Ncp].map(Integrator::Complementarity)
}

/// The same commands at every step.
fn held(commands: &[f64; 4], steps: usize) -> Controls {
    Controls::from_values(4, commands.repeat(steps)).expect("four for each step")
}

fn stepped(integrator: Integrator, model: &Model, state: &State, control: &[f64], dt: f64) -> State {
    let step = StepProblem { control, ..StepProblem::new(model, state, dt) };
    integrator.step(&step, &mut StepWorkspace::default()).expect("a step")
}

/// The largest difference of positions and velocities.
fn apart(state: &State, q: &[f64], v: &[f64]) -> f64 {
    let joints = state.joints.q.iter().zip(q).chain(state.joints.v.iter().zip(v));
    joints.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

/// Steps that take the law at their end follow v⁺ = (v + δt k (u − q))/(1 + δt d + δt² k), q⁺ = q + δt v⁺ for each joint on
/// its own, and the semi-implicit one v⁺ = v + δt (k (u − q) − d v).
#[test]
fn joints_follow_the_law_of_the_step_one_by_one() {
    let (model, start) = free_arm(LAW);
    let dt = 2e-3;
    let implicit = velocity_level().into_iter().chain(complementarity());
    let mut worst: f64 = 0.0;
    for integrator in implicit.chain([Integrator::SemiImplicitEuler]) {
        let mut state = start.clone();
        let (mut q, mut v) = (start.joints.q.clone(), start.joints.v.clone());
        for step in 0..300 {
            let commands = if step < 150 { COMMANDS } else { COMMANDS.map(|u| 0.5 - u) };
            state = stepped(integrator, &model, &state, &commands, dt);
            for k in 0..4 {
                let pull = LAW.stiffness * (commands[k] - q[k]);
                v[k] = match integrator {
                    Integrator::SemiImplicitEuler => v[k] + dt * (pull - LAW.damping * v[k]),
                    _ => (v[k] + dt * pull) / (1.0 + dt * LAW.damping + dt * dt * LAW.stiffness),
                };
                q[k] += dt * v[k];
            }
            let error = apart(&state, &q, &v);
            assert!(error < 1e-10, "{integrator:?}, step {step}: {error:e}");
            worst = worst.max(error);
        }
    }
    println!("largest difference to the closed form: {worst:e}");
}

/// The damped oscillator from a position and a velocity to a command, underdamped.
fn oscillator(law: ComputedTorque, command: f64, q: f64, v: f64, t: f64) -> [f64; 2] {
    let (decay, x) = (0.5 * law.damping, q - command);
    let w = (law.stiffness - decay * decay).sqrt();
    let (c, s) = ((w * t).cos(), (w * t).sin());
    let (a, b) = (x, (v + decay * x) / w);
    let fade = (-decay * t).exp();
    let position = fade * (a * c + b * s);
    [command + position, fade * w * (b * c - a * s) - decay * position]
}

/// Every kind of step comes to the law of continuous time as it gets shorter, with its order.
#[test]
fn steps_converge_to_the_linear_law() {
    let law = ComputedTorque::oscillator(10.0, 0.7);
    assert_eq!((law.stiffness, law.damping), (100.0, 14.0));
    let (model, start) = free_arm(law);
    let until = 0.2;
    let exact: Vec<[f64; 2]> =
        (0..4).map(|k| oscillator(law, COMMANDS[k], start.joints.q[k], start.joints.v[k], until)).collect();
    let (q, v): (Vec<f64>, Vec<f64>) = exact.iter().map(|[q, v]| (*q, *v)).unzip();
    let error = |integrator, steps: usize| {
        let mut state = start.clone();
        for _ in 0..steps {
            state = stepped(integrator, &model, &state, &COMMANDS, until / steps as f64);
        }
        apart(&state, &q, &v)
    };
    let radau = [RadauOrder::First, RadauOrder::Third, RadauOrder::Fifth].map(Integrator::Radau);
    let explicit = [
        Integrator::SemiImplicitEuler,
        Integrator::RungeKutta4,
        Integrator::BogackiShampine,
        Integrator::DormandPrince,
    ];
    let all = velocity_level().into_iter().chain(complementarity()).chain(radau).chain(explicit);
    for integrator in all {
        let steps = if integrator.order() == 1 { 800 } else { 20 };
        let errors = [error(integrator, steps), error(integrator, 2 * steps)];
        let order = (errors[0] / errors[1]).log2();
        println!("{integrator:?}: {:e} with {steps} steps, order {order:.3}", errors[0]);
        assert!((order - f64::from(integrator.order())).abs() < 0.35, "{integrator:?}: {errors:?}");
        assert!(errors[1] < 2e-2, "{integrator:?}: {errors:?}");
    }
}

/// Neither gravity nor the arm's own dynamics have an influence on it, and what it weighs and how it is damped are not felt.
#[test]
fn what_drives_cancel_has_no_influence() {
    let (model, start) = free_arm(LAW);
    let controls = held(&COMMANDS, 40);
    for integrator in [exact(ContactModel::Lagged), Integrator::RungeKutta4] {
        let settings = SimulationSettings { integrator, time_step: 1e-3 };
        let r = Rollout { controls: (&controls).into(), ..Rollout::new(&model, &start, settings, 0.04) };
        let parameters = Parameter::all(&model);
        let gradient = loss_gradient(&r, &Ends, &parameters, Checkpoints::All).expect("simulates");
        for (parameter, by) in parameters.iter().zip(&gradient.by_parameters) {
            let counts = matches!(
                parameter,
                Parameter::InitialJoint { .. }
                    | Parameter::TreeStiffness { .. }
                    | Parameter::TreeDamping { .. }
            );
            assert!(counts || by.abs() < 1e-9, "{integrator:?}, {}: {by:e}", parameter.name(&model));
        }
        assert!(gradient.by_controls.values().iter().any(|by| by.abs() > 1e-6));
    }
}

/// Where joints and ball end.
struct Ends;

impl Loss for Ends {
    fn terminal<T: Scalar>(&self, moment: &Moment<T>) -> T {
        let joints = moment.state.joints.q.iter().chain(&moment.state.joints.v);
        let joints = joints.enumerate().fold(T::from(0.0), |sum, (k, x)| sum + *x * (0.3 + k as f64));
        let bodies = moment.state.bodies.iter().map(|body| body.position.x + body.velocity.rotational.y);
        bodies.fold(joints, |sum, x| sum + x)
    }
}

/// Steps under whose contacts the derivatives are looked at.
fn in_contact() -> Vec<Integrator> {
    let mut all = velocity_level().to_vec();
    all.extend([Integrator::SemiImplicitEuler, Integrator::RungeKutta4]);
    all
}

/// That the hand touches both.
fn assert_presses(model: &Model, state: &State) {
    let body = |name: &str| model.body_index(name).expect("a body");
    let mut frames = Vec::new();
    model.body_frames(state, &mut frames);
    for other in ["wall", "ball"] {
        let pairs = model.geometry_pairs(BodyPair::of(body("hand"), body(other))).expect("compliant");
        let contact = model.body_pair_contact(&frames, &pairs, &mut PairWorkspace::default());
        let force = contact.wrench_on_a.translational.norm();
        assert!(force > 1.0, "{other}: {force} N, with the hand at {:?}", frames[body("hand")].pose);
    }
}

/// Products of the tape, its Jacobian, and steps in dual numbers.
#[test]
fn steps_have_their_derivatives() {
    for (model, state, control) in [pressing(), free_arm(LAW)].map(|(m, s)| (m, s, PRESSING)) {
        let weights: Vec<f64> = (0..state.tangent_dimension()).map(|i| (1.7 * i as f64).sin()).collect();
        let mut integrators = in_contact();
        if state.bodies.is_empty() {
            integrators.extend(complementarity());
            integrators.push(Integrator::DormandPrince);
            integrators.push(Integrator::Radau(RadauOrder::Fifth));
        } else {
            assert_presses(&model, &state);
        }
        for integrator in integrators {
            let error = worst_error(integrator, &model, &state, &Push, &control, &weights);
            println!("{integrator:?}, {} free bodies: {error:e}", state.bodies.len());
            assert!(error < 1e-9, "{integrator:?}: {error:e}");
        }
    }
}

/// Steps in dual numbers against central differences of fourth order: along the joints and by commands, in contact.
#[test]
fn steps_agree_with_differences() {
    type Dual = DualArray<8>;
    let (model, start) = pressing();
    assert_presses(&model, &start);
    let (n, nv) = (start.tangent_dimension(), start.joints.v.len());
    let h = 2e-7;
    let mut worst: f64 = 0.0;
    for integrator in in_contact() {
        let after = stepped(integrator, &model, &start, &PRESSING, 1e-3);
        for column in (n - 2 * nv..n + nv).chain(0..n - 2 * nv) {
            // Commands are moved farther, as a step follows them less.
            let h = if column < n { h } else { 1e-3 };
            let moved = |by: f64| {
                let (mut tangent, mut control) = (vec![0.0; n], PRESSING);
                if column < n {
                    tangent[column] = by;
                } else {
                    control[column - n] += by;
                }
                let end = stepped(integrator, &model, &start.moved(&tangent), &control, 1e-3);
                DVector::from_vec(after.difference(&end))
            };
            let expected = (8.0 * (moved(h) - moved(-h)) - (moved(2.0 * h) - moved(-2.0 * h))) / (12.0 * h);
            let (lifted, state) = (Model::lift(&model), State::<Dual>::lift(&start));
            let mut tangent = vec![Dual::from(0.0); n];
            let mut control = PRESSING.map(Dual::from);
            if column < n {
                tangent[column] = Dual::variable(0.0, 0);
            } else {
                control[column - n] = Dual::variable(PRESSING[column - n], 0);
            }
            let state = state.moved(&tangent);
            let step = StepProblem { control: &control, ..StepProblem::new(&lifted, &state, 1e-3) };
            let end = integrator.step(&step, &mut StepWorkspace::default()).expect("a step");
            let found: Vec<f64> = State::lift(&after).difference(&end).iter().map(|x| x.eps[0]).collect();
            let error = (DVector::from_vec(found) - &expected).amax() / expected.amax();
            assert!(error < 1e-6, "{integrator:?}, column {column}: {error:e}");
            worst = worst.max(error);
        }
    }
    println!("largest difference to differences: {worst:e}");
}

/// The adjoint of a rollout that presses against the wall, with respect to commands and all parameters.
#[test]
fn adjoint_is_forward() {
    let (model, initial) = pressing();
    let steps = 30;
    let controls = held(&PRESSING, steps);
    let parameters = Parameter::all(&model);
    for (integrator, time_step) in velocity_level()
        .map(|integrator| (integrator, 1e-3))
        .into_iter()
        .chain([(Integrator::RungeKutta4, 1e-4)])
    {
        let settings = SimulationSettings { integrator, time_step };
        let until = time_step * steps as f64;
        let r = Rollout { controls: (&controls).into(), ..Rollout::new(&model, &initial, settings, until) };
        let adjoint = loss_gradient(&r, &Ends, &parameters, Checkpoints::All).expect("simulates");
        let forward = loss_gradient_forward(&r, &Ends, &parameters).expect("simulates");
        let pairs = adjoint.by_parameters.iter().zip(&forward.by_parameters);
        let largest = forward.by_parameters.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
        for (parameter, (a, f)) in parameters.iter().zip(pairs) {
            let error = (a - f).abs() / f.abs().max(1e-9 * largest);
            assert!(error < 1e-7, "{integrator:?} {}: {a:e} {f:e}", parameter.name(&model));
        }
        // By the commands of the first joint, all moved together, against a difference.
        let end = |by: f64| {
            let mut commands = PRESSING;
            commands[0] += by;
            let (mut state, mut sum) = (initial.clone(), 0.0);
            for _ in 0..steps {
                state = stepped(integrator, &model, &state, &commands, time_step);
            }
            for (k, x) in state.joints.q.iter().chain(&state.joints.v).enumerate() {
                sum += x * (0.3 + k as f64);
            }
            sum + state.bodies.iter().map(|b| b.position.x + b.velocity.rotational.y).sum::<f64>()
        };
        let found: f64 = adjoint.by_controls.values().iter().step_by(4).sum();
        let h = 5e-6;
        let expected = (8.0 * (end(h) - end(-h)) - (end(2.0 * h) - end(-2.0 * h))) / (12.0 * h);
        println!("{integrator:?}: {found:e} {expected:e}");
        assert!((found - expected).abs() < 1e-5 * expected.abs(), "{integrator:?}: {found:e} {expected:e}");
    }
}

/// A force and a moment on the hand, and efforts along the joints, that the drives do not know of.
struct Push;

impl AppliedForces for Push {
    fn apply<T: Scalar>(&self, model: &Model<T>, state: &State<T>, _: f64, _: &[T], forces: &mut Forces<T>) {
        let hand = model.moving_index(model.body_index("hand").expect("a body")).expect("it moves");
        forces.bodies[hand].rotational.z += state.joints.q[0] * 0.7 + 0.2;
        forces.bodies[hand].translational.y -= 3.0;
        for (k, tau) in forces.joints.iter_mut().enumerate() {
            *tau += state.joints.v[k] * 0.02 + 0.4 * k as f64;
        }
    }
}

/// What drives do not know of moves the arm by its inertia: (1 + δt d + δt² k) M (v⁺ − v_free) = δt τ with the velocity v_free
/// without it.
#[test]
fn other_forces_move_the_arm_by_its_inertia() {
    let (model, state) = free_arm(LAW);
    let (mechanism, dt) = (model.mechanism(), 1e-3);
    let mut workspace = Workspace::new(mechanism);
    mechanism.update_kinematics(&state.joints.q, &state.joints.v, &mut workspace);
    let mut mass = DMatrix::zeros(4, 4);
    mechanism.mass_matrix(&mut workspace, &mut mass);
    let links = model.bodies().len();
    let mut forces = Forces { bodies: vec![SpatialForce::zero(); links], joints: vec![0.0; 4] };
    Push.apply(&model, &state, 0.0, &[], &mut forces);
    let mut tau = DVector::from_column_slice(&forces.joints);
    let hand = mechanism.body_index("hand").expect("a body");
    let on_hand =
        &forces.bodies[model.moving_index(model.body_index("hand").expect("a body")).expect("it moves")];
    for (k, column) in workspace.jacobian_columns(mechanism, hand, &Vector3::zeros()) {
        tau[k] += column.dot(on_hand);
    }
    let step = StepProblem { control: &COMMANDS, ..StepProblem::new(&model, &state, dt) };
    for integrator in velocity_level().into_iter().chain(complementarity()) {
        let v = |state: State| DVector::from_vec(state.joints.v);
        let pushed = v(integrator.step(&step.under(&Push), &mut StepWorkspace::default()).expect("a step"));
        let free = v(integrator.step(&step, &mut StepWorkspace::default()).expect("a step"));
        let error = (&mass * (pushed - free) * LAW.step_factor(dt) - &tau * dt).amax() / (tau.amax() * dt);
        assert!(error < 1e-10, "{integrator:?}: {error:e}");
    }
}

/// The gains are those of the tree, by the name of any of its joints; a joint that is not led has none.
#[test]
fn gains_are_parameters_of_the_tree() {
    let (model, _) = free_arm(LAW);
    for (field, parameter, value) in [
        ("stiffness", Parameter::TreeStiffness { tree: 0 }, LAW.stiffness),
        ("damping", Parameter::TreeDamping { tree: 0 }, LAW.damping),
    ] {
        for joint in ["upper", "hand", "counter"] {
            let found = parameters_at(&model, &format!("joints.{joint}.computed_torque.{field}"));
            assert_eq!(found.expect("a parameter"), [parameter]);
        }
        assert_eq!(parameter.value(&model), Ok(value));
        assert_eq!(parameter.name(&model), format!("upper.computed_torque.{field}"));
    }
    let folder = Folder::new("plain");
    let plain = Scene::load(folder.file("arm.toml", ARM)).expect("a scene").model;
    let error = parameters_at(&plain, "joints.hand.computed_torque.stiffness").expect_err("none").to_string();
    assert!(error.contains("computed_torque.stiffness"), "{error}");
}

/// Wrong combinations, each with one message.
#[test]
fn models_refuse_what_cannot_be_led() {
    let (model, _) = free_arm(LAW);
    let built = |change: &dyn Fn(&mut ModelBuilder)| {
        let mut builder = model.clone().into_builder();
        change(&mut builder);
        builder.build().map(|_| ()).expect_err("refused")
    };
    let error = built(&|b| drop(b.actuators.pop()));
    assert!(matches!(&error, ModelError::NotLed { joint, found: 0, .. } if joint == "hand"), "{error}");
    let error = built(&|b| {
        let twice = Actuator { name: "twice".into(), ..b.actuators[0].clone() };
        b.actuators.push(twice);
    });
    assert!(matches!(&error, ModelError::NotLed { joint, found: 2, .. } if joint == "upper"), "{error}");
    let error = built(&|b| b.actuators[1].effort = 20.0);
    assert!(error.to_string().contains("limits of effort do not apply to computed torque"), "{error}");
    for law in [ComputedTorque { stiffness: -1.0, ..LAW }, ComputedTorque { damping: f64::NAN, ..LAW }] {
        let error = built(&|b| b.mechanism = b.mechanism.clone().with_computed_torque(2, law));
        assert!(error.to_string().contains("of computed torque of joint `upper`"), "{error}");
    }
    let folder = Folder::new("not-led");
    let plain = Scene::load(folder.file("arm.toml", ARM)).expect("a scene").model;
    let actuators = leading(&plain, Drive::ComputedTorque);
    let error = ModelBuilder { actuators, ..plain.into_builder() }.build().map(|_| ()).expect_err("refused");
    let expected =
        |e: &ModelError| matches!(e, ModelError::NotComputedTorque { actuator, .. } if actuator == "upper");
    assert!(expected(&error), "{error}");
    // A ball joint cannot be led.
    let ball = ARM.replace(
        "type = \"revolute\"\nparent = \"slider\"\naxis = [1, 0, 0.3]",
        "type = \"ball\"\nparent = \"slider\"",
    );
    let model = Scene::load(folder.file("ball.toml", &ball)).expect("a scene").model;
    let builder = model.into_builder();
    let single = builder.mechanism.joints_with_coordinates().filter(|joint| joint.kind != JointKind::Ball);
    let lead = |name: &str| {
        Actuator::new(name, &builder.mechanism, &[(name, 0, 1.0)], Drive::ComputedTorque, f64::INFINITY)
    };
    let actuators = single.map(|joint| lead(&joint.name).expect("one coordinate")).collect();
    let mechanism = builder.mechanism.clone().with_computed_torque(0, LAW);
    let error = ModelBuilder { mechanism, actuators, ..builder }.build().map(|_| ()).expect_err("refused");
    assert!(matches!(&error, ModelError::NotLed { joint, found: 0, .. } if joint == "hand"), "{error}");
}
