//! The derivative of a step.
//!
//! The increments of the stages solve zᵢ = h Σⱼ Aᵢⱼ f(tⱼ, y₀ + zⱼ). By the implicit function theorem, with
//! the Jacobians Jⱼ = ∂f/∂y at the stages and changes δfⱼ of the rates there that have other reasons, they
//! change by
//!
//! ```text
//! M δZ = h (A⊗I) (δf₁, …, δfₛ),     M = I − h (A⊗I) diag(J₁, …, Jₛ).
//! ```
//!
//! For a cotangent w of zₛ let Mᵀ λ = (0, …, 0, w). Then μⱼ = h Σᵢ Aᵢⱼ λᵢ is the cotangent of the rate at stage
//! j. This is the derivative of the solution of the stages with the length of the step as a constant.

use nalgebra::{DMatrix, DVector};

use super::coefficients::RadauOrder;
use crate::scalar::Scalar;

/// The inverse of M of a step.
#[derive(Clone, Debug)]
pub(in crate::step) struct StepDerivative {
    order: RadauOrder,
    length: f64,
    inverse: DMatrix<f64>,
}

impl StepDerivative {
    /// That of a step of length `length` with the Jacobians ∂f/∂y at its stages; `None` if M is singular or
    /// not finite.
    pub fn new(order: RadauOrder, length: f64, jacobians: &[DMatrix<f64>]) -> Option<Self> {
        let dimension = jacobians.first().map_or(0, DMatrix::nrows);
        let size = order.stages() * dimension;
        let mut matrix = DMatrix::<f64>::identity(size, size);
        for (i, row) in order.coefficients().matrix.iter().enumerate() {
            for (j, (jacobian, a)) in jacobians.iter().zip(*row).enumerate() {
                let mut block = matrix.view_mut((i * dimension, j * dimension), (dimension, dimension));
                block.zip_apply(jacobian, |m, derivative| *m -= length * a * derivative);
            }
        }
        if matrix.iter().any(|x| !x.is_finite()) {
            return None;
        }
        Some(Self { order, length, inverse: matrix.try_inverse()? })
    }

    /// The memory that it holds besides its own, bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(self.inverse.as_slice())
    }

    /// M⁻¹ times a vector of numbers of any kind, all stages one after the other.
    pub fn corrected<T: Scalar>(&self, residual: &[T]) -> Vec<T> {
        let rows = self.inverse.row_iter();
        let product = |row: nalgebra::RowDVector<f64>| {
            row.iter().zip(residual).fold(T::from(0.0), |sum, (m, r)| sum + *r * *m)
        };
        rows.map(|row| product(row.into_owned())).collect()
    }

    /// The cotangents μⱼ of the rates at the stages, one stage after the other, that belong to the cotangent
    /// of the increment of the last stage.
    pub fn cotangent_of_rates(&self, of_last: &[f64]) -> Vec<f64> {
        let (n, size) = (of_last.len(), self.inverse.nrows());
        let mut lambda = DVector::zeros(size);
        let last_rows = self.inverse.rows(size - n, n);
        lambda.gemv_tr(1.0, &last_rows, &DVector::from_column_slice(of_last), 0.0);
        let mut rates = vec![0.0; size];
        for (i, row) in self.order.coefficients().matrix.iter().enumerate() {
            for (j, a) in row.iter().enumerate() {
                let by = self.length * a;
                let (to, from) = (&mut rates[j * n..(j + 1) * n], lambda.rows(i * n, n));
                to.iter_mut().zip(from.iter()).for_each(|(to, from)| *to += by * from);
            }
        }
        rates
    }
}
