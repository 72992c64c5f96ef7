//! The problem of an ensemble, in the form that solvers of argmin need.

use std::cell::RefCell;
use std::sync::Arc;

use argmin::core::{CostFunction, Error, Gradient};
use rayon::prelude::*;

use super::design::Design;
use super::risk::Risk;
use super::variables::SharedVariables;
use crate::multibody::{Model, NoForces, State};
use crate::optimize::error::ProblemError;
use crate::optimize::trajectory::{EvaluationCounter, Evaluations};
use crate::rollout::{
    Checkpoints, ClosedLoop, Controller, Controls, HalfSquares, Loss, Moment, Motion, Rollout,
    SampledController, SimulationError, SimulationSettings, StepEnd, Trajectory, TrajectoryResiduals,
};

/// A motion that the shared variables have to serve.
#[derive(Clone, Debug)]
pub struct EnsembleMember<C, R> {
    /// What messages call it.
    pub name: String,
    /// The model.
    pub model: Model,
    /// The state at time 0.
    pub initial: State,
    /// The controllers. Those of all members have the same parameters.
    pub controllers: Vec<SampledController<C>>,
    /// The control values of every step that controllers add to; those that are optimized have no meaning here.
    pub controls: Controls,
    /// What the variables of the design are in the model.
    pub design: Design,
    /// The residuals, half of whose sum of squares is the cost.
    pub residuals: R,
}

/// What all members have in common.
#[derive(Clone, Debug, PartialEq)]
pub struct EnsembleTask {
    /// Integrator and time step.
    pub settings: SimulationSettings,
    /// The time at which the simulations end, s.
    pub until: f64,
    /// What is optimized.
    pub variables: SharedVariables,
    /// The parameters of the controllers; those that are optimized have no meaning here.
    pub parameters: Vec<f64>,
    /// What is made of the members' costs.
    pub risk: Risk,
}

/// The problem of an ensemble: implements argmin's `CostFunction` and `Gradient`.
///
/// Members are evaluated on rayon's threads and summed up in their order, so that costs and gradients have the same bits
/// on any number of threads; the gradient of the mean is the mean of the members' gradients to the last bit.
#[derive(Clone, Debug)]
pub struct EnsembleProblem<'a, C, R> {
    task: &'a EnsembleTask,
    members: &'a [EnsembleMember<C, R>],
    counter: Arc<EvaluationCounter>,
}

/// The cost of a member and its derivatives with respect to the variables.
type CostAndGradient = (f64, Vec<f64>);

impl<'a, C: Controller, R: TrajectoryResiduals> EnsembleProblem<'a, C, R> {
    /// The problem of some members.
    pub fn new(task: &'a EnsembleTask, members: &'a [EnsembleMember<C, R>]) -> Self {
        Self { task, members, counter: Arc::default() }
    }

    /// What all members have in common.
    pub fn task(&self) -> &'a EnsembleTask {
        self.task
    }

    /// The members.
    pub fn members(&self) -> &'a [EnsembleMember<C, R>] {
        self.members
    }

    /// The evaluations so far: a rollout for each member.
    pub fn evaluations(&self) -> Evaluations {
        self.counter.read()
    }

    /// The counter of evaluations.
    pub fn counter(&self) -> Arc<EvaluationCounter> {
        Arc::clone(&self.counter)
    }

    fn check_count(&self, x: &[f64]) -> Result<(), Error> {
        let (found, expected) = (x.len(), self.task.variables.count());
        match found == expected {
            true => Ok(()),
            false => Err(Error::msg(format!("{found} variables, but the problem has {expected}"))),
        }
    }

    /// Does some work with a member's motion under these variables.
    fn with_member<V>(
        &self,
        member: &EnsembleMember<C, R>,
        x: &[f64],
        work: impl FnOnce(&ClosedLoop<'_, C>, &[f64]) -> Result<V, SimulationError>,
    ) -> Result<V, Error> {
        self.check_count(x)?;
        let EnsembleTask { settings, until, variables, .. } = self.task;
        let (found, expected) = (member.design.count(), variables.design().len());
        if found != expected {
            return Err(ProblemError::DesignCount { member: member.name.clone(), found, expected }.into());
        }
        let values = variables.values(x);
        let (mut controls, mut parameters) = (member.controls.clone(), self.task.parameters.clone());
        variables.put_controls(&values, &mut controls);
        variables.put_parameters(&values, &mut parameters);
        let designed;
        let (model, initial) = match member.design.count() {
            0 => (&member.model, &member.initial),
            _ => {
                designed =
                    member.design.at(&member.model, &member.initial, variables.design_values(&values))?;
                (&designed.0, &designed.1)
            }
        };
        let rollout = Rollout::new(model, initial, *settings, *until).with_controls(&controls);
        let closed = ClosedLoop::<'_, C, NoForces>::new(rollout, &member.controllers, &parameters);
        work(&closed, &values).map_err(|error| match self.members.len() {
            1 => error.into(),
            _ => Error::msg(format!("{}: {error}", member.name)),
        })
    }

    /// The states of a member's motion: at the start of every step, and at the end.
    ///
    /// # Errors
    /// When there is not one number for each variable, or the simulation fails.
    ///
    /// # Panics
    /// When there is no such member.
    pub fn at_moments<V>(
        &self,
        x: &[f64],
        member: usize,
        evaluate: impl FnOnce(&[Moment]) -> V,
    ) -> Result<V, Error> {
        let member = &self.members[member];
        self.counter.count_rollout();
        self.with_member(member, x, |closed, _| {
            let (Trajectory { times, states }, controls) = closed.simulate()?;
            let model = closed.rollout.model;
            let (contacts, forces) = (RefCell::default(), RefCell::default());
            let integrator = closed.rollout.settings.integrator;
            let moment = |step: usize| Moment {
                step,
                time: times[step],
                dt: times.get(step + 1).map_or(0.0, |next| next - times[step]),
                model,
                state: &states[step],
                control: if step + 1 < times.len() { controls.row(step) } else { &[] },
                contacts: &contacts,
                step_end: states.get(step + 1).map(|end| StepEnd::new(integrator, end, &forces)),
            };
            Ok(evaluate(&(0..times.len()).map(moment).collect::<Vec<_>>()))
        })
    }

    /// A member's motion, with its warnings.
    ///
    /// # Errors
    /// When there is not one number for each variable.
    ///
    /// # Panics
    /// When there is no such member.
    pub fn motion(&self, x: &[f64], member: usize) -> Result<Motion, Error> {
        self.with_member(&self.members[member], x, |closed, _| Ok(closed.motion()))
    }

    /// The cost of every member, or why it has none.
    pub fn member_costs(&self, x: &[f64]) -> Vec<Result<f64, Error>> {
        let one = |i: usize| {
            let loss = HalfSquares(&self.members[i].residuals);
            let running = |moment: &Moment| match moment.dt > 0.0 {
                true => loss.running(moment),
                false => loss.terminal(moment),
            };
            let cost = self.at_moments(x, i, |moments| moments.iter().map(running).sum::<f64>())?;
            self.finite(i, cost)
        };
        (0..self.members.len()).into_par_iter().map(one).collect()
    }

    fn finite(&self, member: usize, cost: f64) -> Result<f64, Error> {
        match cost.is_finite() {
            true => Ok(cost),
            false => Err(Error::msg(format!("{}: the cost is {cost}", self.members[member].name))),
        }
    }

    /// The cost of a member and its derivatives with respect to the variables.
    ///
    /// # Errors
    /// When the motion cannot be simulated or differentiated.
    ///
    /// # Panics
    /// When there is no such member.
    pub fn member_gradient(&self, x: &[f64], member: usize) -> Result<CostAndGradient, Error> {
        self.counter.count_rollout();
        self.counter.count_gradient();
        let own = &self.members[member];
        self.with_member(own, x, |closed, values| {
            let loss = HalfSquares(&own.residuals);
            let (variables, design) = (&self.task.variables, &own.design);
            let found = closed.loss_gradient(&loss, design.parameters(), Checkpoints::All)?;
            let by_design = design.by_values(variables.design_values(values), &found.loss.by_parameters);
            let by_controllers = &found.by_controllers;
            let gradient = variables.gradient(values, &found.loss.by_controls, by_controllers, &by_design);
            Ok((found.loss.value, gradient))
        })
    }

    /// The cost of the ensemble and its derivatives with respect to the variables.
    ///
    /// # Errors
    /// When the motion of a member cannot be simulated or differentiated: the first of them.
    pub fn cost_and_gradient(&self, x: &[f64]) -> Result<CostAndGradient, Error> {
        let known = match self.task.risk {
            Risk::Mean => None,
            risk => {
                let costs = self.member_costs(x).into_iter().collect::<Result<Vec<f64>, Error>>()?;
                let (cost, weights) = risk.evaluate(&costs);
                weights.map(|weights| (cost, weights))
            }
        };
        let weight = |i: usize| known.as_ref().map_or(1.0, |(_, weights)| weights[i]);
        let counted: Vec<usize> = (0..self.members.len()).filter(|&i| weight(i) != 0.0).collect();
        // Gathered in order first, so that the error is the same on any number of threads.
        let found: Vec<_> = counted.par_iter().map(|&i| self.member_gradient(x, i)).collect();
        let found = found.into_iter().collect::<Result<Vec<_>, Error>>()?;
        let mut gradient = vec![0.0; x.len()];
        let mut costs = Vec::with_capacity(found.len());
        for (&i, (cost, by)) in counted.iter().zip(&found) {
            costs.push(self.finite(i, *cost)?);
            gradient.iter_mut().zip(by).for_each(|(sum, by)| *sum += weight(i) * by);
        }
        Ok(match known {
            Some((cost, _)) => (cost, gradient),
            None => {
                let count = self.members.len() as f64;
                gradient.iter_mut().for_each(|by| *by /= count);
                (Risk::Mean.evaluate(&costs).0, gradient)
            }
        })
    }

    /// The costs of many points; `None` for a point that cannot be simulated.
    pub fn costs(&self, points: &[Vec<f64>]) -> Vec<Option<f64>> {
        points.iter().map(|x| self.cost(x).ok()).collect()
    }
}

impl<C: Controller, R: TrajectoryResiduals> CostFunction for EnsembleProblem<'_, C, R> {
    type Param = Vec<f64>;
    type Output = f64;

    fn cost(&self, x: &Vec<f64>) -> Result<f64, Error> {
        let costs = self.member_costs(x).into_iter().collect::<Result<Vec<f64>, Error>>()?;
        Ok(self.task.risk.evaluate(&costs).0)
    }
}

impl<C: Controller, R: TrajectoryResiduals> Gradient for EnsembleProblem<'_, C, R> {
    type Param = Vec<f64>;
    type Gradient = Vec<f64>;

    fn gradient(&self, x: &Vec<f64>) -> Result<Vec<f64>, Error> {
        Ok(self.cost_and_gradient(x)?.1)
    }
}
