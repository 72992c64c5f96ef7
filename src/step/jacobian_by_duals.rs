//! The Jacobian of a step, by steps in dual numbers.

use nalgebra::DMatrix;

use super::step_point::StepPoint;
use super::{Integrator, StepError, StepJacobian, StepProblem, StepWorkspace};
use crate::multibody::{Model, SeededModel, State, seeded_along};
use crate::scalar::{CHUNK, DualArray};

/// What the step is taken in.
pub(super) type Dual = DualArray<CHUNK>;

/// The derivatives of the state after a step, by `take`, which takes it in dual numbers.
pub(super) fn jacobian_by_duals(
    at: &StepPoint<'_>,
    mut take: impl FnMut(&StepProblem<'_, Dual>) -> Result<State<Dual>, StepError>,
) -> Result<StepJacobian, StepError> {
    let rows = at.before.tangent_dimension();
    let model = Model::<Dual>::lift(at.model.model());
    let state = State::<Dual>::lift(at.before);
    let control: Vec<Dual> = at.control.iter().map(|&c| Dual::from(c)).collect();
    let mut columns = |model: &Model<Dual>, state: &State<Dual>, control: &[Dual]| {
        let StepPoint { time, time_step, applied, .. } = *at;
        let step =
            StepProblem { model, state, time, time_step, applied, control, substeps: None, asleep: &[] };
        let after = take(&step)?;
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
    let parameters = at.model.parameters();
    let mut by_parameters = DMatrix::zeros(rows, parameters.len());
    let moving = |i: &usize| parameters[*i].initial_tangent(at.model.model()).is_none();
    let indices: Vec<usize> = (0..parameters.len()).filter(moving).collect();
    for chunk in indices.chunks(CHUNK) {
        let seeds = chunk.iter().map(|&i| parameters[i]);
        let (model, state) = seeded_along(at.model.model(), at.before, seeds)?;
        let tangent = columns(&model, &state, &control)?;
        chunk.iter().enumerate().for_each(|(k, &c)| put(&mut by_parameters, c, &tangent, k));
    }
    Ok(StepJacobian { by_state, by_control, by_parameters })
}

/// The derivatives of the state after a step with respect to the parameters that this is the way for
/// ([`Parameter::takes_a_step`]): for each of them, one after the other, a number for each direction of the tangent space.
pub(super) fn by_steps_in_duals(
    integrator: Integrator,
    at: &StepPoint<'_>,
    columns: &mut Vec<f64>,
) -> Result<(), StepError> {
    columns.clear();
    let all = at.model.seen_by_steps();
    if all.is_empty() {
        return Ok(());
    }
    let (state, mut workspace) = (State::lift(at.before), StepWorkspace::<Dual>::default());
    let control: Vec<Dual> = at.control.iter().map(|&c| Dual::from(c)).collect();
    for SeededModel { columns: of_model, model } in all {
        let StepPoint { time, time_step, applied, .. } = *at;
        let step = StepProblem {
            model,
            state: &state,
            time,
            time_step,
            applied,
            control: &control,
            substeps: None,
            asleep: &[],
        };
        let after = integrator.step(&step, &mut workspace)?;
        let tangent = State::lift(&after.real()).difference(&after);
        (0..of_model.len()).for_each(|k| columns.extend(tangent.iter().map(|x| x.eps[k])));
    }
    Ok(())
}
