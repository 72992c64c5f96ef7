//! Files that a motion is recorded in, each in the format that its name tells.

use std::path::{MAIN_SEPARATOR, Path, PathBuf};

use super::Error;
use super::messages::remark;
use isobar::io::Scene;
use isobar_report::{Page, Recorder, Recording, write_gltf, write_page, write_vtk};

/// How many frames are taken of a short motion unless the user says how many.
const FRAMES: f64 = 300.0;

/// The longest time between frames that are taken then, s: as in films. A frame takes as long as a few
/// steps.
const LONGEST_INTERVAL: f64 = 1.0 / 30.0;

/// A file format of recordings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    /// A page for a browser.
    Page,
    /// Animated glTF.
    Gltf,
    /// A series of VTK files.
    Vtk,
}

impl Format {
    fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "html" => Some(Self::Page),
            "glb" => Some(Self::Gltf),
            "pvd" => Some(Self::Vtk),
            _ => None,
        }
    }
}

/// Checks that the format of each file is known.
pub(super) fn check_formats(argument: &'static str, files: &[PathBuf]) -> Result<(), Error> {
    for path in files {
        if Format::of(path).is_none() {
            return Err(Error::Argument {
                name: argument,
                found: format!("`{}`", path.display()),
                allowed: "the name of a file that ends in .html (a page for a browser), .glb (animated glTF) or \
                          .pvd (VTK)",
            });
        }
    }
    Ok(())
}

/// Checks that the file of a page has the name of one.
pub(super) fn check_page(file: Option<&Path>) -> Result<(), Error> {
    match file.filter(|path| Format::of(path) != Some(Format::Page)) {
        Some(path) => Err(Error::Argument {
            name: "record",
            found: format!("`{}`", path.display()),
            allowed: "the name of a page, which ends in .html",
        }),
        None => Ok(()),
    }
}

/// The time between frames of a motion over a time `until` in steps of `time_step`, s.
pub(super) fn frame_interval(asked: Option<f64>, until: f64, time_step: f64) -> Result<f64, Error> {
    match asked {
        Some(interval) if interval > 0.0 && interval.is_finite() => Ok(interval),
        Some(interval) => Err(Error::Argument {
            name: "record-every",
            found: interval.to_string(),
            allowed: "more than 0 and finite, in seconds",
        }),
        None => Ok((until / FRAMES).clamp(time_step.min(LONGEST_INTERVAL), LONGEST_INTERVAL)),
    }
}

/// A recorder of a scene's motion, which shows what is drawn of its robots too. What of that cannot be is told.
pub(super) fn recorder(scene: &Scene, interval: f64) -> Recorder<'_> {
    let visuals = scene.visual_meshes();
    for warning in &visuals.warnings {
        remark(format_args!("isobar: warning: {warning}"));
    }
    Recorder::new(&scene.model, interval).with_visuals(visuals.meshes)
}

/// Whether one of the files shows plots.
pub(super) fn have_plots(files: &[PathBuf]) -> bool {
    files.iter().any(|path| Format::of(path) == Some(Format::Page))
}

/// What a page is of: a file and what kind it is, the version of this program, and what else there is to say.
pub(super) fn about(
    kind: &str,
    file: &Path,
    more: impl IntoIterator<Item = [String; 2]>,
) -> Vec<[String; 2]> {
    let mut about = vec![[kind.to_owned(), from_here(&file.display().to_string())]];
    about.extend(more);
    about.push(["isobar".to_owned(), env!("CARGO_PKG_VERSION").to_owned()]);
    about
}

/// What a page says besides a recording.
pub(super) fn page<'r>(file: &Path, about: Vec<[String; 2]>, recording: Option<&'r Recording>) -> Page<'r> {
    let title = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy().into_owned();
    Page { title, about, recording, ..Page::default() }
}

/// Writes a recording to each of the files.
pub(super) fn write_recordings(files: &[PathBuf], page: &Page, recording: &Recording) -> Result<(), Error> {
    for path in files {
        match Format::of(path) {
            Some(Format::Page) => write_page(path, page)?,
            Some(Format::Gltf) => write_gltf(path, &recording.film)?,
            Some(Format::Vtk) => write_vtk(path, &recording.film)?,
            // They have been checked.
            None => {}
        }
    }
    Ok(())
}

/// Text with the paths in the current folder as one would write them there: a page that is sent to somebody need not
/// tell where on a disk it was made.
fn from_here(text: &str) -> String {
    match std::env::current_dir() {
        Ok(folder) => text.replace(&format!("{}{MAIN_SEPARATOR}", folder.display()), ""),
        Err(_) => text.to_owned(),
    }
}

/// The command of this process, as a shell would take it. Without `--resume`, which changes no result.
pub(super) fn command_line() -> String {
    let arguments = std::env::args_os().skip(1).filter(|argument| argument != "--resume").map(|argument| {
        let text = from_here(&argument.to_string_lossy());
        let is_plain = |c: char| c.is_alphanumeric() || "-_./=,:+@%".contains(c);
        match !text.is_empty() && text.chars().all(is_plain) {
            true => text,
            false => format!("'{}'", text.replace('\'', "'\\''")),
        }
    });
    std::iter::once("isobar".to_owned()).chain(arguments).collect::<Vec<_>>().join(" ")
}
