//! Tables of numbers in CSV files.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::optimize::data_error::DataError;
use crate::shown::shown;

/// Columns of numbers, and the line of the file that each row came from.
pub(super) struct Table {
    path: String,
    header: Vec<String>,
    pub(super) rows: Vec<(u64, Vec<f64>)>,
}

impl Table {
    /// Reads the named columns that are there; all fields of those must be finite numbers.
    pub(super) fn read(input: impl Read, path: &str, wanted: &[&str]) -> Result<Self, DataError> {
        Self::read_fields(input, path, wanted, false)
    }

    /// The same, where fields may be empty: they are NaN.
    pub(super) fn read_with_gaps(input: impl Read, path: &str, wanted: &[&str]) -> Result<Self, DataError> {
        Self::read_fields(input, path, wanted, true)
    }

    fn read_fields(input: impl Read, path: &str, wanted: &[&str], gaps: bool) -> Result<Self, DataError> {
        let malformed = |e: csv::Error| DataError::Malformed { path: path.into(), message: e.to_string() };
        let mut reader = csv::ReaderBuilder::new()
            .comment(Some(b'#'))
            .trim(csv::Trim::All)
            .flexible(true)
            .from_reader(input);
        let header: Vec<String> = reader
            .headers()
            .map_err(malformed)?
            .iter()
            .map(|s| s.trim_start_matches('\u{feff}').into())
            .collect();
        if let Some((_, column)) = header.iter().enumerate().find(|(i, c)| header[..*i].contains(c)) {
            return Err(DataError::DuplicateColumn { path: path.into(), column: shown(column).into_owned() });
        }
        let used: Vec<bool> = header.iter().map(|c| wanted.contains(&c.as_str())).collect();
        let mut rows = Vec::new();
        for record in reader.records() {
            let record = record.map_err(malformed)?;
            let line = record.position().map_or(0, |p| p.line());
            if record.len() != header.len() {
                let (found, expected) = (record.len(), header.len());
                return Err(DataError::FieldCount { path: path.into(), line, found, expected });
            }
            let mut row = Vec::with_capacity(header.len());
            for ((field, column), used) in record.iter().zip(&header).zip(&used) {
                let value = match *used {
                    true if gaps && field.is_empty() => Some(f64::NAN),
                    true => field.parse::<f64>().ok().filter(|v| v.is_finite()),
                    false => Some(0.0),
                };
                row.push(value.ok_or_else(|| DataError::Field {
                    path: path.into(),
                    line,
                    column: shown(column).into_owned(),
                    found: format!("`{}`", shown(field)),
                    allowed: "a finite number",
                })?);
            }
            rows.push((line, row));
        }
        Ok(Self { path: path.into(), header, rows })
    }

    /// Takes a prefix off the names of those columns that have it before one of `names`.
    pub(super) fn without_prefix(&mut self, prefix: &str, names: &[&str]) {
        for column in &mut self.header {
            if let Some(rest) = column.strip_prefix(prefix)
                && names.contains(&rest)
            {
                *column = rest.to_owned();
            }
        }
    }

    /// The index of a column in a row.
    pub(super) fn find(&self, column: &str) -> Option<usize> {
        self.header.iter().position(|c| c == column)
    }

    /// The index of a column that must be there.
    pub(super) fn require(&self, column: &str) -> Result<usize, DataError> {
        self.find(column).ok_or_else(|| self.missing(column))
    }

    /// The error that a column is missing.
    pub(super) fn missing(&self, column: &str) -> DataError {
        let found = self.header.iter().map(|c| format!("`{}`", shown(c))).collect::<Vec<_>>().join(", ");
        DataError::MissingColumn { path: self.path.clone(), column: column.into(), found }
    }

    /// All the columns, or none of them; an error if only some are there.
    pub(super) fn all_or_none<const N: usize>(
        &self,
        columns: [&str; N],
    ) -> Result<Option<[usize; N]>, DataError> {
        if columns.iter().all(|c| self.find(c).is_none()) {
            return Ok(None);
        }
        self.require_all(columns).map(Some)
    }

    /// All the columns, which must be there.
    pub(super) fn require_all<const N: usize>(&self, columns: [&str; N]) -> Result<[usize; N], DataError> {
        let mut indices = [0; N];
        for (index, column) in indices.iter_mut().zip(columns) {
            *index = self.require(column)?;
        }
        Ok(indices)
    }

    /// The error that a field is not what is allowed.
    pub(super) fn field(&self, line: u64, column: &str, found: String, allowed: &'static str) -> DataError {
        DataError::Field { path: self.path.clone(), line, column: column.into(), found, allowed }
    }

    /// An error where there are fewer rows.
    pub(super) fn at_least(&self, least: usize) -> Result<(), DataError> {
        let found = self.rows.len();
        if found < least {
            return Err(DataError::TooFewRows { path: self.path.clone(), found, least });
        }
        Ok(())
    }
}

/// Opens a file.
pub(super) fn open(path: &Path) -> Result<File, DataError> {
    File::open(path).map_err(|source| DataError::Read { path: path.display().to_string(), source })
}
