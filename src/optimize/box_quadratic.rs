//! Small quadratic programs with bounds, by a projected Newton method.

use nalgebra::{Cholesky, DMatrix, DVector, Dyn};

/// Most iterations; a few are usual, and each identifies a set of active bounds.
const LARGEST_ITERATION: usize = 100;
/// Part of the predicted reduction that a projected step must reach.
const SUFFICIENT_DECREASE: f64 = 0.1;
/// Factor from one trial step to the next.
const BACKTRACK: f64 = 0.6;
/// A gradient below this part of its terms' size is zero.
const ROUNDING: f64 = 1e-14;

/// The minimum of a quadratic function within bounds.
#[derive(Clone, Debug)]
pub struct BoxMinimum {
    /// Where it is.
    pub x: DVector<f64>,
    /// The variables that no bound holds, in increasing order.
    pub free: Vec<usize>,
    /// The Cholesky factorization of the Hessian's rows and columns of the free variables.
    factor: Cholesky<f64, Dyn>,
}

impl BoxMinimum {
    /// How the minimum follows the gradient: the derivative of x for a gradient that changes by
    /// `columns`, −H_ff⁻¹ times the free rows, zero for variables at bounds.
    pub fn response(&self, columns: &DMatrix<f64>) -> DMatrix<f64> {
        let free = self.factor.solve(&columns.select_rows(&self.free));
        let mut all = DMatrix::zeros(columns.nrows(), columns.ncols());
        for (row, &i) in self.free.iter().enumerate() {
            all.set_row(i, &(-free.row(row)));
        }
        all
    }
}

/// Minimizes ½ xᵀHx + gᵀx for lower ≤ x ≤ upper from a start, which need not be within the
/// bounds. Bounds may be infinite, or equal.
///
/// Returns `None` when the Hessian of the free variables is not positive definite, or a number is
/// not finite.
///
/// Reference: D. P. Bertsekas (1982), *Projected Newton methods for optimization problems with
/// simple constraints*, SIAM J. Control Optim. 20, 221–246; as written in Y. Tassa, N. Mansard,
/// E. Todorov (2014), *Control-limited differential dynamic programming*, ICRA, algorithm 1.
///
/// # Panics
/// When sizes differ.
pub fn minimize_in_box(
    hessian: &DMatrix<f64>,
    gradient: &DVector<f64>,
    lower: &DVector<f64>,
    upper: &DVector<f64>,
    start: &DVector<f64>,
) -> Option<BoxMinimum> {
    let n = gradient.len();
    let clamped = |x: &DVector<f64>| DVector::from_fn(n, |i, _| x[i].max(lower[i]).min(upper[i]));
    let value = |x: &DVector<f64>| 0.5 * x.dot(&(hessian * x)) + gradient.dot(x);
    let mut x = clamped(start);
    for _ in 0..LARGEST_ITERATION {
        let slope = hessian * &x + gradient;
        if !slope.iter().all(|g| g.is_finite()) {
            return None;
        }
        let held = |i: usize| {
            lower[i] == upper[i] || x[i] <= lower[i] && slope[i] > 0.0 || x[i] >= upper[i] && slope[i] < 0.0
        };
        let free: Vec<usize> = (0..n).filter(|&i| !held(i)).collect();
        let factor = Cholesky::new(hessian.select_rows(&free).select_columns(&free))?;
        let size = |i: usize| {
            hessian.row(i).iter().zip(x.iter()).fold(gradient[i].abs(), |sum, (h, x)| sum + (h * x).abs())
        };
        if free.iter().all(|&i| slope[i].abs() <= ROUNDING * size(i)) {
            return Some(BoxMinimum { x, free, factor });
        }
        let newton = factor.solve(&slope.select_rows(&free));
        let mut direction = DVector::zeros(n);
        free.iter().zip(newton.iter()).for_each(|(&i, &d)| direction[i] = -d);
        // A direction that is not finite would never become short enough.
        if !direction.iter().all(|d| d.is_finite()) {
            return None;
        }
        let before = value(&x);
        let mut step = 1.0;
        let next = loop {
            let trial = clamped(&(&x + &direction * step));
            // Nothing is left of the step, or only rounding of the value.
            if trial == x {
                return Some(BoxMinimum { x, free, factor });
            }
            let predicted = slope.dot(&(&trial - &x));
            if value(&trial) - before <= SUFFICIENT_DECREASE * predicted {
                break trial;
            }
            // A full Newton step within the bounds is the minimum; only rounding denies it.
            if step == 1.0 && free.iter().all(|&i| trial[i] == x[i] + direction[i]) {
                return Some(BoxMinimum { x: trial, free, factor });
            }
            step *= BACKTRACK;
        };
        x = next;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_bound_pushes_the_wrong_way_and_free_slopes_vanish(
            n in 1usize..7,
            entries in prop::collection::vec(-1.0..1.0f64, 49),
            g in prop::collection::vec(-3.0..3.0f64, 7),
            l in prop::collection::vec(-1.0..0.5f64, 7),
            width in prop::collection::vec(prop_oneof![Just(0.0), Just(f64::INFINITY), 0.01..2.0f64], 7),
            start in prop::collection::vec(-2.0..2.0f64, 7),
        ) {
            let root = DMatrix::from_fn(n, n, |i, j| entries[7 * i + j]);
            let hessian = &root * root.transpose() + DMatrix::identity(n, n) * 1e-3;
            let gradient = DVector::from_fn(n, |i, _| g[i]);
            let lower = DVector::from_fn(n, |i, _| l[i]);
            let upper = DVector::from_fn(n, |i, _| l[i] + width[i]);
            let start = DVector::from_fn(n, |i, _| start[i]);
            let found = minimize_in_box(&hessian, &gradient, &lower, &upper, &start).expect("definite");
            let slope = &hessian * &found.x + &gradient;
            for i in 0..n {
                prop_assert!(found.x[i] >= lower[i] && found.x[i] <= upper[i]);
                let size = 1.0 + hessian.row(i).iter().zip(found.x.iter()).map(|(h, x)| (h * x).abs()).sum::<f64>();
                if found.free.contains(&i) {
                    prop_assert!(slope[i].abs() < 1e-10 * size, "{i} {slope}");
                } else if found.x[i] == lower[i] {
                    prop_assert!(slope[i] >= 0.0 || lower[i] == upper[i]);
                } else {
                    prop_assert!(found.x[i] == upper[i] && slope[i] <= 0.0);
                }
            }
            // The response is the derivative of the minimum where no bound comes or goes.
            let moved = |h: f64| {
                let mut g = gradient.clone();
                g[0] += h;
                minimize_in_box(&hessian, &g, &lower, &upper, &start).expect("definite")
            };
            let (plus, minus) = (moved(1e-6), moved(-1e-6));
            if plus.free == minus.free {
                let mut column = DMatrix::zeros(n, 1);
                column[(0, 0)] = 1.0;
                let response = found.response(&column);
                for i in 0..n {
                    let difference = (plus.x[i] - minus.x[i]) / 2e-6;
                    prop_assert!((response[(i, 0)] - difference).abs() < 1e-4 * (1.0 + difference.abs()));
                }
            }
        }
    }

    #[test]
    fn an_indefinite_hessian_is_refused_unless_bounds_hold_it() {
        let hessian = DMatrix::from_row_slice(2, 2, &[1.0, 0.0, 0.0, -1.0]);
        let gradient = DVector::from_row_slice(&[1.0, 1.0]);
        let zero = DVector::zeros(2);
        let (lower, upper) = (DVector::from_element(2, -5.0), DVector::from_element(2, 5.0));
        assert!(minimize_in_box(&hessian, &gradient, &lower, &upper, &zero).is_none());
        let start = DVector::from_row_slice(&[0.0, -5.0]);
        let gradient = DVector::from_row_slice(&[1.0, 9.0]);
        let held = minimize_in_box(&hessian, &gradient, &lower, &upper, &start).expect("held");
        assert_eq!((held.x[0], held.x[1], &held.free[..]), (-1.0, -5.0, &[0][..]));
        // The Newton step overflows although Hessian and gradient are finite.
        let tiny = DMatrix::from_diagonal_element(2, 2, 1e-300);
        let large = DVector::from_element(2, 1e300);
        let free = DVector::from_element(2, f64::INFINITY);
        assert!(minimize_in_box(&tiny, &large, &-&free, &free, &zero).is_none());
        let none = DVector::from_element(2, f64::NAN);
        assert!(minimize_in_box(&DMatrix::identity(2, 2), &none, &lower, &upper, &zero).is_none());
    }
}
