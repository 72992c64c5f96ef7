//! Rigid bodies by equivalent contact points: the desk, the T-bar and the dumbbell of Xie and Chakraborty (2019), §5.
//! Draws their motion and prints how long a step takes by each method.
//!
//! `cargo run --release --example rigid_contact -- FOLDER`

#[path = "../figure/mod.rs"]
mod figure;

mod scenes;

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use figure::{Curve, Plot, draw};
use isobar::multibody::BodyState;
use isobar::step::{ComplementarityMethod, PatchKind, RigidContact};
use scenes::{Motion, STEP, Scene};

/// How often each motion is repeated for its time.
const REPEATS: u32 = 10;

fn curve(name: &str, points: impl Iterator<Item = (f64, f64)>) -> Curve {
    Curve { name: name.to_owned(), points: points.collect(), reference: false, marks: false }
}

/// A number of each state over time.
fn over_time(name: &str, motion: &Motion, of: impl Fn(&BodyState) -> f64) -> Curve {
    curve(name, motion.states.iter().enumerate().map(|(i, s)| (i as f64 * STEP, of(s))))
}

/// A number of each contact over time.
fn of_contacts(name: &str, motion: &Motion, of: impl Fn(&RigidContact) -> f64) -> Curve {
    let times = motion.contacts.iter().enumerate();
    curve(name, times.flat_map(|(i, all)| all.iter().map(|c| (i as f64 * STEP, of(c))).collect::<Vec<_>>()))
}

fn kind(contact: &RigidContact) -> f64 {
    match contact.kind {
        PatchKind::Point => 1.0,
        PatchKind::Line => 2.0,
        _ => 3.0,
    }
}

fn plot<'a>(title: &'a str, y: &'a str, curves: Vec<Curve>) -> Plot<'a> {
    Plot { title, x: "t / s", y, logarithmic: [false; 2], curves }
}

/// Draws a scene, and prints what it takes.
fn run(scene: &Scene, folder: &Path) -> Result<(), Box<dyn Error>> {
    let steps = (scene.duration / STEP).round();
    for method in [ComplementarityMethod::Ecp, ComplementarityMethod::Lcp, ComplementarityMethod::Ncp] {
        let begin = Instant::now();
        for _ in 0..REPEATS {
            scene.simulate(method)?;
        }
        let time = begin.elapsed().as_secs_f64() / (f64::from(REPEATS) * steps);
        println!("{}: {method:?} {:.0} µs a step", scene.name, 1e6 * time);
    }
    let motion = scene.simulate(ComplementarityMethod::Ecp)?;
    let plots = [
        plot(
            "Centre of mass",
            "m",
            vec![
                over_time("x", &motion, |s| s.position.x),
                over_time("y", &motion, |s| s.position.y),
                over_time("z", &motion, |s| s.position.z),
            ],
        ),
        plot(
            "Velocity",
            "m/s, rad/s",
            vec![
                over_time("v x", &motion, |s| s.velocity.translational.x),
                over_time("v z", &motion, |s| s.velocity.translational.z),
                over_time("ω z", &motion, |s| s.velocity.rotational.z),
            ],
        ),
        plot(
            "Equivalent contact point",
            "m",
            vec![of_contacts("x", &motion, |c| c.point.x), of_contacts("y", &motion, |c| c.point.y)],
        ),
        plot("Patch: 1 point, 2 line, 3 surface", "", vec![of_contacts("kind", &motion, kind)]),
    ];
    let name = scene.name.to_lowercase().replace('-', "_");
    draw(folder.join(format!("rigid_contact_{name}.svg")), &plots)
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| ".".to_owned());
    for scene in [scenes::desk(), scenes::tee(), scenes::dumbbell()] {
        run(&scene, Path::new(&folder))?;
    }
    Ok(())
}
