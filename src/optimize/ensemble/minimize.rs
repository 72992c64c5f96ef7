//! Minimizes the cost of an ensemble.

use std::sync::Arc;

use argmin::core::observers::ObserverMode;
use argmin::core::{CostFunction, Error, Executor, Gradient};

use super::problem::EnsembleProblem;
use crate::optimize::checkpoint::RunCheckpoint;
use crate::optimize::lbfgsb::Lbfgsb;
use crate::optimize::progress::ProgressObserver;
use crate::optimize::solver::run;
use crate::optimize::surroundings::Surroundings;
use crate::optimize::termination::Termination;
use crate::optimize::trajectory::{
    History, TrajectoryCheckpoints, TrajectoryMethod, TrajectoryOptimum, TrajectorySettings, taken,
};
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

/// Iterations whose reduction of the cost is told where there were not enough of them.
const TOLD_ITERATIONS: usize = 5;

/// Tolerance of the cost where none is given.
const STANDARD_TOLERANCE: f64 = 1e-6;

/// Optimizes the variables of an ensemble by L-BFGS-B ([`Lbfgsb`]), which needs gradients alone, from values in their
/// units; those out of bounds are moved to them. Of the settings the method and the damping do not matter.
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
    checkpoints: Option<TrajectoryCheckpoints>,
    progress: Option<ProgressObserver>,
) -> Result<TrajectoryOptimum, Error> {
    let variables = &problem.task().variables;
    let (lower, upper) = variables.bounds();
    let history = History { counter: problem.counter(), iterations: Arc::default() };
    let tolerance = settings.cost_tolerance.unwrap_or(STANDARD_TOLERANCE);
    let solver = Lbfgsb::new().with_bounds(lower.to_vec(), upper.to_vec())?.with_cost_tolerance(tolerance)?;
    let checkpoint = match checkpoints {
        None => None,
        Some(TrajectoryCheckpoints { store, problem: of }) => {
            let mut checkpoint = RunCheckpoint {
                store,
                method: TrajectoryMethod::Lbfgs.name().to_owned(),
                problem: of,
                lower: lower.to_vec(),
                upper: upper.to_vec(),
                cost: None,
                max_iterations: settings.max_iterations,
                counter: Arc::clone(&history.counter),
                iterations: Arc::clone(&history.iterations),
            };
            checkpoint.evaluate::<Lbfgsb>(|x| problem.cost(x))?;
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
    // Where its search finds nothing, what is around tells whether there is anything.
    let ended = run(executor, progress.as_ref(), |solver| {
        solver.convergence().filter(|_| !solver.has_found_no_step())
    })?;
    let history = taken(&history.iterations);
    let ending = match ended.convergence {
        Some(criterion) => Termination::Converged { criterion, value: None, tolerance },
        None if ended.is_out_of_iterations => {
            let before = history.len().saturating_sub(1 + TOLD_ITERATIONS);
            let decrease = history.get(before).map_or(0.0, |before| 1.0 - ended.cost / before.cost);
            Termination::Budget { decrease, of_last: history.len().saturating_sub(1 + before) }
        }
        None => {
            let gradient = problem.gradient(&ended.variables)?;
            let at = (&ended.variables[..], ended.cost, &gradient[..]);
            let (surroundings, _) =
                Surroundings::examine(at, variables.bounds(), 1, &|points| problem.costs(points));
            Termination::at(surroundings, tolerance)
        }
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
