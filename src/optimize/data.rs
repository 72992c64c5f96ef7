//! Measured data in CSV files: indentation tables, recorded trajectories of bodies, and samples of sensors.
//!
//! All have a header line that names the columns, in any order; further columns are ignored and
//! lines that start with `#` are comments. Numbers are in SI units.

mod indentation;
mod recording;
mod samples;
mod table;

pub use super::data_error::DataError;
pub use indentation::Indentation;
pub use recording::{RecordedState, Recording, RecordingSource};
pub use samples::Samples;
