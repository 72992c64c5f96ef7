//! The evolution strategy CMA-ES: a search without gradients, to compare with. It is the (μ/μ_w, λ)-CMA-ES of N. Hansen,
//! *The CMA evolution strategy: a tutorial* (arXiv:1604.00772, 2016), with that paper's parameters.

use nalgebra::{DMatrix, DVector, SymmetricEigen};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::normal::normal;

/// The state of the strategy.
pub struct CmaEs {
    mean: DVector<f64>,
    sigma: f64,
    covariance: DMatrix<f64>,
    sigma_path: DVector<f64>,
    covariance_path: DVector<f64>,
    weights: Vec<f64>,
    generation: usize,
    random: ChaCha8Rng,
}

impl CmaEs {
    /// From a mean and a standard deviation that is the same for all variables.
    pub fn new(mean: &[f64], sigma: f64, seed: u64) -> Self {
        let n = mean.len();
        // Equation 48, table 1: λ = 4 + ⌊3 ln n⌋, μ = λ/2.
        let lambda = 4 + (3.0 * (n as f64).ln()).floor() as usize;
        let raw: Vec<f64> =
            (1..=lambda / 2).map(|i| (0.5 * (lambda as f64 + 1.0)).ln() - (i as f64).ln()).collect();
        let sum: f64 = raw.iter().sum();
        Self {
            mean: DVector::from_column_slice(mean),
            sigma,
            covariance: DMatrix::identity(n, n),
            sigma_path: DVector::zeros(n),
            covariance_path: DVector::zeros(n),
            weights: raw.iter().map(|w| w / sum).collect(),
            generation: 0,
            random: ChaCha8Rng::seed_from_u64(seed),
        }
    }

    /// Takes a generation: samples, their costs by `evaluate`, and what the strategy learns of them. Returns the best of
    /// them with its cost. Samples that `evaluate` cannot evaluate cost infinity.
    pub fn step(&mut self, evaluate: impl FnOnce(&[Vec<f64>]) -> Vec<f64>) -> (Vec<f64>, f64) {
        let n = self.mean.len();
        let (dimension, lambda) = (n as f64, 4 + (3.0 * (n as f64).ln()).floor() as usize);
        let eigen = SymmetricEigen::new(self.covariance.clone());
        let lengths = eigen.eigenvalues.map(|value| value.max(1e-300).sqrt());
        let steps: Vec<DVector<f64>> = (0..lambda)
            .map(|_| {
                let z = DVector::from_fn(n, |_, _| normal(&mut self.random));
                &eigen.eigenvectors * z.component_mul(&lengths)
            })
            .collect();
        let points: Vec<Vec<f64>> =
            steps.iter().map(|y| (&self.mean + y * self.sigma).as_slice().to_vec()).collect();
        let costs = evaluate(&points);
        let mut order: Vec<usize> = (0..lambda).collect();
        order.sort_by(|&a, &b| costs[a].total_cmp(&costs[b]));
        // Equations 41 to 47 without negative weights.
        let effective = 1.0 / self.weights.iter().map(|w| w * w).sum::<f64>();
        let c_sigma = (effective + 2.0) / (dimension + effective + 5.0);
        let d_sigma = 1.0 + 2.0 * (((effective - 1.0) / (dimension + 1.0)).sqrt() - 1.0).max(0.0) + c_sigma;
        let c_c = (4.0 + effective / dimension) / (dimension + 4.0 + 2.0 * effective / dimension);
        let c_1 = 2.0 / ((dimension + 1.3).powi(2) + effective);
        let c_mu = (2.0 * (effective - 2.0 + 1.0 / effective) / ((dimension + 2.0).powi(2) + effective))
            .min(1.0 - c_1);
        let expected =
            dimension.sqrt() * (1.0 - 1.0 / (4.0 * dimension) + 1.0 / (21.0 * dimension * dimension));
        let mut step = DVector::zeros(n);
        self.weights.iter().zip(&order).for_each(|(&w, &i)| step += &steps[i] * w);
        self.mean += &step * self.sigma;
        let whitened = &eigen.eigenvectors * (eigen.eigenvectors.transpose() * &step).component_div(&lengths);
        self.sigma_path =
            &self.sigma_path * (1.0 - c_sigma) + whitened * (c_sigma * (2.0 - c_sigma) * effective).sqrt();
        self.generation += 1;
        let norm = self.sigma_path.norm();
        let settled = (1.0 - (1.0 - c_sigma).powi(2 * self.generation as i32)).sqrt();
        let is_short = norm / settled < (1.4 + 2.0 / (dimension + 1.0)) * expected;
        self.covariance_path *= 1.0 - c_c;
        if is_short {
            self.covariance_path += step * (c_c * (2.0 - c_c) * effective).sqrt();
        }
        let lost = if is_short { 0.0 } else { c_1 * c_c * (2.0 - c_c) };
        self.covariance *= 1.0 - c_1 - c_mu + lost;
        self.covariance += &self.covariance_path * self.covariance_path.transpose() * c_1;
        for (&w, &i) in self.weights.iter().zip(&order) {
            self.covariance += &steps[i] * steps[i].transpose() * (c_mu * w);
        }
        self.sigma *= (c_sigma / d_sigma * (norm / expected - 1.0)).exp();
        (points[order[0]].clone(), costs[order[0]])
    }
}
