//! How far values at equal distances are from those of a smooth function.

/// Noise is at most this many times its estimate from so few values.
pub(super) const NOISE_RESERVE: f64 = 4.0;
/// Estimates of the same noise by differences of several orders are alike within this factor.
const SAME_NOISE: f64 = 4.0;

/// The standard deviation of noise on values at equal distances, from their differences of the
/// second to the fourth order, in which a smooth function leaves less and less (Hamming's table;
/// Moré and Wild, Estimating computational noise, 2011). Noise leaves the same in all: a lower order
/// that leaves much more than the least has seen curvature.
pub(super) fn noise_of(values: &[f64]) -> f64 {
    let mut table = values.to_vec();
    let mut binomial = 1.0;
    let mut estimates = Vec::new();
    for order in 1..=4 {
        table = table.windows(2).map(|w| w[1] - w[0]).collect();
        binomial *= 2.0 * (2.0 * f64::from(order) - 1.0) / f64::from(order);
        if order >= 2 && !table.is_empty() {
            let square = table.iter().map(|d| d * d).sum::<f64>() / table.len() as f64;
            estimates.push((square / binomial).sqrt());
        }
    }
    let least = estimates.iter().copied().fold(f64::INFINITY, f64::min);
    let alike = estimates.iter().filter(|&&estimate| estimate <= SAME_NOISE * least);
    alike.copied().fold(0.0, f64::max)
}
