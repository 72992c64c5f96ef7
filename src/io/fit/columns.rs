//! What fits say of the columns of their files: names and units.

use std::fmt::Display;

use crate::io::document::field_path::FieldPath;
use crate::io::file_error::FileError;
use crate::io::fit::file::FitFile;
use crate::optimize::data::{Columns, units_of, units_of_kind};

impl FitFile {
    /// Refuses names that no column is asked for by, and units that are none or of another kind.
    pub(super) fn check_columns(
        &self,
        columns: &Columns,
        claimed: &[String],
        field: &FieldPath,
    ) -> Result<(), FileError> {
        for (column, source) in columns {
            let field = field.key("columns").key(column);
            if !claimed.contains(column) {
                let claimed = claimed.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
                return Err(self.invalid(&field, format_args!("no such column; there are {claimed}")));
            }
            let field = field.key("unit");
            if !(source.unit.is_finite() && source.unit != 0.0) {
                let message = format_args!("found {}; it must be finite and not 0", source.unit);
                return Err(self.invalid(&field, message));
            }
            self.check_unit(&field, column, units_of(column))?;
        }
        Ok(())
    }

    /// Refuses units of channels of sensors that are of another kind than their quantities.
    pub(super) fn check_channels(&self) -> Result<(), FileError> {
        for (i, sensor) in self.table.sensors.iter().enumerate() {
            let field = FieldPath::root().key("sensors").index(i).key("channels");
            for (j, channel) in sensor.channels.iter().enumerate() {
                let (kind, first) = (channel.quantity, channel.quantity.columns()[0]);
                let known = units_of(first).unwrap_or_else(|| units_of_kind(kind.unit()));
                self.check_unit(&field.index(j).key("unit"), kind.name(), Some(known))?;
            }
        }
        Ok(())
    }

    /// Refuses the name of a unit that is not one of those of its kind, where that is known.
    fn check_unit(
        &self,
        field: &FieldPath,
        of: impl Display,
        known: Option<Vec<&str>>,
    ) -> Result<(), FileError> {
        match (self.document.text(field), known) {
            (Some(found), Some(known)) if !known.contains(&found) => {
                let names = known.iter().map(|name| format!("\"{name}\", ")).collect::<String>();
                let message = format_args!("found \"{found}\"; that of `{of}` can be {names}or a number");
                Err(self.invalid(field, message))
            }
            _ => Ok(()),
        }
    }
}
