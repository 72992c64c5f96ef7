//! Constraints of trajectory optimizations: solutions that are known, and what is kept of a run.

use std::sync::{Arc, Mutex};

use crate::folder::Folder;
use argmin::core::Error;
use isobar::io::ProblemFile;
use isobar::optimize::checkpoint::{CheckpointStore, ProblemCheckpoints};
use isobar::optimize::trajectory::{
    ConstrainedSettings, ConstraintRound, TrajectoryOptimum, optimize_constrained_trajectory,
};

/// A cart of 2 kg that a force pushes along x, in 20 steps of 50 ms.
const CART: &str = r#"
gravity = [0, 0, 0]
[solver]
kind = "lagged"
time_step = 0.05
[[bodies]]
name = "cart"
mass = 2.0
inertia = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
joint = { name = "slide", type = "prismatic", axis = [1, 0, 0] }
[[actuators]]
name = "push"
joints = ["slide"]
drive = "force"
"#;
const MASS: f64 = 2.0;
const DT: f64 = 0.05;
const STEPS: usize = 20;

fn problem(rest: &str) -> String {
    let times: Vec<String> = (0..STEPS).map(|k| format!("{:?}", DT * k as f64)).collect();
    format!(
        "scene = \"scene.toml\"\nuntil = 1.0\nknots = {{ times = [{}] }}\n[[controls]]\nactuator = \"push\"\n\
         start = 0.1\n{rest}",
        times.join(", ")
    )
}

fn loaded(folder: &Folder, scene: &str, problem: &str) -> ProblemFile {
    folder.file("scene.toml", scene);
    ProblemFile::load(folder.file("problem.toml", problem)).expect("a problem")
}

fn optimized(file: &ProblemFile) -> (TrajectoryOptimum, Vec<ConstraintRound>) {
    file.optimize(&file.start, Default::default(), None, None).expect("optimized")
}

const EFFORT: &str = "[[costs]]\ncontrol = \"push\"\nweight = 1.0\n";

/// The least effort to go a way and stop is the solution of linear equations, with their multipliers.
#[test]
fn the_least_effort_to_go_a_way_and_stop() {
    let rest = format!(
        "{EFFORT}[[constraints]]\nname = \"there\"\njoint_position = {{ joint = \"slide\" }}\nequal = 0.3\nwhen = \"end\"\ntolerance = 1e-9\n\
         [[constraints]]\njoint_velocity = {{ joint = \"slide\" }}\nequal = 0.0\nwhen = \"end\"\ntolerance = 1e-9\n\
         [optimizer]\nkind = \"METHOD\"\ncost_tolerance = 1e-14\n"
    );
    // q and v at the end by the forces; u = Aᵀ (A Aᵀ)⁻¹ b.
    let a: Vec<[f64; 2]> = (0..STEPS).map(|k| [DT * DT / MASS * (STEPS - k) as f64, DT / MASS]).collect();
    let product = |i: usize, j: usize| a.iter().map(|a| a[i] * a[j]).sum::<f64>();
    let m = nalgebra::Matrix2::new(product(0, 0), product(0, 1), product(1, 0), product(1, 1));
    let y = m.try_inverse().expect("regular") * nalgebra::Vector2::new(0.3, 0.0);
    for method in ["lbfgs", "ilqr", "levenberg_marquardt"] {
        let folder = Folder::new("cart");
        let file = loaded(&folder, CART, &problem(&rest.replace("METHOD", method)));
        assert_eq!(file.constraint_names, ["there", "joint velocity of slide"]);
        let (optimum, rounds) = optimized(&file);
        assert!(optimum.converged, "{method}: {}", optimum.termination);
        let last = rounds.last().expect("a round");
        for (k, found) in optimum.values.iter().enumerate() {
            let expected = a[k][0] * y[0] + a[k][1] * y[1];
            assert!((found - expected).abs() < 1e-5, "{method}, step {k}: {found} {expected}");
        }
        for (state, y) in last.constraints.iter().zip(y.iter()) {
            assert!(state.violation <= 1e-9, "{method}: {state:?}");
            let expected = DT * y.abs();
            assert!((state.multiplier - expected).abs() < 1e-4 * expected, "{method}: {state:?} {expected}");
        }
        assert!(last.stationarity < 1e-6, "{method}: {}", last.stationarity);
        let expected = 0.5 * DT * (y.transpose() * m * y)[0];
        assert!((optimum.cost - expected).abs() < 1e-7 * expected, "{method}: {} {expected}", optimum.cost);
    }
}

/// Where a bound holds a command back, its multiplier is what the cost would gain; where it does not, nothing.
#[test]
fn a_bound_that_holds_and_one_that_does_not() {
    let rest = "[[costs]]\ncontrol = \"push\"\ntarget = 2.0\nweight = 1.0\n\
                [[constraints]]\ncontrol = \"push\"\nupper = 1.5\ntolerance = 1e-8\n\
                [[constraints]]\ncontrol = \"push\"\nlower = -4\ntolerance = 1e-8\n\
                [optimizer]\nkind = \"lbfgs\"\ncost_tolerance = 1e-15\n";
    let folder = Folder::new("bounds");
    let (optimum, rounds) = optimized(&loaded(&folder, CART, &problem(rest)));
    assert!(optimum.converged, "{}", optimum.termination);
    assert!(optimum.values.iter().all(|u| (u - 1.5).abs() < 1e-7), "{:?}", optimum.values);
    let [upper, lower] = rounds.last().expect("a round").constraints[..] else { panic!("two constraints") };
    assert!((upper.multiplier - 0.5 * DT).abs() < 1e-6, "{upper:?}");
    assert_eq!((lower.multiplier, lower.violation), (0.0, 0.0));
}

/// A limit of speed all along the way: the motion satisfies the conditions of Karush, Kuhn and Tucker, which is
/// enough where the problem is convex.
#[test]
fn a_limit_of_speed_on_the_way() {
    let rest = format!(
        "{EFFORT}[[constraints]]\nposition = {{ body = \"cart\" }}\nlower = [0.3, -1, -1]\nupper = [0.3, 1, 1]\nwhen = \"end\"\ntolerance = 1e-7\n\
         [[constraints]]\nvelocity = {{ body = \"cart\" }}\nlength = 0.35\ntolerance = 1e-7\n\
         [optimizer]\nkind = \"ilqr\"\ncost_tolerance = 1e-13\nmax_rounds = 40\n"
    );
    let folder = Folder::new("speed");
    let file = loaded(&folder, CART, &problem(&rest));
    let (optimum, rounds) = optimized(&file);
    assert!(optimum.converged, "{}", optimum.termination);
    let last = rounds.last().expect("a round");
    assert!(last.stationarity < 1e-6, "{last:?}");
    assert!(last.constraints.iter().all(|state| state.infeasibility <= 1e-7 && state.multiplier > 0.0));
    let problem = file.problem().expect("a problem");
    let states = problem.trajectory(&optimum.variables).expect("simulated").states;
    let speeds: Vec<f64> = states.iter().map(|state| state.joints.v[0]).collect();
    assert!(speeds.iter().all(|v| *v <= 0.35 + 1e-7), "{speeds:?}");
    assert!(speeds.iter().filter(|v| **v > 0.35 - 1e-6).count() >= 3, "{speeds:?}");
    assert!((states[STEPS].joints.q[0] - 0.3).abs() <= 1e-7);
}

/// Two pads that squeeze a ball: they would close much farther, but may not press with more than 4 N.
#[test]
fn a_grasp_with_a_limit_of_force() {
    let pad = |name: &str, x: f64, axis: f64| {
        format!(
            "[[bodies]]\nname = \"{name}\"\nmass = 0.2\n\
             joint = {{ type = \"prismatic\", axis = [{axis}, 0, 0], translation = [{x}, 0, 0], damping = 20 }}\n\
             [[bodies.geometries]]\nshape = {{ box = {{ size = [0.02, 0.04, 0.04] }} }}\nmaterial = \"foam\"\n"
        )
    };
    let scene = format!(
        "gravity = [0, 0, 0]\n[solver]\nkind = \"lagged\"\ntime_step = 5e-3\n\
         [materials.foam]\nhydroelastic_modulus = 5e4\ndissipation = 5.0\nfriction = 0.5\n\
         {}{}[[bodies]]\nname = \"ball\"\nmass = 0.1\n[[bodies.geometries]]\n\
         shape = {{ sphere = {{ radius = 0.03, resolution = 0.03 }} }}\nmaterial = \"foam\"\n\
         [[actuators]]\nname = \"close\"\njoints = [\"left\", \"right\"]\n\
         drive = {{ position = {{ stiffness = 2e3, damping = 20.0 }} }}\ncommand = 0.001\n",
        pad("left", -0.04, 1.0),
        pad("right", 0.04, -1.0),
    );
    let problem = |constraint: &str| {
        format!(
            "scene = \"scene.toml\"\nuntil = 0.1\nknots = {{ count = 4, interpolation = \"linear\" }}\n\
             [[controls]]\nactuator = \"close\"\nlower = 0\nupper = 0.02\nscale = 1e-2\n\
             [[costs]]\njoint_position = {{ joint = \"left\" }}\ntarget = 0.01\nweight = 1e3\n{constraint}\
             [optimizer]\nkind = \"lbfgs\"\ncost_tolerance = 1e-7\n"
        )
    };
    let folder = Folder::new("grasp");
    let free = loaded(&folder, &scene, &problem(""));
    let (without, rounds) = optimized(&free);
    assert!(rounds.is_empty());
    let limit = "[[constraints]]\ncontact_force = { on = \"ball\", from = \"left\" }\nlength = 4.0\ntolerance = 0.04\n";
    let file = loaded(&folder, &scene, &problem(limit));
    let (optimum, rounds) = optimized(&file);
    let last = rounds.last().expect("a round");
    assert!(
        !matches!(optimum.ending, isobar::optimize::termination::Termination::Infeasible { .. }),
        "{}",
        optimum.termination
    );
    assert!(last.constraints[0].violation <= 0.04 && last.constraints[0].multiplier > 0.0, "{last:?}");
    let forces = |file: &ProblemFile, x: &[f64]| {
        let problem = file.problem().expect("a problem");
        let model = &file.scene.model;
        let [ball, left] = ["ball", "left"].map(|name| model.body_index(name).expect("a body"));
        let states = problem.trajectory(x).expect("simulated").states;
        let mut workspace = isobar::multibody::SensorWorkspace::default();
        let force = |state| model.contact_wrench(state, ball, left, &mut workspace).translational.norm();
        states.iter().map(force).fold(0.0_f64, f64::max)
    };
    assert!(forces(&free, &without.variables) > 6.0, "{}", forces(&free, &without.variables));
    let largest = forces(&file, &optimum.variables);
    assert!((3.8..=4.041).contains(&largest), "{largest}");
    assert!(optimum.cost > without.cost);
}

#[derive(Debug, Default)]
struct Memory(Mutex<Option<String>>);

impl CheckpointStore for Memory {
    fn load(&self) -> Result<Option<String>, Error> {
        Ok(self.0.lock().expect("not poisoned").clone())
    }

    fn save(&self, text: &str) -> Result<(), Error> {
        *self.0.lock().expect("not poisoned") = Some(text.to_owned());
        Ok(())
    }
}

#[test]
fn a_run_goes_on_from_the_last_round_to_the_same_bits() {
    let rest = format!(
        "{EFFORT}[[constraints]]\njoint_position = {{ joint = \"slide\" }}\nequal = 0.3\nwhen = \"end\"\ntolerance = 1e-9\n\
         [optimizer]\nkind = \"lbfgs\"\ncost_tolerance = 1e-12\n"
    );
    let folder = Folder::new("resumed");
    let file = loaded(&folder, CART, &problem(&rest));
    let settings = |max_rounds| ConstrainedSettings { trajectory: file.settings, max_rounds };
    let run = |max_rounds, store: Option<&Arc<Memory>>, name: &str| {
        let checkpoints =
            store.map(|store| ProblemCheckpoints { store: store.clone(), problem: name.to_owned() });
        let problem = file.problem().expect("a problem");
        optimize_constrained_trajectory(
            &problem,
            &file.constraints,
            &file.start,
            &settings(max_rounds),
            checkpoints.as_ref(),
            None,
        )
    };
    let (whole, rounds) = run(20, None, "").expect("optimized");
    assert!(whole.converged && rounds.len() > 2, "{} {}", whole.termination, rounds.len());
    let store = Arc::new(Memory::default());
    let (part, _) = run(2, Some(&store), "it").expect("optimized");
    assert!(part.termination.contains("infeasible: after 2 rounds"), "{}", part.termination);
    // Also one that has ended.
    for _ in 0..2 {
        let (resumed, all) = run(20, Some(&store), "it").expect("optimized");
        assert_eq!((&resumed.variables, &all), (&whole.variables, &rounds));
        assert_eq!((resumed.iterations, resumed.cost), (whole.iterations, whole.cost));
        assert_eq!((resumed.evaluations, &resumed.history), (whole.evaluations, &whole.history));
    }
    let other = run(20, Some(&store), "other").expect_err("another problem").to_string();
    assert!(other.contains("problem") && other.contains("`it`") && other.contains("`other`"), "{other}");
    let problem = file.problem().expect("a problem");
    let again =
        optimize_constrained_trajectory(&problem, &file.constraints, &file.start, &settings(20), None, None);
    assert_eq!(again.expect("optimized").0.variables, whole.variables);
}

/// Two constraints that contradict each other: rounds end before penalties overflow, whatever their number may be.
#[test]
fn constraints_that_cannot_hold_end_infeasible() {
    let at = |place: f64| {
        format!(
            "[[constraints]]\njoint_position = {{ joint = \"slide\" }}\nequal = {place}\nwhen = \"end\"\n"
        )
    };
    let rest = format!("{EFFORT}{}{}[optimizer]\nmax_rounds = {}\n", at(0.1), at(0.2), i64::MAX);
    let folder = Folder::new("contradiction");
    let (optimum, rounds) = optimized(&loaded(&folder, CART, &problem(&rest)));
    assert!(optimum.termination.contains("infeasible"), "{}", optimum.termination);
    assert!(rounds.len() <= 20, "{}", rounds.len());
}
