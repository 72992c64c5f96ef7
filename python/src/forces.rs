//! Forces by a function of Python's.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use isobar::io::{self, state_numbers};
use isobar::multibody::{AppliedForces, ForceDependence, Forces, Model, State, StateDependence};
use isobar::scalar::Scalar;
use numpy::PyArray1;
use pyo3::prelude::*;

use crate::arrays::{matrix, vector};

/// The forces on all that moves, that Python has the law of.
pub struct OwnForces {
    scene: Arc<io::Scene>,
    /// Of time, the numbers of a state, and whether derivatives are wanted: the forces, and these or nothing.
    function: Py<PyAny>,
    last: Mutex<Last>,
}

/// What was called last: in dual numbers a few directions at a time are asked for at the same state.
#[derive(Default)]
struct Last {
    time: f64,
    numbers: Vec<f64>,
    forces: Vec<f64>,
    by_state: Vec<f64>,
    raised: Option<PyErr>,
}

impl OwnForces {
    pub fn new(scene: Arc<io::Scene>, function: Py<PyAny>) -> Self {
        Self { scene, function, last: Mutex::default() }
    }

    /// What the function returns, in order: of each body that moves the force and the torque, then the efforts of joints.
    pub fn names(model: &Model) -> Vec<String> {
        let mut names = vec![String::new(); 6 * model.moving_count()];
        for (i, body) in model.bodies().iter().enumerate() {
            let Some(place) = model.moving_index(i) else { continue };
            for (k, column) in ["fx_N", "fy_N", "fz_N", "tx_N_m", "ty_N_m", "tz_N_m"].iter().enumerate() {
                names[6 * place + k] = format!("{}.{column}", body.name);
            }
        }
        for joint in model.mechanism().joints_with_coordinates() {
            match joint.v.len() {
                1 => names.push(format!("{}.effort", joint.name)),
                count => names.extend((0..count).map(|k| format!("{}.effort[{k}]", joint.name))),
            }
        }
        names
    }

    fn last(&self) -> MutexGuard<'_, Last> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn has_raised(&self) -> bool {
        self.last().raised.is_some()
    }

    /// What was raised since this was asked, if anything was.
    pub fn raised(&self) -> PyResult<()> {
        self.last().raised.take().map_or(Ok(()), Err)
    }

    /// The forces, and if they are wanted their derivatives, a row for each.
    fn at(&self, time: f64, numbers: Vec<f64>, count: usize, has_derivatives: bool) -> [Vec<f64>; 2] {
        {
            let last = self.last();
            if last.raised.is_some() {
                return Default::default();
            }
            let is_same = last.time == time && last.numbers == numbers && !last.forces.is_empty();
            if is_same && !(has_derivatives && last.by_state.is_empty()) {
                return [last.forces.clone(), last.by_state.clone()];
            }
        }
        let called = Python::attach(|py| {
            let call = || -> PyResult<[Vec<f64>; 2]> {
                let given = (time, PyArray1::from_slice(py, &numbers), has_derivatives);
                let (forces, by_state): (Bound<'_, PyAny>, Option<Bound<'_, PyAny>>) =
                    self.function.bind(py).call1(given)?.extract()?;
                let shape = [Some(count), Some(numbers.len())];
                let by_state = by_state.map_or(Ok(Vec::new()), |by| matrix("forces", &by, shape))?;
                Ok([vector("forces", &forces, count)?, by_state])
            };
            call().inspect_err(|error| noted(py, error, "forces", time))
        });
        let mut last = self.last();
        match called {
            Ok([forces, by_state]) => {
                (last.time, last.numbers) = (time, numbers);
                (last.forces, last.by_state) = (forces.clone(), by_state.clone());
                [forces, by_state]
            }
            // What asked for it ends when it sees it.
            Err(error) => {
                last.raised.get_or_insert(error);
                Default::default()
            }
        }
    }
}

/// Adds a note of when a function was called to what it raised.
pub fn noted(py: Python<'_>, error: &PyErr, argument: &str, time: f64) {
    drop(error.value(py).call_method1("add_note", (format!("{argument}: at {time} s"),)));
}

impl AppliedForces for OwnForces {
    fn apply<T: Scalar>(
        &self,
        _: &Model<T>,
        state: &State<T>,
        time: f64,
        _: &[T],
        Forces { bodies, joints }: &mut Forces<T>,
    ) {
        let numbers = state_numbers(&self.scene.model, state);
        let has_derivatives = size_of::<T>() > size_of::<f64>();
        let (count, real) = (6 * bodies.len() + joints.len(), numbers.iter().map(Scalar::real).collect());
        let [own, by_state] = self.at(time, real, count, has_derivatives);
        let mut rows = by_state.chunks_exact(numbers.len().max(1));
        let mut forces = own.iter().map(|&force| {
            let row = rows.next().unwrap_or_default().iter().zip(&numbers);
            row.fold(T::from(force), |sum, (&by, &x)| sum + (x - x.real()) * by)
        });
        for on in bodies {
            let parts = on.translational.iter_mut().chain(&mut on.rotational);
            parts.zip(&mut forces).for_each(|(part, force)| *part += force);
        }
        joints.iter_mut().zip(&mut forces).for_each(|(on, force)| *on += force);
    }

    fn dependence(&self) -> ForceDependence {
        ForceDependence { state: StateDependence::AllBodies, model: false }
    }
}
