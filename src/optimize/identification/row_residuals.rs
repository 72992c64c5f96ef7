//! The residuals of one recorded time.

use nalgebra::DMatrix;

use crate::multibody::{BodyState, State, TANGENT_DIMENSION, for_each_tangent_chunk};
use crate::optimize::data::RecordedState;
use crate::scalar::{DualArray, Scalar};
use crate::spatial::SpatialVelocity;

/// The recorded state as a state of the model.
pub(super) fn state_of(recorded: &RecordedState) -> State {
    let velocity = SpatialVelocity::new(recorded.angular_velocity, recorded.linear_velocity);
    let body = BodyState { orientation: recorded.orientation, position: recorded.position, velocity };
    State::of_bodies(vec![body])
}

/// Adds a tangent over standard deviations, what is compared of it.
pub(super) fn add_residuals<T: Scalar>(
    tangent: Vec<T>,
    weights: [f64; 4],
    outlier_limit: f64,
    residuals: &mut Vec<T>,
) {
    let first = residuals.len();
    for (i, d) in tangent.into_iter().enumerate() {
        let weight = weights[i / 3];
        if weight > 0.0 {
            residuals.push(d * weight);
        }
    }
    reduce_outlier(&mut residuals[first..], outlier_limit);
}

/// The residuals of one recorded time, and their derivatives with respect to the simulated state, in its tangent
/// space.
pub(super) fn linear_residuals(
    recorded: &RecordedState,
    state: &State,
    weights: [f64; 4],
    outlier_limit: f64,
) -> (Vec<f64>, DMatrix<f64>) {
    type Direction = DualArray<TANGENT_DIMENSION>;
    let (mut lifted, measured) = (State::<Direction>::default(), State::lift(&state_of(recorded)));
    let (mut values, mut by_state) = (Vec::new(), DMatrix::zeros(0, 0));
    for_each_tangent_chunk(state, &mut lifted, |state, directions| {
        let mut residuals = Vec::new();
        add_residuals(measured.difference(state), weights, outlier_limit, &mut residuals);
        values = residuals.iter().map(|r| r.re).collect();
        by_state = DMatrix::from_fn(residuals.len(), directions.len(), |row, k| residuals[row].eps[k]);
    });
    (values, by_state)
}

/// Scales residuals of squared length s to the squared length 2c²(√(1 + s/c²) − 1), written
/// as s · 2/(1 + √(1 + s/c²)), which has derivatives at s = 0.
pub(super) fn reduce_outlier<T: Scalar>(residuals: &mut [T], limit: f64) {
    if limit == f64::INFINITY {
        return;
    }
    let square = residuals.iter().fold(T::from(0.0), |sum, &r| sum + r * r);
    let root = (square / T::from(limit * limit) + T::from(1.0)).sqrt();
    let factor = (T::from(2.0) / (root + T::from(1.0))).sqrt();
    residuals.iter_mut().for_each(|r| *r *= factor);
}

const _: () = assert!(TANGENT_DIMENSION == 12, "weights are for four vectors");
