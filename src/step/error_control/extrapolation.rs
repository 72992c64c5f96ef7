//! The extrapolation of two solutions of order 1 to one of order 2.
//!
//! With one step of length h to x₁ and two of length h/2 to x₂ the error of x₂ is x₁ − x₂ up to terms of higher
//! order, so that 2 x₂ − x₁ is of order 2 (Hairer, Nørsett and Wanner, II.9). Quaternions are
//! extrapolated in their four numbers and normalized.

use nalgebra::{DMatrix, Matrix3, Vector3};

use crate::multibody::tree::quaternion;
use crate::multibody::{State, TANGENT_DIMENSION};
use crate::scalar::Scalar;
use crate::spatial::{Quaternion, cross_matrix};

/// 2 q₂ − q₁ of two nearby orientations, before it is normalized.
fn extrapolated_quaternion<T: Scalar>(whole: &Quaternion<T>, halves: &Quaternion<T>) -> Quaternion<T> {
    let sign = T::from(sign(whole, halves));
    Quaternion { w: halves.w * 2.0 - whole.w * sign, v: halves.v * T::from(2.0) - whole.v * sign }
}

/// The sign that the first quaternion takes to be near the second: q and −q are the same orientation.
fn sign<T: Scalar>(whole: &Quaternion<T>, halves: &Quaternion<T>) -> f64 {
    let same = (whole.w * halves.w + whole.v.dot(&halves.v)).real() >= 0.0;
    if same { 1.0 } else { -1.0 }
}

/// Changes the state after two steps of half the length to 2 x₂ − x₁, with the state x₁ after one of the whole
/// length.
pub(super) fn extrapolate<T: Scalar>(whole: &State<T>, halves: &mut State<T>) {
    let (two, linear) = (T::from(2.0), |x: &mut T, whole: &T| *x = *x * 2.0 - *whole);
    for (whole, halves) in whole.bodies.iter().zip(&mut halves.bodies) {
        halves.orientation = extrapolated_quaternion(&whole.orientation, &halves.orientation).normalized();
        halves.position = halves.position * two - whole.position;
        halves.velocity.rotational = halves.velocity.rotational * two - whole.velocity.rotational;
        halves.velocity.translational = halves.velocity.translational * two - whole.velocity.translational;
    }
    for (whole, halves) in whole.bristles.iter().zip(&mut halves.bristles) {
        halves.rotation = halves.rotation * two - whole.rotation;
        halves.translation = halves.translation * two - whole.translation;
    }
    let (whole, halves) = (&whole.joints, &mut halves.joints);
    halves.v.iter_mut().zip(&whole.v).for_each(|(x, whole)| linear(x, whole));
    whole.for_each_joint(|kind, q, _| {
        let mut rest = q.clone();
        if kind.is_spherical() {
            let four = q.start..q.start + 4;
            let turned = extrapolated_quaternion(&quaternion(&whole.q[q.clone()]), &quaternion(&halves.q[q]));
            let Quaternion { w, v } = turned.normalized();
            halves.q[four.clone()].copy_from_slice(&[w, v.x, v.y, v.z]);
            rest.start = four.end;
        }
        halves.q[rest.clone()].iter_mut().zip(&whole.q[rest]).for_each(|(x, whole)| linear(x, whole));
    });
}

/// How the rotation vector that turns the extrapolated orientation follows those that turn the orientations
/// after one step of the whole length and after two of half the length: with θ for both and q' for the
/// extrapolated one, the vector part of (2 θ₂ q₂ − θ₁ q₁) q'* over the length of 2 q₂ − q₁.
fn rotation_jacobians(whole: &Quaternion<f64>, halves: &Quaternion<f64>) -> [Matrix3<f64>; 2] {
    let q = extrapolated_quaternion(whole, halves);
    let square = q.w * q.w + q.v.dot(&q.v);
    let conjugate = Quaternion { w: q.w, v: -q.v };
    // θ (w, r) has the vector part w θ + θ × r.
    let part = |q: &Quaternion<f64>, weight: f64| {
        let r = q.times(&conjugate);
        (Matrix3::identity() * r.w - cross_matrix(&r.v)) * (weight / square)
    };
    [part(whole, -sign(whole, halves)), part(halves, 2.0)]
}

/// Calls `visit` for each rotation of a state, with its first direction in the tangent space, and its
/// derivatives with respect to the rotations of both states.
fn for_each_rotation([whole, halves]: [&State; 2], mut visit: impl FnMut(usize, &[Matrix3<f64>; 2])) {
    for (i, (whole, halves)) in whole.bodies.iter().zip(&halves.bodies).enumerate() {
        visit(i * TANGENT_DIMENSION, &rotation_jacobians(&whole.orientation, &halves.orientation));
    }
    let (first, whole, halves) = (whole.body_tangent_dimension(), &whole.joints, &halves.joints);
    whole.for_each_joint(|kind, q, v| {
        if kind.is_spherical() {
            let of_halves = quaternion(&halves.q[q.clone()]);
            visit(first + v.start, &rotation_jacobians(&quaternion(&whole.q[q]), &of_halves));
        }
    });
}

/// From the derivatives of one number with respect to the extrapolated state to those with respect to the
/// state after two steps of half the length, in `by`, and after one of the whole length, in `by_whole`.
pub(super) fn extrapolation_vjp(states: [&State; 2], by: &mut [f64], by_whole: &mut Vec<f64>) {
    by_whole.clear();
    by_whole.extend(by.iter().map(|x| -x));
    by.iter_mut().for_each(|x| *x *= 2.0);
    for_each_rotation(states, |first, [of_whole, of_halves]| {
        let g = Vector3::new(by_whole[first], by_whole[first + 1], by_whole[first + 2]) * -1.0;
        let (whole, halves) = (of_whole.transpose() * g, of_halves.transpose() * g);
        for k in 0..3 {
            (by_whole[first + k], by[first + k]) = (whole[k], halves[k]);
        }
    });
}

/// The rows of a derivative of the extrapolated state, from those of the state after one step of the
/// whole length and after two of half the length.
pub(super) fn extrapolated_rows(
    states: [&State; 2],
    whole: &DMatrix<f64>,
    halves: &DMatrix<f64>,
) -> DMatrix<f64> {
    let mut rows = halves * 2.0 - whole;
    for_each_rotation(states, |first, [of_whole, of_halves]| {
        let turned = of_whole * whole.fixed_rows::<3>(first) + of_halves * halves.fixed_rows::<3>(first);
        rows.fixed_rows_mut::<3>(first).copy_from(&turned);
    });
    rows
}
