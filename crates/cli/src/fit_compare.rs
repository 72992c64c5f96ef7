//! `isobar fit --compare`: which of several models predicts best what it was not fitted to.

use std::io::Write;
use std::path::Path;

use indicatif::ProgressBar;
use serde::Serialize;

use super::Error;
use super::fit_report::overall;
use super::fit_resume::{KeptFits, fit_error};
use super::messages::remark;
use super::progress::of_parts;
use isobar::argmin;
use isobar::interruption;
use isobar::io::{Candidate, FileError, FitFile};
use isobar::optimize::comparison::{Rated, folds, rated, simplest};
use isobar::optimize::data::DataError;
use isobar::optimize::fit::fit_from_starts;
use isobar::optimize::identification::{Measurement, MeasurementError};
use isobar::optimize::least_squares::Residuals;

/// What became of one model.
#[derive(Debug, Serialize)]
struct Outcome {
    name: String,
    scene: String,
    parameters: Vec<String>,
    #[serde(flatten)]
    rated: Option<Rated>,
    /// Why there is no rating.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// Rounds in which the fit did not converge.
    not_converged: usize,
    /// Root mean square errors of the predictions.
    held_out: Vec<MeasurementError>,
}

/// A comparison, as printed.
#[derive(Debug, Serialize)]
pub(super) struct Comparison {
    /// Rounds, in each of which a part of the measurements was left out.
    folds: usize,
    /// How many measurements there are.
    measurements: usize,
    /// The models, the best first; those that could not be rated come last.
    candidates: Vec<Outcome>,
    /// The simplest of those that the data do not tell from the best.
    pub(super) recommended: Option<String>,
}

/// What a model says of measurements that it was not fitted to: for each of all measurements the mean square of its
/// residuals and its errors, and the number of fits that did not converge.
struct HeldOut {
    scores: Vec<f64>,
    errors: Vec<MeasurementError>,
    not_converged: usize,
}

/// Compares the candidates of a fit file in so many rounds.
pub(super) fn compare(
    file: &FitFile,
    path: &Path,
    rounds: usize,
    kept: Option<&KeptFits>,
) -> Result<Comparison, Error> {
    let candidates = file.candidates()?;
    let mut measured = 0;
    let mut bar: Option<ProgressBar> = None;
    let mut outcomes = Vec::with_capacity(candidates.len());
    let mut scores = Vec::with_capacity(candidates.len());
    let mut all_measured = Vec::with_capacity(candidates.len());
    for candidate in &candidates {
        let [own, predicted] = [&candidate.file, &candidate.prediction].map(FitFile::measurements);
        let (own, predicted) = (own?, predicted?);
        // Parameters that the scene does not have are bad input, whatever the fits do: told before the first of them.
        candidate.file.identification_of(own.clone())?;
        measured = own.len();
        if measured < 2 {
            return Err(Error::File(FileError::Invalid {
                path: path.to_owned(),
                line: None,
                field: "the measurements".to_owned(),
                message: format!(
                    "found {measured}; to compare models at least 2 are needed, one to be left out"
                ),
            }));
        }
        all_measured.push((own, predicted));
    }
    for (number, (candidate, (own, predicted))) in candidates.iter().zip(all_measured).enumerate() {
        let parts = folds(own.len(), rounds);
        let bar = bar.get_or_insert_with(|| of_parts(candidates.len() * parts.len(), "fits"));
        let place = kept.map(|kept| (kept, number));
        let result = held_out(candidate, own, &predicted, &parts, bar, place);
        // Rounds that a model that failed did not come to are done too.
        bar.set_position(((outcomes.len() + 1) * parts.len()) as u64);
        if interruption::is_requested() {
            let resume = if kept.is_some() { "; with --resume it goes on" } else { "" };
            let message = format!("{}: the comparison was stopped{resume}", path.display());
            return Err(Error::Interrupted(message));
        }
        let (held_out, error) = match result {
            Ok(held_out) => (held_out, None),
            // What was kept is of something else.
            Err(error) if error.is::<DataError>() => return Err(fit_error(path, &error)),
            Err(error) => {
                let failed = HeldOut { scores: vec![f64::NAN], errors: Vec::new(), not_converged: 0 };
                (failed, Some(error.to_string()))
            }
        };
        let told = || match &error {
            None => remark(format_args!("isobar: `{}` is done", candidate.name)),
            Some(error) => remark(format_args!("isobar: warning: `{}` failed: {error}", candidate.name)),
        };
        bar.suspend(told);
        scores.push(held_out.scores);
        let names = candidate.file.parameters.as_slice().iter().map(|parameter| parameter.name.clone());
        outcomes.push(Some(Outcome {
            name: candidate.name.clone(),
            scene: candidate.file.scene().path.display().to_string(),
            parameters: names.collect(),
            rated: None,
            error,
            not_converged: held_out.not_converged,
            held_out: held_out.errors,
        }));
    }
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    let order = rated(&scores);
    let parameters: Vec<usize> = candidates.iter().map(|candidate| candidate.file.parameters.len()).collect();
    let recommended = simplest(&order, &parameters).map(|place| candidates[order[place].index].name.clone());
    let mut ordered = Vec::with_capacity(outcomes.len());
    for rated in order {
        let outcome = outcomes[rated.index].take();
        ordered.extend(outcome.map(|outcome| Outcome { rated: Some(rated), ..outcome }));
    }
    ordered.extend(outcomes.into_iter().flatten());
    Ok(Comparison { folds: rounds.min(measured), measurements: measured, candidates: ordered, recommended })
}

/// Fits a model without each part of the measurements and predicts that part. The fits are kept at its number, if at all.
fn held_out(
    candidate: &Candidate,
    measurements: Vec<Measurement>,
    predicted: &[Measurement],
    parts: &[Vec<usize>],
    bar: &ProgressBar,
    kept: Option<(&KeptFits, usize)>,
) -> Result<HeldOut, argmin::core::Error> {
    let count = measurements.len();
    let mut scores = vec![f64::NAN; count];
    let mut errors: Vec<Option<MeasurementError>> = vec![None; count];
    let mut not_converged = 0;
    for (round, part) in parts.iter().enumerate() {
        let is_used = |(index, measurement): (usize, &Measurement)| {
            (!part.contains(&index)).then(|| measurement.clone())
        };
        let used = measurements.iter().enumerate().filter_map(is_used).collect();
        let problem = candidate.file.identification_of(used)?;
        let settings = candidate.file.settings();
        let digest = candidate.file.digest(problem.measurements());
        let checkpoint = |start| kept.map(|(kept, number)| kept.at(&[number, round, start], &digest));
        let result = fit_from_starts(&problem, &candidate.file.parameters, settings, |_| None, checkpoint)?;
        bar.inc(1);
        if interruption::is_requested() {
            return Err(argmin::core::Error::msg("it was stopped"));
        }
        not_converged += usize::from(!result.converged);
        let values = result.values();
        for &index in part {
            // By itself, so that its residuals are its own, and its start is estimated where starts are.
            let one = candidate.prediction.identification_of(vec![predicted[index].clone()]);
            let one = one?;
            let residuals = one.minimized(&values, None)?;
            let square: f64 = residuals.iter().map(|r| r * r).sum();
            scores[index] = square / residuals.len().max(1) as f64;
            errors[index] = one.errors(&values)?.into_iter().next();
        }
    }
    Ok(HeldOut { scores, errors: errors.into_iter().flatten().collect(), not_converged })
}

/// Prints a comparison for people.
pub(super) fn print_comparison(out: &mut dyn Write, comparison: &Comparison) -> Result<(), Error> {
    let Comparison { folds, measurements, candidates, recommended } = comparison;
    writeln!(
        out,
        "{measurements} measurements, predicted by models that were fitted without them, in {folds} rounds"
    )?;
    writeln!(
        out,
        "mean squares of differences over standard deviations: less is better, and a model without error has about 1\n"
    )?;
    let width = candidates.iter().map(|c| c.name.chars().count()).fold("model".len(), usize::max);
    let motions = candidates.iter().any(|candidate| overall(&candidate.held_out).is_some());
    write!(out, "{:width$}  parameters  mean square  times the best (95 %)", "model")?;
    writeln!(out, "{}", if motions { "  position, m  orientation, rad" } else { "" })?;
    for Outcome { name, parameters, rated, error, not_converged, held_out, .. } in candidates {
        write!(out, "{name:width$}  {:>10}  ", parameters.len())?;
        let Some(rated) = rated else {
            writeln!(out, "failed: {}", error.as_deref().unwrap_or("its predictions are not finite"))?;
            continue;
        };
        let [low, high] = rated.ratio_interval;
        let times = match rated.ratio {
            1.0 => "-".to_owned(),
            ratio => format!("{ratio:.3} ({low:.3} to {high:.3})"),
        };
        write!(out, "{:>11.4e}  {times:>21}", rated.score)?;
        if let Some(MeasurementError::Motion { position, orientation, .. }) = overall(held_out) {
            write!(out, "  {position:>11.3e}  {orientation:>16.3e}")?;
        }
        match not_converged {
            0 => writeln!(out)?,
            1 => writeln!(out, "  (1 fit did not converge)")?,
            fits => writeln!(out, "  ({fits} fits did not converge)")?,
        }
    }
    let (Some(recommended), [best, _, ..]) = (recommended, &candidates[..]) else { return Ok(()) };
    let as_good = |outcome: &&Outcome| outcome.rated.as_ref().is_some_and(Rated::is_as_good);
    let others = candidates.iter().skip(1).filter(as_good).filter(|outcome| outcome.name != *recommended);
    let others: Vec<String> = others.map(|outcome| format!("`{}`", outcome.name)).collect();
    writeln!(out)?;
    match *recommended == best.name {
        true => writeln!(out, "take `{recommended}`: it predicts best, and no simpler one does as well")?,
        false => writeln!(
            out,
            "take `{recommended}`: it has fewer parameters than `{}`, and these data do not tell which predicts better",
            best.name
        )?,
    }
    if !others.is_empty() {
        writeln!(out, "as well as the best predict, as far as these data tell: {}", others.join(", "))?;
    }
    Ok(())
}
