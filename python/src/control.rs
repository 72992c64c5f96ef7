//! Control values by a function of Python's.

use std::sync::{Mutex, MutexGuard, PoisonError};

use isobar::multibody::{Model, State};
use isobar::rollout::{
    ControlLaw, Controller, ControllerCotangent, ControllerPoint, Controls, NominalStates, Observation,
    Quantity, SampledController, Trajectory,
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
    pub fn called(function: Py<PyAny>, controls: usize) -> Self {
        Self { controls: (0..controls).collect(), law: Law::Called { function, now: Mutex::default() } }
    }

    /// Along a motion, with the derivatives by the numbers of its states, a row for each control value of each step.
    pub fn linear(model: &Model, Trajectory { times, states }: &Trajectory, rows: &[f64]) -> Self {
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
        Self { controls: (0..m).collect(), law: Law::Linear { motion, by_states } }
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

/// A controller that acts in a motion.
pub enum Acting<'a> {
    OfFile(&'a ControlLaw),
    Own(&'a Own),
}

/// The controllers of a scene's file, and one of Python's.
pub fn acting<'a>(
    of_file: &'a [SampledController<ControlLaw>],
    own: Option<&'a Own>,
) -> Vec<SampledController<Acting<'a>>> {
    let of_file = of_file.iter().map(|sampled| {
        let SampledController { controller, period, delay, noise } = sampled;
        let (controller, noise) = (Acting::OfFile(controller), noise.clone());
        SampledController { controller, period: *period, delay: *delay, noise }
    });
    of_file.chain(own.map(|own| SampledController::new(Acting::Own(own), 1))).collect()
}

impl Controller for Acting<'_> {
    fn observed(&self) -> &[Quantity] {
        match self {
            Self::OfFile(law) => law.observed(),
            Self::Own(_) => &[],
        }
    }

    fn nominal(&self) -> Option<&NominalStates> {
        match self {
            Self::OfFile(law) => law.nominal(),
            Self::Own(Own { law: Law::Linear { motion, .. }, .. }) => Some(motion),
            Self::Own(_) => None,
        }
    }

    fn controls(&self) -> &[usize] {
        match self {
            Self::OfFile(law) => law.controls(),
            Self::Own(own) => &own.controls,
        }
    }

    fn parameter_count(&self) -> usize {
        match self {
            Self::OfFile(law) => law.parameter_count(),
            Self::Own(_) => 0,
        }
    }

    fn memory_dimension(&self) -> usize {
        match self {
            Self::OfFile(law) => law.memory_dimension(),
            Self::Own(_) => 0,
        }
    }

    fn control<T: Scalar>(
        &self,
        at: &Observation<T>,
        parameters: &[T],
        memory: &mut [T],
        commands: &mut [T],
    ) {
        match self {
            Self::OfFile(law) => law.control(at, parameters, memory, commands),
            Self::Own(own) => own.control(at.time, commands),
        }
    }

    fn add_vjp(&self, at: &ControllerPoint<'_>, by_commands: &[f64], by: &mut ControllerCotangent<'_>) {
        match self {
            Self::OfFile(law) => law.add_vjp(at, by_commands, by),
            Self::Own(own) => own.add_vjp(at.observation.step, by_commands, by.observation),
        }
    }
}

impl Own {
    fn control<T: Scalar>(&self, time: f64, commands: &mut [T]) {
        let (Law::Called { function, .. }, Some(mut now)) = (&self.law, self.now()) else { return };
        let called = Python::attach(|py| {
            let state = PyArray1::from_slice(py, &now.state);
            let row = function.bind(py).call1((time, state));
            let row = row.and_then(|row| Ok(vector("controls", &row, commands.len())?));
            row.inspect_err(|error| noted(py, error, "controls", time))
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

    fn add_vjp(&self, step: usize, by_commands: &[f64], by: &mut [f64]) {
        let Law::Linear { by_states, .. } = &self.law else { return };
        let rows = by_states.get(step).map_or(&[][..], Vec::as_slice);
        for (row, by_command) in rows.chunks_exact(by.len().max(1)).zip(by_commands) {
            by.iter_mut().zip(row).for_each(|(by, x)| *by += by_command * x);
        }
    }
}
