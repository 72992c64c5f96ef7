//! Contacts that begin or end within a substep.
//!
//! A velocity-level step has the contacts at its start, and their forces at its end. Of a contact that begins
//! later, no solution of the substep knows; to one that has ended by then, all give no impulse. So they agree,
//! and the error that they estimate is zero. What such a contact would have done is estimated from its force
//! at the end of the substep, or from its energy at the start.

use super::super::velocity_level::Workspace;
use super::displacement::mass_of;
use crate::contact::Release;
use crate::multibody::{BodyFrame, BroadPhase, JointKinematics, Model, PairWorkspace, State};

/// How much more easily a body may give way at a contact than its mass says: a rod's end does so four times.
const LEVERAGE: f64 = 4.0;

/// The search for contacts at the end of substeps, and what is known of those within: memory that is reused.
#[derive(Debug, Default)]
pub(super) struct Onset {
    frames: Vec<BodyFrame>,
    joints: JointKinematics,
    broad_phase: BroadPhase,
    contacts: PairWorkspace,
    /// What contacts that ended within a step would have added to the velocity of a body at most: in the step of
    /// the whole length, and in both halves.
    released: [Missed; 3],
    /// The pairs that are in contact at the start of the substep, in increasing order.
    touching: Vec<usize>,
}

/// A part of the velocity of a body that the solutions of a substep miss, m/s, and the pair (by its index in
/// [`Model::pairs`]) whose contact gives it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Missed {
    pub speed: f64,
    pub pair: usize,
}

/// The steps that are taken for a substep: one of its whole length, and its halves.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part {
    Whole,
    First,
    Second,
}

impl Onset {
    /// How far the contacts that there are at the end of a substep, and were not at its start, would have moved a
    /// body in `length` s, and in `time` s more by the velocity that they would have given to it, m; and the pair
    /// (by its index in [`Model::pairs`]) that would have moved it farthest.
    pub fn missed(
        &mut self,
        model: &Model,
        after: &State,
        (length, time): (f64, f64),
    ) -> Option<(f64, usize)> {
        let Self { frames, joints, broad_phase, contacts, touching, .. } = self;
        model.update_frames(after, frames, joints);
        let mut touching = touching.iter().copied().peekable();
        let mut farthest: Option<(f64, usize)> = None;
        for &index in broad_phase.candidates(model, frames) {
            while touching.next_if(|pair| *pair < index).is_some() {}
            if touching.peek() == Some(&index) {
                continue;
            }
            let contact = model.body_pair_contact(frames, &[model.pairs[index]], contacts);
            let force = contact.wrench_on_a.translational.norm();
            // A force that grows from nothing in half of the substep has the impulse F h/4.
            let moved = LEVERAGE * length * (length + 0.25 * time) * force / lighter(model, index);
            if moved > farthest.map_or(0.0, |(most, _)| most) {
                farthest = Some((moved, index));
            }
        }
        farthest
    }

    /// Notes the contacts of a step that was taken.
    pub fn note(&mut self, part: Part, model: &Model, taken: &Workspace) {
        let released = &mut self.released[part as usize];
        *released = Missed::default();
        for (pair, Release { energy, speed }) in taken.released() {
            // With a velocity v it is √(v² + 2 E/m) − v, which as a difference would lose its digits.
            let twice = 2.0 * LEVERAGE * energy / lighter(model, pair);
            let missed = twice / ((speed * speed + twice).sqrt() + speed.abs());
            if missed > released.speed {
                *released = Missed { speed: missed, pair };
            }
        }
        if matches!(part, Part::First) {
            self.touching.clear();
            self.touching.extend(taken.touching());
        }
    }

    /// The first half was a step of the whole length of what is tried next.
    pub fn halve(&mut self) {
        self.released.swap(Part::Whole as usize, Part::First as usize);
    }

    /// What contacts that end within the substep would have added to the velocity of a body at most.
    pub fn released(&self) -> Missed {
        let [whole, _, second] = self.released;
        if whole.speed > second.speed { whole } else { second }
    }
}

/// The mass of the lighter body of a pair, kg.
fn lighter(model: &Model, pair: usize) -> f64 {
    let bodies = model.pairs[pair].bodies;
    let masses = [bodies.a, bodies.b].map(|body| mass_of(model, body));
    masses.into_iter().filter(|mass| *mass > 0.0).fold(f64::INFINITY, f64::min)
}
