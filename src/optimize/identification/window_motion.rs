//! The motion of a model from one recorded time to the next: simulated, in any scalar, and linearized, by the
//! Jacobians of its steps.

use std::borrow::Cow;
use std::ops::Range;

use nalgebra::DMatrix;

use crate::multibody::{DifferentiatedModel, ForcesIn, Model, State};
use crate::rollout::{
    Command, ControlSignal, LinearSteps, SimulationError, SimulationSettings, StepTime, checked_step,
};
use crate::scalar::Scalar;
use crate::step::{StepProblem, StepWorkspace, Substep};

/// How steps are taken between the times at which a motion is looked at.
#[derive(Clone, Copy)]
pub(super) struct Steps<'a> {
    pub settings: &'a SimulationSettings,
    /// The commands of the model's actuators.
    pub commands: &'a [Command],
    /// The substeps of the steps that are still to be taken, where they are held.
    pub held: Option<&'a [Vec<Substep>]>,
}

impl<'a> Steps<'a> {
    /// The control values of a step.
    fn control<T: Scalar>(&self, at: StepTime) -> Vec<T> {
        let mut row = vec![T::from(0.0); self.commands.len()];
        ControlSignal::Commands(self.commands).put_row(at.number - 1, at.time..at.time + at.dt, &mut row);
        row
    }

    /// The steps of a span of time: equal ones, not longer than the time step.
    fn in_span(&self, span: &Range<f64>) -> Result<impl Iterator<Item = StepTime> + use<>, SimulationError> {
        let longest = self.settings.time_step;
        if longest.is_nan() || longest <= 0.0 {
            return Err(SimulationError::TimeStep(longest));
        }
        let (start, length) = (span.start, span.end - span.start);
        let count = (length / longest - 1e-9).ceil().max(1.0);
        let dt = length / count;
        Ok((0..count as usize).map(move |step| StepTime {
            time: start + step as f64 * dt,
            dt,
            number: step + 1,
        }))
    }

    /// The substeps of the next step, where they are held.
    fn next_held(&mut self) -> Option<&'a [Substep]> {
        let (next, later) = self.held.and_then(|held| held.split_first()).unzip();
        self.held = later;
        next.map(Vec::as_slice)
    }

    /// The state at the end of a span of time. The substeps of its steps are added to `taken`, of those whose
    /// error is controlled and whose substeps are not held.
    pub fn advance<T: Scalar>(
        &mut self,
        (model, applied): (&Model<T>, &dyn ForcesIn<T>),
        mut state: State<T>,
        span: Range<f64>,
        workspace: &mut StepWorkspace<T>,
        taken: &mut Vec<Vec<Substep>>,
    ) -> Result<State<T>, SimulationError> {
        let integrator = self.settings.integrator;
        for at in self.in_span(&span)? {
            let StepTime { time, dt, number } = at;
            let (substeps, control) = (self.next_held(), self.control(at));
            let control = &control;
            let problem = StepProblem {
                model,
                state: &state,
                time,
                time_step: dt,
                applied,
                control,
                substeps,
                asleep: &[],
            };
            state = checked_step(integrator, &problem, number, workspace)?;
            if integrator.is_error_controlled() && substeps.is_none() {
                taken.extend(workspace.substeps().map(|found| found.substeps.clone()));
            }
        }
        Ok(state)
    }
}

/// A model under commands with the times of its loads and of commands counted from a time in s, for motions that start
/// there.
pub(super) fn counted_from<'m>(
    (model, commands): (&'m Model, &[Command]),
    start: f64,
) -> (Cow<'m, Model>, Vec<Command>) {
    let commands = commands.iter().map(|command| command.counted_from(start)).collect();
    if model.loads().is_empty() {
        return (Cow::Borrowed(model), commands);
    }
    let mut moved = model.clone();
    moved.loads.iter_mut().for_each(|load| *load = load.counted_from(start));
    (Cow::Owned(moved), commands)
}

/// A state and its derivatives, in its tangent space.
#[derive(Clone, Debug)]
pub(super) struct Sensitive {
    pub state: State,
    /// With respect to the state at the start of the window, what is given of it, in its tangent space.
    pub by_start: DMatrix<f64>,
    /// With respect to the parameters of the differentiated model.
    pub by_parameters: DMatrix<f64>,
}

impl Sensitive {
    /// The state at the start of a window of a model, with derivatives along these directions of its tangent space;
    /// bristles that it says nothing of are not deflected.
    pub fn start(model: &Model, start: &State, directions: &[usize], parameters: usize) -> Self {
        let state = model.completed(start.clone());
        let n = state.tangent_dimension();
        let mut by_start = DMatrix::zeros(n, directions.len());
        directions.iter().enumerate().for_each(|(column, &row)| by_start[(row, column)] = 1.0);
        Self { state, by_start, by_parameters: DMatrix::zeros(n, parameters) }
    }
}

impl Steps<'_> {
    /// Carries a state with its derivatives to the end of a span of time.
    pub fn advance_linearized(
        &mut self,
        (model, applied): (&DifferentiatedModel<'_>, &dyn ForcesIn<f64>),
        at: &mut Sensitive,
        span: Range<f64>,
        memory: &mut LinearSteps,
    ) -> Result<(), SimulationError> {
        let integrator = self.settings.integrator;
        for step in self.in_span(&span)? {
            let (substeps, control) = (self.next_held(), self.control(step));
            let problem = StepProblem {
                model: model.model(),
                state: &at.state,
                time: step.time,
                time_step: step.dt,
                applied,
                control: &control,
                substeps,
                asleep: &[],
            };
            let (after, jacobian) = memory.take(integrator, &problem, step.number, model)?;
            at.by_start = &jacobian.by_state * &at.by_start;
            at.by_parameters = &jacobian.by_state * &at.by_parameters + &jacobian.by_parameters;
            at.state = after;
        }
        Ok(())
    }
}
