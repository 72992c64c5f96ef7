//! Solutions with the factorization of another matrix: generalized minimal residuals.

use super::BlockFactor;
use super::elimination_order::refill;
use crate::linear_algebra::dot;

/// The generalized minimal residual method (Saad & Schultz 1986, SIAM J. Sci. Stat. Comput. 7(3)),
/// with a factorization of a matrix close to K on the right, and its memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct MinimalResidual {
    /// Orthonormal vectors, one after the other.
    basis: Vec<f64>,
    /// The upper triangular matrix that the rotations leave, column k of k + 1 numbers after
    /// column.
    triangle: Vec<f64>,
    rotations: Vec<(f64, f64)>,
    /// The rotated right-hand side.
    right: Vec<f64>,
    vector: Vec<f64>,
}

impl MinimalResidual {
    /// Replaces `x` by K⁻¹ x up to a residual of `accuracy` times the length of x, with lengths weighted
    /// by `weight`. The blocks of `factor` hold K; its factorization is that of a matrix close to K.
    /// False, with `x` as it was, if that takes more than `most` products with K.
    pub(crate) fn solve(
        &mut self,
        factor: &BlockFactor,
        weight: &[f64],
        x: &mut [f64],
        accuracy: f64,
        most: usize,
    ) -> bool {
        let n = x.len();
        self.triangle.clear();
        self.rotations.clear();
        self.right.clear();
        self.basis.clear();
        refill(&mut self.vector, n, 0.0);
        self.basis.extend(x.iter().zip(weight).map(|(x, w)| x * w));
        let length = norm(&self.basis);
        if length == 0.0 {
            return true;
        }
        self.basis.iter_mut().for_each(|b| *b /= length);
        self.right.push(length);
        for k in 0..most {
            // D K P⁻¹ D⁻¹ of the last vector, with P factorized and the weights D.
            for ((v, b), w) in self.vector.iter_mut().zip(&self.basis[n * k..]).zip(weight) {
                *v = b / w;
            }
            factor.factors().solve(&mut self.vector);
            self.basis.resize(n * (k + 2), 0.0);
            let (before, next) = self.basis.split_at_mut(n * (k + 1));
            factor.subtract_product(&self.vector, next);
            next.iter_mut().zip(weight).for_each(|(next, w)| *next *= -w);
            let first = self.triangle.len();
            for b in before.chunks_exact(n) {
                let part = dot(b, next);
                next.iter_mut().zip(b).for_each(|(next, b)| *next -= part * b);
                self.triangle.push(part);
            }
            let left = norm(next);
            if !left.is_finite() {
                return false;
            }
            let column = &mut self.triangle[first..];
            for (i, &(cos, sin)) in self.rotations.iter().enumerate() {
                (column[i], column[i + 1]) =
                    (cos * column[i] + sin * column[i + 1], cos * column[i + 1] - sin * column[i]);
            }
            let diagonal = column[k].hypot(left);
            if diagonal == 0.0 {
                return false;
            }
            let (cos, sin) = (column[k] / diagonal, left / diagonal);
            column[k] = diagonal;
            self.rotations.push((cos, sin));
            let right = self.right[k];
            self.right[k] = cos * right;
            self.right.push(-sin * right);
            if self.right[k + 1].abs() <= accuracy * length {
                self.combine(factor, weight, x);
                return true;
            }
            next.iter_mut().for_each(|next| *next /= left);
        }
        false
    }

    /// P⁻¹ D⁻¹ of the combination of the vectors that leaves the least residual.
    fn combine(&mut self, factor: &BlockFactor, weight: &[f64], x: &mut [f64]) {
        let n = x.len();
        let entry = |i: usize, k: usize| self.triangle[k * (k + 1) / 2 + i];
        for k in (0..self.rotations.len()).rev() {
            self.right[k] /= entry(k, k);
            for i in 0..k {
                self.right[i] -= self.right[k] * entry(i, k);
            }
        }
        x.fill(0.0);
        for (b, part) in self.basis.chunks_exact(n).zip(&self.right[..self.rotations.len()]) {
            x.iter_mut().zip(b).for_each(|(x, b)| *x += part * b);
        }
        x.iter_mut().zip(weight).for_each(|(x, w)| *x /= w);
        factor.factors().solve(x);
    }
}

fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}
