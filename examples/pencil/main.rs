//! A gripper holds a pencil off its centre of mass, loosens so that the pencil turns by a commanded
//! angle, and tightens. The force of the loose grip is found by Gauss–Newton steps with the
//! gradient through contact. Draws the motion.
//!
//! `cargo run --release --example pencil -- pencil.svg 40` (the picture, and the angle in degrees)

#[path = "../figure/mod.rs"]
mod figure;

mod pencil;

use figure::{Curve, Plot};
use isobar::rollout::Trajectory;
use pencil::{Failure, HOLD, KNOTS, Task, UNTIL, pitch};

/// The force of the loose grip that the search begins with, N.
const START: f64 = 0.42;

fn curve(name: impl Into<String>, points: Vec<(f64, f64)>, reference: bool) -> Curve {
    Curve { name: name.into(), points, reference, marks: false }
}

/// Pitch in degrees over time.
fn pitches(trajectory: &Trajectory) -> Vec<(f64, f64)> {
    let degrees = trajectory.states.iter().map(|s| pitch(&s.bodies[0]).to_degrees());
    trajectory.times.iter().copied().zip(degrees).step_by(2).collect()
}

/// The pencil's ends in mm, seen from the side.
fn ends(trajectory: &Trajectory, time: f64) -> Option<Vec<(f64, f64)>> {
    let index = trajectory.times.iter().position(|&t| t >= time - 1e-9)?;
    let pencil = &trajectory.states[index].bodies[0];
    let along = pencil.orientation.to_matrix().column(0) * 0.0875;
    let end = |sign: f64| {
        let p = pencil.position + along * sign;
        (1e3 * p.x, 1e3 * p.z)
    };
    Some(vec![end(-1.0), end(1.0)])
}

fn main() -> Result<(), Failure> {
    let path = std::env::args().nth(1).unwrap_or_else(|| "pencil.svg".into());
    let degrees: f64 = std::env::args().nth(2).map_or(Ok(40.0), |angle| angle.parse())?;

    let task = Task::load()?;
    println!("commanded {degrees}°\nforce of the loose grip, N   pitch at the end   derivative");
    let turns = task.fit(degrees.to_radians(), START)?;
    for turn in &turns {
        let (pitch, by_force) = (turn.pitch.to_degrees(), turn.by_force.to_degrees());
        println!("{:.6}                     {pitch:9.4}°         {by_force:8.2} °/N", turn.force);
    }
    let last = &turns[turns.len() - 1];
    let at = |force: f64| -> Result<f64, Failure> {
        let motion = task.motion(force)?;
        Ok(pitch(&motion.states[motion.states.len() - 1].bodies[0]))
    };
    let difference = (at(last.force + 1e-6)? - at(last.force - 1e-6)?) / 2e-6;
    println!("derivative at the end by central differences {:.2} °/N", difference.to_degrees());
    let pitches_of = |t: &Trajectory| -> Vec<f64> { t.states.iter().map(|s| pitch(&s.bodies[0])).collect() };
    let history = pitches_of(&last.trajectory);
    let at_time = |t: f64| history[(t / UNTIL * (history.len() - 1) as f64).round() as usize].to_degrees();
    println!(
        "turned before the grip loosens {:.4}°, after it has tightened {:.4}°",
        at_time(KNOTS[0]),
        at_time(UNTIL) - at_time(KNOTS[3])
    );
    let points = Task::load()?.with_points()?.motion(last.force)?;
    let swing = pitches(&points);
    let largest = swing.iter().map(|p| p.1).fold(0.0, f64::max);
    let before = swing.iter().filter(|p| p.0 <= KNOTS[0]).map(|p| p.1).fold(0.0, f64::max);
    println!(
        "between hard balls of 2 mm radius, nearly points, it turns {before:.0}° before the grip loosens, {largest:.0}° in all"
    );

    let grip = [
        (0.0, HOLD),
        (KNOTS[0], HOLD),
        (KNOTS[1], last.force),
        (KNOTS[2], last.force),
        (KNOTS[3], HOLD),
        (UNTIL, HOLD),
    ];
    let force = Plot {
        title: &format!("Grip force, {:.4} N when loose", last.force),
        x: "time, s",
        y: "force on each finger, N",
        logarithmic: [false; 2],
        curves: vec![curve("commanded", grip.to_vec(), false)],
    };
    let turned = Plot {
        title: "Pitch of the pencil",
        x: "time, s",
        y: "pitch, degrees",
        logarithmic: [false; 2],
        curves: vec![
            curve("pads", pitches(&last.trajectory), false),
            curve("pads, first guess", pitches(&turns[0].trajectory), false),
            curve("nearly points", swing, false),
            curve("commanded", vec![(0.0, degrees), (UNTIL, degrees)], true),
        ],
    };
    let mut sides: Vec<Curve> = [0.0, 0.35, 0.4, 0.45, 0.5, UNTIL]
        .iter()
        .filter_map(|&t| Some(curve(format!("{t} s"), ends(&last.trajectory, t)?, false)))
        .collect();
    sides.push(curve("grip", vec![(0.0, -110.0), (0.0, 50.0)], true));
    let side = Plot {
        title: "The pencil from the side",
        x: "x, mm",
        y: "z, mm",
        logarithmic: [false; 2],
        curves: sides,
    };
    figure::draw(&path, &[force, turned, side])?;
    println!("wrote {path}");
    Ok(())
}
