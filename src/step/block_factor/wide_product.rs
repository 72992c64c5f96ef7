//! Products of the blocks of free bodies, four numbers at a time where the processor has registers
//! for that.
//!
//! Every number is the same sum in the same order on any processor, and products are rounded
//! before they are subtracted: the same bits.

use super::dense::{self, ColumnSum};
use crate::scalar::{InRegisters, Registers, in_registers};

/// Products of blocks, one number or four at a time.
pub(super) trait Products: Copy {
    /// Matrix `c` −= `a` `b`, where `a` is `rows`×`inner` and `b` has as many columns as `c`.
    fn subtract_product(self, c: &mut [f64], a: (&[f64], usize, usize), b: &[f64]);
    /// Matrix `c` −= `a` `b`ᵀ, where `a` is `rows`×`inner` and `b` is `columns`×`inner`.
    fn subtract_product_with_transpose(self, c: &mut [f64], a: (&[f64], usize, usize), b: (&[f64], usize));
    /// `x` ← `x` d⁻¹ for the `rows`×n matrix `x`, with d as left by [`dense::factor`].
    fn divide_right(self, x: &mut [f64], rows: usize, d: &[f64], exchanges: &[usize]);
    /// A sum of transposed products of free bodies.
    type Sum: Copy;
    /// No products.
    fn no_sum(self) -> Self::Sum;
    /// The sum with `a`ᵀ `b`, for a 6×6 matrix and a vector.
    fn add_transposed_product(self, sum: Self::Sum, a: &[f64], b: &[f64]) -> Self::Sum;
    /// Vector `c` −= the sum.
    fn subtract_sum(self, c: &mut [f64], sum: Self::Sum);
}

/// A computation made of products of blocks.
pub(super) trait OfProducts {
    type Output;
    fn compute(self, products: impl Products) -> Self::Output;
}

/// No special registers.
#[derive(Clone, Copy, Debug)]
struct Narrow;

impl Products for Narrow {
    #[inline(always)]
    fn subtract_product(self, c: &mut [f64], a: (&[f64], usize, usize), b: &[f64]) {
        dense::subtract_product(c, a, b);
    }

    #[inline(always)]
    fn subtract_product_with_transpose(self, c: &mut [f64], a: (&[f64], usize, usize), b: (&[f64], usize)) {
        dense::subtract_product_with_transpose(c, a, b);
    }

    #[inline(always)]
    fn divide_right(self, x: &mut [f64], rows: usize, d: &[f64], exchanges: &[usize]) {
        dense::divide_right(x, rows, d, exchanges);
    }

    type Sum = ColumnSum;

    #[inline(always)]
    fn no_sum(self) -> ColumnSum {
        [0.0; 36]
    }

    #[inline(always)]
    fn add_transposed_product(self, mut sum: ColumnSum, a: &[f64], b: &[f64]) -> ColumnSum {
        dense::add_to_columns(&mut sum, a, b);
        sum
    }

    #[inline(always)]
    fn subtract_sum(self, c: &mut [f64], sum: ColumnSum) {
        dense::subtract_columns(c, &sum);
    }
}

/// A computation in registers of four.
struct InWide<C>(C);

impl<C: OfProducts> InRegisters for InWide<C> {
    type Output = C::Output;

    #[inline(always)]
    fn run(self, registers: Registers) -> C::Output {
        self.0.compute(wide(registers))
    }
}

/// Computes in registers of four, where the processor has them.
#[inline]
pub(super) fn compute<C: OfProducts>(computation: C) -> C::Output {
    in_registers(InWide(computation)).unwrap_or_else(|InWide(computation)| computation.compute(Narrow))
}

#[cfg(not(any(target_arch = "x86", target_arch = "x86_64")))]
fn wide(registers: Registers) -> Narrow {
    match registers {}
}

#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
use x86::wide;

#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
mod x86 {
    use pulp::{Simd, f64x4};

    use super::{Products, Registers, dense};

    /// Registers of four numbers.
    #[derive(Clone, Copy, Debug)]
    pub struct Wide(Registers);

    /// Products in these registers.
    #[inline(always)]
    pub fn wide(registers: Registers) -> Wide {
        Wide(registers)
    }

    /// Rows 0 to 3 and 2 to 5 of a column.
    type Column = [f64x4; 2];

    #[inline(always)]
    fn four(x: &[f64]) -> f64x4 {
        f64x4(x[0], x[1], x[2], x[3])
    }

    #[inline(always)]
    fn column(x: &[f64]) -> Column {
        [four(&x[..4]), four(&x[2..6])]
    }

    #[inline(always)]
    fn store([upper, lower]: Column, x: &mut [f64]) {
        x[..6].copy_from_slice(&[upper.0, upper.1, upper.2, upper.3, lower.2, lower.3]);
    }

    impl Wide {
        /// x − a b for a number b.
        #[inline(always)]
        fn minus_multiple(self, x: Column, a: Column, b: f64) -> Column {
            let (simd, b) = (self.0, self.0.splat_f64s(b));
            [simd.sub_f64s(x[0], simd.mul_f64s(a[0], b)), simd.sub_f64s(x[1], simd.mul_f64s(a[1], b))]
        }

        /// `c` −= `a` `b`, or `a` `b`ᵀ, for 6×6 matrices.
        #[inline(always)]
        fn of_matrices<const TRANSPOSE: bool>(self, c: &mut [f64], a: &[f64], b: &[f64]) {
            let simd = self.0;
            let (c, a, b) = (&mut c[..36], &a[..36], &b[..36]);
            // Two columns of c in three registers.
            let mut sum: [f64x4; 9] = [simd.splat_f64s(0.0); 9];
            for i in 0..9 {
                sum[i] = four(&c[4 * i..4 * i + 4]);
            }
            for k in 0..6 {
                let column = &a[6 * k..6 * k + 6];
                let a = [
                    four(&column[..4]),
                    f64x4(column[4], column[5], column[0], column[1]),
                    four(&column[2..]),
                ];
                for pair in 0..3 {
                    let [left, right] =
                        [2 * pair, 2 * pair + 1].map(|column| b[dense::entry::<TRANSPOSE>(k, column)]);
                    let factors =
                        [simd.splat_f64s(left), f64x4(left, left, right, right), simd.splat_f64s(right)];
                    for i in 0..3 {
                        let sum = &mut sum[3 * pair + i];
                        *sum = simd.sub_f64s(*sum, simd.mul_f64s(a[i], factors[i]));
                    }
                }
            }
            for i in 0..9 {
                let sum = sum[i];
                c[4 * i..4 * i + 4].copy_from_slice(&[sum.0, sum.1, sum.2, sum.3]);
            }
        }

        /// `c` −= `a` `b` for a 6×6 matrix `a` and vectors.
        #[inline(always)]
        fn of_vector(self, c: &mut [f64], a: &[f64], b: &[f64]) {
            let (c, a, b) = (&mut c[..6], &a[..36], &b[..6]);
            let mut sum = column(c);
            for k in 0..6 {
                sum = self.minus_multiple(sum, column(&a[6 * k..6 * k + 6]), b[k]);
            }
            store(sum, c);
        }

        /// [`dense::divide_right`] for 6×6 matrices without exchanges.
        #[inline(always)]
        fn divide_matrix(self, x: &mut [f64], d: &[f64]) {
            let simd = self.0;
            let (x, d) = (&mut x[..36], &d[..36]);
            let mut columns: [Column; 6] = [[simd.splat_f64s(0.0); 2]; 6];
            for c in 0..6 {
                let mut sum = column(&x[6 * c..6 * c + 6]);
                for k in 0..c {
                    sum = self.minus_multiple(sum, columns[k], d[6 * c + k]);
                }
                let scale = simd.splat_f64s(d[7 * c]);
                columns[c] = [simd.mul_f64s(sum[0], scale), simd.mul_f64s(sum[1], scale)];
            }
            for c in (0..6).rev() {
                let mut sum = columns[c];
                for k in c + 1..6 {
                    sum = self.minus_multiple(sum, columns[k], d[6 * c + k]);
                }
                columns[c] = sum;
                store(sum, &mut x[6 * c..6 * c + 6]);
            }
        }
    }

    impl Products for Wide {
        #[inline(always)]
        fn subtract_product(self, c: &mut [f64], (a, rows, inner): (&[f64], usize, usize), b: &[f64]) {
            match (rows, inner, c.len()) {
                (6, 6, 36) => self.of_matrices::<false>(c, a, b),
                (6, 6, 6) => self.of_vector(c, a, b),
                _ => dense::subtract_product(c, (a, rows, inner), b),
            }
        }

        #[inline(always)]
        fn subtract_product_with_transpose(
            self,
            c: &mut [f64],
            (a, rows, inner): (&[f64], usize, usize),
            (b, columns): (&[f64], usize),
        ) {
            match (rows, inner, columns) {
                (6, 6, 6) => self.of_matrices::<true>(c, a, b),
                _ => dense::subtract_product_with_transpose(c, (a, rows, inner), (b, columns)),
            }
        }

        #[inline(always)]
        fn divide_right(self, x: &mut [f64], rows: usize, d: &[f64], exchanges: &[usize]) {
            match exchanges {
                [0, 1, 2, 3, 4, 5] if rows == 6 => self.divide_matrix(x, d),
                _ => dense::divide_right(x, rows, d, exchanges),
            }
        }

        type Sum = [f64x4; 9];

        #[inline(always)]
        fn no_sum(self) -> Self::Sum {
            [self.0.splat_f64s(0.0); 9]
        }

        #[inline(always)]
        fn add_transposed_product(self, mut sum: Self::Sum, a: &[f64], b: &[f64]) -> Self::Sum {
            let (simd, a, b) = (self.0, &a[..36], &b[..6]);
            // Two columns in three registers.
            let b = [four(&b[..4]), f64x4(b[4], b[5], b[0], b[1]), four(&b[2..6])];
            for i in 0..9 {
                sum[i] = simd.add_f64s(sum[i], simd.mul_f64s(four(&a[4 * i..4 * i + 4]), b[i % 3]));
            }
            sum
        }

        #[inline(always)]
        fn subtract_sum(self, c: &mut [f64], sum: Self::Sum) {
            let mut columns: dense::ColumnSum = [0.0; 36];
            for i in 0..9 {
                columns[4 * i..4 * i + 4].copy_from_slice(&[sum[i].0, sum[i].1, sum[i].2, sum[i].3]);
            }
            dense::subtract_columns(c, &columns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers<const N: usize>(seed: f64) -> [f64; N] {
        std::array::from_fn(|i| (seed * (i as f64 + 0.3)).sin())
    }

    /// The products of one matrix, one after the other.
    struct All<'a>(&'a mut Vec<u64>, f64);

    impl OfProducts for All<'_> {
        type Output = ();

        fn compute(self, products: impl Products) {
            let Self(bits, seed) = self;
            let (a, b): ([f64; 36], [f64; 36]) = (numbers(0.7 * seed), numbers(1.3 * seed));
            let (mut c, mut x): ([f64; 36], [f64; 6]) = (numbers(2.1 * seed), numbers(0.4 * seed));
            products.subtract_product(&mut c, (&a, 6, 6), &b);
            products.subtract_product(&mut x, (&a, 6, 6), &b[..6]);
            products.subtract_product_with_transpose(&mut c, (&a, 6, 6), (&b, 6));
            let sum = products.add_transposed_product(products.no_sum(), &a, &b[..6]);
            let sum = products.add_transposed_product(sum, &b, &a[..6]);
            products.subtract_sum(&mut x, sum);
            let mut d = b;
            (0..6).for_each(|i| d[7 * i] += 10.0);
            let mut exchanges = [0; 6];
            assert!(dense::factor::<false>(&mut d, &mut exchanges));
            products.divide_right(&mut c, 6, &d, &exchanges);
            bits.extend(c.iter().chain(&x).map(|x| x.to_bits()));
        }
    }

    #[test]
    fn wide_registers_give_the_same_bits() {
        for seed in 1..50 {
            let (mut wide, mut narrow) = (Vec::new(), Vec::new());
            if in_registers(InWide(All(&mut wide, f64::from(seed)))).is_err() {
                println!("skipped: the processor has no registers of four numbers");
                return;
            }
            All(&mut narrow, f64::from(seed)).compute(Narrow);
            assert_eq!(wide, narrow);
        }
    }
}
