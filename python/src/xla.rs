//! Steps as functions of the numbers of states, which XLA calls without the interpreter.

use std::sync::{Arc, Mutex, PoisonError, RwLock};

use isobar::io::state_numbers;
use isobar_xla::{Function, address};
use pyo3::prelude::*;
use rayon::prelude::*;

use crate::batch::linearized;
use crate::failure::Failure;
use crate::interruptible::is_at_home;
use crate::parameters::Wanted;
use crate::scene::Scene;

/// A step of a scene as a function of a state, control values, values of parameters, and a time.
struct StepFunction {
    scene: Py<Scene>,
    names: Vec<String>,
    /// Which number of a state is which direction of its tangent space.
    ordinary: Vec<(usize, usize)>,
    /// Of each quaternion the first number and the first of its three directions.
    turns: Vec<(usize, usize)>,
    /// The scene with the values that it was last called with.
    valued: Mutex<Option<(Vec<f64>, Arc<Scene>)>>,
}

/// All that were made. Compiled programs have their numbers, and may outlive all else.
static FUNCTIONS: RwLock<Vec<Arc<StepFunction>>> = RwLock::new(Vec::new());

/// The number of a new function.
#[pyfunction]
pub fn new_function(
    scene: Py<Scene>,
    names: Vec<String>,
    ordinary: Vec<(usize, usize)>,
    turns: Vec<(usize, usize)>,
) -> usize {
    let function = StepFunction { scene, names, ordinary, turns, valued: Mutex::default() };
    let mut all = FUNCTIONS.write().unwrap_or_else(PoisonError::into_inner);
    all.push(Arc::new(function));
    all.len() - 1
}

/// Where XLA finds steps, and steps with their derivatives.
#[pyfunction]
pub fn handlers() -> (usize, usize) {
    (address::<Value>(), address::<Linearized>())
}

/// The states after steps.
struct Value;

impl Function for Value {
    fn call(of: i64, arguments: &[&[f64]], results: &mut [&mut [f64]]) -> Result<(), String> {
        for_each(of, arguments, results, |function, [state, control, values, time], results| {
            let before = function.units(state);
            let after = function
                .with_scene(values, |scene| scene.before_of("state", before, control, time[0])?.step())?;
            results[0].copy_from_slice(&after);
            Ok(())
        })
    }
}

/// The states after steps, and their derivatives by the numbers of the states before, the control values and the values.
struct Linearized;

impl Function for Linearized {
    fn call(of: i64, arguments: &[&[f64]], results: &mut [&mut [f64]]) -> Result<(), String> {
        for_each(of, arguments, results, |function, [state, control, values, time], results| {
            let before = function.units(state);
            function.with_scene(values, |scene| {
                let wanted = Wanted::new(&scene.scene.model, &function.names)?;
                let (after, jacobian) =
                    linearized(&scene.before_of("state", before, control, time[0])?, &wanted)?;
                let after = state_numbers(&scene.scene.model, &after);
                let [numbers, by_state, by_control, by_values] = results else { return Ok(()) };
                numbers.copy_from_slice(&after);
                // Rows of numbers from rows of directions.
                let directions = jacobian.by_state.nrows();
                let mut row = |r: usize, weights: &[(usize, f64)]| {
                    let sum =
                        |of: &dyn Fn(usize) -> f64| weights.iter().map(|(d, w)| w * of(*d)).sum::<f64>();
                    let by: Vec<f64> = (0..directions).map(|c| sum(&|d| jacobian.by_state[(d, c)])).collect();
                    let n = after.len();
                    function.in_numbers(state, &by, &mut by_state[r * n..(r + 1) * n]);
                    let m = jacobian.by_control.ncols();
                    for c in 0..m {
                        by_control[r * m + c] = sum(&|d| jacobian.by_control[(d, c)]);
                    }
                    let all = jacobian.by_parameters.ncols();
                    let by: Vec<f64> = (0..all).map(|c| sum(&|d| jacobian.by_parameters[(d, c)])).collect();
                    let p = function.names.len();
                    by_values[r * p..(r + 1) * p].copy_from_slice(&wanted.by_name(&by));
                };
                for &(column, direction) in &function.ordinary {
                    row(column, &[(direction, 1.0)]);
                }
                for &(first, direction) in &function.turns {
                    for (i, weights) in turned(&after[first..first + 4]).iter().enumerate() {
                        let weights = [0, 1, 2].map(|k| (direction + k, weights[k]));
                        row(first + i, &weights);
                    }
                }
                Ok(())
            })
        })
    }
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
            if (length - 1.0).abs() > 8.0 * f64::EPSILON {
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
        let last = || self.valued.lock().unwrap_or_else(PoisonError::into_inner);
        let known = last().as_ref().filter(|(known, _)| known == values).map(|(_, scene)| Arc::clone(scene));
        let scene = match known {
            Some(scene) => scene,
            None => {
                let given = self.names.iter().cloned().zip(values.iter().copied());
                let scene = Arc::new(self.scene.get().valued(given.collect())?);
                *last() = Some((values.to_vec(), Arc::clone(&scene)));
                scene
            }
        };
        work(&scene)
    }
}

/// Calls a function for each member of a batch, on all threads: with its state, control values (if there are any), values
/// and time.
fn for_each(
    of: i64,
    arguments: &[&[f64]],
    results: &mut [&mut [f64]],
    work: impl Fn(&StepFunction, Inputs<'_>, &mut [&mut [f64]]) -> Result<(), Failure> + Sync,
) -> Result<(), String> {
    let function = usize::try_from(of)
        .ok()
        .and_then(|of| FUNCTIONS.read().unwrap_or_else(PoisonError::into_inner).get(of).cloned());
    let function = function.ok_or("isobar: the program was compiled in another process")?;
    let &[states, controls, values, times] = arguments else {
        return Err("isobar: the call has other arguments than a step".to_owned());
    };
    let count = times.len();
    let part = |all: &'_ [f64], i: usize| -> std::ops::Range<usize> {
        let length = all.len() / count;
        i * length..(i + 1) * length
    };
    let mut members: Vec<Vec<&mut [f64]>> = (0..count).map(|_| Vec::new()).collect();
    for result in results.iter_mut() {
        let length = result.len().checked_div(count).unwrap_or(0);
        let mut rest = &mut **result;
        for member in &mut members {
            let (own, others) = rest.split_at_mut(length);
            member.push(own);
            rest = others;
        }
    }
    let one = |(i, mut results): (usize, Vec<&mut [f64]>)| {
        let inputs = [states, controls, values, times].map(|all| &all[part(all, i)]);
        work(&function, inputs, &mut results)
    };
    let outcome = match members.len() {
        0 | 1 => members.into_iter().enumerate().try_for_each(one),
        _ => is_at_home().and_then(|()| members.into_par_iter().enumerate().map(one).collect()),
    };
    outcome.map_err(|failure| failure.message().to_owned())
}

/// The state, control values, values and time of a step.
type Inputs<'a> = [&'a [f64]; 4];
