//! The actuators of joints and fixed tendons.

use super::file::File;
use super::layers::Layers;
use super::tendons::{Length, Tendons, leaders, length};
use super::tree::Tree;
use super::wrong;
use crate::io::file_error::FileError;
use crate::io::robot::JointActuator;
use crate::multibody::Drive;
use crate::xml::Element;

/// The actuators that are read. They share the defaults of what is not a gain.
const READ: [&str; 4] = ["general", "motor", "position", "velocity"];

/// The actuators of a file, whose joints are in the tree.
///
/// # Errors
/// When one is a muscle, its joint or tendon is not there, or its numbers are not good.
pub(super) fn actuators(
    file: &File,
    tree: &mut Tree,
    tendons: &Tendons,
) -> Result<Vec<JointActuator>, FileError> {
    let mut made: Vec<JointActuator> = Vec::new();
    let leaders = leaders(&tree.joints);
    for element in file.root.all("actuator").flat_map(|section| &section.children) {
        if element.name == "muscle" {
            return Err(wrong(
                element,
                "no muscle is simulated; actuators are those of joints and fixed tendons",
            ));
        }
        let layers = file.classes.layers(element, &READ, None)?;
        let is_read = READ.contains(&element.name.as_str());
        let (length, at) = match (layers.find("joint"), layers.find("tendon")) {
            (Some((_, joint)), _) if is_read => {
                let Some(of) = tree.joints.iter().position(|other| other.name == joint) else {
                    let message = format!("found joint = {joint:?}, which is no joint of a body");
                    return Err(wrong(element, message));
                };
                (
                    match tree.joints[of].kind.is_single() {
                        true => length(&tree.joints, &leaders, &[(of, 1.0)]),
                        false => Length::default(),
                    },
                    joint,
                )
            }
            (None, Some((_, tendon))) if is_read => match tendons.get(tendon) {
                Some(joints) => (length(&tree.joints, &leaders, joints), tendon),
                None => {
                    return Err(wrong(
                        element,
                        format!("found tendon = {tendon:?}, which is no fixed tendon"),
                    ));
                }
            },
            _ => {
                let what = "an actuator that is not `motor`, `position`, `velocity` or `general` of a `joint` or a \
                            fixed tendon";
                tree.ignored.add(what, element.label());
                continue;
            }
        };
        let [gear, ..]: [f64; 6] = layers.overlaid("gear", [1.0, 0.0, 0.0, 0.0, 0.0, 0.0], 1)?;
        let follows = |(drive, _): &(Drive, f64)| match (drive, &length.joints[..]) {
            (_, []) => false,
            (Drive::Force, _) => true,
            (_, [_]) => length.constant == 0.0,
            _ => false,
        };
        let Some((drive, gain)) = law(file, element)?.filter(|law| gear * law.1 != 0.0 && follows(law))
        else {
            let what = "an actuator with dynamics or other laws than those of a motor or a servo, of a joint with \
                        several coordinates, or a servo of a length that is not in proportion to one position";
            tree.ignored.add(what, element.label());
            continue;
        };
        for name in ["timeconst", "delay", "damping", "armature", "dampratio"] {
            if layers.number_or(name, 0.0)? != 0.0 {
                tree.ignored.add(format!("`{name}` of an actuator"), element.label());
            }
        }
        let auto = file.compiler.autolimits;
        let largest = |[least, most]: [f64; 2]| f64::max(-least, most);
        let mut effort = layers.limits("forcerange", "forcelimited", auto)?.map_or(f64::INFINITY, largest);
        let control = layers.limits("ctrlrange", "ctrllimited", auto)?;
        match (drive, control) {
            (Drive::Force, Some(control)) => effort = effort.min(largest(control) * gain.abs()),
            (Drive::Force, None) => {}
            _ if control.is_some() || layers.number_or("inheritrange", 0.0)? != 0.0 => {
                tree.ignored.add("`ctrlrange` of a servo", element.label());
            }
            _ => {}
        }
        let factors = || length.joints.iter().map(|(_, factor)| (gear * factor).abs());
        let (least, most) = factors().fold((f64::INFINITY, 0.0), |(a, b), x| (x.min(a), x.max(b)));
        if effort < f64::INFINITY && least != most {
            // The largest force is one number for all joints.
            tree.ignored.add(
                "the limit of the force of a tendon whose joints have different factors",
                element.label(),
            );
        }
        let limits = length.joints.iter().map(|&(joint, _)| tree.joints[joint].limits.effort);
        let effort = limits.fold(effort * most, f64::min);
        // A servo of the length c q is one of q, with the square of c in its gains.
        let (square, is_force) = (most * most, drive == Drive::Force);
        let drive = match drive {
            Drive::Position { stiffness, damping } => {
                Drive::Position { stiffness: stiffness * square, damping: damping * square }
            }
            Drive::Velocity { damping } => Drive::Velocity { damping: damping * square },
            other => other,
        };
        let ratio = |factor: f64| if is_force { gear * factor * gain } else { 1.0 / (gear * factor) };
        let joints =
            length.joints.iter().map(|&(joint, factor)| (tree.joints[joint].name.clone(), ratio(factor)));
        let joints = joints.collect();
        let mut name = super::name(element).unwrap_or_else(|| at.to_owned());
        while made.iter().any(|other| other.name == name) {
            name.push('_');
        }
        made.push(JointActuator { name, joints, drive, effort });
    }
    // What a drive of the scene on a joint can do is what that of the file can.
    for joint in &mut tree.joints {
        let own = made.iter().filter(|actuator| actuator.joints.iter().any(|(name, _)| *name == joint.name));
        joint.limits.effort = own.map(|actuator| actuator.effort).fold(joint.limits.effort, f64::min);
    }
    Ok(made)
}

/// The law of an actuator on the length that its gear makes of a joint's position or a tendon's length, and the factor on
/// the control of a motor; `None` for laws that are not read.
fn law(file: &File, element: &Element) -> Result<Option<(Drive, f64)>, FileError> {
    let general = file.classes.layers(element, &["general"], None)?;
    let [gain, ..]: [f64; 10] = general.overlaid("gainprm", [1.0; 10], 1)?;
    let own = file.classes.layers(element, &[&element.name], None)?;
    let servo = |stiffness, damping| Some((Drive::Position { stiffness, damping }, 1.0));
    Ok(match element.name.as_str() {
        "motor" => Some((Drive::Force, 1.0)),
        "position" => servo(own.number_or("kp", gain)?, own.number_or("kv", 0.0)?),
        "velocity" => Some((Drive::Velocity { damping: own.number_or("kv", gain)? }, 1.0)),
        _ => affine(&general, gain)?,
    })
}

/// The law of a `general` actuator: gain × control + b₀ + b₁ length + b₂ speed. The command of a servo is where it goes
/// to, whatever control of the file that is.
fn affine(general: &Layers, gain: f64) -> Result<Option<(Drive, f64)>, FileError> {
    let is_static = general.find("dyntype").is_none_or(|(_, found)| found == "none");
    let is_fixed = general.find("gaintype").is_none_or(|(_, found)| found == "fixed");
    let [constant, of_length, of_speed, ..]: [f64; 10] = general.overlaid("biasprm", [0.0; 10], 1)?;
    let bias = match general.find("biastype").map_or("none", |(_, found)| found) {
        "none" => [0.0; 3],
        "affine" => [constant, of_length, of_speed],
        _ => return Ok(None),
    };
    if !(is_static && is_fixed) {
        return Ok(None);
    }
    Ok(match bias {
        [0.0, 0.0, 0.0] => Some((Drive::Force, gain)),
        [_, stiffness, damping] if stiffness < 0.0 && damping <= 0.0 => {
            Some((Drive::Position { stiffness: -stiffness, damping: -damping }, 1.0))
        }
        [0.0, 0.0, damping] if damping < 0.0 => Some((Drive::Velocity { damping: -damping }, 1.0)),
        _ => None,
    })
}
