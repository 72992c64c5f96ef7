//! Trajectory optimization: controls of a simulated motion that make the squares of residuals
//! small.

mod evaluations;
mod problem;
mod sensitivity;
mod staged;

pub use evaluations::{EvaluationCounter, Evaluations};
pub use problem::{ControlRange, TrajectoryProblem, TrajectoryProblemError, TrajectoryTask};
pub use staged::StagedTrajectory;

#[cfg(test)]
mod tests;
