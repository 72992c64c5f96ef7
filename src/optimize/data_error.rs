//! What can be wrong with files that optimizations read.

/// Why recorded data or the checkpoint of an optimization cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum DataError {
    /// The file cannot be read.
    #[error("{path}: cannot be read: {source}")]
    Read { path: String, source: std::io::Error },
    /// The text is not CSV.
    #[error("{path}: not a CSV file: {message}")]
    Malformed { path: String, message: String },
    /// A column that is needed is not there.
    #[error(
        "{path}: no column `{column}`; the columns found are {found} (`columns` in a fit file says what a file calls them)"
    )]
    MissingColumn {
        path: String,
        /// The column (or columns of which one is needed).
        column: String,
        found: String,
    },
    /// Two columns have the same name.
    #[error("{path}: column `{column}` appears twice")]
    DuplicateColumn { path: String, column: String },
    /// A line has too many or too few fields.
    #[error("{path}, line {line}: {found} fields, the header has {expected}")]
    FieldCount {
        path: String,
        /// The line, counted from 1.
        line: u64,
        found: usize,
        expected: usize,
    },
    /// A field that is not what it must be.
    #[error("{path}, line {line}, column `{column}`: {found}, it must be {allowed}")]
    Field {
        path: String,
        /// The line, counted from 1.
        line: u64,
        column: String,
        found: String,
        allowed: &'static str,
    },
    /// A quantity that was never sampled.
    #[error("{path}: column `{column}` is empty in all rows; at least one sample is needed")]
    EmptyColumn { path: String, column: String },
    /// There are not enough rows.
    #[error("{path}: {found} rows of data, at least {least} are needed")]
    TooFewRows { path: String, found: usize, least: usize },
    /// It is not a checkpoint of this format.
    #[error("{path}: it cannot be read ({source}): remove it to start anew")]
    CheckpointFormat { path: String, source: serde_json::Error },
    /// It belongs to something else.
    #[error("{path}: it is of {field} `{found}`, this run is of `{expected}`: remove it to start anew")]
    OtherCheckpoint { path: String, field: &'static str, found: String, expected: String },
    /// A field is not what this run can have come to.
    #[error("{path}: {source}: remove it to start anew")]
    CheckpointField { path: String, source: InvalidField },
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
