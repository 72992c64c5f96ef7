//! How the impulse between two bodies over a step follows the places of their geometries on them.

use nalgebra::{Matrix3, Matrix6, Vector3, Vector6};

use super::contact_sensitivity::wrench_about_body;
use crate::contact::ContactJacobian;
use crate::multibody::{BodyFrame, GeometryPair, Model, ModelGradient};
use crate::spatial::{SpatialForce, cross_matrix};

/// The derivatives of the wrench on body A about its origin, in W, with respect to the places of both
/// geometries on their bodies: turns about the origins of their frames, then shifts, in W.
#[derive(Clone, Debug)]
pub(crate) struct PlaceSensitivity {
    pair: GeometryPair,
    by_place: [Matrix6<f64>; 2],
    /// From the axes of both bodies to those of W.
    to_world: [Matrix3<f64>; 2],
}

impl PlaceSensitivity {
    /// No derivatives yet.
    pub fn new(frames: &[BodyFrame], pair: &GeometryPair) -> Self {
        let to_world = [pair.bodies.a, pair.bodies.b].map(|body| frames[body].pose.rotation);
        Self { pair: *pair, by_place: [Matrix6::zeros(); 2], to_world }
    }

    /// Adds those of a wrench on A's geometry about that geometry's origin, in W, with the bodies at
    /// `frames`, from its derivatives with respect to poses and velocities of both frames.
    pub fn add(
        &mut self,
        model: &Model,
        frames: &[BodyFrame],
        wrench: &SpatialForce,
        jacobian: &ContactJacobian,
    ) {
        self.add_numbers(frames, &wrench_about_body(model, frames, &self.pair), jacobian);
        // The offset that the moment is shifted by changes, too: by δp × F.
        let mut by_offset = self.by_place[0].fixed_view_mut::<3, 3>(0, 3);
        by_offset -= cross_matrix(&wrench.translational);
    }

    /// Adds those of `map` times six numbers that are no wrench, with the bodies at `frames`, from the
    /// derivatives of the numbers with respect to poses and velocities of both frames.
    pub fn add_numbers(&mut self, frames: &[BodyFrame], map: &Matrix6<f64>, jacobian: &ContactJacobian) {
        let bodies = self.pair.bodies;
        let sides = [
            (bodies.a, &jacobian.by_pose_a, &jacobian.by_velocity_a),
            (bodies.b, &jacobian.by_pose_b, &jacobian.by_velocity_b),
        ];
        for (sum, (body, by_pose, by_velocity)) in self.by_place.iter_mut().zip(sides) {
            let mut by = *by_pose;
            // The velocity of a frame that is shifted by δp changes by ω × δp.
            let spin = cross_matrix(&frames[body].velocity.rotational);
            let mut by_shift = by.fixed_columns_mut::<3>(3);
            by_shift += by_velocity.fixed_columns::<3>(3) * spin;
            *sum += map * by;
        }
    }

    /// The vector–Jacobian product, given the derivatives of a number with respect to the wrench on A, or to the
    /// six numbers.
    pub fn add_vjp(&self, by_wrench: &Vector6<f64>, by_model: &mut ModelGradient) {
        let sides = self.by_place.iter().zip(&self.to_world);
        for (geometry, (by_place, to_world)) in self.pair.geometries().into_iter().zip(sides) {
            let by = by_place.tr_mul(by_wrench);
            let (by_turn, by_shift) = (Vector3::new(by[0], by[1], by[2]), Vector3::new(by[3], by[4], by[5]));
            by_model.add_place(geometry, to_world, &by_turn, &by_shift);
        }
    }
}
