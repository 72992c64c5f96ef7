//! One step of time.

mod runge_kutta;
mod semi_implicit_euler;

use crate::multibody::{AppliedForces, ForceWorkspace, Model, State};
use crate::scalar::Scalar;

/// How a state is carried over a step of fixed length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Integrator {
    /// Velocity first, then the pose with the new velocity: order 1, one evaluation of forces,
    /// energy bounded in conservative motion.
    #[default]
    SemiImplicitEuler,
    /// The classical Runge–Kutta method on the manifold of poses: order 4, four evaluations.
    RungeKutta4,
}

impl Integrator {
    /// The state after a step of `dt` seconds from `state` at `time`.
    pub fn step<T: Scalar>(
        self,
        model: &Model<T>,
        state: &State<T>,
        time: f64,
        dt: f64,
        applied: &impl AppliedForces,
        workspace: &mut ForceWorkspace<T>,
    ) -> State<T> {
        match self {
            Self::SemiImplicitEuler => semi_implicit_euler::step(model, state, time, dt, applied, workspace),
            Self::RungeKutta4 => runge_kutta::step(model, state, time, dt, applied, workspace),
        }
    }
}

#[cfg(test)]
mod tests;
