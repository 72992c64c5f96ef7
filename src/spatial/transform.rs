//! Rigid transforms.

use std::ops::Mul;

use nalgebra::{Matrix3, Vector3};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::rotation::{rotation_exponential, times_vector};
use crate::scalar::{Scalar, lift_matrix, lift_vector, real_matrix, real_vector};

/// The pose `x_ab` of a frame B in a frame A: a rotation and a translation.
///
/// `x_ab * p_bq` is the point Q, given in B, expressed in A; `x_ab * x_bc` composes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(bound = "T: nalgebra::Scalar + Serialize + DeserializeOwned")]
pub struct RigidTransform<T = f64> {
    /// The rotation `r_ab`: its columns are B's axes in A.
    pub rotation: Matrix3<T>,
    /// The position of B's origin in A, in metres.
    pub translation: Vector3<T>,
}

impl<T: Scalar> RigidTransform<T> {
    /// A pose from its rotation matrix (orthonormal, determinant 1; not checked) and translation.
    #[inline]
    pub fn new(rotation: Matrix3<T>, translation: Vector3<T>) -> Self {
        Self { rotation, translation }
    }

    /// The identity.
    pub fn identity() -> Self {
        Self::new(Matrix3::identity(), Vector3::zeros())
    }

    /// A pure translation: a vector, or its three numbers.
    pub fn from_translation(translation: impl Into<Vector3<T>>) -> Self {
        Self::new(Matrix3::identity(), translation.into())
    }

    /// A constant pose as scalars `T`.
    pub fn lift(x: &RigidTransform<f64>) -> Self {
        Self::new(lift_matrix(&x.rotation), lift_vector(&x.translation))
    }

    /// The pose without its derivatives.
    pub fn real(&self) -> RigidTransform<f64> {
        RigidTransform::new(real_matrix(&self.rotation), real_vector(&self.translation))
    }

    /// The pose `x_ba` of A in B.
    #[inline]
    pub fn inverse(&self) -> Self {
        let rotation = self.rotation.transpose();
        Self::new(rotation, -(rotation * self.translation))
    }

    /// A point that is given in B, expressed in A.
    #[inline]
    fn placed(&self, point: &Vector3<T>) -> Vector3<T> {
        times_vector(&self.rotation, point) + self.translation
    }

    /// The pose moved by a tangent vector, `x ⊕ (δθ, δt)`: turned by the rotation vector `δθ`
    /// about its own origin and shifted by `δt`, both expressed in the outer frame.
    ///
    /// Seeding derivatives in `δθ` and `δt` at zero gives derivatives in the tangent space.
    pub fn moved(&self, rotation: &Vector3<T>, translation: &Vector3<T>) -> Self {
        Self::new(rotation_exponential(rotation) * self.rotation, self.translation + translation)
    }
}

impl<T: Scalar> Mul for RigidTransform<T> {
    type Output = Self;
    #[inline]
    fn mul(self, other: Self) -> Self {
        Self::new(self.rotation * other.rotation, self.rotation * other.translation + self.translation)
    }
}

impl<T: Scalar> Mul<Vector3<T>> for RigidTransform<T> {
    type Output = Vector3<T>;
    #[inline]
    fn mul(self, point: Vector3<T>) -> Vector3<T> {
        self.placed(&point)
    }
}
