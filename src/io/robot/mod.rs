//! Robots as their files describe them, whatever the format: URDF, SDF and MJCF are read into what is here.

mod collision;
mod drake;
mod error;
mod joints;
mod srdf;
pub(super) mod values;
mod visual;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use nalgebra::{Matrix3, Vector3};

pub use collision::{CollisionShape, LinkGeometry, MeshReference};
pub(in crate::io) use collision::{Geometry, LinkShape, LinkShapes};
pub use drake::{Compliance, Proximity};
pub(in crate::io) use drake::{filtered_pairs, proximity, reflected_inertia};
pub use error::MissingMesh;
pub(in crate::io) use error::{element, invalid};
pub use joints::JointActuator;
pub(in crate::io) use joints::{set_friction, set_mimic};
pub(crate) use srdf::disabled_collisions;
pub(crate) use visual::DRAWN_FORMATS;
pub use visual::{Visual, VisualShape};

use super::file_error::FileError;
use crate::multibody::tree::{BodyDescription, JointDescription, JointKind, Mechanism};
use crate::spatial::{MassProperties, MassPropertiesError, RigidTransform};
use collision::{MeshSearch, absent_meshes, collisions};
use visual::visuals;

/// How the root link is connected to the world.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RobotBase {
    /// It does not move.
    Fixed {
        /// The pose in W of the root link, or of the model's frame of an SDF file.
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

/// How the file of a robot is read.
#[derive(Clone, Debug, PartialEq)]
pub struct RobotOptions {
    /// Folders that are ROS packages or hold them, for `package://` names of meshes.
    pub package_path: Vec<PathBuf>,
    /// How the root link is connected to the world.
    pub base: RobotBase,
    /// What to do with joints that mimic others.
    pub mimic: MimicJoints,
    /// The keyframe of an MJCF file that joints start at; without one they start as the file has its bodies.
    pub keyframe: Option<String>,
}

impl Default for RobotOptions {
    /// A base fixed at W's origin, no packages, joints that mimic others follow them.
    fn default() -> Self {
        Self {
            package_path: Vec::new(),
            base: RobotBase::Fixed { x_wb: RigidTransform::identity() },
            mimic: MimicJoints::Follow,
            keyframe: None,
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
    /// Links that do not touch each other, by their indices.
    pub apart: Vec<[usize; 2]>,
    /// Whether gravity acts on none of its links.
    pub weightless: bool,
    /// Coordinates of joints where the file has them start, by the joints' names; 0 of all others.
    pub initial: Vec<(String, Vec<f64>)>,
    /// The actuators of its joints.
    pub actuators: Vec<JointActuator>,
    /// The files that were read beside its own, but for meshes.
    pub files: Vec<PathBuf>,
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

/// What the file of a robot says, before its base is connected and its meshes are looked for.
pub(super) struct RobotParts {
    pub name: String,
    pub bodies: Vec<BodyDescription>,
    /// The joints of the file. Those without a parent are on the frame that the base places.
    pub joints: Vec<JointDescription>,
    pub shapes: Vec<LinkShapes>,
    /// Where each link is in the frame that the base places, if it is the root.
    pub root_poses: Vec<RigidTransform>,
    /// Whether nothing of it moves.
    pub is_static: bool,
    /// Links that gravity does not act on.
    pub weightless: Vec<String>,
    /// Links that do not touch each other.
    pub apart: Vec<[String; 2]>,
    pub initial: Vec<(String, Vec<f64>)>,
    pub actuators: Vec<JointActuator>,
    pub files: Vec<PathBuf>,
    pub warnings: Vec<String>,
}

impl RobotParts {
    /// Connects the base and looks for meshes; `path` is the file.
    ///
    /// # Errors
    /// When a joint connects the robot with the world and its base is free, or a collision geometry is not good.
    pub fn describe(mut self, path: &Path, options: &RobotOptions) -> Result<RobotDescription, FileError> {
        if self.is_static {
            if options.base == RobotBase::Free {
                let message = "it is static, so its base cannot be free";
                return Err(element(path, format!("model `{}`", self.name), message));
            }
            self.joints.iter_mut().for_each(|joint| {
                let (name, child) = (joint.name.clone(), joint.child.clone());
                let x_mc = joint.x_mc;
                *joint =
                    JointDescription::new(name, JointKind::Fixed, joint.parent.as_deref(), child, joint.x_pf);
                joint.x_mc = x_mc;
            });
        }
        let mut joints: Vec<_> = self.base_joint(options).into_iter().collect();
        let Self { name, bodies, joints: own, shapes, mut warnings, weightless, apart: by_name, .. } = self;
        let Self { initial, actuators, files, .. } = self;
        for mut joint in own {
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
        let search = MeshSearch { file: path, packages: &options.package_path };
        let collisions = collisions(&shapes, &search)?;
        warn_of_inertia(&bodies, &mut warnings);
        warnings.extend(absent_meshes(&shapes, &search));
        let visuals = visuals(&shapes, &search);
        let mut apart = Vec::new();
        for pair in by_name {
            let [a, b] = pair.each_ref().map(|link| bodies.iter().position(|body| body.name == *link));
            let (Some(a), Some(b)) = (a, b) else {
                let message = format!("found the links `{}` and `{}`; both must be there", pair[0], pair[1]);
                return Err(element(path, "a collision filter group".to_owned(), message));
            };
            apart.push([a, b]);
        }
        let weightless = is_weightless(&weightless, &bodies, &joints, &mut warnings);
        Ok(RobotDescription {
            name,
            bodies,
            joints,
            collisions,
            visuals,
            apart,
            weightless,
            initial,
            actuators,
            files,
            warnings,
        })
    }

    /// The joint that connects the first link that no joint has as its child with the world. Without
    /// such a link there is none: a joint of the file connects it, or the joints make a loop.
    fn base_joint(&self, options: &RobotOptions) -> Option<JointDescription> {
        let children: HashSet<&str> = self.joints.iter().map(|j| j.child.as_str()).collect();
        let root = self.bodies.iter().position(|b| !children.contains(b.name.as_str()))?;
        let link = &self.bodies[root].name;
        let mut name = link.clone();
        while self.joints.iter().any(|j| j.name == name) {
            name.push('_');
        }
        let (kind, x_pf) = match options.base {
            RobotBase::Fixed { x_wb } => (JointKind::Fixed, x_wb),
            RobotBase::Free => (JointKind::Free, RigidTransform::identity()),
        };
        let mut joint = JointDescription::new(name, kind, None, link.clone(), x_pf);
        joint.x_mc = self.root_poses[root];
        Some(joint)
    }
}

impl RobotDescription {
    /// The robot alone; `path` is the file's name in messages.
    ///
    /// # Errors
    /// When links and joints do not make a tree with masses and limits that can be.
    pub fn robot(self, path: &Path) -> Result<Robot, FileError> {
        let Self { name, bodies, joints, collisions, warnings, weightless, .. } = self;
        let mut mechanism = Mechanism::new(bodies, joints)
            .map_err(|source| FileError::Mechanism { path: path.to_owned(), source })?;
        if weightless {
            for joint in 0..mechanism.joints().len() {
                mechanism = mechanism.with_gravity_compensation(joint);
            }
        }
        Ok(Robot { name, mechanism, collisions, warnings })
    }
}

/// The least radius of gyration, m: published links of point masses have inertias of 10⁻²⁰ kg m² and less by rounding.
const LEAST_GYRATION: f64 = 1e-9;

/// The mass properties of a link in its frame from those in the frame of its `inertial` element, which has the pose
/// `x_bi` in the link's: the mass, and the elements xx, xy, xz, yy, yz, zz. Zeros stand for no mass.
pub(super) fn link_mass(mass: f64, inertia: [f64; 6], x_bi: &RigidTransform) -> Option<MassProperties> {
    if mass == 0.0 && inertia == [0.0; 6] {
        return None;
    }
    let least = mass.abs() * LEAST_GYRATION.powi(2);
    let [xx, xy, xz, yy, yz, zz] = inertia.map(|x| if x.abs() < least { 0.0 } else { x });
    let inertia = Matrix3::new(xx, xy, xz, xy, yy, yz, xz, yz, zz);
    Some(MassProperties { mass, center_of_mass: Vector3::zeros(), inertia }.seen_from(x_bi))
}

/// Whether gravity acts on no link that moves; where it does not act on some of them alone, that is told.
fn is_weightless(
    without: &[String],
    bodies: &[BodyDescription],
    joints: &[JointDescription],
    warnings: &mut Vec<String>,
) -> bool {
    let above = |link: &str| joints.iter().find(|joint| joint.child == link);
    let moves = |body: &&BodyDescription| {
        let chain = std::iter::successors(above(&body.name), |joint| above(joint.parent.as_deref()?));
        body.mass.is_some() && chain.take(joints.len()).any(|joint| joint.kind != JointKind::Fixed)
    };
    let moving: Vec<&str> = bodies.iter().filter(moves).map(|body| body.name.as_str()).collect();
    let (light, heavy): (Vec<&str>, Vec<&str>) =
        moving.into_iter().partition(|link| without.iter().any(|name| name == link));
    if !light.is_empty() && !heavy.is_empty() {
        warnings.push(format!(
            "gravity acts on all links of a robot or on none; the file has it act on {}, and so it does on {}",
            heavy.join(", "),
            light.join(", ")
        ));
    }
    !light.is_empty() && heavy.is_empty()
}

/// Motion is well defined for an inertia that is positive definite but that no distribution of
/// mass has, and published robots have such. Points and rods lack moments, and are good.
fn warn_of_inertia(bodies: &[BodyDescription], warnings: &mut Vec<String>) {
    let mut found = bodies.iter().filter_map(|body| {
        let error = body.mass.as_ref()?.validate().err()?;
        let MassPropertiesError::Inertia([small, middle, large]) = error else { return None };
        let is_close = small >= -1e-12 * large && small + middle >= large * (1.0 - 1e-6);
        (!is_close).then_some((body.name.as_str(), error))
    });
    if let Some((link, error)) = found.next() {
        let others: Vec<&str> = found.map(|(link, _)| link).collect();
        let others =
            if others.is_empty() { String::new() } else { format!("; so it is with {}", others.join(", ")) };
        warnings.push(format!("link `{link}`: {error}{others}"));
    }
}
