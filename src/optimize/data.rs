//! Measured data in CSV files: indentation tables, recorded trajectories of bodies, and samples of sensors.
//!
//! All have a header line that names the columns, in any order; further columns stand for nothing
//! ([`unclaimed_columns`]), and lines that start with `#` are comments. Numbers are in SI units, or with [`Columns`] in others.
//! Fields are separated by commas; or by semicolons or tabs where the header has such, and then numbers may have decimal commas.

mod columns;
mod consistency;
mod indentation;
mod recorded_state;
mod recording;
mod samples;
mod table;

pub use super::data_error::DataError;
#[cfg(test)]
pub(super) use columns::GivenUnit;
pub use columns::{ColumnSource, Columns};
pub(super) use columns::{si, unit};
pub(crate) use columns::{units_of, units_of_kind};
pub use indentation::Indentation;
pub use recorded_state::RecordedState;
pub use recording::{Recording, RecordingSource};
pub use samples::Samples;
pub use table::{UnclaimedColumns, unclaimed_columns};

/// The column of times, in s, of all recordings.
pub const TIME_COLUMN: &str = "t_s";
