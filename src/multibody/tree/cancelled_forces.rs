//! What the drives of trees of bodies cancel: their weight (gravity compensation), or all that acts on them by itself
//! ([`ComputedTorque`]).

use super::computed_torque::ComputedTorque;
use super::mechanism::{Joint, Mechanism, Tree};
use super::workspace::{ChildMotion, Workspace};
use crate::scalar::Scalar;
use crate::spatial::SpatialVelocity;

impl<T> Tree<T> {
    /// Whether its drives cancel the forces that depend on its motion, its weight, and the damping and the springs of its
    /// joints.
    pub(super) fn is_cancelled(&self) -> bool {
        self.computed_torque.is_some()
    }
}

impl<T: Scalar> Mechanism<T> {
    /// The same mechanism with drives that carry the weight of the whole tree of a joint: gravity does
    /// not act on it.
    ///
    /// # Panics
    /// When there is no such joint.
    #[must_use]
    pub fn with_gravity_compensation(mut self, joint: usize) -> Self {
        assert!(joint < self.joints.len(), "one of {} joints, found {joint}", self.joints.len());
        for tree in self.trees.iter_mut().filter(|tree| tree.joints.contains(&joint)) {
            tree.is_weightless = true;
        }
        self
    }

    /// The same mechanism with the whole tree of a joint under computed torque (see [`ComputedTorque`]): neither gravity nor
    /// centrifugal and Coriolis forces nor the damping and the springs of its joints act on it, since its drives cancel them.
    /// A model needs an actuator with the drive [`Drive::ComputedTorque`](crate::multibody::Drive::ComputedTorque) for each
    /// coordinate of the tree, and checks the gains.
    ///
    /// # Panics
    /// When there is no such joint.
    #[must_use]
    pub fn with_computed_torque(self, joint: usize, law: ComputedTorque<T>) -> Self {
        let mut mechanism = self.with_gravity_compensation(joint);
        for tree in mechanism.trees.iter_mut().filter(|tree| tree.joints.contains(&joint)) {
            tree.computed_torque = Some(law);
        }
        mechanism
    }

    /// The joints whose damping and springs act, with their indices: those of trees whose drives do not cancel them.
    pub(crate) fn passive_joints(&self) -> impl Iterator<Item = (usize, &Joint<T>)> {
        let passive = self.trees.iter().filter(|tree| !tree.is_cancelled());
        passive.flat_map(|tree| tree.joints.clone().zip(&self.joints[tree.joints.clone()]))
    }

    /// The tree of a velocity coordinate, with its law; `None` where the tree is not under computed torque.
    pub(in crate::multibody) fn computed_torque_of(
        &self,
        velocity: usize,
    ) -> Option<(usize, ComputedTorque<T>)> {
        let tree = self.trees.iter().position(|tree| tree.v.contains(&velocity))?;
        Some((tree, self.trees[tree].computed_torque?))
    }

    /// What the mass matrix of a body's tree is multiplied by in a step of `time_step` seconds: 1 but of trees under computed
    /// torque.
    pub(crate) fn step_factor_of(&self, body: usize, time_step: T) -> T {
        let law = self.tree_of_body(body).and_then(|tree| self.trees[tree].computed_torque);
        law.map_or(T::from(1.0), |law| law.step_factor(time_step))
    }

    /// Whether a tree is under computed torque.
    pub(in crate::multibody) fn has_computed_torque(&self) -> bool {
        self.trees.iter().any(Tree::is_cancelled)
    }
}

/// The part of the motion of a joint's child that forces come from: nothing where drives cancel them.
pub(super) struct FeltMotion<T> {
    pub velocity: SpatialVelocity<T>,
    /// Velocity relative to the parent.
    pub relative: SpatialVelocity<T>,
    /// Acceleration at zero rate of `v`.
    pub bias: SpatialVelocity<T>,
}

impl<T: Scalar> Workspace<T> {
    /// The motion of a joint's child that its inertia answers with forces.
    #[inline]
    pub(super) fn felt_motion(&self, mechanism: &Mechanism<T>, joint: usize) -> FeltMotion<T> {
        if mechanism.trees[self.tree[joint]].is_cancelled() {
            let none = SpatialVelocity::zero();
            return FeltMotion { velocity: none, relative: none, bias: none };
        }
        let ChildMotion { velocity, relative, bias, .. } = self.motions[joint];
        FeltMotion { velocity, relative, bias }
    }
}
