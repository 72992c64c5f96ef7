//! `isobar fit`: parameters of a scene from measurements.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use super::Error;
use super::fit_compare::{compare, print_comparison};
use super::fit_horizons::{print_horizons, remark_left_out};
use super::fit_page::fit_page;
use super::fit_print::{print_fit, print_measurements};
use super::fit_report::{FitReport, StartsReport};
use super::fit_resume::{KeptFits, fit_error};
use super::loaded::of_kind;
use super::messages::{remark, text_output};
use super::optimize_report::start_line;
use super::outputs::{check_outputs, print_json, write_json};
use super::progress::{among_bars, of_parts, several};
use super::recordings::check_page;
use super::shard::Shard;
use isobar::interruption;
use isobar::io::reference::FileKind;
use isobar::io::{FileError, FitFile, write_atomically};
use isobar::optimize::ProblemError;
use isobar::optimize::fit::{Fit, StartOutcome, fit_from_starts, fit_some_starts};
use isobar::optimize::identification::{Identification, MeasurementError, UntouchedIndentation};
use isobar::optimize::profile::{Profile, judge_one_sided, profiles};
use isobar_report::write_page;

/// A fit that ends with more than this part of the cost that it began with has gone nowhere.
const UNMOVED: f64 = 0.9;

/// Arguments of `isobar fit`.
#[derive(Debug, Args)]
pub(super) struct FitArguments {
    /// Fit file, TOML or JSON; `-` for standard input
    fit: PathBuf,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
    /// Also write the result to this file, JSON
    #[arg(long)]
    out: Option<PathBuf>,
    /// Go on where a fit or a comparison with the same --out was stopped, to the result that it would have had: what it
    /// had come to is kept beside that file, as NAME.progress.json and with numbers
    #[arg(long, requires = "out", conflicts_with = "evaluate")]
    resume: bool,
    /// Fit from every Nth of the file's `starts` only, from the Kth on, as one of N jobs on several machines, and keep what they come to
    /// beside --out; --resume without it then takes the best of all
    #[arg(long, value_name = "K/N", requires = "out", conflicts_with_all = ["evaluate", "compare", "profiles", "record"])]
    shard: Option<Shard>,
    /// Also follow the cost along each parameter, with the others fitted again, to intervals that need not be symmetric
    #[arg(long, conflicts_with_all = ["evaluate", "compare"])]
    profiles: bool,
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
    let kept = kept_fits(arguments, outputs.collect(), &file)?;
    let before = problem.errors(&file.parameters.initial()).map_err(|e| rejected(&arguments.fit, e))?;
    remark_untouched(&problem.untouched_indentations(&file.parameters.initial()).map_err(|e| failed(&e))?);
    let digest = file.digest(problem.measurements());
    let (bars, iterations) = (several(), file.settings().max_iterations);
    let progress = |_| Some(among_bars(iterations, &bars));
    let checkpoint = |start| kept.as_ref().map(|kept| kept.at(&[start], &digest));
    if let (Some(shard), Some(kept)) = (arguments.shard, &kept) {
        let own = fit_some_starts(
            &problem,
            &file.parameters,
            file.settings(),
            |k| shard.has(k),
            progress,
            checkpoint,
        );
        let own = own.map_err(|error| fit_error(&arguments.fit, &error))?;
        kept.check()?;
        return end_of_shard(arguments, shard, &own);
    }
    let mut result = fit_from_starts(&problem, &file.parameters, file.settings(), progress, checkpoint)
        .map_err(|error| fit_error(&arguments.fit, &error))?;
    result.uncertainty.judge_misfit();
    let diagnostics = problem.diagnostics(&result.values()).map_err(|e| failed(&e))?;
    let variance = diagnostics.long_run_variance();
    if result.converged && !result.uncertainty.is_misfit() && !interruption::is_requested() {
        let goes_on = || !interruption::is_requested();
        // Without limits the fit is none the worse.
        judge_one_sided(&problem, &file.parameters, file.settings(), &mut result, variance, &goes_on)
            .unwrap_or_else(|e| remark(format_args!("isobar: warning: no limits of parameters: {e}")));
    }
    let after = problem.errors(&result.values()).map_err(|e| failed(&e))?;
    // A few are enough: the windows of a recording are alike.
    for (name, warning) in problem.motion_warnings(&result.values()).map_err(|e| failed(&e))?.iter().take(10)
    {
        remark(format_args!("isobar: warning: {name}: {warning}"));
    }
    let profiles = match arguments.profiles && !interruption::is_requested() {
        true => followed(&problem, &file, &result)?,
        false => Vec::new(),
    };
    let report = FitReport {
        what_to_record: problem.what_to_record(&result.uncertainty.estimates),
        masses: problem.found_masses(&result.values()).map_err(|e| failed(&e))?,
        fit: result,
        units: problem.units(),
        starts: StartsReport::new(&problem),
        measurements_before: before,
        measurements_after: after,
        diagnostics,
        profiles,
    };
    // Whether it can be written or not, the result is printed.
    let mut written = arguments.out.as_ref().map_or(Ok(()), |path| write_result(path, &report));
    if let (Some(path), Ok(())) = (&arguments.record, &written) {
        let at = |values: &[f64]| problem.predictions(values).map_err(|e| failed(&e));
        let predictions = [at(&file.parameters.initial())?, at(&report.fit.values())?];
        written = write_page(path, &fit_page(&arguments.fit, &report, &predictions)).map_err(Error::from);
    }
    match arguments.json {
        true => print_json(&report)?,
        false => print_fit(&mut text_output(), &report)?,
    }
    written?;
    if interruption::is_requested() {
        let resume = if kept.is_some() { "; with --resume it goes on" } else { "" };
        return Err(Error::Interrupted(format!(
            "{}: the fit was stopped after {} iterations{resume}",
            arguments.fit.display(),
            report.fit.iterations
        )));
    }
    if report.fit.converged
        && report.fit.cost_after > UNMOVED * report.fit.cost_before
        && report.fit.uncertainty.is_misfit()
    {
        let how = "the fit has not left its start, and the model does not describe the data there";
        return Err(failed(&format_args!("{how}: {}", report.fit.termination)));
    }
    if report.fit.converged {
        kept.as_ref().map_or(Ok(()), KeptFits::end)
    } else {
        Err(failed(&format_args!("the fit did not converge: {}", report.fit.termination)))
    }
}

/// Tells what became of the starts of one of several jobs.
fn end_of_shard(
    arguments: &FitArguments,
    shard: Shard,
    outcomes: &[(usize, StartOutcome)],
) -> Result<(), Error> {
    let fit = arguments.fit.display();
    if interruption::is_requested() {
        let again = format!("--shard {shard} --resume goes on");
        return Err(Error::Interrupted(format!("{fit}: job {shard} was stopped; {again}")));
    }
    if arguments.json {
        return print_json(&outcomes.iter().map(|(_, outcome)| outcome).collect::<Vec<_>>());
    }
    let mut out = text_output();
    for (k, StartOutcome { cost, termination, .. }) in outcomes {
        writeln!(out, "{}", start_line(*k, *cost, termination))?;
    }
    let kept = arguments.out.as_deref().unwrap_or(Path::new("")).display();
    writeln!(out, "When all jobs have ended: isobar fit {fit} --out {kept} --resume")?;
    Ok(())
}

/// The profiles of a result.
fn followed(problem: &Identification, file: &FitFile, result: &Fit) -> Result<Vec<Profile>, Error> {
    let bar = of_parts(2 * file.parameters.len(), "sides of profiles");
    let found = profiles(problem, &file.parameters, file.settings(), result, || bar.inc(1));
    bar.finish_and_clear();
    match found {
        Ok(profiles) => Ok(profiles),
        // Without a level there are none, which does not make the fit worse.
        Err(error) => {
            remark(format_args!("isobar: warning: no profiles: {error}"));
            Ok(Vec::new())
        }
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
    let kept = kept_fits(arguments, arguments.out.iter().cloned().collect(), file)?;
    let comparison = compare(file, &arguments.fit, arguments.folds, kept.as_ref())?;
    let written = arguments.out.as_ref().map_or(Ok(()), |path| write_result(path, &comparison));
    match arguments.json {
        true => print_json(&comparison)?,
        false => print_comparison(&mut text_output(), &comparison)?,
    }
    written?;
    kept.as_ref().map_or(Ok(()), KeptFits::end)?;
    match comparison.recommended {
        Some(_) => Ok(()),
        None => Err(Error::Fit {
            path: arguments.fit.display().to_string(),
            message: "no model could be fitted and predict what was left out; the reasons are above".into(),
        }),
    }
}

/// What is kept of fits while they run, where there is an --out: of others before only with --resume. Files that will be
/// written are checked.
fn kept_fits(
    arguments: &FitArguments,
    mut outputs: Vec<PathBuf>,
    file: &FitFile,
) -> Result<Option<KeptFits>, Error> {
    let kept = arguments.out.as_deref().map(KeptFits::beside);
    outputs.extend(kept.iter().map(|kept| kept.path(&[0])));
    check_outputs(&outputs, &file.files()?)?;
    let count = file.settings().starts.count;
    if let Some(shard) = arguments.shard.filter(|shard| count < 2 || !(0..count).any(|k| shard.has(k))) {
        let allowed =
            format!("one of no more jobs than there are starts: {count}; `starts` in [solver] asks for more");
        return Err(Error::Value { name: "shard", found: shard.to_string(), allowed });
    }
    if let Some(kept) = kept.as_ref().filter(|_| !arguments.resume) {
        match arguments.shard {
            None => kept.remove()?,
            Some(shard) => {
                (0..count).filter(|k| shard.has(*k)).try_for_each(|k| kept.remove_at(&[k]))?;
            }
        }
    }
    Ok(kept)
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
