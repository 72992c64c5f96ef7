//! The forces on all that moves, with their derivatives: contact, loads, drives and what the user applies.
//! The joints are accelerated here too, since that takes the drives.

pub(in crate::multibody) mod applied_forces;
mod computed_torque;
pub(in crate::multibody) mod force_sensitivity;
pub(in crate::multibody) mod force_values;
pub(in crate::multibody) mod joint_dynamics;
mod load_forces;
pub(in crate::multibody) mod total_forces;
