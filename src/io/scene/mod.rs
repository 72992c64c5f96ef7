//! Scene files: what they may hold, and from their tables to a model and its initial state.

pub(in crate::io) mod actuator_schema;
pub(in crate::io) mod actuator_tables;
pub(in crate::io) mod bodies;
pub(in crate::io) mod body_names;
pub(in crate::io) mod body_tables;
pub(in crate::io) mod computed_torque;
pub(in crate::io) mod content;
mod control_law_tables;
pub(in crate::io) mod controller_schema;
pub(in crate::io) mod controller_tables;
pub(in crate::io) mod file;
pub(in crate::io) mod geometry_tables;
pub(in crate::io) mod joint_schema;
pub(in crate::io) mod joint_tables;
pub(in crate::io) mod load_schema;
pub(in crate::io) mod load_tables;
pub(in crate::io) mod mesh_tables;
pub(in crate::io) mod named;
pub(in crate::io) mod plausibility;
pub(in crate::io) mod pressure_law_tables;
pub(in crate::io) mod robot_tables;
pub(in crate::io) mod schema;
pub(in crate::io) mod shape_schema;
pub(in crate::io) mod solver_tables;
pub(in crate::io) mod summary;
pub(in crate::io) mod visuals;
