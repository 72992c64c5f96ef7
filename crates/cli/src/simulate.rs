//! `isobar simulate`: a scene's motion, as a trajectory file.

mod arguments;
mod rows;
mod substeps;
mod summary;

use std::ops::ControlFlow;
use std::path::PathBuf;

use super::loaded::print_loaded;
use super::messages::remark;
use super::outputs::check_outputs;
use super::progress::of_steps;
use super::recordings::{
    about, check_formats, command_line, frame_interval, have_plots, page, recorder, write_recordings,
};
use super::{Error, load_scene, print_motion_warnings};
use arguments::ForcesOf;
pub(super) use arguments::SimulateArguments;
use isobar::interruption;
use isobar::io::Scene;
use isobar::rollout::{
    ClosedLoop, Command, ControlLaw, DiscretizationError, KnotInterpolation, MotionWarning, Rollout,
    SimulationError, Sleep, Watch, discretization_errors, finer_settings,
};
use isobar::step::Integrator;
use isobar_report::{Recorder, Recording};
use rows::Rows;
use substeps::Substeps;
use summary::Summary;

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
    if let Some(file) = &arguments.controller {
        scene.read_controllers(file)?;
    }
    let scene = scene;
    let are_read = arguments.commands.is_some() || arguments.controller.is_some();
    if let Some(end) =
        end_of(&scene.commands).filter(|end| are_read && arguments.until > end + scene.time_step)
    {
        remark(format_args!(
            "isobar: note: the commands end at {end} s; from then on the last ones are held"
        ));
    }
    let mut closed = scene.closed_loop(arguments.until)?;
    closed.rollout.sleep = arguments.sleep.map(|speed| sleep(speed, &closed)).transpose()?;
    let rollout = closed.rollout;
    let schedule =
        rollout.settings.schedule(rollout.until).map_err(|source| simulation_error(&scene, source))?;
    let out = arguments.out.as_deref();
    let is_file = |path: &&std::path::Path| path.as_os_str() != "-";
    check_formats("record", &arguments.record)?;
    let interval = frame_interval(arguments.record_every, rollout.until, rollout.settings.time_step)?;
    let outputs = out.into_iter().filter(is_file).chain(arguments.record.iter().map(PathBuf::as_path));
    check_outputs(&outputs.map(PathBuf::from).collect::<Vec<_>>(), &scene.files)?;
    let loaded = scene.summary(scene.model.pairs().iter().map(|pair| pair.bodies));
    if !arguments.json {
        print_loaded(&loaded);
    }
    let mut rows = Rows::create(&scene.model, arguments.forces.is_some(), out)?;
    let recorder = || match have_plots(&arguments.record) {
        true => recorder(&scene, interval),
        false => recorder(&scene, interval).without_plots(),
    };
    let recorder = || match arguments.forces {
        Some(ForcesOf::State) => recorder().with_forces_of_states(),
        _ => recorder(),
    };
    let mut recorder = (!arguments.record.is_empty()).then(recorder);
    let (last, outcome) = simulate(&closed, arguments, schedule.steps(), &mut rows, recorder.as_mut());
    // What came before a step that failed is worth looking at.
    let failed_step = matches!(&outcome, Err(Failure::Simulation(error)) if error.is_failed_step());
    if outcome.is_ok() || failed_step {
        rows.write_last(last.time, &last.state)?;
        rows.finish()?;
        if let Some(mut recorder) = recorder {
            if recorder.last_time().is_none_or(|time| time < last.time) {
                recorder.add(last.time, &last.state);
            }
            record(&scene, arguments, &recorder.finish(), &last.warnings)?;
        }
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
        true => Some(discretization(&scene, &closed)?),
        false => None,
    };
    let found = (errors, last.substeps.into_some());
    Summary::new(&scene, loaded, found, &rollout.settings, arguments, schedule.steps(), &last.state)
        .print(arguments)
}

/// When bodies slower than a speed fall asleep.
fn sleep(speed: f64, closed: &Closed<'_>) -> Result<Sleep, Error> {
    if !(speed > 0.0 && speed.is_finite()) {
        let allowed = "more than 0 and finite, in m/s";
        return Err(Error::Argument { name: "sleep", found: speed.to_string(), allowed });
    }
    match closed.rollout.settings.integrator {
        Integrator::VelocityLevel(_) => Ok(Sleep { speed, ..Sleep::default() }),
        _ => Err(Error::Usage(
            "--sleep: bodies sleep in steps of the kinds lagged, similar, tamsi and sap without accuracy only".to_owned(),
        )),
    }
}

/// When commands that change over time end, s.
fn end_of(commands: &[Command]) -> Option<f64> {
    let end = |command: &Command| match (command.knots().times(), command.knots().interpolation()) {
        // The last of those that are held lasts as long as the one before.
        ([.., before, last], KnotInterpolation::ZeroOrderHold) => Some(2.0 * last - before),
        ([_, .., last], _) => Some(*last),
        _ => None,
    };
    commands.iter().filter_map(end).reduce(f64::max)
}

/// Writes what was recorded.
fn record(
    scene: &Scene,
    arguments: &SimulateArguments,
    recording: &Recording,
    warnings: &[MotionWarning],
) -> Result<(), Error> {
    let step = format!("{}, time step {} s", scene.solver.name(), scene.time_step);
    let about =
        about("scene", &scene.path, [["solver".to_owned(), step], ["command".to_owned(), command_line()]]);
    let mut page = page(&scene.path, about, Some(recording));
    page.warnings.clone_from(&scene.warnings);
    page.warnings.extend(warnings.iter().map(ToString::to_string));
    write_recordings(&arguments.record, &page, recording)
}

/// The scene's motion under its controllers, if it has any.
type Closed<'s> = ClosedLoop<'s, ControlLaw>;

/// The estimated errors of the simulation, from one with the same and a finer one.
fn discretization(scene: &Scene, closed: &Closed<'_>) -> Result<Vec<DiscretizationError>, Error> {
    let settings = &closed.rollout.settings;
    if finer_settings(settings).time_step != settings.time_step && !closed.controllers.is_empty() {
        let message = "controllers sample at steps, so that finer ones would change them; leave out --error";
        return Err(Error::Usage(message.to_owned()));
    }
    let run = |settings| {
        let rollout = Rollout { settings, ..closed.rollout };
        Closed { rollout, ..*closed }.motion().completed()
    };
    let both = run(*settings).and_then(|coarse| Ok((coarse, run(finer_settings(settings))?)));
    let (coarse, fine) = both.map_err(|source| simulation_error(scene, source))?;
    Ok(discretization_errors(&scene.model, settings.integrator, &coarse, &fine))
}

/// Where a simulation ended, and what was noticed on the way.
struct Last {
    steps: usize,
    time: f64,
    state: isobar::multibody::State,
    warnings: Vec<MotionWarning>,
    substeps: Substeps,
}

/// Simulates, and writes rows on the way.
fn simulate(
    closed: &Closed<'_>,
    arguments: &SimulateArguments,
    all_steps: usize,
    rows: &mut Rows,
    mut recorder: Option<&mut Recorder<'_>>,
) -> (Last, Result<(), Failure>) {
    let bar = of_steps(all_steps as u64);
    let (mut steps, mut time, mut state) = (0, 0.0, closed.rollout.start());
    let (mut watch, mut substeps) = (Watch::default(), Substeps::default());
    let outcome = closed.try_for_each(|step| {
        (steps, time) = (step.steps, step.time);
        state.clone_from(step.state);
        watch.look(step);
        substeps.add(step);
        if let Some(recorder) = &mut recorder {
            recorder.look(step);
        }
        if steps > 0 {
            bar.inc(1);
        }
        if steps % arguments.every == 0 {
            let written = match arguments.forces {
                Some(ForcesOf::Step) => rows.write_report(step),
                _ => rows.write(time, step.state),
            };
            written.map_err(Failure::Write)?;
        }
        Ok(if interruption::is_requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    });
    bar.finish_and_clear();
    (Last { steps, time, state, warnings: watch.into_warnings(), substeps }, outcome)
}

pub(super) fn simulation_error(scene: &Scene, source: SimulationError) -> Error {
    match source {
        SimulationError::Until(until) => Error::Argument {
            name: "until",
            found: until.to_string(),
            allowed: "at least 0 and finite, in seconds",
        },
        source => Error::Simulation { path: scene.path.display().to_string(), source: Box::new(source) },
    }
}
