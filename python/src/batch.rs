//! Many steps and motions at a time, on all threads.

use std::sync::atomic::{AtomicBool, Ordering};

use isobar::io::state_numbers;
use isobar::multibody::{DifferentiatedModel, ForcesIn, NoForces, State};
use isobar::step::StepJacobian;
use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;
use rayon::prelude::*;

use crate::arrays::new_matrix;
use crate::failure::Failure;
use crate::interruptible::interruptible;
use crate::motion::Motion;
use crate::parameters::Wanted;
use crate::scene::{Before, Scene, Workspace};

/// What a step begins with: a scene, a state, control values, a time.
type Start<'py> = (Bound<'py, Scene>, Bound<'py, PyAny>, Option<Bound<'py, PyAny>>, f64);

/// The state after a step, and its derivatives by the state before it, the control values, and named parameters.
type Linearized<'py> = (
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray2<f64>>,
    Bound<'py, PyArray2<f64>>,
    Bound<'py, PyArray2<f64>>,
);

/// What the state of a member is called in messages.
fn name(index: usize, count: usize) -> String {
    if count == 1 { "state".to_owned() } else { format!("states[{index}]") }
}

fn befores<'m>(members: &'m [Start<'_>]) -> Result<Vec<Before<'m>>, Failure> {
    let one = |(i, (scene, state, control, time)): (usize, &'m Start<'_>)| {
        scene.get().before(&name(i, members.len()), state, control.as_ref(), *time)
    };
    members.iter().enumerate().map(one).collect()
}

/// The numbers of the states after steps.
#[pyfunction]
pub fn steps<'py>(py: Python<'py>, members: Vec<Start<'py>>) -> PyResult<Vec<Bound<'py, PyArray1<f64>>>> {
    let befores = befores(&members)?;
    let all = || befores.par_iter().map(Before::step).collect::<Result<Vec<_>, _>>();
    let found = interruptible(py, || (), all)??;
    Ok(found.into_iter().map(|numbers| PyArray1::from_vec(py, numbers)).collect())
}

/// The states after steps, and their derivatives in the tangent spaces of both states.
#[pyfunction]
pub fn step_jacobians<'py>(
    py: Python<'py>,
    members: Vec<Start<'py>>,
    parameters: Vec<String>,
) -> PyResult<Vec<Linearized<'py>>> {
    let one = |before: Before<'_>| {
        let wanted = Wanted::new(&before.scene.scene.model, &parameters)?;
        let (after, jacobian) = linearized(&before, &wanted)?;
        Ok((state_numbers(&before.scene.scene.model, &after), after.tangent_dimension(), jacobian, wanted))
    };
    let befores = befores(&members)?;
    let all = || befores.into_par_iter().map(one).collect::<Result<Vec<_>, Failure>>();
    let found = interruptible(py, || (), all)??;
    let arrays = |(numbers, rows, jacobian, wanted): (Vec<f64>, usize, StepJacobian, Wanted)| {
        // The library has columns one after the other.
        let row_major = |by: &[f64], columns: usize| {
            let numbers = (0..rows).flat_map(|row| (0..columns).map(move |column| by[column * rows + row]));
            new_matrix(py, numbers.collect(), [rows, columns])
        };
        let StepJacobian { by_state, by_control, by_parameters } = jacobian;
        let row = |row: usize| wanted.by_name(&by_parameters.row(row).iter().copied().collect::<Vec<_>>());
        Ok((
            PyArray1::from_vec(py, numbers),
            row_major(by_state.as_slice(), by_state.ncols())?,
            row_major(by_control.as_slice(), by_control.ncols())?,
            new_matrix(py, (0..rows).flat_map(row).collect(), [rows, parameters.len()])?,
        ))
    };
    found.into_iter().map(arrays).collect()
}

/// The state after a step, and its derivatives.
pub fn linearized(before: &Before<'_>, wanted: &Wanted) -> Result<(State, StepJacobian), Failure> {
    let Before { scene, control, settings, .. } = before;
    let forces: &dyn ForcesIn<f64> = &NoForces;
    let dependence = forces.differentiable().force_dependence();
    let model = DifferentiatedModel::new(&scene.scene.model, &wanted.parameters, dependence, control.len())
        .map_err(Failure::input)?;
    scene.with_workspace(|Workspace { step, tape, derivatives }| {
        let after = scene.finite(settings.integrator.step_taped(&before.problem(), &model, step, tape))?;
        let jacobian = tape.jacobian(&model, forces, derivatives);
        Ok((after, jacobian.map_err(|error| scene.failed(&error))?))
    })
}

/// A scene, a state, control values of all steps.
type Member<'py> = (Bound<'py, Scene>, Bound<'py, PyAny>, Option<Bound<'py, PyAny>>);

/// The motions from states until a time.
#[pyfunction]
pub fn rollouts(py: Python<'_>, members: Vec<Member<'_>>, until: f64) -> PyResult<Vec<Motion>> {
    let task = |(i, (scene, state, controls)): (usize, &Member<'_>)| {
        let (scene, name) = (scene.get(), name(i, members.len()));
        scene.task(scene.state(&name, state)?, until, scene.controls(controls.as_ref())?)
    };
    let tasks = members.iter().enumerate().map(task).collect::<Result<Vec<_>, Failure>>()?;
    let stop = AtomicBool::new(false);
    let all = || tasks.into_par_iter().map(|task| task.simulate(&stop)).collect::<Result<Vec<_>, _>>();
    Ok(interruptible(py, || stop.store(true, Ordering::Relaxed), all)??)
}
