//! Samples that are farther off than noise is, and the loss that takes them for what they are.

use serde::Serialize;

use super::LossKind;

/// Heavy tails of residuals: a few samples, one by one, are far off.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outliers {
    /// What was sampled.
    pub quantity: String,
    /// How many samples are farther off than one in ten thousand is of normal noise.
    pub count: usize,
    /// Of so many.
    pub samples: usize,
    /// The value to write for `outlier_limit`: one in a hundred samples of the noise that the others have is beyond it.
    pub outlier_limit: f64,
    /// The value to write for `outlier_loss`.
    pub outlier_loss: LossKind,
}

/// Quantiles of the normal distribution: one in a hundred, one in ten thousand.
const ONE_IN_100: f64 = 2.326;
const ONE_IN_10_000: f64 = 3.719;
/// Fewest outliers, and their smallest part, that are worth a loss.
const FEWEST: usize = 3;
const SMALLEST_PART: f64 = 5e-3;
/// A part of them, at least, lies between samples that are as noise is: otherwise the model is wrong for a while, not the samples.
const ISOLATED: f64 = 0.5;
/// Outliers farther off than so many limits are not measurements at all.
const GROSS: f64 = 3.0;

/// A quantile of the χ² distribution (E. B. Wilson, M. M. Hilferty, *The distribution of chi-square*, 1931), from that of
/// the normal distribution.
fn chi_squared(dimension: usize, normal: f64) -> f64 {
    let per = 2.0 / (9.0 * dimension as f64);
    dimension as f64 * (1.0 - per + normal * per.sqrt()).powi(3)
}

/// The median of numbers; 0 of none.
fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or(0.0)
}

/// The outliers among samples, given in the order of time by the squared lengths of their residuals, each of so many
/// numbers; `None` if there are few or they come together.
pub(super) fn outliers(quantity: &str, squares: &[f64], dimension: usize) -> Option<Outliers> {
    let scale = median(squares.to_vec()) / chi_squared(dimension, 0.0);
    if !(scale > 0.0 && scale.is_finite()) {
        return None;
    }
    let farthest = scale * chi_squared(dimension, ONE_IN_10_000);
    let is_off = |k: usize| squares.get(k).is_some_and(|square| *square > farthest);
    let off: Vec<usize> = (0..squares.len()).filter(|&k| is_off(k)).collect();
    let usual = scale * chi_squared(dimension, ONE_IN_100);
    let is_usual = |k: usize| squares.get(k).is_none_or(|square| *square < usual);
    let isolated = off.iter().filter(|&&k| is_usual(k + 1) && (k == 0 || is_usual(k - 1))).count();
    if off.len() < FEWEST.max((SMALLEST_PART * squares.len() as f64).ceil() as usize)
        || (isolated as f64) < ISOLATED * off.len() as f64
    {
        return None;
    }
    let limit = (scale * chi_squared(dimension, ONE_IN_100)).sqrt();
    let typical = median(off.iter().map(|&k| squares[k].sqrt()).collect());
    Some(Outliers {
        quantity: quantity.to_owned(),
        count: off.len(),
        samples: squares.len(),
        outlier_limit: two_digits(limit),
        outlier_loss: if typical > GROSS * limit { LossKind::Cauchy } else { LossKind::Huber },
    })
}

/// The rows of a table of forces that are far off the others, and the `outlier_limit` that is to be written. Whatever the modulus is
/// that was found with them, forces are in proportion to it: of the others the ratio to the predictions is the median, in which rows
/// count by how well they know it.
pub(super) fn far_rows(measured: &[f64], predicted: &[f64], sigmas: &[f64]) -> Option<(Vec<usize>, f64)> {
    let rows = measured.iter().zip(predicted).zip(sigmas);
    let pressed = rows.filter(|((_, predicted), _)| **predicted != 0.0);
    let mut ratios: Vec<(f64, f64)> = pressed.map(|((m, p), sigma)| (m / p, p.abs() / sigma)).collect();
    ratios.sort_by(|a, b| a.0.total_cmp(&b.0));
    let half = 0.5 * ratios.iter().map(|(_, weight)| weight).sum::<f64>();
    let mut below = 0.0;
    let (ratio, _) = ratios.into_iter().find(|(_, weight)| {
        below += weight;
        below >= half
    })?;
    let rows = measured.iter().zip(predicted).zip(sigmas);
    let squares: Vec<f64> = rows.map(|((m, p), sigma)| ((m - ratio * p) / sigma).powi(2)).collect();
    // Noise may be less than was said, but no less than a part of it.
    let scale = (median(squares.clone()) / chi_squared(1, 0.0)).max(1.0);
    let farthest = scale * chi_squared(1, ONE_IN_10_000);
    let off: Vec<usize> = (0..squares.len()).filter(|&k| squares[k] > farthest).collect();
    let limit = two_digits((scale * chi_squared(1, ONE_IN_100)).sqrt());
    (!off.is_empty() && 3 * off.len() <= squares.len()).then_some((off, limit))
}

/// A positive number to two digits.
fn two_digits(x: f64) -> f64 {
    let digits = 1 - x.log10().floor() as i32;
    // Divided by a whole number, so that it is printed with no more digits.
    match digits > 0 {
        true => (x * 10f64.powi(digits)).round() / 10f64.powi(digits),
        false => (x / 10f64.powi(-digits)).round() * 10f64.powi(-digits),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optimize::gaussian::gaussian;

    fn squares(noise: &[f64], dimension: usize) -> Vec<f64> {
        noise.chunks(dimension).map(|sample| sample.iter().map(|r| r * r).sum()).collect()
    }

    #[test]
    fn noise_has_none_whatever_its_size() {
        for (run, dimension) in [(0, 1), (1, 3), (2, 12)] {
            let noise: Vec<f64> = gaussian(11, run, 400 * dimension).into_iter().map(|x| 5.0 * x).collect();
            assert_eq!(outliers("x", &squares(&noise, dimension), dimension), None);
        }
        assert_eq!(outliers("x", &[], 3), None);
        assert_eq!(outliers("x", &[0.0; 20], 3), None);
    }

    #[test]
    fn samples_that_are_wrong_one_by_one_are_found_with_their_loss() {
        let noise = gaussian(12, 0, 600);
        let with = |size: f64, together: bool| {
            let mut noise = noise.clone();
            for k in 0..10 {
                let sample = if together { 80 + k } else { 20 * k };
                noise[3 * sample] += size;
            }
            outliers("x", &squares(&noise, 3), 3)
        };
        let found = with(40.0, false).expect("one in twenty is far off");
        assert_eq!((found.count, found.samples, found.outlier_loss), (10, 200, LossKind::Cauchy));
        // √11.3, the length that one in a hundred samples of three numbers exceeds.
        assert!((found.outlier_limit - 3.4).abs() < 0.25, "{found:?}");
        assert_eq!(with(7.0, false).expect("off").outlier_loss, LossKind::Huber);
        // A motion that the model does not explain for a while is none of the samples' fault.
        assert_eq!(with(40.0, true), None);
    }

    #[test]
    fn rows_of_forces_that_are_far_off_are_found_beside_a_wrong_modulus() {
        let predicted: Vec<f64> = (1..=10).map(|k| 0.4 * f64::from(k * k)).collect();
        let noise = gaussian(13, 0, 10);
        let mut measured: Vec<f64> = predicted.iter().zip(&noise).map(|(p, x)| 0.6 * p + 0.1 * x).collect();
        let found = |measured: &[f64]| far_rows(measured, &predicted, &[0.1; 10]);
        assert_eq!(found(&measured), None);
        (measured[4], measured[7]) = (0.0, 90.0);
        let (rows, limit) = found(&measured).expect("two rows");
        assert_eq!(rows, [4, 7]);
        assert!((1.0..8.0).contains(&limit), "{limit}");
    }

    #[test]
    fn numbers_are_rounded_to_two_digits() {
        for (x, rounded) in [(3.364, 3.4), (0.03364, 0.034), (33.64, 34.0), (996.0, 1000.0)] {
            assert_eq!(two_digits(x), rounded);
        }
    }
}
