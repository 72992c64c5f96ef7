//! How numbers of two geometries that touch follow the states of their bodies and the moduli of their materials.

use nalgebra::Vector6;

use super::contact_sensitivity::{WrenchByState, by_body_state, geometry_offset};
use crate::contact::ContactJacobian;
use crate::multibody::{BodyFrame, GeometryPair, Model, ModelGradient, TANGENT_DIMENSION};

/// The derivatives of six numbers of a pair, such as the deflection of its bristles, that are neither shifted
/// nor turned with the bodies as a wrench is.
#[derive(Clone, Debug)]
pub(crate) struct PairSensitivity {
    pair: GeometryPair,
    /// With respect to the states of both bodies.
    by_state: [WrenchByState; 2],
    /// With respect to the moduli of both materials.
    by_modulus: [Vector6<f64>; 2],
    /// The indices of both in [`Model::materials`].
    materials: [Option<usize>; 2],
}

impl PairSensitivity {
    /// Those of numbers with these derivatives with respect to the frames of both geometries, with the bodies of
    /// `model` at `frames`.
    pub fn new(model: &Model, frames: &[BodyFrame], pair: &GeometryPair, jacobian: &ContactJacobian) -> Self {
        let sides = [
            (pair.bodies.a, pair.geometry_a, &jacobian.by_pose_a, &jacobian.by_velocity_a),
            (pair.bodies.b, pair.geometry_b, &jacobian.by_pose_b, &jacobian.by_velocity_b),
        ];
        let geometry = |body: usize, geometry: usize| &model.bodies[body].geometries[geometry];
        let by_state = sides.map(|(body, own, by_pose, by_velocity)| {
            let offset = geometry_offset(&frames[body], geometry(body, own));
            by_body_state(by_pose, by_velocity, &offset, &frames[body].velocity.rotational)
        });
        let materials = sides.map(|(body, own, _, _)| geometry(body, own).material);
        Self { pair: *pair, by_state, by_modulus: [jacobian.by_modulus_a, jacobian.by_modulus_b], materials }
    }

    /// The vector–Jacobian product: adds to `by_motion` (twelve numbers for each moving body, as in
    /// [`TANGENT_DIMENSION`]) and to `by_model` the derivatives of one number, given those with respect to the
    /// six.
    ///
    /// `moving` holds for each body its index among the moving ones (see [`Model::moving_indices`]).
    pub fn add_vjp(
        &self,
        moving: &[Option<usize>],
        by: &Vector6<f64>,
        by_motion: &mut [f64],
        by_model: &mut ModelGradient,
    ) {
        let bodies = [self.pair.bodies.a, self.pair.bodies.b];
        for (body, by_state) in bodies.into_iter().zip(&self.by_state) {
            let Some(i) = moving[body] else { continue };
            let out = &mut by_motion[i * TANGENT_DIMENSION..(i + 1) * TANGENT_DIMENSION];
            let product = by_state.tr_mul(by);
            out.iter_mut().zip(product.iter()).for_each(|(out, x)| *out += x);
        }
        for (material, by_modulus) in self.materials.into_iter().zip(&self.by_modulus) {
            if let Some(i) = material {
                by_model.materials[i].hydroelastic_modulus += by_modulus.dot(by);
            }
        }
    }
}
