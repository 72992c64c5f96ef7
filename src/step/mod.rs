//! One step of time.

mod derivative;
mod derivative_workspace;
mod error;
mod jacobian_by_duals;
mod joint_motion;
mod joint_moves;
mod problem;
mod real_parts;
mod runge_kutta;
mod semi_implicit_euler;
mod step_point;
mod tape;
mod velocity_level;

pub use derivative::{StepCotangent, StepJacobian};
pub use derivative_workspace::DerivativeWorkspace;
pub use error::StepError;
pub use problem::StepProblem;
pub use tape::Tape;
pub use velocity_level::{Gliding, SolverStatistics, SolverTolerance, StepTiming, VelocityLevel};

use crate::contact::ContactModel;
use crate::multibody::{AppliedForces, ForceWorkspace, State};
use crate::scalar::Scalar;

/// The methods that advance a state over a step of fixed length.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Integrator {
    /// Semi-implicit Euler: updates the velocity first, then the pose with the new velocity. It is of
    /// order 1, evaluates the forces once, and keeps the energy of conservative motion bounded.
    #[default]
    SemiImplicitEuler,
    /// The classical Runge–Kutta method on the manifold of poses. It is of order 4 and evaluates the
    /// forces four times.
    RungeKutta4,
    /// A method that is implicit in the velocities and uses the contact surface at the start of the
    /// step. It is of order 1, makes one contact query, and is stable for stiff contact and friction.
    VelocityLevel(VelocityLevel),
}

impl Integrator {
    /// The order of convergence of a smooth motion in the length of the steps.
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

/// Scratch memory that is reused from step to step. Use one per thread.
#[derive(Debug)]
pub struct StepWorkspace<T = f64> {
    forces: ForceWorkspace<T>,
    semi_implicit_euler: semi_implicit_euler::Memory<T>,
    runge_kutta: runge_kutta::Memory<T>,
    velocity_level: velocity_level::Workspace,
    balance: velocity_level::Balance<T>,
}

impl<T: Scalar> Default for StepWorkspace<T> {
    fn default() -> Self {
        Self {
            forces: ForceWorkspace::default(),
            semi_implicit_euler: semi_implicit_euler::Memory::default(),
            runge_kutta: runge_kutta::Memory::default(),
            velocity_level: velocity_level::Workspace::default(),
            balance: velocity_level::Balance::default(),
        }
    }
}

impl<T> StepWorkspace<T> {
    /// The pairs of geometries that the contact model of the last velocity-level step lifts apart
    /// because they slide (see [`Gliding`]).
    pub fn gliding(&self) -> impl Iterator<Item = Gliding> {
        self.velocity_level.gliding()
    }

    /// The pairs of geometries (indices in [`Model::pairs`]) that have pushed on each other at the last
    /// evaluation of forces of an explicit step, with the magnitude of the force in N.
    pub(crate) fn contact_loads(&self) -> impl Iterator<Item = (usize, f64)>
    where
        T: Scalar,
    {
        self.forces.contact_loads()
    }

    /// Calls `visit` for each face of the last step if that was a velocity-level step, with the index of
    /// its pair in [`Model::pairs`] and a number that identifies the face and the branch of its impulse.
    pub(crate) fn for_each_branch(&self, visit: impl FnMut(usize, u64)) {
        self.velocity_level.for_each_branch(visit);
    }

    /// Statistics of the iteration of the last velocity-level step.
    pub fn statistics(&self) -> &SolverStatistics {
        self.velocity_level.statistics()
    }

    /// The times that the parts of the last velocity-level step took.
    pub fn timing(&self) -> StepTiming {
        self.velocity_level.timing()
    }
}

impl Integrator {
    /// Refuses lengths of a step that are not positive and finite, and laws of the user's own in a
    /// convex contact model.
    fn check<A, T>(self, step: &StepProblem<'_, A, T>) -> Result<(), StepError> {
        let dt = step.time_step;
        if !(dt > 0.0 && dt.is_finite()) {
            return Err(StepError::TimeStep(dt));
        }
        match (self, step.model.contact.law) {
            (Self::VelocityLevel(VelocityLevel { model, .. }), Some(_)) if model.is_convex() => {
                Err(StepError::OwnLaw(model))
            }
            _ => Ok(()),
        }
    }

    /// The state after a step.
    ///
    /// # Errors
    /// As of [`Self::step_into`].
    pub fn step<A: AppliedForces, T: Scalar>(
        self,
        step: &StepProblem<'_, A, T>,
        workspace: &mut StepWorkspace<T>,
    ) -> Result<State<T>, StepError> {
        let mut after = State::default();
        self.step_into(step, workspace, &mut after)?;
        Ok(after)
    }

    /// [`Self::step`] into a state that is there already. Once the memory of workspace and state has
    /// grown to what the model and its contacts take, this allocates nothing, in dual numbers too
    /// (with the exception of dual numbers with ball and free joints, and of what the user's forces
    /// allocate).
    ///
    /// # Errors
    /// An error is returned if the length of the step is not positive and finite, if an implicit method
    /// does not converge, if its contact model is convex but the model has a law of the user's own, or
    /// if the state or the forces are not finite. Explicit methods do not check the latter and return a
    /// state that is not finite. The state is unspecified after an error.
    pub fn step_into<A: AppliedForces, T: Scalar>(
        self,
        step: &StepProblem<'_, A, T>,
        workspace: &mut StepWorkspace<T>,
        after: &mut State<T>,
    ) -> Result<(), StepError> {
        self.check(step)?;
        let StepWorkspace { forces, semi_implicit_euler, runge_kutta, velocity_level, balance } = workspace;
        match self {
            Self::SemiImplicitEuler => semi_implicit_euler::step(step, forces, semi_implicit_euler, after),
            Self::RungeKutta4 => runge_kutta::step(step, forces, runge_kutta, None, after),
            Self::VelocityLevel(method) => method.step(step, false, velocity_level, balance, after)?,
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
