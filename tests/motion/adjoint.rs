//! Gradients over rollouts: the adjoint against forward sensitivities and differences, with every
//! way to keep checkpoints, in batches, and at the same cost for any number of parameters.

use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::moving_bodies::{CONTROLS, Pull, heap};
use crate::step_scenes::pile;
use nalgebra::Vector3;
use rayon::prelude::*;

use isobar::check::{CheckSettings, compare_derivative};
use isobar::contact::{ContactModel, ContactSettings, MaterialParameter};
use isobar::multibody::{
    AppliedForces, ForceDependence, Forces, Model, Parameter, State, StateDependence, seeded,
};
use isobar::rollout::{
    Batch, BatchMember, Checkpoints, Controls, GaussNewton, Loss, LossFunctions, LossGradient, Moment,
    MomentGradient, Motion, Rollout, SimulationError, SimulationSettings, TrajectoryResiduals, loss_gradient,
    loss_gradient_forward,
};
use isobar::scalar::Scalar;
use isobar::step::{Integrator, SolverTolerance, StepProblem, StepWorkspace, VelocityLevel};

const INTEGRATORS: [Integrator; 2] = [Integrator::SemiImplicitEuler, Integrator::RungeKutta4];
const MODELS: [ContactModel; 4] =
    [ContactModel::Sap, ContactModel::Lagged, ContactModel::Similar, ContactModel::Tamsi];

/// Effort, the path of one body and the turning of another on the way; where a third one ends.
#[derive(Clone, Copy, Debug)]
struct Task;

impl Loss for Task {
    fn running<T: Scalar>(&self, moment: &Moment<T>) -> T {
        let effort = moment.control.iter().fold(T::from(0.0), |sum, &u| sum + u * u * 0.3);
        let off = moment.state.bodies[0].position - Vector3::new(0.1, 0.0, 0.05).map(T::from);
        let w = moment.state.bodies[1].velocity.rotational;
        let later = 1.0 + moment.time;
        (effort + off.dot(&off) * later + w.dot(&w) * 1e-3) * moment.dt
    }

    fn terminal<T: Scalar>(&self, moment: &Moment<T>) -> T {
        let body = moment.state.bodies[2];
        let aim = body.orientation.to_matrix() * Vector3::new(0.3, 0.5, -0.2).map(T::from) + body.position;
        let weight = moment.model.body_mass(2).expect("it moves").mass * moment.model.gravity().z;
        aim.dot(&aim)
            + moment.state.bodies[1].position.x * (moment.step as f64 * 1e-3)
            + weight * body.position.z * 0.1
    }
}

/// Control values that vary from step to step.
fn controls(steps: usize) -> Controls {
    let value = |i: usize| 0.3 * (0.37 * i as f64).sin() + 0.1;
    Controls::from_values(CONTROLS, (0..steps * CONTROLS).map(value).collect()).expect("whole rows")
}

/// Steps short enough for the friction of light bodies.
const TIME_STEP: f64 = 1e-4;

fn settings(integrator: Integrator) -> SimulationSettings {
    SimulationSettings { integrator, time_step: TIME_STEP }
}

fn gentle() -> ContactSettings {
    ContactSettings { stiction_velocity: 0.02, ..Default::default() }
}

fn scene() -> (Model, State) {
    heap(gentle())
}

fn rollout<'a>(
    model: &'a Model,
    initial: &'a State,
    controls: &'a Controls,
    integrator: Integrator,
    steps: usize,
) -> Rollout<'a> {
    let until = steps as f64 * TIME_STEP;
    Rollout {
        model,
        initial,
        settings: settings(integrator),
        until,
        applied: &Pull,
        controls: controls.into(),
        substeps: None,
        sleep: None,
    }
}

/// The largest difference of two lists of numbers, relative to the largest magnitude.
fn relative_difference(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    let size = a.iter().chain(b).fold(0.0_f64, |m, x| m.max(x.abs()));
    let difference = a.iter().zip(b).fold(0.0_f64, |m, (a, b)| m.max((a - b).abs()));
    if size == 0.0 { 0.0 } else { difference / size }
}

/// A velocity-level step whose rounding does not show in differences.
fn exact(model: ContactModel) -> Integrator {
    let tolerance = SolverTolerance { relative: 1e-15, max_iterations: 200 };
    Integrator::VelocityLevel(VelocityLevel { model, tolerance })
}

/// Central differences of the loss by a parameter, extrapolated to no step (Richardson).
fn difference_by_parameter(r: &Rollout<'_>, parameter: Parameter, scale: f64) -> f64 {
    let value = parameter.value(r.model).expect("exists");
    let loss = |x: f64| {
        let (model, initial) = seeded(r.model, r.initial, &[(parameter, x)]).expect("valid");
        value_of(&Rollout { model: &model, initial: &initial, ..*r })
    };
    let central = |h: f64| (loss(value + h) - loss(value - h)) / (2.0 * h);
    let h = 1e-4 * scale;
    (4.0 * central(0.5 * h) - central(h)) / 3.0
}

/// The difference over steps of several sizes that changes least from one to the next: friction
/// of velocity-level steps bends where slip begins, which some contact passes on the way.
fn settled_difference(r: &Rollout<'_>, parameter: Parameter, scale: f64, claimed: f64) -> f64 {
    let value = parameter.value(r.model).expect("exists");
    let loss = |x: f64| {
        let (model, initial) = seeded(r.model, r.initial, &[(parameter, x)]).expect("valid");
        Ok::<_, Infallible>(vec![value_of(&Rollout { model: &model, initial: &initial, ..*r })])
    };
    let settings = CheckSettings { largest_step: 1e-3, smallest_step: 1e-7, steps: 9, ..Default::default() };
    let Ok(compared) = compare_derivative(loss, value, scale, &[claimed], &settings);
    compared[0].difference
}

/// The loss of a rollout, without any derivative.
fn value_of(r: &Rollout<'_>) -> f64 {
    let trajectory = r.simulate().expect("simulates");
    let controls = r.control_rows().expect("times");
    let steps = trajectory.times.len() - 1;
    let mut sum = 0.0;
    for step in 0..steps {
        let (state, control) = (&trajectory.states[step], controls.row(step));
        sum += Task.running(&Moment {
            step,
            time: trajectory.times[step],
            dt: TIME_STEP,
            model: r.model,
            state,
            control,
            contacts: &Default::default(),
            step_end: None,
        });
    }
    let state = &trajectory.states[steps];
    sum + Task.terminal(&Moment {
        step: steps,
        time: r.until,
        dt: 0.0,
        model: r.model,
        state,
        control: &[],
        contacts: &Default::default(),
        step_end: None,
    })
}

fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |m: f64, x| m.max(x.abs()))
}

#[test]
fn adjoint_equals_forward_and_differences_over_500_steps() {
    let (model, initial) = scene();
    let parameters = Parameter::all(&model);
    let integrators: Vec<Integrator> = INTEGRATORS.into_iter().chain(MODELS.map(exact)).collect();
    integrators.into_par_iter().for_each(|integrator| {
        // One explicit and one implicit method take all; of the others fewer steps say the same.
        let whole = [Integrator::SemiImplicitEuler, exact(ContactModel::Lagged)];
        let steps = if whole.contains(&integrator) { 500 } else { 75 };
        let controls = controls(steps);
        let r = rollout(&model, &initial, &controls, integrator, steps);
        let adjoint = loss_gradient(&r, &Task, &parameters, Checkpoints::All).expect("simulates");
        let forward = loss_gradient_forward(&r, &Task, &parameters).expect("simulates");
        assert!((adjoint.value - forward.value).abs() < 1e-13 * adjoint.value.abs());
        // Nothing is zero for want of contact or controls.
        assert!(adjoint.by_controls.values().iter().all(|x| *x != 0.0));
        let zeros: Vec<_> = parameters
            .iter()
            .zip(&adjoint.by_parameters)
            .filter(|(_, d)| **d == 0.0)
            .map(|(i, _)| i.name(&model))
            .collect();
        // Only SAP does not use the dissipation of the two materials.
        let sap = integrator == exact(ContactModel::Sap);
        assert!(zeros.len() <= if sap { 2 } else { 0 }, "{integrator:?}: {zeros:?}");
        // Each parameter against its own magnitude: they are of many units.
        for ((parameter, a), f) in parameters.iter().zip(&adjoint.by_parameters).zip(&forward.by_parameters) {
            let error = (a - f).abs() / a.abs().max(f.abs()).max(f64::MIN_POSITIVE);
            assert!(error < 1e-9, "{integrator:?} {}: {a:e} {f:e}", parameter.name(&model));
        }
        for (a, f) in [
            (&adjoint.by_initial[..], &forward.by_initial[..]),
            (adjoint.by_controls.values(), forward.by_controls.values()),
        ] {
            let error = relative_difference(a, f);
            assert!(error < 1e-9, "{integrator:?}: {error:e}");
        }
        // Differences: some parameters, of the costlier methods fewer, and some control values.
        let every = match integrator {
            Integrator::SemiImplicitEuler => 17,
            Integrator::RungeKutta4 => 41,
            Integrator::VelocityLevel(_) => 61,
            other => panic!("nothing is known of {other:?}"),
        };
        let some: Vec<_> = parameters.iter().zip(&adjoint.by_parameters).step_by(every).collect();
        let errors = some.par_iter().map(|(parameter, gradient)| {
            let scale = match parameter {
                Parameter::InitialTangent { index, .. } => [0.1, 0.01, 1.0, 0.1][index / 3],
                Parameter::Inertia { .. } => 1e-4,
                Parameter::CenterOfMass { .. } => 0.01,
                Parameter::Gravity { .. } => 1.0,
                _ => parameter.value(&model).expect("exists"),
            };
            let difference = if INTEGRATORS.contains(&integrator) {
                difference_by_parameter(&r, **parameter, scale)
            } else {
                settled_difference(&r, **parameter, scale, **gradient)
            };
            let size = gradient.abs().max(1e-9 * adjoint.value.abs() / scale);
            let error = (**gradient - difference).abs() / size;
            (error, format!("{}: {gradient:e} {difference:e}", parameter.name(&model)))
        });
        let worst = errors.max_by(|a, b| a.0.total_cmp(&b.0)).expect("some parameters");
        println!("{integrator:?}: worst against differences {worst:?}");
        assert!(worst.0 < 1e-5, "{integrator:?} {worst:?}");
        let sizes = largest(adjoint.by_controls.values());
        let count = adjoint.by_controls.values().len();
        for index in [3, count / 5, 3 * count / 4] {
            let loss = |h: f64| {
                let mut moved = controls.clone();
                moved.values_mut()[index] += h;
                value_of(&r.with_controls(&moved))
            };
            let h = 2e-4;
            let difference = (8.0 * (loss(h) - loss(-h)) - (loss(2.0 * h) - loss(-2.0 * h))) / (12.0 * h);
            let error = (adjoint.by_controls.values()[index] - difference).abs() / sizes;
            assert!(error < 1e-5, "{integrator:?} control {index}: {error:e}");
        }
    });
}

#[test]
fn pseudo_inertias_have_the_derivatives_of_differences() {
    let (model, initial) = scene();
    // A free body and a link.
    let bodies = |is_free: bool| {
        (0..model.bodies().len())
            .find(|&body| model.body_mass(body).is_some() && model.bodies()[body].is_free() == is_free)
    };
    let moving = [true, false].into_iter().filter_map(bodies);
    let of_body = |body| (0..10).map(move |index| Parameter::PseudoInertia { body, index });
    let parameters: Vec<Parameter> = moving.flat_map(of_body).collect();
    // Of bodies that are deformed already: stretches and shears do not add up.
    let number = |k: usize| 0.3 * (0.7 * k as f64).cos() * if k % 10 < 7 { 1.0 } else { 0.01 };
    let values: Vec<(Parameter, f64)> = parameters.iter().enumerate().map(|(k, &p)| (p, number(k))).collect();
    let model = model.with_parameters(&values).expect("always possible");
    assert!(values.iter().all(|(parameter, value)| parameter.value(&model) == Ok(*value)));
    let controls = controls(20);
    for integrator in [Integrator::SemiImplicitEuler, exact(ContactModel::Lagged)] {
        let r = rollout(&model, &initial, &controls, integrator, 20);
        let adjoint = loss_gradient(&r, &Task, &parameters, Checkpoints::All).expect("simulates");
        assert!(adjoint.by_parameters.iter().any(|by| *by != 0.0));
        parameters.par_iter().zip(&adjoint.by_parameters).for_each(|(parameter, by)| {
            let difference = settled_difference(&r, *parameter, 0.1, *by);
            let size = by.abs().max(1e-8 * adjoint.value.abs());
            let name = parameter.name(&model);
            assert!((by - difference).abs() < 1e-5 * size, "{integrator:?} {name}: {by:e} {difference:e}");
        });
    }
}

#[test]
fn whatever_is_kept_the_gradient_has_the_same_bits() {
    let (model, initial) = scene();
    let parameters = Parameter::all(&model);
    let implicit = MODELS.map(Integrator::velocity_level);
    for integrator in INTEGRATORS.into_iter().chain(implicit) {
        let rollout_of = |controls, steps| rollout(&model, &initial, controls, integrator, steps);
        let (none, one) = (controls(0), controls(1));
        let memory = |r: &Rollout<'_>| {
            let gradient = loss_gradient(r, &Task, &parameters, Checkpoints::All).expect("simulates");
            gradient.memory.bytes
        };
        let each = memory(&rollout_of(&none, 0));
        // The tape of a step.
        let tape = memory(&rollout_of(&one, 1)) - 2 * each;
        assert!(each > 0 && tape > 0, "{integrator:?}");
        check_memory(&model, &initial, &parameters, integrator, [each, tape]);
    }
}

/// The gradient and the memory that it takes, with `each` state and with the `tape` of a step that
/// may be without contact.
fn check_memory(
    model: &Model,
    initial: &State,
    parameters: &[Parameter],
    integrator: Integrator,
    bytes: [usize; 2],
) {
    let [each, tape] = bytes;
    let lengths: &[usize] = if INTEGRATORS.contains(&integrator) { &[1, 2, 7, 41] } else { &[2, 40] };
    for &steps in lengths {
        let controls = controls(steps);
        let r = rollout(model, initial, &controls, integrator, steps);
        let gradient = |checkpoints| loss_gradient(&r, &Task, parameters, checkpoints).expect("simulates");
        let all = gradient(Checkpoints::All);
        assert_eq!(all.memory.states, steps + 1);
        assert_eq!(all.memory.steps_taken, steps);
        let tapes = all.memory.bytes - (steps + 1) * each;
        assert!(tapes >= steps * tape, "{integrator:?}: {tapes} bytes of {steps} steps, {tape} of one");
        for checkpoints in [
            Checkpoints::SquareRoot,
            Checkpoints::Every(0),
            Checkpoints::Every(1),
            Checkpoints::Every(6),
            Checkpoints::Every(100),
            Checkpoints::Binomial(0),
            Checkpoints::Binomial(1),
            Checkpoints::Binomial(3),
            Checkpoints::Binomial(50),
        ] {
            let other = gradient(checkpoints);
            let memory = other.memory;
            let what = format!("{integrator:?}, {steps} steps, {checkpoints:?}, {memory:?}");
            assert_eq!(LossGradient { memory: all.memory, ..other }, all, "{what}");
            if steps == 40 {
                let besides = memory.bytes - memory.states * each;
                match checkpoints {
                    // 5 checkpoints behind the first, 7 steps each, and what is between two.
                    Checkpoints::SquareRoot => {
                        assert!(memory.states <= 2 * 7 + 1, "{what}");
                        assert!(memory.steps_taken < 80, "{what}");
                        assert!(besides <= tapes / 5, "{what}");
                    }
                    Checkpoints::Binomial(spare) => {
                        assert!(memory.states <= spare + 3, "{what}");
                        // 35 steps are within reach of three checkpoints and three repetitions.
                        assert!(spare != 3 || memory.steps_taken <= 4 * 40, "{what}");
                        assert_eq!(besides, 0, "{what}");
                    }
                    _ => {}
                }
            }
        }
    }
}

#[test]
fn functions_with_a_gradient_by_hand_are_a_loss() {
    struct Height;
    impl Loss for Height {
        fn running<T: Scalar>(&self, moment: &Moment<T>) -> T {
            moment.control[1] * moment.control[1]
        }
        fn terminal<T: Scalar>(&self, moment: &Moment<T>) -> T {
            moment.state.bodies[1].position.z * moment.state.bodies[0].velocity.translational.x
        }
    }
    let by_hand = LossFunctions {
        running: |moment: &Moment, by: &mut MomentGradient| {
            by.control[1] += 2.0 * moment.control[1];
            moment.control[1] * moment.control[1]
        },
        terminal: |moment: &Moment, by: &mut MomentGradient| {
            let (z, v) = (moment.state.bodies[1].position.z, moment.state.bodies[0].velocity.translational.x);
            by.state[12 + 5] += v;
            by.state[9] += z;
            z * v
        },
    };
    let (model, initial) = scene();
    let controls = controls(20);
    let r = rollout(&model, &initial, &controls, Integrator::RungeKutta4, 20);
    let duals = loss_gradient(&r, &Height, &[], Checkpoints::All).expect("simulates");
    let hand = loss_gradient(&r, &by_hand, &[], Checkpoints::All).expect("simulates");
    assert_eq!(duals.value, hand.value);
    assert!(relative_difference(&duals.by_initial, &hand.by_initial) < 1e-14);
    assert!(relative_difference(duals.by_controls.values(), hand.by_controls.values()) < 1e-14);
}

/// Where the block is, every tenth step, and all velocities at the end; the block's momentum and a modulus, so that
/// residuals depend on the model themselves, at some moments.
struct Observations;

impl TrajectoryResiduals for Observations {
    fn running<T: Scalar>(&self, moment: &Moment<T>, residuals: &mut Vec<T>) {
        residuals.push(moment.control[0] * 0.1);
        if moment.step.is_multiple_of(10) {
            residuals.extend(moment.state.bodies[1].position.iter().map(|&x| x * 3.0 - 0.2));
        }
        if moment.step == 20 {
            let mass = moment.model.body_mass(1).expect("the block moves").mass;
            residuals.push(moment.state.bodies[1].velocity.translational.z * mass);
        }
    }

    fn terminal<T: Scalar>(&self, moment: &Moment<T>, residuals: &mut Vec<T>) {
        for body in &moment.state.bodies {
            residuals.extend(body.velocity.translational.iter().copied());
            residuals.push(body.orientation.to_matrix()[(0, 2)]);
        }
        let modulus = moment.model.materials()[0].material.hydroelastic_modulus;
        residuals.push(modulus * 1e-5 * moment.state.bodies[0].position.z + moment.model.gravity().y);
    }
}

/// Half of the sum of squares of [`Observations`], as a loss.
struct SquaredObservations;

impl Loss for SquaredObservations {
    fn running<T: Scalar>(&self, moment: &Moment<T>) -> T {
        let mut r = Vec::new();
        Observations.running(moment, &mut r);
        r.iter().fold(T::from(0.0), |sum, &r| sum + r * r * 0.5)
    }

    fn terminal<T: Scalar>(&self, moment: &Moment<T>) -> T {
        let mut r = Vec::new();
        Observations.terminal(moment, &mut r);
        r.iter().fold(T::from(0.0), |sum, &r| sum + r * r * 0.5)
    }
}

#[test]
fn gauss_newton_products_agree_with_each_other_and_with_differences() {
    let (model, initial) = scene();
    let steps = 60;
    let controls = controls(steps);
    let parameters = [
        Parameter::InitialTangent { body: 0, index: 10 },
        Parameter::Material { parameter: MaterialParameter::HydroelasticModulus, material: 0 },
        Parameter::Mass { body: 1 },
        Parameter::GeometryScale { body: 0, geometry: 0 },
        Parameter::Mass { body: 0 },
        Parameter::Gravity { axis: 1 },
    ];
    // Directions relative to the magnitude of each parameter.
    let scales = [0.1, 4e4, 0.3, 1.0, 0.3, 1.0];
    for integrator in INTEGRATORS {
        let r = rollout(&model, &initial, &controls, integrator, steps);
        let operator = GaussNewton::new(r, &Observations, &parameters).expect("simulates");
        let (rows, columns) = (operator.residuals().len(), operator.columns());
        assert_eq!((rows, columns), (60 + 18 + 1 + 12 + 1, parameters.len() + 300));
        let v: Vec<f64> =
            (0..columns).map(|i| (1.3 * i as f64).sin() * scales.get(i).copied().unwrap_or(1.0)).collect();
        let w: Vec<f64> = (0..rows).map(|i| (0.7 * i as f64).cos()).collect();
        let (jv, jtw) = (operator.jvp(&v).expect("runs"), operator.vjp(&w).expect("runs"));
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let (left, right) = (dot(&w, &jv), dot(&jtw, &v));
        assert!((left - right).abs() < 1e-11 * left.abs(), "{left:e} {right:e}");
        let product = operator.hessian_vector_product(&v).expect("runs");
        assert!((dot(&v, &product) - dot(&jv, &jv)).abs() < 1e-11 * dot(&jv, &jv));
        // The gradient is that of half the sum of squares.
        let loss =
            loss_gradient(&r, &SquaredObservations, &parameters, Checkpoints::SquareRoot).expect("runs");
        let gradient = operator.gradient().expect("runs");
        assert!((operator.value() - loss.value).abs() < 1e-13 * loss.value);
        for (a, b) in gradient.iter().zip(loss.by_parameters.iter().chain(loss.by_controls.values())) {
            assert!((a - b).abs() < 1e-12 * largest(&gradient).max(a.abs()), "{a:e} {b:e}");
        }
        // J v against differences along v.
        let moved = |h: f64| {
            let values: Vec<(Parameter, f64)> = parameters
                .iter()
                .zip(&v)
                .map(|(&parameter, v)| (parameter, parameter.value(&model).expect("exists") + h * v))
                .collect();
            let (model, initial) = seeded(&model, &initial, &values).expect("valid");
            let mut controls = controls.clone();
            controls.values_mut().iter_mut().zip(&v[parameters.len()..]).for_each(|(u, v)| *u += h * v);
            let r = Rollout { model: &model, initial: &initial, ..r }.with_controls(&controls);
            GaussNewton::new(r, &Observations, &[]).expect("simulates").residuals().to_vec()
        };
        let h = 1e-6;
        let difference: Vec<f64> =
            moved(h).iter().zip(moved(-h)).map(|(plus, minus)| (plus - minus) / (2.0 * h)).collect();
        assert!(relative_difference(&jv, &difference) < 1e-6);
    }
}

#[test]
fn batches_have_the_same_bits_for_any_number_of_threads_and_keep_errors_apart() {
    let (model, initial) = scene();
    let steps = 12;
    let members: Vec<BatchMember> = (0..9)
        .map(|i| {
            let mut start = initial.clone();
            start.bodies[0].velocity.translational.x += 0.01 * f64::from(i);
            let mut own = controls(steps);
            own.values_mut()[0] += f64::from(i);
            let parameters = match i % 3 {
                0 => vec![],
                1 => vec![(
                    Parameter::Material { parameter: MaterialParameter::HydroelasticModulus, material: 0 },
                    4e4 + 1e3 * f64::from(i),
                )],
                _ => vec![(Parameter::Mass { body: 1 }, 0.2), (Parameter::Gravity { axis: 2 }, -9.0)],
            };
            BatchMember { initial: start, parameters, controls: own }
        })
        .collect();
    let mut with_failures = members.clone();
    with_failures[2].parameters[0].1 = -1.0;
    with_failures[4].initial.bodies[1].velocity.translational.x = 1e200;
    with_failures[6].controls = controls(3);
    let batch = |members: &[BatchMember], threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        let settings = settings(Integrator::SemiImplicitEuler);
        let until = steps as f64 * TIME_STEP;
        let batch = Batch { model: &model, settings, until, applied: &Pull, members };
        let parameters = [
            Parameter::Mass { body: 0 },
            Parameter::Material { parameter: MaterialParameter::StaticFriction, material: 1 },
        ];
        pool.install(|| {
            (batch.simulate(), batch.loss_gradients(|_| Task, &parameters, Checkpoints::SquareRoot))
        })
    };
    let one = batch(&members, 1);
    assert_eq!(one, batch(&members, 4));
    let values: Vec<f64> = one.1.iter().map(|g| g.as_ref().expect("simulates").value).collect();
    assert!(values.windows(2).all(|pair| pair[0] != pair[1]), "{values:?}");
    let failing = batch(&with_failures, 3);
    for i in 0..members.len() {
        match i {
            2 => assert!(matches!(failing.1[i], Err(SimulationError::Parameter(_)))),
            4 => assert!(matches!(failing.1[i], Err(SimulationError::NotFinite { .. }))),
            6 => {
                assert!(matches!(
                    failing.1[i],
                    Err(SimulationError::ControlSteps { found: 3, expected: 12 })
                ));
            }
            _ => assert_eq!((&failing.0[i], &failing.1[i]), (&one.0[i], &one.1[i])),
        }
    }
}

#[test]
fn steps_of_many_contacts_and_their_gradients_have_the_same_bits_whatever_the_threads() {
    let (model, state) = pile(5, 4);
    let mut workspace = StepWorkspace::default();
    let problem = StepProblem::new(&model, &state, 1e-3);
    Integrator::default().step(&problem, &mut workspace).expect("a step");
    let contacts = workspace.statistics().contacts;
    assert!(contacts > 2500, "not enough for several threads: {contacts}");
    let parameters = [
        Parameter::Material { parameter: MaterialParameter::HydroelasticModulus, material: 0 },
        Parameter::Mass { body: 7 },
    ];
    for kind in [ContactModel::Lagged, ContactModel::Sap] {
        let settings = SimulationSettings { integrator: Integrator::velocity_level(kind), time_step: 1e-3 };
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
            let rollout = Rollout::new(&model, &state, settings, 3e-3);
            let gradient =
                || loss_gradient(&rollout, &Fall, &parameters, Checkpoints::All).expect("simulates");
            pool.install(|| (rollout.simulate().expect("simulates"), gradient()))
        };
        let one = run(1);
        assert!(one.1.by_parameters.iter().all(|by| *by != 0.0), "{:?}", one.1.by_parameters);
        assert!(one == run(2) && one == run(5), "{kind:?}");
    }
}

/// The height of a ball at the end.
#[derive(Clone, Copy, Debug)]
struct Fall;

impl Loss for Fall {
    fn terminal<T: Scalar>(&self, moment: &Moment<T>) -> T {
        moment.state.bodies[2].position.z
    }
}

/// Thrust on the first body that counts how often it is evaluated.
#[derive(Debug, Default)]
struct Counted {
    evaluations: AtomicUsize,
}

impl AppliedForces for Counted {
    fn control_dimension(&self) -> usize {
        10
    }

    fn apply<T: Scalar>(&self, _: &Model<T>, _: &State<T>, time: f64, control: &[T], forces: &mut Forces<T>) {
        self.evaluations.fetch_add(1, Ordering::Relaxed);
        for (i, &u) in control.iter().enumerate() {
            forces.bodies[0].translational.x += u * (time * i as f64).cos() * 0.01;
        }
    }

    fn dependence(&self) -> ForceDependence {
        ForceDependence { state: StateDependence::None, model: false }
    }
}

#[test]
fn the_gradient_takes_as_many_evaluations_for_any_number_of_parameters() {
    let (model, initial) = scene();
    let steps = 1000;
    let counted = |count: usize, parameters: &[Parameter]| {
        // Each parameter sets a share of the control values.
        let value = |i: usize| ((i * count / (steps * 10)) as f64 * 0.1).sin();
        let controls = Controls::from_values(10, (0..steps * 10).map(value).collect()).expect("rows");
        let applied = Counted::default();
        let (settings, until) = (settings(Integrator::SemiImplicitEuler), steps as f64 * TIME_STEP);
        let r = Rollout {
            model: &model,
            initial: &initial,
            settings,
            until,
            applied: &applied,
            controls: (&controls).into(),
            substeps: None,
            sleep: None,
        };
        let gradient = loss_gradient(&r, &Task, parameters, Checkpoints::All).expect("simulates");
        let mut by_parameters = vec![0.0; count];
        for (i, by) in gradient.by_controls.values().iter().enumerate() {
            by_parameters[i * count / (steps * 10)] += by;
        }
        assert!(by_parameters.iter().all(|by| by.is_finite()) && by_parameters[0] != 0.0);
        applied.evaluations.into_inner()
    };
    // Forward, in f64 on the way back, and in dual numbers for ten control values at once.
    let expected = 3 * steps;
    assert_eq!(counted(1, &[]), expected);
    assert_eq!(counted(100, &[]), expected);
    assert_eq!(counted(10_000, &Parameter::all(&model)), expected);
}

#[test]
fn a_failed_step_leaves_the_trajectory_before_it() {
    let (model, mut initial) = scene();
    initial.bodies[1].velocity.rotational.x = 1e160;
    let settings = SimulationSettings { integrator: Integrator::SemiImplicitEuler, time_step: 1.0 };
    // As many steps as there may be: no memory is asked for those that are not taken.
    let rollout = Rollout::new(&model, &initial, settings, 1e9);
    let mut seen = 0;
    let stopped = rollout.for_each(|step| seen = step.steps + 1);
    let Motion { trajectory, outcome, .. } = rollout.motion();
    assert_eq!(stopped, outcome);
    let Err(error @ SimulationError::NotFinite { steps, .. }) = outcome else { panic!("{outcome:?}") };
    assert!(error.is_failed_step());
    assert_eq!((trajectory.states.len(), trajectory.times.len(), seen), (steps, steps, steps));
    assert!(trajectory.states.iter().all(|s| s.is_finite()));
}

#[test]
fn controls_that_do_not_fit_are_refused() {
    let (model, initial) = scene();
    let fitting = controls(4);
    let r = rollout(&model, &initial, &fitting, Integrator::SemiImplicitEuler, 4);
    assert!(r.simulate().is_ok());
    let narrow = Controls::zeros(4, 2);
    let short = Controls::zeros(3, CONTROLS);
    assert_eq!(
        r.with_controls(&narrow).simulate(),
        Err(SimulationError::ControlDimension { found: 2, expected: CONTROLS })
    );
    assert_eq!(
        r.with_controls(&short).simulate(),
        Err(SimulationError::ControlSteps { found: 3, expected: 4 })
    );
    assert_eq!(Controls::from_values(3, vec![1.0; 7]), None);
}
