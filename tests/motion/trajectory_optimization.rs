//! Trajectory optimization: derivatives of the problem, the same optimum by every method, bounds,
//! contact, and runs that are interrupted.

use crate::jointed_scene;
use std::f64::consts::FRAC_PI_2;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use argmin::core::{CostFunction, Error};
use nalgebra::{DVector, Matrix3, Vector3};

use isobar::contact::{Collider, ContactModel, ContactSettings, Material, SurfaceRepresentation};
use isobar::geometry::Shape;
use isobar::io::CheckpointFile;
use isobar::multibody::{
    AppliedForces, Body, BodyGeometry, BodyState, ForceDependence, Forces, MassProperties, MassSource, Model,
    ModelBuilder, NamedMaterial, State, StateDependence,
};
use isobar::optimize::checkpoint::{CheckpointStore, ProblemCheckpoints};
use isobar::optimize::ilqr::Policy;
use isobar::optimize::multi_start::{lowest, scattered_starts};
use isobar::optimize::randomized_smoothing::RandomizedSmoothing;
use isobar::optimize::randomized_smoothing::SharedCost;
use isobar::optimize::trajectory::{
    ControlRange, OptimizedProblem, TrajectoryMethod, TrajectoryOptimum, TrajectoryProblem,
    TrajectorySettings, TrajectoryTask, optimize_trajectory, optimize_trajectory_from,
};
use isobar::rollout::{ControlKnots, KnotInterpolation, Moment, SimulationSettings, TrajectoryResiduals};
use isobar::scalar::Scalar;
use isobar::spatial::RigidTransform;
use isobar::step::{Integrator, SolverTolerance, VelocityLevel};

const METHODS: [TrajectoryMethod; 4] = [
    TrajectoryMethod::Ilqr,
    TrajectoryMethod::Lbfgs,
    TrajectoryMethod::LevenbergMarquardt,
    TrajectoryMethod::Auto,
];

const KINDS: [KnotInterpolation; 3] =
    [KnotInterpolation::ZeroOrderHold, KnotInterpolation::Linear, KnotInterpolation::Cubic];

/// Two thrusters along the body's z axis, at ±x, and one along y: the body must tilt to move in x.
struct Thrusters;

impl AppliedForces for Thrusters {
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
        let rotation = state.bodies[0].orientation.to_matrix();
        let up = Vector3::new(T::from(0.0), control[2], control[0] + control[1]);
        let torque = Vector3::new(T::from(0.0), (control[1] - control[0]) * 0.2, T::from(0.0));
        forces.bodies[0].translational += rotation * up;
        forces.bodies[0].rotational += rotation * torque;
    }

    fn dependence(&self) -> ForceDependence {
        ForceDependence { state: StateDependence::SameBody, model: false }
    }
}

/// Be at a place at the end, at rest and upright, at little effort.
struct Arrive {
    place: Vector3<f64>,
    effort: f64,
}

impl TrajectoryResiduals for Arrive {
    fn running<T: Scalar>(&self, moment: &Moment<T>, residuals: &mut Vec<T>) {
        let weight = self.effort * moment.dt.sqrt();
        residuals.extend(moment.control.iter().map(|&u| u * weight));
    }

    fn terminal<T: Scalar>(&self, moment: &Moment<T>, residuals: &mut Vec<T>) {
        let body = &moment.state.bodies[0];
        let off = (body.position - self.place.map(T::from)) * T::from(4.0);
        residuals.extend(off.iter().copied());
        residuals.extend(body.velocity.translational.iter().copied());
        residuals.extend(body.velocity.rotational.iter().map(|&w| w * 0.3));
        let up = body.orientation.to_matrix().column(2).into_owned();
        residuals.extend([up.x, up.y]);
    }
}

fn craft() -> (Model, State) {
    craft_under(9.81)
}

/// The craft under a gravity in m/s².
fn craft_under(gravity: f64) -> (Model, State) {
    let mass = MassProperties {
        mass: 0.5,
        center_of_mass: Vector3::zeros(),
        inertia: Matrix3::from_diagonal(&Vector3::new(4e-3, 5e-3, 8e-3)),
    };
    let body = Body::free("craft", MassSource::Given(mass), vec![]).expect("valid mass");
    let gravity = Vector3::new(0.0, 0.0, -gravity);
    let model = ModelBuilder { bodies: vec![body], gravity, ..Default::default() }.build().expect("valid");
    let state = State::of_bodies(vec![BodyState::at_rest(&RigidTransform::identity())]);
    (model, state)
}

const ARRIVE: Arrive = Arrive { place: Vector3::new(0.6, 0.1, 0.3), effort: 0.3 };

fn craft_task<'a>(model: &'a Model, initial: &'a State) -> TrajectoryTask<'a> {
    let settings = SimulationSettings { integrator: Integrator::SemiImplicitEuler, time_step: 0.02 };
    TrajectoryTask { model, initial, settings, until: 1.0, applied: &Thrusters, residuals: &ARRIVE }
}

/// Forces along x and y on the first body.
struct Push;

impl AppliedForces for Push {
    fn control_dimension(&self) -> usize {
        2
    }

    fn apply<T: Scalar>(&self, _: &Model<T>, _: &State<T>, _: f64, control: &[T], forces: &mut Forces<T>) {
        forces.bodies[0].translational.x += control[0];
        forces.bodies[0].translational.y += control[1];
    }

    fn dependence(&self) -> ForceDependence {
        ForceDependence::NONE
    }
}

/// A ball at rest at a given place at the end, without spinning, at little effort.
struct Place;

impl TrajectoryResiduals for Place {
    fn running<T: Scalar>(&self, moment: &Moment<T>, residuals: &mut Vec<T>) {
        let weight = moment.dt.sqrt();
        residuals.extend(moment.control.iter().map(|&u| u * weight));
    }

    fn terminal<T: Scalar>(&self, moment: &Moment<T>, residuals: &mut Vec<T>) {
        let body = &moment.state.bodies[0];
        residuals.push((body.position.x - 0.15) * 20.0);
        residuals.push((body.position.y - 0.05) * 20.0);
        residuals.extend(body.velocity.translational.iter().map(|&v| v * 2.0));
        residuals.extend(body.velocity.rotational.iter().map(|&w| w * 0.05));
    }
}

/// A compliant ball on a compliant table.
fn ball_on_table() -> (Model, State) {
    let material = Material::new(5e4, 1.0, 0.4).with_relaxation_time(0.02);
    let ball = Collider::of_shape(&Shape::Sphere { radius: 0.05 }, 0.04, material).expect("valid shape");
    let ball = BodyGeometry::new(ball).of_material(0);
    let table = BodyGeometry::new(Collider::compliant_half_space(material, 0.1)).of_material(0);
    let ball = Body::free("ball", MassSource::Density(600.0), vec![ball]).expect("a volume");
    let table = Body::fixed("table", RigidTransform::identity(), vec![table]);
    let materials = vec![NamedMaterial { name: "foam".into(), material }];
    let settings = ContactSettings { stiction_velocity: 0.01, ..Default::default() };
    let model =
        ModelBuilder { bodies: vec![ball, table], materials, contact: settings, ..Default::default() };
    let model = model.build().expect("compliant");
    let at = RigidTransform::from_translation([0.0, 0.0, 0.0465]);
    (model, State::of_bodies(vec![BodyState::at_rest(&at)]))
}

fn ball_task<'a>(model: &'a Model, initial: &'a State) -> TrajectoryTask<'a> {
    // Rounding of the solution must not show in differences.
    let tolerance = SolverTolerance { relative: 1e-14, max_iterations: 200 };
    let integrator = Integrator::VelocityLevel(VelocityLevel { model: ContactModel::Lagged, tolerance });
    let settings = SimulationSettings { integrator, time_step: 0.01 };
    TrajectoryTask { model, initial, settings, until: 0.6, applied: &Push, residuals: &Place }
}

/// Where the hand and the ball of the jointed scene are at the end, how its joints move, and the
/// effort of all commands.
struct Carry;

impl TrajectoryResiduals for Carry {
    fn running<T: Scalar>(&self, moment: &Moment<T>, residuals: &mut Vec<T>) {
        let weight = 0.1 * moment.dt.sqrt();
        residuals.extend(moment.control.iter().map(|&u| u * weight));
        residuals.extend(moment.state.joints.v.iter().map(|&v| v * weight));
    }

    fn terminal<T: Scalar>(&self, moment: &Moment<T>, residuals: &mut Vec<T>) {
        let mut frames = Vec::new();
        moment.model.body_frames(moment.state, &mut frames);
        let hand = moment.model.body_index("hand").expect("a body");
        let off = frames[hand].pose.translation - Vector3::new(-0.05, 0.03, 0.05).map(T::from);
        residuals.extend(off.iter().map(|&x| x * 20.0));
        residuals.extend(moment.state.bodies[0].position.iter().map(|&x| x * 5.0));
    }
}

fn settings(method: TrajectoryMethod) -> TrajectorySettings {
    TrajectorySettings { method, max_iterations: 500, cost_tolerance: Some(1e-11), initial_damping: None }
}

fn optimize(problem: &TrajectoryProblem<'_>, start: &[f64], method: TrajectoryMethod) -> TrajectoryOptimum {
    optimize_trajectory(problem, start, &settings(method), None, None).expect("runs")
}

/// The derivatives of a problem: adjoint, forward and staged against each other and differences.
fn check_derivatives(task: TrajectoryTask<'_>, start: &[f64], tolerance: f64) {
    for kind in KINDS {
        let m = start.len();
        let knots = ControlKnots::uniform(kind, 6, task.until).expect("valid");
        let ranges: Vec<ControlRange> = (0..m).map(|i| ControlRange::unbounded(0.5 + i as f64)).collect();
        let problem = TrajectoryProblem::new(task, &knots, &ranges).expect("fits");
        let wavy: Vec<f64> =
            (0..6 * m).map(|i| start[i % m] * (1.0 + 0.3 * (1.7 * i as f64).sin())).collect();
        let x = problem.variables(&wavy).expect("one each");
        let gradient = problem.gradient(&x).expect("simulates");
        let jacobian = problem.jacobian(&x).expect("simulates");
        assert_eq!(problem.evaluations().rollouts, 1, "the motion is simulated once");
        let residuals = DVector::from_vec(problem.residuals(&x).expect("simulates"));
        let forward = jacobian.tr_mul(&residuals);
        let size = gradient.iter().fold(0.0_f64, |m, g| m.max(g.abs()));
        for (a, b) in gradient.iter().zip(forward.iter()) {
            assert!((a - b).abs() < 1e-9 * size, "{kind:?} {a} {b}");
        }
        let sizes = jacobian.amax();
        for column in [0, 1, m + 1, 3 * m, 6 * m - 1] {
            let moved = |h: f64| {
                let mut x = x.clone();
                x[column] += h;
                DVector::from_vec(problem.residuals(&x).expect("simulates"))
            };
            let h = 1e-5;
            let difference = (moved(h) - moved(-h)) / (2.0 * h);
            let error = (difference - jacobian.column(column)).amax() / sizes;
            assert!(error < tolerance, "{kind:?} column {column}: {error:e}");
        }
        // The expansion of stages has the same gradient, and the Gauss–Newton Hessian JᵀJ.
        let expansion = problem.expand(&x).expect("simulates");
        let mut costate = expansion.end_gradient.clone();
        let n = costate.len();
        for (index, stage) in expansion.stages.iter().enumerate().rev() {
            let by_control = stage.gradient.rows(n, m) + stage.by_control.tr_mul(&costate);
            for k in 0..m {
                assert!((by_control[k] - gradient[index * m + k]).abs() < 1e-9 * size);
            }
            costate = stage.gradient.rows(0, n) + stage.by_state.tr_mul(&costate);
        }
        let (mut along, mut curvature) = (DVector::zeros(n), 0.0);
        let direction = DVector::from_fn(6 * m, |i, _| (2.3 * i as f64).cos());
        for (index, stage) in expansion.stages.iter().enumerate() {
            let u = direction.rows(index * m, m);
            let both = DVector::from_iterator(n + m, along.iter().chain(u.iter()).copied());
            curvature += both.dot(&(&stage.hessian * &both));
            along = &stage.by_state * along + &stage.by_control * u;
        }
        curvature += along.dot(&(&expansion.end_hessian * &along));
        let expected = (&jacobian * &direction).norm_squared();
        assert!((curvature - expected).abs() < 1e-9 * expected, "{curvature} {expected}");
        // A policy that changes nothing rolls out to the same bits.
        let rolled = {
            let changes = vec![DVector::zeros(m); 6];
            let gains = vec![nalgebra::DMatrix::from_element(m, n, 0.3); 6];
            problem.roll_out(&x, &Policy { changes, gains }).expect("simulates")
        };
        assert_eq!(rolled, (x.clone(), problem.separate().cost(&x).expect("simulates")));
    }
}

#[test]
fn derivatives_of_the_problem_agree() {
    let (model, initial) = craft();
    check_derivatives(craft_task(&model, &initial), &[2.6, 2.5, 0.1], 1e-7);
    let (model, initial) = ball_on_table();
    check_derivatives(ball_task(&model, &initial), &[0.12, -0.05], 1e-5);
}

/// Deflections of bristles are a part of the state of stages, and feedback acts on them.
#[test]
fn bristles_take_part_in_stages() {
    let (model, initial) = ball_on_table();
    let mut builder = model.into_builder();
    builder.contact.bristle_length = Some(2e-5);
    let model = builder.build().expect("a positive length");
    // The state says nothing of bristles.
    let task = ball_task(&model, &initial);
    check_derivatives(task, &[0.12, -0.05], 1e-5);
    let knots = ControlKnots::uniform(KnotInterpolation::ZeroOrderHold, 6, task.until).expect("valid");
    let ranges = [ControlRange::new(-2.0, 2.0); 2];
    let costs = [TrajectoryMethod::Ilqr, TrajectoryMethod::LevenbergMarquardt].map(|method| {
        let problem = TrajectoryProblem::new(task, &knots, &ranges).expect("fits");
        let optimum = optimize(&problem, &[0.12, -0.05].repeat(6), method);
        println!("{method:?}: {} {:?}, {}", optimum.cost, optimum.evaluations, optimum.termination);
        assert!(optimum.cost < 0.5 * optimum.history[0].cost);
        optimum.cost
    });
    assert!((costs[1] / costs[0] - 1.0).abs() < 1e-3, "{costs:?}");
}

#[test]
fn commands_of_actuators_are_optimized_with_the_users_controls() {
    let (model, initial) = jointed_scene::scene(SurfaceRepresentation::Triangles);
    let tolerance = SolverTolerance { relative: 1e-14, max_iterations: 200 };
    let integrator = Integrator::VelocityLevel(VelocityLevel { model: ContactModel::Sap, tolerance });
    let settings = SimulationSettings { integrator, time_step: 2e-3 };
    let applied = &jointed_scene::Feedback;
    let task = TrajectoryTask {
        model: &model,
        initial: &initial,
        settings,
        until: 0.036,
        applied,
        residuals: &Carry,
    };
    let start = [0.1, 0.2, 3.0, 0.06, 0.05, -0.3];
    check_derivatives(task, &start, 1e-5);
    let knots = ControlKnots::uniform(KnotInterpolation::ZeroOrderHold, 3, task.until).expect("valid");
    let ranges = [-1.0, -1.0, 0.0, -0.2, -1.0, -1.0].map(|lower: f64| ControlRange::new(lower, lower + 2.0));
    let ranges: Vec<_> =
        ranges.iter().map(|r| if r.lower == 0.0 { ControlRange::new(1.0, 6.0) } else { *r }).collect();
    let mut costs = Vec::new();
    for method in [TrajectoryMethod::Ilqr, TrajectoryMethod::LevenbergMarquardt] {
        let problem = TrajectoryProblem::new(task, &knots, &ranges).expect("fits");
        let optimum = optimize(&problem, &start.repeat(3), method);
        println!("{method:?}: {} {:?}, {}", optimum.cost, optimum.evaluations, optimum.termination);
        assert!(optimum.cost < optimum.history[0].cost);
        costs.push(optimum.cost);
    }
    // Impulses of SAP have kinks where sticking begins, and so has the cost near its minimum.
    assert!((costs[1] / costs[0] - 1.0).abs() < 1e-3, "{costs:?}");
}

#[test]
fn every_method_finds_the_same_bounded_optimum() {
    let (model, initial) = craft();
    let knots = ControlKnots::uniform(KnotInterpolation::ZeroOrderHold, 10, 1.0).expect("valid");
    let thrust = ControlRange::new(0.5, 3.2);
    let ranges = [thrust, thrust, ControlRange::new(-0.2, 0.2)];
    let start = [2.45, 2.45, 0.0].repeat(10);
    let mut optima = Vec::new();
    for method in METHODS {
        let problem = TrajectoryProblem::new(craft_task(&model, &initial), &knots, &ranges).expect("fits");
        let optimum = optimize(&problem, &start, method);
        println!(
            "{method:?}: {} {:?} in {} iterations, {}, gradient {:?}",
            optimum.cost,
            optimum.evaluations,
            optimum.iterations,
            optimum.termination,
            optimum.history.last().expect("some").gradient_norm
        );
        for (i, value) in optimum.values.iter().enumerate() {
            let range = ranges[i % 3];
            assert!(*value >= range.lower && *value <= range.upper);
        }
        assert!(optimum.history[0].cost > 2.0 * optimum.cost);
        optima.push(optimum);
    }
    // Bounds matter: some controls are at them.
    let at_bound = |o: &TrajectoryOptimum| {
        o.values
            .iter()
            .enumerate()
            .filter(|(i, v)| [ranges[i % 3].lower, ranges[i % 3].upper].contains(v))
            .count()
    };
    assert!(at_bound(&optima[0]) >= 3, "{:?}", optima[0].values);
    let least = optima[0].cost;
    for other in &optima[1..] {
        assert!((other.cost / least - 1.0).abs() < 1e-5, "{} {least}", other.cost);
    }
    assert!(optima[0].converged && optima[2].converged);
    // iLQR comes to within a thousandth of it in a fifth of the rollouts that L-BFGS takes.
    let rollouts = |optimum: &TrajectoryOptimum| {
        let close = optimum.history.iter().find(|h| h.cost <= 1.001 * least).expect("found");
        close.evaluations.rollouts
    };
    let (ilqr, lbfgs) = (rollouts(&optima[0]), rollouts(&optima[1]));
    println!("rollouts to within a thousandth: iLQR {ilqr}, L-BFGS {lbfgs}");
    assert!(5 * ilqr <= lbfgs, "{ilqr} {lbfgs}");
}

#[test]
fn one_iteration_of_ilqr_solves_a_linear_quadratic_problem_with_any_knots() {
    let (model, initial) = craft_under(0.0);
    let settings = SimulationSettings { integrator: Integrator::SemiImplicitEuler, time_step: 0.02 };
    let task = TrajectoryTask {
        model: &model,
        initial: &initial,
        settings,
        until: 1.0,
        applied: &Push,
        residuals: &Place,
    };
    let start: Vec<f64> = (0..12).map(|i| 0.5 * (1.3 * i as f64).sin()).collect();
    for kind in KINDS {
        let knots = ControlKnots::uniform(kind, 6, 1.0).expect("valid");
        let with = |range, method, max_iterations| {
            let problem = TrajectoryProblem::new(task, &knots, &[range; 2]).expect("fits");
            let settings = TrajectorySettings { max_iterations, ..self::settings(method) };
            let optimum = optimize_trajectory(&problem, &start, &settings, None, None).expect("runs");
            (problem, optimum)
        };
        let (problem, optimum) = with(ControlRange::unbounded(2.0), TrajectoryMethod::Ilqr, 1);
        let x = problem.variables(&start).expect("one each");
        let jacobian = problem.jacobian(&x).expect("simulates");
        let residuals = DVector::from_vec(problem.residuals(&x).expect("simulates"));
        let change = jacobian.clone().svd(true, true).solve(&residuals, 1e-12).expect("solves");
        let least = 0.5 * (residuals - &jacobian * &change).norm_squared();
        assert!((optimum.cost / least - 1.0).abs() < 1e-9, "{kind:?}: {} {least}", optimum.cost);
        for (i, found) in optimum.variables.iter().enumerate() {
            assert!((found - (x[i] - change[i])).abs() < 1e-7, "{kind:?} {i}: {found}");
        }
        // Within bounds that matter it agrees with another method.
        let range = ControlRange::new(-0.2, 0.2);
        let [ilqr, other] = [TrajectoryMethod::Ilqr, TrajectoryMethod::LevenbergMarquardt]
            .map(|method| with(range, method, 200).1);
        assert!(ilqr.values.iter().all(|u| u.abs() <= 0.2));
        assert!(ilqr.values.iter().any(|u| u.abs() == 0.2), "{kind:?}: {:?}", ilqr.values);
        assert!(ilqr.cost > 1.001 * least, "{kind:?}: {} {least}", ilqr.cost);
        assert!((ilqr.cost / other.cost - 1.0).abs() < 1e-8, "{kind:?}: {} {}", ilqr.cost, other.cost);
    }
}

#[test]
fn a_ball_is_pushed_over_a_table() {
    let (model, initial) = ball_on_table();
    let knots = ControlKnots::uniform(KnotInterpolation::ZeroOrderHold, 12, 0.6).expect("valid");
    let ranges = [ControlRange::new(-0.6, 0.6); 2];
    let mut costs = Vec::new();
    for method in METHODS {
        let problem = TrajectoryProblem::new(ball_task(&model, &initial), &knots, &ranges).expect("fits");
        let optimum = optimize(&problem, &[0.0; 24], method);
        println!(
            "{method:?}: {} {:?} in {} iterations, {}",
            optimum.cost, optimum.evaluations, optimum.iterations, optimum.termination
        );
        assert!(optimum.values.iter().all(|u| u.abs() <= 0.6));
        let end = problem.trajectory(&optimum.variables).expect("simulates").states.pop().expect("some");
        let ball = &end.bodies[0];
        assert!((ball.position.x - 0.15).abs() < 0.01 && (ball.position.y - 0.05).abs() < 0.01, "{ball:?}");
        assert!(ball.position.z > 0.04);
        let at_start = problem.cost_at(&[0.0; 24]).expect("simulates");
        assert!(optimum.cost < 0.05 * at_start, "{method:?}: {at_start} to {}", optimum.cost);
        costs.push((method, optimum.cost));
    }
    let least = costs.iter().map(|(_, cost)| *cost).fold(f64::INFINITY, f64::min);
    for (method, cost) in costs {
        // The tolerance of each.
        let tolerance = if method == TrajectoryMethod::Auto { 1e-3 } else { 1e-8 };
        assert!(cost / least - 1.0 < tolerance, "{method:?}: {cost} {least}");
    }
}

/// A store in memory that fails after some saves, as if the program had been killed.
#[derive(Default)]
struct Failing {
    text: Mutex<Option<String>>,
    saves: AtomicUsize,
    fail_at: AtomicUsize,
}

impl CheckpointStore for Failing {
    fn load(&self) -> Result<Option<String>, Error> {
        Ok(self.text.lock().expect("whole").clone())
    }

    fn save(&self, text: &str) -> Result<(), Error> {
        if self.saves.fetch_add(1, Ordering::SeqCst) == self.fail_at.load(Ordering::SeqCst) {
            return Err(Error::msg("killed"));
        }
        *self.text.lock().expect("whole") = Some(text.to_owned());
        Ok(())
    }
}

#[test]
fn an_interrupted_run_goes_on_to_the_same_bits() {
    let (model, initial) = craft();
    let knots = ControlKnots::uniform(KnotInterpolation::ZeroOrderHold, 10, 1.0).expect("valid");
    // One without bounds: infinite numbers are to be saved as well.
    let ranges = [ControlRange::new(0.5, 4.2), ControlRange::new(0.5, 4.2), ControlRange::unbounded(0.3)];
    let start = [2.45, 2.45, 0.0].repeat(10);
    let problem = || TrajectoryProblem::new(craft_task(&model, &initial), &knots, &ranges).expect("fits");
    let short = |method| TrajectorySettings { max_iterations: 25, ..settings(method) };
    for method in METHODS {
        let whole = optimize_trajectory(&problem(), &start, &short(method), None, None).expect("runs");
        for stop in [1, 4] {
            let store = Arc::new(Failing::default());
            store.fail_at.store(stop, Ordering::SeqCst);
            let checkpoints =
                || Some(ProblemCheckpoints { store: store.clone(), problem: "craft".to_owned() });
            let run = |method, checkpoints| {
                optimize_trajectory(&problem(), &start, &short(method), checkpoints, None)
            };
            let killed = run(method, checkpoints()).expect_err("killed");
            assert!(killed.to_string().contains("killed"), "{killed}");
            let resumed = run(method, checkpoints()).expect("goes on");
            assert_eq!(resumed.variables, whole.variables, "{method:?} after {stop}");
            assert_eq!((resumed.cost, resumed.iterations), (whole.cost, whole.iterations));
            assert_eq!(resumed.termination, whole.termination);
            // With what was evaluated before, counted once.
            assert_eq!((resumed.evaluations, &resumed.history), (whole.evaluations, &whole.history));
            assert_eq!(whole.history.len() as u64, whole.iterations + 1);
            // A finished run has nothing left to do.
            let again = run(method, checkpoints()).expect("goes on");
            assert_eq!((again.variables, again.iterations), (whole.variables.clone(), whole.iterations));
            assert_eq!((again.evaluations, again.history), (whole.evaluations, resumed.history));
            // Another problem, another method.
            let other = ProblemCheckpoints { store: store.clone(), problem: "other".to_owned() };
            let refused = run(method, Some(other)).expect_err("other problem").to_string();
            assert!(refused.contains("of problem `craft`, this run is of `other`"), "{refused}");
            let next = METHODS[(METHODS.iter().position(|m| *m == method).expect("one of them") + 1) % 4];
            let refused = run(next, checkpoints()).expect_err("other method").to_string();
            assert!(refused.contains("of method"), "{refused}");
        }
    }
}

#[test]
fn checkpoints_in_a_file() {
    let folder = std::env::temp_dir().join(format!("isobar-checkpoint-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for the test");
    let store = CheckpointFile { path: folder.join("run.json") };
    let (model, initial) = craft();
    let knots = ControlKnots::uniform(KnotInterpolation::ZeroOrderHold, 5, 1.0).expect("valid");
    let ranges = [ControlRange::new(0.5, 4.2), ControlRange::new(0.5, 4.2), ControlRange::new(-0.3, 0.3)];
    let problem = TrajectoryProblem::new(craft_task(&model, &initial), &knots, &ranges).expect("fits");
    let start = [2.45, 2.45, 0.0].repeat(5);
    let run = |iterations: u64| {
        let settings = TrajectorySettings { max_iterations: iterations, ..TrajectorySettings::default() };
        let checkpoints = ProblemCheckpoints { store: Arc::new(store.clone()), problem: "craft".to_owned() };
        optimize_trajectory(&problem.separate(), &start, &settings, Some(checkpoints), None)
    };
    assert_eq!(run(2).expect("runs").iterations, 2);
    let text = std::fs::read_to_string(&store.path).expect("saved");
    assert!(text.contains("\"iteration\":2"), "{text}");
    assert!(run(3).expect("goes on").iterations == 3);
    std::fs::write(&store.path, &text[..text.len() / 2]).expect("written");
    let refused = run(3).expect_err("half a file").to_string();
    assert!(refused.contains("run.json: it cannot be read"), "{refused}");
    std::fs::remove_dir_all(&folder).expect("removed");
}

#[test]
fn many_starts_find_the_lowest_minimum() {
    let (model, initial) = craft();
    let knots = ControlKnots::uniform(KnotInterpolation::Linear, 6, 1.0).expect("valid");
    let ranges = [ControlRange::new(0.0, 6.0), ControlRange::new(0.0, 6.0), ControlRange::new(-0.5, 0.5)];
    let problem = TrajectoryProblem::new(craft_task(&model, &initial), &knots, &ranges).expect("fits");
    let start = [2.45, 2.45, 0.0].repeat(6);
    let (lower, upper) = ([0.0, 0.0, -0.5].repeat(6), [6.0, 6.0, 0.5].repeat(6));
    let mut starts = scattered_starts(&start, &[1.0, 1.0, 0.2].repeat(6), (&lower, &upper), 4, 3);
    starts.push(vec![0.0; 2]);
    let method = TrajectorySettings { method: TrajectoryMethod::LevenbergMarquardt, ..Default::default() };
    let with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        pool.install(|| optimize_trajectory_from(&problem, &starts, &method))
    };
    let (one, two) = (with(1), with(2));
    for (a, b) in one.iter().zip(&two).take(4) {
        assert_eq!(a.as_ref().expect("runs"), b.as_ref().expect("runs"));
    }
    assert!(one[4].as_ref().expect_err("too few").to_string().contains("2 values for 18 controls"));
    let costs: Vec<Option<f64>> = one.iter().map(|run| Some(run.as_ref().ok()?.cost)).collect();
    let best = lowest(costs.iter().copied()).expect("some");
    assert!(costs.iter().flatten().all(|cost| *cost >= costs[best].expect("ran")));
}

#[test]
fn smoothing_a_trajectory_cost() {
    let (model, initial) = ball_on_table();
    let knots = ControlKnots::uniform(KnotInterpolation::Linear, 4, 0.6).expect("valid");
    let ranges = [ControlRange::new(-0.6, 0.6); 2];
    let problem = TrajectoryProblem::new(ball_task(&model, &initial), &knots, &ranges).expect("fits");
    let smoothed = RandomizedSmoothing::new(&problem, 8, 0.05, 8, 2).expect("valid");
    let x: Vec<f64> = (0..8).map(|i| 0.2 * (i as f64 * FRAC_PI_2 * 0.7).sin()).collect();
    let value = smoothed.evaluate(&x).expect("simulates");
    assert_eq!(value.mean, smoothed.cost(&x).expect("simulates"));
    let h = 1e-6;
    for i in [0, 3, 6] {
        let moved = |h: f64| {
            let mut x = x.clone();
            x[i] += h;
            smoothed.cost(&x).expect("simulates")
        };
        let difference = (moved(h) - moved(-h)) / (2.0 * h);
        let error = (difference - value.gradient[i]).abs() / difference.abs();
        assert!(error < 1e-4, "{i}: {difference} {}", value.gradient[i]);
    }
    // Little smoothing changes little.
    let little =
        RandomizedSmoothing::new(&problem, 8, 1e-4, 8, 2).expect("valid").evaluate(&x).expect("simulates");
    let (cost, gradient) = problem.cost_and_gradient_at(&x).expect("simulates");
    assert!((little.mean / cost - 1.0).abs() < 1e-5, "{} {cost}", little.mean);
    for (a, b) in little.gradient.iter().zip(&gradient) {
        assert!((a - b).abs() < 1e-2 * value.gradient[2].abs(), "{a} {b}");
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let (model, initial) = craft();
    let task = craft_task(&model, &initial);
    let knots = ControlKnots::uniform(KnotInterpolation::Linear, 3, 1.0).expect("valid");
    let fine = ControlRange::new(0.0, 1.0);
    let refused = |ranges: &[ControlRange]| {
        TrajectoryProblem::new(task, &knots, ranges).map(|_| ()).expect_err("refused").to_string()
    };
    assert!(refused(&[fine]).contains("ranges for 1 control values, but actuators and forces take 3"));
    let crossed = ControlRange { lower: 2.0, upper: 1.0, scale: 1.0 };
    assert!(refused(&[fine, crossed, fine]).contains("control 1: the lower bound is 2"));
    assert!(refused(&[fine, fine, ControlRange::unbounded(0.0)]).contains("control 2: the scale is 0"));
    assert!(refused(&[ControlRange::new(f64::NAN, 1.0), fine, fine]).contains("control 0"));
    let late = ControlKnots::new(KnotInterpolation::Linear, vec![0.0, 5.0, 6.0]).expect("increasing");
    let unused = TrajectoryProblem::new(task, &late, &[fine; 3]).map(|_| ()).expect_err("unused");
    assert!(unused.to_string().contains("acts on no step"), "{unused}");
}
