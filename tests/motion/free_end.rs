//! The end of motions as a variable: gradients of the cost with respect to it and to all else, and an optimum in closed form.

use crate::folder::Folder;
use crate::press::PRESS;
use isobar::io::ProblemFile;
use isobar::optimize::ensemble::{FreeEnd, KnotVariables, SharedVariables};
use isobar::optimize::randomized_smoothing::SharedCost;
use isobar::optimize::trajectory::{ControlRange, OptimizedProblem, TrajectorySettings, optimize_trajectory};
use isobar::rollout::{ControlKnots, KnotInterpolation, SimulationSettings};
use isobar::step::{Integrator, SolverTolerance, VelocityLevel};

/// A ball that is pressed against a wall, with costs of states, commands and forces while it moves and where it ends.
const COSTS: &str = r#"
[[costs]]
position = { body = "ball" }
target = [0.01, 0.02, -0.01]
weight = 30
when = "end"
[[costs]]
orientation = { body = "ball", rpy = [0, 0, 0] }
weight = 1
when = "end"
[[costs]]
contact_force = { on = "ball", from = "pad" }
target = { times = [0, 0.04], values = [[0, 0, 0], [-4, 0, 0]] }
weight = 2
[[costs]]
control = "press"
weight = 0.1
"#;

const CONTROLLER: &str = r#"
[[controllers]]
name = "place"
period = 0.006
delay = 0.004
law = { pid = { actuators = ["press"], joint = { joint = "pad" }, proportional = 40.0, derivative = 3.0, target = [0.01] } }
"#;

fn problem(folder: &Folder, interpolation: &str) -> ProblemFile {
    folder.file("scene.toml", format!("{PRESS}{CONTROLLER}"));
    let text = format!(
        "scene = \"scene.toml\"\nuntil = 0.03\nend_time = {{ lower = 0.01, upper = 0.06, scale = 0.01, weight = 40 }}\n\
         knots = {{ count = 4, interpolation = \"{interpolation}\" }}\n\
         [[controls]]\nactuator = \"press\"\nlower = 0\nupper = 20\nstart = [3.0, 5.0, 4.0, 6.0]\n\
         [[controller_parameters]]\nname = \"controllers.place.proportional\"\nlower = 0\nupper = 100\n\
         [[model_parameters]]\nname = \"materials.foam.hydroelastic_modulus\"\nlower = 1e4\nupper = 1e6\nlog = true\n{COSTS}"
    );
    ProblemFile::load(folder.file("problem.toml", text)).expect("a problem")
}

fn tightly(settings: &mut SimulationSettings) {
    if let Integrator::VelocityLevel(VelocityLevel { tolerance, .. }) = &mut settings.integrator {
        *tolerance = SolverTolerance { relative: 1e-14, max_iterations: 200 };
    }
}

/// In the middle of a step, close to its start and to its end, and with knots that do not meet steps.
#[test]
fn the_gradient_is_that_of_differences() {
    let folder = Folder::new("free-end");
    for interpolation in ["linear", "cubic"] {
        let mut file = problem(&folder, interpolation);
        let all = file.ensemble.as_mut().expect("an ensemble");
        tightly(&mut all.task.settings);
        let problem = all.problem();
        let variables = &all.task.variables;
        for end in [0.0311, 0.04002, 0.0238999, 0.012] {
            let mut values = all.start.clone();
            *values.last_mut().expect("an end") = end;
            let x = variables.from_values(&values);
            let (cost, gradient) = problem.cost_and_gradient_at(&x).expect("a gradient");
            let alone = problem.cost_at(&x).expect("a cost");
            assert!((cost - alone).abs() < 1e-12 * alone, "{cost} {alone}");
            let size = gradient.iter().fold(0.0_f64, |m, g| m.max(g.abs()));
            for (k, claimed) in gradient.iter().enumerate() {
                let at = |h: f64| {
                    let mut x = x.clone();
                    x[k] += h;
                    problem.cost_at(&x).expect("simulates")
                };
                // At the end of a step the derivative is that of a shorter motion.
                let is_at_step = k + 1 == x.len() && end == 0.012;
                let h = 1e-6 * x[k].abs().max(1.0);
                let difference = match is_at_step {
                    true => (3.0 * at(0.0) - 4.0 * at(-h) + at(-2.0 * h)) / (2.0 * h),
                    false => (8.0 * (at(h) - at(-h)) - (at(2.0 * h) - at(-2.0 * h))) / (12.0 * h),
                };
                let error = (claimed - difference).abs() / claimed.abs().max(1e-3 * size);
                assert!(error < 1e-5, "{interpolation}, {end} s, variable {k}: {claimed} {difference}");
            }
            assert!(gradient.last().expect("an end").abs() > 1e-3 * size, "{gradient:?}");
        }
    }
}

#[test]
fn the_cost_is_continuous_where_a_step_begins() {
    let folder = Folder::new("free-end-continuous");
    let file = problem(&folder, "linear");
    let all = file.ensemble.as_ref().expect("an ensemble");
    let cost = |end: f64| {
        let mut values = all.start.clone();
        *values.last_mut().expect("an end") = end;
        all.problem().cost_at(&all.task.variables.from_values(&values)).expect("a cost")
    };
    for steps in [6.0, 17.0, 29.0] {
        let (at, before, after) =
            (cost(2e-3 * steps), cost(2e-3 * steps - 1e-11), cost(2e-3 * steps + 1e-11));
        assert!((before - at).abs() < 1e-6 * at && (after - at).abs() < 1e-6 * at, "{before} {at} {after}");
    }
}

/// A cart that a constant force u takes from rest over d: ½ ∫ u² dt + λ T with u = 2 m d/T² is least where
/// T⁴ = 6 m² d²/λ. Steps of δt have δt/T more of the way.
#[test]
fn a_cart_takes_the_time_that_is_best() {
    let folder = Folder::new("free-end-cart");
    folder.file(
        "scene.toml",
        "gravity = [0, 0, 0]\n[solver]\nkind = \"lagged\"\ntime_step = 1e-3\n[[bodies]]\nname = \"cart\"\nmass = 2.0\n\
         inertia = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]\n\
         joint = { name = \"slide\", type = \"prismatic\", axis = [1, 0, 0] }\n\
         [[actuators]]\nname = \"push\"\njoints = [\"slide\"]\ndrive = \"force\"\n",
    );
    let (mass, way, price) = (2.0_f64, 0.3_f64, 4.0_f64);
    let text = format!(
        "scene = \"scene.toml\"\nuntil = 0.5\nend_time = {{ lower = 0.1, upper = 3, weight = {price} }}\n\
         knots = {{ count = 1 }}\n[[controls]]\nactuator = \"push\"\nlower = 0\nupper = 20\nstart = 1.0\n\
         [[costs]]\ncontrol = \"push\"\nweight = 1.0\n\
         [[costs]]\njoint_position = {{ joint = \"slide\" }}\ntarget = {way}\nweight = 3000.0\nwhen = \"end\"\n"
    );
    let file = ProblemFile::load(folder.file("problem.toml", text)).expect("a problem");
    let all = file.ensemble.as_ref().expect("an end that is free");
    let settings = TrajectorySettings { cost_tolerance: Some(1e-12), max_iterations: 500, ..file.settings };
    let found = optimize_trajectory(&all.problem(), &all.start, &settings, None, None).expect("optimized");
    let [force, end] = found.values[..] else { panic!("two variables") };
    let best = (6.0 * mass * mass * way * way / price).powf(0.25);
    assert!((end - best).abs() < 2e-3 * best, "{end} s, {best} s: {}", found.termination);
    let of_best = 2.0 * mass * way / (best * best);
    assert!((force - of_best).abs() < 4e-3 * of_best, "{force} N, {of_best} N");
    // The motion ends there, where it was to be.
    let motion = all.problem().motion_of(0, &found.variables).expect("simulated").trajectory;
    assert_eq!(motion.times.last(), Some(&end));
    let reached = motion.states.last().expect("a state").joints.q[0];
    assert!((reached - way).abs() < 1e-4, "{reached}");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let range = ControlRange::new(0.1, 2.0);
    let refused = |end: FreeEnd, knots: Option<KnotVariables>| {
        SharedVariables::new(knots, Vec::new(), Vec::new(), Some(end)).expect_err("refused").to_string()
    };
    let free = |range, weight| FreeEnd { range, weight, knots: None };
    assert!(refused(free(ControlRange::new(0.0, 1.0), 0.0), None).contains("must be positive and finite"));
    let endless = ControlRange::new(0.5, f64::INFINITY);
    assert!(refused(free(endless, 0.0), None).contains("0.5 and inf"));
    assert!(refused(free(range, -1.0), None).contains("its weight is -1"));
    let knots = ControlKnots::uniform(KnotInterpolation::ZeroOrderHold, 3, 1.0).expect("knots");
    let times = SimulationSettings::default().step_times(1.0).expect("times");
    let optimized = vec![(0, ControlRange::new(0.0, 1.0))];
    let of_map = KnotVariables { map: knots.map(1, &times).expect("a map"), optimized };
    assert!(refused(free(range, 0.0), Some(of_map.clone())).contains("knots of the commands are missing"));
    let held = FreeEnd { range, weight: 0.0, knots: Some((knots, 1.0)) };
    assert!(refused(held, Some(of_map)).contains("must be linear or cubic"));
}
