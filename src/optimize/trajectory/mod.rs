//! Trajectory optimization: controls of a simulated motion that make the squares of residuals
//! small.

mod constrained;
mod minimize;
mod policy;
mod problem;
mod receding_horizon;
mod sensitivity;
mod settings;
mod staged;

pub use super::evaluations::{EvaluationCounter, Evaluations};
pub use super::history::TrajectoryIteration;
pub use super::optimized::{OptimizedProblem, WithinBounds};
pub use super::variables::ControlRange;
pub use constrained::{
    ConstrainedSettings, ConstraintRound, ConstraintState, MAXIMUM_ROUNDS, optimize_constrained_trajectory,
};
pub use minimize::{
    TrajectoryOptimum, optimize_smoothed_trajectory, optimize_trajectory, optimize_trajectory_from,
};
pub use problem::{TrajectoryProblem, TrajectoryTask};
pub use receding_horizon::{Plan, RecedingHorizon};
pub use settings::{TrajectoryMethod, TrajectorySettings};
