//! Contact that ends within a step.

use nalgebra::Vector6;

use crate::contact::impulse::law::ImpulseLaw;
use crate::contact::impulse::point_contacts::{DiscretePatch, PointContacts};

/// The part of a step over which the force at its start is taken.
const BRIEF: f64 = 1e-9;

/// What a contact that ends within a step has at its start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Release {
    /// Elastic energy that the contact can still give to bodies, J.
    pub energy: f64,
    /// Normal velocity that its faces part with, averaged over their stiffness, m/s.
    pub speed: f64,
}

impl DiscretePatch {
    /// The release of a contact that presses at the start of the step and exerts no impulse at the velocity `v` after
    /// it; `None` for others.
    pub fn release(&self, contacts: &PointContacts, v: &Vector6<f64>) -> Option<Release> {
        let (mut energy, mut stiffness, mut rate) = (0.0, 0.0, 0.0);
        for i in self.contacts.clone() {
            let (v_n, v_t) = contacts.slip(i, v);
            let (law, face, s) = (self.law_of(contacts, i), &contacts.constants[i], v_t.norm_squared());
            if law.impulse(face, v_n, s).normal > 0.0 {
                return None;
            }
            let brief = ImpulseLaw { dt: BRIEF * law.dt, ..law };
            let force = brief.impulse(face, v_n, s).normal / brief.dt;
            if force > 0.0 && face.stiffness > 0.0 {
                energy += 0.5 * force * face.load / face.stiffness;
                stiffness += face.stiffness;
                rate += face.stiffness * v_n;
            }
        }
        (energy > 0.0).then(|| Release { energy, speed: rate / stiffness })
    }
}
