//! Rigid bodies by equivalent contact points: the desk, the T-bar and the dumbbell of Xie and Chakraborty (2019), §5.
//! Draws their motion over time and from above, and prints how long a step takes by each method. Then the bolt of Hotz et
//! al. (1999), §1, which slides into its hole: its depth over time by their three methods, and where it is.
//! Then the T-bar of `t_bar_push.toml`, pushed to a pose by optimized commands, and two of the scenes beside pressure fields.
//!
//! `cargo run --release --example rigid_contact -- FOLDER`

#[path = "../figure/mod.rs"]
mod figure;

mod bolt;
mod fields;
mod push;
mod scenes;
mod section;
mod snapshots;

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use bolt::{BoltMotion, BoltScene};
use figure::{Curve, Plot, draw};
use isobar::multibody::BodyState;
use isobar::step::{ComplementarityMethod, PatchKind, RigidContact};
use nalgebra::Vector3;
use push::Push;
use scenes::{DESK, DUMBBELL, Motion, STEP, Scene, TEE, tee_outline};
use snapshots::Outlines;

/// How often each motion is repeated for its time.
const REPEATS: u32 = 10;
/// Steps of the bolt, the times at which it is drawn (s), and other coefficients of friction.
const BOLT_STEPS: usize = 240;
const BOLT_TIMES: [f64; 5] = [0.0, 0.02, 0.04, 0.06, 0.12];
const FRICTIONS: [f64; 4] = [0.0, 0.05, 0.1, 0.3];

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

/// The four feet of the desk.
fn desk_outlines(_: &BodyState) -> Outlines {
    let [side, foot, height, _] = DESK;
    let corner = |x: f64, y: f64| Vector3::new(x, y, -height);
    let foot = |(sx, sy): (f64, f64)| {
        let (x, y) = (0.5 * side * sx, 0.5 * side * sy);
        let (inner_x, inner_y) = (x - foot * sx, y - foot * sy);
        vec![corner(x, y), corner(inner_x, y), corner(inner_x, inner_y), corner(x, inner_y)]
    };
    [(1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (1.0, -1.0)].into_iter().map(foot).collect()
}

/// The lower side of the T.
fn tee_outlines(_: &BodyState) -> Outlines {
    vec![tee_outline().into_iter().map(|[x, y]| Vector3::new(x, y, -0.5 * TEE[4])).collect()]
}

/// The lines along which the two ends of the dumbbell touch as it lies.
fn dumbbell_outlines(state: &BodyState) -> Outlines {
    let [length, bar, radius, ..] = DUMBBELL;
    let down = state.pose().rotation.tr_mul(&-Vector3::z());
    let rim = Vector3::new(down.x, down.y, 0.0);
    let rim = rim * (radius / rim.norm().max(f64::MIN_POSITIVE));
    let end = |sign: f64| [0.5 * bar, 0.5 * length].map(|z| rim + Vector3::z() * (sign * z)).to_vec();
    vec![end(1.0), end(-1.0)]
}

/// Draws a scene, and prints what it takes.
fn run(
    scene: &Scene,
    folder: &Path,
    times: &[f64],
    outlines: fn(&BodyState) -> Outlines,
) -> Result<(), Box<dyn Error>> {
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
    let height = if scene.name == "desk" { vec![] } else { vec![over_time("z", &motion, |s| s.position.z)] };
    let mut place =
        vec![over_time("x", &motion, |s| s.position.x), over_time("y", &motion, |s| s.position.y)];
    place.extend(height);
    let plots = [
        plot("Centre of mass", "m", place),
        plot(
            "Velocity",
            "m/s, rad/s",
            vec![
                over_time("v x", &motion, |s| s.velocity.translational.x),
                over_time("v y", &motion, |s| s.velocity.translational.y),
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
    draw(folder.join(format!("rigid_contact_{name}.svg")), &plots)?;
    let title = format!("{} from above: centre of mass (circles), contact point (crosses)", scene.name);
    snapshots::draw(
        folder.join(format!("rigid_contact_{name}_above.svg")),
        &title,
        &motion,
        times,
        outlines,
    )?;
    Ok(())
}

/// Optimizes the commands that push the T-bar to its pose, and draws its motion and them.
fn draw_push(folder: &Path) -> Result<(), Box<dyn Error>> {
    let Push { motion, names, commands } = push::push()?;
    let times = || (0..commands.len()).map(|step| (step as f64 + 0.5) * STEP);
    let command = |i: usize| curve(&names[i], times().zip(commands.iter().map(|row| row[i])));
    let plots = [
        plot(
            "Pose",
            "m, rad",
            vec![
                over_time("x", &motion, |s| s.position.x),
                over_time("y", &motion, |s| s.position.y),
                over_time("turned by", &motion, |s| s.orientation.to_rpy()[2]),
            ],
        ),
        plot("Commands", "N", (0..names.len()).map(command).collect()),
    ];
    draw(folder.join("rigid_contact_push.svg"), &plots)?;
    let title = "T-bar pushed to a pose: centre of mass (circles), contact point (crosses)";
    let at = [0.0, 0.5, 0.7, 1.0];
    snapshots::draw(folder.join("rigid_contact_push_above.svg"), title, &motion, &at, tee_outlines)?;
    Ok(())
}

/// Draws the bolt, and prints what the methods come to.
fn run_bolt(folder: &Path) -> Result<(), Box<dyn Error>> {
    let scene = BoltScene::load(bolt::FILE)?;
    let methods = [
        ("NCP", ComplementarityMethod::Ncp),
        ("LCP", ComplementarityMethod::Lcp),
        ("bilateral", ComplementarityMethod::Bilateral),
    ];
    let mut motions = Vec::new();
    for (name, method) in methods {
        let begin = Instant::now();
        let motion = scene.simulate(method, BOLT_STEPS)?;
        let time = begin.elapsed().as_secs_f64() / BOLT_STEPS as f64;
        let least = motion.states.iter().map(|s| scene.distance(s)).fold(f64::INFINITY, f64::min);
        println!("bolt: {name} {:.0} µs a step, least distance {least:.1e} m", 1e6 * time);
        motions.push((name, motion));
    }
    for (name, motion) in &motions[1..] {
        let apart = motions[0].1.states.iter().zip(&motion.states);
        let apart = apart.map(|(a, b)| (a.position - b.position).norm()).fold(0.0, f64::max);
        println!("bolt: {name} is at most {apart:.1e} m from NCP");
    }
    let curve = |name: &str, motion: &BoltMotion, of: &dyn Fn(usize) -> f64| {
        curve(name, (0..motion.states.len()).map(|i| (i as f64 * scene.time_step, of(i))))
    };
    let of_each = |of: &dyn Fn(&BoltMotion, usize) -> f64| -> Vec<Curve> {
        motions.iter().map(|(name, motion)| curve(name, motion, &|i| of(motion, i))).collect()
    };
    let mut of_frictions = Vec::new();
    for friction in FRICTIONS {
        let scene = BoltScene::load(bolt::FILE)?.with_friction(friction)?;
        let motion = scene.simulate(ComplementarityMethod::Ncp, BOLT_STEPS)?;
        let depth = |i: usize| 1e3 * scene.insertion(&motion.states[i]);
        of_frictions.push(curve(&format!("μ = {friction}"), &motion, &depth));
    }
    let tilt = |motion: &BoltMotion, i: usize| {
        let axis = motion.states[i].pose().rotation.column(2).into_owned();
        axis.xy().norm().atan2(axis.z).to_degrees()
    };
    let force = |motion: &BoltMotion, i: usize| {
        motion.contacts[i].iter().map(|c| c.normal_impulse).sum::<f64>() / scene.time_step
    };
    let plots = [
        plot("Depth of the tip below the plate", "mm", of_each(&|m, i| 1e3 * scene.insertion(&m.states[i]))),
        plot("Tilt", "°", of_each(&tilt)),
        plot("Sum of the normal forces", "N", of_each(&force)),
        plot("Depth by the coefficient of friction (NCP)", "mm", of_frictions),
    ];
    draw(folder.join("rigid_contact_bolt.svg"), &plots)?;
    let title = "The bolt, and the hole cut open; crosses where they touch (NCP)";
    section::draw(folder.join("rigid_contact_bolt_section.svg"), title, &scene, &motions[0].1, &BOLT_TIMES)?;
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| ".".to_owned());
    let folder = Path::new(&folder);
    run(&scenes::desk(), folder, &[0.01, 1.0, 2.0, 3.0, 4.0], desk_outlines)?;
    run(&scenes::tee(), folder, &[0.1, 3.5, 4.2, 5.0], tee_outlines)?;
    run(&scenes::dumbbell(), folder, &[0.7, 1.0, 1.3, 1.6, 1.9, 2.2, 2.5], dumbbell_outlines)?;
    run_bolt(folder)?;
    draw_push(folder)?;
    fields::run(folder)
}
