//! Contacts that begin within a substep.
//!
//! A velocity-level step has the contacts at its start. Of one that begins later, no solution of the substep
//! knows: they agree, and the error that they estimate is zero. So what such a contact would have done is
//! estimated from its force at the end.

use super::displacement::mass_of;
use crate::multibody::{BodyFrame, BroadPhase, JointKinematics, Model, PairWorkspace, State};

/// How much more easily a body may give way at a contact than its mass says: a rod's end does so four times.
const LEVERAGE: f64 = 4.0;

/// The search for contacts at the end of substeps: memory that is reused.
#[derive(Debug, Default)]
pub(super) struct Onset {
    frames: Vec<BodyFrame>,
    joints: JointKinematics,
    broad_phase: BroadPhase,
    contacts: PairWorkspace,
}

impl Onset {
    /// How far the contacts that there are at a state, and were not when the last step of the substep began,
    /// would have moved a body in `length` s, m; and the pair (by its index in [`Model::pairs`]) that would
    /// have moved it farthest. The pairs that were in contact are in `touching`, in increasing order.
    pub fn missed(
        &mut self,
        model: &Model,
        after: &State,
        touching: impl Iterator<Item = usize>,
        length: f64,
    ) -> Option<(f64, usize)> {
        let Self { frames, joints, broad_phase, contacts } = self;
        model.update_frames(after, frames, joints);
        let mut touching = touching.peekable();
        let mut farthest: Option<(f64, usize)> = None;
        for &index in broad_phase.candidates(model, frames) {
            while touching.next_if(|pair| *pair < index).is_some() {}
            if touching.peek() == Some(&index) {
                continue;
            }
            let pair = model.pairs[index];
            let contact = model.body_pair_contact(frames, &[pair], contacts);
            let force = contact.wrench_on_a.translational.norm();
            let lightest = [pair.bodies.a, pair.bodies.b]
                .map(|body| mass_of(model, body))
                .into_iter()
                .filter(|mass| *mass > 0.0)
                .fold(f64::INFINITY, f64::min);
            let moved = LEVERAGE * length * length * force / lightest;
            if moved > farthest.map_or(0.0, |(most, _)| most) {
                farthest = Some((moved, index));
            }
        }
        farthest
    }
}
