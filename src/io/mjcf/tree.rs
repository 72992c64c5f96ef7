//! What is read of the tree of bodies.

use std::collections::{BTreeSet, HashSet};

use super::file::Ignored;
use crate::io::robot::LinkShapes;
use crate::multibody::tree::{BodyDescription, JointDescription};
use crate::spatial::RigidTransform;

/// What is read of the tree so far.
#[derive(Debug, Default)]
pub(super) struct Tree {
    pub bodies: Vec<BodyDescription>,
    pub joints: Vec<JointDescription>,
    pub shapes: Vec<LinkShapes>,
    /// Where each link is in the file's frame if nothing carries it.
    pub root_poses: Vec<RigidTransform>,
    /// Where joints start.
    pub initial: Vec<(String, Vec<f64>)>,
    /// Links that gravity does not act on.
    pub weightless: Vec<String>,
    pub parts: Vec<Part>,
    /// Links that collide, and the bits of their geoms: their own, and those of others that they meet.
    pub masks: Vec<(String, BTreeSet<[u32; 2]>)>,
    pub ignored: Ignored,
    /// The names of bodies.
    pub links: HashSet<String>,
    /// The names of joints, those of the file and those that are made here.
    pub names: HashSet<String>,
}

impl Tree {
    /// A name for a joint that has none.
    pub fn joint_name(&mut self, wanted: &str) -> String {
        let mut name = wanted.to_owned();
        while !self.names.insert(name.clone()) {
            name.push('_');
        }
        name
    }
}

/// A body and what it moves with.
#[derive(Debug)]
pub(super) struct Part {
    pub link: String,
    /// The first of the bodies that move as one with it.
    pub moves_with: usize,
    /// Its parent; none of a child of the world.
    pub above: Option<usize>,
    /// How many joints it has.
    pub joints: usize,
}
