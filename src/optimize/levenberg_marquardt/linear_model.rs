//! Residuals and their linear model at a point.

use argmin::core::{Error, Jacobian, Operator, Problem};
use nalgebra::{DMatrix, DVector};

use super::LeastSquaresState;
use crate::optimize::least_squares::half_square;

/// Residuals with their linear model at a point.
pub(super) struct LinearModel {
    pub residuals: Vec<f64>,
    pub jacobian: DMatrix<f64>,
    /// Jᵀr.
    pub gradient: Vec<f64>,
    /// R and Qᵀr of J = QR.
    pub r: DMatrix<f64>,
    pub q: DVector<f64>,
}

impl LinearModel {
    pub fn new(residuals: Vec<f64>, jacobian: DMatrix<f64>) -> Self {
        let mut q = DVector::from_column_slice(&residuals);
        let gradient = jacobian.tr_mul(&q).as_slice().to_vec();
        let qr = jacobian.clone().qr();
        qr.q_tr_mul(&mut q);
        let r = qr.r();
        let q = q.rows(0, r.nrows()).into_owned();
        Self { residuals, jacobian, gradient, r, q }
    }

    /// How much the model says that a step lowers the cost.
    pub fn reduction(&self, p: &DVector<f64>) -> f64 {
        let r_p = &self.r * p;
        -self.q.dot(&r_p) - 0.5 * r_p.norm_squared()
    }

    /// How much residuals elsewhere lower the cost: as a sum of products, so that the difference of nearly equal costs
    /// keeps its digits.
    pub fn actual_reduction(&self, residuals: &[f64]) -> f64 {
        0.5 * self.residuals.iter().zip(residuals).map(|(a, b)| (a - b) * (a + b)).sum::<f64>()
    }

    /// What an error of this part of a standard error of a variable costs; without freedom less than anything.
    pub fn cost_of_error(&self, part: f64) -> f64 {
        match self.residuals.len().saturating_sub(self.jacobian.ncols()) {
            0 => f64::NEG_INFINITY,
            freedom => part.powi(2) * half_square(&self.residuals) / freedom as f64,
        }
    }

    pub fn into_state(self, state: LeastSquaresState, x: Vec<f64>) -> LeastSquaresState {
        let cost = half_square(&self.residuals);
        let state = state.param(x).residuals(self.residuals).jacobian(self.jacobian);
        state.gradient(self.gradient).cost(cost)
    }
}

/// Residuals and Jacobian at a point, all finite.
pub(super) fn evaluate<O>(problem: &mut Problem<O>, x: &Vec<f64>) -> Result<(Vec<f64>, DMatrix<f64>), Error>
where
    O: Operator<Param = Vec<f64>, Output = Vec<f64>> + Jacobian<Param = Vec<f64>, Jacobian = DMatrix<f64>>,
{
    let residuals = residuals_at(problem, x)?;
    let jacobian = problem.jacobian(x)?;
    if jacobian.shape() != (residuals.len(), x.len()) {
        return Err(Error::msg(format!(
            "the Jacobian is {} × {}, it must be {} × {}",
            jacobian.nrows(),
            jacobian.ncols(),
            residuals.len(),
            x.len()
        )));
    }
    if let Some(k) = jacobian.iter().position(|v| !v.is_finite()) {
        let (row, column) = (k % residuals.len(), k / residuals.len());
        return Err(Error::msg(format!("derivative of residual {row} by variable {column} is not finite")));
    }
    Ok((residuals, jacobian))
}

pub(super) fn residuals_at<O>(problem: &mut Problem<O>, x: &Vec<f64>) -> Result<Vec<f64>, Error>
where
    O: Operator<Param = Vec<f64>, Output = Vec<f64>>,
{
    let residuals = problem.apply(x)?;
    match residuals.iter().position(|r| !r.is_finite()) {
        Some(i) => Err(Error::msg(format!("residual {i} is not finite"))),
        None => Ok(residuals),
    }
}
