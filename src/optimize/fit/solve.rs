//! The solver of a fit, with what makes it easier: an easier problem first, and substeps that are held.

use std::sync::Arc;

use argmin::core::{Error, Solver};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::kept::{Begun, KeptFit, Stage};
use super::settings::{FitSettings, Method};
use crate::optimize::checkpoint::{ProblemCheckpoints, Resumable, RunCheckpoint};
use crate::optimize::data_error::DataError;
use crate::optimize::history::History;
use crate::optimize::lbfgsb::Lbfgsb;
use crate::optimize::least_squares::{
    FittedModel, HeldSubsteps, LastLinearization, LeastSquares, half_square,
};
use crate::optimize::levenberg_marquardt::LevenbergMarquardt;
use crate::optimize::parameters::{FitParameter, FitParameters};
use crate::optimize::progress::ProgressObserver;
use crate::optimize::solver::{Convergence, Ended, SolverState, run};

/// Most times that substeps are held at what the fit has come to.
const MOST_ROUNDS: usize = 4;

/// The cost tolerance from which on a solution is rough: something goes on from it, and what is less than its errors is not
/// looked for.
pub(in crate::optimize) const ROUGH: f64 = 1e-3;

/// The errors of a rough solution, as a part of standard errors, and those that are left where jumps of substeps make as much.
const ERROR_OF_ROUGH: f64 = 0.1;
const ERROR_OF_JUMPS: f64 = 0.01;

/// The damping of the first step of the method of Levenberg and Marquardt. Parameters of contact are hard to tell from
/// one another, and a larger one holds back what few residuals say for many iterations.
const FIRST_DAMPING: f64 = 1e-4;

/// Most iterations of an easier problem.
const MOST_EASED: u64 = 20;

/// What the solver of a fit came to.
pub(super) struct Solved {
    pub variables: Vec<f64>,
    pub cost: f64,
    /// All iterations, those before an interruption included.
    pub iterations: u64,
    pub convergence: Option<Convergence>,
    pub termination: String,
    /// The substeps that it belongs to, where steps have some.
    pub held: Option<HeldSubsteps>,
    /// The linearization there, perhaps.
    pub last: LastLinearization,
}

/// The parameters in their units.
pub(super) fn values_at(parameters: &FitParameters, x: &[f64]) -> Result<Vec<f64>, Error> {
    Ok(parameters.values(x)?.into_iter().map(|(value, _)| value).collect())
}

/// Solves from values of the parameters, given with their cost, or from what was kept of a solution that was interrupted.
pub(super) fn solve_from(
    model: &dyn FittedModel,
    parameters: &FitParameters,
    settings: &FitSettings,
    (start, cost): &(Vec<f64>, f64),
    (progress, kept): (Option<&ProgressObserver>, Option<ProblemCheckpoints>),
) -> Result<Solved, Error> {
    let (lower, upper) = parameters.bounds();
    let kept = kept.map(|place| KeptFit::new(place, (&lower, &upper)).map(Arc::new)).transpose()?;
    let kept = kept.as_ref();
    let from = match kept.map(|kept| kept.interrupted(model)).transpose()?.flatten() {
        Some(Begun { stage, variables, iterations, .. }) if stage != Stage::Eased => {
            (stage, variables, iterations)
        }
        _ => {
            let x = parameters.variables(start)?;
            let (x, made) = eased_start(model, parameters, settings, (x, *cost), kept)?;
            (Stage::Whole, x, made)
        }
    };
    let last = LastLinearization::default();
    let (ended, held) = solve_through_jumps((model, &last), parameters, settings, from, progress, kept)?;
    Ok(Solved {
        variables: ended.variables,
        cost: ended.cost,
        iterations: ended.iterations,
        convergence: ended.convergence,
        termination: ended.termination,
        held,
        last,
    })
}

/// Where a fit begins, and how many iterations it took to find that: at the solution of the model's easier problem
/// ([`Residuals::eased`]) where there is one and its cost is lower, otherwise at the start that is given with its cost.
fn eased_start(
    model: &dyn FittedModel,
    parameters: &FitParameters,
    settings: &FitSettings,
    (x, cost): (Vec<f64>, f64),
    kept: Option<&Arc<KeptFit>>,
) -> Result<(Vec<f64>, u64), Error> {
    let Some(easier) = model.eased() else { return Ok((x, 0)) };
    let cost_tolerance = settings.cost_tolerance.max(ROUGH);
    // It must not use up what the problem itself needs.
    let max_iterations = (settings.max_iterations / 2).min(MOST_EASED);
    let settings = FitSettings { cost_tolerance, max_iterations, ..*settings };
    kept.map_or(Ok(()), |kept| kept.begin(Stage::Eased, (&x, 0), (&*easier, None)))?;
    let ended = match solve(LeastSquares::of(&*easier, parameters), &settings, x.clone(), None, kept) {
        Err(error) if error.is::<DataError>() => return Err(error),
        // One that fails is no help, and no harm.
        Err(_) => return Ok((x, 0)),
        Ok(ended) => ended,
    };
    let values = values_at(parameters, &ended.variables)?;
    let priors: f64 = parameters.prior_residuals(&values).map(|(_, r, _)| 0.5 * r * r).sum();
    let is_better = model.residuals(&values).is_ok_and(|r| half_square(&r) + priors < cost);
    Ok((if is_better { ended.variables } else { x }, ended.iterations))
}

/// Runs the solver of a fit on a stage from these variables, which so many iterations led to; where residuals come from
/// error-controlled steps, first with substeps that follow the parameters, then with those held that it has come to.
/// Returns these too.
fn solve_through_jumps(
    (model, last): (&dyn FittedModel, &LastLinearization),
    parameters: &FitParameters,
    settings: &FitSettings,
    (stage, x, made): (Stage, Vec<f64>, u64),
    progress: Option<&ProgressObserver>,
    kept: Option<&Arc<KeptFit>>,
) -> Result<(Ended, Option<HeldSubsteps>), Error> {
    let find_substeps = |x: &[f64]| model.find_substeps(&values_at(parameters, x)?);
    let run = |stage, cost_tolerance, (x, made): (Vec<f64>, u64), held: Option<&HeldSubsteps>, progress| {
        let problem = LeastSquares::of(model, parameters).remembering(last);
        let problem = held.map_or(problem, |held| problem.holding(held));
        kept.map_or(Ok(()), |kept| kept.begin(stage, (&x, made), (model, held)))?;
        // Those of an iteration limit are left after iterations that were made.
        let max_iterations = settings.max_iterations.saturating_sub(made);
        let settings = FitSettings { max_iterations, cost_tolerance, ..*settings };
        let ended = solve(problem, &settings, x, progress, kept)?;
        Ok::<_, Error>(Ended { iterations: made + ended.iterations, ..ended })
    };
    let mut held = find_substeps(&x)?;
    if held.is_empty() {
        return Ok((run(stage, settings.cost_tolerance, (x, made), None, progress)?, None));
    }
    let (mut first, mut at) = (1, (x, made));
    let rough = settings.cost_tolerance.max(ROUGH);
    if let Stage::Held(round) = stage {
        first = round;
    } else {
        let ended = run(stage, rough, at, None, progress)?;
        held = find_substeps(&ended.variables)?;
        if ended.is_out_of_iterations || ended.is_interrupted {
            return Ok((ended, Some(held)));
        }
        at = (ended.variables, ended.iterations);
    }
    for round in first.. {
        // Substeps that were found once more tell what jumps with them.
        let tolerance = if round == 1 { settings.cost_tolerance } else { rough };
        let ended = run(Stage::Held(round), tolerance, at.clone(), Some(&held), None)?;
        if ended.is_out_of_iterations || ended.is_interrupted || ended.variables == at.0 {
            return Ok((ended, Some(held)));
        }
        let found = find_substeps(&ended.variables)?;
        if found == held || round >= MOST_ROUNDS {
            return Ok((ended, Some(held)));
        }
        (held, at) = (found, (ended.variables, ended.iterations));
    }
    Err(Error::msg("the rounds with held substeps do not end"))
}

/// Runs the solver of a fit from these variables, or from what was kept of the present stage.
pub(in crate::optimize) fn solve(
    problem: LeastSquares<'_>,
    settings: &FitSettings,
    x: Vec<f64>,
    progress: Option<&ProgressObserver>,
    kept: Option<&Arc<KeptFit>>,
) -> Result<Ended, Error> {
    let (lower, upper) = problem.parameters().bounds();
    let tolerance = settings.cost_tolerance;
    let problem = problem.telling(kept.map(|kept| &kept.unknowns));
    match settings.method {
        Method::LevenbergMarquardt => {
            let solver =
                LevenbergMarquardt::new().with_bounds(lower, upper)?.with_cost_tolerance(tolerance)?;
            let solver =
                solver.with_initial_damping(FIRST_DAMPING)?.with_acceleration(true).with_end_in_noise(true);
            let solver = solver.with_secant_updates(problem.has_costly_jacobian());
            let logarithm = |parameter: &FitParameter| parameter.log.then(|| parameter.initial.ln());
            let starts = problem.parameters().as_slice().iter().map(logarithm).collect();
            let solver = solver.with_negligible_error(match tolerance >= ROUGH {
                true => ERROR_OF_ROUGH,
                false if problem.is_holding() => ERROR_OF_JUMPS,
                false => 0.0,
            });
            let solver = solver.with_stops(starts).with_kept_linearization(kept.is_some());
            run_kept(problem, solver, settings, x, (progress, kept), LevenbergMarquardt::convergence)
        }
        Method::Lbfgs => {
            let solver = Lbfgsb::new().with_bounds(lower, upper)?.with_cost_tolerance(tolerance)?;
            run_kept(problem, solver, settings, x, (progress, kept), Lbfgsb::convergence)
        }
    }
}

/// Runs one solver, with its checkpoints where it is kept.
fn run_kept<'p, S, J, R>(
    problem: LeastSquares<'p>,
    solver: S,
    settings: &FitSettings,
    x: Vec<f64>,
    (progress, kept): (Option<&ProgressObserver>, Option<&Arc<KeptFit>>),
    convergence: impl FnOnce(&S) -> Option<Convergence>,
) -> Result<Ended, Error>
where
    S: Solver<LeastSquares<'p>, SolverState<J, R>> + Serialize + DeserializeOwned + Clone + Resumable,
    J: Clone + 'static,
    R: Clone + 'static,
{
    let (max_iterations, history) = (settings.max_iterations, History::default());
    let bounds = problem.parameters().bounds();
    let checkpoint = kept.map(|kept| {
        let kept =
            ProblemCheckpoints { store: Arc::clone(kept) as Arc<_>, problem: kept.problem().to_owned() };
        RunCheckpoint::new(kept, format!("{:?}", settings.method), bounds, max_iterations, history.clone())
    });
    run((problem, solver), (x, max_iterations), &history, checkpoint, progress, convergence)
}
