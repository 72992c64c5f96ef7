//! The balance of momentum of one body over a step, about its origin and in W.

use nalgebra::{Matrix3, Matrix6, Vector3};

use super::problem::BODY;
use crate::multibody::{BodyState, Guide, MassProperties};
use crate::scalar::{Scalar, lift_vector};
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
    fn new(mass: &MassProperties<T>, state: &BodyState<T>) -> Self {
        let rotation = state.orientation.to_matrix();
        let offset = rotation * mass.center_of_mass;
        let lever = cross_matrix(&offset);
        let inertia = rotation * mass.inertia * rotation.transpose() - lever * lever * mass.mass;
        Self { mass: mass.mass, offset, inertia }
    }

    /// M V: angular momentum about the origin, and momentum.
    fn momentum(&self, v: &SpatialVelocity<T>) -> SpatialForce<T> {
        let (w, v) = (&v.rotational, &v.translational);
        SpatialForce::new(
            self.inertia * w + self.offset.cross(v) * self.mass,
            (v + w.cross(&self.offset)) * self.mass,
        )
    }

    /// The momentum at the end of a step of `dt` without contact, M V₀ + δt (f − bias), with
    /// the force `f` about the origin and gravity.
    fn free_momentum(
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
    fn matrix(&self) -> Matrix6<T> {
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

/// What moves one body: six velocities, or one along a guide that comes first, the others being
/// kept at zero by unit inertia.
#[derive(Clone, Copy, Debug)]
pub(super) enum Tree<T> {
    Free {
        inertia: BodyInertia<T>,
        dt: f64,
    },
    Guided {
        axis: Vector3<f64>,
        mass: T,
        /// Mass, and damping over the step.
        inertia: T,
        dt: f64,
    },
}

impl<T: Scalar> Tree<T> {
    pub fn new(guide: Option<&Guide<T>>, mass: &MassProperties<T>, state: &BodyState<T>, dt: f64) -> Self {
        match guide {
            None => Self::Free { inertia: BodyInertia::new(mass, state), dt },
            Some(guide) => {
                let inertia = mass.mass + guide.damping * T::from(dt);
                Self::Guided { axis: guide.axis, mass: mass.mass, inertia, dt }
            }
        }
    }

    /// The velocities of a body that has a spatial velocity.
    pub fn coordinates(guide: Option<&Guide<T>>, v: &SpatialVelocity<T>) -> [T; BODY] {
        match guide {
            None => six(&v.rotational, &v.translational),
            Some(guide) => first(lift_vector(&guide.axis).dot(&v.translational)),
        }
    }

    /// The spatial velocity that velocities stand for.
    pub fn velocity(guide: Option<&Guide<T>>, v: &[T]) -> SpatialVelocity<T> {
        match guide {
            None => SpatialVelocity::new(Vector3::new(v[0], v[1], v[2]), Vector3::new(v[3], v[4], v[5])),
            Some(guide) => SpatialVelocity::new(
                Vector3::from_element(T::from(0.0)),
                lift_vector::<T>(&guide.axis) * v[0],
            ),
        }
    }

    /// What a force or momentum about the body's origin adds to the balance.
    pub fn projected(guide: Option<&Guide<T>>, f: &SpatialForce<T>) -> [T; BODY] {
        match guide {
            None => six(&f.rotational, &f.translational),
            Some(guide) => first(lift_vector(&guide.axis).dot(&f.translational)),
        }
    }

    /// The block of the mass matrix A, with the damping of a guide over the step.
    pub fn matrix(&self) -> Matrix6<T> {
        match self {
            Self::Free { inertia, .. } => inertia.matrix(),
            Self::Guided { inertia, .. } => {
                let mut m = Matrix6::identity();
                m[(0, 0)] = *inertia;
                m
            }
        }
    }

    /// A times velocities.
    pub fn momentum(&self, v: &[T]) -> [T; BODY] {
        match self {
            Self::Free { inertia, .. } => {
                let p = inertia.momentum(&Self::velocity(None, v));
                six(&p.rotational, &p.translational)
            }
            Self::Guided { inertia, .. } => [v[0] * *inertia, v[1], v[2], v[3], v[4], v[5]],
        }
    }

    /// The momentum at the end of the step without contact.
    pub fn free_momentum(
        &self,
        v: &SpatialVelocity<T>,
        force: &SpatialForce<T>,
        gravity: &Vector3<T>,
    ) -> [T; BODY] {
        match self {
            Self::Free { inertia, dt } => {
                let p = inertia.free_momentum(v, force, gravity, *dt);
                six(&p.rotational, &p.translational)
            }
            Self::Guided { axis, mass, dt, .. } => {
                let force = force.translational + gravity * *mass;
                let axis = lift_vector::<T>(axis);
                first(axis.dot(&v.translational) * *mass + axis.dot(&force) * T::from(*dt))
            }
        }
    }
}

fn six<T: Scalar>(rotational: &Vector3<T>, translational: &Vector3<T>) -> [T; BODY] {
    let (r, t) = (rotational, translational);
    [r.x, r.y, r.z, t.x, t.y, t.z]
}

fn first<T: Scalar>(value: T) -> [T; BODY] {
    let mut all = [T::from(0.0); BODY];
    all[0] = value;
    all
}

/// The inverse inertia Λ of a body in the frame F, about its origin: from an impulse there to the
/// change of the velocity of the body's material there.
pub(super) fn inverse_inertia<T: Scalar>(
    guide: Option<&Guide<T>>,
    mass: &MassProperties<T>,
    state: &BodyState<T>,
    x_wf: &RigidTransform<T>,
    dt: f64,
) -> Matrix6<T> {
    let mut lambda = Matrix6::from_element(T::from(0.0));
    if let Some(guide) = guide {
        let axis = x_wf.rotation.transpose() * lift_vector::<T>(&guide.axis);
        let inverse = (mass.mass + guide.damping * T::from(dt)).recip();
        for i in 0..3 {
            for k in 0..3 {
                lambda[(3 + i, 3 + k)] = axis[i] * axis[k] * inverse;
            }
        }
        return lambda;
    }
    // In F's axes: the body's axes, and from its centre of mass to F's origin.
    let to_world = state.orientation.to_matrix();
    let r = x_wf.rotation.transpose() * to_world;
    let center = state.position + to_world * mass.center_of_mass;
    let lever = cross_matrix(&(x_wf.rotation.transpose() * (x_wf.translation - center)));
    let rotational = r * inverse(&mass.inertia) * r.transpose();
    let coupled = lever * rotational;
    let translational = coupled * lever.transpose();
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
