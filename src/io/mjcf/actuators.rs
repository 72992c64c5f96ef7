//! The actuators of joints.

use super::file::File;
use super::layers::Layers;
use super::tree::Tree;
use super::wrong;
use crate::io::file_error::FileError;
use crate::io::robot::JointActuator;
use crate::io::robot::xml::Element;
use crate::multibody::Drive;

/// The actuators that are read. They share the defaults of what is not a gain.
const READ: [&str; 4] = ["general", "motor", "position", "velocity"];

/// The actuators of a file, whose joints are in the tree.
///
/// # Errors
/// When one is a muscle or pulls a tendon, its joint is not there, or its numbers are not good.
pub(super) fn actuators(file: &File, tree: &mut Tree) -> Result<Vec<JointActuator>, FileError> {
    let mut made: Vec<JointActuator> = Vec::new();
    for element in file.root.all("actuator").flat_map(|section| &section.children) {
        if element.name == "muscle" || element.attribute("tendon").is_some() {
            return Err(wrong(
                element,
                "no muscle and no tendon is simulated; actuators are those of joints",
            ));
        }
        let layers = file.classes.layers(element, &READ, None)?;
        let Some((_, joint)) = layers.find("joint").filter(|_| READ.contains(&element.name.as_str())) else {
            let what = "an actuator that is not `motor`, `position`, `velocity` or `general` of a `joint`";
            tree.ignored.add(what, element.label());
            continue;
        };
        let Some(of) = tree.joints.iter().find(|other| other.name == joint) else {
            return Err(wrong(element, format!("found joint = {joint:?}, which is no joint of a body")));
        };
        let [gear, ..]: [f64; 6] = layers.overlaid("gear", [1.0, 0.0, 0.0, 0.0, 0.0, 0.0], 1)?;
        let law = if of.kind.is_single() && of.mimic.is_none() { law(file, element)? } else { None };
        let Some((drive, gain)) = law.filter(|_| gear != 0.0) else {
            let what = "an actuator with dynamics, other laws than those of a motor or a servo, or of a joint that \
                        follows another or has several coordinates";
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
        if drive == Drive::Force
            && let Some(control) = layers.limits("ctrlrange", "ctrllimited", auto)?
        {
            effort = effort.min(largest(control) * gain.abs());
        }
        let effort = (effort * gear.abs()).min(of.limits.effort);
        // A servo of the length `gear` q is one of q, with the square of the gear in its gains.
        let square = gear * gear;
        let (drive, ratio) = match drive {
            Drive::Position { stiffness, damping } => {
                (Drive::Position { stiffness: stiffness * square, damping: damping * square }, 1.0 / gear)
            }
            Drive::Velocity { damping } => (Drive::Velocity { damping: damping * square }, 1.0 / gear),
            other => (other, gear),
        };
        let mut name = super::name(element).unwrap_or_else(|| joint.to_owned());
        while made.iter().any(|other| other.name == name) {
            name.push('_');
        }
        made.push(JointActuator { name, joint: joint.to_owned(), drive, ratio, effort });
    }
    // What a drive of the scene on a joint can do is what that of the file can.
    for joint in &mut tree.joints {
        let own = made.iter().filter(|actuator| actuator.joint == joint.name);
        joint.limits.effort = own.map(|actuator| actuator.effort).fold(joint.limits.effort, f64::min);
    }
    Ok(made)
}

/// The law of an actuator on the length that its gear makes of the joint's position, and the factor on the control of a
/// motor; `None` for laws that are not read.
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
