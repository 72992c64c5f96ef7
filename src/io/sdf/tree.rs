//! Whether links and joints make a tree, told by the lines of joints and links.

use std::collections::HashMap;

use super::elements::Model;
use crate::multibody::tree::JointDescription;
use crate::xml::Problem;

/// Checks that every link but one at most, unless the model is static, is the child of one joint, and that no joints go
/// round in a circle;
/// `joints` are those of the model, in its order.
pub(super) fn check(model: &Model, joints: &[JointDescription]) -> Result<(), Problem> {
    let mut joint_above: HashMap<&str, usize> = HashMap::new();
    for (i, joint) in joints.iter().enumerate() {
        if let Some(first) = joint_above.insert(&joint.child, i) {
            let message = format!(
                "joint `{}` closes a loop: its child `{}` is already that of joint `{}`, and links and joints must \
                 make a tree",
                joint.name, joint.child, joints[first].name
            );
            return Err((Some(model.joints[i].line), message));
        }
    }
    for (i, joint) in joints.iter().enumerate() {
        let mut parent = joint.parent.as_deref();
        for _ in 0..joints.len() {
            if parent.is_none() {
                break;
            }
            parent = parent
                .and_then(|link| joint_above.get(link))
                .and_then(|&above| joints[above].parent.as_deref());
        }
        // Whoever has gone up by as many joints as there are has come past one twice.
        if parent.is_some() {
            let message =
                format!("joint `{}` is in a loop of joints; links and joints must make a tree", joint.name);
            return Err((Some(model.joints[i].line), message));
        }
    }
    let mut roots = model.links.iter().filter(|link| !joint_above.contains_key(link.name.as_str()));
    if let (Some(first), Some(second), false) = (roots.next(), roots.next(), model.is_static) {
        let message = format!(
            "link `{}` is the child of no joint, as is link `{}`; one such link is allowed",
            second.name, first.name
        );
        return Err((Some(second.line), message));
    }
    Ok(())
}
