//! Steps as functions of the numbers of states: for Python, and for XLA, which calls them without the interpreter.
//!
//! Quaternions count by their direction alone: they are brought to unit length before, so that the derivative along them is 0.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use isobar::io::state_numbers;
use isobar::multibody::Model;
use isobar_xla::address;
use numpy::PyArray1;
use pyo3::prelude::*;
use rayon::prelude::*;

use crate::arrays::any_vector;
use crate::failure::Failure;
use crate::interruptible::{interruptible, is_at_home};
use crate::laws;
use crate::parameters::Wanted;
use crate::scene::Scene;

/// A step of a scene as a function of a state, control values, values of parameters, and a time.
struct StepFunction {
    scene: Py<Scene>,
    names: Vec<String>,
    /// How many numbers a state, the control values and the values have.
    counts: [usize; 3],
    /// Which number of a state is which direction of its tangent space.
    ordinary: Vec<(usize, usize)>,
    /// Of each quaternion the first number and the first of its three directions.
    turns: Vec<(usize, usize)>,
    /// The scene with values that it was called with, the last ones first: loops of batches come back to theirs.
    valued: Mutex<VecDeque<(Vec<f64>, Arc<Scene>)>>,
}

/// So many values have their scene at hand.
const KEPT: usize = 128;

/// Those that XLA calls. Compiled programs have their numbers, and may outlive all else.
static FUNCTIONS: RwLock<Vec<Arc<StepFunction>>> = RwLock::new(Vec::new());

/// A step function for Python. Arrays have one axis, with the members of a batch one after the other.
#[pyclass(frozen)]
pub struct Function {
    inner: Arc<StepFunction>,
    /// Its number for XLA, once it has been asked for.
    number: OnceLock<usize>,
}

#[pymethods]
impl Function {
    #[new]
    fn new(scene: Py<Scene>, names: Vec<String>) -> Self {
        let of = scene.get();
        let counts = [of.length, of.scene.model.command_dimension(), names.len()];
        let [ordinary, turns] = places(&of.scene.model, of.length);
        let inner =
            Arc::new(StepFunction { scene, names, counts, ordinary, turns, valued: Mutex::default() });
        Self { inner, number: OnceLock::new() }
    }

    /// Its number for XLA.
    #[getter]
    fn number(&self) -> usize {
        *self.number.get_or_init(|| {
            let mut all = FUNCTIONS.write().unwrap_or_else(PoisonError::into_inner);
            all.push(Arc::clone(&self.inner));
            all.len() - 1
        })
    }

    /// The states after steps; with derivatives also those by the states, control values and values of parameters.
    fn call<'py>(
        &self,
        py: Python<'py>,
        has_derivatives: bool,
        arguments: [Bound<'py, PyAny>; 4],
    ) -> PyResult<Vec<Bound<'py, PyArray1<f64>>>> {
        let names = ["state", "control", "parameters", "time"];
        let mut given = Vec::new();
        for (name, argument) in names.into_iter().zip(&arguments) {
            given.push(any_vector(name, argument)?);
        }
        let given: Vec<&[f64]> = given.iter().map(Vec::as_slice).collect();
        let [n, m, p] = self.inner.counts;
        let lengths = if has_derivatives { vec![n, n * n, n * m, n * p] } else { vec![n] };
        let mut found: Vec<Vec<f64>> =
            lengths.iter().map(|length| vec![0.0; length * given[3].len()]).collect();
        let mut results: Vec<&mut [f64]> = found.iter_mut().map(Vec::as_mut_slice).collect();
        let work = if has_derivatives { linearize } else { step };
        interruptible(py, || (), || for_each(&self.inner, &given, &mut results, work))??;
        Ok(found.into_iter().map(|numbers| PyArray1::from_vec(py, numbers)).collect())
    }

    /// States with quaternions of unit length.
    fn units<'py>(&self, py: Python<'py>, states: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let states = any_vector("state", states)?;
        let each = states.chunks_exact(self.inner.counts[0].max(1));
        Ok(PyArray1::from_vec(py, each.flat_map(|state| self.inner.units(state)).collect()))
    }

    /// Derivatives by the numbers of states, from those by the directions of their tangent spaces.
    fn in_numbers<'py>(
        &self,
        py: Python<'py>,
        states: &Bound<'py, PyAny>,
        by_directions: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let (states, by) = (any_vector("state", states)?, any_vector("derivatives", by_directions)?);
        let n = self.inner.counts[0].max(1);
        let mut found = vec![0.0; states.len()];
        let directions = self.inner.ordinary.len() + 3 * self.inner.turns.len();
        if states.len() % n != 0 || by.len() != states.len() / n * directions {
            return Err(Failure::argument("derivatives", by.len(), "those of the states").into());
        }
        let each =
            states.chunks_exact(n).zip(by.chunks_exact(directions.max(1))).zip(found.chunks_exact_mut(n));
        each.for_each(|((state, by), found)| self.inner.in_numbers(state, by, found));
        Ok(PyArray1::from_vec(py, found))
    }
}

/// Where XLA finds steps, and steps with their derivatives.
#[pyfunction]
pub fn handlers() -> (usize, usize) {
    (address::<Steps>(), address::<Linearized>())
}

/// Which numbers of a state are which directions of its tangent space, and of each quaternion the first number and the first
/// direction.
fn places(model: &Model, length: usize) -> [Vec<(usize, usize)>; 2] {
    let (mut ordinary, mut turns) = (Vec::new(), Vec::new());
    let (mut column, mut at) = (0, 0);
    for _ in model.free_bodies() {
        turns.push((column + 3, at));
        // Positions, linear and angular velocities.
        for (number, direction) in [(0, 3), (7, 9), (10, 6)] {
            ordinary.extend((0..3).map(|i| (column + number + i, at + direction + i)));
        }
        (column, at) = (column + 13, at + 12);
    }
    let mut speeds = Vec::new();
    for joint in model.mechanism().joints_with_coordinates() {
        let (q, v) = (joint.q.len(), joint.v.len());
        let turned = if q > v { 3 } else { 0 };
        if turned > 0 {
            turns.push((column, at));
        }
        ordinary.extend((turned..v).map(|i| (column + q - v + i, at + i)));
        speeds.extend(column + q..column + q + v);
        (column, at) = (column + q + v, at + v);
    }
    let rest = speeds.into_iter().chain(column..length);
    ordinary.extend(rest.zip(at..));
    [ordinary, turns]
}

/// For XLA: the states after steps.
struct Steps;

impl isobar_xla::Function for Steps {
    fn call(of: i64, arguments: &[&[f64]], results: &mut [&mut [f64]]) -> Result<(), String> {
        called(of, arguments, results, step)
    }
}

/// For XLA: the states after steps, and their derivatives.
struct Linearized;

impl isobar_xla::Function for Linearized {
    fn call(of: i64, arguments: &[&[f64]], results: &mut [&mut [f64]]) -> Result<(), String> {
        called(of, arguments, results, linearize)
    }
}

/// The work of a function on one member of a batch.
type Work = fn(&StepFunction, Inputs<'_>, &mut [&mut [f64]]) -> Result<(), Failure>;

/// The state, control values, values and time of a step.
type Inputs<'a> = [&'a [f64]; 4];

fn called(of: i64, arguments: &[&[f64]], results: &mut [&mut [f64]], work: Work) -> Result<(), String> {
    let all = || FUNCTIONS.read().unwrap_or_else(PoisonError::into_inner);
    let function = usize::try_from(of).ok().and_then(|of| all().get(of).cloned());
    let function = function.ok_or("isobar: the program was compiled in another process")?;
    let done = for_each(&function, arguments, results, work).map_err(|failure| failure.message().to_owned());
    laws::raised().map_or(done, |error| Err(error.to_string()))
}

/// Works on each member of a batch, on all threads.
fn for_each(
    function: &StepFunction,
    arguments: &[&[f64]],
    results: &mut [&mut [f64]],
    work: Work,
) -> Result<(), Failure> {
    let [n, m, p] = function.counts;
    let count = arguments.last().map_or(0, |times| times.len());
    let control = arguments.get(1).map_or(0, |controls| controls.len()).checked_div(count).unwrap_or(0);
    let lengths = [n, control, p, 1];
    let is_fit = |(found, length): (usize, usize)| found == length * count;
    let has_right_arguments = arguments.len() == lengths.len()
        && arguments.iter().map(|all| all.len()).zip(lengths).all(is_fit)
        && [0, m].contains(&control);
    let of_results = [n, n * n, n * m, n * p];
    if !has_right_arguments || !results.iter().map(|all| all.len()).zip(of_results).all(is_fit) {
        return Err(wrong_arrays());
    }
    let mut members: Vec<Vec<&mut [f64]>> = (0..count).map(|_| Vec::new()).collect();
    for (result, length) in results.iter_mut().zip(of_results) {
        let mut rest = &mut **result;
        for member in &mut members {
            let own;
            (own, rest) = rest.split_at_mut(length);
            member.push(own);
        }
    }
    let one = |(i, mut results): (usize, Vec<&mut [f64]>)| {
        let part = |k: usize| &arguments[k][i * lengths[k]..(i + 1) * lengths[k]];
        work(function, [part(0), part(1), part(2), part(3)], &mut results)
    };
    let mut members = members.into_iter().enumerate();
    match count {
        0 | 1 => members.try_for_each(one),
        _ => is_at_home().and_then(|()| members.collect::<Vec<_>>().into_par_iter().map(one).collect()),
    }
}

fn wrong_arrays() -> Failure {
    Failure::input("arguments: found arrays that are not those of a step of this scene")
}

/// The state after a step.
fn step(function: &StepFunction, inputs: Inputs<'_>, results: &mut [&mut [f64]]) -> Result<(), Failure> {
    let [state, control, values, time] = inputs;
    let [numbers] = results else { return Err(wrong_arrays()) };
    function.with_scene(values, |scene| {
        numbers.copy_from_slice(&scene.before_of(function.units(state), control, time[0])?.step()?);
        Ok(())
    })
}

/// The state after a step, and its derivatives by the numbers of the state before, the control values and the values.
fn linearize(function: &StepFunction, inputs: Inputs<'_>, results: &mut [&mut [f64]]) -> Result<(), Failure> {
    let [state, control, values, time] = inputs;
    let [numbers, by_state, by_control, by_values] = results else { return Err(wrong_arrays()) };
    function.with_scene(values, |scene| {
        let model = &scene.scene.model;
        let wanted = Wanted::new(model, &function.names)?;
        let before = scene.before_of(function.units(state), control, time[0])?;
        let (after, jacobian) = before.linearized(&wanted, None)?;
        numbers.copy_from_slice(&state_numbers(model, &after));
        let ([n, m, p], directions) = (function.counts, after.tangent_dimension());
        // A row of numbers is a sum of rows of directions.
        let mut row = |r: usize, weights: &[(usize, f64)]| {
            // The library has columns one after the other.
            let sums = |by: &[f64]| -> Vec<f64> {
                let sum = |column: &[f64]| weights.iter().map(|(d, weight)| weight * column[*d]).sum();
                by.chunks_exact(directions).map(sum).collect()
            };
            function.in_numbers(
                state,
                &sums(jacobian.by_state.as_slice()),
                &mut by_state[r * n..(r + 1) * n],
            );
            by_control[r * m..(r + 1) * m].copy_from_slice(&sums(jacobian.by_control.as_slice()));
            let by_parameters = wanted.by_name(&sums(jacobian.by_parameters.as_slice()));
            by_values[r * p..(r + 1) * p].copy_from_slice(&by_parameters);
        };
        function.ordinary.iter().for_each(|&(column, direction)| row(column, &[(direction, 1.0)]));
        for &(first, direction) in &function.turns {
            for (i, by) in turned(&numbers[first..first + 4]).iter().enumerate() {
                row(first + i, &[0, 1, 2].map(|k| (direction + k, by[k])));
            }
        }
        Ok(())
    })
}

/// The derivatives of a quaternion by a rotation vector in the world.
fn turned(q: &[f64]) -> [[f64; 3]; 4] {
    let [w, x, y, z] = [0, 1, 2, 3].map(|i| 0.5 * q[i]);
    [[-x, -y, -z], [w, z, -y], [-z, w, x], [y, -x, w]]
}

impl StepFunction {
    /// The state with quaternions of unit length; those that have it keep their bits.
    fn units(&self, state: &[f64]) -> Vec<f64> {
        let mut state = state.to_vec();
        for &(first, _) in &self.turns {
            let q = &mut state[first..first + 4];
            let length = q.iter().map(|x| x * x).sum::<f64>().sqrt();
            // Where there is no direction the state is refused as it is.
            if length.is_normal() && (length - 1.0).abs() > 8.0 * f64::EPSILON {
                q.iter_mut().for_each(|x| *x /= length);
            }
        }
        state
    }

    /// Derivatives by the numbers of a state from those by the directions of its tangent space.
    fn in_numbers(&self, state: &[f64], by_directions: &[f64], by_numbers: &mut [f64]) {
        for &(column, direction) in &self.ordinary {
            by_numbers[column] = by_directions[direction];
        }
        for &(first, direction) in &self.turns {
            let q = &state[first..first + 4];
            let quarter = 0.25 * q.iter().map(|x| x * x).sum::<f64>();
            for (i, by) in turned(q).iter().enumerate() {
                let sum: f64 = (0..3).map(|k| by[k] * by_directions[direction + k]).sum();
                by_numbers[first + i] = sum / quarter;
            }
        }
    }

    /// Does something with the scene that has these values.
    fn with_scene<R>(
        &self,
        values: &[f64],
        work: impl FnOnce(&Scene) -> Result<R, Failure>,
    ) -> Result<R, Failure> {
        if self.names.is_empty() {
            return work(self.scene.get());
        }
        let kept = || self.valued.lock().unwrap_or_else(PoisonError::into_inner);
        let known = kept().iter().find(|(known, _)| known == values).map(|(_, scene)| Arc::clone(scene));
        let scene = match known {
            Some(scene) => scene,
            None => {
                let given = self.names.iter().cloned().zip(values.iter().copied());
                let scene = Arc::new(self.scene.get().valued(given.collect())?);
                let mut kept = kept();
                kept.push_front((values.to_vec(), Arc::clone(&scene)));
                kept.truncate(KEPT);
                scene
            }
        };
        work(&scene)
    }
}
