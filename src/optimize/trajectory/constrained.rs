//! A trajectory optimization under constraints, by an augmented Lagrangian around any method.

use argmin::core::Error;
use serde::{Deserialize, Serialize};

use super::minimize::{TrajectoryOptimum, optimize_trajectory};
use super::problem::TrajectoryProblem;
use super::settings::TrajectorySettings;
use crate::interruption;
use crate::optimize::bounds::projected_gradient_norm;
use crate::optimize::checkpoint::{InvalidField, ProblemCheckpoints, saved};
use crate::optimize::constraints::{AugmentedLagrangian, Constraints, Multipliers};
use crate::optimize::data::DataError;
use crate::optimize::evaluations::Evaluations;
use crate::optimize::history::TrajectoryIteration;
use crate::optimize::optimized::OptimizedProblem;
use crate::optimize::progress::{ProgressObserver, RoundProgress};
use crate::optimize::termination::Termination;

/// What a constraint came to.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConstraintState {
    /// The largest violation on the motion, in the constraint's unit.
    pub violation: f64,
    /// The largest distance from what Karush, Kuhn and Tucker ask for besides stationarity, in the constraint's unit: no
    /// violation, and no multiplier where it does not hold with equality.
    pub infeasibility: f64,
    /// The largest of its multipliers, the derivative of the lowest cost with respect to the bound of one moment: in the
    /// cost's unit over the constraint's.
    pub multiplier: f64,
    /// Its penalty.
    pub penalty: f64,
}

/// One minimization of an augmented Lagrangian, and what it came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConstraintRound {
    /// The cost, without constraints.
    pub cost: f64,
    /// Iterations of the method.
    pub iterations: u64,
    /// The largest derivative of the Lagrangian with respect to a variable that no bound holds, with the
    /// multipliers at the end of the round.
    pub stationarity: f64,
    /// The constraints, in their order.
    pub constraints: Vec<ConstraintState>,
}

/// How a trajectory is optimized under constraints.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConstrainedSettings {
    /// The method of each round, and its most iterations.
    pub trajectory: TrajectorySettings,
    /// Most rounds.
    pub max_rounds: usize,
}

/// The most rounds where none are given.
pub const MAXIMUM_ROUNDS: usize = 20;

/// What is left of an infeasibility after a round that has the penalty stay as it is.
const SUFFICIENT: f64 = 0.25;
/// The factor by which a penalty grows otherwise.
const GROWTH: f64 = 10.0;
/// A penalty that has grown by more than this drowns the cost in rounding: no more rounds are made.
const LARGEST_GROWTH: f64 = 1e15;
/// The format of checkpoints.
const FORMAT: &str = "isobar constrained optimization 1";

/// What a round leaves for the next.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Saved {
    format: String,
    problem: String,
    /// The optimizer's variables.
    variables: Vec<f64>,
    multipliers: Multipliers,
    rounds: Vec<ConstraintRound>,
    history: Vec<TrajectoryIteration>,
    evaluations: Evaluations,
}

/// Optimizes a trajectory under constraints, from the values of its controls at knots: rounds of
/// [`optimize_trajectory`] on an augmented Lagrangian, whose multipliers are updated after each. A constraint's
/// penalty grows where a round has not reduced its infeasibility enough, and no round follows when it has grown 10¹⁵ times. The
/// optimization is converged when all constraints
/// hold to their tolerances, with their complementarity, and the last round was.
///
/// With checkpoints it continues an interrupted run at the last round that was completed, and `start` is not
/// used. The result has the cost without constraints.
///
/// # Errors
/// The errors of [`optimize_trajectory`].
pub fn optimize_constrained_trajectory(
    problem: &TrajectoryProblem<'_>,
    constraints: &Constraints,
    start: &[f64],
    settings: &ConstrainedSettings,
    checkpoints: Option<&ProblemCheckpoints>,
    progress: Option<&ProgressObserver>,
) -> Result<(TrajectoryOptimum, Vec<ConstraintRound>), Error> {
    let found = checkpoints.map(|checkpoints| load(checkpoints, problem, constraints)).transpose()?.flatten();
    let mut state = match found {
        Some(saved) => {
            // It is remembered, as after the round.
            problem.cost(&saved.variables)?;
            problem.counter().set(&saved.evaluations);
            saved
        }
        None => {
            let variables = problem.variables(start)?;
            let (lower, upper) = problem.bounds();
            let within = variables.iter().zip(lower.iter().zip(upper));
            let variables: Vec<f64> = within.map(|(x, (l, u))| x.clamp(*l, *u)).collect();
            let values = problem.at_moments(&variables, |moments| constraints.values(moments))?;
            let multipliers = Multipliers::at_start(constraints, &values, problem.cost(&variables)?);
            Saved {
                format: FORMAT.to_owned(),
                problem: checkpoints.map_or_else(String::new, |checkpoints| checkpoints.problem.clone()),
                variables,
                multipliers,
                rounds: Vec::new(),
                history: Vec::new(),
                evaluations: problem.evaluations(),
            }
        }
    };
    let mut last: Option<TrajectoryOptimum> = None;
    while state.rounds.len() < settings.max_rounds.max(1) {
        let found = round(problem, constraints, &mut state, settings, progress)?;
        let is_done = found.converged && is_feasible(constraints, &state);
        if let Some(progress) = progress {
            progress.tell_round(&told(constraints, &state));
        }
        last = Some(found);
        // From the end of the round before, a run that goes on comes to the same end.
        let is_last = is_done || is_hopeless(&state) || state.rounds.len() >= settings.max_rounds;
        if is_last || interruption::is_requested() {
            break;
        }
        state.evaluations = problem.evaluations();
        if let Some(ProblemCheckpoints { store, .. }) = checkpoints {
            store.save(&serde_json::to_string(&state)?)?;
        }
    }
    if let Some(progress) = progress {
        progress.end();
    }
    optimum(problem, constraints, last, state, settings)
}

/// What the last round came to, for those who are told.
fn told(constraints: &Constraints, state: &Saved) -> RoundProgress {
    let round = state.rounds.last();
    let states = round.map(|round| round.constraints.as_slice()).unwrap_or_default();
    let largest = |of: fn(&ConstraintState) -> f64| states.iter().map(of).fold(0.0, f64::max);
    RoundProgress {
        rounds: state.rounds.len(),
        cost: round.map_or(f64::NAN, |round| round.cost),
        over_tolerance: farthest(constraints, state).1,
        multiplier: largest(|state| state.multiplier),
        penalty: largest(|state| state.penalty),
    }
}

/// The last round's optimum, with the cost and the iterations of all; where a run goes on that had made all its
/// rounds, its variables as they were saved.
fn optimum(
    problem: &TrajectoryProblem<'_>,
    constraints: &Constraints,
    last: Option<TrajectoryOptimum>,
    state: Saved,
    settings: &ConstrainedSettings,
) -> Result<(TrajectoryOptimum, Vec<ConstraintRound>), Error> {
    let ending = match &last {
        Some(TrajectoryOptimum { ending: Termination::Stopped, .. }) => Termination::Stopped,
        _ if !is_feasible(constraints, &state) => infeasible(constraints, &state),
        Some(last) => last.ending.clone(),
        None => Termination::Budget { decrease: 0.0, of_last: 0 },
    };
    let optimum = TrajectoryOptimum {
        method: settings.trajectory.method,
        values: problem.values(&state.variables)?,
        cost: problem.cost(&state.variables)?,
        variables: state.variables,
        iterations: state.rounds.iter().map(|round| round.iterations).sum(),
        evaluations: problem.evaluations(),
        converged: ending.is_converged(),
        termination: ending.to_string(),
        ending,
        history: state.history,
    };
    Ok((optimum, state.rounds))
}

/// One round: from the variables and multipliers of the state to the next.
fn round(
    problem: &TrajectoryProblem<'_>,
    constraints: &Constraints,
    state: &mut Saved,
    settings: &ConstrainedSettings,
    progress: Option<&ProgressObserver>,
) -> Result<TrajectoryOptimum, Error> {
    let multipliers = &state.multipliers;
    let lagrangian = AugmentedLagrangian { cost: problem.task().residuals, constraints, multipliers };
    let augmented = problem.for_residuals(&lagrangian);
    let start = augmented.values(&state.variables)?;
    let found = optimize_trajectory(
        &augmented,
        &start,
        &settings.trajectory,
        None,
        progress.map(ProgressObserver::of_round),
    )?;
    let values = augmented.at_moments(&found.variables, |moments| constraints.values(moments))?;
    // The gradient of the Lagrangian with the multipliers that follow is that of the augmented one.
    let gradient = augmented.gradient(&found.variables)?;
    let (lower, upper) = problem.bounds();
    let stationarity = projected_gradient_norm(&found.variables, &gradient, lower, upper);
    let penalties = multipliers.penalties.clone();
    let updated = Multipliers { values: multipliers.updated(constraints, &values), penalties };
    let infeasibilities = updated.infeasibilities(constraints, &values);
    let parts = constraints.violations(&values).into_iter().zip(&infeasibilities);
    let parts = parts.zip(updated.largest(constraints).into_iter().zip(&updated.penalties));
    let of_round = ConstraintRound {
        cost: problem.cost(&found.variables)?,
        iterations: found.iterations,
        stationarity,
        constraints: parts
            .map(|((violation, &infeasibility), (multiplier, &penalty))| ConstraintState {
                violation,
                infeasibility,
                multiplier,
                penalty,
            })
            .collect(),
    };
    let before = state.rounds.last().map(|round| round.constraints.as_slice()).unwrap_or_default();
    state.multipliers = updated;
    for (i, penalty) in state.multipliers.penalties.iter_mut().enumerate() {
        let last = before.get(i).map_or(f64::INFINITY, |before| before.infeasibility);
        let (left, allowed) = (infeasibilities[i], constraints.constraints()[i].tolerance);
        if left > allowed && left > SUFFICIENT * last {
            *penalty *= GROWTH;
        }
    }
    // Iterations are counted on; the first entry of a round is where the last ended.
    let made: u64 = state.rounds.iter().map(|round| round.iterations).sum();
    let skipped = usize::from(!state.history.is_empty());
    let noted = found.history.iter().skip(skipped).cloned();
    state
        .history
        .extend(noted.map(|noted| TrajectoryIteration { iteration: noted.iteration + made, ..noted }));
    state.variables.clone_from(&found.variables);
    state.rounds.push(of_round);
    Ok(found)
}

/// Whether a penalty has grown too far for another round.
fn is_hopeless(state: &Saved) -> bool {
    let first = state.rounds.iter().take(1).flat_map(|round| &round.constraints);
    first.zip(&state.multipliers.penalties).any(|(first, &penalty)| penalty > LARGEST_GROWTH * first.penalty)
}

/// Whether all constraints hold, with their complementarity, to their tolerances.
fn is_feasible(constraints: &Constraints, state: &Saved) -> bool {
    let Some(round) = state.rounds.last() else { return constraints.constraints().is_empty() };
    let parts = round.constraints.iter().zip(constraints.constraints());
    parts.into_iter().all(|(part, constraint)| part.infeasibility <= constraint.tolerance)
}

/// The constraint that is farthest from holding, and how far it is over its tolerance.
fn farthest(constraints: &Constraints, state: &Saved) -> (usize, f64) {
    let of = |(index, part): (usize, &ConstraintState)| {
        (index, part.violation.max(part.infeasibility) / constraints.constraints()[index].tolerance)
    };
    let parts = state.rounds.last().map(|round| round.constraints.as_slice()).unwrap_or_default();
    parts.iter().enumerate().map(of).max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((0, 0.0))
}

/// The termination where a constraint does not hold.
fn infeasible(constraints: &Constraints, state: &Saved) -> Termination {
    let (constraint, over_tolerance) = farthest(constraints, state);
    Termination::Infeasible { constraint, over_tolerance, rounds: state.rounds.len() }
}

/// The saved run, if there is one and it belongs to this problem.
fn load(
    checkpoints: &ProblemCheckpoints,
    problem: &TrajectoryProblem<'_>,
    constraints: &Constraints,
) -> Result<Option<Saved>, Error> {
    let found: Option<Saved> = saved(&*checkpoints.store, [FORMAT, &checkpoints.problem], None)?;
    if let Some(saved) = &found {
        check(saved, problem, constraints)
            .map_err(|source| DataError::CheckpointField { path: checkpoints.store.name(), source })?;
    }
    Ok(found)
}

/// Whether a run on this problem can have come to what was saved.
fn check(
    saved: &Saved,
    problem: &TrajectoryProblem<'_>,
    constraints: &Constraints,
) -> Result<(), InvalidField> {
    InvalidField::check_variables("variables", &saved.variables, problem.bounds())?;
    let count = constraints.count(problem.map().steps());
    let Multipliers { values, penalties } = &saved.multipliers;
    InvalidField::check_numbers("multipliers.values", values, count, f64::NEG_INFINITY)?;
    let constraints = constraints.constraints().len();
    InvalidField::check_numbers("multipliers.penalties", penalties, constraints, f64::MIN_POSITIVE)?;
    for (i, round) in saved.rounds.iter().enumerate() {
        InvalidField::check_count(&format!("rounds[{i}].constraints"), round.constraints.len(), constraints)?;
    }
    Ok(())
}
