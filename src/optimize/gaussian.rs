//! Random numbers that are the same on every machine and for any number of threads.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};

/// Independent numbers of mean 0 and variance 1, normally distributed: those of a stream of a
/// seed. Streams do not overlap.
///
/// Xoshiro256++ (D. Blackman, S. Vigna, 2021) seeded by SplitMix64, a jump of 2¹²⁸ numbers for
/// each stream; pairs by G. E. P. Box and M. E. Muller (1958).
pub fn gaussian(seed: u64, stream: usize, count: usize) -> Vec<f64> {
    let mut generator = Xoshiro256PlusPlus::seed_from_u64(seed);
    (0..stream).for_each(|_| generator.jump());
    // In (0, 1], with 53 bits.
    let mut uniform = || ((generator.next_u64() >> 11) as f64 + 1.0) * 2.0_f64.powi(-53);
    let mut numbers = Vec::with_capacity(count + 1);
    while numbers.len() < count {
        let radius = (-2.0 * uniform().ln()).sqrt();
        let (sine, cosine) = (std::f64::consts::TAU * uniform()).sin_cos();
        numbers.extend([radius * cosine, radius * sine]);
    }
    numbers.truncate(count);
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_those_of_the_normal_distribution() {
        let n = 100_000;
        let numbers = gaussian(7, 3, n);
        let moment = |k: i32| numbers.iter().map(|x| x.powi(k)).sum::<f64>() / n as f64;
        // Four standard errors of each moment.
        for (k, expected, deviation) in [(1, 0.0, 1.0), (2, 1.0, 2.0), (3, 0.0, 15.0), (4, 3.0, 96.0)] {
            let allowed = 4.0 * f64::sqrt(deviation / n as f64);
            assert!((moment(k) - expected).abs() < allowed, "{k}: {}", moment(k));
        }
    }

    #[test]
    fn a_stream_is_its_own_and_always_the_same() {
        assert_eq!(gaussian(1, 2, 5), gaussian(1, 2, 9)[..5]);
        let n = 10_000;
        let others = [gaussian(1, 1, n), gaussian(2, 0, n)];
        let these = gaussian(1, 0, n);
        for other in &others {
            let correlation = these.iter().zip(other).map(|(a, b)| a * b).sum::<f64>() / n as f64;
            assert!(correlation.abs() < 0.04, "{correlation}");
        }
    }
}
