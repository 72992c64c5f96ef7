//! What a fit file says of the states that simulations start at.

use crate::io::fit::schema::{StartsTable, TrajectoriesTable};
use crate::optimize::identification::StartDeviations;

/// The standard deviations of the states that windows start at, or `None` if these are exact. Where they are and a
/// candidate estimates them, those that are given are the candidate's.
///
/// # Errors
/// A field that is missing or makes no sense, and the message.
pub(super) fn start_deviations(
    table: &TrajectoriesTable,
    candidate_estimates: bool,
) -> Result<Option<StartDeviations>, (&'static str, &'static str)> {
    let TrajectoriesTable { starts, start_position_sigma, start_orientation_sigma, .. } = *table;
    let linear_velocity = table.start_linear_velocity_sigma.or(table.linear_velocity_sigma);
    let angular_velocity = table.start_angular_velocity_sigma.or(table.angular_velocity_sigma);
    if starts == Some(StartsTable::Recorded) {
        let given = [
            ("start_position_sigma", start_position_sigma),
            ("start_orientation_sigma", start_orientation_sigma),
            ("start_linear_velocity_sigma", table.start_linear_velocity_sigma),
            ("start_angular_velocity_sigma", table.start_angular_velocity_sigma),
        ];
        return match given.into_iter().find(|(_, sigma)| sigma.is_some() && !candidate_estimates) {
            Some((key, _)) => Err((
                key,
                "has no meaning where `starts = \"recorded\"` and no candidate estimates them: leave one of them out",
            )),
            None => Ok(None),
        };
    }
    match (linear_velocity, angular_velocity) {
        (Some(linear_velocity), Some(angular_velocity)) => Ok(Some(StartDeviations {
            position: start_position_sigma.unwrap_or(table.position_sigma),
            orientation: start_orientation_sigma.unwrap_or(table.orientation_sigma),
            linear_velocity,
            angular_velocity,
        })),
        _ if starts.is_none()
            && table.start_linear_velocity_sigma.is_none()
            && table.start_angular_velocity_sigma.is_none() =>
        {
            Ok(None)
        }
        (None, _) => Err((
            "start_linear_velocity_sigma",
            "missing; the standard deviation of the velocities that simulations start with is needed where \
             starts are estimated",
        )),
        (_, None) => Err((
            "start_angular_velocity_sigma",
            "missing; the standard deviation of the angular velocities that simulations start with is needed where \
             starts are estimated",
        )),
    }
}
