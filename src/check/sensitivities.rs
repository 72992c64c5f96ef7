//! The largest sensitivity of each component: what tells rounding from a small derivative.

use super::comparison::Comparison;
use super::scene::{Quantities, SceneCheck};
use super::varied::{CheckedValue, Varied};
use crate::multibody::Parameter;
use crate::rollout::SimulationError;

/// The largest sensitivities of the components of each quantity.
pub(super) type Sensitivities = Vec<Vec<f64>>;

/// What there is of each component, of quantities that either may lack.
pub(super) fn by_component<'c, A, B>(
    a: &'c mut [Vec<A>],
    b: &'c [Vec<B>],
) -> impl Iterator<Item = (&'c mut A, &'c B)> {
    a.iter_mut().zip(b).flat_map(|(a, b)| a.iter_mut().zip(b))
}

fn note(largest: &mut f64, sensitivity: f64) {
    if sensitivity.is_finite() {
        *largest = largest.max(sensitivity);
    }
}

impl SceneCheck<'_> {
    /// The largest sensitivity of each component to one of the parameters, or to the initial state, as claimed: its derivative
    /// times the parameter's scale. It is at least that which is known.
    ///
    /// # Errors
    /// When the scene cannot be simulated.
    pub(super) fn largest_claims(
        &self,
        parameters: &[CheckedValue],
        claimed: &[Quantities<f64>],
        known: &Sensitivities,
    ) -> Result<Sensitivities, SimulationError> {
        // What depends on none of the parameters that are checked has a magnitude all the same.
        let starts = Parameter::all(self.model).into_iter().filter(Parameter::is_of_state);
        let starts = starts.map(|start| (Varied::Parameter(start), String::new(), 0.0));
        let unchecked = |start: &CheckedValue| parameters.iter().all(|(varied, ..)| *varied != start.0);
        let starts: Vec<CheckedValue> = starts.filter(unchecked).collect();
        let of_starts = self.claims(&starts)?;
        let all = || parameters.iter().chain(&starts).zip(claimed.iter().chain(&of_starts));
        let mut largest = known.clone();
        if let (true, Some((_, first))) = (known.is_empty(), all().next()) {
            largest = first.iter().map(|components| vec![0.0; components.len()]).collect();
        }
        for (parameter, claimed) in all() {
            let scale = self.scale_of(parameter);
            for (largest, claimed) in by_component(&mut largest, claimed) {
                note(largest, claimed.abs() * scale);
            }
        }
        Ok(largest)
    }

    /// Makes sensitivities as large as differences know them to be. At a kink the claim may be that of the side on which
    /// nothing changes.
    pub(super) fn add_differences(
        &self,
        parameters: &[CheckedValue],
        compared: &[Vec<Vec<Comparison>>],
        largest: &mut Sensitivities,
    ) {
        for (parameter, of_parameter) in parameters.iter().zip(compared) {
            let scale = self.scale_of(parameter);
            for (largest, c) in by_component(largest, of_parameter) {
                if 10.0 * c.difference_error <= c.difference.abs() {
                    note(largest, c.difference.abs() * scale);
                }
            }
        }
    }
}
