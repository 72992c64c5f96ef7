//! Joints that follow others: they have no coordinates, and move along those of the joints they follow.
//!
//! With the velocities of all joints v_all = G v, where G has the ratio of each joint to the coordinate
//! that moves it, the balance of forces M v̇ + C v = τ in the coordinates v has M = Gᵀ M_all G and
//! τ = Gᵀ τ_all. No matrix G is made: the column of a joint that follows is the motion of its child at
//! unit rate of the coordinate that it follows, and what belongs to one coordinate adds up.

use std::collections::HashMap;

use super::description::JointDescription;
use super::mechanism::{Follows, Mechanism, Tree};
use crate::multibody::model_error::ModelError;

/// What is wrong with the joint that a joint follows.
fn wrong(joint: &str, found: String, allowed: &'static str) -> ModelError {
    ModelError::JointValue { joint: joint.to_owned(), field: "the joint that it mimics", found, allowed }
}

/// For each joint that follows another, by its name, which joint that has a coordinate moves it in the
/// end (by its index in `joints`), with ratio and offset.
pub(super) fn resolved(joints: &[JointDescription]) -> Result<HashMap<&str, Follows>, ModelError> {
    let index: HashMap<&str, usize> = joints.iter().enumerate().map(|(i, j)| (j.name.as_str(), i)).collect();
    let mut all = HashMap::new();
    for joint in joints.iter().filter(|joint| joint.mimic.is_some()) {
        let (mut last, mut ratio, mut offset, mut passed) = (joint, 1.0, 0.0, 0);
        let mut leader = None;
        while let Some(mimic) = &last.mimic {
            let Some(&next) = index.get(mimic.joint.as_str()) else {
                let allowed = "the name of a joint";
                return Err(wrong(&last.name, format!("`{}`, which is no joint", mimic.joint), allowed));
            };
            let kind = &joints[next].kind;
            if !kind.is_single() {
                let found = format!("`{}`, a {} joint", mimic.joint, kind.name());
                return Err(wrong(&last.name, found, "a revolute or prismatic joint"));
            }
            (ratio, offset) = (ratio * mimic.multiplier, offset + ratio * mimic.offset);
            (last, leader, passed) = (&joints[next], Some(next), passed + 1);
            if passed > joints.len() {
                let found = format!("`{}`, which follows it in turn", mimic.joint);
                return Err(wrong(&joint.name, found, "a joint that does not follow this one"));
            }
        }
        if let Some(leader) = leader {
            all.insert(joint.name.as_str(), Follows { joint: leader, ratio, offset });
        }
    }
    Ok(all)
}

impl Mechanism<f64> {
    /// Sets what moves along which coordinate, once all joints are there: `follows` has the joints that
    /// follow others by their indices, with the indices of those that they follow.
    pub(super) fn connect_followers(&mut self, follows: &[(usize, Follows)]) {
        self.coordinate = self.joints.iter().flat_map(|joint| joint.v.clone()).collect();
        self.v_parent = self.column_parent.clone();
        if follows.is_empty() {
            return;
        }
        self.coordinate.clear();
        for joint in 0..self.joints.len() {
            let follows =
                follows.iter().find(|(follower, _)| *follower == joint).map(|(_, follows)| *follows);
            self.joints[joint].follows = follows;
            let leader = follows.map_or(joint, |follows| follows.joint);
            self.coordinate.extend(self.joints[leader].v.clone());
            if let Some(follows) = follows {
                self.count_at_leader(joint, follows);
            }
        }
        for &(follower, Follows { joint, .. }) in follows {
            self.join_trees(follower, joint);
        }
        self.v_parent = vec![None; self.nv];
        for tree in &self.trees {
            let is_coupled = follows.iter().any(|(follower, _)| tree.joints.contains(follower));
            for joint in &self.joints[tree.joints.clone()] {
                for (k, column) in joint.v.clone().zip(joint.columns.clone()) {
                    // Where joints follow others, any two coordinates of a tree may be coupled.
                    self.v_parent[k] = if is_coupled {
                        k.checked_sub(1).filter(|before| tree.v.contains(before))
                    } else {
                        self.column_parent[column].map(|above| self.coordinate[above])
                    };
                }
            }
        }
    }

    /// Counts damping, rotor, friction and spring of a joint that follows another among those of that one.
    fn count_at_leader(&mut self, follower: usize, Follows { joint: leader, ratio, offset }: Follows) {
        let own = self.joints[follower].clone();
        let leader = &mut self.joints[leader];
        let square = ratio * ratio;
        leader.damping += square * own.damping;
        leader.rotor_inertia += square * own.rotor_inertia;
        if leader.friction == 0.0 && own.friction != 0.0 {
            leader.stiction_velocity = own.stiction_velocity / ratio.abs();
        }
        leader.friction += ratio.abs() * own.friction;
        // k (r q + o − rest)²/2 = r² k (q − (rest − o)/r)²/2, and two such springs make one.
        let stiffness = square * own.spring.stiffness;
        let sum = leader.spring.stiffness + stiffness;
        if stiffness > 0.0 {
            let rest = (own.spring.rest - offset) / ratio;
            leader.spring.rest = (leader.spring.stiffness * leader.spring.rest + stiffness * rest) / sum;
            leader.spring.stiffness = sum;
        }
        let own = &mut self.joints[follower];
        (own.damping, own.rotor_inertia, own.friction, own.spring.stiffness) = (0.0, 0.0, 0.0, 0.0);
    }

    /// Makes one tree of those of two joints, and of all between them.
    fn join_trees(&mut self, a: usize, b: usize) {
        let of = |joint: usize| self.trees.iter().position(|tree| tree.joints.contains(&joint));
        let (Some(a), Some(b)) = (of(a), of(b)) else { return };
        let (first, last) = (a.min(b), a.max(b));
        let (start, end) = (&self.trees[first], &self.trees[last]);
        let (joints, v) = (start.joints.start..end.joints.end, start.v.start..end.v.end);
        let tree = Tree { joints, v, is_weightless: false, computed_torque: None };
        self.trees.splice(first..=last, [tree]);
    }
}
