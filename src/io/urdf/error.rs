//! What can be wrong with a robot's description.

use std::path::{Path, PathBuf};

use crate::io::file_error::At;
use crate::multibody::ModelError;

/// Why a URDF file could not be read. Every message names the file and the element.
#[derive(Debug, thiserror::Error)]
pub enum UrdfError {
    /// The file cannot be read.
    #[error("{}: cannot be read: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file is not a URDF.
    #[error("{}{}: is not a valid URDF: {message}", path.display(), At(*line))]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The line, from 1, where it is known: that of the link or joint.
        line: Option<usize>,
        /// What was found and what is allowed.
        message: String,
    },
    /// An element is not right, or not supported.
    #[error("{}: {element}: {message}", path.display())]
    Element {
        /// The file.
        path: PathBuf,
        /// The element, such as "joint `elbow`".
        element: String,
        /// What was found and what is allowed.
        message: String,
    },
    /// Links and joints do not make a mechanism.
    #[error("{}: {source}", path.display())]
    Mechanism {
        /// The file.
        path: PathBuf,
        /// Why.
        source: ModelError,
    },
}

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
pub(super) fn element(path: &Path, element: String, message: impl std::fmt::Display) -> UrdfError {
    UrdfError::Element { path: path.to_owned(), element, message: message.to_string() }
}
