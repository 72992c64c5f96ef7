//! Fit files.

mod candidates;
mod columns;
pub(in crate::io) mod file;
mod file_names;
mod parameter_values;
pub(in crate::io) mod schema;
mod sensor_tables;
mod starts;
mod warnings;

pub use candidates::Candidate;
