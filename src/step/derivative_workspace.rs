//! The memory of derivatives of steps.

use super::joint_motion::JointMotion;
use super::velocity_level::VjpMemory;
use crate::multibody::{
    ForceSensitivity, ForceWorkspace, Forces, JointAcceleration, JointSensitivity, State,
};

/// Memory that derivatives of steps reuse from one step to the next.
#[derive(Debug, Default)]
pub struct DerivativeWorkspace {
    /// The states within the step, one for each stage.
    pub(super) stages: Vec<Stage>,
    /// Scratch of forces, and of forces with their derivatives.
    pub(super) forces: ForceWorkspace,
    pub(super) sensitivity: ForceSensitivity,
    /// The balance of the joints, and their motion without forces.
    pub(super) joints: JointSensitivity,
    pub(super) free_motion: JointMotion,
    /// The number's derivatives with respect to the forces.
    pub(super) by_force: Forces,
    /// Its derivatives with respect to the rates of the joints.
    pub(super) by_rate: Vec<f64>,
    /// Its derivatives with respect to the state before the step, while they are summed.
    pub(super) by_state: Vec<f64>,
    /// Its derivatives with respect to the state of a stage, or to the tangent that leads there.
    pub(super) by_stage: Vec<f64>,
    /// The tangent that leads from the state before the step to the one after it.
    pub(super) tangent: Vec<f64>,
    /// Those with respect to the state after one step of the whole length of a substep.
    pub(super) by_whole: Vec<f64>,
    /// For velocity-level steps.
    pub(super) velocity_level: VjpMemory,
}

/// A state within a step.
#[derive(Debug)]
pub(super) struct Stage {
    /// The tangent that leads there from the state before the step.
    pub tangent: Vec<f64>,
    pub state: State,
    /// The rate of the tangent there.
    pub rate: Vec<f64>,
    /// The number's derivatives with respect to the rate.
    pub by_rate: Vec<f64>,
    pub acceleration: JointAcceleration,
}

impl Default for Stage {
    fn default() -> Self {
        let (state, acceleration) = (State::default(), JointAcceleration::default());
        Self { tangent: Vec::new(), state, rate: Vec::new(), by_rate: Vec::new(), acceleration }
    }
}
