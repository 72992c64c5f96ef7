//! Faults of text.

use std::path::Path;

use super::error::ReadMeshError;
use crate::shown::shown;

/// A fault at a line of a text, before the file's name is known.
#[derive(Debug)]
pub(super) struct Fault {
    line: usize,
    found: String,
    expected: String,
}

impl Fault {
    pub fn new(line: usize, found: impl Into<String>, expected: impl Into<String>) -> Self {
        Self { line, found: shown(&found.into()).into_owned(), expected: expected.into() }
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
