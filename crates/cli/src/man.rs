//! `isobar man`: the manual pages, made from the help of the commands.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use clap_mangen::Man;

use super::Error;
use super::outputs::check_outputs;
use isobar::io::write_atomically;

/// Arguments of `isobar man`.
#[derive(Debug, Args)]
pub(super) struct ManArguments {
    /// Folder to write isobar.1 and a page for each subcommand to, made if it is not there. Without it
    /// the page of isobar is printed
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
}

/// Prints the page of isobar, or writes all pages. `isobar` is what the command takes.
pub(super) fn run(arguments: &ManArguments, isobar: clap::Command) -> Result<(), Error> {
    let mut command = isobar.disable_help_subcommand(true);
    // Subcommands get their whole names, such as `isobar-fit`, and the arguments that all take.
    command.build();
    let Some(folder) = &arguments.out else {
        return Ok(io::stdout().lock().write_all(&page(&Man::new(command))?)?);
    };
    let subcommands: Vec<clap::Command> = command.get_subcommands().cloned().collect();
    let pages: Vec<(PathBuf, Man)> = std::iter::once(command)
        .chain(subcommands)
        .map(Man::new)
        .map(|man| (folder.join(man.get_filename()), man))
        .collect();
    fs::create_dir_all(folder)
        .map_err(|source| Error::Write { path: folder.display().to_string(), source })?;
    let paths: Vec<PathBuf> = pages.iter().map(|(path, _)| path.clone()).collect();
    check_outputs(&paths, &[])?;
    for (path, man) in &pages {
        let text = page(man)?;
        write_atomically::<io::Error>(path, |out| out.write_all(&text))
            .map_err(|source| Error::Write { path: path.display().to_string(), source })?;
    }
    Ok(writeln!(io::stdout().lock(), "written to {}: {} pages", folder.display(), pages.len())?)
}

/// The text of a page.
fn page(man: &Man) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    man.render(&mut text)?;
    let text = String::from_utf8(text).map_err(io::Error::other)?;
    let Some((before, notes)) = text.split_once("\n.SH EXTRA\n") else { return Ok(text.into_bytes()) };
    // Their lines stay as they are, so that examples can be copied, up to the next section.
    let end = notes.find("\n.SH ").unwrap_or(notes.len());
    let (notes, after) = notes.split_at(end);
    Ok(format!("{before}\n.SH NOTES\n.nf\n{}\n.fi{after}\n", notes.trim_end()).into_bytes())
}
