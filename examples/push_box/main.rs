//! Feedback gains of a pusher, optimized so that a box ends at a target pose.
//!
//! `cargo run --release --example push_box -- docs` prints the result and draws
//! `docs/push_box.svg`.

mod law;
mod picture;

use std::time::Instant;

use isobar::io::Scene;
use isobar::multibody::tree::JointKind;
use isobar::optimize::objective::{CostTerm, Deviation, Objective, Quantity, Target, When};
use isobar::optimize::trajectory::{
    ControlRange, OptimizedProblem, TrajectoryMethod, TrajectoryProblem, TrajectorySettings, TrajectoryTask,
    optimize_trajectory,
};
use isobar::rollout::{ControlKnots, KnotInterpolation, Trajectory};
use isobar::spatial::Quaternion;
use law::{GAINS, PushLaw, SEEN, Task};
use nalgebra::Vector3;

type Failure = Box<dyn std::error::Error>;
type Problem<'a> = TrajectoryProblem<'a>;

const SCENE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/push_box/scene.toml");
/// The boxes stand this far apart, m, and so do their targets.
const APART: f64 = 1.0;
/// Length of the motion, s.
const UNTIL: f64 = 4.0;
/// What the joints of the pushers are damped with in the scene file, N s/m.
const DAMPING: f64 = 60.0;
/// Half the box and the radius of the pusher, m.
const REACH: f64 = 0.05 + 0.02;
/// The law at the start: go ahead while the target is ahead, and stay behind the middle.
const START: [f64; GAINS] = [1.2, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -4.0];

/// The boxes of a scene with their pushers, in order.
fn tasks(scene: &Scene) -> Vec<Task> {
    let joints = scene.model.mechanism().joints().iter().filter(|j| j.kind == JointKind::Planar);
    let task = |(body, joint): (usize, _)| Task { body, joint, target: [0.0, APART * body as f64, 0.0] };
    joints.map(|j| j.v.start).enumerate().map(task).collect()
}

/// The pose at the end, and at a small weight that of the whole time, the gains and the speed.
fn objective(scene: &Scene, tasks: &[Task]) -> Result<Objective, Failure> {
    let term = |quantity, target, weight, when| CostTerm {
        quantity,
        target: Target::constant(target),
        weight,
        deviation: Deviation::Both,
        when,
    };
    let mut terms = Vec::new();
    let bodies: Vec<usize> = scene.model.free_bodies().map(|(body, ..)| body).collect();
    for task in tasks {
        let body = bodies[task.body];
        let place = Vector3::new(task.target[0], task.target[1], 0.0);
        let position = Quantity::Position { body, relative_to: None };
        let target = Quaternion::identity();
        let orientation = Quantity::Orientation { body, relative_to: None, target };
        for (when, factor) in [(When::End, 1.0), (When::Running, 0.05)] {
            terms.push(term(position, place, Vector3::new(100.0, 100.0, 0.0) * factor, when));
            terms.push(term(orientation, Vector3::zeros(), Vector3::z() * (10.0 * factor), when));
        }
    }
    for index in 0..GAINS {
        let quantity = Quantity::Control { index };
        terms.push(term(quantity, Vector3::zeros(), Vector3::x() * 0.01, When::Running));
    }
    Ok(Objective::new(&scene.model, GAINS, terms)?)
}

/// The worst difference of a derivative with respect to a gain from central differences, relative to the
/// largest derivative.
fn gradient_error(problem: &Problem, gains: &[f64]) -> Result<f64, Failure> {
    let at = problem.variables(gains)?;
    let gradient = problem.gradient(&at)?;
    let size = gradient.iter().fold(0.0, |m: f64, g| m.max(g.abs()));
    let mut worst: f64 = 0.0;
    for (i, g) in gradient.iter().enumerate() {
        let cost = |h: f64| {
            let mut x = at.clone();
            x[i] += h;
            problem.cost(&x)
        };
        // Fourth order: the motion bends strongly with the gains.
        let h = 2e-6;
        let near = cost(h)? - cost(-h)?;
        let far = cost(2.0 * h)? - cost(-2.0 * h)?;
        worst = worst.max((g - (8.0 * near - far) / (12.0 * h)).abs() / size);
    }
    Ok(worst)
}

/// How far the boxes are from their targets at the end: mm and degrees.
fn errors(tasks: &[Task], trajectory: &Trajectory) -> Vec<[f64; 2]> {
    let Some(end) = trajectory.states.last() else { return Vec::new() };
    let of = |task: &Task| {
        let [ahead, left, turned] = task.error(end);
        [1e3 * ahead.hypot(left), turned.abs().to_degrees()]
    };
    tasks.iter().map(of).collect()
}

fn report(name: &str, cost: f64, errors: &[[f64; 2]], gradient_error: f64) {
    let errors: Vec<String> =
        errors.iter().map(|[mm, degrees]| format!("{mm:.1} mm and {degrees:.1}°")).collect();
    println!("{name}: cost {cost:.3}, boxes off by {}", errors.join(", "));
    println!("  gradient against differences: worst relative error {gradient_error:.1e}");
}

fn main() -> Result<(), Failure> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| "docs".into());
    let scene = Scene::load(SCENE)?;
    let tasks = tasks(&scene);
    let objective = objective(&scene, &tasks)?;
    let applied = PushLaw { tasks: tasks.clone(), damping: DAMPING, reach: REACH };
    let task = TrajectoryTask {
        model: &scene.model,
        initial: &scene.state,
        settings: scene.simulation_settings()?,
        until: UNTIL,
        applied: &applied,
        residuals: &objective,
    };
    // One knot, held: control values that do not change are parameters of the law.
    let knots = ControlKnots::new(KnotInterpolation::ZeroOrderHold, vec![0.0])?;
    let ranges = [ControlRange { lower: -20.0, upper: 20.0, scale: 1.0 }; GAINS];
    let problem = Problem::new(task, &knots, &ranges)?;

    let before = problem.trajectory(&START)?;
    report("before", problem.cost(&START)?, &errors(&tasks, &before), gradient_error(&problem, &START)?);

    let optimizing = problem.separate();
    let settings = TrajectorySettings {
        method: TrajectoryMethod::LevenbergMarquardt,
        max_iterations: 40,
        cost_tolerance: Some(1e-3),
        initial_damping: None,
    };
    let clock = Instant::now();
    let optimum = optimize_trajectory(&optimizing, &START, &settings, None, None)?;
    let seconds = clock.elapsed().as_secs_f64();

    let after = problem.trajectory(&optimum.variables)?;
    report("after", optimum.cost, &errors(&tasks, &after), gradient_error(&problem, &optimum.values)?);
    let count = optimum.evaluations;
    println!(
        "{} iterations, {} rollouts and {} Jacobians of {} steps in {seconds:.1} s; {}",
        optimum.iterations,
        count.rollouts,
        count.jacobians,
        after.states.len() - 1,
        optimum.termination
    );
    println!("gains for the velocity ahead and to the left, by");
    for (i, name) in SEEN.iter().enumerate() {
        println!("  {name:36} {:8.3} {:8.3}", optimum.values[i], optimum.values[SEEN.len() + i]);
    }
    let path = format!("{folder}/push_box.svg");
    std::fs::write(&path, picture::svg(&tasks, [("before", &before), ("after", &after)]))?;
    println!("drawn in {path}");
    Ok(())
}
