//! Minimizes the cost of an ensemble.

use std::sync::Arc;

use argmin::core::observers::ObserverMode;
use argmin::core::{CostFunction, Error, Executor, Gradient};

use super::problem::EnsembleProblem;
use crate::optimize::automatic::Automatic;
use crate::optimize::checkpoint::{ProblemCheckpoints, RunCheckpoint};
use crate::optimize::ilqr::{Expansion, Policy, StagedProblem};
use crate::optimize::progress::ProgressObserver;
use crate::optimize::solver::run;
use crate::optimize::surroundings::Surroundings;
use crate::optimize::termination::Termination;
use crate::optimize::trajectory::{History, TrajectoryMethod, TrajectoryOptimum, TrajectorySettings, taken};
use crate::rollout::{Controller, TrajectoryResiduals};

/// A problem by reference.
struct Borrowed<'p, 'a, C, R>(&'p EnsembleProblem<'a, C, R>);

impl<C: Controller, R: TrajectoryResiduals> CostFunction for Borrowed<'_, '_, C, R> {
    type Param = Vec<f64>;
    type Output = f64;

    fn cost(&self, x: &Vec<f64>) -> Result<f64, Error> {
        self.0.cost(x)
    }
}

impl<C: Controller, R: TrajectoryResiduals> Gradient for Borrowed<'_, '_, C, R> {
    type Param = Vec<f64>;
    type Gradient = Vec<f64>;

    fn gradient(&self, x: &Vec<f64>) -> Result<Vec<f64>, Error> {
        self.0.gradient(x)
    }
}
/// What is optimized is looked around in as trajectories are.
impl<C: Controller, R: TrajectoryResiduals> StagedProblem for Borrowed<'_, '_, C, R> {
    fn has_stages(&self) -> bool {
        false
    }

    fn stage_dimension(&self) -> usize {
        self.0.task().variables.count()
    }

    fn controls(&self) -> Vec<usize> {
        self.0.task().variables.controls()
    }

    fn bounds(&self) -> (&[f64], &[f64]) {
        self.0.task().variables.bounds()
    }

    fn expand(&self, _: &[f64]) -> Result<Expansion, Error> {
        Err(Error::msg(NO_STAGES))
    }

    fn roll_out(&self, _: &[f64], _: &Policy) -> Result<(Vec<f64>, f64), Error> {
        Err(Error::msg(NO_STAGES))
    }

    fn costs(&self, points: &[Vec<f64>]) -> Vec<Option<f64>> {
        self.0.costs(points)
    }
}

const NO_STAGES: &str = "an ensemble has no stages";

/// What checkpoints call the method.
const METHOD: &str = "lbfgs, looking around";

/// Tolerance of the cost where none is given.
const STANDARD_TOLERANCE: f64 = 1e-6;

/// Optimizes the variables of an ensemble from values in their units; those out of bounds are moved to them. A survey of starts,
/// L-BFGS-B and looks around where it ends are those of [`Automatic`], for a problem without stages. Of the settings the method and the damping do not matter.
///
/// With checkpoints it continues an interrupted run, and `start` is not used.
///
/// # Errors
/// A member cannot be simulated or differentiated at the start, a tolerance is negative, or a checkpoint cannot be read,
/// written, or belongs to something else.
///
/// # Panics
/// When there is not one value for each variable.
pub fn optimize_ensemble<C: Controller, R: TrajectoryResiduals>(
    problem: &EnsembleProblem<'_, C, R>,
    start: &[f64],
    settings: &TrajectorySettings,
    checkpoints: Option<ProblemCheckpoints>,
    progress: Option<ProgressObserver>,
) -> Result<TrajectoryOptimum, Error> {
    let variables = &problem.task().variables;
    let (lower, upper) = variables.bounds();
    let history = History { counter: problem.counter(), iterations: Arc::default() };
    let tolerance = settings.cost_tolerance.unwrap_or(STANDARD_TOLERANCE);
    let solver = Automatic::new().with_cost_tolerance(tolerance)?;
    let checkpoint = match checkpoints {
        None => None,
        Some(ProblemCheckpoints { store, problem: of }) => {
            let mut checkpoint = RunCheckpoint {
                store,
                method: METHOD.to_owned(),
                problem: of,
                lower: lower.to_vec(),
                upper: upper.to_vec(),
                cost: None,
                max_iterations: settings.max_iterations,
                counter: Arc::clone(&history.counter),
                iterations: Arc::clone(&history.iterations),
            };
            checkpoint.evaluate::<Automatic>(|x| problem.cost(x))?;
            Some(checkpoint)
        }
    };
    let start = variables.from_values(start);
    let mut executor = Executor::new(Borrowed(problem), solver)
        .configure(|state| state.param(start).max_iters(settings.max_iterations))
        .add_observer(history.clone(), ObserverMode::Always);
    if let Some(checkpoint) = checkpoint {
        executor = executor.checkpointing(checkpoint);
    }
    let mut ending = None;
    let ended = run(executor, progress.as_ref(), |solver| {
        ending = solver.termination().cloned();
        None
    })?;
    let history = taken(&history.iterations);
    let ending = match ending {
        Some(ending) => ending,
        None => Termination::of_run(&ended, tolerance, &history, &|| {
            let gradient = problem.gradient(&ended.variables)?;
            let at = (&ended.variables[..], ended.cost, &gradient[..]);
            let costs = |points: &[Vec<f64>]| problem.costs(points);
            Ok(Surroundings::examine(at, variables.bounds(), &variables.controls(), &costs).0)
        })?,
    };
    Ok(TrajectoryOptimum {
        method: TrajectoryMethod::Lbfgs,
        values: variables.values(&ended.variables),
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
