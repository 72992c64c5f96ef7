//! Solutions with the factorization, one vector at a time.

use super::dense::{
    BLOCK, Block, FREE_BODY, Vector, divide, divide_transposed, subtract_product, subtract_transposed_product,
};
use super::products::{OfProducts, Products};
use super::wide_product;
use super::{Factors, Pivot, Values};

impl Factors {
    /// x ← K⁻¹ x for a vector: the velocities of the trees one after the other.
    pub(crate) fn solve(&self, x: &mut [f64]) {
        wide_product::compute(Solve(self, x));
    }

    /// X ← K⁻¹ X for a matrix with a row for each velocity, stored column after column.
    pub(crate) fn solve_many(&self, x: &mut [f64]) {
        for column in x.chunks_exact_mut(self.exchanges.len().max(1)) {
            self.solve(column);
        }
    }

    #[inline(always)]
    fn solve_with(&self, x: &mut [f64], products: impl Products) {
        for pivot in &self.pivots {
            if pivot.free {
                self.pass_on_from_free_body(pivot, x, products);
            } else {
                self.pass_on(pivot, x);
            }
        }
        for pivot in self.pivots.iter().rev() {
            let (diagonal, exchanges) = self.diagonal(pivot);
            let own = pivot.start..pivot.start + pivot.size;
            if self.kind == Values::PositiveDefinite {
                divide(&mut x[own.clone()], diagonal, exchanges);
            }
            if pivot.free {
                self.collect_at_free_body(pivot, x, products);
            } else {
                self.collect(pivot, x);
            }
            if self.kind == Values::General {
                divide(&mut x[own], diagonal, exchanges);
            }
        }
    }

    /// x_q −= L_qp x_p for a pivot p and all q coupled with it.
    fn pass_on(&self, pivot: &Pivot, x: &mut [f64]) {
        for block in self.coupled(pivot) {
            let (from, to) = two_parts(x, (pivot.start, pivot.size), (block.start, block.size));
            subtract_product(to, (self.lower(pivot, block), block.size, pivot.size), from);
        }
    }

    /// The same where all are free bodies.
    #[inline(always)]
    fn pass_on_from_free_body(&self, pivot: &Pivot, x: &mut [f64], products: impl Products) {
        let from = *vector_at(x, pivot.start);
        for (block, lower) in self.coupled(pivot).iter().zip(blocks_of(&self.values, pivot)) {
            products.subtract_product_with_vector(vector_at(x, block.start), lower, &from);
        }
    }

    /// x_p −= Σ U_pq x_q (of symmetric values, where x_p has been divided by D_p: Σ L_qpᵀ x_q) for a
    /// pivot p and all q coupled with it.
    fn collect(&self, pivot: &Pivot, x: &mut [f64]) {
        for block in self.coupled(pivot) {
            let (to, from) = two_parts(x, (pivot.start, pivot.size), (block.start, block.size));
            match self.kind {
                Values::General => {
                    subtract_product(to, (self.upper(pivot, block), pivot.size, block.size), from);
                }
                Values::PositiveDefinite => {
                    subtract_transposed_product(to, (self.lower(pivot, block), block.size), from);
                }
            }
        }
    }

    /// The same where all are free bodies.
    #[inline(always)]
    fn collect_at_free_body(&self, pivot: &Pivot, x: &mut [f64], products: impl Products) {
        let mut to = *vector_at(x, pivot.start);
        match self.kind {
            Values::General => {
                for (block, upper) in self.coupled(pivot).iter().zip(blocks_of(&self.upper, pivot)) {
                    products.subtract_product_with_vector(&mut to, upper, vector_at(x, block.start));
                }
            }
            Values::PositiveDefinite => {
                let mut sum = products.no_sum();
                for (block, lower) in self.coupled(pivot).iter().zip(blocks_of(&self.values, pivot)) {
                    sum = products.add_transposed_product(sum, lower, vector_at(x, block.start));
                }
                products.subtract_sum(&mut to, sum);
            }
        }
        *vector_at(x, pivot.start) = to;
    }

    /// x ← K⁻ᵀ x for a vector, as [`Mechanism::solve`].
    pub(crate) fn solve_transposed(&self, x: &mut [f64]) {
        if self.kind == Values::PositiveDefinite {
            return self.solve(x);
        }
        for pivot in &self.pivots {
            let (diagonal, exchanges) = self.diagonal(pivot);
            divide_transposed(&mut x[pivot.start..pivot.start + pivot.size], diagonal, exchanges);
            for block in self.coupled(pivot) {
                let (from, to) = two_parts(x, (pivot.start, pivot.size), (block.start, block.size));
                subtract_transposed_product(to, (self.upper(pivot, block), pivot.size), from);
            }
        }
        for pivot in self.pivots.iter().rev() {
            for block in self.coupled(pivot) {
                let (to, from) = two_parts(x, (pivot.start, pivot.size), (block.start, block.size));
                subtract_transposed_product(to, (self.lower(pivot, block), block.size), from);
            }
        }
    }
}

/// [`Mechanism::solve`].
struct Solve<'a>(&'a Factors, &'a mut [f64]);

impl OfProducts for Solve<'_> {
    type Output = ();

    #[inline(always)]
    fn compute(self, products: impl Products) {
        self.0.solve_with(self.1, products);
    }
}

/// The blocks of a pivot, L's or U's, where all are free bodies.
#[inline(always)]
fn blocks_of<'a>(factors: &'a [f64], pivot: &Pivot) -> &'a [Block] {
    factors[pivot.values.0 + BLOCK..pivot.values.1].as_chunks().0
}

/// The velocities of a free body that start at `at`.
#[inline(always)]
fn vector_at(x: &mut [f64], at: usize) -> &mut Vector {
    &mut x[at..at + FREE_BODY].as_chunks_mut().0[0]
}

/// Two parts, given by start and length, that have nothing in common.
pub(super) fn two_parts<T>(x: &mut [T], a: (usize, usize), b: (usize, usize)) -> (&mut [T], &mut [T]) {
    if a.0 + a.1 <= b.0 {
        let (first, second) = x.split_at_mut(b.0);
        (&mut first[a.0..a.0 + a.1], &mut second[..b.1])
    } else {
        let (first, second) = x.split_at_mut(a.0);
        (&mut second[..a.1], &mut first[b.0..b.0 + b.1])
    }
}
