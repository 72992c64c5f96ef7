//! Designs: numbers of the model and of the initial state that are optimized with the controls.

use crate::folder::Folder;
use argmin::core::{CostFunction, Gradient};
use isobar::io::{ProblemFile, Scene};
use isobar::multibody::{NoForces, Parameter};
use isobar::optimize::identification::parameters_at;
use isobar::optimize::objective::{CostTerm, Deviation, Objective, Quantity, Target, When};
use isobar::optimize::trajectory::{
    ControlRange, DesignProblem, DesignVariable, TrajectoryMethod, TrajectoryProblem, TrajectorySettings,
    TrajectoryTask, optimize_design,
};
use isobar::rollout::{ControlKnots, KnotInterpolation, SimulationSettings};
use isobar::step::{Integrator, SolverTolerance, VelocityLevel};
use nalgebra::Vector3;

/// A pad on a joint with friction that presses a ball, which is free, against a wall.
const PRESS: &str = r#"
gravity = [0, 0, -2.0]
[materials.foam]
hydroelastic_modulus = 8e4
dissipation = 3.0
friction = 0.6
[materials.wood]
hydroelastic_modulus = 4e5
dissipation = 1.0
friction = 0.4
[solver]
kind = "lagged"
time_step = 2e-3
[[bodies]]
name = "wall"
fixed = true
translation = [0.068, 0, 0]
[[bodies.geometries]]
shape = { box = { size = [0.08, 0.1, 0.1] } }
material = "wood"
[[bodies]]
name = "pad"
mass = 0.2
[bodies.joint]
type = "prismatic"
axis = [1, 0, 0]
translation = [-0.038, 0, 0]
damping = 5
friction = 0.3
stiction_velocity = 0.02
[[bodies.geometries]]
shape = { box = { size = [0.02, 0.05, 0.05] } }
material = "foam"
[[bodies]]
name = "ball"
density = 700
translation = [0, 0.001, -0.002]
rpy = [0.3, -0.2, 0.5]
[[bodies.geometries]]
shape = { sphere = { radius = 0.03, resolution = 0.025 } }
material = "foam"
[[actuators]]
name = "press"
joints = ["pad"]
drive = "force"
command = 3.0
"#;

fn variable(parameters: Vec<Parameter>, lower: f64, upper: f64, is_logarithmic: bool) -> DesignVariable {
    DesignVariable { parameters, lower, upper, scale: 0.01, is_logarithmic }
}

fn scene() -> Scene {
    let folder = Folder::new("press");
    Scene::load(folder.file("scene.toml", PRESS)).expect("a scene")
}

/// Where the ball ends, how it is turned, and the force on it all along, which depends on the model directly.
fn objective(scene: &Scene) -> Objective {
    let body = |name: &str| scene.model.body_index(name).expect("a body");
    let term = |quantity, weight: f64, when| CostTerm {
        quantity,
        target: Target::constant(Vector3::new(0.01, 0.02, -0.01)),
        weight: Vector3::repeat(weight),
        deviation: Deviation::Both,
        when,
    };
    let target = isobar::spatial::Quaternion::from_wxyz(1.0, 0.0, 0.0, 0.0);
    let ball = body("ball");
    let terms = vec![
        term(Quantity::Position { body: ball, relative_to: None }, 30.0, When::End),
        term(Quantity::Orientation { body: ball, relative_to: None, target }, 1.0, When::End),
        term(Quantity::ContactForce { on: ball, from: body("pad") }, 2.0, When::Running),
        term(Quantity::ContactArea { on: ball, from: body("wall") }, 1e3, When::Running),
        term(Quantity::Control { index: 0 }, 0.1, When::Running),
    ];
    Objective::new(&scene.model, 1, terms).expect("it fits")
}

fn variables(scene: &Scene) -> Vec<DesignVariable> {
    let model = &scene.model;
    let at = |path: &str| parameters_at(model, path).expect("a parameter");
    let ball = model.body_index("ball").expect("a body");
    let joint = model.mechanism().joint_index("pad").expect("a joint");
    let turn = |axis| vec![Parameter::initial_rotation(ball, axis)];
    vec![
        variable(at("materials.foam.hydroelastic_modulus"), 1e4, 1e6, true),
        variable(at("materials.foam.friction"), 0.1, 1.0, false),
        variable(at("bodies.ball.geometries[0].scale"), 0.9, 1.1, false),
        variable(turn(0), -1.0, 1.0, false),
        variable(turn(2), -1.0, 1.0, false),
        variable(vec![Parameter::initial_position(ball, 1)], -0.01, 0.01, false),
        variable(vec![Parameter::InitialJoint { index: 0 }], -0.01, 0.01, false),
        variable(vec![Parameter::JointFriction { joint }], 0.0, 1.0, false),
        variable(
            vec![Parameter::FixedPose { body: model.body_index("wall").expect("a body"), axis: 3 }],
            -0.01,
            0.01,
            false,
        ),
    ]
}

fn controls<'a>(scene: &'a Scene, objective: &'a Objective) -> TrajectoryProblem<'a, NoForces, Objective> {
    let tolerance = SolverTolerance { relative: 1e-14, max_iterations: 200 };
    let model = isobar::contact::ContactModel::Lagged;
    let integrator = Integrator::VelocityLevel(VelocityLevel { model, tolerance });
    let task = TrajectoryTask {
        model: &scene.model,
        initial: &scene.state,
        settings: SimulationSettings { integrator, time_step: 2e-3 },
        until: 0.02,
        applied: &NoForces,
        residuals: objective,
    };
    let knots = ControlKnots::new(KnotInterpolation::Linear, vec![0.0, 0.02]).expect("knots");
    TrajectoryProblem::new(task, &knots, &[ControlRange::new(0.0, 20.0)]).expect("a problem")
}

#[test]
fn the_gradient_is_that_of_differences_away_from_the_scene() {
    let scene = scene();
    let objective = objective(&scene);
    let problem = DesignProblem::new(controls(&scene, &objective), variables(&scene)).expect("a problem");
    // Turned about two axes, larger, softer and shifted.
    let design = [6e4, 0.5, 1.02, 0.3, -0.4, 0.002, 0.0005, 0.4, -0.0005];
    let x = problem.optimizer_variables(&[3.0, 4.0], &design).expect("variables");
    let (values, found) = problem.values(&x).expect("values");
    assert_eq!(values, [3.0, 4.0]);
    for (found, wanted) in found.iter().zip(design) {
        assert!((found - wanted).abs() < 1e-12 * wanted.abs().max(1.0), "{found} {wanted}");
    }
    let gradient = problem.gradient(&x).expect("differentiable");
    let size = gradient.iter().fold(0.0_f64, |m, g| m.max(g.abs()));
    for (k, claimed) in gradient.iter().enumerate() {
        let cost = |h: f64| {
            let mut x = x.clone();
            x[k] += h;
            problem.cost(&x).expect("simulates")
        };
        let h = 1e-5 * x[k].abs().max(0.1);
        let difference = (8.0 * (cost(h) - cost(-h)) - (cost(2.0 * h) - cost(-2.0 * h))) / (12.0 * h);
        let error = (claimed - difference).abs() / claimed.abs().max(1e-3 * size);
        assert!(*claimed != 0.0 && error < 1e-5, "variable {k}: {claimed} {difference}");
    }
}

#[test]
fn what_cannot_be_varied_is_refused() {
    let scene = scene();
    let objective = objective(&scene);
    let refused = |variables: Vec<DesignVariable>| {
        DesignProblem::new(controls(&scene, &objective), variables).expect_err("refused").to_string()
    };
    let gravity = || vec![Parameter::Gravity { axis: 2 }];
    assert!(
        refused(vec![variable(vec![], 0.0, 1.0, false)]).contains("design variable 0: it has no parameters")
    );
    assert!(refused(vec![variable(gravity(), 1.0, 0.0, false)]).contains("must not be above"));
    assert!(refused(vec![variable(gravity(), -1.0, 1.0, true)]).contains("positive, as it is logarithmic"));
    let twice = refused(vec![variable(gravity(), 0.0, 1.0, false), variable(gravity(), 0.0, 1.0, false)]);
    assert!(twice.contains("design variable 1: its parameter gravity[2] is that of another"), "{twice}");
    let wall = scene.model.body_index("wall").expect("a body");
    let turned = vec![Parameter::FixedPose { body: wall, axis: 0 }];
    assert!(refused(vec![variable(turned, 0.0, 1.0, false)]).contains("turns of geometries"));
    let absent = vec![Parameter::JointDamping { joint: 9 }];
    assert!(refused(vec![variable(absent, 0.0, 1.0, false)]).contains("design variable 0"));
    let problem = DesignProblem::new(controls(&scene, &objective), variables(&scene)).expect("a problem");
    let ilqr = TrajectorySettings { method: TrajectoryMethod::Ilqr, ..Default::default() };
    let error =
        optimize_design(&problem, (&[3.0; 2], &[0.0; 9]), &ilqr, None).expect_err("refused").to_string();
    assert!(error.contains("`lbfgs`, not by `ilqr`"), "{error}");
}

/// A cart that is pushed 0.3 m, with a start of its own choice: it takes all the speed that it may have, and the
/// rest is the solution of linear equations. Its mass is as small as it may be.
#[test]
fn a_cart_takes_the_start_and_the_mass_that_help() {
    let (dt, steps, weight) = (0.05, 20usize, 100.0);
    let folder = Folder::new("design-cart");
    folder.file(
        "scene.toml",
        "gravity = [0, 0, 0]\n[solver]\nkind = \"lagged\"\ntime_step = 0.05\n[[bodies]]\nname = \"cart\"\nmass = 2.0\n\
         inertia = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]\n\
         joint = { name = \"slide\", type = \"prismatic\", axis = [1, 0, 0] }\n\
         [[actuators]]\nname = \"push\"\njoints = [\"slide\"]\ndrive = \"force\"\n",
    );
    let times: Vec<String> = (0..steps).map(|k| format!("{:?}", dt * k as f64)).collect();
    let problem = format!(
        "scene = \"scene.toml\"\nuntil = 1.0\nknots = {{ times = [{}] }}\n[[controls]]\nactuator = \"push\"\n\
         [[costs]]\ncontrol = \"push\"\nweight = 1.0\n\
         [[costs]]\njoint_position = {{ joint = \"slide\" }}\ntarget = 0.3\nweight = 100.0\nwhen = \"end\"\n",
        times.join(", ")
    );
    let file = ProblemFile::load(folder.file("problem.toml", problem)).expect("a problem");
    let speed = variable(vec![Parameter::InitialJoint { index: 1 }], -0.1, 0.1, false);
    let cart = file.scene.model.body_index("cart").expect("a body");
    let mass =
        DesignVariable { scale: 1.0, ..variable(vec![Parameter::Mass { body: cart }], 1.5, 8.0, true) };
    let problem =
        DesignProblem::new(file.problem().expect("a problem"), vec![speed, mass]).expect("a design");
    let settings = TrajectorySettings {
        method: TrajectoryMethod::Lbfgs,
        cost_tolerance: Some(1e-14),
        ..Default::default()
    };
    let found =
        optimize_design(&problem, (&vec![0.0; steps], &[0.0, 2.0]), &settings, None).expect("optimized");
    assert!(found.convergence.is_some(), "{}", found.termination);
    assert!(
        (found.design[0] - 0.1).abs() < 1e-12 && (found.design[1] - 1.5).abs() < 1e-12,
        "{:?}",
        found.design
    );
    // q at the end is 0.1 + Σ a u; ½ δt u² + ½ w² (q − 0.3)² is least at u = y a.
    let a: Vec<f64> = (0..steps).map(|k| dt * dt / 1.5 * (steps - k) as f64).collect();
    let square: f64 = a.iter().map(|a| a * a).sum();
    let y = weight * weight * 0.2 / (dt + weight * weight * square);
    for (k, (u, a)) in found.controls.iter().zip(&a).enumerate() {
        assert!((u - y * a).abs() < 1e-5, "step {k}: {u} {}", y * a);
    }
    let end = problem.trajectory(&found.variables).expect("simulated");
    let q = end.states[steps].joints.q[0];
    assert!((q - (0.1 + y * square)).abs() < 1e-6, "{q}");
}
