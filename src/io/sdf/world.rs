//! Worlds: their models as one robot, whose links and joints have the names of their models before their own.

use std::path::Path;

use super::elements::model;
use super::pose::pose;
use crate::io::robot::{RobotOptions, RobotParts};
use crate::multibody::tree::{JointDescription, JointKind};
use crate::spatial::{Quaternion, RigidTransform};
use crate::xml::{Element, Problem};

/// What in a world moves models otherwise than their own elements say.
const REFUSED: [&str; 3] = ["joint", "actor", "population"];

/// Poses are relative to each other up to so many times.
const DEEPEST: usize = 100;

/// The models of a world. One alone is a robot as it is in a file without a world.
///
/// # Errors
/// When there is none, one is not good, or the world connects them.
pub(super) fn world(element: &Element, path: &Path, options: &RobotOptions) -> Result<RobotParts, Problem> {
    if let Some(found) = element.children.iter().find(|child| REFUSED.contains(&child.name.as_str())) {
        let message = format!("found {} in `world`; what is read of it are models", found.label());
        return Err((Some(found.line), message));
    }
    let uri = |include: &Element| {
        include.all("uri").next().map_or_else(String::new, |uri| uri.text.trim().to_owned())
    };
    let included: Vec<String> = element.all("include").map(uri).collect();
    let models: Vec<&Element> = element.all("model").collect();
    let mut whole = match models[..] {
        [] => {
            let of = match &included[..] {
                [] => String::new(),
                _ => format!("; includes are not read: name the file of one of {}", included.join(", ")),
            };
            return Err((Some(element.line), format!("`world` has no `model`; it must have one{of}")));
        }
        [one] => super::parts(&model(one)?, path, options)?,
        _ => {
            let name_of = |model: &&Element| model.attribute("name").map(str::to_owned);
            let twice =
                (1..models.len()).find(|&i| models[..i].iter().any(|o| name_of(o) == name_of(&models[i])));
            if let Some(second) = twice.map(|i| models[i]) {
                let message = format!("found a second model, {}; names are unique", second.label());
                return Err((Some(second.line), message));
            }
            let all: Vec<RobotParts> =
                models.iter().map(|model| placed(element, model, path, options)).collect::<Result<_, _>>()?;
            let name = element.attribute("name").unwrap_or("world").to_owned();
            all.into_iter().fold(empty(name), joined)
        }
    };
    if !included.is_empty() {
        let path = path.display();
        let line = element.all("include").next().map_or(element.line, |include| include.line);
        let all = included.join(", ");
        whole.warnings.push(format!("{path}:{line}: `include` of a world is not read: {all} is left out"));
    }
    Ok(whole)
}

/// The pose of a model or frame in its world, past as many others as `depth`.
fn place(world: &Element, element: &Element, depth: usize) -> Result<RigidTransform, Problem> {
    let own = pose(element)?;
    let frame = own.relative_to.or_else(|| element.attribute("attached_to").map(str::to_owned));
    let Some(frame) = frame.filter(|frame| !frame.is_empty() && frame != "world") else { return Ok(own.x) };
    let is_it = |child: &&Element| {
        ["model", "frame"].contains(&child.name.as_str()) && child.attribute("name") == Some(&frame)
    };
    let message = match world.children.iter().find(is_it) {
        Some(_) if depth > DEEPEST => {
            "which is given in itself, or by way of too many other frames: up to 100 are read"
        }
        Some(other) => return Ok(place(world, other, depth + 1)? * own.x),
        None => "which is no model or frame of the world",
    };
    Err((Some(own.line), format!("{}: its pose is relative to `{frame}`, {message}", element.label())))
}

/// One of several models: its names with its own before them, its roots on the world, fixed where it is static, else free.
fn placed(
    world: &Element,
    element: &Element,
    path: &Path,
    options: &RobotOptions,
) -> Result<RobotParts, Problem> {
    let x_wm = place(world, element, 0)?;
    let mut model = model(element)?;
    model.placed_at = None;
    let mut parts = super::parts(&model, path, options)?;
    let before = format!("{}::", parts.name);
    let scope = |name: &mut String| name.insert_str(0, &before);
    parts.bodies.iter_mut().for_each(|body| scope(&mut body.name));
    parts.shapes.iter_mut().for_each(|shapes| scope(&mut shapes.link));
    parts.weightless.iter_mut().for_each(scope);
    parts.apart.iter_mut().flatten().for_each(scope);
    for joint in &mut parts.joints {
        [&mut joint.name, &mut joint.child].into_iter().for_each(scope);
        joint.parent.iter_mut().for_each(scope);
        joint.mimic.iter_mut().for_each(|mimic| scope(&mut mimic.joint));
        if joint.parent.is_none() {
            joint.x_pf = x_wm * joint.x_pf;
        }
        if parts.is_static {
            let (name, child, x_mc) = (joint.name.clone(), joint.child.clone(), joint.x_mc);
            let parent = joint.parent.as_deref();
            *joint = JointDescription::new(name, JointKind::Fixed, parent, child, joint.x_pf);
            joint.x_mc = x_mc;
        }
    }
    for (body, x) in parts.bodies.iter().zip(&mut parts.root_poses) {
        *x = x_wm * *x;
        if parts.joints.iter().any(|joint| joint.child == body.name) {
            continue;
        }
        let (name, link) = (format!("{} on the world", body.name), body.name.clone());
        if parts.is_static {
            parts.joints.push(JointDescription::new(name, JointKind::Fixed, None, link, *x));
            continue;
        }
        let turn = Quaternion::from_matrix(&x.rotation);
        let start = [turn.w].into_iter().chain(turn.v.iter().copied()).chain(x.translation.iter().copied());
        parts.initial.push((name.clone(), start.collect()));
        parts.joints.push(JointDescription::new(
            name,
            JointKind::Free,
            None,
            link,
            RigidTransform::identity(),
        ));
    }
    Ok(parts)
}

fn empty(name: String) -> RobotParts {
    RobotParts {
        name,
        bodies: Vec::new(),
        joints: Vec::new(),
        shapes: Vec::new(),
        root_poses: Vec::new(),
        is_static: false,
        weightless: Vec::new(),
        apart: Vec::new(),
        initial: Vec::new(),
        actuators: Vec::new(),
        files: Vec::new(),
        warnings: Vec::new(),
    }
}

fn joined(mut whole: RobotParts, one: RobotParts) -> RobotParts {
    whole.bodies.extend(one.bodies);
    whole.joints.extend(one.joints);
    whole.shapes.extend(one.shapes);
    whole.root_poses.extend(one.root_poses);
    whole.weightless.extend(one.weightless);
    whole.apart.extend(one.apart);
    whole.initial.extend(one.initial);
    whole.warnings.extend(one.warnings);
    whole
}
