//! Measured data in CSV files: indentation tables and recorded trajectories of bodies.
//!
//! Both have a header line that names the columns, in any order; further columns are ignored and
//! lines that start with `#` are comments. Numbers are in SI units.

mod indentation;
mod recording;
mod table;

pub use super::data_error::DataError;
pub use indentation::Indentation;
pub use recording::{RecordedState, Recording, RecordingSource};
