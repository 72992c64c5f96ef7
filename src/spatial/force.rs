//! Spatial forces.

use std::ops::{Add, AddAssign, Neg, Sub};

use nalgebra::{Matrix3, Vector3};

use crate::scalar::{Scalar, lift_vector, real_vector};

/// A wrench: the moment about a point, and the force.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpatialForce<T = f64> {
    /// Moment about the point that the force is given at, N m.
    pub rotational: Vector3<T>,
    /// Force, N.
    pub translational: Vector3<T>,
}

impl<T: Scalar> SpatialForce<T> {
    /// A spatial force from its moment and its force.
    #[inline]
    pub fn new(rotational: Vector3<T>, translational: Vector3<T>) -> Self {
        Self { rotational, translational }
    }

    /// No force.
    pub fn zero() -> Self {
        Self::new(Vector3::zeros(), Vector3::zeros())
    }

    /// A constant force as scalars `T`.
    pub fn lift(f: &SpatialForce<f64>) -> Self {
        Self::new(lift_vector(&f.rotational), lift_vector(&f.translational))
    }

    /// The force without its derivatives.
    pub fn real(&self) -> SpatialForce<f64> {
        SpatialForce::new(real_vector(&self.rotational), real_vector(&self.translational))
    }

    /// The same wrench about a point at offset `p` from the present one.
    #[inline]
    pub fn shifted(&self, p: &Vector3<T>) -> Self {
        Self::new(self.rotational - p.cross(&self.translational), self.translational)
    }

    /// The same force with both parts multiplied by the rotation `r`.
    #[inline]
    pub fn rotated(&self, r: &Matrix3<T>) -> Self {
        Self::new(r * self.rotational, r * self.translational)
    }
}

impl<T: Scalar> Add for SpatialForce<T> {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self::new(self.rotational + other.rotational, self.translational + other.translational)
    }
}

impl<T: Scalar> Sub for SpatialForce<T> {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self::new(self.rotational - other.rotational, self.translational - other.translational)
    }
}

impl<T: Scalar> AddAssign for SpatialForce<T> {
    fn add_assign(&mut self, other: Self) {
        self.rotational += other.rotational;
        self.translational += other.translational;
    }
}

impl<T: Scalar> Neg for SpatialForce<T> {
    type Output = Self;
    fn neg(self) -> Self {
        Self::new(-self.rotational, -self.translational)
    }
}
