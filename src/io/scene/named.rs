//! What a name in a file stands for.

use crate::io::document::field_path::FieldPath;
use crate::io::file_error::Problem;
use crate::shown::{list, shown};

/// The index of a name among those of the scene.
pub(in crate::io) fn named<'a>(
    mut names: impl Iterator<Item = &'a str> + Clone,
    what: &str,
    name: &str,
    field: &FieldPath,
) -> Result<usize, Problem> {
    let all = names.clone();
    names.position(|n| n == name).ok_or_else(|| {
        let message = format!("found `{}`, no {what} of the scene; there are: {}", shown(name), list(all));
        Problem::new(field.clone(), message)
    })
}
