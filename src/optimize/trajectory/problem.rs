//! The problem of trajectory optimization, in the forms that the solvers of argmin need.

use std::sync::{Arc, Mutex, PoisonError};

use argmin::core::Error;

use crate::multibody::{ForcesIn, Model, State};
use crate::optimize::error::ProblemError;
use crate::optimize::evaluations::EvaluationCounter;
use crate::optimize::optimized::at_moments;
use crate::optimize::randomized_smoothing::SharedCost;
use crate::optimize::variables::{ControlRange, KnotVariables, SharedVariables};
use crate::rollout::{
    ControlKnots, Controls, DifferentiableResiduals, GaussNewton, KnotMap, Moment, Rollout, SimulationError,
    SimulationSettings, Trajectory, TrajectoryLinearization, linearize,
};

/// The motion, and the residuals that are to be small on it.
#[derive(Clone, Copy, Debug)]
pub struct TrajectoryTask<'a> {
    /// The model.
    pub model: &'a Model,
    /// The state at time 0.
    pub initial: &'a State,
    /// Integrator and time step.
    pub settings: SimulationSettings,
    /// The time at which the simulation ends, s.
    pub until: f64,
    /// The forces that controls act through, besides the model's actuators.
    pub applied: &'a dyn ForcesIn<f64>,
    /// The residuals, half of whose sum of squares is the cost.
    pub residuals: &'a dyn DifferentiableResiduals,
}

/// The problem min ½‖r‖² over the values of controls at knots.
///
/// The optimizer's variables are these values over the scales of their [`ControlRange`]s, knot
/// after knot; see [`Self::values`] and [`Self::variables`].
///
/// As an [`OptimizedProblem`](super::OptimizedProblem) it has a gradient (one backward sweep, for quasi-Newton
/// methods), a Jacobian of the residuals (the derivatives of all steps chained forward, for
/// Levenberg–Marquardt) and stages. The last motions are kept, so that a derivative at variables whose cost is
/// known does not simulate again.
#[derive(Debug)]
pub struct TrajectoryProblem<'a> {
    task: TrajectoryTask<'a>,
    pub(super) knots: ControlKnots,
    /// What is optimized, which is at knots alone.
    pub(super) variables: SharedVariables,
    /// The knots of these, which are always there: from values at knots to controls of every step.
    pub(super) at_knots: KnotVariables,
    /// The control values of every step; those that are optimized have no meaning here.
    others: Controls,
    pub(super) counter: Arc<EvaluationCounter>,
    /// The motions that were used last, the latest at the end.
    recent: Mutex<Vec<Arc<Motion>>>,
}

/// A simulated motion.
#[derive(Debug)]
pub(super) struct Motion {
    /// The variables.
    pub x: Vec<f64>,
    /// Controls of every step.
    pub controls: Controls,
    /// The states.
    pub trajectory: Trajectory,
    pub residuals: Vec<f64>,
}

impl Motion {
    /// Half of the sum of squares.
    pub fn cost(&self) -> f64 {
        0.5 * self.residuals.iter().map(|r| r * r).sum::<f64>()
    }
}

/// Motions that are kept: a line search that uses feedback needs the one that it started from
/// beside the last trial.
const RECENT: usize = 2;

impl<'a> TrajectoryProblem<'a> {
    /// The problem of finding the controls' values at knots, with a range for each control value.
    ///
    /// # Errors
    /// When the times, knots or ranges do not match the task (see [`ProblemError`]).
    pub fn new(
        task: TrajectoryTask<'a>,
        knots: &ControlKnots,
        ranges: &[ControlRange],
    ) -> Result<Self, ProblemError> {
        let expected = task.model.command_dimension() + task.applied.controls();
        if expected == 0 {
            return Err(ProblemError::NoControls);
        }
        if ranges.len() != expected {
            return Err(ProblemError::RangeCount { found: ranges.len(), expected });
        }
        let steps = task.settings.step_times(task.until)?.len() - 1;
        let optimized: Vec<(usize, ControlRange)> = ranges.iter().copied().enumerate().collect();
        Self::of_some(task, knots, &optimized, Controls::zeros(steps, expected))
    }

    /// The problem of optimizing some of the control values, each given by its index in the row of a
    /// step and by its range. All other control values stay as in `others`.
    ///
    /// # Errors
    /// When the times, knots, indices, ranges or the other values do not match the task (see
    /// [`ProblemError`]).
    pub fn of_some(
        task: TrajectoryTask<'a>,
        knots: &ControlKnots,
        optimized: &[(usize, ControlRange)],
        others: Controls,
    ) -> Result<Self, ProblemError> {
        let expected = task.model.command_dimension() + task.applied.controls();
        if optimized.is_empty() {
            return Err(ProblemError::NoControls);
        }
        for (i, &(index, _)) in optimized.iter().enumerate() {
            if index >= expected || optimized[..i].iter().any(|(other, _)| *other == index) {
                return Err(ProblemError::ControlPlace { index, expected });
            }
        }
        let times = task.settings.step_times(task.until)?;
        if others.dimension() != expected {
            return Err(SimulationError::ControlDimension { found: others.dimension(), expected }.into());
        }
        if others.steps() != times.len() - 1 {
            let (found, expected) = (others.steps(), times.len() - 1);
            return Err(SimulationError::ControlSteps { found, expected }.into());
        }
        let map = knots.map(optimized.len(), &times).map_err(ProblemError::Knots)?;
        let at_knots = KnotVariables { map, optimized: optimized.to_vec() };
        let variables = SharedVariables::new(Some(at_knots.clone()), Vec::new(), Vec::new(), None)?;
        let (knots, counter, recent) = (knots.clone(), Arc::default(), Mutex::default());
        Ok(Self { task, knots, variables, at_knots, others, counter, recent })
    }

    /// The motion, and the residuals that are to be small on it.
    pub fn task(&self) -> &TrajectoryTask<'a> {
        &self.task
    }

    /// From values at knots to controls of every step.
    pub fn map(&self) -> &KnotMap {
        &self.at_knots.map
    }

    /// Lower and upper bounds of the variables.
    pub fn bounds(&self) -> (&[f64], &[f64]) {
        self.variables.bounds()
    }

    /// The variables at values of the controls at knots, in their units.
    ///
    /// # Errors
    /// When there is not one for each knot and control.
    pub fn variables(&self, values: &[f64]) -> Result<Vec<f64>, Error> {
        self.variables.check_count(values.len())?;
        Ok(self.variables.from_values(values))
    }

    /// The values of the controls at knots, in their units. Variables within bounds give values
    /// within bounds.
    ///
    /// # Errors
    /// When there is not one for each knot and control.
    pub fn values(&self, x: &[f64]) -> Result<Vec<f64>, Error> {
        self.variables.check_count(x.len())?;
        Ok(self.variables.values(x))
    }

    /// The controls of every step.
    ///
    /// # Errors
    /// When there is not one variable for each knot and control.
    pub fn controls(&self, x: &[f64]) -> Result<Controls, Error> {
        let values = self.values(x)?;
        let mut controls = self.others.clone();
        self.variables.put_controls(&values, None, &mut controls);
        Ok(controls)
    }

    /// The row of controls of a step for these values at knots. Values that the row does not depend on
    /// may be missing.
    pub(super) fn put_row(&self, step: usize, values: &[f64], row: &mut [f64]) {
        let mut optimized = vec![0.0; self.map().dimension()];
        self.map().put_row(step, values, &mut optimized);
        row.copy_from_slice(self.others.row(step));
        let values = self.at_knots.optimized.iter().zip(optimized);
        values.for_each(|((index, _), value)| row[*index] = value);
    }

    /// The states of the motion under these variables: at the start of every step, and at the end.
    ///
    /// # Errors
    /// When there is not one variable for each knot and control, or the simulation fails.
    pub fn at_moments<V>(&self, x: &[f64], evaluate: impl FnOnce(&[Moment]) -> V) -> Result<V, Error> {
        let motion = self.motion(x)?;
        Ok(at_moments(&self.rollout(&motion.controls), &motion.trajectory, &motion.controls, None, evaluate))
    }

    /// The motion.
    ///
    /// # Errors
    /// When there is not one variable for each knot and control, or the simulation fails.
    pub fn trajectory(&self, x: &[f64]) -> Result<Trajectory, Error> {
        Ok(self.motion(x)?.trajectory.clone())
    }

    /// The same problem with a counter and a memory of its own.
    pub fn separate(&self) -> Self {
        Self { counter: Arc::default(), ..self.for_residuals(self.task.residuals) }
    }

    /// The same motion with other residuals, and a memory of its own; evaluations are counted together.
    pub fn for_residuals<'b>(&self, residuals: &'b dyn DifferentiableResiduals) -> TrajectoryProblem<'b>
    where
        'a: 'b,
    {
        TrajectoryProblem {
            task: TrajectoryTask { residuals, ..self.task },
            knots: self.knots.clone(),
            variables: self.variables.clone(),
            at_knots: self.at_knots.clone(),
            others: self.others.clone(),
            counter: Arc::clone(&self.counter),
            recent: Mutex::default(),
        }
    }

    /// The scale of the values of each control of a row.
    pub(super) fn scales(&self) -> impl Iterator<Item = f64> + Clone {
        self.at_knots.optimized.iter().map(|(_, range)| range.scale)
    }

    pub(super) fn rollout<'c>(&self, controls: &'c Controls) -> Rollout<'c>
    where
        'a: 'c,
    {
        let TrajectoryTask { model, initial, settings, until, applied, .. } = self.task;
        Rollout {
            model,
            initial,
            settings,
            until,
            applied,
            controls: controls.into(),
            substeps: None,
            sleep: None,
        }
    }

    /// The motion under these variables, from memory where it is one of the last.
    pub(super) fn motion(&self, x: &[f64]) -> Result<Arc<Motion>, Error> {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(i) = recent.iter().position(|motion| motion.x == x) {
            let motion = recent.remove(i);
            recent.push(Arc::clone(&motion));
            return Ok(motion);
        }
        drop(recent);
        self.simulated(x).map(|motion| self.remember(motion))
    }

    /// Keeps a motion in the place of the one that was used longest ago.
    pub(super) fn remember(&self, motion: Motion) -> Arc<Motion> {
        let motion = Arc::new(motion);
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        if recent.len() >= RECENT {
            recent.remove(0);
        }
        recent.push(Arc::clone(&motion));
        motion
    }

    fn simulated(&self, x: &[f64]) -> Result<Motion, Error> {
        let controls = self.controls(x)?;
        self.counter.count_rollout();
        let trajectory = self.rollout(&controls).simulate()?;
        self.with_residuals(x.to_vec(), controls, trajectory)
    }

    /// A simulated motion with its residuals.
    pub(super) fn with_residuals(
        &self,
        x: Vec<f64>,
        controls: Controls,
        trajectory: Trajectory,
    ) -> Result<Motion, Error> {
        let evaluated = GaussNewton::over(self.rollout(&controls), self.task.residuals, &[], trajectory)?;
        let (trajectory, residuals) = evaluated.into_parts();
        if let Some(i) = residuals.iter().position(|r| !r.is_finite()) {
            return Err(Error::msg(format!("residual {i} is {}", residuals[i])));
        }
        Ok(Motion { x, controls, trajectory, residuals })
    }

    pub(super) fn linearized(&self, motion: &Motion) -> Result<TrajectoryLinearization, SimulationError> {
        self.counter.count_jacobian();
        let mut linear = linearize(&self.rollout(&motion.controls), self.task.residuals, &motion.trajectory)?;
        let optimized: Vec<usize> = self.at_knots.optimized.iter().map(|(index, _)| *index).collect();
        if optimized.iter().copied().ne(0..self.others.dimension()) {
            for step in &mut linear.steps {
                step.by_control = step.by_control.select_columns(&optimized);
                step.residuals.by_control = step.residuals.by_control.select_columns(&optimized);
            }
        }
        Ok(linear)
    }

    pub(super) fn gradient_of(&self, motion: &Motion) -> Result<Vec<f64>, Error> {
        self.counter.count_gradient();
        let rollout = self.rollout(&motion.controls);
        let trajectory = motion.trajectory.clone();
        let evaluated = GaussNewton::over(rollout, self.task.residuals, &[], trajectory)?;
        let by_controls = Controls::from_values(self.others.dimension(), evaluated.gradient()?)
            .ok_or_else(|| Error::msg("the gradient by the controls does not make whole rows"))?;
        Ok(self.variables.gradient(&self.values(&motion.x)?, &by_controls, (&[], &[]), None))
    }
}

/// Without keeping motions: for use on several threads.
impl SharedCost for TrajectoryProblem<'_> {
    fn cost_at(&self, x: &[f64]) -> Result<f64, Error> {
        Ok(self.simulated(x)?.cost())
    }

    fn cost_and_gradient_at(&self, x: &[f64]) -> Result<(f64, Vec<f64>), Error> {
        let motion = self.simulated(x)?;
        Ok((motion.cost(), self.gradient_of(&motion)?))
    }
}
