//! A step in `f64`: what the velocities are solved from, whatever scalars the step carries.

use crate::multibody::{Forces, Model, State};

/// What a step depends on, in `f64`.
#[derive(Clone, Copy, Debug)]
pub(super) struct RealStep<'a> {
    pub model: &'a Model,
    pub state: &'a State,
    /// The user's forces.
    pub forces: &'a Forces,
    /// The commands of the actuators.
    pub commands: &'a [f64],
    /// Length of the step, s.
    pub dt: f64,
}
