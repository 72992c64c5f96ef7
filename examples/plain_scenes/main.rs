//! Flat-faced bodies by the thousand, dropped and laid on floors and on each other: none of them may have more energy than
//! it began with, and what lies may not move. Prints what did, a line each, and a table.
//!
//! `cargo run --release --example plain_scenes -- [SCENES] [SEED] [--list] [--plain]`, with `--plain` without what Drake does not
//! have; `--scenes` prints the scenes alone, for `in_drake.py` beside this file.

mod scenes;

use std::collections::BTreeMap;
use std::error::Error;

use isobar::io::Scene;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use serde_json::json;

use scenes::Plain;

/// The scene in few words.
fn summary(plain: &Plain) -> String {
    let Plain { scene, arrangement, drop, size, rests } = plain;
    let (solver, surface) = (&scene["solver"], &scene["contact"]["surface"]);
    let modulus = scene["materials"]["m"]["hydroelastic_modulus"].as_f64().unwrap_or(0.0);
    let rests = if *rests { ", laid down" } else { "" };
    format!(
        "{arrangement} {} {} s {modulus:.2e} Pa {surface} {size:.3} m, drop {drop:.3} m{rests}",
        solver["kind"], solver["time_step"]
    )
}

/// The energy that may be gained, in parts of that of the drop, and the speed that what rests may have, m/s.
const GAIN: f64 = 0.01;
const SPEED: f64 = 1e-4;
/// Soft bodies vibrate for longer, and with Hunt and Crossley's dissipation vibrations die out as 1/t: what is faster may be
/// no faster than this part of what it was before.
const DECAY: f64 = 0.9;
/// When bodies that were laid down are looked at first and again, and when simulations end, s.
const BEFORE: f64 = 0.4;
const AT_REST: f64 = 0.7;
const END: f64 = 1.0;

/// What came of a scene.
struct Outcome {
    /// The largest gain, in parts of the energy of the drop.
    gain: f64,
    /// The largest speed at rest, m/s, and the largest one before that.
    speed: f64,
    before: f64,
    /// Whether it moves as fast in steps whose error is controlled: stacks of soft bodies may buckle.
    buckles: bool,
    /// Why there is no motion, if there is none.
    error: Option<String>,
}

impl Outcome {
    fn fault(&self) -> Option<String> {
        match &self.error {
            Some(error) => Some(error.clone()),
            None if self.gain > GAIN => Some(format!("gains {:.3} of its drop", self.gain)),
            None if self.moves() && !self.buckles => Some(format!("moves at {:.2e} m/s", self.speed)),
            None => None,
        }
    }

    fn moves(&self) -> bool {
        self.speed > f64::max(SPEED, DECAY * self.before)
    }
}

/// What comes of a scene, and where bodies move at rest whether they do in steps whose error is controlled.
fn outcome(plain: &Plain) -> Outcome {
    let mut outcome = run(plain);
    if outcome.moves() {
        let mut controlled = plain.clone();
        controlled.scene["solver"] =
            json!({"kind": "radau", "time_step": plain.scene["solver"]["time_step"], "accuracy": 1e-6});
        let controlled = run(&controlled);
        outcome.buckles = controlled.error.is_none() && controlled.speed >= outcome.speed;
    }
    outcome
}

fn run(plain: &Plain) -> Outcome {
    let mut outcome = Outcome { gain: 0.0, speed: 0.0, before: 0.0, buckles: false, error: None };
    let result = (|| -> Result<(), Box<dyn Error>> {
        let file = tempfile::Builder::new().suffix(".json").tempfile()?;
        serde_json::to_writer(&file, &plain.scene)?;
        let scene = Scene::load(file.path())?;
        let model = &scene.model;
        let start = model.mechanical_energy(&scene.state);
        let weight: f64 =
            model.free_bodies().map(|(_, _, mass)| mass.mass).sum::<f64>() * model.gravity().norm();
        let unit = weight * plain.drop.max(0.05 * plain.size);
        scene.rollout(END)?.for_each(|report| {
            let gain = (model.mechanical_energy(report.state) - start) / unit;
            outcome.gain = outcome.gain.max(gain);
            if plain.rests && report.time > BEFORE {
                let speeds = report.state.bodies.iter().map(|body| body.velocity.translational.norm());
                let of = if report.time > AT_REST { &mut outcome.speed } else { &mut outcome.before };
                *of = speeds.fold(*of, f64::max);
            }
        })?;
        Ok(())
    })();
    outcome.error = result.err().map(|error| error.to_string());
    outcome
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let list = arguments.iter().any(|a| a == "--list");
    let mut numbers = arguments.iter().filter(|a| !a.starts_with("--"));
    let count: u64 = numbers.next().map_or(Ok(1000), |a| a.parse())?;
    let seed: u64 = numbers.next().map_or(Ok(1), |a| a.parse())?;
    let scenes = (0..count).map(|i| (i, Plain::random(&mut ChaCha8Rng::seed_from_u64(seed << 32 | i))));
    if arguments.iter().any(|a| a == "--scenes") {
        for (_, Plain { scene, arrangement, drop, size, rests }) in scenes {
            let line = json!({"scene": scene, "arrangement": arrangement, "drop": drop, "size": size, "rests": rests});
            println!("{line}");
        }
        return Ok(());
    }
    let only_plain = arguments.iter().any(|a| a == "--plain");
    let scenes: Vec<(u64, Plain)> = scenes.filter(|(_, plain)| !only_plain || plain.is_in_drake()).collect();
    let count = scenes.len();
    let one = |(i, plain)| {
        let outcome = outcome(&plain);
        (i, plain, outcome)
    };
    let all: Vec<_> = scenes.into_par_iter().map(one).collect();
    let mut table: BTreeMap<(&str, String), [usize; 2]> = BTreeMap::new();
    for (i, plain, outcome) in &all {
        let fault = outcome.fault();
        let kind = plain.scene["solver"]["kind"].as_str().unwrap_or_default().to_owned();
        let counts = table.entry((plain.arrangement, kind)).or_default();
        counts[0] += usize::from(fault.is_some());
        counts[1] += 1;
        if let (true, Some(fault)) = (list, &fault) {
            println!("{i}: {} {fault}\n    {}", summary(plain), plain.scene);
        }
    }
    println!("| scenes | kind | faults | of |\n|---|---|---|---|");
    for ((arrangement, kind), [faults, of]) in &table {
        println!("| {arrangement} | {kind} | {faults} | {of} |");
    }
    let faults = table.values().map(|counts| counts[0]).sum::<usize>();
    println!(
        "\n{faults} of {count} scenes have a body that gains more than 1 % of its drop's energy or moves at rest."
    );
    let buckle = all.iter().filter(|(_, _, outcome)| outcome.moves() && outcome.buckles).count();
    println!(
        "{buckle} more have one that moves as fast in steps whose error is controlled: it is not at rest there."
    );
    Ok(())
}
