//! The residuals of one recorded time.

use nalgebra::DMatrix;

use super::Loss;
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

/// The part of a state that recordings have: bristles are not recorded.
pub(super) fn recorded_part<T: Scalar>(state: &State<T>) -> State<T> {
    State::of_bodies(state.bodies.clone())
}

/// Adds a tangent over standard deviations, what is compared of it.
pub(super) fn add_residuals<T: Scalar>(
    tangent: Vec<T>,
    weights: [f64; 4],
    loss: Loss,
    residuals: &mut Vec<T>,
) {
    let first = residuals.len();
    for (i, d) in tangent.into_iter().enumerate() {
        let weight = weights[i / 3];
        if weight > 0.0 {
            residuals.push(d * weight);
        }
    }
    loss.reduce(&mut residuals[first..]);
}

/// The residuals of one recorded time, and their derivatives with respect to the recorded part of the simulated
/// state, in its tangent space.
pub(super) fn linear_residuals(
    recorded: &RecordedState,
    state: &State,
    weights: [f64; 4],
    loss: Loss,
) -> (Vec<f64>, DMatrix<f64>) {
    type Direction = DualArray<TANGENT_DIMENSION>;
    let (mut lifted, measured) = (State::<Direction>::default(), State::lift(&state_of(recorded)));
    let (mut values, mut by_state) = (Vec::new(), DMatrix::zeros(0, 0));
    for_each_tangent_chunk(&recorded_part(state), &mut lifted, &mut |state, directions| {
        let mut residuals = Vec::new();
        add_residuals(measured.difference(state), weights, loss, &mut residuals);
        values = residuals.iter().map(|r| r.re).collect();
        by_state = DMatrix::from_fn(residuals.len(), directions.len(), |row, k| residuals[row].eps[k]);
    });
    (values, by_state)
}

const _: () = assert!(TANGENT_DIMENSION == 12, "weights are for four vectors");
