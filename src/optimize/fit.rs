//! A fit from start to finish: solver, progress, standard errors.

mod kept;
mod settings;
mod several;
mod solve;

use argmin::core::Error;
use serde::Serialize;

pub use self::settings::{FitSettings, FitStarts, Method};
pub use self::several::{StartOutcome, fit_from_starts, fit_some_starts};
pub(super) use self::solve::{ROUGH, solve};
use self::solve::{Solved, solve_from, values_at};
use super::least_squares::{Finer, FittedModel, LeastSquares, Residuals, half_square};
use super::parameters::FitParameters;
use super::progress::ProgressObserver;
use super::uncertainty::{Uncertainty, uncertainty};

/// The result of a fit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fit {
    /// The method.
    pub method: Method,
    /// Whether the solver met its tolerance.
    pub converged: bool,
    /// Why the solver stopped.
    pub termination: String,
    /// Iterations made, those before an interruption included.
    pub iterations: u64,
    /// ½‖r‖² at the start values; of a model with unknowns of its own, before these are estimated.
    pub cost_before: f64,
    /// ½‖r‖² at the end.
    pub cost_after: f64,
    /// Number of residuals, those of priors included.
    pub residuals: usize,
    /// What became of each start, where there were several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub starts: Vec<StartOutcome>,
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
/// [`FitSettings::starts`] are for [`fit_from_starts`]: this is the fit from the start values.
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
    fit_model(model, parameters, settings, progress.as_ref())
}

fn fit_model(
    model: &dyn FittedModel,
    parameters: &FitParameters,
    settings: &FitSettings,
    progress: Option<&ProgressObserver>,
) -> Result<Fit, Error> {
    let start = (parameters.initial(), cost_at_start(model, parameters)?);
    let solved = solve_from(model, parameters, settings, &start, (progress, None))?;
    finish(model, parameters, settings, start.1, solved)
}

/// The cost at the start values.
fn cost_at_start(model: &dyn FittedModel, parameters: &FitParameters) -> Result<f64, Error> {
    let initial = parameters.initial();
    let mut residuals = model.residuals(&initial)?;
    residuals.extend(parameters.prior_residuals(&initial).map(|(_, residual, _)| residual));
    finite_cost("start", &residuals)
}

/// The result of a solution, which the model's own unknowns belong to.
fn finish(
    model: &dyn FittedModel,
    parameters: &FitParameters,
    settings: &FitSettings,
    before: f64,
    solved: Solved,
) -> Result<Fit, Error> {
    let values = values_at(parameters, &solved.variables)?;
    let problem = LeastSquares::of(model, parameters).remembering(&solved.last);
    let problem = match &solved.held {
        Some(held) => problem.holding(held),
        None => problem,
    };
    let (residuals, jacobian) = problem.linear_residuals_at(&values)?;
    let after = finite_cost("end", &residuals)?;
    if let Some(k) = jacobian.iter().position(|x| !x.is_finite()) {
        let name = &parameters.as_slice()[k / residuals.len()].name;
        return Err(Error::msg(format!(
            "a derivative with respect to `{name}` at the end of the fit is not finite"
        )));
    }
    let mut list = parameters.as_slice().to_vec();
    for (_, own) in list.iter_mut().enumerate().filter(|(i, _)| model.is_never_negative(*i)) {
        own.lower = own.lower.max(0.0);
    }
    let mut uncertainty = uncertainty(&list, &values, &residuals, model.eliminated(), &jacobian);
    for what in [Finer::Steps, Finer::Quadrature] {
        // Simulations that fail tell nothing of the estimates.
        if let Some(Ok(finer)) = model.minimized_with_finer(what, &values) {
            let (residuals, jacobian) = problem.with_priors(finer, &values);
            uncertainty.compare_with_finer(what, &residuals, &jacobian);
        }
    }
    if solved.convergence.is_none() {
        uncertainty.judge_unfinished();
    }
    Ok(Fit {
        method: settings.method,
        converged: solved.convergence.is_some(),
        termination: solved.termination,
        iterations: solved.iterations,
        cost_before: before,
        cost_after: after,
        residuals: residuals.len(),
        starts: Vec::new(),
        uncertainty,
    })
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
    use std::sync::Arc;

    use crate::optimize::checkpoint::{CheckpointStore, ProblemCheckpoints};
    use crate::optimize::parameters::FitParameter;
    use crate::scalar::Scalar;

    /// A damped spring released from 1 m, m ẍ = −k x − c ẋ, integrated by semi-implicit Euler
    /// with steps of 1 ms and recorded every 50 ms.
    /// The third parameter, where there is one, is the mass; otherwise it is known, 2 kg.
    #[derive(Clone)]
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
            let settings =
                FitSettings { method, max_iterations: 300, cost_tolerance: 1e-12, ..Default::default() };
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
            let settings =
                FitSettings { method, max_iterations: 300, cost_tolerance: 1e-12, ..Default::default() };
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

    /// Two minima, at 2 and near −2; the first has no cost but that of constant noise.
    #[derive(Clone)]
    struct Valleys;

    impl Residuals for Valleys {
        fn residuals<T: Scalar>(&self, p: &[T]) -> Result<Vec<T>, Error> {
            let x = p[0];
            Ok(vec![x * x - 4.0, (x - 2.0) * 0.3, T::from(0.1), T::from(0.1)])
        }
    }

    #[test]
    fn several_starts_find_the_best_of_several_minima_whatever_the_threads() {
        let parameters = FitParameters::new(vec![FitParameter::new("x", -3.0).bounded(-10.0, 10.0)]).unwrap();
        let one = FitSettings::default();
        let starts = FitStarts { count: 12, spread: 1.5, seed: 4 };
        let settings = FitSettings { starts, ..one };
        assert!(fit(&Valleys, &parameters, &one, None).unwrap().values()[0] < -1.0);
        let on_threads = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| fit_from_starts(&Valleys, &parameters, &settings, |_| None, |_| None).unwrap())
        };
        let found = on_threads(1);
        assert!((found.values()[0] - 2.0).abs() < 1e-6, "{found:?}");
        assert_eq!(found, on_threads(4));
        let best = found.starts.iter().filter(|start| start.is_best).count();
        assert!((1..12).contains(&best), "{best}");
        for start in &found.starts {
            assert_eq!(start.is_best, (start.values[0] - 2.0).abs() < 1e-3, "{start:?}");
        }
    }

    /// Memory that a fit is kept in.
    #[derive(Default)]
    struct Memory(std::sync::Mutex<Option<String>>);

    impl CheckpointStore for Memory {
        fn load(&self) -> Result<Option<String>, Error> {
            Ok(self.0.lock().unwrap().clone())
        }
        fn save(&self, text: &str) -> Result<(), Error> {
            *self.0.lock().unwrap() = Some(text.to_owned());
            Ok(())
        }
    }

    #[test]
    fn a_fit_goes_on_from_what_was_kept() {
        let parameters = unknowns(false);
        for method in [Method::LevenbergMarquardt, Method::Lbfgs] {
            let spring = measured();
            let settings =
                FitSettings { method, max_iterations: 300, cost_tolerance: 1e-12, ..Default::default() };
            let memory = Arc::new(Memory::default());
            let kept = |problem: &str, settings: &FitSettings| {
                let place = || {
                    Some(ProblemCheckpoints { store: Arc::clone(&memory) as _, problem: problem.to_owned() })
                };
                fit_from_starts(&spring, &parameters, settings, |_| None, |_| place())
            };
            let stopped = kept("spring", &FitSettings { max_iterations: 3, ..settings }).unwrap();
            assert!(!stopped.converged && stopped.iterations == 3, "{stopped:?}");
            let mut verdicts = stopped.uncertainty.estimates.iter().map(|e| &e.identifiability);
            assert!(verdicts.all(|verdict| !verdict.is_determined()), "{stopped:?}");
            let resumed = kept("spring", &settings).unwrap();
            let whole = fit(&spring, &parameters, &settings, None).unwrap();
            assert!(resumed.converged && resumed.iterations > 3, "{resumed:?}");
            assert_eq!(resumed, whole);
            let text = memory.load().unwrap().unwrap();
            let refused = kept("another", &settings).unwrap_err().to_string();
            assert!(refused.contains("it is of problem `spring`, this run is of `another`"), "{refused}");
            memory.save(&text.replacen("\"variables\":[", "\"variables\":[0.5,", 1)).unwrap();
            let refused = kept("spring", &settings).unwrap_err().to_string();
            assert!(refused.contains("`begun.variables`: found 3 entries"), "{refused}");
        }
    }
}
