//! Fixed tendons: lengths that are sums of the positions of joints, each with its factor.

use std::collections::HashMap;

use super::file::File;
use super::layers::Layers;
use super::tree::Tree;
use super::wrong;
use crate::io::file_error::FileError;
use crate::io::robot::values::required;
use crate::multibody::tree::JointDescription;

/// What a tendon may have that acts on joints without an actuator.
const ACTS: [&str; 4] = ["stiffness", "damping", "frictionloss", "armature"];

/// A length, by the joints that it changes with.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Length {
    /// The joints by their indices, with their factors.
    pub joints: Vec<(usize, f64)>,
    /// Its part that does not change.
    pub constant: f64,
}

/// Fixed tendons by their names: joints by their indices, with their factors.
pub(super) type Tendons = HashMap<String, Vec<(usize, f64)>>;

/// The fixed tendons of a file. What they do without an actuator is told.
///
/// # Errors
/// When a joint of one is not there or has several coordinates, or a number is not good.
pub(super) fn tendons(file: &File, tree: &mut Tree) -> Result<Tendons, FileError> {
    let mut made = HashMap::new();
    for element in file.root.all("tendon").flat_map(|section| section.all("fixed")) {
        let layers = file.classes.layers(element, &["tendon"], None)?;
        for what in ACTS {
            // Of stiffness and damping these are coefficients of a polynomial.
            if layers.overlaid(what, [0.0; 3], 1)? != [0.0; 3] {
                tree.ignored.add(format!("`{what}` of a tendon"), element.label());
            }
        }
        if layers.limits("range", "limited", file.compiler.autolimits)?.is_some() {
            tree.ignored.add("`range` of a tendon", element.label());
        }
        let mut joints = Vec::new();
        for part in element.all("joint") {
            let name = required(part, "joint").map_err(|message| wrong(part, message))?;
            let found = tree.joints.iter().position(|joint| joint.name == name && joint.kind.is_single());
            let index = found.ok_or_else(|| {
                wrong(
                    part,
                    format!("found joint = {name:?}, which is no joint of a body with one coordinate"),
                )
            })?;
            joints.push((index, Layers(vec![part]).number_or("coef", 1.0)?));
        }
        if let Some(name) = super::name(element)
            && made.insert(name.clone(), joints).is_some()
        {
            return Err(wrong(element, format!("found a second tendon `{name}`; names are unique")));
        }
    }
    Ok(made)
}

/// Of each joint the one that it follows; itself where it follows none.
pub(super) fn leaders(joints: &[JointDescription]) -> Vec<usize> {
    let places: HashMap<&str, usize> =
        joints.iter().enumerate().rev().map(|(index, joint)| (joint.name.as_str(), index)).collect();
    let leader = |(index, joint): (usize, &JointDescription)| {
        joint.mimic.as_ref().and_then(|mimic| places.get(mimic.joint.as_str()).copied()).unwrap_or(index)
    };
    joints.iter().enumerate().map(leader).collect()
}

/// The sum of positions of joints with one coordinate, by those joints that follow no others.
pub(super) fn length(all: &[JointDescription], leaders: &[usize], joints: &[(usize, f64)]) -> Length {
    let mut length = Length::default();
    for &(mut index, mut factor) in joints {
        // Joints that follow each other in a circle are refused later.
        for _ in 0..all.len() {
            let Some(mimic) = &all[index].mimic else { break };
            length.constant += factor * mimic.offset;
            (index, factor) = (leaders[index], factor * mimic.multiplier);
        }
        match length.joints.iter_mut().find(|(other, _)| *other == index) {
            Some((_, sum)) => *sum += factor,
            None => length.joints.push((index, factor)),
        }
    }
    length.joints.retain(|(_, factor)| *factor != 0.0);
    length
}
