//! The balance of momentum of a free body over a step, about its origin and in W.

use nalgebra::{Matrix3, Matrix6, Vector3};

use crate::multibody::{BodyState, MassProperties};
use crate::scalar::Scalar;
use crate::spatial::{RigidTransform, SpatialForce, SpatialVelocity, cross_matrix};

/// The mass of a body with its axes turned into W's.
#[derive(Clone, Copy, Debug)]
pub(super) struct BodyInertia<T> {
    mass: T,
    /// From the body's origin to its centre of mass.
    offset: Vector3<T>,
    /// About the body's origin.
    inertia: Matrix3<T>,
}

impl<T: Scalar> BodyInertia<T> {
    pub fn new(mass: &MassProperties<T>, state: &BodyState<T>) -> Self {
        let rotation = state.orientation.to_matrix();
        let offset = rotation * mass.center_of_mass;
        let lever = cross_matrix(&offset);
        let inertia = rotation * mass.inertia * rotation.transpose() - lever * lever * mass.mass;
        Self { mass: mass.mass, offset, inertia }
    }

    /// M V: angular momentum about the origin, and momentum.
    pub fn momentum(&self, v: &SpatialVelocity<T>) -> SpatialForce<T> {
        let (w, v) = (&v.rotational, &v.translational);
        SpatialForce::new(
            self.inertia * w + self.offset.cross(v) * self.mass,
            (v + w.cross(&self.offset)) * self.mass,
        )
    }

    /// The momentum at the end of a step of `dt` without contact, M V₀ + δt (f − bias), with
    /// the force `f` about the origin and gravity.
    pub fn free_momentum(
        &self,
        v: &SpatialVelocity<T>,
        force: &SpatialForce<T>,
        gravity: &Vector3<T>,
        dt: f64,
    ) -> SpatialForce<T> {
        let w = &v.rotational;
        let weight = gravity * self.mass;
        let turning = w.cross(&(self.inertia * w));
        let centripetal = w.cross(&w.cross(&self.offset)) * self.mass;
        let torque = force.rotational + self.offset.cross(&weight) - turning;
        let force = force.translational + weight - centripetal;
        let dt = T::from(dt);
        self.momentum(v) + SpatialForce::new(torque * dt, force * dt)
    }

    /// The mass matrix M.
    pub fn matrix(&self) -> Matrix6<T> {
        let lever = cross_matrix(&self.offset) * self.mass;
        let mut m = Matrix6::from_element(T::from(0.0));
        for i in 0..3 {
            for k in 0..3 {
                m[(i, k)] = self.inertia[(i, k)];
                m[(i, 3 + k)] = lever[(i, k)];
                m[(3 + i, k)] = -lever[(i, k)];
            }
            m[(3 + i, 3 + i)] = self.mass;
        }
        m
    }
}

/// The inverse inertia Λ of a free body in the frame F, about its origin: from an impulse there
/// to the change of the velocity of the body's material there.
pub(super) fn inverse_inertia<T: Scalar>(
    mass: &MassProperties<T>,
    state: &BodyState<T>,
    x_wf: &RigidTransform<T>,
) -> Matrix6<T> {
    // In F's axes: the body's axes, and from its centre of mass to F's origin.
    let to_world = state.orientation.to_matrix();
    let r = x_wf.rotation.transpose() * to_world;
    let center = state.position + to_world * mass.center_of_mass;
    let lever = cross_matrix(&(x_wf.rotation.transpose() * (x_wf.translation - center)));
    let rotational = r * inverse(&mass.inertia) * r.transpose();
    let coupled = lever * rotational;
    let translational = coupled * lever.transpose();
    let mut lambda = Matrix6::from_element(T::from(0.0));
    for i in 0..3 {
        for k in 0..3 {
            lambda[(i, k)] = rotational[(i, k)];
            lambda[(3 + i, k)] = -coupled[(i, k)];
            lambda[(k, 3 + i)] = -coupled[(i, k)];
            lambda[(3 + i, 3 + k)] = translational[(i, k)];
        }
        lambda[(3 + i, 3 + i)] += mass.mass.recip();
    }
    lambda
}

/// The inverse of a symmetric, well-conditioned 3×3 matrix by Cramer's rule.
fn inverse<T: Scalar>(m: &Matrix3<T>) -> Matrix3<T> {
    let column = |k: usize| m.column(k).into_owned();
    let (x, y, z) = (column(0), column(1), column(2));
    let rows = [y.cross(&z), z.cross(&x), x.cross(&y)];
    let scale = x.dot(&rows[0]).recip();
    Matrix3::from_fn(|i, k| rows[i][k] * scale)
}
