//! The linear systems of Newton's method on the velocities of all trees.
//!
//! The matrix K is made of dense blocks, a row and a column of them for each tree (a free body, a
//! pusher, an arm): its mass matrix with contact on the diagonal, and the contact between two
//! trees off it. The mass matrix dominates, so that blocks can be eliminated in any order and only
//! the rows within a diagonal block are exchanged.

mod dense;
mod elimination;
mod elimination_order;
mod factors;
mod minimal_residual;
mod products;
mod scalars;
mod solution;
mod wide_product;

use self::dense::{FREE_BODY, subtract_product};
use self::elimination_order::{EliminationOrder, refill};
use self::factors::{Coupled, Pivot, Source};
pub(crate) use self::factors::{Factors, Values};
pub(crate) use self::minimal_residual::MinimalResidual;
use self::products::{OfProducts, Products};

/// The block factorization K = L U: L has identities on its diagonal, U the eliminated diagonal
/// blocks D of K. Of symmetric values U is D Lᵀ.
///
/// Call in this order: [`set_structure`](Self::set_structure), [`clear`](Self::clear), add the blocks,
/// [`Mechanism::factorize`], solve; from `clear` on for the next matrix. The result is the same bits
/// whatever was factorized before. Once the memory has grown to the largest structure nothing is
/// allocated any more.
#[derive(Clone, Debug, Default)]
pub(crate) struct BlockFactor {
    sizes: Vec<usize>,
    couplings: Vec<(usize, usize)>,
    order: EliminationOrder,
    /// Where the velocities of each tree start.
    starts: Vec<usize>,
    factors: Factors,
    /// For each pivot and each pair a ≤ b of those coupled with it, where block (b, a) starts: the
    /// block changes when the pivot is eliminated.
    targets: Vec<usize>,
    /// The blocks of K, each column after column: the diagonal blocks of the trees, then for each
    /// of the couplings (i, j) the blocks (i, j) and (j, i).
    values: Vec<f64>,
    /// Where the diagonal block of each tree, and where the blocks of each coupling start in the
    /// values.
    diagonals: Vec<usize>,
    pairs: Vec<usize>,
    /// The blocks (q, p) of a pivot before they are divided by its diagonal block.
    panel: Vec<f64>,
    /// Multiplications of a factorization, half of K alone, and of a solution.
    elimination_work: usize,
    solution_work: usize,
}

impl BlockFactor {
    /// Prepares for matrices with blocks of these sizes (velocities of each tree), and with blocks
    /// (i, j) and (j, i) for each of the `couplings` i < j, which are sorted and unique.
    ///
    /// Costs next to nothing if both are as they were. Otherwise the blocks are to be cleared.
    pub(crate) fn set_structure(&mut self, sizes: &[usize], couplings: &[(usize, usize)]) {
        if self.sizes == sizes && self.couplings == couplings {
            return;
        }
        assert!(couplings.is_sorted_by(|a, b| a < b), "couplings are sorted and unique");
        assert!(couplings.iter().all(|&(i, j)| i < j && j < sizes.len()), "couplings are of trees");
        self.sizes.clear();
        self.sizes.extend_from_slice(sizes);
        self.couplings.clear();
        self.couplings.extend_from_slice(couplings);
        self.starts.clear();
        self.starts.extend(sizes.iter().scan(0, |next, size| {
            *next += size;
            Some(*next - size)
        }));
        self.order.compute(sizes.len(), couplings);
        self.lay_out();
        self.find_targets();
        self.find_sources();
        refill(&mut self.factors.exchanges, sizes.iter().sum(), 0);
    }

    /// Gives each block its index in the values and in the factors.
    fn lay_out(&mut self) {
        let mut end = 0;
        let mut allocate = |size: usize| {
            end += size;
            end - size
        };
        self.diagonals.clear();
        self.diagonals.extend(self.sizes.iter().map(|size| allocate(size * size)));
        let pair = |&(i, j): &(usize, usize)| allocate(2 * self.sizes[i] * self.sizes[j]);
        self.pairs.clear();
        self.pairs.extend(self.couplings.iter().map(pair));
        refill(&mut self.values, end, 0.0);
        self.factors.pivots.clear();
        self.factors.blocks.clear();
        self.solution_work = 0;
        let mut end = 0;
        for (position, &tree) in self.order.order.iter().enumerate() {
            let size = self.sizes[tree];
            let (first_value, first_block) = (end, self.factors.blocks.len());
            let mut free = size == FREE_BODY;
            end += size * size;
            for &position in self.order.later(position) {
                let other = self.order.order[position];
                let (start, other_size) = (self.starts[other], self.sizes[other]);
                self.factors.blocks.push(Coupled {
                    position,
                    size: other_size,
                    start,
                    values: end,
                    source: None,
                });
                end += size * other_size;
                free &= other_size == FREE_BODY;
            }
            self.solution_work += 2 * (end - first_value) - size * size;
            let blocks = (first_block, self.factors.blocks.len());
            let (start, values) = (self.starts[tree], (first_value, end));
            self.factors.pivots.push(Pivot { tree, size, free, start, values, blocks, targets: 0 });
        }
        refill(&mut self.factors.values, end, 0.0);
    }

    /// Where the blocks start that change when a pivot is eliminated.
    fn find_targets(&mut self) {
        self.targets.clear();
        self.elimination_work = 0;
        for position in 0..self.factors.pivots.len() {
            self.factors.pivots[position].targets = self.targets.len();
            let (first, last) = self.factors.pivots[position].blocks;
            let coupled: usize = self.factors.blocks[first..last].iter().map(|block| block.size).sum();
            self.elimination_work += self.factors.pivots[position].size * coupled * coupled / 2;
            for a in first..last {
                // Trees coupled with the pivot are coupled with one another, by fill if not otherwise:
                // the rest of the pivot's list is found, in the same order, in the list of a.
                let pivot = &self.factors.pivots[self.factors.blocks[a].position];
                self.targets.push(pivot.values.0);
                let mut at = pivot.blocks.0;
                for b in a + 1..last {
                    while self.factors.blocks[at].position != self.factors.blocks[b].position {
                        at += 1;
                    }
                    self.targets.push(self.factors.blocks[at].values);
                }
            }
        }
    }

    /// Where the factors' blocks come from.
    fn find_sources(&mut self) {
        for (&(i, j), &start) in self.couplings.iter().zip(&self.pairs) {
            let (position_i, position_j) = (self.order.positions[i], self.order.positions[j]);
            let (first, last) = self.factors.pivots[position_i.min(position_j)].blocks;
            let later = position_i.max(position_j);
            let at = first + self.factors.blocks[first..last].partition_point(|block| block.position < later);
            self.factors.blocks[at].source = Some(Source { start, in_order: position_i > position_j });
        }
    }

    /// Sets all blocks to zero.
    pub(crate) fn clear(&mut self) {
        self.values.fill(0.0);
    }

    /// The diagonal block of a tree, column after column, to add into.
    pub(crate) fn diagonal_mut(&mut self, tree: usize) -> &mut [f64] {
        let size = self.sizes[tree];
        &mut self.values[self.diagonals[tree]..][..size * size]
    }

    /// The blocks (i, j) and (j, i) of the given one of the couplings (i, j), each column after
    /// column, to add into. Both are to be filled, whether the values are symmetric or not.
    pub(crate) fn coupling_mut(&mut self, coupling: usize) -> (&mut [f64], &mut [f64]) {
        let (i, j) = self.couplings[coupling];
        let size = self.sizes[i] * self.sizes[j];
        self.values[self.pairs[coupling]..][..2 * size].split_at_mut(size)
    }

    /// y −= K x for vectors, with the blocks as they are.
    pub(crate) fn subtract_product(&self, x: &[f64], y: &mut [f64]) {
        wide_product::compute(SubtractProduct(self, x, y));
    }

    #[inline(always)]
    fn subtract_product_with(&self, x: &[f64], y: &mut [f64], products: impl Products) {
        for ((&start, &size), &block) in self.starts.iter().zip(&self.sizes).zip(&self.diagonals) {
            let own = start..start + size;
            let block = &self.values[block..][..size * size];
            subtract_block_product(&mut y[own.clone()], block, &x[own], products);
        }
        for (&(i, j), &pair) in self.couplings.iter().zip(&self.pairs) {
            let (size_i, size_j) = (self.sizes[i], self.sizes[j]);
            let (ij, ji) = self.values[pair..][..2 * size_i * size_j].split_at(size_i * size_j);
            let (i, j) = (self.starts[i]..self.starts[i] + size_i, self.starts[j]..self.starts[j] + size_j);
            subtract_block_product(&mut y[i.clone()], ij, &x[j.clone()], products);
            subtract_block_product(&mut y[j], ji, &x[i], products);
        }
    }

    /// How many times the multiplications of a solution a factorization takes.
    pub(crate) fn relative_work(&self) -> usize {
        self.elimination_work / self.solution_work.max(1)
    }

    /// The factorization.
    pub(crate) fn factors(&self) -> &Factors {
        &self.factors
    }
}

/// y −= b x for a block b and the velocities of two trees. (A closure of the function that calls it
/// would not have its registers.)
#[inline(always)]
fn subtract_block_product(y: &mut [f64], block: &[f64], x: &[f64], products: impl Products) {
    if let (Ok(block), Ok(x)) = (block.try_into(), x.try_into())
        && let Ok(y) = y.try_into()
    {
        products.subtract_product_with_vector(y, block, x);
    } else {
        subtract_product(y, (block, y.len(), x.len()), x);
    }
}

/// [`BlockFactor::subtract_product`].
struct SubtractProduct<'a>(&'a BlockFactor, &'a [f64], &'a mut [f64]);

impl OfProducts for SubtractProduct<'_> {
    type Output = ();

    #[inline(always)]
    fn compute(self, products: impl Products) {
        self.0.subtract_product_with(self.1, self.2, products);
    }
}

#[cfg(test)]
mod tests;
