//! `isobar gradient-check`: the derivatives of a scene, of the cost of a problem of trajectory
//! optimization, or of the residuals of a fit, against differences.

use std::io::Write;
use std::path::{Path, PathBuf};

use argmin::core::CostFunction;
use clap::Args;

use super::gradient_check_fit::check_fit;
use super::gradient_page::gradient_page;
use super::messages::text_output;
use super::optimize::{problem, saved_variables};
use super::optimize_shared::failed;
use super::outputs::{check_outputs, print_json};
use super::recordings::check_page;
use super::{Error, load_scene, print_motion_warnings, print_warnings};
use crate::check::{
    CheckSettings, CheckedParameter, GradientReport, Verdict, check_gradient, check_scene, tightest_first,
};
use crate::io::reference::FileKind;
use crate::io::{OptimizedControl, ProblemEnsemble, ProblemFile};
use crate::report::write_page;
use crate::rollout::SimulationError;

/// Arguments of `isobar gradient-check`.
#[derive(Debug, Args)]
pub(super) struct GradientCheckArguments {
    /// Scene file, TOML or JSON; or problem or fit file, TOML
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
    let settings = CheckSettings { tolerance, undecided, vertices, places, ..Default::default() };
    let file = &arguments.file;
    match FileKind::of(file)? {
        FileKind::Scene => {}
        FileKind::Problem => return report(arguments, file, check_problem(arguments, &settings)?),
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

/// The gradient of a problem's cost, at the start and at whatever was asked for.
fn check_problem(
    arguments: &GradientCheckArguments,
    settings: &CheckSettings,
) -> Result<GradientReport, Error> {
    let mut file = ProblemFile::load(&arguments.file)?;
    print_warnings(&file.scene.warnings);
    let digest = file.digest();
    if let Some(ensemble) = file.ensemble.take() {
        return check_ensemble(arguments, &file, ensemble, &digest, settings);
    }
    solve_tightly(&mut file)?;
    let file = file;
    let problem = problem(&file)?;
    let failed = |error| failed(&file, error);
    let start = problem.variables(&file.start).map_err(failed)?;
    let mut points = vec![("cost at the start".to_owned(), start)];
    for path in &arguments.at {
        let x = saved_variables(path, &digest, points[0].1.len())?;
        points.push((format!("cost at {}", path.display()), x));
    }
    let parameters = values_at_knots(&file);
    let mut all = GradientReport { allowed_undecided: settings.undecided, ..Default::default() };
    for (name, x) in points {
        let (_, gradient) = problem.cost_and_gradient(&x).map_err(failed)?;
        let cost = |x: &[f64]| problem.cost_alone(x);
        let checked = check_gradient(&name, &parameters, cost, &x, &gradient, settings).map_err(failed)?;
        all.rows.extend(checked.rows);
    }
    Ok(all)
}

/// The values of commands at knots.
fn values_at_knots(file: &ProblemFile) -> Vec<CheckedParameter> {
    let parameter = |time: &f64, control: &OptimizedControl| CheckedParameter {
        name: format!("{} at {time:.6} s", control.name),
        unit: control.range.scale,
        scale: control.range.scale,
    };
    let knots = file.knots.times().iter();
    knots.flat_map(|time| file.controls.iter().map(move |control| parameter(time, control))).collect()
}

/// The gradient of an ensemble's cost, at the start and at whatever was asked for.
fn check_ensemble(
    arguments: &GradientCheckArguments,
    file: &ProblemFile,
    mut ensemble: ProblemEnsemble,
    digest: &str,
    settings: &CheckSettings,
) -> Result<GradientReport, Error> {
    let failed = |error| failed(file, error);
    let start = ensemble.task.variables.from_values(&ensemble.start);
    for method in tightest_first(ensemble.task.settings.integrator) {
        ensemble.task.settings.integrator = method;
        if ensemble.problem().member_costs(&start).iter().all(Result::is_ok) {
            break;
        }
    }
    let mut points = vec![("cost at the start".to_owned(), start)];
    for path in &arguments.at {
        let x = saved_variables(path, digest, points[0].1.len())?;
        points.push((format!("cost at {}", path.display()), x));
    }
    let mut parameters = values_at_knots(file);
    // The variable of a logarithm is one: steps of differences are relative to the parameter itself.
    parameters.extend(ensemble.task.variables.numbers().map(|(name, range, log)| CheckedParameter {
        name: if log { format!("ln {name}") } else { name.to_owned() },
        unit: if log { 1.0 } else { range.scale },
        scale: if log { 1.0 } else { range.scale },
    }));
    let problem = ensemble.problem();
    let mut all = GradientReport { allowed_undecided: settings.undecided, ..Default::default() };
    for (name, x) in points {
        let (_, gradient) = problem.cost_and_gradient(&x).map_err(failed)?;
        let cost = |x: &[f64]| problem.cost(&x.to_vec());
        let checked = check_gradient(&name, &parameters, cost, &x, &gradient, settings).map_err(failed)?;
        all.rows.extend(checked.rows);
    }
    Ok(all)
}

/// Lets implicit steps be solved as tightly as they can be at the start, so that differences of
/// the cost have little noise.
fn solve_tightly(file: &mut ProblemFile) -> Result<(), Error> {
    for method in tightest_first(file.simulation.integrator) {
        file.simulation.integrator = method;
        let problem = problem(file)?;
        let solved = problem.variables(&file.start).and_then(|start| problem.cost_alone(&start));
        if solved.is_ok() {
            break;
        }
    }
    Ok(())
}

/// Prints a report; an error if a derivative is wrong, or too many are undecided.
fn report(arguments: &GradientCheckArguments, path: &Path, report: GradientReport) -> Result<(), Error> {
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
