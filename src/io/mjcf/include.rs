//! A file with those that it includes in their places.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{FORMAT, wrong};
use crate::input_file;
use crate::io::file_error::FileError;
use crate::io::robot::invalid;
use crate::io::robot::values::required;
use crate::xml::{Element, parse};

/// The deepest nesting of elements, those of included files counted.
const DEEPEST: usize = 100;

/// The files that are read.
struct Files<'a> {
    /// That of the robot.
    main: &'a Path,
    included: Vec<PathBuf>,
}

/// The element of a file with what it includes, each element with the name of its file, and the files included.
pub(super) fn expanded(root: &Element, path: &Path) -> Result<(Element, Vec<PathBuf>), FileError> {
    let mut files = Files { main: path, included: Vec::new() };
    Ok((expand(root, &Arc::from(path), 1, &mut files)?, files.included))
}

fn expand(
    element: &Element,
    file: &Arc<Path>,
    depth: usize,
    files: &mut Files,
) -> Result<Element, FileError> {
    let mut own = element.bare();
    own.file = Some(Arc::clone(file));
    if depth > DEEPEST {
        return Err(wrong(&own, format!("elements are nested more than {DEEPEST} deep")));
    }
    for child in &element.children {
        if child.name != "include" {
            own.children.push(expand(child, file, depth + 1, files)?);
            continue;
        }
        let mut include = child.bare();
        include.file = Some(Arc::clone(file));
        let (included, place) = read(&include, files)?;
        // What is included is in place of its element.
        own.children.extend(expand(&included, &place, depth + 1, files)?.children);
    }
    Ok(own)
}

/// The element of a file that is included, and where it is: relative to the folder of the robot's file, or to that of
/// the file that includes it.
fn read(include: &Element, files: &mut Files) -> Result<(Element, Arc<Path>), FileError> {
    let name = required(include, "file").map_err(|message| wrong(include, message))?;
    let from = [Some(files.main), include.file.as_deref()];
    let folders = from.into_iter().flatten().filter_map(Path::parent);
    let places: Vec<PathBuf> = folders.map(|folder| folder.join(name)).collect();
    let Some(place) = places.iter().find(|place| place.is_file()) else {
        let mut places: Vec<String> = places.iter().map(|place| place.display().to_string()).collect();
        places.dedup();
        let message = format!("found file = {name:?}, which is not there; looked for {}", places.join(", "));
        return Err(wrong(include, message));
    };
    let one = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if files.included.iter().map(PathBuf::as_path).chain([files.main]).any(|other| one(other) == one(place)) {
        let message = format!("found file = {name:?}, which is read already; a file may be included once");
        return Err(wrong(include, message));
    }
    let text =
        input_file::read_text(place).map_err(|source| FileError::Read { path: place.clone(), source })?;
    let root =
        parse(text.trim_start_matches('\u{feff}')).map_err(|problem| invalid(place, FORMAT, problem))?;
    files.included.push(place.clone());
    Ok((root, Arc::from(place.as_path())))
}
