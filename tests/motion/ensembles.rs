//! Ensembles of problem files, and the policy of an optimized trajectory.

use argmin::core::CostFunction;
use isobar::io::{ProblemEnsemble, ProblemFile};
use isobar::multibody::{Model, State};
use isobar::optimize::ensemble::{EnsembleProblem, Risk};
use isobar::optimize::randomized_smoothing::{RandomizedSmoothing, SharedCost, SmoothingSettings};
use isobar::optimize::trajectory::{
    OptimizedProblem, TrajectoryMethod, TrajectorySettings, WithinBounds, optimize_trajectory,
};
use isobar::rollout::{
    ClosedLoop, ControlLaw, Controls, HalfSquares, Loss, Moment, Rollout, SampledController,
};

use crate::folder::Folder;

/// A cart that a motor pushes against a soft wall, and a controller of where it is.
const SCENE: &str = r#"gravity = [0, 0, 0]
[materials.foam]
hydroelastic_modulus = 2e4
dissipation = 1.0
friction = 0.5
[solver]
kind = "lagged"
time_step = 0.005
[[bodies]]
name = "wall"
fixed = true
translation = [0.31, 0, 0]
[[bodies.geometries]]
shape = { box = { size = [0.2, 0.4, 0.4] } }
material = "foam"
[[bodies]]
name = "cart"
mass = 2.0
[bodies.joint]
name = "slide"
type = "prismatic"
axis = [1, 0, 0]
damping = 0.5
[[bodies.geometries]]
shape = { box = { size = [0.2, 0.2, 0.2] } }
material = "foam"
[[actuators]]
name = "motor"
joints = ["slide"]
drive = "force"
effort = 30
[[controllers]]
name = "place"
period = 0.01
delay = 0.015
noise = { seed = 3, position = 1e-3, velocity = 1e-2 }
law = { pid = { actuators = ["motor"], joint = { joint = "slide" }, proportional = 40.0, derivative = 12.0, target = [0.12] } }
[[controllers]]
name = "push"
law = { grip_force = { actuators = [{ actuator = "motor", ratio = 0.5 }], contacts = [{ on = "cart", from = "wall" }], set_point = 4.0, proportional = 0.6, integral = 2.0 } }
"#;

const PROBLEM: &str = r#"scene = "scene.toml"
until = 0.3
[knots]
count = 3
[[controls]]
actuator = "motor"
lower = -5
upper = 5
[[controller_parameters]]
name = "controllers.place.proportional"
lower = 1
upper = 400
log = true
[[controller_parameters]]
name = "controllers.place.derivative"
lower = 0
upper = 40
[[controller_parameters]]
name = "controllers.push.integral"
lower = 0
upper = 10
[ensemble]
members = 5
test = 8
seed = 11
[[vary]]
field = "bodies.cart.mass"
factor = { uniform = [0.6, 1.4] }
[[vary]]
field = ["materials.foam.hydroelastic_modulus"]
value = { log_uniform = [5e3, 5e4] }
[[vary]]
field = "bodies.wall.translation[0]"
offset = { normal = { mean = 0.0, deviation = 0.003 } }
[[vary]]
field = "bodies.cart.geometries[0].shape.box.size[1]"
value = { list = [0.2, 0.22] }
[[costs]]
joint_velocity = { joint = "slide" }
weight = 0.3
[[costs]]
joint_position = { joint = "slide" }
target = 0.115
weight = 100
when = "end"
[[costs]]
control = "motor"
weight = 0.01
[[success]]
joint_position = { joint = "slide" }
target = 0.1
weight = 1
deviation = "below"
when = "end"
"#;

fn loaded(problem: &str) -> (Folder, ProblemFile) {
    let folder = Folder::new("ensemble");
    folder.file("scene.toml", SCENE);
    let path = folder.file("problem.toml", problem);
    let file = ProblemFile::load(path).expect("a valid problem");
    (folder, file)
}

fn ensemble(file: &ProblemFile) -> &ProblemEnsemble {
    file.ensemble.as_ref().expect("an ensemble")
}

/// A start away from anything special.
fn start(ensemble: &ProblemEnsemble) -> Vec<f64> {
    let mut values = ensemble.start.clone();
    values.iter_mut().enumerate().for_each(|(i, x)| *x += 0.4 + 0.3 * (i as f64).sin());
    ensemble.task.variables.from_values(&values)
}

#[test]
fn members_differ_as_the_file_says() {
    let (_folder, file) = loaded(PROBLEM);
    let all = ensemble(&file);
    assert_eq!((all.training.len(), all.test.len()), (5, 8));
    let mass = |model: &Model| model.body_mass(1).expect("a link").mass;
    let masses: Vec<f64> = all.training.iter().chain(&all.test).map(|member| mass(&member.model)).collect();
    assert!(masses.iter().all(|m| (1.2..=2.8).contains(m)), "{masses:?}");
    for (i, m) in masses.iter().enumerate() {
        assert!(!masses[..i].contains(m), "every member has a draw of its own");
    }
    let modulus = |i: usize| all.training[i].model.materials()[0].material.hydroelastic_modulus;
    assert!((0..5).all(|i| (5e3..=5e4).contains(&modulus(i))) && modulus(0) != modulus(1));
    // More members leave the first ones as they are.
    let (_other, more) = loaded(&PROBLEM.replace("members = 5", "members = 7"));
    assert_eq!(mass(&ensemble(&more).training[4].model), mass(&all.training[4].model));
    assert_eq!(ensemble(&more).training[4].controllers, all.training[4].controllers);
    assert_ne!(all.training[0].controllers[0].noise, all.training[1].controllers[0].noise);
}

#[test]
fn an_ensembles_gradient_is_the_mean_of_its_members_to_the_last_bit_on_any_number_of_threads() {
    let (_folder, file) = loaded(PROBLEM);
    let all = ensemble(&file);
    let problem = all.problem();
    let x = start(all);
    let (cost, gradient) = problem.cost_and_gradient_at(&x).expect("a gradient");
    let mut mean = vec![0.0; x.len()];
    let mut sum = 0.0;
    for member in 0..5 {
        let (cost, by) = problem.member_gradient(&x, member).expect("a gradient");
        sum += cost;
        mean.iter_mut().zip(by).for_each(|(mean, by)| *mean += by);
    }
    mean.iter_mut().for_each(|x| *x /= 5.0);
    assert_eq!((cost, &gradient), (sum / 5.0, &mean));
    for threads in [1, 2, 5] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        assert_eq!(
            pool.install(|| problem.cost_and_gradient_at(&x)).expect("a gradient"),
            (cost, gradient.clone())
        );
    }
    // The cost alone is the same, and its differences are the gradient.
    let value = |x: Vec<f64>| problem.cost_at(&x).expect("a cost");
    assert!((value(x.clone()) - cost).abs() < 1e-12 * cost);
    for i in 0..x.len() {
        let moved = |h: f64| {
            let mut x = x.clone();
            x[i] += h;
            value(x)
        };
        let slope = |h: f64| (moved(h) - moved(-h)) / (2.0 * h);
        let difference = (4.0 * slope(1e-4) - slope(2e-4)) / 3.0;
        let size = gradient.iter().fold(0.0_f64, |m, g| m.max(g.abs()));
        assert!((difference - gradient[i]).abs() < 1e-6 * size, "{i}: {difference} {}", gradient[i]);
    }
}

#[test]
fn other_risks_have_the_gradients_of_their_differences() {
    let (_folder, mut file) = loaded(PROBLEM);
    for risk in [Risk::Worst, Risk::ConditionalValue(0.5), Risk::SmoothWorst(0.1)] {
        let all = file.ensemble.as_mut().expect("an ensemble");
        all.task.risk = risk;
        let (problem, x) = (all.problem(), start(all));
        let (cost, gradient) = problem.cost_and_gradient_at(&x).expect("a gradient");
        let solved: &dyn OptimizedProblem = &problem;
        assert_eq!(solved.gradient(&x).unwrap(), gradient);
        assert!((problem.cost_at(&x).unwrap() - cost).abs() < 1e-12 * cost);
        let moved = |h: f64| {
            let x: Vec<f64> = x.iter().enumerate().map(|(i, x)| x + h * (1.3 * i as f64).cos()).collect();
            problem.cost_at(&x).expect("a cost")
        };
        let slope = |h: f64| (moved(h) - moved(-h)) / (2.0 * h);
        let difference = (4.0 * slope(1e-4) - slope(2e-4)) / 3.0;
        let along: f64 = gradient.iter().enumerate().map(|(i, g)| g * (1.3 * i as f64).cos()).sum();
        assert!((difference - along).abs() < 1e-6 * along.abs(), "{risk:?}: {difference} {along}");
    }
}

#[test]
fn training_helps_members_that_were_not_trained_on() {
    let (_folder, file) = loaded(PROBLEM);
    let all = ensemble(&file);
    let settings =
        TrajectorySettings { method: TrajectoryMethod::Lbfgs, max_iterations: 6, ..Default::default() };
    let found = optimize_trajectory(&all.problem(), &all.start, &settings, None, None).expect("an optimum");
    let mean = |problem: &EnsembleProblem<'_, ControlLaw, _>, x: &[f64]| {
        problem.member_costs(x).into_iter().map(|cost| cost.expect("a cost")).sum::<f64>()
    };
    let x = all.task.variables.from_values(&all.start);
    let before = mean(&all.test_problem(), &x);
    let after = mean(&all.test_problem(), &found.variables);
    assert!(after < 0.7 * before, "{after} of {before}");
    let bounds = all.task.variables.bounds();
    assert!(found.variables.iter().zip(bounds.0.iter().zip(bounds.1)).all(|(x, (l, h))| l <= x && x <= h));
}

#[test]
fn the_smoothed_cost_of_an_ensemble_has_the_gradient_of_its_differences_and_is_lowered() {
    let optimizer = "[optimizer]\nmax_iterations = 3\nsmoothing = { deviation = 0.2, pairs = 2, seed = 5 }\n";
    let (_folder, file) = loaded(&format!("{PROBLEM}{optimizer}").replace("members = 5", "members = 2"));
    let (problem, all) = (file.optimized().expect("a problem"), ensemble(&file));
    let smoothing = file.smoothing.expect("smoothed");
    // So near to a bound that half of the samples are beyond it, where the parameter stays at the bound.
    let mut x = start(all);
    let last = x.len() - 1;
    x[last] = all.task.variables.bounds().0[last] + 1e-3;
    let bounded = WithinBounds(&*problem);
    let SmoothingSettings { deviation, pairs, seed } = smoothing;
    let smoothed = RandomizedSmoothing::new(&bounded, x.len(), deviation, pairs, seed).expect("fits");
    let value = smoothed.evaluate(&x).expect("a value");
    for (i, by) in value.gradient.iter().enumerate() {
        let moved = |h: f64| {
            let mut x = x.clone();
            x[i] += h;
            smoothed.cost(&x).expect("a cost")
        };
        let slope = |h: f64| (moved(h) - moved(-h)) / (2.0 * h);
        let difference = (4.0 * slope(1e-4) - slope(2e-4)) / 3.0;
        assert!((difference - by).abs() < 1e-6 * by.abs().max(1e-3), "{i}: {difference} {by}");
    }
    let (found, _) = file.optimize(&all.start, Default::default(), None, None).expect("an optimum");
    let before = problem.cost_at(&all.task.variables.from_values(&all.start)).expect("a cost");
    assert!(found.cost < 0.9 * before && found.method == TrajectoryMethod::Lbfgs, "{found:?}");
    assert!(found.cost == problem.cost_at(&found.variables).expect("a cost"));
}

#[test]
fn the_policy_of_ilqr_gives_the_optimal_motion_and_is_optimal_after_a_push_where_the_problem_is_linear() {
    let scene = SCENE.split("[[controllers]]").next().expect("a scene").replace(
        "[[actuators]]",
        "[[bodies]]\nname = \"ball\"\ntranslation = [0, 0, 3]\nmass = 0.1\n[[bodies.geometries]]\nshape = { sphere = { radius = 0.05, resolution = 0.05 } }\nmaterial = \"foam\"\n[[actuators]]",
    );
    for interpolation in ["hold", "linear", "cubic"] {
        let folder = Folder::new("policy");
        folder.file("scene.toml", &scene);
        let problem = format!(
            "scene = 'scene.toml'\nuntil = 0.3\n[knots]\ncount = 6\ninterpolation = '{interpolation}'\n\
             [[controls]]\nactuator = 'motor'\nlower = -500\nupper = 500\nstart = 2.0\n\
             [[costs]]\njoint_position = {{ joint = 'slide' }}\ntarget = 0.05\nweight = 30\n\
             [[costs]]\njoint_velocity = {{ joint = 'slide' }}\nweight = 10\nwhen = 'end'\n\
             [[costs]]\ncontrol = 'motor'\nweight = 0.1\n[optimizer]\nkind = 'ilqr'\nmax_iterations = 30\n"
        );
        let path = folder.file("problem.toml", problem);
        let file = ProblemFile::load(&path).expect("a problem");
        let problem = file.problem().expect("a problem");
        let found = file.optimize(&file.start, Default::default(), None, None).expect("an optimum").0;
        let policy = problem.policy(&found.variables).expect("a policy");
        let controllers = [SampledController::new(ControlLaw::KnotFeedback(policy), 1)];
        let follow = |initial: &State| {
            let rollout = Rollout::new(&file.scene.model, initial, file.simulation, file.until);
            ClosedLoop::new(rollout, &controllers, &[]).simulate().expect("a motion")
        };
        let (motion, controls) = follow(&file.scene.state);
        let nominal = problem.trajectory(&found.variables).expect("a motion");
        for (followed, nominal) in motion.states.iter().zip(&nominal.states) {
            let off = nominal.difference(followed);
            assert!(off.iter().all(|x| x.abs() < 1e-9), "{interpolation}: {off:?}");
        }
        let commands = problem.controls(&found.variables).expect("commands");
        assert!(controls.values().iter().zip(commands.values()).all(|(a, b)| (a - b).abs() < 1e-9));
        // After a push at the start, far from the wall, the policy is as good as the optimum from there.
        let mut pushed = file.scene.state.clone();
        pushed.joints.v[0] -= 0.05;
        pushed.joints.q[0] -= 0.02;
        let cost = |states: &[State], controls: &Controls| {
            let (loss, dt) = (HalfSquares(&file.objective), file.simulation.time_step);
            let model = &file.scene.model;
            let contacts = Default::default();
            let moment = |step: usize| Moment {
                step,
                time: step as f64 * dt,
                dt,
                model,
                state: &states[step],
                control: controls.row(step),
                contacts: &contacts,
                step_end: None,
            };
            let end = Moment {
                step: controls.steps(),
                time: file.until,
                dt: 0.0,
                model,
                state: &states[controls.steps()],
                control: &[],
                contacts: &contacts,
                step_end: None,
            };
            (0..controls.steps()).map(|step| loss.running(&moment(step))).sum::<f64>() + loss.terminal(&end)
        };
        let (closed, controls) = follow(&pushed);
        let closed = cost(&closed.states, &controls);
        let mut again = ProblemFile::load(&path).expect("a problem");
        again.scene.state = pushed;
        let problem = again.problem().expect("a problem");
        let best = again.optimize(&found.values, Default::default(), None, None).expect("an optimum").0.cost;
        let kept = problem.cost(&found.variables).expect("a cost");
        assert!(
            (closed - best).abs() < 1e-6 * best && best < 0.9 * kept,
            "{interpolation}: {closed} {best} {kept}"
        );
    }
}
