//! Feedback controllers: from what is observed of a motion to the commands of actuators.
//!
//! - `controller.rs`: the trait [`Controller`], and its vector–Jacobian product in dual numbers.
//! - `observer.rs` evaluates the quantities that a controller asks for, and its deviation from a nominal motion
//!   (`nominal_states.rs`), in any scalar; `noise.rs` adds the errors of sensors.
//! - `sampled.rs`: when a controller samples, and for how long its commands are under way.
//! - `loop_memory.rs`: what controllers remember from step to step, and how commands come from it.
//! - The laws that come with isobar, one a file: `knot_law.rs`, `pid.rs`, `grip_force.rs`, `slip_reflex.rs`,
//!   `knot_feedback.rs`, `neural_network.rs`. [`ControlLaw`] is any of them.
//!
//! A [`ClosedLoop`](super::ClosedLoop) is a rollout under controllers.

mod controller;
mod grip_force;
mod knot_feedback;
mod knot_law;
mod law;
mod loop_memory;
mod neural_network;
mod noise;
mod nominal_states;
mod observer;
mod output;
mod pid;
mod sampled;
mod slip;
mod slip_reflex;

pub use controller::{Controller, ControllerCotangent, ControllerPoint, Observation};
pub use grip_force::GripForce;
pub use knot_feedback::{FeedbackStage, KnotFeedback};
pub use knot_law::KnotLaw;
pub use law::ControlLaw;
pub(super) use loop_memory::{LoopMemory, LoopMoment};
pub use neural_network::{NetworkInput, NeuralNetwork};
pub use noise::SensorNoise;
pub(crate) use noise::mixed;
pub use nominal_states::NominalStates;
pub(super) use observer::{Moved, Observer};
pub use output::Output;
pub use pid::Pid;
pub use sampled::SampledController;
pub use slip::SlipSense;
pub use slip_reflex::SlipReflex;
