//! A trajectory optimization from start to finish.

use std::sync::{Arc, Mutex, PoisonError};

use argmin::core::observers::{Observe, ObserverMode};
use argmin::core::{
    CostFunction, Error, Executor, Gradient, IterState, Jacobian, KV, Operator, Solver, State,
};
use nalgebra::DMatrix;
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::control_range::TrajectoryProblemError;
use super::evaluations::{EvaluationCounter, Evaluations};
use super::problem::TrajectoryProblem;
use super::staged::StagedTrajectory;
use crate::multibody::AppliedForces;
use crate::optimize::checkpoint::{CheckpointStore, NoStore, Resumable, RunCheckpoint};
use crate::optimize::ilqr::Ilqr;
use crate::optimize::lbfgsb::Lbfgsb;
use crate::optimize::levenberg_marquardt::LevenbergMarquardt;
use crate::optimize::progress::ProgressObserver;
use crate::optimize::randomized_smoothing::{RandomizedSmoothing, SmoothingSettings};
use crate::optimize::solver::{Convergence, Ended, run};
use crate::rollout::TrajectoryResiduals;

/// The method of a trajectory optimization. All keep the controls within their bounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TrajectoryMethod {
    /// The iterative linear–quadratic regulator: linearizes the motion step by step.
    #[default]
    Ilqr,
    /// The quasi-Newton method L-BFGS-B: gradients alone.
    Lbfgs,
    /// The method of Levenberg and Marquardt on all residuals at once.
    LevenbergMarquardt,
}

impl TrajectoryMethod {
    /// Its name, as in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ilqr => "ilqr",
            Self::Lbfgs => "lbfgs",
            Self::LevenbergMarquardt => "levenberg_marquardt",
        }
    }
}

/// How a trajectory optimization is done.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrajectorySettings {
    /// The method.
    #[serde(rename = "kind")]
    pub method: TrajectoryMethod,
    /// Most iterations.
    pub max_iterations: u64,
    /// It ends when an iteration lowers, or promises to lower, the cost by less than this part of
    /// it.
    pub cost_tolerance: f64,
    /// How much the first steps of iLQR and Levenberg–Marquardt are held back, relative to the
    /// Hessian's diagonal; positive. A larger one is more cautious, which spares rollouts where the
    /// start is far from any solution. `None` is the method's own: 0 and 10⁻³. L-BFGS takes none.
    pub initial_damping: Option<f64>,
}

impl Default for TrajectorySettings {
    /// iLQR, at most 200 iterations, a cost tolerance of 10⁻⁸.
    fn default() -> Self {
        Self {
            method: TrajectoryMethod::default(),
            max_iterations: 200,
            cost_tolerance: 1e-8,
            initial_damping: None,
        }
    }
}

/// What one iteration came to.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrajectoryIteration {
    /// Its number; 0 is the start.
    pub iteration: u64,
    /// The cost.
    pub cost: f64,
    /// The largest derivative of the cost by a variable that no bound holds, where the solver tells
    /// it.
    pub gradient_norm: Option<f64>,
    /// Evaluations so far.
    pub evaluations: Evaluations,
}

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
    /// Whether the solver met its tolerance.
    pub converged: bool,
    /// Why the solver stopped.
    pub termination: String,
    /// The iterations, those before an interruption included.
    pub history: Vec<TrajectoryIteration>,
}

/// Where the checkpoints of a run are kept, and what tells its problem from others.
#[derive(Debug)]
pub struct TrajectoryCheckpoints<T> {
    /// Where they are kept.
    pub store: T,
    /// What tells this problem from others, such as a digest of its definition: a checkpoint with
    /// another one is refused.
    pub problem: String,
}

/// The iterations that were written down; shared with the checkpoints.
pub type Iterations = Arc<Mutex<Vec<TrajectoryIteration>>>;

/// Writes down every iteration.
#[derive(Clone, Debug)]
struct History {
    counter: Arc<EvaluationCounter>,
    iterations: Iterations,
}

impl History {
    fn note(&self, iteration: u64, cost: f64, kv: &KV) {
        let gradient_norm = kv.get("gradient_norm").and_then(|norm| norm.get_float());
        let evaluations = self.counter.read();
        let noted = TrajectoryIteration { iteration, cost, gradient_norm, evaluations };
        self.iterations.lock().unwrap_or_else(PoisonError::into_inner).push(noted);
    }
}

impl<I: State<Float = f64>> Observe<I> for History {
    fn observe_init(&mut self, _: &str, state: &I, kv: &KV) -> Result<(), Error> {
        self.note(0, state.get_cost(), kv);
        Ok(())
    }

    fn observe_iter(&mut self, state: &I, kv: &KV) -> Result<(), Error> {
        self.note(state.get_iter() + 1, state.get_cost(), kv);
        Ok(())
    }
}

/// A trajectory problem by reference.
struct Borrowed<'p, 'a, A, R>(&'p TrajectoryProblem<'a, A, R>);

impl<A: AppliedForces, R: TrajectoryResiduals> CostFunction for Borrowed<'_, '_, A, R> {
    type Param = Vec<f64>;
    type Output = f64;
    fn cost(&self, x: &Vec<f64>) -> Result<f64, Error> {
        self.0.cost(x)
    }
}

impl<A: AppliedForces, R: TrajectoryResiduals> Gradient for Borrowed<'_, '_, A, R> {
    type Param = Vec<f64>;
    type Gradient = Vec<f64>;
    fn gradient(&self, x: &Vec<f64>) -> Result<Vec<f64>, Error> {
        self.0.gradient(x)
    }
}

impl<A: AppliedForces, R: TrajectoryResiduals> Operator for Borrowed<'_, '_, A, R> {
    type Param = Vec<f64>;
    type Output = Vec<f64>;
    fn apply(&self, x: &Vec<f64>) -> Result<Vec<f64>, Error> {
        self.0.apply(x)
    }
}

impl<A: AppliedForces, R: TrajectoryResiduals> Jacobian for Borrowed<'_, '_, A, R> {
    type Param = Vec<f64>;
    type Jacobian = DMatrix<f64>;
    fn jacobian(&self, x: &Vec<f64>) -> Result<DMatrix<f64>, Error> {
        self.0.jacobian(x)
    }
}

/// One run of a solver.
struct Run<T> {
    start: Vec<f64>,
    settings: TrajectorySettings,
    /// Lower and upper bounds of the variables.
    bounds: (Vec<f64>, Vec<f64>),
    history: History,
    checkpoints: Option<TrajectoryCheckpoints<T>>,
    progress: Option<ProgressObserver>,
}

impl Ended {
    /// The result for a problem, with the iterations that were written down.
    fn optimum<A: AppliedForces, R: TrajectoryResiduals>(
        self,
        problem: &TrajectoryProblem<'_, A, R>,
        method: TrajectoryMethod,
        iterations: &Iterations,
    ) -> Result<TrajectoryOptimum, Error> {
        Ok(TrajectoryOptimum {
            method,
            values: problem.values(&self.variables)?,
            variables: self.variables,
            cost: self.cost,
            iterations: self.iterations,
            evaluations: problem.evaluations(),
            converged: self.convergence.is_some(),
            termination: self.termination,
            history: std::mem::take(&mut *iterations.lock().unwrap_or_else(PoisonError::into_inner)),
        })
    }
}

impl<T: CheckpointStore + 'static> Run<T> {
    /// A run from these values at knots, and where its iterations are written down.
    fn new<A: AppliedForces, R: TrajectoryResiduals>(
        problem: &TrajectoryProblem<'_, A, R>,
        start: &[f64],
        settings: &TrajectorySettings,
        checkpoints: Option<TrajectoryCheckpoints<T>>,
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
        let checkpoint = self.checkpoints.map(|TrajectoryCheckpoints { store, problem }| RunCheckpoint {
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
/// With checkpoints it goes on from where an interrupted run was, and `start` does not matter.
///
/// # Errors
/// The motion cannot be simulated or differentiated at the start, the method does not fit the
/// problem, a tolerance is negative, or a checkpoint cannot be read, written, or belongs to
/// something else.
pub fn optimize_trajectory<A: AppliedForces, R: TrajectoryResiduals, T: CheckpointStore + 'static>(
    problem: &TrajectoryProblem<'_, A, R>,
    start: &[f64],
    settings: &TrajectorySettings,
    checkpoints: Option<TrajectoryCheckpoints<T>>,
    progress: Option<ProgressObserver>,
) -> Result<TrajectoryOptimum, Error> {
    let (run, history) = Run::new(problem, start, settings, checkpoints, progress)?;
    let (lower, upper) = problem.bounds();
    let (lower, upper, tolerance) = (lower.to_vec(), upper.to_vec(), settings.cost_tolerance);
    let ended = match settings.method {
        TrajectoryMethod::Ilqr => {
            let mut solver = Ilqr::new().with_cost_tolerance(tolerance)?;
            if let Some(damping) = settings.initial_damping {
                solver = solver.with_initial_regularization(damping)?;
            }
            run.solve::<_, _, (), ()>(StagedTrajectory::new(problem), solver, Ilqr::convergence)
        }
        TrajectoryMethod::Lbfgs => {
            let solver = Lbfgsb::new().with_bounds(lower, upper)?.with_cost_tolerance(tolerance)?;
            run.solve::<_, _, (), ()>(Borrowed(problem), solver, Lbfgsb::convergence)
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
    ended.optimum(problem, settings.method, &history)
}

/// Optimizes the mean of a trajectory's cost over perturbations of the values at knots (see
/// [`RandomizedSmoothing`]), by [`Lbfgsb`]; otherwise as [`optimize_trajectory`]. The costs of the
/// iterations are those means; that of the result is the cost itself.
///
/// # Errors
/// As of [`optimize_trajectory`]; the method is another one; the smoothing is not usable; a sample
/// cannot be evaluated at the start.
pub fn optimize_smoothed_trajectory<
    A: AppliedForces,
    R: TrajectoryResiduals,
    T: CheckpointStore + 'static,
>(
    problem: &TrajectoryProblem<'_, A, R>,
    start: &[f64],
    smoothing: &SmoothingSettings,
    settings: &TrajectorySettings,
    checkpoints: Option<TrajectoryCheckpoints<T>>,
    progress: Option<ProgressObserver>,
) -> Result<TrajectoryOptimum, Error> {
    if settings.method != TrajectoryMethod::Lbfgs {
        return Err(TrajectoryProblemError::Smoothed { method: settings.method.name() }.into());
    }
    let (run, history) = Run::new(problem, start, settings, checkpoints, progress)?;
    let SmoothingSettings { deviation, pairs, seed } = *smoothing;
    let smoothed = RandomizedSmoothing::new(problem, run.start.len(), deviation, pairs, seed)?;
    let (lower, upper) = problem.bounds();
    let solver = Lbfgsb::new()
        .with_bounds(lower.to_vec(), upper.to_vec())?
        .with_cost_tolerance(settings.cost_tolerance)?;
    let mut ended = run.solve::<_, _, (), ()>(smoothed, solver, Lbfgsb::convergence)?;
    ended.cost = problem.cost(&ended.variables)?;
    ended.optimum(problem, settings.method, &history)
}

/// Optimizes a trajectory from several starts, on rayon's threads; the results are in the order of
/// the starts and have the same bits whatever the number of threads. A start that fails leaves its
/// error in its place and the others alone.
///
/// Each run counts its own evaluations; the problem's counter is not touched.
pub fn optimize_trajectory_from<A: AppliedForces, R: TrajectoryResiduals>(
    problem: &TrajectoryProblem<'_, A, R>,
    starts: &[Vec<f64>],
    settings: &TrajectorySettings,
) -> Vec<Result<TrajectoryOptimum, Error>> {
    let one = |start: &Vec<f64>| {
        optimize_trajectory(
            &problem.separate(),
            start,
            settings,
            None::<TrajectoryCheckpoints<NoStore>>,
            None,
        )
    };
    starts.par_iter().map(one).collect()
}
