//! Rotations: unit quaternions, the exponential map, roll–pitch–yaw.

use nalgebra::{Matrix3, Vector3};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::scalar::Scalar;

/// The matrix `[v]×` with `[v]× u = v × u`.
#[inline]
pub(crate) fn cross_matrix<T: Scalar>(v: &Vector3<T>) -> Matrix3<T> {
    let o = T::from(0.0);
    Matrix3::new(o, -v.z, v.y, v.z, o, -v.x, -v.y, v.x, o)
}

/// [v]× [v]×, which is v vᵀ − vᵀv 1, without the products with zeros.
#[inline]
fn cross_square<T: Scalar>(v: &Vector3<T>) -> Matrix3<T> {
    let [xx, yy, zz] = [v.x * v.x, v.y * v.y, v.z * v.z];
    let [xy, yz, zx] = [v.x * v.y, v.y * v.z, v.z * v.x];
    Matrix3::new(-zz - yy, xy, zx, xy, -zz - xx, yz, zx, yz, -yy - xx)
}

/// The product of a matrix and a vector. That of nalgebra also multiplies by one and adds to zero, which takes twice as
/// long in dual numbers.
#[inline]
pub(crate) fn times_vector<T: Scalar>(m: &Matrix3<T>, v: &Vector3<T>) -> Vector3<T> {
    let row = |i: usize| m[(i, 0)] * v.x + m[(i, 1)] * v.y + m[(i, 2)] * v.z;
    Vector3::new(row(0), row(1), row(2))
}

/// sin(√s)/√s and (1 − cos √s)/s as functions of s = θ², smooth at s = 0.
///
/// Below θ² = 10⁻² their power series is summed, so that no root of zero is ever taken; the
/// truncation error is below 10⁻¹⁶ there, and so is that of the derivatives up to the third.
fn sine_and_cosine_quotients<T: Scalar>(s: T) -> (T, T) {
    if s.real() < 1e-2 {
        let sine = (((s * (1.0 / 6_227_020_800.0) - 1.0 / 39_916_800.0) * s + 1.0 / 362_880.0) * s
            - 1.0 / 5040.0)
            * s
            + 1.0 / 120.0;
        let sine = (sine * s - 1.0 / 6.0) * s + 1.0;
        let cosine = (((s * (1.0 / 87_178_291_200.0) - 1.0 / 479_001_600.0) * s + 1.0 / 3_628_800.0) * s
            - 1.0 / 40_320.0)
            * s
            + 1.0 / 720.0;
        let cosine = (cosine * s - 1.0 / 24.0) * s + 0.5;
        (sine, cosine)
    } else {
        let angle = s.sqrt();
        let (sin, cos) = angle.sin_cos();
        (sin / angle, (T::from(1.0) - cos) / s)
    }
}

/// The rotation by the vector `v` (axis times angle, radians): the exponential of `[v]×`
/// (Rodrigues' formula), smooth at zero.
pub fn rotation_exponential<T: Scalar>(v: &Vector3<T>) -> Matrix3<T> {
    let (a, b) = sine_and_cosine_quotients(v.dot(v));
    Matrix3::identity() + cross_matrix(v) * a + cross_square(v) * b
}

/// [`rotation_exponential`] less the identity, without cancellation where the rotation is small.
pub(crate) fn rotation_exponential_less_identity<T: Scalar>(v: &Vector3<T>) -> Matrix3<T> {
    let (a, b) = sine_and_cosine_quotients(v.dot(v));
    cross_matrix(v) * a + cross_square(v) * b
}

/// (θ − sin θ)/θ³ as a function of s = θ², smooth at s = 0, from a = sin θ/θ. Below θ² = 10⁻² its
/// power series is summed; the first term left out is below 10⁻¹⁶.
fn cubic_quotient<T: Scalar>(s: T, a: T) -> T {
    if s.real() < 1e-2 {
        ((((s * (1.0 / 6_227_020_800.0) - 1.0 / 39_916_800.0) * s + 1.0 / 362_880.0) * s - 1.0 / 5040.0) * s
            + 1.0 / 120.0)
            * s
            * -1.0
            + 1.0 / 6.0
    } else {
        (T::from(1.0) - a) / s
    }
}

/// How the rotation by the vector `v` follows `v`, in the tangent space of the outer frame: the
/// matrix J with exp(v + δ) = exp(J δ) exp(v) to first order in δ (the left Jacobian of the
/// exponential map).
pub(crate) fn rotation_exponential_jacobian<T: Scalar>(v: &Vector3<T>) -> Matrix3<T> {
    let s = v.dot(v);
    let (a, b) = sine_and_cosine_quotients(s);
    Matrix3::identity() + cross_matrix(v) * b + cross_square(v) * cubic_quotient(s, a)
}

/// The mean of exp(s \[v\]×) u over 0 ≤ s ≤ 1: [`rotation_exponential_jacobian`] of `v` times `u`.
pub(crate) fn mean_rotation_of<T: Scalar>(v: &Vector3<T>, u: &Vector3<T>) -> Vector3<T> {
    let s = v.dot(v);
    let (a, b) = sine_and_cosine_quotients(s);
    let across = v.cross(u);
    u + across * b + v.cross(&across) * cubic_quotient(s, a)
}

/// The square of the angle from which [`half_tangent_quotient`] is constant, rad².
const LARGEST_HALF_TANGENT: f64 = 6.25;

/// tan(½√s)/√s = (1 − cos √s)/(√s sin √s) as a function of s = θ², smooth at s = 0. From θ = 2.5 rad on it is constant,
/// as it has a pole at half a turn.
pub(crate) fn half_tangent_quotient<T: Scalar>(s: T) -> T {
    let (a, b) = sine_and_cosine_quotients(if s.real() < LARGEST_HALF_TANGENT {
        s
    } else {
        T::from(LARGEST_HALF_TANGENT)
    });
    b / a
}

/// The rotation Rz(yaw)·Ry(pitch)·Rx(roll), angles in radians.
pub fn rotation_from_rpy<T: Scalar>(roll: T, pitch: T, yaw: T) -> Matrix3<T> {
    let o = T::from(0.0);
    rotation_exponential(&Vector3::new(o, o, yaw))
        * rotation_exponential(&Vector3::new(o, pitch, o))
        * rotation_exponential(&Vector3::new(roll, o, o))
}

/// A unit quaternion w + xi + yj + zk: the orientation of a body as it is stored in a state.
///
/// It is never differentiated component by component: derivatives live in the tangent space,
/// through [`Quaternion::rotated_by`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(bound = "T: nalgebra::Scalar + Serialize + DeserializeOwned")]
pub struct Quaternion<T = f64> {
    /// Scalar part.
    pub w: T,
    /// Vector part.
    pub v: Vector3<T>,
}

impl<T: Scalar> Quaternion<T> {
    /// No rotation.
    pub fn identity() -> Self {
        Self { w: T::from(1.0), v: Vector3::zeros() }
    }

    /// The unit quaternion in the direction of (w, x, y, z).
    ///
    /// The four numbers must not all be zero.
    pub fn from_wxyz(w: T, x: T, y: T, z: T) -> Self {
        Self { w, v: Vector3::new(x, y, z) }.normalized()
    }

    /// A constant quaternion as scalars `T`.
    pub fn lift(q: &Quaternion<f64>) -> Self {
        Self { w: T::from(q.w), v: q.v.map(T::from) }
    }

    /// The quaternion without its derivatives.
    pub fn real(&self) -> Quaternion<f64> {
        Quaternion { w: self.w.real(), v: self.v.map(|x| x.real()) }
    }

    /// The same direction at unit length.
    pub fn normalized(&self) -> Self {
        let inverse = (self.w * self.w + self.v.dot(&self.v)).sqrt().recip();
        Self { w: self.w * inverse, v: self.v * inverse }
    }

    /// The product `self · other`: `other` is applied first.
    pub fn times(&self, other: &Self) -> Self {
        Self {
            w: self.w * other.w - self.v.dot(&other.v),
            v: other.v * self.w + self.v * other.w + self.v.cross(&other.v),
        }
    }

    /// The rotation matrix.
    pub fn to_matrix(&self) -> Matrix3<T> {
        Matrix3::identity() + cross_matrix(&self.v) * (self.w * 2.0) + cross_square(&self.v) * T::from(2.0)
    }

    /// The orientation turned by the rotation vector `delta`, expressed in the outer frame:
    /// `q ⊕ δ = exp(δ) q`.
    pub fn rotated_by(&self, delta: &Vector3<T>) -> Self {
        let half = delta * T::from(0.5);
        let s = half.dot(&half);
        let (sine, cosine) = sine_and_cosine_quotients(s);
        let turn = Self { w: T::from(1.0) - s * cosine, v: half * sine };
        turn.times(self).normalized()
    }

    /// The unit quaternion of a rotation matrix, with w ≥ 0 where that decides the sign.
    ///
    /// The largest of the four components is taken by a root first and the others are divided
    /// by it, so no root of a small number is taken (Shepperd's method).
    pub fn from_matrix(r: &Matrix3<T>) -> Self {
        let one = T::from(1.0);
        let (rx, ry, rz) = (r[(0, 0)], r[(1, 1)], r[(2, 2)]);
        // Four times the square of each of w, x, y, z.
        let squares = [one + rx + ry + rz, one + rx - ry - rz, one - rx + ry - rz, one - rx - ry + rz];
        let mut largest = 0;
        for i in 1..4 {
            if squares[i].real() > squares[largest].real() {
                largest = i;
            }
        }
        let root = squares[largest].sqrt();
        let f = root.recip() * 0.5;
        let big = root * 0.5;
        let (wx, wy, wz) = (r[(2, 1)] - r[(1, 2)], r[(0, 2)] - r[(2, 0)], r[(1, 0)] - r[(0, 1)]);
        let (xy, xz, yz) = (r[(0, 1)] + r[(1, 0)], r[(0, 2)] + r[(2, 0)], r[(1, 2)] + r[(2, 1)]);
        let (w, x, y, z) = match largest {
            0 => (big, wx * f, wy * f, wz * f),
            1 => (wx * f, big, xy * f, xz * f),
            2 => (wy * f, xy * f, big, yz * f),
            _ => (wz * f, xz * f, yz * f, big),
        };
        let q = Self { w, v: Vector3::new(x, y, z) };
        if w.real() < 0.0 { Self { w: -q.w, v: -q.v } } else { q }
    }
}

impl Quaternion {
    /// The angles of roll, pitch and yaw in radians, as [`rotation_from_rpy`] takes them; pitch is between −π/2
    /// and π/2. Where it is at an end of these, roll and yaw turn about the same axis: yaw then takes all of it.
    pub fn to_rpy(&self) -> [f64; 3] {
        let (w, [x, y, z]) = (self.w, [self.v.x, self.v.y, self.v.z]);
        // Where the x axis of the turned frame points to, along x and y; its length is the pitch's cosine.
        let (along_x, along_y) = (1.0 - 2.0 * (y * y + z * z), 2.0 * (w * z + x * y));
        let cosine = along_x.hypot(along_y);
        let pitch = (2.0 * (w * y - x * z)).atan2(cosine);
        if cosine < 1e-8 {
            return [0.0, pitch, 2.0 * z.atan2(w)];
        }
        let roll = (2.0 * (w * x + y * z)).atan2(1.0 - 2.0 * (x * x + y * y));
        [roll, pitch, along_y.atan2(along_x)]
    }
}

/// The rotation vector δ in the outer frame, at most half a turn, with `from ⊕ δ = to`: the
/// inverse of [`Quaternion::rotated_by`].
pub fn rotation_between<T: Scalar>(from: &Quaternion<T>, to: &Quaternion<T>) -> Vector3<T> {
    let inverse = Quaternion { w: from.w, v: -from.v };
    let mut turn = to.times(&inverse);
    if turn.w.real() < 0.0 {
        turn = Quaternion { w: -turn.w, v: -turn.v };
    }
    let square = turn.v.dot(&turn.v);
    if square.real() < 1e-2 * (turn.w * turn.w).real() {
        // 2 atan(x)/x as a power series of x² = |v|²/w²: no root of zero is taken. The first
        // term left out is below 10⁻¹⁸.
        let u = turn.v * turn.w.recip();
        let s = u.dot(&u);
        let mut sum = T::from(0.0);
        for k in (0..9).rev() {
            let sign = if k % 2 == 0 { 1.0 } else { -1.0 };
            sum = sum * s + sign / f64::from(2 * k + 1);
        }
        u * (sum * 2.0)
    } else {
        let sine = square.sqrt();
        turn.v * (sine.atan2(turn.w) * 2.0 / sine)
    }
}

/// The rotation by the least angle that turns z to an axis; none if that has no direction.
pub(crate) fn rotation_to(axis: &Vector3<f64>) -> Option<Matrix3<f64>> {
    let axis = axis.try_normalize(1e-12).filter(|a| a.iter().all(|x| x.is_finite()))?;
    Some(match nalgebra::Rotation3::rotation_between(&Vector3::z(), &axis) {
        Some(rotation) => *rotation.matrix(),
        // Against z: half a turn about x.
        None => Matrix3::from_diagonal(&Vector3::new(1.0, -1.0, -1.0)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;
    use num_dual::DualSVec64;

    #[test]
    fn exponential_is_a_rotation_and_agrees_across_the_series_boundary() {
        for scale in [0.0, 1e-9, 0.0999, 0.1001, 1.0, 3.0] {
            let v = Vector3::new(0.36, -0.48, 0.8) * scale;
            let r = rotation_exponential(&v);
            assert_relative_eq!(r * r.transpose(), Matrix3::identity(), epsilon = 1e-14);
            let q = Quaternion::identity().rotated_by(&v);
            assert_relative_eq!(q.to_matrix(), r, epsilon = 1e-14);
            let reference = *nalgebra::Rotation3::new(v).matrix();
            assert_relative_eq!(r, reference, epsilon = 1e-14);
        }
    }

    #[test]
    fn exponential_derivative_at_zero_is_the_cross_matrix() {
        type D = DualSVec64<3>;
        let mut v = Vector3::from([D::from(0.0); 3]);
        for i in 0..3 {
            v[i] = v[i].derivative(i);
        }
        let r = rotation_exponential(&v);
        for i in 0..3 {
            let expected = cross_matrix(&Vector3::ith(i, 1.0));
            let got = r.map(|x| x.eps.unwrap_generic(nalgebra::Const::<3>, nalgebra::U1)[i]);
            assert_relative_eq!(got, expected, epsilon = 1e-15);
        }
    }

    #[test]
    fn exponential_jacobian_agrees_with_differences() {
        for scale in [0.0, 1e-9, 0.0999, 0.1001, 1.0, 3.0] {
            let v = Vector3::new(0.36, -0.48, 0.8) * scale;
            let jacobian = rotation_exponential_jacobian(&v);
            let u = Vector3::new(0.3, 1.1, -0.7);
            assert_relative_eq!(mean_rotation_of(&v, &u), jacobian * u, epsilon = 1e-14);
            for i in 0..3 {
                let h = 1e-5;
                let step = Vector3::ith(i, h);
                let turn = (rotation_exponential(&(v + step)) - rotation_exponential(&(v - step)))
                    / (2.0 * h)
                    * rotation_exponential(&v).transpose();
                let expected = Vector3::new(turn[(2, 1)], turn[(0, 2)], turn[(1, 0)]);
                assert_relative_eq!(jacobian.column(i).into_owned(), expected, epsilon = 1e-9);
            }
        }
        // On both sides of the series' limit.
        let at = |angle: f64| rotation_exponential_jacobian(&Vector3::new(0.0, angle, 0.0));
        assert_relative_eq!(at(0.1_f64.next_down()), at(0.1_f64.next_up()), epsilon = 1e-13);
    }

    #[test]
    fn half_tangent_is_that_of_the_half_angle_and_bounded() {
        for angle in [0.0_f64, 1e-9, 0.0999, 0.1001, 1.0, 2.4] {
            let expected = if angle > 1e-6 { (0.5 * angle).tan() / angle } else { 0.5 };
            let s = crate::scalar::DualArray::<1>::variable(angle * angle, 0);
            let got = half_tangent_quotient(s);
            assert_relative_eq!(got.re, expected, epsilon = 1e-14);
            let [plus, minus] = [1e-6, -1e-6].map(|d| half_tangent_quotient(angle * angle + d));
            assert_relative_eq!(got.eps[0], (plus - minus) / 2e-6, epsilon = 1e-8, max_relative = 1e-8);
        }
        let far =
            [2.5, 3.0, std::f64::consts::PI, 7.0].map(|angle: f64| half_tangent_quotient(angle * angle));
        assert!(far.iter().all(|x| *x == far[0]));
    }

    #[test]
    fn matrix_and_quaternion_round_trip() {
        for (w, x, y, z) in
            [(1.0, 0.0, 0.0, 0.0), (0.1, 0.9, -0.2, 0.3), (0.0, 0.0, 1.0, 0.0), (0.2, 0.1, 0.3, -0.9)]
        {
            let q = Quaternion::from_wxyz(w, x, y, z);
            let back = Quaternion::from_matrix(&q.to_matrix());
            assert_relative_eq!(q.to_matrix(), back.to_matrix(), epsilon = 1e-14);
        }
    }

    #[test]
    fn angles_of_a_quaternion_are_those_that_make_it() {
        let upright = std::f64::consts::FRAC_PI_2;
        for angles in [[0.3, -0.7, 2.1], [-3.0, 1.5, -1.0], [0.0, upright, 0.4], [0.0, -upright, -2.0]] {
            let rotation = rotation_from_rpy(angles[0], angles[1], angles[2]);
            let found = Quaternion::from_matrix(&rotation).to_rpy();
            assert_relative_eq!(found[..], angles[..], epsilon = 1e-7);
        }
    }

    #[test]
    fn rpy_matches_nalgebra() {
        let r = rotation_from_rpy(0.3, -0.7, 2.1);
        let reference = *nalgebra::Rotation3::from_euler_angles(0.3, -0.7, 2.1).matrix();
        assert_relative_eq!(r, reference, epsilon = 1e-14);
    }
}
