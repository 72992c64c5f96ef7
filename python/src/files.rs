//! Fits and optimizations of files.

use std::path::PathBuf;

use isobar::interruption;
use isobar::io::{FitFile, OptimizedCommand, ProblemFile, best_optimum};
use isobar::optimize::fit::fit_from_starts;
use isobar::optimize::profile::judge_one_sided;
use isobar::optimize::trajectory::TrajectoryOptimum;
use isobar::rollout::SimulationError;
use pyo3::prelude::*;
use rayon::prelude::*;
use serde::Serialize;

use crate::failure::Failure;
use crate::interruptible::interruptible;

/// A result as JSON, and warnings.
type Told = (String, Vec<String>);

fn json(result: &impl Serialize) -> Result<String, Failure> {
    serde_json::to_string(result).map_err(Failure::input)
}

/// Does work that ends early when optimizations are asked to.
fn optimizing<R: Send>(py: Python<'_>, work: impl FnOnce() -> Result<R, Failure> + Send) -> PyResult<R> {
    let result = interruptible(py, interruption::request, work);
    if result.is_err() {
        interruption::withdraw();
    }
    Ok(result??)
}

/// Fits the parameters of a fit file.
#[pyfunction]
pub fn fit(py: Python<'_>, path: PathBuf) -> PyResult<Told> {
    optimizing(py, || {
        let file = FitFile::load(&path)?;
        let problem = file.identification()?;
        let mut warnings = file.warnings().to_vec();
        warnings.extend(file.data_warnings(&problem)?);
        let failed =
            |error: &dyn std::fmt::Display| Failure::Simulation(format!("{}: {error}", path.display()));
        let mut result = fit_from_starts(&problem, &file.parameters, file.settings(), |_| None, |_| None)
            .map_err(|error| failed(&error))?;
        result.uncertainty.judge_misfit();
        if result.converged && !result.uncertainty.is_misfit() {
            let goes_on = || !interruption::is_requested();
            // Without limits the fit is none the worse.
            let diagnostics = problem.diagnostics(&result.values()).map_err(|error| failed(&error))?;
            let (parameters, settings) = (&file.parameters, file.settings());
            let variance = diagnostics.long_run_variance();
            let judged = judge_one_sided(&problem, parameters, settings, &mut result, variance, &goes_on);
            warnings.extend(judged.err().map(|error| format!("no limits of parameters: {error}")));
        }
        Ok((json(&result)?, warnings))
    })
}

/// What was optimized.
#[derive(Serialize)]
struct Optimized {
    #[serde(flatten)]
    optimum: TrajectoryOptimum,
    commands: Vec<OptimizedCommand>,
}

/// How many starts a problem file has, and the digest of what it asks for.
#[pyfunction]
pub fn starts(path: PathBuf) -> PyResult<(usize, String)> {
    let file = ProblemFile::load(path).map_err(Failure::from)?;
    Ok((all_starts(&file)?.len(), file.digest()))
}

fn all_starts(file: &ProblemFile) -> Result<Vec<Vec<f64>>, Failure> {
    let problem = file.optimized().map_err(|error| failed(file, &error.into()))?;
    Ok(file.all_starts(problem.shared_variables()))
}

fn failed(file: &ProblemFile, error: &isobar::argmin::core::Error) -> Failure {
    let path = file.path.display();
    match error.downcast_ref::<SimulationError>() {
        Some(source) => Failure::Simulation(format!("{path}: {source}")),
        None => Failure::Simulation(format!("{path}: {error}")),
    }
}

/// Which of several results of [`optimize`], as JSON without their histories, is the best.
#[pyfunction]
pub fn best(results: Vec<String>) -> usize {
    let found = |text: &String| Ok((serde_json::from_str(text)?, Vec::new()));
    best_optimum(&results.iter().map(found).collect::<Vec<_>>()).unwrap_or(0)
}

/// Optimizes the problem of a problem file, from all of its starts or from the one with a number.
#[pyfunction]
#[pyo3(signature = (path, number=None))]
pub fn optimize(py: Python<'_>, path: PathBuf, number: Option<usize>) -> PyResult<Told> {
    optimizing(py, || {
        let file = ProblemFile::load(path)?;
        let mut starts = all_starts(&file)?;
        if let Some(number) = number {
            let allowed = format!("below {}", starts.len());
            if number >= starts.len() {
                return Err(Failure::argument("number", number, &allowed));
            }
            starts = vec![starts.swap_remove(number)];
        }
        let one = |start: &Vec<f64>| file.optimize(start, Default::default(), None, None);
        let mut results: Vec<_> = starts.par_iter().map(one).collect();
        let best = best_optimum(&results).unwrap_or(0);
        let (optimum, _) = results.swap_remove(best).map_err(|error| failed(&file, &error))?;
        let commands = file.commands(&optimum.values);
        Ok((json(&Optimized { optimum, commands })?, file.scene.warnings.clone()))
    })
}
