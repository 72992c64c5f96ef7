//! Bodies that joints connect: kinematics and dynamics of trees.
//!
//! A [`Mechanism`] is immutable; a [`JointState`] is what changes; a [`Workspace`] is memory that
//! is reused. [`Mechanism::update_kinematics`] brings the workspace to a state, and all else starts from
//! there: poses, velocities and Jacobians of bodies, [`Mechanism::inverse_dynamics`], [`Mechanism::mass_matrix`],
//! [`Mechanism::forward_dynamics`] and their derivatives. Nothing allocates once the workspace is made.
//!
//! All algorithms express spatial vectors in W's axes about one fixed point for each tree, so that
//! vectors of different bodies can be added without a transformation. They follow the tables of
//! Featherstone, *Rigid Body Dynamics Algorithms*, 2008. A joint that follows another shares its
//! coordinate (`followers.rs`).

mod build;
mod cancelled_forces;
mod carried;
mod computed_torque;
mod derivatives;
mod description;
mod followers;
mod forward_dynamics;
mod inertial_motion;
mod inertial_sensitivity;
mod inverse_dynamics;
mod joint;
mod kinematics;
mod mass_matrix;
mod mechanism;
mod midpoint_rule;
mod order;
mod rigid_parts;
mod state;
#[cfg(test)]
mod tests;
mod validate;
mod velocity_level;
mod vjp;
mod workspace;

pub use computed_torque::ComputedTorque;
pub use derivatives::InverseDerivatives;
pub use description::{
    BodyDescription, JointDescription, JointLimits, JointSpring, Mimic, STICTION_VELOCITY,
};
pub(crate) use inertial_motion::InertialMotion;
pub(crate) use inertial_sensitivity::InertialSensitivity;
pub use inverse_dynamics::BodyForce;
pub use joint::JointKind;
pub(crate) use joint::quaternion;
pub use mechanism::{Body, Follows, Joint, Mechanism, Tree};
pub(crate) use midpoint_rule::MidpointRule;
pub use state::JointState;
pub use velocity_level::StepInput;
pub use vjp::MotionCotangent;
pub(in crate::multibody) use vjp::velocities_of_bodies;
pub use workspace::Workspace;
