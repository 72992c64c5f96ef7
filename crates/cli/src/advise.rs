//! `isobar advise`: what to expect of a scene, and what to change in it.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use super::messages::text_output;
use super::outputs::print_json;
use super::simulate::simulation_error;
use super::{Error, load_scene};
use isobar::advice::{Advice, MotionAdvice, PairAdvice, Pressing, advise};
use nalgebra::Vector3;

/// Arguments of `isobar advise`.
#[derive(Debug, Args)]
pub(super) struct AdviseArguments {
    /// Scene file, TOML or JSON; `-` for standard input
    scene: PathBuf,
    /// The force that bodies are pressed together with, N, instead of the weight of the lighter one
    #[arg(long, value_name = "N")]
    load: Option<f64>,
    /// Which way the lighter of two bodies moves towards the other, in world axes, as in '0, 0, -1'. Without it they are
    /// moved apart where they overlap, and otherwise from centre to centre or along the normal of a half-space
    #[arg(long, value_name = "X, Y, Z", value_parser = vector, allow_hyphen_values = true)]
    along: Option<Vector3<f64>>,
    /// A point in world axes, m, that the centre of the lighter body goes through on its way: where a finger presses
    #[arg(long, value_name = "X, Y, Z", value_parser = vector, allow_hyphen_values = true)]
    at: Option<Vector3<f64>>,
    /// Simulate the scene until this time, s, and press bodies together where the pressure's force between them was
    /// largest, with that force
    #[arg(long, value_name = "S", conflicts_with_all = ["along", "at"])]
    until: Option<f64>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Loads the scene, presses its bodies together and prints.
pub(super) fn run(arguments: &AdviseArguments) -> Result<(), Error> {
    if let Some(load) = arguments.load.filter(|load| !(*load > 0.0 && load.is_finite())) {
        return Err(Error::Argument {
            name: "load",
            found: load.to_string(),
            allowed: "more than 0 and finite, in N",
        });
    }
    let scene = load_scene(&arguments.scene)?;
    let settings = scene.simulation_settings()?;
    let AdviseArguments { load, along: direction, at: place, .. } = *arguments;
    if direction.is_some_and(|direction| direction.norm() == 0.0) {
        return Err(Error::Usage("--along: found 0, 0, 0; allowed: a direction".to_owned()));
    }
    let advice = match arguments.until {
        None => advise(&scene.model, &scene.state, &settings, &Pressing { load, direction, place }),
        Some(until) => {
            let mut motion = MotionAdvice::new(&scene.model);
            let observed = scene.closed_loop(until)?.for_each(|step| motion.observe(step.state));
            observed.map_err(|source| simulation_error(&scene, source))?;
            motion.advice(&settings, load)
        }
    };
    match arguments.json {
        true => print_json(&advice),
        false => Ok(print_text(&mut text_output(), &advice)?),
    }
}

/// Three numbers with commas between them.
fn vector(text: &str) -> Result<Vector3<f64>, String> {
    let allowed = || "three finite numbers with commas between them, as in 0, 0, -1".to_owned();
    let numbers = text.split(',').map(|number| number.trim().parse::<f64>().ok().filter(|x| x.is_finite()));
    match numbers.collect::<Option<Vec<f64>>>().as_deref() {
        Some(&[x, y, z]) => Ok(Vector3::new(x, y, z)),
        _ => Err(allowed()),
    }
}

fn print_text(out: &mut dyn Write, advice: &Advice) -> std::io::Result<()> {
    if advice.pairs.is_empty() {
        return writeln!(out, "no two bodies with a pressure between them touch");
    }
    for pair in &advice.pairs {
        print_pair(out, pair)?;
    }
    match advice.pairs.iter().map(|pair| pair.remarks.len()).sum::<usize>() {
        0 => writeln!(out, "nothing to change"),
        1 => writeln!(out, "1 remark"),
        count => writeln!(out, "{count} remarks"),
    }
}

fn print_pair(out: &mut dyn Write, pair: &PairAdvice) -> std::io::Result<()> {
    writeln!(out, "{} – {}, pressed together with {:.3e} N", pair.a, pair.b, pair.load)?;
    let mut line = |label: &str, value: f64| writeln!(out, "  {label:<24} {value:>12.4e}");
    match &pair.pressed {
        Some(pressed) => {
            line("penetration, m", pressed.penetration)?;
            line("area, m²", pressed.area)?;
            line("largest pressure, Pa", pressed.max_pressure)?;
            line("stiffness, N/m", pressed.stiffness)?;
            if let Some(time) = pair.contact_time {
                line("an impact lasts, s", time)?;
            }
            writeln!(out, "  {:<24} {:>12}", "polygons", pressed.elements)?;
        }
        None if pair.remarks.is_empty() => {
            writeln!(out, "  moved towards each other they do not meet, or not with this force")?;
        }
        None => {}
    }
    pair.remarks.iter().try_for_each(|remark| writeln!(out, "  - {remark}"))
}
