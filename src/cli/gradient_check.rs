//! `isobar gradient-check`: the derivatives of a scene against differences.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use super::fit::print_json;
use super::{Error, load_scene};
use crate::check::{CheckSettings, SceneCheckError, Verdict, check_scene};
use crate::io::Purpose;
use crate::multibody::NoForces;
use crate::rollout::step_times;

/// Arguments of `isobar gradient-check`.
#[derive(Debug, Args)]
pub(super) struct GradientCheckArguments {
    /// Scene file, TOML or JSON
    scene: PathBuf,
    /// Steps of the rollout
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    steps: u32,
    /// Relative error up to which a derivative is right
    #[arg(long, default_value_t = 1e-5)]
    tolerance: f64,
    /// Print every component, not the worst of each vector only
    #[arg(long)]
    all: bool,
    /// Print JSON (every component)
    #[arg(long)]
    json: bool,
}

/// Checks and prints; an error if a derivative is wrong where the function is smooth.
pub(super) fn run(arguments: &GradientCheckArguments) -> Result<(), Error> {
    if !(arguments.tolerance > 0.0 && arguments.tolerance < 1.0) {
        return Err(Error::Argument {
            name: "tolerance",
            found: arguments.tolerance.to_string(),
            allowed: "between 0 and 1",
        });
    }
    let scene = load_scene(&arguments.scene, Purpose::Simulation)?;
    let settings = CheckSettings { tolerance: arguments.tolerance, ..Default::default() };
    let simulation = scene.simulation_settings()?;
    let path = || scene.path.display().to_string();
    let steps = arguments.steps as usize;
    let (model, state) = (&scene.model, &scene.state);
    let until = steps as f64 * simulation.time_step;
    let times = step_times(simulation.time_step, until)
        .map_err(|source| Error::Simulation { path: path(), source })?;
    let controls = scene.controls(&times);
    let report = check_scene(model, state, &simulation, &NoForces, &controls, steps, &settings).map_err(
        |e| match e {
            SceneCheckError::Simulation(source) => Error::Simulation { path: path(), source },
            SceneCheckError::Input(source) => Error::Fit { path: path(), message: source.to_string() },
        },
    )?;
    let mut out = std::io::stdout().lock();
    let shown = if arguments.all || arguments.json { report } else { report.worst_components() };
    if arguments.json {
        print_json(&mut out, &shown)?;
    } else {
        writeln!(out, "{shown}")?;
    }
    match shown.count(Verdict::Wrong) {
        0 => Ok(()),
        count => Err(Error::WrongDerivatives { path: path(), count }),
    }
}
