//! Trajectories and states of joints.

pub(in crate::io) mod forces;
pub(in crate::io) mod joint_state;
pub(in crate::io) mod row;
pub(in crate::io) mod states;
pub(in crate::io) mod trajectory;
pub(in crate::io) mod writer;
