//! Trajectory optimization: controls of a simulated motion that make the squares of residuals
//! small.

mod constrained;
mod control_range;
mod evaluations;
mod history;
mod jvp;
mod minimize;
mod optimized;
mod policy;
mod problem;
mod receding_horizon;
mod sensitivity;
mod settings;
mod staged;

pub use constrained::{
    ConstrainedSettings, ConstraintRound, ConstraintState, MAXIMUM_ROUNDS, optimize_constrained_trajectory,
};
pub use control_range::ControlRange;
pub use evaluations::{EvaluationCounter, Evaluations};
pub(super) use history::History;
pub use history::TrajectoryIteration;
pub use minimize::{
    TrajectoryOptimum, optimize_smoothed_trajectory, optimize_trajectory, optimize_trajectory_from,
};
pub use optimized::{OptimizedProblem, WithinBounds};
pub(super) use problem::at_moments;
pub use problem::{TrajectoryProblem, TrajectoryTask};
pub use receding_horizon::{Plan, RecedingHorizon};
pub use settings::{TrajectoryMethod, TrajectorySettings};
