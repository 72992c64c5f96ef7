//! What can be wrong with files that optimizations read.

/// Why recorded data or the checkpoint of an optimization cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DataError {
    /// The file cannot be read.
    #[error("{path}: cannot be read: {source}")]
    Read {
        /// The file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// The text is not CSV.
    #[error("{path}: not a CSV file: {message}")]
    Malformed {
        /// The file.
        path: String,
        /// What is wrong.
        message: String,
    },
    /// A column that is needed is not there.
    #[error("{path}: no column `{column}`; the columns found are {found}")]
    MissingColumn {
        /// The file.
        path: String,
        /// The column (or columns of which one is needed).
        column: String,
        /// The header.
        found: String,
    },
    /// Two columns have the same name.
    #[error("{path}: column `{column}` appears twice")]
    DuplicateColumn {
        /// The file.
        path: String,
        /// The column.
        column: String,
    },
    /// A line has too many or too few fields.
    #[error("{path}, line {line}: {found} fields, the header has {expected}")]
    FieldCount {
        /// The file.
        path: String,
        /// The line, counted from 1.
        line: u64,
        /// How many fields it has.
        found: usize,
        /// How many the header has.
        expected: usize,
    },
    /// A field that is not what it must be.
    #[error("{path}, line {line}, column `{column}`: {found}, it must be {allowed}")]
    Field {
        /// The file.
        path: String,
        /// The line, counted from 1.
        line: u64,
        /// The column.
        column: String,
        /// What was found.
        found: String,
        /// What is allowed.
        allowed: &'static str,
    },
    /// A quantity that was never sampled.
    #[error("{path}: column `{column}` is empty in all rows; at least one sample is needed")]
    EmptyColumn {
        /// The file.
        path: String,
        /// The column.
        column: String,
    },
    /// There are not enough rows.
    #[error("{path}: {found} rows of data, at least {least} are needed")]
    TooFewRows {
        /// The file.
        path: String,
        /// How many there are.
        found: usize,
        /// How many are needed.
        least: usize,
    },
    /// It is not a checkpoint of this format.
    #[error("{path}: it cannot be read ({source}): remove it to start anew")]
    CheckpointFormat {
        /// Its name.
        path: String,
        /// Why.
        source: serde_json::Error,
    },
    /// It belongs to something else.
    #[error("{path}: it is of {field} `{found}`, this run is of `{expected}`: remove it to start anew")]
    OtherCheckpoint {
        /// Its name.
        path: String,
        /// What differs.
        field: &'static str,
        /// What the checkpoint says.
        found: String,
        /// What this run is.
        expected: String,
    },
    /// A field is not what this run can have come to.
    #[error("{path}: {source}: remove it to start anew")]
    CheckpointField {
        /// Its name.
        path: String,
        /// What is wrong.
        source: InvalidField,
    },
}

/// A field of a checkpoint that is not what it must be.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("`{field}`: found {found}, it must be {allowed}")]
pub struct InvalidField {
    /// The field.
    pub field: String,
    /// What was found.
    pub found: String,
    /// What is allowed.
    pub allowed: String,
}
