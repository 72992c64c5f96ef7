//! Columns of trajectories with the forces of contact.

use crate::multibody::{BodyFrame, GeometryPair, Model, PairWorkspace, State};
use crate::spatial::SpatialForce;

/// Columns of a pair of bodies A and B, after their names as `A-B` and a dot: force on A and its
/// moment about the origin of A, both in the world frame.
pub(in crate::io) const FORCE_COLUMNS: [&str; 6] = ["fx_N", "fy_N", "fz_N", "tx_N_m", "ty_N_m", "tz_N_m"];

/// Force and moment as they are in a row.
fn six(wrench: &SpatialForce<f64>) -> [f64; 6] {
    let (f, t) = (wrench.translational, wrench.rotational);
    // Adding zero turns −0 into 0.
    [f.x, f.y, f.z, t.x, t.y, t.z].map(|x| x + 0.0)
}

/// The contacts of a model's bodies, and memory for them.
#[derive(Debug)]
pub(in crate::io) struct ContactForces<'m> {
    model: &'m Model,
    frames: Vec<BodyFrame>,
    workspace: PairWorkspace,
}

impl<'m> ContactForces<'m> {
    /// Those of a model.
    pub fn new(model: &'m Model) -> Self {
        Self { model, frames: Vec::new(), workspace: PairWorkspace::default() }
    }

    /// The titles of the columns.
    pub fn titles(&self) -> impl Iterator<Item = String> {
        let pairs = self.model.pairs_by_bodies().map(|pairs| pair_name(self.model, pairs));
        pairs.flat_map(|pair| FORCE_COLUMNS.map(|column| format!("{pair}.{column}")))
    }

    /// The numbers of a state: those of the step that led to it, or without them the contact of
    /// the fields at its poses and velocities, as [`Model::pair_contact`] has it.
    pub fn numbers(&mut self, state: &State, of_step: Option<&[SpatialForce<f64>]>) -> Vec<f64> {
        if let Some(forces) = of_step {
            return forces.iter().flat_map(six).collect();
        }
        let Self { model, frames, workspace } = self;
        model.body_frames(state, frames);
        let wrench = |pairs| six(&model.body_pair_contact(frames, pairs, workspace).wrench_on_a);
        model.pairs_by_bodies().flat_map(wrench).collect()
    }
}

/// The name of the contact of two bodies, whose pairs of geometries are given: `A-B`.
pub(in crate::io) fn pair_name(model: &Model, pairs: &[GeometryPair]) -> String {
    let [a, b] = [pairs[0].bodies.a, pairs[0].bodies.b].map(|body| &model.bodies[body].name);
    format!("{a}-{b}")
}
