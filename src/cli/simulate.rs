//! `isobar simulate`: a scene's motion, as a trajectory file.

mod rows;
mod summary;

use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::PathBuf;

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};

use super::loaded::print_loaded;
use super::outputs::check_outputs;
use super::{Error, load_scene, print_motion_warnings};
use crate::interruption;
use crate::io::Scene;
use crate::rollout::{
    DiscretizationError, MotionWarning, SimulationError, SimulationSettings, StepSchedule, Streamed, Watch,
    discretization_errors, simulate_streaming,
};
use rows::Rows;
use summary::Summary;

/// Arguments of `isobar simulate`.
#[derive(Debug, Args)]
pub(super) struct SimulateArguments {
    /// Scene file, TOML or JSON
    scene: PathBuf,
    /// End of the simulation, s
    #[arg(long)]
    until: f64,
    /// Trajectory file to write, CSV; `-` for standard output, with the summary on standard error.
    /// Without it only the summary is printed
    #[arg(long)]
    out: Option<PathBuf>,
    /// Write every Nth state only, besides the first and the last
    #[arg(long, value_name = "N", default_value = "1")]
    every: NonZeroUsize,
    /// Commands of actuators, TOML as `isobar optimize` writes it, in place of those of the scene
    #[arg(long, value_name = "FILE")]
    commands: Option<PathBuf>,
    /// Also write the contact wrench of each pair of bodies that can touch: A-B.fx_N, ..., A-B.tz_N_m,
    /// on A about A's origin in the world frame, at each state's poses and velocities
    #[arg(long)]
    forces: bool,
    /// Estimate how far the steps are from exact ones, by a second simulation with half the step; both
    /// are kept in memory
    #[arg(long)]
    error: bool,
    /// Print the summary as JSON
    #[arg(long)]
    json: bool,
}

/// How a simulation under way may fail, before the file is named.
enum Failure {
    Simulation(SimulationError),
    Write(std::io::Error),
}

impl From<SimulationError> for Failure {
    fn from(error: SimulationError) -> Self {
        Self::Simulation(error)
    }
}

/// Loads the scene, simulates it while it writes the trajectory (up to the step that failed, if one
/// did, or to Ctrl-C) and prints a summary.
pub(super) fn run(arguments: &SimulateArguments) -> Result<(), Error> {
    let mut scene = load_scene(&arguments.scene)?;
    if let Some(file) = &arguments.commands {
        scene.read_commands(file)?;
    }
    let scene = scene;
    let settings = scene.simulation_settings()?;
    let schedule = settings.schedule(arguments.until).map_err(|source| simulation_error(&scene, source))?;
    let out = arguments.out.as_deref();
    let is_file = |path: &&std::path::Path| path.as_os_str() != "-";
    check_outputs(&out.into_iter().filter(is_file).map(PathBuf::from).collect::<Vec<_>>(), &scene.files)?;
    let loaded = scene.summary(scene.model.pairs.iter().map(|pair| pair.bodies));
    if !arguments.json {
        print_loaded(&loaded);
    }
    let mut rows = Rows::create(&scene.model, arguments.forces, out)?;
    let (last, outcome) = simulate(&scene, &settings, arguments, schedule, &mut rows);
    // What came before a step that failed is worth looking at.
    let failed_step = matches!(&outcome, Err(Failure::Simulation(error)) if error.is_failed_step());
    if outcome.is_ok() || failed_step {
        rows.write_last(last.time, &last.state)?;
        rows.finish()?;
    }
    print_motion_warnings(&last.warnings);
    outcome.map_err(|failure| match failure {
        Failure::Simulation(source) => simulation_error(&scene, source),
        Failure::Write(source) => Rows::error(out, source),
    })?;
    if last.steps < schedule.steps() {
        return Err(Error::Interrupted(format!(
            "{}: stopped at t = {} s, after {} of {} steps",
            scene.path.display(),
            last.time,
            last.steps,
            schedule.steps()
        )));
    }
    let errors = match arguments.error {
        true => Some(discretization(&scene, &settings, arguments.until)?),
        false => None,
    };
    Summary::new(&scene, loaded, errors, &settings, arguments, schedule.steps(), &last.state).print(arguments)
}

/// The estimated errors of the simulation, from one with the same and one with half the step.
fn discretization(
    scene: &Scene,
    settings: &SimulationSettings,
    until: f64,
) -> Result<Vec<DiscretizationError>, Error> {
    let run = |settings: &SimulationSettings| scene.simulate(settings, until).completed();
    let half = SimulationSettings { time_step: 0.5 * settings.time_step, ..*settings };
    let both = run(settings).and_then(|coarse| Ok((coarse, run(&half)?)));
    let (coarse, fine) = both.map_err(|source| simulation_error(scene, source))?;
    Ok(discretization_errors(&scene.model, settings.integrator, &coarse, &fine))
}

/// Where a simulation ended, and what was noticed on the way.
struct Last {
    steps: usize,
    time: f64,
    state: crate::multibody::State,
    warnings: Vec<MotionWarning>,
}

/// Simulates, and writes rows on the way.
fn simulate(
    scene: &Scene,
    settings: &SimulationSettings,
    arguments: &SimulateArguments,
    schedule: StepSchedule,
    rows: &mut Rows,
) -> (Last, Result<(), Failure>) {
    let bar = ProgressBar::new(schedule.steps() as u64);
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos}/{len} steps, {eta} left") {
        bar.set_style(style);
    }
    let (mut steps, mut time) = (0, 0.0);
    let mut watch = Watch::new(&scene.model, &scene.state, settings);
    let observe = |streamed: Streamed| {
        (steps, time) = (streamed.steps, streamed.time);
        if steps > 0 {
            bar.inc(1);
        }
        if steps % arguments.every == 0 {
            rows.write(time, streamed.state).map_err(Failure::Write)?;
        }
        Ok(if interruption::is_requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    };
    let mut state = scene.state.clone();
    let outcome = simulate_streaming(
        &mut state,
        &scene.model,
        settings,
        arguments.until,
        &scene.commands,
        Some(&mut watch),
        observe,
    );
    bar.finish_and_clear();
    (Last { steps, time, state, warnings: watch.into_warnings() }, outcome)
}

fn simulation_error(scene: &Scene, source: SimulationError) -> Error {
    match source {
        SimulationError::Until(until) => Error::Argument {
            name: "until",
            found: until.to_string(),
            allowed: "at least 0 and finite, in seconds",
        },
        source => Error::Simulation { path: scene.path.display().to_string(), source: Box::new(source) },
    }
}
