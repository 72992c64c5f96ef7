//! The tree of bodies: links with their masses and shapes, on joints.

use std::collections::{BTreeSet, HashSet};

use super::file::File;
use super::geoms::Geom;
use super::inertia::mass;
use super::joints::joint;
use super::layers::Layers;
use super::pose::pose;
use super::tree::{Part, Tree};
use super::wrong;
use crate::io::file_error::FileError;
use crate::io::robot::LinkShapes;
use crate::multibody::tree::{BodyDescription, JointDescription, JointKind};
use crate::spatial::{Quaternion, RigidTransform};
use crate::xml::Element;

/// The link that has the geoms of the world.
pub(super) const WORLD: &str = "world";

/// Elements of bodies that nothing moves by.
const SEEN: [&str; 3] = ["site", "camera", "light"];

/// What is in a body, with the frame and the class that it is in.
struct Content<'a> {
    element: &'a Element,
    x: RigidTransform,
    childclass: Option<&'a str>,
}

/// The tree of a file.
///
/// # Errors
/// When an element of it is not good or not read.
pub(super) fn tree(file: &File) -> Result<Tree, FileError> {
    let mut tree = Tree::default();
    for world in file.root.all("worldbody") {
        add_names(world, &mut tree.names);
    }
    let mut inside = Vec::new();
    for world in file.root.all("worldbody") {
        contents(file, world, &RigidTransform::identity(), None, &mut inside)?;
    }
    let is_wrong =
        |content: &&Content| ["joint", "freejoint", "inertial"].contains(&content.element.name.as_str());
    if let Some(found) = inside.iter().find(is_wrong) {
        return Err(wrong(found.element, "found in `worldbody`, which does not move"));
    }
    let geoms = geoms(file, &inside)?;
    if geoms.iter().any(|geom| geom.collides() || geom.is_drawn()) {
        let body = BodyDescription { name: WORLD.to_owned(), mass: None };
        tree.add(file, body, RigidTransform::identity(), &geoms)?;
    }
    for content in inside.iter().filter(|content| content.element.name == "body") {
        tree.body(file, content, None)?;
    }
    Ok(tree)
}

/// The names of all joints in an element.
fn add_names(element: &Element, names: &mut HashSet<String>) {
    let joints =
        element.children.iter().filter(|child| ["joint", "freejoint"].contains(&child.name.as_str()));
    names.extend(joints.filter_map(super::name));
    element.children.iter().for_each(|child| add_names(child, names));
}

/// What is in a body or a frame, and in the frames in it.
fn contents<'a>(
    file: &File<'a>,
    element: &'a Element,
    x: &RigidTransform,
    childclass: Option<&'a str>,
    all: &mut Vec<Content<'a>>,
) -> Result<(), FileError> {
    let childclass = element.attribute("childclass").or(childclass);
    for child in &element.children {
        match child.name.as_str() {
            "frame" => {
                let x = *x * pose(&Layers(vec![child]), &file.compiler)?;
                contents(file, child, &x, childclass, all)?;
            }
            "body" | "joint" | "freejoint" | "geom" | "inertial" => {
                all.push(Content { element: child, x: *x, childclass });
            }
            name if SEEN.contains(&name) => {}
            _ => {
                let allowed = "body, frame, inertial, joint, freejoint, geom, site, camera, light";
                let message = format!("found in `{}`; what is read there is {allowed}", element.name);
                return Err(wrong(child, message));
            }
        }
    }
    Ok(())
}

fn geoms<'a>(file: &File<'a>, inside: &[Content<'a>]) -> Result<Vec<Geom<'a>>, FileError> {
    let own = inside.iter().filter(|content| content.element.name == "geom");
    own.map(|c| Geom::new(file, c.element, &c.x, c.childclass)).collect()
}

impl Tree {
    /// Adds a link with its geoms.
    fn add(
        &mut self,
        file: &File,
        body: BodyDescription,
        root_pose: RigidTransform,
        geoms: &[Geom],
    ) -> Result<(), FileError> {
        let (solid, drawn) = (geoms.iter().filter(|g| g.collides()), geoms.iter().filter(|g| g.is_drawn()));
        self.shapes.push(LinkShapes {
            link: body.name.clone(),
            collisions: solid.map(|geom| geom.shape(file)).collect::<Result<_, _>>()?,
            visuals: drawn.map(|geom| geom.shape(file).map_err(|error| error.to_string())).collect(),
        });
        let masks: BTreeSet<[u32; 2]> =
            geoms.iter().filter(|geom| geom.collides()).map(|geom| geom.mask).collect();
        if !masks.is_empty() {
            self.masks.push((body.name.clone(), masks));
        }
        self.bodies.push(body);
        self.root_poses.push(root_pose);
        Ok(())
    }

    /// Adds a body with its joints and all that is on it; `above` is its parent among the parts.
    fn body<'a>(
        &mut self,
        file: &File<'a>,
        content: &Content<'a>,
        above: Option<usize>,
    ) -> Result<(), FileError> {
        let Content { element, x, childclass } = content;
        let own = Layers(vec![element]);
        let mut x_pf = *x * pose(&own, &file.compiler)?;
        let number = self.parts.len() + 1;
        let name = super::name(element).unwrap_or_else(|| format!("body {number}"));
        if !self.links.insert(name.clone()) || name == WORLD {
            return Err(wrong(element, format!("found a second body `{name}`; names are unique")));
        }
        let mut inside = Vec::new();
        contents(file, element, &RigidTransform::identity(), *childclass, &mut inside)?;
        let geoms = geoms(file, &inside)?;
        let mut inertials = inside.iter().filter(|c| c.element.name == "inertial").map(|c| (c.element, c.x));
        let inertial = inertials.next();
        if let Some((second, _)) = inertials.next() {
            return Err(wrong(second, format!("found a second time in body `{name}`; one is allowed")));
        }
        let mut parent = above.map(|above| self.parts[above].link.clone());
        let moving = inside.iter().filter(|c| ["joint", "freejoint"].contains(&c.element.name.as_str()));
        let moving: Vec<&Content> = moving.collect();
        for (i, moving_by) in moving.iter().enumerate() {
            let mut made = joint(file, self, (moving_by.element, &moving_by.x, moving_by.childclass), &name)?;
            if made.kind == JointKind::Free && (moving.len() > 1 || above.is_some()) {
                let message = "it is free; it must be the only joint of a body in `worldbody`";
                return Err(wrong(moving_by.element, message));
            }
            if made.kind == JointKind::Free {
                // Its coordinates are the pose in the world, which is where it starts.
                let turn = Quaternion::from_matrix(&x_pf.rotation);
                let start = [turn.w]
                    .into_iter()
                    .chain(turn.v.iter().copied())
                    .chain(x_pf.translation.iter().copied());
                self.initial.push((made.name.clone(), start.collect()));
                x_pf = RigidTransform::identity();
            }
            made.x_pf = x_pf * made.x_pf;
            made.parent = parent;
            // What is between two joints of a body has no mass.
            let is_last = i + 1 == moving.len();
            made.child = if is_last { name.clone() } else { format!("{name} after {}", made.name) };
            parent = Some(made.child.clone());
            x_pf = RigidTransform::identity();
            if !is_last {
                let body = BodyDescription { name: made.child.clone(), mass: None };
                self.add(file, body, RigidTransform::identity(), &[])?;
            }
            self.joints.push(made);
        }
        if moving.is_empty() && parent.is_some() {
            let joint = self.joint_name(&format!("{name} on {}", parent.as_deref().unwrap_or(WORLD)));
            self.joints.push(JointDescription::new(
                joint,
                JointKind::Fixed,
                parent.as_deref(),
                name.clone(),
                x_pf,
            ));
        }
        match own.number_or("gravcomp", 0.0)? {
            0.0 => {}
            1.0 => self.weightless.push(name.clone()),
            _ => self.ignored.add("a part of the weight that `gravcomp` carries", &name),
        }
        if own.truth("mocap")? == Some(true) {
            self.ignored.add("`mocap`", &name);
        }
        let mass = mass(file, inertial, &geoms)?;
        self.add(file, BodyDescription { name: name.clone(), mass }, x_pf, &geoms)?;
        let place = self.parts.len();
        let moves_with = match above {
            Some(above) if moving.is_empty() => self.parts[above].moves_with,
            _ => place,
        };
        self.parts.push(Part { link: name, moves_with, above, joints: moving.len() });
        for content in inside.iter().filter(|content| content.element.name == "body") {
            self.body(file, content, Some(place))?;
        }
        Ok(())
    }
}
