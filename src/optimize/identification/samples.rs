//! Samples of a recording: how they count, and their residuals.

use nalgebra::{DMatrix, DVector};

use super::Loss;
use crate::scalar::Scalar;

/// How one sample counts.
pub(super) struct Sample {
    /// 1/σ of its numbers, three at a time; 0 of those that are not compared.
    pub weights: [f64; 4],
    pub loss: Loss,
    /// The line of the file that it stands in.
    pub line: Option<u64>,
}

/// The residuals of one sample, and their derivatives.
pub(super) struct Rows {
    pub residuals: DVector<f64>,
    /// With respect to what is estimated of the start.
    pub by_start: DMatrix<f64>,
    /// With respect to the parameters of the model, then to those of sensors.
    pub by_parameters: DMatrix<f64>,
}

impl Sample {
    /// Adds its residuals: a deviation over standard deviations, what is compared of it, with the loss.
    pub fn add_residuals<T: Scalar>(&self, deviation: Vec<T>, residuals: &mut Vec<T>) {
        let first = residuals.len();
        for (i, d) in deviation.into_iter().enumerate() {
            let weight = self.weights[i / 3];
            if weight > 0.0 {
                residuals.push(d * weight);
            }
        }
        self.loss.reduce(&mut residuals[first..]);
    }
}
