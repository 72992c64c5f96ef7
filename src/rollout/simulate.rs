//! From an initial state to a trajectory.

use super::controls::Controls;
use super::error::SimulationError;
use super::schedule::{SimulationSettings, StepTime};
use super::watch::{MotionWarning, Watch};
use crate::multibody::{AppliedForces, DifferentiatedModel, Model, State};
use crate::scalar::Scalar;
use crate::step::{Integrator, StepError, StepProblem, StepWorkspace, Tape};

/// States at increasing times.
#[derive(Clone, Debug, PartialEq)]
pub struct Trajectory<T = f64> {
    /// Times in s, the first of them 0.
    pub times: Vec<f64>,
    /// The state at each time.
    pub states: Vec<State<T>>,
}

/// The failure of a step, with the time and the bodies that it concerns.
pub(crate) fn step_failed<T: Scalar>(model: &Model<T>, at: StepTime, source: StepError) -> SimulationError {
    let named = source.bodies().iter().filter_map(|&i| model.bodies.get(i));
    let names: Vec<String> = named.map(|body| format!("`{}`", body.name)).collect();
    SimulationError::Step { time: at.time, step: at.number, bodies: names.join(", "), source }
}

/// A step of a simulation, whose failures say when it was taken and which bodies they concern.
pub(crate) fn checked_step<A: AppliedForces, T: Scalar>(
    integrator: Integrator,
    step: &StepProblem<'_, A, T>,
    number: usize,
    workspace: &mut StepWorkspace<T>,
) -> Result<State<T>, SimulationError> {
    checked(step, number, integrator.step(step, workspace))
}

/// The same, with its tape.
pub(crate) fn checked_step_taped<A: AppliedForces>(
    integrator: Integrator,
    step: &StepProblem<'_, A>,
    number: usize,
    parameters: &DifferentiatedModel<'_>,
    workspace: &mut StepWorkspace,
    tape: &mut Tape,
) -> Result<State, SimulationError> {
    checked(step, number, integrator.step_taped(step, parameters, workspace, tape))
}

/// What a step, number `number` of a simulation, led to.
fn checked<A, T: Scalar>(
    step: &StepProblem<'_, A, T>,
    number: usize,
    outcome: Result<State<T>, StepError>,
) -> Result<State<T>, SimulationError> {
    let StepProblem { model, time, time_step, .. } = *step;
    let after =
        outcome.map_err(|source| step_failed(model, StepTime { time, dt: time_step, number }, source))?;
    if let Some(body) = model.first_not_finite(&after) {
        let body = body.to_owned();
        return Err(SimulationError::NotFinite { time: time + time_step, steps: number, time_step, body });
    }
    Ok(after)
}

/// Checks that a state fits a model.
pub(super) fn check_initial<T: Scalar>(model: &Model<T>, initial: &State<T>) -> Result<(), SimulationError> {
    let free = model.free_bodies().count();
    if initial.bodies.len() != free {
        return Err(SimulationError::BodyCount { state: initial.bodies.len(), model: free });
    }
    let joints = model.mechanism.velocity_dimension();
    let kinds = model.mechanism.joints().iter().map(|j| &j.kind);
    if !initial.joints.kinds().iter().eq(kinds) {
        return Err(SimulationError::JointCount { state: initial.joints.v.len(), model: joints });
    }
    Ok(())
}

/// Checks that a state and controls fit a model, the user's forces and a number of steps.
pub(crate) fn check_start<T: Scalar>(
    model: &Model<T>,
    initial: &State<T>,
    applied: &impl AppliedForces,
    controls: &Controls<T>,
    steps: usize,
) -> Result<(), SimulationError> {
    check_initial(model, initial)?;
    let expected = model.command_dimension() + applied.control_dimension();
    let found = controls.dimension();
    if found != expected {
        return Err(SimulationError::ControlDimension { found, expected });
    }
    if found > 0 && controls.steps() != steps {
        return Err(SimulationError::ControlSteps { found: controls.steps(), expected: steps });
    }
    Ok(())
}

/// Simulates a model from a state at time 0 until a time in s, under forces without control
/// values.
///
/// `observer` is called with every time and state, the initial ones included.
///
/// # Errors
/// When the settings are out of range, the state does not belong to the model, the forces take
/// control values, or a step fails. [`simulate_into`] keeps the trajectory up to a step that
/// fails.
///
/// # Examples
/// A ball of foam falls on the floor and comes to rest:
/// ```
/// use isobar::contact::{Collider, ContactModel, Material};
/// use isobar::field::{PressureField, primitive_field};
/// use isobar::geometry::Shape;
/// use isobar::multibody::*;
/// use isobar::rollout::{SimulationSettings, simulate};
/// use isobar::spatial::{RigidTransform, SpatialVelocity};
/// use isobar::step::Integrator;
/// use nalgebra::Vector3;
///
/// let (foam, place) = (Material::new(1e5, 1.0, 0.5), RigidTransform::identity());
/// let (mesh, extent) = primitive_field(&Shape::Sphere { radius: 0.05 }, 0.05)?;
/// let unit_mass = Some(mesh.mass_properties()?);
/// let collider = Collider::compliant(PressureField::new(mesh, extent)?, foam);
/// let ball = BodyGeometry { x_bg: place, collider, material: None, unit_mass };
/// let collider = Collider::rigid_half_space(foam);
/// let floor = BodyGeometry { x_bg: place, collider, material: None, unit_mass: None };
/// let ball = Body::free("ball", MassSource::Density(200.0), vec![ball])?;
/// let floor = Body::fixed("floor", place, SpatialVelocity::zero(), vec![floor]);
/// let model = ModelBuilder { bodies: vec![ball, floor], ..Default::default() }.build()?;
/// let start = BodyState::at_rest(&RigidTransform::from_translation(Vector3::new(0.0, 0.0, 0.06)));
/// let integrator = Integrator::velocity_level(ContactModel::Lagged);
/// let settings = SimulationSettings { integrator, time_step: 1e-3 };
/// let motion = simulate(&model, &State::of_bodies(vec![start]), &settings, 0.5, &NoForces, |_, _| {})?;
/// let height = motion.states[500].bodies[0].position.z;
/// assert!(0.04 < height && height < 0.05);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn simulate<T: Scalar>(
    model: &Model<T>,
    initial: &State<T>,
    settings: &SimulationSettings,
    until: f64,
    applied: &impl AppliedForces,
    observer: impl FnMut(f64, &State<T>),
) -> Result<Trajectory<T>, SimulationError> {
    simulate_controlled(model, initial, settings, until, applied, &Controls::none(), observer)
}

/// Simulates a model from a state at time 0 until a time in s, with control values for each step.
///
/// `observer` is called with every time and state, the initial ones included.
///
/// # Errors
/// When the settings are out of range, the state does not belong to the model, the controls do
/// not fit the forces or the number of steps, or a step fails.
pub fn simulate_controlled<T: Scalar>(
    model: &Model<T>,
    initial: &State<T>,
    settings: &SimulationSettings,
    until: f64,
    applied: &impl AppliedForces,
    controls: &Controls<T>,
    observer: impl FnMut(f64, &State<T>),
) -> Result<Trajectory<T>, SimulationError> {
    let mut trajectory = Trajectory::starting_at(initial);
    simulate_into(&mut trajectory, model, settings, until, applied, controls, observer)?;
    Ok(trajectory)
}

impl<T: Scalar> Trajectory<T> {
    /// A trajectory that holds only a state at time 0.
    pub fn starting_at(initial: &State<T>) -> Self {
        Self { times: vec![0.0], states: vec![initial.clone()] }
    }
}

/// Simulates from the first state of a trajectory, at time 0, until a time in s. What the
/// trajectory held after its first state is replaced.
///
/// When a step fails, the trajectory holds everything up to its start.
///
/// # Errors
/// As of [`simulate_controlled`]; also when the trajectory has no state.
pub fn simulate_into<T: Scalar>(
    trajectory: &mut Trajectory<T>,
    model: &Model<T>,
    settings: &SimulationSettings,
    until: f64,
    applied: &impl AppliedForces,
    controls: &Controls<T>,
    mut observer: impl FnMut(f64, &State<T>),
) -> Result<(), SimulationError> {
    let observe = |step: Observed<T>| observer(step.time, step.state);
    advance(trajectory, model, settings, until, applied, controls, observe)
}

/// [`simulate_into`], with every step looked at by a [`Watch`]: also what it has noticed up to the
/// end or to a step that failed.
pub fn simulate_watched(
    trajectory: &mut Trajectory,
    model: &Model,
    settings: &SimulationSettings,
    until: f64,
    applied: &impl AppliedForces,
    controls: &Controls,
    mut observer: impl FnMut(f64, &State),
) -> (Result<(), SimulationError>, Vec<MotionWarning>) {
    let mut watch: Option<Watch> = None;
    let observe = |step: Observed<f64>| {
        match (&mut watch, step.taken) {
            (Some(watch), Some((at, workspace))) => {
                watch.after_step(model, at.time, at.dt, step.state, workspace);
            }
            (watch, _) => *watch = Some(Watch::new(model, step.state, settings)),
        }
        observer(step.time, step.state);
    };
    let outcome = advance(trajectory, model, settings, until, applied, controls, observe);
    (outcome, watch.map_or_else(Vec::new, Watch::into_warnings))
}

/// What goes wrong without an error in a simulation under controls: that of [`simulate_watched`],
/// whose states are not wanted.
///
/// # Errors
/// As of [`simulate_controlled`].
pub fn motion_warnings(
    model: &Model,
    initial: &State,
    settings: &SimulationSettings,
    until: f64,
    applied: &impl AppliedForces,
    controls: &Controls,
) -> Result<Vec<MotionWarning>, SimulationError> {
    let mut trajectory = Trajectory::starting_at(initial);
    let (outcome, warnings) =
        simulate_watched(&mut trajectory, model, settings, until, applied, controls, |_, _| ());
    outcome.map(|()| warnings)
}

/// A state of a simulation, and how it came about.
struct Observed<'a, T> {
    time: f64,
    state: &'a State<T>,
    /// The step that led to it, with its workspace; none to the initial state.
    taken: Option<(StepTime, &'a StepWorkspace<T>)>,
}

/// Simulates from the first state of a trajectory.
fn advance<T: Scalar>(
    trajectory: &mut Trajectory<T>,
    model: &Model<T>,
    settings: &SimulationSettings,
    until: f64,
    applied: &impl AppliedForces,
    controls: &Controls<T>,
    mut observe: impl FnMut(Observed<T>),
) -> Result<(), SimulationError> {
    let schedule = settings.step_schedule(until)?;
    let Trajectory { times, states } = trajectory;
    let Some(initial) = states.first() else {
        return Err(SimulationError::BodyCount { state: 0, model: model.free_bodies().count() });
    };
    check_start(model, initial, applied, controls, schedule.len())?;
    observe(Observed { time: 0.0, state: initial, taken: None });
    states.truncate(1);
    times.clear();
    times.push(0.0);
    states.reserve(schedule.len());
    let mut workspace = StepWorkspace::default();
    for (step, &at) in schedule.iter().enumerate() {
        let StepTime { time, dt: time_step, number } = at;
        let (state, control) = (&states[step], controls.row(step));
        let problem = StepProblem { model, state, time, time_step, applied, control };
        let state = checked_step(settings.integrator, &problem, number, &mut workspace)?;
        let end = schedule.get(step + 1).map_or(until, |next| next.time);
        observe(Observed { time: end, state: &state, taken: Some((at, &workspace)) });
        times.push(end);
        states.push(state);
    }
    Ok(())
}
