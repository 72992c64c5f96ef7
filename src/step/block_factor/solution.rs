//! Solutions with the factorization, one vector at a time.

use super::dense::{divide, divide_transposed, subtract_product, subtract_transposed_product};
use super::wide_product::{self, OfProducts, Products};
use super::{BlockFactor, FREE_BODY, Pivot, Values};

impl BlockFactor {
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
        let mut from = [0.0; FREE_BODY];
        from.copy_from_slice(&x[pivot.start..pivot.start + FREE_BODY]);
        for block in self.coupled(pivot) {
            let lower = &self.factors[block.values..block.values + FREE_BODY * FREE_BODY];
            let to = &mut x[block.start..block.start + FREE_BODY];
            products.subtract_product(to, (lower, FREE_BODY, FREE_BODY), &from);
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
        let own = pivot.start..pivot.start + FREE_BODY;
        match self.kind {
            Values::General => {
                let mut to = [0.0; FREE_BODY];
                to.copy_from_slice(&x[own.clone()]);
                for block in self.coupled(pivot) {
                    let upper = &self.upper[block.values..block.values + FREE_BODY * FREE_BODY];
                    let from = &x[block.start..block.start + FREE_BODY];
                    products.subtract_product(&mut to, (upper, FREE_BODY, FREE_BODY), from);
                }
                x[own].copy_from_slice(&to);
            }
            Values::PositiveDefinite => {
                let mut sum = products.no_sum();
                for block in self.coupled(pivot) {
                    let lower = &self.factors[block.values..block.values + FREE_BODY * FREE_BODY];
                    let from = &x[block.start..block.start + FREE_BODY];
                    sum = products.add_transposed_product(sum, lower, from);
                }
                products.subtract_sum(&mut x[own], sum);
            }
        }
    }

    /// x ← K⁻ᵀ x for a vector, as [`solve`](Self::solve).
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

/// [`BlockFactor::solve`].
struct Solve<'a>(&'a BlockFactor, &'a mut [f64]);

impl OfProducts for Solve<'_> {
    type Output = ();

    #[inline(always)]
    fn compute(self, products: impl Products) {
        self.0.solve_with(self.1, products);
    }
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
