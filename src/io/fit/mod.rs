//! Fit files.

pub(in crate::io) mod file;
pub(in crate::io) mod schema;
mod sensor_tables;
