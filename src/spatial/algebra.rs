//! The algebra of spatial vectors: sums, cross products, power.
//!
//! Two vectors can be combined when both are taken at the same point and expressed in the same
//! frame; the results are too. Source: Featherstone, *Rigid Body Dynamics Algorithms* (2008),
//! chapter 2.

use std::ops::{Add, AddAssign, Mul, Neg};

use nalgebra::{Matrix3, Matrix6};

use super::force::SpatialForce;
use super::velocity::SpatialVelocity;
use crate::scalar::Scalar;

/// A matrix between spatial vectors from its four quarters, of which the first two are those of
/// the rotational rows.
#[inline(always)]
pub(crate) fn from_quarters(
    upper_left: Matrix3<f64>,
    upper_right: Matrix3<f64>,
    lower_left: Matrix3<f64>,
    lower_right: Matrix3<f64>,
) -> Matrix6<f64> {
    let mut m = Matrix6::zeros();
    for k in 0..3 {
        for i in 0..3 {
            m[(i, k)] = upper_left[(i, k)];
            m[(i, 3 + k)] = upper_right[(i, k)];
            m[(3 + i, k)] = lower_left[(i, k)];
            m[(3 + i, 3 + k)] = lower_right[(i, k)];
        }
    }
    m
}

impl<T: Scalar> SpatialVelocity<T> {
    /// The cross product of two motions, `self × other` (Featherstone eq. 2.31): the rate at
    /// which `other` changes when it is carried along by a body that moves with `self`.
    #[inline]
    pub fn cross(&self, other: &Self) -> Self {
        Self::new(
            self.rotational.cross(&other.rotational),
            self.rotational.cross(&other.translational) + self.translational.cross(&other.rotational),
        )
    }

    /// The cross product of a motion and a force, `self ×* force` (Featherstone eq. 2.32): the
    /// rate at which `force` changes when it is carried along by a body that moves with `self`.
    #[inline]
    pub fn cross_force(&self, force: &SpatialForce<T>) -> SpatialForce<T> {
        SpatialForce::new(
            self.rotational.cross(&force.rotational) + self.translational.cross(&force.translational),
            self.rotational.cross(&force.translational),
        )
    }

    /// The power of a force on a body that moves with this velocity, W.
    #[inline]
    pub fn dot(&self, force: &SpatialForce<T>) -> T {
        self.rotational.dot(&force.rotational) + self.translational.dot(&force.translational)
    }
}

impl<T: Scalar> Add for SpatialVelocity<T> {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        Self::new(self.rotational + other.rotational, self.translational + other.translational)
    }
}

impl<T: Scalar> AddAssign for SpatialVelocity<T> {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        self.rotational += other.rotational;
        self.translational += other.translational;
    }
}

impl<T: Scalar> Neg for SpatialVelocity<T> {
    type Output = Self;
    #[inline]
    fn neg(self) -> Self {
        Self::new(-self.rotational, -self.translational)
    }
}

impl<T: Scalar> Mul<T> for SpatialVelocity<T> {
    type Output = Self;
    #[inline]
    fn mul(self, factor: T) -> Self {
        Self::new(self.rotational * factor, self.translational * factor)
    }
}

impl<T: Scalar> Mul<T> for SpatialForce<T> {
    type Output = Self;
    #[inline]
    fn mul(self, factor: T) -> Self {
        Self::new(self.rotational * factor, self.translational * factor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;
    use nalgebra::Vector3;

    #[test]
    fn cross_products_satisfy_jacobi_and_are_dual_to_each_other() {
        let a = SpatialVelocity::new(Vector3::new(0.3, -1.2, 0.7), Vector3::new(2.0, 0.1, -0.4));
        let b = SpatialVelocity::new(Vector3::new(-0.8, 0.2, 1.1), Vector3::new(0.5, -0.9, 0.3));
        let c = SpatialVelocity::new(Vector3::new(1.4, 0.6, -0.2), Vector3::new(-0.3, 0.8, 1.9));
        let f = SpatialForce::new(Vector3::new(0.9, 1.7, -0.6), Vector3::new(-1.1, 0.4, 0.2));
        let jacobi = a.cross(&b.cross(&c)) + b.cross(&c.cross(&a)) + c.cross(&a.cross(&b));
        assert_relative_eq!(jacobi.rotational, Vector3::zeros(), epsilon = 1e-14);
        assert_relative_eq!(jacobi.translational, Vector3::zeros(), epsilon = 1e-14);
        assert_relative_eq!(a.cross(&b).dot(&f), -b.dot(&a.cross_force(&f)), epsilon = 1e-14);
    }

    #[test]
    fn power_does_not_depend_on_the_point() {
        let v = SpatialVelocity::new(Vector3::new(0.3, -1.2, 0.7), Vector3::new(2.0, 0.1, -0.4));
        let f = SpatialForce::new(Vector3::new(0.9, 1.7, -0.6), Vector3::new(-1.1, 0.4, 0.2));
        let p = Vector3::new(0.4, -0.7, 1.3);
        assert_relative_eq!(v.dot(&f), v.shifted(&p).dot(&f.shifted(&p)), epsilon = 1e-14);
    }
}
