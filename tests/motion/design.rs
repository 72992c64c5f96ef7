//! Designs: numbers of the model and of the initial state that are optimized with the controls.

use crate::folder::Folder;
use crate::press::PRESS;
use isobar::io::{ProblemFile, Scene};
use isobar::multibody::Parameter;
use isobar::optimize::ensemble::{
    Design, DesignVariable, EnsembleMember, EnsembleProblem, EnsembleTask, KnotVariables, Risk,
    SharedVariables,
};
use isobar::optimize::identification::parameters_at;
use isobar::optimize::objective::{CostTerm, Deviation, Objective, Quantity, Target, When};
use isobar::optimize::randomized_smoothing::SharedCost;
use isobar::optimize::trajectory::{ControlRange, OptimizedProblem, TrajectorySettings, optimize_trajectory};
use isobar::rollout::{ControlKnots, ControlLaw, Controls, KnotInterpolation, SimulationSettings};
use isobar::step::{Integrator, SolverTolerance, VelocityLevel};
use nalgebra::Vector3;

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
        term(Quantity::ContactForce { on: ball, from: body("pad"), expressed_in: None }, 2.0, When::Running),
        term(Quantity::ContactArea { on: ball, from: body("wall") }, 1e3, When::Running),
        term(Quantity::Control { index: 0 }, 0.1, When::Running),
    ];
    Objective::new(&scene.model, 1, terms).expect("it fits")
}

/// What is optimized: names, bounds, whether by the logarithm, and values away from those of the scene: turned about two
/// axes, larger, softer and shifted.
const DESIGN: [(&str, [f64; 2], bool, f64); 11] = [
    ("materials.foam.hydroelastic_modulus", [1e4, 1e6], true, 6e4),
    ("materials.foam.friction", [0.1, 1.0], false, 0.5),
    ("bodies.ball.geometries[0].scale", [0.9, 1.1], false, 1.02),
    ("bodies.ball.turn[0]", [-1.0, 1.0], false, 0.3),
    ("bodies.ball.turn[2]", [-1.0, 1.0], false, -0.4),
    ("bodies.ball.shift[1]", [-0.01, 0.01], false, 0.002),
    ("bodies.pad.geometries[0].shift[1]", [-0.01, 0.01], false, 0.003),
    ("joints.pad.shift", [-0.01, 0.01], false, 0.0005),
    ("joints.pad.friction", [0.0, 1.0], false, 0.4),
    ("joints.pad.frame.shift[1]", [-0.01, 0.01], false, 0.002),
    ("bodies.wall.shift[0]", [-0.01, 0.01], false, -0.0005),
];

fn named(scene: &Scene, names: &[&str]) -> Design {
    let at = |path: &&str| parameters_at(&scene.model, path).expect("a parameter");
    Design::new(&scene.model, names.iter().map(at).collect()).expect("a design")
}

fn member(
    scene: &Scene,
    objective: Objective,
    design: Design,
    steps: usize,
) -> EnsembleMember<ControlLaw, Objective> {
    EnsembleMember {
        name: "member".into(),
        model: scene.model.clone(),
        initial: scene.state.clone(),
        controllers: Vec::new(),
        controls: Controls::zeros(steps, 1),
        design,
        residuals: objective,
    }
}

#[test]
fn the_gradient_is_that_of_differences_away_from_the_scene() {
    let scene = scene();
    let design: Vec<DesignVariable> = DESIGN
        .iter()
        .map(|&(name, [lower, upper], log, _)| {
            let range = ControlRange { scale: 0.01, ..ControlRange::new(lower, upper) };
            DesignVariable { name: name.into(), range, log }
        })
        .collect();
    let tolerance = SolverTolerance { relative: 1e-14, max_iterations: 200 };
    let model = isobar::contact::ContactModel::Lagged;
    let integrator = Integrator::VelocityLevel(VelocityLevel { model, tolerance });
    let settings = SimulationSettings { integrator, time_step: 2e-3 };
    let knots = ControlKnots::new(KnotInterpolation::Linear, vec![0.0, 0.02]).expect("knots");
    let times = settings.step_times(0.02).expect("times");
    let map = knots.map(1, &times).expect("a map");
    let optimized = vec![(0, ControlRange::new(0.0, 20.0))];
    let variables = SharedVariables::new(Some(KnotVariables { map, optimized }), Vec::new(), design, None);
    let variables = variables.expect("variables");
    let task = EnsembleTask { settings, until: 0.02, variables, parameters: Vec::new(), risk: Risk::Mean };
    let members =
        [member(&scene, objective(&scene), named(&scene, &DESIGN.map(|(name, ..)| name)), times.len() - 1)];
    let problem = EnsembleProblem::new(&task, &members);
    let wanted: Vec<f64> = [3.0, 4.0].into_iter().chain(DESIGN.map(|(.., value)| value)).collect();
    let x = task.variables.from_values(&wanted);
    for (found, wanted) in task.variables.values(&x).iter().zip(&wanted) {
        assert!((found - wanted).abs() < 1e-12 * wanted.abs().max(1.0), "{found} {wanted}");
    }
    let (_, gradient) = problem.cost_and_gradient_at(&x).expect("differentiable");
    let size = gradient.iter().fold(0.0_f64, |m, g| m.max(g.abs()));
    for (k, claimed) in gradient.iter().enumerate() {
        let cost = |h: f64| {
            let mut x = x.clone();
            x[k] += h;
            problem.cost_at(&x).expect("simulates")
        };
        let h = 1e-5 * x[k].abs().max(0.1);
        let difference = (8.0 * (cost(h) - cost(-h)) - (cost(2.0 * h) - cost(-2.0 * h))) / (12.0 * h);
        let error = (claimed - difference).abs() / claimed.abs().max(1e-3 * size);
        assert!(*claimed != 0.0 && error < 1e-5, "variable {k}: {claimed} {difference}");
    }
    // Another member needs the same variables.
    let other = [member(&scene, objective(&scene), named(&scene, &["gravity[2]"]), times.len() - 1)];
    let error = EnsembleProblem::new(&task, &other).cost_at(&x).expect_err("refused").to_string();
    assert!(error.contains("member has a design of 1 variables, but the problem has 11"), "{error}");
}

#[test]
fn what_cannot_be_varied_is_refused() {
    let scene = scene();
    let refused = |variables: Vec<Vec<Parameter>>| {
        Design::new(&scene.model, variables).expect_err("refused").to_string()
    };
    let gravity = || vec![Parameter::Gravity { axis: 2 }];
    assert!(refused(vec![vec![]]).contains("design variable 0: it has no parameters"));
    let twice = refused(vec![gravity(), gravity()]);
    assert!(twice.contains("design variable 1: its parameter gravity[2] is that of another"), "{twice}");
    let wall = scene.model.body_index("wall").expect("a body");
    let turned = vec![Parameter::FixedPose { body: wall, axis: 0 }];
    assert!(refused(vec![turned]).contains("turns of geometries"));
    let absent = vec![Parameter::JointDamping { joint: 9 }];
    assert!(refused(vec![absent]).contains("design variable 0"));
    let variables = |lower: f64, upper: f64, log: bool| {
        let range = ControlRange { scale: 1.0, lower, upper };
        let variable = DesignVariable { name: "gravity[2]".into(), range, log };
        SharedVariables::new(None, Vec::new(), vec![variable], None).expect_err("refused").to_string()
    };
    assert!(variables(1.0, 0.0, false).contains("design variable 0: "));
    let log = variables(-1.0, 1.0, true);
    assert!(log.contains("gravity[2]") && log.contains("positive"), "{log}");
}

/// A cart that is pushed 0.3 m, with a start of its own choice: it begins as far on as it may, and the
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
         [[costs]]\njoint_position = {{ joint = \"slide\" }}\ntarget = 0.3\nweight = 100.0\nwhen = \"end\"\n\
         [[model_parameters]]\nname = \"joints.slide.shift\"\nlower = -0.1\nupper = 0.1\n\
         [[model_parameters]]\nname = \"bodies.cart.mass\"\nlower = 1.5\nupper = 8.0\nlog = true\n",
        times.join(", ")
    );
    let file = ProblemFile::load(folder.file("problem.toml", problem)).expect("a problem");
    let all = file.ensemble.as_ref().expect("a design");
    let settings = TrajectorySettings { cost_tolerance: Some(1e-10), ..file.settings };
    let found = optimize_trajectory(&all.problem(), &all.start, &settings, None, None).expect("optimized");
    assert!(found.converged, "{}", found.termination);
    let (shift, mass) = (found.values[steps], found.values[steps + 1]);
    assert!((shift - 0.1).abs() < 1e-12 && (mass - 1.5).abs() < 1e-12, "{shift} {mass}");
    // q at the end is 0.1 + Σ a u; ½ δt u² + ½ w² (q − 0.3)² is least at u = y a.
    let a: Vec<f64> = (0..steps).map(|k| dt * dt / 1.5 * (steps - k) as f64).collect();
    let square: f64 = a.iter().map(|a| a * a).sum();
    let y = weight * weight * 0.2 / (dt + weight * weight * square);
    for (k, (u, a)) in found.values.iter().zip(&a).enumerate() {
        assert!((u - y * a).abs() < 1e-5, "step {k}: {u} {}", y * a);
    }
    let end = all.problem().motion_of(0, &found.variables).expect("simulated").trajectory;
    let q = end.states[steps].joints.q[0];
    assert!((q - (0.1 + y * square)).abs() < 1e-6, "{q}");
}
