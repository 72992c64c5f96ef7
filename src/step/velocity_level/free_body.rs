//! The balance of momentum of one body over a step, about its origin and in W.

use nalgebra::{Matrix3, Matrix6, Vector3, Vector6};

use crate::multibody::{BodyState, FreeMotion, MassProperties, State};
use crate::scalar::Scalar;
use crate::spatial::{SpatialForce, SpatialVelocity, cross_matrix};

/// Velocities of a free body.
pub(super) const BODY: usize = 6;

/// The mass of a body with its axes turned into W's.
#[derive(Clone, Copy, Debug)]
pub(super) struct BodyInertia<T> {
    pub(super) mass: T,
    /// From the body's origin to its centre of mass.
    pub(super) offset: Vector3<T>,
    /// About the body's origin.
    pub(super) inertia: Matrix3<T>,
}

impl<T: Scalar> BodyInertia<T> {
    pub fn new(mass: &MassProperties<T>, state: &BodyState<T>) -> Self {
        let rotation = state.orientation.to_matrix();
        let offset = rotation * mass.center_of_mass;
        let moment = offset * mass.mass;
        let square = moment.dot(&offset);
        let turned = rotation * mass.inertia;
        // R I Rᵀ − m [c]×², both of which are symmetric.
        let mut inertia = Matrix3::from_element(T::from(0.0));
        for i in 0..3 {
            for k in 0..=i {
                let mut sum = -moment[i] * offset[k];
                for j in 0..3 {
                    sum += turned[(i, j)] * rotation[(k, j)];
                }
                if i == k {
                    sum += square;
                }
                (inertia[(i, k)], inertia[(k, i)]) = (sum, sum);
            }
        }
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

    /// The momentum at the end of a step of `dt` without contact, M V* + δt f, with the velocity
    /// V* of the free motion, the force `f` about the origin, and gravity.
    pub fn free_momentum(
        &self,
        v: &SpatialVelocity<T>,
        free: &FreeMotion<T>,
        force: &SpatialForce<T>,
        gravity: &Vector3<T>,
        dt: T,
    ) -> SpatialForce<T> {
        let weight = gravity * self.mass;
        let torque = force.rotational + self.offset.cross(&weight);
        let force = force.translational + weight;
        self.momentum(&self.free_velocity(v, free)) + SpatialForce::new(torque * dt, force * dt)
    }

    /// The velocity V* at the end of a free motion, that of the origin such that the centre of
    /// mass keeps its own.
    pub fn free_velocity(&self, v: &SpatialVelocity<T>, free: &FreeMotion<T>) -> SpatialVelocity<T> {
        let change = v.rotational - free.angular_velocity;
        let of_origin = v.translational + change.cross(&self.offset) - free.swing;
        SpatialVelocity::new(free.angular_velocity, of_origin)
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

/// The six numbers of a velocity, force or momentum: rotational part first.
pub(super) fn six<T: Scalar>(rotational: &Vector3<T>, translational: &Vector3<T>) -> [T; BODY] {
    let (r, t) = (rotational, translational);
    [r.x, r.y, r.z, t.x, t.y, t.z]
}

/// Writes the velocities of a state into a list: six of each free body, then those of the joints.
pub(super) fn write_velocities<T: Scalar>(state: &State<T>, velocity: &mut Vec<T>) {
    velocity.clear();
    for body in &state.bodies {
        velocity.extend(six(&body.velocity.rotational, &body.velocity.translational));
    }
    velocity.extend_from_slice(&state.joints.v);
}

/// The spatial velocity that six velocities are.
pub(super) fn velocity_of<T: Scalar>(v: &[T]) -> SpatialVelocity<T> {
    SpatialVelocity::new(Vector3::new(v[0], v[1], v[2]), Vector3::new(v[3], v[4], v[5]))
}

/// The velocities of a free body.
#[inline]
pub(super) fn tree_velocity(velocity: &[f64], tree: usize) -> Vector6<f64> {
    Vector6::from_column_slice(&velocity[BODY * tree..BODY * (tree + 1)])
}

/// Adds to the velocities (or momenta) of a free body.
#[inline]
pub(super) fn add_to_tree(all: &mut [f64], tree: usize, by: &Vector6<f64>) {
    for (a, b) in all[BODY * tree..BODY * (tree + 1)].iter_mut().zip(by.iter()) {
        *a += b;
    }
}

/// Adds a 6×6 block to one that is stored column after column.
#[inline]
pub(super) fn add_block(into: &mut [f64], block: &Matrix6<f64>) {
    for (a, b) in into.iter_mut().zip(block.as_slice()) {
        *a += b;
    }
}
