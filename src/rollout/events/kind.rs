//! What happens at an event.

use nalgebra::Vector3;

use super::super::error::SimulationError;
use crate::multibody::{GeometryPair, Model};

/// What happens at an event.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum EventKind {
    /// The overlap of two geometries begins: their first touch, and each touch after they were apart. With
    /// skirts it is the overlap of the skirts, where forces begin.
    Touch {
        /// The geometries, one of [`Model::pairs`].
        pair: GeometryPair,
    },
    /// The overlap of two geometries ends. With dissipation d the pressure of a point that separates faster than
    /// 1/d is zero, so that the force may end before the overlap does.
    LiftOff {
        /// The geometries, one of [`Model::pairs`].
        pair: GeometryPair,
    },
    /// The velocity of a body's origin along a direction of W falls from positive to zero: the origin is farther
    /// along the direction than before and after. Upward it is the highest point of a bounce, downward the
    /// deepest.
    Apex {
        /// The body, which moves: its index in [`Model::bodies`].
        body: usize,
        /// The direction in W, of any length.
        direction: Vector3<f64>,
    },
}

impl EventKind {
    /// Checks that a model can have such events.
    pub(super) fn check(&self, model: &Model) -> Result<(), SimulationError> {
        match *self {
            Self::Touch { pair } | Self::LiftOff { pair } => check_pair(model, &pair),
            Self::Apex { body, direction } => {
                if model.moving_index(body).is_none() {
                    return Err(SimulationError::EventBody { body });
                }
                let length = direction.norm();
                match length > 0.0 && length.is_finite() {
                    true => Ok(()),
                    false => Err(SimulationError::EventDirection { found: direction.into() }),
                }
            }
        }
    }
}

/// Two pressures below zero are the same if they differ by no more than this part (as in contact queries).
const SAME_PRESSURE: f64 = 1e-9;

/// Checks that two geometries can touch, and that their overlap begins at their boundaries.
fn check_pair(model: &Model, pair: &GeometryPair) -> Result<(), SimulationError> {
    let GeometryPair { bodies, geometry_a, geometry_b } = *pair;
    if model.pairs().binary_search(pair).is_err() || model.is_rigid_pair(pair) {
        return Err(SimulationError::EventPair { a: bodies.a, geometry_a, b: bodies.b, geometry_b });
    }
    let [of_a, of_b] = pair.geometries().map(|(body, geometry)| {
        let collider = &model.bodies()[body].geometries[geometry].collider;
        (!collider.geometry.is_rigid()).then(|| collider.skirt_pressure())
    });
    if let (Some(pressure_a), Some(pressure_b)) = (of_a, of_b)
        && (pressure_a - pressure_b).abs() > SAME_PRESSURE * pressure_a.max(pressure_b)
    {
        let [a, b] = [bodies.a, bodies.b].map(|body| model.bodies()[body].name.clone());
        return Err(SimulationError::EventSkirts { a, b, pressure_a, pressure_b });
    }
    Ok(())
}
