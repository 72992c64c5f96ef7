//! Trajectory optimization: controls of a simulated motion that make the squares of residuals
//! small.

mod evaluations;
mod minimize;
mod problem;
mod sensitivity;
mod staged;

pub use evaluations::{EvaluationCounter, Evaluations};
pub use minimize::{
    Never, TrajectoryCheckpoints, TrajectoryIteration, TrajectoryMethod, TrajectoryOptimum,
    TrajectorySettings, optimize_trajectory, optimize_trajectory_from,
};
pub use problem::{ControlRange, TrajectoryProblem, TrajectoryProblemError, TrajectoryTask};
pub use staged::StagedTrajectory;
