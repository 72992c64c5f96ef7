//! What derivatives need of all that a joint carries, besides its inertia and the force on it.

use nalgebra::{Matrix3, Vector3};

use crate::scalar::Scalar;
use crate::spatial::{SpatialForce, SpatialInertia, SpatialVelocity, cross_matrix};

/// The matrix B of a body, or the sum over several: the rate at which momentum changes because
/// inertia is in motion. It acts on the rotational part alone.
#[derive(Clone, Copy, Debug)]
pub(super) struct MovingInertia<T> {
    /// Rotation to moment.
    rotational: Matrix3<T>,
    /// Linear momentum p: the force is 2 ω × p.
    momentum: Vector3<T>,
}

impl<T: Scalar> MovingInertia<T> {
    pub fn zero() -> Self {
        let o = T::from(0.0);
        Self { rotational: Matrix3::from_element(o), momentum: Vector3::from_element(o) }
    }

    /// B at a velocity. The terms in the translational part of x cancel by Jacobi's identity; so
    /// does part of the rest, by J[ω]× + [ω]×J = [tr(J) ω − J ω]×.
    #[inline]
    pub fn new(inertia: &SpatialInertia<T>, velocity: &SpatialVelocity<T>) -> Self {
        let (w, v) = (&velocity.rotational, &velocity.translational);
        let (j, h) = (&inertia.rotational, &inertia.first_moment);
        let two = T::from(2.0);
        // [h]×[v]× = v hᵀ − (h·v) 1.
        let turn = cross_matrix(w);
        let mut rotational = (turn * j - v * h.transpose()) * two - turn * j.trace();
        let diagonal = h.dot(v) * two;
        for i in 0..3 {
            rotational[(i, i)] += diagonal;
        }
        Self { rotational, momentum: v * inertia.mass + w.cross(h) }
    }

    pub fn add(&mut self, other: &Self) {
        self.rotational += other.rotational;
        self.momentum += other.momentum;
    }

    /// B x.
    #[inline]
    pub fn times(&self, x: &SpatialVelocity<T>) -> SpatialForce<T> {
        SpatialForce::new(self.rotational * x.rotational, x.rotational.cross(&self.momentum) * T::from(2.0))
    }

    /// The rotational part of Bᵀ x; the translational part is zero.
    #[inline]
    pub fn transposed_times(&self, x: &SpatialVelocity<T>) -> Vector3<T> {
        self.rotational.tr_mul(&x.rotational) + self.momentum.cross(&x.translational) * T::from(2.0)
    }
}

/// Forces that are applied to bodies, summed over all that a joint carries. They keep their
/// components in W while their points move along.
#[derive(Clone, Copy, Debug)]
pub(super) struct AppliedForce<T> {
    /// Their sum about O.
    pub sum: SpatialForce<T>,
    /// Σ (p fᵀ − p·f 1), with p from O to the body's origin: ω ↦ Σ (ω × p) × f.
    pub lever: Matrix3<T>,
}

impl<T: Scalar> AppliedForce<T> {
    pub fn zero() -> Self {
        Self { sum: SpatialForce::zero(), lever: Matrix3::from_element(T::from(0.0)) }
    }

    pub fn add(&mut self, other: &Self) {
        self.sum += other.sum;
        self.lever += other.lever;
    }

    /// How a move with rotational part `w` changes the force, less its change were it carried
    /// along rigidly, with the opposite sign.
    pub fn lag(&self, w: &Vector3<T>) -> SpatialForce<T> {
        SpatialForce::new(w.cross(&self.sum.rotational) - self.lever * w, w.cross(&self.sum.translational))
    }

    /// y with y·ω = x·lag(ω).
    pub fn transposed_lag(&self, x: &SpatialVelocity<T>) -> Vector3<T> {
        self.sum.rotational.cross(&x.rotational) - self.lever.tr_mul(&x.rotational)
            + self.sum.translational.cross(&x.translational)
    }
}
