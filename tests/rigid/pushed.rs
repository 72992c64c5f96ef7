//! Actuators that push a body on a table, and loads whose values are estimated.

use std::fs;

use isobar::Scene;
use isobar::contact::ContactModel;
use isobar::io::{FitFile, ProblemFile};
use isobar::multibody::{
    DifferentiatedModel, ForceDependence, ModelGradient, NoForces, Parameter, State, TANGENT_DIMENSION,
    seeded,
};
use isobar::optimize::fit::{FitSettings, fit};
use isobar::optimize::trajectory::optimize_trajectory;
use isobar::rollout::Trajectory;
use isobar::step::{
    ComplementarityMethod, DerivativeWorkspace, Integrator, StepCotangent, StepProblem, StepWorkspace, Tape,
};
use nalgebra::Vector3;

use crate::folder::Folder;

/// A block that slides on a table under two loads and three actuators, one of which is at its limit.
const SCENE: &str = r#"
[materials.wood]
friction = 0.3
friction_ellipsoid = [1, 1, 0.05]
[solver]
kind = "ecp"
time_step = 0.01
[[bodies]]
name = "block"
translation = [0, 0, 0.05]
rpy = [0, 0, 0.4]
linear_velocity = [0.5, 0.2, 0]
angular_velocity = [0, 0, 1]
mass = 1
[[bodies.geometries]]
shape = { box = { size = [0.2, 0.2, 0.1] } }
material = "wood"
rigid = true
[[bodies]]
name = "table"
fixed = true
[[bodies.geometries]]
shape = { half_space = {} }
material = "wood"
rigid = true
[[actuators]]
name = "push"
force = { body = "block", point = [-0.1, 0.03, 0], direction = [1, 0.2, 0], frame = "body" }
command = 2
[[actuators]]
name = "twist"
torque = { body = "block", axis = [0, 0, 2] }
command = 0.05
[[actuators]]
name = "limited"
force = { body = "block", direction = [0, 1, 0] }
effort = 0.5
command = 3
[[loads]]
name = "wind"
body = "block"
force = { period = 0.2, mean = [0.3, 0.1, 0], sine = [0.5, -0.2, 0] }
torque = [0, 0, 0.02]
[[loads]]
body = "block"
force = { times = [0, 0.1, 0.2], values = [[0, 0, 0], [0.4, 0, 0], [0, 0.3, 0]], interpolation = "linear" }
point = [0.05, 0.1, 0]
frame = "body"
"#;

fn load(folder: &Folder, text: &str) -> Result<Scene, String> {
    Scene::load(folder.file("scene.toml", text)).map_err(|error| error.to_string())
}

/// Directions of the state in the plane, in which nothing leaves the table: rotation, position, spin, velocity.
const PLANAR: [usize; 6] = [2, 3, 4, 8, 9, 10];

/// Compares the derivatives of a step with differences: along directions of the state, with respect to commands, loads and
/// limits of effort, as matrices and as vector–Jacobian product. Returns the columns that are not 0.
fn compare_with_differences(scene: &Scene, integrator: Integrator, directions: &[usize]) -> Vec<usize> {
    const CONTROL: [f64; 3] = [2.0, 0.05, 3.0];
    const TIME: f64 = 0.03;
    let (model, state) = (&scene.model, &scene.state);
    let time_step = scene.simulation_settings().expect("settings").time_step;
    let is_of_loads = |p: &Parameter| matches!(p, Parameter::Load { .. } | Parameter::EffortLimit { .. });
    let mut parameters: Vec<_> = Parameter::all(model).into_iter().filter(is_of_loads).collect();
    parameters.extend(Parameter::load_knots(model));
    assert_eq!(parameters.len(), 9 + 3 + 1 + 9);
    let differentiated =
        DifferentiatedModel::new(model, &parameters, ForceDependence::NONE, 0).expect("parameters");
    let step = |tangent: &[f64], control: &[f64], values: &[(Parameter, f64)]| {
        let (model, _) = seeded(model, state, values).expect("a model");
        let state = state.moved(tangent);
        let problem = StepProblem { time: TIME, control, ..StepProblem::new(&model, &state, time_step) };
        integrator.step(&problem, &mut StepWorkspace::default()).expect("a step")
    };
    let still = [0.0; TANGENT_DIMENSION];
    let problem = StepProblem { time: TIME, control: &CONTROL, ..StepProblem::new(model, state, time_step) };
    let (mut workspace, mut tape) = (StepWorkspace::default(), Tape::default());
    let after: State =
        integrator.step_taped(&problem, &differentiated, &mut workspace, &mut tape).expect("a step");
    assert!(after.bodies[0].velocity.translational.norm() > 0.3, "it slides");
    let mut derivatives = DerivativeWorkspace::default();
    let jacobian = tape.jacobian(&differentiated, &NoForces, &mut derivatives).expect("a derivative");
    let column_of = |column: usize| match column.checked_sub(TANGENT_DIMENSION) {
        None => jacobian.by_state.column(column),
        Some(k) if k < 3 => jacobian.by_control.column(k),
        Some(k) => jacobian.by_parameters.column(k - 3),
    };
    let mut acting = Vec::new();
    let others = TANGENT_DIMENSION..TANGENT_DIMENSION + 3 + parameters.len();
    for column in directions.iter().copied().chain(others) {
        let at = |d: f64| {
            let (mut tangent, mut control, mut values) = (still, CONTROL, Vec::new());
            match column.checked_sub(TANGENT_DIMENSION) {
                None => tangent[column] = d,
                Some(k) if k < 3 => control[k] += d,
                Some(k) => {
                    let parameter = parameters[k - 3];
                    values.push((parameter, parameter.value(model).expect("a value") + d));
                }
            }
            after.difference(&step(&tangent, &control, &values))
        };
        // Of fourth order: foam makes the step bend.
        let [near, far] = [1e-5, 2e-5].map(|d| (at(d), at(-d)));
        let claimed = column_of(column);
        if claimed.amax() > 0.0 {
            acting.push(column);
        }
        for row in 0..TANGENT_DIMENSION {
            let slope = (8.0 * (near.0[row] - near.1[row]) - (far.0[row] - far.1[row])) / 12e-5;
            let claim = claimed[row];
            let error = (slope - claim).abs();
            assert!(
                error < 1e-8 * claim.abs().max(1.0),
                "{integrator:?} {column} row {row}: {slope} {claim}"
            );
        }
    }
    let weights: Vec<f64> = (0..TANGENT_DIMENSION).map(|i| 0.3 + 0.1 * i as f64).collect();
    let (mut by_state, mut by_control) = (weights.clone(), [0.0; 3]);
    let mut by_model = ModelGradient::zero(&differentiated);
    let mut out = StepCotangent { state: &mut by_state, control: &mut by_control, model: &mut by_model };
    tape.vjp(&differentiated, &NoForces, &mut derivatives, &mut out);
    let by_parameters = differentiated.by_parameters(&still, &by_model);
    for (column, by) in by_state.iter().chain(&by_control).chain(&by_parameters).enumerate() {
        let expected: f64 = column_of(column).iter().zip(&weights).map(|(a, b)| a * b).sum();
        assert!((by - expected).abs() < 1e-11, "{integrator:?} {column}: {by} {expected}");
    }
    acting
}

/// The columns that are not 0: of the directions, two of three commands, all that the wind is made of, the limit of the
/// third actuator, and two knots of three. What changes the weight changes friction, and so do torques that shift it.
fn expected_to_act(directions: &[usize]) -> Vec<usize> {
    let others = (12..14).chain(15..15 + 9 + 3 + 1).chain(28..28 + 6);
    directions.iter().copied().chain(others).collect()
}

#[test]
fn derivatives_of_a_pushed_block_are_those_of_differences() {
    let folder = Folder::new("pushed");
    let scene = load(&folder, SCENE).expect("a scene");
    for method in [ComplementarityMethod::Ecp, ComplementarityMethod::Lcp, ComplementarityMethod::Ncp] {
        let integrator = Integrator::Complementarity(method);
        let acting = compare_with_differences(&scene, integrator, &PLANAR);
        assert_eq!(acting, expected_to_act(&PLANAR), "{method:?}");
    }
}

#[test]
fn derivatives_of_a_block_pushed_on_foam_are_those_of_differences() {
    let folder = Folder::new("pushed-on-foam");
    let on_foam = SCENE
        .replace("friction_ellipsoid = [1, 1, 0.05]", "hydroelastic_modulus = 1e5\ndissipation = 1")
        .replace("\"ecp\"", "\"lagged\"")
        .replace(
            "half_space = {} }\nmaterial = \"wood\"\nrigid = true",
            "half_space = { thickness = 0.1 } }\nmaterial = \"wood\"",
        )
        .replace("0, 0.05]\nrpy = [0, 0, 0.4]", "0, 0.0485]\nrpy = [0.01, 0.02, 0.4]");
    let scene = load(&folder, &on_foam).expect("a scene");
    let all: Vec<usize> = (0..TANGENT_DIMENSION).collect();
    let integrator = Integrator::velocity_level(ContactModel::Lagged);
    assert_eq!(compare_with_differences(&scene, integrator, &all), expected_to_act(&all));
}

/// The T-bar of the example is pushed to its pose, and comes to rest there, by commands that are found through steps by
/// equivalent contact points.
#[test]
fn the_t_bar_is_pushed_to_a_pose() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/rigid_contact/t_bar_push.toml");
    let file = ProblemFile::load(path).expect("a problem");
    assert_eq!(file.simulation.integrator, Integrator::Complementarity(ComplementarityMethod::Ecp));
    let problem = file.problem().expect("a problem");
    let error_at = |trajectory: Trajectory| {
        assert!(trajectory.states.iter().all(|s| (s.bodies[0].position.z - 0.025).abs() < 1e-9), "it slides");
        let end = trajectory.states.last().expect("states").bodies[0];
        let turn = end.orientation.to_rpy()[2] - 30_f64.to_radians();
        let speeds = [end.velocity.translational.norm(), end.velocity.rotational.norm()];
        ((end.position - Vector3::new(0.2, 0.0, 0.025)).norm(), turn.abs(), speeds)
    };
    let start = problem.variables(&file.start).expect("a start");
    let (place, turn, _) = error_at(problem.trajectory(&start).expect("a motion"));
    assert!(place > 0.03 && turn > 0.1, "it has to move: {place} {turn}");
    let optimum = optimize_trajectory(&problem, &file.start, &file.settings, None, None).expect("an optimum");
    let (place, turn, [speed, spin]) = error_at(problem.trajectory(&optimum.variables).expect("a motion"));
    println!(
        "{} iterations, {:?}: {place:.1e} m, {turn:.1e} rad, {speed:.1e} m/s, {spin:.1e} rad/s",
        optimum.iterations, optimum.evaluations
    );
    assert!(optimum.converged, "{}", optimum.termination);
    assert!(place < 2e-4 && turn < 2e-4, "{place} {turn}");
    assert!(speed < 1e-4 && spin < 1e-3, "{speed} {spin}");
    let range = &file.controls[0].range;
    assert!(optimum.values.iter().all(|force| (range.lower..=range.upper).contains(force)));
}

#[test]
fn a_fit_finds_the_loads_that_a_block_was_pushed_with() {
    let folder = Folder::new("fitted-load");
    let scene = load(&folder, SCENE).expect("a scene");
    let trajectory = scene.rollout(0.3).expect("settings").simulate().expect("a motion");
    trajectory.write(folder.0.join("motion.csv"), &scene.model).expect("a file");
    // The scene of the fit knows neither how strong the wind is nor the value at a knot.
    let wrong = SCENE
        .replace("mean = [0.3, 0.1, 0], sine = [0.5, -0.2, 0]", "mean = [0, 0.1, 0], sine = [0, -0.2, 0]")
        .replace("[0.4, 0, 0]", "[0, 0, 0]");
    assert!(wrong.contains("sine = [0, -0.2, 0]"));
    fs::write(folder.0.join("scene.toml"), wrong).expect("a file");
    let text = r#"scene = "scene.toml"
[[parameters]]
name = "loads.wind.force.mean[0]"
initial = 0
lower = -5
upper = 5
[[parameters]]
name = "loads.wind.force.sine[0]"
initial = 0
lower = -5
upper = 5
[[parameters]]
name = "loads[1].force.values[1][0]"
initial = 0
lower = -5
upper = 5
[[trajectories]]
body = "block"
files = ["motion.csv"]
from = 0.02
position_sigma = 1e-4
orientation_sigma = 1e-3
"#;
    let file = FitFile::load(folder.file("fit.toml", text)).expect("a fit");
    let settings = FitSettings { max_iterations: 50, cost_tolerance: 1e-14, ..Default::default() };
    let found =
        fit(&file.identification().expect("valid"), &file.parameters, &settings, None).expect("a fit");
    for (value, truth) in found.values().iter().zip([0.3, 0.5, 0.4]) {
        assert!((value - truth).abs() < 1e-5, "{:?}", found.values());
    }
}

#[test]
fn what_is_wrong_with_actuators_on_bodies_is_said() {
    let folder = Folder::new("pushed-refused");
    let push =
        "force = { body = \"block\", point = [-0.1, 0.03, 0], direction = [1, 0.2, 0], frame = \"body\" }";
    let cases = [
        (push, "", "actuators[0]: found none of `joints`, `force` and `torque`; an actuator has one of them"),
        (push, "force = { body = \"block\" }", "`direction`"),
        (
            push,
            "force = { body = \"block\", direction = [0, 0, 0] }",
            "actuators[0].force.direction: found the zero vector; it must have a direction",
        ),
        (
            push,
            "force = { body = \"block\", direction = [inf, 0, 0] }",
            "actuators[0].force.direction[0]: found inf; it must be finite",
        ),
        (
            push,
            "force = { body = \"block\", direction = [1, 0, 0] }\ndrive = \"force\"",
            "actuators[0].drive: found beside `force`, whose size is the command; drives are for `joints`",
        ),
        (
            push,
            "force = { body = \"block\", direction = [1, 0, 0] }\njoints = [\"hinge\"]",
            "actuators[0].force: found beside `joints`; an actuator has one of `joints`, `force` and `torque`",
        ),
        (
            push,
            "joints = [\"hinge\"]",
            "actuators[0].drive: is missing; it says how the command becomes a force",
        ),
        (
            "torque = { body = \"block\"",
            "torque = { body = \"table\"",
            "actuators[1].torque.body: `table` does not move freely; loads are for bodies that do",
        ),
        (
            "torque = { body = \"block\"",
            "torque = { body = \"bloc\"",
            "actuators[1].torque.body: there is no body `bloc`; those that move freely are `block`",
        ),
        (
            "axis = [0, 0, 2]",
            "axis = [0, 0, 2], point = [0, 0, 0]",
            "actuators[1].torque.point: unknown field",
        ),
        ("effort = 0.5", "effort = -1", "actuators[2].effort: found -1; it must be positive"),
        (
            "[[loads]]\nbody",
            "[[loads]]\nname = \"wind\"\nbody",
            "loads[1].name: found `wind`, the name of loads[0] too; names must be unique",
        ),
    ];
    for (what, instead, part) in cases {
        assert!(SCENE.contains(what));
        let error = load(&folder, &SCENE.replace(what, instead)).expect_err("refused");
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn motors_are_measured_where_they_drive_joints() {
    let folder = Folder::new("pushed-measured");
    folder.file("scene.toml", SCENE);
    folder.file("motion.csv", "t_s,push.force\n0,1\n0.1,1\n");
    let text = r#"scene = "scene.toml"
[[parameters]]
name = "loads.wind.force.mean[0]"
initial = 0
[[sensors]]
name = "motor"
channels = [{ quantity = "actuator_force", of = "push", sigma = 0.1 }]
[[recordings]]
files = ["motion.csv"]
"#;
    let file = FitFile::load(folder.file("fit.toml", text)).expect("a fit");
    let error = file.identification().map(|_| ()).expect_err("refused").to_string();
    assert!(error.contains("no actuator of joints `push`; there are: none"), "{error}");
}
