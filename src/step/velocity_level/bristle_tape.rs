//! How the deflection of bristles takes part in a step's derivatives.

use nalgebra::{Matrix6, Vector6};

use super::VelocityLevel;
use super::free_body::BODY;
use super::tape::BalanceTape;
use super::vjp::VjpMemory;
use crate::contact::{BristlesInWorld, DEFLECTION_DIMENSION, DiscreteSettings};
use crate::multibody::{
    BodyFrame, GeometryPair, Model, PairSensitivity, PlaceSensitivity, TANGENT_DIMENSION, add_link_motions,
    wrench_about_body,
};
use crate::step::StepCotangent;
use crate::step::step_point::StepPoint;

/// How the deflection of one patch's bristles after a step follows everything, and how the impulse follows that
/// before it.
#[derive(Debug)]
pub(super) struct BristleSensitivity {
    /// The index of the pair in [`Model::pairs`].
    pair: usize,
    /// Of the impulse on body A about its origin, in W, with respect to the deflection before the step.
    impulse_by_deflection: Matrix6<f64>,
    /// Of the deflection after the step with respect to that before it.
    by_deflection: Matrix6<f64>,
    /// With respect to the bodies with their velocities after the step, and to materials.
    after: PairSensitivity,
    /// With respect to the places of geometries on their bodies, where they are asked for.
    places: Option<PlaceSensitivity>,
}

impl BristleSensitivity {
    /// That of a pair with this index, with the bodies at `frames`: at their poses before the step, with their
    /// velocities after it.
    pub fn new(
        model: &Model,
        frames: &[BodyFrame],
        (index, pair): (usize, &GeometryPair),
        of_places: bool,
        found: &BristlesInWorld,
    ) -> Self {
        let places = of_places.then(|| {
            let mut places = PlaceSensitivity::new(frames, pair);
            places.add_numbers(frames, &Matrix6::identity(), &found.after);
            places
        });
        Self {
            pair: index,
            impulse_by_deflection: wrench_about_body(model, frames, pair) * found.impulse_by_deflection,
            by_deflection: found.by_deflection,
            after: PairSensitivity::new(model, frames, pair, &found.after),
            places,
        }
    }

    /// Its six numbers among those of all pairs.
    fn numbers(&self) -> std::ops::Range<usize> {
        DEFLECTION_DIMENSION * self.pair..DEFLECTION_DIMENSION * (self.pair + 1)
    }

    /// Adds the derivatives of a number with respect to the deflections before the step, given those with respect
    /// to the impulse on A.
    pub fn add_impulse_vjp(&self, by_wrench: &Vector6<f64>, by_bristles: &mut [f64]) {
        let by = self.impulse_by_deflection.tr_mul(by_wrench);
        by_bristles[self.numbers()].iter_mut().zip(by.iter()).for_each(|(sum, x)| *sum += x);
    }
}

impl VelocityLevel {
    /// Adds the derivatives of a number through the deflections after the step, given those with respect to
    /// them: to `by_velocity` those with respect to the velocities after the step, to `out` the others.
    pub(super) fn add_bristles(
        &self,
        at: &StepPoint<'_, ()>,
        tape: &mut BalanceTape,
        memory: &mut VjpMemory,
        by_after: &[f64],
        by_velocity: &mut [f64],
        out: &mut StepCotangent<'_>,
    ) {
        if by_after.iter().all(|x| *x == 0.0) {
            return;
        }
        let model = at.model.model();
        let BalanceTape { moving, patches, shapes, kinematics, .. } = tape;
        let (of_motion, of_bristles) = out.state.split_at_mut(at.before.motion_tangent_dimension());
        let (of_bodies, of_joints) = of_motion.split_at_mut(at.before.body_tangent_dimension());
        let [by_motion, _] = &mut memory.by_motion;
        by_motion.clear();
        by_motion.resize(TANGENT_DIMENSION * model.moving_count(), 0.0);
        for bristles in patches.iter().filter_map(|patch| patch.bristles.as_deref()) {
            let by = Vector6::from_column_slice(&by_after[bristles.numbers()]);
            if by == Vector6::zeros() {
                continue;
            }
            let by_before = bristles.by_deflection.tr_mul(&by);
            let sums = &mut of_bristles[bristles.numbers()];
            sums.iter_mut().zip(by_before.iter()).for_each(|(sum, x)| *sum += x);
            bristles.after.add_vjp(moving, &by, by_motion, out.model);
            if let Some(places) = &bristles.places {
                places.add_vjp(&by, out.model);
            }
        }
        let settings = DiscreteSettings { contact: &model.contact, model: self.model, dt: at.dt };
        shapes.add_deflection_vjp(model, &settings, by_after, out.model);
        // Of free bodies the poses are inputs, the velocities after the step unknowns.
        let (of_free, of_rates) = by_velocity.split_at_mut(BODY * at.before.bodies.len());
        let parts = of_bodies.chunks_exact_mut(TANGENT_DIMENSION).zip(of_free.chunks_exact_mut(BODY));
        for (by, (pose, velocity)) in by_motion.chunks_exact(TANGENT_DIMENSION).zip(parts) {
            pose.iter_mut().zip(&by[..6]).for_each(|(sum, x)| *sum += x);
            velocity.iter_mut().zip(&by[6..]).for_each(|(sum, x)| *sum += x);
        }
        let mut by_joints = vec![0.0; of_joints.len()];
        add_link_motions(model, &mut kinematics[0], by_motion, &mut by_joints);
        let (by_q, by_v) = by_joints.split_at(by_joints.len() / 2);
        of_joints.iter_mut().zip(by_q).for_each(|(sum, x)| *sum += x);
        of_rates.iter_mut().zip(by_v).for_each(|(sum, x)| *sum += x);
    }
}
