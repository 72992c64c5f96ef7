//! The derivative of every step of a trajectory, and of the residuals at its start.

use std::cell::RefCell;

use nalgebra::{DMatrix, DVector};
use rayon::prelude::*;

use super::checked_step::LinearSteps;
use super::error::SimulationError;
use super::loss::ResidualsIn;
use super::loss_workspace::Direction;
use super::moment::{Moment, StepEnd};
use super::simulate::{Rollout, Trajectory};
use crate::multibody::{DIRECTIONS, Model, PairWorkspace, State, for_each_tangent_chunk};
use crate::step::StepForces;

/// Residuals of one moment and their derivatives.
#[derive(Clone, Debug, PartialEq)]
pub struct ResidualJacobian {
    /// The residuals.
    pub values: DVector<f64>,
    /// With respect to the state in its tangent space: a row for each residual.
    pub by_state: DMatrix<f64>,
    /// With respect to the control values.
    pub by_control: DMatrix<f64>,
}

/// The linearization of one step.
#[derive(Clone, Debug, PartialEq)]
pub struct StepLinearization {
    /// The derivative of the state after the step with respect to the state before it, in their tangent
    /// spaces (see [`State::moved`]).
    pub by_state: DMatrix<f64>,
    /// The derivative of the state after the step with respect to the control values.
    pub by_control: DMatrix<f64>,
    /// The residuals at the start of the step. Where they depend on its end, their derivatives are those through the step.
    pub residuals: ResidualJacobian,
}

/// A trajectory and its residuals, linearized.
#[derive(Clone, Debug, PartialEq)]
pub struct TrajectoryLinearization {
    /// Its steps.
    pub steps: Vec<StepLinearization>,
    /// The residuals at the end.
    pub end: ResidualJacobian,
}

/// Linearizes the steps of a trajectory that was simulated before, and its residuals, each step by
/// itself on rayon's threads.
///
/// # Errors
/// When a step cannot be differentiated.
///
/// # Panics
/// When the trajectory is not that of the rollout.
pub fn linearize(
    rollout: &Rollout<'_>,
    residuals: &dyn ResidualsIn<Direction>,
    trajectory: &Trajectory,
) -> Result<TrajectoryLinearization, SimulationError> {
    let schedule = rollout.schedule()?;
    let differentiated = rollout.differentiated(&[])?;
    let Rollout { model, settings, .. } = *rollout;
    let controls = rollout.control_rows()?;
    let states = &trajectory.states;
    assert_eq!(states.len(), schedule.len() + 1, "a state at every time");
    let lifted = Model::<Direction>::lift(model);
    type Memory = (LinearSteps, RefCell<PairWorkspace>, RefCell<StepForces>);
    let one = |memory: &mut Memory, step: usize| {
        let (steps, contacts, forces) = memory;
        let (at, after, integrator) = (schedule[step], &states[step + 1], settings.integrator);
        let problem = rollout.problem(at, &states[step], controls.row(step));
        let jacobian = steps.along(integrator, &problem, (at.number, after), &differentiated)?;
        let moment = Moment::of_step(step, integrator, problem, after, (contacts, forces));
        let (mut residuals, by_end) =
            residual_jacobian(&moment, &lifted, &|moment, out| residuals.add_running(moment, out));
        if let Some(by_end) = by_end {
            residuals.by_state += &by_end * &jacobian.by_state;
            residuals.by_control += &by_end * &jacobian.by_control;
        }
        Ok(StepLinearization { by_state: jacobian.by_state, by_control: jacobian.by_control, residuals })
    };
    let steps = (0..schedule.len()).into_par_iter().map_init(Default::default, one);
    let steps: Result<Vec<_>, SimulationError> = steps.collect();
    let (step, time, contacts) = (schedule.len(), rollout.until, RefCell::default());
    let moment = Moment { step, time, ..Moment::instant(model, &states[step], &[], &contacts) };
    let (end, _) = residual_jacobian(&moment, &lifted, &|moment, out| residuals.add_terminal(moment, out));
    Ok(TrajectoryLinearization { steps: steps?, end })
}

/// The residuals of a moment with their derivatives, several directions at a time; those with respect to the end of
/// the step where they depend on it.
fn residual_jacobian(
    moment: &Moment,
    model: &Model<Direction>,
    evaluate: &dyn Fn(&Moment<Direction>, &mut Vec<Direction>),
) -> (ResidualJacobian, Option<DMatrix<f64>>) {
    let (rows, columns) = (moment.state.tangent_dimension(), moment.control.len());
    let applied = moment.applied();
    let mut state = State::<Direction>::lift(moment.state);
    let control: Vec<Direction> = moment.control.iter().map(|&u| Direction::from(u)).collect();
    let mut end = State::<Direction>::default();
    if let Some(of_step) = moment.step_end {
        end.assign(of_step.constant());
        of_step.take_was_read();
    }
    let mut out = Vec::new();
    evaluate(&moment.lifted(model, &state, &control, (&end, applied)), &mut out);
    let values = DVector::from_iterator(out.len(), out.iter().map(|r| r.re));
    let mut jacobian = ResidualJacobian {
        by_state: DMatrix::zeros(out.len(), rows),
        by_control: DMatrix::zeros(out.len(), columns),
        values,
    };
    if out.is_empty() {
        return (jacobian, None);
    }
    for_each_tangent_chunk(moment.state, &mut state, &mut |state, directions| {
        out.clear();
        evaluate(&moment.lifted(model, state, &control, (&end, applied)), &mut out);
        put(&mut jacobian.by_state, directions.start, directions.len(), &out);
    });
    let by_end = moment.step_end.filter(StepEnd::take_was_read).map(|of_step| {
        let mut by_end = DMatrix::zeros(out.len(), rows);
        for_each_tangent_chunk(of_step.constant(), &mut end, &mut |end, directions| {
            out.clear();
            evaluate(&moment.lifted(model, &state, &control, (end, applied)), &mut out);
            put(&mut by_end, directions.start, directions.len(), &out);
        });
        by_end
    });
    let mut seeded = control;
    for first in (0..columns).step_by(DIRECTIONS) {
        let count = DIRECTIONS.min(columns - first);
        (0..count).for_each(|k| seeded[first + k].eps[k] = 1.0);
        out.clear();
        evaluate(&moment.lifted(model, &state, &seeded, (&end, applied)), &mut out);
        (0..count).for_each(|k| seeded[first + k].eps[k] = 0.0);
        put(&mut jacobian.by_control, first, count, &out);
    }
    (jacobian, by_end)
}

fn put(matrix: &mut DMatrix<f64>, first: usize, count: usize, residuals: &[Direction]) {
    for (row, residual) in residuals.iter().enumerate() {
        for k in 0..count {
            matrix[(row, first + k)] = residual.eps[k];
        }
    }
}
