//! Columns of trajectories with the forces of contact.

use crate::multibody::{BodyFrame, BodyPair, GeometryPair, Model, PairWorkspace, State};
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

/// The pairs of bodies of a model that can touch, and memory for their contact.
#[derive(Debug)]
pub(in crate::io) struct ContactForces<'m> {
    model: &'m Model,
    pairs: Vec<(BodyPair, Vec<GeometryPair>)>,
    frames: Vec<BodyFrame>,
    workspace: PairWorkspace,
}

impl<'m> ContactForces<'m> {
    /// The pairs of a model.
    pub fn new(model: &'m Model) -> Self {
        let mut pairs: Vec<(BodyPair, Vec<GeometryPair>)> = Vec::new();
        // They are in increasing order: those of two bodies follow each other.
        for pair in &model.pairs {
            match pairs.last_mut() {
                Some((bodies, geometries)) if *bodies == pair.bodies => geometries.push(*pair),
                _ => pairs.push((pair.bodies, vec![*pair])),
            }
        }
        Self { model, pairs, frames: Vec::new(), workspace: PairWorkspace::default() }
    }

    /// The titles of the columns.
    pub fn titles(&self) -> impl Iterator<Item = String> {
        let name = |body: usize| &self.model.bodies[body].name;
        self.pairs.iter().flat_map(move |(bodies, _)| {
            FORCE_COLUMNS.map(|column| format!("{}-{}.{column}", name(bodies.a), name(bodies.b)))
        })
    }

    /// The numbers of a state: those of the step that led to it, one for each pair of geometries, or without them the contact of
    /// the fields at its poses and velocities, as [`Model::pair_contact`] has it.
    pub fn numbers(&mut self, state: &State, of_step: Option<&[SpatialForce<f64>]>) -> Vec<f64> {
        if let Some(forces) = of_step {
            let mut forces = forces.iter();
            let sum = |(_, geometries): &(BodyPair, Vec<GeometryPair>)| {
                let of_pair = forces.by_ref().take(geometries.len());
                six(&of_pair.fold(SpatialForce::zero(), |sum, force| sum + *force))
            };
            return self.pairs.iter().flat_map(sum).collect();
        }
        let Self { model, pairs, frames, workspace } = self;
        model.body_frames(state, frames);
        let wrench = |(_, geometries): &(BodyPair, Vec<GeometryPair>)| {
            six(&model.body_pair_contact(frames, geometries, workspace).wrench_on_a)
        };
        pairs.iter().flat_map(wrench).collect()
    }
}
