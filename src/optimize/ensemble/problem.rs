//! The problem of an ensemble.

use std::sync::Arc;

use argmin::core::Error;

use super::risk::Risk;
use crate::multibody::{Model, State};
use crate::optimize::error::ProblemError;
use crate::optimize::evaluations::EvaluationCounter;
use crate::optimize::optimized::{OptimizedProblem, at_moments};
use crate::optimize::randomized_smoothing::SharedCost;
use crate::optimize::variables::{Design, Ending, FreeEnd, LossToEnd, SharedVariables};
use crate::parallel::in_parallel;
use crate::rollout::{
    Checkpoints, ClosedLoop, Controller, Controls, HalfSquares, Loss, Moment, Motion, Rollout,
    SampledController, SimulationError, SimulationSettings, TrajectoryResiduals,
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
    /// The control values of every step that controllers add to, up to the last one that there may be; those that are
    /// optimized have no meaning here.
    pub controls: Controls,
    /// What the variables of the design are in the model.
    pub design: Design,
    /// The residuals, half of whose sum of squares is the cost. With a free end those of steps have the factor
    /// √[`Moment::dt`], so that the cost is an integral over time, and those of the end do not depend on the time.
    pub residuals: R,
}

/// What all members have in common.
#[derive(Clone, Debug, PartialEq)]
pub struct EnsembleTask {
    /// Integrator and time step.
    pub settings: SimulationSettings,
    /// The time at which the simulations end, s, where that is not a variable (see
    /// [`SharedVariables::free_end`]).
    pub until: f64,
    /// What is optimized.
    pub variables: SharedVariables,
    /// The parameters of the controllers; those that are optimized have no meaning here.
    pub parameters: Vec<f64>,
    /// What is made of the members' costs.
    pub risk: Risk,
}

/// The problem of an ensemble, an [`OptimizedProblem`]. A rollout is counted for each member.
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

    /// Does some work with a member's motion under these variables, and with its end where that is one of them: then the
    /// motion goes on to the end of its last step.
    fn with_member<V>(
        &self,
        member: &EnsembleMember<C, R>,
        x: &[f64],
        work: impl FnOnce(&ClosedLoop<'_, C>, &[f64], Option<&Ending>) -> Result<V, SimulationError>,
    ) -> Result<V, Error> {
        self.task.variables.check_count(x.len())?;
        let EnsembleTask { settings, until, variables, .. } = self.task;
        let (found, expected) = (member.design.count(), variables.design().len());
        if found != expected {
            return Err(ProblemError::DesignCount { member: member.name.clone(), found, expected }.into());
        }
        let values = variables.values(x);
        let mut parameters = self.task.parameters.clone();
        let ending = match variables.free_end().zip(variables.end_time(&values)) {
            Some((end, time)) => {
                Some(end.at(time, settings, variables.knots().map_or(0, |knots| knots.optimized.len()))?)
            }
            None => None,
        };
        let ending = ending.as_ref();
        let mut controls = match ending {
            Some(ending) => member.controls.first(ending.steps),
            None => member.controls.clone(),
        };
        variables.put_controls(&values, ending, &mut controls);
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
        let until = ending.map_or(*until, Ending::last_step_end);
        let rollout = Rollout::new(model, initial, *settings, until).with_controls(&controls);
        let closed = ClosedLoop::<'_, C>::new(rollout, &member.controllers, &parameters);
        work(&closed, &values, ending).map_err(|error| match self.members.len() {
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
        self.with_member(member, x, |closed, _, ending| {
            let (trajectory, controls) = closed.simulate()?;
            let end = ending.zip(trajectory.states.last_chunk());
            let end = end.map(|(ending, [before, after])| (ending.time, ending.state(before, after)));
            Ok(at_moments(&closed.rollout, &trajectory, &controls, end.as_ref(), evaluate))
        })
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
        in_parallel(0..self.members.len(), one)
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
        self.member_gradient_of(&self.members[member].residuals, x, member)
    }

    /// As [`Self::member_gradient`], of half the squares of other residuals on the same motion.
    ///
    /// # Errors
    /// When the motion cannot be simulated or differentiated.
    ///
    /// # Panics
    /// When there is no such member.
    pub fn member_gradient_of<S: TrajectoryResiduals>(
        &self,
        residuals: &S,
        x: &[f64],
        member: usize,
    ) -> Result<CostAndGradient, Error> {
        self.counter.count_rollout();
        self.counter.count_gradient();
        let own = &self.members[member];
        self.with_member(own, x, |closed, values, ending| {
            let (variables, design) = (&self.task.variables, &own.design);
            let parameters = design.parameters();
            let (found, ending) = match ending {
                None => {
                    let loss = HalfSquares(residuals);
                    (closed.loss_gradient(&loss, parameters, Checkpoints::All)?, None)
                }
                Some(ending) => {
                    let loss = LossToEnd::new(residuals, ending);
                    let found = closed.loss_gradient(&loss, parameters, Checkpoints::All)?;
                    (found, Some((ending, loss.by_end(&closed.rollout)?)))
                }
            };
            let by_design = design.by_values(variables.design_values(values), &found.loss.by_parameters);
            let by_numbers = (&found.by_controllers[..], &by_design[..]);
            let gradient = variables.gradient(values, &found.loss.by_controls, by_numbers, ending);
            Ok((found.loss.value, gradient))
        })
    }

    /// What the time until the end costs beside the members' motions, and its derivative with respect to the last
    /// variable: 0 where that is not the end.
    pub fn cost_of_time(&self, x: &[f64]) -> [f64; 2] {
        let variables = &self.task.variables;
        let free = variables.free_end().zip(variables.end_time(&variables.values(x)));
        free.map_or([0.0; 2], |(FreeEnd { weight, range, .. }, end)| [weight * end, weight * range.scale])
    }

    fn cost_and_gradient_of_members(&self, x: &[f64]) -> Result<CostAndGradient, Error> {
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
        let found = in_parallel(&counted, |&i| self.member_gradient(x, i));
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
}

impl<C: Controller, R: TrajectoryResiduals> SharedCost for EnsembleProblem<'_, C, R> {
    fn cost_at(&self, x: &[f64]) -> Result<f64, Error> {
        let costs = self.member_costs(x).into_iter().collect::<Result<Vec<f64>, Error>>()?;
        Ok(self.task.risk.evaluate(&costs).0 + self.cost_of_time(x)[0])
    }

    fn cost_and_gradient_at(&self, x: &[f64]) -> Result<CostAndGradient, Error> {
        let (cost, mut gradient) = self.cost_and_gradient_of_members(x)?;
        let [of_time, by_end] = self.cost_of_time(x);
        gradient.last_mut().into_iter().for_each(|by| *by += by_end);
        Ok((cost + of_time, gradient))
    }
}

impl<C: Controller, R: TrajectoryResiduals> OptimizedProblem for EnsembleProblem<'_, C, R> {
    fn shared_variables(&self) -> &SharedVariables {
        &self.task.variables
    }

    fn counter(&self) -> Arc<EvaluationCounter> {
        Arc::clone(&self.counter)
    }

    fn at_moments_of(&self, member: usize, x: &[f64], work: &mut dyn FnMut(&[Moment])) -> Result<(), Error> {
        self.at_moments(x, member, |moments| work(moments))
    }

    fn motion_of(&self, member: usize, x: &[f64]) -> Result<Motion, Error> {
        self.with_member(&self.members[member], x, |closed, _, ending| {
            // A free end is reached with a shorter last step.
            let until = ending.map_or(closed.rollout.until, |ending| ending.time);
            let rollout = Rollout { until, ..closed.rollout };
            Ok(ClosedLoop { rollout, ..*closed }.motion())
        })
    }
}
