//! Noise from a seeded generator.

use std::f64::consts::TAU;

use rand::Rng;
use rand_chacha::ChaCha8Rng;

/// A normally distributed number with standard deviation 1 (Box and Muller, 1958).
pub fn normal(random: &mut ChaCha8Rng) -> f64 {
    let (u, v): (f64, f64) = (random.random(), random.random());
    (-2.0 * (1.0 - u).ln()).sqrt() * (TAU * v).cos()
}
