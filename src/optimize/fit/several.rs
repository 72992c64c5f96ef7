//! A fit from several starts, which may end in different minima.

use argmin::core::Error;
use serde::Serialize;

use super::settings::{FitSettings, FitStarts};
use super::solve::{Solved, solve_from, values_at};
use super::{Fit, cost_at_start, finish};
use crate::optimize::checkpoint::ProblemCheckpoints;
use crate::optimize::data_error::DataError;
use crate::optimize::least_squares::{FittedModel, Residuals};
use crate::optimize::multi_start::{lowest, scattered_starts};
use crate::optimize::parameters::FitParameters;
use crate::optimize::progress::ProgressObserver;
use crate::parallel::in_parallel;

/// Part of the variance of residuals that a cost may be above the best one: an error of a tenth of a standard error.
const AS_GOOD: f64 = 0.5e-2;

/// What became of one of several starts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StartOutcome {
    /// The cost at its end; `None` of one that failed.
    pub cost: Option<f64>,
    /// Iterations made.
    pub iterations: u64,
    /// Whether its cost is the best one, but for what an error of a tenth of a standard error costs.
    pub is_best: bool,
    /// Where it began, and where it ended, in the units of the parameters.
    pub from: Vec<f64>,
    /// See [`Self::from`]; empty of one that failed.
    pub values: Vec<f64>,
    /// Why it stopped, or failed.
    pub termination: String,
}

/// The starts of a fit: the start values, and others around them, in units of the parameters.
fn starts(parameters: &FitParameters, settings: FitStarts) -> Result<Vec<Vec<f64>>, Error> {
    let FitStarts { count, spread, seed } = settings;
    let first = parameters.variables(&parameters.initial())?;
    let (lower, upper) = parameters.bounds();
    let n = first.len();
    let unbounded = (&vec![f64::NEG_INFINITY; n][..], &vec![f64::INFINITY; n][..]);
    let scattered = scattered_starts(&first, &vec![spread; n], unbounded, count.max(1), seed);
    let mirrored = |x: f64, lower: f64, upper: f64| match () {
        () if x < lower => (2.0 * lower - x).min(upper),
        () if x > upper => (2.0 * upper - x).max(lower),
        () => x,
    };
    let inside = |mut x: Vec<f64>| {
        x.iter_mut().zip(lower.iter().zip(&upper)).for_each(|(x, (l, u))| *x = mirrored(*x, *l, *u));
        values_at(parameters, &x)
    };
    scattered.into_iter().map(inside).collect()
}

/// Fits from each of the starts of the settings ([`FitSettings::starts`]), in parallel, and keeps the best result. Start
/// k is the same for any number of starts and threads. `progress` and `checkpoint` give what is told of, and kept of, the
/// fit from start k; one that has been interrupted goes on from what was kept to the result that it would have had.
///
/// The model is left with the unknowns of its own that belong to the result.
///
/// # Errors
/// What was kept is of something else, no start can be fitted from, or the model cannot be differentiated at the
/// solution.
pub fn fit_from_starts<R: Residuals + Clone + Send + Sync>(
    model: &R,
    parameters: &FitParameters,
    settings: &FitSettings,
    progress: impl Fn(usize) -> Option<ProgressObserver> + Sync,
    checkpoint: impl Fn(usize) -> Option<ProblemCheckpoints> + Sync,
) -> Result<Fit, Error> {
    let copy = || -> Box<dyn FittedModel + '_> { Box::new(model.clone()) };
    let told = Told { progress: &progress, checkpoint: &checkpoint };
    fit_copies(model, &copy, parameters, settings, &told)
}

/// Fits from those of several starts that are of one job among others ([`fit_from_starts`]), of which `checkpoint` keeps what they
/// come to: `fit_from_starts` goes on from there, on any machine. Returns the number of each, from 0, and what became of it;
/// which is best is not told.
///
/// # Errors
/// What was kept is of something else, or there is one start.
pub fn fit_some_starts<R: Residuals + Clone + Send + Sync>(
    model: &R,
    parameters: &FitParameters,
    settings: &FitSettings,
    is_own: impl Fn(usize) -> bool,
    progress: impl Fn(usize) -> Option<ProgressObserver> + Sync,
    checkpoint: impl Fn(usize) -> Option<ProblemCheckpoints> + Sync,
) -> Result<Vec<(usize, StartOutcome)>, Error> {
    let copy = || -> Box<dyn FittedModel + '_> { Box::new(model.clone()) };
    let told = Told { progress: &progress, checkpoint: &checkpoint };
    let all = starts(parameters, settings.starts)?;
    if all.len() == 1 {
        return Err(Error::msg("a fit from one start is not divided"));
    }
    let own: Vec<_> = all.iter().enumerate().filter(|(k, _)| is_own(*k)).collect();
    let before = cost_at_start(model, parameters)?;
    let results = solve_starts(&own, &copy, parameters, settings, (before, &told))?;
    let outcome =
        |((k, from), result): (&(usize, &Vec<f64>), &Solution)| Ok((*k, outcome(parameters, result, from)?));
    own.iter().zip(&results).map(outcome).collect()
}

/// What is told of, and kept of, the fit from each start.
struct Told<'a> {
    progress: &'a (dyn Fn(usize) -> Option<ProgressObserver> + Sync),
    checkpoint: &'a (dyn Fn(usize) -> Option<ProblemCheckpoints> + Sync),
}

/// What a start came to, and the model's own unknowns there.
type Solution = Result<(Solved, Vec<f64>), Error>;

/// Fits copies of a model from starts, each with its number.
fn solve_starts<'m>(
    starts: &[(usize, &Vec<f64>)],
    copy: &(dyn Fn() -> Box<dyn FittedModel + 'm> + Sync),
    parameters: &FitParameters,
    settings: &FitSettings,
    (before, Told { progress, checkpoint }): (f64, &Told<'_>),
) -> Result<Vec<Solution>, Error> {
    let one = |(k, start): &(usize, &Vec<f64>)| -> Solution {
        let model = copy();
        let cost = if *k == 0 { before } else { f64::INFINITY };
        let kept = checkpoint(*k)
            .map(|place| ProblemCheckpoints { problem: format!("{} {k}", place.problem), ..place });
        let start = ((*start).clone(), cost);
        let solved = solve_from(&*model, parameters, settings, &start, (progress(*k).as_ref(), kept))?;
        let unknowns = model.unknowns();
        Ok((solved, unknowns))
    };
    let mut results = in_parallel(starts, one);
    // A mistake of the call, not of a start.
    let is_other = |result: &Solution| result.as_ref().is_err_and(|error| error.is::<DataError>());
    match results.iter().position(is_other) {
        Some(fatal) => results.swap_remove(fatal).map(|_| Vec::new()),
        None => Ok(results),
    }
}

/// Fits copies of a model, and leaves the model with the unknowns of the best.
fn fit_copies<'m>(
    model: &dyn FittedModel,
    copy: &(dyn Fn() -> Box<dyn FittedModel + 'm> + Sync),
    parameters: &FitParameters,
    settings: &FitSettings,
    told: &Told<'_>,
) -> Result<Fit, Error> {
    let before = cost_at_start(model, parameters)?;
    let all = starts(parameters, settings.starts)?;
    if let [only] = &all[..] {
        let start = (only.clone(), before);
        let (progress, kept) = ((told.progress)(0), (told.checkpoint)(0));
        let solved = solve_from(model, parameters, settings, &start, (progress.as_ref(), kept))?;
        return finish(model, parameters, settings, before, solved);
    }
    let numbered: Vec<_> = all.iter().enumerate().collect();
    let mut results = solve_starts(&numbered, copy, parameters, settings, (before, told))?;
    let best = lowest(results.iter().map(|result| result.as_ref().ok().map(|(solved, _)| solved.cost)));
    let Some(best) = best else {
        return match results.swap_remove(0) {
            Err(error) => Err(error),
            Ok((solved, _)) => Err(Error::msg(format!("the cost at the end of the fit is {}", solved.cost))),
        };
    };
    let outcomes = results.iter().zip(&all).map(|(result, from)| outcome(parameters, result, from));
    let mut outcomes: Vec<StartOutcome> = outcomes.collect::<Result<_, Error>>()?;
    let (solved, unknowns) = results.swap_remove(best)?;
    model.start_from(&unknowns, solved.held.as_ref());
    let fit = finish(model, parameters, settings, before, solved)?;
    let variance = fit.uncertainty.residual_variance.unwrap_or(0.0);
    let least = outcomes[best].cost.unwrap_or(f64::INFINITY);
    let most = least + AS_GOOD * variance + 1e-9 * least;
    outcomes.iter_mut().for_each(|outcome| outcome.is_best = outcome.cost.is_some_and(|cost| cost <= most));
    Ok(Fit { starts: outcomes, ..fit })
}

fn outcome(parameters: &FitParameters, result: &Solution, from: &[f64]) -> Result<StartOutcome, Error> {
    let from = from.to_vec();
    Ok(match result {
        Ok((solved, _)) => StartOutcome {
            cost: solved.cost.is_finite().then_some(solved.cost),
            iterations: solved.iterations,
            is_best: false,
            from,
            values: values_at(parameters, &solved.variables)?,
            termination: solved.termination.clone(),
        },
        Err(error) => StartOutcome {
            cost: None,
            iterations: 0,
            is_best: false,
            from,
            values: Vec::new(),
            termination: error.to_string(),
        },
    })
}
