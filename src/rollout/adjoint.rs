//! The gradient of a loss over a trajectory, by one sweep backward over its steps.

mod over;

pub(super) use over::loss_gradients_over;

use std::borrow::Cow;
use std::cell::RefCell;

use super::checked_step::{checked_step, checked_step_taped, step_failed};
use super::checkpoints::{CheckpointMemory, Checkpoints, Placement, next_checkpoint};
use super::controls::Controls;
use super::error::SimulationError;
use super::loss::DifferentiableLoss;
use super::loss_workspace::LossWorkspace;
use super::moment::{Moment, MomentGradient};
use super::schedule::StepTime;
use super::simulate::Rollout;
use super::tapes::Tapes;
use crate::multibody::{DifferentiatedModel, ModelGradient, PairWorkspace, Parameter, State};
use crate::step::{
    DerivativeWorkspace, StepCotangent, StepForces, StepProblem, StepWorkspace, Substep, Tape,
};

impl<'a> Rollout<'a> {
    /// The model prepared for differentiation with respect to parameters.
    pub(super) fn differentiated(
        &self,
        parameters: &[Parameter],
    ) -> Result<DifferentiatedModel<'a>, SimulationError> {
        let dependence = self.applied.differentiable().force_dependence();
        Ok(DifferentiatedModel::new(self.model, parameters, dependence, self.controls.dimension())?)
    }
}

/// What makes the control values of a rollout from its states.
pub(super) trait Feedback {
    /// Adds to the control values of a step that is taken for the first time. Steps come in order.
    fn control(&mut self, step: usize, state: &State, controls: &mut Cow<'_, Controls>);

    /// Adds to the derivatives with respect to the state before a step, and with respect to the model's parameters,
    /// what passes through the control values of the step and of those after it. Steps come in reverse order.
    fn reverse(
        &mut self,
        step: usize,
        before: &State,
        by_row: &[f64],
        by_state: &mut [f64],
        by_parameters: &mut [f64],
    );
}

/// No feedback: the control values are given.
impl Feedback for () {
    fn control(&mut self, _: usize, _: &State, _: &mut Cow<'_, Controls>) {}

    fn reverse(&mut self, _: usize, _: &State, _: &[f64], _: &mut [f64], _: &mut [f64]) {}
}

/// A loss over a trajectory and its gradient.
#[derive(Clone, Debug, PartialEq)]
pub struct LossGradient {
    /// The loss.
    pub value: f64,
    /// Its derivatives with respect to the initial state in its tangent space (see [`State::moved`]).
    pub by_initial: Vec<f64>,
    /// Its derivatives with respect to the control values, a row for each step.
    pub by_controls: Controls,
    /// Its derivatives with respect to the parameters that were asked for, in their order.
    pub by_parameters: Vec<f64>,
    /// Memory of the checkpoints, and the number of steps taken.
    pub memory: CheckpointMemory,
}

/// The gradient of a loss over a rollout with respect to the initial state, the control values and
/// `parameters`, by the adjoint method: one sweep backward over the steps, with the vector–Jacobian
/// product of each.
///
/// Its cost does not depend on the number of control values and parameters, except as described at
/// [`DifferentiatedModel`] and [`AppliedForces::add_vjp`](crate::multibody::AppliedForces::add_vjp). The result has the same bits whichever states
/// are kept, as long as a step depends on nothing but its arguments.
/// The thread keeps up to 64 MiB of the memory that this takes, for its next gradient.
///
/// # Errors
/// When the model does not have a parameter, or the simulation fails.
///
/// # Examples
/// The derivative of a falling body's height with respect to its initial velocity:
/// ```
/// use isobar::multibody::{Body, BodyState, MassSource, ModelBuilder, State};
/// use isobar::rollout::{Checkpoints, Loss, Moment, Rollout, SimulationSettings, loss_gradient};
/// use isobar::scalar::Scalar;
/// use isobar::spatial::{MassProperties, RigidTransform};
/// use nalgebra::{Matrix3, Vector3};
///
/// /// The height at the end.
/// struct Height;
///
/// impl Loss for Height {
///     fn terminal<T: Scalar>(&self, moment: &Moment<T>) -> T {
///         moment.state.bodies[0].position.z
///     }
/// }
///
/// let mass = MassProperties { mass: 2.0, center_of_mass: Vector3::zeros(), inertia: Matrix3::identity() };
/// let body = Body::free("drone", MassSource::Given(mass), vec![])?;
/// let model = ModelBuilder { bodies: vec![body], ..Default::default() }.build()?;
/// let start = State::of_bodies(vec![BodyState::at_rest(&RigidTransform::identity())]);
/// let rollout = Rollout::new(&model, &start, SimulationSettings::default(), 0.1);
/// let gradient = loss_gradient(&rollout, &Height, &[], Checkpoints::All)?;
/// // The last direction of a body's tangent space is its velocity upward, which acts for 0.1 s.
/// assert!((gradient.by_initial[11] - 0.1).abs() < 1e-12);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn loss_gradient(
    rollout: &Rollout<'_>,
    loss: &dyn DifferentiableLoss,
    parameters: &[Parameter],
    checkpoints: Checkpoints,
) -> Result<LossGradient, SimulationError> {
    loss_gradient_under(rollout, loss, parameters, checkpoints, &mut ())
}

/// The same under feedback, which adds to the control values of the rollout.
pub(super) fn loss_gradient_under(
    rollout: &Rollout<'_>,
    loss: &dyn DifferentiableLoss,
    parameters: &[Parameter],
    checkpoints: Checkpoints,
    feedback: &mut dyn Feedback,
) -> Result<LossGradient, SimulationError> {
    let schedule = rollout.schedule()?;
    let model = rollout.differentiated(parameters)?;
    let controls = rollout.control_rows()?;
    let mut sweep = Sweep::new(rollout, (&schedule, controls), &model, loss, feedback)?;
    match checkpoints.placement(schedule.len()) {
        Placement::Equidistant(spacing) => sweep.equidistant(spacing)?,
        Placement::Binomial(spare) => sweep.binomial(spare)?,
    }
    sweep.finished()
}

/// The step of a rollout of this number, from a state, with the substeps that it had before.
fn problem<'s>(
    rollout: &Rollout<'s>,
    schedule: &[StepTime],
    controls: &'s Controls,
    known: &'s [Option<Vec<Substep>>],
    step: usize,
    state: &'s State,
) -> StepProblem<'s> {
    let own = rollout.problem(schedule[step], state, controls.row(step));
    let known = known.get(step).and_then(Option::as_deref);
    StepProblem { substeps: own.substeps.or(known), ..own }
}

/// A sweep backward over the steps of a rollout.
struct Sweep<'a> {
    rollout: &'a Rollout<'a>,
    schedule: &'a [StepTime],
    /// The control values of steps; with what feedback adds, of those that were taken.
    controls: Cow<'a, Controls>,
    feedback: &'a mut dyn Feedback,
    /// Steps that were taken, some of them more than once.
    first_taken: usize,
    model: &'a DifferentiatedModel<'a>,
    loss: &'a dyn DifferentiableLoss,
    steps: StepWorkspace,
    derivatives: DerivativeWorkspace,
    losses: LossWorkspace,
    contacts: RefCell<PairWorkspace>,
    /// What was swept already, by the state that it starts from.
    by_state: Vec<f64>,
    /// What the term of one step owes to the state that it starts from.
    of_start: Vec<f64>,
    forces: RefCell<StepForces>,
    by_controls: Controls,
    by_model: ModelGradient,
    tapes: Tapes,
    /// The substeps of error-controlled steps that have been taken, so that they are not searched for again.
    substeps: Vec<Option<Vec<Substep>>>,
    value: f64,
    memory: CheckpointMemory,
}

impl<'a> Sweep<'a> {
    fn new(
        rollout: &'a Rollout<'a>,
        (schedule, controls): (&'a [StepTime], Cow<'a, Controls>),
        model: &'a DifferentiatedModel<'a>,
        loss: &'a dyn DifferentiableLoss,
        feedback: &'a mut dyn Feedback,
    ) -> Result<Self, SimulationError> {
        Ok(Self {
            rollout,
            schedule,
            by_controls: Controls::zeros(schedule.len(), controls.dimension()),
            controls,
            feedback,
            first_taken: 0,
            model,
            loss,
            steps: StepWorkspace::default(),
            derivatives: DerivativeWorkspace::default(),
            losses: LossWorkspace::new(rollout.model, model.parameters())?,
            contacts: RefCell::default(),
            by_state: vec![0.0; rollout.start().tangent_dimension()],
            of_start: vec![0.0; rollout.start().tangent_dimension()],
            forces: RefCell::default(),
            by_model: ModelGradient::zero(model),
            tapes: Tapes::default(),
            substeps: Vec::new(),
            value: 0.0,
            memory: CheckpointMemory::default(),
        })
    }

    fn finished(self) -> Result<LossGradient, SimulationError> {
        self.losses.check()?;
        Ok(LossGradient {
            value: self.value,
            by_parameters: self.model.by_parameters(&self.by_state, &self.by_model),
            by_initial: self.by_state,
            by_controls: self.by_controls,
            memory: self.memory,
        })
    }

    /// Remembers the substeps of a step that was taken.
    fn remember_substeps(&mut self, step: usize) {
        if !self.rollout.settings.integrator.is_error_controlled() {
            return;
        }
        self.substeps.resize(self.schedule.len(), None);
        let taken = self.steps.substeps().map(|statistics| &statistics.substeps);
        if let (known @ None, Some(taken)) = (&mut self.substeps[step], taken) {
            *known = Some(taken.clone());
        }
    }

    /// Lets feedback add to the control values of a step that is taken for the first time.
    fn make_controls(&mut self, step: usize, state: &State) {
        if step == self.first_taken {
            self.first_taken += 1;
            self.feedback.control(step, state, &mut self.controls);
        }
    }

    /// Takes a step.
    fn advance(&mut self, step: usize, state: &State) -> Result<State, SimulationError> {
        self.make_controls(step, state);
        self.memory.steps_taken += 1;
        let (integrator, number) = (self.rollout.settings.integrator, self.schedule[step].number);
        let Self { rollout, controls, schedule, substeps, steps, .. } = self;
        let problem = problem(rollout, schedule, controls, substeps, step, state);
        let after = checked_step(integrator, &problem, number, steps)?;
        self.remember_substeps(step);
        Ok(after)
    }

    /// Takes a step, and keeps its tape if there is room for it: a step of those whose states are
    /// kept, in their order.
    fn advance_taped(&mut self, step: usize, state: &State) -> Result<State, SimulationError> {
        if !self.tapes.has_room() {
            return self.advance(step, state);
        }
        self.make_controls(step, state);
        self.memory.steps_taken += 1;
        let (integrator, number) = (self.rollout.settings.integrator, self.schedule[step].number);
        let mut tape = self.tapes.blank();
        let Self { rollout, controls, schedule, substeps, steps, model, .. } = self;
        let problem = problem(rollout, schedule, controls, substeps, step, state);
        let after = checked_step_taped(integrator, &problem, number, model, steps, &mut tape)?;
        self.tapes.keep(step, tape);
        self.remember_substeps(step);
        Ok(after)
    }

    /// Takes note of what is kept at present: a number of states, and tapes.
    fn note(&mut self, states: usize) {
        self.memory.note(states, self.rollout.initial, self.tapes.bytes());
    }

    /// Starts the sweep at the end.
    fn end(&mut self, state: &State) {
        let (step, time) = (self.schedule.len(), self.rollout.until);
        let at = Moment::instant(self.rollout.model, state, &[], &self.contacts);
        let moment = Moment { step, time, ..at };
        let parameters = &mut self.by_model.direct[..];
        let state = &mut self.by_state[..];
        let mut by = MomentGradient { state, step_end: &mut [], control: &mut [], parameters };
        self.value += self.loss.add_terminal(&moment, &mut by, &mut self.losses);
    }

    /// Sweeps over a step.
    fn reverse(&mut self, step: usize, before: &State, after: &State) -> Result<(), SimulationError> {
        let mut tape = match self.tapes.take(step) {
            Some(tape) => tape,
            None => {
                let mut tape = self.tapes.blank();
                let Self { rollout, schedule, controls, substeps, .. } = self;
                let problem = problem(rollout, schedule, controls, substeps, step, before);
                let integrator = rollout.settings.integrator;
                integrator
                    .tape(&problem, after, self.model, &mut self.steps, &mut tape)
                    .map_err(|source| step_failed(rollout.model, schedule[step], source))?;
                tape
            }
        };
        self.reverse_taped(step, before, after, &mut tape);
        self.tapes.give_back(tape);
        Ok(())
    }

    /// The same with the step's tape.
    fn reverse_taped(&mut self, step: usize, before: &State, after: &State, tape: &mut Tape) {
        let Rollout { settings, applied, .. } = *self.rollout;
        let problem = problem(self.rollout, self.schedule, &self.controls, &self.substeps, step, before);
        // What the loss owes to the end of the step passes through the step; what it owes to the start does not.
        self.of_start.fill(0.0);
        let memory = (&self.contacts, &self.forces);
        let moment = Moment::of_step(step, settings.integrator, problem, after, memory);
        let mut by = MomentGradient {
            state: &mut self.of_start,
            step_end: &mut self.by_state,
            control: self.by_controls.row_mut(step),
            parameters: &mut self.by_model.direct,
        };
        self.value += self.loss.add_running(&moment, &mut by, &mut self.losses);
        let mut out = StepCotangent {
            state: &mut self.by_state,
            control: self.by_controls.row_mut(step),
            model: &mut self.by_model,
        };
        tape.vjp(self.model, applied, &mut self.derivatives, &mut out);
        self.by_state.iter_mut().zip(&self.of_start).for_each(|(by, start)| *by += start);
        let Self { feedback, by_controls, by_state, by_model, .. } = self;
        feedback.reverse(step, before, by_controls.row(step), by_state, &mut by_model.direct);
    }

    /// Sweeps over consecutive steps, from the last to the `first`, all of whose states are given.
    fn reverse_all(&mut self, first: usize, states: &[State]) -> Result<(), SimulationError> {
        for (i, pair) in states.windows(2).enumerate().rev() {
            self.reverse(first + i, &pair[0], &pair[1])?;
        }
        Ok(())
    }

    /// The whole sweep with a checkpoint every `spacing` steps.
    fn equidistant(&mut self, spacing: usize) -> Result<(), SimulationError> {
        let steps = self.schedule.len();
        let last_part = steps.saturating_sub(1) / spacing * spacing;
        let mut checkpoints: Vec<State> = Vec::new();
        // The states from the last checkpoint on, that one included.
        let mut states = vec![self.rollout.start()];
        self.note(states.len());
        for step in 0..steps {
            if step > 0 && step % spacing == 0 {
                let last = states.pop();
                checkpoints.extend(states.drain(..).next());
                states.extend(last);
            }
            let last = &states[states.len() - 1];
            // Of the other steps the tapes would have to be thrown away.
            let next = match step >= last_part {
                true => self.advance_taped(step, last)?,
                false => self.advance(step, last)?,
            };
            states.push(next);
            self.note(checkpoints.len() + states.len());
        }
        self.end(&states[states.len() - 1]);
        self.reverse_all(steps - (states.len() - 1), &states)?;
        while let Some(checkpoint) = checkpoints.pop() {
            let first = checkpoints.len() * spacing;
            // The state that the last part of the sweep started from.
            states.truncate(1);
            let after = states.pop();
            states.push(checkpoint);
            for step in first..first + spacing - 1 {
                let next = self.advance_taped(step, &states[states.len() - 1])?;
                states.push(next);
            }
            states.extend(after);
            self.note(checkpoints.len() + states.len());
            self.reverse_all(first, &states)?;
        }
        Ok(())
    }

    /// The whole sweep with at most `spare` checkpoints besides the initial state.
    fn binomial(&mut self, spare: usize) -> Result<(), SimulationError> {
        let steps = self.schedule.len();
        let initial = &self.rollout.start();
        if steps == 0 {
            self.note(1);
            self.end(initial);
            return Ok(());
        }
        let mut after = None;
        self.binomial_part(0, initial, steps, (spare, 0), &mut after)
    }

    /// Sweeps over the steps from `first` on, before `end`, of which the state at the start is
    /// known; `after` is the state that the sweep has come to, none at first. `checkpoints` are
    /// those that are still to be had and those that are in use.
    fn binomial_part(
        &mut self,
        first: usize,
        start: &State,
        end: usize,
        checkpoints: (usize, usize),
        after: &mut Option<State>,
    ) -> Result<(), SimulationError> {
        let (spare, used) = checkpoints;
        if end - first > 1 && spare > 0 {
            let middle = first + next_checkpoint(end - first, spare);
            let mut state = self.advance(first, start)?;
            for step in first + 1..middle {
                state = self.advance(step, &state)?;
            }
            self.binomial_part(middle, &state, end, (spare - 1, used + 1), after)?;
            return self.binomial_part(first, start, middle, checkpoints, after);
        }
        for last in (first..end).rev() {
            let mut state = start.clone();
            for step in first..last {
                state = self.advance(step, &state)?;
            }
            // The initial state, the checkpoints, the states before and after this step.
            self.note(used + 3);
            let next = match after.take() {
                Some(next) => next,
                None => {
                    let next = self.advance(last, &state)?;
                    self.end(&next);
                    next
                }
            };
            self.reverse(last, &state, &next)?;
            *after = Some(state);
        }
        Ok(())
    }
}
