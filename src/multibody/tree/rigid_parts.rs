//! Which bodies of a mechanism move as one.

use std::collections::BTreeMap;

use super::mechanism::Mechanism;

/// The bodies of a mechanism that move as one, or are fixed to the world and to each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RigidParts {
    /// The number of the part that each body belongs to.
    pub of_body: Vec<usize>,
    /// The part that a joint connects each part with, where it is not the world alone.
    pub carrier: BTreeMap<usize, usize>,
}

impl<T> Mechanism<T> {
    /// The groups of bodies that move as one, and the joints that connect these groups.
    /// [`Mechanism::are_connected`] says the same of two bodies; this says it of all bodies at once.
    pub(crate) fn rigid_parts(&self) -> RigidParts {
        let mut parts =
            RigidParts { of_body: Vec::with_capacity(self.bodies.len()), carrier: BTreeMap::new() };
        for (i, body) in self.bodies.iter().enumerate() {
            // A body comes after the one it is jointed to.
            let of_parent = body.parent.map(|parent| parts.of_body[parent]);
            let fixed = || of_parent.unwrap_or(self.joints.len() + i);
            let part = body.joint.unwrap_or_else(fixed);
            parts.of_body.push(part);
            if let Some(carrier) = of_parent.filter(|carrier| *carrier != part) {
                parts.carrier.insert(part, carrier);
            }
        }
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::multibody::tree::{BodyDescription, JointDescription, JointKind};
    use crate::spatial::{MassProperties, RigidTransform};
    use nalgebra::{Matrix3, Vector3};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn they_tell_what_is_connected(
            parents in prop::collection::vec(0usize..100, 1..14),
            welded in prop::collection::vec(prop::bool::ANY, 14),
        ) {
            let inertia = Matrix3::identity();
            let mass = MassProperties { mass: 1.0, center_of_mass: Vector3::zeros(), inertia };
            let name = |i: usize| format!("b{i}");
            let count = parents.len();
            let bodies = (0..count).map(|i| BodyDescription { name: name(i), mass: Some(mass) }).collect();
            let joint = |i: usize| {
                // The world or a body before this one.
                let parent = (parents[i] % (i + 1)).checked_sub(1).map(name);
                let kind =
                    if welded[i] { JointKind::Fixed } else { JointKind::Revolute { axis: Vector3::z() } };
                JointDescription::new(format!("j{i}"), kind, parent.as_deref(), name(i), RigidTransform::identity())
            };
            let mechanism = Mechanism::new(bodies, (0..count).map(joint).collect()).expect("a tree");
            let RigidParts { of_body, carrier } = mechanism.rigid_parts();
            for a in 0..count {
                for b in 0..a {
                    let (p, q) = (of_body[a], of_body[b]);
                    let connected = p == q || carrier.get(&p) == Some(&q) || carrier.get(&q) == Some(&p);
                    prop_assert_eq!(connected, mechanism.are_connected(a, b), "{} {}", a, b);
                }
            }
        }
    }
}
