//! The elimination of one tree after the other.

use super::dense::{BLOCK, Block, divide_right, factor, subtract_product, subtract_product_with_transpose};
use super::factors::Coupled;
use super::products::{OfProducts, Products};
use super::wide_product;
use super::{BlockFactor, Values};

impl BlockFactor {
    /// Factorizes the matrix that the blocks hold. The factorization stays until the next one.
    ///
    /// # Errors
    /// The tree at which a pivot vanishes or is not finite (or, of values said to be positive definite,
    /// is not positive). An infinite or NaN block is reported at its tree or at one coupled with it.
    /// There is then no factorization to solve with.
    pub(crate) fn factorize(&mut self, kind: Values) -> Result<(), usize> {
        self.factors.kind = kind;
        match kind {
            Values::PositiveDefinite => {
                self.fill_factors::<false>();
                wide_product::compute(Eliminate::<false>(self))
            }
            Values::General => {
                self.factors.upper.resize(self.factors.values.len(), 0.0);
                self.fill_factors::<true>();
                wide_product::compute(Eliminate::<true>(self))
            }
        }
    }

    /// Whether the determinant of the matrix that has been factorized is negative.
    pub(crate) fn has_negative_determinant(&self) -> bool {
        self.factors.pivots.iter().fold(false, |negative, pivot| {
            let diagonal = &self.factors.values[pivot.values.0..][..pivot.size * pivot.size];
            let exchanges = &self.factors.exchanges[pivot.start..][..pivot.size];
            (0..pivot.size).fold(negative, |negative, k| {
                let exchanged = self.factors.kind == Values::General && exchanges[k] != k;
                negative ^ exchanged ^ (diagonal[k * pivot.size + k] < 0.0)
            })
        })
    }

    /// Puts the blocks of K where they are eliminated, and zeros where they fill in.
    fn fill_factors<const GENERAL: bool>(&mut self) {
        for pivot in &self.factors.pivots {
            let size = pivot.size * pivot.size;
            let block = &self.values[self.diagonals[pivot.tree]..][..size];
            self.factors.values[pivot.values.0..][..size].copy_from_slice(block);
            for block in &self.factors.blocks[pivot.blocks.0..pivot.blocks.1] {
                let size = pivot.size * block.size;
                let range = block.values..block.values + size;
                let Some(source) = block.source else {
                    self.factors.values[range.clone()].fill(0.0);
                    if GENERAL {
                        self.factors.upper[range].fill(0.0);
                    }
                    continue;
                };
                let (first, second) = two_blocks(&self.values, source.start, size);
                let (lower, upper) = if source.in_order { (first, second) } else { (second, first) };
                self.factors.values[range.clone()].copy_from_slice(lower);
                if GENERAL {
                    self.factors.upper[range].copy_from_slice(upper);
                }
            }
        }
    }

    #[inline(always)]
    fn eliminate<const GENERAL: bool>(&mut self, products: impl Products) -> Result<(), usize> {
        for pivot in &self.factors.pivots {
            let (n, (first, end)) = (pivot.size, pivot.values);
            let (own, later) = self.factors.values.split_at_mut(end);
            let (diagonal, lower) = own[first..].split_at_mut(n * n);
            let exchanges = &mut self.factors.exchanges[pivot.start..pivot.start + n];
            if !factor::<GENERAL>(diagonal, exchanges) {
                return Err(pivot.tree);
            }
            let no_upper: &mut [f64] = &mut [];
            let (upper, later_upper) = if GENERAL {
                let (own, later) = self.factors.upper.split_at_mut(end);
                (&own[first + n * n..], later)
            } else {
                self.panel.clear();
                self.panel.extend_from_slice(lower);
                (&self.panel[..], no_upper)
            };
            let targets = &self.targets[pivot.targets..];
            let panel = Panel { diagonal, exchanges, lower, upper, later, later_upper, end, targets };
            if pivot.free {
                panel.eliminate_free_body::<GENERAL>(products);
            } else {
                panel.eliminate::<GENERAL>(&self.factors.blocks[pivot.blocks.0..pivot.blocks.1]);
            }
        }
        Ok(())
    }
}

/// A pivot p to be eliminated, whose diagonal block has been factored, and what is left of the
/// matrix.
struct Panel<'a> {
    diagonal: &'a [f64],
    exchanges: &'a [usize],
    /// The blocks (q, p).
    lower: &'a mut [f64],
    /// The blocks (p, q); for symmetric values a copy of the blocks (q, p).
    upper: &'a [f64],
    /// The factors behind those of the pivot, and the blocks of U there.
    later: &'a mut [f64],
    later_upper: &'a mut [f64],
    /// Where they start among all.
    end: usize,
    /// See [`BlockFactor::targets`].
    targets: &'a [usize],
}

impl Panel<'_> {
    /// Eliminates it from the trees coupled with it.
    fn eliminate<const GENERAL: bool>(self, blocks: &[Coupled]) {
        let Self { diagonal, exchanges, lower, upper, later, later_upper, end, targets } = self;
        let n = exchanges.len();
        let Some(first) = blocks.first().map(|block| block.values) else { return };
        let range = |block: &Coupled| block.values - first..block.values - first + n * block.size;
        for block in blocks {
            divide_right(&mut lower[range(block)], block.size, diagonal, exchanges);
        }
        let mut targets = targets.iter();
        for (at, a) in blocks.iter().enumerate() {
            let (lower_a, upper_a) = (&lower[range(a)], &upper[range(a)]);
            for (b, &target) in blocks[at..].iter().zip(&mut targets) {
                let lower_b = &lower[range(b)];
                let target = target - end..target - end + a.size * b.size;
                if GENERAL {
                    subtract_product(&mut later[target.clone()], (lower_b, b.size, n), upper_a);
                } else {
                    subtract_product_with_transpose(
                        &mut later[target.clone()],
                        (lower_b, b.size),
                        (upper_a, a.size),
                    );
                }
                if GENERAL && !std::ptr::eq(a, b) {
                    subtract_product(&mut later_upper[target], (lower_a, a.size, n), &upper[range(b)]);
                }
            }
        }
    }

    /// The same where all are free bodies.
    #[inline(always)]
    fn eliminate_free_body<const GENERAL: bool>(self, products: impl Products) {
        let Self { diagonal, exchanges, lower, upper, later, later_upper, end, mut targets } = self;
        let (lower, upper) = (lower.as_chunks_mut::<BLOCK>().0, upper.as_chunks::<BLOCK>().0);
        for block in &mut *lower {
            products.divide_right(block, diagonal, exchanges);
        }
        for (at, upper_a) in upper.iter().enumerate() {
            let (lower, to) = (&lower[at..], &targets[..upper.len() - at]);
            targets = &targets[to.len()..];
            let ((two_lower, one_lower), (two_to, one_to)) = (lower.as_chunks::<2>(), to.as_chunks::<2>());
            for ([lower_b, lower_c], [to_b, to_c]) in two_lower.iter().zip(two_to) {
                let (head, tail) = later.split_at_mut(to_c - end);
                let target = [block_at(head, to_b - end), block_at(tail, 0)];
                if GENERAL {
                    products.subtract_two_products::<false>(target, [lower_b, lower_c], upper_a);
                } else {
                    products.subtract_two_products::<true>(target, [lower_b, lower_c], upper_a);
                }
            }
            if let ([lower_b], [to_b]) = (one_lower, one_to) {
                let target = block_at(later, to_b - end);
                if GENERAL {
                    products.subtract_product::<false>(target, lower_b, upper_a);
                } else {
                    products.subtract_product::<true>(target, lower_b, upper_a);
                }
            }
            if GENERAL {
                for (upper_b, to_b) in upper[at + 1..].iter().zip(&to[1..]) {
                    let target = block_at(later_upper, to_b - end);
                    products.subtract_product::<false>(target, &lower[0], upper_b);
                }
            }
        }
    }
}

/// The block of two free bodies that starts at `at`.
#[inline(always)]
fn block_at(values: &mut [f64], at: usize) -> &mut Block {
    &mut values[at..at + BLOCK].as_chunks_mut().0[0]
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
