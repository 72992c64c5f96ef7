//! Robots from MJCF files, those of MuJoCo.
//!
//! A body with several joints is the last link of a chain, whose others have no mass. Joints have the coordinates of the
//! file, with the bodies as it has them where all are at `ref`. Geoms that collide with nothing are only drawn.

mod actuators;
mod attributes;
mod bodies;
mod compiler;
mod constraints;
mod file;
mod geoms;
mod include;
mod inertia;
mod joints;
mod keyframes;
mod layers;
mod meshes;
mod pose;
mod tendons;
mod tree;

use std::path::Path;

use super::file_error::FileError;
use super::robot::{RobotBase, RobotOptions, RobotParts, invalid};
use crate::multibody::tree::{JointDescription, JointKind};
use crate::xml;
use file::File;
use tree::Tree;

/// The format's name.
pub(super) const FORMAT: &str = "MJCF";

/// The name of the outermost element.
pub(super) const ROOT: &str = "mujoco";

/// The outermost element of a part that other files include.
pub(super) const PART: &str = "mujocoinclude";

/// Reads the element of a file; `path` is its name in messages, and the place from which the names of other files start.
/// The base places the file's world.
///
/// # Errors
/// When it is not an MJCF file, or has what is not read.
pub(super) fn read(
    root: &xml::Element,
    path: &Path,
    options: &RobotOptions,
) -> Result<RobotParts, FileError> {
    let (root, files) = include::expanded(root, path)?;
    let file = File::new(&root, path)?;
    let mut tree = bodies::tree(&file)?;
    if tree.bodies.is_empty() {
        return Err(wrong(&root, "it has no body; it must have at least one"));
    }
    file.options(&mut tree.ignored)?;
    let tendons = tendons::tendons(&file, &mut tree)?;
    // Equalities are about `ref`, which a keyframe is instead of later.
    let mut warnings = constraints::follow(&file, &mut tree, &tendons, options.mimic)?;
    if let Some(keyframe) = &options.keyframe {
        keyframes::start(&file, &mut tree, keyframe)?;
    }
    let apart = constraints::apart(&file, &mut tree)?;
    let actuators = actuators::actuators(&file, &mut tree, &tendons)?;
    connect_roots(&mut tree, options);
    if let Some(total) = file.compiler.total_mass {
        let masses = tree.bodies.iter_mut().filter_map(|body| body.mass.as_mut());
        let mut masses: Vec<_> = masses.collect();
        let factor = total / masses.iter().map(|own| own.mass).sum::<f64>();
        masses.iter_mut().for_each(|own| **own = own.denser(factor));
    }
    warnings.extend(attributes::unknown(&root));
    warnings.extend(tree.ignored.warnings());
    Ok(RobotParts {
        name: root.attribute("model").unwrap_or("MuJoCo Model").to_owned(),
        bodies: tree.bodies,
        joints: tree.joints,
        shapes: tree.shapes,
        root_poses: tree.root_poses,
        is_static: false,
        weightless: tree.weightless,
        apart,
        initial: tree.initial,
        actuators,
        files,
        warnings,
    })
}

/// Leaves one body at most to the base: the others that nothing carries stand in the frame that it places. A free base is
/// instead of the free joint of a robot that is one tree.
fn connect_roots(tree: &mut Tree, options: &RobotOptions) {
    let mut on_world = tree.joints.iter().enumerate().filter(|(_, joint)| joint.parent.is_none());
    let first = on_world.next().filter(|_| on_world.next().is_none());
    let first = first.filter(|(_, joint)| joint.kind == JointKind::Free).map(|(index, _)| index);
    let carried = |tree: &Tree, link: &str| tree.joints.iter().any(|joint| joint.child == link);
    let roots = tree.bodies.iter().enumerate().filter(|(_, body)| !carried(tree, &body.name));
    let roots: Vec<usize> = roots.map(|(index, _)| index).collect();
    if let (RobotBase::Free, Some(joint), true) = (options.base, first, roots.is_empty()) {
        let joint = tree.joints.remove(joint);
        tree.initial.retain(|(name, _)| *name != joint.name);
    }
    for root in roots.into_iter().skip(1) {
        let link = tree.bodies[root].name.clone();
        let name = tree.joint_name(&format!("{link} on the world"));
        let x_pf = tree.root_poses[root];
        tree.joints.push(JointDescription::new(name, JointKind::Fixed, None, link, x_pf));
    }
}

/// The name of an element; one that is empty is none.
fn name(element: &xml::Element) -> Option<String> {
    element.attribute("name").filter(|name| !name.is_empty()).map(str::to_owned)
}

/// What is wrong with an element, with its file and line.
fn wrong(element: &xml::Element, message: impl std::fmt::Display) -> FileError {
    let path = element.file.as_deref().unwrap_or(Path::new(""));
    invalid(path, FORMAT, (Some(element.line), format!("{}: {message}", element.label())))
}
