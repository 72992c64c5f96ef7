//! The order of the bodies: depth first, from the world.

use std::collections::HashMap;

use super::description::{BodyDescription, JointDescription};
use crate::multibody::model_error::ModelError;

/// The order in which bodies are added, by their indices in the description.
#[derive(Debug)]
pub(super) struct Order {
    /// Body and the joint that has it as its child, every body after its parent.
    pub sequence: Vec<(usize, usize)>,
    /// The parent of each body; `None` for the world.
    pub parents: Vec<Option<usize>>,
}

/// Names by their index, checked to be unique.
fn indices<'a>(
    what: &'static str,
    names: impl Iterator<Item = &'a String>,
) -> Result<HashMap<&'a str, usize>, ModelError> {
    let mut indices = HashMap::new();
    for (index, name) in names.enumerate() {
        if indices.insert(name.as_str(), index).is_some() {
            return Err(ModelError::DuplicateName { what, name: name.clone() });
        }
    }
    Ok(indices)
}

/// The longest list of names that a message shows.
const SHOWN: usize = 12;

/// Names for a message.
pub(super) fn list(names: impl Iterator<Item = impl AsRef<str>>) -> String {
    let names: Vec<String> = names.map(|n| format!("`{}`", n.as_ref())).collect();
    match names.len() {
        0 => "there are none".to_owned(),
        n if n > SHOWN => format!("{}, … ({n} in all)", names[..SHOWN].join(", ")),
        _ => names.join(", "),
    }
}

/// Orders the bodies depth first; children of one body in the order of their joints.
pub(super) fn tree_order(
    bodies: &[BodyDescription],
    joints: &[JointDescription],
) -> Result<Order, ModelError> {
    let index = indices("bodies", bodies.iter().map(|b| &b.name))?;
    indices("joints", joints.iter().map(|j| &j.name))?;
    let find = |joint: &JointDescription, role, name: &String| {
        index.get(name.as_str()).copied().ok_or_else(|| ModelError::UnknownBody {
            joint: joint.name.clone(),
            role,
            name: name.clone(),
            known: list(bodies.iter().map(|b| &b.name)),
        })
    };
    let mut parents = vec![None; bodies.len()];
    let mut carriers: Vec<Option<usize>> = vec![None; bodies.len()];
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); bodies.len()];
    let mut roots = Vec::new();
    for (index, joint) in joints.iter().enumerate() {
        let parent = joint.parent.as_ref().map(|name| find(joint, "parent", name)).transpose()?;
        let child = find(joint, "child", &joint.child)?;
        if let Some(first) = carriers[child].replace(index) {
            return Err(ModelError::TwoParents {
                body: joint.child.clone(),
                first: joints[first].name.clone(),
                second: joint.name.clone(),
            });
        }
        parents[child] = parent;
        parent.map_or(&mut roots, |p| &mut children[p]).push(child);
    }
    if let Some(body) = carriers.iter().position(Option::is_none) {
        return Err(ModelError::Unconnected(bodies[body].name.clone()));
    }
    let mut sequence = Vec::with_capacity(bodies.len());
    let mut reached = vec![false; bodies.len()];
    let mut stack: Vec<usize> = roots.into_iter().rev().collect();
    while let Some(body) = stack.pop() {
        reached[body] = true;
        sequence.extend(carriers[body].map(|joint| (body, joint)));
        stack.extend(children[body].iter().rev());
    }
    // Every body has one parent, so whatever is not reached from the world hangs on a ring.
    if let Some(start) = reached.iter().position(|r| !r) {
        return Err(ModelError::Loop(list(
            ring(start, &parents).iter().filter_map(|&body| Some(&joints[carriers[body]?].name)),
        )));
    }
    Ok(Order { sequence, parents })
}

/// The ring that the way from a body to its parents ends in, parents first.
fn ring(start: usize, parents: &[Option<usize>]) -> Vec<usize> {
    let mut seen = Vec::new();
    let mut body = Some(start);
    while let Some(b) = body {
        if let Some(first) = seen.iter().position(|&s| s == b) {
            let mut ring = seen.split_off(first);
            ring.reverse();
            return ring;
        }
        seen.push(b);
        body = parents[b];
    }
    seen
}
