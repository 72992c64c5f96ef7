//! `isobar advise`: what to expect of a scene, and what to change in it.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use super::messages::{remark, text_output};
use super::outputs::print_json;
use super::simulate::simulation_error;
use super::{Error, load_scene};
use isobar::advice::{
    Advice, Elastic, ElasticAdvice, ElasticMaterial, ElasticSolution, MotionAdvice, PairAdvice, Pressing,
    advise,
};
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
    /// A material of the scene as an elastic one, whose modulus is looked for, as in 'pad=rubber 60 Shore A', 'pad=steel' or,
    /// with Young's modulus in Pa and Poisson's ratio, 'pad=3e6, 0.49'. The bodies of other materials are rigid then. Can be
    /// given more than once
    #[arg(long, value_name = "NAME=MATERIAL", value_parser = elastic)]
    elastic: Vec<(String, Elastic)>,
    /// How thick elastic bodies are in front of what is rigid behind them, m; without it a body from side to side
    #[arg(long, value_name = "M", requires = "elastic")]
    thickness: Option<f64>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Loads the scene, presses its bodies together and prints.
pub(super) fn run(arguments: &AdviseArguments) -> Result<(), Error> {
    for (name, number, allowed) in [
        ("load", arguments.load, "more than 0 and finite, in N"),
        ("thickness", arguments.thickness, "more than 0 and finite, in m"),
    ] {
        if let Some(found) = number.filter(|number| !(*number > 0.0 && number.is_finite())) {
            return Err(Error::Argument { name, found: found.to_string(), allowed });
        }
    }
    let scene = load_scene(&arguments.scene)?;
    let settings = scene.simulation_settings()?;
    let AdviseArguments { load, along: direction, at: place, thickness, .. } = *arguments;
    let materials = scene.model.materials();
    let elastic = arguments.elastic.iter().map(|(name, elastic)| {
        match materials.iter().any(|material| material.name == *name) {
            true => Ok(ElasticMaterial { name: name.clone(), elastic: *elastic, thickness }),
            false => {
                let names: Vec<&str> = materials.iter().map(|material| material.name.as_str()).collect();
                let names = names.join(", ");
                Err(Error::Usage(format!(
                    "--elastic: found {name:?}; the materials of the scene are {names}"
                )))
            }
        }
    });
    let how = Pressing { load, direction, place, elastic: elastic.collect::<Result<_, _>>()? };
    if direction.is_some_and(|direction| direction.norm() == 0.0) {
        return Err(Error::Usage("--along: found 0, 0, 0; allowed: a direction".to_owned()));
    }
    let advice = match arguments.until {
        None => advise(&scene.model, &scene.state, &settings, &how),
        Some(until) => {
            let mut motion = MotionAdvice::new(&scene.model);
            let observed = scene.closed_loop(until)?.for_each(|step| motion.observe(step.state));
            observed.map_err(|source| simulation_error(&scene, source))?;
            motion.advice(&settings, &how)
        }
    };
    for (name, _) in &arguments.elastic {
        let mut found = advice.pairs.iter().filter_map(|pair| pair.elastic.as_ref());
        if !found.any(|elastic| elastic.moduli.iter().any(|modulus| modulus.material == *name)) {
            remark(format_args!(
                "isobar: no modulus is found for material `{name}`: only compliant bodies that meet others and carry the load \
                 have one"
            ));
        }
    }
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

/// The name of a material of the scene and what it is made of.
fn elastic(text: &str) -> Result<(String, Elastic), String> {
    let (name, material) = text
        .split_once('=')
        .ok_or("it needs the name of a material of the scene, as in pad=rubber 60 Shore A")?;
    Ok((name.trim().to_owned(), material.parse()?))
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
    if let Some(elastic) = &pair.elastic {
        print_elastic(out, elastic)?;
    }
    pair.remarks.iter().try_for_each(|remark| writeln!(out, "  - {remark}"))
}

fn print_elastic(out: &mut dyn Write, advice: &ElasticAdvice) -> std::io::Result<()> {
    let by = match advice.solution {
        ElasticSolution::Hertz => "round bodies (Hertz)",
        ElasticSolution::Cylinder => "cylinders (Johnson)",
        ElasticSolution::Punch => "a small flat face (Johnson)",
        ElasticSolution::Layer => "a layer",
    };
    writeln!(out, "  as elastic bodies, by the solution for {by}")?;
    writeln!(out, "  {:<24} {:>12.4e}", "penetration, m", advice.penetration)?;
    for modulus in &advice.moduli {
        let label = format!("modulus of {}, Pa", modulus.material);
        writeln!(out, "  {label:<24} {:>12.4e}", modulus.hydroelastic_modulus)?;
    }
    let part = |error: f64| format!("{:+.0} %", 100.0 * error);
    let (half, twice) = (part(advice.error_at_half), part(advice.error_at_twice));
    match advice.error.abs() < 0.05 {
        true => writeln!(
            out,
            "  - with this hydroelastic modulus the force is the same at that penetration, {half} at half and {twice} at twice"
        ),
        false => writeln!(
            out,
            "  - with this hydroelastic modulus and a fine mesh the force is the same at that penetration; with these facets it is \
             {} there, {half} at half and {twice} at twice: give a finer `resolution`",
            part(advice.error)
        ),
    }
}
