//! Where the frames of a model are, all joints at zero, and what links they move with.
//!
//! Links, joints and frames all are frames, each given in another: a link in the model's frame unless it says
//! otherwise, a joint in that of its child, a frame in that which it is attached to.

use std::collections::HashMap;

use super::elements::Model;
use super::pose::Pose;
use crate::spatial::RigidTransform;
use crate::xml::Problem;

/// The name of the model's own frame.
pub(super) const MODEL: &str = "__model__";

/// A frame.
#[derive(Debug)]
struct Known<'a> {
    pose: &'a Pose,
    /// The frame that it is given in.
    relative_to: &'a str,
    /// Its index, if it is one of these.
    parent: Option<usize>,
    /// The frame that it moves with; none for a link.
    attached_to: Option<&'a str>,
    line: usize,
}

/// The frames of a model by their names.
#[derive(Debug)]
pub(super) struct Frames<'a> {
    known: Vec<Known<'a>>,
    indices: HashMap<&'a str, usize>,
    /// The link that the model's frame moves with.
    canonical: &'a str,
}

impl<'a> Frames<'a> {
    /// The frames of a model.
    ///
    /// # Errors
    /// When two have the same name.
    pub fn new(model: &'a Model) -> Result<Self, Problem> {
        let first = model.links.first().map_or(MODEL, |link| link.name.as_str());
        let canonical = model.canonical_link.as_deref().unwrap_or(first);
        let mut frames = Self { known: Vec::new(), indices: HashMap::new(), canonical };
        for link in &model.links {
            frames.add(&link.name, link.line, &link.pose, MODEL, None)?;
        }
        for joint in &model.joints {
            frames.add(&joint.name, joint.line, &joint.pose, &joint.child, Some(&joint.child))?;
        }
        for frame in &model.frames {
            let attached_to = frame.attached_to.as_deref().unwrap_or(MODEL);
            frames.add(&frame.name, frame.line, &frame.pose, attached_to, Some(attached_to))?;
        }
        let Self { known, indices, .. } = &mut frames;
        known.iter_mut().for_each(|frame| frame.parent = indices.get(frame.relative_to).copied());
        Ok(frames)
    }

    fn add(
        &mut self,
        name: &'a str,
        line: usize,
        pose: &'a Pose,
        default: &'a str,
        attached_to: Option<&'a str>,
    ) -> Result<(), Problem> {
        let relative_to = pose.relative_to.as_deref().unwrap_or(default);
        if let Some(first) = self.indices.insert(name, self.known.len()) {
            let message = format!(
                "found a second `{name}`, after that of line {}; links, joints and frames have names of their own",
                self.known[first].line
            );
            return Err((Some(line), message));
        }
        self.known.push(Known { pose, relative_to, parent: None, attached_to, line });
        Ok(())
    }

    fn find(&self, name: &str, line: usize) -> Result<&Known<'a>, Problem> {
        self.indices.get(name).map(|&index| &self.known[index]).ok_or_else(|| {
            let mut known: Vec<&str> = self.indices.keys().copied().collect();
            known.sort_unstable();
            let message =
                format!("found `{name}`, which is no frame; there are {MODEL}, {}", known.join(", "));
            (Some(line), message)
        })
    }

    /// The pose of a frame in the model's frame; `line` is where it is named.
    ///
    /// # Errors
    /// When a frame is not there, or frames are given in one another in a circle.
    pub fn pose(&self, name: &str, line: usize) -> Result<RigidTransform, Problem> {
        if name == MODEL {
            return Ok(RigidTransform::identity());
        }
        let mut frame = self.find(name, line)?;
        let mut x = frame.pose.x * RigidTransform::identity();
        for _ in 0..=self.known.len() {
            if frame.relative_to == MODEL {
                return Ok(x);
            }
            frame = match frame.parent {
                Some(parent) => &self.known[parent],
                None => self.find(frame.relative_to, frame.pose.line)?,
            };
            x = frame.pose.x * x;
        }
        let (name, line) = (frame.relative_to, frame.pose.line);
        Err((Some(line), format!("the pose of `{name}` is given in itself, by way of other frames")))
    }

    /// The pose of something in the frame of a link where it is written without naming another.
    pub fn pose_on(&self, link: &str, pose: &Pose) -> Result<RigidTransform, Problem> {
        let Some(other) = &pose.relative_to else { return Ok(pose.x) };
        Ok(self.pose(link, pose.line)?.inverse() * self.pose(other, pose.line)? * pose.x)
    }

    /// The link that a frame moves with; `line` is where it is named.
    ///
    /// # Errors
    /// When a frame is not there, or frames are attached to one another in a circle.
    pub fn link(&self, name: &'a str, line: usize) -> Result<&'a str, Problem> {
        let (mut name, mut line) = (name, line);
        for _ in 0..=self.known.len() {
            if name == MODEL {
                name = self.canonical;
            }
            let frame = self.find(name, line)?;
            let Some(next) = frame.attached_to else { return Ok(name) };
            (name, line) = (next, frame.line);
        }
        Err((Some(line), format!("`{name}` is attached to itself, by way of other frames")))
    }
}
