//! `isobar optimize`: commands of a scene's actuators from what its motion should be like. Problems with controllers or
//! ensembles are in `optimize_ensemble.rs`.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use serde::Serialize;

use super::loaded::of_kind;
use super::messages::text_output;
use super::optimize_shared::{
    CostPart, OptimizeArguments, check_folder, checkpoint_path, failed, next_command, remove, write_commands,
};
use super::outputs::{check_outputs, print_json, write_json};
use super::progress::{among_bars, several};
use super::run_folder::Run;
use super::{Error, optimize_ensemble, print_motion_warnings};
use isobar::interruption;
use isobar::io::reference::FileKind;
use isobar::io::{CheckpointFile, FileError, OptimizedCommand, ProblemFile, policy_tables, write_atomically};
use isobar::optimize::checkpoint::ProblemCheckpoints;
use isobar::optimize::constraints::Constraint;
use isobar::optimize::data::DataError;
use isobar::optimize::multi_start::lowest;
use isobar::optimize::objective::When;
use isobar::optimize::termination::Termination;
use isobar::optimize::trajectory::{
    ConstraintRound, ConstraintState, TrajectoryMethod, TrajectoryOptimum, TrajectoryProblem,
};
use isobar::parallel::in_parallel;

/// A constraint at the end.
#[derive(Debug, Serialize)]
struct ConstraintPart {
    name: String,
    /// The violation that is allowed.
    tolerance: f64,
    #[serde(flatten)]
    state: ConstraintState,
}

/// How one of several starts ended.
#[derive(Debug, Serialize)]
struct StartReport {
    cost: Option<f64>,
    iterations: Option<u64>,
    /// Why it stopped, or failed.
    termination: String,
}

/// The result, as printed.
#[derive(Debug, Serialize)]
struct OptimizeReport {
    /// What tells the problem from others.
    problem: String,
    cost_at_start: f64,
    costs: Vec<CostPart>,
    commands: Vec<OptimizedCommand>,
    /// The constraints, where there are any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    constraints: Vec<ConstraintPart>,
    /// The rounds of multipliers and penalties of the constraints.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    rounds: Vec<ConstraintRound>,
    /// Every start, where there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    starts: Vec<StartReport>,
    /// The command that shows why it did not converge, or goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_command: Option<String>,
    #[serde(flatten)]
    optimum: TrajectoryOptimum,
}

/// The files of a result, besides its checkpoints.
const RESULTS: [&str; 5] = ["commands.toml", "policy.json", "trajectory.csv", "result.json", "run.json"];

/// The problem of a file.
pub(super) type Problem<'f> = TrajectoryProblem<'f>;

/// Optimizes, writes and prints.
pub(super) fn run(arguments: &OptimizeArguments) -> Result<(), Error> {
    let path = &arguments.problem;
    let mut file = ProblemFile::load(path).map_err(|error| of_kind(path, FileKind::Problem, error))?;
    super::print_warnings(&file.scene.warnings);
    if let Some(iterations) = arguments.max_iterations {
        file.settings.max_iterations = iterations;
    }
    check_folder(arguments)?;
    if let Some(ensemble) = &file.ensemble {
        return optimize_ensemble::run(&file, ensemble, arguments);
    }
    let problem = problem(&file)?;
    let start = problem.variables(&file.start).map_err(|e| failed(&file, e))?;
    // A motion that cannot be simulated is told before anything is written.
    let (cost_at_start, parts_at_start) = cost_and_parts(&file, &problem, &start)?;
    let digest = file.digest();
    if let Some(folder) = &arguments.out {
        fs::create_dir_all(folder)
            .map_err(|source| Error::Write { path: folder.display().to_string(), source })?;
        let results = RESULTS.iter().map(|name| folder.join(name));
        let checkpoints = (0..file.start_count()).map(|k| checkpoint_path(folder, k));
        let mut inputs = file.scene.files.clone();
        inputs.push(file.path.clone());
        check_outputs(&results.chain(checkpoints).collect::<Vec<_>>(), &inputs)?;
    }
    let (starts, (optimum, rounds)) = optimize(&file, &problem, &digest, arguments)?;
    let (_, parts) = cost_and_parts(&file, &problem, &optimum.variables)?;
    let names = file.cost_names.iter().cloned();
    let costs = names.zip(parts_at_start.into_iter().zip(parts));
    let report = OptimizeReport {
        problem: digest,
        cost_at_start,
        costs: costs.map(|(name, (start, end))| CostPart { name, start, end }).collect(),
        commands: file.commands(&optimum.values),
        constraints: constraint_parts(&file, &rounds),
        rounds,
        starts,
        next_command: next_command(&optimum, arguments),
        optimum,
    };
    let warnings = problem.motion_warnings(&report.optimum.variables).map_err(|e| failed(&file, e))?;
    print_motion_warnings(&warnings);
    if let Some(warning) = lets_go(&file, &report) {
        super::print_warnings(&[warning]);
    }
    if let Some(folder) = &arguments.out {
        write_results(&file, &problem, folder, &report)?;
    }
    match arguments.json {
        true => print_json(&report)?,
        false => print_report(&mut text_output(), &report, arguments.out.as_deref())?,
    }
    if interruption::is_requested() {
        let path = file.path.display();
        let resume = if arguments.out.is_some() { "; with --resume it goes on" } else { "" };
        return Err(Error::Interrupted(format!(
            "{path}: the optimization was stopped after {} iterations{resume}",
            report.optimum.iterations
        )));
    }
    match report.next_command {
        None => Ok(()),
        Some(command) => Err(Error::NotConverged {
            path: file.path.display().to_string(),
            termination: report.optimum.termination,
            command,
        }),
    }
}

/// For so long after the end, in s, the motion is looked at,
const AFTER_END: f64 = 0.5;
/// and a term that costs so many times as much then is told.
const MUCH_MORE: f64 = 10.0;

/// What to say of a motion that does not last: which term of the cost grows soon after the end, with the last commands held.
fn lets_go(file: &ProblemFile, report: &OptimizeReport) -> Option<String> {
    let until = file.until + AFTER_END;
    let problem = file.problem_until(until).ok().filter(|_| file.hold == 0.0 && !file.controls.is_empty())?;
    let (_, later) = cost_and_parts(file, &problem, &report.optimum.variables).ok()?;
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

/// The problem of a file, which was checked when it was loaded.
pub(super) fn problem(file: &ProblemFile) -> Result<Problem<'_>, Error> {
    file.problem().map_err(|error| failed(file, error.into()))
}

/// The cost, and the part of each term in it.
fn cost_and_parts(file: &ProblemFile, problem: &Problem, x: &[f64]) -> Result<(f64, Vec<f64>), Error> {
    let parts = problem
        .at_moments(x, |moments| file.objective.parts(moments))
        .map_err(|error| failed(file, error))?;
    if let Some(i) = parts.iter().position(|part| !part.is_finite()) {
        let message = format!(
            "the cost of `{}` is {}, not finite; its weight, its target or the motion is too large",
            file.cost_names[i], parts[i]
        );
        return Err(Error::Optimization { path: file.path.display().to_string(), message });
    }
    Ok((parts.iter().sum(), parts))
}

/// What the constraints of a file came to in the last of the rounds.
fn constraint_parts(file: &ProblemFile, rounds: &[ConstraintRound]) -> Vec<ConstraintPart> {
    let states = rounds.last().map(|round| round.constraints.as_slice()).unwrap_or_default();
    let names = file.constraint_names.iter().zip(file.constraints.constraints());
    let parts = names.zip(states);
    let part = |((name, constraint), state): ((&String, &Constraint), &ConstraintState)| ConstraintPart {
        name: name.clone(),
        tolerance: constraint.tolerance,
        state: *state,
    };
    parts.map(part).collect()
}

/// An optimum, and the rounds of its constraints.
type Found = (TrajectoryOptimum, Vec<ConstraintRound>);

/// Optimizes from every start; what became of each, where there are several, and the best result.
fn optimize(
    file: &ProblemFile,
    problem: &Problem,
    digest: &str,
    arguments: &OptimizeArguments,
) -> Result<(Vec<StartReport>, Found), Error> {
    let starts = file.all_starts();
    let bars = several();
    let one = |(k, start): (usize, &Vec<f64>)| {
        let progress = Some(among_bars(file.settings.max_iterations, &bars));
        let checkpoints = match &arguments.out {
            None => None,
            Some(folder) => {
                let path = checkpoint_path(folder, k);
                if !arguments.resume {
                    remove(&path)?;
                }
                let problem = format!("{digest} {k}");
                Some(ProblemCheckpoints { store: Arc::new(CheckpointFile { path }), problem })
            }
        };
        file.optimize(&problem.separate(), start, checkpoints, progress)
    };
    let mut results = in_parallel(starts.iter().enumerate(), one);
    // A motion that keeps the constraints goes before one that does not.
    let costs = |wanted: fn(&TrajectoryOptimum) -> bool| {
        let cost = move |result: &Result<Found, _>| {
            result.as_ref().ok().filter(|(optimum, _)| wanted(optimum)).map(|(optimum, _)| optimum.cost)
        };
        results.iter().map(cost).collect::<Vec<_>>()
    };
    let is_feasible = |optimum: &TrajectoryOptimum| !matches!(optimum.ending, Termination::Infeasible { .. });
    let best = lowest(costs(is_feasible)).or_else(|| lowest(costs(|_| true)));
    // A checkpoint of something else is a mistake of the call, not of a start.
    let other = |error: &isobar::argmin::core::Error| error.is::<DataError>();
    let fatal = results.iter().position(|result| result.as_ref().err().is_some_and(other));
    let (Some(best), None) = (best, fatal) else {
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

fn start_report(result: &Result<Found, isobar::argmin::core::Error>) -> StartReport {
    match result {
        Ok((TrajectoryOptimum { cost, iterations, termination, .. }, _)) => {
            StartReport { cost: Some(*cost), iterations: Some(*iterations), termination: termination.clone() }
        }
        Err(error) => StartReport { cost: None, iterations: None, termination: error.to_string() },
    }
}

/// Whether a result has feedback gains: L-BFGS linearizes nothing, so that its memory need not hold that.
fn has_policy(report: &OptimizeReport) -> bool {
    report.optimum.method != TrajectoryMethod::Lbfgs
}

/// Writes the result's files.
fn write_results(
    file: &ProblemFile,
    problem: &Problem,
    folder: &Path,
    report: &OptimizeReport,
) -> Result<(), Error> {
    let write = |name: &str, text: &dyn Fn(&mut dyn Write) -> std::io::Result<()>| {
        let path = folder.join(name);
        write_atomically::<std::io::Error>(&path, |out| text(out))
            .map_err(|source| Error::Write { path: path.display().to_string(), source })
    };
    write("commands.toml", &|out| write_commands(out, &report.commands))?;
    write("result.json", &|out| write_json(out, report))?;
    if has_policy(report) {
        let policy = problem.policy(&report.optimum.variables).map_err(|e| failed(file, e))?;
        write("policy.json", &|out| write_json(out, &policy_tables(&policy, &file.controls)))?;
    } else {
        // That of another method would be taken for this result's.
        let path = folder.join("policy.json");
        remove(&path).map_err(|source| Error::Write { path: path.display().to_string(), source })?;
    }
    let x = &report.optimum.variables;
    let trajectory = problem.trajectory(x).map_err(|e| failed(file, e))?;
    trajectory.write(folder.join("trajectory.csv"), &file.scene.model)?;
    Run::write(folder, &file.path)
}

/// Prints the result for people.
fn print_report(out: &mut dyn Write, report: &OptimizeReport, folder: Option<&Path>) -> Result<(), Error> {
    let optimum = &report.optimum;
    for (k, start) in report.starts.iter().enumerate() {
        let cost = start.cost.map_or("-".to_owned(), |cost| format!("{cost:.6e}"));
        writeln!(out, "start {k}: cost {cost}, {}", start.termination)?;
    }
    writeln!(
        out,
        "{}: {} after {} iterations ({} rollouts, {} gradients, {} linearizations)",
        optimum.method.name(),
        optimum.termination,
        optimum.iterations,
        optimum.evaluations.rollouts,
        optimum.evaluations.gradients,
        optimum.evaluations.jacobians
    )?;
    let names = report.costs.iter().map(|part| part.name.chars().count());
    let width = names.fold("total".len(), usize::max);
    writeln!(out, "\n{:width$}  {:>13}  {:>13}", "cost", "start", "end")?;
    for CostPart { name, start, end } in &report.costs {
        writeln!(out, "{name:width$}  {start:>13.6e}  {end:>13.6e}")?;
    }
    let (start, end) = (report.cost_at_start, optimum.cost);
    writeln!(out, "{:width$}  {start:>13.6e}  {end:>13.6e}", "total")?;
    if !report.constraints.is_empty() {
        let names = report.constraints.iter().map(|part| part.name.chars().count());
        let width = names.fold("constraint".len(), usize::max);
        let titles = ["violation", "allowed", "multiplier", "penalty"];
        write!(out, "\n{:width$}", "constraint")?;
        titles.iter().try_for_each(|title| write!(out, "  {title:>13}"))?;
        writeln!(out)?;
        for ConstraintPart { name, tolerance, state } in &report.constraints {
            let ConstraintState { violation, multiplier, penalty, .. } = state;
            write!(out, "{name:width$}")?;
            [violation, tolerance, multiplier, penalty]
                .iter()
                .try_for_each(|x| write!(out, "  {x:>13.6e}"))?;
            writeln!(out)?;
        }
        let stationarity = report.rounds.last().map_or(0.0, |round| round.stationarity);
        writeln!(out, "{} rounds; gradient of the Lagrangian {stationarity:.2e}", report.rounds.len())?;
    }
    write!(out, "\n{:>10}", "t (s)")?;
    for command in &report.commands {
        write!(out, "  {:>12}", command.actuator)?;
    }
    writeln!(out)?;
    let times = report.commands.first().map_or(&[][..], |command| &command.times);
    for (i, time) in times.iter().enumerate() {
        write!(out, "{time:>10.4}")?;
        for command in &report.commands {
            write!(out, "  {:>12.6}", command.values[i])?;
        }
        writeln!(out)?;
    }
    if let Some(folder) = folder {
        let (folder, policy) = (folder.display(), if has_policy(report) { "policy.json, " } else { "" });
        writeln!(
            out,
            "\nwritten to {folder}: commands.toml, {policy}trajectory.csv, result.json, run.json, checkpoint.json\n\
             to look at it: isobar report {folder}"
        )?;
    } else {
        writeln!(out, "\nto keep commands, motion and result: --out FOLDER")?;
    }
    Ok(())
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
