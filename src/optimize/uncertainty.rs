//! How well the data determine a least-squares solution.
//!
//! At the solution of a problem with m residuals and n parameters the covariance of the
//! parameters is s² (JᵀJ)⁻¹, s² = ‖r‖²/(m − n) (G. A. F. Seber, C. J. Wild, *Nonlinear
//! Regression*, 1989, §2.1.2). It assumes residuals that are independent with equal variance;
//! residuals along one trajectory are not quite that, so their standard errors are optimistic.
//!
//! A parameter that the data do not determine is never reported as known. See
//! [`Identifiability`] for the reasons, and the constants of this module for the limits.

use nalgebra::{DMatrix, DVector};
use serde::Serialize;

use super::least_squares::Finer;
use super::parameters::FitParameter;

/// A singular value of J (columns scaled to unit length) below this part of the largest is
/// counted as zero: a direction in which the residuals do not change to first order.
pub const NEGLIGIBLE_SINGULAR_VALUE: f64 = 1e-7;

/// A parameter whose standard error is more than this part of its value is not identifiable: the
/// interval of two standard errors around the value then contains zero. If the bounds allow both signs,
/// zero is a value like any other, and the error is measured against the start value if that is larger.
pub const LARGEST_RELATIVE_STANDARD_ERROR: f64 = 0.5;

/// A correlation beyond which two uncertain parameters are reported as determined only together.
const STRONG_CORRELATION: f64 = 0.95;
/// A component of a null direction below this is rounding.
const NEGLIGIBLE_COMPONENT: f64 = 1e-3;

/// What the data say about one parameter.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Identifiability {
    /// Determined, with the standard error given.
    Identified,
    /// Its estimate lies on a bound: the data ask for a value beyond it.
    AtBound {
        /// `"lower"` or `"upper"`.
        bound: &'static str,
    },
    /// The data bound it from below only: from this value, in its unit, on the cost is within that of the 95 % interval.
    AtLeast {
        /// The value.
        limit: f64,
    },
    /// The data bound it from above only, likewise.
    AtMost {
        /// The value.
        limit: f64,
    },
    /// The residuals do not depend on it.
    NoDependence,
    /// Only combinations of it with others are determined.
    Combination {
        /// The parameters that can change together without a change of the residuals.
        with: Vec<String>,
        /// What is determined, or the joint change that the data do not see.
        explanation: String,
    },
    /// Its standard error is too large to call it known.
    TooUncertain {
        /// Standard error relative to the value.
        relative_standard_error: f64,
        /// Another parameter that it is strongly correlated with, and their correlation.
        correlated_with: Option<(String, f64)>,
    },
    /// There are no more residuals than parameters, so the noise cannot be estimated.
    NoDegreesOfFreedom,
    /// Shorter time steps change it by more than its standard error.
    DependsOnSteps {
        /// By how much, in its unit.
        change: f64,
    },
    /// A finer quadrature of contact surfaces changes it by more than its standard error.
    DependsOnQuadrature {
        /// By how much, in its unit.
        change: f64,
    },
    /// The fit ended before it had converged.
    Unfinished,
    /// The model does not describe the data that it would be determined by: the residuals are far beyond their standard deviations.
    Misfit {
        /// How many times as large they are, as a root mean square.
        ratio: f64,
    },
}

impl Identifiability {
    /// Whether the parameter may be reported as known.
    pub fn is_identified(&self) -> bool {
        *self == Identifiability::Identified
    }

    /// Whether the data determine the parameter, be it with the steps that they are compared with.
    pub fn is_determined(&self) -> bool {
        matches!(self, Self::Identified | Self::DependsOnSteps { .. } | Self::DependsOnQuadrature { .. })
    }
}

impl std::fmt::Display for Identifiability {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Identified => write!(f, "identified"),
            Self::AtBound { bound } => {
                write!(f, "not identifiable: at its {bound} bound, the data ask for a value beyond it")
            }
            Self::AtLeast { limit } => {
                write!(f, "at least {limit:.1e} (95 %): the data do not bound it from above")
            }
            Self::AtMost { limit } => {
                write!(f, "at most {limit:.1e} (95 %): the data do not bound it from below")
            }
            Self::NoDependence => write!(f, "not identifiable: the data do not depend on it"),
            Self::Combination { explanation, .. } => write!(f, "not identifiable: {explanation}"),
            Self::TooUncertain { relative_standard_error: e, correlated_with } => {
                write!(f, "not identifiable: its standard error is {:.0} % of its value", 100.0 * e)?;
                if let Some((name, c)) = correlated_with {
                    write!(f, ", and it is determined only together with {name} (correlation {c:.3})")?;
                }
                Ok(())
            }
            Self::NoDegreesOfFreedom => {
                write!(f, "not identifiable: there are no more residuals than parameters")
            }
            Self::DependsOnSteps { change } => {
                write!(f, "depends on the time step: finer steps change it by {change:.2e}")
            }
            Self::DependsOnQuadrature { change } => write!(
                f,
                "depends on `quadrature_order` in [contact]: a higher one changes it by {change:.2e}"
            ),
            Self::Unfinished => write!(f, "not known: the fit has not converged"),
            Self::Misfit { ratio } => write!(
                f,
                "not known: the residuals are {ratio:.0} times the standard deviations given, so the model does not describe \
                 the data, or the fit has ended far from where it does"
            ),
        }
    }
}

/// The estimate of one parameter.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// Its name.
    pub name: String,
    /// Its value at the solution, in its unit.
    pub value: f64,
    /// Its standard error in its unit; `None` where the data do not give one.
    pub standard_error: Option<f64>,
    /// The interval that contains its true value with a probability of 95 %, if the model is right and errors are
    /// independent and normal: t-distributed around the value, of a logarithmic parameter around its logarithm.
    pub interval: Option<[f64; 2]>,
    /// By how much it would change with finer steps, half as long or with a tenth of their error (one Gauss–Newton
    /// step of those that are not too uncertain, and `None` of these); `None` of a model without, or where they fail.
    pub change_with_finer_steps: Option<f64>,
    /// By how much it would change with a higher order of quadrature of contact surfaces, likewise.
    pub change_with_finer_quadrature: Option<f64>,
    /// Whether it is determined.
    #[serde(flatten)]
    pub identifiability: Identifiability,
}

/// What the data say about a solution.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Uncertainty {
    /// s² = ‖r‖²/(m − n), with n the parameters that are determined; `None` if m ≤ n.
    pub residual_variance: Option<f64>,
    /// m − n.
    pub degrees_of_freedom: usize,
    /// Singular values of J with columns of unit length (those that are not zero), largest
    /// first.
    pub singular_values: Vec<f64>,
    /// One estimate per parameter, in order.
    pub estimates: Vec<Estimate>,
    /// Correlation of the estimates, n × n; 0 where one of the two has no standard error, 1 on
    /// the diagonal.
    pub correlation: Vec<Vec<f64>>,
}

/// Residuals that are so many standard deviations are no noise, and what they determine or bound is not known.
const MISFIT: f64 = 20.0;

impl Uncertainty {
    /// Takes back what was determined where the fit has not come to its end.
    pub(super) fn judge_unfinished(&mut self) {
        let determined =
            self.estimates.iter_mut().filter(|estimate| estimate.identifiability.is_determined());
        determined.for_each(|estimate| estimate.identifiability = Identifiability::Unfinished);
    }

    /// Takes back what was identified by residuals, given in standard deviations, that the model does not describe.
    pub fn judge_misfit(&mut self) {
        let ratio = self.residual_variance.map_or(0.0, f64::sqrt);
        let is_judged = |estimate: &&mut Estimate| {
            matches!(
                estimate.identifiability,
                Identifiability::Identified | Identifiability::TooUncertain { .. }
            )
        };
        if self.is_misfit() {
            let judged = self.estimates.iter_mut().filter(is_judged);
            judged.for_each(|estimate| estimate.identifiability = Identifiability::Misfit { ratio });
        }
    }

    /// Whether residuals, given in standard deviations, are so large that the model does not describe them.
    pub fn is_misfit(&self) -> bool {
        self.residual_variance.map_or(0.0, f64::sqrt) >= MISFIT
    }

    /// Whether every parameter is determined.
    pub fn all_identified(&self) -> bool {
        self.estimates.iter().all(|e| e.identifiability.is_identified())
    }
}

fn on_bound(p: &FitParameter, value: f64) -> Option<&'static str> {
    // A solver without bounds approaches them only up to its tolerance.
    let near = |bound: f64| {
        let width = if (p.upper - p.lower).is_finite() { p.upper - p.lower } else { p.scale() };
        bound.is_finite() && (value - bound).abs() <= 1e-6 * width.min(bound.abs().max(p.scale()))
    };
    if near(p.lower) {
        Some("lower")
    } else if near(p.upper) {
        Some("upper")
    } else {
        None
    }
}

/// Standard errors, correlation and identifiability at a least-squares solution.
///
/// `values` are the physical parameters at the solution (n), `jacobian` the derivative of the
/// residuals with respect to the *physical* parameters (m × n), `residuals` the residuals (m), of which
/// `eliminated` have gone into unknowns that the model has found by itself
/// ([`Residuals::eliminated`](super::least_squares::Residuals::eliminated)).
/// Parameters on a bound are held fixed for the standard errors of the others.
pub fn uncertainty(
    parameters: &[FitParameter],
    values: &[f64],
    residuals: &[f64],
    eliminated: usize,
    jacobian: &DMatrix<f64>,
) -> Uncertainty {
    let n = parameters.len();
    let rows = residuals.len();
    let m = rows.saturating_sub(eliminated);
    let names: Vec<&str> = parameters.iter().map(|p| p.name.as_str()).collect();
    // Magnitudes that a change of each parameter is measured against.
    let magnitude: Vec<f64> = (0..n)
        .map(|i| if parameters[i].log { values[i].abs() } else { values[i].abs().max(parameters[i].scale()) })
        .collect();
    let norms: Vec<f64> = (0..n).map(|i| jacobian.column(i).norm()).collect();
    // Sensitivity of the residuals to a change of each parameter by its own magnitude.
    let largest = (0..n).map(|i| norms[i] * magnitude[i]).fold(0.0, f64::max);
    let mut verdicts: Vec<Identifiability> = (0..n)
        .map(|i| match on_bound(&parameters[i], values[i]) {
            _ if norms[i] * magnitude[i] <= 1e-14 * largest => Identifiability::NoDependence,
            Some(bound) => Identifiability::AtBound { bound },
            None => Identifiability::Identified,
        })
        .collect();
    let free: Vec<usize> = (0..n).filter(|&i| verdicts[i].is_identified()).collect();
    let mut correlation = vec![vec![0.0; n]; n];
    (0..n).for_each(|i| correlation[i][i] = 1.0);
    let mut standard_errors = vec![None; n];
    let mut singular_values = Vec::new();
    let mut rank = 0;
    let variance_with =
        |rank: usize| (m > rank).then(|| residuals.iter().map(|r| r * r).sum::<f64>() / (m - rank) as f64);
    let mut residual_variance = variance_with(0);

    if !free.is_empty() {
        let scaled = DMatrix::from_fn(rows, free.len(), |k, j| jacobian[(k, free[j])] / norms[free[j]]);
        // The right singular vectors of the small triangular factor, padded to be square so that
        // all of them are there when m < n.
        let r = scaled.qr().r();
        let square =
            DMatrix::from_fn(free.len(), free.len(), |i, j| if i < r.nrows() { r[(i, j)] } else { 0.0 });
        let svd = square.svd(false, true);
        let v_t = svd.v_t.unwrap_or_else(|| DMatrix::identity(free.len(), free.len()));
        let mut order: Vec<usize> = (0..free.len()).collect();
        order.sort_by(|&a, &b| svd.singular_values[b].total_cmp(&svd.singular_values[a]));
        let sigma: Vec<f64> = order.iter().map(|&k| svd.singular_values[k]).collect();
        let v = DMatrix::from_fn(free.len(), free.len(), |i, k| v_t[(order[k], i)]);
        rank = sigma.iter().filter(|&&s| s > NEGLIGIBLE_SINGULAR_VALUE * sigma[0]).count();

        // Directions that the residuals do not see, in relative changes of the parameters.
        let null = DMatrix::from_fn(free.len(), free.len() - rank, |i, k| {
            v[(i, rank + k)] / (norms[free[i]] * magnitude[free[i]])
        });
        mark_combinations(&null, &free, &names, &mut verdicts);

        let known: Vec<usize> = (0..free.len()).filter(|&j| verdicts[free[j]].is_identified()).collect();
        residual_variance = variance_with(rank);
        if let Some(variance) = residual_variance {
            // Those that no null direction touches have a variance from the others' directions.
            let covariance = |a: usize, b: usize| {
                let sum: f64 = (0..rank).map(|k| v[(a, k)] * v[(b, k)] / (sigma[k] * sigma[k])).sum();
                sum / (norms[free[a]] * norms[free[b]])
            };
            for &a in &known {
                standard_errors[free[a]] = Some((variance * covariance(a, a)).sqrt());
                for &b in &known {
                    let scale = (covariance(a, a) * covariance(b, b)).sqrt();
                    correlation[free[a]][free[b]] = if a == b { 1.0 } else { covariance(a, b) / scale };
                }
            }
        } else {
            for &a in &known {
                verdicts[free[a]] = Identifiability::NoDegreesOfFreedom;
            }
        }
        singular_values = sigma;
    }

    for i in 0..n {
        let Some(error) = standard_errors[i] else { continue };
        // A quantity that cannot change its sign is known only to a part of itself.
        let p = &parameters[i];
        let one_sign = p.log || p.lower >= 0.0 || p.upper <= 0.0;
        let partner = (0..n)
            .filter(|&j| j != i && correlation[i][j].abs() > STRONG_CORRELATION)
            .max_by(|&a, &b| correlation[i][a].abs().total_cmp(&correlation[i][b].abs()));
        // A start of 0 without bounds gives no magnitude, and then that of what others determine with it is its own.
        let has_none = p.initial == 0.0 && !(p.upper - p.lower).is_finite() && partner.is_some();
        let relative = error / if one_sign || has_none { values[i].abs() } else { magnitude[i] };
        if relative.is_nan() || relative > LARGEST_RELATIVE_STANDARD_ERROR {
            verdicts[i] = Identifiability::TooUncertain {
                relative_standard_error: relative,
                correlated_with: partner.map(|j| (names[j].to_string(), correlation[i][j])),
            };
        }
    }
    let estimates = (0..n)
        .map(|i| Estimate {
            name: names[i].to_string(),
            value: values[i],
            standard_error: standard_errors[i],
            interval: standard_errors[i].map(|error| {
                let reach = student_quantile(m.saturating_sub(rank)) * error;
                match parameters[i].log {
                    true => [-1.0, 1.0].map(|side| values[i] * (side * reach / values[i]).exp()),
                    false => [values[i] - reach, values[i] + reach],
                }
            }),
            change_with_finer_steps: None,
            change_with_finer_quadrature: None,
            identifiability: verdicts[i].clone(),
        })
        .collect();
    Uncertainty {
        residual_variance,
        degrees_of_freedom: m.saturating_sub(rank),
        singular_values,
        estimates,
        correlation,
    }
}

impl Uncertainty {
    /// Writes down by how much each estimate would change if it were made with something finer, and calls those that
    /// would change by more than their standard errors dependent on it. `residuals` and `jacobian` are those
    /// of the finer simulation at the same values: the change is one Gauss–Newton step of the parameters that are
    /// determined.
    pub(super) fn compare_with_finer(&mut self, what: Finer, residuals: &[f64], jacobian: &DMatrix<f64>) {
        // One that is hardly known would go far, and take the others with it.
        let is_known = |e: &Estimate| {
            let is_uncertain = matches!(e.identifiability, Identifiability::TooUncertain { .. });
            e.standard_error.is_some() && !is_uncertain
        };
        let known: Vec<usize> = (0..self.estimates.len()).filter(|&i| is_known(&self.estimates[i])).collect();
        if known.is_empty() || residuals.len() < known.len() {
            return;
        }
        let norms: Vec<f64> = known.iter().map(|&i| jacobian.column(i).norm()).collect();
        let scaled =
            DMatrix::from_fn(residuals.len(), known.len(), |row, k| jacobian[(row, known[k])] / norms[k]);
        let qr = scaled.qr();
        let mut right = -DVector::from_column_slice(residuals);
        qr.q_tr_mul(&mut right);
        let step = qr.r().solve_upper_triangular(&right.rows(0, known.len()).into_owned());
        // A parameter that nothing depends on has no change that can be told.
        let Some(step) = step.filter(|step| step.iter().all(|x| x.is_finite())) else { return };
        for (k, &i) in known.iter().enumerate() {
            let (estimate, change) = (&mut self.estimates[i], step[k] / norms[k]);
            let (told, verdict) = match what {
                Finer::Steps => {
                    (&mut estimate.change_with_finer_steps, Identifiability::DependsOnSteps { change })
                }
                Finer::Quadrature => (
                    &mut estimate.change_with_finer_quadrature,
                    Identifiability::DependsOnQuadrature { change },
                ),
            };
            *told = Some(change);
            let larger = estimate.standard_error.is_some_and(|error| change.abs() > error);
            if larger && estimate.identifiability.is_identified() {
                estimate.identifiability = verdict;
            }
        }
    }
}

/// The 97.5 % quantile of Student's t-distribution, by its expansion for many degrees of freedom (M. Abramowitz,
/// I. A. Stegun, *Handbook of Mathematical Functions*, 1964, 26.7.5); exact for one and two.
pub(super) fn student_quantile(degrees_of_freedom: usize) -> f64 {
    const NORMAL: f64 = 1.959_963_984_540_054;
    match degrees_of_freedom {
        0 => f64::INFINITY,
        1 => 12.706_204_736_432_095,
        2 => 4.302_652_729_696_142,
        degrees => {
            let (z, per) = (NORMAL, 1.0 / degrees as f64);
            let terms = [
                z,
                (z.powi(3) + z) / 4.0,
                (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0,
                (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / 384.0,
                (79.0 * z.powi(9) + 776.0 * z.powi(7) + 1482.0 * z.powi(5) - 1920.0 * z.powi(3) - 945.0 * z)
                    / 92160.0,
            ];
            terms.iter().rev().fold(0.0, |sum, term| sum * per + term)
        }
    }
}

/// Marks every parameter that a null direction changes. The columns of `null` span the
/// directions, in relative changes of the parameters `free`.
fn mark_combinations(null: &DMatrix<f64>, free: &[usize], names: &[&str], verdicts: &mut [Identifiability]) {
    if null.ncols() == 0 {
        return;
    }
    let columns: Vec<DVector<f64>> = null.column_iter().map(|c| c / c.amax()).collect();
    let moved: Vec<usize> =
        (0..free.len()).filter(|&j| columns.iter().any(|c| c[j].abs() > NEGLIGIBLE_COMPONENT)).collect();
    let explanation = match (moved.as_slice(), columns.as_slice()) {
        (&[a, b], [direction]) => {
            // What does not change along (w_a, w_b) is w_b ln a − w_a ln b.
            let exponent = -direction[a] / direction[b];
            format!("only {} is determined", combination(names[free[a]], names[free[b]], exponent))
        }
        (_, [direction]) => {
            let list: Vec<String> =
                moved.iter().map(|&j| format!("{} {:+.3} %", names[free[j]], direction[j])).collect();
            format!("the data do not see a joint change of {}", list.join(", "))
        }
        (_, directions) => {
            format!("the data do not see {} independent joint changes of {}", directions.len(), {
                let list: Vec<&str> = moved.iter().map(|&j| names[free[j]]).collect();
                list.join(", ")
            })
        }
    };
    for &j in &moved {
        let with = moved.iter().filter(|&&k| k != j).map(|&k| names[free[k]].to_string()).collect();
        verdicts[free[j]] = Identifiability::Combination { with, explanation: explanation.clone() };
    }
}

/// The name of a · b^e.
fn combination(a: &str, b: &str, e: f64) -> String {
    let rounded = e.round();
    let near_integer = (e - rounded).abs() < 1e-3 && rounded != 0.0;
    match near_integer {
        true if rounded == 1.0 => format!("{a} · {b}"),
        true if rounded == -1.0 => format!("{a} / {b}"),
        true => format!("{a} · {b}^{rounded}"),
        false => format!("a combination of {a} and {b} (near this solution {a} · {b}^{e:.3})"),
    }
}

#[cfg(test)]
mod tests;
