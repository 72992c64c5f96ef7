//! Tables of numbers in CSV files.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::columns::Columns;
use crate::input_file::{self, Limited, Lines};
use crate::optimize::data_error::DataError;
use crate::shown::shown;

/// Columns of numbers, and the line of the file that each row came from.
pub(super) struct Table {
    path: String,
    /// What the columns are called in the file, and what their reader calls them.
    in_file: Vec<String>,
    header: Vec<String>,
    pub(super) rows: Vec<(u64, Vec<f64>)>,
}

impl Table {
    /// Reads the named columns that are there, in SI units; all fields of those must be finite numbers, or empty where there
    /// may be `gaps`: then they are NaN.
    pub(super) fn read(
        input: impl Read,
        path: &str,
        wanted: &[&str],
        (columns, gaps): (&Columns, bool),
    ) -> Result<Self, DataError> {
        let malformed = |e: csv::Error| malformed(path, &e);
        let text = bytes_of(input, path)?;
        let (mut reader, separator) = reader_of(&text);
        let mut header = names_of(reader.headers().map_err(malformed)?);
        let in_file = header.clone();
        let units = renamed(&mut header, columns, path)?;
        if let Some((_, column)) =
            header.iter().enumerate().find(|(i, c)| !c.is_empty() && header[..*i].contains(c))
        {
            return Err(DataError::DuplicateColumn { path: path.into(), column: shown(column).into_owned() });
        }
        let used: Vec<bool> = header.iter().map(|c| wanted.contains(&c.as_str())).collect();
        let (mut rows, mut mark) = (Vec::new(), None);
        for record in reader.records() {
            let record = record.map_err(malformed)?;
            let line = line_of(&text, record.position());
            if record.len() != header.len() {
                let (found, expected) = (record.len(), header.len());
                return Err(DataError::FieldCount { path: path.into(), line, found, expected });
            }
            let mut row = Vec::with_capacity(header.len());
            for (((field, column), used), unit) in record.iter().zip(&in_file).zip(&used).zip(&units) {
                let own = decimal_mark(field).filter(|_| *used);
                let is_other = own.is_some_and(|own| *mark.get_or_insert(own) != own);
                let value = match *used {
                    true if gaps && field.is_empty() => Some(f64::NAN),
                    true => number(field, separator).map(|v| v * unit).filter(|v| v.is_finite() && !is_other),
                    false => Some(0.0),
                };
                row.push(value.ok_or_else(|| DataError::Field {
                    path: path.into(),
                    line,
                    column: shown(column).into_owned(),
                    found: format!("`{}`", shown(field)),
                    allowed: match is_other {
                        true => {
                            "a number with the decimal mark of those before, and without marks of thousands"
                        }
                        false => "a finite number",
                    },
                })?);
            }
            rows.push((line, row));
        }
        Ok(Self { path: path.into(), in_file, header, rows })
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
        missing(&self.path, column, &self.in_file)
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
        let column = self.find(column).map_or(column, |place| &self.in_file[place]);
        DataError::Field { path: self.path.clone(), line, column: shown(column).into_owned(), found, allowed }
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

/// A reader, and what separates fields: the first of semicolon, tab and comma that the header has outside of quotes.
fn reader_of(text: &[u8]) -> (csv::Reader<&[u8]>, u8) {
    let is_header = |line: &&[u8]| !matches!(line, [] | [b'\r'] | [b'#', ..]);
    let header = text.split(|&byte| byte == b'\n').find(is_header).unwrap_or_default();
    let unquoted: Vec<u8> = header.split(|&byte| byte == b'"').step_by(2).flatten().copied().collect();
    let separator = [b';', b'\t'].into_iter().find(|separator| unquoted.contains(separator)).unwrap_or(b',');
    let mut builder = csv::ReaderBuilder::new();
    builder.delimiter(separator).comment(Some(b'#')).trim(csv::Trim::All).flexible(true);
    (builder.from_reader(text), separator)
}

/// A number, with a decimal point, or with a decimal comma where commas do not separate fields.
fn number(field: &str, separator: u8) -> Option<f64> {
    match field.split_once(',') {
        Some((whole, part)) if separator != b',' && !field.contains('.') => {
            format!("{whole}.{part}").parse().ok()
        }
        _ => field.parse().ok(),
    }
}

/// The mark that a number has before its decimals, or what may be one.
fn decimal_mark(field: &str) -> Option<char> {
    field.chars().find(|c| ['.', ','].contains(c))
}

/// Gives columns the names that are asked for, and returns the unit of each. A column that has such a name already gives it
/// up.
fn renamed(header: &mut [String], columns: &Columns, path: &str) -> Result<Vec<f64>, DataError> {
    let found = header.to_vec();
    let mut units = vec![1.0; header.len()];
    for name in header.iter_mut().filter(|name| columns.contains_key(*name)) {
        name.clear();
    }
    for (column, source) in columns {
        let Some(place) = found.iter().position(|name| *name == source.name) else {
            return Err(missing(path, &source.name, &found));
        };
        (header[place], units[place]) = (column.clone(), source.unit);
    }
    Ok(units)
}

fn missing(path: &str, column: &str, found: &[String]) -> DataError {
    let found = found.iter().map(|c| format!("`{}`", shown(c))).collect::<Vec<_>>().join(", ");
    DataError::MissingColumn { path: path.into(), column: column.into(), found }
}

fn bytes_of(input: impl Read, path: &str) -> Result<Vec<u8>, DataError> {
    input_file::bytes_of(input).map_err(|source| DataError::Read { path: path.into(), source })
}

/// The line of a record, counted from 1. The reader's position is before the comments and the empty lines that precede
/// the record.
fn line_of(text: &[u8], position: Option<&csv::Position>) -> u64 {
    let Some(position) = position else { return 1 };
    let from = text.get(position.byte() as usize..).unwrap_or_default();
    let is_passed_over = |line: &&[u8]| matches!(line, [] | [b'\r'] | [b'#', ..]);
    position.line() + from.split(|&byte| byte == b'\n').take_while(is_passed_over).count() as u64
}

fn malformed(path: &str, error: &csv::Error) -> DataError {
    DataError::Malformed { path: path.into(), message: error.to_string() }
}

/// The names in a header, without the mark that some programs begin a file with.
fn names_of(header: &csv::StringRecord) -> Vec<String> {
    header.iter().map(|name| name.trim_start_matches('\u{feff}').into()).collect()
}

/// Columns of a file that stand for nothing that is read of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnclaimedColumns {
    /// The line of the header, counted from 1.
    pub line: u64,
    /// Their names, in the order of the file.
    pub names: Vec<String>,
}

/// The columns of a file whose names `is_claimed` does not know. Columns without a name are passed over.
///
/// # Errors
/// A file that cannot be read or is not CSV.
pub fn unclaimed_columns(
    path: &Path,
    is_claimed: impl Fn(&str) -> bool,
) -> Result<UnclaimedColumns, DataError> {
    let name = path.display().to_string();
    let text = bytes_of(open(path)?, &name)?;
    let (mut reader, _) = reader_of(&text);
    let header = reader.headers().map_err(|e| malformed(&name, &e))?;
    let line = line_of(&text, header.position());
    let mut names = names_of(header);
    names.retain(|name| !name.is_empty() && !is_claimed(name));
    Ok(UnclaimedColumns { line, names })
}

pub(super) fn open(path: &Path) -> Result<Lines<Limited<File>>, DataError> {
    input_file::open_lines(path)
        .map_err(|source| DataError::Read { path: path.display().to_string(), source })
}
