//! What the solvers have in common: their tolerances, why they stop, and what a run ends with.

use argmin::core::observers::ObserverMode;
use argmin::core::{Error, Executor, IterState, Solver, State, TerminationReason, TerminationStatus};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::checkpoint::{Resumable, RunCheckpoint};
use super::history::History;
use super::progress::ProgressObserver;
use crate::interruption;
use crate::optimize::data_error::InvalidField;

/// The state that argmin iterates: variables, cost, gradient, Jacobian `J` and residuals `R`.
pub(super) type SolverState<J, R> = IterState<Vec<f64>, Vec<f64>, J, (), R, f64>;

/// The state that methods of descent iterate: variables, cost and gradient.
pub type DescentState = SolverState<(), ()>;

/// Why a method stopped by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Convergence {
    /// The gradient vanishes, but for what pushes against bounds; of least squares: the residuals
    /// are at right angles to every free column of the Jacobian, or are zero.
    Gradient,
    /// The cost falls, or can be expected to fall, by less than the tolerance.
    Cost,
    /// The step is below the tolerance relative to the variables.
    Step,
    /// No step around lowers the cost by more than the tolerance.
    Trials,
    /// No step lowers the cost, which is not smooth, but the linear model of least squares promises less than what an
    /// error of a tenth of a standard error costs.
    Noise,
}

impl Convergence {
    /// What argmin is told of a solver that may have stopped by itself, or because the process was
    /// asked to.
    pub(super) fn status(convergence: Option<Self>) -> TerminationStatus {
        match convergence {
            Some(_) => TerminationStatus::Terminated(TerminationReason::SolverConverged),
            None if interruption::is_requested() => {
                TerminationStatus::Terminated(TerminationReason::Interrupt)
            }
            None => TerminationStatus::NotTerminated,
        }
    }
}

impl std::fmt::Display for Convergence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Gradient => "gradient",
            Self::Cost => "cost",
            Self::Step => "step",
            Self::Trials => "trials",
            Self::Noise => "noise",
        })
    }
}

/// Why an iteration breaks off: since the process was asked to stop, or for the solver's own reason. It is not saved, so that a
/// run that goes on makes it anew.
pub(super) fn exit(reason: String) -> TerminationReason {
    match interruption::is_requested() {
        true => TerminationReason::Interrupt,
        false => TerminationReason::SolverExit(reason),
    }
}

/// Refuses a setting that is not finite or below the least value allowed.
pub(super) fn check_setting(what: &str, value: f64, least: f64) -> Result<f64, Error> {
    if value.is_finite() && value >= least {
        Ok(value)
    } else {
        Err(Error::msg(format!("{what} is {value}, it must be finite and at least {least}")))
    }
}

/// The tolerances that every solver has; what they are compared with is the solver's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Tolerances {
    pub(super) gradient: f64,
    /// Of the reduction of the cost, relative to the cost.
    pub(super) cost: f64,
}

impl Tolerances {
    /// The same with another one of the gradient, which must be finite and not negative.
    pub(super) fn with_gradient(self, tolerance: f64) -> Result<Self, Error> {
        Ok(Self { gradient: check_setting("gradient tolerance", tolerance, 0.0)?, ..self })
    }

    /// The same with another one of the cost, which must be finite and not negative.
    pub(super) fn with_cost(self, tolerance: f64) -> Result<Self, Error> {
        Ok(Self { cost: check_setting("cost tolerance", tolerance, 0.0)?, ..self })
    }

    /// Whether those of a checkpoint are finite and not negative.
    pub(super) fn check(&self) -> Result<(), InvalidField> {
        InvalidField::check_number("solver.tolerances.gradient", self.gradient, 0.0, f64::INFINITY)?;
        InvalidField::check_number("solver.tolerances.cost", self.cost, 0.0, f64::INFINITY)
    }
}

/// What a run of a solver ended with.
pub(super) struct Ended {
    /// The last variables.
    pub(super) variables: Vec<f64>,
    pub(super) cost: f64,
    /// Iterations made.
    pub(super) iterations: u64,
    /// Why the solver stopped by itself, where it did.
    pub(super) convergence: Option<Convergence>,
    /// Whether it stopped because all iterations that are allowed were made.
    pub(super) is_out_of_iterations: bool,
    /// Whether it was asked to stop.
    pub(super) is_interrupted: bool,
    /// Why the run stopped, in words.
    pub(super) termination: String,
}

/// Runs a solver from variables, or from where a checkpoint left it, until it stops or has made so many iterations, which
/// it writes down and tells.
pub(super) fn run<O, S, J, R>(
    (problem, solver): (O, S),
    (start, max_iterations): (Vec<f64>, u64),
    history: &History,
    checkpoint: Option<RunCheckpoint>,
    progress: Option<&ProgressObserver>,
    convergence: impl FnOnce(&S) -> Option<Convergence>,
) -> Result<Ended, Error>
where
    S: Solver<O, SolverState<J, R>> + Serialize + DeserializeOwned + Clone + Resumable,
    J: Clone + 'static,
    R: Clone + 'static,
{
    let mut executor = Executor::new(problem, solver)
        .configure(|state| state.param(start).max_iters(max_iterations))
        .add_observer(history.clone(), ObserverMode::Always);
    if let Some(checkpoint) = checkpoint {
        executor = executor.checkpointing(checkpoint);
    }
    if let Some(progress) = progress {
        executor = executor.add_observer(progress.clone(), ObserverMode::Always);
    }
    let result = executor.run();
    if let Some(progress) = progress {
        progress.end();
    }
    let result = result?;
    let state = &result.state;
    let convergence = convergence(&result.solver);
    Ok(Ended {
        variables: state.param.clone().ok_or_else(|| Error::msg("the solver returned no variables"))?,
        cost: state.cost,
        iterations: state.iter,
        convergence,
        is_out_of_iterations: state.get_termination_reason() == Some(&TerminationReason::MaxItersReached),
        is_interrupted: state.get_termination_reason() == Some(&TerminationReason::Interrupt),
        termination: match (convergence, state.get_termination_reason()) {
            (Some(convergence), _) => format!("converged ({convergence})"),
            (None, Some(reason)) => reason.text().to_owned(),
            (None, None) => String::new(),
        },
    })
}
