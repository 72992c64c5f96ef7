//! Products with the Jacobian of residuals over a trajectory, and with its transpose, without
//! forming it.

use std::borrow::Cow;
use std::cell::RefCell;

use super::adjoint::{LossGradient, loss_gradients_over};
use super::controls::Controls;
use super::error::SimulationError;
use super::loss::{DifferentiableLoss, DifferentiableResiduals, ResidualsIn};
use super::loss_workspace::{LossWorkspace, TermIn};
use super::moment::{Moment, MomentGradient};
use super::simulate::{Rollout, Trajectory};
use crate::multibody::{Parameter, ParameterError, seeded};
use crate::scalar::{CHUNK, DualArray, Scalar};

/// The Jacobian J of residuals over a rollout, as a linear operator. It has a row for each residual, in
/// order of time, and a column for each of the given parameters, followed by one for each control value,
/// step by step.
///
/// A product with J costs a rollout in dual numbers with one direction, one with Jᵀ a backward
/// sweep over the trajectory, which is kept.
#[derive(Debug)]
pub struct GaussNewton<'a> {
    rollout: Rollout<'a>,
    residuals: &'a dyn DifferentiableResiduals,
    parameters: Vec<Parameter>,
    controls: Cow<'a, Controls>,
    trajectory: Trajectory,
    values: Vec<f64>,
    /// Where the residuals of each step begin, and those of the end.
    offsets: Vec<usize>,
}

impl<'a> GaussNewton<'a> {
    /// Simulates, and evaluates the residuals.
    ///
    /// # Errors
    /// When the model does not have a parameter, or the simulation fails.
    pub fn new(
        rollout: Rollout<'a>,
        residuals: &'a dyn DifferentiableResiduals,
        parameters: &[Parameter],
    ) -> Result<Self, SimulationError> {
        let trajectory = rollout.simulate()?;
        Self::over(rollout, residuals, parameters, trajectory)
    }

    /// Evaluates the residuals over a trajectory that was simulated before.
    ///
    /// # Errors
    /// When a parameter does not fit the model, or what the rollout is asked for is out of range.
    ///
    /// # Panics
    /// When the trajectory does not have a state for every time of the rollout.
    pub fn over(
        rollout: Rollout<'a>,
        residuals: &'a dyn DifferentiableResiduals,
        parameters: &[Parameter],
        trajectory: Trajectory,
    ) -> Result<Self, SimulationError> {
        for parameter in parameters {
            parameter.value(rollout.model)?;
        }
        let controls = rollout.control_rows()?;
        let (values, offsets) = residuals_of(&rollout, residuals, &trajectory, &controls)?;
        Ok(Self {
            rollout,
            residuals,
            parameters: parameters.to_vec(),
            controls,
            trajectory,
            values,
            offsets,
        })
    }

    /// The trajectory and the residuals.
    pub fn into_parts(self) -> (Trajectory, Vec<f64>) {
        (self.trajectory, self.values)
    }

    /// The residuals r.
    pub fn residuals(&self) -> &[f64] {
        &self.values
    }

    /// Half of the sum of the residuals' squares.
    pub fn value(&self) -> f64 {
        0.5 * self.values.iter().map(|r| r * r).sum::<f64>()
    }

    /// Number of columns: parameters, then control values.
    pub fn columns(&self) -> usize {
        self.parameters.len() + self.controls.values().len()
    }

    /// The derivatives J v of the residuals along a direction of parameters and control values.
    ///
    /// # Errors
    /// When the model cannot be made with derivatives with respect to a parameter.
    ///
    /// # Panics
    /// When there are not [`Self::columns`] numbers.
    pub fn jvp(&self, direction: &[f64]) -> Result<Vec<f64>, SimulationError> {
        // Of the scalars that forces and residuals are compiled for the one that steps have.
        type Dual = DualArray<CHUNK>;
        let along = |x: f64, v: f64| {
            let mut dual = Dual::from(x);
            dual.eps[0] = v;
            dual
        };
        assert_eq!(direction.len(), self.columns(), "one number for each parameter and control value");
        let Rollout { model, initial, settings, until, applied, .. } = self.rollout;
        let (by_parameters, by_controls) = direction.split_at(self.parameters.len());
        let values = self
            .parameters
            .iter()
            .zip(by_parameters)
            .map(|(&parameter, &v)| Ok((parameter, along(parameter.value(model)?, v))))
            .collect::<Result<Vec<_>, ParameterError>>()?;
        let (model, initial) = seeded(model, initial, &values)?;
        let controls = self.controls.map(|i, &u| along(u, by_controls[i]));
        let rollout = Rollout::new(&model, &initial, settings, until)
            .under(applied.differentiable())
            .with_controls(&controls);
        let (residuals, _) = residuals_of(&rollout, self.residuals, &rollout.simulate()?, &controls)?;
        Ok(residuals.iter().map(|r| r.eps[0]).collect())
    }

    /// The derivatives Jᵀ w of the weighted sum of the residuals with respect to parameters and control
    /// values.
    ///
    /// # Errors
    /// When a step cannot be differentiated.
    ///
    /// # Panics
    /// When there is not one weight for each residual.
    pub fn vjp(&self, weights: &[f64]) -> Result<Vec<f64>, SimulationError> {
        assert_eq!(weights.len(), self.values.len(), "one weight for each residual");
        let loss = WeightedSum { residuals: self.residuals, weights, offsets: &self.offsets };
        let states = &self.trajectory.states;
        let gradients = loss_gradients_over(&self.rollout, states, &[&loss], &self.parameters, &mut [()])?;
        let of =
            |gradient: &LossGradient| [&gradient.by_parameters[..], gradient.by_controls.values()].concat();
        Ok(gradients.iter().flat_map(of).collect())
    }

    /// The gradient Jᵀ r of half of the sum of squares.
    ///
    /// # Errors
    /// The errors of [`Self::vjp`].
    pub fn gradient(&self) -> Result<Vec<f64>, SimulationError> {
        self.vjp(&self.values)
    }

    /// The product JᵀJ v with the Gauss–Newton approximation of the Hessian.
    ///
    /// # Errors
    /// The errors of [`Self::jvp`] and [`Self::vjp`].
    pub fn hessian_vector_product(&self, direction: &[f64]) -> Result<Vec<f64>, SimulationError> {
        self.vjp(&self.jvp(direction)?)
    }
}

/// All residuals over a trajectory, and where those of each step and of the end begin.
fn residuals_of<T: Scalar>(
    rollout: &Rollout<'_, T>,
    residuals: &dyn ResidualsIn<T>,
    trajectory: &Trajectory<T>,
    controls: &Controls<T>,
) -> Result<(Vec<T>, Vec<usize>), SimulationError> {
    let (schedule, model) = (rollout.schedule()?, rollout.model);
    let (contacts, forces) = (RefCell::default(), RefCell::default());
    let (mut all, mut offsets) = (Vec::new(), Vec::with_capacity(schedule.len() + 1));
    for (step, at) in schedule.iter().enumerate() {
        offsets.push(all.len());
        let problem = rollout.problem(*at, &trajectory.states[step], controls.row(step));
        let (after, memory) = (&trajectory.states[step + 1], (&contacts, &forces));
        let moment = Moment::of_step(step, rollout.settings.integrator, problem, after, memory);
        residuals.add_running(&moment, &mut all);
    }
    offsets.push(all.len());
    let (step, time) = (schedule.len(), rollout.until);
    let end = Moment { step, time, ..Moment::instant(model, &trajectory.states[step], &[], &contacts) };
    residuals.add_terminal(&end, &mut all);
    Ok((all, offsets))
}

/// The weighted sum of residuals, as a loss.
struct WeightedSum<'a> {
    residuals: &'a dyn DifferentiableResiduals,
    weights: &'a [f64],
    offsets: &'a [usize],
}

/// The sum of numbers times weights.
fn weighted<T: Scalar>(residuals: &[T], weights: &[f64]) -> T {
    residuals.iter().zip(weights).fold(T::from(0.0), |sum, (&r, &w)| sum + r * w)
}

struct Running<'a>(&'a dyn DifferentiableResiduals, &'a [f64]);

impl<'a, T: Scalar> TermIn<T> for Running<'a>
where
    dyn DifferentiableResiduals + 'a: ResidualsIn<T>,
{
    fn at(&self, moment: &Moment<T>, residuals: &mut Vec<T>) -> T {
        residuals.clear();
        ResidualsIn::<T>::add_running(self.0, moment, residuals);
        weighted(residuals, self.1)
    }
}

struct Terminal<'a>(&'a dyn DifferentiableResiduals, &'a [f64]);

impl<'a, T: Scalar> TermIn<T> for Terminal<'a>
where
    dyn DifferentiableResiduals + 'a: ResidualsIn<T>,
{
    fn at(&self, moment: &Moment<T>, residuals: &mut Vec<T>) -> T {
        residuals.clear();
        ResidualsIn::<T>::add_terminal(self.0, moment, residuals);
        weighted(residuals, self.1)
    }
}

impl DifferentiableLoss for WeightedSum<'_> {
    fn add_running(&self, moment: &Moment, by: &mut MomentGradient, workspace: &mut LossWorkspace) -> f64 {
        let weights = &self.weights[self.offsets[moment.step]..self.offsets[moment.step + 1]];
        match weights.is_empty() {
            true => 0.0,
            false => workspace.differentiate(moment, by, &Running(self.residuals, weights)),
        }
    }

    fn add_terminal(&self, moment: &Moment, by: &mut MomentGradient, workspace: &mut LossWorkspace) -> f64 {
        let weights = &self.weights[self.offsets[moment.step]..];
        workspace.differentiate(moment, by, &Terminal(self.residuals, weights))
    }
}
