//! Poses that a file has names for.

use super::file::File;
use super::tree::Tree;
use super::wrong;
use crate::io::file_error::FileError;
use crate::io::robot::values::parse_number;
use crate::multibody::tree::{JointDescription, JointKind};
use crate::shown::list;
use crate::xml::Element;

/// What else a keyframe may say, which does not say where joints are.
const REST: [&str; 5] = ["qvel", "act", "ctrl", "mpos", "mquat"];

/// Lets joints start where a keyframe has them.
///
/// # Errors
/// When there is no keyframe of that name, or it has not a number for each coordinate of the file's joints.
pub(super) fn start(file: &File, tree: &mut Tree, name: &str) -> Result<(), FileError> {
    let keys = || file.root.all("keyframe").flat_map(|section| section.all("key"));
    let Some(key) = keys().find(|key| key.attribute("name") == Some(name)) else {
        let known = list(keys().filter_map(super::name));
        return Err(wrong(file.root, format!("found no keyframe `{name}`; there are {known}")));
    };
    for what in REST {
        if numbers(key, what)?.is_some_and(|numbers| numbers.iter().any(|number| *number != 0.0)) {
            tree.ignored.add(format!("`{what}` of a keyframe"), name);
        }
    }
    let Some(positions) = numbers(key, "qpos")? else { return Ok(()) };
    let width = |joint: &JointDescription| joint.kind.configuration_dimension();
    let expected: usize = tree.joints.iter().map(width).sum();
    if positions.len() != expected {
        let found = positions.len();
        return Err(wrong(
            key,
            format!("found {found} numbers in `qpos`; the joints of the file have {expected}"),
        ));
    }
    let mut left = &positions[..];
    for joint in tree.joints.iter().filter(|joint| width(joint) > 0) {
        let (own, rest) = left.split_at(width(joint));
        left = rest;
        let start = match (joint.kind, own) {
            (JointKind::Ball, q) => turn(key, q)?,
            (JointKind::Free, [x @ .., _, _, _, _]) => [&turn(key, &own[3..])?, x].concat(),
            _ => own.to_vec(),
        };
        tree.initial.retain(|(other, _)| *other != joint.name);
        tree.initial.push((joint.name.clone(), start));
    }
    Ok(())
}

/// A quaternion w, x, y, z as the unit quaternion that it stands for.
fn turn(key: &Element, quaternion: &[f64]) -> Result<Vec<f64>, FileError> {
    let length = quaternion.iter().map(|x| x * x).sum::<f64>().sqrt();
    if length < 1e-9 {
        return Err(wrong(
            key,
            format!("found the quaternion {quaternion:?} in `qpos`; it must not be zero"),
        ));
    }
    Ok(quaternion.iter().map(|x| x / length).collect())
}

/// The numbers of an attribute, if it is there.
fn numbers(key: &Element, attribute: &str) -> Result<Option<Vec<f64>>, FileError> {
    let what = format!("`key` has {attribute} =");
    let number = |word: &str| match parse_number(&what, word)? {
        number if number.is_finite() => Ok(number),
        number => Err(format!("{what} {number}; it must be finite")),
    };
    let of = |text: &str| text.split_whitespace().map(number).collect::<Result<_, String>>();
    key.attribute(attribute).map(of).transpose().map_err(|message| wrong(key, message))
}
