//! How sure a rate of successes is.

use serde::{Deserialize, Serialize};

/// Successes among independent trials, and an interval for their rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SuccessRate {
    /// Successes.
    pub successes: usize,
    /// Trials.
    pub trials: usize,
    /// Lower end of the interval of 95 %.
    pub lower: f64,
    /// Upper end of it.
    pub upper: f64,
}

/// The rate of successes with the interval of E. B. Wilson (*Probable inference, the law of succession, and statistical
/// inference*, Journal of the American Statistical Association 22, 1927), which has sense also where all or none
/// succeed.
pub fn success_rate(successes: usize, trials: usize) -> SuccessRate {
    // The quantile of the normal distribution for 95 %.
    const Z: f64 = 1.959_963_984_540_054;
    if trials == 0 {
        return SuccessRate { successes, trials, lower: 0.0, upper: 1.0 };
    }
    let n = trials as f64;
    let rate = successes as f64 / n;
    let middle = rate + Z * Z / (2.0 * n);
    let half = Z * (rate * (1.0 - rate) / n + Z * Z / (4.0 * n * n)).sqrt();
    let scale = 1.0 + Z * Z / n;
    let (lower, upper) = (((middle - half) / scale).max(0.0), ((middle + half) / scale).min(1.0));
    SuccessRate { successes, trials, lower, upper }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_that_of_the_book() {
        // R. G. Newcombe, Statistics in Medicine 17 (1998), table I, method 3.
        for (successes, trials, lower, upper) in [
            (81, 263, 0.2553, 0.3662),
            (15, 148, 0.0624, 0.1605),
            (0, 20, 0.0, 0.1611),
            (1, 29, 0.0061, 0.1718),
        ] {
            let found = success_rate(successes, trials);
            assert!((found.lower - lower).abs() < 5e-5 && (found.upper - upper).abs() < 5e-5, "{found:?}");
        }
        let all = success_rate(20, 20);
        assert!((all.lower - (1.0 - 0.1611)).abs() < 5e-5 && all.upper == 1.0);
    }
}
