//! The velocity at a face, by its normal and its tangential part.

use nalgebra::Vector3;

use crate::scalar::Scalar;

/// The part of a velocity normal to a face, and its tangential part.
///
/// The normal part that rounding leaves in the tangential velocity is removed as well: sticking friction
/// multiplies it by up to 10⁵ times a body's inertia, and it acts along the normal.
#[inline(always)]
pub(in crate::contact) fn split<T: Scalar>(v: &Vector3<T>, n: &Vector3<T>) -> (T, Vector3<T>) {
    let v_n = v.dot(n);
    let v_t = v - n * v_n;
    (v_n, v_t - n * v_t.dot(n))
}
