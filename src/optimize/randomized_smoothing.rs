//! A cost smoothed over random perturbations of its variables.
//!
//! Through contact that is made or lost a cost has kinks, plateaus and steep walls, at which a gradient
//! says nothing about what lies a little further. Its mean over perturbations, f̄(x) = E[f(x + σw)] with
//! w normally distributed, is smooth. If f is continuous, the gradient of the mean is the mean of the
//! gradients, ∇f̄(x) = E[∇f(x + σw)] (the *first-order* estimator); where f jumps, this estimator is
//! biased.

use crate::parallel::in_parallel;
use argmin::core::{CostFunction, Error, Gradient};
#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::gaussian::gaussian;
use super::solver::check_setting;

/// A cost that several threads can evaluate at a time.
pub trait SharedCost: Sync {
    /// The cost.
    ///
    /// # Errors
    /// Whatever keeps it from being evaluated.
    fn cost_at(&self, x: &[f64]) -> Result<f64, Error>;

    /// The cost and its gradient.
    ///
    /// # Errors
    /// Whatever keeps them from being evaluated.
    fn cost_and_gradient_at(&self, x: &[f64]) -> Result<(f64, Vec<f64>), Error>;
}

/// How a cost is smoothed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SmoothingSettings {
    /// Standard deviation of the perturbations, in the optimizer's variables.
    pub deviation: f64,
    /// Number of pairs of samples.
    pub pairs: usize,
    /// Seed of the random numbers.
    #[serde(default)]
    pub seed: u64,
}

/// The mean of a cost over perturbations, estimated from samples.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SmoothedValue {
    /// The mean over the samples: the smoothed cost, not the cost itself.
    pub mean: f64,
    /// Its standard error as an estimate of the expected cost.
    pub standard_error: f64,
    /// The gradient of the mean.
    pub gradient: Vec<f64>,
    /// The standard errors of the gradient.
    pub gradient_standard_error: Vec<f64>,
}

/// # Randomized smoothing
///
/// The mean of a cost over samples x ± σwₖ, as argmin's `CostFunction` and `Gradient`. The samples come
/// in antithetic pairs, so that terms linear in the perturbation cancel, and are the same at every x
/// (common random numbers). The mean is therefore a function as smooth as its terms, and a quasi-Newton
/// method can minimize it. They are evaluated on rayon's threads; the result has the same bits whatever
/// their number.
///
/// Perturbed variables may be out of bounds: bounds are for x. A sample that cannot be evaluated is
/// an error of the whole.
///
/// ## Reference
///
/// H. J. T. Suh, M. Simchowitz, K. Zhang, R. Tedrake (2022). Do differentiable simulators give
/// better policy gradients? International Conference on Machine Learning, 20668–20696.
///
/// H. J. T. Suh, T. Pang, R. Tedrake (2022). Bundled gradients through contact via randomized
/// smoothing. IEEE Robotics and Automation Letters 7, 4000–4007.
///
/// T. Pang, H. J. T. Suh, L. Yang, R. Tedrake (2023). Global planning for contact-rich manipulation
/// via local smoothing of quasi-dynamic contact models. IEEE Transactions on Robotics 39,
/// 4691–4711.
#[derive(Clone, Debug)]
pub struct RandomizedSmoothing<'a, P> {
    problem: &'a P,
    deviation: f64,
    perturbations: Vec<Vec<f64>>,
}

impl<'a, P: SharedCost> RandomizedSmoothing<'a, P> {
    /// Smooths the cost of so many variables with a standard deviation σ, in the optimizer's
    /// variables, by this many pairs of samples of a seed.
    ///
    /// # Errors
    /// The deviation is not positive and finite, or there are fewer than two pairs (no standard
    /// error could be told).
    pub fn new(
        problem: &'a P,
        variables: usize,
        deviation: f64,
        pairs: usize,
        seed: u64,
    ) -> Result<Self, Error> {
        let deviation = check_setting("smoothing deviation", deviation, f64::MIN_POSITIVE)?;
        if pairs < 2 {
            return Err(Error::msg(format!("smoothing needs at least 2 pairs of samples, found {pairs}")));
        }
        let perturbations = (0..pairs).map(|k| gaussian(seed, k, variables)).collect();
        Ok(Self { problem, deviation, perturbations })
    }

    /// Evaluates both samples of every pair and takes their means.
    fn pair_means<V: Send>(
        &self,
        x: &[f64],
        evaluate: impl Fn(&[f64]) -> Result<V, Error> + Sync,
        mean: impl Fn(V, V) -> V + Sync,
    ) -> Result<Vec<V>, Error> {
        let one = |(k, w): (usize, &Vec<f64>)| {
            let sample = |sign: f64| {
                let moved: Vec<f64> = x.iter().zip(w).map(|(x, w)| x + sign * self.deviation * w).collect();
                evaluate(&moved).map_err(|error| {
                    let side = if sign > 0.0 { '+' } else { '-' };
                    Error::msg(format!("sample {k}{side} of randomized smoothing: {error}"))
                })
            };
            Ok(mean(sample(1.0)?, sample(-1.0)?))
        };
        in_parallel(self.perturbations.iter().enumerate(), one).into_iter().collect()
    }

    /// The smoothed cost and its gradient, with their standard errors.
    ///
    /// # Errors
    /// When a sample cannot be evaluated.
    pub fn evaluate(&self, x: &[f64]) -> Result<SmoothedValue, Error> {
        let means = self.pair_means(
            x,
            |x| self.problem.cost_and_gradient_at(x),
            |(a, mut da), (b, db)| {
                da.iter_mut().zip(db).for_each(|(a, b)| *a = 0.5 * (*a + b));
                (0.5 * (a + b), da)
            },
        )?;
        let (mean, standard_error) = mean_and_error(means.iter().map(|(value, _)| *value));
        let by = |i: usize| mean_and_error(means.iter().map(move |(_, gradient)| gradient[i]));
        let (gradient, gradient_standard_error) = (0..x.len()).map(by).unzip();
        Ok(SmoothedValue { mean, standard_error, gradient, gradient_standard_error })
    }
}

/// The mean of independent numbers and its standard error.
fn mean_and_error(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let n = values.clone().count() as f64;
    let mean = values.clone().sum::<f64>() / n;
    let square = values.map(|v| (v - mean) * (v - mean)).sum::<f64>();
    (mean, (square / (n * (n - 1.0))).sqrt())
}

impl<P: SharedCost> CostFunction for RandomizedSmoothing<'_, P> {
    type Param = Vec<f64>;
    type Output = f64;

    fn cost(&self, x: &Vec<f64>) -> Result<f64, Error> {
        let means = self.pair_means(x, |x| self.problem.cost_at(x), |a, b| 0.5 * (a + b))?;
        Ok(mean_and_error(means.iter().copied()).0)
    }
}

impl<P: SharedCost> Gradient for RandomizedSmoothing<'_, P> {
    type Param = Vec<f64>;
    type Gradient = Vec<f64>;

    fn gradient(&self, x: &Vec<f64>) -> Result<Vec<f64>, Error> {
        Ok(self.evaluate(x)?.gradient)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optimize::lbfgsb::Lbfgsb;
    use argmin::core::{Executor, State};

    /// A plateau up to x = 1, then a valley at 2: Σ min(1, (x − 2)²), and x² y².
    struct Plateau;

    impl SharedCost for Plateau {
        fn cost_at(&self, x: &[f64]) -> Result<f64, Error> {
            Ok(self.cost_and_gradient_at(x)?.0)
        }

        fn cost_and_gradient_at(&self, x: &[f64]) -> Result<(f64, Vec<f64>), Error> {
            if x[0] > 50.0 {
                return Err(Error::msg("too far"));
            }
            let off = x[0] - 2.0;
            let (value, slope) = if off.abs() < 1.0 { (off * off, 2.0 * off) } else { (1.0, 0.0) };
            let product = x[0] * x[1];
            Ok((value + 0.01 * product * product, vec![slope + 0.02 * product * x[1], 0.02 * product * x[0]]))
        }
    }

    #[test]
    fn gradient_is_that_of_the_mean_and_errors_are_its_errors() {
        let smoothed = RandomizedSmoothing::new(&Plateau, 2, 0.6, 4000, 11).unwrap();
        let x = vec![0.7, -0.3];
        let value = smoothed.evaluate(&x).unwrap();
        assert_eq!(value.mean, smoothed.cost(&x).unwrap());
        for i in 0..2 {
            let moved = |h: f64| {
                let mut x = x.clone();
                x[i] += h;
                smoothed.cost(&x).unwrap()
            };
            // The function has kinks, which the mean over samples has as well, small ones.
            let difference = (moved(1e-3) - moved(-1e-3)) / 2e-3;
            assert!((difference - value.gradient[i]).abs() < 1e-3, "{difference} {:?}", value.gradient);
        }
        // Over many seeds the errors are as large as their standard errors say.
        let estimate =
            |seed| RandomizedSmoothing::new(&Plateau, 2, 0.6, 50, seed).unwrap().evaluate(&x).unwrap();
        let (mut cost, mut slope) = (0.0, 0.0);
        for seed in 100..300 {
            let e = estimate(seed);
            cost += ((e.mean - value.mean) / e.standard_error).powi(2) / 200.0;
            slope += ((e.gradient[0] - value.gradient[0]) / e.gradient_standard_error[0]).powi(2) / 200.0;
        }
        assert!((0.7..1.4).contains(&cost) && (0.7..1.4).contains(&slope), "{cost} {slope}");
    }

    #[test]
    fn it_leads_off_a_plateau() {
        let start = vec![0.5, 0.0];
        assert_eq!(Plateau.cost_and_gradient_at(&start).unwrap().1, [0.0, 0.0]);
        let smoothed = RandomizedSmoothing::new(&Plateau, 2, 0.5, 64, 1).unwrap();
        let executor = Executor::new(smoothed, Lbfgsb::new());
        let end = executor.configure(|s| s.param(start).max_iters(50)).run().unwrap().state;
        let x = end.get_best_param().unwrap();
        assert!((x[0] - 2.0).abs() < 0.1 && x[1].abs() < 0.2, "{x:?}");
    }

    #[test]
    fn threads_do_not_change_it_and_failures_are_told() {
        let smoothed = RandomizedSmoothing::new(&Plateau, 2, 0.5, 64, 1).unwrap();
        let with = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| smoothed.evaluate(&[0.9, 0.2]).unwrap())
        };
        assert_eq!(with(1), with(3));
        let failed = smoothed.cost(&vec![50.0, 0.0]).unwrap_err().to_string();
        assert!(failed.contains("of randomized smoothing: too far"), "{failed}");
        assert!(RandomizedSmoothing::new(&Plateau, 2, 0.0, 64, 1).is_err());
        assert!(RandomizedSmoothing::new(&Plateau, 2, 0.1, 1, 1).is_err());
    }
}
