//! Names of files with `*` in their last part.

use std::fs;
use std::path::{Path, PathBuf};

use crate::io::file_error::FileError;

/// The files that a path stands for, in the order of their names: itself, or those that match
/// the `*`s in its last part.
pub(super) fn matching(path: &Path) -> Result<Vec<PathBuf>, FileError> {
    let pattern = match path.file_name().and_then(|n| n.to_str()) {
        Some(name) if name.contains('*') => name,
        _ => return Ok(vec![path.to_owned()]),
    };
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let failed = |source| FileError::Read { path: folder.to_owned(), source };
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let file = entry.map_err(failed)?.path();
        let name = file.file_name().and_then(|n| n.to_str());
        if name.is_some_and(|name| matches_pattern(pattern, name)) {
            found.push(file);
        }
    }
    found.sort();
    Ok(found)
}

/// Whether a name matches a pattern in which `*` stands for anything.
fn matches_pattern(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut name) = name.strip_prefix(start) else { return false };
    let mut parts = rest.split('*').peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return name.ends_with(part);
        }
        let Some(at) = name.find(part) else { return false };
        name = &name[at + part.len()..];
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (pattern, name, matches) in [
            ("toss_*.csv", "toss_005.csv", true),
            ("toss_*.csv", "toss_005.txt", false),
            ("*", "anything", true),
            ("*.csv", ".csv", true),
            ("a*b*c", "a1b2c", true),
            ("a*b*c", "acb", false),
            ("a*a", "a", false),
            ("plain", "plain", true),
        ] {
            assert_eq!(matches_pattern(pattern, name), matches, "{pattern} {name}");
        }
    }
}
