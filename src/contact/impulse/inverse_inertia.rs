//! How the inverse effective mass w at a face follows the inverse inertia Λ of the pair's relative
//! motion and the face's place.

use nalgebra::{Matrix6, Vector3};

use crate::contact::impulse::polygon_motion::cross;

/// Different numbers of a symmetric 6×6 matrix.
const NUMBERS: usize = 21;

/// The derivatives of a number with respect to Λ, a symmetric matrix.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ByInverseInertia {
    /// The rotational quarter's xx, xy, xz, yy, yz, zz; the quarter of rotational rows and
    /// translational columns, row by row; the translational quarter as the rotational one.
    numbers: [f64; NUMBERS],
}

/// The different numbers of a symmetric 3×3 matrix from its rows.
#[inline(always)]
fn symmetric(rows: &[Vector3<f64>; 3]) -> [f64; 6] {
    let [x, y, z] = rows;
    [x.x, x.y, x.z, y.y, y.z, z.z]
}

/// The row of a symmetric 3×3 matrix.
#[inline(always)]
fn rows([xx, xy, xz, yy, yz, zz]: [f64; 6]) -> [Vector3<f64>; 3] {
    [Vector3::new(xx, xy, xz), Vector3::new(xy, yy, yz), Vector3::new(xz, yz, zz)]
}

impl ByInverseInertia {
    /// No dependence.
    pub const ZERO: Self = Self { numbers: [0.0; NUMBERS] };

    /// Adds a multiple of other derivatives.
    #[inline(always)]
    pub fn add(&mut self, other: &Self, by: f64) {
        for (sum, x) in self.numbers.iter_mut().zip(&other.numbers) {
            *sum += x * by;
        }
    }

    pub fn matrix(&self) -> Matrix6<f64> {
        let n = &self.numbers;
        let (rotational, translational) = (|k: usize| n[k], |k: usize| n[15 + k]);
        let mut m = Matrix6::zeros();
        let mut k = 0;
        for i in 0..3 {
            for j in i..3 {
                (m[(i, j)], m[(j, i)]) = (rotational(k), rotational(k));
                (m[(3 + i, 3 + j)], m[(3 + j, 3 + i)]) = (translational(k), translational(k));
                k += 1;
            }
            for j in 0..3 {
                (m[(i, 3 + j)], m[(3 + j, i)]) = (n[6 + 3 * i + j], n[6 + 3 * i + j]);
            }
        }
        m
    }
}

/// The derivatives of w = ‖L Λ Lᵀ‖/3 (see [`crate::contact::impulse::point_contacts::inverse_effective_mass`]) by the
/// position and by Λ, where `w` is known.
#[inline(always)]
pub(in crate::contact) fn inverse_effective_mass_slopes(
    lambda: &Matrix6<f64>,
    x: &Vector3<f64>,
    w: f64,
) -> (Vector3<f64>, ByInverseInertia) {
    let quarter = |row: usize, column: usize, i: usize| {
        Vector3::new(
            lambda[(3 * row + i, 3 * column)],
            lambda[(3 * row + i, 3 * column + 1)],
            lambda[(3 * row + i, 3 * column + 2)],
        )
    };
    // L = (−[x]× 1). The rows of the upper half of Λ Lᵀ, U = Λ_rr [x]× + Λ_rt, ...
    let upper = [0, 1, 2].map(|i| cross(&quarter(0, 0, i), x) + quarter(0, 1, i));
    // ... of the lower one, V = Λ_tr [x]× + Λ_tt, and of L Λ Lᵀ = V − [x]× U, which is symmetric.
    let lower = [0, 1, 2].map(|i| cross(&quarter(1, 0, i), x) + quarter(1, 1, i));
    let block = rows(symmetric(&[
        lower[0] - (upper[2] * x.y - upper[1] * x.z),
        lower[1] - (upper[0] * x.z - upper[2] * x.x),
        lower[2] - (upper[1] * x.x - upper[0] * x.y),
    ]));
    // dw = block : d(L Λ Lᵀ) / (9 w), and 2 block : (−[dx]× U) is twice the axial vector of U block.
    let scale = 1.0 / (9.0 * w);
    let product = |i: usize, k: usize| upper[i].dot(&block[k]);
    let by_x = Vector3::new(
        product(2, 1) - product(1, 2),
        product(0, 2) - product(2, 0),
        product(1, 0) - product(0, 1),
    ) * (2.0 * scale);
    let block = block.map(|row| row * scale);
    // Lᵀ block L: [x]× block, and −[x]× block [x]×.
    let turned =
        [block[2] * x.y - block[1] * x.z, block[0] * x.z - block[2] * x.x, block[1] * x.x - block[0] * x.y];
    let twice = symmetric(&turned.map(|row| cross(x, &row)));
    let own = symmetric(&block);
    let mut by_lambda = ByInverseInertia::ZERO;
    by_lambda.numbers[..6].copy_from_slice(&twice);
    for (i, row) in turned.iter().enumerate() {
        by_lambda.numbers[6 + 3 * i..9 + 3 * i].copy_from_slice(row.as_slice());
    }
    by_lambda.numbers[15..].copy_from_slice(&own);
    (by_x, by_lambda)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contact::impulse::point_contacts::inverse_effective_mass;
    use approx::assert_relative_eq;

    #[test]
    fn slopes_agree_with_differences() {
        let root = Matrix6::from_fn(|i, k| ((3 * i + 5 * k) as f64).sin() + if i == k { 3.0 } else { 0.0 });
        let lambda = root * root.transpose();
        let x = Vector3::new(0.3, -0.7, 0.45);
        let w = |lambda: &Matrix6<f64>, x: &Vector3<f64>| inverse_effective_mass(lambda, x);
        let (by_x, by_lambda) = inverse_effective_mass_slopes(&lambda, &x, w(&lambda, &x));
        let h = 1e-5;
        for k in 0..3 {
            let step = Vector3::ith(k, h);
            let difference = (w(&lambda, &(x + step)) - w(&lambda, &(x - step))) / (2.0 * h);
            assert_relative_eq!(by_x[k], difference, max_relative = 1e-8);
        }
        let by_lambda = by_lambda.matrix();
        for i in 0..6 {
            for k in 0..6 {
                // Along a symmetric change.
                let mut step = Matrix6::zeros();
                step[(i, k)] += 0.5 * h;
                step[(k, i)] += 0.5 * h;
                let difference = (w(&(lambda + step), &x) - w(&(lambda - step), &x)) / (2.0 * h);
                assert_relative_eq!(by_lambda[(i, k)], difference, max_relative = 1e-7, epsilon = 1e-9);
                assert_eq!(by_lambda[(i, k)], by_lambda[(k, i)]);
            }
        }
    }
}
