//! Rollouts under controllers, and gradients through them.

use isobar::Scene;
use isobar::contact::{ContactModel, MaterialParameter};
use isobar::multibody::{Model, Parameter, State, seeded};
use isobar::rollout::{
    Checkpoints, ClosedLoop, ControlKnots, ControlLaw, Controls, GripForce, HalfSquares, KnotInterpolation,
    KnotLaw, Loss, Moment, NetworkInput, NeuralNetwork, Output, Pid, Quantity, Rollout, SampledController,
    SensorNoise, SimulationSettings, SlipReflex, SlipSense, TrajectoryResiduals,
};
use isobar::scalar::{DualArray, Scalar};
use isobar::step::{Integrator, SolverTolerance, VelocityLevel};
use nalgebra::Vector3;

/// Where the ball is, how hard it is held, and what that takes.
struct Held;

impl TrajectoryResiduals for Held {
    fn running<T: Scalar>(&self, moment: &Moment<T>, residuals: &mut Vec<T>) {
        let scale = moment.dt.sqrt();
        residuals.push((moment.state.bodies[0].position.z - 0.07) * (30.0 * scale));
        residuals.push(moment.control[1] * (0.1 * scale));
        residuals.push(moment.state.joints.v[1] * scale);
    }

    fn terminal<T: Scalar>(&self, moment: &Moment<T>, residuals: &mut Vec<T>) {
        let ball = &moment.state.bodies[0];
        residuals.push((ball.position.z - 0.08) * 20.0);
        residuals.extend(ball.velocity.translational.iter().map(|&v| v * 0.5));
        residuals.push(ball.velocity.rotational.y * 0.1);
    }
}

/// The gripper of an example with its ball in the air between the fingers, held and sliding.
fn held_ball() -> Scene {
    let mut scene = Scene::load("examples/grasp_lift/gripper.toml").expect("an example");
    let ball = &mut scene.state.bodies[0];
    ball.position = Vector3::new(0.0004, 0.0021, 0.0413);
    ball.velocity.translational = Vector3::new(0.003, 0.011, -0.06);
    ball.velocity.rotational = Vector3::new(0.13, -0.21, 0.17);
    scene.state.joints.q.copy_from_slice(&[0.0013, 0.0171, 0.0166]);
    scene.state.joints.v.copy_from_slice(&[0.021, 0.013, -0.007]);
    scene
}

const LEFT: usize = 3;
const RIGHT: usize = 4;
const BALL: usize = 1;

/// A grip force with slip, a path of the palm with feedback, a small network, a reflex, a timetable.
fn controllers(delay: usize) -> (Vec<SampledController<ControlLaw>>, Vec<f64>) {
    let sense = || SlipSense {
        contacts: vec![(LEFT, BALL), (RIGHT, BALL)],
        threshold: 0.004,
        force: 0.3,
        from: 0.01,
    };
    let squeeze = || Output::new([(1, 0.9)]);
    let knots = ControlKnots::new(KnotInterpolation::Linear, vec![0.0, 0.02, 0.05]).expect("knots");
    let grip = GripForce::new(&[(LEFT, BALL), (RIGHT, BALL)], knots.clone(), Some(sense()), squeeze());
    let (body, relative_to) = (2, None);
    let height = [Quantity::Position { body, relative_to }, Quantity::Velocity { body, relative_to }];
    let pid = Pid::new(height, Vector3::z(), knots.clone(), Output::new([(0, 1.0)]));
    let inputs = [
        NetworkInput {
            observed: Quantity::ContactForce { on: LEFT, from: BALL, expressed_in: Some(LEFT) },
            offset: 1.0,
            scale: 5.0,
        },
        NetworkInput { observed: Quantity::ContactArea { on: RIGHT, from: BALL }, offset: 0.0, scale: 1e-4 },
        NetworkInput {
            observed: Quantity::ContactCentroid { on: LEFT, from: BALL },
            offset: 0.0,
            scale: 0.01,
        },
        NetworkInput { observed: Quantity::JointVelocity { index: 2 }, offset: 0.0, scale: 0.05 },
    ];
    let network =
        NeuralNetwork::new(&inputs, 2, vec![(Output::new([(1, 1.0)]), 0.4), (Output::new([(0, 1.0)]), 1e-3)]);
    let weights = (0..network.layer_sizes().iter().sum()).map(|i| 0.6 * (1.0 + 2.3 * i as f64).sin());
    let reflex = SlipReflex::new(sense(), squeeze());
    let timetable = KnotLaw { knots, controls: vec![1, 0] };
    let all = vec![
        SampledController::new(ControlLaw::GripForce(grip), 1).delayed(delay),
        SampledController::new(ControlLaw::Pid(pid), 3).delayed(delay + 2),
        SampledController::new(ControlLaw::NeuralNetwork(network), 2).delayed(delay),
        SampledController::new(ControlLaw::SlipReflex(reflex), 4),
        SampledController::new(ControlLaw::Knots(timetable), 1),
    ];
    let mut parameters = vec![3.0, 2.8, 3.1, 0.4, 6.0, 0.2, 30.0, 2.0];
    parameters.extend([0.3, 2.0, 0.02, 0.12, 0.13, 0.14]);
    parameters.extend(weights);
    parameters.extend([20.0, 5.0]);
    parameters.extend([2.1, 0.001, 1.9, 0.002, 2.4, 0.004]);
    (all, parameters)
}

/// The loss of a motion in any scalar, evaluated by hand.
fn loss_of<T: Scalar>(model: &Model<T>, dt: f64, states: &[State<T>], controls: &Controls<T>) -> T {
    let loss = HalfSquares(&Held);
    let steps = controls.steps();
    let mut sum = T::from(0.0);
    for step in 0..steps {
        let (state, control) = (&states[step], controls.row(step));
        sum += loss.running(&Moment {
            step,
            time: step as f64 * dt,
            dt,
            model,
            state,
            control,
            contacts: &Default::default(),
            step_end: None,
        });
    }
    let time = steps as f64 * dt;
    sum + loss.terminal(&Moment {
        step: steps,
        time,
        dt: 0.0,
        model,
        state: &states[steps],
        control: &[],
        contacts: &Default::default(),
        step_end: None,
    })
}

fn integrators() -> [(Integrator, f64, usize); 2] {
    let tolerance = SolverTolerance { relative: 1e-14, max_iterations: 200 };
    [
        (Integrator::SemiImplicitEuler, 5e-4, 24),
        (Integrator::VelocityLevel(VelocityLevel { model: ContactModel::Lagged, tolerance }), 2e-3, 12),
    ]
}

#[test]
fn the_adjoint_through_controllers_is_that_of_dual_numbers_and_of_differences() {
    const N: usize = 8;
    type Dual = DualArray<N>;
    let scene = held_ball();
    let of_model = [
        Parameter::Material { material: 1, parameter: MaterialParameter::HydroelasticModulus },
        Parameter::Mass { body: BALL },
        Parameter::InitialTangent { body: BALL, index: 5 },
        Parameter::InitialJoint { index: 1 },
    ];
    for (integrator, time_step, steps) in integrators() {
        for delay in [0, 5] {
            let (controllers, parameters) = controllers(delay);
            let settings = SimulationSettings { integrator, time_step };
            let until = time_step * steps as f64;
            let rollout = Rollout::new(&scene.model, &scene.state, settings, until);
            let base =
                Controls::from_values(2, (0..2 * steps).map(|i| 1e-3 * (i as f64).cos()).collect()).unwrap();
            let rollout = rollout.with_controls(&base);
            let closed = ClosedLoop::new(rollout, &controllers, &parameters);
            let gradient =
                closed.loss_gradient(&HalfSquares(&Held), &of_model, Checkpoints::All).expect("a gradient");
            let few = closed.loss_gradient(&HalfSquares(&Held), &of_model, Checkpoints::Binomial(3)).unwrap();
            assert_eq!(gradient.by_controllers, few.by_controllers);
            assert_eq!(gradient.loss.by_initial, few.loss.by_initial);
            assert_eq!(gradient.loss.by_parameters, few.loss.by_parameters);
            // Over a motion that is there already, of several losses at once.
            let (held, states) = (HalfSquares(&Held), closed.motion().trajectory.states);
            let over = closed.loss_gradients_over(&states, &[&held, &held], &of_model).unwrap();
            assert_eq!(over.len(), 2);
            for over in over {
                assert_eq!(over.by_controllers, gradient.by_controllers);
                assert_eq!(over.loss.value, gradient.loss.value);
                assert_eq!(over.loss.by_initial, gradient.loss.by_initial);
                assert_eq!(over.loss.by_parameters, gradient.loss.by_parameters);
                assert_eq!(over.loss.by_controls, gradient.loss.by_controls);
            }

            // All derivatives in the order of controllers, model, the control value of some step.
            let p = parameters.len();
            let mut claimed = gradient.by_controllers.clone();
            claimed.extend(&gradient.loss.by_parameters);
            claimed.push(gradient.loss.by_controls.row(7)[1]);
            for first in (0..claimed.len()).step_by(N) {
                let seed = |i: usize, x: f64| match i.checked_sub(first) {
                    Some(k) if k < N => Dual::variable(x, k),
                    _ => Dual::from(x),
                };
                let lifted: Vec<Dual> = parameters.iter().enumerate().map(|(i, &x)| seed(i, x)).collect();
                let values = of_model.iter().enumerate();
                let values: Vec<_> =
                    values.map(|(i, q)| (*q, seed(p + i, q.value(&scene.model).unwrap()))).collect();
                let (model, initial) = seeded(&scene.model, &scene.state, &values).expect("seeds");
                let rows = base.values().iter().enumerate();
                let at = p + of_model.len();
                let rows = rows.map(|(i, &x)| seed(if i == 15 { at } else { usize::MAX }, x)).collect();
                let base = Controls::from_values(2, rows).unwrap();
                let rollout = Rollout::new(&model, &initial, settings, until).with_controls(&base);
                let (motion, controls) = ClosedLoop::new(rollout, &controllers, &lifted).simulate().unwrap();
                let loss = loss_of(&model, time_step, &motion.states, &controls);
                assert!((loss.re - gradient.loss.value).abs() < 1e-12 * loss.re, "{loss:?}");
                for (k, claimed) in claimed[first..].iter().take(N).enumerate() {
                    let size = claimed.abs().max(1e-3);
                    let name = format!("{integrator:?}, delay {delay}, {}", first + k);
                    assert!((claimed - loss.eps[k]).abs() < 1e-9 * size, "{name}: {claimed} {}", loss.eps[k]);
                }
            }
            // Along one direction of all parameters of controllers, against differences.
            let direction: Vec<f64> = parameters
                .iter()
                .enumerate()
                .map(|(i, x)| x.abs().max(1e-3) * (1.7 * i as f64).sin())
                .collect();
            let value = |h: f64| {
                let moved: Vec<f64> = parameters.iter().zip(&direction).map(|(x, d)| x + h * d).collect();
                let (motion, controls) = ClosedLoop::new(rollout, &controllers, &moved).simulate().unwrap();
                loss_of(&scene.model, time_step, &motion.states, &controls)
            };
            let slope = |h: f64| (value(h) - value(-h)) / (2.0 * h);
            let h = 3e-6;
            let difference = (4.0 * slope(h) - slope(2.0 * h)) / 3.0;
            let along: f64 = gradient.by_controllers.iter().zip(&direction).map(|(g, d)| g * d).sum();
            assert!((along - difference).abs() < 1e-6 * along.abs(), "{along} {difference}");
        }
    }
}

#[test]
fn what_is_commanded_gives_the_same_motion_without_controllers() {
    let scene = held_ball();
    let (mut controllers, parameters) = controllers(3);
    controllers[0].noise = Some(SensorNoise { seed: 4, deviations: vec![0.2; 10] });
    let settings =
        SimulationSettings { integrator: Integrator::velocity_level(ContactModel::Lagged), time_step: 2e-3 };
    let rollout = Rollout::new(&scene.model, &scene.state, settings, 0.04);
    let closed = ClosedLoop::new(rollout, &controllers, &parameters);
    let (motion, controls) = closed.simulate().unwrap();
    assert_eq!(rollout.with_controls(&controls).simulate().unwrap(), motion);
    // The noise is the same every time, and another from another seed.
    assert_eq!(closed.simulate().unwrap().1, controls);
    let noise = controllers[0].noise.clone().unwrap();
    controllers[0].noise = Some(noise.of_stream(1));
    assert_ne!(ClosedLoop::new(rollout, &controllers, &parameters).simulate().unwrap().1, controls);
}

#[test]
fn what_cannot_be_observed_is_refused() {
    let scene = held_ball();
    let rollout = Rollout::new(&scene.model, &scene.state, SimulationSettings::default(), 0.01);
    let refused = |observed| {
        let inputs = [NetworkInput { observed, offset: 0.0, scale: 1.0 }];
        let network = NeuralNetwork::new(&inputs, 1, vec![(Output::new([(0, 1.0)]), 1.0)]);
        let parameters = vec![0.0; network.layer_sizes().iter().sum()];
        let controllers = [SampledController::new(network, 1)];
        let outcome = ClosedLoop::new(rollout, &controllers, &parameters).simulate();
        outcome.map(|_| ()).expect_err("it cannot be observed").to_string()
    };
    let of_step = "a controller observes a command or the force of a step, which starts when it has sampled";
    assert_eq!(refused(Quantity::Control { index: 0 }), of_step);
    assert_eq!(refused(Quantity::StepForce { on: LEFT, from: BALL }), of_step);
    let message = refused(Quantity::Velocity { body: BALL, relative_to: Some(99) });
    assert!(message.starts_with("a controller observes body 99; there are"), "{message}");
    let message = refused(Quantity::NormalForce { on: LEFT, from: LEFT });
    assert!(message.contains("cannot touch"), "{message}");
}
