//! What a recorded motion is compared with.

use super::settings::SensorParameter;
use crate::multibody::{DifferentiatedModel, ForcesIn, Model};
use crate::rollout::SimulationSettings;

/// A model with values of all that a fit varies, and how its motions are simulated.
pub(crate) struct Trial<'a, M = Model, T = f64> {
    pub model: &'a M,
    /// The numbers of sensors that are varied.
    pub sensors: Vec<(&'a SensorParameter, T)>,
    pub settings: &'a SimulationSettings,
    /// Forces on the free bodies.
    pub applied: &'a dyn ForcesIn<T>,
}

impl<'a> Trial<'a, DifferentiatedModel<'_>> {
    /// The same without derivatives.
    pub fn real(&self) -> Trial<'a> {
        Trial {
            model: self.model.model(),
            sensors: self.sensors.clone(),
            settings: self.settings,
            applied: self.applied,
        }
    }
}
