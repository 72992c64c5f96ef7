//! Spatial inertia of rigid bodies and of articulated ones.

use std::ops::AddAssign;

use nalgebra::{Matrix3, Vector3};

use super::force::SpatialForce;
use super::mass_properties::MassProperties;
use super::transform::RigidTransform;
use super::velocity::SpatialVelocity;
use crate::scalar::Scalar;

/// Spatial inertia of a rigid body, or of several that move as one, about a point O (Featherstone
/// 2008, eq. 2.63): the map from velocity of O to momentum about O.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpatialInertia<T = f64> {
    /// Mass, kg.
    pub mass: T,
    /// Mass times position of the centre of mass from O, kg m.
    pub first_moment: Vector3<T>,
    /// Inertia about O, kg m².
    pub rotational: Matrix3<T>,
}

impl<T: Scalar> SpatialInertia<T> {
    /// No mass.
    pub fn zero() -> Self {
        Self {
            mass: T::from(0.0),
            first_moment: Vector3::from_element(T::from(0.0)),
            rotational: Matrix3::from_element(T::from(0.0)),
        }
    }

    /// The inertia about the origin of A, in A's axes, of a body with mass properties in the
    /// frame B, whose pose in A is `x_ab`.
    #[inline]
    pub fn of_body(properties: &MassProperties<T>, x_ab: &RigidTransform<T>) -> Self {
        let r = &x_ab.rotation;
        let half = r * properties.inertia;
        let c = r * properties.center_of_mass + x_ab.translation;
        let first_moment = c * properties.mass;
        // R I Rᵀ is symmetric: six elements are enough.
        let element = |i: usize, j: usize| {
            half[(i, 0)] * r[(j, 0)] + half[(i, 1)] * r[(j, 1)] + half[(i, 2)] * r[(j, 2)]
                - first_moment[i] * c[j]
        };
        let square = first_moment.dot(&c);
        let (xy, xz, yz) = (element(0, 1), element(0, 2), element(1, 2));
        let (xx, yy, zz) = (element(0, 0) + square, element(1, 1) + square, element(2, 2) + square);
        Self {
            mass: properties.mass,
            first_moment,
            rotational: Matrix3::new(xx, xy, xz, xy, yy, yz, xz, yz, zz),
        }
    }

    /// The inertia times a motion: momentum for a velocity, force for an acceleration.
    #[inline]
    pub fn times(&self, v: &SpatialVelocity<T>) -> SpatialForce<T> {
        SpatialForce::new(
            self.rotational * v.rotational + self.first_moment.cross(&v.translational),
            v.translational * self.mass - self.first_moment.cross(&v.rotational),
        )
    }
}

impl<T: Scalar> AddAssign for SpatialInertia<T> {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        self.mass += other.mass;
        self.first_moment += other.first_moment;
        self.rotational += other.rotational;
    }
}

/// Inertia of a body with joints below it that yield to force (Featherstone 2008, §7.1): a
/// symmetric 6×6 matrix ((A, B), (Bᵀ, D)) in blocks of rotation and translation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ArticulatedInertia<T = f64> {
    /// A: rotation to moment, kg m².
    pub rotational: Matrix3<T>,
    /// B: translation to moment, kg m.
    pub coupling: Matrix3<T>,
    /// D: translation to force, kg.
    pub translational: Matrix3<T>,
}

impl<T: Scalar> ArticulatedInertia<T> {
    /// The inertia of a rigid body.
    #[inline]
    pub fn of_rigid(inertia: &SpatialInertia<T>) -> Self {
        Self {
            rotational: inertia.rotational,
            coupling: super::cross_matrix(&inertia.first_moment),
            translational: Matrix3::from_diagonal_element(inertia.mass),
        }
    }

    /// The inertia times a motion.
    #[inline]
    pub fn times(&self, v: &SpatialVelocity<T>) -> SpatialForce<T> {
        SpatialForce::new(
            self.rotational * v.rotational + self.coupling * v.translational,
            self.coupling.tr_mul(&v.rotational) + self.translational * v.translational,
        )
    }

    /// Subtracts `u uᵀ / d`: what is left once a joint in the direction with I s = u and
    /// sᵀ I s = d yields.
    #[inline]
    pub fn release(&mut self, u: &SpatialForce<T>, d_inverse: T) {
        let (a, b) = (&u.rotational, &u.translational);
        let (ad, bd) = (a * d_inverse, b * d_inverse);
        for j in 0..3 {
            for i in 0..=j {
                let (r, t) = (a[i] * ad[j], b[i] * bd[j]);
                self.rotational[(i, j)] -= r;
                self.translational[(i, j)] -= t;
                if i != j {
                    self.rotational[(j, i)] -= r;
                    self.translational[(j, i)] -= t;
                }
            }
            for i in 0..3 {
                self.coupling[(i, j)] -= a[i] * bd[j];
            }
        }
    }
}

impl<T: Scalar> AddAssign for ArticulatedInertia<T> {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        self.rotational += other.rotational;
        self.coupling += other.coupling;
        self.translational += other.translational;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spatial::rotation_from_rpy;
    use approx::assert_relative_eq;

    fn properties() -> MassProperties {
        let inertia = Matrix3::new(0.3, 0.02, -0.01, 0.02, 0.4, 0.03, -0.01, 0.03, 0.5);
        MassProperties { mass: 1.7, center_of_mass: Vector3::new(0.2, -0.1, 0.3), inertia }
    }

    fn motion() -> SpatialVelocity {
        SpatialVelocity::new(Vector3::new(0.3, -1.2, 0.7), Vector3::new(2.0, 0.1, -0.4))
    }

    #[test]
    fn momentum_is_that_of_the_centre_of_mass() {
        let x_ab = RigidTransform::new(rotation_from_rpy(0.3, -0.7, 2.1), Vector3::new(1.0, -2.0, 0.5));
        let (m, v) = (properties(), motion());
        let momentum = SpatialInertia::of_body(&m, &x_ab).times(&v);
        let c = x_ab * m.center_of_mass;
        let linear = v.shifted(&c).translational * m.mass;
        let spin = x_ab.rotation * m.inertia * x_ab.rotation.transpose() * v.rotational;
        assert_relative_eq!(momentum.translational, linear, epsilon = 1e-14);
        assert_relative_eq!(momentum.rotational, spin + c.cross(&linear), epsilon = 1e-13);
    }

    #[test]
    fn a_released_direction_takes_no_force() {
        let rigid = SpatialInertia::of_body(&properties(), &RigidTransform::identity());
        let mut inertia = ArticulatedInertia::of_rigid(&rigid);
        let (s, v) =
            (motion(), SpatialVelocity::new(Vector3::new(0.1, 0.5, 0.9), Vector3::new(0.4, 0.2, 1.4)));
        assert_relative_eq!(inertia.times(&v).rotational, rigid.times(&v).rotational, epsilon = 1e-15);
        let u = inertia.times(&s);
        inertia.release(&u, 1.0 / s.dot(&u));
        assert_relative_eq!(inertia.times(&s).rotational, Vector3::zeros(), epsilon = 1e-14);
        assert_relative_eq!(inertia.times(&s).translational, Vector3::zeros(), epsilon = 1e-14);
        assert_relative_eq!(s.dot(&inertia.times(&v)), 0.0, epsilon = 1e-14);
    }
}
