//! The numbers everything is computed in.
//!
//! Every function from pressure field to trajectory is generic over a [`Scalar`]: `f64` for
//! values, or any copyable dual number of [`num_dual`] (`Dual64`, `DualSVec64<N>`,
//! `HyperDual64`, `Dual2_64`, …) for values with derivatives. The trait only gathers bounds, so
//! that they stay out of signatures.

mod dual_array;
mod registers;

pub use dual_array::DualArray;
pub(crate) use registers::{InRegisters, Registers, in_registers, with_registers};

use nalgebra::{Matrix3, Vector3};
use num_dual::DualNumCopy;

/// Derivatives that one evaluation in dual numbers carries where many are asked for (a *chunk* in `ForwardDiff.jl`): enough to
/// share the cost of the values, few enough for a processor's registers.
pub(crate) const CHUNK: usize = 8;

/// A real number or a dual number over `f64`.
///
/// Blanket-implemented: there is nothing to implement by hand. Comparisons between scalars use
/// the real part alone.
///
/// # Examples
/// A function that is written once, its value, and its derivative from a dual number:
/// ```
/// use isobar::scalar::Scalar;
/// use num_dual::Dual64;
///
/// /// The energy of a spring in J.
/// fn energy<T: Scalar>(stiffness: f64, stretch: T) -> T {
///     stretch * stretch * (0.5 * stiffness)
/// }
///
/// assert_eq!(energy(200.0, 0.1), 1.0000000000000002);
/// let energy = energy(200.0, Dual64::from(0.1).derivative());
/// // The derivative of the energy is the force.
/// assert!((energy.eps - 20.0).abs() < 1e-12);
/// ```
pub trait Scalar: DualNumCopy<Primitive = f64> {
    /// The real part: the value without its derivatives.
    fn real(&self) -> f64;
}

impl<T: DualNumCopy<Primitive = f64>> Scalar for T {
    #[inline]
    fn real(&self) -> f64 {
        self.re()
    }
}

/// A constant vector as scalars `T`: its derivatives are zero.
#[inline]
pub(crate) fn lift_vector<T: Scalar>(v: &Vector3<f64>) -> Vector3<T> {
    v.map(T::from)
}

/// A constant matrix as scalars `T`: its derivatives are zero.
#[inline]
pub(crate) fn lift_matrix<T: Scalar>(m: &Matrix3<f64>) -> Matrix3<T> {
    m.map(T::from)
}

/// The real parts of a vector.
#[inline]
pub(crate) fn real_vector<T: Scalar>(v: &Vector3<T>) -> Vector3<f64> {
    v.map(|x| x.real())
}

/// The real parts of a matrix.
#[inline]
pub(crate) fn real_matrix<T: Scalar>(m: &Matrix3<T>) -> Matrix3<f64> {
    m.map(|x| x.real())
}
