//! A dual number with a fixed number of first derivatives in a plain array.
//!
//! `num_dual::DualSVec64<N>` keeps its derivatives in an `Option` that every operation tests,
//! which keeps the compiler from vectorizing. Here they are a plain `[f64; N]` and each operation
//! is one loop over it without branches.

use num_dual::{DualNum, DualStruct, Mappable};
use num_traits::{FromPrimitive, Inv, Num, One, Signed, Zero};
use std::cmp::Ordering;
use std::fmt;
use std::iter::{Product, Sum};
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Rem, RemAssign, Sub, SubAssign};

/// A real number with its derivatives with respect to `N` variables.
///
/// Comparisons use the real part alone, so that code takes the branch it would take with `f64`.
/// [`Zero::is_zero`] and [`One::is_one`] in contrast ask for the constant: a product may be
/// shortened at a factor for which they hold, and a factor with derivatives must not be dropped.
#[derive(Clone, Copy, Debug)]
pub struct DualArray<const N: usize> {
    /// The real part.
    pub re: f64,
    /// The derivative with respect to each variable.
    pub eps: [f64; N],
}

impl<const N: usize> DualArray<N> {
    /// A number from its real part and derivatives.
    #[inline]
    pub const fn new(re: f64, eps: [f64; N]) -> Self {
        Self { re, eps }
    }

    /// A number that depends on no variable.
    #[inline]
    pub const fn constant(re: f64) -> Self {
        Self { re, eps: [0.0; N] }
    }

    /// Variable `index` at the value `re`: its derivative with respect to itself is 1.
    ///
    /// # Panics
    /// When `index` is not less than `N`.
    #[inline]
    pub const fn variable(re: f64, index: usize) -> Self {
        let mut eps = [0.0; N];
        eps[index] = 1.0;
        Self { re, eps }
    }

    /// f(x) from the value and the slope of f at the real part of x.
    #[inline]
    fn chain(&self, value: f64, slope: f64) -> Self {
        let mut eps = [0.0; N];
        for (e, x) in eps.iter_mut().zip(&self.eps) {
            *e = x * slope;
        }
        Self { re: value, eps }
    }

    /// f(x, y) from the value and the two slopes of f at the real parts of x and y.
    #[inline]
    fn chain2(&self, other: &Self, value: f64, slope: f64, other_slope: f64) -> Self {
        let mut eps = [0.0; N];
        for ((e, x), y) in eps.iter_mut().zip(&self.eps).zip(&other.eps) {
            *e = x * slope + y * other_slope;
        }
        Self { re: value, eps }
    }
}

/// Implements an operator between two numbers, by value and by reference, and with assignment,
/// from a function of two references; and an operator with `f64` on the right.
macro_rules! operator {
    ($trait:ident, $method:ident, $assign:ident, $assign_method:ident,
     |$a:ident, $b:ident| $both:expr, |$x:ident, $c:ident| $right:expr) => {
        impl<const N: usize> $trait<&DualArray<N>> for &DualArray<N> {
            type Output = DualArray<N>;
            #[inline]
            fn $method(self, other: &DualArray<N>) -> DualArray<N> {
                let ($a, $b) = (self, other);
                $both
            }
        }
        impl<const N: usize> $trait<DualArray<N>> for &DualArray<N> {
            type Output = DualArray<N>;
            #[inline]
            fn $method(self, other: DualArray<N>) -> DualArray<N> {
                $trait::$method(self, &other)
            }
        }
        impl<const N: usize> $trait<&DualArray<N>> for DualArray<N> {
            type Output = DualArray<N>;
            #[inline]
            fn $method(self, other: &DualArray<N>) -> DualArray<N> {
                $trait::$method(&self, other)
            }
        }
        impl<const N: usize> $trait for DualArray<N> {
            type Output = DualArray<N>;
            #[inline]
            fn $method(self, other: DualArray<N>) -> DualArray<N> {
                $trait::$method(&self, &other)
            }
        }
        impl<const N: usize> $trait<f64> for DualArray<N> {
            type Output = DualArray<N>;
            #[inline]
            fn $method(self, $c: f64) -> DualArray<N> {
                let $x = self;
                $right
            }
        }
        impl<const N: usize> $assign for DualArray<N> {
            #[inline]
            fn $assign_method(&mut self, other: DualArray<N>) {
                *self = $trait::$method(&*self, &other);
            }
        }
        impl<const N: usize> $assign<f64> for DualArray<N> {
            #[inline]
            fn $assign_method(&mut self, other: f64) {
                *self = $trait::$method(*self, other);
            }
        }
    };
}

operator!(Add, add, AddAssign, add_assign, |a, b| a.chain2(b, a.re + b.re, 1.0, 1.0), |x, c| DualArray::new(
    x.re + c,
    x.eps
));
operator!(
    Sub,
    sub,
    SubAssign,
    sub_assign,
    |a, b| a.chain2(b, a.re - b.re, 1.0, -1.0),
    |x, c| DualArray::new(x.re - c, x.eps)
);
operator!(Mul, mul, MulAssign, mul_assign, |a, b| a.chain2(b, a.re * b.re, b.re, a.re), |x, c| x
    .chain(x.re * c, c));
operator!(
    Div,
    div,
    DivAssign,
    div_assign,
    |a, b| {
        let value = a.re / b.re;
        let inverse = b.re.recip();
        a.chain2(b, value, inverse, -value * inverse)
    },
    |x, c| x.chain(x.re / c, c.recip())
);
// Between its jumps x % y is x − n y with n = trunc(x / y).
operator!(
    Rem,
    rem,
    RemAssign,
    rem_assign,
    |a, b| a.chain2(b, a.re % b.re, 1.0, -(a.re / b.re).trunc()),
    |x, c| DualArray::new(x.re % c, x.eps)
);

impl<const N: usize> Neg for &DualArray<N> {
    type Output = DualArray<N>;
    #[inline]
    fn neg(self) -> DualArray<N> {
        self.chain(-self.re, -1.0)
    }
}

impl<const N: usize> Neg for DualArray<N> {
    type Output = Self;
    #[inline]
    fn neg(self) -> Self {
        -&self
    }
}

impl<const N: usize> PartialEq for DualArray<N> {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.re == other.re
    }
}

impl<const N: usize> PartialEq<f64> for DualArray<N> {
    #[inline]
    fn eq(&self, other: &f64) -> bool {
        self.re == *other
    }
}

impl<const N: usize> PartialOrd for DualArray<N> {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.re.partial_cmp(&other.re)
    }
}

impl<const N: usize> PartialOrd<f64> for DualArray<N> {
    #[inline]
    fn partial_cmp(&self, other: &f64) -> Option<Ordering> {
        self.re.partial_cmp(other)
    }
}

impl<const N: usize> From<f64> for DualArray<N> {
    #[inline]
    fn from(re: f64) -> Self {
        Self::constant(re)
    }
}

impl<const N: usize> Zero for DualArray<N> {
    #[inline]
    fn zero() -> Self {
        Self::constant(0.0)
    }

    #[inline]
    fn is_zero(&self) -> bool {
        self.re == 0.0 && self.eps == [0.0; N]
    }
}

impl<const N: usize> One for DualArray<N> {
    #[inline]
    fn one() -> Self {
        Self::constant(1.0)
    }

    #[inline]
    fn is_one(&self) -> bool {
        self.re == 1.0 && self.eps == [0.0; N]
    }
}

impl<const N: usize> Num for DualArray<N> {
    type FromStrRadixErr = <f64 as Num>::FromStrRadixErr;

    fn from_str_radix(text: &str, radix: u32) -> Result<Self, Self::FromStrRadixErr> {
        f64::from_str_radix(text, radix).map(Self::constant)
    }
}

impl<const N: usize> Signed for DualArray<N> {
    #[inline]
    fn abs(&self) -> Self {
        self.chain(self.re.abs(), self.re.signum())
    }

    #[inline]
    fn abs_sub(&self, other: &Self) -> Self {
        if self.re > other.re { self - other } else { Self::zero() }
    }

    #[inline]
    fn signum(&self) -> Self {
        // f64::signum gives ±1 at ±0; the sign of a dual number is 0 there, as in num-dual.
        Self::constant(if self.re == 0.0 { 0.0 } else { self.re.signum() })
    }

    #[inline]
    fn is_positive(&self) -> bool {
        self.re.is_sign_positive()
    }

    #[inline]
    fn is_negative(&self) -> bool {
        self.re.is_sign_negative()
    }
}

impl<const N: usize> Inv for DualArray<N> {
    type Output = Self;
    #[inline]
    fn inv(self) -> Self {
        self.recip()
    }
}

impl<const N: usize> Sum for DualArray<N> {
    #[inline]
    fn sum<I: Iterator<Item = Self>>(numbers: I) -> Self {
        numbers.fold(Self::zero(), |sum, x| sum + x)
    }
}

impl<'a, const N: usize> Sum<&'a Self> for DualArray<N> {
    #[inline]
    fn sum<I: Iterator<Item = &'a Self>>(numbers: I) -> Self {
        numbers.copied().sum()
    }
}

impl<const N: usize> Product for DualArray<N> {
    #[inline]
    fn product<I: Iterator<Item = Self>>(numbers: I) -> Self {
        numbers.fold(Self::one(), |product, x| product * x)
    }
}

impl<'a, const N: usize> Product<&'a Self> for DualArray<N> {
    #[inline]
    fn product<I: Iterator<Item = &'a Self>>(numbers: I) -> Self {
        numbers.copied().product()
    }
}

/// Implements the conversions of [`FromPrimitive`] through those of `f64`.
macro_rules! from_primitive {
    ($($method:ident: $type:ty),*) => {
        impl<const N: usize> FromPrimitive for DualArray<N> {
            $(#[inline]
            fn $method(number: $type) -> Option<Self> {
                f64::$method(number).map(Self::constant)
            })*
        }
    };
}

from_primitive!(
    from_isize: isize, from_i8: i8, from_i16: i16, from_i32: i32, from_i64: i64, from_i128: i128,
    from_usize: usize, from_u8: u8, from_u16: u16, from_u32: u32, from_u64: u64, from_u128: u128,
    from_f32: f32, from_f64: f64
);

impl<const N: usize> DualStruct for DualArray<N> {
    type Real = f64;
    type Inner = f64;

    #[inline]
    fn re(&self) -> f64 {
        self.re
    }

    #[inline]
    fn from_inner(inner: &f64) -> Self {
        Self::constant(*inner)
    }
}

impl<const N: usize> Mappable<Self> for DualArray<N> {
    type Output<O> = O;

    #[inline]
    fn map_dual<M: Fn(Self) -> O, O>(self, f: M) -> O {
        f(self)
    }
}

impl<const N: usize> fmt::Display for DualArray<N> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{} + {:?}ε", self.re, self.eps)
    }
}

/// Implements functions of one number from their value and slope at its real part.
macro_rules! functions {
    ($($name:ident: |$x:ident| $value_and_slope:expr;)*) => {
        $(#[inline]
        fn $name(&self) -> Self {
            let $x = self.re;
            let (value, slope): (f64, f64) = $value_and_slope;
            self.chain(value, slope)
        })*
    };
}

impl<const N: usize> DualNum for DualArray<N> {
    type Primitive = f64;
    type InnerDual = f64;
    const NDERIV: usize = 1;

    #[inline]
    fn from_re(re: f64) -> Self {
        Self::constant(re)
    }

    #[inline]
    fn scale(self, factor: &f64) -> Self {
        self * *factor
    }

    functions! {
        recip: |x| (x.recip(), -x.recip() * x.recip());
        sqrt: |x| (x.sqrt(), 0.5 / x.sqrt());
        cbrt: |x| (x.cbrt(), 1.0 / (3.0 * x.cbrt() * x.cbrt()));
        exp: |x| (x.exp(), x.exp());
        exp2: |x| (x.exp2(), x.exp2() * std::f64::consts::LN_2);
        exp_m1: |x| (x.exp_m1(), x.exp());
        ln: |x| (x.ln(), x.recip());
        log2: |x| (x.log2(), (x * std::f64::consts::LN_2).recip());
        log10: |x| (x.log10(), (x * std::f64::consts::LN_10).recip());
        ln_1p: |x| (x.ln_1p(), (1.0 + x).recip());
        sin: |x| x.sin_cos();
        cos: |x| { let (s, c) = x.sin_cos(); (c, -s) };
        tan: |x| { let t = x.tan(); (t, 1.0 + t * t) };
        asin: |x| (x.asin(), ((1.0 - x) * (1.0 + x)).sqrt().recip());
        acos: |x| (x.acos(), -((1.0 - x) * (1.0 + x)).sqrt().recip());
        atan: |x| (x.atan(), (1.0 + x * x).recip());
        sinh: |x| (x.sinh(), x.cosh());
        cosh: |x| (x.cosh(), x.sinh());
        tanh: |x| { let c = x.cosh(); (x.tanh(), (c * c).recip()) };
        asinh: |x| (x.asinh(), x.hypot(1.0).recip());
        acosh: |x| (x.acosh(), ((x - 1.0) * (x + 1.0)).sqrt().recip());
        atanh: |x| (x.atanh(), ((1.0 - x) * (1.0 + x)).recip());
        // The spherical Bessel functions' slopes: j0' = −j1, j1' = j0 − 2 j1/x, j2' = j1 − 3 j2/x,
        // with their limits where the division is not possible.
        sph_j0: |x| (x.sph_j0(), -x.sph_j1());
        sph_j1: |x| if x.abs() < f64::EPSILON {
            (x.sph_j1(), 1.0 / 3.0)
        } else {
            (x.sph_j1(), x.sph_j0() - 2.0 * x.sph_j1() / x)
        };
        sph_j2: |x| if x.abs() < f64::EPSILON {
            (x.sph_j2(), 2.0 * x / 15.0)
        } else {
            (x.sph_j2(), x.sph_j1() - 3.0 * x.sph_j2() / x)
        };
    }

    #[inline]
    fn sin_cos(&self) -> (Self, Self) {
        let (s, c) = self.re.sin_cos();
        (self.chain(s, c), self.chain(c, -s))
    }

    #[inline]
    fn log(&self, base: f64) -> Self {
        self.chain(self.re.log(base), (self.re * base.ln()).recip())
    }

    #[inline]
    fn powi(&self, n: i32) -> Self {
        // At n = 0 the slope is 0 even where xⁿ⁻¹ is infinite.
        let slope = match n {
            0 => 0.0,
            _ => f64::from(n) * self.re.powi(n.saturating_sub(1)),
        };
        self.chain(self.re.powi(n), slope)
    }

    #[inline]
    fn powf(&self, n: f64) -> Self {
        let slope = if n == 0.0 { 0.0 } else { n * self.re.powf(n - 1.0) };
        self.chain(self.re.powf(n), slope)
    }

    #[inline]
    fn atan2(&self, other: Self) -> Self {
        let square = self.re * self.re + other.re * other.re;
        let value = self.re.atan2(other.re);
        self.chain2(&other, value, other.re / square, -self.re / square)
    }
}

#[cfg(test)]
mod tests;
