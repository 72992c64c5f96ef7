//! The products of blocks of free bodies that a factorization and a solution are made of, one number
//! at a time.

use super::dense::{self, Block, ColumnSum, FREE_BODY, Vector};

/// Products of blocks, one number or four at a time. `TRANSPOSE` says that the transpose of the right
/// one is given.
pub(super) trait Products: Copy {
    /// `c` −= `a` `b`.
    fn subtract_product<const TRANSPOSE: bool>(self, c: &mut Block, a: &Block, b: &Block);
    /// The same for two left blocks.
    fn subtract_two_products<const TRANSPOSE: bool>(self, c: [&mut Block; 2], a: [&Block; 2], b: &Block);
    /// `c` −= `a` `b` for vectors.
    fn subtract_product_with_vector(self, c: &mut Vector, a: &Block, b: &Vector);
    /// `x` ← `x` d⁻¹ with d as left by [`dense::factor`].
    fn divide_right(self, x: &mut Block, d: &[f64], exchanges: &[usize]);
    /// A sum of transposed products.
    type Sum: Copy;
    /// No products.
    fn no_sum(self) -> Self::Sum;
    /// The sum with `a`ᵀ `b`, for a vector.
    fn add_transposed_product(self, sum: Self::Sum, a: &Block, b: &Vector) -> Self::Sum;
    /// `c` −= the sum.
    fn subtract_sum(self, c: &mut Vector, sum: Self::Sum);
}

/// A computation made of products of blocks.
pub(super) trait OfProducts {
    type Output;
    fn compute(self, products: impl Products) -> Self::Output;
}

/// No special registers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Narrow;

impl Products for Narrow {
    #[inline(always)]
    fn subtract_product<const TRANSPOSE: bool>(self, c: &mut Block, a: &Block, b: &Block) {
        dense::product_of_free_bodies::<TRANSPOSE>(c, a, b);
    }

    #[inline(always)]
    fn subtract_two_products<const TRANSPOSE: bool>(self, c: [&mut Block; 2], a: [&Block; 2], b: &Block) {
        for (c, a) in c.into_iter().zip(a) {
            dense::product_of_free_bodies::<TRANSPOSE>(c, a, b);
        }
    }

    #[inline(always)]
    fn subtract_product_with_vector(self, c: &mut Vector, a: &Block, b: &Vector) {
        dense::subtract_product(c, (a, FREE_BODY, FREE_BODY), b);
    }

    #[inline(always)]
    fn divide_right(self, x: &mut Block, d: &[f64], exchanges: &[usize]) {
        dense::divide_right(x, FREE_BODY, d, exchanges);
    }

    type Sum = ColumnSum;

    #[inline(always)]
    fn no_sum(self) -> ColumnSum {
        [0.0; 36]
    }

    #[inline(always)]
    fn add_transposed_product(self, mut sum: ColumnSum, a: &Block, b: &Vector) -> ColumnSum {
        dense::add_to_columns(&mut sum, a, b);
        sum
    }

    #[inline(always)]
    fn subtract_sum(self, c: &mut Vector, sum: ColumnSum) {
        dense::subtract_columns(c, &sum);
    }
}
