//! A quantity between the steps of a simulation.

use crate::scalar::Scalar;

/// The weights of the states after and before a time: of the states `first`, `first + 1` and so on, four of them or as
/// many as there are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Weights<T> {
    pub first: usize,
    pub weights: [T; 4],
    pub count: usize,
}

/// The weights of quantities at equally spaced times 0, 1, …, `last` in a curve through them at a position, by cubic
/// polynomials whose slope in each point is half the difference of its neighbours (E. Catmull, R. Rom, *A class of
/// local interpolating splines*, 1974). The slope of the curve is continuous, so that a measurement has a derivative
/// with respect to its sensor's delay wherever it falls. Before the first point and after the last the curve is
/// continued with its slope there. With `last` at least 1; the weights sum up to 1.
pub(super) fn weights<T: Scalar>(position: T, last: usize) -> Weights<T> {
    let before = (position.real().floor().max(0.0) as usize).min(last - 1);
    let u = position - before as f64;
    let one = T::from(1.0);
    if u.real() < 0.0 || u.real() > 1.0 {
        // Outside: the slope at the ends is that of the last interval.
        return Weights { first: before, weights: [one - u, u, T::from(0.0), T::from(0.0)], count: 2 };
    }
    let (u2, u3) = (u * u, u * u * u);
    let mut w =
        [u2 - (u + u3) * 0.5, one - u2 * 2.5 + u3 * 1.5, u * 0.5 + u2 * 2.0 - u3 * 1.5, (u3 - u2) * 0.5];
    // A point beyond an end lies on the line through the two next to it.
    let (mut first, mut count) = (before, 4);
    if before == 0 {
        w = [w[1] + w[0] * 2.0, w[2] - w[0], w[3], T::from(0.0)];
        count -= 1;
    } else {
        first -= 1;
    }
    if before + 2 > last {
        let beyond = w[count - 1];
        w[count - 2] += beyond * 2.0;
        w[count - 3] -= beyond;
        count -= 1;
    }
    Weights { first, weights: w, count }
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_dual::Dual64;

    fn value<T: Scalar>(position: T, points: &[f64]) -> T {
        let Weights { first, weights, count } = weights(position, points.len() - 1);
        let used = weights[..count].iter().zip(&points[first..]);
        used.fold(T::from(0.0), |sum, (&w, &p)| sum + w * p)
    }

    #[test]
    fn lines_are_reproduced_and_slopes_are_continuous() {
        for points in
            [vec![1.0, 3.0], vec![1.0, 3.0, 5.0], (0..7).map(|k| 1.0 + 2.0 * f64::from(k)).collect()]
        {
            for k in -10..80 {
                let at = f64::from(k) / 10.0;
                assert!((value(at, &points) - 1.0 - 2.0 * at).abs() < 1e-12, "{at} {points:?}");
            }
        }
        let points = [0.3, -1.0, 2.0, 0.5, 0.7, -0.2];
        for (k, point) in points.iter().enumerate() {
            let at = k as f64;
            assert!((value(at, &points) - point).abs() < 1e-15);
            let slope = |at: f64| value(Dual64::from(at).derivative(), &points).eps;
            assert!((slope(at - 1e-9) - slope(at + 1e-9)).abs() < 1e-7, "{k}");
            let (at, h) = (at + 0.37, 1e-6);
            let difference = (value(at + h, &points) - value(at - h, &points)) / (2.0 * h);
            assert!((slope(at) - difference).abs() < 1e-8);
        }
    }

    #[test]
    fn smooth_curves_are_met_to_third_order() {
        let error = |n: usize| {
            let points: Vec<f64> = (0..=n).map(|k| (3.0 * k as f64 / n as f64).sin()).collect();
            let inside = (2 * 8..(n - 2) * 8).map(|k| k as f64 / 8.0);
            inside.map(|at| (value(at, &points) - (3.0 * at / n as f64).sin()).abs()).fold(0.0, f64::max)
        };
        let order = (error(20) / error(40)).log2();
        assert!(order > 2.7, "{order}");
    }
}
