//! What can be wrong with a robot's description.

use std::path::{Path, PathBuf};

use crate::io::file_error::FileError;
use crate::xml::Problem;

/// A mesh that is asked for is not there.
#[derive(Clone, Debug, thiserror::Error, PartialEq)]
#[error(
    "body `{body}`: the mesh `{uri}` of its collision geometry is not found; looked for {}",
    paths(searched)
)]
pub struct MissingMesh {
    /// The body.
    pub body: String,
    /// The mesh as the file names it.
    pub uri: String,
    /// Where it was looked for.
    pub searched: Vec<PathBuf>,
}

/// Paths for a message.
fn paths(paths: &[PathBuf]) -> String {
    let paths: Vec<String> = paths.iter().map(|p| p.display().to_string()).collect();
    if paths.is_empty() { "nowhere: the package search path is empty".to_owned() } else { paths.join(", ") }
}

/// A problem with an element of a file.
pub(in crate::io) fn element(path: &Path, element: String, message: impl std::fmt::Display) -> FileError {
    FileError::RobotElement { path: path.to_owned(), element, message: message.to_string() }
}

/// A file that is not of its format, with the line where that is known.
pub(in crate::io) fn invalid(path: &Path, format: &'static str, (line, message): Problem) -> FileError {
    FileError::Robot { path: path.to_owned(), format, line, message }
}
