//! One step of time.

mod error;
mod runge_kutta;
mod semi_implicit_euler;

pub use error::StepError;

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
    /// The state after a step of `dt` seconds from `state` at `time`, with control values that
    /// are constant over it (see [`AppliedForces::control_dimension`]).
    ///
    /// # Errors
    /// When an implicit method does not converge, or the forces are not finite. The explicit
    /// methods do not fail.
    pub fn step<T: Scalar>(
        self,
        model: &Model<T>,
        state: &State<T>,
        time: f64,
        dt: f64,
        applied: &impl AppliedForces,
        control: &[T],
        workspace: &mut ForceWorkspace<T>,
    ) -> Result<State<T>, StepError> {
        match self {
            Self::SemiImplicitEuler => {
                Ok(semi_implicit_euler::step(model, state, time, dt, applied, control, workspace))
            }
            Self::RungeKutta4 => Ok(runge_kutta::step(model, state, time, dt, applied, control, workspace)),
        }
    }
}

#[cfg(test)]
mod tests;
