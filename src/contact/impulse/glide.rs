//! How far a contact model lifts bodies that slide (see `step/velocity_level/gliding.rs`).

use nalgebra::Vector6;

use crate::contact::impulse::point_contacts::{DiscretePatch, PointContacts};

/// How far a model lifts sliding bodies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Glide {
    /// Slip velocity, averaged over the normal impulse, m/s.
    pub slip_velocity: f64,
    /// The gap that the model opens at that velocity, m.
    pub gap: f64,
    /// The depth at which elastic forces alone would balance the normal impulse, m.
    pub depth: f64,
    /// The part of the normal impulse that acts between faces that have parted at the end of
    /// the step: without the gap they would bear nothing.
    pub across_gap: f64,
}

impl DiscretePatch {
    /// What the model's gap under sliding is, at the velocity `v`; `None` for models without one,
    /// and where no contact bears load.
    pub fn glide(&self, contacts: &PointContacts, v: &Vector6<f64>) -> Option<Glide> {
        let time = self.law.gap_time()?;
        let (mut impulse, mut across, mut slip, mut stiffness) = (0.0, 0.0, 0.0, 0.0);
        let mut friction = 0.0;
        for i in self.contacts.clone() {
            let (v_n, v_t) = contacts.slip(i, v);
            let constants = &contacts.constants[i];
            let law = self.law_of(contacts, i);
            let normal = law.impulse(constants, v_n, v_t.norm_squared()).normal;
            if normal > 0.0 {
                friction += normal * law.friction;
                if constants.stiffness * v_n * time > constants.load {
                    across += normal;
                }
                impulse += normal;
                slip += normal * v_t.norm();
                stiffness += self.law.stiffness_at_rest(constants);
            }
        }
        if impulse == 0.0 {
            return None;
        }
        let slip_velocity = slip / impulse;
        let friction = self.law.static_friction.map_or(self.law.friction, |_| friction / impulse);
        let gap = time * friction * slip_velocity;
        let depth = impulse / (self.law.dt * stiffness);
        Some(Glide { slip_velocity, gap, depth, across_gap: across / impulse })
    }
}
