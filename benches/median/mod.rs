//! The median of what was measured.

/// The median of the samples; there is at least one.
pub fn median(mut x: Vec<f64>) -> f64 {
    x.sort_by(f64::total_cmp);
    x[x.len() / 2]
}
