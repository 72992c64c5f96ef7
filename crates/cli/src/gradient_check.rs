//! `isobar gradient-check`: the derivatives of a scene, of the cost of a problem of trajectory
//! optimization, or of the residuals of a fit, against differences.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;

use super::gradient_check_fit::check_fit;
use super::gradient_check_problem::check_problem;
use super::gradient_page::gradient_page;
use super::messages::text_output;
use super::outputs::{check_outputs, print_json};
use super::recordings::check_page;
use super::{Error, load_scene, print_motion_warnings, print_warnings};
use isobar::check::{CheckSettings, GradientReport, Verdict, check_scene};
use isobar::io::reference::FileKind;
use isobar::rollout::SimulationError;
use isobar_report::write_page;

/// Arguments of `isobar gradient-check`.
#[derive(Debug, Args)]
pub(super) struct GradientCheckArguments {
    /// Scene, problem or fit file, TOML or JSON; `-` for standard input
    file: PathBuf,
    /// Of a problem or fit: check also at this result or checkpoint of `isobar optimize`, or result of
    /// `isobar fit` (may be repeated)
    #[arg(long, value_name = "FILE")]
    at: Vec<PathBuf>,
    /// Steps of the rollout
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    steps: u32,
    /// Relative error up to which a derivative is right
    #[arg(long, default_value_t = 1e-5)]
    tolerance: f64,
    /// Part of the derivatives that may be undecided in a check that passes
    #[arg(long, value_name = "PART", default_value_t = 0.02)]
    undecided: f64,
    /// Check only with respect to parameters whose names contain this (may be repeated)
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Of a scene: vertices of each mesh to check, with the extents there, and knots of each load; those are taken that
    /// matter
    #[arg(long, value_name = "COUNT", default_value_t = 2)]
    vertices: usize,
    /// Of a scene: do not check the poses of geometries on their bodies and of fixed bodies
    #[arg(long)]
    no_places: bool,
    /// Print every component, not the worst of each vector only
    #[arg(long)]
    all: bool,
    /// Also write a page for a browser with the table (.html)
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
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
    if !(0.0..=1.0).contains(&arguments.undecided) {
        return Err(Error::Argument {
            name: "undecided",
            found: arguments.undecided.to_string(),
            allowed: "from 0 to 1",
        });
    }
    check_page(arguments.record.as_deref())?;
    check_outputs(
        &arguments.record.iter().cloned().collect::<Vec<_>>(),
        std::slice::from_ref(&arguments.file),
    )?;
    let GradientCheckArguments { tolerance, undecided, vertices, no_places, .. } = *arguments;
    let places = !no_places;
    let only = arguments.only.clone();
    let settings = CheckSettings { only, tolerance, undecided, vertices, places, ..Default::default() };
    let file = &arguments.file;
    match FileKind::of(file)? {
        FileKind::Scene => {}
        FileKind::Problem => return report(arguments, file, check_problem(file, &arguments.at, &settings)?),
        FileKind::Fit => return report(arguments, file, check_fit(file, &arguments.at, &settings)?),
    }
    if let Some(at) = arguments.at.first() {
        return Err(Error::Argument {
            name: "at",
            found: at.display().to_string(),
            allowed: "absent: it belongs to a problem or a fit file",
        });
    }
    let scene = load_scene(&arguments.file)?;
    if !scene.controllers().is_empty() {
        let warning =
            "warning: the scene's controllers are left out of its check; that of a problem has them";
        print_warnings(&[warning.to_owned()]);
    }
    let settings_of_motion = scene.simulation_settings()?;
    let until = f64::from(arguments.steps) * settings_of_motion.time_step;
    let rollout = scene.rollout(until)?;
    let simulation_failed = |source| {
        let path = scene.path.display().to_string();
        match source {
            SimulationError::Parameter(source) => Error::Fit { path, message: source.to_string() },
            source => Error::Simulation { path, source: Box::new(source) },
        }
    };
    let motion = rollout.motion();
    print_motion_warnings(&motion.warnings);
    motion.outcome.map_err(simulation_failed)?;
    let checked = check_scene(&rollout, &settings).map_err(simulation_failed)?;
    report(arguments, &scene.path, checked)
}

/// Prints a report; an error if a derivative is wrong, or too many are undecided.
fn report(arguments: &GradientCheckArguments, path: &Path, report: GradientReport) -> Result<(), Error> {
    if report.rows.is_empty() && !arguments.only.is_empty() {
        return Err(Error::Argument {
            name: "only",
            found: arguments.only.join(", "),
            allowed: "a part of a parameter's name, as the table without it has them",
        });
    }
    let (wrong, undecided, count) = (report.count(Verdict::Wrong), report.undecided(), report.rows.len());
    let is_undecided = report.is_undecided();
    let shown = if arguments.all || arguments.json { report } else { report.worst_components() };
    if let Some(file) = &arguments.record {
        write_page(file, &gradient_page(path, &shown, arguments.tolerance))?;
    }
    match arguments.json {
        true => print_json(&shown)?,
        false => writeln!(text_output(), "{shown}")?,
    }
    let path = path.display().to_string();
    match (wrong, is_undecided) {
        (0, false) => Ok(()),
        (0, true) => {
            let allowed = 100.0 * arguments.undecided;
            Err(Error::UndecidedDerivatives { path, undecided, count, allowed })
        }
        (count, _) => Err(Error::WrongDerivatives { path, count }),
    }
}
