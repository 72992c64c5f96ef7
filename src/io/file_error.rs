//! What can be wrong with a file.

use std::fmt;
use std::path::{Path, PathBuf};

use super::document::field_path::FieldPath;
use crate::input_file::ends_in;
use crate::multibody::ModelError;
use crate::optimize::data::DataError;

/// What to say of a file that is called like no scene.
fn not_a_scene(path: &Path) -> String {
    match ["urdf", "xml", "sdf"].iter().any(|ending| ends_in(path, ending)) {
        true => format!(
            "is the file of a robot; a scene takes it as `[[robots]]` with `urdf = \"{}\"`",
            path.display()
        ),
        false => "a scene file must end in .toml or .json".to_owned(),
    }
}

/// Why a scene, a problem, a fit, a robot, a state or a trajectory could not be read or written. Every
/// message names the file, the field or
/// line, what was found and what is allowed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum FileError {
    /// The file cannot be read.
    #[error("{}: cannot be read: {source}", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    /// The name does not tell the format.
    #[error("{}: {}", path.display(), not_a_scene(path))]
    Extension { path: PathBuf },
    /// The file, or what it says, is not valid.
    #[error("{}{}: {field}: {message}", path.display(), At(*line))]
    Invalid {
        path: PathBuf,
        /// The line, from 1, where it is known.
        line: Option<usize>,
        /// The field, such as `bodies[0].mass`.
        field: String,
        /// What was found and what is allowed.
        message: String,
    },
    /// The file of a robot is not of its format.
    #[error("{}{}: is not a valid {format}: {message}", path.display(), At(*line))]
    Robot {
        path: PathBuf,
        /// The format: URDF, SDF, MJCF or SRDF.
        format: &'static str,
        /// The line, from 1, where it is known: that of the link or joint, or of what is in it.
        line: Option<usize>,
        /// What was found and what is allowed.
        message: String,
    },
    /// An element is not right, or not supported.
    #[error("{}: {element}: {message}", path.display())]
    RobotElement {
        path: PathBuf,
        /// The element, such as "joint `elbow`".
        element: String,
        /// What was found and what is allowed.
        message: String,
    },
    /// Links and joints do not make a mechanism.
    #[error("{}: {source}", path.display())]
    Mechanism { path: PathBuf, source: ModelError },
    /// A file of measurements is not good.
    #[error(transparent)]
    Data(#[from] DataError),
    /// The file is not a state.
    #[error("{}: {source}", path.display())]
    Json {
        path: PathBuf,
        /// Why, with line and column.
        source: serde_json::Error,
    },
    /// A field does not fit the mechanism.
    #[error("{}: {field}: {message}", path.display())]
    Field {
        path: PathBuf,
        field: String,
        /// What was found and what is allowed.
        message: String,
    },
    /// The file cannot be written.
    #[error("{}: cannot be written: {source}", path.display())]
    Write { path: PathBuf, source: std::io::Error },
    /// The file is not a trajectory.
    #[error("{}:{line}: {message}", path.display())]
    Row {
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// What was found and what is allowed.
        message: String,
    },
}

/// A line number as it follows a file's name.
pub(super) struct At(pub Option<usize>);

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |line| write!(f, ":{line}"))
    }
}

/// What is wrong with a field, before the file and the line are known.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Problem {
    pub field: FieldPath,
    /// What was found and what is allowed.
    pub message: String,
}

impl Problem {
    /// A problem with a field.
    pub fn new(field: FieldPath, message: impl fmt::Display) -> Self {
        Self { field, message: message.to_string() }
    }
}

pub(super) fn check_name(name: &str, field: &FieldPath) -> Result<(), Problem> {
    if !name.trim().is_empty() && !name.chars().any(char::is_control) {
        return Ok(());
    }
    let message = format!("found {name:?}; a name must not be empty or hold control characters");
    Err(Problem::new(field.clone(), message))
}
