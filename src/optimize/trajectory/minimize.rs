//! A trajectory optimization from start to finish.

use std::sync::Arc;

use argmin::core::observers::ObserverMode;
use argmin::core::{CostFunction, Error, Executor, Gradient, IterState, Jacobian, Operator, Solver};
use nalgebra::DMatrix;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::evaluations::Evaluations;
use super::history::{History, Iterations, TrajectoryIteration, taken};
use super::problem::TrajectoryProblem;
use super::settings::{TrajectoryMethod, TrajectorySettings};
use super::staged::StagedTrajectory;
use crate::optimize::automatic::Automatic;
use crate::optimize::checkpoint::{ProblemCheckpoints, Resumable, RunCheckpoint};
use crate::optimize::error::ProblemError;
use crate::optimize::ilqr::{Ilqr, StagedProblem};
use crate::optimize::lbfgsb::Lbfgsb;
use crate::optimize::levenberg_marquardt::LevenbergMarquardt;
use crate::optimize::progress::ProgressObserver;
use crate::optimize::randomized_smoothing::{RandomizedSmoothing, SmoothingSettings};
use crate::optimize::solver::{Convergence, Ended, run};
use crate::optimize::surroundings::Surroundings;
use crate::optimize::termination::Termination;
use crate::parallel::in_parallel;

/// The result of a trajectory optimization.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TrajectoryOptimum {
    /// The method.
    pub method: TrajectoryMethod,
    /// The optimizer's variables.
    pub variables: Vec<f64>,
    /// Values of the controls at knots, in their units, knot after knot.
    pub values: Vec<f64>,
    /// The cost ½‖r‖².
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

/// A trajectory problem by reference.
struct Borrowed<'p, 'a>(&'p TrajectoryProblem<'a>);

impl CostFunction for Borrowed<'_, '_> {
    type Param = Vec<f64>;
    type Output = f64;
    fn cost(&self, x: &Vec<f64>) -> Result<f64, Error> {
        self.0.cost(x)
    }
}

impl Gradient for Borrowed<'_, '_> {
    type Param = Vec<f64>;
    type Gradient = Vec<f64>;
    fn gradient(&self, x: &Vec<f64>) -> Result<Vec<f64>, Error> {
        self.0.gradient(x)
    }
}

impl Operator for Borrowed<'_, '_> {
    type Param = Vec<f64>;
    type Output = Vec<f64>;
    fn apply(&self, x: &Vec<f64>) -> Result<Vec<f64>, Error> {
        self.0.apply(x)
    }
}

impl Jacobian for Borrowed<'_, '_> {
    type Param = Vec<f64>;
    type Jacobian = DMatrix<f64>;
    fn jacobian(&self, x: &Vec<f64>) -> Result<DMatrix<f64>, Error> {
        self.0.jacobian(x)
    }
}

/// One run of a solver.
struct Run {
    start: Vec<f64>,
    settings: TrajectorySettings,
    /// Lower and upper bounds of the variables.
    bounds: (Vec<f64>, Vec<f64>),
    history: History,
    checkpoints: Option<ProblemCheckpoints>,
    progress: Option<ProgressObserver>,
}

/// How a run ended, by what is around its end (see [`Termination::of_run`]).
fn ending(
    ended: &Ended,
    problem: &TrajectoryProblem<'_>,
    tolerance: f64,
    history: &[TrajectoryIteration],
) -> Result<Termination, Error> {
    Termination::of_run(ended, tolerance, history, &|| {
        let gradient = problem.gradient(&ended.variables)?;
        let at = (&ended.variables[..], ended.cost, &gradient[..]);
        let controls = StagedTrajectory::new(problem).controls();
        Ok(Surroundings::examine(at, problem.bounds(), &controls, &|points| problem.costs(points)).0)
    })
}

/// The result of a run, with the iterations that were written down.
fn optimum(
    ended: Ended,
    ending: Termination,
    problem: &TrajectoryProblem<'_>,
    method: TrajectoryMethod,
    history: Vec<TrajectoryIteration>,
) -> Result<TrajectoryOptimum, Error> {
    Ok(TrajectoryOptimum {
        method,
        values: problem.values(&ended.variables)?,
        variables: ended.variables,
        cost: ended.cost,
        iterations: ended.iterations,
        evaluations: problem.evaluations(),
        converged: ending.is_converged(),
        termination: ending.to_string(),
        ending,
        history,
    })
}

impl Run {
    /// A run from these values at knots, and where its iterations are written down.
    fn new(
        problem: &TrajectoryProblem<'_>,
        start: &[f64],
        settings: &TrajectorySettings,
        checkpoints: Option<ProblemCheckpoints>,
        progress: Option<ProgressObserver>,
    ) -> Result<(Self, Iterations), Error> {
        let history = History { counter: problem.counter(), iterations: Arc::default() };
        let iterations = Arc::clone(&history.iterations);
        let start = problem.variables(start)?;
        let (lower, upper) = problem.bounds();
        let bounds = (lower.to_vec(), upper.to_vec());
        Ok((Self { start, settings: *settings, bounds, history, checkpoints, progress }, iterations))
    }

    fn solve<O, S, J, R>(
        self,
        problem: O,
        solver: S,
        convergence: impl FnOnce(&S) -> Option<Convergence>,
    ) -> Result<Ended, Error>
    where
        O: CostFunction<Param = Vec<f64>, Output = f64>,
        S: Solver<O, IterState<Vec<f64>, Vec<f64>, J, (), R, f64>>
            + Serialize
            + DeserializeOwned
            + Clone
            + Resumable,
        J: Clone + 'static,
        R: Clone + 'static,
    {
        let max_iterations = self.settings.max_iterations;
        let checkpoint = self.checkpoints.map(|ProblemCheckpoints { store, problem }| RunCheckpoint {
            store,
            method: self.settings.method.name().to_owned(),
            problem,
            lower: self.bounds.0,
            upper: self.bounds.1,
            cost: None,
            max_iterations,
            counter: Arc::clone(&self.history.counter),
            iterations: Arc::clone(&self.history.iterations),
        });
        let checkpoint = match checkpoint {
            Some(mut checkpoint) => {
                checkpoint.evaluate::<S>(|x| problem.cost(x))?;
                Some(checkpoint)
            }
            None => None,
        };
        let mut executor = Executor::new(problem, solver)
            .configure(|state| state.param(self.start).max_iters(max_iterations))
            .add_observer(self.history.clone(), ObserverMode::Always);
        if let Some(checkpoint) = checkpoint {
            executor = executor.checkpointing(checkpoint);
        }
        run(executor, self.progress.as_ref(), convergence)
    }
}

/// Optimizes a trajectory from the values of its controls at knots, in their units (those out of
/// bounds are moved to them).
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
    problem: &TrajectoryProblem<'_>,
    start: &[f64],
    settings: &TrajectorySettings,
    checkpoints: Option<ProblemCheckpoints>,
    progress: Option<ProgressObserver>,
) -> Result<TrajectoryOptimum, Error> {
    let (run, history) = Run::new(problem, start, settings, checkpoints, progress)?;
    let (lower, upper) = problem.bounds();
    let (lower, upper) = (lower.to_vec(), upper.to_vec());
    let tolerance = settings.cost_tolerance.unwrap_or(settings.method.standard_tolerance());
    let mut ending_of_method = None;
    let ended = match settings.method {
        TrajectoryMethod::Auto => {
            let mut solver = Automatic::new().with_cost_tolerance(tolerance)?;
            if let Some(damping) = settings.initial_damping {
                solver = solver.with_initial_regularization(damping)?;
            }
            run.solve::<_, _, (), ()>(StagedTrajectory::new(problem), solver, |solver| {
                ending_of_method = solver.termination().cloned();
                None
            })
        }
        TrajectoryMethod::Ilqr => {
            let mut solver = Ilqr::new().with_cost_tolerance(tolerance)?;
            if let Some(damping) = settings.initial_damping {
                solver = solver.with_initial_regularization(damping)?;
            }
            run.solve::<_, _, (), ()>(StagedTrajectory::new(problem), solver, Ilqr::convergence)
        }
        TrajectoryMethod::Lbfgs => {
            let solver = Lbfgsb::new().with_bounds(lower, upper)?.with_cost_tolerance(tolerance)?;
            // Where its search finds nothing, what is around tells whether there is anything.
            run.solve::<_, _, (), ()>(Borrowed(problem), solver, |solver| {
                solver.convergence().filter(|_| !solver.has_found_no_step())
            })
        }
        TrajectoryMethod::LevenbergMarquardt => {
            let mut solver =
                LevenbergMarquardt::new().with_bounds(lower, upper)?.with_cost_tolerance(tolerance)?;
            if let Some(damping) = settings.initial_damping {
                solver = solver.with_initial_damping(damping)?;
            }
            run.solve::<_, _, DMatrix<f64>, Vec<f64>>(
                Borrowed(problem),
                solver,
                LevenbergMarquardt::convergence,
            )
        }
    }?;
    let history = taken(&history);
    let ending = match ending_of_method {
        Some(ending) => ending,
        None => ending(&ended, problem, tolerance, &history)?,
    };
    optimum(ended, ending, problem, settings.method, history)
}

/// Optimizes the mean of a trajectory's cost over perturbations of the values at knots (see
/// [`RandomizedSmoothing`]), by [`Lbfgsb`]; otherwise as [`optimize_trajectory`]. The costs of the
/// iterations are those means; the cost of the result is the cost itself.
///
/// # Errors
/// The errors of [`optimize_trajectory`]; a method other than L-BFGS; smoothing settings that are not
/// valid; or a sample that cannot be evaluated at the start.
pub fn optimize_smoothed_trajectory(
    problem: &TrajectoryProblem<'_>,
    start: &[f64],
    smoothing: &SmoothingSettings,
    settings: &TrajectorySettings,
    checkpoints: Option<ProblemCheckpoints>,
    progress: Option<ProgressObserver>,
) -> Result<TrajectoryOptimum, Error> {
    if settings.method != TrajectoryMethod::Lbfgs {
        return Err(ProblemError::Smoothed { method: settings.method.name() }.into());
    }
    let (run, history) = Run::new(problem, start, settings, checkpoints, progress)?;
    let SmoothingSettings { deviation, pairs, seed } = *smoothing;
    let smoothed = RandomizedSmoothing::new(problem, run.start.len(), deviation, pairs, seed)?;
    let (lower, upper) = problem.bounds();
    let tolerance = settings.cost_tolerance.unwrap_or(settings.method.standard_tolerance());
    let solver = Lbfgsb::new().with_bounds(lower.to_vec(), upper.to_vec())?.with_cost_tolerance(tolerance)?;
    let mut ended = run.solve::<_, _, (), ()>(smoothed, solver, Lbfgsb::convergence)?;
    let history = taken(&history);
    // Of a mean over perturbations, what is around tells nothing.
    let ending = match ended.convergence {
        Some(criterion) => Termination::Converged { criterion, value: None, tolerance },
        None => ending(&ended, problem, tolerance, &history)?,
    };
    ended.cost = problem.cost(&ended.variables)?;
    optimum(ended, ending, problem, settings.method, history)
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
