//! Why a file is not a mesh.

use std::path::PathBuf;

use crate::geometry::error::MeshError;

/// Why a mesh could not be read from a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadMeshError {
    /// The file could not be read.
    #[error("{}: {source}", file.display())]
    Io {
        /// The file.
        file: PathBuf,
        /// What went wrong.
        source: std::io::Error,
    },
    /// The extension does not tell a format that can be read.
    #[error("{}: the file ends in {found}; a {kind} mesh is read from {allowed}", file.display())]
    Extension {
        /// The file.
        file: PathBuf,
        /// Its extension, or "no extension".
        found: String,
        /// Kind of mesh.
        kind: &'static str,
        /// The extensions allowed.
        allowed: &'static str,
    },
    /// The content is not what the format prescribes, or not supported.
    #[error("{}:{line}: found {found}; {expected}", file.display())]
    Content {
        /// The file.
        file: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// What was found there.
        found: String,
        /// What is allowed there.
        expected: String,
    },
    /// A facet of an STL file could not be read.
    #[error("{}: facet {facet} cannot be read: {source}", file.display())]
    Facet {
        /// The file.
        file: PathBuf,
        /// The facet, counted from 0.
        facet: usize,
        /// What went wrong.
        source: std::io::Error,
    },
    /// The mesh in the file is not valid.
    #[error("{}: {source}", file.display())]
    Mesh {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        source: MeshError,
    },
}
