//! The limit of differences as their step goes to zero, with an error that is honest.

/// What a sequence of differences tends to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Limit {
    pub value: f64,
    /// Its error, estimated from its change with the step and from rounding.
    pub error: f64,
    /// The place of the step that it was taken at.
    pub level: usize,
}

/// Differences that are this many times their errors apart are not of the same derivative.
const DISAGREEMENT: f64 = 2.0;
/// Differences whose rounding is up to this many times the error of a limit tell of its error: rounding is estimated with
/// a reserve.
const HARDLY: f64 = 4.0;

/// The limit of `differences`, largest step first, whose rounding is known. Errors of the differences
/// and of each extrapolation of them in turn fall by the next of `factors` from step to step.
///
/// Of all differences and extrapolations it is the one with the least error that agrees with those at
/// smaller steps, as far as these round: where a function levels off at a distance its differences there
/// change little, but do not tend to its derivative. The last extrapolation but one is what it has to
/// agree with, whose error but for rounding is of second order at least. Its error is no less than how far it is from
/// those of these that hardly round more.
pub(super) fn limit(differences: Vec<f64>, rounding: &[f64], factors: &[f64]) -> Limit {
    let n = differences.len();
    let mut sequences = vec![differences];
    for factor in factors {
        let last = &sequences[sequences.len() - 1];
        let next = last.windows(2).map(|w| (factor * w[1] - w[0]) / (factor - 1.0)).collect();
        sequences.push(next);
    }
    let guard = factors.len().saturating_sub(1);
    let mut best = Limit { value: f64::NAN, error: f64::INFINITY, level: n.saturating_sub(1) };
    let mut finer: Vec<(f64, f64)> = Vec::with_capacity(n);
    for level in (1..n.saturating_sub(1)).rev() {
        // The extrapolations whose last difference is at this step, and their neighbours, are there.
        let known = sequences.iter().enumerate().filter(|(order, _)| level > *order);
        for (order, sequence) in known {
            let at = level - order;
            let value = sequence[at];
            let change = (value - sequence[at - 1]).abs().max((value - sequence[at + 1]).abs());
            let error = change + rounding[level];
            let agrees = finer.iter().all(|(v, e)| (value - v).abs() <= DISAGREEMENT * (error + e));
            // The second derivative may jump at a distance, and what is extrapolated from outside is not the limit.
            let as_good = finer.iter().filter(|(_, e)| *e <= HARDLY * error);
            let error = as_good.fold(error, |error, (v, _)| error.max((value - v).abs()));
            if error < best.error && agrees {
                best = Limit { value, error, level };
            }
        }
        if level > guard {
            finer.push((sequences[guard][level - guard], rounding[level]));
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_derivative_that_jumps_at_a_distance_is_in_the_error() {
        // Of the cost of a plate that bubbles lift, at its optimum: something happens between 10⁻⁴ and 3·10⁻⁵, and until
        // there differences fall as those of a smooth function.
        let differences = vec![
            -8.2126601e-5,
            -6.7996983e-6,
            5.1753372e-7,
            1.2471243e-6,
            1.3200485e-6,
            1.3274262e-6,
            1.3282460e-6,
            1.3287539e-6,
            1.3289000e-6,
            1.3284589e-6,
            1.3295419e-6,
            1.3268925e-6,
            1.3261472e-6,
            1.3431189e-6,
            1.3301326e-6,
        ];
        let (ratio, exact) = (10f64.sqrt(), 1.3288112e-6);
        let rounding: Vec<f64> = (0..15).map(|k| 7.7e-15 / (9.75e-2 / ratio.powi(k))).collect();
        let found = limit(differences, &rounding, &[ratio * ratio]);
        assert!((found.value - exact).abs() <= 2.0 * found.error, "{found:?}");
    }

    #[test]
    fn limits_are_within_their_errors_and_far_better_than_the_best_difference() {
        let ratio = 10f64.sqrt();
        let steps: Vec<f64> = (0..15).map(|k| 1e-2 / ratio.powi(k)).collect();
        let rounding: Vec<f64> = steps.iter().map(|h| 4.0 * f64::EPSILON / h).collect();
        for k in 0..100 {
            let x = 0.1 + 0.03 * f64::from(k);
            let f = |y: f64| (2.0 * y).sin() + 0.5 * y * y;
            let exact = 2.0 * (2.0 * x).cos() + x;
            let right = steps.iter().map(|h| (f(x + h) - f(x)) / h).collect();
            let found = limit(right, &rounding, &[ratio, ratio * ratio]);
            assert!((found.value - exact).abs() <= found.error, "{x}: {found:?} {exact}");
            assert!(found.error < 1e-8, "{x}: {found:?}");
            let central = steps.iter().map(|h| (f(x + h) - f(x - h)) / (2.0 * h)).collect();
            let found = limit(central, &rounding, &[ratio * ratio]);
            assert!((found.value - exact).abs() <= found.error && found.error < 1e-9, "{x}: {found:?}");
        }
    }
}
