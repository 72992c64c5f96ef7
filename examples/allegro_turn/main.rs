//! An Allegro hand turns a ball by 30° about the vertical with four fingertips: the joints' commands are optimized
//! from commands that hold the ball still. `docs/allegro_turn.md` tells what comes out. It needs the models in
//! `../shared/data`.
//!
//! ```text
//! cargo run --release --example allegro_turn
//! cargo run --release --example allegro_turn -- docs/allegro_turn.png
//! ```

#[path = "../support/film.rs"]
mod film;

use std::error::Error;
use std::time::Instant;

use film::{Block, View};
use isobar::io::ProblemFile;
use isobar::multibody::BodyFrame;
use isobar::optimize::checkpoint::NoStore;
use isobar::optimize::trajectory::{TrajectoryCheckpoints, optimize_trajectory};
use isobar::report::Recorder;
use isobar::rollout::Trajectory;
use nalgebra::{Matrix3, Vector3};

const VIEW: View = View { scale: 1100.0, window: [-0.10, 0.10, -0.03, 0.145], around: -0.9, above: 0.75 };

fn main() -> Result<(), Box<dyn Error>> {
    let file = ProblemFile::load(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/allegro_turn/problem.toml"))?;
    let problem = file.problem()?;
    let clock = Instant::now();
    let none = None::<TrajectoryCheckpoints<NoStore>>;
    let optimum = optimize_trajectory(&problem, &file.start, &file.settings, none, None)?;
    let seconds = clock.elapsed().as_secs_f64();
    let start_cost = optimum.history.first().map_or(f64::NAN, |h| h.cost);
    println!(
        "cost {start_cost:.4} -> {:.4} in {} iterations, {} rollouts and {} linearizations, {seconds:.1} s ({})",
        optimum.cost,
        optimum.iterations,
        optimum.evaluations.rollouts,
        optimum.evaluations.jacobians,
        optimum.termination
    );
    println!(
        "| | turned (°) | tilted (°) | off its place at the end, at most (mm) | largest torque (N m) |\n|---|---|---|---|---|"
    );
    println!("| start | {} |", figures(&file, &file.start)?);
    println!("| optimized | {} |", figures(&file, &optimum.values)?);
    match std::env::args().nth(1) {
        Some(path) => film_strip(&file, &optimum.values, &path),
        None => Ok(()),
    }
}

/// The figures of a motion, as columns of a table.
fn figures(file: &ProblemFile, values: &[f64]) -> Result<String, Box<dyn Error>> {
    let problem = file.problem()?;
    let x = problem.variables(values)?;
    let (controls, Trajectory { states, .. }) = (problem.controls(&x)?, problem.trajectory(&x)?);
    let model = &file.scene.model;
    let ball = model.body_index("ball").ok_or("there is no ball")?;
    let mut frames: Vec<BodyFrame> = Vec::new();
    let poses: Vec<(Matrix3<f64>, Vector3<f64>)> = states
        .iter()
        .map(|state| {
            model.body_frames(state, &mut frames);
            (frames[ball].pose.rotation, frames[ball].pose.translation)
        })
        .collect();
    let off: Vec<f64> = poses.iter().map(|(_, p)| (p - poses[0].1).norm()).collect();
    let mut largest = 0.0_f64;
    for (step, state) in states.iter().skip(1).enumerate() {
        for (actuator, command) in model.actuators().iter().zip(controls.row(step)) {
            for at in actuator.coordinates() {
                largest = largest.max(actuator.force(at, *command, &state.joints).abs());
            }
        }
    }
    let turned = &poses.last().ok_or("no states")?.0;
    let yaw = turned[(1, 0)].atan2(turned[(0, 0)]);
    let tilt = turned[(0, 2)].hypot(turned[(1, 2)]).atan2(turned[(2, 2)]);
    Ok(format!(
        "{:.2} | {:.2} | {:.2}, {:.2} | {largest:.3}",
        yaw.to_degrees(),
        tilt.to_degrees(),
        1e3 * off[off.len() - 1],
        1e3 * off.iter().copied().fold(0.0, f64::max)
    ))
}

/// Draws the motion. The ball has sectors, by which its turn is seen.
fn film_strip(file: &ProblemFile, values: &[f64], path: &str) -> Result<(), Box<dyn Error>> {
    let problem = file.problem()?;
    let Trajectory { times, states } = problem.trajectory(&problem.variables(values)?)?;
    let mut recorder = Recorder::new(&file.scene.model, 0.01).without_plots();
    times.iter().zip(&states).for_each(|(time, state)| recorder.add(*time, state));
    let colour = |name: &str, point: &Vector3<f64>| match name {
        "ball" if point.x * point.y > 0.0 => [205.0, 220.0, 60.0],
        "ball" => [245.0, 245.0, 225.0],
        _ => [60.0, 130.0, 190.0],
    };
    let times = [0.0, 0.2, 0.4, 0.6, 0.8, 1.0];
    film::write(path, &recorder.finish().film, &times, VIEW, &links(), colour)
}

/// The links of the hand that touch nothing, as the URDF file has them.
fn links() -> Vec<Block> {
    let block = |body: &str, middle, size: [f64; 3]| Block {
        body: body.to_owned(),
        middle,
        half: size.map(|x| 0.5 * x),
        colour: [120.0, 120.0, 128.0],
    };
    let along = |link: usize, length: f64| {
        block(&format!("link_{link}"), [0.0, 0.0, 0.5 * length], [0.0196, 0.0275, length])
    };
    let mut links = vec![
        block("palm_link", [-0.0093, 0.0, -0.0475], [0.0408, 0.113, 0.095]),
        block("link_12", [-0.0179, 0.009, 0.0145], [0.0358, 0.034, 0.0455]),
    ];
    links.extend([(13, 0.0177), (14, 0.0514), (15, 0.0423)].map(|(link, length)| along(link, length)));
    for finger in 0..3 {
        let lengths = [0.0164, 0.054, 0.0384, 0.0267];
        links.extend(lengths.iter().enumerate().map(|(k, length)| along(4 * finger + k, *length)));
    }
    links
}
