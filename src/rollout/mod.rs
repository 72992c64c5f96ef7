//! Whole motions: simulation, trajectories and their derivatives.
//!
//! A [`Rollout`] describes a simulation. [`Rollout::simulate`] returns its [`Trajectory`].
//! [`Rollout::for_each`] visits the states of a motion of any length without keeping them.
//! [`Rollout::motion`] also returns [`MotionWarning`]s about what went wrong without an error.
//! Derivatives of every state with respect to a few parameters come from [`trajectory_gradient`]; the
//! gradient of one number, a [`Loss`], with respect to any number of parameters and control values from
//! [`loss_gradient`]; products with the Jacobian of residuals and its transpose from [`GaussNewton`];
//! the derivative of every step from [`linearize`]. A [`Batch`] is many rollouts at once.
//! [`Rollout::find_events`] locates touches, lift-offs and turning points in time, and [`event_gradients`] and
//! [`event_loss_gradient`] differentiate their times and states.
//! [`Rollout::sleeping`] leaves bodies at rest out of its steps.
//! [`ControlKnots`] interpolate controls from a few numbers. A [`ClosedLoop`] is a rollout under [`Controller`]s, whose
//! parameters its gradients are taken with respect to as well.

mod adjoint;
mod batch;
mod checked_step;
mod checkpoints;
mod closed_loop;
mod closed_loop_gradient;
mod command;
mod control_knots;
mod control_signal;
mod controls;
mod discretization_error;
mod error;
mod events;
mod feedback;
mod forward;
mod gauss_newton;
mod gradient;
mod linearization;
mod loss;
mod loss_workspace;
mod moment;
mod quantity;
mod report;
mod schedule;
mod simulate;
mod sleep;
mod tapes;
mod watch;

pub use adjoint::{LossGradient, loss_gradient};
pub use batch::{Batch, BatchMember};
pub(crate) use checked_step::{LinearSteps, checked_step, checked_step_into, checked_step_taped, failed};
pub use checkpoints::{CheckpointMemory, Checkpoints};
pub use closed_loop::ClosedLoop;
pub use closed_loop_gradient::ClosedLoopGradient;
pub use command::{Command, KnotValues};
pub use control_knots::{ControlKnots, KnotInterpolation, KnotMap};
pub use control_signal::ControlSignal;
pub use controls::Controls;
pub use discretization_error::{DiscretizationError, discretization_errors, finer_settings};
pub use error::SimulationError;
pub use events::{
    Event, EventGradient, EventKind, EventLoss, EventMoment, Face, Features, event_gradients,
    event_loss_gradient,
};
pub(crate) use feedback::mixed;
pub use feedback::{
    ControlLaw, Controller, ControllerCotangent, ControllerPoint, FeedbackStage, GripForce, KnotFeedback,
    KnotLaw, NetworkInput, NeuralNetwork, NominalStates, Observation, Output, Pid, SampledController,
    SensorNoise, SlipReflex, SlipSense,
};
pub use forward::loss_gradient_forward;
pub use gauss_newton::GaussNewton;
pub use gradient::{TrajectoryGradient, trajectory_gradient};
pub use linearization::{ResidualJacobian, StepLinearization, TrajectoryLinearization, linearize};
pub use loss::{
    DifferentiableLoss, DifferentiableResiduals, HalfSquares, Loss, LossFunctions, ResidualsIn,
    TrajectoryResiduals,
};
pub use loss_workspace::LossWorkspace;
pub use moment::{Moment, MomentGradient, StepEnd};
pub use quantity::Quantity;
pub(crate) use quantity::Reader;
pub use report::{StepReport, TakenStep};
pub(crate) use schedule::StepTime;
pub use schedule::{SimulationSettings, StepSchedule};
pub use simulate::{Motion, Rollout, Trajectory};
pub use sleep::Sleep;
pub use watch::{MotionWarning, WarningCause, Watch};
