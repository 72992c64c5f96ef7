//! `isobar fit`: parameters of a scene from measurements.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use super::Error;
use super::fit_compare::{compare, print_comparison};
use super::fit_horizons::{print_horizons, remark_left_out};
use super::fit_page::fit_page;
use super::fit_report::{FitReport, StartsReport, measured_quantities, overall};
use super::loaded::of_kind;
use super::messages::{remark, text_output};
use super::outputs::{check_outputs, print_json, write_json};
use super::progress::on_bar;
use super::recordings::check_page;
use crate::interruption;
use crate::io::reference::FileKind;
use crate::io::{FileError, FitFile, write_atomically};
use crate::optimize::ProblemError;
use crate::optimize::fit::fit;
use crate::optimize::identification::{MeasurementError, UntouchedIndentation};
use crate::report::write_page;

/// Arguments of `isobar fit`.
#[derive(Debug, Args)]
pub(super) struct FitArguments {
    /// Fit file, TOML
    fit: PathBuf,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
    /// Also write the result to this file, JSON
    #[arg(long)]
    out: Option<PathBuf>,
    /// Also write a page for a browser with measurements, predictions and estimates (.html)
    #[arg(long, value_name = "FILE", conflicts_with = "evaluate")]
    record: Option<PathBuf>,
    /// Do not fit: evaluate the parameters of a JSON file on the recordings (*.csv) of a folder
    #[arg(long, num_args = 2, value_names = ["PARAMS", "DIR"], conflicts_with = "out")]
    evaluate: Option<Vec<PathBuf>>,
    /// Do not fit once: compare the fit file and its `candidates` by what they predict of measurements left out of fits
    #[arg(long, conflicts_with_all = ["evaluate", "record", "candidate"])]
    compare: bool,
    /// With --compare: in so many rounds, each with another part of the measurements left out
    #[arg(
        long,
        value_name = "ROUNDS",
        requires = "compare",
        default_value_t = 4,
        value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(2..)
    )]
    folds: usize,
    /// Fit or evaluate this one of the file's `candidates`
    #[arg(long, value_name = "NAME")]
    candidate: Option<String>,
    /// With --evaluate: the mean errors of predictions over so many samples (10,20,40, say), each from the second sample
    /// before the first one in which the recorded body touches another
    #[arg(
        long,
        value_name = "SAMPLES",
        value_delimiter = ',',
        requires = "evaluate",
        value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..)
    )]
    horizons: Option<Vec<usize>>,
}

/// The result of an evaluation, as printed.
#[derive(Debug, Serialize)]
struct EvaluationReport {
    parameters: std::collections::BTreeMap<String, f64>,
    measurements: Vec<MeasurementError>,
    /// With the start values of the fit file.
    measurements_at_start: Vec<MeasurementError>,
}

/// Fits or evaluates, and prints the result.
pub(super) fn run(arguments: &FitArguments) -> Result<(), Error> {
    let path = &arguments.fit;
    let mut file = FitFile::load(path).map_err(|error| of_kind(path, FileKind::Fit, error))?;
    if let Some(name) = &arguments.candidate {
        file = candidate(&file, path, name)?;
    }
    super::print_warnings(file.warnings());
    if arguments.compare {
        return print_compared(arguments, &file);
    }
    let failed = |source: &dyn std::fmt::Display| Error::Fit {
        path: arguments.fit.display().to_string(),
        message: source.to_string(),
    };
    if let Some([parameters, folder]) = arguments.evaluate.as_deref() {
        let values = FitFile::read_parameter_values(parameters)?;
        let names: Vec<&str> = values.keys().map(String::as_str).collect();
        let problem = file.evaluation(&names, folder)?;
        super::print_warnings(&file.data_warnings(&problem)?);
        let numbers: Vec<f64> = values.values().copied().collect();
        if let Some(horizons) = &arguments.horizons {
            let errors = problem.horizon_errors(&numbers, horizons).map_err(|e| rejected(parameters, e))?;
            remark_left_out(&errors);
            return match arguments.json {
                true => print_json(&errors),
                false => print_horizons(&mut text_output(), &errors),
            };
        }
        let measurements = problem.errors(&numbers).map_err(|e| rejected(parameters, e))?;
        let fitted: Vec<&str> = file.parameters.as_slice().iter().map(|p| p.name.as_str()).collect();
        let start = file.evaluation(&fitted, folder)?.errors(&file.parameters.initial());
        let measurements_at_start = start.map_err(|e| rejected(&arguments.fit, e))?;
        if arguments.json {
            let report = EvaluationReport { parameters: values, measurements, measurements_at_start };
            return print_json(&report);
        }
        return print_measurements(&mut text_output(), &measurements, &measurements_at_start);
    }

    let problem = file.identification()?;
    super::print_warnings(&file.data_warnings(&problem)?);
    check_page(arguments.record.as_deref())?;
    let outputs = arguments.out.iter().chain(&arguments.record).cloned();
    check_outputs(&outputs.collect::<Vec<_>>(), &file.files()?)?;
    let before = problem.errors(&file.parameters.initial()).map_err(|e| rejected(&arguments.fit, e))?;
    remark_untouched(&problem.untouched_indentations(&file.parameters.initial()).map_err(|e| failed(&e))?);
    let progress = on_bar(file.settings().max_iterations);
    let result = fit(&problem, &file.parameters, file.settings(), Some(progress)).map_err(|e| failed(&e))?;
    let after = problem.errors(&result.values()).map_err(|e| failed(&e))?;
    // A few are enough: the windows of a recording are alike.
    for (name, warning) in problem.motion_warnings(&result.values()).map_err(|e| failed(&e))?.iter().take(10)
    {
        remark(format_args!("isobar: warning: {name}: {warning}"));
    }
    let report = FitReport {
        fit: result,
        units: problem.units(),
        starts: StartsReport::new(&problem),
        measurements_before: before,
        measurements_after: after,
    };
    if let Some(path) = &arguments.out {
        write_result(path, &report)?;
    }
    if let Some(path) = &arguments.record {
        let at = |values: &[f64]| problem.predictions(values).map_err(|e| failed(&e));
        let predictions = [at(&file.parameters.initial())?, at(&report.fit.values())?];
        write_page(path, &fit_page(&arguments.fit, &report, &predictions))?;
    }
    match arguments.json {
        true => print_json(&report)?,
        false => print_fit(&mut text_output(), &report)?,
    }
    if interruption::is_requested() {
        return Err(Error::Interrupted(format!(
            "{}: the fit was stopped after {} iterations",
            arguments.fit.display(),
            report.fit.iterations
        )));
    }
    if report.fit.converged {
        Ok(())
    } else {
        Err(failed(&format_args!("the fit did not converge: {}", report.fit.termination)))
    }
}

/// The model with this name.
fn candidate(file: &FitFile, path: &Path, name: &str) -> Result<FitFile, Error> {
    let all = file.candidates()?;
    let known: Vec<String> = all.iter().map(|candidate| format!("\"{}\"", candidate.name)).collect();
    match all.into_iter().find(|candidate| candidate.name == name) {
        Some(candidate) => Ok(candidate.file),
        None => Err(Error::File(FileError::Invalid {
            path: path.to_owned(),
            line: None,
            field: "candidates".into(),
            message: format!("no one is called \"{name}\"; there are {}", known.join(", ")),
        })),
    }
}

/// Compares the candidates and prints what became of them.
fn print_compared(arguments: &FitArguments, file: &FitFile) -> Result<(), Error> {
    super::print_warnings(&file.data_warnings(&file.identification()?)?);
    let outputs: Vec<PathBuf> = arguments.out.iter().cloned().collect();
    check_outputs(&outputs, &file.files()?)?;
    let comparison = compare(file, &arguments.fit, arguments.folds)?;
    if let Some(path) = &arguments.out {
        write_result(path, &comparison)?;
    }
    match arguments.json {
        true => print_json(&comparison),
        false => print_comparison(&mut text_output(), &comparison),
    }
}

/// Tells indentation tests in which nothing touches.
fn remark_untouched(tests: &[UntouchedIndentation]) {
    for UntouchedIndentation { name, body, deepest, size } in tests {
        let size = size.map_or(String::new(), |size| format!(", and `{body}` is {size} m long"));
        remark(format_args!(
            "isobar: warning: {name}: at none of the depths does `{body}` touch anything; they reach {deepest} m{size}: \
             are they in m, and is the direction that of the indentation?"
        ));
    }
}

/// Why a file's values could not be evaluated: bad input if they are out of their range.
fn rejected(path: &Path, error: ProblemError) -> Error {
    match error {
        ProblemError::Parameter(source) => Error::File(FileError::Invalid {
            path: path.to_owned(),
            line: None,
            field: "parameters".into(),
            message: source.to_string(),
        }),
        other => Error::Fit { path: path.display().to_string(), message: other.to_string() },
    }
}

fn write_result(path: &Path, report: &impl Serialize) -> Result<(), Error> {
    write_atomically::<std::io::Error>(path, |out| write_json(out, report))
        .map_err(|source| Error::Write { path: path.display().to_string(), source })
}

/// Residuals this much larger than the standard deviations given are not noise alone.
const LARGEST_RESIDUAL_RATIO: f64 = 2.0;

fn print_fit(out: &mut dyn Write, report: &FitReport) -> Result<(), Error> {
    let fit = &report.fit;
    writeln!(out, "{} after {} iterations", fit.termination, fit.iterations)?;
    writeln!(
        out,
        "cost (half the sum of squared residuals) {:.6e} -> {:.6e}, {} residuals",
        fit.cost_before, fit.cost_after, fit.residuals
    )?;
    if let Some(variance) = fit.uncertainty.residual_variance {
        let ratio = variance.sqrt();
        write!(out, "residuals are {ratio:.3} times the standard deviations given")?;
        if ratio > LARGEST_RESIDUAL_RATIO {
            write!(
                out,
                ": the model does not explain the measurements to within them (or this is not the \
                 best minimum: try other starts), and the standard errors are too small"
            )?;
        }
        writeln!(out)?;
    }
    let StartsReport { estimated, windows } = report.starts;
    if windows > 0 {
        write!(out, "the states that {windows} simulated windows start at are ")?;
        match estimated {
            0 => writeln!(out, "taken as exact, as recorded (`starts`)")?,
            all if all == windows => writeln!(out, "estimated too")?,
            some => writeln!(out, "estimated too in {some} of them, and taken as exact in the others")?,
        }
    }
    writeln!(out)?;
    let estimates = &fit.uncertainty.estimates;
    let names: Vec<String> =
        estimates.iter().zip(&report.units).map(|(e, unit)| format!("{} ({unit})", e.name)).collect();
    let width = names.iter().map(|n| n.chars().count()).fold("parameter (unit)".len(), usize::max);
    let steps = estimates.iter().any(|e| e.change_with_finer_steps.is_some());
    let finer = |text: &str| if steps { format!("{text:>11}  ") } else { String::new() };
    writeln!(
        out,
        "{:width$}  {:>14}  {:>14}  {}verdict",
        "parameter (unit)",
        "value",
        "std. error",
        finer("finer steps")
    )?;
    for (e, name) in estimates.iter().zip(&names) {
        // A value that the data do not determine is not printed in the column of known ones.
        let known = e.identifiability.is_determined();
        let value = if known { format!("{:.6e}", e.value) } else { "unknown".into() };
        let error = e.standard_error.map_or("-".into(), |s| format!("{s:.2e}"));
        let change = finer(&e.change_with_finer_steps.map_or("-".into(), |change| format!("{change:+.2e}")));
        write!(out, "{:width$}  {value:>14}  {error:>14}  {change}{}", name, e.identifiability)?;
        if known { writeln!(out) } else { writeln!(out, " (the fit ended at {:.6e})", e.value) }?;
    }
    writeln!(out)?;
    print_measurements(out, &report.measurements_after, &report.measurements_before)
}

/// Prints root mean square errors, with those of the start values in parentheses.
fn print_measurements(
    out: &mut dyn Write,
    after: &[MeasurementError],
    before: &[MeasurementError],
) -> Result<(), Error> {
    writeln!(out, "root mean square errors, in parentheses those of the start values")?;
    let (all_after, all_before) = (overall(after), overall(before));
    let pairs = after.iter().chain(&all_after).zip(before.iter().chain(&all_before));
    for (measurement, start) in pairs {
        match measurement {
            MeasurementError::Motion { name, times, .. } => writeln!(out, "{name}, {times} times")?,
            MeasurementError::Indentation { name, depths, .. } => writeln!(out, "{name}, {depths} depths")?,
            MeasurementError::Sensors { name, channels } => {
                let samples: usize = channels.iter().map(|channel| channel.samples).sum();
                writeln!(out, "{name}, {samples} samples")?;
            }
        }
        let (parts, before) = (measured_quantities(measurement), measured_quantities(start));
        let width = parts.iter().map(|(what, _)| what.chars().count()).fold(24, usize::max);
        for ((what, value), (_, start)) in parts.into_iter().zip(before) {
            writeln!(out, "  {what:<width$} {value:>12.4e}  ({start:.4e})")?;
        }
    }
    Ok(())
}
