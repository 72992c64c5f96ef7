//! A step that bends with the residuals.

use nalgebra::{DMatrix, DVector};

use super::{LevenbergMarquardt, LinearModel};

/// Largest acceleration, as a part of the step, for which half of it is added: beyond it the residuals are not those of a
/// parabola along the step.
const LARGEST_ACCELERATION: f64 = 2.0;

impl LevenbergMarquardt {
    /// The point to which half of the acceleration leads from the end of a step p, where the residuals are known.
    ///
    /// Along the step they bend by r″ ≈ 2 (r(x + p) − r − J p), and the acceleration a makes ½‖r″ + J a‖² + ½ λ ‖D a‖²
    /// least over the variables that the step leaves within their bounds. `None` where that is no correction of the step
    /// but another one.
    pub(super) fn corrected(
        &self,
        x: &[f64],
        end: &[f64],
        model: &LinearModel,
        residuals: &[f64],
    ) -> Option<Vec<f64>> {
        let step = DVector::from_iterator(x.len(), end.iter().zip(x).map(|(after, before)| after - before));
        let mut bend = &model.jacobian * &step;
        for (k, bend) in bend.iter_mut().enumerate() {
            *bend = 2.0 * (residuals[k] - model.residuals[k] - *bend);
        }
        let bounds = self.bounds_at(x);
        let gradient = model.jacobian.tr_mul(&bend);
        let is_free = |&i: &usize| {
            let (lower, upper) = bounds.of(i);
            self.scale[i] > 0.0 && end[i] > lower && end[i] < upper
        };
        let free: Vec<usize> = (0..x.len()).filter(is_free).collect();
        let hessian = DMatrix::from_fn(free.len(), free.len(), |i, k| {
            let product = model.r.column(free[i]).dot(&model.r.column(free[k]));
            product + if i == k { self.damping * self.scale[free[i]].powi(2) } else { 0.0 }
        });
        let by_free = DVector::from_iterator(free.len(), free.iter().map(|&i| -gradient[i]));
        let acceleration = hessian.cholesky()?.solve(&by_free);
        let scaled = |i: usize, change: f64| (self.scale[i] * change).powi(2);
        let size: f64 = free.iter().zip(acceleration.iter()).map(|(&i, &a)| scaled(i, a)).sum();
        let of_step: f64 = step.iter().enumerate().map(|(i, &p)| scaled(i, p)).sum();
        // Written so that NaN is refused too.
        let is_small = size > 0.0 && size <= LARGEST_ACCELERATION.powi(2) * of_step;
        is_small.then(|| {
            let mut corrected = end.to_vec();
            for (&i, a) in free.iter().zip(acceleration.iter()) {
                corrected[i] = bounds.moved_inside(i, end[i] + 0.5 * a);
            }
            corrected
        })
    }
}
