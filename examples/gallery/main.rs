//! The experiments of the papers, each run, drawn and compared: a page of Markdown with figures for each, and an index.
//!
//! `cargo run --release --example gallery -- --out docs/gallery` runs all, `-- --only NAME` one of them.

#[path = "../figure/mod.rs"]
mod figure;

#[path = "../rigid_contact/bolt.rs"]
#[allow(dead_code, reason = "its own example measures more of it")]
mod bolt_scene;
#[path = "../../benches/clock/mod.rs"]
mod clock;
#[path = "../coin/coin.rs"]
#[allow(dead_code, reason = "its own example shows more of it")]
mod coin_scene;
#[path = "../rigid_contact/scenes.rs"]
#[allow(dead_code, reason = "its own example shows more of it")]
mod desk_scene;
mod drawing;
mod experiments;
mod film;
mod foundation;
mod gradients;
mod index;
mod kinds;
mod page;
#[path = "../support/film.rs"]
mod solid_film;
#[path = "../support/viridis.rs"]
mod viridis;

use std::path::{Path, PathBuf};
use std::time::Instant;

use experiments::{EXPERIMENTS, Experiment};
use page::{Failure, Picture, Run, markdown};

/// Runs one experiment and writes its page and figures.
fn write(experiment: &Experiment, folder: &Path) -> Result<(), Failure> {
    let begin = Instant::now();
    let page = (experiment.run)(Run::Full)?;
    for figure in &page.figures {
        let path = folder.join(format!("{}{}.{}", page.name, figure.suffix, figure.picture.extension()));
        match &figure.picture {
            Picture::Plots(plots) => figure::draw(path, plots)?,
            Picture::Svg(svg) => std::fs::write(path, svg)?,
            Picture::Png(png) => std::fs::write(path, png)?,
        }
    }
    std::fs::write(folder.join(format!("{}.md", page.name)), markdown(&page))?;
    println!("{:18} {:5.1} s", page.name, begin.elapsed().as_secs_f64());
    Ok(())
}

fn main() -> Result<(), Failure> {
    let (mut folder, mut only) = (PathBuf::from("docs/gallery"), None);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{argument} needs a value"))?;
        match argument.as_str() {
            "--out" => folder = value.into(),
            "--only" => only = Some(value),
            _ => return Err(format!("found {argument}; allowed are --out FOLDER and --only NAME").into()),
        }
    }
    let names: Vec<&str> = EXPERIMENTS.iter().map(|e| e.name).collect();
    if let Some(name) = only.as_deref().filter(|name| !names.contains(name)) {
        return Err(format!("no experiment {name}; there are {}", names.join(", ")).into());
    }
    std::fs::create_dir_all(&folder)?;
    for experiment in EXPERIMENTS.iter().filter(|e| only.as_deref().is_none_or(|name| name == e.name)) {
        write(experiment, &folder).map_err(|error| format!("{}: {error}", experiment.name))?;
    }
    std::fs::write(folder.join("README.md"), index::index(&folder)?)?;
    Ok(())
}
