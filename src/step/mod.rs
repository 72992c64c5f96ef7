//! One step of time.

mod derivative;
mod error;
mod joint_moves;
mod problem;
mod runge_kutta;
mod semi_implicit_euler;
mod tape;
mod velocity_level;

use derivative::StepPoint;
pub use derivative::{DerivativeWorkspace, StepCotangent, StepJacobian};
pub use error::StepError;
pub use problem::StepProblem;
pub use tape::Tape;
pub use velocity_level::{Gliding, SolverStatistics, SolverTolerance, StepTiming, VelocityLevel};

use crate::contact::ContactModel;
use crate::multibody::{AppliedForces, ForceWorkspace, State};
use crate::scalar::Scalar;

/// How a state is carried over a step of fixed length.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
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
    /// When the length of the step is not positive and finite, an implicit method does not
    /// converge or its contact model is convex and the model has a law of the user's own, or the state or the forces are not finite (where the explicit methods give a state
    /// that is not either).
    pub fn step<A: AppliedForces, T: Scalar>(
        self,
        step: &StepProblem<'_, A, T>,
        workspace: &mut StepWorkspace<T>,
    ) -> Result<State<T>, StepError> {
        self.check(step)?;
        match self {
            Self::SemiImplicitEuler => Ok(semi_implicit_euler::step(step, &mut workspace.forces)),
            Self::RungeKutta4 => Ok(runge_kutta::step(step, &mut workspace.forces, None)),
            Self::VelocityLevel(method) => method.step(step, false, &mut workspace.velocity_level),
        }
    }
}

#[cfg(test)]
mod tests;
