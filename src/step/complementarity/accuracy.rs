//! How closely equations are solved, and how far two solutions are from each other.

use super::data::StepData;

/// Changes of velocities at which an iteration of linear problems ends, in parts of the scale.
pub(super) const LEAST_CHANGE: f64 = 1e-13;
/// Changes at which it has come to rounding where it does not get smaller.
pub(super) const ROUNDING: f64 = 1e-10;

/// How far velocities are from each other, in parts of the scale.
pub(super) fn difference(data: &StepData, a: &[f64], b: &[f64]) -> f64 {
    let unit = |k: usize| if data.is_turn(k) { data.scales.length } else { 1.0 };
    let parts = a.iter().zip(b).enumerate().map(|(k, (a, b))| (a - b).abs() * unit(k) / data.scales.velocity);
    parts.fold(0.0, |most, x| if x > most || x.is_nan() { x } else { most })
}
