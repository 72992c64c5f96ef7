//! How much a step of the iterative linear-quadratic regulator is held back.

use serde::{Deserialize, Serialize};

use crate::optimize::data_error::InvalidField;

/// Regularization after the first rejected step.
const FIRST: f64 = 1e-3;
/// Regularization that hardly changes a step, and is dropped.
pub(super) const NEGLIGIBLE: f64 = 1e-6;

/// The regularization λ, relative to the Hessian's diagonal. It grows faster and faster while steps are rejected.
/// When one is accepted, it follows the ratio of actual to predicted reduction.
///
/// Reference: H. B. Nielsen (1999), *Damping parameter in Marquardt's method*, IMM-REP-1999-05, Technical University of
/// Denmark.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Regularization {
    #[serde(rename = "regularization")]
    value: f64,
    growth: f64,
}

impl Default for Regularization {
    /// None.
    fn default() -> Self {
        Self::starting_at(0.0)
    }
}

impl Regularization {
    /// At a value, which is not negative.
    pub fn starting_at(value: f64) -> Self {
        Self { value, growth: 2.0 }
    }

    /// The present value.
    pub fn value(self) -> f64 {
        self.value
    }

    /// After a step that was rejected.
    pub fn reject(&mut self) {
        self.value = (self.value * self.growth).max(FIRST);
        self.growth *= 2.0;
    }

    /// After a step that was accepted with a ratio of actual to predicted reduction.
    pub fn accept(&mut self, ratio: f64) {
        self.value *= (1.0 - (2.0 * ratio - 1.0).powi(3)).clamp(1.0 / 3.0, 2.0);
        if self.value < NEGLIGIBLE {
            self.value = 0.0;
        }
        self.growth = 2.0;
    }

    /// Checks what was read from a checkpoint.
    pub fn check(self) -> Result<(), InvalidField> {
        InvalidField::check_number("solver.regularization", self.value, 0.0, f64::INFINITY)?;
        InvalidField::check_number("solver.growth", self.growth, 2.0, f64::INFINITY)
    }
}
