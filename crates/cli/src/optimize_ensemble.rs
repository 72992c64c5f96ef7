//! `isobar optimize` of a problem with controllers or an ensemble.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use isobar::argmin::core::CostFunction;
use serde::Serialize;

use super::messages::text_output;
use super::optimize_shared::{
    CostPart, OptimizeArguments, checkpoint_path, failed, next_command, remove, write_commands,
};
use super::outputs::{check_outputs, print_json, write_json};
use super::progress::{among_bars, several};
use super::run_folder::Run;
use super::{Error, print_motion_warnings};
use isobar::interruption;
use isobar::io::{CheckpointFile, OptimizedCommand, ProblemEnsemble, ProblemFile, write_atomically};
use isobar::optimize::checkpoint::ProblemCheckpoints;
use isobar::optimize::ensemble::{EnsembleProblem, SuccessRate, optimize_ensemble, success_rate};
use isobar::optimize::objective::Objective;
use isobar::optimize::trajectory::TrajectoryOptimum;
use isobar::parallel::in_parallel;
use isobar::rollout::ControlLaw;

/// The files of a result, besides its checkpoint.
const RESULTS: [&str; 4] = ["controllers.toml", "trajectory.csv", "result.json", "run.json"];

pub(super) type Problem<'e> = EnsembleProblem<'e, ControlLaw, Objective>;

/// A parameter that was optimized.
#[derive(Debug, Serialize)]
struct ParameterReport {
    name: String,
    start: f64,
    value: f64,
}

/// How the members of the test fared.
#[derive(Debug, Serialize)]
struct Outcome {
    /// Those that succeeded, where the file says what a success is.
    #[serde(skip_serializing_if = "Option::is_none")]
    success: Option<SuccessRate>,
    /// Mean cost of those that could be simulated.
    mean_cost: Option<f64>,
    /// Members that could not be simulated to the end.
    failed: usize,
}

/// The members of the test, before and after.
#[derive(Debug, Serialize)]
struct TestReport {
    members: usize,
    start: Outcome,
    end: Outcome,
}

/// The result, as printed.
#[derive(Debug, Serialize)]
struct EnsembleReport {
    /// What tells the problem from others.
    problem: String,
    /// Members that were optimized for.
    members: usize,
    cost_at_start: f64,
    /// The terms of the cost, their mean over the members.
    costs: Vec<CostPart>,
    commands: Vec<OptimizedCommand>,
    parameters: Vec<ParameterReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    test: Option<TestReport>,
    /// The command that shows why it did not converge, or goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_command: Option<String>,
    #[serde(flatten)]
    optimum: TrajectoryOptimum,
}

/// Optimizes, tries the result on the members of the test, writes and prints.
pub(super) fn run(
    file: &ProblemFile,
    ensemble: &ProblemEnsemble,
    arguments: &OptimizeArguments,
) -> Result<(), Error> {
    let problem = ensemble.problem();
    let variables = &ensemble.task.variables;
    let start = variables.from_values(&ensemble.start);
    // A motion that cannot be simulated is told before anything is written.
    let parts_at_start = mean_parts(file, &problem, &start)?;
    let cost_at_start = total_cost(file, &problem, &start)?;
    let digest = file.digest();
    if let Some(folder) = &arguments.out {
        fs::create_dir_all(folder)
            .map_err(|source| Error::Write { path: folder.display().to_string(), source })?;
        let results = RESULTS.iter().map(|name| folder.join(name));
        let mut inputs = file.scene.files.clone();
        inputs.push(file.path.clone());
        check_outputs(&results.chain([checkpoint_path(folder, 0)]).collect::<Vec<_>>(), &inputs)?;
    }
    let checkpoints = match &arguments.out {
        None => None,
        Some(folder) => {
            let path = checkpoint_path(folder, 0);
            if !arguments.resume {
                remove(&path).map_err(|error| failed(file, error.into()))?;
            }
            Some(ProblemCheckpoints { store: Arc::new(CheckpointFile { path }), problem: digest.clone() })
        }
    };
    let progress = Some(among_bars(file.settings.max_iterations, &several()));
    let optimum = optimize_ensemble(&problem, &ensemble.start, &file.settings, checkpoints, progress)
        .map_err(|error| failed(file, error))?;
    let parts = mean_parts(file, &problem, &optimum.variables)?;
    let test = (!ensemble.test.is_empty()).then(|| TestReport {
        members: ensemble.test.len(),
        start: outcome(ensemble, &start),
        end: outcome(ensemble, &optimum.variables),
    });
    let until = variables.end_time(&optimum.values).unwrap_or(file.until);
    let at_knots = variables.knot_values();
    let numbers = variables.numbers().zip(&ensemble.start[at_knots..]).zip(&optimum.values[at_knots..]);
    let parameters = numbers
        .map(|(((name, ..), &start), &value)| ParameterReport { name: name.to_owned(), start, value })
        .collect();
    let report = EnsembleReport {
        problem: digest,
        members: ensemble.training.len(),
        cost_at_start,
        costs: cost_parts(file, &problem, (&start, parts_at_start), (&optimum.variables, parts)),
        commands: file.commands_until(&optimum.values[..at_knots], until),
        parameters,
        test,
        next_command: next_command(&optimum, arguments),
        optimum,
    };
    let motion = problem.motion(&report.optimum.variables, 0).map_err(|error| failed(file, error))?;
    print_motion_warnings(&motion.warnings);
    if let Some(folder) = &arguments.out {
        write_results(file, ensemble, folder, &report)?;
        motion.trajectory.write(folder.join("trajectory.csv"), &ensemble.training[0].model)?;
        Run::write(folder, &file.path)?;
    }
    match arguments.json {
        true => print_json(&report)?,
        false => print_report(&mut text_output(), &report, (arguments.out.as_deref(), until))?,
    }
    let path = file.path.display().to_string();
    if interruption::is_requested() {
        let resume = if arguments.out.is_some() { "; with --resume it goes on" } else { "" };
        return Err(Error::Interrupted(format!(
            "{path}: the optimization was stopped after {} iterations{resume}",
            report.optimum.iterations
        )));
    }
    match report.next_command {
        None => Ok(()),
        Some(command) => Err(Error::NotConverged { path, termination: report.optimum.termination, command }),
    }
}

/// The cost of the ensemble.
fn total_cost(file: &ProblemFile, problem: &Problem, x: &[f64]) -> Result<f64, Error> {
    problem.cost(&x.to_vec()).map_err(|error| failed(file, error))
}

/// The terms of the cost at the start and at the end, that of time among them where the end is a variable.
fn cost_parts(
    file: &ProblemFile,
    problem: &Problem,
    (start, parts_at_start): (&[f64], Vec<f64>),
    (end, parts): (&[f64], Vec<f64>),
) -> Vec<CostPart> {
    let parts = file.cost_names.iter().zip(parts_at_start.into_iter().zip(parts));
    let mut all: Vec<CostPart> =
        parts.map(|(name, (start, end))| CostPart { name: name.clone(), start, end }).collect();
    if problem.task().variables.free_end().is_some_and(|end| end.weight > 0.0) {
        let of = |x: &[f64]| problem.cost_of_time(x)[0];
        all.push(CostPart { name: "time".to_owned(), start: of(start), end: of(end) });
    }
    all
}

/// The part of each term in the cost, its mean over the members.
pub(super) fn mean_parts(file: &ProblemFile, problem: &Problem, x: &[f64]) -> Result<Vec<f64>, Error> {
    let members = problem.members();
    let one = |i: usize| problem.at_moments(x, i, |moments| members[i].residuals.parts(moments));
    let mut mean = vec![0.0; file.cost_names.len()];
    for parts in in_parallel(0..members.len(), one) {
        let parts = parts.map_err(|error| failed(file, error))?;
        mean.iter_mut().zip(parts).for_each(|(sum, part)| *sum += part / members.len() as f64);
    }
    match mean.iter().position(|part| !part.is_finite()) {
        None => Ok(mean),
        Some(i) => {
            let message = format!(
                "the cost of `{}` is {}, not finite; its weight, its target or the motion is too large",
                file.cost_names[i], mean[i]
            );
            Err(Error::Optimization { path: file.path.display().to_string(), message })
        }
    }
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

/// Writes what can be simulated again, and the result.
fn write_results(
    file: &ProblemFile,
    ensemble: &ProblemEnsemble,
    folder: &Path,
    report: &EnsembleReport,
) -> Result<(), Error> {
    let mut parameters = ensemble.task.parameters.clone();
    ensemble.task.variables.put_parameters(&report.optimum.values, &mut parameters);
    let controllers = file.scene.controllers_text(&parameters).map_err(|error| Error::Optimization {
        path: file.path.display().to_string(),
        message: format!("the controllers cannot be written: {error}"),
    })?;
    let write = |name: &str, text: &dyn Fn(&mut dyn Write) -> std::io::Result<()>| {
        let path = folder.join(name);
        write_atomically::<std::io::Error>(&path, |out| text(out))
            .map_err(|source| Error::Write { path: path.display().to_string(), source })
    };
    let variables = &ensemble.task.variables;
    let design = ensemble.design_names.iter().zip(variables.design_values(&report.optimum.values));
    let design: Vec<(&str, f64)> =
        design.flat_map(|(names, value)| names.iter().map(|name| (name.as_str(), *value))).collect();
    write("controllers.toml", &|out| {
        // Before the first table, in which it would be otherwise.
        if controllers.is_empty() {
            writeln!(out, "controllers = []\n")?;
        }
        write_design(out, &design)?;
        write_commands(out, &report.commands)?;
        out.write_all(controllers.as_bytes())
    })?;
    write("result.json", &|out| write_json(out, report))
}

/// Parameters of the model, as the table of a file of controllers.
fn write_design(out: &mut dyn Write, design: &[(&str, f64)]) -> std::io::Result<()> {
    if design.is_empty() {
        return Ok(());
    }
    writeln!(out, "[model_parameters]")?;
    for (name, value) in design {
        writeln!(out, "{} = {value:?}", toml::Value::from(*name))?;
    }
    writeln!(out)
}

fn print_report(
    out: &mut dyn Write,
    report: &EnsembleReport,
    (folder, until): (Option<&Path>, f64),
) -> Result<(), Error> {
    let optimum = &report.optimum;
    writeln!(
        out,
        "{}: {} after {} iterations ({} rollouts, {} gradients of {} member{})",
        optimum.method.name(),
        optimum.termination,
        optimum.iterations,
        optimum.evaluations.rollouts,
        optimum.evaluations.gradients,
        report.members,
        if report.members == 1 { "" } else { "s" }
    )?;
    let names = report.costs.iter().map(|part| part.name.chars().count());
    let width =
        names.chain(report.parameters.iter().map(|p| p.name.chars().count())).fold("total".len(), usize::max);
    writeln!(out, "\n{:width$}  {:>13}  {:>13}", "cost", "start", "end")?;
    for CostPart { name, start, end } in &report.costs {
        writeln!(out, "{name:width$}  {start:>13.6e}  {end:>13.6e}")?;
    }
    writeln!(out, "{:width$}  {:>13.6e}  {:>13.6e}", "total", report.cost_at_start, optimum.cost)?;
    if !report.parameters.is_empty() {
        writeln!(out, "\n{:width$}  {:>13}  {:>13}", "parameter", "start", "end")?;
        for ParameterReport { name, start, value } in &report.parameters {
            writeln!(out, "{name:width$}  {start:>13.6}  {value:>13.6}")?;
        }
    }
    if let Some(TestReport { members, start, end }) = &report.test {
        writeln!(out, "\ntest of {members} other members")?;
        for (when, outcome) in [("start", start), ("end", end)] {
            write!(out, "{when:width$}")?;
            if let Some(SuccessRate { successes, trials, lower, upper }) = outcome.success {
                let (lower, upper) = (100.0 * lower, 100.0 * upper);
                write!(out, "  {successes} of {trials} succeed ({lower:.1} % to {upper:.1} %)")?;
            }
            if let Some(cost) = outcome.mean_cost {
                write!(out, "  mean cost {cost:.6e}")?;
            }
            if outcome.failed > 0 {
                write!(out, "  {} could not be simulated", outcome.failed)?;
            }
            writeln!(out)?;
        }
    }
    match folder.map(Path::display) {
        Some(folder) => writeln!(
            out,
            "\nwritten to {folder}: controllers.toml, trajectory.csv, result.json, run.json, checkpoint.json\n\
             to simulate with it: isobar simulate SCENE --until {until} --controller {folder}/controllers.toml"
        )?,
        None => writeln!(out, "\nto keep controllers, motion and result: --out FOLDER")?,
    }
    Ok(())
}
