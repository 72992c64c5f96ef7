//! Errors of sensors that are the same whenever, and on whatever thread, they are asked for.

/// Normally distributed errors of what a controller observes. Each is made from the seed, the number of the step
/// and the number's place alone, so that a motion has the same errors in every scalar, in every pass over it, and
/// on any number of threads.
#[derive(Clone, Debug, PartialEq)]
pub struct SensorNoise {
    /// Seed.
    pub seed: u64,
    /// The standard deviation of each observed number, in its unit.
    pub deviations: Vec<f64>,
}

impl SensorNoise {
    /// The error of an observed number at a step.
    pub fn error(&self, step: usize, place: usize) -> f64 {
        match self.deviations.get(place) {
            Some(&deviation) if deviation > 0.0 => deviation * normal(self.seed, step as u64, place as u64),
            _ => 0.0,
        }
    }

    /// The same errors from a seed that differs for every `stream`.
    #[must_use]
    pub fn of_stream(&self, stream: u64) -> Self {
        Self { seed: mixed(self.seed ^ mixed(stream.wrapping_add(1))), deviations: self.deviations.clone() }
    }
}

/// The finalizer of SplitMix64 (G. L. Steele, D. Lea, C. H. Flood, *Fast splittable pseudorandom number
/// generators*, OOPSLA 2014) after a step of its counter: neighbouring numbers give unrelated ones.
pub(crate) fn mixed(x: u64) -> u64 {
    let mut z = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A number of mean 0 and variance 1, normally distributed (G. E. P. Box and M. E. Muller, 1958).
fn normal(seed: u64, step: u64, place: u64) -> f64 {
    let base = mixed(mixed(mixed(seed) ^ step) ^ place);
    // In (0, 1], with 53 bits.
    let uniform = |x: u64| ((x >> 11) as f64 + 1.0) * 2.0_f64.powi(-53);
    let radius = (-2.0 * uniform(mixed(base)).ln()).sqrt();
    radius * (std::f64::consts::TAU * uniform(mixed(base ^ 0x5851_f42d_4c95_7f2d))).cos()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_normal_and_independent_of_neighbours() {
        let noise = SensorNoise { seed: 5, deviations: vec![1.0, 1.0] };
        let n = 40_000;
        let numbers: Vec<[f64; 2]> = (0..n).map(|k| [0, 1].map(|place| noise.error(k, place))).collect();
        let mean = |f: &dyn Fn(usize) -> f64| (0..n - 1).map(f).sum::<f64>() / (n - 1) as f64;
        let bound = 4.0 / f64::from(n as u32).sqrt();
        assert!(mean(&|k| numbers[k][0]).abs() < bound);
        assert!((mean(&|k| numbers[k][0].powi(2)) - 1.0).abs() < bound * 2f64.sqrt());
        assert!((mean(&|k| numbers[k][0].powi(4)) - 3.0).abs() < bound * 96f64.sqrt());
        // Neither the next step nor the next sensor nor the next stream is alike.
        let other = noise.of_stream(1);
        assert!(mean(&|k| numbers[k][0] * numbers[k + 1][0]).abs() < bound);
        assert!(mean(&|k| numbers[k][0] * numbers[k][1]).abs() < bound);
        assert!(mean(&|k| numbers[k][0] * other.error(k, 0)).abs() < bound);
        assert_eq!(noise.error(7, 1), numbers[7][1]);
        assert_eq!(noise.error(7, 2), 0.0);
    }
}
