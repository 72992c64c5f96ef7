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

use film::Look;
use isobar::io::ProblemFile;
use isobar::multibody::BodyFrame;
use isobar::optimize::trajectory::optimize_trajectory;
use isobar::rollout::Trajectory;
use nalgebra::{Matrix3, Vector3};

/// How the film looks. The ball has sectors, by which its turn is seen; what is only drawn are the links that touch
/// nothing, as the URDF file has them.
const LOOK: Look = Look {
    scale: 1100.0,
    view: [-0.10, 0.10, -0.03, 0.145],
    eye: [-0.9, 0.75],
    table: [0.0, 0.0],
    colour: |name, point| match name {
        "ball" if point.x * point.y > 0.0 => [205.0, 220.0, 60.0],
        "ball" => [245.0, 245.0, 225.0],
        _ => [60.0, 130.0, 190.0],
    },
    drawn: &[
        ("palm_link", [-0.0093, 0.0, -0.0475], [0.0204, 0.0565, 0.0475]),
        ("link_12", [-0.0179, 0.009, 0.0145], [0.0179, 0.017, 0.02275]),
        ("link_13", [0.0, 0.0, 0.00885], [0.0098, 0.01375, 0.00885]),
        ("link_14", [0.0, 0.0, 0.0257], [0.0098, 0.01375, 0.0257]),
        ("link_15", [0.0, 0.0, 0.02115], [0.0098, 0.01375, 0.02115]),
        ("link_0", [0.0, 0.0, 0.0082], [0.0098, 0.01375, 0.0082]),
        ("link_1", [0.0, 0.0, 0.027], [0.0098, 0.01375, 0.027]),
        ("link_2", [0.0, 0.0, 0.0192], [0.0098, 0.01375, 0.0192]),
        ("link_3", [0.0, 0.0, 0.01335], [0.0098, 0.01375, 0.01335]),
        ("link_4", [0.0, 0.0, 0.0082], [0.0098, 0.01375, 0.0082]),
        ("link_5", [0.0, 0.0, 0.027], [0.0098, 0.01375, 0.027]),
        ("link_6", [0.0, 0.0, 0.0192], [0.0098, 0.01375, 0.0192]),
        ("link_7", [0.0, 0.0, 0.01335], [0.0098, 0.01375, 0.01335]),
        ("link_8", [0.0, 0.0, 0.0082], [0.0098, 0.01375, 0.0082]),
        ("link_9", [0.0, 0.0, 0.027], [0.0098, 0.01375, 0.027]),
        ("link_10", [0.0, 0.0, 0.0192], [0.0098, 0.01375, 0.0192]),
        ("link_11", [0.0, 0.0, 0.01335], [0.0098, 0.01375, 0.01335]),
    ],
};

fn main() -> Result<(), Box<dyn Error>> {
    let file = ProblemFile::load(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/allegro_turn/problem.toml"))?;
    let problem = file.problem()?;
    let clock = Instant::now();
    let optimum = optimize_trajectory(&problem, &file.start, &file.settings, None, None)?;
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
        Some(path) => film_of(&file, &optimum.values, &path),
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

/// Draws the motion.
fn film_of(file: &ProblemFile, values: &[f64], path: &str) -> Result<(), Box<dyn Error>> {
    let problem = file.problem()?;
    let trajectory = problem.trajectory(&problem.variables(values)?)?;
    Ok(std::fs::write(path, film::played(&file.scene.model, &trajectory, 1.0, &LOOK)?)?)
}
