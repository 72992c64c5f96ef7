//! What the elements of an SDF file say: one model's links, joints and frames as they are written.

use super::pose::{Pose, pose};
use super::shapes::{Shapes, shapes};
use super::text::{at, number, number_or, numbers, text, truth_or};
use crate::io::robot::values::{child, parse_number, required, required_child};
use crate::io::robot::{filtered_pairs, reflected_inertia};
use crate::multibody::tree::{JointSpring, Mimic};
use crate::spatial::RigidTransform;
use crate::xml::{Element, Problem};

#[derive(Debug)]
pub(super) struct Model {
    pub name: String,
    pub links: Vec<Link>,
    pub joints: Vec<Joint>,
    pub frames: Vec<Frame>,
    /// The link that the model's frame moves with, if the file names it.
    pub canonical_link: Option<String>,
    /// The line of the model's own pose if that is another than none.
    pub placed_at: Option<usize>,
    /// Whether nothing of it moves.
    pub is_static: bool,
    /// Links that do not touch each other.
    pub apart: Vec<[String; 2]>,
}

#[derive(Debug)]
pub(super) struct Link {
    pub name: String,
    pub line: usize,
    pub pose: Pose,
    pub inertial: Option<Inertial>,
    pub shapes: Shapes,
    /// Whether gravity acts on it.
    pub gravity: bool,
    /// Elements that change its motion and are not simulated.
    pub ignored: Vec<&'static str>,
}

/// The mass of a link, in a frame of its own.
#[derive(Debug)]
pub(super) struct Inertial {
    /// Pose of that frame in the link's.
    pub x_bi: RigidTransform,
    pub mass: f64,
    /// The elements xx, xy, xz, yy, yz, zz.
    pub inertia: [f64; 6],
}

#[derive(Debug)]
pub(super) struct Frame {
    pub name: String,
    pub line: usize,
    pub attached_to: Option<String>,
    pub pose: Pose,
}

/// How a joint moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JointType {
    Fixed,
    Revolute,
    Continuous,
    Prismatic,
    Ball,
}

#[derive(Debug)]
pub(super) struct Joint {
    pub name: String,
    pub line: usize,
    pub joint_type: JointType,
    pub parent: String,
    pub child: String,
    pub pose: Pose,
    /// The axis, of joints that have one.
    pub axis: Option<Axis>,
    /// The joint that it follows, and how.
    pub mimics: Option<Mimic>,
    /// Inertia of its drive's rotor as it feels it.
    pub rotor_inertia: f64,
}

/// The axis of a joint, and what acts along it.
#[derive(Debug)]
pub(super) struct Axis {
    pub line: usize,
    pub xyz: [f64; 3],
    /// The frame that it is given in, if it is named.
    pub expressed_in: Option<String>,
    pub limit: Limit,
    pub damping: f64,
    pub friction: f64,
    pub spring: Option<JointSpring>,
}

/// The limits of a joint; infinite where there are none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Limit {
    pub lower: f64,
    pub upper: f64,
    pub effort: f64,
    pub velocity: f64,
    /// Stiffness and dissipation of the stops, where they are given.
    pub stiffness: Option<f64>,
    pub dissipation: Option<f64>,
}

/// The names of the types of joints.
const JOINT_TYPES: [(&str, JointType); 5] = [
    ("fixed", JointType::Fixed),
    ("revolute", JointType::Revolute),
    ("continuous", JointType::Continuous),
    ("prismatic", JointType::Prismatic),
    ("ball", JointType::Ball),
];

/// What Drake has of a body that deforms.
pub(super) const DEFORMABLE: &str = "drake:deformable_properties";

/// A position beyond which a limit is none: the format's own default.
const FAR: f64 = 1e16;

fn wrong<T>(element: &Element, message: String) -> Result<T, Problem> {
    Err((Some(element.line), message))
}

/// The model or the world that a file has.
pub(super) fn content(root: &Element) -> Result<&Element, Problem> {
    if root.name != "sdf" {
        return wrong(root, format!("its element is `{}`; it must be `sdf`", root.name));
    }
    let written = required(root, "version").map_err(at(root))?;
    let version =
        written.split_once('.').and_then(|(a, b)| Some((a.parse::<u32>().ok()?, b.parse::<u32>().ok()?)));
    if !version.is_some_and(|version| ((1, 5)..(2, 0)).contains(&version)) {
        return wrong(root, format!("its version is {written:?}; it must be 1.5 or a later 1.x"));
    }
    if let Some(found) = root.all("include").next() {
        return wrong(found, "found `include`; a robot is one `model` or `world` in `sdf`".to_owned());
    }
    let mut all = root.children.iter().filter(|child| ["model", "world"].contains(&child.name.as_str()));
    let Some(element) = all.next() else {
        return wrong(root, "it has no `model`; a robot is one `model` or `world` in `sdf`".to_owned());
    };
    if let Some(second) = all.next() {
        return wrong(
            second,
            format!("found a second one, {}; one model or world is allowed", second.label()),
        );
    }
    Ok(element)
}

/// Reads a model.
pub(super) fn model(element: &Element) -> Result<Model, Problem> {
    let is_refused = |child: &&Element| match child.name.as_str() {
        "drake:collision_filter_group" => false,
        // Of Drake's own are joints and constraints.
        name => ["model", "include"].contains(&name) || name.starts_with("drake:"),
    };
    if let Some(found) = element.children.iter().find(is_refused) {
        let message = "a model has `link`, `joint` and `frame`, and no models or constraints in it";
        return wrong(found, format!("{}: found {}; {message}", element.label(), found.label()));
    }
    if element.attribute("placement_frame").is_some() {
        return wrong(element, format!("{}: found placement_frame; leave it out", element.label()));
    }
    let own = pose(element)?;
    Ok(Model {
        name: element.attribute("name").unwrap_or_default().to_owned(),
        links: element.all("link").map(link).collect::<Result<_, _>>()?,
        joints: element.all("joint").map(joint).collect::<Result<_, _>>()?,
        frames: element.all("frame").map(frame).collect::<Result<_, _>>()?,
        canonical_link: element
            .attribute("canonical_link")
            .filter(|name| !name.is_empty())
            .map(str::to_owned),
        is_static: truth_or(element, "static", false)?,
        apart: filtered_pairs(element).map_err(at(element))?,
        placed_at: (own.x != RigidTransform::identity()).then_some(own.line),
    })
}

fn link(element: &Element) -> Result<Link, Problem> {
    let inertial = child(element, "inertial").map_err(at(element))?.map(inertial).transpose()?;
    let mut ignored = Vec::new();
    if truth_or(element, "kinematic", false)? {
        ignored.push("kinematic");
    }
    if let Some(decay) = child(element, "velocity_decay").map_err(at(element))?
        && (number_or(decay, "linear", 0.0)? != 0.0 || number_or(decay, "angular", 0.0)? != 0.0)
    {
        ignored.push("velocity_decay");
    }
    if element.all("inertial").any(|inertial| inertial.all("fluid_added_mass").next().is_some()) {
        ignored.push("fluid_added_mass");
    }
    if element.all(DEFORMABLE).next().is_some() {
        ignored.push(DEFORMABLE);
    }
    Ok(Link {
        name: name(element)?,
        line: element.line,
        pose: pose(element)?,
        inertial,
        shapes: shapes(element)?,
        gravity: truth_or(element, "gravity", true)?,
        ignored,
    })
}

/// The name of an element, which is one that frames may have.
fn name(element: &Element) -> Result<String, Problem> {
    let name = required(element, "name").map_err(at(element))?;
    if name == "world" || (name.starts_with("__") && name.ends_with("__")) {
        let message = format!("found the name `{name}`, which the format keeps for itself");
        return Err((Some(element.line), message));
    }
    Ok(name.to_owned())
}

/// What is left out is as the format has it: 1 kg, and 1 kg m² about each axis.
fn inertial(element: &Element) -> Result<Inertial, Problem> {
    if let Some(found) = element.attribute("auto").filter(|auto| *auto != "false") {
        let message = format!("found auto = {found:?}; give the mass and the inertia instead");
        return Err((Some(element.line), message));
    }
    let mut elements = [1.0, 0.0, 0.0, 1.0, 0.0, 1.0];
    if let Some(inertia) = child(element, "inertia").map_err(at(element))? {
        for (x, name) in elements.iter_mut().zip(["ixx", "ixy", "ixz", "iyy", "iyz", "izz"]) {
            *x = number_or(inertia, name, *x)?;
        }
    }
    let pose = pose(element)?;
    if let Some(frame) = &pose.relative_to {
        let message = format!("`inertial` has a pose relative to `{frame}`; it must be in the link's frame");
        return Err((Some(pose.line), message));
    }
    Ok(Inertial { x_bi: pose.x, mass: number_or(element, "mass", 1.0)?, inertia: elements })
}

fn frame(element: &Element) -> Result<Frame, Problem> {
    let attached_to = element.attribute("attached_to").filter(|name| !name.is_empty()).map(str::to_owned);
    Ok(Frame { name: name(element)?, line: element.line, attached_to, pose: pose(element)? })
}

fn joint(element: &Element) -> Result<Joint, Problem> {
    let labelled = |message: String| (Some(element.line), format!("{}: {message}", element.label()));
    let found = required(element, "type").map_err(labelled)?;
    let joint_type = JOINT_TYPES.iter().find(|(name, _)| *name == found).map(|(_, kind)| *kind);
    let joint_type = joint_type.ok_or_else(|| {
        let allowed = JOINT_TYPES.map(|(name, _)| name).join(", ");
        labelled(format!("its type is \"{found}\"; it must be one of {allowed}"))
    })?;
    let of = |name| -> Result<String, Problem> {
        let found = text(required_child(element, name).map_err(labelled)?);
        if found.is_empty() {
            Err(labelled(format!("its `{name}` is empty; it must name a link")))
        } else {
            Ok(found)
        }
    };
    let written = child(element, "axis").map_err(labelled)?;
    let axis = match joint_type {
        JointType::Fixed | JointType::Ball => None,
        _ => {
            let written =
                written.ok_or_else(|| labelled("it has no element `axis`; it needs one".to_owned()))?;
            Some(axis(written)?)
        }
    };
    Ok(Joint {
        name: name(element)?,
        line: element.line,
        joint_type,
        parent: of("parent")?,
        child: of("child")?,
        pose: pose(element)?,
        axis,
        mimics: mimics(element, written)?,
        rotor_inertia: reflected_inertia(element).map_err(labelled)?.unwrap_or(0.0),
    })
}

fn axis(element: &Element) -> Result<Axis, Problem> {
    let mut axis = Axis {
        line: element.line,
        xyz: [0.0, 0.0, 1.0],
        expressed_in: None,
        limit: limit(child(element, "limit").map_err(at(element))?)?,
        damping: 0.0,
        friction: 0.0,
        spring: None,
    };
    if let Some(xyz) = child(element, "xyz").map_err(at(element))? {
        axis.line = xyz.line;
        axis.xyz = numbers(xyz)?;
        axis.expressed_in = xyz.attribute("expressed_in").filter(|name| !name.is_empty()).map(str::to_owned);
    }
    // What versions before 1.7 call the frame that is now named.
    if truth_or(element, "use_parent_model_frame", false)? {
        axis.expressed_in = Some("__model__".to_owned());
    }
    if let Some(dynamics) = child(element, "dynamics").map_err(at(element))? {
        axis.damping = number_or(dynamics, "damping", 0.0)?;
        axis.friction = number_or(dynamics, "friction", 0.0)?;
        let stiffness = number_or(dynamics, "spring_stiffness", 0.0)?;
        let rest = number_or(dynamics, "spring_reference", 0.0)?;
        axis.spring = (stiffness != 0.0).then_some(JointSpring { stiffness, rest });
    }
    Ok(axis)
}

fn limit(element: Option<&Element>) -> Result<Limit, Problem> {
    let of = |name| element.map_or(Ok(None), |element| number(element, name));
    let position = |x: f64| if x.abs() >= FAR { f64::INFINITY.copysign(x) } else { x };
    // A negative one is none.
    let least = |x: Option<f64>| x.filter(|x| *x >= 0.0 || x.is_nan()).unwrap_or(f64::INFINITY);
    Ok(Limit {
        lower: position(of("lower")?.unwrap_or(f64::NEG_INFINITY)),
        upper: position(of("upper")?.unwrap_or(f64::INFINITY)),
        effort: least(of("effort")?),
        velocity: least(of("velocity")?),
        stiffness: of("stiffness")?,
        dissipation: of("dissipation")?,
    })
}

/// What a joint follows, by `mimic` in its axis since version 1.11, or by `drake:mimic`.
fn mimics(joint: &Element, axis: Option<&Element>) -> Result<Option<Mimic>, Problem> {
    if let Some(drake) = child(joint, "drake:mimic").map_err(at(joint))? {
        let or = |name: &str, default| match drake.attribute(name) {
            None => Ok(default),
            Some(text) => parse_number(&format!("`drake:mimic` has {name} ="), text).map_err(at(drake)),
        };
        let joint = required(drake, "joint").map_err(at(drake))?.to_owned();
        return Ok(Some(Mimic { joint, multiplier: or("multiplier", 1.0)?, offset: or("offset", 0.0)? }));
    }
    let Some(axis) = axis else { return Ok(None) };
    let Some(mimic) = child(axis, "mimic").map_err(at(axis))? else { return Ok(None) };
    let joint = required(mimic, "joint").map_err(at(mimic))?.to_owned();
    let multiplier = number_or(mimic, "multiplier", 1.0)?;
    let offset = number_or(mimic, "offset", 0.0)? - multiplier * number_or(mimic, "reference", 0.0)?;
    Ok(Some(Mimic { joint, multiplier, offset }))
}
