//! Rebounds that implicit steps eat.
//!
//! Where an impact lasts few steps, implicit steps take energy from it that no dissipation takes: of a spring and a mass
//! about the part 1 − exp(−π ω δt). Each impact is followed until the bodies part or rest, and its rebound is compared with
//! that of Hunt and Crossley's law.

use nalgebra::Vector3;

use super::patch_look::{PatchLook, mobility};
use super::seen::Seen;
use super::smaller_size;
use super::warning::{MotionWarning, WarningCause};
use crate::contact::{ContactModel, ContactPair, DissipationModel, PairMaterial, Workspace};
use crate::multibody::{BodyFrame, BodyPair, Model, with_pair};

/// A rebound is told that has less than this part of the energy that it would have, ...
const KEPT: f64 = 0.5;
/// ... where a contact vibrates by at least this part of a radian in a step, ...
const TURN: f64 = 0.15;
/// ... with which steps eat half of it; and that would lift the smaller body by this part of its smallest side.
const HALF: f64 = 0.22;
const LIFT: f64 = 0.05;
/// Bodies rest that have moved for so many steps at less than this part of the speed of the impact.
const STILL: usize = 3;
const SLOW: f64 = 0.1;
/// An impact of more steps is resolved.
const MOST_STEPS: usize = 40;

/// An impact that is going on.
#[derive(Clone, Copy, Debug)]
struct Impact {
    pair: usize,
    /// Where it began, and the normal there out of B into A, in W.
    point: Vector3<f64>,
    normal: Vector3<f64>,
    /// The speed of the approach, m/s.
    approach: f64,
    /// The fastest return so far, m/s.
    fastest: f64,
    /// The largest phase ω δt so far, rad.
    turn: f64,
    steps: usize,
    still: usize,
}

/// Follows the impacts of a simulation.
#[derive(Debug, Default)]
pub(super) struct Rebounds {
    /// For each pair whether it was in contact in the step before, and whether it is now.
    touching: Vec<bool>,
    now: Vec<bool>,
    told: Vec<bool>,
    impacts: Vec<Impact>,
    scratch: Workspace,
}

/// The velocity of A relative to B along `normal` at a point, m/s.
fn speed(frames: &[BodyFrame], bodies: BodyPair, point: &Vector3<f64>, normal: &Vector3<f64>) -> f64 {
    let of = |body: usize| {
        let frame = &frames[body];
        frame.velocity.shifted(&(point - frame.pose.translation)).translational
    };
    (of(bodies.a) - of(bodies.b)).dot(normal)
}

/// The speed of a rebound over that of the impact, after a force in proportion to 1 + d ẋ: the energy that goes into the spring
/// on the way in, ∫ v/(1 + d v) dv, comes out on the way back. `u` is d times the speed of the impact.
fn restitution(u: f64) -> f64 {
    if u < 1e-6 {
        return 1.0;
    }
    let stored = u - u.ln_1p();
    let (mut low, mut high) = (0.0_f64, 1.0_f64);
    for _ in 0..50 {
        let middle = 0.5 * (low + high);
        if -middle - (-middle).ln_1p() > stored { high = middle } else { low = middle }
    }
    low / u
}

/// The restitution that the model's law gives; `None` where it has no such number.
fn expected(
    model: &Model,
    kind: ContactModel,
    pair: usize,
    approach: f64,
    frames: &[BodyFrame],
) -> Option<f64> {
    if kind == ContactModel::Sap || model.contact.dissipation_model != DissipationModel::HuntCrossley {
        return None;
    }
    let dissipation = with_pair(model, frames, &model.pairs[pair], |query: &ContactPair| {
        PairMaterial::of(query.a, query.b, None).dissipation
    });
    Some(restitution(dissipation * approach))
}

impl Rebounds {
    /// Follows impacts over an implicit step.
    pub fn after_step(&mut self, seen: &mut Seen<'_>, warnings: &mut Vec<MotionWarning>) {
        let Seen { model, time, after, taken, before_frames, frames, .. } = *seen;
        let Some(method) = taken.implicit_method() else { return };
        let Self { touching, now, told, impacts, scratch } = self;
        told.resize(model.pairs.len(), false);
        touching.resize(model.pairs.len(), true);
        let mut look = |frames: &[BodyFrame], pair: usize| {
            with_pair(model, frames, &model.pairs[pair], |query: &ContactPair| {
                PatchLook::new(query, &model.contact, scratch)
            })
        };
        now.clear();
        now.resize(model.pairs.len(), false);
        taken.implicit_loads().for_each(|load| now[load.pair] = true);
        for pair in (0..now.len()).filter(|&pair| now[pair] && !touching[pair] && !told[pair]) {
            let Some(patch) = look(before_frames, pair).or_else(|| look(frames, pair)) else { continue };
            let (point, normal) = (patch.centroid, patch.normal);
            let approach = -speed(before_frames, model.pairs[pair].bodies, &point, &normal);
            let lift = 0.5 * approach * approach / model.gravity.norm();
            if approach > 0.0 && lift > LIFT * smaller_size(model, &model.pairs[pair]) {
                let new =
                    Impact { pair, point, normal, approach, fastest: 0.0, turn: 0.0, steps: 0, still: 0 };
                impacts.push(new);
            }
        }
        std::mem::swap(touching, now);
        impacts.retain_mut(|impact| {
            let pair = impact.pair;
            let (bodies, Impact { point, normal, approach, .. }) = (model.pairs[pair].bodies, *impact);
            let leaving = speed(frames, bodies, &point, &normal);
            impact.fastest = impact.fastest.max(leaving);
            impact.steps += 1;
            impact.still = if leaving.abs() < SLOW * approach { impact.still + 1 } else { 0 };
            let patch = look(frames, pair);
            if let Some(patch) = &patch {
                let by_force = mobility(model, after, frames, seen.joints, bodies, &point, &normal);
                impact.turn = impact.turn.max((patch.stiffness * by_force).sqrt() * taken.time_step);
            }
            let parted = patch.is_none() && leaving > 0.0;
            if !parted && impact.still < STILL {
                return impact.steps < MOST_STEPS;
            }
            let Some(part) = expected(model, method, pair, approach, frames) else { return false };
            let rebound = part * approach;
            let lift = 0.5 * rebound * rebound / model.gravity.norm();
            if impact.turn > TURN
                && impact.fastest * impact.fastest < KEPT * rebound * rebound
                && lift > LIFT * smaller_size(model, &model.pairs[pair])
                && !std::mem::replace(&mut told[pair], true)
            {
                let longest = taken.time_step * HALF / impact.turn;
                let lasts = std::f64::consts::PI / impact.turn;
                let cause =
                    WarningCause::EatenRebound { speed: impact.fastest, expected: rebound, lasts, longest };
                warnings.push(MotionWarning::of_pair(model, pair, time, cause));
            }
            false
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;

    /// Against the motion of a mass on a spring with that dissipation, by small steps.
    #[test]
    fn restitution_is_that_of_the_law() {
        assert_eq!(restitution(0.0), 1.0);
        for u in [0.01, 0.3, 1.0, 5.0] {
            let (mut x, mut v, dt) = (0.0_f64, u, 1e-5);
            while x >= 0.0 {
                // By the midpoint rule: ẍ = −x (1 + ẋ).
                let acceleration = |x: f64, v: f64| -x * (1.0 + v);
                let (xm, vm) = (x + 0.5 * dt * v, v + 0.5 * dt * acceleration(x, v));
                (x, v) = (x + dt * vm, v + dt * acceleration(xm, vm));
            }
            assert_relative_eq!(restitution(u), -v / u, max_relative = 1e-3);
        }
    }
}
