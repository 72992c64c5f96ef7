//! Robots from URDF files.

mod collision;
mod elements;
mod error;
mod srdf;
mod visual;
mod xml;

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use nalgebra::{Matrix3, Vector3};

pub use collision::{CollisionShape, LinkGeometry, MeshReference};
pub use error::MissingMesh;
pub(crate) use srdf::disabled_collisions;
pub(crate) use visual::DRAWN_FORMATS;
pub use visual::{Visual, VisualShape};

use crate::io::file_error::FileError;
use crate::multibody::tree::{BodyDescription, JointDescription, JointKind, JointLimits, Mechanism};
use crate::spatial::{MassProperties, MassPropertiesError, RigidTransform};
use collision::MeshSearch;
use elements::{Geometry, JointType};
use error::element;
use visual::visuals;

/// How the root link is connected to the world.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RobotBase {
    /// It does not move.
    Fixed {
        /// Its pose in W.
        x_wb: RigidTransform,
    },
    /// It moves freely, by a free joint on W with the name of the link.
    Free,
}

/// What to do with joints that mimic others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MimicJoints {
    /// They follow the others. Their own ranges are not enforced.
    #[default]
    Follow,
    /// They move on their own, as if the element were not there, and a warning says so.
    Independent,
}

/// How a URDF file is read.
#[derive(Clone, Debug, PartialEq)]
pub struct UrdfOptions {
    /// Folders that are ROS packages or hold them, for `package://` names of meshes.
    pub package_path: Vec<PathBuf>,
    /// How the root link is connected to the world.
    pub base: RobotBase,
    /// What to do with joints that mimic others.
    pub mimic: MimicJoints,
}

impl Default for UrdfOptions {
    /// A base fixed at W's origin, no packages, joints that mimic others follow them.
    fn default() -> Self {
        Self {
            package_path: Vec::new(),
            base: RobotBase::Fixed { x_wb: RigidTransform::identity() },
            mimic: MimicJoints::Follow,
        }
    }
}

/// A robot as its file describes it: what a mechanism is made from, alone or with other bodies.
#[derive(Clone, Debug)]
pub struct RobotDescription {
    /// Its name.
    pub name: String,
    /// Its links, in the order of the file.
    pub bodies: Vec<BodyDescription>,
    /// Its joints: that of the base if the file has none, then those of the file in its order.
    pub joints: Vec<JointDescription>,
    /// The links' collision geometries, in the order of the file.
    pub collisions: Vec<CollisionShape>,
    /// What is drawn of the links, in the order of the file. Their meshes are not looked at yet.
    pub visuals: Vec<Visual>,
    /// What was read otherwise than it may be meant, or not at all.
    pub warnings: Vec<String>,
}

/// A robot.
#[derive(Clone, Debug)]
pub struct Robot {
    /// Its name.
    pub name: String,
    /// Its links and joints.
    pub mechanism: Mechanism,
    /// The links' collision geometries, in the order of the file.
    pub collisions: Vec<CollisionShape>,
    /// What was read otherwise than it may be meant, or not at all.
    pub warnings: Vec<String>,
}

impl Robot {
    /// Reads a URDF file.
    ///
    /// Joints come in depth-first order, children of one link in the order of the file. Meshes of
    /// collision geometry may be absent, which is a warning. `transmission`,
    /// `gazebo` and other elements outside the format's core are ignored.
    ///
    /// # Errors
    /// When the file cannot be read, is not a URDF, or its links and joints do not make a tree
    /// with masses and limits that can be.
    pub fn load(path: &Path, options: &UrdfOptions) -> Result<Self, FileError> {
        RobotDescription::load(path, options)?.robot(path)
    }

    /// Reads the text of a URDF file; `path` is its name in messages, and the place from which
    /// relative names of meshes start.
    ///
    /// # Errors
    /// As [`Robot::load`].
    pub fn parse(text: &str, path: &Path, options: &UrdfOptions) -> Result<Self, FileError> {
        RobotDescription::parse(text, path, options)?.robot(path)
    }
}

impl RobotDescription {
    /// Reads a URDF file. Whether its links and joints make a tree is not checked.
    ///
    /// # Errors
    /// When the file cannot be read or is not a URDF.
    pub fn load(path: &Path, options: &UrdfOptions) -> Result<Self, FileError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| FileError::Read { path: path.to_owned(), source })?;
        Self::parse(&text, path, options)
    }

    /// Reads the text of a URDF file; `path` is its name in messages, and the place from which
    /// relative names of meshes start.
    ///
    /// # Errors
    /// As [`RobotDescription::load`].
    pub fn parse(text: &str, path: &Path, options: &UrdfOptions) -> Result<Self, FileError> {
        let text = text.trim_start_matches('\u{feff}');
        let invalid = |(line, message)| FileError::Urdf { path: path.to_owned(), line, message };
        let urdf = xml::parse(text).and_then(|root| elements::robot(&root)).map_err(invalid)?;
        if urdf.links.is_empty() {
            return Err(invalid((None, "it has no link; it must have at least one".to_owned())));
        }
        let mut warnings = Vec::new();
        let bodies: Vec<_> = urdf.links.iter().map(body).collect();
        let mut joints: Vec<_> = base(&urdf, options).into_iter().collect();
        let names: HashSet<&str> = urdf.links.iter().map(|l| l.name.as_str()).collect();
        for j in &urdf.joints {
            let mut joint = joint(j, path, options.mimic, &mut warnings)?;
            // The world is known without a link of that name.
            joint.parent = joint.parent.filter(|p| p != "world" || names.contains("world"));
            match options.base {
                RobotBase::Fixed { x_wb } if joint.parent.is_none() => joint.x_pf = x_wb * joint.x_pf,
                RobotBase::Free if joint.parent.is_none() => {
                    let message = "it connects the robot with the world, so the robot's base cannot be free";
                    return Err(element(path, format!("joint `{}`", joint.name), message));
                }
                _ => {}
            }
            joints.push(joint);
        }
        let search = MeshSearch { urdf: path, packages: &options.package_path };
        let collisions = collisions(&urdf, &search)?;
        warn_of_inertia(&bodies, &mut warnings);
        warn_of_meshes(&urdf, &search, &mut warnings);
        let visuals = visuals(&urdf, &search);
        Ok(Self { name: urdf.name, bodies, joints, collisions, visuals, warnings })
    }

    /// The robot alone; `path` is the file's name in messages.
    ///
    /// # Errors
    /// When links and joints do not make a tree with masses and limits that can be.
    pub fn robot(self, path: &Path) -> Result<Robot, FileError> {
        let Self { name, bodies, joints, collisions, warnings, visuals: _ } = self;
        let mechanism = Mechanism::new(bodies, joints)
            .map_err(|source| FileError::Mechanism { path: path.to_owned(), source })?;
        Ok(Robot { name, mechanism, collisions, warnings })
    }
}

fn body(link: &elements::Link) -> BodyDescription {
    let mass = link.inertial.as_ref().and_then(|inertial| {
        let [xx, xy, xz, yy, yz, zz] = inertial.inertia;
        let inertia = Matrix3::new(xx, xy, xz, xy, yy, yz, xz, yz, zz);
        // Zeros stand for no mass.
        let massless = inertial.mass == 0.0 && inertial.inertia == [0.0; 6];
        let own = MassProperties { mass: inertial.mass, center_of_mass: Vector3::zeros(), inertia };
        (!massless).then(|| own.seen_from(&inertial.origin.pose()))
    });
    BodyDescription { name: link.name.clone(), mass }
}

/// The joint that connects the first link that no joint has as its child with the world. Without
/// such a link there is none: a joint of the file connects it, or the joints make a loop.
fn base(urdf: &elements::Robot, options: &UrdfOptions) -> Option<JointDescription> {
    let children: HashSet<&str> = urdf.joints.iter().map(|j| j.child.as_str()).collect();
    let root = urdf.links.iter().find(|l| !children.contains(l.name.as_str()))?;
    let mut name = root.name.clone();
    while urdf.joints.iter().any(|j| j.name == name) {
        name.push('_');
    }
    let (kind, x_pf) = match options.base {
        RobotBase::Fixed { x_wb } => (JointKind::Fixed, x_wb),
        RobotBase::Free => (JointKind::Free, RigidTransform::identity()),
    };
    Some(JointDescription::new(name, kind, None, root.name.clone(), x_pf))
}

fn joint(
    joint: &elements::Joint,
    path: &Path,
    mimic: MimicJoints,
    warnings: &mut Vec<String>,
) -> Result<JointDescription, FileError> {
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
        let turn = to_axis(&axis).ok_or_else(|| {
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
    match kind.is_single() {
        true => description.friction = joint.friction,
        false if joint.friction != 0.0 => warnings.push(format!(
            "friction is simulated in joints with one coordinate only, and not in joint `{}`",
            joint.name
        )),
        false => {}
    }
    match (&joint.mimics, mimic) {
        (Some(mimics), MimicJoints::Independent) => {
            let (path, name) = (path.display(), &joint.name);
            warnings.push(format!(
                "{path}: joint `{name}` mimics joint `{}`; it is read as independent",
                mimics.joint
            ));
        }
        (mimics, _) => description.mimic.clone_from(mimics),
    }
    Ok(description)
}

/// The rotation by the least angle that turns z to an axis; none if that has no direction.
fn to_axis(axis: &Vector3<f64>) -> Option<Matrix3<f64>> {
    let axis = axis.try_normalize(1e-12).filter(|a| a.iter().all(|x| x.is_finite()))?;
    Some(match nalgebra::Rotation3::rotation_between(&Vector3::z(), &axis) {
        Some(rotation) => *rotation.matrix(),
        // Against z: half a turn about x.
        None => Matrix3::from_diagonal(&Vector3::new(1.0, -1.0, -1.0)),
    })
}

fn collisions(urdf: &elements::Robot, search: &MeshSearch) -> Result<Vec<CollisionShape>, FileError> {
    let mut shapes = Vec::new();
    for link in &urdf.links {
        for collision in &link.collisions {
            let x_bg = collision.origin.pose();
            if !x_bg.rotation.iter().chain(&x_bg.translation).all(|x| x.is_finite()) {
                let message = "the origin of its collision geometry must be finite";
                return Err(element(search.urdf, format!("link `{}`", link.name), message));
            }
            shapes.push(CollisionShape {
                body: link.name.clone(),
                name: collision.name.clone(),
                x_bg,
                geometry: search.geometry(&collision.geometry).map_err(|message| {
                    let message = format_args!("its collision geometry: {message}");
                    element(search.urdf, format!("link `{}`", link.name), message)
                })?,
            });
        }
    }
    Ok(shapes)
}

/// Motion is well defined for an inertia that is positive definite but that no distribution of
/// mass has, and published robots have such.
fn warn_of_inertia(bodies: &[BodyDescription], warnings: &mut Vec<String>) {
    for body in bodies {
        if let Some(Err(error @ MassPropertiesError::Inertia(_))) =
            body.mass.as_ref().map(MassProperties::validate)
        {
            warnings.push(format!("link `{}`: {error}", body.name));
        }
    }
}

fn warn_of_meshes(urdf: &elements::Robot, search: &MeshSearch, warnings: &mut Vec<String>) {
    let collision = urdf.links.iter().flat_map(|l| &l.collisions).filter_map(|c| match &c.geometry {
        Geometry::Mesh { filename, .. } => Some(filename),
        _ => None,
    });
    let named: BTreeSet<&str> = collision.map(String::as_str).collect();
    let absent: BTreeSet<&str> =
        named.into_iter().filter(|name| search.find(name, None).file.is_none()).collect();
    if !absent.is_empty() {
        let names: Vec<&str> = absent.into_iter().collect();
        warnings.push(format!("meshes that are not found: {}", names.join(", ")));
    }
}
