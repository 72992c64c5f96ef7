//! The step of one iteration: the minimum of the damped linear model within the bounds.

use nalgebra::{DMatrix, DVector};

use super::LevenbergMarquardt;
use crate::optimize::bounds::Bounds;
use crate::optimize::box_quadratic::{BoxMinimum, minimize_in_box};

impl LevenbergMarquardt {
    /// The step that minimizes the damped model within the bounds.
    ///
    /// `r` (k × n) and `q` (k) are R and Qᵀr of the Jacobian's QR factorization.
    ///
    /// The normal equations tell which bounds are active; the step itself is solved without them.
    pub(super) fn step(
        &self,
        x: &[f64],
        gradient: &[f64],
        r: &DMatrix<f64>,
        q: &DVector<f64>,
    ) -> DVector<f64> {
        let (n, bounds) = (x.len(), self.bounds_at(x));
        let mut p = DVector::zeros(n);
        let mut free: Vec<usize> =
            (0..n).filter(|&i| self.scale[i] > 0.0 && !bounds.holds(i, x[i], gradient[i])).collect();
        if let Some(minimum) = self.active_set(x, r, q, &bounds) {
            (0..n).for_each(|i| p[i] = minimum.x[i]);
            free = minimum.free;
        }
        loop {
            let rows = r.nrows();
            let mut matrix = DMatrix::zeros(rows + free.len(), free.len());
            let mut rhs = DVector::zeros(rows + free.len());
            for &i in &free {
                p[i] = 0.0;
            }
            rhs.rows_mut(0, rows).copy_from(&-(q + r * &p));
            for (k, &i) in free.iter().enumerate() {
                matrix.view_mut((0, k), (rows, 1)).copy_from(&r.column(i));
                matrix[(rows + k, k)] = self.damping.sqrt() * self.scale[i];
            }
            let qr = matrix.qr();
            qr.q_tr_mul(&mut rhs);
            let top = rhs.rows(0, free.len()).into_owned();
            // λD > 0, so R has no zero on its diagonal; were it to underflow, no step is taken
            // and the damping grows.
            let Some(solution) = qr.r().solve_upper_triangular(&top) else {
                return DVector::zeros(n);
            };
            let before = free.len();
            let mut k = 0;
            free.retain(|&i| {
                let wanted = x[i] + solution[k];
                k += 1;
                let (lower, upper) = bounds.of(i);
                p[i] = wanted.clamp(lower, upper) - x[i];
                wanted >= lower && wanted <= upper
            });
            if free.len() == before || free.is_empty() {
                return p;
            }
        }
    }

    /// The minimum of the damped model within the bounds, by the normal equations, if there are bounds.
    /// It is accurate enough to decide which bounds are active.
    fn active_set(
        &self,
        x: &[f64],
        r: &DMatrix<f64>,
        q: &DVector<f64>,
        bounds: &Bounds,
    ) -> Option<BoxMinimum> {
        if bounds.is_none() {
            return None;
        }
        let n = x.len();
        // In variables scaled by D; those that no residual depends on stay.
        let scale = |i: usize| if self.scale[i] > 0.0 { self.scale[i] } else { 1.0 };
        let distance =
            |i: usize, bound: f64| if self.scale[i] > 0.0 { (bound - x[i]) * scale(i) } else { 0.0 };
        let scaled = DMatrix::from_fn(r.nrows(), n, |k, i| r[(k, i)] / scale(i));
        let hessian = scaled.tr_mul(&scaled) + DMatrix::identity(n, n) * self.damping;
        let lower = DVector::from_fn(n, |i, _| distance(i, bounds.of(i).0));
        let upper = DVector::from_fn(n, |i, _| distance(i, bounds.of(i).1));
        let mut minimum = minimize_in_box(&hessian, &scaled.tr_mul(q), &lower, &upper, &DVector::zeros(n))?;
        for i in 0..n {
            // Exactly on the bound, not by way of the scale.
            minimum.x[i] = match minimum.x[i] {
                p if p == lower[i] => {
                    if p == 0.0 {
                        0.0
                    } else {
                        bounds.of(i).0 - x[i]
                    }
                }
                p if p == upper[i] => {
                    if p == 0.0 {
                        0.0
                    } else {
                        bounds.of(i).1 - x[i]
                    }
                }
                p => p / scale(i),
            };
        }
        Some(minimum)
    }
}
