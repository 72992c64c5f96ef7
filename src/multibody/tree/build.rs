//! From descriptions of bodies and joints to a checked mechanism.

use super::description::{BodyDescription, JointDescription, JointSpring};
use super::followers::resolved;
use super::joint::{JointFrame, JointKind};
use super::mechanism::{Body, Follows, Joint, Mechanism, Tree};
use super::order::{Order, tree_order};
use super::validate::{check_inertias, check_joints, check_masses};
use crate::multibody::model_error::ModelError;
use crate::spatial::{MassProperties, RigidTransform};

impl Mechanism<f64> {
    /// The mechanism of bodies and joints. Every body is the child of one joint. Among the
    /// children of a body those whose joints come first in `joints` come first.
    ///
    /// # Errors
    /// When names are not unique or unknown, joints do not make a tree, a mass cannot be, nothing
    /// resists a joint's motion, a joint follows one that it cannot, or a joint's numbers are out of range.
    pub fn new(bodies: Vec<BodyDescription>, joints: Vec<JointDescription>) -> Result<Self, ModelError> {
        check_masses(&bodies)?;
        let joints = check_joints(joints)?;
        let Order { sequence, parents } = tree_order(&bodies, &joints)?;
        let resolved = resolved(&joints)?;
        let mut mechanism = Self::default();
        // Indices of the bodies in the mechanism, by their indices in the description.
        let mut index = vec![usize::MAX; bodies.len()];
        for (body, joint) in sequence {
            index[body] = mechanism.bodies.len();
            let parent = parents[body].map(|p| index[p]);
            mechanism.add(&bodies[body], &joints[joint], parent);
        }
        let mut follows = Vec::with_capacity(resolved.len());
        for (index, joint) in mechanism.joints.iter().enumerate() {
            if let Some(of) = resolved.get(joint.name.as_str()) {
                // A leader can move, and so it is there.
                let leader = mechanism.joint_index(&joints[of.joint].name);
                follows.extend(leader.map(|leader| (index, Follows { joint: leader, ..*of })));
            }
        }
        mechanism.connect_followers(&follows);
        mechanism.kinds = mechanism.joints_with_coordinates().map(|j| j.kind).collect();
        mechanism.set_composites();
        check_inertias(&mechanism)?;
        Ok(mechanism)
    }

    /// Adds a body and the joint on its parent, which is there already.
    fn add(&mut self, body: &BodyDescription, joint: &JointDescription, parent: Option<usize>) {
        let (carrier, x_mp) = match parent {
            Some(p) => (self.bodies[p].joint, self.bodies[p].x_mb),
            None => (None, RigidTransform::identity()),
        };
        let x_mf = x_mp * joint.x_pf;
        let name = body.name.clone();
        if joint.kind == JointKind::Fixed {
            let x_mb = x_mf * joint.x_mc;
            self.bodies.push(Body { name, parent, joint: carrier, x_mb, mass: body.mass });
            return;
        }
        let index = self.joints.len();
        let directions = joint.kind.velocity_dimension();
        let first = self.column_parent.len();
        let columns = first..first + directions;
        let below = carrier.map(|c| self.joints[c].columns.end - 1);
        self.column_parent.extend(columns.clone().map(|k| if k == first { below } else { Some(k - 1) }));
        let (dq, dv) = match joint.mimic {
            Some(_) => (0, 0),
            None => (joint.kind.configuration_dimension(), directions),
        };
        let v = self.nv..self.nv + dv;
        self.joints.push(Joint {
            name: joint.name.clone(),
            kind: joint.kind,
            parent: carrier,
            child: self.bodies.len(),
            limits: joint.limits,
            damping: joint.damping,
            rotor_inertia: joint.rotor_inertia,
            spring: joint.spring.unwrap_or(JointSpring { stiffness: 0.0, rest: 0.0 }),
            friction: joint.friction,
            stiction_velocity: joint.stiction_velocity,
            follows: None,
            q: self.nq..self.nq + dq,
            v: v.clone(),
            columns,
            subtree: index..index + 1,
            composite: MassProperties::zero(),
            frame: JointFrame::new(&joint.kind, &x_mf),
        });
        let mut ancestor = carrier;
        while let Some(a) = ancestor {
            self.joints[a].subtree.end = index + 1;
            ancestor = self.joints[a].parent;
        }
        match self.trees.last_mut() {
            Some(tree) if carrier.is_some() => {
                tree.joints.end = index + 1;
                tree.v.end = v.end;
            }
            _ => self.trees.push(Tree {
                joints: index..index + 1,
                v,
                is_weightless: false,
                computed_torque: None,
            }),
        }
        self.bodies.push(Body { name, parent, joint: Some(index), x_mb: joint.x_mc, mass: body.mass });
        self.nq += dq;
        self.nv += dv;
    }
}
