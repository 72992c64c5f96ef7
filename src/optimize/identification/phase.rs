//! Which phase of contact a moment of a motion is in.

use std::fmt;

use serde::Serialize;

use crate::multibody::{BodyFrame, GeometryPair, Model, PairWorkspace, State};
use crate::spatial::SpatialVelocity;

/// A phase of contact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Nothing has touched yet.
    BeforeTouch,
    /// The bodies that touch approach or part.
    Impact,
    /// They slide on each other.
    Sliding,
    /// They stick to each other, or are at rest.
    Sticking,
    /// Nothing touches any more.
    AfterTouch,
}

impl Phase {
    /// All of them, in order.
    pub(super) const ALL: [Self; 5] =
        [Self::BeforeTouch, Self::Impact, Self::Sliding, Self::Sticking, Self::AfterTouch];
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BeforeTouch => "before the first touch",
            Self::Impact => "in impacts",
            Self::Sliding => "while sliding",
            Self::Sticking => "while sticking or at rest",
            Self::AfterTouch => "in the air after a touch",
        })
    }
}

/// Bodies that touch are in an impact as long as they approach or part with more than this part of the speed with which
/// they touched.
const PART_OF_TOUCH_SPEED: f64 = 0.1;

/// Tells the phases of a motion, moment by moment in the order of time.
///
/// Of several contacts that with the largest force counts. Its normal is the direction of the force that it would have at
/// rest. Speeds below the stiction velocity count as rest.
pub(super) struct Phases<'m> {
    model: &'m Model,
    /// Pairs of geometries, those of the same two bodies together.
    pairs: Vec<Vec<GeometryPair>>,
    frames: Vec<BodyFrame>,
    resting: Vec<BodyFrame>,
    workspace: PairWorkspace,
    has_touched: bool,
    /// The speed along the normal when the present contact was first seen.
    touch_speed: Option<f64>,
}

impl<'m> Phases<'m> {
    /// Those of the contacts of a body, or of all.
    pub fn new(model: &'m Model, body: Option<usize>) -> Self {
        let mut pairs: Vec<Vec<GeometryPair>> = Vec::new();
        for pair in &model.pairs {
            let is_own = body.is_none_or(|body| pair.bodies.a == body || pair.bodies.b == body);
            if is_own {
                match pairs.iter_mut().find(|group| group[0].bodies == pair.bodies) {
                    Some(group) => group.push(*pair),
                    None => pairs.push(vec![*pair]),
                }
            }
        }
        Self {
            model,
            pairs,
            frames: Vec::new(),
            resting: Vec::new(),
            workspace: PairWorkspace::default(),
            has_touched: false,
            touch_speed: None,
        }
    }

    /// The speeds of the strongest contact, along its normal and at right angles to it, m/s.
    fn speeds(&mut self, state: &State) -> Option<[f64; 2]> {
        self.model.body_frames(state, &mut self.frames);
        self.resting.clone_from(&self.frames);
        self.resting.iter_mut().for_each(|frame| frame.velocity = SpatialVelocity::zero());
        let mut strongest = None;
        let mut largest = 0.0;
        for group in &self.pairs {
            let contact = self.model.body_pair_contact(&self.resting, group, &mut self.workspace);
            let (force, Some(at)) = (contact.wrench_on_a.translational, contact.centroid) else { continue };
            if force.norm() > largest {
                largest = force.norm();
                strongest = Some((group[0].bodies, force / force.norm(), at));
            }
        }
        let (bodies, normal, at) = strongest?;
        let velocity = |body: usize| {
            let BodyFrame { pose, velocity } = &self.frames[body];
            velocity.shifted(&(at - pose.translation)).translational
        };
        let relative = velocity(bodies.a) - velocity(bodies.b);
        let along = relative.dot(&normal);
        Some([along.abs(), (relative - normal * along).norm()])
    }

    /// The phase of the next moment.
    pub fn next(&mut self, state: &State) -> Phase {
        let Some([along, across]) = self.speeds(state) else {
            self.touch_speed = None;
            return if self.has_touched { Phase::AfterTouch } else { Phase::BeforeTouch };
        };
        self.has_touched = true;
        let touch_speed = *self.touch_speed.get_or_insert(along);
        let rest = self.model.contact.stiction_velocity;
        match () {
            () if along > rest.max(PART_OF_TOUCH_SPEED * touch_speed) => Phase::Impact,
            () if across > rest => Phase::Sliding,
            () => Phase::Sticking,
        }
    }
}
