//! A fit from start to finish: solver, progress, standard errors.

use argmin::core::{Error, Executor};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::lbfgsb::Lbfgsb;
use super::least_squares::{HeldSubsteps, LeastSquares, Residuals, half_square};
use super::levenberg_marquardt::LevenbergMarquardt;
use super::parameters::FitParameters;
use super::progress::ProgressObserver;
use super::solver::{Ended, run};
use super::uncertainty::{Uncertainty, uncertainty};

/// The method of a fit. Both keep the parameters within their bounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// The method of Levenberg and Marquardt.
    #[default]
    LevenbergMarquardt,
    /// The quasi-Newton method L-BFGS-B.
    Lbfgs,
}

/// Settings of a fit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FitSettings {
    /// The method.
    #[serde(rename = "kind")]
    pub method: Method,
    /// Most iterations.
    pub max_iterations: u64,
    /// The fit ends when an iteration lowers, or is predicted to lower, the cost by less than this part
    /// of the cost. For measured data the default of 10⁻¹⁰, which leaves an error of about 10⁻⁵ standard
    /// errors, is rarely too large.
    pub cost_tolerance: f64,
}

impl Default for FitSettings {
    fn default() -> Self {
        Self { method: Method::default(), max_iterations: 100, cost_tolerance: 1e-10 }
    }
}

/// The result of a fit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fit {
    /// The method.
    pub method: Method,
    /// Whether the solver met its tolerance.
    pub converged: bool,
    /// Why the solver stopped.
    pub termination: String,
    /// Iterations made.
    pub iterations: u64,
    /// ½‖r‖² at the start; of a model with unknowns of its own, before these are estimated.
    pub cost_before: f64,
    /// ½‖r‖² at the end.
    pub cost_after: f64,
    /// Number of residuals.
    pub residuals: usize,
    /// The parameters, in their units, with standard errors and verdicts.
    #[serde(flatten)]
    pub uncertainty: Uncertainty,
}

impl Fit {
    /// The parameters at the end, in their units.
    pub fn values(&self) -> Vec<f64> {
        self.uncertainty.estimates.iter().map(|e| e.value).collect()
    }
}

/// Most times that substeps are held at what the fit has come to.
const MOST_ROUNDS: usize = 4;

/// The cost tolerance while substeps follow the parameters: what jumps cannot be told more finely.
const TOLERANCE_OF_JUMPS: f64 = 1e-3;

/// The cost tolerance of an easier problem, whose solution is only where the fit goes on from.
const TOLERANCE_OF_EASED: f64 = 1e-3;

/// Most iterations of it.
const MOST_EASED: u64 = 20;

/// Fits parameters to a model's residuals from their start values.
///
/// Where the model has an easier problem with a solution nearby ([`Residuals::eased`]), that is solved first, roughly.
///
/// Where the residuals come from error-controlled steps, they jump by about the accuracy as the parameters
/// change, and no step may lower a cost that is not yet the least. The fit then first stops at a tolerance of
/// 10⁻³ of the cost, or where no step lowers it, and goes on with the substeps held that the steps have there
/// ([`Residuals::find_substeps`]), and again with those at its end, until they stay the same or the fourth time.
/// The result is the minimum with the last of them.
///
/// # Errors
/// The model cannot be evaluated at the start, or cannot be differentiated at the solution.
///
/// # Examples
/// The stiffness of a spring from measured forces:
/// ```
/// use isobar::optimize::fit::{FitSettings, fit};
/// use isobar::optimize::least_squares::Residuals;
/// use isobar::optimize::parameters::{FitParameter, FitParameters};
/// use isobar::scalar::Scalar;
///
/// /// Stretches in m, and the forces in N.
/// struct Spring([(f64, f64); 3]);
///
/// impl Residuals for Spring {
///     fn residuals<T: Scalar>(&self, parameters: &[T]) -> Result<Vec<T>, argmin::core::Error> {
///         Ok(self.0.iter().map(|(stretch, force)| parameters[0] * *stretch - *force).collect())
///     }
/// }
///
/// let measured = Spring([(0.1, 20.1), (0.2, 39.9), (0.3, 60.0)]);
/// let unknown = FitParameters::new(vec![FitParameter::new("stiffness", 50.0).bounded(1.0, 1000.0).logarithmic()])?;
/// let result = fit(&measured, &unknown, &FitSettings::default(), None)?;
/// assert!(result.converged && (result.values()[0] - 200.0).abs() < 1.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn fit<R: Residuals>(
    model: &R,
    parameters: &FitParameters,
    settings: &FitSettings,
    progress: Option<ProgressObserver>,
) -> Result<Fit, Error> {
    let before = finite_cost("start", &model.residuals(&parameters.initial())?)?;
    let x = parameters.variables(&parameters.initial())?;
    let (x, eased) = eased_start(model, parameters, settings, (x, before))?;
    let left = FitSettings { max_iterations: settings.max_iterations.saturating_sub(eased), ..*settings };
    let (ended, held) = solve_through_jumps(model, parameters, &left, x, progress.as_ref())?;
    let iterations = eased + ended.iterations;
    let values = values_at(parameters, &ended.variables)?;
    let (residuals, jacobian) = model.minimized_with_jacobian(&values, held.as_ref())?;
    let after = finite_cost("end", &residuals)?;
    if let Some(k) = jacobian.iter().position(|x| !x.is_finite()) {
        let name = &parameters.as_slice()[k / residuals.len()].name;
        return Err(Error::msg(format!(
            "a derivative with respect to `{name}` at the end of the fit is not finite"
        )));
    }
    let mut uncertainty =
        uncertainty(parameters.as_slice(), &values, &residuals, model.eliminated(), &jacobian);
    // Finer steps that fail tell nothing of the estimates.
    if let Some(Ok((residuals, jacobian))) = model.minimized_with_finer_steps(&values) {
        uncertainty.compare_with_finer_steps(&residuals, &jacobian);
    }
    Ok(Fit {
        method: settings.method,
        converged: ended.convergence.is_some(),
        termination: ended.termination,
        iterations,
        cost_before: before,
        cost_after: after,
        residuals: residuals.len(),
        uncertainty,
    })
}

/// The parameters in their units.
fn values_at(parameters: &FitParameters, x: &[f64]) -> Result<Vec<f64>, Error> {
    Ok(parameters.values(x)?.into_iter().map(|(value, _)| value).collect())
}

/// Where a fit begins, and how many iterations it took to find that: at the solution of the model's easier problem
/// ([`Residuals::eased`]) where there is one and its cost is lower, otherwise at the start that is given with its cost.
fn eased_start<R: Residuals>(
    model: &R,
    parameters: &FitParameters,
    settings: &FitSettings,
    (x, cost): (Vec<f64>, f64),
) -> Result<(Vec<f64>, u64), Error> {
    let Some(easier) = model.eased() else { return Ok((x, 0)) };
    let cost_tolerance = settings.cost_tolerance.max(TOLERANCE_OF_EASED);
    // It must not use up what the problem itself needs.
    let max_iterations = (settings.max_iterations / 2).min(MOST_EASED);
    let settings = FitSettings { cost_tolerance, max_iterations, ..*settings };
    let problem = LeastSquares::new(&easier, parameters);
    // One that fails is no help, and no harm.
    let Ok(ended) = solve(problem, &settings, x.clone(), None) else { return Ok((x, 0)) };
    let there = model.residuals(&values_at(parameters, &ended.variables)?);
    let is_better = there.is_ok_and(|r| half_square(&r) < cost);
    Ok((if is_better { ended.variables } else { x }, ended.iterations))
}

/// Runs the solver of a fit; where residuals come from error-controlled steps, first with substeps that follow
/// the parameters, then with those held that it has come to. Returns these too.
fn solve_through_jumps<R: Residuals>(
    model: &R,
    parameters: &FitParameters,
    settings: &FitSettings,
    x: Vec<f64>,
    progress: Option<&ProgressObserver>,
) -> Result<(Ended, Option<HeldSubsteps>), Error> {
    let problem = LeastSquares::new(model, parameters);
    if model.find_substeps(&values_at(parameters, &x)?)?.is_empty() {
        return Ok((solve(problem, settings, x, progress)?, None));
    }
    let cost_tolerance = settings.cost_tolerance.max(TOLERANCE_OF_JUMPS);
    let mut ended = solve(problem, &FitSettings { cost_tolerance, ..*settings }, x, progress)?;
    let mut held = model.find_substeps(&values_at(parameters, &ended.variables)?)?;
    for round in 1..=MOST_ROUNDS {
        if ended.is_out_of_iterations || ended.is_interrupted {
            break;
        }
        let left = FitSettings { max_iterations: settings.max_iterations - ended.iterations, ..*settings };
        let next = solve(problem.holding(&held), &left, ended.variables, None)?;
        ended = Ended { iterations: ended.iterations + next.iterations, ..next };
        let found = model.find_substeps(&values_at(parameters, &ended.variables)?)?;
        if found == held || round == MOST_ROUNDS {
            break;
        }
        held = found;
    }
    Ok((ended, Some(held)))
}

/// Runs the solver of a fit from these variables.
fn solve<R: Residuals>(
    problem: LeastSquares<'_, R>,
    settings: &FitSettings,
    x: Vec<f64>,
    progress: Option<&ProgressObserver>,
) -> Result<Ended, Error> {
    let (lower, upper) = problem.parameters().bounds();
    let (tolerance, limit) = (settings.cost_tolerance, settings.max_iterations);
    match settings.method {
        Method::LevenbergMarquardt => {
            let solver =
                LevenbergMarquardt::new().with_bounds(lower, upper)?.with_cost_tolerance(tolerance)?;
            let executor = Executor::new(problem, solver).configure(|state| state.param(x).max_iters(limit));
            run(executor, progress, LevenbergMarquardt::convergence)
        }
        Method::Lbfgs => {
            let solver = Lbfgsb::new().with_bounds(lower, upper)?.with_cost_tolerance(tolerance)?;
            let executor = Executor::new(problem, solver).configure(|state| state.param(x).max_iters(limit));
            run(executor, progress, Lbfgsb::convergence)
        }
    }
}

/// Half of the sum of squares, which must not overflow.
fn finite_cost(when: &str, r: &[f64]) -> Result<f64, Error> {
    let cost = half_square(r);
    if cost.is_finite() {
        Ok(cost)
    } else {
        Err(Error::msg(format!("the cost at the {when} of the fit is {cost}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optimize::parameters::FitParameter;
    use crate::scalar::Scalar;

    /// A damped spring released from 1 m, m ẍ = −k x − c ẋ, integrated by semi-implicit Euler
    /// with steps of 1 ms and recorded every 50 ms.
    /// The third parameter, where there is one, is the mass; otherwise it is known, 2 kg.
    struct Spring {
        measured: Vec<f64>,
    }

    impl Spring {
        fn motion<T: Scalar>(k: T, c: T, m: T) -> Vec<T> {
            let (mut x, mut v) = (T::from(1.0), T::from(0.0));
            let mut record = Vec::new();
            for step in 1..=3000 {
                v += (-(k * x) - c * v) / m * 1e-3;
                x += v * 1e-3;
                if step % 50 == 0 {
                    record.push(x);
                }
            }
            record
        }
    }

    impl Residuals for Spring {
        fn residuals<T: Scalar>(&self, p: &[T]) -> Result<Vec<T>, Error> {
            let mass = p.get(2).copied().unwrap_or_else(|| T::from(2.0));
            let motion = Self::motion(p[0], p[1], mass);
            Ok(motion.into_iter().zip(&self.measured).map(|(x, &y)| (x - y) / T::from(0.01)).collect())
        }
    }

    fn measured() -> Spring {
        let exact = Spring::motion(40.0, 0.8, 2.0);
        let noise = |i: usize| 0.01 * (12.9898 * (i as f64 + 1.0)).sin() * 1.4;
        Spring { measured: exact.iter().enumerate().map(|(i, x)| x + noise(i)).collect() }
    }

    fn unknowns(mass_is_free: bool) -> FitParameters {
        let mut list = vec![
            FitParameter::new("stiffness", 25.0).bounded(1.0, 1000.0).logarithmic(),
            FitParameter::new("damping", 0.1).bounded(0.0, 10.0),
        ];
        if mass_is_free {
            list.push(FitParameter::new("mass", 2.0).bounded(0.1, 10.0));
        }
        FitParameters::new(list).unwrap()
    }

    #[test]
    fn both_methods_find_the_spring_within_its_standard_errors() {
        let spring = measured();
        let mut results = Vec::new();
        for method in [Method::LevenbergMarquardt, Method::Lbfgs] {
            let settings = FitSettings { method, max_iterations: 300, cost_tolerance: 1e-12 };
            let result = fit(&spring, &unknowns(false), &settings, None).unwrap();
            assert!(result.converged, "{result:?}");
            assert!(result.cost_after < 1e-2 * result.cost_before);
            for (estimate, truth) in result.uncertainty.estimates.iter().zip([40.0, 0.8]) {
                let error = estimate.standard_error.unwrap();
                assert!((estimate.value - truth).abs() < 3.0 * error, "{estimate:?}");
                assert!(estimate.identifiability.is_identified(), "{estimate:?}");
            }
            results.push(result.values());
        }
        assert!((results[0][0] / results[1][0] - 1.0).abs() < 1e-5, "{results:?}");
    }

    #[test]
    fn both_methods_end_on_a_bound_that_holds() {
        let parameters = FitParameters::new(vec![
            FitParameter::new("stiffness", 25.0).bounded(1.0, 1000.0).logarithmic(),
            FitParameter::new("damping", 0.1).bounded(0.0, 0.5),
        ]);
        let (spring, parameters) = (measured(), parameters.unwrap());
        let found = [Method::LevenbergMarquardt, Method::Lbfgs].map(|method| {
            let settings = FitSettings { method, max_iterations: 300, cost_tolerance: 1e-12 };
            let result = fit(&spring, &parameters, &settings, None).unwrap();
            assert!(result.converged, "{result:?}");
            let damping = &result.uncertainty.estimates[1];
            assert!((damping.value - 0.5).abs() < 1e-15 && damping.value <= 0.5, "{damping:?}");
            assert!(damping.identifiability.to_string().contains("bound"), "{damping:?}");
            result.values()[0]
        });
        assert!((found[0] / found[1] - 1.0).abs() < 1e-6, "{found:?}");
    }

    #[test]
    fn with_the_mass_unknown_nothing_is_reported_as_known() {
        let result = fit(&measured(), &unknowns(true), &FitSettings::default(), None).unwrap();
        assert!(result.converged, "{result:?}");
        for estimate in &result.uncertainty.estimates {
            let text = estimate.identifiability.to_string();
            assert!(text.contains("a joint change of stiffness") && text.contains("mass"), "{text}");
            assert!(estimate.standard_error.is_none());
        }
        let json = serde_json::to_value(&result).unwrap();
        assert_eq!(json["estimates"][0]["verdict"], "combination");
        assert_eq!(json["method"], "levenberg_marquardt");
    }
}
