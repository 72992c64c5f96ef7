//! Why a file is not a mesh.

use std::path::PathBuf;

use crate::geometry::error::MeshError;

/// Why a mesh could not be read from a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum ReadMeshError {
    /// The file could not be read.
    #[error("{}: {source}", file.display())]
    Io { file: PathBuf, source: std::io::Error },
    /// The extension does not tell a format that can be read.
    #[error("{}: the file ends in {found}; a {kind} mesh is read from {allowed}", file.display())]
    Extension {
        file: PathBuf,
        /// Its extension, or "no extension".
        found: String,
        kind: &'static str,
        allowed: &'static str,
    },
    /// The content is not what the format prescribes, or not supported.
    #[error("{}{}: found {found}; {expected}", file.display(), line.map(|line| format!(":{line}")).unwrap_or_default())]
    Content {
        file: PathBuf,
        /// The line, counted from 1, of a text file.
        line: Option<usize>,
        found: String,
        expected: String,
    },
    /// The mesh in the file is not valid.
    #[error("{}: {source}", file.display())]
    Mesh { file: PathBuf, source: MeshError },
}
