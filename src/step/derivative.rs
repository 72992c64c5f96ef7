//! The derivative of one step: as matrices, and vector–Jacobian products without forming them.
//!
//! Both are in the tangent spaces of the states before and after (see
//! [`crate::multibody::State::moved`]).

use nalgebra::DMatrix;

use super::velocity_level::VjpMemory;
use super::{Integrator, StepError, StepProblem, StepWorkspace};
use crate::multibody::{
    AppliedForces, DifferentiatedModel, ForcePoint, ForceSensitivity, ForceWorkspace, Forces, Input,
    InputError, JointSensitivity, Model, ModelGradient, State, seeded,
};
use crate::scalar::DualArray;

/// Directions that one dual step of [`Integrator::jacobian`] carries.
const CHUNK: usize = 8;

/// A step that was taken, at which derivatives are asked for: a [`StepProblem`] with its outcome.
#[derive(Debug)]
pub(super) struct StepPoint<'a, A> {
    /// The model, with the inputs to differentiate with respect to.
    pub model: &'a DifferentiatedModel<'a>,
    pub before: &'a State,
    pub after: &'a State,
    pub time: f64,
    pub dt: f64,
    pub applied: &'a A,
    pub control: &'a [f64],
}

impl<A> Clone for StepPoint<'_, A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<A> Copy for StepPoint<'_, A> {}

impl<'a, A> StepPoint<'a, A> {
    pub fn new(step: &StepProblem<'a, A>, after: &'a State, model: &'a DifferentiatedModel<'a>) -> Self {
        let StepProblem { state: before, time, time_step: dt, applied, control, .. } = *step;
        Self { model, before, after, time, dt, applied, control }
    }

    /// The same step without its forces, for what does not evaluate them and is compiled once.
    pub fn without_forces(&self) -> StepPoint<'a, ()> {
        let Self { model, before, after, time, dt, control, .. } = *self;
        StepPoint { model, before, after, time, dt, applied: &(), control }
    }

    /// The point at which forces are evaluated at a state and a time during the step.
    pub(super) fn forces_at(&self, state: &'a State, time: f64) -> ForcePoint<'a> {
        let (commands, control) = self.split_control();
        ForcePoint { model: self.model, state, time, commands, control }
    }

    /// The commands of the model's actuators, and the control values of the user's forces.
    pub(super) fn split_control(&self) -> (&'a [f64], &'a [f64]) {
        self.control.split_at(self.model.model().command_dimension())
    }
}

/// The derivatives of one number, such as a loss, that [`Tape::vjp`](super::Tape::vjp) carries backward.
#[derive(Debug)]
pub struct StepCotangent<'a> {
    /// By the state in its tangent space: on entry by the state after the step, on
    /// return by the state before it.
    pub state: &'a mut [f64],
    /// By the control values during the step: added to.
    pub control: &'a mut [f64],
    /// By the numbers of the model: added to.
    pub model: &'a mut ModelGradient,
}

/// The derivative of the state after a step, in its tangent space: a row for each of its
/// directions (see [`State`]).
#[derive(Clone, Debug, PartialEq)]
pub struct StepJacobian {
    /// By the state before the step, a column for each direction of its tangent space.
    pub by_state: DMatrix<f64>,
    /// By the control values, a column each.
    pub by_control: DMatrix<f64>,
    /// By the inputs of the model, a column each; zero for those that move the initial state.
    pub by_inputs: DMatrix<f64>,
}

/// Memory that derivatives of steps reuse from one step to the next.
#[derive(Debug, Default)]
pub struct DerivativeWorkspace {
    /// The states within the step, one for each stage.
    pub(super) stages: Vec<Stage>,
    /// Scratch of forces, and of forces with their derivatives.
    pub(super) forces: ForceWorkspace,
    pub(super) sensitivity: ForceSensitivity,
    /// The balance of the joints.
    pub(super) joints: JointSensitivity,
    /// The number's derivatives by the forces.
    pub(super) by_force: Forces,
    /// Its derivatives by the rates of the joints.
    pub(super) by_rate: Vec<f64>,
    /// Its derivatives by the state before the step, while they are summed.
    pub(super) by_state: Vec<f64>,
    /// Its derivatives by the state of a stage, or by the tangent that leads there.
    pub(super) by_stage: Vec<f64>,
    /// The tangent that leads from the state before the step to the one after it.
    pub(super) tangent: Vec<f64>,
    /// For velocity-level steps.
    pub(super) velocity_level: VjpMemory,
}

/// A state within a step.
#[derive(Debug)]
pub(super) struct Stage {
    /// The tangent that leads there from the state before the step.
    pub tangent: Vec<f64>,
    /// The state.
    pub state: State,
    /// The rate of the tangent there.
    pub rate: Vec<f64>,
    /// The number's derivatives by the rate.
    pub by_rate: Vec<f64>,
}

impl Default for Stage {
    fn default() -> Self {
        let state = State::default();
        Self { tangent: Vec::new(), state, rate: Vec::new(), by_rate: Vec::new() }
    }
}

/// The derivatives of the state after an explicit step, by steps in dual numbers.
pub(super) fn jacobian_by_duals<A: AppliedForces>(
    integrator: Integrator,
    at: &StepPoint<'_, A>,
) -> Result<StepJacobian, StepError> {
    type Dual = DualArray<CHUNK>;
    let rows = at.before.tangent_dimension();
    let model = Model::<Dual>::lift(at.model.model());
    let state = State::<Dual>::lift(at.before);
    let control: Vec<Dual> = at.control.iter().map(|&c| Dual::from(c)).collect();
    let mut workspace = StepWorkspace::default();
    let mut columns = |model: &Model<Dual>, state: &State<Dual>, control: &[Dual]| {
        let StepPoint { time, dt: time_step, applied, .. } = *at;
        let step = StepProblem { model, state, time, time_step, applied, control };
        let after = integrator.step(&step, &mut workspace)?;
        Ok::<_, StepError>(State::lift(&after.real()).difference(&after))
    };
    let put = |matrix: &mut DMatrix<f64>, column: usize, tangent: &[Dual], k: usize| {
        for (row, x) in tangent.iter().enumerate() {
            matrix[(row, column)] = x.eps[k];
        }
    };
    let seeds = |values: &[f64], first: usize| -> Vec<Dual> {
        let one = |(i, &x): (usize, &f64)| match i.checked_sub(first) {
            Some(k) if k < CHUNK => Dual::variable(x, k),
            _ => Dual::from(x),
        };
        values.iter().enumerate().map(one).collect()
    };
    let mut by_state = DMatrix::zeros(rows, rows);
    let zeros = vec![0.0; rows];
    for first in (0..rows).step_by(CHUNK) {
        let tangent = columns(&model, &state.moved(&seeds(&zeros, first)), &control)?;
        (first..rows.min(first + CHUNK)).for_each(|c| put(&mut by_state, c, &tangent, c - first));
    }
    let mut by_control = DMatrix::zeros(rows, at.control.len());
    for first in (0..at.control.len()).step_by(CHUNK) {
        let tangent = columns(&model, &state, &seeds(at.control, first))?;
        let last = at.control.len().min(first + CHUNK);
        (first..last).for_each(|c| put(&mut by_control, c, &tangent, c - first));
    }
    let inputs = at.model.inputs();
    let mut by_inputs = DMatrix::zeros(rows, inputs.len());
    let moving = |i: &usize| inputs[*i].initial_tangent(at.model.model()).is_none();
    let places: Vec<usize> = (0..inputs.len()).filter(moving).collect();
    for chunk in places.chunks(CHUNK) {
        let values: Result<Vec<(Input, Dual)>, InputError> = chunk
            .iter()
            .enumerate()
            .map(|(k, &i)| Ok((inputs[i], Dual::variable(inputs[i].value(at.model.model())?, k))))
            .collect();
        let (model, state) = seeded(at.model.model(), at.before, &values?)?;
        let tangent = columns(&model, &state, &control)?;
        chunk.iter().enumerate().for_each(|(k, &c)| put(&mut by_inputs, c, &tangent, k));
    }
    Ok(StepJacobian { by_state, by_control, by_inputs })
}
