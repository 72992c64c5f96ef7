//! The problem of a file, as the commands that optimize and check it take it: its cost term by term, what was saved of it, and
//! why it fails.

use std::fs;
use std::path::Path;

use super::Error;
use isobar::io::{FileError, ProblemFile};
use isobar::optimize::data::DataError;
use isobar::optimize::trajectory::OptimizedProblem;
use isobar::rollout::SimulationError;

/// The problem of a file, which was checked when it was loaded.
pub(super) fn problem(file: &ProblemFile) -> Result<Box<dyn OptimizedProblem + '_>, Error> {
    file.optimized().map_err(|error| failed(file, error.into()))
}

/// The part of each term in the cost, its mean over the members, and that of time where it costs.
pub(super) fn parts(
    file: &ProblemFile,
    problem: &dyn OptimizedProblem,
    x: &[f64],
) -> Result<Vec<f64>, Error> {
    file.cost_by_term(problem, x).map_err(|error| failed(file, error))
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

/// Removes a file that may be there.
pub(super) fn remove(path: &Path) -> Result<(), std::io::Error> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// The variables of a result or a checkpoint of a problem.
pub(super) fn saved_variables(path: &Path, digest: &str, count: usize) -> Result<Vec<f64>, Error> {
    #[derive(serde::Deserialize)]
    struct Saved {
        problem: String,
        variables: Vec<f64>,
    }
    let text = isobar::input_file::read_text(path)
        .map_err(|source| FileError::Read { path: path.to_owned(), source })?;
    let invalid = |line, message: String| {
        Error::File(FileError::Invalid { path: path.to_owned(), line, field: "the file".into(), message })
    };
    let saved: Saved = serde_json::from_str(&text).map_err(|e| {
        let message = "neither a result nor a checkpoint of `isobar optimize`";
        invalid((e.line() > 0).then_some(e.line()), message.into())
    })?;
    // A checkpoint also has the number of its start.
    let found = saved.problem.split(' ').next().unwrap_or_default();
    if found != digest || saved.variables.len() != count {
        let message = format!("found that of problem {found}; it must be of this problem, {digest}");
        return Err(invalid(None, message));
    }
    Ok(saved.variables)
}
