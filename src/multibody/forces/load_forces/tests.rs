use super::*;
use crate::contact::ContactModel;
use crate::multibody::{
    Actuator, Body, BodyLoad, BodyState, DifferentiatedModel, ForceDependence, Load, LoadFrame, LoadHistory,
    LoadKind, MassProperties, MassSource, ModelBuilder, ModelGradient, NoForces, seeded,
};
use crate::spatial::{RigidTransform, SpatialForce, rotation_exponential};
use crate::step::{
    ComplementarityMethod, DerivativeWorkspace, Integrator, RadauOrder, StepCotangent, StepProblem,
    StepWorkspace, Tape,
};
use nalgebra::{Matrix3, Vector6};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

const TIME: f64 = 0.31;
const STEP: f64 = 0.02;
/// The last command is beyond its limit.
const COMMANDS: [f64; 5] = [1.3, -0.8, 0.6, 0.4, -3.0];

fn push(name: &str, kind: LoadKind, direction: [f64; 3], frame: LoadFrame, effort: f64) -> Actuator {
    Actuator::on_body(name, BodyLoad { body: 0, kind, direction: Vector3::from(direction), frame }, effort)
}

/// A body without contact, under loads of all kinds, and actuators on it.
fn model() -> Model {
    let inertia = Matrix3::from_diagonal(&Vector3::new(1.0, 1.4, 1.9));
    let mass = MassProperties { mass: 2.0, center_of_mass: Vector3::new(0.1, 0.0, -0.05), inertia };
    let body = Body::free("body", MassSource::Given(mass), vec![]).expect("a body");
    let periodic = LoadHistory::Periodic {
        period: 0.7,
        mean: Vector3::new(0.4, -0.2, 0.3),
        sine: Vector3::new(1.0, 0.5, -2.0),
        cosine: Vector3::new(-0.3, 0.8, 0.2),
    };
    let knots = |linear| LoadHistory::Knots {
        times: vec![0.0, 0.25, 0.4, 0.8],
        values: vec![Vector3::x(), Vector3::new(0.3, -0.6, 0.9), Vector3::new(-0.2, 0.7, 0.1), Vector3::z()],
        linear,
    };
    let load = |name: &str, kind, frame, history| Load { name: name.into(), body: 0, kind, frame, history };
    let point = Vector3::new(0.2, -0.4, 0.3);
    let loads = vec![
        load("a", LoadKind::Force { point }, LoadFrame::World, periodic.clone()),
        load("b", LoadKind::Force { point: -point }, LoadFrame::Body, knots(true)),
        load("b", LoadKind::Torque, LoadFrame::Body, periodic),
        load("c", LoadKind::Torque, LoadFrame::World, knots(false)),
        load("d", LoadKind::Force { point }, LoadFrame::Body, LoadHistory::Constant(Vector3::y())),
    ];
    let force = LoadKind::Force { point };
    let actuators = vec![
        push("world", force, [1.0, 0.3, -0.4], LoadFrame::World, f64::INFINITY),
        push("body", force, [0.2, 0.9, 0.5], LoadFrame::Body, 5.0),
        push("about world", LoadKind::Torque, [0.1, -1.0, 0.6], LoadFrame::World, f64::INFINITY),
        push("about body", LoadKind::Torque, [0.7, 0.2, 0.3], LoadFrame::Body, f64::INFINITY),
        push("limited", force, [0.5, 0.5, -0.4], LoadFrame::Body, 1.5),
    ];
    ModelBuilder { bodies: vec![body], loads, actuators, ..Default::default() }.build().expect("a model")
}

fn start() -> State {
    let turn = rotation_exponential(&Vector3::new(0.3, -0.5, 0.8));
    State::of_bodies(vec![BodyState::at_rest(&RigidTransform::new(turn, Vector3::x()))])
}

fn parameters(model: &Model) -> Vec<Parameter> {
    let of_loads = |parameter: &Parameter| {
        matches!(parameter, Parameter::Load { .. } | Parameter::EffortLimit { .. } | Parameter::Mass { .. })
    };
    let mut parameters: Vec<Parameter> = Parameter::all(model).into_iter().filter(of_loads).collect();
    parameters.extend(Parameter::load_knots(model));
    parameters
}

#[test]
fn actuators_push_as_forces_and_torques_do() {
    let model = model();
    let actuators = vec![
        push(
            "left",
            LoadKind::Force { point: Vector3::new(0.0, 0.3, 0.0) },
            [1.0, 0.0, 0.0],
            LoadFrame::Body,
            4.0,
        ),
        push(
            "gust",
            LoadKind::Force { point: Vector3::zeros() },
            [1.0, 0.0, 0.0],
            LoadFrame::World,
            f64::INFINITY,
        ),
        push("twist", LoadKind::Torque, [1.0, 0.0, 0.0], LoadFrame::World, f64::INFINITY),
    ];
    let mass = MassProperties { mass: 2.0, center_of_mass: Vector3::zeros(), inertia: Matrix3::identity() };
    let body = Body::free("body", MassSource::Given(mass), vec![]).expect("a body");
    let gravity = Vector3::zeros();
    let parts =
        ModelBuilder { bodies: vec![body], gravity, actuators, loads: vec![], ..model.into_builder() };
    let model = parts.build().expect("a model");
    let turn = rotation_exponential(&Vector3::new(0.0, 0.0, std::f64::consts::FRAC_PI_2));
    let state = State::of_bodies(vec![BodyState::at_rest(&RigidTransform::new(turn, Vector3::x()))]);
    // The first one pushes with 4 N only.
    let problem = StepProblem { control: &[7.0, 6.0, 0.5], ..StepProblem::new(&model, &state, 0.01) };
    let after = Integrator::SemiImplicitEuler.step(&problem, &mut StepWorkspace::default()).expect("a step");
    // The body's x axis is W's y axis, and its y axis W's −x axis.
    let v = after.bodies[0].velocity;
    assert!((v.translational - Vector3::new(3.0, 2.0, 0.0) * 0.01).norm() < 1e-15);
    assert!((v.rotational - Vector3::new(0.5, 0.0, -1.2) * 0.01).norm() < 1e-15, "{}", v.rotational);
}

/// What loads and actuators exert at generic poses, times and commands, with derivatives with respect to the tangent
/// space, commands and parameters against differences.
#[test]
fn forces_have_the_derivatives_of_differences() {
    let model = model();
    let parameters = parameters(&model);
    let differentiated =
        DifferentiatedModel::new(&model, &parameters, ForceDependence::NONE, 0).expect("parameters");
    let force = |model: &Model, state: &State, time: f64, commands: &[f64]| {
        let mut forces = Forces::zero(model);
        model.add_loads(state, time, commands, &mut forces);
        let SpatialForce { rotational: r, translational: t } = forces.bodies[0];
        Vector6::new(r.x, r.y, r.z, t.x, t.y, t.z)
    };
    let mut random = ChaCha8Rng::seed_from_u64(11);
    let mut number = |range: f64| random.random_range(-range..range);
    let (mut limited, mut free) = (0, 0);
    for _ in 0..40 {
        let tangent: [f64; TANGENT_DIMENSION] = std::array::from_fn(|_| number(1.5));
        let state = start().moved(&tangent);
        let time = 0.4 + number(0.5);
        let commands: [f64; 5] = std::array::from_fn(|_| number(3.0));
        let mut claimed = vec![Vector6::zeros(); TANGENT_DIMENSION + commands.len() + parameters.len()];
        let point = ForcePoint {
            model: &differentiated,
            state: &state,
            time,
            commands: &commands,
            control: &[],
            surfaces: None,
            step: None,
        };
        for_each_load_derivative(&point, &mut |by_what, entry| {
            let column = match by_what {
                AppliedColumn::State(k) => k,
                AppliedColumn::Command(k) => TANGENT_DIMENSION + k,
                AppliedColumn::Parameter(k) => TANGENT_DIMENSION + commands.len() + k,
                AppliedColumn::Control(k) => panic!("a control value {k} of no user's force"),
            };
            let ForceEntry::Body(0, SpatialForce { rotational: r, translational: t }) = entry else {
                panic!("{entry:?}")
            };
            claimed[column] += Vector6::new(r.x, r.y, r.z, t.x, t.y, t.z);
        });
        for (column, claimed) in claimed.iter().enumerate() {
            let moved = |d: f64| match column.checked_sub(TANGENT_DIMENSION) {
                None => {
                    let mut tangent = [0.0; TANGENT_DIMENSION];
                    tangent[column] = d;
                    force(&model, &state.moved(&tangent), time, &commands)
                }
                Some(k) if k < commands.len() => {
                    let mut commands = commands;
                    commands[k] += d;
                    force(&model, &state, time, &commands)
                }
                Some(k) => {
                    let parameter = parameters[k - commands.len()];
                    let value = parameter.value(&model).expect("a parameter") + d;
                    let other = model.with_parameters(&[(parameter, value)]).expect("a model");
                    force(&other, &state, time, &commands)
                }
            };
            let slope = (moved(1e-5) - moved(-1e-5)) / 2e-5;
            assert!((slope - claimed).amax() < 1e-8, "{column} at {time} s: {slope} {claimed}");
        }
        // Beyond its limit the force follows the limit, and within it the command.
        let of_limited = &claimed[TANGENT_DIMENSION + 4];
        assert_eq!(of_limited.amax() > 0.0, commands[4].abs() < 1.5);
        *if commands[4].abs() < 1.5 { &mut free } else { &mut limited } += 1;
    }
    assert!(limited > 5 && free > 5, "{limited} {free}");
}

/// At the limit of effort the force still follows the command.
#[test]
fn at_the_limit_a_force_follows_its_command() {
    assert_eq!(size_slopes(1.5, 1.5), [1.0, 0.0]);
    assert_eq!(size_slopes(-1.5, 1.5), [1.0, 0.0]);
    assert_eq!(size_slopes(1.6, 1.5), [0.0, 1.0]);
    assert_eq!(size_slopes(-1.6, 1.5), [0.0, -1.0]);
    assert_eq!(size_slopes(-1e300, f64::INFINITY), [1.0, 0.0]);
}

/// The derivatives of a step of each kind in dual numbers, as matrices and as vector–Jacobian product, against
/// differences.
#[test]
fn every_kind_of_step_has_loads_and_their_derivatives() {
    let (model, state) = (model(), start());
    let parameters = parameters(&model);
    // 3 + 9 + 9 + 3 × 4 × 2 components of loads, two limits and the mass.
    assert_eq!(parameters.len(), 48);
    let differentiated =
        DifferentiatedModel::new(&model, &parameters, ForceDependence::NONE, 0).expect("parameters");
    let mut still = model.clone();
    still.loads.clear();
    let complementarity =
        [ComplementarityMethod::Ecp, ComplementarityMethod::Lcp, ComplementarityMethod::Ncp];
    let mut kinds = vec![
        Integrator::SemiImplicitEuler,
        Integrator::RungeKutta4,
        Integrator::Radau(RadauOrder::Third),
        Integrator::velocity_level(ContactModel::Lagged),
    ];
    kinds.extend(complementarity.map(Integrator::Complementarity));
    for integrator in kinds {
        let step = |model: &Model, state: &State, control: &[f64]| {
            let problem = StepProblem { time: TIME, control, ..StepProblem::new(model, state, STEP) };
            integrator.step(&problem, &mut StepWorkspace::default()).expect("a step")
        };
        let after = step(&model, &state, &COMMANDS);
        let pushed = step(&still, &state, &COMMANDS).difference(&after);
        assert!(pushed[6..].iter().all(|x| x.abs() > 1e-5), "{integrator:?}: {pushed:?}");
        let problem =
            StepProblem { time: TIME, control: &COMMANDS, ..StepProblem::new(&model, &state, STEP) };
        let (mut workspace, mut tape) = (StepWorkspace::default(), Tape::default());
        integrator.step_taped(&problem, &differentiated, &mut workspace, &mut tape).expect("a step");
        let mut derivatives = DerivativeWorkspace::default();
        let jacobian = tape.jacobian(&differentiated, &NoForces, &mut derivatives).expect("a derivative");
        let compare = |what: &str, column: usize, claimed: &[f64], at: &dyn Fn(f64) -> State| {
            let moved = |d: f64| after.difference(&at(d));
            let (plus, minus) = (moved(1e-5), moved(-1e-5));
            for row in 0..TANGENT_DIMENSION {
                let slope = (plus[row] - minus[row]) / 2e-5;
                let claim = claimed[row];
                assert!(
                    (slope - claim).abs() < 1e-8,
                    "{integrator:?} {what} {row} {column}: {slope} {claim}"
                );
            }
        };
        let column = |of: &nalgebra::DMatrix<f64>, k: usize| of.column(k).iter().copied().collect::<Vec<_>>();
        for k in 0..TANGENT_DIMENSION {
            compare("state", k, &column(&jacobian.by_state, k), &|d| {
                let mut tangent = [0.0; TANGENT_DIMENSION];
                tangent[k] = d;
                step(&model, &state.moved(&tangent), &COMMANDS)
            });
        }
        for k in 0..COMMANDS.len() {
            let claimed = column(&jacobian.by_control, k);
            assert_eq!(claimed.iter().all(|x| *x == 0.0), k == 4, "{integrator:?}: {claimed:?}");
            compare("command", k, &claimed, &|d| {
                let mut commands = COMMANDS;
                commands[k] += d;
                step(&model, &state, &commands)
            });
        }
        let mut acting = 0;
        for (k, parameter) in parameters.iter().enumerate() {
            let claimed = column(&jacobian.by_parameters, k);
            acting += usize::from(claimed.iter().any(|x| *x != 0.0));
            let value = parameter.value(&model).expect("a parameter");
            compare("parameter", k, &claimed, &|d| {
                let other = model.with_parameters(&[(*parameter, value + d)]).expect("a model");
                step(&other, &state, &COMMANDS)
            });
            let seed = DualArray::<1>::variable(value, 0);
            let (lifted, start) = seeded(&model, &state, &[(*parameter, seed)]).expect("a model");
            let control = COMMANDS.map(DualArray::from);
            let problem =
                StepProblem { time: TIME, control: &control, ..StepProblem::new(&lifted, &start, STEP) };
            let forward = integrator.step(&problem, &mut StepWorkspace::default()).expect("a step");
            let forward = State::lift(&after).difference(&forward);
            for (row, (forward, claimed)) in forward.iter().zip(&claimed).enumerate() {
                let difference = (forward.eps[0] - claimed).abs();
                assert!(difference < 1e-12, "{integrator:?} {row} {}: {difference}", parameter.name(&model));
            }
        }
        // Knots that neither stage comes to, and the limit that does not bind, do nothing; held values act through one
        // knot, linear ones through two.
        assert_eq!(acting, 1 + 1 + 3 + 9 + 9 + 3 + 6, "{integrator:?}");
        let weights: Vec<f64> = (0..TANGENT_DIMENSION).map(|i| 0.3 + 0.1 * i as f64).collect();
        let (mut by_state, mut by_model) = (weights.clone(), ModelGradient::zero(&differentiated));
        let mut by_control = [0.0; COMMANDS.len()];
        let mut out = StepCotangent { state: &mut by_state, control: &mut by_control, model: &mut by_model };
        tape.vjp(&differentiated, &NoForces, &mut derivatives, &mut out);
        let by_parameters = differentiated.by_parameters(&[0.0; TANGENT_DIMENSION], &by_model);
        let all = [&by_state[..], &by_control, &by_parameters].concat();
        let matrices = [&jacobian.by_state, &jacobian.by_control, &jacobian.by_parameters];
        let columns = matrices.into_iter().flat_map(|matrix| matrix.column_iter());
        for (k, (by, column)) in all.iter().zip(columns).enumerate() {
            let expected: f64 = column.iter().zip(&weights).map(|(a, b)| a * b).sum();
            assert!((by - expected).abs() < 1e-12, "{integrator:?} {k}: {by} {expected}");
        }
    }
}

#[test]
fn names_of_loads_tell_their_numbers_apart() {
    let model = model();
    let parameters = parameters(&model);
    let mut names: Vec<String> = parameters.iter().map(|parameter| parameter.name(&model)).collect();
    for name in
        ["a.force.mean[0]", "b.torque.sine[2]", "b.force.values[3][1]", "d.force[1]", "limited.effort"]
    {
        assert!(names.iter().any(|own| own == name), "{name}: {names:?}");
    }
    names.sort();
    let count = names.len();
    names.dedup();
    assert_eq!(names.len(), count);
}
