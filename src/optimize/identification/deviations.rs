//! What is known of the errors of a recording.

use super::positive;
use crate::optimize::error::ProblemError;

/// Standard deviations of a recording, one number for each direction of a vector. Velocities
/// without one are not compared.
///
/// Effects that the model does not contain (a table that is not flat, a start in the middle of an
/// impact) leave residuals far larger than the noise, and with squares a few of these decide the result.
/// With an `outlier_limit` c, the squared length s of the residuals of one recorded time counts as
/// 2c²(√(1 + s/c²) − 1) (P. Charbonnier et al., *Two deterministic half-quadratic regularization
/// algorithms for computed imaging*, 1994): like s while it is small, and like 2c√s where it is large.
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
    /// Length of the residuals of one recorded time, in standard deviations, from which they
    /// count less than squared; `None` if never.
    pub outlier_limit: Option<f64>,
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
