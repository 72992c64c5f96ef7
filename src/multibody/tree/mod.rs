//! Bodies that joints connect: kinematics and dynamics of trees.
//!
//! A [`Mechanism`] is immutable; a [`JointState`] is what changes; a [`Workspace`] is memory that
//! is reused. [`update_kinematics`] brings the workspace to a state, and all else starts from
//! there: poses, velocities and Jacobians of bodies, [`inverse_dynamics`], [`mass_matrix`],
//! [`forward_dynamics`] and their derivatives. Nothing allocates once the workspace is made.
//!
//! All algorithms work in W's axes about one fixed point for each tree, where spatial vectors of
//! different bodies add up as they are (Featherstone, *Rigid Body Dynamics Algorithms*, 2008,
//! whose tables they follow).

mod build;
mod carried;
mod derivatives;
mod description;
mod error;
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
mod transposed;
mod validate;
mod velocity_level;
mod workspace;

pub use derivatives::{
    ForwardDerivatives, InverseDerivatives, forward_dynamics_derivatives, inverse_dynamics_derivatives,
};
pub use description::{BodyDescription, JointDescription, JointLimits, JointSpring};
pub use error::MechanismError;
pub use forward_dynamics::forward_dynamics;
pub(crate) use inertial_motion::InertialMotion;
pub(crate) use inertial_sensitivity::InertialSensitivity;
pub use inverse_dynamics::{BodyForce, bias_forces, gravity_forces, inverse_dynamics, passive_forces};
pub use joint::JointKind;
pub use kinematics::update_kinematics;
pub use mass_matrix::{factorize, kinetic_energy, mass_matrix, momentum, potential_energy, solve};
pub use mechanism::{Body, Joint, Mechanism, Tree};
pub(crate) use midpoint_rule::MidpointRule;
pub use state::JointState;
pub(in crate::multibody) use transposed::velocities_of_bodies;
pub use transposed::{
    InverseSensitivity, MotionCotangent, inverse_dynamics_by_gravity, inverse_dynamics_by_masses,
    motion_transposed,
};
pub use velocity_level::{StepInput, free_impulse, free_velocity, step_matrix};
pub use workspace::Workspace;
