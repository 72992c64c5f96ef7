//! Scenes: their numbers by name, contact, steps and rollouts.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use isobar::check::{CheckSettings, check_scene};
use isobar::contact::OWN_PARAMETERS;
use isobar::io::{self, state_columns, state_from_numbers, state_numbers};
use isobar::multibody::{NoForces, Parameter, State, seeded};
use isobar::rollout::{Controls, SimulationSettings, Trajectory};
use isobar::step::{DerivativeWorkspace, StepError, StepJacobian, StepWorkspace, Tape};
use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rayon::prelude::*;

use crate::arrays::{finite, matrix, new_matrix, of_state, vector};
use crate::before::Before;
use crate::failure::Failure;
use crate::forces::OwnForces;
use crate::interruptible::interruptible;
use crate::laws::{self, Law};
use crate::motion::{Motion, Task};
use crate::parameters::{Wanted, named, of_name};
use crate::patches::patches;

/// A scene file, and memory for its steps.
#[pyclass(frozen)]
pub struct Scene {
    pub scene: Arc<io::Scene>,
    /// Numbers of a state.
    pub length: usize,
    settings: OnceLock<SimulationSettings>,
    /// What threads that take steps lend each other.
    workspaces: Mutex<Vec<Workspace>>,
}

/// Memory for steps and their derivatives.
#[derive(Default)]
pub struct Workspace {
    pub step: StepWorkspace,
    pub tape: Tape,
    pub derivatives: DerivativeWorkspace,
}

/// The state after a step, and its derivatives by the state before it, the control values, and named parameters.
type Linearized<'py> = (
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray2<f64>>,
    Bound<'py, PyArray2<f64>>,
    Bound<'py, PyArray2<f64>>,
);

#[pymethods]
impl Scene {
    /// Reads a file.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        Ok(Self::new(py.detach(|| io::Scene::load(path)).map_err(Failure::from)?))
    }

    /// Reads the text of a file, as if it were at a path.
    #[staticmethod]
    fn parse(py: Python<'_>, text: &str, path: PathBuf) -> PyResult<Self> {
        Ok(Self::new(py.detach(|| io::Scene::parse(text, path)).map_err(Failure::from)?))
    }

    #[getter]
    fn path(&self) -> PathBuf {
        self.scene.path.clone()
    }

    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.scene.warnings.clone()
    }

    /// The files that it was read from, but for its own.
    #[getter]
    fn files(&self) -> Vec<PathBuf> {
        self.scene.files.iter().filter(|file| **file != self.scene.path).cloned().collect()
    }

    #[getter]
    fn time_step(&self) -> f64 {
        self.scene.time_step
    }

    /// Why the scene cannot move; `None` if it can.
    fn motionless(&self) -> Option<String> {
        self.scene.check_motion().err().map(|error| error.to_string())
    }

    fn body_names(&self) -> Vec<String> {
        self.scene.model.bodies().iter().map(|body| body.name.clone()).collect()
    }

    /// What a function of forces returns.
    fn force_names(&self) -> Vec<String> {
        OwnForces::names(&self.scene.model)
    }

    #[getter]
    pub fn has_controllers(&self) -> bool {
        !self.scene.controllers().is_empty()
    }

    fn control_names(&self) -> Vec<String> {
        self.scene.model.actuators().iter().map(|actuator| actuator.name.clone()).collect()
    }

    /// The columns of a state's numbers.
    fn columns(&self) -> Vec<String> {
        state_columns(&self.scene.model)
    }

    /// The directions of a state's tangent space: of each number of the initial state that can be displaced its name.
    fn tangent_names(&self) -> Vec<String> {
        let model = &self.scene.model;
        let is_of_state =
            |p: &Parameter| matches!(p, Parameter::InitialTangent { .. } | Parameter::InitialJoint { .. });
        let mut names: Vec<String> =
            Parameter::all(model).iter().filter(|p| is_of_state(p)).map(|p| p.name(model)).collect();
        // Deflections of bristles are numbers of the state as they are.
        let others = self.start().tangent_dimension().saturating_sub(names.len());
        let columns = self.columns();
        names.extend(columns[columns.len().saturating_sub(others)..].iter().cloned());
        names
    }

    /// The numbers of the file's state.
    fn initial<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_vec(py, state_numbers(&self.scene.model, &self.start()))
    }

    /// Names, values and units of the parameters that have names.
    fn parameters(&self) -> Vec<(String, f64, &'static str)> {
        let model = &self.scene.model;
        let known = |(parameter, name): (Parameter, String)| {
            Some((name, parameter.value(model).ok()?, parameter.unit(model)))
        };
        named(model).filter_map(known).collect()
    }

    /// The scene with other values of parameters, by their names.
    fn with_values(&self, values: Vec<(String, f64)>) -> PyResult<Self> {
        Ok(self.valued(values)?)
    }

    /// The scene with a contact law, and values of its parameters, which all materials have.
    fn with_law(&self, law: &Bound<'_, Law>, values: Vec<f64>) -> PyResult<Self> {
        let mut changed = io::Scene::clone(&self.scene);
        let mut own = [0.0; OWN_PARAMETERS];
        own.iter_mut().zip(finite("parameters", values)?).for_each(|(own, value)| *own = value);
        let mut builder = changed.model.into_builder();
        builder.contact.law = Some(law.get().0);
        builder.materials.iter_mut().for_each(|named| named.material = named.material.with_own(own));
        changed.model = builder.build().map_err(Failure::input)?;
        Ok(Self::new(changed))
    }

    /// The contact of bodies at a state, one dictionary for each two that touch.
    fn contact<'py>(&self, py: Python<'py>, state: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let state = self.state("state", state)?;
        let found = py.detach(|| patches(&self.scene, &state))?;
        found.into_iter().map(|patch| patch.into_dict(py)).collect()
    }

    /// The numbers of the state after a step.
    #[pyo3(signature = (state, control, time, forces=None))]
    fn step<'py>(
        &self,
        py: Python<'py>,
        state: &Bound<'py, PyAny>,
        control: Option<&Bound<'py, PyAny>>,
        time: f64,
        forces: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let before = self.before(state, control, time)?;
        let numbers = before.under(forces, |before| py.detach(|| before.step()))??;
        Ok(PyArray1::from_slice(py, &numbers))
    }

    /// The state after a step, and its derivatives in the tangent spaces of both states.
    #[pyo3(signature = (state, control, time, parameters, forces=None))]
    fn step_jacobian<'py>(
        &self,
        py: Python<'py>,
        state: &Bound<'py, PyAny>,
        control: Option<&Bound<'py, PyAny>>,
        time: f64,
        parameters: Vec<String>,
        forces: Option<Py<PyAny>>,
    ) -> PyResult<Linearized<'py>> {
        let before = self.before(state, control, time)?;
        let wanted = Wanted::new(&self.scene.model, &parameters)?;
        let linearized = |before: &Before<'_>| py.detach(|| before.linearized(&wanted, None));
        let (after, jacobian) = before.under(forces, linearized)??;
        laws::raised().map_or(Ok(()), Err)?;
        let [by_state, by_control, by_parameters] = rows(&jacobian, &wanted);
        let (n, m) = (after.tangent_dimension(), jacobian.by_control.ncols());
        Ok((
            PyArray1::from_vec(py, state_numbers(&self.scene.model, &after)),
            new_matrix(py, by_state, [n, n])?,
            new_matrix(py, by_control, [n, m])?,
            new_matrix(py, by_parameters, [n, parameters.len()])?,
        ))
    }

    /// The derivatives of all steps of a motion, as `step_jacobian` has them, one step after the other.
    fn linearize<'py>(
        &self,
        py: Python<'py>,
        motion: &Bound<'py, Motion>,
        parameters: Vec<String>,
    ) -> PyResult<[Bound<'py, PyArray1<f64>>; 3]> {
        let (motion, wanted) = (motion.get(), Wanted::new(&self.scene.model, &parameters)?);
        let Trajectory { times, states } = motion.completed()?;
        let all = || {
            let controls = motion.applied()?;
            let one = |step: usize| {
                let (time, mut settings) = (times[step], motion.task.settings);
                // The last step may be a shorter one. Differences of times are not the same to the last bit.
                let length = times[step + 1] - time;
                if (length - settings.time_step).abs() >= 1e-9 * settings.time_step {
                    settings.time_step = length;
                }
                let (state, control) = (states[step].clone(), controls.row(step).to_vec());
                let applied = motion.task.applied();
                let before = Before { scene: self, state, control, time, settings, applied };
                Ok(rows(&before.linearized(&wanted, Some(&states[step + 1]))?.1, &wanted))
            };
            (0..states.len() - 1).into_par_iter().map(one).collect::<Result<Vec<_>, Failure>>()
        };
        let found = motion.task.unless_raised(interruptible(py, || (), all)?)??;
        let part = |k: usize| found.iter().flat_map(|step| &step[k]).copied().collect();
        Ok([0, 1, 2].map(|k| PyArray1::from_vec(py, part(k))))
    }

    /// How many steps there are until a time.
    fn step_count(&self, until: f64) -> PyResult<usize> {
        Ok(self.settings()?.schedule(until).map_err(Failure::from)?.steps())
    }

    /// A motion that was simulated before, from the numbers of its states.
    #[pyo3(signature = (values, until, controls, warnings, failure, forces=None))]
    fn motion(
        &self,
        values: &Bound<'_, PyAny>,
        until: f64,
        controls: Option<&Bound<'_, PyAny>>,
        warnings: Vec<String>,
        failure: Option<String>,
        forces: Option<Py<PyAny>>,
    ) -> PyResult<Motion> {
        let count = self.step_count(until)? + 1;
        let rows = matrix("values", values, [failure.is_none().then_some(count), Some(self.length)])?;
        let state = |row| {
            let state = state_from_numbers(&self.scene.model, row);
            state.map_err(|error| Failure::input(format_args!("values: {error}")))
        };
        let states = rows.chunks_exact(self.length.max(1)).map(state).collect::<Result<Vec<_>, _>>()?;
        let mut times = self.settings()?.step_times(until).map_err(Failure::from)?;
        let initial = states.first().cloned().unwrap_or_default();
        if states.is_empty() || states.len() > count {
            let allowed = format!("at least one and at most {count}");
            return Err(Failure::argument("values", format_args!("{} rows", states.len()), &allowed).into());
        }
        times.truncate(states.len());
        let controls = self.controls(controls, failure.is_none().then_some(count - 1))?;
        let task = self.task(initial, until, controls, forces)?;
        Ok(Motion { task, trajectory: Trajectory { times, states }, warnings, failure })
    }

    /// A check of all derivatives of some steps: its report as JSON and as text, and whether it passed.
    fn check_gradient(
        &self,
        py: Python<'_>,
        steps: u32,
        only: Vec<String>,
        tolerance: f64,
        undecided: f64,
    ) -> PyResult<(String, String, bool)> {
        if !(tolerance > 0.0 && tolerance < 1.0) {
            return Err(Failure::argument("tolerance", tolerance, "between 0 and 1").into());
        }
        if !(0.0..=1.0).contains(&undecided) {
            return Err(Failure::argument("undecided", undecided, "from 0 to 1").into());
        }
        let settings = CheckSettings { only, tolerance, undecided, ..CheckSettings::default() };
        let report = interruptible(
            py,
            || (),
            || {
                let until = f64::from(steps.max(1)) * self.settings()?.time_step;
                Ok::<_, Failure>(check_scene(&self.scene.rollout(until)?, &settings)?)
            },
        )??;
        let json = serde_json::to_string(&report).map_err(Failure::input)?;
        Ok((json, report.worst_components().to_string(), report.passed()))
    }
}

impl Scene {
    fn new(scene: io::Scene) -> Self {
        let length = state_columns(&scene.model).len();
        Self { scene: Arc::new(scene), length, settings: OnceLock::new(), workspaces: Mutex::default() }
    }

    /// The scene with other values of parameters.
    pub fn valued(&self, values: Vec<(String, f64)>) -> Result<Self, Failure> {
        let mut changed = io::Scene::clone(&self.scene);
        let mut set = Vec::new();
        for (name, value) in values {
            if !value.is_finite() {
                return Err(Failure::argument("values", format_args!("{value} for {name:?}"), "finite"));
            }
            set.extend(of_name(&changed.model, &name)?.into_iter().map(|parameter| (parameter, value)));
        }
        let (model, state) = seeded(&changed.model, &self.start(), &set)
            .map_err(|error| Failure::input(format_args!("values: {error}")))?;
        (changed.model, changed.state) = (model, state);
        Ok(Self::new(changed))
    }

    pub fn settings(&self) -> Result<SimulationSettings, Failure> {
        match self.settings.get() {
            Some(settings) => Ok(*settings),
            None => {
                let settings = self.scene.simulation_settings()?;
                Ok(*self.settings.get_or_init(|| settings))
            }
        }
    }

    fn start(&self) -> State {
        self.scene.model.completed(self.scene.state.clone())
    }

    /// The state of an argument.
    pub fn state(&self, name: &str, state: &Bound<'_, PyAny>) -> Result<State, Failure> {
        self.state_of(name, &of_state(name, state, self.length)?)
    }

    fn state_of(&self, name: &str, numbers: &[f64]) -> Result<State, Failure> {
        state_from_numbers(&self.scene.model, numbers)
            .map_err(|error| Failure::input(format_args!("{name}: {error}")))
    }

    /// What a step begins with, from its arguments.
    pub fn before(
        &self,
        state: &Bound<'_, PyAny>,
        control: Option<&Bound<'_, PyAny>>,
        time: f64,
    ) -> Result<Before<'_>, Failure> {
        let control = control.map(|control| vector("control", control, self.scene.model.command_dimension()));
        let state = of_state("state", state, self.length)?;
        self.before_of(state, &control.transpose()?.unwrap_or_default(), time)
    }

    /// What a step begins with, from the numbers of a state and control values; without any they are the file's commands.
    pub fn before_of(&self, state: Vec<f64>, control: &[f64], time: f64) -> Result<Before<'_>, Failure> {
        let (settings, state) = (self.settings()?, self.state_of("state", &state)?);
        if !time.is_finite() {
            return Err(Failure::argument("time", time, "finite, in seconds"));
        }
        let control = finite("control", control.to_vec())?;
        let control = if control.is_empty() {
            // Constant over the step, with the value at its middle, as in rollouts.
            let middle = 0.5 * (time + (time + settings.time_step));
            self.scene.commands.iter().map(|command| command.at(middle)).collect()
        } else {
            control
        };
        Ok(Before { scene: self, state, control, time, settings, applied: &NoForces })
    }

    /// Control values of every step, where they are given.
    pub fn controls(
        &self,
        controls: Option<&Bound<'_, PyAny>>,
        steps: Option<usize>,
    ) -> Result<Option<Controls>, Failure> {
        let Some(controls) = controls else { return Ok(None) };
        let dimension = self.scene.model.command_dimension();
        let values = matrix("controls", controls, [steps, Some(dimension)])?;
        Ok(Controls::from_values(dimension, values))
    }

    pub fn task(
        &self,
        initial: State,
        until: f64,
        controls: Option<Controls>,
        forces: Option<Py<PyAny>>,
    ) -> Result<Task, Failure> {
        let (settings, scene) = (self.settings()?, Arc::clone(&self.scene));
        let forces = forces.map(|function| OwnForces::new(Arc::clone(&scene), function));
        Ok(Task { scene, settings, initial, until, controls, own: None, forces })
    }

    pub fn with_workspace<R>(&self, work: impl FnOnce(&mut Workspace) -> R) -> R {
        let lent = || self.workspaces.lock().unwrap_or_else(PoisonError::into_inner);
        let mut workspace = lent().pop().unwrap_or_default();
        let result = work(&mut workspace);
        lent().push(workspace);
        result
    }

    /// The state after a step that went well.
    pub fn finite(&self, after: Result<State, StepError>) -> Result<State, Failure> {
        let after = after.map_err(|error| self.failed(&error))?;
        match self.scene.model.first_not_finite(&after) {
            None => Ok(after),
            Some(body) => {
                let message = "is not finite after the step; make the steps shorter";
                Err(Failure::Simulation(format!("the state of body `{body}` {message}")))
            }
        }
    }

    pub fn failed(&self, error: &StepError) -> Failure {
        let name = |&body: &usize| self.scene.model.bodies().get(body).map(|body| format!("`{}`", body.name));
        let names: Vec<String> = error.bodies().iter().filter_map(name).collect();
        let of = if names.is_empty() { String::new() } else { format!(" for {}", names.join(" and ")) };
        Failure::Simulation(format!("the step failed{of}: {error}"))
    }
}

/// The rows of a step's derivatives, one after the other: by the state, the control values, and the names of parameters.
fn rows(
    StepJacobian { by_state, by_control, by_parameters }: &StepJacobian,
    wanted: &Wanted,
) -> [Vec<f64>; 3] {
    let by_name =
        by_parameters.row_iter().flat_map(|row| wanted.by_name(&row.iter().copied().collect::<Vec<_>>()));
    // The library has columns one after the other.
    [by_state.transpose().as_slice().to_vec(), by_control.transpose().as_slice().to_vec(), by_name.collect()]
}
