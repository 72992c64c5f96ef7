//! What optimizations of commands and of ensembles have in common.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use super::Error;
use isobar::io::{OptimizedCommand, ProblemFile};
use isobar::optimize::data::DataError;
use isobar::optimize::termination::Termination;
use isobar::optimize::trajectory::TrajectoryOptimum;
use isobar::rollout::SimulationError;

/// Arguments of `isobar optimize`.
#[derive(Debug, Args)]
pub(super) struct OptimizeArguments {
    /// Problem file, TOML
    pub problem: PathBuf,
    /// Folder to write to, made if it is not there: commands.toml (controllers.toml of problems with
    /// controllers), policy.json (the commands with their feedback gains), trajectory.csv, result.json, run.json
    /// (what it is of), and after every iteration checkpoint.json
    #[arg(long)]
    pub out: Option<PathBuf>,
    /// Go on from the checkpoint in the folder, if there is one
    #[arg(long, requires = "out")]
    pub resume: bool,
    /// Begin anew where the folder has results already, and replace them
    #[arg(long, requires = "out", conflicts_with = "resume")]
    pub force: bool,
    /// Most iterations, instead of those of the file
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    pub max_iterations: Option<u64>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// One term of the cost.
#[derive(Debug, Serialize)]
pub(super) struct CostPart {
    pub name: String,
    pub start: f64,
    pub end: f64,
}

/// Why an optimization, or what it needs, failed: bad input, a simulation, or the optimization.
pub(super) fn failed(file: &ProblemFile, error: isobar::argmin::core::Error) -> Error {
    let path = file.path.display().to_string();
    let error = match error.downcast::<SimulationError>() {
        Ok(source) => return Error::Simulation { path, source: Box::new(source) },
        Err(error) => error,
    };
    let message = error.to_string();
    match error.is::<DataError>() {
        true => Error::Checkpoint { path, message },
        false => Error::Optimization { path, message },
    }
}

/// Checks that the folder has no results yet, unless the call says what becomes of them.
pub(super) fn check_folder(arguments: &OptimizeArguments) -> Result<(), Error> {
    match arguments.out.as_ref().filter(|_| !arguments.resume && !arguments.force) {
        Some(folder) => check_no_results(folder),
        None => Ok(()),
    }
}

/// Checks that a folder has no results yet, which took long to compute.
fn check_no_results(folder: &Path) -> Result<(), Error> {
    match ["result.json", "checkpoint.json"].into_iter().find(|name| folder.join(name).exists()) {
        Some(name) => Err(Error::Usage(format!(
            "{}: has results already ({name}); --resume goes on from them, --force begins anew and replaces them",
            folder.display()
        ))),
        None => Ok(()),
    }
}

/// The command that goes on from a result that is not converged, or shows why it cannot; nothing of
/// one that is.
pub(super) fn next_command(optimum: &TrajectoryOptimum, arguments: &OptimizeArguments) -> Option<String> {
    let problem = arguments.problem.display();
    let folder = arguments.out.as_ref().map(|folder| folder.display());
    let more = optimum.iterations.saturating_mul(2);
    match (&optimum.ending, folder) {
        (Termination::Converged { .. }, _) => None,
        (Termination::Budget { .. }, None) => {
            Some(format!("isobar optimize {problem} --max-iterations {more}"))
        }
        (Termination::Budget { .. }, Some(folder)) => {
            Some(format!("isobar optimize {problem} --out {folder} --resume --max-iterations {more}"))
        }
        (_, None) => Some(format!(
            "isobar optimize {problem} --out FOLDER; isobar gradient-check {problem} --at FOLDER/result.json"
        )),
        (_, Some(folder)) => Some(format!("isobar gradient-check {problem} --at {folder}/result.json")),
    }
}

/// The checkpoint of one of the starts.
pub(super) fn checkpoint_path(folder: &Path, start: usize) -> PathBuf {
    match start {
        0 => folder.join("checkpoint.json"),
        k => folder.join(format!("checkpoint_{k}.json")),
    }
}

/// Removes a file that may be there.
pub(super) fn remove(path: &Path) -> Result<(), std::io::Error> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// The commands, as they stand in the actuator tables of a scene.
pub(super) fn write_commands(out: &mut dyn Write, commands: &[OptimizedCommand]) -> std::io::Result<()> {
    for OptimizedCommand { actuator, times, values, interpolation } in commands {
        let name = toml::Value::from(actuator.as_str());
        writeln!(out, "[[actuators]]\nname = {name}")?;
        writeln!(
            out,
            "command = {{ times = {times:?}, values = {values:?}, interpolation = \"{interpolation}\" }}\n"
        )?;
    }
    Ok(())
}
