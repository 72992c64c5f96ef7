//! How an optimization ended, in numbers.

use argmin::core::Error;
use serde::{Deserialize, Serialize};

use super::history::TrajectoryIteration;
use super::solver::{Convergence, Ended};
use super::surroundings::{Surroundings, SurroundingsVerdict};
use crate::interruption;

/// How an optimization ended. Its text says what happened, and in what numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum Termination {
    /// A criterion was met.
    Converged {
        /// Which one.
        criterion: Convergence,
        /// What was found, relative to the cost: the reduction, or what the gradient promises.
        #[serde(skip_serializing_if = "Option::is_none")]
        value: Option<f64>,
        /// What it had to be at most.
        tolerance: f64,
    },
    /// The cost has a kink here: its gradient promises descent, but along no direction that was
    /// tried does it fall.
    Kink {
        /// What was tried.
        surroundings: Surroundings,
    },
    /// The cost of neighbouring points scatters by more than the tolerance.
    Chattering {
        /// What was tried.
        surroundings: Surroundings,
        /// The tolerance of the cost.
        tolerance: f64,
    },
    /// The method found no step, though there are some that lower the cost.
    Stuck {
        /// What was tried.
        surroundings: Surroundings,
    },
    /// After all rounds that are allowed a constraint does not hold.
    Infeasible {
        /// The constraint that is farthest from holding, counted from 0.
        constraint: usize,
        /// How far it is from holding, over its tolerance.
        over_tolerance: f64,
        /// The rounds that were made.
        rounds: usize,
    },
    /// Nothing that is optimized changes a term of the cost.
    Unreached {
        /// The term, and what is known of why.
        term: String,
        /// Whether a larger move within the bounds lowers the cost.
        has_lower: bool,
    },
    /// The process was asked to stop.
    Stopped,
    /// All iterations that are allowed were made.
    Budget {
        /// Part of the cost that the last few took away.
        decrease: f64,
        /// How many these are.
        #[serde(default)]
        of_last: usize,
    },
}

/// Iterations whose reduction of the cost is told where there were not enough of them.
const TOLD_ITERATIONS: usize = 5;
/// A method that calls itself converged is not, where a step around lowers the cost by more than this part of it: its gradient
/// does not know of a contact that there is not yet, or of what lies beyond a kink.
const WORTH_TELLING: f64 = 1e-3;

/// A cost that scatters by no more than this part of it is as low as can be told, where no step lowers it by clearly more.
const LITTLE_NOISE: f64 = 1e-2;

impl Termination {
    /// How a run with these iterations ended: for want of more, or as what is around its end says, which `look` tells.
    pub(super) fn of_run(
        ended: &Ended,
        tolerance: f64,
        history: &[TrajectoryIteration],
        look: &dyn Fn() -> Result<Surroundings, Error>,
    ) -> Result<Self, Error> {
        if ended.is_interrupted {
            return Ok(Self::Stopped);
        }
        if ended.convergence.is_none() && ended.is_out_of_iterations {
            let before = history.len().saturating_sub(1 + TOLD_ITERATIONS);
            let decrease = history.get(before).map_or(0.0, |before| 1.0 - ended.cost / before.cost);
            return Ok(Self::Budget { decrease, of_last: history.len().saturating_sub(1 + before) });
        }
        let surroundings = look()?;
        // What was not looked at tells nothing.
        if interruption::is_requested() {
            return Ok(Self::Stopped);
        }
        Ok(Self::judged(ended.convergence, surroundings, tolerance))
    }

    /// The termination in these surroundings of a method that calls itself converged, or has found no step.
    pub(super) fn judged(
        convergence: Option<Convergence>,
        surroundings: Surroundings,
        tolerance: f64,
    ) -> Self {
        match convergence {
            Some(criterion) if surroundings.reduction <= tolerance.max(WORTH_TELLING) => {
                Self::Converged { criterion, value: None, tolerance }
            }
            _ => Self::at(surroundings, tolerance),
        }
    }

    /// The termination of a method that came to rest in these surroundings. Reductions smaller than the
    /// tolerance, relative to the cost, do not count.
    pub fn at(surroundings: Surroundings, tolerance: f64) -> Self {
        let converged = |criterion, value| Self::Converged { criterion, value: Some(value), tolerance };
        match surroundings.verdict(tolerance) {
            SurroundingsVerdict::Stationary => converged(Convergence::Gradient, surroundings.promised),
            SurroundingsVerdict::AtRest => converged(Convergence::Trials, surroundings.reduction),
            SurroundingsVerdict::Descends => Self::Stuck { surroundings },
            SurroundingsVerdict::Kink => Self::Kink { surroundings },
            // Nothing that could still be gained is worth much.
            SurroundingsVerdict::Chattering if surroundings.noise <= LITTLE_NOISE => Self::Converged {
                criterion: Convergence::Noise,
                value: Some(surroundings.noise),
                tolerance: LITTLE_NOISE,
            },
            SurroundingsVerdict::Chattering => Self::Chattering { surroundings, tolerance },
        }
    }

    /// Whether a criterion was met.
    pub fn is_converged(&self) -> bool {
        matches!(self, Self::Converged { .. })
    }
}

impl std::fmt::Display for Termination {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Converged { criterion, value: None, .. } => write!(f, "converged ({criterion})"),
            Self::Converged { criterion: Convergence::Noise, value: Some(value), .. } => write!(
                f,
                "converged (noise: the cost of points that are almost the same scatters by {value:.1e} of it, and no \
                 step lowers it by clearly more)"
            ),
            Self::Converged { criterion, value: Some(value), tolerance } => {
                let what = match criterion {
                    Convergence::Gradient => "a step of 1 % of the controls' scales promises",
                    _ => "the best step around lowers the cost by",
                };
                write!(
                    f,
                    "converged ({criterion}: {what} {value:.1e} of it, at most {tolerance:.1e} allowed)"
                )
            }
            Self::Kink { surroundings } if surroundings.failed > 0 => write!(
                f,
                "stuck: along none of {} directions does the cost fall as the gradient promises, and {} motions \
                 around cannot be simulated",
                surroundings.directions, surroundings.failed
            ),
            Self::Kink { surroundings } => write!(
                f,
                "stuck at a kink: the gradient promises {:.1e} of the cost for a step of 1 % of the controls' \
                 scales, but along none of {} directions does it fall so",
                surroundings.promised, surroundings.directions
            ),
            Self::Chattering { surroundings, tolerance } => write!(
                f,
                "chattering: the cost of points 1e-7 of the controls' scales apart scatters by {:.1e} of it, \
                 more than the tolerance of {tolerance:.1e}",
                surroundings.noise
            ),
            Self::Stuck { surroundings } => write!(
                f,
                "stuck: no step of the method reduces the cost, though there is one that lowers it by {:.1e} \
                 of it",
                surroundings.reduction
            ),
            Self::Infeasible { constraint, over_tolerance, rounds } => write!(
                f,
                "infeasible: after {rounds} rounds constraint {constraint} is {over_tolerance:.1e} times its \
                 tolerance away from holding"
            ),
            Self::Unreached { term, has_lower } => {
                let lower = if *has_lower { "; a larger move within the bounds lowers the cost" } else { "" };
                write!(f, "stuck: nothing that is optimized changes the cost of {term}{lower}")
            }
            Self::Stopped => write!(f, "stopped before it had converged"),
            Self::Budget { decrease, of_last } => match of_last {
                0 | 1 => write!(f, "out of iterations: the last lowered the cost by {decrease:.1e} of it"),
                n => write!(f, "out of iterations: the last {n} lowered the cost by {decrease:.1e} of it"),
            },
        }
    }
}
