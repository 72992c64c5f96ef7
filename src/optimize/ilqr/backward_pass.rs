//! From the expansion of a problem to a policy: dynamic programming, backward over the stages.

use nalgebra::{DMatrix, DVector};

use super::stages::{Expansion, Policy};
use crate::optimize::box_quadratic::minimize_in_box;

/// A policy, and what it promises.
#[derive(Clone, Debug, PartialEq)]
pub struct BackwardPass {
    pub policy: Policy,
    /// Part of the predicted change of the cost that is linear in the policy's changes.
    linear: f64,
    /// Twice the part that is quadratic in them.
    quadratic: f64,
}

impl BackwardPass {
    /// The predicted reduction of the cost.
    pub fn predicted_reduction(&self) -> f64 {
        -(self.linear + 0.5 * self.quadratic)
    }
}

/// The gradient of the whole cost with respect to all variables, stage after stage (by costates).
pub fn gradient(expansion: &Expansion) -> Vec<f64> {
    let n = expansion.end_gradient.len();
    let mut costate = expansion.end_gradient.clone();
    let mut parts = Vec::with_capacity(expansion.stages.len());
    for stage in expansion.stages.iter().rev() {
        let m = stage.by_control.ncols();
        parts.push(stage.gradient.rows(n, m) + stage.by_control.tr_mul(&costate));
        costate = stage.gradient.rows(0, n) + stage.by_state.tr_mul(&costate);
    }
    parts.iter().rev().flat_map(|part| part.iter().copied()).collect()
}

/// The policy that minimizes the quadratic expansion within the bounds of each stage's variables,
/// with λ times the largest diagonal entry so far of the Hessian by each variable added to that
/// entry.
///
/// Returns `None` where a stage's regularized Hessian is not positive definite.
///
/// Reference: Y. Tassa, N. Mansard, E. Todorov (2014), *Control-limited differential dynamic
/// programming*, ICRA, §II and III-D (the value function of their eq. 11: exact for the gains
/// that bounds and regularization leave).
pub fn backward_pass(
    expansion: &Expansion,
    variables: &[f64],
    bounds: (&[f64], &[f64]),
    regularization: f64,
    scales: &mut [f64],
) -> Option<BackwardPass> {
    let n = expansion.end_gradient.len();
    let (mut value_x, mut value_xx) = (expansion.end_gradient.clone(), expansion.end_hessian.clone());
    let stages = expansion.stages.len();
    let mut policy = Policy { changes: Vec::with_capacity(stages), gains: Vec::with_capacity(stages) };
    let (mut linear, mut quadratic) = (0.0, 0.0);
    for (index, stage) in expansion.stages.iter().enumerate().rev() {
        let m = stage.by_control.ncols();
        let by_both = {
            let mut both = DMatrix::zeros(n, n + m);
            both.columns_mut(0, n).copy_from(&stage.by_state);
            both.columns_mut(n, m).copy_from(&stage.by_control);
            both
        };
        let q = &stage.gradient + by_both.tr_mul(&value_x);
        let hessian = &stage.hessian + by_both.tr_mul(&(&value_xx * &by_both));
        let (q_x, q_u) = (q.rows(0, n), q.rows(n, m).into_owned());
        let q_xx = hessian.view((0, 0), (n, n));
        let (q_ux, q_uu) =
            (hessian.view((n, 0), (m, n)).into_owned(), hessian.view((n, n), (m, m)).into_owned());
        let mut regularized = q_uu.clone();
        for i in 0..m {
            let scale = &mut scales[index * m + i];
            *scale = scale.max(q_uu[(i, i)]);
            // A variable that nothing depends on stays where it is.
            regularized[(i, i)] += if *scale > 0.0 { regularization * *scale } else { 1.0 };
        }
        let range = index * m..(index + 1) * m;
        let distance =
            |bound: &[f64]| DVector::from_iterator(m, range.clone().map(|i| bound[i] - variables[i]));
        let (lower, upper) = (distance(bounds.0), distance(bounds.1));
        let minimum = minimize_in_box(&regularized, &q_u, &lower, &upper, &DVector::zeros(m))?;
        let gains = minimum.response(&q_ux);
        let change = minimum.x;
        linear += change.dot(&q_u);
        quadratic += change.dot(&(&q_uu * &change));
        value_x = q_x + gains.tr_mul(&(&q_uu * &change + &q_u)) + q_ux.tr_mul(&change);
        let cross = gains.tr_mul(&q_ux);
        value_xx = q_xx + gains.tr_mul(&(&q_uu * &gains)) + &cross + cross.transpose();
        // Rounding must not make it asymmetric.
        value_xx = (&value_xx + value_xx.transpose()) * 0.5;
        policy.changes.push(change);
        policy.gains.push(gains);
    }
    policy.changes.reverse();
    policy.gains.reverse();
    Some(BackwardPass { policy, linear, quadratic })
}
