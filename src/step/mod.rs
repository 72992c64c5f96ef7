//! One step of time.

mod derivative;
mod error;
mod joint_moves;
mod runge_kutta;
mod semi_implicit_euler;
mod velocity_level;

pub use derivative::{DerivativeWorkspace, StepCotangent, StepDerivativeError, StepJacobian, StepPoint};
pub use error::StepError;
pub use velocity_level::{Gliding, SolverStatistics, SolverTolerance, StepTiming, VelocityLevel};

use crate::contact::ContactModel;
use crate::multibody::{AppliedForces, DifferentiatedModel, ForceWorkspace, Model, State};
use crate::scalar::Scalar;

/// How a state is carried over a step of fixed length.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Integrator {
    /// Velocity first, then the pose with the new velocity: order 1, one evaluation of forces,
    /// energy bounded in conservative motion.
    #[default]
    SemiImplicitEuler,
    /// The classical Runge–Kutta method on the manifold of poses: order 4, four evaluations.
    RungeKutta4,
    /// Implicit in the velocities, with the contact surface of the start of the step: order 1,
    /// one contact query, stable for stiff contact and friction.
    VelocityLevel(VelocityLevel),
}

impl Integrator {
    /// The order of the error of a smooth motion in the length of the steps.
    pub fn order(self) -> i32 {
        match self {
            Self::SemiImplicitEuler | Self::VelocityLevel(_) => 1,
            Self::RungeKutta4 => 4,
        }
    }

    /// A velocity-level step with a contact model, at the default tolerance.
    pub fn velocity_level(model: ContactModel) -> Self {
        Self::VelocityLevel(VelocityLevel { model, ..VelocityLevel::default() })
    }
}

/// The memory of steps, reused from one to the next: one per thread.
#[derive(Debug)]
pub struct StepWorkspace<T = f64> {
    forces: ForceWorkspace<T>,
    velocity_level: velocity_level::Workspace,
}

impl<T> Default for StepWorkspace<T> {
    fn default() -> Self {
        Self { forces: ForceWorkspace::default(), velocity_level: velocity_level::Workspace::default() }
    }
}

impl<T> StepWorkspace<T> {
    /// The pairs of geometries that the contact model of the last step, a velocity-level one,
    /// lifts apart because they slide: see [`Gliding`].
    pub fn gliding(&self) -> impl Iterator<Item = Gliding> {
        self.velocity_level.gliding()
    }

    /// The pairs of geometries (places in [`Model::pairs`]) that have pushed on each other at the
    /// last evaluation of forces of an explicit step, with the magnitude of the force in N.
    pub(crate) fn contact_loads(&self) -> impl Iterator<Item = (usize, f64)>
    where
        T: Scalar,
    {
        self.forces.contact_loads()
    }

    /// Calls `visit` for each face of the last step, a velocity-level one, with the place of its
    /// pair in [`Model::pairs`] and a number that tells the face and its branch of the impulse.
    pub(crate) fn for_each_branch(&self, visit: impl FnMut(usize, u64)) {
        self.velocity_level.for_each_branch(visit);
    }

    /// How the iteration of the last velocity-level step went.
    pub fn statistics(&self) -> &SolverStatistics {
        self.velocity_level.statistics()
    }

    /// How long the parts of the last velocity-level step took.
    pub fn timing(&self) -> StepTiming {
        self.velocity_level.timing()
    }
}

/// Refuses lengths of a step that are not positive and finite.
fn check_time_step(dt: f64) -> Result<(), StepError> {
    if dt > 0.0 && dt.is_finite() { Ok(()) } else { Err(StepError::TimeStep(dt)) }
}

impl Integrator {
    /// The state after a step of `dt` seconds from `state` at `time`, with control values that
    /// are constant over it (see [`AppliedForces::control_dimension`]).
    ///
    /// # Errors
    /// When `dt` is not positive and finite, an implicit method does not converge, or the state or
    /// the forces are not finite (where the explicit methods give a state that is not either).
    #[allow(clippy::too_many_arguments, reason = "a step depends on all of this")]
    pub fn step<T: Scalar>(
        self,
        model: &Model<T>,
        state: &State<T>,
        time: f64,
        dt: f64,
        applied: &impl AppliedForces,
        control: &[T],
        workspace: &mut StepWorkspace<T>,
    ) -> Result<State<T>, StepError> {
        self.step_with_rates(model, state, time, dt, applied, control, workspace, None)
    }

    /// [`Self::step`], which appends to `kept` [`Self::kept_rates`] numbers that spare
    /// [`Self::transposed_with_rates`] the evaluation of the same forces.
    #[allow(clippy::too_many_arguments, reason = "a step depends on all of this")]
    pub(crate) fn step_with_rates<T: Scalar>(
        self,
        model: &Model<T>,
        state: &State<T>,
        time: f64,
        dt: f64,
        applied: &impl AppliedForces,
        control: &[T],
        workspace: &mut StepWorkspace<T>,
        kept: Option<&mut Vec<T>>,
    ) -> Result<State<T>, StepError> {
        check_time_step(dt)?;
        let forces = &mut workspace.forces;
        match self {
            Self::SemiImplicitEuler => {
                Ok(semi_implicit_euler::step(model, state, time, dt, applied, control, forces))
            }
            Self::RungeKutta4 => {
                Ok(runge_kutta::step(model, state, time, dt, applied, control, forces, kept))
            }
            Self::VelocityLevel(method) => {
                method.step(model, state, time, dt, applied, control, &mut workspace.velocity_level)
            }
        }
    }

    /// How many numbers a step keeps besides the states for its transposed derivative.
    pub(crate) fn kept_rates<T: Scalar>(self, state: &State<T>) -> usize {
        match self {
            Self::RungeKutta4 => runge_kutta::KEPT_RATES * state.tangent_dimension(),
            Self::SemiImplicitEuler | Self::VelocityLevel(_) => 0,
        }
    }

    /// The derivative of a step by the state before it, the control values and the inputs of the
    /// model.
    ///
    /// # Errors
    /// When the step cannot be taken, or the model cannot be made with derivatives by an input.
    pub fn jacobian<A: AppliedForces>(
        self,
        at: &StepPoint<'_, A>,
        workspace: &mut DerivativeWorkspace,
    ) -> Result<StepJacobian, StepDerivativeError> {
        match self {
            Self::SemiImplicitEuler | Self::RungeKutta4 => derivative::jacobian_by_duals(self, at),
            Self::VelocityLevel(method) => method.jacobian(at, &mut workspace.velocity_level),
        }
    }

    /// A step of `dt` seconds together with its derivative: [`Self::step`] and [`Self::jacobian`]
    /// at the cost of finding contacts and solving once.
    ///
    /// # Errors
    /// When the step cannot be taken, or the model cannot be made with derivatives by an input.
    #[allow(clippy::too_many_arguments, reason = "a step depends on all of this")]
    pub fn step_and_jacobian<A: AppliedForces>(
        self,
        model: &DifferentiatedModel<'_>,
        state: &State,
        time: f64,
        dt: f64,
        applied: &A,
        control: &[f64],
        workspace: &mut StepWorkspace,
        derivatives: &mut DerivativeWorkspace,
    ) -> Result<(State, StepJacobian), StepDerivativeError> {
        let Self::VelocityLevel(method) = self else {
            let after = self.step(model.model(), state, time, dt, applied, control, workspace)?;
            let at = StepPoint { model, before: state, after: &after, time, dt, applied, control };
            let jacobian = self.jacobian(&at, derivatives)?;
            return Ok((after, jacobian));
        };
        check_time_step(dt)?;
        let workspace = &mut workspace.velocity_level;
        let after = method.step_keeping(true, model.model(), state, time, dt, applied, control, workspace)?;
        let at = StepPoint { model, before: state, after: &after, time, dt, applied, control };
        let jacobian = method.jacobian_of_last(&at, workspace, &mut derivatives.velocity_level);
        Ok((after, jacobian))
    }

    /// The transposed derivative of a step: carries the derivatives of one number from the state
    /// after the step to the state before it, and adds those by control values and model. It
    /// costs the same however many inputs there are (two kinds of them apart, see
    /// [`DifferentiatedModel`]), and allocates nothing once the workspace has grown.
    ///
    /// # Errors
    /// When a velocity-level step cannot be solved. The explicit methods do not fail.
    ///
    /// # Panics
    /// When `out.state` does not have [`State::tangent_dimension`] numbers, or `out.model` does
    /// not belong to the model.
    pub fn transposed<A: AppliedForces>(
        self,
        at: &StepPoint<'_, A>,
        workspace: &mut DerivativeWorkspace,
        out: &mut StepCotangent<'_>,
    ) -> Result<(), StepDerivativeError> {
        self.transposed_with_rates(at, None, workspace, out)
    }

    /// [`Self::transposed`], from what [`Self::step_with_rates`] kept of the same step if that is
    /// at hand.
    pub(crate) fn transposed_with_rates<A: AppliedForces>(
        self,
        at: &StepPoint<'_, A>,
        kept: Option<&[f64]>,
        workspace: &mut DerivativeWorkspace,
        out: &mut StepCotangent<'_>,
    ) -> Result<(), StepDerivativeError> {
        match self {
            Self::SemiImplicitEuler => semi_implicit_euler::transposed(at, workspace, out),
            Self::RungeKutta4 => runge_kutta::transposed(at, kept, workspace, out),
            Self::VelocityLevel(method) => method.transposed(at, &mut workspace.velocity_level, out)?,
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
