//! What joints have that not every simulation of them follows.

use std::path::Path;

use super::MimicJoints;
use crate::multibody::tree::{JointDescription, Mimic};

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
