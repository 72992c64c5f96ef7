//! What controllers remember, and how commands come from it.

use super::controller::{Controller, Observation};
use super::observer::{Moved, Observer};
use super::sampled::SampledController;
use crate::multibody::{Model, State};
use crate::scalar::Scalar;

/// What one controller remembers.
#[derive(Clone, Debug)]
pub(in crate::rollout) struct ControllerMemory<T> {
    /// Its own memory.
    pub own: Vec<T>,
    /// The commands of its last samples, the latest first.
    pub held: Vec<T>,
}

/// What all controllers of a loop remember, and scratch.
#[derive(Debug)]
pub(in crate::rollout) struct LoopMemory<T> {
    pub controllers: Vec<ControllerMemory<T>>,
    observer: Observer<T>,
    values: Vec<T>,
}

/// The start of a step at which controllers may sample.
#[derive(Clone, Copy, Debug)]
pub(in crate::rollout) struct LoopMoment<'a, T> {
    /// The number of the step, from 0.
    pub step: usize,
    /// Time, s.
    pub time: f64,
    /// Length of a regular step, s.
    pub time_step: f64,
    pub model: &'a Model<T>,
    pub state: &'a State<T>,
}

impl<T: Scalar> LoopMemory<T> {
    /// That of controllers that have not sampled yet.
    pub fn new<C: Controller>(controllers: &[SampledController<C>]) -> Self {
        let zeros = |count| vec![T::from(0.0); count];
        let one = |c: &SampledController<C>| ControllerMemory {
            own: zeros(c.controller.memory_dimension()),
            held: zeros(c.kept_samples() * c.controller.controls().len()),
        };
        let controllers = controllers.iter().map(one).collect();
        Self { controllers, observer: Observer::default(), values: Vec::new() }
    }

    /// Lets controllers sample at the start of a step, and adds the commands that act over it to its row.
    /// `sampled` is told of every sample before it is taken: the controller's index, what it is given, and what
    /// it remembers.
    pub fn advance<C: Controller>(
        &mut self,
        controllers: &[SampledController<C>],
        parameters: &[T],
        at: &LoopMoment<'_, T>,
        row: &mut [T],
        mut sampled: impl FnMut(usize, &Observation<T>, &[T]),
    ) {
        self.observer.renew();
        let mut first = 0;
        for (i, (member, memory)) in controllers.iter().zip(&mut self.controllers).enumerate() {
            let controller = &member.controller;
            let (controls, count) = (controller.controls(), controller.parameter_count());
            let parameters = &parameters[first..first + count];
            first += count;
            if member.samples_at(at.step) {
                self.values.clear();
                let when = (at.time, Moved::All);
                self.observer.observe(at.model, at.state, when, controller, &mut self.values);
                if let Some(noise) = &member.noise {
                    for (place, value) in self.values.iter_mut().enumerate() {
                        *value += noise.error(at.step, place);
                    }
                }
                let period = at.time_step * member.period as f64;
                let observation = Observation { step: at.step, time: at.time, period, values: &self.values };
                sampled(i, &observation, &memory.own);
                memory.held.rotate_right(controls.len());
                let commands = &mut memory.held[..controls.len()];
                commands.fill(T::from(0.0));
                controller.control(&observation, parameters, &mut memory.own, commands);
            }
            if let Some(age) = member.age_at(at.step) {
                let acting = &memory.held[age * controls.len()..][..controls.len()];
                controls.iter().zip(acting).for_each(|(&control, &command)| row[control] += command);
            }
        }
    }
}
