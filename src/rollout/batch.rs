//! Many rollouts of one scene, with initial states, parameters and controls of their own.

use std::borrow::Cow;

use super::adjoint::{LossGradient, loss_gradient};
use super::checkpoints::Checkpoints;
use super::controls::Controls;
use super::error::SimulationError;
use super::loss::DifferentiableLoss;
use super::schedule::SimulationSettings;
use super::simulate::{Rollout, Trajectory};
use crate::multibody::{ForcesIn, Model, Parameter, State, seeded};
use crate::parallel::in_parallel;

/// The initial state, parameters and controls of one rollout of a batch.
#[derive(Clone, Debug, PartialEq)]
pub struct BatchMember {
    /// The state at time 0, before displacements by parameters are applied.
    pub initial: State,
    /// Values of parameters that differ from the batch's model.
    pub parameters: Vec<(Parameter, f64)>,
    /// Control values.
    pub controls: Controls,
}

/// Many rollouts of one model.
///
/// The rollouts are distributed over the threads of rayon's pool. Each is computed independently, and
/// the results are in the order of the members, so they have the same bits for any number of threads. A
/// rollout that fails gives its error as its result and does not affect the others.
///
/// # Examples
/// Two bodies dropped from different heights:
/// ```
/// use isobar::multibody::{Body, BodyState, MassSource, ModelBuilder, NoForces, State};
/// use isobar::rollout::{Batch, BatchMember, Controls, SimulationSettings};
/// use isobar::spatial::{MassProperties, RigidTransform};
/// use nalgebra::{Matrix3, Vector3};
///
/// let mass = MassProperties { mass: 2.0, center_of_mass: Vector3::zeros(), inertia: Matrix3::identity() };
/// let body = Body::free("drone", MassSource::Given(mass), vec![])?;
/// let model = ModelBuilder { bodies: vec![body], ..Default::default() }.build()?;
/// let members = [1.0, 2.0].map(|height| {
///     let place = RigidTransform::from_translation([0.0, 0.0, height]);
///     let initial = State::of_bodies(vec![BodyState::at_rest(&place)]);
///     BatchMember { initial, parameters: vec![], controls: Controls::zeros(0, 0) }
/// });
/// let settings = SimulationSettings::default();
/// let batch = Batch { model: &model, settings, until: 0.1, applied: &NoForces, members: &members };
/// let motions = batch.simulate().into_iter().collect::<Result<Vec<_>, _>>()?;
/// let height = |member: usize| motions[member].states[100].bodies[0].position.z;
/// assert!((height(1) - height(0) - 1.0).abs() < 1e-12);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Batch<'a> {
    /// The model.
    pub model: &'a Model,
    /// Integrator and time step of all rollouts.
    pub settings: SimulationSettings,
    /// The time at which all rollouts end, s.
    pub until: f64,
    /// The user's forces.
    pub applied: &'a dyn ForcesIn<f64>,
    /// The members, one for each rollout.
    pub members: &'a [BatchMember],
}

impl Batch<'_> {
    /// Simulates every member.
    pub fn simulate(&self) -> Vec<Result<Trajectory, SimulationError>> {
        self.each(|rollout| rollout.simulate())
    }

    /// The loss and its gradient for every member (see [`loss_gradient`]); derivatives with respect to
    /// `parameters` are at the member's own values. The loss gets the index of the member from
    /// `loss_of`.
    pub fn loss_gradients<L: DifferentiableLoss>(
        &self,
        loss_of: impl Fn(usize) -> L + Sync,
        parameters: &[Parameter],
        checkpoints: Checkpoints,
    ) -> Vec<Result<LossGradient, SimulationError>> {
        self.each_numbered(|i, rollout| loss_gradient(rollout, &loss_of(i), parameters, checkpoints))
    }

    fn each<R: Send>(
        &self,
        work: impl Fn(&Rollout<'_>) -> Result<R, SimulationError> + Sync,
    ) -> Vec<Result<R, SimulationError>> {
        self.each_numbered(|_, rollout| work(rollout))
    }

    /// Does some work with the rollout of each member.
    fn each_numbered<R: Send>(
        &self,
        work: impl Fn(usize, &Rollout<'_>) -> Result<R, SimulationError> + Sync,
    ) -> Vec<Result<R, SimulationError>> {
        let one = |(i, member): (usize, &BatchMember)| {
            let (model, initial) = if member.parameters.is_empty() {
                (Cow::Borrowed(self.model), Cow::Borrowed(&member.initial))
            } else {
                let (model, initial) = seeded(self.model, &member.initial, &member.parameters)?;
                (Cow::Owned(model), Cow::Owned(initial))
            };
            let rollout = Rollout {
                model: &model,
                initial: &initial,
                settings: self.settings,
                until: self.until,
                applied: self.applied,
                controls: (&member.controls).into(),
                substeps: None,
                sleep: None,
            };
            work(i, &rollout)
        };
        in_parallel(self.members.iter().enumerate(), one)
    }
}
