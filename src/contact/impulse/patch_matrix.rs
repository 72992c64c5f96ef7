//! Sums over points of Lᵀ G L, with a 3×3 matrix G of each point x and the velocity L = (−\[x\]× 1)
//! of the point by the relative motion: how point contacts make up a patch's 6×6 matrix.

use nalgebra::{Matrix3, Matrix6};

use crate::contact::lanes::{LaneVector, Lanes};
use crate::spatial::cross_matrix;

/// The blocks of the sum for symmetric G, but for those that mirror others.
pub(in crate::contact) struct PointSum<L> {
    /// \[x\]× G \[x\]×ᵀ: xx, xy, xz, yy, yz, zz.
    angular: [L; 6],
    /// \[x\]× G, column after column.
    coupling: [L; 9],
    /// G, as `angular`.
    linear: [L; 6],
}

impl<L: Lanes> PointSum<L> {
    /// No points.
    #[inline(always)]
    pub fn zero(one: L) -> Self {
        let zero = one.splat(0.0);
        Self { angular: [zero; 6], coupling: [zero; 9], linear: [zero; 6] }
    }

    /// Adds points `x` with their G: xx, xy, xz, yy, yz, zz.
    #[inline(always)]
    pub fn add(&mut self, x: LaneVector<L>, g: [L; 6]) {
        let [xx, xy, xz, yy, yz, zz] = g;
        // No closures here: a function of its own would not have the registers of the caller.
        let a = x.cross(LaneVector([xx, xy, xz])).0;
        let b = x.cross(LaneVector([xy, yy, yz])).0;
        let c = x.cross(LaneVector([xz, yz, zz])).0;
        // The rows of [x]× G times [x]×ᵀ are x × rows.
        let [x, y, z] = x.0;
        let angular = [
            y * c[0] - z * b[0],
            z * a[0] - x * c[0],
            x * b[0] - y * a[0],
            z * a[1] - x * c[1],
            x * b[1] - y * a[1],
            x * b[2] - y * a[2],
        ];
        for k in 0..6 {
            self.linear[k] = self.linear[k] + g[k];
            self.angular[k] = self.angular[k] + angular[k];
        }
        for k in 0..3 {
            self.coupling[k] = self.coupling[k] + a[k];
            self.coupling[3 + k] = self.coupling[3 + k] + b[k];
            self.coupling[6 + k] = self.coupling[6 + k] + c[k];
        }
    }

    /// The 6×6 matrix.
    #[inline(always)]
    pub fn matrix(&self) -> Matrix6<f64> {
        let mut matrix = Matrix6::zeros();
        let mut set = |row: usize, column: usize, entry: L| {
            let entry = entry.sum();
            matrix[(row, column)] = entry;
            matrix[(column, row)] = entry;
        };
        for (k, (row, column)) in [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)].into_iter().enumerate() {
            set(row, column, self.angular[k]);
            set(3 + row, 3 + column, self.linear[k]);
        }
        for k in 0..9 {
            set(k % 3, 3 + k / 3, self.coupling[k]);
        }
        matrix
    }
}

/// The blocks of the sum for G = \[g\]×.
pub(in crate::contact) struct TwistedSum<L> {
    /// g.
    linear: LaneVector<L>,
    /// g xᵀ, column after column.
    coupling: [LaneVector<L>; 3],
    /// (x·g) x, as \[x\]× \[g\]× \[x\]× = −(x·g) \[x\]×.
    angular: LaneVector<L>,
}

impl<L: Lanes> TwistedSum<L> {
    /// No points.
    #[inline(always)]
    pub fn zero(one: L) -> Self {
        let zero = LaneVector([one.splat(0.0); 3]);
        Self { linear: zero, coupling: [zero; 3], angular: zero }
    }

    /// Adds points `x` with their g.
    #[inline(always)]
    pub fn add(&mut self, x: LaneVector<L>, g: LaneVector<L>) {
        self.linear = self.linear + g;
        self.angular = self.angular + x.times(x.dot(g));
        for k in 0..3 {
            self.coupling[k] = self.coupling[k] + g.times(x.0[k]);
        }
    }

    /// Adds the sum to a 6×6 matrix.
    #[inline(always)]
    pub fn add_to(&self, matrix: &mut Matrix6<f64>) {
        let (linear, angular) = (cross_matrix(&self.linear.sum()), cross_matrix(&self.angular.sum()));
        // [x]× [g]× = g xᵀ − (x·g) 1.
        let mut coupling = Matrix3::from_columns(&self.coupling.map(LaneVector::sum));
        let trace = coupling.trace();
        for k in 0..3 {
            coupling[(k, k)] -= trace;
        }
        for k in 0..3 {
            for i in 0..3 {
                matrix[(i, k)] += angular[(i, k)];
                matrix[(i, 3 + k)] += coupling[(i, k)];
                matrix[(3 + i, k)] -= coupling[(k, i)];
                matrix[(3 + i, 3 + k)] += linear[(i, k)];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contact::lanes::Narrow;
    use approx::assert_relative_eq;
    use nalgebra::{Matrix3x6, Vector3};

    #[test]
    fn sums_are_those_of_products() {
        let number = |k: usize| (1.7 * k as f64 + 0.3).sin();
        let vector = |k: usize| Vector3::new(number(k), number(k + 1), number(k + 2));
        let (mut sum, mut twisted) = (PointSum::zero(Narrow::ANY), TwistedSum::zero(Narrow::ANY));
        let mut expected = Matrix6::zeros();
        for group in 0..3 {
            let points: Vec<_> = (0..4).map(|k| vector(20 * group + 5 * k)).collect();
            let twists: Vec<_> = (0..4).map(|k| vector(100 + 20 * group + 5 * k)).collect();
            let symmetric: [[f64; 4]; 6] =
                std::array::from_fn(|i| std::array::from_fn(|k| number(200 + 40 * group + 6 * k + i)));
            let x = LaneVector::of(Narrow::ANY, &points, [0, 1, 2, 3]);
            sum.add(x, symmetric.map(|g| Narrow::ANY.with(g)));
            twisted.add(x, LaneVector::of(Narrow::ANY, &twists, [0, 1, 2, 3]));
            for k in 0..4 {
                let [xx, xy, xz, yy, yz, zz] = symmetric.map(|g| g[k]);
                let g = Matrix3::new(xx, xy, xz, xy, yy, yz, xz, yz, zz) + cross_matrix(&twists[k]);
                let mut l = Matrix3x6::zeros();
                l.fixed_columns_mut::<3>(0).copy_from(&-cross_matrix(&points[k]));
                l.fixed_columns_mut::<3>(3).copy_from(&Matrix3::identity());
                expected += l.transpose() * g * l;
            }
        }
        let mut matrix = sum.matrix();
        assert_eq!(matrix, matrix.transpose());
        twisted.add_to(&mut matrix);
        assert_relative_eq!(matrix, expected, epsilon = 1e-13);
    }
}
