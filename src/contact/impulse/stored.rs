//! The energy that the faces of a patch store, as springs of their load and stiffness.

use nalgebra::{Matrix6, Vector3, Vector6};

use crate::contact::impulse::law::FaceConstants;
use crate::contact::impulse::point_contacts::{DiscretePatch, PointContacts, point_block};

/// What bodies bring to a patch.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct PatchEnergy {
    /// The kinetic energy of the bodies' approach at the face where that is largest, ½ v_n²/w with the inverse effective mass w
    /// along the normal, J.
    pub approach: f64,
    /// The same with the whole relative velocity, J.
    pub motion: f64,
    /// The inverse effective mass along the normal, averaged over the loads of faces, 1/kg.
    pub inverse_mass: f64,
}

impl PatchEnergy {
    /// Those of bodies without a patch, as if they met at a point, against its relative velocity.
    pub fn of_point(x: &Vector3<f64>, v: &Vector3<f64>, lambda: &Matrix6<f64>) -> Self {
        let w = v.dot(&(point_block(lambda, x) * v)) / v.norm_squared();
        if w > 0.0 {
            let energy = 0.5 * v.norm_squared() / w;
            Self { approach: energy, motion: energy, inverse_mass: w }
        } else {
            Self::default()
        }
    }
}

impl DiscretePatch {
    /// The energy that its faces store after a time `dt` at the velocity `v` of O relative to F about the patch's origin, in F;
    /// at its start with 0 s. Faces without stiffness, as of rigid surfaces along a soft field, store none.
    pub fn stored_after(&self, contacts: &PointContacts, v: &Vector6<f64>, dt: f64) -> f64 {
        let of_face = |i: usize| {
            let face = &contacts.constants[i];
            let force = face.load - face.stiffness * contacts.slip(i, v).0 * dt;
            if force > 0.0 && face.stiffness > 0.0 { 0.5 * force * force / face.stiffness } else { 0.0 }
        };
        self.contacts.clone().map(of_face).sum()
    }

    /// How deep the bodies overlap, m: the mean over the loads of faces of the depths at which they end.
    pub fn depth(&self, contacts: &PointContacts) -> f64 {
        let of_face = |face: &FaceConstants<f64>| match face.stiffness > 0.0 {
            true => face.load * face.load / face.stiffness,
            false => 0.0,
        };
        let depths: f64 = contacts.constants[self.contacts.clone()].iter().map(of_face).sum();
        if self.sums.load > 0.0 { depths / self.sums.load } else { 0.0 }
    }

    /// The energies of the patch at the relative velocity `v`, with the inverse inertia Λ that its relative motion feels,
    /// in F and about F's origin.
    pub fn energy(&self, contacts: &PointContacts, v: &Vector6<f64>, lambda: &Matrix6<f64>) -> PatchEnergy {
        let (mut loads, mut inverse_mass) = (0.0, 0.0);
        let (mut fastest, mut motion) = (0.0, 0.0);
        for i in self.contacts.clone() {
            let (n, load) = (&contacts.normal[i], contacts.constants[i].load);
            let w = n.dot(&(point_block(lambda, &(contacts.position[i] + self.origin)) * n));
            let (v_n, v_t) = contacts.slip(i, v);
            let approach = f64::max(-v_n, 0.0);
            loads += load;
            inverse_mass += load * w;
            if w > 0.0 {
                fastest = f64::max(fastest, 0.5 * approach * approach / w);
                motion = f64::max(motion, 0.5 * (v_n * v_n + v_t.norm_squared()) / w);
            }
        }
        let per_load = if loads > 0.0 { 1.0 / loads } else { 0.0 };
        PatchEnergy { approach: fastest, motion, inverse_mass: inverse_mass * per_load }
    }
}
