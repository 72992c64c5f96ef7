//! Many rollouts of one scene, with initial states, inputs and controls of their own.

use std::borrow::Cow;

use rayon::prelude::*;

use super::adjoint::{LossGradient, Rollout, loss_gradient};
use super::checkpoints::Checkpoints;
use super::controls::Controls;
use super::error::SimulationError;
use super::loss::DifferentiableLoss;
use super::schedule::SimulationSettings;
use super::simulate::Trajectory;
use crate::multibody::{AppliedForces, Input, Model, State, seeded};

/// What is particular to one rollout of a batch.
#[derive(Clone, Debug, PartialEq)]
pub struct BatchMember {
    /// The state at time 0, before inputs move it.
    pub initial: State,
    /// Values of inputs that differ from the batch's model.
    pub inputs: Vec<(Input, f64)>,
    /// Control values.
    pub controls: Controls,
}

/// Many rollouts of one model.
///
/// They are shared among the threads of rayon's pool. Each is computed by itself and the results
/// are in the order of the members: they have the same bits whatever the number of threads. A
/// rollout that fails leaves its error in its place and the others alone.
#[derive(Debug)]
pub struct Batch<'a, A> {
    /// The model.
    pub model: &'a Model,
    /// How all of them advance.
    pub settings: SimulationSettings,
    /// Their end, s.
    pub until: f64,
    /// The user's forces.
    pub applied: &'a A,
    /// What is particular to each.
    pub members: &'a [BatchMember],
}

impl<A: AppliedForces> Batch<'_, A> {
    /// Simulates every member.
    pub fn simulate(&self) -> Vec<Result<Trajectory, SimulationError>> {
        self.each(|rollout| Ok(rollout.simulate()?))
    }

    /// The loss and its gradient for every member (see [`loss_gradient`]); derivatives by `inputs`
    /// are at the member's own values. The loss gets the place of the member from `loss_of`.
    pub fn loss_gradients<L: DifferentiableLoss>(
        &self,
        loss_of: impl Fn(usize) -> L + Sync,
        inputs: &[Input],
        checkpoints: Checkpoints,
    ) -> Vec<Result<LossGradient, SimulationError>> {
        self.each_numbered(|i, rollout| loss_gradient(rollout, &loss_of(i), inputs, checkpoints))
    }

    fn each<R: Send>(
        &self,
        work: impl Fn(&Rollout<'_, A>) -> Result<R, SimulationError> + Sync,
    ) -> Vec<Result<R, SimulationError>> {
        self.each_numbered(|_, rollout| work(rollout))
    }

    /// Does some work with the rollout of each member.
    fn each_numbered<R: Send>(
        &self,
        work: impl Fn(usize, &Rollout<'_, A>) -> Result<R, SimulationError> + Sync,
    ) -> Vec<Result<R, SimulationError>> {
        let one = |(i, member): (usize, &BatchMember)| {
            let (model, initial) = if member.inputs.is_empty() {
                (Cow::Borrowed(self.model), Cow::Borrowed(&member.initial))
            } else {
                let (model, initial) = seeded(self.model, &member.initial, &member.inputs)?;
                (Cow::Owned(model), Cow::Owned(initial))
            };
            let rollout = Rollout {
                model: &model,
                initial: &initial,
                settings: self.settings,
                until: self.until,
                applied: self.applied,
                controls: &member.controls,
            };
            work(i, &rollout)
        };
        self.members.par_iter().enumerate().map(one).collect()
    }
}
