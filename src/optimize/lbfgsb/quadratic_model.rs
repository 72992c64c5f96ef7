//! The limited-memory quadratic model of a cost, and its minimum within bounds.

use nalgebra::{DMatrix, DVector};

use crate::linear_algebra::dot;

/// A model of the cost around x: g·d + ½ d·Bd, with B = θI − W M Wᵀ from pairs of steps s and
/// changes of the gradient y.
///
/// Reference: R. H. Byrd, P. Lu, J. Nocedal, C. Zhu (1995), *A limited memory algorithm for bound
/// constrained optimization*, SIAM J. Sci. Comput. 16, 1190–1208, §3 (the compact form).
pub struct QuadraticModel {
    theta: f64,
    /// W = [Y θS], a row for each variable.
    w: DMatrix<f64>,
    /// M = [[−D, Lᵀ], [L, θSᵀS]]⁻¹.
    m: DMatrix<f64>,
}

impl QuadraticModel {
    /// The model of these pairs (s, y), the latest at the end; the identity where there are none.
    /// `None` if they are too dependent for their numbers' precision.
    pub fn new<'a>(variables: usize, pairs: impl Iterator<Item = (&'a [f64], &'a [f64])>) -> Option<Self> {
        let pairs: Vec<(&[f64], &[f64])> = pairs.collect();
        let k = pairs.len();
        let Some((s, y)) = pairs.last() else {
            return Some(Self { theta: 1.0, w: DMatrix::zeros(variables, 0), m: DMatrix::zeros(0, 0) });
        };
        let theta = dot(y, y) / dot(s, y);
        let w =
            DMatrix::from_fn(
                variables,
                2 * k,
                |i, j| {
                    if j < k { pairs[j].1[i] } else { theta * pairs[j - k].0[i] }
                },
            );
        let inverse = DMatrix::from_fn(2 * k, 2 * k, |i, j| match (i < k, j < k) {
            (true, true) if i == j => -dot(pairs[i].0, pairs[i].1),
            (false, false) => theta * dot(pairs[i - k].0, pairs[j - k].0),
            // L is strictly lower triangular.
            (false, true) if i - k > j => dot(pairs[i - k].0, pairs[j].1),
            (true, false) if j - k > i => dot(pairs[j - k].0, pairs[i].1),
            _ => 0.0,
        });
        let m = inverse.try_inverse()?;
        (theta.is_finite() && m.iter().all(|x| x.is_finite())).then_some(Self { theta, w, m })
    }

    fn row(&self, i: usize) -> DVector<f64> {
        self.w.row(i).transpose()
    }

    /// The direction from x to (nearly) the minimum of the model within bounds: the first minimum
    /// along the projected gradient (the generalized Cauchy point), and from there the minimum over
    /// the variables that are not at bounds there, moved into the bounds.
    ///
    /// `None` if rounding leaves no direction along which the cost falls.
    ///
    /// Reference: as of [`QuadraticModel`], algorithm CP and §5.1 (the direct primal method); J. L.
    /// Morales, J. Nocedal (2011), *Remark on algorithm 778*, ACM Trans. Math. Softw. 38, 7 (the
    /// projection at its end).
    pub fn direction(&self, x: &[f64], gradient: &[f64], bounds: (&[f64], &[f64])) -> Option<Vec<f64>> {
        let n = x.len();
        let (lower, upper) = bounds;
        let into = |i: usize, x: f64| x.max(lower[i]).min(upper[i]);
        let (cauchy, c, free) = self.cauchy_point(x, gradient, bounds)?;
        let step = |point: &[f64]| -> Vec<f64> { point.iter().zip(x).map(|(p, x)| p - x).collect() };
        let slope = |d: &[f64]| d.iter().zip(gradient).map(|(d, g)| d * g).sum::<f64>();
        if free.is_empty() {
            let direction = step(&cauchy);
            return (slope(&direction) < 0.0).then_some(direction);
        }
        // The reduced gradient at the Cauchy point, and the Newton step of the free variables.
        let mc = &self.m * &c;
        let reduced: Vec<f64> = free
            .iter()
            .map(|&i| gradient[i] + self.theta * (cauchy[i] - x[i]) - self.w.row(i).tr_dot(&mc))
            .collect();
        let w_free = self.w.select_rows(&free);
        let reduced = DVector::from_vec(reduced);
        let mut newton = &reduced * (-1.0 / self.theta);
        if self.w.ncols() > 0 {
            let v = &self.m * w_free.tr_mul(&reduced);
            let inner = DMatrix::identity(v.len(), v.len()) - &self.m * (w_free.tr_mul(&w_free) / self.theta);
            let v = inner.lu().solve(&v)?;
            newton -= (&w_free * v) / (self.theta * self.theta);
        }
        let mut projected = cauchy.clone();
        free.iter().zip(newton.iter()).for_each(|(&i, d)| projected[i] = into(i, cauchy[i] + d));
        let direction = step(&projected);
        if slope(&direction) < 0.0 {
            return Some(direction);
        }
        // Projected too far: as far as the first bound.
        let mut fraction = 1.0_f64;
        for (&i, &d) in free.iter().zip(newton.iter()) {
            let room = if d > 0.0 { upper[i] - cauchy[i] } else { lower[i] - cauchy[i] };
            if d != 0.0 {
                fraction = fraction.min(room / d);
            }
        }
        let mut truncated = cauchy.clone();
        free.iter().zip(newton.iter()).for_each(|(&i, d)| truncated[i] = into(i, cauchy[i] + fraction * d));
        let direction = step(&truncated);
        assert_eq!(direction.len(), n);
        (slope(&direction) < 0.0).then_some(direction)
    }

    /// The generalized Cauchy point z, Wᵀ(z − x), and the variables that are not at bounds there.
    fn cauchy_point(
        &self,
        x: &[f64],
        gradient: &[f64],
        (lower, upper): (&[f64], &[f64]),
    ) -> Option<(Vec<f64>, DVector<f64>, Vec<usize>)> {
        let n = x.len();
        // Where on the path each variable meets its bound.
        let breaks: Vec<f64> = (0..n)
            .map(|i| match gradient[i] {
                g if g < 0.0 => (x[i] - upper[i]) / g,
                g if g > 0.0 => (x[i] - lower[i]) / g,
                _ => f64::INFINITY,
            })
            .collect();
        let mut d: Vec<f64> = (0..n).map(|i| if breaks[i] > 0.0 { -gradient[i] } else { 0.0 }).collect();
        let mut order: Vec<usize> = (0..n).filter(|&i| breaks[i] > 0.0 && breaks[i].is_finite()).collect();
        order.sort_by(|&a, &b| breaks[a].total_cmp(&breaks[b]));
        let mut cauchy = x.to_vec();
        let mut p = self.w.tr_mul(&DVector::from_column_slice(&d));
        let mut c = DVector::zeros(p.len());
        let square: f64 = d.iter().map(|d| d * d).sum();
        let mut slope = -square;
        let mut bend = self.theta * square - p.dot(&(&self.m * &p));
        let mut time = 0.0;
        let mut met = order.into_iter().peekable();
        let least = |slope: f64, bend: f64| if slope < 0.0 { -slope / bend } else { 0.0 };
        let mut remaining = least(slope, bend);
        while let Some(&b) = met.peek() {
            let span = breaks[b] - time;
            if remaining < span {
                break;
            }
            met.next();
            cauchy[b] = if d[b] > 0.0 { upper[b] } else { lower[b] };
            let (z, g) = (cauchy[b] - x[b], gradient[b]);
            c += &p * span;
            let row = self.row(b);
            let m_row = &self.m * &row;
            slope += span * bend + g * g + self.theta * g * z - g * m_row.dot(&c);
            bend -= self.theta * g * g + 2.0 * g * m_row.dot(&p) + g * g * m_row.dot(&row);
            p += row * g;
            d[b] = 0.0;
            time = breaks[b];
            if !d.iter().any(|d| *d != 0.0) {
                remaining = 0.0;
                break;
            }
            remaining = least(slope, bend);
        }
        if !remaining.is_finite() || remaining < 0.0 {
            return None;
        }
        time += remaining;
        c += &p * remaining;
        let free: Vec<usize> = (0..n).filter(|&i| d[i] != 0.0).collect();
        free.iter().for_each(|&i| cauchy[i] = (x[i] + time * d[i]).max(lower[i]).min(upper[i]));
        // Those whose gradient is zero may move as well.
        let free = (0..n).filter(|&i| d[i] != 0.0 || gradient[i] == 0.0 && lower[i] < upper[i]).collect();
        Some((cauchy, c, free))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optimize::box_quadratic::minimize_in_box;
    use proptest::prelude::*;

    /// B as a matrix.
    fn matrix(model: &QuadraticModel) -> DMatrix<f64> {
        let n = model.w.nrows();
        DMatrix::identity(n, n) * model.theta - &model.w * &model.m * model.w.transpose()
    }

    proptest! {
        #[test]
        fn the_model_is_bfgs_and_its_direction_descends_to_its_minimum(
            n in 2usize..7, k in 0usize..5,
            entries in prop::collection::vec(-1.0..1.0f64, 49),
            steps in prop::collection::vec(-1.0..1.0f64, 35),
            g in prop::collection::vec(-3.0..3.0f64, 7),
            room in prop::collection::vec(prop_oneof![Just(0.0), Just(f64::INFINITY), 0.05..2.0f64], 14),
        ) {
            let root = DMatrix::from_fn(n, n, |i, j| entries[7 * i + j]);
            let hessian = &root * root.transpose() + DMatrix::identity(n, n) * 0.1;
            let pairs: Vec<(Vec<f64>, Vec<f64>)> = (0..k)
                .map(|j| {
                    let s = DVector::from_fn(n, |i, _| steps[7 * j + i] + if i == j { 1.0 } else { 0.0 });
                    (s.as_slice().to_vec(), (&hessian * &s).as_slice().to_vec())
                })
                .collect();
            let borrowed = pairs.iter().map(|(s, y)| (&s[..], &y[..]));
            let model = QuadraticModel::new(n, borrowed).expect("independent");
            // The BFGS formula, pair after pair from θI.
            let mut expected = DMatrix::identity(n, n) * model.theta;
            for (s, y) in &pairs {
                let (s, y) = (DVector::from_column_slice(s), DVector::from_column_slice(y));
                let bs = &expected * &s;
                expected += &y * y.transpose() / y.dot(&s) - &bs * bs.transpose() / s.dot(&bs);
            }
            let b = matrix(&model);
            let scale = b.amax().max(1.0);
            prop_assert!((&b - &expected).amax() < 1e-6 * scale, "{b} {expected}");
            let x: Vec<f64> = (0..n).map(|i| 0.1 * i as f64).collect();
            let lower: Vec<f64> = (0..n).map(|i| x[i] - room[i]).collect();
            let upper: Vec<f64> = (0..n).map(|i| x[i] + room[7 + i]).collect();
            let Some(d) = model.direction(&x, &g[..n], (&lower, &upper)) else {
                // Only where no variable may move downhill.
                prop_assert!((0..n).all(|i| (g[i] > 0.0 && room[i] == 0.0) || (g[i] < 0.0 && room[7 + i] == 0.0)));
                return Ok(());
            };
            let d = DVector::from_vec(d);
            let gradient = DVector::from_column_slice(&g[..n]);
            prop_assert!(d.dot(&gradient) < 0.0);
            prop_assert!((0..n).all(|i| d[i] >= -room[i] - 1e-12 && d[i] <= room[7 + i] + 1e-12));
            // Without bounds it is the minimum.
            let free = vec![f64::INFINITY; n];
            let none: Vec<f64> = free.iter().map(|x| -x).collect();
            let d = DVector::from_vec(model.direction(&x, &g[..n], (&none, &free)).expect("descends"));
            prop_assert!((&b * &d + &gradient).amax() < 1e-6 * scale, "{d}");
        }

        #[test]
        fn without_pairs_it_is_the_minimum_within_bounds(
            g in prop::collection::vec(-3.0..3.0f64, 5), room in prop::collection::vec(0.05..2.0f64, 10),
        ) {
            let model = QuadraticModel::new(5, std::iter::empty()).expect("the identity");
            let x = [0.0; 5];
            let lower: Vec<f64> = room[..5].iter().map(|r| -r).collect();
            let d = model.direction(&x, &g, (&lower, &room[5..])).expect("descends");
            let expected = minimize_in_box(
                &DMatrix::identity(5, 5),
                &DVector::from_vec(g),
                &DVector::from_vec(lower),
                &DVector::from_column_slice(&room[5..]),
                &DVector::zeros(5),
            ).expect("definite").x;
            for i in 0..5 {
                prop_assert!((d[i] - expected[i]).abs() < 1e-12);
            }
        }
    }
}
