//! Whole motions: simulation, trajectories and their derivatives.

mod gradient;
mod simulate;

pub use gradient::{GradientError, TrajectoryGradient, trajectory_gradient};
pub use simulate::{SimulationError, SimulationSettings, Trajectory, simulate, step_times};
pub(crate) use simulate::{StepTime, checked_step};
