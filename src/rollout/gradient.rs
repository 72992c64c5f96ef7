//! Derivatives of a trajectory with respect to chosen parameters, by forward-mode dual numbers.

use nalgebra::DMatrix;

use super::error::SimulationError;
use super::simulate::{Rollout, Trajectory};
use crate::multibody::{Parameter, State, seeded_along};
use crate::parallel::in_parallel;
use crate::scalar::{CHUNK, DualArray};

/// A trajectory and how it follows its parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct TrajectoryGradient {
    /// Times and states.
    pub trajectory: Trajectory,
    /// The parameters, one for each column of the derivatives.
    pub parameters: Vec<Parameter>,
    /// The derivative of the state at each time: a matrix with a row for each direction of the state's
    /// tangent space (as in [`State::moved`]) and a column for each parameter.
    pub derivatives: Vec<DMatrix<f64>>,
}

/// Simulates and differentiates every state of the trajectory with respect to `parameters`, eight
/// of them at a time, on several threads.
///
/// # Errors
/// When the model does not have a parameter, or the simulation fails.
pub fn trajectory_gradient(
    rollout: &Rollout<'_>,
    parameters: &[Parameter],
) -> Result<TrajectoryGradient, SimulationError> {
    let parts = in_parallel(parameters.chunks(CHUNK), |chunk| chunk_gradient(rollout, chunk));
    let parts = parts.into_iter().collect::<Result<Vec<(Trajectory, Vec<DMatrix<f64>>)>, _>>()?;
    let Some((trajectory, _)) = parts.first() else {
        let trajectory = rollout.simulate()?;
        let derivatives =
            trajectory.states.iter().map(|s| DMatrix::zeros(s.tangent_dimension(), 0)).collect();
        return Ok(TrajectoryGradient { trajectory, parameters: Vec::new(), derivatives });
    };
    let rows = rollout.start().tangent_dimension();
    let derivatives = (0..trajectory.times.len())
        .map(|time| {
            let mut all = DMatrix::zeros(rows, parameters.len());
            for (i, (_, part)) in parts.iter().enumerate() {
                let part = &part[time];
                all.view_mut((0, i * CHUNK), part.shape()).copy_from(part);
            }
            all
        })
        .collect();
    Ok(TrajectoryGradient { trajectory: trajectory.clone(), parameters: parameters.to_vec(), derivatives })
}

/// The trajectory and its derivatives with respect to at most [`CHUNK`] parameters.
fn chunk_gradient(
    rollout: &Rollout<'_>,
    chunk: &[Parameter],
) -> Result<(Trajectory, Vec<DMatrix<f64>>), SimulationError> {
    let Rollout { model, initial, settings, until, applied, substeps, .. } = *rollout;
    let (model, initial) = seeded_along::<CHUNK>(model, initial, chunk.iter().copied())?;
    let controls = rollout.control_rows()?.map(|_, &u| DualArray::from(u));
    let rollout = Rollout::new(&model, &initial, settings, until)
        .under(applied.differentiable())
        .with_controls(&controls);
    let rollout = Rollout { substeps, ..rollout };
    let Trajectory { times, states } = rollout.simulate()?;
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
