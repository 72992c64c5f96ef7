//! Simulations: from an initial state to a trajectory.

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::borrow::Cow;
use std::ops::{ControlFlow, Range};

use super::checked_step::checked_step_into;
use super::control_signal::ControlSignal;
use super::controls::Controls;
use super::error::SimulationError;
use super::report::{StepReport, TakenStep};
use super::schedule::{SimulationSettings, StepSchedule, StepTime};
use super::sleep::{Sleep, Sleepers};
use super::watch::{MotionWarning, Watch};
use crate::multibody::{ForcesIn, Model, NoForces, State};
use crate::scalar::Scalar;
use crate::step::{Integrator, StepProblem, StepWorkspace, Substep};

/// States at increasing times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(bound = "T: nalgebra::Scalar + Serialize + DeserializeOwned")]
pub struct Trajectory<T = f64> {
    /// Times in s, the first of them 0.
    pub times: Vec<f64>,
    /// The state at each time.
    pub states: Vec<State<T>>,
}

/// A simulation to be done: its model and initial state, its integrator and time step, its forces and
/// its control values.
///
/// # Examples
/// A ball of foam falls on the floor and comes to rest:
/// ```
/// use isobar::*;
///
/// let foam = Material::new(1e5, 1.0, 0.5);
/// let ball = Collider::of_shape(&Shape::Sphere { radius: 0.05 }, 0.05, foam)?;
/// let floor = Collider::rigid_half_space(foam);
/// let bodies = vec![
///     Body::free("ball", MassSource::Density(200.0), vec![BodyGeometry::new(ball)])?,
///     Body::fixed("floor", RigidTransform::identity(), vec![BodyGeometry::new(floor)]),
/// ];
/// let model = ModelBuilder { bodies, ..Default::default() }.build()?;
/// let start = State::of_bodies(vec![BodyState::at_rest(&RigidTransform::from_translation([0.0, 0.0, 0.06]))]);
/// let rollout = Rollout::new(&model, &start, SimulationSettings::default(), 0.5);
/// let motion = rollout.simulate()?;
/// let height = motion.states[500].bodies[0].position.z;
/// assert!(0.04 < height && height < 0.05);
///
/// // What is not to be kept is looked at on the way: here how much work the contacts are.
/// let mut iterations = 0;
/// rollout.for_each(|report| {
///     let statistics = report.taken.as_ref().and_then(|step| step.statistics());
///     iterations += statistics.map_or(0, |statistics| statistics.iterations);
/// })?;
/// assert!(iterations > 100);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Rollout<'a, T = f64> {
    /// The model.
    pub model: &'a Model<T>,
    /// The state at time 0.
    pub initial: &'a State<T>,
    /// Integrator and time step.
    pub settings: SimulationSettings,
    /// The time at which the simulation ends, s.
    pub until: f64,
    /// The user's forces.
    pub applied: &'a dyn ForcesIn<T>,
    /// The control values of each step.
    pub controls: ControlSignal<'a, T>,
    /// The substeps of each error-controlled step, where they are held; `None` to find them.
    pub substeps: Option<&'a [Vec<Substep>]>,
    /// When bodies at rest fall asleep, in velocity-level steps of fixed length. Gradients are those of the motion in which none
    /// does.
    pub sleep: Option<Sleep>,
}

impl<T> Clone for Rollout<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Rollout<'_, T> {}

impl<'a, T: Scalar> Rollout<'a, T> {
    /// A simulation from a state at time 0 until a time in s, without forces of the user's and
    /// without control values.
    pub fn new(model: &'a Model<T>, initial: &'a State<T>, settings: SimulationSettings, until: f64) -> Self {
        let (applied, controls) = (&NoForces, ControlSignal::default());
        Self { model, initial, settings, until, applied, controls, substeps: None, sleep: None }
    }
}

impl<'a, T> Rollout<'a, T> {
    /// The same rollout with these user forces instead of its own.
    #[must_use]
    pub fn under(self, applied: &'a dyn ForcesIn<T>) -> Self {
        Self { applied, ..self }
    }

    /// The same rollout whose error-controlled steps have these substeps, a list for each step: of a changed
    /// model or state, for differences whose points all take the same substeps (see
    /// [`Rollout::find_substeps`]).
    #[must_use]
    pub fn holding(self, substeps: &'a [Vec<Substep>]) -> Self {
        Self { substeps: Some(substeps), ..self }
    }

    /// The same rollout in which bodies at rest fall asleep.
    #[must_use]
    pub fn sleeping(self, sleep: Sleep) -> Self {
        Self { sleep: Some(sleep), ..self }
    }

    /// The state at time 0, whose bristles are not deflected if it says nothing of them.
    #[doc(hidden)]
    pub fn start(&self) -> State<T>
    where
        T: Scalar,
    {
        self.model.completed(self.initial.clone())
    }

    /// The substeps of a step, where they are held.
    pub(crate) fn held_substeps(&self, step: usize) -> Option<&'a [Substep]> {
        self.substeps.and_then(|all| all.get(step)).map(Vec::as_slice)
    }

    /// The step at a time, from a state and under control values.
    pub(crate) fn problem<'s>(
        &self,
        StepTime { time, dt: time_step, number }: StepTime,
        state: &'s State<T>,
        control: &'s [T],
    ) -> StepProblem<'s, T>
    where
        'a: 's,
    {
        let Self { model, applied, .. } = *self;
        StepProblem {
            model,
            state,
            time,
            time_step,
            applied,
            control,
            substeps: self.held_substeps(number - 1),
            asleep: &[],
        }
    }

    /// The same rollout with these control values instead of its own. They are [`Controls`] or
    /// [`Command`](super::Command)s.
    #[must_use]
    pub fn with_controls(self, controls: impl Into<ControlSignal<'a, T>>) -> Self {
        Self { controls: controls.into(), ..self }
    }
}

/// The result of a simulation.
#[derive(Debug)]
pub struct Motion {
    /// The states, up to the end or to the step that failed.
    pub trajectory: Trajectory,
    /// The warnings, in order of time.
    pub warnings: Vec<MotionWarning>,
    /// An error if the simulation failed before its end.
    pub outcome: Result<(), SimulationError>,
}

impl Motion {
    /// Simulates, and keeps the states and what a [`Watch`] notices, up to the end or to a step that
    /// fails.
    pub fn of(rollout: &Rollout<'_>) -> Self {
        let (mut trajectory, mut watch) = (Trajectory::empty(), Watch::default());
        let outcome = rollout.for_each(|step| {
            watch.look(step);
            trajectory.push(step);
        });
        Self { trajectory, warnings: watch.into_warnings(), outcome }
    }

    /// The whole trajectory.
    ///
    /// # Errors
    /// The error of the step that failed.
    pub fn completed(self) -> Result<Trajectory, SimulationError> {
        self.outcome.map(|()| self.trajectory)
    }
}

impl<'a, T: Scalar> Rollout<'a, T> {
    /// The states at all times.
    ///
    /// # Errors
    /// When the settings are out of range, the state does not belong to the model, the control values do
    /// not match the model, the forces or the number of steps, or a step fails. [`Self::motion`] keeps
    /// the states before a step that fails.
    pub fn simulate(&self) -> Result<Trajectory<T>, SimulationError> {
        let mut trajectory = Trajectory::empty();
        self.for_each(|step| trajectory.push(step))?;
        Ok(trajectory)
    }

    /// Simulates without keeping the states. `observer` is called with every state, including the first
    /// and the last, and with a report of the step that led to it.
    ///
    /// # Errors
    /// The errors of [`Self::simulate`].
    pub fn for_each(&self, mut observer: impl FnMut(&StepReport<'_, T>)) -> Result<(), SimulationError> {
        self.observe(&mut |step| {
            observer(step);
            ControlFlow::Continue(())
        })
    }

    /// The substeps of each step; none of steps whose error is not controlled.
    ///
    /// # Errors
    /// The errors of [`Self::simulate`].
    pub fn find_substeps(&self) -> Result<Vec<Vec<Substep>>, SimulationError> {
        let mut substeps = Vec::new();
        self.for_each(|step| {
            let taken = step.taken.as_ref();
            substeps
                .extend(taken.map(|taken| taken.substeps().map_or_else(Vec::new, |s| s.substeps.clone())));
        })?;
        Ok(substeps)
    }

    /// The same as [`Self::for_each`] for an observer that may fail, or end the simulation early by
    /// returning a break.
    ///
    /// # Errors
    /// The errors of [`Self::simulate`], and those of `observer`.
    pub fn try_for_each<E: From<SimulationError>>(
        &self,
        observer: impl FnMut(&StepReport<'_, T>) -> Result<ControlFlow<()>, E>,
    ) -> Result<(), E> {
        fallibly(observer, |observer| self.observe(observer))
    }

    /// Simulates under a feedback policy: `policy` fills in the control values of each step from the
    /// step's number, counted from 0, and the state at its start; they are zeros before. The control
    /// values of the rollout are not used.
    ///
    /// Returns the trajectory and the control values. A rollout with these control values gives the same
    /// trajectory.
    ///
    /// # Errors
    /// The errors of [`Self::simulate`].
    pub fn simulate_with_feedback(
        &self,
        mut policy: impl FnMut(usize, &State<T>, &mut [T]),
    ) -> Result<(Trajectory<T>, Controls<T>), SimulationError> {
        let schedule = self.settings.schedule(self.until)?;
        let mut controls = Controls::zeros(schedule.steps(), self.control_dimension());
        let mut trajectory = Trajectory::empty();
        let mut control = |step: usize, _, state: &State<T>, row: &mut [T]| {
            let values = controls.row_mut(step);
            policy(step, state, values);
            row.copy_from_slice(values);
        };
        check_initial(self.model, self.initial)?;
        self.advance(schedule, &mut control, &mut |step| {
            trajectory.push(step);
            ControlFlow::Continue(())
        })?;
        Ok((trajectory, controls))
    }

    /// Simulates under control values that `control` fills in, as [`Self::simulate_with_feedback`] without keeping
    /// anything.
    pub(super) fn observe_under(
        &self,
        control: Control<'_, T>,
        observer: Observer<'_, T>,
    ) -> Result<(), SimulationError> {
        let schedule = self.settings.schedule(self.until)?;
        check_initial(self.model, self.initial)?;
        self.advance(schedule, control, observer)
    }

    /// Control values that the model's actuators and the user's forces take at each step.
    pub(super) fn control_dimension(&self) -> usize {
        self.model.command_dimension() + self.applied.controls()
    }

    /// Checks that the state and the control values fit the model, the user's forces and a number of
    /// steps.
    fn check(&self, steps: usize) -> Result<(), SimulationError> {
        check_initial(self.model, self.initial)?;
        self.controls.check(self.control_dimension(), steps)
    }

    /// The steps, as a list.
    pub(super) fn schedule(&self) -> Result<Vec<StepTime>, SimulationError> {
        let schedule = self.settings.schedule(self.until)?;
        self.check(schedule.steps())?;
        Ok(schedule.list())
    }

    /// The control values of all steps.
    ///
    /// # Errors
    /// When the settings are out of range.
    pub fn control_rows(&self) -> Result<Cow<'a, Controls<T>>, SimulationError> {
        Ok(match self.controls {
            ControlSignal::Rows(controls) => Cow::Borrowed(controls),
            ControlSignal::Commands(commands) => {
                Cow::Owned(Controls::of_commands(commands, &self.settings.step_times(self.until)?))
            }
        })
    }

    /// Simulates under the rollout's control values.
    fn observe(&self, observer: Observer<'_, T>) -> Result<(), SimulationError> {
        let schedule = self.settings.schedule(self.until)?;
        self.check(schedule.steps())?;
        self.advance(schedule, &mut |step, span, _, row| self.controls.put_row(step, span, row), observer)
    }

    /// Simulates under control values that `control` fills in. Observers and controls are called through
    /// pointers, so that programs compile one loop and not one for each of them.
    #[inline(never)]
    fn advance(
        &self,
        schedule: StepSchedule,
        control: Control<'_, T>,
        observer: Observer<'_, T>,
    ) -> Result<(), SimulationError> {
        let Self { model, applied, settings: SimulationSettings { integrator, .. }, .. } = *self;
        let mut workspace = StepWorkspace::default();
        let mut row = vec![T::from(0.0); self.control_dimension()];
        let (mut state, mut after) = (self.start(), State::default());
        let all_steps = schedule.steps();
        let sleep =
            self.sleep.filter(|_| T::NDERIV == 0 && matches!(integrator, Integrator::VelocityLevel(_)));
        let mut sleepers = sleep.map(|sleep| Sleepers::new(sleep, model));
        let start = StepReport { model, steps: 0, all_steps, time: 0.0, state: &state, taken: None };
        let mut flow = observer(&start);
        for steps in 0..all_steps {
            if flow.is_break() {
                break;
            }
            let (at, end) = (schedule.step(steps), schedule.time(steps + 1));
            control(steps, at.time..end, &state, &mut row);
            let StepTime { time: start, dt: time_step, number } = at;
            let control = &row[..];
            loop {
                let asleep = sleepers.as_ref().map_or(&[][..], Sleepers::asleep);
                let problem = StepProblem { asleep, ..self.problem(at, &state, control) };
                checked_step_into(integrator, &problem, number, &mut workspace, &mut after)?;
                let Some(sleepers) = &mut sleepers else { break };
                let (before, workspace, asleep) = (&state, &workspace, &[][..]);
                let taken =
                    TakenStep { integrator, start, time_step, before, control, applied, workspace, asleep };
                if !sleepers.wake(model, &taken) {
                    sleepers.settle(model, &taken, &mut after);
                    break;
                }
            }
            std::mem::swap(&mut state, &mut after);
            let (before, workspace) = (&after, &workspace);
            let asleep = sleepers.as_ref().map_or(&[][..], Sleepers::slept);
            let taken =
                TakenStep { integrator, start, time_step, before, control, applied, workspace, asleep };
            let (steps, taken) = (steps + 1, Some(taken));
            flow = observer(&StepReport { model, steps, all_steps, time: end, state: &state, taken });
        }
        Ok(())
    }
}

impl Rollout<'_> {
    /// Simulates, and keeps the states and what a [`Watch`] notices, up to the end or to a step that
    /// fails.
    ///
    /// A program that calls this does not compile the steps again, unlike one that calls
    /// [`Self::simulate`]. With forces of the user's see [`Motion::of`].
    pub fn motion(&self) -> Motion {
        Motion::of(self)
    }
}

/// What is called with every state.
pub(super) type Observer<'o, T> = &'o mut dyn FnMut(&StepReport<'_, T>) -> ControlFlow<()>;

/// Simulates for an observer that may fail, which ends the simulation.
pub(super) fn fallibly<T: Scalar, E: From<SimulationError>>(
    mut observer: impl FnMut(&StepReport<'_, T>) -> Result<ControlFlow<()>, E>,
    simulate: impl FnOnce(Observer<'_, T>) -> Result<(), SimulationError>,
) -> Result<(), E> {
    let mut failed = None;
    let outcome = simulate(&mut |step| {
        observer(step).unwrap_or_else(|error| {
            failed = Some(error);
            ControlFlow::Break(())
        })
    });
    failed.map_or_else(|| outcome.map_err(E::from), Err)
}

/// What fills in the control values of a step: its number, counted from 0, the span of its time, the
/// state at its start.
pub(super) type Control<'c, T> = &'c mut dyn FnMut(usize, Range<f64>, &State<T>, &mut [T]);

impl<T: Scalar> Trajectory<T> {
    /// No states yet.
    pub(super) fn empty() -> Self {
        Self { times: Vec::new(), states: Vec::new() }
    }

    pub(super) fn push(&mut self, step: &StepReport<'_, T>) {
        self.times.push(step.time);
        self.states.push(step.state.clone());
    }
}

/// Checks that a state fits a model.
fn check_initial<T: Scalar>(model: &Model<T>, initial: &State<T>) -> Result<(), SimulationError> {
    let free = model.free_bodies().count();
    if initial.bodies.len() != free {
        return Err(SimulationError::BodyCount { state: initial.bodies.len(), model: free });
    }
    let joints = model.mechanism.velocity_dimension();
    if initial.joints.kinds() != model.mechanism.kinds() {
        return Err(SimulationError::JointCount { state: initial.joints.v.len(), model: joints });
    }
    let (bristles, of_model) = (initial.bristles.len(), model.bristle_count());
    if bristles != of_model && bristles != 0 {
        return Err(SimulationError::BristleCount { state: bristles, model: of_model });
    }
    Ok(())
}
