//! Derivatives of a trajectory with respect to chosen inputs, by forward-mode dual numbers.

use nalgebra::DMatrix;
use rayon::prelude::*;

use super::error::SimulationError;
use super::schedule::{SimulationSettings, StepTime};
use super::simulate::{Trajectory, simulate, step_failed};
use crate::multibody::{AppliedForces, Input, InputError, Model, State, seeded};
use crate::scalar::DualArray;
use crate::step::StepError;

/// Inputs that one simulation carries at a time: enough to share the cost of the values, few
/// enough for a processor's registers.
const CHUNK: usize = 8;

/// The failure of a step's derivative, with the time and the bodies that it concerns.
pub(super) fn not_differentiated(model: &Model, at: StepTime, error: StepError) -> SimulationError {
    match error {
        StepError::Input(source) => SimulationError::Input(source),
        source => step_failed(model, at, source),
    }
}

/// A trajectory and how it follows its inputs.
#[derive(Clone, Debug, PartialEq)]
pub struct TrajectoryGradient {
    /// Times and states.
    pub trajectory: Trajectory,
    /// The inputs, one for each column of the derivatives.
    pub inputs: Vec<Input>,
    /// For each time the derivative of the state: a row for each direction of its tangent space
    /// (as in [`State::moved`]), a column for each input.
    pub derivatives: Vec<DMatrix<f64>>,
}

/// Simulates and differentiates every state of the trajectory with respect to `inputs`, eight
/// of them at a time, on several threads.
///
/// # Errors
/// When an input does not fit the model, or the simulation fails.
pub fn trajectory_gradient(
    model: &Model,
    initial: &State,
    inputs: &[Input],
    settings: &SimulationSettings,
    until: f64,
    applied: &impl AppliedForces,
) -> Result<TrajectoryGradient, SimulationError> {
    let parts: Vec<(Trajectory, Vec<DMatrix<f64>>)> = inputs
        .par_chunks(CHUNK)
        .map(|chunk| chunk_gradient(model, initial, chunk, settings, until, applied))
        .collect::<Result<_, _>>()?;
    let Some((trajectory, _)) = parts.first() else {
        let trajectory = simulate(model, initial, settings, until, applied, |_, _| ())?;
        let derivatives =
            trajectory.states.iter().map(|s| DMatrix::zeros(s.tangent_dimension(), 0)).collect();
        return Ok(TrajectoryGradient { trajectory, inputs: Vec::new(), derivatives });
    };
    let rows = initial.tangent_dimension();
    let derivatives = (0..trajectory.times.len())
        .map(|time| {
            let mut all = DMatrix::zeros(rows, inputs.len());
            for (i, (_, part)) in parts.iter().enumerate() {
                let part = &part[time];
                all.view_mut((0, i * CHUNK), part.shape()).copy_from(part);
            }
            all
        })
        .collect();
    Ok(TrajectoryGradient { trajectory: trajectory.clone(), inputs: inputs.to_vec(), derivatives })
}

/// The trajectory and its derivatives with respect to at most [`CHUNK`] inputs.
fn chunk_gradient(
    model: &Model,
    initial: &State,
    chunk: &[Input],
    settings: &SimulationSettings,
    until: f64,
    applied: &impl AppliedForces,
) -> Result<(Trajectory, Vec<DMatrix<f64>>), SimulationError> {
    let values: Vec<(Input, DualArray<CHUNK>)> = chunk
        .iter()
        .enumerate()
        .map(|(i, input)| Ok((*input, DualArray::variable(input.value(model)?, i))))
        .collect::<Result<_, InputError>>()?;
    let (model, initial) = seeded(model, initial, &values)?;
    let Trajectory { times, states } = simulate(&model, &initial, settings, until, applied, |_, _| ())?;
    let real: Vec<State> = states.iter().map(State::real).collect();
    let derivatives = states
        .iter()
        .zip(&real)
        .map(|(state, real)| {
            let tangent = State::lift(real).difference(state);
            DMatrix::from_fn(tangent.len(), chunk.len(), |row, column| tangent[row].eps[column])
        })
        .collect();
    Ok((Trajectory { times, states: real }, derivatives))
}
