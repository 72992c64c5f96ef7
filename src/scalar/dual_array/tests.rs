//! Against num-dual's own type and against differences.

use super::*;
use crate::scalar::Scalar;
use nalgebra::{Const, Matrix3, U1, Vector3};
use num_dual::DualSVec64;
use proptest::prelude::*;

type Ours = DualArray<3>;
type Reference = DualSVec64<3>;

/// The same number in both types: `re` with three derivatives of order 1.
fn pair(re: f64, eps: [f64; 3]) -> (Ours, Reference) {
    let mut reference = Reference::from_re(re);
    for (i, e) in eps.iter().enumerate() {
        reference += (Reference::from_re(0.0).derivative(i)) * *e;
    }
    (Ours::new(re, eps), reference)
}

fn assert_same(name: &str, ours: Ours, reference: Reference) {
    let eps = reference.eps.unwrap_generic(Const::<3>, U1);
    let close = |a: f64, b: f64| (a - b).abs() <= 1e-14 * b.abs().max(1.0);
    assert!(
        close(ours.re, reference.re) && (0..3).all(|i| close(ours.eps[i], eps[i])),
        "{name}: {ours} instead of {reference}"
    );
}

/// Each function at a point of its domain made from 0 < x < 1.
macro_rules! compare {
    ($x:expr, $eps:expr; $($name:ident($($arg:expr),*) at $point:expr),* $(,)?) => {
        $({
            let point: fn(f64) -> f64 = $point;
            let (ours, reference) = pair(point($x), $eps);
            assert_same(stringify!($name), ours.$name($($arg),*), reference.$name($($arg),*));
        })*
    };
}

proptest! {
    #[test]
    fn functions_agree_with_num_dual(
        x in 0.05..0.95f64,
        eps in proptest::array::uniform3(-1.0..1.0f64),
    ) {
        compare!(x, eps;
            recip() at |x| x + 0.5, recip() at |x| -x - 0.5,
            sqrt() at |x| x + 0.1, cbrt() at |x| x + 0.1, cbrt() at |x| -x - 0.1,
            exp() at |x| 2.0 * x - 1.0, exp2() at |x| 2.0 * x - 1.0,
            exp_m1() at |x| 2.0 * x - 1.0,
            ln() at |x| x + 0.2, log2() at |x| x + 0.2, log10() at |x| x + 0.2,
            log(3.5) at |x| x + 0.2, ln_1p() at |x| x - 0.5,
            sin() at |x| 6.0 * x - 3.0, cos() at |x| 6.0 * x - 3.0, tan() at |x| 2.0 * x - 1.0,
            asin() at |x| 1.8 * x - 0.9, acos() at |x| 1.8 * x - 0.9, atan() at |x| 6.0 * x - 3.0,
            sinh() at |x| 2.0 * x - 1.0, cosh() at |x| 2.0 * x - 1.0, tanh() at |x| 4.0 * x - 2.0,
            asinh() at |x| 4.0 * x - 2.0, acosh() at |x| x + 1.5, atanh() at |x| 1.6 * x - 0.8,
            sph_j0() at |x| x + 1.0, sph_j1() at |x| x + 1.0, sph_j2() at |x| x + 1.0,
            sph_j0() at |x| 1e-17 * x, sph_j1() at |x| 1e-17 * x, sph_j2() at |x| 1e-17 * x,
            powi(0) at |x| x, powi(1) at |x| x, powi(2) at |x| x - 2.0, powi(5) at |x| x - 1.0,
            powi(-3) at |x| x + 0.8, powf(0.0) at |x| x, powf(1.0) at |x| x, powf(2.0) at |x| x,
            powf(2.7) at |x| x + 0.2, powf(-0.4) at |x| x + 0.4,
            abs() at |x| x, abs() at |x| -x, signum() at |x| x, signum() at |x| -x,
            inv() at |x| x + 0.5, neg() at |x| x,
            scale(&1.7) at |x| x, add(0.3) at |x| x, sub(0.3) at |x| x, mul(0.3) at |x| x,
            div(0.3) at |x| x,
        );
        let (ours, reference) = pair(3.0 * x, eps);
        assert_same("sin_cos.0", ours.sin_cos().0, reference.sin_cos().0);
        assert_same("sin_cos.1", ours.sin_cos().1, reference.sin_cos().1);
    }

    #[test]
    fn operators_agree_with_num_dual(
        x in -2.0..2.0f64, y in 0.7..2.0f64, z in -2.0..2.0f64,
        eps_x in proptest::array::uniform3(-1.0..1.0f64),
        eps_y in proptest::array::uniform3(-1.0..1.0f64),
        eps_z in proptest::array::uniform3(-1.0..1.0f64),
    ) {
        let ((a, ra), (b, rb), (c, rc)) = (pair(x, eps_x), pair(y, eps_y), pair(z, eps_z));
        assert_same("+", a + b, ra + rb);
        assert_same("-", a - b, ra - rb);
        assert_same("*", a * b, ra * rb);
        assert_same("/", a / b, ra / rb);
        assert_same("/ by a negative number", a / -b, ra / -rb);
        assert_same("&a + b", Add::add(&a, b), ra + rb);
        assert_same("a - &b", Sub::sub(a, &b), ra - rb);
        assert_same("&a * &b", Mul::mul(&a, &b), ra * rb);
        assert_same("a / &b", Div::div(a, &b), ra / rb);
        let (mut m, mut rm) = (a, ra);
        m += b; rm += rb;
        assert_same("+=", m, rm);
        m *= c; rm *= rc;
        assert_same("*=", m, rm);
        m -= b; rm -= rb;
        assert_same("-=", m, rm);
        m /= b; rm /= rb;
        assert_same("/=", m, rm);
        m += 0.7; rm += 0.7;
        m *= -1.3; rm *= -1.3;
        m -= 0.2; rm -= 0.2;
        m /= 1.9; rm /= 1.9;
        assert_same("with f64", m, rm);
        assert_same("sum", [a, b, c].iter().sum(), [ra, rb, rc].iter().sum());
        assert_same("product", [a, b, c].into_iter().product(), [ra, rb, rc].into_iter().product());
        assert_same("mul_add", a.mul_add(b, c), ra.mul_add(rb, rc));
        assert_same("powd", b.powd(c), rb.powd(rc));
        assert_same("abs_sub", a.abs_sub(&c), ra.abs_sub(&rc));
        // num-dual's atan2 divides by the second argument; stay away from where that is 0.
        if z.abs() > 0.1 {
            assert_same("atan2", a.atan2(c), ra.atan2(rc));
        }
        assert_eq!(a.partial_cmp(&b), x.partial_cmp(&y));
        assert_eq!(a.partial_cmp(&z), x.partial_cmp(&z));
        assert_eq!(a < c, x < z);
    }

    /// num-dual has no remainder: compared with central differences between its jumps.
    #[test]
    fn remainder_and_atan2_agree_with_differences(
        n in -3..3i32, fraction in 0.1..0.9f64, y in 0.5..2.0f64, x in -1.0..1.0f64,
    ) {
        let h = 1e-6;
        let a = if n < 0 { (f64::from(n) - fraction) * y } else { (f64::from(n) + fraction) * y };
        let r = DualArray::<2>::variable(a, 0) % DualArray::variable(y, 1);
        prop_assert_eq!(r.re, a % y);
        prop_assert!((r.eps[0] - ((a + h) % y - (a - h) % y) / (2.0 * h)).abs() < 1e-8);
        prop_assert!((r.eps[1] - (a % (y + h) - a % (y - h)) / (2.0 * h)).abs() < 1e-8);
        let t = DualArray::<2>::variable(y, 0).atan2(DualArray::variable(x, 1));
        prop_assert!((t.eps[0] - ((y + h).atan2(x) - (y - h).atan2(x)) / (2.0 * h)).abs() < 1e-8);
        prop_assert!((t.eps[1] - (y.atan2(x + h) - y.atan2(x - h)) / (2.0 * h)).abs() < 1e-8);
    }
}

/// A generic function through nalgebra: compiles only if the type is a `Scalar`.
fn through_nalgebra<T: Scalar>(m: &Matrix3<T>, v: &Vector3<T>) -> [T; 4] {
    let w = m * v;
    let c = w.cross(v);
    [w.dot(v), c.x, c.y + m.transpose().trace(), (m * m)[(1, 2)] * 2.0]
}

#[test]
fn linear_algebra_agrees_with_num_dual() {
    let entry = |i: usize| {
        let re = (1.3 * i as f64).sin();
        pair(re, [re * 0.3, 0.1 * i as f64 - 0.5, (i as f64).cos()])
    };
    let ours = through_nalgebra(
        &Matrix3::from_fn(|i, j| entry(3 * i + j).0),
        &Vector3::from_fn(|i, _| entry(9 + i).0),
    );
    let reference = through_nalgebra(
        &Matrix3::from_fn(|i, j| entry(3 * i + j).1),
        &Vector3::from_fn(|i, _| entry(9 + i).1),
    );
    for (a, b) in ours.into_iter().zip(reference) {
        assert_same("nalgebra", a, b);
    }
}

#[test]
fn zero_with_a_derivative_is_not_the_constant_zero() {
    let x = DualArray::<2>::variable(0.0, 1);
    assert!(x == 0.0 && !x.is_zero() && DualArray::<2>::zero().is_zero());
    let y = DualArray::<2>::variable(1.0, 0);
    assert!(y == 1.0 && !y.is_one() && DualArray::<2>::one().is_one());
    assert_eq!((x * y).eps, [0.0, 1.0]);
    assert_eq!(x.powi(0).eps, [0.0, 0.0]);
    assert_eq!(x.powf(0.0).eps, [0.0, 0.0]);
    assert_eq!(x.powi(1).eps, [0.0, 1.0]);
}

#[test]
fn conversions_keep_the_value() {
    assert_eq!(DualArray::<1>::from_f64(2.75).unwrap().re, 2.75);
    assert_eq!(DualArray::<1>::from_i32(-7).unwrap().re, -7.0);
    assert_eq!(DualArray::<1>::from_str_radix("2.5", 10).unwrap().re, 2.5);
    assert_eq!(DualArray::<1>::variable(4.0, 0).real(), 4.0);
    assert_eq!(DualArray::<1>::variable(4.0, 0).to_string(), "4 + [1.0]ε");
    assert_eq!(DualArray::<1>::from_inner(&3.0).eps, [0.0]);
    assert_eq!(DualArray::<1>::variable(2.0, 0).map_dual(|x| x.eps[0]), 1.0);
}
