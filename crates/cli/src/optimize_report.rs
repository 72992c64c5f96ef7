//! The result of `isobar optimize`: what is told of it, printed and written.

use std::io::Write;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Error;
use super::optimized_problem::{failed, remove};
use super::outputs::write_json;
use super::run_folder::Run;
use isobar::io::{OptimizedCommand, ProblemEnsemble, ProblemFile, policy_tables, write_atomically};
use isobar::optimize::ensemble::SuccessRate;
use isobar::optimize::trajectory::{ConstraintRound, ConstraintState, TrajectoryMethod, TrajectoryOptimum};
use isobar::rollout::Trajectory;

/// One term of the cost.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct CostPart {
    pub name: String,
    pub start: f64,
    pub end: f64,
}

/// A constraint at the end.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ConstraintPart {
    pub name: String,
    /// The violation that is allowed.
    pub tolerance: f64,
    #[serde(flatten)]
    pub state: ConstraintState,
}

/// How one of several starts ended.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct StartReport {
    pub cost: Option<f64>,
    pub iterations: Option<u64>,
    /// Why it stopped, or failed.
    pub termination: String,
}

/// A parameter that was optimized.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ParameterReport {
    pub name: String,
    pub start: f64,
    pub value: f64,
}

/// How the members of the test fared.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Outcome {
    /// Those that succeeded, where the file says what a success is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub success: Option<SuccessRate>,
    /// Mean cost of those that could be simulated.
    pub mean_cost: Option<f64>,
    /// Members that could not be simulated to the end.
    pub failed: usize,
}

/// The members of the test, before and after.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct TestReport {
    pub members: usize,
    pub start: Outcome,
    pub end: Outcome,
}

/// The result, as printed. What belongs to an ensemble, to constraints or to several starts is left out of others.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct OptimizeReport {
    /// What tells the problem from others.
    pub problem: String,
    /// Members that were optimized for, of an ensemble.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub members: Option<usize>,
    pub cost_at_start: f64,
    /// The terms of the cost, of an ensemble their mean over the members.
    pub costs: Vec<CostPart>,
    pub commands: Vec<OptimizedCommand>,
    /// All else that was optimized, of an ensemble.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameters: Option<Vec<ParameterReport>>,
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub constraints: Vec<ConstraintPart>,
    /// The rounds of multipliers and penalties of the constraints.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub rounds: Vec<ConstraintRound>,
    /// Every start, where there are several.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub starts: Vec<StartReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test: Option<TestReport>,
    /// The command that shows why it did not converge, or goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_command: Option<String>,
    #[serde(flatten)]
    pub optimum: TrajectoryOptimum,
}

/// The files of a result, besides its checkpoints.
pub(super) fn result_files(file: &ProblemFile) -> &'static [&'static str] {
    match file.ensemble {
        None => &["commands.toml", "policy.json", "trajectory.csv", "result.json", "run.json"],
        Some(_) => &["controllers.toml", "trajectory.csv", "result.json", "run.json"],
    }
}

/// Whether a result has feedback gains: L-BFGS linearizes nothing, so that its memory need not hold that.
fn has_policy(report: &OptimizeReport) -> bool {
    report.optimum.method != TrajectoryMethod::Lbfgs
}

/// Writes what can be simulated again, the motion and the result.
pub(super) fn write_results(
    file: &ProblemFile,
    trajectory: &Trajectory,
    folder: &Path,
    report: &OptimizeReport,
) -> Result<(), Error> {
    let write = |name: &str, text: &dyn Fn(&mut dyn Write) -> std::io::Result<()>| {
        let path = folder.join(name);
        write_atomically::<std::io::Error>(&path, |out| text(out))
            .map_err(|source| Error::Write { path: path.display().to_string(), source })
    };
    match &file.ensemble {
        None => write("commands.toml", &|out| write_commands(out, &report.commands))?,
        Some(ensemble) => {
            let controllers = controllers(file, ensemble, report)?;
            write("controllers.toml", &|out| out.write_all(&controllers))?;
        }
    }
    write("result.json", &|out| write_json(out, report))?;
    match &file.ensemble {
        None if has_policy(report) => {
            let policy = || file.problem()?.policy(&report.optimum.variables);
            let policy = policy().map_err(|e| failed(file, e))?;
            write("policy.json", &|out| write_json(out, &policy_tables(&policy, &file.controls)))?;
        }
        None => {
            // That of another method would be taken for this result's.
            let path = folder.join("policy.json");
            remove(&path).map_err(|source| Error::Write { path: path.display().to_string(), source })?;
        }
        Some(_) => {}
    }
    let model = file.ensemble.as_ref().map_or(&file.scene.model, |ensemble| &ensemble.training[0].model);
    trajectory.write(folder.join("trajectory.csv"), model)?;
    Run::write(folder, &file.path)
}

/// The design, commands and controllers that were found, as a file of controllers.
fn controllers(
    file: &ProblemFile,
    ensemble: &ProblemEnsemble,
    report: &OptimizeReport,
) -> Result<Vec<u8>, Error> {
    let (variables, values) = (&ensemble.task.variables, &report.optimum.values);
    let mut parameters = ensemble.task.parameters.clone();
    variables.put_parameters(values, &mut parameters);
    let controllers = file.scene.controllers_text(&parameters).map_err(|error| Error::Optimization {
        path: file.path.display().to_string(),
        message: format!("the controllers cannot be written: {error}"),
    })?;
    let design = ensemble.design_names.iter().zip(variables.design_values(values));
    let design: Vec<(&str, f64)> =
        design.flat_map(|(names, value)| names.iter().map(|name| (name.as_str(), *value))).collect();
    let mut out = Vec::new();
    // Before the first table, in which it would be otherwise.
    if controllers.is_empty() {
        writeln!(out, "controllers = []\n")?;
    }
    write_design(&mut out, &design)?;
    write_commands(&mut out, &report.commands)?;
    out.extend(controllers.into_bytes());
    Ok(out)
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

/// The commands, as they stand in the actuator tables of a scene.
fn write_commands(out: &mut dyn Write, commands: &[OptimizedCommand]) -> std::io::Result<()> {
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

/// What became of a start with a number.
pub(super) fn start_line(number: usize, cost: Option<f64>, termination: &str) -> String {
    let cost = cost.map_or("-".to_owned(), |cost| format!("{cost:.6e}"));
    format!("start {number}: cost {cost}, {termination}")
}

/// Prints the result for people.
pub(super) fn print_report(
    out: &mut dyn Write,
    report: &OptimizeReport,
    folder: Option<&Path>,
) -> Result<(), Error> {
    let optimum = &report.optimum;
    for (k, start) in report.starts.iter().enumerate() {
        writeln!(out, "{}", start_line(k, start.cost, &start.termination))?;
    }
    let evaluations = &optimum.evaluations;
    writeln!(
        out,
        "{}: {} after {} iterations ({} rollouts, {} gradients{})",
        optimum.method.name(),
        optimum.termination,
        optimum.iterations,
        evaluations.rollouts,
        evaluations.gradients,
        match report.members {
            None => format!(", {} linearizations", evaluations.jacobians),
            Some(members) => format!(" of {members} member{}", if members == 1 { "" } else { "s" }),
        }
    )?;
    let parameters = report.parameters.as_deref().unwrap_or_default();
    let names = report.costs.iter().map(|part| &part.name).chain(parameters.iter().map(|p| &p.name));
    let width = names.map(|name| name.chars().count()).fold("total".len(), usize::max);
    writeln!(out, "\n{:width$}  {:>13}  {:>13}", "cost", "start", "end")?;
    for CostPart { name, start, end } in &report.costs {
        writeln!(out, "{name:width$}  {start:>13.6e}  {end:>13.6e}")?;
    }
    let (start, end) = (report.cost_at_start, optimum.cost);
    writeln!(out, "{:width$}  {start:>13.6e}  {end:>13.6e}", "total")?;
    if !parameters.is_empty() {
        writeln!(out, "\n{:width$}  {:>13}  {:>13}", "parameter", "start", "end")?;
        for ParameterReport { name, start, value } in parameters {
            writeln!(out, "{name:width$}  {start:>13.6}  {value:>13.6}")?;
        }
    }
    if !report.constraints.is_empty() {
        print_constraints(out, report)?;
    }
    if let Some(test) = &report.test {
        print_test(out, test, width)?;
    }
    if report.members.is_none() {
        print_commands(out, &report.commands)?;
    }
    let policy = if has_policy(report) { "policy.json, " } else { "" };
    let rest = "trajectory.csv, result.json, run.json, checkpoint.json";
    let what = if report.members.is_none() { "commands" } else { "controllers" };
    match folder.map(Path::display) {
        Some(folder) => writeln!(
            out,
            "\nwritten to {folder}: {what}.toml, {policy}{rest}\nto look at it: isobar report {folder}"
        )?,
        None => writeln!(out, "\nto keep {what}, motion and result: --out FOLDER")?,
    }
    Ok(())
}

fn print_constraints(out: &mut dyn Write, report: &OptimizeReport) -> Result<(), Error> {
    let names = report.constraints.iter().map(|part| part.name.chars().count());
    let width = names.fold("constraint".len(), usize::max);
    let titles = ["violation", "allowed", "multiplier", "penalty"];
    write!(out, "\n{:width$}", "constraint")?;
    titles.iter().try_for_each(|title| write!(out, "  {title:>13}"))?;
    writeln!(out)?;
    for ConstraintPart { name, tolerance, state } in &report.constraints {
        let ConstraintState { violation, multiplier, penalty, .. } = state;
        write!(out, "{name:width$}")?;
        [violation, tolerance, multiplier, penalty].iter().try_for_each(|x| write!(out, "  {x:>13.6e}"))?;
        writeln!(out)?;
    }
    let stationarity = report.rounds.last().map_or(0.0, |round| round.stationarity);
    writeln!(out, "{} rounds; gradient of the Lagrangian {stationarity:.2e}", report.rounds.len())?;
    Ok(())
}

/// Below this part of successes in the test something is advised.
const ROBUST: f64 = 0.9;

fn print_test(out: &mut dyn Write, test: &TestReport, width: usize) -> Result<(), Error> {
    let TestReport { members, start, end } = test;
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
    let is_robust = |found: &SuccessRate| found.successes as f64 >= ROBUST * found.trials as f64;
    if end.success.as_ref().is_some_and(|found| !is_robust(found)) {
        writeln!(
            out,
            "those that fail are unlike the members that were optimized for: more `members`, or `risk = \"worst\"`, in [ensemble]"
        )?;
    }
    Ok(())
}

/// The commands over time, as a table.
fn print_commands(out: &mut dyn Write, commands: &[OptimizedCommand]) -> Result<(), Error> {
    write!(out, "\n{:>10}", "t (s)")?;
    for command in commands {
        write!(out, "  {:>12}", command.actuator)?;
    }
    writeln!(out)?;
    let times = commands.first().map_or(&[][..], |command| &command.times);
    for (i, time) in times.iter().enumerate() {
        write!(out, "{time:>10.4}")?;
        for command in commands {
            write!(out, "  {:>12.6}", command.values[i])?;
        }
        writeln!(out)?;
    }
    Ok(())
}
