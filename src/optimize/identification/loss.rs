//! Losses: how much large residuals count.
//!
//! Effects that the model does not contain (a table that is not flat, a start in the middle of an impact, a tracker that
//! jumped) leave residuals far larger than the noise, and with squares a few of these decide the result. With a loss ρ
//! the squared length s = ‖r‖² of the residuals of one sample counts as ρ(s), which is s where it is small. The
//! residuals are scaled to that length, r √(ρ(s)/s), so that a sum of squares is made least as before, and the gradient
//! is that of ½ Σ ρ(s).

use nalgebra::{DMatrix, DVector};
#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::positive;
use crate::optimize::error::ProblemError;
use crate::scalar::{DualArray, Scalar};

/// How much the squared length s of the residuals of one sample counts: each of those with a limit c like s up to about
/// c², and beyond it like its own law.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Loss {
    /// s.
    #[default]
    Squares,
    /// 2c²(√(1 + s/c²) − 1), like 2c√s where it is large (P. Charbonnier et al., *Two deterministic half-quadratic
    /// regularization algorithms for computed imaging*, 1994).
    Charbonnier {
        /// c, in standard deviations.
        limit: f64,
    },
    /// s up to c², then 2c√s − c² (P. J. Huber, *Robust estimation of a location parameter*, Ann. Math. Stat. 35, 1964).
    Huber {
        /// c, in standard deviations.
        limit: f64,
    },
    /// c² ln(1 + s/c²): what is far off hardly counts at all, and there may be several minima.
    Cauchy {
        /// c, in standard deviations.
        limit: f64,
    },
}

/// Which loss an `outlier_limit` is of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LossKind {
    /// Residuals of the squared length s count as 2c²(√(1 + s/c²) − 1), with the limit c: large ones by their length.
    #[default]
    Charbonnier,
    /// Residuals up to the limit are squared, and larger ones count by their length.
    Huber,
    /// c² ln(1 + s/c²): residuals far beyond the limit hardly count at all. For samples that are simply wrong. A start
    /// from which the model explains little may end in a minimum of its own.
    Cauchy,
}

impl LossKind {
    /// The loss with this limit; without one residuals are squared.
    pub fn with_limit(self, limit: Option<f64>) -> Loss {
        match (limit, self) {
            (None, _) => Loss::Squares,
            (Some(limit), Self::Charbonnier) => Loss::Charbonnier { limit },
            (Some(limit), Self::Huber) => Loss::Huber { limit },
            (Some(limit), Self::Cauchy) => Loss::Cauchy { limit },
        }
    }
}

/// s/c² below which the series of ln(1 + x)/x is as good as the quotient.
const SMALL: f64 = 1e-4;

impl Loss {
    /// Checks its limit.
    pub(super) fn check(self) -> Result<Self, ProblemError> {
        match self {
            Self::Squares => {}
            Self::Charbonnier { limit } | Self::Huber { limit } | Self::Cauchy { limit } => {
                positive("outlier_limit", limit)?;
            }
        }
        Ok(self)
    }

    /// √(ρ(s)/s). Its slope is continuous; that of Huber's has a kink at s = c², where second derivatives are those of
    /// squares.
    fn factor<T: Scalar>(self, s: T) -> T {
        let one = T::from(1.0);
        match self {
            Self::Squares => one,
            // ρ(s)/s = 2/(1 + √(1 + s/c²)), which has derivatives at s = 0.
            Self::Charbonnier { limit } => {
                let root = (s / T::from(limit * limit) + one).sqrt();
                (T::from(2.0) / (root + one)).sqrt()
            }
            Self::Huber { limit } if s.real() <= limit * limit => one,
            Self::Huber { limit } => {
                let part = T::from(limit) / s.sqrt();
                (part * 2.0 - part * part).sqrt()
            }
            Self::Cauchy { limit } => {
                let x = s / T::from(limit * limit);
                let quotient = match x.real() < SMALL {
                    true => one - x * (T::from(0.5) - x * (T::from(1.0 / 3.0) - x * 0.25)),
                    false => (one + x).ln() / x,
                };
                quotient.sqrt()
            }
        }
    }

    /// Scales the residuals of one sample to the length that they count with.
    pub(super) fn reduce<T: Scalar>(self, residuals: &mut [T]) {
        if self == Self::Squares {
            return;
        }
        let square = residuals.iter().fold(T::from(0.0), |sum, &r| sum + r * r);
        let factor = self.factor(square);
        residuals.iter_mut().for_each(|r| *r *= factor);
    }

    /// The same of residuals r with derivatives J, given one matrix for each group of columns:
    /// f J + 2 f′ r (rᵀJ) with f the factor and f′ its derivative with respect to s.
    pub(super) fn reduce_linear<const N: usize>(
        self,
        residuals: &mut DVector<f64>,
        jacobians: [&mut DMatrix<f64>; N],
    ) {
        if self == Self::Squares {
            return;
        }
        let factor = self.factor(DualArray::<1>::variable(residuals.norm_squared(), 0));
        for jacobian in jacobians {
            let along = jacobian.tr_mul(residuals);
            *jacobian *= factor.re;
            jacobian.ger(2.0 * factor.eps[0], residuals, &along, 1.0);
        }
        *residuals *= factor.re;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;

    fn reduced(r: [f64; 2], loss: Loss) -> [f64; 2] {
        let mut r = r;
        loss.reduce(&mut r);
        r
    }

    const LIMIT: f64 = 2.0;
    const ALL: [Loss; 3] =
        [Loss::Charbonnier { limit: LIMIT }, Loss::Huber { limit: LIMIT }, Loss::Cauchy { limit: LIMIT }];

    #[test]
    fn residuals_have_the_length_that_they_count_with() {
        assert_eq!(reduced([3.0, -4.0], Loss::Squares), [3.0, -4.0]);
        // Of length 5 with c = 2.
        let expected = [8.0 * (7.25f64.sqrt() - 1.0), 16.0, 4.0 * 7.25f64.ln()];
        for (loss, expected) in ALL.into_iter().zip(expected) {
            let [a, b] = reduced([3.0, -4.0], loss);
            assert_relative_eq!(a * a + b * b, expected, max_relative = 1e-14);
            assert_relative_eq!(a / b, -0.75, max_relative = 1e-14);
            assert_eq!(reduced([0.0, 0.0], loss), [0.0, 0.0]);
            let [a, _] = reduced([1e-3, 0.0], loss);
            assert_relative_eq!(a, 1e-3, max_relative = 1e-6);
        }
    }

    #[test]
    fn derivatives_are_those_of_differences_and_of_matrices() {
        // Small, zero, on both sides of the limit, and beside where the series ends.
        for loss in ALL {
            for x in [0.0, 5e-3, 0.014, 0.7, 1.9, 30.0] {
                let path = |x: f64| [x, 0.6 * x - 0.05 * x * x];
                let at = |x: f64| reduced(path(x), loss);
                let dual = DualArray::<1>::variable(x, 0);
                let mut r = [dual, dual * 0.6 - dual * dual * 0.05];
                loss.reduce(&mut r);
                let mut residuals = DVector::from_column_slice(&path(x));
                let slopes = DMatrix::from_column_slice(2, 1, &[1.0, 0.6 - 0.1 * x]);
                let [mut a, mut b, mut none] = [slopes.clone(), slopes, DMatrix::zeros(2, 0)];
                loss.reduce_linear(&mut residuals, [&mut a, &mut b, &mut none]);
                for k in 0..2 {
                    let h = 1e-5 * x.max(1e-3);
                    let difference = (at(x + h)[k] - at(x - h)[k]) / (2.0 * h);
                    assert_relative_eq!(r[k].eps[0], difference, max_relative = 1e-6, epsilon = 1e-9);
                    assert_relative_eq!(r[k].re, residuals[k], max_relative = 1e-14);
                    assert_relative_eq!(r[k].eps[0], a[(k, 0)], max_relative = 1e-12, epsilon = 1e-14);
                    assert_eq!(a, b);
                }
            }
        }
    }
}
