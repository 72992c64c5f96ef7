//! The error of a step.
//!
//! The collocation polynomial q satisfies the differential equation at the nodes, but not at the start of
//! the step. How far it is off there,
//!
//! ```text
//! d = h f(t₀, y₀) − q'(0) = h f(t₀, y₀) − Σᵢ dᵢ zᵢ,
//! ```
//!
//! is of order hˢ⁺¹, and γ₀ d is the difference between the step and one of a method that also uses the rate
//! at the start, with the weight γ₀. What is stiff makes it far too large, so that it is damped by the
//! matrix of the iteration: error = P γ₀ d, P = (γ/h) (γ/h I − J)⁻¹ (Hairer and Wanner, section IV.8;
//! for two stages see [`Stages::damp`]).
//!
//! For odd s, an infinitely stiff component still makes an error of the size of its distance from the slow
//! solution, which the step itself damps to nothing. Where that counts, in the first step and after a
//! rejection, an error that is too large is damped once more:
//! P γ₀ (h f(t₀, y₀ + error) − q'(0)).
//!
//! The methods and their embedded ones:
//!
//! * Three stages, order 5: γ₀ = 1/γ, an embedded method of order 3. The estimate is of order h⁴, the error
//!   of a step of order h⁶.
//! * Two stages, order 3: an embedded method of order 2 for any γ₀, with d = h³ y'''/6 + …. It is
//!   γ₀ = 1/√6, the inverse of the modulus of the eigenvalues, which is what 1/γ is the counterpart of. The
//!   error of a step is of order h⁴.
//! * One stage, order 1: d = h f(t₀, y₀) − z₁ = −h² y'' + …, and γ₀ = 1/2 makes the embedded method the
//!   trapezoidal rule, of order 2. The estimate is then −h² y''/2 + …, the error of a step of the implicit
//!   Euler method itself; with γ₀ = 1/γ = 1 it would be that of the explicit Euler method, twice as much.

use super::coefficients::RadauOrder;
use super::stages::{Stages, Step};

/// The estimate of a step's error, and its memory.
#[derive(Clone, Debug, Default)]
pub(in crate::step) struct ErrorEstimate {
    error: Vec<f64>,
    state: Vec<f64>,
    rate: Vec<f64>,
}

impl ErrorEstimate {
    /// The error that was estimated last, a vector of the state's dimension.
    pub(in crate::step) fn error(&self) -> &[f64] {
        &self.error
    }

    /// Estimates the error of a step whose stages have been found, and returns its size by `norm`, where 1
    /// is what is allowed. If it is more and `damp_twice` is set, as it should be for the first step and
    /// after a rejection, the rate is evaluated once to damp it again. Not a number, or infinite, where the
    /// rate is, and where nothing has been factorized.
    pub(in crate::step) fn evaluate(
        &mut self,
        stages: &mut Stages,
        rate: &mut impl FnMut(f64, &[f64], &mut [f64]),
        step: &Step<'_>,
        norm: &impl Fn(&[f64]) -> f64,
        damp_twice: bool,
    ) -> f64 {
        let size = self.damped(stages, step.rate, step.length, norm);
        if !damp_twice || size <= 1.0 || !size.is_finite() {
            return size;
        }
        self.state.clear();
        self.state.extend(step.state.iter().zip(&self.error).map(|(y, error)| y + error));
        let mut shifted = std::mem::take(&mut self.rate);
        shifted.clear();
        shifted.resize(self.state.len(), 0.0);
        rate(step.time, &self.state, &mut shifted);
        let size = self.damped(stages, &shifted, step.length, norm);
        self.rate = shifted;
        size
    }

    /// The damped error with this rate at the start of the step.
    fn damped(
        &mut self,
        stages: &mut Stages,
        rate: &[f64],
        length: f64,
        norm: &impl Fn(&[f64]) -> f64,
    ) -> f64 {
        let coefficients = stages.order().coefficients();
        let n = stages.dimension();
        self.error.clear();
        self.error.extend(rate.iter().map(|f| length * f));
        if n > 0 {
            let increments = stages.increments().chunks_exact(n);
            for (slope, increment) in coefficients.initial_slope.iter().zip(increments) {
                self.error.iter_mut().zip(increment).for_each(|(error, z)| *error -= slope * z);
            }
        }
        self.error.iter_mut().for_each(|error| *error *= coefficients.error_weight);
        if stages.damp(&mut self.error).is_err() {
            return f64::NAN;
        }
        norm(&self.error)
    }
}

/// The power of the step length that the estimate is of: s + 1.
pub(in crate::step) const fn estimate_power(order: RadauOrder) -> i32 {
    order.stages() as i32 + 1
}
