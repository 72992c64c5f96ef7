//! Motions: how they are simulated, and their gradients.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use isobar::io::{self, state_numbers};
use isobar::multibody::{ForcesIn, NoForces, State};
use isobar::rollout::{
    ClosedLoop, Controls, DifferentiableLoss, GaussNewton, Rollout, SampledController, SimulationError,
    SimulationSettings, StepReport, Trajectory, Watch,
};
use isobar_report::{Page, Recorder, write_page};
use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;
use rayon::prelude::*;

use crate::arrays::{finite, matrix, new_matrix};
use crate::control::{Acting, Own, acting};
use crate::derivatives::{Cotangents, LinearResiduals, in_tangent_space};
use crate::failure::Failure;
use crate::forces::OwnForces;
use crate::interruptible::interruptible;
use crate::parameters::Wanted;
use crate::scene::Scene;

/// About so many states of a motion are on its page.
const FRAMES: usize = 300;

/// What is to be simulated of a scene.
pub struct Task {
    pub scene: Arc<io::Scene>,
    pub settings: SimulationSettings,
    pub initial: State,
    pub until: f64,
    /// Control values of each step, in place of the commands of the file.
    pub controls: Option<Controls>,
    /// What makes them, until it is simulated.
    pub own: Option<Own>,
    pub forces: Option<OwnForces>,
}

impl Task {
    pub fn applied(&self) -> &dyn ForcesIn<f64> {
        self.forces.as_ref().map_or(&NoForces, |forces| forces)
    }

    /// What the function of forces has raised, in place of a result.
    pub fn unless_raised<R>(&self, result: R) -> PyResult<R> {
        self.forces.as_ref().map_or(Ok(()), OwnForces::raised).map(|()| result)
    }

    fn rollout(&self) -> Rollout<'_> {
        let rollout = Rollout::new(&self.scene.model, &self.initial, self.settings, self.until);
        let rollout = rollout.under(self.applied());
        match &self.controls {
            Some(controls) => rollout.with_controls(controls),
            None => rollout.with_controls(&self.scene.commands),
        }
    }

    /// Under the controllers of the file, and perhaps one of Python's.
    fn closed_loop<'a>(
        &'a self,
        controllers: &'a [SampledController<Acting<'a>>],
    ) -> ClosedLoop<'a, Acting<'a>> {
        ClosedLoop::new(self.rollout(), controllers, self.scene.controller_parameters())
    }

    /// Simulates to the end, to a step that fails, or until it is told to stop.
    pub fn simulate(mut self, stop: &AtomicBool) -> PyResult<Motion> {
        let (scene, own) = (Arc::clone(&self.scene), self.own.take());
        let mut trajectory = Trajectory { times: Vec::new(), states: Vec::new() };
        let mut watch = Watch::default();
        let look = |step: &StepReport<'_>| {
            watch.look(step);
            trajectory.times.push(step.time);
            trajectory.states.push(step.state.clone());
            let is_well = own.as_ref().is_none_or(|own| own.sees(state_numbers(&scene.model, step.state)));
            let has_raised = self.forces.as_ref().is_some_and(OwnForces::has_raised);
            let goes_on = is_well && !has_raised && !stop.load(Ordering::Relaxed);
            Ok(if goes_on { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
        };
        let (controllers, none) = (acting(scene.controllers(), own.as_ref()), Controls::none());
        let mut closed_loop = self.closed_loop(&controllers);
        if own.is_some() {
            closed_loop.rollout.controls = (&none).into();
        }
        let outcome = closed_loop.try_for_each(look);
        if let Some(own) = &own {
            self.controls = own.rows()?;
        }
        self.unless_raised(())?;
        let failure = match outcome {
            Err(error @ (SimulationError::Step { .. } | SimulationError::NotFinite { .. })) => {
                Some(error.to_string())
            }
            outcome => outcome.map(|()| None).map_err(Failure::from)?,
        };
        let warnings = watch.into_warnings().iter().map(ToString::to_string).collect();
        Ok(Motion { task: self, trajectory, warnings, failure })
    }
}

/// A motion of a scene.
#[pyclass(frozen)]
pub struct Motion {
    pub task: Task,
    pub trajectory: Trajectory,
    /// What was noticed on the way.
    #[pyo3(get)]
    pub warnings: Vec<String>,
    /// Why it did not come to its end.
    #[pyo3(get)]
    pub failure: Option<String>,
}

/// Derivatives by the initial state's tangent space, the control values, named parameters, and parameters of controllers.
pub type Gradient<'py> =
    (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray2<f64>>, Vec<f64>, Bound<'py, PyArray1<f64>>);

#[pymethods]
impl Motion {
    /// The times, s.
    fn times<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.trajectory.times)
    }

    /// The states, a row for each time.
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let rows = self.rows();
        let length = rows.first().map_or(0, Vec::len);
        new_matrix(py, rows.concat(), [rows.len(), length])
    }

    /// The control values that were given, a row for each step.
    fn controls<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray2<f64>>>> {
        let of = |controls: &Controls| {
            let (m, taken) = (controls.dimension(), self.trajectory.states.len().saturating_sub(1));
            new_matrix(py, controls.values().to_vec(), [if m == 0 { taken } else { controls.steps() }, m])
        };
        self.task.controls.as_ref().map(of).transpose()
    }

    /// The product of the Gauss–Newton matrix of residuals with a direction of parameters by their names, and of the
    /// control values of all steps. `rows` has the derivatives of the residuals by the numbers of the last states, of each
    /// of them `count` rows.
    #[pyo3(signature = (rows, count, along, controls))]
    fn hessian_product<'py>(
        &self,
        py: Python<'py>,
        rows: &Bound<'py, PyAny>,
        count: usize,
        along: Vec<(String, f64)>,
        controls: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Vec<f64>, Bound<'py, PyArray2<f64>>)> {
        let (model, Trajectory { states, .. }) = (&self.task.scene.model, self.completed()?);
        let (names, numbers): (Vec<_>, Vec<_>) = along.into_iter().unzip();
        let wanted = Wanted::new(model, &names)?;
        let length = states.first().map_or(0, |state| state_numbers(model, state).len());
        let (rows, size) = (matrix("residuals", rows, [None, Some(length)])?, count * length);
        let first = states.len().checked_sub(rows.len().checked_div(size).unwrap_or(0));
        let first = first.ok_or_else(|| Failure::argument("residuals", rows.len(), "those of the states"))?;
        let shape = [states.len() - 1, model.command_dimension()];
        let mut direction = wanted.of_names(&finite("along", numbers)?);
        direction.extend(match controls {
            Some(controls) => matrix("controls", controls, shape.map(Some))?,
            None => vec![0.0; shape[0] * shape[1]],
        });
        let product = || {
            let residuals = LinearResiduals { model, first, rows, size };
            let (rollout, trajectory) = (self.task.rollout(), self.trajectory.clone());
            let of = GaussNewton::over(rollout, &residuals, &wanted.parameters, trajectory)?;
            Ok::<_, Failure>(of.hessian_vector_product(&direction)?)
        };
        let mut found = self.task.unless_raised(interruptible(py, || (), product)?)??;
        let by_controls = found.split_off(wanted.parameters.len());
        Ok((wanted.by_name(&found), new_matrix(py, by_controls, shape)?))
    }

    /// Writes the trajectory, as the command `isobar simulate` does.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| self.trajectory.write(path, &self.task.scene.model)).map_err(Failure::from)?;
        Ok(())
    }

    /// Writes a page for a browser, with a film.
    fn write_page(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let Self { task, trajectory: Trajectory { times, states }, warnings, .. } = self;
        let write = || {
            let scene = &*task.scene;
            // The interval matters to those who simulate only: every frame here is asked for.
            let mut recorder = Recorder::new(&scene.model, 1.0).with_visuals(scene.visual_meshes().meshes);
            let every = times.len().div_ceil(FRAMES);
            let is_shown = |i: usize| i.is_multiple_of(every) || i + 1 == times.len();
            let frames = times.iter().zip(states).enumerate().filter(|(i, _)| is_shown(*i));
            frames.for_each(|(_, (time, state))| recorder.add(*time, state));
            let recording = recorder.finish();
            let title = scene.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let about = vec![
                ["scene".to_owned(), scene.path.display().to_string()],
                ["isobar".to_owned(), env!("CARGO_PKG_VERSION").to_owned()],
            ];
            let warnings = warnings.clone();
            let page = Page { title, about, warnings, recording: Some(&recording), ..Page::default() };
            Ok::<_, Failure>(write_page(&path, &page)?)
        };
        Ok(interruptible(py, || (), write)??)
    }
}

/// A scene, a state, control values of all steps, forces.
type Member<'py> = (Bound<'py, Scene>, Bound<'py, PyAny>, Option<Bound<'py, PyAny>>, Option<Py<PyAny>>);

/// The motions from states until a time.
#[pyfunction]
pub fn rollouts(py: Python<'_>, members: Vec<Member<'_>>, until: f64) -> PyResult<Vec<Motion>> {
    let task = |(i, (scene, state, controls, forces)): (usize, &Member<'_>)| {
        let (scene, name) =
            (scene.get(), if members.len() == 1 { "state".to_owned() } else { format!("states[{i}]") });
        let function = controls.as_ref().filter(|controls| controls.is_callable());
        let rows = scene.controls(controls.as_ref().filter(|_| function.is_none()), None)?;
        let called =
            |of: &Bound<'_, PyAny>| Own::called(of.clone().unbind(), scene.scene.model.command_dimension());
        let forces = forces.as_ref().map(|forces| forces.clone_ref(py));
        Ok(Task { own: function.map(called), ..scene.task(scene.state(&name, state)?, until, rows, forces)? })
    };
    let tasks = members.iter().enumerate().map(task).collect::<Result<Vec<_>, Failure>>()?;
    let stop = AtomicBool::new(false);
    let all = || tasks.into_par_iter().map(|task| task.simulate(&stop)).collect::<PyResult<Vec<_>>>();
    interruptible(py, || stop.store(true, Ordering::Relaxed), all)?
}

/// Derivatives before they are those of Python.
type Found = (Vec<f64>, Vec<f64>, [usize; 2], Vec<f64>, Vec<f64>);

/// The derivatives of what has these derivatives by the numbers of the states of these motions. Where `feedback` has an array
/// for a motion, its control values have these derivatives by the numbers of the states, rows for each step.
#[pyfunction]
pub fn gradients<'py>(
    py: Python<'py>,
    motions: Vec<Bound<'py, Motion>>,
    by_values: Vec<Bound<'py, PyAny>>,
    feedback: Vec<Option<Bound<'py, PyAny>>>,
    parameters: Vec<String>,
) -> PyResult<Vec<Gradient<'py>>> {
    let prepared = motions.iter().zip(&by_values).zip(&feedback).map(|((motion, by_values), feedback)| {
        let motion = motion.get();
        let (model, Trajectory { states, .. }) = (&motion.task.scene.model, motion.completed()?);
        let length = states.first().map_or(0, |state| state_numbers(model, state).len());
        let by_values = matrix("loss", by_values, [Some(states.len()), Some(length)])?;
        let rows = states.len().saturating_sub(1) * model.command_dimension();
        let rows = |feedback| matrix("controls", feedback, [Some(rows), Some(length)]);
        let own = feedback.as_ref().map(rows).transpose()?;
        let own = own.map(|rows| Own::linear(model, &motion.trajectory, &rows));
        Ok((motion, Wanted::new(model, &parameters)?, (by_values, own), length))
    });
    let prepared = prepared.collect::<Result<Vec<_>, Failure>>()?;
    type Given = (Vec<f64>, Option<Own>);
    let one = |(motion, wanted, (by_values, own), length): (&Motion, Wanted, Given, usize)| {
        let Motion { task, trajectory: Trajectory { states, .. }, .. } = motion;
        let mut rows = by_values.chunks_exact(length.max(1));
        let of = |state| in_tangent_space(&task.scene.model, state, rows.next().unwrap_or_default());
        let loss = Cotangents(states.iter().map(of).collect());
        let losses: [&dyn DifferentiableLoss; 1] = [&loss];
        let controllers = acting(task.scene.controllers(), own.as_ref());
        let found =
            task.closed_loop(&controllers).loss_gradients_over(states, &losses, &wanted.parameters)?;
        let found = found.into_iter().next();
        let found = found.ok_or_else(|| Failure::Simulation("there is no gradient".to_owned()))?;
        let loss = found.loss;
        let shape = [states.len().saturating_sub(1), loss.by_controls.dimension()];
        let by_parameters = wanted.by_name(&loss.by_parameters);
        let by_controls = loss.by_controls.values().to_vec();
        Ok((loss.by_initial, by_controls, shape, by_parameters, found.by_controllers))
    };
    let all = || prepared.into_par_iter().map(one).collect::<Result<Vec<Found>, Failure>>();
    let found = interruptible(py, || (), all)?;
    motions.iter().try_for_each(|motion| motion.get().task.unless_raised(()))?;
    let found = found?;
    let arrays = |(by_initial, by_controls, shape, by_parameters, by_controllers): Found| {
        let by_controls = new_matrix(py, by_controls, shape)?;
        let vector = |numbers| PyArray1::from_vec(py, numbers);
        Ok((vector(by_initial), by_controls, by_parameters, vector(by_controllers)))
    };
    found.into_iter().map(arrays).collect()
}

impl Motion {
    /// The states, if it came to its end.
    pub fn completed(&self) -> Result<&Trajectory, Failure> {
        let failed = |failure: &String| Err(Failure::Simulation(failure.clone()));
        self.failure.as_ref().map_or(Ok(&self.trajectory), failed)
    }

    /// The control values of all steps, with what controllers of the file add.
    pub fn applied(&self) -> Result<Controls, Failure> {
        match &*acting(self.task.scene.controllers(), None) {
            [] => Ok(self.task.rollout().control_rows()?.into_owned()),
            controllers => Ok(self.task.closed_loop(controllers).simulate()?.1),
        }
    }

    fn rows(&self) -> Vec<Vec<f64>> {
        let model = &self.task.scene.model;
        self.trajectory.states.iter().map(|state| state_numbers(model, state)).collect()
    }
}
