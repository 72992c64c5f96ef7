//! The deflection of bristles after a step, in scalars of any kind.

use super::problem::Problem;
use crate::contact::{Deflection, DiscreteSettings, PatchSums, Roles, patch_sums};
use crate::multibody::{BodyFrame, Model, Motion, State, with_pair};
use crate::scalar::Scalar;

/// The deflections of all pairs after a step, from those of `before`, written into `deflections`. `frames` are
/// the bodies at their poses before the step, with their velocities after it. Pairs that do not touch have none, and pairs
/// that sleep those that they had.
pub(super) fn move_bristles<T: Scalar>(
    settings: &DiscreteSettings<T>,
    (model, asleep): (&Model<T>, &[bool]),
    before: &State<T>,
    problem: &Problem,
    frames: &[BodyFrame<T>],
    deflections: &mut Vec<Deflection<T>>,
) {
    deflections.clear();
    let Some(law) = settings.bristles() else { return };
    deflections.resize(model.bristle_count(), Deflection::zero());
    if !asleep.is_empty() {
        let stays = |&body: &usize| asleep[body] || matches!(model.bodies[body].motion, Motion::Fixed { .. });
        for (index, pair) in model.pairs.iter().enumerate() {
            if [pair.bodies.a, pair.bodies.b].iter().all(stays) {
                deflections[index] = before.deflection(index);
            }
        }
    }
    for patch in &problem.patches {
        let moved = with_pair(model, frames, &model.pairs[patch.pair], |query| {
            let roles = Roles::new(query).ok()?;
            let velocity = &roles.v_fo;
            let sums = if T::NDERIV > 0 {
                let polygons = &problem.contacts.polygons[patch.contacts.polygons.clone()];
                patch_sums(&roles, settings.contact, polygons, velocity)
            } else {
                PatchSums::zero()
            };
            // The bits of a step without derivatives.
            let sums = sums.with_real(&patch.contacts.sums(&problem.contacts, &velocity.real()));
            Some(law.after(&before.deflection(patch.pair), velocity, &sums))
        });
        if let Some(moved) = moved {
            deflections[patch.pair] = moved;
        }
    }
}
