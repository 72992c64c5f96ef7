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
use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;

use crate::arrays::{matrix, new_matrix};
use crate::derivatives::{Cotangents, in_tangent_space};
use crate::failure::Failure;
use crate::interruptible::interruptible;
use crate::parameters::Wanted;

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
    task: Task,
    trajectory: Trajectory,
    /// What was noticed on the way.
    #[pyo3(get)]
    warnings: Vec<String>,
    /// Why it did not come to its end.
    #[pyo3(get)]
    failure: Option<String>,
}

/// Derivatives by the initial state's tangent space, the control values, named parameters, and parameters of controllers.
type Gradient<'py> =
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

    /// The derivatives of what has these derivatives by the numbers of the states.
    fn gradient<'py>(
        &self,
        py: Python<'py>,
        by_values: &Bound<'py, PyAny>,
        parameters: Vec<String>,
    ) -> PyResult<Gradient<'py>> {
        let Self { task, trajectory, .. } = self;
        if let Some(failure) = &self.failure {
            return Err(Failure::Simulation(failure.clone()).into());
        }
        let model = &task.scene.model;
        let wanted = Wanted::new(model, &parameters)?;
        let states = &trajectory.states;
        let length = states.first().map_or(0, |state| state_numbers(model, state).len());
        let by_values = matrix("loss", by_values, [Some(states.len()), Some(length)])?;
        let found = interruptible(
            py,
            || (),
            || {
                let mut rows = by_values.chunks_exact(length.max(1));
                let of = |state| in_tangent_space(model, state, rows.next().unwrap_or_default());
                let loss = Cotangents(states.iter().map(of).collect());
                let losses: [&dyn DifferentiableLoss; 1] = [&loss];
                let found = task.closed_loop().loss_gradients_over(states, &losses, &wanted.parameters)?;
                found.into_iter().next().ok_or_else(|| Failure::Simulation("there is no gradient".to_owned()))
            },
        )??;
        let (loss, by_controllers) = (found.loss, found.by_controllers);
        let by_controls = loss.by_controls;
        let shape = [states.len().saturating_sub(1), by_controls.dimension()];
        Ok((
            PyArray1::from_vec(py, loss.by_initial),
            new_matrix(py, by_controls.values().to_vec(), shape)?,
            wanted.by_name(&loss.by_parameters),
            PyArray1::from_vec(py, by_controllers),
        ))
    }
}

impl Motion {
    fn rows(&self) -> Vec<Vec<f64>> {
        let model = &self.task.scene.model;
        self.trajectory.states.iter().map(|state| state_numbers(model, state)).collect()
    }
}
