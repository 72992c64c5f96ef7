//! Searches without gradients, to compare with: Nelder–Mead's simplex (argmin's) and the evolution
//! strategy with covariance matrix adaptation.

use std::sync::Mutex;

use argmin::core::{CostFunction, Error, Executor};
use argmin::solver::neldermead::NelderMead;
use isobar::optimize::randomized_smoothing::SharedCost;
use isobar::optimize::trajectory::TrajectoryProblem;
use nalgebra::{DMatrix, DVector, SymmetricEigen};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The problem that all methods solve.
pub type Problem<'a> = TrajectoryProblem<'a>;

/// The lowest cost so far after each rollout.
pub type History = Vec<f64>;

/// The cost at variables that are moved into their bounds, with what that takes added; every
/// evaluation is written down.
struct Recorded<'p, 'a> {
    problem: &'p Problem<'a>,
    history: Mutex<History>,
    budget: usize,
}

impl<'p, 'a> Recorded<'p, 'a> {
    fn new(problem: &'p Problem<'a>, budget: usize) -> Self {
        Self { problem, history: Mutex::new(Vec::new()), budget }
    }

    fn evaluate(&self, x: &[f64]) -> f64 {
        let (lower, upper) = self.problem.bounds();
        let inside: Vec<f64> = x.iter().zip(lower).zip(upper).map(|((x, l), u)| x.clamp(*l, *u)).collect();
        let outside: f64 = x.iter().zip(&inside).map(|(a, b)| (a - b).powi(2)).sum();
        // A motion that cannot be simulated is as bad as can be.
        let cost = self.problem.cost_at(&inside).unwrap_or(f64::INFINITY);
        let mut history = self.history.lock().expect("no evaluation panics");
        let best = history.last().copied().unwrap_or(f64::INFINITY).min(cost);
        history.push(best);
        cost + outside
    }

    fn spent(&self) -> bool {
        self.history.lock().expect("no evaluation panics").len() >= self.budget
    }

    fn finished(self) -> History {
        let mut history = self.history.into_inner().expect("no evaluation panics");
        history.truncate(self.budget);
        history
    }
}

impl CostFunction for &Recorded<'_, '_> {
    type Param = Vec<f64>;
    type Output = f64;

    fn cost(&self, x: &Vec<f64>) -> Result<f64, Error> {
        if self.spent() { Ok(f64::INFINITY) } else { Ok(self.evaluate(x)) }
    }
}

/// Nelder–Mead from a start, with a first simplex of edges `size`.
pub fn nelder_mead(problem: &Problem, start: &[f64], size: f64, budget: usize) -> Result<History, Error> {
    let recorded = Recorded::new(problem, budget);
    let simplex = (0..=start.len()).map(|i| {
        let mut vertex = start.to_vec();
        if i > 0 {
            vertex[i - 1] += size;
        }
        vertex
    });
    let solver = NelderMead::new(simplex.collect()).with_sd_tolerance(0.0)?;
    let limit = 2 * budget as u64;
    // It ends when the budget is spent: all further costs are infinite.
    Executor::new(&recorded, solver).configure(|s| s.max_iters(limit)).run().ok();
    Ok(recorded.finished())
}

/// CMA-ES from a start with standard deviations `size` (Hansen 2016, *The CMA Evolution Strategy: A
/// Tutorial*, arXiv 1604.00772, with its default parameters).
pub fn evolution_strategy(problem: &Problem, start: &[f64], size: f64, budget: usize, seed: u64) -> History {
    let recorded = Recorded::new(problem, budget);
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let n = start.len();
    let nf = n as f64;
    let offspring = 4 + (3.0 * nf.ln()) as usize;
    let parents = offspring / 2;
    let mut weights: Vec<f64> =
        (0..parents).map(|i| (0.5 * (offspring as f64 + 1.0)).ln() - (i as f64 + 1.0).ln()).collect();
    let sum: f64 = weights.iter().sum();
    weights.iter_mut().for_each(|w| *w /= sum);
    let mass = 1.0 / weights.iter().map(|w| w * w).sum::<f64>();
    let c_sigma = (mass + 2.0) / (nf + mass + 5.0);
    let damping = 1.0 + 2.0 * (((mass - 1.0) / (nf + 1.0)).sqrt() - 1.0).max(0.0) + c_sigma;
    let c_path = (4.0 + mass / nf) / (nf + 4.0 + 2.0 * mass / nf);
    let c_one = 2.0 / ((nf + 1.3).powi(2) + mass);
    let c_mu = (1.0 - c_one).min(2.0 * (mass - 2.0 + 1.0 / mass) / ((nf + 2.0).powi(2) + mass));
    let expected = nf.sqrt() * (1.0 - 1.0 / (4.0 * nf) + 1.0 / (21.0 * nf * nf));
    let mut mean = DVector::from_column_slice(start);
    let mut sigma = size;
    let mut covariance = DMatrix::<f64>::identity(n, n);
    let (mut path, mut path_sigma) = (DVector::zeros(n), DVector::zeros(n));
    let mut generation = 0;
    while !recorded.spent() {
        generation += 1;
        let eigen = SymmetricEigen::new(covariance.clone());
        let roots = eigen.eigenvalues.map(|v| v.max(1e-20).sqrt());
        let turn = &eigen.eigenvectors;
        let mut samples: Vec<(f64, DVector<f64>)> = (0..offspring)
            .map(|_| {
                let z = DVector::from_fn(n, |_, _| normal(&mut rng));
                let y = turn * z.component_mul(&roots);
                (recorded.evaluate((&mean + &y * sigma).as_slice()), y)
            })
            .collect();
        samples.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut step = DVector::zeros(n);
        for (w, (_, y)) in weights.iter().zip(&samples) {
            step += y * *w;
        }
        mean += &step * sigma;
        let whitened = turn * (turn.transpose() * &step).component_div(&roots);
        path_sigma = path_sigma * (1.0 - c_sigma) + whitened * (c_sigma * (2.0 - c_sigma) * mass).sqrt();
        let length: f64 = path_sigma.norm();
        let decay = (1.0 - (1.0 - c_sigma).powi(2 * generation)).sqrt();
        let moving = f64::from(u8::from(length / decay < (1.4 + 2.0 / (nf + 1.0)) * expected));
        path = path * (1.0 - c_path) + &step * (moving * (c_path * (2.0 - c_path) * mass).sqrt());
        let kept = 1.0 - c_one - c_mu + (1.0 - moving) * c_one * c_path * (2.0 - c_path);
        covariance = covariance * kept + &path * path.transpose() * c_one;
        for (w, (_, y)) in weights.iter().zip(&samples) {
            covariance += y * y.transpose() * (c_mu * w);
        }
        sigma *= ((c_sigma / damping) * (length / expected - 1.0)).exp();
    }
    recorded.finished()
}

/// A normally distributed number (Box and Muller).
fn normal(rng: &mut ChaCha8Rng) -> f64 {
    let (a, b): (f64, f64) = (1.0 - rng.random::<f64>(), rng.random());
    (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
}
