//! `isobar report`: a motion to look at, from a scene and a trajectory, or from the folder of an
//! optimization.

use std::io::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::Args;

use super::messages::{remark, text_output};
use super::optimize_report::{CostPart, OptimizeReport, Outcome, ParameterReport, TestReport};
use super::optimized_problem::{failed, problem};
use super::outputs::check_outputs;
use super::recordings::{about, check_formats, command_line, have_plots, page, recorder, write_recordings};
use super::run_folder::{Run, read_json};
use super::{Error, load_scene, print_warnings};
use isobar::io::{OptimizedCommand, ProblemFile, Scene};
use isobar::rollout::Trajectory;
use isobar::spatial::SpatialForce;
use isobar_report::{Chart, Curve, CurveMode, Page, Recording, Table};

/// Arguments of `isobar report`.
#[derive(Debug, Args)]
pub(super) struct ReportArguments {
    /// Scene file, TOML or JSON (`-` for standard input), or the folder of results of `isobar optimize`
    #[arg(value_name = "SCENE|FOLDER")]
    of: PathBuf,
    /// The motion of a scene, CSV as `isobar simulate` writes it
    trajectory: Option<PathBuf>,
    /// File to write; can be repeated. The name tells the format: .html a page for a browser, .glb animated
    /// glTF, .pvd VTK. Without it report.html in the folder of an
    /// optimization
    #[arg(long, value_name = "FILE")]
    out: Vec<PathBuf>,
    /// Show every Nth state only, besides the first and the last
    #[arg(long, value_name = "N", default_value = "1")]
    every: NonZeroUsize,
    /// Show the motion after this iteration of an optimization instead of the one that it found: 0, the start, or
    /// one of 1, 2, 4, 8 and so on, whose commands are kept
    #[arg(long, value_name = "N", conflicts_with = "trajectory")]
    iteration: Option<u64>,
}

/// Reads, and writes.
pub(super) fn run(arguments: &ReportArguments) -> Result<(), Error> {
    let of_files: &dyn Fn(&[PathBuf]) -> Result<usize, Error> = match (
        arguments.of.is_dir(),
        &arguments.trajectory,
    ) {
        (true, None) => &|outputs| of_folder(arguments, &arguments.of, outputs),
        (false, _) if arguments.iteration.is_some() => {
            let scene = arguments.of.display();
            return Err(Error::Usage(format!(
                "{scene}: --iteration is for the folder of an optimization, and this is a file"
            )));
        }
        (false, Some(trajectory)) => &|outputs| of_scene(arguments, trajectory, outputs),
        (true, Some(trajectory)) => {
            return Err(Error::Usage(format!(
                "{}: a folder has its own trajectory; leave out `{}`",
                arguments.of.display(),
                trajectory.display()
            )));
        }
        (false, None) if !arguments.of.exists() => {
            let what = format!("{}: there is no such file or folder", arguments.of.display());
            return Err(Error::Usage(what));
        }
        (false, None) => {
            let scene = arguments.of.display();
            return Err(Error::Usage(format!(
                "{scene}: the motion of the scene is missing; write `isobar report {scene} TRAJECTORY`, with \
                 a TRAJECTORY as `isobar simulate {scene} --out TRAJECTORY` makes it, or name a folder of \
                 `isobar optimize --out`"
            )));
        }
    };
    let outputs = outputs(arguments)?;
    check_formats("out", &outputs)?;
    let frames = of_files(&outputs)?;
    let written: Vec<String> = outputs.iter().map(|path| path.display().to_string()).collect();
    writeln!(text_output(), "{frames} frames written to {}", written.join(", "))?;
    Ok(())
}

/// The files to write: without any a page in the folder of an optimization.
fn outputs(arguments: &ReportArguments) -> Result<Vec<PathBuf>, Error> {
    match (&arguments.out[..], arguments.of.is_dir()) {
        ([], true) => Ok(vec![arguments.of.join("report.html")]),
        ([], false) => {
            let scene = arguments.of.display();
            Err(Error::Usage(format!(
                "{scene}: the file to write is missing; add --out FILE, whose name ends in .html, .glb or .pvd"
            )))
        }
        (files, _) => Ok(files.to_vec()),
    }
}

/// The report of a scene's motion; the number of its frames.
fn of_scene(arguments: &ReportArguments, trajectory: &Path, outputs: &[PathBuf]) -> Result<usize, Error> {
    let scene = load_scene(&arguments.of)?;
    let inputs = [&scene.files[..], &[trajectory.to_owned()]].concat();
    check_outputs(outputs, &inputs)?;
    let recording = recording(&scene, trajectory, arguments.every)?;
    let of_file = ["trajectory".to_owned(), trajectory.display().to_string()];
    let about = about("scene", &scene.path, [of_file, ["command".to_owned(), command_line()]]);
    let page = Page { warnings: scene.warnings.clone(), ..page(&scene.path, about, Some(&recording)) };
    write_recordings(outputs, &page, &recording)?;
    Ok(recording.film.frames.len())
}

/// The report of an optimization; the number of its frames.
fn of_folder(arguments: &ReportArguments, folder: &Path, outputs: &[PathBuf]) -> Result<usize, Error> {
    let run = Run::read(folder)?;
    let file = ProblemFile::load(&run.problem)?;
    print_warnings(&file.scene.warnings);
    let result_file = folder.join("result.json");
    let result: OptimizeReport = read_json(&result_file)?;
    let mut warnings = file.scene.warnings.clone();
    if result.problem != file.digest() {
        let problem = run.problem.display();
        let told = format!(
            "{problem}: has changed since these results; what is shown of the problem is as it is now"
        );
        remark(format_args!("isobar: warning: {told}"));
        warnings.push(told);
    }
    let trajectory = folder.join("trajectory.csv");
    let inputs = [&file.scene.files[..], &[run.problem.clone(), result_file, trajectory.clone()]].concat();
    check_outputs(outputs, &inputs)?;
    let recording = match arguments.iteration {
        None => recording(&file.scene, &trajectory, arguments.every)?,
        Some(number) => {
            file.scene.check_motion()?;
            let variables = variables_of(folder, &result, number)?;
            let motion = motion_under(&file, variables)?;
            recorded(&file.scene, &motion, &[], arguments.every)
        }
    };
    let shown = match arguments.iteration {
        None => "what the optimization found".to_owned(),
        Some(number) => format!("after iteration {number}"),
    };
    // Pages alone show it, beside another motion.
    let is_shown = have_plots(outputs) && arguments.iteration != Some(0);
    let start = is_shown.then(|| start_motion(&file)).flatten();
    let start = start.map(|motion| recorded(&file.scene, &motion, &[], arguments.every));
    let more = [
        ["scene", &file.scene.path.display().to_string()],
        ["motion", &shown],
        ["end", &result.optimum.termination],
        ["command", &run.command],
    ];
    let about = about("problem", &run.problem, more.map(|line| line.map(str::to_owned)));
    let page = Page {
        beside: start
            .as_ref()
            .map(|start| (start, [if arguments.iteration.is_some() { &shown } else { "found" }, "start"])),
        charts: charts(&file, &result)?,
        tables: tables(&result),
        warnings,
        ..page(&run.problem, about, Some(&recording))
    };
    write_recordings(outputs, &page, &recording)?;
    Ok(recording.film.frames.len())
}

/// The motion under these variables; of an ensemble that of its first member.
fn motion_under(file: &ProblemFile, variables: &[f64]) -> Result<Trajectory, Error> {
    let motion = problem(file)?.motion_of(0, variables).and_then(|motion| Ok(motion.completed()?));
    motion.map_err(|error| failed(file, error))
}

/// The motion that the optimization began from. `None` where it cannot be simulated.
fn start_motion(file: &ProblemFile) -> Option<Trajectory> {
    let start = problem(file).ok()?.shared_variables().from_values(file.whole_start());
    motion_under(file, &start).ok()
}

/// The motion of a trajectory file.
pub(super) fn recording(scene: &Scene, trajectory: &Path, every: NonZeroUsize) -> Result<Recording, Error> {
    scene.check_motion()?;
    let (motion, forces) = Trajectory::read_with_forces(trajectory, &scene.model)?;
    Ok(recorded(scene, &motion, &forces, every))
}

/// A motion to look at, of which every so many states are shown, the first and the last, with the forces of contact that
/// each has, or else those of the fields.
fn recorded(
    scene: &Scene,
    Trajectory { times, states }: &Trajectory,
    forces: &[Vec<SpatialForce>],
    every: NonZeroUsize,
) -> Recording {
    // The interval matters to those who simulate only: every frame here is asked for.
    let mut recorder = recorder(scene, 1.0);
    for (i, (time, state)) in times.iter().zip(states).enumerate() {
        if i % every == 0 || i + 1 == states.len() {
            recorder.add(*time, state);
            forces.get(i).into_iter().for_each(|forces| recorder.set_forces(forces));
        }
    }
    recorder.finish()
}

/// The variables that an iteration came to.
fn variables_of<'r>(folder: &Path, result: &'r OptimizeReport, number: u64) -> Result<&'r [f64], Error> {
    if result.optimum.history.last().is_some_and(|last| last.iteration == number) {
        return Ok(&result.optimum.variables);
    }
    let kept = || result.optimum.history.iter().filter(|iteration| !iteration.variables.is_empty());
    let found = kept().find(|iteration| iteration.iteration == number);
    found.map(|iteration| &iteration.variables[..]).ok_or_else(|| {
        let mut numbers: Vec<String> = kept()
            .chain(result.optimum.history.last())
            .map(|iteration| iteration.iteration.to_string())
            .collect();
        numbers.dedup();
        let folder = folder.display();
        Error::Usage(format!(
            "{folder}: has no commands of iteration {number}; it has those of {}",
            numbers.join(", ")
        ))
    })
}

/// The commands over time, those of the start, of a few iterations and those found, and the costs of the iterations.
fn charts(file: &ProblemFile, result: &OptimizeReport) -> Result<Vec<Chart>, Error> {
    let mut earlier = vec![("start".to_owned(), file.commands(file.whole_start()))];
    // The last one is what was found; the start may not be what iterations began from.
    let passed = result.optimum.history.len().saturating_sub(1);
    let problem = problem(file)?;
    let shared = problem.shared_variables();
    for iteration in
        result.optimum.history.iter().take(passed).filter(|i| i.iteration > 0 && !i.variables.is_empty())
    {
        // Those of a problem that has changed since may be of another number.
        if iteration.variables.len() == shared.count() {
            let values = shared.values(&iteration.variables);
            earlier.push((format!("after {}", iteration.iteration), file.commands(&values)));
        }
    }
    let curve = |name: &str, times: &[f64], values: &[f64], interpolation: &str| Curve {
        name: name.to_owned(),
        mode: if interpolation == "hold" { CurveMode::Steps } else { CurveMode::Lines },
        x: times.to_vec(),
        y: values.to_vec(),
        ..Curve::default()
    };
    let command = |found: &OptimizedCommand| {
        let mut curves = vec![curve("found", &found.times, &found.values, &found.interpolation)];
        curves.extend(earlier.iter().filter_map(|(name, commands)| {
            let own = commands.iter().find(|command| command.actuator == found.actuator)?;
            Some(curve(name, &own.times, &own.values, &own.interpolation))
        }));
        Chart {
            title: format!("Command of {}", found.actuator),
            axes: ["time, s", "command, unit of the actuator"].map(str::to_owned),
            is_over_time: true,
            curves,
            ..Chart::default()
        }
    };
    let x: Vec<f64> = result.optimum.history.iter().map(|iteration| iteration.iteration as f64).collect();
    let by_iteration = |title: &str, axis: &str, y: Vec<f64>| Chart {
        title: title.to_owned(),
        axes: ["iteration".to_owned(), axis.to_owned()],
        // Logarithms are of what is above 0.
        is_logarithmic: y.iter().all(|&y| y > 0.0 || y.is_nan()),
        curves: vec![Curve { x: x.clone(), ..curve(axis, &[], &y, "") }],
        ..Chart::default()
    };
    let mut charts: Vec<Chart> = result.commands.iter().map(command).collect();
    let costs = result.optimum.history.iter().map(|iteration| iteration.cost).collect();
    charts.push(by_iteration("Cost by iteration", "cost", costs));
    if result.optimum.history.iter().any(|iteration| iteration.gradient_norm.is_some()) {
        let norms = result.optimum.history.iter().map(|i| i.gradient_norm.unwrap_or(f64::NAN)).collect();
        charts.push(by_iteration("Gradient by iteration", "largest derivative that no bound holds", norms));
    }
    Ok(charts)
}

/// The terms of the cost, and of an ensemble the parameters and the members of the test.
fn tables(result: &OptimizeReport) -> Vec<Table> {
    let table = |title: &str, first: &str, rows: Vec<Vec<String>>| Table {
        title: title.to_owned(),
        is_result: true,
        columns: [first, "start", "end"].map(str::to_owned).to_vec(),
        rows,
    };
    let mut tables = vec![table("Costs", "cost", costs(result))];
    let parameters = result.parameters.as_deref().unwrap_or_default();
    if !parameters.is_empty() {
        let row = |ParameterReport { name, start, value }: &ParameterReport| {
            vec![name.clone(), format!("{start:.6e}"), format!("{value:.6e}")]
        };
        tables.push(table("Parameters", "parameter", parameters.iter().map(row).collect()));
    }
    if let Some(TestReport { start, end, .. }) = &result.test {
        let rate = |of: &Outcome| {
            of.success.as_ref().map_or("–".to_owned(), |s| format!("{} of {}", s.successes, s.trials))
        };
        let cost = |of: &Outcome| of.mean_cost.map_or("–".to_owned(), |cost| format!("{cost:.6e}"));
        let row = |name: &str, of: &dyn Fn(&Outcome) -> String| vec![name.to_owned(), of(start), of(end)];
        let rows = vec![
            row("success", &rate),
            row("mean cost", &cost),
            row("not simulated to the end", &|of| of.failed.to_string()),
        ];
        tables.push(table("Members that the optimization has not seen", "", rows));
    }
    tables
}

/// The terms of the cost, and their sum.
fn costs(result: &OptimizeReport) -> Vec<Vec<String>> {
    let total = |of: fn(&CostPart) -> f64| result.costs.iter().map(of).sum::<f64>();
    let all =
        CostPart { name: "total".to_owned(), start: total(|part| part.start), end: total(|part| part.end) };
    let row =
        |part: &CostPart| vec![part.name.clone(), format!("{:.6e}", part.start), format!("{:.6e}", part.end)];
    result.costs.iter().chain([&all]).map(row).collect()
}
