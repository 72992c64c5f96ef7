//! The files in a folder that are checked: those that isobar reads, by their names, and of names that others have too by what is in
//! them.

use std::fs;
use std::path::{Path, PathBuf};

use isobar::input_file;
use isobar::io::FileError;

/// Endings that only files have which isobar reads.
const ROBOTS: [&str; 2] = ["urdf", "sdf"];
pub(super) const MESHES: [&str; 6] = ["obj", "ply", "stl", "vtk", "vtu", "msh"];
/// What a part of a robot has that other files include.
const PART: &str = "<mujocoinclude";
/// Endings that others have too, with what is in a file that is meant for isobar: one word of each list.
const SHARED: [(&str, &[&[&str]]); 3] = [
    ("xml", &[&["<mujoco", "<robot"]]),
    (
        "json",
        &[
            &["\"geometries\"", "\"urdf\"", "\"costs\"", "\"indentations\"", "\"trajectories\""],
            &["\"bodies\"", "\"robots\"", "\"scene\""],
        ],
    ),
    ("toml", &[&["\n[[bodies", "\n[[robots", "\nscene ", "\nscene="]]),
];

/// The files of a folder and of those in it, in the order of their names. What is hidden and folders of builds are left out.
///
/// # Errors
/// When a folder cannot be read.
pub(super) fn files_in(folder: &Path) -> Result<Vec<PathBuf>, FileError> {
    let failed = |source| FileError::Read { path: folder.to_owned(), source };
    let entries = fs::read_dir(folder).map_err(failed)?.collect::<Result<Vec<_>, _>>().map_err(failed)?;
    let mut paths: Vec<PathBuf> = entries.into_iter().map(|entry| entry.path()).collect();
    paths.sort();
    let mut files = Vec::new();
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        // A link to a folder may lead around in a circle.
        let is_folder = fs::symlink_metadata(&path).is_ok_and(|data| data.is_dir());
        match () {
            () if name.starts_with('.') || (is_folder && name == "target") => {}
            () if is_folder => files.append(&mut files_in(&path)?),
            () if path.is_file() && is_meant(&path) => files.push(path),
            () => {}
        }
    }
    Ok(files)
}

/// Whether a file ends in one of these.
pub(super) fn ends_in(path: &Path, endings: &[&str]) -> bool {
    path.extension().is_some_and(|found| endings.iter().any(|ending| found.eq_ignore_ascii_case(ending)))
}

/// Whether isobar is meant to read a file.
fn is_meant(path: &Path) -> bool {
    let has_all = |words: &[&[&str]]| {
        // What is no text, or larger than any file that is read, is another program's.
        let text = format!("\n{}", input_file::read_text(path).unwrap_or_default());
        let is_part = text.contains(PART);
        !is_part && words.iter().all(|words| words.iter().any(|word| text.contains(word)))
    };
    let shared = SHARED.iter().find(|(ending, _)| ends_in(path, &[ending]));
    ends_in(path, &ROBOTS) || ends_in(path, &MESHES) || shared.is_some_and(|(_, words)| has_all(words))
}
