//! A gripper with two soft bubbles holds a spatula by its handle, away from its centre of mass. The
//! grip force is a square wave (Masterjohn et al. 2021, §V-C): the spatula is held in its high
//! phase and turns in its low one. Draws force and pitch.
//!
//! `cargo run --release --example spatula -- spatula.svg`

#[path = "../figure/mod.rs"]
mod figure;

mod spatula;

use std::path::Path;

use figure::{Curve, Plot};
use spatula::{DUTY, FORCE, Failure, Inertia, PERIOD, Run, load, run, square_wave, use_bubble_mesh};

/// The end of the motion, s.
const UNTIL: f64 = 18.0;
/// The bubble's mesh, where the data folder beside the repository is.
const BUBBLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/data/models/wsg_50/bubble.vtk");
/// What the grip takes at the start of a phase to follow its force, s: it counts as no drift.
const SETTLING: f64 = 0.5;

fn curve(name: impl Into<String>, points: Vec<(f64, f64)>, reference: bool) -> Curve {
    Curve { name: name.into(), points, reference, marks: false }
}

/// A line of results for each phase.
fn print_phases(run: &Run) {
    for period in 0..(UNTIL / PERIOD).round() as usize {
        let start = period as f64 * PERIOD;
        let low = start + DUTY * PERIOD;
        let (settled, held) = (run.at(start + SETTLING), run.at(low));
        let end = run.at(start + PERIOD);
        println!(
            "  {start:4.1} s: {:2} N, drift {:+.3}° in {:.1} s; {} N, turns {:+.2}° to {:.2}°, the grip slips {:.2} mm down",
            FORCE[1],
            (held.pitch - settled.pitch).to_degrees(),
            held.time - settled.time,
            FORCE[0],
            (end.pitch - held.pitch).to_degrees(),
            end.pitch.to_degrees(),
            1e3 * (end.drop - held.drop)
        );
    }
    let mean = |low: bool| {
        let of_phase = run.samples.iter().filter(|s| (s.commanded == FORCE[0]) == low);
        let (sum, area, count) = of_phase.fold((0, 0.0, 0), |(f, a, n), s| (f + s.faces, a + s.area, n + 1));
        (sum as f64 / f64::from(count), 1e6 * area / f64::from(count))
    };
    let ((faces, area), (low_faces, low_area)) = (mean(false), mean(true));
    println!(
        "  faces {faces:.0} of {area:.0} mm² in the high phase, {low_faces:.0} of {low_area:.0} mm² in the low one; {} steps, {:.0} a second ({:.0} times real time)",
        run.steps,
        run.steps_per_second,
        UNTIL / run.steps as f64 * run.steps_per_second
    );
}

fn main() -> Result<(), Failure> {
    let path = std::env::args().nth(1).unwrap_or_else(|| "spatula.svg".into());
    let mut scene = load()?;
    if Path::new(BUBBLE).exists() {
        println!("bubbles: mesh of {} tetrahedra", use_bubble_mesh(&mut scene, Path::new(BUBBLE))?);
    } else {
        println!("bubbles: ellipsoids (the mesh {BUBBLE} is not there)");
    }
    let mut curves = Vec::new();
    for (inertia, name) in [
        (Inertia::Published, "inertia of Drake's model, 0.21 kg m²"),
        (Inertia::OfItsMass, "inertia of its mass and length, 0.00027 kg m²"),
    ] {
        let run = run(&inertia.applied_to(&scene)?, UNTIL)?;
        println!("{name}");
        print_phases(&run);
        curves.push((name, run));
    }
    let wave = square_wave(UNTIL)?;
    let commanded = (0..=1800).map(|i| 0.01 * f64::from(i)).map(|t| (t, wave.at(t))).collect();
    let force = curves[0].1.samples.iter().map(|s| (s.time, s.force)).collect();
    let degrees = |run: &Run| run.samples.iter().map(|s| (s.time, s.pitch.to_degrees())).collect();
    let plot = |title, y, curves| Plot { title, x: "time, s", y, logarithmic: [false; 2], curves };
    let plots = [
        plot(
            "Grip force",
            "force, N",
            vec![curve("of the left bubble", force, false), curve("commanded", commanded, true)],
        ),
        plot(
            "Pitch, inertia of Drake's model",
            "pitch, degrees",
            vec![curve("0.21 kg m²", degrees(&curves[0].1), false)],
        ),
        plot(
            "Pitch, inertia of its mass and length",
            "pitch, degrees",
            vec![curve("0.00027 kg m²", degrees(&curves[1].1), false)],
        ),
    ];
    figure::draw(&path, &plots)?;
    println!(
        "the paper: secure, with stiction, in the high phase, turning in a controlled manner in the low one;\n\
         pitch in its Figure 10 alone, the text has no numbers"
    );
    println!("wrote {path}");
    Ok(())
}
