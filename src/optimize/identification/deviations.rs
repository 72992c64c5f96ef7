//! What is known of the errors of a recording.

#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Loss, positive};
use crate::multibody::{State, TANGENT_DIMENSION};
use crate::optimize::error::ProblemError;

/// Standard deviations of a recording, one number for each direction of a vector. Velocities
/// without one are not compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StandardDeviations {
    /// Of positions, m.
    pub position: f64,
    /// Of orientations (rotation vector), rad.
    pub orientation: f64,
    /// Of velocities, m/s.
    pub linear_velocity: Option<f64>,
    /// Of angular velocities, rad/s.
    pub angular_velocity: Option<f64>,
    /// How much the residuals of one recorded time count where they are large.
    pub loss: Loss,
    /// Of the recorded states that windows start at, so that the true ones are estimated; `None` if they are
    /// taken as exact.
    pub starts: Option<StartDeviations>,
}

/// Standard deviations of a recorded state that a window starts at, one number for each direction of a vector.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StartDeviations {
    /// Of the position, m.
    pub position: f64,
    /// Of the orientation (rotation vector), rad.
    pub orientation: f64,
    /// Of the velocity, m/s.
    pub linear_velocity: f64,
    /// Of the angular velocity, rad/s.
    pub angular_velocity: f64,
}

impl StartDeviations {
    /// 1/σ for each tangent direction, as [`StandardDeviations::weights`] has them.
    pub(super) fn weights(&self) -> Result<[f64; 4], ProblemError> {
        Ok([
            1.0 / positive("start_orientation_sigma", self.orientation)?,
            1.0 / positive("start_position_sigma", self.position)?,
            1.0 / positive("start_angular_velocity_sigma", self.angular_velocity)?,
            1.0 / positive("start_linear_velocity_sigma", self.linear_velocity)?,
        ])
    }
}

impl StandardDeviations {
    /// 1/σ for each tangent direction (rotation, translation, angular velocity, velocity); 0
    /// for those not compared.
    pub(super) fn weights(&self) -> Result<[f64; 4], ProblemError> {
        let weight = |field, sigma: f64| Ok::<_, ProblemError>(1.0 / positive(field, sigma)?);
        let optional = |field, sigma: Option<f64>| sigma.map_or(Ok(0.0), |s| weight(field, s));
        Ok([
            weight("orientation_sigma", self.orientation)?,
            weight("position_sigma", self.position)?,
            optional("angular_velocity_sigma", self.angular_velocity)?,
            optional("linear_velocity_sigma", self.linear_velocity)?,
        ])
    }
}

/// How well the scene's initial state is known at the start of a recording: standard deviations of what is estimated
/// along with the parameters. What has none is exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct StateDeviations {
    /// Of the positions of free bodies.
    #[cfg_attr(test, schemars(extend("x-unit" = "m", "x-default" = "exact")))]
    pub position_sigma: Option<f64>,
    /// Of their orientations, about each axis.
    #[cfg_attr(test, schemars(extend("x-unit" = "rad", "x-default" = "exact")))]
    pub orientation_sigma: Option<f64>,
    /// Of their velocities.
    #[cfg_attr(test, schemars(extend("x-unit" = "m/s", "x-default" = "exact")))]
    pub linear_velocity_sigma: Option<f64>,
    /// Of their angular velocities.
    #[cfg_attr(test, schemars(extend("x-unit" = "rad/s", "x-default" = "exact")))]
    pub angular_velocity_sigma: Option<f64>,
    /// Of the positions of joints.
    #[cfg_attr(test, schemars(extend("x-unit" = "rad or m", "x-default" = "exact")))]
    pub joint_position_sigma: Option<f64>,
    /// Of the velocities of joints.
    #[cfg_attr(test, schemars(extend("x-unit" = "rad/s or m/s", "x-default" = "exact")))]
    pub joint_velocity_sigma: Option<f64>,
}

impl StateDeviations {
    /// The directions of a state's tangent space that are estimated, and 1/σ of each.
    pub(super) fn weights(&self, state: &State) -> Result<Vec<(usize, f64)>, ProblemError> {
        let weight = |field, sigma: Option<f64>| {
            sigma.map(|sigma| Ok::<_, ProblemError>(1.0 / positive(field, sigma)?)).transpose()
        };
        let of_body = [
            weight("orientation_sigma", self.orientation_sigma)?,
            weight("position_sigma", self.position_sigma)?,
            weight("angular_velocity_sigma", self.angular_velocity_sigma)?,
            weight("linear_velocity_sigma", self.linear_velocity_sigma)?,
        ];
        let of_joints = [
            weight("joint_position_sigma", self.joint_position_sigma)?,
            weight("joint_velocity_sigma", self.joint_velocity_sigma)?,
        ];
        let bodies = state.body_tangent_dimension();
        let nv = state.joints.v.len().max(1);
        let of_direction = |direction: usize| match direction.checked_sub(bodies) {
            None => of_body[direction % TANGENT_DIMENSION / 3],
            Some(joint) => of_joints[(joint / nv).min(1)],
        };
        let directions = 0..state.motion_tangent_dimension();
        Ok(directions.filter_map(|direction| Some((direction, of_direction(direction)?))).collect())
    }
}
