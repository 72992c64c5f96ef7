//! Forces that the user applies.

use super::applied_sensitivity::{AppliedWorkspace, ForcePoint, add_transposed_by_duals};
use super::force_dependence::ForceDependence;
use super::model::Model;
use super::state::State;
use crate::scalar::Scalar;
use crate::spatial::SpatialForce;

/// Forces on all that moves.
#[derive(Clone, Debug, PartialEq)]
pub struct Forces<T = f64> {
    /// On each moving body, about its origin and in W: free bodies first, in the order of a
    /// state's bodies, then links (see [`Model::moving_index`]).
    pub bodies: Vec<SpatialForce<T>>,
    /// Along each velocity coordinate of the joints, N m or N.
    pub joints: Vec<T>,
}

impl<T> Default for Forces<T> {
    fn default() -> Self {
        Self { bodies: Vec::new(), joints: Vec::new() }
    }
}

impl<T: Scalar> Forces<T> {
    /// No forces on what a model has that moves.
    pub fn zero(model: &Model<T>) -> Self {
        let mut forces = Self::default();
        forces.reset(model);
        forces
    }

    /// Sets all forces to zero.
    pub(crate) fn reset(&mut self, model: &Model<T>) {
        self.bodies.clear();
        self.bodies.resize(model.moving_count(), SpatialForce::zero());
        self.joints.clear();
        self.joints.resize(model.mechanism.velocity_dimension(), T::from(0.0));
    }
}

/// Forces that the user applies: thrusters, springs, controllers.
///
/// A trait with a generic method, and not a closure, because the same law has to be evaluated
/// in `f64` and in dual numbers.
pub trait AppliedForces: Sync {
    /// How many control values a step has. The forces may depend on them; they are constant
    /// over a step.
    fn control_dimension(&self) -> usize {
        0
    }

    /// Adds to `forces` what acts at a state, a time in seconds and [`Self::control_dimension`]
    /// control values (the commands of the model's actuators are not among them).
    fn apply<T: Scalar>(
        &self,
        model: &Model<T>,
        state: &State<T>,
        time: f64,
        control: &[T],
        forces: &mut Forces<T>,
    );

    /// What the forces depend on. Saying that they depend on less than everything saves time in
    /// gradients, and must be true.
    fn dependence(&self) -> ForceDependence {
        ForceDependence::default()
    }

    /// The transposed derivative by state and control: adds to `by_state` (in the tangent space)
    /// and `by_control` the derivatives of one number, given those by the forces.
    ///
    /// Without an implementation of its own, it evaluates the forces in dual numbers with twelve
    /// directions at a time: once for each body (once for all with
    /// [`SameBody`](super::StateDependence::SameBody)), once for every six joint coordinates, and once for every
    /// twelve control values. With very many
    /// control values one by hand is faster.
    fn add_transposed(
        &self,
        at: &ForcePoint,
        by_force: &Forces,
        by_state: &mut [f64],
        by_control: &mut [f64],
        workspace: &mut AppliedWorkspace,
    ) where
        Self: Sized,
    {
        add_transposed_by_duals(self, at, by_force, by_state, by_control, workspace);
    }
}

/// No forces but gravity and contact.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoForces;

impl AppliedForces for NoForces {
    fn apply<T: Scalar>(&self, _: &Model<T>, _: &State<T>, _: f64, _: &[T], _: &mut Forces<T>) {}

    fn dependence(&self) -> ForceDependence {
        ForceDependence::NONE
    }
}
