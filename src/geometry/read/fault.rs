//! Faults of files.

use std::path::Path;

use super::error::ReadMeshError;
use crate::shown::shown;

/// A fault of a file before its name is known, at a line if it is text.
#[derive(Debug)]
pub(super) struct Fault {
    line: Option<usize>,
    found: String,
    expected: String,
}

impl Fault {
    pub fn new(
        line: impl Into<Option<usize>>,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> Self {
        let found = shown(&found.into()).into_owned();
        Self { line: line.into(), found, expected: expected.into() }
    }

    /// The same fault in a part of a file that has no lines.
    pub fn of(self, part: String) -> Self {
        Self { line: None, found: format!("{} in {part}", self.found), ..self }
    }

    pub fn in_file(self, file: &Path) -> ReadMeshError {
        ReadMeshError::Content {
            file: file.to_owned(),
            line: self.line,
            found: self.found,
            expected: self.expected,
        }
    }
}
