//! Small quadratic programs with bounds, by an active set.

use nalgebra::{Cholesky, DMatrix, DVector, Dyn};

/// Most changes of the active set per variable; one or two are usual.
const CHANGES_PER_VARIABLE: usize = 20;
/// A slope below this part of its terms' size is zero.
const ROUNDING: f64 = 1e-14;
/// A bound is left where the slope inwards is more than this many times rounding.
const LEAVING: f64 = 10.0;
/// Most Newton steps with the same active set: what is left after two is rounding.
const REFINEMENTS: usize = 2;

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
/// The free variables move to the minimum of their quadratic model, or as far as the first bound, which
/// then becomes active. At the minimum the active bound with the steepest slope inwards is released.
/// Each set of active bounds is met once, as the function falls from one to the next.
///
/// Returns `None` when the Hessian of the free variables is not positive definite, a number is not
/// finite, or rounding keeps the active set from settling.
///
/// Reference: P. B. Stark, R. L. Parker (1995), *Bounded-variable least-squares*, Computational
/// Statistics 10, 129–141; J. Nocedal, S. J. Wright (2006), *Numerical Optimization*,
/// algorithm 16.3.
///
/// # Panics
/// When sizes differ.
pub(crate) fn minimize_in_box(
    hessian: &DMatrix<f64>,
    gradient: &DVector<f64>,
    lower: &DVector<f64>,
    upper: &DVector<f64>,
    start: &DVector<f64>,
) -> Option<BoxMinimum> {
    let n = gradient.len();
    let clamped = |i: usize, x: f64| x.max(lower[i]).min(upper[i]);
    let slope_at = |x: &DVector<f64>| {
        let slope = hessian * x + gradient;
        slope.iter().all(|g| g.is_finite()).then_some(slope)
    };
    let mut x = DVector::from_fn(n, |i, _| clamped(i, start[i]));
    let mut slope = slope_at(&x)?;
    let is_held = |i: usize, x: &DVector<f64>, slope: &DVector<f64>| {
        lower[i] == upper[i] || x[i] <= lower[i] && slope[i] > 0.0 || x[i] >= upper[i] && slope[i] < 0.0
    };
    let mut free: Vec<usize> = (0..n).filter(|&i| !is_held(i, &x, &slope)).collect();
    // What a bound took back at once although its slope led inwards: rounding, if nothing moves else.
    let mut stays = vec![false; n];
    let mut refinements = 0;
    for _ in 0..CHANGES_PER_VARIABLE * (n + 1) {
        let factor = Cholesky::new(hessian.select_rows(&free).select_columns(&free))?;
        let newton = -factor.solve(&slope.select_rows(&free));
        // A direction that is not finite would never come to a bound.
        if !newton.iter().all(|d| d.is_finite()) {
            return None;
        }
        let (mut step, mut hit) = (1.0, None);
        for (k, (&i, &d)) in free.iter().zip(newton.iter()).enumerate() {
            let bound = if d > 0.0 { upper[i] } else { lower[i] };
            if d != 0.0 && (x[i] + d - bound) * d.signum() > 0.0 {
                let until = (bound - x[i]) / d;
                if hit.is_none() || until < step {
                    (step, hit) = (until, Some((k, bound)));
                }
            }
        }
        for (&i, &d) in free.iter().zip(newton.iter()) {
            x[i] = clamped(i, x[i] + step * d);
        }
        if let Some((k, bound)) = hit {
            let i = free.remove(k);
            x[i] = bound;
            if step > 0.0 {
                stays.fill(false);
            } else {
                stays[i] = true;
            }
            slope = slope_at(&x)?;
            refinements = 0;
            continue;
        }
        let before = std::mem::replace(&mut slope, slope_at(&x)?);
        let size = |i: usize| {
            hessian.row(i).iter().zip(x.iter()).fold(gradient[i].abs(), |sum, (h, x)| sum + (h * x).abs())
        };
        if free.iter().any(|&i| before[i].abs() > LEAVING * ROUNDING * size(i)) {
            stays.fill(false);
        }
        if refinements < REFINEMENTS && free.iter().any(|&i| slope[i].abs() > ROUNDING * size(i)) {
            refinements += 1;
            continue;
        }
        refinements = 0;
        // In units of each variable's own curvature, so that scales do not matter.
        let steepness = |i: usize| slope[i] * slope[i] / hessian[(i, i)].abs();
        let leaves = |&i: &usize| {
            !free.contains(&i)
                && !stays[i]
                && !is_held(i, &x, &slope)
                && slope[i].abs() > LEAVING * ROUNDING * size(i)
        };
        let steepest = (0..n).filter(leaves).max_by(|&i, &j| steepness(i).total_cmp(&steepness(j)));
        let Some(steepest) = steepest else {
            return Some(BoxMinimum { x, free, factor });
        };
        free.insert(free.partition_point(|&i| i < steepest), steepest);
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
            stiffness in prop_oneof![Just(1.0), 1.0..300.0f64],
        ) {
            // One direction counts much more than others, so that most bounds are in the way of it.
            let root = DMatrix::from_fn(n, n, |i, j| {
                entries[7 * i + j] * if j == 0 { stiffness } else { 1.0 }
            });
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
                    prop_assert!(slope[i] >= -1e-10 * size || lower[i] == upper[i]);
                } else {
                    prop_assert!(found.x[i] == upper[i] && slope[i] <= 1e-10 * size);
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
