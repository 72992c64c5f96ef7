//! What the elements of a URDF file say: links and joints as they are written, versions 1.0 to 1.2.

use std::collections::BTreeSet;

use nalgebra::Vector3;

use crate::io::robot::values::{child, number, required, required_child, required_number, required_numbers};
use crate::io::robot::{Geometry, LinkShape, LinkShapes, filtered_pairs, proximity, reflected_inertia};
use crate::multibody::tree::Mimic;
use crate::spatial::{Quaternion, RigidTransform, rotation_from_rpy};
use crate::xml::{Element, Problem};

#[derive(Debug)]
pub(super) struct Robot {
    pub name: String,
    pub links: Vec<Link>,
    pub joints: Vec<Joint>,
    /// Joints and the inertia of their rotors, as the joints feel it.
    pub rotors: Vec<(String, f64)>,
    /// Links that gravity does not act on.
    pub weightless: Vec<String>,
    /// Links that do not touch each other.
    pub apart: Vec<[String; 2]>,
    /// Elements that change the motion and are not simulated.
    pub ignored: BTreeSet<String>,
}

#[derive(Debug)]
pub(super) struct Link {
    pub inertial: Option<Inertial>,
    /// Its shapes, which have its name.
    pub shapes: LinkShapes,
}

/// The mass of a link.
#[derive(Debug)]
pub(super) struct Inertial {
    pub origin: Origin,
    pub mass: f64,
    /// The elements xx, xy, xz, yy, yz, zz.
    pub inertia: [f64; 6],
}

/// A place and a rotation by roll, pitch and yaw.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Origin {
    pub xyz: [f64; 3],
    pub rpy: [f64; 3],
}

impl Origin {
    /// The pose of a frame there in the frame that the origin is given in.
    pub fn pose(&self) -> RigidTransform {
        let [roll, pitch, yaw] = self.rpy;
        RigidTransform::new(rotation_from_rpy(roll, pitch, yaw), Vector3::from(self.xyz))
    }
}

/// How a joint moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JointType {
    Revolute,
    Continuous,
    Prismatic,
    Fixed,
    Floating,
    Planar,
    Spherical,
}

#[derive(Debug)]
pub(super) struct Joint {
    pub name: String,
    pub joint_type: JointType,
    pub origin: Origin,
    pub parent: String,
    pub child: String,
    pub axis: [f64; 3],
    pub limit: Option<Limit>,
    pub damping: f64,
    pub friction: f64,
    /// The joint that it follows, and how.
    pub mimics: Option<Mimic>,
}

/// The limits of a joint.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Limit {
    pub lower: f64,
    pub upper: f64,
    pub effort: f64,
    pub velocity: f64,
}

/// The version of the format that a file is written in.
type Version = (u32, u32);

/// The names of the types of joints.
const JOINT_TYPES: [(&str, JointType); 7] = [
    ("revolute", JointType::Revolute),
    ("continuous", JointType::Continuous),
    ("prismatic", JointType::Prismatic),
    ("fixed", JointType::Fixed),
    ("floating", JointType::Floating),
    ("planar", JointType::Planar),
    ("spherical", JointType::Spherical),
];

/// Elements of Gazebo's for a link or joint that change its motion and are not simulated.
const GAZEBO: [&str; 5] =
    ["dampingFactor", "kinematic", "springStiffness", "velocity_decay", "implicitSpringDamper"];

/// Whether an element of a robot changes its motion and is not simulated: a loop, or a constraint of Drake's.
fn is_ignored(element: &Element) -> bool {
    match element.name.as_str() {
        "drake:collision_filter_group" => false,
        name => name == "loop_joint" || name.starts_with("drake:"),
    }
}

/// Reads the element of a robot. What is wrong comes with the line of its link or joint.
pub(super) fn robot(root: &Element) -> Result<Robot, Problem> {
    if root.name != "robot" {
        return Err((Some(root.line), format!("its element is `{}`; it must be `robot`", root.name)));
    }
    let version = root.attribute("version").and_then(version).unwrap_or((1, 0));
    fn read<'a, T>(
        elements: impl Iterator<Item = &'a Element>,
        read: impl Fn(&Element) -> Result<T, String>,
    ) -> Result<Vec<T>, Problem> {
        let one = |element: &Element| {
            read(element).map_err(|message| (Some(element.line), format!("{}: {message}", element.label())))
        };
        elements.map(one).collect()
    }
    if let Some(found) = root.all("drake:joint").next() {
        let message = format!("found {}; joints of Drake's own kinds are not read", found.label());
        return Err((Some(found.line), message));
    }
    let gazebo = || root.all("gazebo").filter(|element| element.attribute("reference").is_some());
    let of_gazebo = gazebo().flat_map(|element| &element.children);
    let ignored = root.children.iter().filter(|element| is_ignored(element));
    let ignored = ignored.chain(of_gazebo.filter(|element| GAZEBO.contains(&element.name.as_str())));
    let at_root = |message| (Some(root.line), message);
    Ok(Robot {
        rotors: read(root.all("transmission"), rotors)?.concat(),
        weightless: gazebo()
            .filter(|e| is_off(e))
            .filter_map(|e| e.attribute("reference").map(str::to_owned))
            .collect(),
        apart: filtered_pairs(root).map_err(at_root)?,
        ignored: ignored.map(|element| element.name.clone()).collect(),
        name: root.attribute("name").unwrap_or_default().to_owned(),
        links: read(root.all("link"), |element| link(element, version))?,
        joints: read(root.all("joint"), |element| joint(element, version))?,
    })
}

/// Whether an element of Gazebo takes gravity from a link.
fn is_off(gazebo: &Element) -> bool {
    let says = |name, values: [&str; 2]| gazebo.all(name).any(|e| values.contains(&e.text.trim()));
    says("turnGravityOff", ["true", "1"]) || says("gravity", ["false", "0"])
}

/// The joints of a transmission with the inertia of its rotor, as they feel it.
fn rotors(transmission: &Element) -> Result<Vec<(String, f64)>, String> {
    let mut inertia = None;
    for actuator in transmission.all("actuator") {
        inertia = reflected_inertia(actuator)?.or(inertia);
    }
    let joints = transmission.all("joint").filter_map(|joint| joint.attribute("name"));
    Ok(inertia.map_or(Vec::new(), |inertia| joints.map(|name| (name.to_owned(), inertia)).collect()))
}

fn version(text: &str) -> Option<Version> {
    let (major, minor) = text.trim().split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

fn link(element: &Element, version: Version) -> Result<Link, String> {
    Ok(Link {
        inertial: child(element, "inertial")?.map(|element| inertial(element, version)).transpose()?,
        shapes: LinkShapes {
            link: required(element, "name")?.to_owned(),
            collisions: element.all("collision").map(|c| shape(c, version)).collect::<Result<_, _>>()?,
            visuals: element.all("visual").map(|visual| shape(visual, version)).collect(),
        },
    })
}

fn inertial(element: &Element, version: Version) -> Result<Inertial, String> {
    let inertia = required_child(element, "inertia")?;
    let mut elements = [0.0; 6];
    for (x, name) in elements.iter_mut().zip(["ixx", "ixy", "ixz", "iyy", "iyz", "izz"]) {
        *x = required_number(inertia, name)?;
    }
    Ok(Inertial {
        origin: origin(element, version)?,
        mass: required_number(required_child(element, "mass")?, "value")?,
        inertia: elements,
    })
}

fn shape(element: &Element, version: Version) -> Result<LinkShape, String> {
    Ok(LinkShape {
        name: element.attribute("name").map(str::to_owned),
        classes: Vec::new(),
        x_bg: origin(element, version)?.pose(),
        geometry: geometry(required_child(element, "geometry")?)?,
        proximity: proximity(element)?,
    })
}

fn geometry(element: &Element) -> Result<Geometry, String> {
    let shapes = ["box", "cylinder", "capsule", "sphere", "mesh", "drake:capsule", "drake:ellipsoid"];
    let Some(shape) = element.children.iter().find(|child| shapes.contains(&child.name.as_str())) else {
        return Err(format!("`geometry` has no shape; it must be one of {}", shapes.join(", ")));
    };
    let number = |name| required_number(shape, name);
    Ok(match shape.name.as_str() {
        "box" => Geometry::Box { size: required_numbers(shape, "size")? },
        "cylinder" => Geometry::Cylinder { radius: number("radius")?, length: number("length")? },
        "capsule" | "drake:capsule" => {
            Geometry::Capsule { radius: number("radius")?, length: number("length")? }
        }
        "sphere" => Geometry::Sphere { radius: number("radius")? },
        "drake:ellipsoid" => Geometry::Ellipsoid { semi_axes: [number("a")?, number("b")?, number("c")?] },
        _ => Geometry::Mesh {
            convex: shape.all("drake:declare_convex").next().is_some(),
            uri: required(shape, "filename")?.to_owned(),
            scale: shape.attribute("scale").map(|_| required_numbers(shape, "scale")).transpose()?,
        },
    })
}

fn joint(element: &Element, version: Version) -> Result<Joint, String> {
    let found = required(element, "type")?;
    let joint_type = JOINT_TYPES.iter().find(|(name, _)| *name == found).map(|(_, kind)| *kind);
    let joint_type = joint_type.ok_or_else(|| {
        format!("its type is \"{found}\"; it must be one of {}", JOINT_TYPES.map(|(name, _)| name).join(", "))
    })?;
    let axis = child(element, "axis")?.map(|axis| required_numbers(axis, "xyz")).transpose()?;
    let dynamics = child(element, "dynamics")?;
    let dynamic = |name| dynamics.map_or(Ok::<f64, String>(0.0), |d| Ok(number(d, name)?.unwrap_or(0.0)));
    let link = |name| required(required_child(element, name)?, "link").map(str::to_owned);
    Ok(Joint {
        name: required(element, "name")?.to_owned(),
        joint_type,
        origin: origin(element, version)?,
        parent: link("parent")?,
        child: link("child")?,
        axis: axis.unwrap_or([1.0, 0.0, 0.0]),
        limit: child(element, "limit")?.map(|limit| read_limit(limit, version)).transpose()?.flatten(),
        damping: dynamic("damping")?,
        friction: dynamic("friction")?,
        mimics: child(element, "mimic")?.map(read_mimic).transpose()?,
    })
}

fn read_mimic(element: &Element) -> Result<Mimic, String> {
    let joint = required(element, "joint")?.to_owned();
    let multiplier = number(element, "multiplier")?.unwrap_or(1.0);
    Ok(Mimic { joint, multiplier, offset: number(element, "offset")?.unwrap_or(0.0) })
}

/// The limits; `None` for zeros alone, which some programs write where there are none.
fn read_limit(element: &Element, version: Version) -> Result<Option<Limit>, String> {
    let or = |name, default| Ok::<f64, String>(number(element, name)?.unwrap_or(default));
    // A negative one is none, as in SDF files.
    let velocity = or("velocity", f64::INFINITY)?;
    let velocity = if velocity < 0.0 { f64::INFINITY } else { velocity };
    // From version 1.2 on what is left out is no limit.
    if version >= (1, 2) {
        let infinite = f64::INFINITY;
        let (lower, upper) = (or("lower", -infinite)?, or("upper", infinite)?);
        return Ok(Some(Limit { lower, upper, effort: or("effort", infinite)?, velocity }));
    }
    let limit =
        Limit { lower: or("lower", 0.0)?, upper: or("upper", 0.0)?, effort: or("effort", 0.0)?, velocity };
    let is_zero = [limit.lower, limit.upper, limit.effort, or("velocity", 0.0)?] == [0.0; 4];
    Ok((!is_zero).then_some(limit))
}

/// The origin of an element; the parent's where it has none.
fn origin(element: &Element, version: Version) -> Result<Origin, String> {
    let Some(origin) = child(element, "origin")? else { return Ok(Origin::default()) };
    let three = |name| origin.attribute(name).map_or(Ok([0.0; 3]), |_| required_numbers(origin, name));
    let (xyz, mut rpy) = (three("xyz")?, three("rpy")?);
    if version >= (1, 1) && origin.attribute("quat_xyzw").is_some() {
        if origin.attribute("rpy").is_some() {
            return Err("`origin` has both rpy and quat_xyzw; one of them is allowed".to_owned());
        }
        let [x, y, z, w]: [f64; 4] = required_numbers(origin, "quat_xyzw")?;
        // Without a direction it turns nothing.
        if [x, y, z, w] != [0.0; 4] {
            rpy = Quaternion::from_wxyz(w, x, y, z).to_rpy();
        }
    }
    Ok(Origin { xyz, rpy })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::xml::parse;

    fn read(text: &str) -> Result<Robot, Problem> {
        robot(&parse(text).expect("XML"))
    }

    #[test]
    fn the_element_and_its_line_are_found() {
        let text = "<robot name=\"r\" xmlns:d=\"urn:d\">\n<link name=\"a\" d:x=\"1\"/>\n<link name=\"b\">\n<inertial>\n<mass value=\"two\"/>\n<inertia ixx=\"1\" ixy=\"0\" ixz=\"0\" iyy=\"1\" iyz=\"0\" izz=\"1\"/></inertial>\n</link>\n</robot>";
        let (line, message) = read(text).expect_err("bad");
        assert_eq!(line, Some(3));
        assert_eq!(
            message,
            "link `b`: `mass` has value = \"two\", which is no number (invalid float literal)"
        );
        let refused = |joint: &str| read(&format!("<robot>{joint}</robot>")).expect_err("bad").1;
        assert!(refused("<link/>").contains("link: `link` has no attribute `name`"));
        assert!(refused("<joint name=\"j\" type=\"screw\"/>").contains("joint `j`: its type is \"screw\""));
        let two = refused("<link name=\"l\"><inertial/><inertial/></link>");
        assert_eq!(two, "link `l`: it has two elements `inertial`; one is allowed");
        let shape = refused("<link name=\"l\"><collision><geometry><ring/></geometry></collision></link>");
        assert!(shape.contains("`geometry` has no shape; it must be one of box"), "{shape}");
        assert!(read("<world/>").expect_err("bad").1.contains("must be `robot`"));
    }

    #[test]
    fn versions_differ_in_limits_and_quaternions() {
        let joint = "<joint name=\"j\" type=\"revolute\"><parent link=\"a\"/><child link=\"b\"/><origin quat_xyzw=\"0.1 0.2 -0.3 0.9\"/><limit velocity=\"2\"/></joint>";
        let of = |version: &str| {
            let text = format!("<robot version=\"{version}\">{joint}</robot>");
            read(&text).expect("good").joints.remove(0)
        };
        let zero = Limit { lower: 0.0, upper: 0.0, effort: 0.0, velocity: 2.0 };
        assert_eq!((of("1.0").limit, of("1.0").origin), (Some(zero), Origin::default()));
        let none =
            Limit { lower: f64::NEG_INFINITY, upper: f64::INFINITY, effort: f64::INFINITY, velocity: 2.0 };
        assert_eq!(of("1.2").limit, Some(none));
        let [roll, pitch, yaw] = of("1.1").origin.rpy;
        let expected = Quaternion::from_wxyz(0.9, 0.1, 0.2, -0.3).to_matrix();
        assert!((rotation_from_rpy(roll, pitch, yaw) - expected).amax() < 1e-14);
    }
}
