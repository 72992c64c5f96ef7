//! Drake's Stribeck curve: by polynomials, friction rises to its static value at v_s and falls to its
//! dynamic value at 3 v_s.

use crate::scalar::Scalar;

/// Rises from 0 to 1 over 0 ≤ x ≤ 1 with two derivatives vanishing at both ends, divided by x,
/// as a function of y = x².
fn quintic_step_quotient<T: Scalar>(y: T) -> T {
    // Below this the root, whose derivative grows without bound, contributes nothing.
    if y.real() < 1e-30 {
        return y * 10.0;
    }
    let x = y.sqrt();
    y * (x * (x * 6.0 - 15.0) + 10.0)
}

/// The factors, in s/m, of the static and of the dynamic friction coefficient, for the square `s` of the
/// slip speed and the stiction velocity in m/s.
#[inline(always)]
pub(super) fn weights<T: Scalar>(s: T, v_s: T) -> [T; 2] {
    let y = s / (v_s * v_s);
    if y.real() < 1.0 {
        return [quintic_step_quotient(y) / v_s, T::from(0.0)];
    }
    let x = y.sqrt();
    let quotient = (x * v_s).recip();
    if x.real() < 3.0 {
        let z = (x - 1.0) * 0.5;
        let fallen = quintic_step_quotient(z * z) * z * quotient;
        [quotient - fallen, fallen]
    } else {
        [T::from(0.0), quotient]
    }
}
