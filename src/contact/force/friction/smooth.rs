//! The smooth regularization: slip over √(slip² + v_s²).

use crate::scalar::Scalar;

/// Slip over slip speed by the slip, in s/m, for the square `s` of the slip speed and the stiction
/// velocity in m/s.
#[inline(always)]
pub(super) fn quotient<T: Scalar>(s: T, v_s: T) -> T {
    (s + v_s * v_s).sqrt().recip()
}
