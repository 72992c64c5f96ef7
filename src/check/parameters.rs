//! The parameters that a scene is checked with respect to, and the values that they are checked at.

use super::comparison::CheckSettings;
use super::scene::SceneCheck;
use super::varied::{CheckedValue, Varied, step_scale};
use crate::contact::MaterialParameter;
use crate::multibody::{Parameter, StopNumber};
use crate::rollout::SimulationError;

/// Value at which a dissipation or a friction that is 0 is checked instead, so that differences
/// can go to both sides: s/m (s) and 1.
const INSTEAD_OF_ZERO: f64 = 0.1;

impl SceneCheck<'_> {
    /// All parameters of the model and its contact, the time step, those of places and meshes that are asked for, then the control values.
    pub(super) fn parameters(&self, settings: &CheckSettings) -> Result<Vec<CheckedValue>, SimulationError> {
        let (model, controls) = (self.model, self.controls);
        let places = if settings.places { Parameter::places(model) } else { Vec::new() };
        let vertices = self.influential_parameters(settings.vertices)?;
        let mut parameters: Vec<CheckedValue> = Parameter::all(model)
            .into_iter()
            .chain(Parameter::of_contact(model))
            .chain([Parameter::TimeStep])
            .chain(places)
            .chain(vertices)
            .map(|parameter| {
                let (name, value) = (parameter.name(model), parameter.value(model)?);
                let may_be_zero = matches!(
                    parameter,
                    Parameter::Material {
                        parameter: MaterialParameter::Dissipation
                            | MaterialParameter::RelaxationTime
                            | MaterialParameter::StaticFriction
                            | MaterialParameter::DynamicFriction,
                        ..
                    } | Parameter::JointStop { number: StopNumber::Dissipation, .. }
                );
                let varied = Varied::Parameter(parameter);
                Ok(match value {
                    0.0 if may_be_zero => (varied, format!("{name} (at {INSTEAD_OF_ZERO})"), INSTEAD_OF_ZERO),
                    _ => (varied, name, value),
                })
            })
            .collect::<Result<_, SimulationError>>()?;
        let control = |i| (Varied::Control(i), model.control_name(i), 0.0);
        parameters.extend((0..controls.dimension()).map(control));
        parameters.retain(|(_, name, _)| settings.includes(name));
        Ok(parameters)
    }

    /// The magnitude that steps of a parameter are relative to.
    pub(super) fn scale_of(&self, (varied, _, value): &CheckedValue) -> f64 {
        step_scale(self.model, self.controls, &self.parts, varied, *value)
    }
}
