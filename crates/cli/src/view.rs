//! `isobar view`: a scene or its motion, in the browser.

use std::io::Write;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;

use super::messages::text_output;
use super::recordings::{about, command_line, page, recorder};
use super::report::recording;
use super::{Error, load_scene};
use isobar_report::write_page;

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
}

/// Writes a page among the temporary files and opens it.
pub(super) fn run(arguments: &ViewArguments) -> Result<(), Error> {
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
    // A name that nobody can guess, since others may write to the folder of temporary files too.
    let failed =
        |source: std::io::Error| Error::Write { path: std::env::temp_dir().display().to_string(), source };
    let mut name = tempfile::Builder::new();
    let (_, file) = name
        .prefix("isobar-")
        .suffix(".html")
        .tempfile()
        .map_err(failed)?
        .keep()
        .map_err(|e| failed(e.error))?;
    write_page(&file, &page(&scene.path, about, Some(&recording)))?;
    writeln!(text_output(), "{}", file.display())?;
    if arguments.print {
        return Ok(());
    }
    open::that_detached(&file).map_err(|source| Error::Browser { path: file.display().to_string(), source })
}
