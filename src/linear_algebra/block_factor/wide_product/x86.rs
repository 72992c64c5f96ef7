//! Products of the blocks of free bodies in the registers of x86 processors.

use pulp::{Simd, f64x4};

use crate::linear_algebra::block_factor::dense::{self, Block, ColumnSum, FREE_BODY, Vector};
use crate::linear_algebra::block_factor::products::Products;
use crate::scalar::Registers;

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

/// A column of two blocks, one below the other.
#[inline(always)]
fn twelve(upper: &Block, lower: &Block, column: usize) -> [f64x4; 3] {
    let (upper, lower) = (&upper[6 * column..6 * column + 6], &lower[6 * column..6 * column + 6]);
    [four(upper), f64x4(upper[4], upper[5], lower[0], lower[1]), four(&lower[2..])]
}

impl Wide {
    /// x − a b for a number b.
    #[inline(always)]
    fn minus_multiple(self, x: Column, a: Column, b: f64) -> Column {
        let (simd, b) = (self.0, self.0.splat_f64s(b));
        [simd.sub_f64s(x[0], simd.mul_f64s(a[0], b)), simd.sub_f64s(x[1], simd.mul_f64s(a[1], b))]
    }

    /// [`dense::divide_right`] for 6×6 matrices without exchanges.
    #[inline(always)]
    fn divide_matrix(self, x: &mut Block, d: &[f64]) {
        let (simd, d) = (self.0, &d[..36]);
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
    fn subtract_product<const TRANSPOSE: bool>(self, c: &mut Block, a: &Block, b: &Block) {
        let simd = self.0;
        // Two columns of c in three registers.
        let mut sum: [f64x4; 9] = [simd.splat_f64s(0.0); 9];
        for i in 0..9 {
            sum[i] = four(&c[4 * i..4 * i + 4]);
        }
        for k in 0..6 {
            let column = &a[6 * k..6 * k + 6];
            let a =
                [four(&column[..4]), f64x4(column[4], column[5], column[0], column[1]), four(&column[2..])];
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

    #[inline(always)]
    fn subtract_two_products<const TRANSPOSE: bool>(self, c: [&mut Block; 2], a: [&Block; 2], b: &Block) {
        let (simd, [c_0, c_1], [a_0, a_1]) = (self.0, c, a);
        for first in [0, 3] {
            // Three columns, one block below the other.
            let mut sum: [f64x4; 9] = [simd.splat_f64s(0.0); 9];
            for k in 0..3 {
                let rows = twelve(c_0, c_1, first + k);
                sum[3 * k..3 * k + 3].copy_from_slice(&rows);
            }
            for k in 0..6 {
                let a = twelve(a_0, a_1, k);
                for column in 0..3 {
                    let factor = simd.splat_f64s(b[dense::entry::<TRANSPOSE>(k, first + column)]);
                    for i in 0..3 {
                        let sum = &mut sum[3 * column + i];
                        *sum = simd.sub_f64s(*sum, simd.mul_f64s(a[i], factor));
                    }
                }
            }
            for k in 0..3 {
                let (at, [x, y, z]) = (6 * (first + k), [sum[3 * k], sum[3 * k + 1], sum[3 * k + 2]]);
                c_0[at..at + 6].copy_from_slice(&[x.0, x.1, x.2, x.3, y.0, y.1]);
                c_1[at..at + 6].copy_from_slice(&[y.2, y.3, z.0, z.1, z.2, z.3]);
            }
        }
    }

    #[inline(always)]
    fn subtract_product_with_vector(self, c: &mut Vector, a: &Block, b: &Vector) {
        let mut sum = column(c);
        for k in 0..6 {
            sum = self.minus_multiple(sum, column(&a[6 * k..6 * k + 6]), b[k]);
        }
        store(sum, c);
    }

    #[inline(always)]
    fn divide_right(self, x: &mut Block, d: &[f64], exchanges: &[usize]) {
        match exchanges {
            [0, 1, 2, 3, 4, 5] => self.divide_matrix(x, d),
            _ => dense::divide_right(x, FREE_BODY, d, exchanges),
        }
    }

    type Sum = [f64x4; 9];

    #[inline(always)]
    fn no_sum(self) -> Self::Sum {
        [self.0.splat_f64s(0.0); 9]
    }

    #[inline(always)]
    fn add_transposed_product(self, mut sum: Self::Sum, a: &Block, b: &Vector) -> Self::Sum {
        let simd = self.0;
        // Two columns in three registers.
        let b = [four(&b[..4]), f64x4(b[4], b[5], b[0], b[1]), four(&b[2..6])];
        for i in 0..9 {
            sum[i] = simd.add_f64s(sum[i], simd.mul_f64s(four(&a[4 * i..4 * i + 4]), b[i % 3]));
        }
        sum
    }

    #[inline(always)]
    fn subtract_sum(self, c: &mut Vector, sum: Self::Sum) {
        let mut columns: ColumnSum = [0.0; 36];
        for i in 0..9 {
            columns[4 * i..4 * i + 4].copy_from_slice(&[sum[i].0, sum[i].1, sum[i].2, sum[i].3]);
        }
        dense::subtract_columns(c, &columns);
    }
}
