//! Rolling that implicit steps resist.
//!
//! The contacts of an implicit step are those of its start, while the body rolls on by v δt: the load N then acts that far ahead
//! of its middle, which resists with N δt v/R. The energy that it takes is followed for each contact.

use nalgebra::Vector3;

use super::seen::Seen;
use super::warning::{MotionWarning, WarningCause};
use crate::multibody::{BodyFrame, BodyPair, Model, State};

/// It is told when steps have taken this part of the kinetic energy that rolling began with, ...
const PART: f64 = 0.2;
/// ... over at least this way in radians: what tips over does not roll.
const TURN: f64 = 1.0;

/// A contact that may roll.
#[derive(Clone, Copy, Debug, Default)]
struct Contact {
    /// The middle of the patch in the frames of A and of B; `None` where they did not touch.
    at: Option<[Vector3<f64>; 2]>,
    /// The kinetic energy of both bodies as contact began, J.
    energy: f64,
    /// What the steps have taken since, J.
    taken: f64,
    /// How far the bodies have rolled since, rad.
    turned: f64,
    told: bool,
}

/// Follows what rolls in a simulation.
#[derive(Debug, Default)]
pub(super) struct Rolling {
    contacts: Vec<Contact>,
    touches: Vec<bool>,
}

/// The kinetic energy of the free bodies of a pair, J.
fn kinetic(model: &Model, state: &State, bodies: BodyPair) -> f64 {
    let of_pair = model
        .free_bodies()
        .zip(&state.bodies)
        .filter(|((body, _, _), _)| *body == bodies.a || *body == bodies.b);
    of_pair.map(|((_, _, mass), state)| model.body_energy(mass, state)[0]).sum()
}

impl Rolling {
    /// Follows contacts over an implicit step.
    pub fn after_step(&mut self, seen: &Seen<'_>, warnings: &mut Vec<MotionWarning>) {
        let Seen { model, time, taken, before_frames: frames, .. } = *seen;
        if taken.implicit_method().is_none() {
            return;
        }
        let dt = taken.time_step;
        self.contacts.resize(model.pairs.len(), Contact::default());
        self.touches.clear();
        self.touches.resize(model.pairs.len(), false);
        for load in taken.implicit_loads() {
            self.touches[load.pair] = true;
            let (contact, bodies) = (&mut self.contacts[load.pair], model.pairs[load.pair].bodies);
            let within = |frame: &BodyFrame| frame.pose.inverse() * load.point;
            let [a, b] = [bodies.a, bodies.b].map(|body| &frames[body]);
            let here = [within(a), within(b)];
            let Some(before) = contact.at.replace(here) else {
                let energy = kinetic(model, taken.before, bodies);
                *contact = Contact { at: Some(here), energy, told: contact.told, ..Contact::default() };
                continue;
            };
            let spin = a.velocity.rotational - b.velocity.rotational;
            let across = spin - load.normal * load.normal.dot(&spin);
            // Where a body rolls the patch moves over both of them.
            let [over_a, over_b] = [0, 1].map(|k: usize| (here[k] - before[k]).norm());
            let way = over_a.min(over_b);
            contact.turned += if way > 0.0 { across.norm() * dt } else { 0.0 };
            contact.taken += load.force * way * across.norm() * dt;
            let is_much = |contact: &Contact| contact.turned > TURN && contact.taken > PART * contact.energy;
            if !contact.told && is_much(contact) {
                // They may have come to move since.
                contact.energy = contact.energy.max(kinetic(model, taken.before, bodies));
                contact.told = is_much(contact);
                if !contact.told {
                    continue;
                }
                let resistance = load.force * way;
                let cause = WarningCause::RollingResistance {
                    torque: resistance,
                    part: contact.taken / contact.energy,
                    turned: contact.turned,
                    dt,
                };
                warnings.push(MotionWarning::of_pair(model, load.pair, time, cause));
            }
        }
        for (contact, touches) in self.contacts.iter_mut().zip(&self.touches) {
            if !touches {
                contact.at = None;
            }
        }
    }
}
