//! The gripper WSG 50 with bubbles on its fingers lifts a plate by its rim: with constant forces, with the start of the
//! problem, which loses it, and with the force over time that the optimization finds. `docs/bubble_gripper.md` tells
//! what comes out. It needs the models in `../shared/data`.
//!
//! ```text
//! cargo run --release --example bubble_gripper
//! cargo run --release --example bubble_gripper -- docs/bubble_gripper.png
//! ```

#[path = "../support/film.rs"]
mod film;

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use film::Look;
use isobar::io::ProblemFile;
use isobar::optimize::randomized_smoothing::SharedCost;
use isobar::rollout::Trajectory;

/// When the gripper begins to lift, s.
const LIFT: f64 = 0.6;
/// What a lift must reach, and how far the plate may slip down in the grip, m.
const RISE: f64 = 0.1;
const SLIP: f64 = 5e-3;

/// How the film looks.
const LOOK: Look = Look {
    scale: 600.0,
    view: [-0.13, 0.15, -0.04, 0.47],
    eye: [0.6, 0.2],
    table: [0.11, 0.13],
    colour: |name, _| match name {
        "plate" => [235.0, 225.0, 205.0],
        "table" => [200.0, 200.0, 200.0],
        "bar" => [150.0, 110.0, 80.0],
        _ => [60.0, 130.0, 190.0],
    },
    drawn: &[
        ("gripper", [0.0, 0.0, -0.036], [0.025, 0.073, 0.036]),
        ("left_finger_bubble", [0.0, -0.036, -0.09], [0.03, 0.004, 0.09]),
        ("right_finger_bubble", [0.0, 0.036, -0.09], [0.03, 0.004, 0.09]),
    ],
};

/// What becomes of the plate.
struct Lift {
    trajectory: Trajectory,
    /// How far it rises from when the gripper begins to lift to the end, m.
    rise: f64,
    /// The farthest that it slips down in the grip at any time after that, m.
    slip: f64,
    /// The force on each finger while it is lifted, and over all of the motion, their means, N.
    squeeze: [f64; 2],
    cost: f64,
}

impl Lift {
    /// The motion with these forces at the knots.
    fn new(file: &ProblemFile, values: &[f64]) -> Result<Self, Box<dyn Error>> {
        let problem = file.problem()?;
        let x = problem.variables(values)?;
        let (controls, trajectory) = (problem.controls(&x)?, problem.trajectory(&x)?);
        let model = &file.scene.model;
        let body = |name: &str| model.body_index(name).ok_or(format!("there is no body `{name}`"));
        let (plate, gripper) = (body("plate")?, body("gripper")?);
        let squeeze =
            model.actuators().iter().position(|a| a.name == "squeeze").ok_or("no actuator `squeeze`")?;
        let mut frames = Vec::new();
        let mut heights = |state| {
            model.body_frames(state, &mut frames);
            [plate, gripper].map(|body| frames[body].pose.translation.z)
        };
        let heights: Vec<[f64; 2]> = trajectory.states.iter().map(&mut heights).collect();
        let begun = trajectory.times.partition_point(|time| *time < LIFT - 1e-9);
        let [first, last] = [heights[begun], heights[heights.len() - 1]];
        let below = |h: &[f64; 2]| (first[0] - first[1]) - (h[0] - h[1]);
        let slip = heights[begun..].iter().map(below).fold(0.0, f64::max);
        let forces: Vec<f64> = (0..trajectory.times.len() - 1).map(|i| controls.row(i)[squeeze]).collect();
        let mean = |forces: &[f64]| forces.iter().sum::<f64>() / forces.len() as f64;
        let squeeze = [mean(&forces[begun..]), mean(&forces)];
        let cost = problem.cost_at(&x)?;
        Ok(Self { trajectory, rise: last[0] - first[0], slip, squeeze, cost })
    }

    fn row(&self, name: &str) {
        let Self { rise, slip, squeeze: [lifting, all], cost, .. } = self;
        let holds = if *rise >= RISE && *slip < SLIP { "yes" } else { "no" };
        println!(
            "| {name} | {holds} | {:.1} | {:.1} | {lifting:.2} | {all:.2} | {cost:.4} |",
            1e3 * rise,
            1e3 * slip
        );
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/bubble_gripper");
    let file = ProblemFile::load(folder.join("problem.toml"))?;
    println!(
        "| | holds | rise (mm) | slip (mm) | mean force while lifting (N) | mean force (N) | cost |\n|---|---|---|---|---|---|---|"
    );
    for force in [2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 8.0, 12.0] {
        Lift::new(&file, &vec![force; file.start.len()])?.row(&format!("{force} N"));
    }
    Lift::new(&file, &file.start)?.row("start");
    let clock = Instant::now();
    let (optimum, _) = file.optimize(&file.start, Default::default(), None, None)?;
    let seconds = clock.elapsed().as_secs_f64();
    let lift = Lift::new(&file, &optimum.values)?;
    lift.row("optimized");
    println!(
        "\n{} iterations, {} rollouts, {} gradients, {} linearizations, {seconds:.0} s ({})\nforces: {:.2?}",
        optimum.iterations,
        optimum.evaluations.rollouts,
        optimum.evaluations.gradients,
        optimum.evaluations.jacobians,
        optimum.termination,
        optimum.values
    );
    if let Some(path) = std::env::args().nth(1) {
        std::fs::write(path, film::played(&file.scene.model, &lift.trajectory, 1.5, &LOOK)?)?;
    }
    Ok(())
}
