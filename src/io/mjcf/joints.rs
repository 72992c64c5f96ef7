//! The joints of bodies.

use nalgebra::Vector3;

use super::file::File;
use super::layers::Layers;
use super::tree::Tree;
use super::wrong;
use crate::io::file_error::FileError;
use crate::multibody::tree::{JointDescription, JointKind, JointSpring};
use crate::spatial::{RigidTransform, rotation_exponential};
use crate::xml::Element;

/// A joint of a body, but for its parent and child: its frames are in that of the body at `ref`. It is given as its
/// element, the frame that it is in, and the class there.
///
/// # Errors
/// When its numbers or its class are not good.
pub(super) fn joint<'a>(
    file: &File<'a>,
    tree: &mut Tree,
    (element, x_frame, childclass): (&'a Element, &RigidTransform, Option<&'a str>),
    body: &str,
) -> Result<JointDescription, FileError> {
    // `freejoint` has no defaults.
    let layers = match element.name.as_str() {
        "freejoint" => Layers(vec![element]),
        _ => file.classes.layers(element, &["joint"], childclass)?,
    };
    let axis = Vector3::from(layers.numbers("axis")?.unwrap_or([0.0, 0.0, 1.0]));
    let axis = (x_frame.rotation * axis)
        .try_normalize(1e-14)
        .ok_or_else(|| wrong(element, "its axis is 0 0 0; it must not be zero"))?;
    let types = [
        ("hinge", JointKind::Revolute { axis }),
        ("slide", JointKind::Prismatic { axis }),
        ("ball", JointKind::Ball),
        ("free", JointKind::Free),
    ];
    let written = layers.word("type", &types)?.unwrap_or(types[0].1);
    let kind = if element.name == "freejoint" { JointKind::Free } else { written };
    let name = super::name(element).unwrap_or_else(|| tree.joint_name(body));
    let mut joint = JointDescription::new(name, kind, None, "", RigidTransform::identity());

    let is_angle = matches!(kind, JointKind::Revolute { .. } | JointKind::Ball);
    let unit = |x: f64| if is_angle { file.compiler.angle(x) } else { x };
    let reference = unit(layers.number_or("ref", 0.0)?);
    let anchor = *x_frame * Vector3::from(layers.numbers("pos")?.unwrap_or([0.0; 3]));
    if kind != JointKind::Free {
        joint.x_pf = RigidTransform::from_translation(anchor);
        joint.x_mc = RigidTransform::from_translation(-anchor);
    }
    // A position of `ref` is that at which the bodies are as the file has them.
    match kind {
        JointKind::Revolute { axis } if reference != 0.0 => {
            joint.x_pf.rotation = rotation_exponential(&(axis * -reference));
        }
        JointKind::Prismatic { axis } => joint.x_pf.translation -= axis * reference,
        _ => {}
    }
    if kind.is_single() && reference != 0.0 {
        tree.initial.push((joint.name.clone(), vec![reference]));
    }

    let auto = file.compiler.autolimits;
    match layers.limits("range", "limited", auto)? {
        Some([lower, upper]) if kind.is_single() => {
            (joint.limits.lower, joint.limits.upper) = (unit(lower), unit(upper));
        }
        Some(_) if kind == JointKind::Ball => tree.ignored.add("the range of a ball joint", &joint.name),
        _ => {}
    }
    if let Some([least, largest]) = layers.limits("actuatorfrcrange", "actuatorfrclimited", auto)? {
        joint.limits.effort = largest.max(-least);
    }
    let (damping, is_linear) = layers.linear("damping")?;
    let (stiffness, is_hookean) = layers.linear("stiffness")?;
    for (what, is_simple) in [("damping", is_linear), ("stiffness", is_hookean)] {
        if !is_simple {
            tree.ignored.add(format!("`{what}` of a higher degree"), &joint.name);
        }
    }
    joint.damping = damping;
    joint.rotor_inertia = layers.number_or("armature", 0.0)?;
    let rest = unit(layers.number_or("springref", 0.0)?);
    match kind.is_single() {
        true => joint.spring = (stiffness != 0.0).then_some(JointSpring { stiffness, rest }),
        false if stiffness != 0.0 => tree.ignored.add("`stiffness` of a ball or free joint", &joint.name),
        false => {}
    }
    for name in ["springdamper", "springyield"] {
        if layers.overlaid(name, [0.0; 2], 1)? != [0.0; 2] {
            tree.ignored.add(format!("`{name}`"), &joint.name);
        }
    }
    let friction = layers.number_or("frictionloss", 0.0)?;
    match kind.is_single() {
        true => joint.friction = friction,
        false if friction != 0.0 => tree.ignored.add("`frictionloss` of a ball or free joint", &joint.name),
        false => {}
    }
    Ok(joint)
}
