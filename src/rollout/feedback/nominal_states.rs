//! A nominal motion, from which the deviation of the present state may be observed.

use crate::multibody::{Model, State};
use crate::rollout::error::SimulationError;
use crate::scalar::Scalar;

/// States of a nominal motion at increasing times.
#[derive(Clone, Debug, PartialEq)]
pub struct NominalStates {
    /// Times, s.
    pub times: Vec<f64>,
    /// A state without bristles at each.
    pub states: Vec<State>,
}

/// Differences of times below this part of a second are rounding.
pub(super) const SAME_TIME: f64 = 1e-9;

impl NominalStates {
    /// The last state that is not later than a time, or the first.
    fn at(&self, time: f64) -> Option<&State> {
        let after = self.times.partition_point(|&t| t <= time + SAME_TIME);
        self.states.get(after.saturating_sub(1))
    }

    /// The tangent from the state at a time to the present one, by [`State::difference`], without bristles.
    pub(super) fn deviation<T: Scalar>(&self, time: f64, present: &State<T>) -> Vec<T> {
        // Neither has bristles here.
        let present = State { bristles: Vec::new(), ..present.clone() };
        self.at(time).map_or(Vec::new(), |nominal| State::lift(nominal).difference(&present))
    }

    /// Checks that they are states of a model.
    pub(in crate::rollout) fn check<T: Scalar>(&self, model: &Model<T>) -> Result<(), SimulationError> {
        let (bodies, joints) = (model.free_bodies().count(), model.mechanism.velocity_dimension());
        for state in &self.states {
            let (own, of_joints) = (state.bodies.len(), state.joints.v.len());
            if own != bodies {
                return Err(SimulationError::BodyCount { state: own, model: bodies });
            }
            if of_joints != joints {
                return Err(SimulationError::JointCount { state: of_joints, model: joints });
            }
        }
        Ok(())
    }
}
