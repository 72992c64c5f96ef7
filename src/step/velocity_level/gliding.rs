//! Where a contact model lifts sliding bodies off the ground.
//!
//! SAP and Similar are convex at the price of a normal impulse that grows with the slip velocity
//! v_t. In steady sliding (v_n = 0) Similar's normal force is k (−φ₀ + δt μ ‖v_t‖_s) and SAP's,
//! where friction slips, k (−φ₀ + (δt + τ_d) μ ‖v_t‖) up to a factor near 1 (arXiv 2312.03908,
//! §V; 2110.10107, §VII): with the load N they balance at
//!
//! φ₀ = (δt or δt + τ_d) μ ‖v_t‖ − N/k,
//!
//! a *gap* in front of the depth N/k at rest. Where the gap is larger, φ₀ is positive: the bodies
//! do not overlap any more, so that there is no contact surface, and no friction. The sliding
//! body falls, is thrown up by the next contact, and so on. Stiff ground, fast sliding and long
//! steps do that; Lagged and TAMSI do not have the gap. It shows in a step whose normal impulse
//! acts mostly between faces that have parted at the end of the step.

use nalgebra::Vector3;

use super::Workspace;
use crate::multibody::Model;
use crate::spatial::SpatialForce;

/// A pair of geometries that a contact model lifts apart while they slide.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gliding {
    /// The pair, by its index in [`crate::multibody::Model::pairs`].
    pub pair: usize,
    /// Slip velocity after the step, averaged over the normal impulse, m/s.
    pub slip_velocity: f64,
    /// The gap that the model opens, m.
    pub gap: f64,
    /// The depth at which elastic forces alone would balance the normal impulse, m.
    pub depth: f64,
}

impl Workspace {
    /// Calls `visit` for each patch of the last step with its pair (an index in [`crate::multibody::Model::pairs`]) and the
    /// impulse on body A about its origin at the start of the step, in W, N s and N m s.
    pub fn for_each_impulse(&self, model: &Model, visit: &mut dyn FnMut(usize, SpatialForce<f64>)) {
        for (patch, (on_o, _)) in self.problem.patches.iter().zip(&self.newton.by_patch) {
            let x_wf = &patch.contacts.x_wf;
            let sign = if patch.contacts.a_is_o { 1.0 } else { -1.0 };
            let part = |k: usize| x_wf.rotation * Vector3::new(on_o[k], on_o[k + 1], on_o[k + 2]) * sign;
            let a = model.pairs[patch.pair].bodies.a;
            let to_a = self.frames[a].pose.translation - *x_wf * patch.contacts.origin;
            visit(patch.pair, SpatialForce::new(part(0), part(3)).shifted(&to_a));
        }
    }

    /// The pairs between which most of the last step's normal impulse acts across a gap.
    pub fn gliding(&self) -> impl Iterator<Item = Gliding> {
        self.problem.patches.iter().filter(|patch| !patch.contacts.is_rigid).filter_map(|patch| {
            let v = self.problem.relative(patch, &self.newton.velocity, true);
            let glide = patch.contacts.glide(&self.problem.contacts, &v)?;
            (glide.across_gap > 0.5).then_some(Gliding {
                pair: patch.pair,
                slip_velocity: glide.slip_velocity,
                gap: glide.gap,
                depth: glide.depth,
            })
        })
    }
}
