//! The arctangent regularization, which Drake has: 2/π atan(slip/v_s).

use crate::scalar::Scalar;

/// Slip over slip speed by the slip, in s/m, for the square `s` of the slip speed and the stiction
/// velocity in m/s.
#[inline(always)]
pub(super) fn quotient<T: Scalar>(s: T, v_s: T) -> T {
    atan_quotient(s / (v_s * v_s)) * (T::from(std::f64::consts::FRAC_2_PI) / v_s)
}

/// atan(√y)/√y, smooth at 0.
///
/// Below y = 0.0144 its power series is summed to machine precision, as Drake does.
// Out of line, so that the usual regularization is short enough to be inlined.
#[inline(never)]
fn atan_quotient<T: Scalar>(y: T) -> T {
    if y.real() < 0.0144 {
        let mut sum = T::from(0.0);
        // 0.0144¹⁰/21 < 10⁻¹⁹.
        for k in (0..10).rev() {
            let sign = if k % 2 == 0 { 1.0 } else { -1.0 };
            sum = sum * y + sign / f64::from(2 * k + 1);
        }
        sum
    } else {
        let x = y.sqrt();
        x.atan() / x
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;

    #[test]
    fn atan_quotient_is_continuous_where_the_series_ends() {
        let (a, b) = (atan_quotient(0.0144_f64.next_down()), atan_quotient(0.0144));
        assert_relative_eq!(a, b, max_relative = 1e-15);
    }
}
