//! Whole motions: simulation, trajectories and their derivatives.
//!
//! [`simulate`] goes from an initial state to a [`Trajectory`], [`simulate_streaming`] to as long a motion as
//! is wanted, which is not kept; [`simulate_watched`] and a [`Watch`] also tell what went wrong without an
//! error, as [`MotionWarning`]s. Derivatives of every state by a few
//! inputs come from [`trajectory_gradient`]; the gradient of one number, a [`Loss`], by any number
//! of inputs and [`Controls`] from [`loss_gradient`]; products with the Jacobian of residuals and
//! its transpose from [`GaussNewton`]; the derivative of every step from [`linearize`]. A [`Batch`]
//! is many rollouts at once. [`ControlKnots`] make controls out of few numbers.

mod adjoint;
mod batch;
mod checkpoints;
mod command;
mod control_knots;
mod controls;
mod discretization_error;
mod error;
mod feedback;
mod forward;
mod gauss_newton;
mod gradient;
mod linearization;
mod loss;
mod schedule;
mod simulate;
mod streaming;
mod tapes;
mod watch;

pub use adjoint::{LossGradient, Rollout, loss_gradient};
pub use batch::{Batch, BatchMember};
pub use checkpoints::{CheckpointMemory, Checkpoints};
pub use command::{Command, KnotValues};
pub use control_knots::{ControlKnots, KnotInterpolation, KnotMap};
pub use controls::Controls;
pub use discretization_error::{DiscretizationError, discretization_errors};
pub use error::SimulationError;
pub use feedback::simulate_with_feedback;
pub use forward::loss_gradient_forward;
pub use gauss_newton::{GaussNewton, TrajectoryResiduals};
pub use gradient::{TrajectoryGradient, trajectory_gradient};
pub use linearization::{ResidualJacobian, StepLinearization, TrajectoryLinearization, linearize};
pub use loss::{DifferentiableLoss, Loss, LossFunctions, LossWorkspace, Moment, MomentGradient};
pub use schedule::{SimulationSettings, StepSchedule};
pub use simulate::{
    Trajectory, motion_warnings, simulate, simulate_controlled, simulate_into, simulate_watched,
};
pub(crate) use simulate::{checked_step, checked_step_taped};
pub use streaming::{Streamed, simulate_streaming};
pub use watch::{MotionWarning, WarningCause, Watch};
