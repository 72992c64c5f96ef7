//! Motions: how they are simulated, and their gradients.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use isobar::io::{self, state_numbers};
use isobar::multibody::State;
use isobar::rollout::{
    ClosedLoop, ControlLaw, Controls, DifferentiableLoss, Rollout, SimulationError, SimulationSettings,
    Trajectory, Watch,
};
use isobar_report::{Page, Recorder, write_page};
use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;
use rayon::prelude::*;

use crate::arrays::{matrix, new_matrix};
use crate::derivatives::{Cotangents, in_tangent_space};
use crate::failure::Failure;
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
}

impl Task {
    fn closed_loop(&self) -> ClosedLoop<'_, ControlLaw> {
        let scene = &*self.scene;
        let rollout = Rollout::new(&scene.model, &self.initial, self.settings, self.until);
        let rollout = match &self.controls {
            Some(controls) => rollout.with_controls(controls),
            None => rollout.with_controls(&scene.commands),
        };
        ClosedLoop::new(rollout, scene.controllers(), scene.controller_parameters())
    }

    /// Simulates to the end, to a step that fails, or until it is told to stop.
    pub fn simulate(self, stop: &AtomicBool) -> Result<Motion, Failure> {
        let mut trajectory = Trajectory { times: Vec::new(), states: Vec::new() };
        let mut watch = Watch::default();
        let outcome = self.closed_loop().try_for_each(|step| {
            watch.look(step);
            trajectory.times.push(step.time);
            trajectory.states.push(step.state.clone());
            Ok(if stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        });
        let failure = match outcome {
            Err(error @ (SimulationError::Step { .. } | SimulationError::NotFinite { .. })) => {
                Some(error.to_string())
            }
            outcome => outcome.map(|()| None)?,
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

/// A scene, a state, control values of all steps.
type Member<'py> = (Bound<'py, Scene>, Bound<'py, PyAny>, Option<Bound<'py, PyAny>>);

/// The motions from states until a time.
#[pyfunction]
pub fn rollouts(py: Python<'_>, members: Vec<Member<'_>>, until: f64) -> PyResult<Vec<Motion>> {
    let task = |(i, (scene, state, controls)): (usize, &Member<'_>)| {
        let (scene, name) =
            (scene.get(), if members.len() == 1 { "state".to_owned() } else { format!("states[{i}]") });
        scene.task(scene.state(&name, state)?, until, scene.controls(controls.as_ref())?)
    };
    let tasks = members.iter().enumerate().map(task).collect::<Result<Vec<_>, Failure>>()?;
    let stop = AtomicBool::new(false);
    let all = || tasks.into_par_iter().map(|task| task.simulate(&stop)).collect::<Result<Vec<_>, _>>();
    Ok(interruptible(py, || stop.store(true, Ordering::Relaxed), all)??)
}

/// Derivatives before they are those of Python.
type Found = (Vec<f64>, Vec<f64>, [usize; 2], Vec<f64>, Vec<f64>);

/// The derivatives of what has these derivatives by the numbers of the states of these motions.
#[pyfunction]
pub fn gradients<'py>(
    py: Python<'py>,
    motions: Vec<Bound<'py, Motion>>,
    by_values: Vec<Bound<'py, PyAny>>,
    parameters: Vec<String>,
) -> PyResult<Vec<Gradient<'py>>> {
    let prepared = motions.iter().zip(&by_values).map(|(motion, by_values)| {
        let motion = motion.get();
        if let Some(failure) = &motion.failure {
            return Err(Failure::Simulation(failure.clone()));
        }
        let (model, states) = (&motion.task.scene.model, &motion.trajectory.states);
        let length = states.first().map_or(0, |state| state_numbers(model, state).len());
        let by_values = matrix("loss", by_values, [Some(states.len()), Some(length)])?;
        Ok((motion, Wanted::new(model, &parameters)?, by_values, length))
    });
    let prepared = prepared.collect::<Result<Vec<_>, Failure>>()?;
    let one = |(motion, wanted, by_values, length): (&Motion, Wanted, Vec<f64>, usize)| {
        let Motion { task, trajectory: Trajectory { states, .. }, .. } = motion;
        let mut rows = by_values.chunks_exact(length.max(1));
        let of = |state| in_tangent_space(&task.scene.model, state, rows.next().unwrap_or_default());
        let loss = Cotangents(states.iter().map(of).collect());
        let losses: [&dyn DifferentiableLoss; 1] = [&loss];
        let found = task.closed_loop().loss_gradients_over(states, &losses, &wanted.parameters)?;
        let found = found.into_iter().next();
        let found = found.ok_or_else(|| Failure::Simulation("there is no gradient".to_owned()))?;
        let loss = found.loss;
        let shape = [states.len().saturating_sub(1), loss.by_controls.dimension()];
        let by_parameters = wanted.by_name(&loss.by_parameters);
        let by_controls = loss.by_controls.values().to_vec();
        Ok((loss.by_initial, by_controls, shape, by_parameters, found.by_controllers))
    };
    let all = || prepared.into_par_iter().map(one).collect::<Result<Vec<Found>, Failure>>();
    let found = interruptible(py, || (), all)??;
    let arrays = |(by_initial, by_controls, shape, by_parameters, by_controllers): Found| {
        let by_controls = new_matrix(py, by_controls, shape)?;
        let vector = |numbers| PyArray1::from_vec(py, numbers);
        Ok((vector(by_initial), by_controls, by_parameters, vector(by_controllers)))
    };
    found.into_iter().map(arrays).collect()
}

impl Motion {
    fn rows(&self) -> Vec<Vec<f64>> {
        let model = &self.task.scene.model;
        self.trajectory.states.iter().map(|state| state_numbers(model, state)).collect()
    }
}
