//! Whether an optimization fits into memory, before any is asked for.

use crate::contact::DEFLECTION_DIMENSION;
use crate::io::document::field_path::FieldPath;
use crate::io::file_error::Problem;
use crate::multibody::{Model, TANGENT_DIMENSION};
use crate::optimize::trajectory::TrajectoryMethod;
use crate::rollout::SimulationSettings;

/// Most memory for one motion with its derivatives, bytes.
const MOST_MEMORY: f64 = 4.0 * 1024.0 * 1024.0 * 1024.0;

/// Numbers that a free body's state holds.
const NUMBERS_OF_A_BODY: usize = 13;

/// Checks that the steps until a time in s, which is in a field of the file, and their derivatives with respect to the
/// values at knots, fit into memory.
pub(in crate::io) fn check_memory(
    model: &Model,
    simulation: &SimulationSettings,
    until: f64,
    variables: usize,
    method: TrajectoryMethod,
    field: FieldPath,
) -> Result<(), Problem> {
    let schedule = simulation.schedule(until).map_err(|error| Problem::new(field.clone(), error))?;
    let steps = schedule.steps();
    let mechanism = &model.mechanism;
    let joints = mechanism.configuration_dimension() + mechanism.velocity_dimension();
    let free = model.free_bodies().count();
    let bristles = DEFLECTION_DIMENSION * model.bristle_count();
    let state = NUMBERS_OF_A_BODY * free + joints + bristles;
    // Times, states, commands, and what every step keeps of its own.
    let motion = state + 2 * model.command_dimension() + 16;
    // The derivatives of the state after a step with respect to the state before it and the commands;
    // and of the step's residuals, one at least, with respect to all variables.
    let tangent = TANGENT_DIMENSION * free + 2 * mechanism.velocity_dimension() + bristles;
    let of_step = tangent * (tangent + model.command_dimension());
    let derivatives = match method {
        TrajectoryMethod::LevenbergMarquardt => of_step + variables,
        TrajectoryMethod::Auto | TrajectoryMethod::Ilqr => of_step,
        TrajectoryMethod::Lbfgs => 0,
    };
    let bytes = (motion + derivatives) as f64 * steps as f64 * 8.0;
    if bytes <= MOST_MEMORY {
        return Ok(());
    }
    let gibibytes = |bytes: f64| bytes / 1024.0_f64.powi(3);
    let message = format!(
        "found {until}, {steps} steps of {} s, which with {variables} values at knots take {:.1} GiB; at most {} GiB are allowed: end earlier, or make the steps longer",
        simulation.time_step,
        gibibytes(bytes),
        gibibytes(MOST_MEMORY)
    );
    Err(Problem::new(field, message))
}
