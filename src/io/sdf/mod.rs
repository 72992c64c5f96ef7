//! Robots from SDF files: one model of links and joints that make a tree, or a world of such models, of versions 1.5 to 1.x.
//!
//! Poses are those of the format from version 1.7 on: a link's is in the model's frame, a joint's in that of its
//! child, unless they name another frame. What `surface` says of contact is left to the materials of a scene.

mod elements;
mod frames;
mod pose;
mod shapes;
mod text;
mod tree;
mod world;

use std::path::Path;

use nalgebra::Vector3;

use super::file_error::FileError;
use super::robot::{
    LinkShape, LinkShapes, RobotOptions, RobotParts, invalid, link_mass, set_friction, set_mimic,
};
use crate::multibody::tree::{BodyDescription, JointDescription, JointKind};
use crate::spatial::RigidTransform;
use crate::xml::{self, Problem};
use elements::{Axis, DEFORMABLE, Inertial, Joint, JointType, Link, Model};
use frames::Frames;

/// The format's name.
pub(super) const FORMAT: &str = "SDF";

/// Reads the element of a file; `path` is its name in messages. The base places the model's frame.
///
/// # Errors
/// When it is not an SDF of one model or world, or its links and joints do not make a tree.
pub(super) fn read(
    root: &xml::Element,
    path: &Path,
    options: &RobotOptions,
) -> Result<RobotParts, FileError> {
    let parts = elements::content(root).and_then(|element| match element.name.as_str() {
        "world" => world::world(element, path, options),
        _ => parts(&elements::model(element)?, path, options),
    });
    parts.map_err(|problem| invalid(path, FORMAT, problem))
}

fn parts(model: &Model, path: &Path, options: &RobotOptions) -> Result<RobotParts, Problem> {
    if model.links.is_empty() {
        return Err((None, "it has no link; it must have at least one".to_owned()));
    }
    let frames = Frames::new(model)?;
    let mut warnings = Vec::new();
    if let Some(line) = model.placed_at {
        warnings.push(format!(
            "{}:{line}: the pose of the model itself is not used; a scene says where its frame is",
            path.display()
        ));
    }
    let mut joints = Vec::new();
    for written in &model.joints {
        let mut joint = joint(written, &frames)?;
        set_friction(&mut joint, written.axis.as_ref().map_or(0.0, |axis| axis.friction), &mut warnings);
        joint.rotor_inertia = written.rotor_inertia;
        set_mimic(&mut joint, written.mimics.clone(), options.mimic, path, &mut warnings);
        joints.push(joint);
    }
    tree::check(model, &joints)?;
    // The base carries the first link without a joint; of a static model the others stand beside it.
    let carried = |link: &Link, joints: &[JointDescription]| joints.iter().any(|j| j.child == link.name);
    let rootless = model.links.iter().filter(|link| !carried(link, &joints)).skip(1);
    for link in rootless.collect::<Vec<_>>() {
        let x_pf = frames.pose(&link.name, link.line)?;
        let name = format!("{} on the world", link.name);
        joints.push(JointDescription::new(name, JointKind::Fixed, None, link.name.clone(), x_pf));
    }
    for name in ["kinematic", "velocity_decay", "fluid_added_mass", DEFORMABLE] {
        let links = model.links.iter().filter(|link| link.ignored.contains(&name));
        let links: Vec<&str> = links.map(|link| link.name.as_str()).collect();
        if !links.is_empty() && !model.is_static {
            warnings.push(format!("`{name}` is not simulated; it is given for {}", links.join(", ")));
        }
    }
    let root_pose = |link: &Link| frames.pose(&link.name, link.line);
    Ok(RobotParts {
        name: model.name.clone(),
        bodies: model.links.iter().map(|link| body(link, model.is_static, &mut warnings)).collect(),
        joints,
        shapes: model.links.iter().map(|link| shapes(link, &frames)).collect::<Result<_, _>>()?,
        root_poses: model.links.iter().map(root_pose).collect::<Result<_, _>>()?,
        is_static: model.is_static,
        weightless: model.links.iter().filter(|link| !link.gravity).map(|link| link.name.clone()).collect(),
        apart: model.apart.clone(),
        initial: Vec::new(),
        actuators: Vec::new(),
        files: Vec::new(),
        warnings,
    })
}

fn body(link: &Link, is_static: bool, warnings: &mut Vec<String>) -> BodyDescription {
    let mass = match &link.inertial {
        Some(Inertial { x_bi, mass, inertia }) => link_mass(*mass, *inertia, x_bi),
        None if is_static => None,
        None => {
            warnings.push(format!(
                "link `{}` has no `inertial`; the format then has 1 kg, and 1 kg m² about each axis",
                link.name
            ));
            link_mass(1.0, [1.0, 0.0, 0.0, 1.0, 0.0, 1.0], &RigidTransform::identity())
        }
    };
    BodyDescription { name: link.name.clone(), mass }
}

fn shapes(link: &Link, frames: &Frames) -> Result<LinkShapes, Problem> {
    let on_link = |shape: &shapes::Shape| {
        Ok(LinkShape {
            name: shape.name.clone(),
            classes: Vec::new(),
            x_bg: frames.pose_on(&link.name, &shape.pose)?,
            geometry: shape.geometry.clone(),
            proximity: shape.proximity,
        })
    };
    let visual = |shape: &Result<shapes::Shape, String>| {
        shape.as_ref().map_err(Clone::clone).and_then(|s| on_link(s).map_err(|(_, message): Problem| message))
    };
    Ok(LinkShapes {
        link: link.name.clone(),
        collisions: link.shapes.collisions.iter().map(on_link).collect::<Result<_, _>>()?,
        visuals: link.shapes.visuals.iter().map(visual).collect(),
    })
}

/// A joint, but for its friction and what it mimics.
fn joint(joint: &Joint, frames: &Frames) -> Result<JointDescription, Problem> {
    let x_joint = frames.pose(&joint.name, joint.line)?;
    let axis = match &joint.axis {
        None => Vector3::zeros(),
        Some(Axis { xyz, expressed_in: None, .. }) => Vector3::from(*xyz),
        Some(Axis { xyz, expressed_in: Some(frame), line, .. }) => {
            x_joint.rotation.transpose() * frames.pose(frame, *line)?.rotation * Vector3::from(*xyz)
        }
    };
    let kind = match joint.joint_type {
        JointType::Fixed => JointKind::Fixed,
        JointType::Revolute | JointType::Continuous => JointKind::Revolute { axis },
        JointType::Prismatic => JointKind::Prismatic { axis },
        JointType::Ball => JointKind::Ball,
    };
    let parent = match joint.parent.as_str() {
        "world" => None,
        parent => Some(frames.link(parent, joint.line)?),
    };
    let child = frames.link(&joint.child, joint.line)?;
    let x_parent = parent.map_or(Ok(RigidTransform::identity()), |parent| frames.pose(parent, joint.line))?;
    let x_pf = x_parent.inverse() * x_joint;
    let mut description = JointDescription::new(joint.name.clone(), kind, parent, child, x_pf);
    description.x_mc = match &joint.pose.relative_to {
        // Without the rounding of the way over the model's frame.
        None if child == joint.child => joint.pose.x.inverse(),
        _ => x_joint.inverse() * frames.pose(child, joint.line)?,
    };
    if let Some(Axis { limit, damping, spring, .. }) = &joint.axis {
        let limits = &mut description.limits;
        (limits.effort, limits.velocity) = (limit.effort, limit.velocity);
        if joint.joint_type != JointType::Continuous {
            (limits.lower, limits.upper) = (limit.lower, limit.upper);
        }
        limits.stiffness = limit.stiffness.unwrap_or(limits.stiffness);
        limits.dissipation = limit.dissipation.unwrap_or(limits.dissipation);
        description.damping = *damping;
        description.spring = *spring;
    }
    Ok(description)
}
