//! The coefficients against the conditions that define them.

use approx::assert_abs_diff_eq;
use nalgebra::{Complex, DMatrix};

use super::super::coefficients::RadauOrder;
use super::super::stages::{StageError, Stages};

fn matrix(rows: &[&[f64]]) -> DMatrix<f64> {
    DMatrix::from_fn(rows.len(), rows.len(), |i, j| rows[i][j])
}

/// Butcher's simplifying assumptions: B(2s − 1), that the quadrature is exact for polynomials up to degree
/// 2s − 2, C(s), that each stage is for those up to degree s − 1, and D(s − 1).
#[test]
fn simplifying_assumptions() {
    for order in RadauOrder::ALL {
        let (s, c) = (order.stages(), order.coefficients());
        let (a, weights) = (c.matrix, c.matrix[s - 1]);
        assert_eq!((c.nodes.len(), c.nodes[s - 1], order.number()), (s, 1.0, 2 * s as i32 - 1));
        for k in 1..2 * s {
            let power = |j: usize| c.nodes[j].powi(k as i32 - 1);
            let sum: f64 = (0..s).map(|j| weights[j] * power(j)).sum();
            assert_abs_diff_eq!(sum, 1.0 / k as f64, epsilon = 1e-15);
            for i in 0..s {
                if k <= s {
                    let sum: f64 = (0..s).map(|j| a[i][j] * power(j)).sum();
                    assert_abs_diff_eq!(sum, c.nodes[i].powi(k as i32) / k as f64, epsilon = 1e-15);
                }
                if k < s {
                    let sum: f64 = (0..s).map(|j| weights[j] * power(j) * a[j][i]).sum();
                    let exact = weights[i] * (1.0 - c.nodes[i].powi(k as i32)) / k as f64;
                    assert_abs_diff_eq!(sum, exact, epsilon = 1e-15);
                }
            }
        }
    }
}

/// A⁻¹ T = T Λ and T T⁻¹ = 1.
#[test]
fn transformation_is_one_to_eigenvectors() {
    for order in RadauOrder::ALL {
        let (s, c) = (order.stages(), order.coefficients());
        let mut eigenvalues = DMatrix::zeros(s, s);
        if let Some(real) = c.real_eigenvalue {
            eigenvalues[(0, 0)] = real;
        }
        if let Some(Complex { re, im }) = c.complex_eigenvalue {
            eigenvalues.view_mut((s - 2, s - 2), (2, 2)).copy_from(&DMatrix::from_row_slice(
                2,
                2,
                &[re, -im, im, re],
            ));
        }
        let (a, t, inverse) = (matrix(c.matrix), matrix(c.transformation), matrix(c.inverse_transformation));
        assert_abs_diff_eq!(&a * &t * eigenvalues, t, epsilon = 3e-15);
        assert_abs_diff_eq!(&t * inverse, DMatrix::identity(s, s), epsilon = 3e-15);
    }
}

/// The slope at the start of the polynomials θ, θ², …, θˢ is 1, 0, …, 0.
#[test]
fn slope_of_polynomials() {
    for order in RadauOrder::ALL {
        let c = order.coefficients();
        for k in 1..=order.stages() {
            let slope: f64 =
                c.initial_slope.iter().zip(c.nodes).map(|(d, node)| d * node.powi(k as i32)).sum();
            assert_abs_diff_eq!(slope, if k == 1 { 1.0 } else { 0.0 }, epsilon = 5e-15);
        }
    }
}

/// The factor γ/(γ − z), or |μ|²/|μ − z|² for two stages, for single equations.
#[test]
fn damping_of_stiff_components() {
    for order in RadauOrder::ALL {
        let c = order.coefficients();
        for z in [1e-9, -1e-3, -1.0, -50.0, -1e9] {
            let exact = c.real_eigenvalue.map_or_else(
                || c.complex_eigenvalue.map_or(f64::NAN, |m| m.norm_sqr() / (m - z).norm_sqr()),
                |gamma| gamma / (gamma - z),
            );
            let mut stages = Stages::default();
            let length = 0.25;
            stages.factorize(order, length, &DMatrix::from_element(1, 1, z / length)).expect("solved");
            let mut vector = [3.0];
            stages.damp(&mut vector).expect("solved");
            assert_abs_diff_eq!(vector[0], 3.0 * exact, epsilon = 1e-15 + 1e-13 * exact.abs());
        }
    }
}

#[test]
fn what_cannot_be_factorized() {
    let (mut stages, order) = (Stages::default(), RadauOrder::First);
    assert_eq!(stages.damp(&mut [1.0]), Err(StageError::Shape));
    assert_eq!(stages.factorize(order, 1.0, &DMatrix::zeros(2, 3)), Err(StageError::Shape));
    for (length, entry) in [(1.0, 1.0), (1.0, f64::NAN), (0.0, 1.0), (f64::NAN, 1.0), (f64::INFINITY, 1.0)] {
        let jacobian = DMatrix::from_element(1, 1, entry);
        assert_eq!(stages.factorize(order, length, &jacobian), Err(StageError::Singular));
    }
}
