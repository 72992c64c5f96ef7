//! A trajectory optimization from start to finish.

use std::sync::Arc;

use argmin::core::{CostFunction, Error, Solver};
use nalgebra::DMatrix;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::problem::TrajectoryProblem;
use super::settings::{TrajectoryMethod, TrajectorySettings};
use crate::optimize::automatic::Automatic;
use crate::optimize::checkpoint::{ProblemCheckpoints, Resumable, RunCheckpoint};
use crate::optimize::error::ProblemError;
use crate::optimize::evaluations::Evaluations;
use crate::optimize::history::{History, TrajectoryIteration, taken};
use crate::optimize::ilqr::{Ilqr, StagedProblem};
use crate::optimize::lbfgsb::Lbfgsb;
use crate::optimize::levenberg_marquardt::LevenbergMarquardt;
use crate::optimize::optimized::{OptimizedProblem, WithinBounds};
use crate::optimize::progress::ProgressObserver;
use crate::optimize::randomized_smoothing::{RandomizedSmoothing, SmoothingSettings};
use crate::optimize::solver::{Convergence, Ended, SolverState, run};
use crate::optimize::surroundings::Surroundings;
use crate::optimize::termination::Termination;
use crate::parallel::in_parallel;

/// The result of a trajectory optimization.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrajectoryOptimum {
    /// The method.
    pub method: TrajectoryMethod,
    /// The optimizer's variables.
    pub variables: Vec<f64>,
    /// Values of the variables in their units: those of controls at knots, knot after knot, then all others.
    pub values: Vec<f64>,
    /// The cost.
    pub cost: f64,
    /// Iterations made, those before an interruption included.
    pub iterations: u64,
    /// Evaluations made, those before an interruption included.
    pub evaluations: Evaluations,
    /// Whether a criterion of convergence was met.
    pub converged: bool,
    /// Why the solver stopped, in words.
    pub termination: String,
    /// The same in numbers.
    pub ending: Termination,
    /// The iterations, those before an interruption included.
    pub history: Vec<TrajectoryIteration>,
}

/// A run of a solver.
struct Run<'p> {
    problem: &'p (dyn OptimizedProblem + 'p),
    method: TrajectoryMethod,
    /// What checkpoints call it.
    saved_as: &'static str,
    tolerance: f64,
    max_iterations: u64,
    start: Vec<f64>,
    history: History,
}

impl<'p> Run<'p> {
    /// A run from these values. A problem without stages has one method.
    fn new(
        problem: &'p dyn OptimizedProblem,
        start: &[f64],
        settings: &TrajectorySettings,
    ) -> Result<Self, Error> {
        let variables = problem.shared_variables();
        variables.check_count(start.len())?;
        let (method, standard) = match problem.has_stages() {
            true => (settings.method, settings.method.standard_tolerance()),
            false => (TrajectoryMethod::Lbfgs, STANDARD_TOLERANCE),
        };
        Ok(Self {
            problem,
            method,
            saved_as: method.name(),
            tolerance: settings.cost_tolerance.unwrap_or(standard),
            max_iterations: settings.max_iterations,
            start: variables.from_values(start),
            history: History { counter: problem.counter(), iterations: Arc::default() },
        })
    }

    /// L-BFGS within the bounds.
    fn lbfgs(&self) -> Result<Lbfgsb, Error> {
        let (lower, upper) = self.problem.bounds();
        Lbfgsb::new().with_bounds(lower.to_vec(), upper.to_vec())?.with_cost_tolerance(self.tolerance)
    }

    fn solve<O, S, J, R>(
        &self,
        problem: O,
        solver: S,
        checkpoints: Option<ProblemCheckpoints>,
        progress: Option<ProgressObserver>,
        convergence: impl FnOnce(&S) -> Option<Convergence>,
    ) -> Result<Ended, Error>
    where
        O: CostFunction<Param = Vec<f64>, Output = f64>,
        S: Solver<O, SolverState<J, R>> + Serialize + DeserializeOwned + Clone + Resumable,
        J: Clone + 'static,
        R: Clone + 'static,
    {
        let (max_iterations, bounds) = (self.max_iterations, self.problem.bounds());
        let mut checkpoint = checkpoints.map(|kept| {
            let bounds = (bounds.0.to_vec(), bounds.1.to_vec());
            RunCheckpoint::new(kept, self.saved_as.to_owned(), bounds, max_iterations, self.history.clone())
        });
        if let Some(checkpoint) = &mut checkpoint {
            checkpoint.evaluate::<S>(|x| problem.cost(x))?;
        }
        let start = (self.start.clone(), max_iterations);
        run((problem, solver), start, &self.history, checkpoint, progress.as_ref(), convergence)
    }

    /// The result; how it ended is for what is around its end to say (see [`Termination::of_run`]) where that is not known.
    fn optimum(self, ended: Ended, ending: Option<Termination>) -> Result<TrajectoryOptimum, Error> {
        let (problem, history) = (self.problem, taken(&self.history.iterations));
        let look = || {
            let gradient = problem.gradient(&ended.variables)?;
            let at = (&ended.variables[..], ended.cost, &gradient[..]);
            let costs = |points: &[Vec<f64>]| problem.costs(points);
            Ok(Surroundings::examine(at, problem.bounds(), &problem.controls(), &costs).0)
        };
        let ending = match ending {
            Some(ending) => ending,
            None => Termination::of_run(&ended, self.tolerance, &history, &look)?,
        };
        Ok(TrajectoryOptimum {
            method: self.method,
            values: problem.shared_variables().values(&ended.variables),
            variables: ended.variables,
            cost: ended.cost,
            iterations: ended.iterations,
            evaluations: self.history.counter.read(),
            converged: ending.is_converged(),
            termination: ending.to_string(),
            ending,
            history,
        })
    }
}

/// What checkpoints call the one method of problems without stages.
const LOOKING_AROUND: &str = "lbfgs, looking around";

/// Its tolerance of the cost where none is given.
const STANDARD_TOLERANCE: f64 = 1e-6;

/// Optimizes a problem from values of its variables, in their units (those out of bounds are moved to them).
///
/// A problem without stages, which all but [`TrajectoryProblem`]s are, has one method whatever the settings say: that of
/// [`Automatic`] for such problems, by L-BFGS alone.
///
/// With checkpoints it continues an interrupted run, and `start` is not used.
///
/// # Errors
/// The motion cannot be simulated or differentiated at the start, the method does not fit the
/// problem, a tolerance is negative, or a checkpoint cannot be read, written, or belongs to
/// something else.
///
/// # Examples
/// The motor that lifts a body by 10 cm in half a second:
/// ```
/// use isobar::multibody::{AppliedForces, Body, BodyState, Forces, MassSource, Model, ModelBuilder, State};
/// use isobar::optimize::trajectory::*;
/// use isobar::rollout::{ControlKnots, KnotInterpolation, Moment, SimulationSettings, TrajectoryResiduals};
/// # use isobar::scalar::Scalar;
/// # use isobar::spatial::{MassProperties, RigidTransform};
/// # use nalgebra::{Matrix3, Vector3};
///
/// struct Thruster;
/// impl AppliedForces for Thruster {
///     // A single thrust, as in the example of `AppliedForces`.
/// #    fn control_dimension(&self) -> usize {
/// #        1
/// #    }
/// #    fn apply<T: Scalar>(&self, _: &Model<T>, _: &State<T>, _: f64, u: &[T], forces: &mut Forces<T>) {
/// #        forces.bodies[0].translational.z += u[0];
/// #    }
/// }
///
/// struct Lifted;
/// impl TrajectoryResiduals for Lifted {
///     fn terminal<T: Scalar>(&self, moment: &Moment<T>, residuals: &mut Vec<T>) {
///         residuals.push(moment.state.bodies[0].position.z - 0.1);
///     }
/// }
///
/// # let mass = MassProperties { mass: 2.0, center_of_mass: Vector3::zeros(), inertia: Matrix3::identity() };
/// # let body = Body::free("drone", MassSource::Given(mass), vec![])?;
/// # let model = ModelBuilder { bodies: vec![body], ..Default::default() }.build()?;
/// # let start = State::of_bodies(vec![BodyState::at_rest(&RigidTransform::identity())]);
/// let (settings, until) = (SimulationSettings { time_step: 0.01, ..Default::default() }, 0.5);
/// let (model, initial, applied, residuals) = (&model, &start, &Thruster, &Lifted);
/// let task = TrajectoryTask { model, initial, settings, until, applied, residuals };
/// let knots = ControlKnots::new(KnotInterpolation::ZeroOrderHold, vec![0.0, 0.25])?;
/// let problem = TrajectoryProblem::new(task, &knots, &[ControlRange::new(0.0, 40.0)])?;
/// let found = optimize_trajectory(&problem, &[20.0; 2], &TrajectorySettings::default(), None, None)?;
/// assert!(found.cost < 1e-6);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn optimize_trajectory(
    problem: &dyn OptimizedProblem,
    start: &[f64],
    settings: &TrajectorySettings,
    checkpoints: Option<ProblemCheckpoints>,
    progress: Option<ProgressObserver>,
) -> Result<TrajectoryOptimum, Error> {
    let mut run = Run::new(problem, start, settings)?;
    let (damping, mut ending) = (settings.initial_damping, None);
    if !problem.has_stages() {
        run.saved_as = LOOKING_AROUND;
    }
    let ended = match (run.method, problem.has_stages()) {
        (TrajectoryMethod::Auto, _) | (_, false) => {
            let mut solver = Automatic::new().with_cost_tolerance(run.tolerance)?;
            if let Some(damping) = damping {
                solver = solver.with_initial_regularization(damping)?;
            }
            run.solve::<_, _, (), ()>(problem, solver, checkpoints, progress, |solver| {
                ending = solver.termination().cloned();
                None
            })
        }
        (TrajectoryMethod::Ilqr, _) => {
            let mut solver = Ilqr::new().with_cost_tolerance(run.tolerance)?;
            if let Some(damping) = damping {
                solver = solver.with_initial_regularization(damping)?;
            }
            run.solve::<_, _, (), ()>(problem, solver, checkpoints, progress, Ilqr::convergence)
        }
        (TrajectoryMethod::Lbfgs, _) => {
            // Where its search finds nothing, what is around tells whether there is anything.
            run.solve::<_, _, (), ()>(problem, run.lbfgs()?, checkpoints, progress, |solver| {
                solver.convergence().filter(|_| !solver.has_found_no_step())
            })
        }
        (TrajectoryMethod::LevenbergMarquardt, _) => {
            let (lower, upper) = problem.bounds();
            let solver = LevenbergMarquardt::new().with_bounds(lower.to_vec(), upper.to_vec())?;
            let mut solver = solver.with_cost_tolerance(run.tolerance)?;
            if let Some(damping) = damping {
                solver = solver.with_initial_damping(damping)?;
            }
            let convergence = LevenbergMarquardt::convergence;
            run.solve::<_, _, DMatrix<f64>, Vec<f64>>(problem, solver, checkpoints, progress, convergence)
        }
    }?;
    run.optimum(ended, ending)
}

/// Optimizes the mean of a problem's cost over perturbations of its variables (see
/// [`RandomizedSmoothing`] and [`WithinBounds`]), by [`Lbfgsb`]; otherwise as [`optimize_trajectory`]. The costs of the
/// iterations are those means; the cost of the result is the cost itself.
///
/// # Errors
/// The errors of [`optimize_trajectory`]; a method other than L-BFGS; smoothing settings that are not
/// valid; or a sample that cannot be evaluated at the start.
pub fn optimize_smoothed_trajectory(
    problem: &dyn OptimizedProblem,
    start: &[f64],
    smoothing: &SmoothingSettings,
    settings: &TrajectorySettings,
    checkpoints: Option<ProblemCheckpoints>,
    progress: Option<ProgressObserver>,
) -> Result<TrajectoryOptimum, Error> {
    let run = Run::new(problem, start, settings)?;
    if run.method != TrajectoryMethod::Lbfgs {
        return Err(ProblemError::Smoothed { method: run.method.name() }.into());
    }
    let SmoothingSettings { deviation, pairs, seed } = *smoothing;
    let perturbed = WithinBounds(problem);
    let smoothed = RandomizedSmoothing::new(&perturbed, run.start.len(), deviation, pairs, seed)?;
    let convergence = Lbfgsb::convergence;
    let ended = run.solve::<_, _, (), ()>(smoothed, run.lbfgs()?, checkpoints, progress, convergence)?;
    // Of a mean over perturbations, what is around tells nothing.
    let tolerance = run.tolerance;
    let ending =
        ended.convergence.map(|criterion| Termination::Converged { criterion, value: None, tolerance });
    let cost = problem.cost(&ended.variables)?;
    Ok(TrajectoryOptimum { cost, ..run.optimum(ended, ending)? })
}

/// Optimizes a trajectory from several starts, on rayon's threads; the results are in the order of the
/// starts and have the same bits whatever the number of threads. A start that fails gives its error as
/// its result and does not affect the others.
///
/// Each run counts its own evaluations; the problem's counter is not touched.
pub fn optimize_trajectory_from(
    problem: &TrajectoryProblem<'_>,
    starts: &[Vec<f64>],
    settings: &TrajectorySettings,
) -> Vec<Result<TrajectoryOptimum, Error>> {
    let one = |start: &Vec<f64>| optimize_trajectory(&problem.separate(), start, settings, None, None);
    in_parallel(starts, one)
}
