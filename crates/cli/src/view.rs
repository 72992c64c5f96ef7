//! `isobar view`: a scene or its motion, in the browser.

use std::io::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use clap::Args;

use super::messages::{remark, tell, text_output};
use super::recordings::{about, command_line, page, recorder};
use super::report::recording;
use super::{Error, load_scene};
use isobar_report::{Page, write_page, write_version};

/// Arguments of `isobar view`.
#[derive(Debug, Args)]
pub(super) struct ViewArguments {
    /// Scene file, TOML or JSON; `-` for standard input
    scene: PathBuf,
    /// Its motion, CSV as `isobar simulate` writes it; without it the scene is shown as it starts
    trajectory: Option<PathBuf>,
    /// Show every Nth state only, besides the first and the last
    #[arg(long, value_name = "N", default_value = "1", requires = "trajectory")]
    every: NonZeroUsize,
    /// Only write the page and print its name; open no browser
    #[arg(long)]
    print: bool,
    /// End when the browser is opened; without it the page is made anew whenever the scene or its files change, until Ctrl-C
    #[arg(long)]
    once: bool,
}

/// How often files are looked at.
const LOOK: Duration = Duration::from_millis(300);

/// Writes a page among the temporary files, opens it, and makes it anew when its files change.
pub(super) fn run(arguments: &ViewArguments) -> Result<(), Error> {
    // A name that nobody can guess, since others may write to the folder of temporary files too.
    let failed =
        |source: std::io::Error| Error::Write { path: std::env::temp_dir().display().to_string(), source };
    let mut name = tempfile::Builder::new();
    let name = name.prefix("isobar-").suffix(".html").tempfile().map_err(failed)?;
    let is_watched = !arguments.print && !arguments.once && arguments.scene.as_os_str() != "-";
    let script = name.path().with_extension("js");
    let mut version = is_watched.then_some(1);
    let begin = SystemTime::now();
    let mut inputs = write(arguments, name.path(), &script, version)?;
    let (_, file) = name.keep().map_err(|e| failed(e.error))?;
    writeln!(text_output(), "{}", file.display())?;
    if arguments.print {
        return Ok(());
    }
    open::that_detached(&file)
        .map_err(|source| Error::Browser { path: file.display().to_string(), source })?;
    let Some(version) = &mut version else { return Ok(()) };
    remark(format_args!("isobar: the page follows {}; Ctrl-C ends this", arguments.scene.display()));
    let mut seen = read_since(begin, &inputs);
    loop {
        while stamps(&inputs) == seen {
            std::thread::sleep(LOOK);
        }
        // An editor may be about to write the rest.
        std::thread::sleep(LOOK);
        // Before they are read: what changes while they are is a change too.
        seen = stamps(&inputs);
        let begin = SystemTime::now();
        *version += 1;
        match write(arguments, &file, &script, Some(*version)) {
            Ok(now) if now == inputs => {}
            Ok(now) => (seen, inputs) = (read_since(begin, &now), now),
            Err(error) => tell(format_args!("isobar: {error}")),
        }
    }
}

/// Writes the page, and its version where it has one; the files that it was made of.
fn write(
    arguments: &ViewArguments,
    file: &Path,
    script: &Path,
    version: Option<u64>,
) -> Result<Vec<PathBuf>, Error> {
    let scene = load_scene(&arguments.scene)?;
    let recording = match &arguments.trajectory {
        Some(trajectory) => recording(&scene, trajectory, arguments.every)?,
        None => {
            let mut recorder = recorder(&scene, 1.0);
            recorder.add(0.0, &scene.state);
            recorder.finish()
        }
    };
    let about = about("scene", &scene.path, [["command".to_owned(), command_line()]]);
    let name = script.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let page = Page {
        version: version.map(|version| (version, name)),
        has_fine_fields: true,
        warnings: scene.warnings.clone(),
        ..page(&scene.path, about, Some(&recording))
    };
    write_page(file, &page)?;
    if let Some(version) = version {
        write_version(script, version)?;
    }
    Ok(scene.files.into_iter().chain(arguments.trajectory.clone()).collect())
}

/// When a file was changed last, and how long it is.
type Stamp = Option<(SystemTime, u64)>;

/// The stamps of files that were read since a time; none of those that have changed since, which may be after they were read.
fn read_since(begin: SystemTime, files: &[PathBuf]) -> Vec<Stamp> {
    stamps(files).into_iter().map(|stamp| stamp.filter(|(changed, _)| *changed <= begin)).collect()
}

fn stamps(files: &[PathBuf]) -> Vec<Stamp> {
    let stamp = |file: &PathBuf| {
        let found = file.metadata().ok()?;
        Some((found.modified().ok()?, found.len()))
    };
    files.iter().map(stamp).collect()
}
