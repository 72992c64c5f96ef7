//! Solutions for right-hand sides in scalars of any kind: how a solution's derivatives follow.

use super::solution::two_parts;
use super::{Factors, Values};
use crate::scalar::Scalar;

/// `c` −= `a` `b`, where `a` is stored column after column and has as many rows as `c`.
fn subtract_product<T: Scalar>(c: &mut [T], a: &[f64], b: &[T]) {
    for (a, &b) in a.chunks_exact(c.len().max(1)).zip(b) {
        for (c, &a) in c.iter_mut().zip(a) {
            *c -= b * a;
        }
    }
}

/// `c` −= `a`ᵀ `b`, where `a` is stored column after column.
fn subtract_transposed_product<T: Scalar>(c: &mut [T], a: &[f64], b: &[T]) {
    for (c, a) in c.iter_mut().zip(a.chunks_exact(b.len().max(1))) {
        for (&a, &b) in a.iter().zip(b) {
            *c -= b * a;
        }
    }
}

/// x ← d⁻¹ x, where `d` holds l and u of P d = l u as [`super::dense::factor`] leaves them.
fn divide<T: Scalar>(x: &mut [T], d: &[f64], exchanges: &[usize]) {
    let n = x.len();
    for (k, &other) in exchanges.iter().enumerate() {
        x.swap(k, other);
    }
    for k in 0..n {
        for i in k + 1..n {
            let t = x[k] * d[k * n + i];
            x[i] -= t;
        }
    }
    for k in (0..n).rev() {
        x[k] *= d[k * n + k];
        for i in 0..k {
            let t = x[k] * d[k * n + i];
            x[i] -= t;
        }
    }
}

impl Factors {
    /// x ← K⁻¹ x for a vector of scalars of any kind, as [`Mechanism::solve`].
    pub(crate) fn solve_scalars<T: Scalar>(&self, x: &mut [T]) {
        for pivot in &self.pivots {
            for block in self.coupled(pivot) {
                let (from, to) = two_parts(x, (pivot.start, pivot.size), (block.start, block.size));
                subtract_product(to, self.lower(pivot, block), from);
            }
        }
        for pivot in self.pivots.iter().rev() {
            let (diagonal, exchanges) = self.diagonal(pivot);
            let own = pivot.start..pivot.start + pivot.size;
            if self.kind == Values::PositiveDefinite {
                divide(&mut x[own.clone()], diagonal, exchanges);
            }
            for block in self.coupled(pivot) {
                let (to, from) = two_parts(x, (pivot.start, pivot.size), (block.start, block.size));
                match self.kind {
                    Values::PositiveDefinite => {
                        subtract_transposed_product(to, self.lower(pivot, block), from);
                    }
                    Values::General => subtract_product(to, self.upper(pivot, block), from),
                }
            }
            if self.kind == Values::General {
                divide(&mut x[own], diagonal, exchanges);
            }
        }
    }
}
