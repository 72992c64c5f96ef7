//! `isobar advise`: what to expect of a scene, and what to change in it.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use super::messages::text_output;
use super::outputs::print_json;
use super::{Error, load_scene};
use isobar::advice::{Advice, PairAdvice, advise};

/// Arguments of `isobar advise`.
#[derive(Debug, Args)]
pub(super) struct AdviseArguments {
    /// Scene file, TOML or JSON; `-` for standard input
    scene: PathBuf,
    /// The force that bodies are pressed together with, N, instead of the weight of the lighter one
    #[arg(long, value_name = "N")]
    load: Option<f64>,
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
    let advice = advise(&scene.model, &scene.state, &settings, arguments.load);
    match arguments.json {
        true => print_json(&advice),
        false => Ok(print_text(&mut text_output(), &advice)?),
    }
}

fn print_text(out: &mut dyn Write, advice: &Advice) -> std::io::Result<()> {
    if advice.pairs.is_empty() {
        return writeln!(out, "no two bodies with a pressure between them can touch");
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
