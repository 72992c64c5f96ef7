//! Robots from URDF files.

mod elements;

use std::collections::HashSet;
use std::path::Path;

use nalgebra::Vector3;

use super::file_error::FileError;
use super::robot::{RobotOptions, RobotParts, element, invalid, link_mass, set_friction, set_mimic};
use crate::multibody::tree::{BodyDescription, JointDescription, JointKind, JointLimits};
use crate::spatial::{RigidTransform, rotation_to};
use crate::xml;
use elements::JointType;

/// The format's name.
pub(super) const FORMAT: &str = "URDF";

/// Reads the element of a file; `path` is its name in messages.
///
/// # Errors
/// When it is not a URDF.
pub(super) fn read(
    root: &xml::Element,
    path: &Path,
    options: &RobotOptions,
) -> Result<RobotParts, FileError> {
    let urdf = elements::robot(root).map_err(|problem| invalid(path, FORMAT, problem))?;
    if urdf.links.is_empty() {
        let message = "it has no link; it must have at least one".to_owned();
        return Err(invalid(path, FORMAT, (None, message)));
    }
    let mut warnings: Vec<String> =
        urdf.ignored.iter().map(|name| format!("`{name}` is not simulated")).collect();
    let bodies: Vec<_> = urdf.links.iter().map(body).collect();
    let names: HashSet<&str> = bodies.iter().map(|body| body.name.as_str()).collect();
    let mut joints = Vec::new();
    for written in urdf.joints {
        let mut joint = joint(&written, path)?;
        // The world is known without a link of that name.
        joint.parent = joint.parent.filter(|p| p != "world" || names.contains("world"));
        let rotors = urdf.rotors.iter().filter(|(name, _)| *name == joint.name);
        joint.rotor_inertia = rotors.map(|(_, inertia)| inertia).sum();
        set_friction(&mut joint, written.friction, &mut warnings);
        set_mimic(&mut joint, written.mimics, options.mimic, path, &mut warnings);
        joints.push(joint);
    }
    // The frame that the base places is that of the root.
    let root_poses = vec![RigidTransform::identity(); bodies.len()];
    let shapes = urdf.links.into_iter().map(|link| link.shapes).collect();
    Ok(RobotParts {
        name: urdf.name,
        bodies,
        joints,
        shapes,
        root_poses,
        is_static: false,
        weightless: urdf.weightless,
        apart: urdf.apart,
        initial: Vec::new(),
        actuators: Vec::new(),
        files: Vec::new(),
        warnings,
    })
}

fn body(link: &elements::Link) -> BodyDescription {
    let mass = link.inertial.as_ref();
    let mass = mass.and_then(|own| link_mass(own.mass, own.inertia, &own.origin.pose()));
    BodyDescription { name: link.shapes.link.clone(), mass }
}

/// A joint, but for its friction and what it mimics.
fn joint(joint: &elements::Joint, path: &Path) -> Result<JointDescription, FileError> {
    let axis = Vector3::from(joint.axis);
    let kind = match joint.joint_type {
        JointType::Fixed => JointKind::Fixed,
        JointType::Revolute | JointType::Continuous => JointKind::Revolute { axis },
        JointType::Prismatic => JointKind::Prismatic { axis },
        JointType::Planar => JointKind::Planar,
        JointType::Spherical => JointKind::Ball,
        JointType::Floating => JointKind::Free,
    };
    let mut description = JointDescription::new(
        joint.name.clone(),
        kind,
        Some(&joint.parent),
        joint.child.clone(),
        joint.origin.pose(),
    );
    if kind == JointKind::Planar {
        // The axis is the plane's normal, the joint's z axis.
        let turn = rotation_to(&axis).ok_or_else(|| {
            let message = format!("its axis is {:?}; it must be finite and not zero", joint.axis);
            element(path, format!("joint `{}`", joint.name), message)
        })?;
        description.x_pf = description.x_pf * RigidTransform::new(turn, Vector3::zeros());
        description.x_mc = RigidTransform::new(turn.transpose(), Vector3::zeros());
    }
    if let Some(limit) = joint.limit.filter(|_| kind != JointKind::Fixed) {
        description.limits.velocity = limit.velocity;
        description.limits.effort = limit.effort;
        if matches!(joint.joint_type, JointType::Revolute | JointType::Prismatic) {
            let (lower, upper) = (limit.lower, limit.upper);
            description.limits = JointLimits { lower, upper, ..description.limits };
        }
    }
    description.damping = joint.damping;
    Ok(description)
}
