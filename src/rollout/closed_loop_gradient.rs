//! The gradient of a loss over a rollout under controllers, by one sweep backward through steps and controllers.
//!
//! Going forward, every sample's observation and what its controller remembered are kept: a few numbers each, for
//! all checkpoints. Going back, the step's vector–Jacobian product gives the derivatives with respect to its control
//! values; these belong to the sample whose commands acted. Where a controller sampled, the product of its law leads
//! from commands and memory to observation, parameters and the memory before, and the observation, evaluated in dual
//! numbers along the state's tangent space, to the state.

use std::borrow::Cow;

use super::adjoint::{Feedback, LossGradient, loss_gradient_under, loss_gradients_over};
use super::checkpoints::Checkpoints;
use super::closed_loop::ClosedLoop;
use super::controls::Controls;
use super::error::SimulationError;
use super::feedback::{
    Controller, ControllerCotangent, ControllerPoint, LoopMemory, LoopMoment, Moved, Observation, Observer,
    SampledController,
};
use super::loss::DifferentiableLoss;
use super::loss_workspace::Direction;
use super::simulate::Rollout;
use crate::multibody::{Model, Parameter, SEEDS, SeededModel, State, for_each_tangent_chunk, seeded_models};
use crate::scalar::DualArray;

/// A loss over a rollout under controllers, and its gradient.
#[derive(Clone, Debug, PartialEq)]
pub struct ClosedLoopGradient {
    /// The loss and its derivatives with respect to the initial state, the parameters of the model, and the control
    /// values that the controllers add to.
    pub loss: LossGradient,
    /// Its derivatives with respect to the parameters of the controllers.
    pub by_controllers: Vec<f64>,
}

impl<C: Controller> ClosedLoop<'_, C> {
    /// The gradient of a loss with respect to the initial state, the control values of the rollout, the
    /// `parameters` of the model and those of the controllers, by the adjoint method.
    ///
    /// Beyond what [`super::loss_gradient`] costs, every sample takes its controller's [`Controller::add_vjp`] and an
    /// evaluation in dual numbers of what it observes for each free body and for every twelve joint coordinates;
    /// contacts only for those that move them. Derivatives with respect to parameters of the model take another for
    /// every four.
    ///
    /// # Errors
    /// The errors of [`Self::simulate`], and when the model does not have a parameter.
    pub fn loss_gradient(
        &self,
        loss: &dyn DifferentiableLoss,
        parameters: &[Parameter],
        checkpoints: Checkpoints,
    ) -> Result<ClosedLoopGradient, SimulationError> {
        let mut zeros = Controls::zeros(0, 0);
        let rollout = self.rollout_with_rows(&mut zeros)?;
        let mut feedback = LoopFeedback::new(&ClosedLoop { rollout, ..*self }, parameters)?;
        let loss = loss_gradient_under(&rollout, loss, parameters, checkpoints, &mut feedback)?;
        Ok(ClosedLoopGradient { loss, by_controllers: feedback.by_controllers })
    }

    /// The gradients of several losses over the states of a simulation that was done before, such as those of
    /// [`Self::motion`]. What the derivatives of steps take is made once for all losses, on all threads; another loss
    /// costs a sweep backward.
    ///
    /// # Errors
    /// The errors of [`Self::loss_gradient`].
    ///
    /// # Panics
    /// When there is not a state for every time of the rollout.
    pub fn loss_gradients_over(
        &self,
        states: &[State],
        losses: &[&dyn DifferentiableLoss],
        parameters: &[Parameter],
    ) -> Result<Vec<ClosedLoopGradient>, SimulationError> {
        let mut zeros = Controls::zeros(0, 0);
        let rollout = self.rollout_with_rows(&mut zeros)?;
        let feedback = |_| LoopFeedback::new(&ClosedLoop { rollout, ..*self }, parameters);
        let mut feedbacks = losses.iter().map(feedback).collect::<Result<Vec<_>, _>>()?;
        let found = loss_gradients_over(&rollout, states, losses, parameters, &mut feedbacks)?;
        let by_controllers = feedbacks.into_iter().map(|feedback| feedback.by_controllers);
        let pair = |(loss, by_controllers)| ClosedLoopGradient { loss, by_controllers };
        Ok(found.into_iter().zip(by_controllers).map(pair).collect())
    }

    /// The rollout, once all is checked, with control values to add to: zeros, where it has none.
    fn rollout_with_rows<'r>(&'r self, zeros: &'r mut Controls) -> Result<Rollout<'r>, SimulationError> {
        self.check()?;
        let rollout = self.rollout;
        let steps = rollout.settings.schedule(rollout.until)?.steps();
        if rollout.controls.dimension() > 0 {
            return Ok(rollout);
        }
        *zeros = Controls::zeros(steps, rollout.control_dimension());
        Ok(rollout.with_controls(&*zeros))
    }
}

/// A sample that was taken.
#[derive(Debug)]
struct Sample {
    step: usize,
    period: f64,
    values: Vec<f64>,
    memory: Vec<f64>,
}

/// Derivatives with respect to what a controller remembers.
#[derive(Debug)]
struct MemoryCotangent {
    own: Vec<f64>,
    held: Vec<f64>,
}

/// Controllers in a sweep.
struct LoopFeedback<'a, C> {
    model: &'a Model,
    time_step: f64,
    controllers: &'a [SampledController<C>],
    parameters: &'a [f64],
    memory: LoopMemory<f64>,
    /// Those of each controller, in order.
    samples: Vec<Vec<Sample>>,
    by_memory: Vec<MemoryCotangent>,
    by_controllers: Vec<f64>,
    /// The model as constants, and with derivatives with respect to its parameters.
    constant: Model<Direction>,
    seeded: Vec<SeededModel>,
    state: State<Direction>,
    observer: Observer<Direction>,
    seeds: (State<DualArray<SEEDS>>, Observer<DualArray<SEEDS>>),
}

impl<'a, C: Controller> LoopFeedback<'a, C> {
    fn new(closed: &ClosedLoop<'a, C>, parameters: &[Parameter]) -> Result<Self, SimulationError> {
        let Rollout { model, settings, .. } = closed.rollout;
        let observes = closed.controllers.iter().any(|c| !c.controller.observed().is_empty());
        let cotangent = |c: &SampledController<C>| MemoryCotangent {
            own: vec![0.0; c.controller.memory_dimension()],
            held: vec![0.0; c.kept_samples() * c.controller.controls().len()],
        };
        Ok(Self {
            model,
            time_step: settings.time_step,
            controllers: closed.controllers,
            parameters: closed.parameters,
            memory: LoopMemory::new(closed.controllers),
            samples: closed.controllers.iter().map(|_| Vec::new()).collect(),
            by_memory: closed.controllers.iter().map(cotangent).collect(),
            by_controllers: vec![0.0; closed.parameters.len()],
            constant: Model::lift(model),
            seeded: seeded_models(model, parameters, |parameter| observes && !parameter.is_of_state())?,
            state: State::default(),
            observer: Observer::default(),
            seeds: Default::default(),
        })
    }
}

/// The sum of the derivatives of numbers along one direction, times those of a number with respect to them.
fn along<const N: usize>(values: &[DualArray<N>], by: &[f64], direction: usize) -> f64 {
    values.iter().zip(by).map(|(x, by)| x.eps[direction] * by).sum()
}

impl<C: Controller> Feedback for LoopFeedback<'_, C> {
    fn control(&mut self, step: usize, state: &State, controls: &mut Cow<'_, Controls>) {
        let Self { model, time_step, controllers, parameters, memory, samples, .. } = self;
        let (model, time_step) = (*model, *time_step);
        let at = LoopMoment { step, time: step as f64 * time_step, time_step, model, state };
        memory.advance(
            controllers,
            parameters,
            &at,
            controls.to_mut().row_mut(step),
            |i, observation, own| {
                let (values, memory) = (observation.values.to_vec(), own.to_vec());
                samples[i].push(Sample { step, period: observation.period, values, memory });
            },
        );
    }

    fn reverse(
        &mut self,
        step: usize,
        before: &State,
        by_row: &[f64],
        by_state: &mut [f64],
        by_parameters: &mut [f64],
    ) {
        let time = step as f64 * self.time_step;
        // What was observed by controllers that sampled here, and the derivatives with respect to it.
        let mut observed: Vec<(usize, Vec<f64>)> = Vec::new();
        let mut first = 0;
        for (i, member) in self.controllers.iter().enumerate() {
            let controller = &member.controller;
            let (controls, count) = (controller.controls(), controller.parameter_count());
            let parameters = first..first + count;
            first += count;
            let by_memory = &mut self.by_memory[i];
            if let Some(age) = member.age_at(step) {
                let acting = &mut by_memory.held[age * controls.len()..];
                acting.iter_mut().zip(controls).for_each(|(by, &control)| *by += by_row[control]);
            }
            let Some(sample) = self.samples[i].pop_if(|sample| sample.step == step) else { continue };
            let by_commands = by_memory.held[..controls.len()].to_vec();
            by_memory.held.rotate_left(controls.len());
            let last = by_memory.held.len() - controls.len();
            by_memory.held[last..].fill(0.0);
            let mut by_observation = vec![0.0; sample.values.len()];
            let Sample { period, ref values, ref memory, .. } = sample;
            let observation = Observation { step, time, period, values };
            let point =
                ControllerPoint { observation, parameters: &self.parameters[parameters.clone()], memory };
            let mut by = ControllerCotangent {
                observation: &mut by_observation,
                parameters: &mut self.by_controllers[parameters],
                memory: &mut by_memory.own,
            };
            controller.add_vjp(&point, &by_commands, &mut by);
            if by_observation.iter().any(|by| *by != 0.0) {
                observed.push((i, by_observation));
            }
        }
        if observed.is_empty() {
            return;
        }
        let Self { constant, state, observer, seeded, seeds, controllers, model, .. } = self;
        let mut values = Vec::new();
        let free: Vec<usize> = model.free_bodies().map(|(body, ..)| body).collect();
        let (of_bodies, of_motion) = (before.body_tangent_dimension(), before.motion_tangent_dimension());
        for_each_tangent_chunk(before, state, &mut |state, directions| {
            let moved = match directions.start {
                first if first < of_bodies => Moved::Body(free[first / (of_bodies / free.len())]),
                first if first < of_motion => Moved::Joints,
                _ => Moved::Nothing,
            };
            observer.renew();
            for (i, by) in &observed {
                values.clear();
                let controller = &controllers[*i].controller;
                observer.observe(constant, state, (time, moved), controller, &mut values);
                for (k, direction) in directions.clone().enumerate() {
                    by_state[direction] += along(&values, by, k);
                }
            }
        });
        let (state, observer) = seeds;
        let mut values = Vec::new();
        for SeededModel { columns, model } in seeded.iter() {
            *state = State::lift(before);
            observer.renew();
            for (i, by) in &observed {
                values.clear();
                let controller = &controllers[*i].controller;
                observer.observe(model, state, (time, Moved::All), controller, &mut values);
                for (k, &column) in columns.iter().enumerate() {
                    by_parameters[column] += along(&values, by, k);
                }
            }
        }
    }
}
