//! The solver of a fit, with what makes it easier: an easier problem first, and substeps that are held.

use argmin::core::{Error, Executor};

use super::kept::{KeptFit, Stage};
use super::settings::{FitSettings, Method};
use crate::optimize::lbfgsb::Lbfgsb;
use crate::optimize::least_squares::{
    FittedModel, HeldSubsteps, Keeper, LastLinearization, LeastSquares, half_square,
};
use crate::optimize::levenberg_marquardt::LevenbergMarquardt;
use crate::optimize::parameters::FitParameters;
use crate::optimize::progress::ProgressObserver;
use crate::optimize::solver::{Convergence, Ended, run};

/// Most times that substeps are held at what the fit has come to.
const MOST_ROUNDS: usize = 4;

/// The cost tolerance while substeps follow the parameters: what jumps cannot be told more finely.
const TOLERANCE_OF_JUMPS: f64 = 1e-3;

/// The damping of the first step of the method of Levenberg and Marquardt. Parameters of contact are hard to tell from
/// one another, and a larger one holds back what few residuals say for many iterations.
const FIRST_DAMPING: f64 = 1e-4;

/// The cost tolerance of an easier problem, whose solution is only where the fit goes on from.
const TOLERANCE_OF_EASED: f64 = 1e-3;

/// Most iterations of it.
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
    (progress, kept): (Option<&ProgressObserver>, Option<&KeptFit<'_>>),
) -> Result<Solved, Error> {
    let mut x = parameters.variables(start)?;
    let (lower, upper) = parameters.bounds();
    let (mut made, mut is_eased) = (0, false);
    if let Some(saved) = kept.map(|kept| kept.load((&lower, &upper), model)).transpose()?.flatten() {
        (x, made, is_eased) = (saved.variables, saved.iterations, saved.stage == Stage::Whole);
    }
    if !is_eased {
        (x, made) = eased_start(model, parameters, settings, (x, *cost, made), kept)?;
    }
    let last = LastLinearization::default();
    let (ended, held) = solve_through_jumps((model, &last), parameters, settings, (x, made), progress, kept)?;
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
/// ([`Residuals::eased`]) where there is one and its cost is lower, otherwise at the start that is given with its cost
/// and the iterations that led there.
fn eased_start(
    model: &dyn FittedModel,
    parameters: &FitParameters,
    settings: &FitSettings,
    (x, cost, made): (Vec<f64>, f64, u64),
    kept: Option<&KeptFit<'_>>,
) -> Result<(Vec<f64>, u64), Error> {
    let Some(easier) = model.eased() else { return Ok((x, made)) };
    let cost_tolerance = settings.cost_tolerance.max(TOLERANCE_OF_EASED);
    // It must not use up what the problem itself needs.
    let max_iterations = (settings.max_iterations / 2).min(MOST_EASED).saturating_sub(made);
    let settings = FitSettings { cost_tolerance, max_iterations, ..*settings };
    let problem = LeastSquares::of(&*easier, parameters).keeping(begin(kept, Stage::Eased, made));
    // One that fails is no help, and no harm.
    let Ok(ended) = solve(problem, &settings, x.clone(), None) else { return Ok((x, made)) };
    let values = values_at(parameters, &ended.variables)?;
    let priors: f64 = parameters.prior_residuals(&values).map(|(_, r, _)| 0.5 * r * r).sum();
    let is_better = model.residuals(&values).is_ok_and(|r| half_square(&r) + priors < cost);
    Ok((if is_better { ended.variables } else { x }, made + ended.iterations))
}

/// What is told of the points of a stage that so many iterations led to.
fn begin<'k>(kept: Option<&'k KeptFit<'_>>, stage: Stage, made: u64) -> Option<&'k dyn Keeper> {
    kept.map(|kept| {
        kept.begin(stage, made);
        kept as &dyn Keeper
    })
}

/// Runs the solver of a fit from these variables, which so many iterations led to; where residuals come from
/// error-controlled steps, first with substeps that follow the parameters, then with those held that it has come to.
/// Returns these too.
fn solve_through_jumps(
    (model, last): (&dyn FittedModel, &LastLinearization),
    parameters: &FitParameters,
    settings: &FitSettings,
    (x, made): (Vec<f64>, u64),
    progress: Option<&ProgressObserver>,
    kept: Option<&KeptFit<'_>>,
) -> Result<(Ended, Option<HeldSubsteps>), Error> {
    let problem = LeastSquares::of(model, parameters).remembering(last);
    // Those of an iteration limit are left after iterations that were made.
    let left = |made: u64, cost_tolerance: f64| FitSettings {
        max_iterations: settings.max_iterations.saturating_sub(made),
        cost_tolerance,
        ..*settings
    };
    let after = |made: u64, ended: Ended| Ended { iterations: made + ended.iterations, ..ended };
    if model.find_substeps(&values_at(parameters, &x)?)?.is_empty() {
        let problem = problem.keeping(begin(kept, Stage::Whole, made));
        let ended = solve(problem, &left(made, settings.cost_tolerance), x, progress)?;
        return Ok((after(made, ended), None));
    }
    let rough = left(made, settings.cost_tolerance.max(TOLERANCE_OF_JUMPS));
    let following = problem.keeping(begin(kept, Stage::Whole, made));
    let mut ended = after(made, solve(following, &rough, x, progress)?);
    let mut held = model.find_substeps(&values_at(parameters, &ended.variables)?)?;
    for round in 1..=MOST_ROUNDS {
        if ended.is_out_of_iterations || ended.is_interrupted {
            break;
        }
        let made = ended.iterations;
        let holding = problem.holding(&held).keeping(begin(kept, Stage::Whole, made));
        ended = after(made, solve(holding, &left(made, settings.cost_tolerance), ended.variables, None)?);
        let found = model.find_substeps(&values_at(parameters, &ended.variables)?)?;
        if found == held || round == MOST_ROUNDS {
            break;
        }
        held = found;
    }
    Ok((ended, Some(held)))
}

/// Runs the solver of a fit from these variables.
pub(in crate::optimize) fn solve(
    problem: LeastSquares<'_>,
    settings: &FitSettings,
    x: Vec<f64>,
    progress: Option<&ProgressObserver>,
) -> Result<Ended, Error> {
    let (lower, upper) = problem.parameters().bounds();
    let (tolerance, limit) = (settings.cost_tolerance, settings.max_iterations);
    match settings.method {
        Method::LevenbergMarquardt => {
            let solver =
                LevenbergMarquardt::new().with_bounds(lower, upper)?.with_cost_tolerance(tolerance)?;
            let solver =
                solver.with_initial_damping(FIRST_DAMPING)?.with_acceleration(true).with_end_in_noise(true);
            let solver = solver.with_secant_updates(problem.has_costly_jacobian());
            let executor = Executor::new(problem, solver).configure(|state| state.param(x).max_iters(limit));
            run(executor, progress, LevenbergMarquardt::convergence)
        }
        Method::Lbfgs => {
            let solver = Lbfgsb::new().with_bounds(lower, upper)?.with_cost_tolerance(tolerance)?;
            let executor = Executor::new(problem, solver).configure(|state| state.param(x).max_iters(limit));
            run(executor, progress, Lbfgsb::convergence)
        }
    }
}
