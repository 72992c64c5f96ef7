//! The Jacobian of the next iteration: by Broyden's update where the linear model is good, otherwise evaluated.

use argmin::core::{Error, Jacobian, Problem};
use nalgebra::{DMatrix, DVector};

use super::{LevenbergMarquardt, LinearModel};

/// How far the actual reduction of the cost may be from that of the linear model, as a part of the latter, for the next
/// Jacobian to be an update.
const TRUSTED: f64 = 0.25;

impl LevenbergMarquardt {
    /// The Jacobian at a trial point that was accepted, where the residuals are known.
    ///
    /// # Errors
    /// It cannot be evaluated, or is not finite.
    pub(super) fn next_jacobian<O>(
        &mut self,
        problem: &mut Problem<O>,
        model: &LinearModel,
        (x, trial): (&[f64], &Vec<f64>),
        residuals: &[f64],
        ratio: f64,
    ) -> Result<DMatrix<f64>, Error>
    where
        O: Jacobian<Param = Vec<f64>, Jacobian = DMatrix<f64>>,
    {
        let is_good = self.updates < x.len() && (ratio - 1.0).abs() <= TRUSTED;
        if self.secant_updates && is_good {
            let change: Vec<f64> = trial.iter().zip(x).map(|(after, before)| after - before).collect();
            self.updates += 1;
            return Ok(updated(&model.jacobian, &self.scale, &change, (&model.residuals, residuals)));
        }
        let jacobian = evaluated(problem, trial)?;
        self.updates = 0;
        Ok(jacobian)
    }

    /// The linear model at a point with a Jacobian that is evaluated instead of updated. Nothing is decided yet.
    ///
    /// # Errors
    /// As for [`Self::next_jacobian`].
    pub(super) fn renewed<O>(
        &mut self,
        problem: &mut Problem<O>,
        x: &Vec<f64>,
        model: LinearModel,
    ) -> Result<LinearModel, Error>
    where
        O: Jacobian<Param = Vec<f64>, Jacobian = DMatrix<f64>>,
    {
        let jacobian = evaluated(problem, x)?;
        (self.updates, self.convergence) = (0, None);
        self.update_scale(&jacobian);
        let model = LinearModel::new(model.residuals, jacobian);
        self.find_stops(x, &model);
        Ok(model)
    }

    /// The largest cosine between the residuals and a free column of J.
    pub(super) fn gradient_cosine(
        &self,
        x: &[f64],
        gradient: &[f64],
        jacobian: &DMatrix<f64>,
        residual_norm: f64,
    ) -> f64 {
        let (mut largest, bounds) = (0.0_f64, self.bounds_at(x));
        for i in 0..x.len() {
            let norm = jacobian.column(i).norm() * residual_norm;
            if norm > 0.0 && !bounds.holds(i, x[i], gradient[i]) {
                largest = largest.max(gradient[i].abs() / norm);
            }
        }
        largest
    }

    /// Whether the gradient vanishes within its tolerance.
    pub(super) fn has_no_gradient(&self, x: &[f64], model: &LinearModel) -> bool {
        let residual_norm = DVector::from_column_slice(&model.residuals).norm();
        self.gradient_cosine(x, &model.gradient, &model.jacobian, residual_norm) <= self.tolerances.gradient
    }
}

/// A Jacobian that is finite.
fn evaluated<O>(problem: &mut Problem<O>, x: &Vec<f64>) -> Result<DMatrix<f64>, Error>
where
    O: Jacobian<Param = Vec<f64>, Jacobian = DMatrix<f64>>,
{
    let jacobian = problem.jacobian(x)?;
    match jacobian.iter().all(|v| v.is_finite()) {
        true => Ok(jacobian),
        false => Err(Error::msg("the Jacobian is not finite")),
    }
}

/// The matrix nearest to J, in the norm of its columns over D, that takes a change δ of the variables to the change of
/// the residuals: J + (Δr − J δ) (D²δ)ᵀ / (δᵀD²δ). Without a change it is J.
fn updated(
    jacobian: &DMatrix<f64>,
    scale: &[f64],
    change: &[f64],
    (before, after): (&[f64], &[f64]),
) -> DMatrix<f64> {
    let weighted = DVector::from_iterator(change.len(), change.iter().zip(scale).map(|(p, d)| p * d * d));
    let change = DVector::from_column_slice(change);
    let square = weighted.dot(&change);
    if square <= 0.0 || !square.is_finite() {
        return jacobian.clone();
    }
    let missed = DVector::from_column_slice(after) - DVector::from_column_slice(before) - jacobian * &change;
    jacobian + missed * weighted.transpose() / square
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_update_takes_the_change_to_that_of_the_residuals_and_keeps_what_is_at_right_angles() {
        let jacobian = DMatrix::from_row_slice(3, 2, &[1.0, 2.0, -0.5, 0.3, 0.7, -1.1]);
        let (scale, change) = ([2.0, 0.5], [0.3, -0.4]);
        let (before, after) = ([0.1, 0.2, 0.3], [0.5, -0.2, 0.9]);
        let next = updated(&jacobian, &scale, &change, (&before, &after));
        let reached = &next * DVector::from_column_slice(&change);
        for row in 0..3 {
            assert!((reached[row] - (after[row] - before[row])).abs() < 1e-15);
        }
        // At right angles to the change in the metric D².
        let other = DVector::from_vec(vec![0.4 * 0.25, 0.3 * 4.0]);
        assert!((&next * &other - &jacobian * &other).norm() < 1e-15);
        assert_eq!(updated(&jacobian, &scale, &[0.0, 0.0], (&before, &before)), jacobian);
    }
}
