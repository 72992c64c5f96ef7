//! The elimination of one tree after the other.

use super::dense::factor;
use super::wide_product::{self, OfProducts, Products};
use super::{BlockFactor, FREE_BODY, Pivot, Values};

impl BlockFactor {
    /// Factorizes the matrix that the blocks hold. The factorization stays until the next one.
    ///
    /// # Errors
    /// The tree at which a pivot vanishes or is not finite (or, of values said to be positive
    /// definite, is not positive). An infinite block or one that is not a number shows at its
    /// tree or at one coupled with it. There is no factorization then, and nothing to solve with.
    pub(crate) fn factorize(&mut self, kind: Values) -> Result<(), usize> {
        self.kind = kind;
        match kind {
            Values::PositiveDefinite => {
                self.fill_factors::<false>();
                wide_product::compute(Eliminate::<false>(self))
            }
            Values::General => {
                self.upper.resize(self.factors.len(), 0.0);
                self.fill_factors::<true>();
                wide_product::compute(Eliminate::<true>(self))
            }
        }
    }

    /// Puts the blocks of K where they are eliminated, and zeros where they fill in.
    fn fill_factors<const GENERAL: bool>(&mut self) {
        for pivot in &self.pivots {
            let size = pivot.size * pivot.size;
            let block = &self.values[self.diagonals[pivot.tree]..][..size];
            self.factors[pivot.values.0..][..size].copy_from_slice(block);
            for block in &self.blocks[pivot.blocks.0..pivot.blocks.1] {
                let size = pivot.size * block.size;
                let range = block.values..block.values + size;
                let Some(source) = block.source else {
                    self.factors[range.clone()].fill(0.0);
                    if GENERAL {
                        self.upper[range].fill(0.0);
                    }
                    continue;
                };
                let (first, second) = two_blocks(&self.values, source.start, size);
                let (lower, upper) = if source.in_order { (first, second) } else { (second, first) };
                self.factors[range.clone()].copy_from_slice(lower);
                if GENERAL {
                    self.upper[range].copy_from_slice(upper);
                }
            }
        }
    }

    #[inline(always)]
    fn eliminate<const GENERAL: bool>(&mut self, products: impl Products) -> Result<(), usize> {
        for place in 0..self.pivots.len() {
            let pivot = self.pivots[place];
            let done = if pivot.free {
                self.eliminate_pivot::<GENERAL, true>(&pivot, products)
            } else {
                self.eliminate_pivot::<GENERAL, false>(&pivot, products)
            };
            if !done {
                return Err(pivot.tree);
            }
        }
        Ok(())
    }

    /// Eliminates a pivot; false if its diagonal block has no factorization. `FREE` says that only
    /// free bodies are coupled: all sizes are then known.
    #[inline(always)]
    fn eliminate_pivot<const GENERAL: bool, const FREE: bool>(
        &mut self,
        pivot: &Pivot,
        products: impl Products,
    ) -> bool {
        let size = |size: usize| if FREE { FREE_BODY } else { size };
        let (n, (first, end)) = (size(pivot.size), pivot.values);
        let (own, later) = self.factors.split_at_mut(end);
        let (diagonal, lower) = own[first..].split_at_mut(n * n);
        let exchanges = &mut self.exchanges[pivot.start..pivot.start + n];
        if !factor::<GENERAL>(diagonal, exchanges) {
            return false;
        }
        let first = first + n * n;
        let no_upper: &mut [f64] = &mut [];
        let (upper, later_upper) = if GENERAL {
            let (own, later) = self.upper.split_at_mut(end);
            (&own[first..], later)
        } else {
            self.panel.clear();
            self.panel.extend_from_slice(lower);
            (&self.panel[..], no_upper)
        };
        let blocks = &self.blocks[pivot.blocks.0..pivot.blocks.1];
        for block in blocks {
            let rows = size(block.size);
            products.divide_right(&mut lower[block.values - first..][..n * rows], rows, diagonal, exchanges);
        }
        let lower = &*lower;
        let mut targets = self.targets[pivot.targets..].iter();
        for (at, a) in blocks.iter().enumerate() {
            let size_a = size(a.size);
            let of_a = a.values - first..a.values - first + n * size_a;
            let (lower_a, upper_a) = (&lower[of_a.clone()], (&upper[of_a], size_a));
            let target = &mut later[self.pivots[a.place].values.0 - end..][..size_a * size_a];
            subtract::<GENERAL>(products, target, (lower_a, size_a, n), upper_a);
            for (b, &target) in blocks[at + 1..].iter().zip(&mut targets) {
                let (size_b, place) = (size(b.size), b.values - first);
                let target = target - end..target - end + size_a * size_b;
                let of_b = place..place + n * size_b;
                let lower_b = (&lower[of_b.clone()], size_b, n);
                subtract::<GENERAL>(products, &mut later[target.clone()], lower_b, upper_a);
                if GENERAL {
                    products.subtract_product(&mut later_upper[target], (lower_a, size_a, n), &upper[of_b]);
                }
            }
        }
        true
    }
}

/// Target −= lower upper, where of symmetric values the transpose of the upper matrix is given.
#[inline(always)]
fn subtract<const GENERAL: bool>(
    products: impl Products,
    target: &mut [f64],
    lower: (&[f64], usize, usize),
    upper: (&[f64], usize),
) {
    if GENERAL {
        products.subtract_product(target, lower, upper.0);
    } else {
        products.subtract_product_with_transpose(target, lower, upper);
    }
}

/// [`BlockFactor::eliminate`].
struct Eliminate<'a, const GENERAL: bool>(&'a mut BlockFactor);

impl<const GENERAL: bool> OfProducts for Eliminate<'_, GENERAL> {
    type Output = Result<(), usize>;

    #[inline(always)]
    fn compute(self, products: impl Products) -> Self::Output {
        self.0.eliminate::<GENERAL>(products)
    }
}

/// The two blocks of this size that start at `at`.
#[inline(always)]
fn two_blocks(values: &[f64], at: usize, size: usize) -> (&[f64], &[f64]) {
    values[at..at + 2 * size].split_at(size)
}
