//! How bodies move under given forces: where they are, how a force accelerates one that is free, how it turns
//! where no moment acts, and its energy. No force is evaluated here.

pub(in crate::multibody) mod dynamics;
mod energy;
pub(in crate::multibody) mod free_motion;
pub(in crate::multibody) mod free_motion_sensitivity;
pub(in crate::multibody) mod kinematics;
