//! How the deflection of bristles takes part in a step's derivatives.

use nalgebra::{Matrix6, Vector6};

use crate::contact::{BristlesInWorld, DEFLECTION_DIMENSION};
use crate::multibody::{
    BodyFrame, ContactSensitivity, GeometryPair, Model, ModelGradient, PlaceSensitivity, wrench_about_body,
};

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
    after: ContactSensitivity,
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
            after: ContactSensitivity::of_numbers(model, frames, pair, &found.after),
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

    /// Adds the derivatives of a number through the deflection after the step, given those with respect to the
    /// deflections of all pairs: with respect to those before the step, to the motions of the moving bodies with
    /// their velocities after it, and to the model.
    pub fn add_vjp(
        &self,
        by_after: &[f64],
        moving: &[Option<usize>],
        (by_before, by_motion): (&mut [f64], &mut [f64]),
        by_model: &mut ModelGradient,
    ) {
        let by = Vector6::from_column_slice(&by_after[self.numbers()]);
        if by == Vector6::zeros() {
            return;
        }
        let through = self.by_deflection.tr_mul(&by);
        by_before[self.numbers()].iter_mut().zip(through.iter()).for_each(|(sum, x)| *sum += x);
        self.after.add_products(&by, moving, by_motion, by_model);
        if let Some(places) = &self.places {
            places.add_vjp(&by, by_model);
        }
    }
}
