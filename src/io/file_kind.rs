//! Which kind of file a file is. It is told here alone.

use std::path::Path;

use crate::input_file;
use crate::input_file::ends_in;
use crate::io::document::Document;
use crate::io::document::field_path::FieldPath;
use crate::io::file_error::{FileError, Problem};
use crate::io::reference::FileKind;
use crate::shown::shown;

/// The most fields that a message names.
const MOST_NAMED: usize = 5;

impl FileKind {
    /// The kind of a file, which need not be valid: the fields tell it that one kind has and no other.
    ///
    /// # Errors
    /// When the file cannot be read, is neither TOML nor JSON, or has fields of no kind or of several ones; the
    /// message says which fields each kind must have.
    pub fn of(path: impl AsRef<Path>) -> Result<Self, FileError> {
        let path = path.as_ref();
        let is_called = ["toml", "json"].iter().any(|ending| ends_in(path, ending));
        let document = match Document::read(path) {
            // What is not called TOML need not be meant to be it.
            Err(FileError::Invalid { .. }) if !is_called && !input_file::is_standard_input(path) => {
                return Err(FileError::Extension { path: path.to_owned() });
            }
            read => read?,
        };
        let found = document.keys();
        let wrong = |message: String| document.located(Problem::new(FieldPath::root(), message));
        kind_with(&found).ok_or_else(|| wrong(undecided(&found)))
    }

    /// The fields that a file of this kind must have, in words.
    fn needs(self) -> &'static str {
        match self {
            Self::Scene => "a scene must have `bodies` or `robots`",
            Self::Problem => "a problem must have `scene`, `until`, `knots`, `controls` and `costs`",
            Self::Fit => "a fit must have `scene`, `parameters`, and `trajectories` or `indentations`",
        }
    }

    /// The fields at the top of a file of this kind.
    fn fields(self) -> Vec<String> {
        let schema = self.schema();
        let fields = schema.get("properties").and_then(|properties| properties.as_object());
        fields.map(|fields| fields.keys().cloned().collect()).unwrap_or_default()
    }
}

/// The only kind that has fields of its own among those found.
fn kind_with(found: &[&str]) -> Option<FileKind> {
    let fields = FileKind::ALL.map(FileKind::fields);
    let has = |kind: usize, name: &str| fields[kind].iter().any(|field| field == name);
    // The kinds with a field that no other kind has.
    let own = |kind: usize, name: &str| (0..fields.len()).all(|other| has(other, name) == (other == kind));
    let mut kinds = (0..fields.len()).filter(|&kind| found.iter().any(|name| own(kind, name)));
    match (kinds.next(), kinds.next()) {
        (Some(kind), None) => Some(FileKind::ALL[kind]),
        _ => None,
    }
}

/// What to say where the kind cannot be told.
fn undecided(found: &[&str]) -> String {
    let named: Vec<String> = found.iter().take(MOST_NAMED).map(|name| format!("`{}`", shown(name))).collect();
    let more = if found.len() > MOST_NAMED { ", …" } else { "" };
    let found = if named.is_empty() { "no fields".to_owned() } else { format!("{}{more}", named.join(", ")) };
    let needs = FileKind::ALL.map(FileKind::needs).join("; ");
    format!("found {found}; this does not tell whether the file is a scene, a problem or a fit: {needs}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_one_kind_tell_it() {
        for (found, kind) in [
            (&["solver", "bodies"][..], Some(FileKind::Scene)),
            (&["robots"], Some(FileKind::Scene)),
            // One that knows no scene yet is a problem all the same.
            (&["knots"], Some(FileKind::Problem)),
            (&["scene", "until", "gravty"], Some(FileKind::Problem)),
            (&["scene", "solver", "parameters"], Some(FileKind::Fit)),
            (&["parameters"], Some(FileKind::Fit)),
            // What several kinds have tells nothing, and neither do fields of two kinds.
            (&["scene"], None),
            (&["scene", "solver"], None),
            (&["bodies", "knots"], None),
            (&["gravty"], None),
            (&[], None),
        ] {
            assert_eq!(kind_with(found), kind, "{found:?}");
        }
    }

    #[test]
    fn the_words_name_what_the_schemas_need() {
        for kind in [FileKind::Problem, FileKind::Fit] {
            let schema = kind.schema();
            let needed = schema["required"].as_array().expect("a list");
            for field in needed.iter().map(|name| name.as_str().expect("a name")) {
                assert!(kind.needs().contains(&format!("`{field}`")), "{field}");
            }
        }
        for kind in FileKind::ALL {
            let fields = kind.fields();
            for named in kind.needs().split('`').skip(1).step_by(2) {
                assert!(fields.iter().any(|field| field == named), "{named}");
            }
        }
    }
}
