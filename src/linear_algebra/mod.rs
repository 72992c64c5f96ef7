//! Systems of linear equations in blocks, and complementarity problems: they know bodies and steps by the sizes of
//! blocks alone.

mod block_factor;
mod complementarity;
mod lemke;
mod sparse_lu;

pub(crate) use block_factor::{BlockFactor, Factors, MinimalResidual, Values};
pub(crate) use complementarity::{MixedProblem, NewtonLimits, jacobian, solve_mixed};
pub(crate) use lemke::{Lemke, Outcome as LemkeOutcome};

/// The sum of the products of two lists, in their order.
#[inline]
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
