//! `isobar optimize`: commands, controllers and designs from what the motions of a scene should be like.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use super::loaded::of_kind;
use super::messages::text_output;
use super::optimize_ending::{advice, next_command};
use super::optimize_report::{
    ConstraintPart, CostPart, OptimizeReport, Outcome, ParameterReport, StartReport, TestReport,
    print_report, result_files, start_line, write_results,
};
use super::optimized_problem::{failed, parts, problem, remove};
use super::outputs::{check_outputs, print_json};
use super::progress::{among_bars, several};
use super::shard::Shard;
use super::{Error, print_motion_warnings};
use isobar::input_file::is_standard_input;
use isobar::interruption;
use isobar::io::reference::FileKind;
use isobar::io::{CheckpointFile, ProblemEnsemble, ProblemFile, best_optimum};
use isobar::optimize::checkpoint::ProblemCheckpoints;
use isobar::optimize::constraints::Constraint;
use isobar::optimize::data::DataError;
use isobar::optimize::ensemble::success_rate;
use isobar::optimize::objective::When;
use isobar::optimize::trajectory::{ConstraintRound, ConstraintState, OptimizedProblem, TrajectoryOptimum};
use isobar::parallel::in_parallel;

/// Arguments of `isobar optimize`.
#[derive(Debug, Args)]
pub(super) struct OptimizeArguments {
    /// Problem file, TOML or JSON; `-` for standard input, without --out
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
    /// Of the file's starts only those of one of several jobs: with 2/4 the second, the sixth and so on. They are kept in the
    /// folder. When all jobs have ended, the same command with --resume and without this takes the best
    #[arg(long, requires = "out", value_name = "K/N")]
    pub shard: Option<Shard>,
    /// Most iterations, instead of those of the file
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    pub max_iterations: Option<u64>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// Optimizes, tries the result on the members of a test, writes and prints.
pub(super) fn run(arguments: &OptimizeArguments) -> Result<(), Error> {
    check_folder(arguments)?;
    let path = &arguments.problem;
    let mut file = ProblemFile::load(path).map_err(|error| of_kind(path, FileKind::Problem, error))?;
    super::print_warnings(&file.scene.warnings);
    if let Some(iterations) = arguments.max_iterations {
        file.settings.max_iterations = iterations;
    }
    let problem = &*problem(&file)?;
    let start = problem.shared_variables().from_values(file.whole_start());
    // A motion that cannot be simulated is told before anything is written.
    let parts_at_start = parts(&file, problem, &start)?;
    // That of an ensemble is what its risk makes of the members' costs.
    let cost_at_start = match &file.ensemble {
        None => parts_at_start.iter().sum(),
        Some(_) => problem.cost_at(&start).map_err(|error| failed(&file, error))?,
    };
    let (digest, starts) = (file.digest(), own_starts(&file, problem, arguments)?);
    if let Some(folder) = &arguments.out {
        fs::create_dir_all(folder)
            .map_err(|source| Error::Write { path: folder.display().to_string(), source })?;
        let results = result_files(&file).iter().map(|name| folder.join(name));
        let checkpoints = starts.iter().map(|(k, _)| checkpoint_path(folder, *k));
        let mut inputs = file.scene.files.clone();
        inputs.push(file.path.clone());
        check_outputs(&results.chain(checkpoints).collect::<Vec<_>>(), &inputs)?;
    }
    let results = optimize(&file, (problem, &starts), &digest, arguments);
    if let Some(shard) = arguments.shard {
        return end_of_shard(&file, (shard, arguments), &starts, results);
    }
    let (starts, (optimum, rounds)) = best(&file, results)?;
    let parts = parts(&file, problem, &optimum.variables)?;
    let names = file.cost_names.iter().cloned().chain(["time".to_owned()]);
    let costs = names.zip(parts_at_start.into_iter().zip(parts));
    let ensemble = file.ensemble.as_ref();
    // From now on nothing is done that takes long and is not asked for any more.
    let is_stopped = interruption::is_requested();
    let report = OptimizeReport {
        problem: digest,
        members: ensemble.map(|ensemble| ensemble.training.len()),
        cost_at_start,
        costs: costs.map(|(name, (start, end))| CostPart { name, start, end }).collect(),
        commands: file.commands(&optimum.values),
        parameters: ensemble.map(|ensemble| parameters(ensemble, &optimum)),
        constraints: constraint_parts(&file, &rounds),
        rounds,
        starts,
        test: ensemble.filter(|ensemble| !is_stopped && !ensemble.test.is_empty()).map(|ensemble| {
            TestReport {
                members: ensemble.test.len(),
                start: outcome(ensemble, &start),
                end: outcome(ensemble, &optimum.variables),
            }
        }),
        next_command: next_command(&optimum, (&arguments.problem, arguments.out.as_deref())),
        optimum,
    };
    let motion = problem.motion_of(0, &report.optimum.variables).map_err(|error| failed(&file, error))?;
    print_motion_warnings(&motion.warnings);
    if let Some(warning) = (!is_stopped).then(|| lets_go(&file, &report)).flatten() {
        super::print_warnings(&[warning]);
    }
    if let Some(folder) = &arguments.out {
        write_results(&file, &motion.trajectory, folder, &report)?;
    }
    match arguments.json {
        true => print_json(&report)?,
        false => print_report(&mut text_output(), &report, arguments.out.as_deref())?,
    }
    let path = file.path.display().to_string();
    let OptimizeReport { optimum, next_command, .. } = report;
    if optimum.converged {
        return match is_stopped {
            false => Ok(()),
            true => Err(Error::Interrupted(format!("{path}: stopped, after the optimization had converged"))),
        };
    }
    if interruption::is_requested() {
        let resume = if arguments.out.is_some() { "; with --resume it goes on" } else { "" };
        let iterations = optimum.iterations;
        return Err(Error::Interrupted(format!(
            "{path}: the optimization was stopped after {iterations} iterations{resume}"
        )));
    }
    let advice = advice(&optimum.ending, next_command.as_deref());
    Err(Error::NotConverged { path, termination: optimum.termination, advice })
}

/// For so long after the end, in s, the motion is looked at,
const AFTER_END: f64 = 0.5;
/// and a term that costs so many times as much then is told.
const MUCH_MORE: f64 = 10.0;

/// What to say of a motion that does not last: which term of the cost grows soon after the end, with the last commands held.
fn lets_go(file: &ProblemFile, report: &OptimizeReport) -> Option<String> {
    let until = file.until + AFTER_END;
    let is_asked = file.ensemble.is_none() && file.hold == 0.0 && !file.controls.is_empty();
    let problem = file.problem_until(until).ok().filter(|_| is_asked)?;
    let later = parts(file, &problem, &report.optimum.variables).ok()?;
    let terms = file.objective.terms().iter().zip(report.costs.iter().zip(later));
    let mut grown = terms.filter(|(term, (part, later))| {
        let before = part.end.max(report.optimum.cost);
        match term.when {
            When::End => *later > MUCH_MORE * before,
            // Per second.
            When::Running => (later - part.end) / AFTER_END > MUCH_MORE * before / file.until,
        }
    });
    let (_, (CostPart { name, end, .. }, later)) = grown.next()?;
    Some(format!(
        "warning: {}: `{name}` costs {end:.2e} to the end, and {later:.2e} if the motion goes on to {until} s with the commands \
         that it ends with; with `hold = {AFTER_END}` the optimization counts what comes then",
        file.path.display()
    ))
}

/// What became of all that is not at knots.
fn parameters(ensemble: &ProblemEnsemble, optimum: &TrajectoryOptimum) -> Vec<ParameterReport> {
    let variables = &ensemble.task.variables;
    let values = ensemble.start.iter().zip(&optimum.values).skip(variables.knot_values());
    let of = |((name, ..), (&start, &value)): ((&str, _, _), (&f64, &f64))| ParameterReport {
        name: name.to_owned(),
        start,
        value,
    };
    variables.numbers().zip(values).map(of).collect()
}

/// How the members of the test fare.
fn outcome(ensemble: &ProblemEnsemble, x: &[f64]) -> Outcome {
    let problem = ensemble.test_problem();
    let has_success = ensemble.success.iter().any(|success| !success.terms().is_empty());
    let one = |i: usize| {
        let (member, success) = (&ensemble.test[i], &ensemble.success[i]);
        let found = problem.at_moments(x, i, |moments| {
            let cost: f64 = member.residuals.parts(moments).iter().sum();
            (success.parts(moments).iter().all(|part| *part == 0.0), cost)
        });
        found.ok().filter(|(_, cost)| cost.is_finite())
    };
    let found: Vec<Option<(bool, f64)>> = in_parallel(0..ensemble.test.len(), one);
    let (trials, simulated) = (found.len(), found.iter().flatten().count());
    let successes = found.iter().flatten().filter(|(success, _)| *success).count();
    let sum: f64 = found.iter().flatten().map(|(_, cost)| cost).sum();
    Outcome {
        success: has_success.then(|| success_rate(successes, trials)),
        mean_cost: (simulated > 0).then(|| sum / simulated as f64),
        failed: trials - simulated,
    }
}

/// What the constraints of a file came to in the last of the rounds.
fn constraint_parts(file: &ProblemFile, rounds: &[ConstraintRound]) -> Vec<ConstraintPart> {
    let states = rounds.last().into_iter().flat_map(|round| &round.constraints);
    let parts = file.constraint_names.iter().zip(file.constraints.constraints()).zip(states);
    let part = |((name, constraint), state): ((&String, &Constraint), &ConstraintState)| ConstraintPart {
        name: name.clone(),
        tolerance: constraint.tolerance,
        state: *state,
    };
    parts.map(part).collect()
}

/// An optimum, and the rounds of its constraints.
type Found = (TrajectoryOptimum, Vec<ConstraintRound>);

/// What became of a start.
type Outcomes = Vec<Result<Found, isobar::argmin::core::Error>>;

/// The starts of a file, each with its number, from 0: those of a job, or all.
fn own_starts(
    file: &ProblemFile,
    problem: &dyn OptimizedProblem,
    arguments: &OptimizeArguments,
) -> Result<Vec<(usize, Vec<f64>)>, Error> {
    let all = file.all_starts(problem.shared_variables());
    let (count, mut starts) = (all.len(), all.into_iter().enumerate().collect::<Vec<_>>());
    let (Some(shard), Some(folder)) = (arguments.shard, &arguments.out) else { return Ok(starts) };
    starts.retain(|(k, _)| shard.has(*k));
    if starts.is_empty() {
        let allowed = format!(
            "one of no more jobs than there are starts: {count}; `starts` in [optimizer] asks for more"
        );
        return Err(Error::Value { name: "shard", found: shard.to_string(), allowed });
    }
    let is_anew = !arguments.resume && !arguments.force;
    match starts.iter().map(|(k, _)| checkpoint_path(folder, *k)).find(|path| is_anew && path.exists()) {
        Some(path) => Err(has_results(&path)),
        None => Ok(starts),
    }
}

/// Optimizes from starts, each with its number.
fn optimize(
    file: &ProblemFile,
    (problem, starts): (&dyn OptimizedProblem, &[(usize, Vec<f64>)]),
    digest: &str,
    arguments: &OptimizeArguments,
) -> Outcomes {
    let bars = several();
    let first = problem.evaluations();
    let one = |(k, start): &(usize, Vec<f64>)| {
        let checkpoints = match &arguments.out {
            None => None,
            Some(folder) => {
                let path = checkpoint_path(folder, *k);
                if !arguments.resume {
                    remove(&path)?;
                }
                let problem = match (k, &file.ensemble) {
                    (0, Some(_)) => digest.to_owned(),
                    _ => format!("{digest} {k}"),
                };
                Some(ProblemCheckpoints { store: Arc::new(CheckpointFile { path }), problem })
            }
        };
        // Every start counts its own evaluations, and the first of an ensemble also those that the start took.
        let before = match (k, &file.ensemble) {
            (0, Some(_)) => first,
            _ => Default::default(),
        };
        let progress = among_bars(file.settings.max_iterations, &bars);
        file.optimize(start, before, checkpoints, Some(progress))
    };
    in_parallel(starts, one)
}

/// A checkpoint of something else: a mistake of the call, not of a start.
fn fatal(results: &Outcomes) -> Option<usize> {
    let other = |error: &isobar::argmin::core::Error| error.is::<DataError>();
    results.iter().position(|result| result.as_ref().err().is_some_and(other))
}

/// What became of each start, where there are several, and the best result.
fn best(file: &ProblemFile, mut results: Outcomes) -> Result<(Vec<StartReport>, Found), Error> {
    let fatal = fatal(&results);
    let (Some(best), None) = (best_optimum(&results), fatal) else {
        let first = results.swap_remove(fatal.unwrap_or(0));
        return Err(match first {
            Err(error) => failed(file, error),
            // A cost that is NaN.
            Ok((optimum, _)) => failed(file, isobar::argmin::core::Error::msg(optimum.termination)),
        });
    };
    let reports = match results.len() {
        1 => Vec::new(),
        _ => results.iter().map(start_report).collect(),
    };
    results.swap_remove(best).map(|found| (reports, found)).map_err(|error| failed(file, error))
}

/// Tells what became of the starts of one of several jobs, which are kept: one that fails is told again with all others.
fn end_of_shard(
    file: &ProblemFile,
    (shard, arguments): (Shard, &OptimizeArguments),
    starts: &[(usize, Vec<f64>)],
    mut results: Outcomes,
) -> Result<(), Error> {
    if let Some(fatal) = fatal(&results) {
        return results.swap_remove(fatal).map(|_| ()).map_err(|error| failed(file, error));
    }
    let reports: Vec<StartReport> = results.iter().map(start_report).collect();
    let problem = arguments.problem.display();
    if interruption::is_requested() {
        let again = format!("--shard {shard} --resume goes on");
        return Err(Error::Interrupted(format!("{problem}: job {shard} was stopped; {again}")));
    }
    if arguments.json {
        return print_json(&reports);
    }
    let mut out = text_output();
    for ((k, _), report) in starts.iter().zip(&reports) {
        writeln!(out, "{}", start_line(*k, report.cost, &report.termination))?;
    }
    let folder = arguments.out.as_deref().unwrap_or(Path::new("")).display();
    writeln!(out, "When all jobs have ended: isobar optimize {problem} --out {folder} --resume")?;
    Ok(())
}

fn start_report(result: &Result<Found, isobar::argmin::core::Error>) -> StartReport {
    let found = result.as_ref().map(|(optimum, _)| optimum);
    StartReport {
        cost: found.ok().map(|optimum| optimum.cost),
        iterations: found.ok().map(|optimum| optimum.iterations),
        termination: found.map_or_else(ToString::to_string, |optimum| optimum.termination.clone()),
    }
}

/// Checks that the folder has no results yet, which took long to compute, unless the call says what becomes of them.
fn check_folder(arguments: &OptimizeArguments) -> Result<(), Error> {
    if arguments.out.is_some() && is_standard_input(&arguments.problem) {
        let what = "standard input: results are of a file that they name; write the problem into one, or leave out --out";
        return Err(Error::Usage(what.to_owned()));
    }
    if arguments.out.as_deref() == Some(Path::new("-")) {
        let what = "--out -: results are files in a folder; --json prints them on standard output";
        return Err(Error::Usage(what.to_owned()));
    }
    let folder = arguments.out.as_ref().filter(|_| !arguments.resume && !arguments.force);
    // Of checkpoints a job looks for its own.
    let names = match arguments.shard {
        None => &["result.json", "checkpoint.json"][..],
        Some(_) => &["result.json"],
    };
    let has = |folder: &PathBuf| names.iter().map(|name| folder.join(name)).find(|path| path.exists());
    match folder.and_then(has) {
        Some(path) => Err(has_results(&path)),
        None => Ok(()),
    }
}

fn has_results(path: &Path) -> Error {
    let part = |part: Option<&std::ffi::OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
    let folder = part(path.parent().map(Path::as_os_str));
    Error::Usage(format!(
        "{folder}: has results already ({}); --resume goes on from them, --force begins anew and replaces them",
        part(path.file_name())
    ))
}

/// The checkpoint of one of the starts.
fn checkpoint_path(folder: &Path, start: usize) -> PathBuf {
    match start {
        0 => folder.join("checkpoint.json"),
        k => folder.join(format!("checkpoint_{k}.json")),
    }
}
