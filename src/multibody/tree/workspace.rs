//! Memory that the algorithms on a mechanism reuse.

use nalgebra::{DMatrix, Matrix3, Vector3};

use super::mechanism::Mechanism;
use crate::scalar::Scalar;
use crate::spatial::{ArticulatedInertia, SpatialForce, SpatialInertia, SpatialVelocity};

/// What kinematics knows of a joint's child.
///
/// Spatial vectors are taken about a fixed point O and in W's axes, so that they can be added
/// along the tree without any change of frame. O is where the tree's first body is at the moment:
/// were it W's origin, numbers would cancel for a body far away.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChildMotion<T> {
    /// Axes of M in W.
    pub rotation: Matrix3<T>,
    /// Position of M's origin from O, in W.
    pub position: Vector3<T>,
    pub velocity: SpatialVelocity<T>,
    /// Velocity relative to the parent.
    pub relative: SpatialVelocity<T>,
    /// Acceleration at zero rate of `v` in a tree that does not accelerate: what the joint adds
    /// to its parent's.
    pub bias: SpatialVelocity<T>,
    /// Inertia of all that moves as one with the child.
    pub inertia: SpatialInertia<T>,
}

/// The kinematics of a mechanism at a state, and scratch memory of the algorithms that build on
/// it. [`Mechanism::update_kinematics`] fills it; nothing allocates afterwards.
#[derive(Clone, Debug)]
pub struct Workspace<T = f64> {
    /// Point O of each tree, in W.
    pub(super) origins: Vec<Vector3<T>>,
    /// Tree of each joint.
    pub(super) tree: Vec<usize>,
    /// Motion of each joint's child.
    pub(super) motions: Vec<ChildMotion<T>>,
    /// For each direction of motion of a joint the motion of the child at unit rate of its coordinate.
    pub(super) columns: Vec<SpatialVelocity<T>>,
    /// For each joint the acceleration of its child.
    pub(super) accelerations: Vec<SpatialVelocity<T>>,
    /// For each joint a force.
    pub(super) forces: Vec<SpatialForce<T>>,
    /// For each joint the inertia of all it carries.
    pub(super) composites: Vec<SpatialInertia<T>>,
    /// For each joint the articulated inertia of all it carries.
    pub(super) articulated: Vec<ArticulatedInertia<T>>,
    /// For each direction of motion inertia times its column.
    pub(super) momenta: Vec<SpatialForce<T>>,
    /// For each velocity coordinate the inverse of what resists it, and the force that is left for it.
    pub(super) pivots: Vec<[T; 2]>,
    /// Factors of the mass matrix, where joints follow others.
    pub(super) factors: DMatrix<T>,
}

impl<T: Scalar> Workspace<T> {
    /// Memory for a mechanism.
    #[inline(never)]
    pub fn new(mechanism: &Mechanism<T>) -> Self {
        let (joints, trees) = (mechanism.joints.len(), mechanism.trees.len());
        let columns = mechanism.coordinate.len();
        let factors = if mechanism.has_followers() { mechanism.nv } else { 0 };
        let zero = Vector3::from_element(T::from(0.0));
        let still = SpatialVelocity::zero();
        let motion = ChildMotion {
            rotation: Matrix3::identity(),
            position: zero,
            velocity: still,
            relative: still,
            bias: still,
            inertia: SpatialInertia::zero(),
        };
        let articulated = ArticulatedInertia::of_rigid(&SpatialInertia::zero());
        let tree_of = |j: usize| mechanism.trees.iter().position(|t| t.joints.contains(&j));
        Self {
            origins: vec![zero; trees],
            tree: (0..joints).filter_map(tree_of).collect(),
            motions: vec![motion; joints],
            columns: vec![still; columns],
            accelerations: vec![still; joints],
            forces: vec![SpatialForce::zero(); joints],
            composites: vec![SpatialInertia::zero(); joints],
            articulated: vec![articulated; joints],
            momenta: vec![SpatialForce::zero(); columns],
            pivots: vec![[T::from(0.0); 2]; columns],
            factors: DMatrix::from_element(factors, factors, T::from(0.0)),
        }
    }

    /// Whether this is memory for a mechanism with as many joints, directions of motion and trees.
    pub(in crate::multibody) fn fits(&self, mechanism: &Mechanism<T>) -> bool {
        let sizes = [self.motions.len(), self.columns.len(), self.origins.len()];
        sizes == [mechanism.joints.len(), mechanism.coordinate.len(), mechanism.trees.len()]
    }
}
