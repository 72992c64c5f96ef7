//! Receding-horizon control: the commands of the next moments are planned again and again, each time from the state that
//! was come to and from the plan before.

use argmin::core::Error;

use super::control_range::ControlRange;
use super::minimize::{TrajectoryCheckpoints, optimize_trajectory};
use super::problem::{TrajectoryProblem, TrajectoryTask};
use super::settings::{TrajectoryMethod, TrajectorySettings};
use crate::multibody::{AppliedForces, State};
use crate::optimize::checkpoint::NoStore;
use crate::optimize::error::ProblemError;
use crate::rollout::{ControlKnots, Moment, TrajectoryResiduals};
use crate::scalar::Scalar;

/// A planner that looks ahead over a horizon. Its task's motion is one from a state at time 0 to the horizon; residuals
/// are told the time of the whole motion.
///
/// Each plan takes a few iterations of iLQR from the plan before, moved on in time: what is not solved now is solved
/// next time.
#[derive(Debug)]
pub struct RecedingHorizon<'a, A, R> {
    task: TrajectoryTask<'a, A, R>,
    knots: ControlKnots,
    ranges: Vec<ControlRange>,
    iterations: u64,
    /// The time that the last plan begins at, and its values at knots.
    time: f64,
    values: Vec<f64>,
}

/// Residuals of a motion that begins later.
struct Later<'r, R> {
    residuals: &'r R,
    time: f64,
}

impl<R: TrajectoryResiduals> TrajectoryResiduals for Later<'_, R> {
    fn running<T: Scalar>(&self, moment: &Moment<T>, residuals: &mut Vec<T>) {
        self.residuals.running(&Moment { time: moment.time + self.time, ..*moment }, residuals);
    }

    fn terminal<T: Scalar>(&self, moment: &Moment<T>, residuals: &mut Vec<T>) {
        self.residuals.terminal(&Moment { time: moment.time + self.time, ..*moment }, residuals);
    }
}

impl<'a, A: AppliedForces, R: TrajectoryResiduals> RecedingHorizon<'a, A, R> {
    /// A planner that takes so many iterations (at least 1) for a plan, with a range for each control value. The first
    /// plan starts from `start`, values at knots, knot after knot.
    ///
    /// # Errors
    /// When knots, ranges or start do not match the task.
    pub fn new(
        task: TrajectoryTask<'a, A, R>,
        knots: ControlKnots,
        ranges: Vec<ControlRange>,
        iterations: u64,
        start: Vec<f64>,
    ) -> Result<Self, ProblemError> {
        let problem = TrajectoryProblem::new(task, &knots, &ranges)?;
        let (found, expected) = (start.len(), problem.map().variables());
        if found != expected {
            return Err(ProblemError::ValueCount { found, expected });
        }
        Ok(Self { task, knots, ranges, iterations: iterations.max(1), time: 0.0, values: start })
    }

    /// Plans from a state at a time in s. Returns the cost of the plan.
    ///
    /// # Errors
    /// When no motion from this state can be simulated or differentiated; the plan before is kept then.
    pub fn plan(&mut self, time: f64, state: &State) -> Result<f64, Error> {
        let start = self.moved_on(time);
        let residuals = Later { residuals: self.task.residuals, time };
        let TrajectoryTask { model, settings, until, applied, .. } = self.task;
        let task = TrajectoryTask { model, initial: state, settings, until, applied, residuals: &residuals };
        let problem = TrajectoryProblem::new(task, &self.knots, &self.ranges)?;
        let settings = TrajectorySettings {
            method: TrajectoryMethod::Ilqr,
            max_iterations: self.iterations,
            ..Default::default()
        };
        let none = None::<TrajectoryCheckpoints<NoStore>>;
        let found = optimize_trajectory(&problem, &start, &settings, none, None)?;
        (self.time, self.values) = (time, found.values);
        Ok(found.cost)
    }

    /// The values at knots of the last plan, read off later.
    fn moved_on(&self, time: f64) -> Vec<f64> {
        let m = self.ranges.len();
        let later = (time - self.time).max(0.0);
        let times = self.knots.times();
        times.iter().flat_map(|t| (0..m).map(move |i| self.value(t + later, i))).collect()
    }

    fn value(&self, since_plan: f64, control: usize) -> f64 {
        let m = self.ranges.len();
        self.knots.weights(since_plan).map(|(knot, weight)| weight * self.values[knot * m + control]).sum()
    }

    /// The commands of the last plan at a time in s, one for each control value.
    pub fn put_commands(&self, time: f64, row: &mut [f64]) {
        row.iter_mut().enumerate().for_each(|(i, u)| *u = self.value(time - self.time, i));
    }
}
