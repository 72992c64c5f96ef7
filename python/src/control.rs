//! Control values by a function of Python's.

use std::sync::{Mutex, MutexGuard, PoisonError};

use isobar::multibody::{Model, State};
use isobar::rollout::{
    Controller, ControllerCotangent, ControllerPoint, Controls, NominalStates, Observation, Quantity,
    SampledController, Trajectory,
};
use isobar::scalar::Scalar;
use numpy::PyArray1;
use pyo3::prelude::*;

use crate::arrays::vector;
use crate::derivatives::in_tangent_space;
use crate::forces::noted;

/// A controller that Python has the law of.
pub struct Own {
    controls: Vec<usize>,
    law: Law,
}

enum Law {
    /// A function of time and the numbers of a state, in a simulation.
    Called { function: Py<PyAny>, now: Mutex<Now> },
    /// Its derivatives along a motion, whose control values are known: of each step in the state's tangent space without
    /// bristles, a row for each control value.
    Linear { motion: NominalStates, by_states: Vec<Vec<f64>> },
}

#[derive(Default)]
struct Now {
    /// The numbers of the present state.
    state: Vec<f64>,
    /// The control values of all steps so far.
    rows: Vec<f64>,
    raised: Option<PyErr>,
}

impl Own {
    /// In a simulation.
    pub fn called(function: Py<PyAny>, controls: usize) -> SampledController<Self> {
        let law = Law::Called { function, now: Mutex::default() };
        SampledController::new(Self { controls: (0..controls).collect(), law }, 1)
    }

    /// Along a motion, with the derivatives by the numbers of its states, a row for each control value of each step.
    pub fn linear(
        model: &Model,
        Trajectory { times, states }: &Trajectory,
        rows: &[f64],
    ) -> SampledController<Self> {
        let (m, steps) = (model.command_dimension(), states.len().saturating_sub(1).max(1));
        let of_step = |(state, rows): (&State, &[f64])| {
            let row = |row| {
                let mut by = in_tangent_space(model, state, row);
                by.truncate(state.motion_tangent_dimension());
                by
            };
            rows.chunks_exact((rows.len() / m.max(1)).max(1)).flat_map(row).collect()
        };
        let by_states =
            states.iter().zip(rows.chunks_exact((rows.len() / steps).max(1))).map(of_step).collect();
        let bare = |state: &State| State { bristles: Vec::new(), ..state.clone() };
        let motion = NominalStates { times: times.clone(), states: states.iter().map(bare).collect() };
        SampledController::new(Self { controls: (0..m).collect(), law: Law::Linear { motion, by_states } }, 1)
    }

    fn now(&self) -> Option<MutexGuard<'_, Now>> {
        let Law::Called { now, .. } = &self.law else { return None };
        Some(now.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes the numbers of the state that the next step begins with. Whether nothing was raised so far.
    pub fn sees(&self, state: Vec<f64>) -> bool {
        self.now().is_none_or(|mut now| {
            now.state = state;
            now.raised.is_none()
        })
    }

    /// The control values of all steps; what was raised, if anything was.
    pub fn rows(&self) -> PyResult<Option<Controls>> {
        let Some(mut now) = self.now() else { return Ok(None) };
        match now.raised.take() {
            Some(raised) => Err(raised),
            None => Ok(Controls::from_values(self.controls.len(), std::mem::take(&mut now.rows))),
        }
    }
}

impl Controller for Own {
    fn observed(&self) -> &[Quantity] {
        &[]
    }

    fn nominal(&self) -> Option<&NominalStates> {
        match &self.law {
            Law::Called { .. } => None,
            Law::Linear { motion, .. } => Some(motion),
        }
    }

    fn controls(&self) -> &[usize] {
        &self.controls
    }

    fn control<T: Scalar>(&self, at: &Observation<T>, _: &[T], _: &mut [T], commands: &mut [T]) {
        let (Law::Called { function, .. }, Some(mut now)) = (&self.law, self.now()) else { return };
        let called = Python::attach(|py| {
            let state = PyArray1::from_slice(py, &now.state);
            let row = function.bind(py).call1((at.time, state));
            let row = row.and_then(|row| Ok(vector("controls", &row, commands.len())?));
            row.inspect_err(|error| noted(py, error, "controls", at.time))
        });
        match called {
            Ok(row) => {
                commands.iter_mut().zip(&row).for_each(|(command, &value)| *command = T::from(value));
                now.rows.extend(row);
            }
            // The simulation ends when it sees the next state.
            Err(error) => now.raised = Some(error),
        }
    }

    fn add_vjp(&self, at: &ControllerPoint<'_>, by_commands: &[f64], by: &mut ControllerCotangent<'_>) {
        let Law::Linear { by_states, .. } = &self.law else { return };
        let rows = by_states.get(at.observation.step).map_or(&[][..], Vec::as_slice);
        for (row, by_command) in rows.chunks_exact(by.observation.len().max(1)).zip(by_commands) {
            by.observation.iter_mut().zip(row).for_each(|(by, x)| *by += by_command * x);
        }
    }
}
