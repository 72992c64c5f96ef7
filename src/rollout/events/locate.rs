//! Locating a change within a span of time.

/// Most evaluations of a function whose zero is looked for: bisection takes fewer.
const MOST: usize = 200;

/// Two numbers one after the other, of which a quantity is what it was at the first and has changed at the second.
pub(super) type Bracket = [f64; 2];

/// Halves a bracket until it is no longer than `width`. `has_changed` tells whether the quantity has changed there.
pub(super) fn narrowed<E>(
    [mut before, mut after]: Bracket,
    width: f64,
    mut has_changed: impl FnMut(f64) -> Result<bool, E>,
) -> Result<Bracket, E> {
    while after - before > width {
        let middle = before + 0.5 * (after - before);
        if middle <= before || middle >= after {
            break;
        }
        if has_changed(middle)? {
            after = middle;
        } else {
            before = middle;
        }
    }
    Ok([before, after])
}

/// The zero of a function between two points at which it has these values, of unlike signs, no farther than
/// twice `tolerance` from where its sign changes: by secants with the weights of Anderson and Björck, and by bisection where
/// these do not shrink the bracket.
pub(super) fn zero<E>(
    [mut a, mut b]: Bracket,
    [mut of_a, mut of_b]: [f64; 2],
    tolerance: f64,
    mut function: impl FnMut(f64) -> Result<f64, E>,
) -> Result<f64, E> {
    if of_a == 0.0 {
        return Ok(a);
    }
    let (mut stalled, mut last_length) = (0, f64::INFINITY);
    for _ in 0..MOST {
        // `b` is the newest point; the value at `a` is weighted while that end stays.
        let length = (b - a).abs();
        let secant = if of_b == 0.0 { b } else { b - of_b * (b - a) / (of_b - of_a) };
        if of_b == 0.0 || length <= 2.0 * tolerance {
            return Ok(secant.clamp(a.min(b), a.max(b)));
        }
        stalled = if length > 0.5 * last_length { stalled + 1 } else { 0 };
        last_length = length;
        let is_inside = secant >= a.min(b) && secant <= a.max(b);
        let mut next = if is_inside && stalled < 3 { secant } else { 0.5 * (a + b) };
        if (next - b).abs() < tolerance {
            // The secant has converged: the sign is to change right beside it.
            next = b + tolerance.copysign(a - b);
        }
        let of_next = function(next)?;
        if of_next * of_b < 0.0 {
            (a, of_a) = (b, of_b);
        } else {
            let ratio = 1.0 - of_next / of_b;
            of_a *= if ratio > 0.0 { ratio } else { 0.5 };
        }
        (b, of_b) = (next, of_next);
    }
    Ok(b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::convert::Infallible;

    fn zero_of(bracket: Bracket, function: impl Fn(f64) -> f64) -> (f64, usize) {
        let mut count = 0;
        let found = zero(bracket, bracket.map(&function), 1e-14, |x| {
            count += 1;
            Ok::<_, Infallible>(function(x))
        });
        let Ok(found) = found;
        (found, count)
    }

    #[test]
    fn zeros_of_smooth_functions_take_few_evaluations() {
        for (function, exact) in [
            ((|x| 0.3 - x * x) as fn(f64) -> f64, 0.3_f64.sqrt()),
            (|x| (x - 0.7).exp_m1(), 0.7),
            (|x| 1e-9 * (0.25 - x), 0.25),
        ] {
            let (found, count) = zero_of([0.0, 1.0], function);
            assert!((found - exact).abs() < 1e-14 && count <= 12, "{found} {exact} {count}");
        }
    }

    proptest! {
        #[test]
        fn zeros_of_any_order_are_found(at in 0.01..0.99_f64, power in prop::sample::select(vec![1, 3, 9])) {
            let (found, count) = zero_of([0.0, 1.0], |x| (x - at).powi(power));
            prop_assert!((found - at).abs() < 1e-6_f64.powf(1.0 / f64::from(power)) && count <= MOST);
        }

        #[test]
        fn brackets_hold_the_change(at in 0.0..1.0_f64) {
            let Ok([before, after]) = narrowed([0.0, 1.0], 1e-9, |x| Ok::<_, Infallible>(x >= at));
            prop_assert!(before <= at && at <= after && after - before <= 1e-9);
        }
    }
}
