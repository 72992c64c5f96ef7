//! Files of trajectory optimization: problems, ensembles, checkpoints and commands.

pub(in crate::io) mod checkpoint;
pub(in crate::io) mod commands;
pub(in crate::io) mod constraint_tables;
pub(in crate::io) mod controls;
pub(in crate::io) mod costs;
pub(in crate::io) mod draws;
mod end_time;
pub(in crate::io) mod ensemble;
pub(in crate::io) mod ensemble_schema;
pub(in crate::io) mod file;
mod load;
pub(in crate::io) mod members;
pub(in crate::io) mod memory;
pub(in crate::io) mod optimize;
pub(in crate::io) mod optimized_numbers;
pub(in crate::io) mod policy;
pub(in crate::io) mod schema;
mod terms;
mod unreached;
