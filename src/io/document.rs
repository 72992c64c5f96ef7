//! Documents of TOML and JSON, with the field and the line of what is wrong in them.

use std::fs;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

use super::field_path::{FieldPath, line_at};
use super::file_error::FileError;

/// The text of a file.
pub(super) fn read_text(path: &Path) -> Result<String, FileError> {
    fs::read_to_string(path).map_err(|source| FileError::Read { path: path.to_owned(), source })
}

/// A file named in another, relative to it.
pub(super) fn beside(path: &Path, name: &Path) -> PathBuf {
    path.parent().unwrap_or(Path::new("")).join(name)
}

/// What a TOML document says.
pub(super) fn parse_toml<T: DeserializeOwned>(path: &Path, text: &str) -> Result<T, FileError> {
    let invalid = |field: String, error: &toml::de::Error| FileError::Invalid {
        path: path.to_owned(),
        line: error.span().map(|span| line_at(text, span.start)),
        field,
        message: error.message().trim().replace('\n', ", "),
    };
    let document =
        toml::Deserializer::parse(text).map_err(|error| invalid(FieldPath::root().to_string(), &error))?;
    serde_path_to_error::deserialize(document)
        .map_err(|error| invalid(field_name(error.path()), error.inner()))
}

/// What a JSON document says.
pub(super) fn parse_json<T: DeserializeOwned>(path: &Path, text: &str) -> Result<T, FileError> {
    let invalid = |field: String, error: &serde_json::Error| {
        // The line goes to the front of the message.
        let message = error.to_string();
        let end = message.rfind(" at line ").unwrap_or(message.len());
        FileError::Invalid {
            path: path.to_owned(),
            line: (error.line() > 0).then_some(error.line()),
            field,
            message: message[..end].to_owned(),
        }
    };
    let mut document = serde_json::Deserializer::from_str(text);
    let table = serde_path_to_error::deserialize(&mut document)
        .map_err(|error| invalid(field_name(error.path()), error.inner()))?;
    document.end().map_err(|error| invalid(FieldPath::root().to_string(), &error))?;
    Ok(table)
}

/// The name of the field that a parser stopped at.
fn field_name(path: &serde_path_to_error::Path) -> String {
    let name = path.to_string();
    if name == "." { FieldPath::root().to_string() } else { name }
}
