//! Whether residuals are noise without a memory.

use serde::Serialize;

/// A test of residuals for correlation in time, by G. M. Ljung, G. E. P. Box, *On a measure of lack of fit in time series
/// models*, Biometrika 65, 1978: Q = n(n + 2) Σ ρ_k²/(n − k) over the lags k, which is χ²-distributed of noise that is
/// white. The autocorrelations ρ_k are those about zero, so that a constant error counts too.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Whiteness {
    /// Q, summed over the components.
    pub statistic: f64,
    /// Its degrees of freedom: lags times components.
    pub degrees_of_freedom: usize,
    /// The probability of so large a Q if the residuals are white.
    pub p_value: f64,
    /// The mean autocorrelation of neighbours, ρ_1.
    pub neighbours: f64,
    /// The largest long-run variance of a component, its mean square times 1 + 2 Σ ρ_k over the lags before the first ρ_k that is
    /// not positive: what the variance of a mean is in proportion to.
    pub long_run_variance: f64,
}

const MOST_LAGS: usize = 10;
/// Those that long-run variances are summed over, at most.
const LAGS_OF_VARIANCE: usize = 1000;
/// Residuals for each lag, at least.
const RESIDUALS_PER_LAG: usize = 4;

/// The test of the components of a quantity, each a series in time, equally long; `None` of fewer than eight residuals or
/// of residuals that are all zero.
pub(super) fn ljung_box(components: &[Vec<f64>]) -> Option<Whiteness> {
    let n = components.iter().map(Vec::len).min()?;
    // An even number, so that the distribution has a closed form.
    let lags = (n / RESIDUALS_PER_LAG).min(MOST_LAGS) / 2 * 2;
    if lags == 0 {
        return None;
    }
    let (mut statistic, mut neighbours, mut count, mut long_run_variance) = (0.0, 0.0, 0, 0.0);
    for series in components {
        let square: f64 = series.iter().map(|r| r * r).sum();
        if !(square > 0.0 && square.is_finite()) {
            continue;
        }
        let correlation =
            |lag: usize| series.iter().zip(&series[lag..]).map(|(a, b)| a * b).sum::<f64>() / square;
        let length = n as f64;
        statistic += (1..=lags).map(|k| correlation(k).powi(2) / (n - k) as f64).sum::<f64>()
            * length
            * (length + 2.0);
        neighbours += correlation(1);
        let lags = 1..n.min(LAGS_OF_VARIANCE);
        let positive: f64 = lags.map(correlation).take_while(|correlation| *correlation > 0.0).sum();
        long_run_variance = f64::max(long_run_variance, square / length * (1.0 + 2.0 * positive));
        count += 1;
    }
    if count == 0 {
        return None;
    }
    let degrees_of_freedom = lags * count;
    Some(Whiteness {
        statistic,
        degrees_of_freedom,
        p_value: chi_squared_tail(statistic, degrees_of_freedom),
        neighbours: neighbours / count as f64,
        long_run_variance,
    })
}

/// The probability that a χ²-distributed number with an even number of degrees of freedom is larger than x:
/// e^(−x/2) Σ (x/2)^k/k! over k below half of them.
fn chi_squared_tail(x: f64, degrees_of_freedom: usize) -> f64 {
    let half = 0.5 * x;
    let (mut term, mut sum) = ((-half).exp(), 0.0);
    for k in 0..degrees_of_freedom / 2 {
        sum += term;
        term *= half / (k + 1) as f64;
    }
    sum.min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optimize::gaussian::gaussian;

    #[test]
    fn tails_are_those_of_tables() {
        // M. Abramowitz, I. A. Stegun, table 26.8: χ² of 5 % and 1 %.
        for (degrees, x, p) in
            [(2, 5.99146, 0.05), (10, 18.3070, 0.05), (30, 50.8922, 0.01), (10, 23.2093, 0.01)]
        {
            assert!((chi_squared_tail(x, degrees) / p - 1.0).abs() < 1e-4, "{degrees}");
        }
        assert_eq!(chi_squared_tail(0.0, 4), 1.0);
        assert_eq!(chi_squared_tail(1e5, 30), 0.0);
    }

    #[test]
    fn white_noise_is_rejected_as_often_as_the_level_says() {
        let runs = 2000;
        let rejected = (0..runs).filter(|&run| {
            let noise = gaussian(3, run, 180);
            let components: Vec<Vec<f64>> = noise.chunks(60).map(<[f64]>::to_vec).collect();
            ljung_box(&components).is_some_and(|white| white.p_value < 0.05)
        });
        let part = rejected.count() as f64 / f64::from(u16::try_from(runs).unwrap());
        // Four standard errors of 0.5 %, and the statistic is χ²-distributed for many residuals only.
        assert!((part - 0.05).abs() < 0.03, "{part}");
    }

    #[test]
    fn the_long_run_variance_is_that_of_the_process() {
        // That of x_k = ρ x_{k−1} + noise is 1/(1 − ρ)².
        for (rho, expected) in [(0.0, 1.0), (0.5, 4.0), (0.9, 100.0)] {
            let noise = gaussian(5, 2, 20_000);
            let mut last = 0.0;
            let mut next = |x: &f64| {
                last = rho * last + x;
                last
            };
            let process = noise.iter().map(&mut next).collect();
            let found = ljung_box(&[process]).unwrap().long_run_variance;
            assert!((found / expected - 1.0_f64).abs() < 0.2, "{rho}: {found}");
        }
    }

    #[test]
    fn a_slow_error_and_a_constant_one_are_seen() {
        let noise = gaussian(7, 1, 100);
        let slow = noise.iter().enumerate().map(|(k, x)| x + (k as f64 / 15.0).sin()).collect();
        assert!(ljung_box(&[slow]).unwrap().p_value < 1e-4);
        let shifted = noise.iter().map(|x| x + 0.7).collect();
        let white = ljung_box(&[shifted]).unwrap();
        assert!(white.p_value < 1e-4 && white.neighbours > 0.1, "{white:?}");
        assert!(ljung_box(&[noise]).unwrap().p_value > 0.01);
        assert_eq!(ljung_box(&[vec![1.0; 7]]), None);
        assert_eq!(ljung_box(&[vec![0.0; 50]]), None);
        assert_eq!(ljung_box(&[]), None);
    }
}
