//! Moves of joint configurations, and how they follow what they start from.

use nalgebra::{DMatrix, Vector3};

use crate::multibody::tree::JointState;
use crate::spatial::{rotation_exponential, rotation_exponential_jacobian};

/// Three numbers from the `first` on.
pub(super) fn three(numbers: &[f64], first: usize) -> Vector3<f64> {
    Vector3::from_column_slice(&numbers[first..first + 3])
}

/// The vector–Jacobian product of a move of the configuration by `delta`: on entry `by` holds the
/// derivatives of a number with respect to the configuration after it, on return those with respect to
/// the move; those with respect to the configuration before it are added to `by_before`.
pub(super) fn move_vjp(before: &JointState, delta: &[f64], by: &mut [f64], by_before: &mut [f64]) {
    let mut back = by.to_vec();
    for first in before.rotations() {
        // R' = exp(u) R
        let (u, by_rotation) = (three(delta, first), three(by, first));
        let through = rotation_exponential_jacobian(&u).transpose() * by_rotation;
        by[first..first + 3].copy_from_slice(through.as_slice());
        let kept = rotation_exponential(&u).transpose() * by_rotation;
        back[first..first + 3].copy_from_slice(kept.as_slice());
    }
    by_before.iter_mut().zip(back).for_each(|(sum, x)| *sum += x);
}

/// The derivatives of a configuration after a move by `delta`: with respect to the move, and with
/// respect to the configuration before it.
pub(super) fn move_jacobians(before: &JointState, delta: &[f64]) -> [DMatrix<f64>; 2] {
    let n = delta.len();
    let mut jacobians = [DMatrix::identity(n, n), DMatrix::identity(n, n)];
    for first in before.rotations() {
        let u = three(delta, first);
        let [by_move, by_before] = &mut jacobians;
        by_move.fixed_view_mut::<3, 3>(first, first).copy_from(&rotation_exponential_jacobian(&u));
        by_before.fixed_view_mut::<3, 3>(first, first).copy_from(&rotation_exponential(&u));
    }
    jacobians
}
