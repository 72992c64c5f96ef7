//! Starts of an optimization that may end in different minima.

use super::gaussian::gaussian;

/// This many starts: the given one, and others at normally distributed distances from it, with a
/// standard deviation for each variable, moved into the bounds where they leave them.
///
/// Start k is the same for any number of starts: it takes the random numbers of stream k of the
/// seed.
///
/// # Panics
/// When the lists differ in length.
pub fn scattered_starts(
    start: &[f64],
    deviations: &[f64],
    bounds: (&[f64], &[f64]),
    count: usize,
    seed: u64,
) -> Vec<Vec<f64>> {
    let n = start.len();
    assert!([deviations.len(), bounds.0.len(), bounds.1.len()] == [n; 3], "one number for each variable");
    let one = |k: usize| {
        let random = if k == 0 { vec![0.0; n] } else { gaussian(seed, k, n) };
        (0..n).map(|i| (start[i] + deviations[i] * random[i]).max(bounds.0[i]).min(bounds.1[i])).collect()
    };
    (0..count).map(one).collect()
}

/// The index of the lowest cost among those that there are.
pub fn lowest(costs: impl IntoIterator<Item = Option<f64>>) -> Option<usize> {
    let known = costs.into_iter().enumerate().filter_map(|(i, cost)| Some((i, cost?)));
    known.filter(|(_, cost)| !cost.is_nan()).min_by(|a, b| a.1.total_cmp(&b.1)).map(|(i, _)| i)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_are_reproducible_within_bounds_and_different() {
        let (lower, upper) = ([-0.5, f64::NEG_INFINITY], [0.5, f64::INFINITY]);
        let starts = |count| scattered_starts(&[0.2, 3.0], &[1.0, 0.1], (&lower, &upper), count, 5);
        let many = starts(8);
        assert_eq!(many[0], [0.2, 3.0]);
        assert_eq!(many[..3], starts(3));
        assert!(many.iter().all(|x| x[0].abs() <= 0.5));
        assert!((1..8).all(|k| many[k] != many[k - 1]));
        assert!(many.iter().any(|x| x[0].abs() == 0.5));
    }

    #[test]
    fn failed_starts_do_not_win() {
        assert_eq!(lowest([None, Some(2.0), Some(f64::NAN), Some(1.0)]), Some(3));
        assert_eq!(lowest([None]), None);
    }
}
