//! What joints have that not every simulation of them follows.

use std::path::Path;

use super::MimicJoints;
use crate::multibody::Drive;
use crate::multibody::tree::{JointDescription, JointKind, Mimic};

/// An actuator of a joint, as the file of a robot has it.
#[derive(Clone, Debug, PartialEq)]
pub struct JointActuator {
    /// Its name.
    pub name: String,
    /// The joints, each with the factor on the command.
    pub joints: Vec<(String, f64)>,
    /// How the command becomes a force.
    pub drive: Drive,
    /// Largest force on each joint, N m or N; ∞ without a limit.
    pub effort: f64,
}

/// Gives a joint its Coulomb friction, or says that it is not simulated.
pub(in crate::io) fn set_friction(joint: &mut JointDescription, friction: f64, warnings: &mut Vec<String>) {
    if joint.kind.is_single() {
        joint.friction = friction;
    } else if friction != 0.0 {
        warnings.push(format!(
            "friction is simulated in joints with one coordinate only, and not in joint `{}`",
            joint.name
        ));
    }
}

/// Has a joint follow another, or says that it does not.
pub(in crate::io) fn set_mimic(
    joint: &mut JointDescription,
    mimics: Option<Mimic>,
    mimic: MimicJoints,
    path: &Path,
    warnings: &mut Vec<String>,
) {
    match (mimics, mimic) {
        (Some(mimics), _) if joint.kind == JointKind::Fixed => {
            let (path, name) = (path.display(), &joint.name);
            warnings.push(format!(
                "{path}: joint `{name}` is fixed, so that it cannot mimic joint `{}`",
                mimics.joint
            ));
        }
        (Some(mimics), MimicJoints::Independent) => {
            let (path, name) = (path.display(), &joint.name);
            warnings.push(format!(
                "{path}: joint `{name}` mimics joint `{}`; it is read as independent",
                mimics.joint
            ));
        }
        (mimics, MimicJoints::Follow) => joint.mimic = mimics,
        (None, MimicJoints::Independent) => {}
    }
}
