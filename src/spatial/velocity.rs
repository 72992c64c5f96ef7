//! Spatial velocities.

use std::ops::Sub;

use nalgebra::{Matrix3, Vector3};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::scalar::{Scalar, lift_vector, real_vector};

/// The velocity of a frame: how fast it turns and how fast its origin moves.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(bound = "T: nalgebra::Scalar + Serialize + DeserializeOwned")]
pub struct SpatialVelocity<T = f64> {
    /// Angular velocity, rad/s.
    pub rotational: Vector3<T>,
    /// Velocity of the frame's origin, m/s.
    pub translational: Vector3<T>,
}

impl<T: Scalar> SpatialVelocity<T> {
    /// A velocity from its angular part and that of its origin.
    #[inline]
    pub fn new(rotational: Vector3<T>, translational: Vector3<T>) -> Self {
        Self { rotational, translational }
    }

    /// At rest.
    pub fn zero() -> Self {
        Self::new(Vector3::zeros(), Vector3::zeros())
    }

    /// A constant velocity as scalars `T`.
    pub fn lift(v: &SpatialVelocity<f64>) -> Self {
        Self::new(lift_vector(&v.rotational), lift_vector(&v.translational))
    }

    /// The velocity without its derivatives.
    pub fn real(&self) -> SpatialVelocity<f64> {
        SpatialVelocity::new(real_vector(&self.rotational), real_vector(&self.translational))
    }

    /// The velocity of the frame that is fixed to this one at offset `p` from its origin
    /// (expressed in the same frame as the velocity).
    #[inline]
    pub fn shifted(&self, p: &Vector3<T>) -> Self {
        Self::new(self.rotational, self.translational + self.rotational.cross(p))
    }

    /// The same velocity with both parts multiplied by the rotation `r`.
    #[inline]
    pub fn rotated(&self, r: &Matrix3<T>) -> Self {
        Self::new(r * self.rotational, r * self.translational)
    }
}

impl<T: Scalar> Sub for SpatialVelocity<T> {
    type Output = Self;
    #[inline]
    fn sub(self, other: Self) -> Self {
        Self::new(self.rotational - other.rotational, self.translational - other.translational)
    }
}
