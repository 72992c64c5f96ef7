//! The gradient of a loss over a trajectory by forward sensitivities.

use std::cell::RefCell;

use nalgebra::{DMatrix, DVector};

use super::adjoint::LossGradient;
use super::checked_step::LinearSteps;
use super::checkpoints::CheckpointMemory;
use super::controls::Controls;
use super::error::SimulationError;
use super::loss::DifferentiableLoss;
use super::loss_workspace::LossWorkspace;
use super::moment::{Moment, MomentGradient};
use super::simulate::Rollout;
use crate::multibody::Parameter;

/// Computes the same as [`super::loss_gradient`], in forward mode: the derivative of the state with
/// respect to everything is carried from step to step with the Jacobian of each step.
///
/// It costs a full Jacobian for each step, and time and memory that grow with the number of
/// control values and parameters: it is there to check the adjoint against, and for few parameters.
///
/// # Errors
/// When the model does not have a parameter, or the simulation fails.
pub fn loss_gradient_forward(
    rollout: &Rollout<'_>,
    loss: &dyn DifferentiableLoss,
    parameters: &[Parameter],
) -> Result<LossGradient, SimulationError> {
    let Rollout { model, settings, .. } = *rollout;
    let controls = rollout.control_rows()?;
    let schedule = rollout.schedule()?;
    let differentiated = rollout.differentiated(parameters)?;
    let rows = rollout.start().tangent_dimension();
    let dimension = controls.dimension();
    // Columns: initial state, parameters, control values step by step.
    let first_control = rows + parameters.len();
    let count = first_control + schedule.len() * dimension;
    let mut sensitivity = DMatrix::zeros(rows, count);
    sensitivity.view_mut((0, 0), (rows, rows)).fill_with_identity();
    for (i, parameter) in parameters.iter().enumerate() {
        if let Some(direction) = parameter.initial_tangent(model) {
            sensitivity[(direction, rows + i)] = 1.0;
        }
    }
    let mut gradient = DVector::zeros(count);
    let (mut by_state, mut by_end) = (vec![0.0; rows], vec![0.0; rows]);
    let mut by_parameters = vec![0.0; parameters.len()];
    let mut losses = LossWorkspace::new(model, parameters)?;
    let (contacts, forces) = (RefCell::default(), RefCell::default());
    let (mut value, mut steps) = (0.0, LinearSteps::default());
    let mut state = rollout.start();
    for (step, &at) in schedule.iter().enumerate() {
        let control = controls.row(step);
        // Later control values have had no effect.
        let active = first_control + step * dimension;
        let mut by_control = vec![0.0; dimension];
        let problem = rollout.problem(at, &state, control);
        let (after, jacobian) = steps.take(settings.integrator, &problem, at.number, &differentiated)?;
        by_state.fill(0.0);
        by_end.fill(0.0);
        let mut by = MomentGradient {
            state: &mut by_state,
            step_end: &mut by_end,
            control: &mut by_control,
            parameters: &mut by_parameters,
        };
        let moment = Moment::of_step(step, settings.integrator, problem, &after, (&contacts, &forces));
        value += loss.add_running(&moment, &mut by, &mut losses);
        add_product(&mut gradient, &sensitivity, active, &by_state);
        by_control.iter().enumerate().for_each(|(k, by)| gradient[active + k] += by);
        let carried = &jacobian.by_state * sensitivity.columns(0, active);
        sensitivity.columns_mut(0, active).copy_from(&carried);
        let mut of_parameters = sensitivity.columns_mut(rows, parameters.len());
        of_parameters += &jacobian.by_parameters;
        sensitivity.columns_mut(active, dimension).copy_from(&jacobian.by_control);
        add_product(&mut gradient, &sensitivity, active + dimension, &by_end);
        state = after;
    }
    by_state.fill(0.0);
    let mut by = MomentGradient {
        state: &mut by_state,
        step_end: &mut [],
        control: &mut [],
        parameters: &mut by_parameters,
    };
    let (step, time) = (schedule.len(), rollout.until);
    let moment = Moment { step, time, ..Moment::instant(model, &state, &[], &contacts) };
    value += loss.add_terminal(&moment, &mut by, &mut losses);
    losses.check()?;
    add_product(&mut gradient, &sensitivity, count, &by_state);
    by_parameters.iter().enumerate().for_each(|(i, by)| gradient[rows + i] += by);
    let part = |first: usize, size: usize| gradient.as_slice()[first..first + size].to_vec();
    let by_controls = Controls::from_values(dimension, part(first_control, count - first_control));
    let mut memory = CheckpointMemory { steps_taken: schedule.len(), ..Default::default() };
    memory.note(2, &state, 0);
    Ok(LossGradient {
        value,
        by_initial: part(0, rows),
        by_parameters: part(rows, parameters.len()),
        by_controls: by_controls.unwrap_or(Controls::none()),
        memory,
    })
}

/// Adds to the first `active` numbers of a gradient the derivatives through the state.
fn add_product(gradient: &mut DVector<f64>, sensitivity: &DMatrix<f64>, active: usize, by_state: &[f64]) {
    let by_state = DVector::from_column_slice(by_state);
    let mut part = gradient.rows_mut(0, active);
    part.gemv_tr(1.0, &sensitivity.columns(0, active), &by_state, 1.0);
}
