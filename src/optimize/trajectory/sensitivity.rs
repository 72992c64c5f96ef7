//! The Jacobian of residuals with respect to the values of controls at knots: the derivatives of all
//! steps chained forward.

use nalgebra::DMatrix;

use crate::rollout::{KnotMap, ResidualJacobian, TrajectoryLinearization};

/// The derivatives of all residuals, in the order of time (a row each), with respect to the values at knots.
///
/// A step takes n² times the number of values at knots that have acted so far, where n is the
/// dimension of the state's tangent space.
pub fn residuals_by_knots(linear: &TrajectoryLinearization, map: &KnotMap) -> DMatrix<f64> {
    let m = map.dimension();
    let all = linear.steps.iter().map(|step| &step.residuals).chain([&linear.end]);
    let rows = all.map(|residuals| residuals.values.len()).sum();
    let mut jacobian = DMatrix::zeros(rows, map.variables());
    let n = linear.end.by_state.ncols();
    // The state by the values at knots; those of later knots are still zero.
    let mut state = DMatrix::zeros(n, map.variables());
    let mut scratch = DMatrix::zeros(n, map.variables());
    let (mut acted, mut row) = (0, 0);
    for (index, step) in linear.steps.iter().enumerate() {
        put_state_part(&mut jacobian, row, &step.residuals, &state, acted);
        for (knot, weight) in map.weights(index) {
            acted = acted.max((knot + 1) * m);
            let mut columns = jacobian.view_mut((row, knot * m), (step.residuals.values.len(), m));
            columns += &step.residuals.by_control * weight;
        }
        row += step.residuals.values.len();
        let (before, mut after) = (state.columns(0, acted), scratch.columns_mut(0, acted));
        after.gemm(1.0, &step.by_state, &before, 0.0);
        for (knot, weight) in map.weights(index) {
            let mut columns = scratch.columns_mut(knot * m, m);
            columns += &step.by_control * weight;
        }
        std::mem::swap(&mut state, &mut scratch);
    }
    put_state_part(&mut jacobian, row, &linear.end, &state, acted);
    jacobian
}

/// What the residuals of a moment owe to the state.
fn put_state_part(
    jacobian: &mut DMatrix<f64>,
    row: usize,
    residuals: &ResidualJacobian,
    state: &DMatrix<f64>,
    acted: usize,
) {
    let mut rows = jacobian.view_mut((row, 0), (residuals.values.len(), acted));
    rows.gemm(1.0, &residuals.by_state, &state.columns(0, acted), 1.0);
}
