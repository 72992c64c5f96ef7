//! Mixed complementarity problems: g(u, w) = 0 and 0 ≤ w ⟂ F(u, w) ≥ 0.
//!
//! Fischer's function φ(a, b) = √(a² + b²) − a − b vanishes exactly where a ≥ 0, b ≥ 0 and ab = 0, so that the problem
//! is the system of equations H = (g, φ(w, F)) = 0. It is solved by a semismooth Newton method with a line search on
//! ½‖H‖² (De Luca, Facchinei and Kanzow 1996). Where the Jacobian is singular, or the direction does not go down, the
//! step is one of Levenberg and Marquardt with a damping that falls with the residual, which converges quadratically
//! to one of many solutions too (Yamashita and Fukushima 2001).

use nalgebra::{DMatrix, DVector};

use super::sparse_lu::SparseLu;
use crate::scalar::{CHUNK, DualArray, Scalar};

/// The part of the tolerance that an iteration tries to get to.
const SMALL_PART: f64 = 1e-3;

/// A mixed complementarity problem.
pub(crate) trait MixedProblem {
    /// The number of equations, which is that of the variables u that come first.
    fn equations(&self) -> usize;

    /// The number of complementary pairs.
    fn pairs(&self) -> usize;

    /// Writes g and then F at the variables (u, w).
    fn evaluate<T: Scalar>(&self, variables: &[T], out: &mut Vec<T>);

    /// The derivatives of g and F with respect to the variables.
    fn slopes(&self, variables: &[f64]) -> DMatrix<f64>
    where
        Self: Sized,
    {
        jacobian(self, variables)
    }
}

/// When an iteration ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewtonLimits {
    /// The largest element of H that is allowed.
    pub tolerance: f64,
    /// The most iterations.
    pub iterations: usize,
}

/// How an iteration ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct NewtonOutcome {
    /// Whether the residual is within the tolerance.
    pub converged: bool,
    /// Iterations taken.
    pub iterations: usize,
    /// The largest element of H that is left.
    pub residual: f64,
}

/// φ(a, b), such that differences of equal numbers do not spoil it near the solution.
fn fischer(a: f64, b: f64) -> f64 {
    let root = a.hypot(b);
    // √(a² + b²) − a − b = −2ab / (√(a² + b²) + a + b).
    let sum = root + a + b;
    if a > 0.0 && b > 0.0 { -2.0 * a * b / sum } else { root - a - b }
}

/// An element of the generalized gradient of φ.
fn fischer_slopes(a: f64, b: f64) -> (f64, f64) {
    let root = a.hypot(b);
    if root > 0.0 {
        (a / root - 1.0, b / root - 1.0)
    } else {
        let part = std::f64::consts::FRAC_1_SQRT_2 - 1.0;
        (part, part)
    }
}

/// The derivatives of a problem in dual numbers, a chunk of variables at a time.
pub(crate) fn jacobian<P: MixedProblem>(problem: &P, variables: &[f64]) -> DMatrix<f64> {
    let size = variables.len();
    let mut matrix = DMatrix::zeros(size, size);
    let mut lifted: Vec<DualArray<CHUNK>> = variables.iter().map(|&x| DualArray::constant(x)).collect();
    let mut out = Vec::with_capacity(size);
    for first in (0..size).step_by(CHUNK) {
        let chunk = first..size.min(first + CHUNK);
        chunk.clone().for_each(|k| lifted[k] = DualArray::variable(variables[k], k - first));
        problem.evaluate(&lifted, &mut out);
        for (row, value) in out.iter().enumerate() {
            chunk.clone().for_each(|k| matrix[(row, k)] = value.eps[k - first]);
        }
        chunk.for_each(|k| lifted[k] = DualArray::constant(variables[k]));
    }
    matrix
}

/// Looks for a solution from where the variables are, and leaves them at the best that was found.
pub(crate) fn solve_mixed<P: MixedProblem>(
    problem: &P,
    variables: &mut [f64],
    limits: &NewtonLimits,
) -> NewtonOutcome {
    let equations = problem.equations();
    let size = equations + problem.pairs();
    let mut values = Vec::with_capacity(size);
    // What is left of H, and the functions g and F as values.
    let residual = |variables: &[f64], values: &mut Vec<f64>| {
        problem.evaluate(variables, values);
        let mut left = DVector::from_column_slice(values);
        (equations..size).for_each(|i| left[i] = fischer(variables[i], values[i]));
        left
    };
    let mut h = residual(variables, &mut values);
    let mut iterations = 0;
    // The last step begins within the tolerance: derivatives are those of the exact solution.
    let mut is_last = false;
    while iterations < limits.iterations && !is_last && h.iter().all(|x| x.is_finite()) {
        let largest = h.amax();
        if largest <= limits.tolerance * SMALL_PART {
            break;
        }
        is_last = largest <= limits.tolerance;
        iterations += 1;
        let mut matrix = problem.slopes(variables);
        for i in equations..size {
            let (by_variable, by_function) = fischer_slopes(variables[i], values[i]);
            let mut row = matrix.row_mut(i);
            row *= by_function;
            row[i] += by_variable;
        }
        let merit = 0.5 * h.norm_squared();
        let slope_of = |direction: &DVector<f64>| (&matrix * direction).dot(&h);
        let factors = SparseLu::new(matrix.transpose());
        let newton = factors.map(|factors| factors.solve(&-&h)).filter(|direction| {
            // Where the matrix is nearly singular the direction is long and says little.
            let exact = &matrix * direction + &h;
            exact.amax() <= 1e-6 * h.amax() && direction.iter().all(|x| x.is_finite())
        });
        let damped = |damping: f64| {
            let mut normal = matrix.tr_mul(&matrix);
            (0..size).for_each(|i| normal[(i, i)] += damping);
            normal.cholesky().map(|factor| factor.solve(&-matrix.tr_mul(&h)))
        };
        let mut accepted = None;
        let mut damping = h.norm_squared().clamp(1e-14, 1.0);
        // A Newton direction that goes down only over a small part of it is none.
        let mut least = if newton.is_some() { 1e-2 } else { 1e-8 };
        // What is left of the last step is rounding where Newton's direction does not go down.
        let (mut direction, tries) =
            if is_last { (newton, 1) } else { (newton.or_else(|| damped(damping)), 6) };
        for tried in 1..=tries {
            let Some(along) = direction else { break };
            let slope = slope_of(&along).min(0.0);
            let mut part = 1.0;
            while part > least && accepted.is_none() {
                let moved: Vec<f64> = variables.iter().zip(along.iter()).map(|(x, d)| x + part * d).collect();
                let there = residual(&moved, &mut values);
                let reached = 0.5 * there.norm_squared();
                if reached <= merit + 1e-4 * part * slope && reached < merit {
                    accepted = Some((moved, there));
                }
                part *= 0.5;
            }
            if accepted.is_some() || tried == tries {
                break;
            }
            if least == 1e-8 {
                damping *= 100.0;
            }
            least = 1e-8;
            direction = damped(damping);
        }
        let Some((moved, there)) = accepted else { break };
        variables.copy_from_slice(&moved);
        h = there;
    }
    let residual = h.amax();
    NewtonOutcome { converged: residual <= limits.tolerance, iterations, residual }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Kojima and Shindo's problem, a usual test of nonlinear complementarity; it has the solutions
    /// (√6/2, 0, 0, 1/2) and (1, 0, 3, 0).
    struct KojimaShindo;

    impl MixedProblem for KojimaShindo {
        fn equations(&self) -> usize {
            0
        }

        fn pairs(&self) -> usize {
            4
        }

        fn evaluate<T: Scalar>(&self, x: &[T], out: &mut Vec<T>) {
            let [a, b, c, d] = [x[0], x[1], x[2], x[3]];
            out.clear();
            out.push(a * a * 3.0 + a * b * 2.0 + b * b * 2.0 + c + d * 3.0 - 6.0);
            out.push(a * a * 2.0 + a + b * b + c * 10.0 + d * 2.0 - 2.0);
            out.push(a * a * 3.0 + a * b + b * b * 2.0 + c * 2.0 + d * 9.0 - 9.0);
            out.push(a * a + b * b * 3.0 + c * 2.0 + d * 3.0 - 3.0);
        }
    }

    #[test]
    fn the_problem_of_kojima_and_shindo_is_solved_from_many_starts() {
        let limits = NewtonLimits { tolerance: 1e-12, iterations: 100 };
        let solutions = [[1.5f64.sqrt(), 0.0, 0.0, 0.5], [1.0, 0.0, 3.0, 0.0]];
        let mut found = [0; 2];
        for start in 0..81 {
            let digit = |k: u32| f64::from(start / 3i32.pow(k) % 3);
            let mut x = [digit(0), digit(1), digit(2), digit(3)];
            let outcome = solve_mixed(&KojimaShindo, &mut x, &limits);
            // The method finds stationary points of the residual from some starts, and says so.
            if outcome.converged {
                let of = solutions.iter().position(|s| s.iter().zip(&x).all(|(a, b)| (a - b).abs() < 1e-6));
                found[of.expect("one of the two solutions")] += 1;
            }
        }
        assert!(found[0] + found[1] > 65 && found[0] > 0, "{found:?}");
    }

    /// Equal loads on legs of a table: a positive semidefinite matrix with many solutions.
    struct Table;

    impl MixedProblem for Table {
        fn equations(&self) -> usize {
            1
        }

        fn pairs(&self) -> usize {
            4
        }

        fn evaluate<T: Scalar>(&self, x: &[T], out: &mut Vec<T>) {
            out.clear();
            let sum = x[1] + x[2] + x[3] + x[4];
            out.push(x[0] + sum - 3.0);
            out.extend((1..5).map(|_| -x[0]));
        }
    }

    #[test]
    fn a_problem_with_many_solutions_converges_to_one() {
        let mut x = [0.3, 2.0, 0.1, -0.5, 0.0];
        let outcome = solve_mixed(&Table, &mut x, &NewtonLimits { tolerance: 1e-12, iterations: 100 });
        assert!(outcome.converged, "{outcome:?}");
        assert!((x[1..].iter().sum::<f64>() - 3.0).abs() < 1e-9 && x[1..].iter().all(|x| *x > -1e-12));
    }

    #[test]
    fn fischers_function_vanishes_where_both_are_complementary() {
        for (a, b) in [(0.0, 0.0), (3.0, 0.0), (0.0, 2.0)] {
            assert!(fischer(a, b).abs() < 1e-15);
        }
        assert!(fischer(1.0, 1.0) < 0.0 && fischer(-1.0, 1.0) > 0.0);
        // The slopes are those of differences.
        for (a, b) in [(0.3, 1.2), (-0.4, 0.2), (2.0, -1.0)] {
            let (by_a, by_b) = fischer_slopes(a, b);
            let d = 1e-6;
            assert!(((fischer(a + d, b) - fischer(a - d, b)) / (2.0 * d) - by_a).abs() < 1e-8);
            assert!(((fischer(a, b + d) - fischer(a, b - d)) / (2.0 * d) - by_b).abs() < 1e-8);
        }
    }
}
