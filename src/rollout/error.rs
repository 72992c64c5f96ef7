//! Why a simulation stops.

use crate::step::StepError;

/// Steps that a simulation may have at most.
pub(super) const MAXIMUM_STEPS: f64 = 1e9;

/// Why a simulation stopped.
#[derive(Debug, thiserror::Error, PartialEq)]
pub enum SimulationError {
    /// The length of a step is not usable.
    #[error("the time step is {0} s; it must be positive and finite")]
    TimeStep(f64),
    /// The end is not usable.
    #[error("the end of the simulation is {0} s; it must be at least 0 and finite")]
    Until(f64),
    /// There would be too many steps.
    #[error(
        "{until} s in steps of {time_step} s are more than {MAXIMUM_STEPS:e} steps; make the steps longer"
    )]
    TooManySteps {
        /// End of the simulation, s.
        until: f64,
        /// Length of a step, s.
        time_step: f64,
    },
    /// The state does not belong to the model.
    #[error("the state has {state} bodies but the model has {model} free bodies; they must be equally many")]
    BodyCount {
        /// Bodies in the state.
        state: usize,
        /// Free bodies in the model.
        model: usize,
    },
    /// There are not as many control values as the user's forces take.
    #[error("there are {found} control values a step, but the forces take {expected}")]
    ControlDimension {
        /// Values in a row of the controls.
        found: usize,
        /// What the forces take.
        expected: usize,
    },
    /// The joints' coordinates are not those of the model.
    #[error(
        "the state has {state} joint velocities, but the model's joints have {model}, or its joints are of other kinds"
    )]
    JointCount {
        /// Joint velocities of the state.
        state: usize,
        /// Joint velocities of the model.
        model: usize,
    },
    /// There are not as many rows of control values as steps.
    #[error("there are control values for {found} steps, but the simulation has {expected} steps")]
    ControlSteps {
        /// Rows of the controls.
        found: usize,
        /// Steps of the simulation.
        expected: usize,
    },
    /// The state is no longer finite.
    #[error(
        "the state of body `{body}` is not finite any more at t = {time} s, after {steps} steps of {time_step} s; make the steps shorter"
    )]
    NotFinite {
        /// Time at the end of the step, s.
        time: f64,
        /// Steps taken.
        steps: usize,
        /// Length of a step, s.
        time_step: f64,
        /// Name of the body.
        body: String,
    },
    /// A step failed.
    #[error("the step from t = {time} s, number {step}, failed for {bodies}: {source}")]
    Step {
        /// Time at the start of the step, s.
        time: f64,
        /// Number of the step, from 1.
        step: usize,
        /// Names of the bodies concerned.
        bodies: String,
        /// What went wrong.
        source: StepError,
    },
}

impl SimulationError {
    /// Whether a step failed, and not what the simulation was asked for.
    pub fn is_failed_step(&self) -> bool {
        matches!(self, Self::NotFinite { .. } | Self::Step { .. })
    }
}
