//! Files that a command writes, tried before it computes, and what it writes as JSON.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::error::Error;
use isobar::io::check_writable;

/// Checks that files can be written, and that none is one that the command reads.
pub(super) fn check_outputs(outputs: &[PathBuf], inputs: &[PathBuf]) -> Result<(), Error> {
    let inputs: Vec<PathBuf> = inputs.iter().filter_map(|input| regular_file(input)).collect();
    for output in outputs {
        if output == Path::new("-") {
            let what = "--out -: results are files here; --json prints them on standard output";
            return Err(Error::Usage(what.to_owned()));
        }
        if regular_file(output).is_some_and(|file| inputs.contains(&file)) {
            return Err(Error::OverwritesInput { path: output.display().to_string() });
        }
        check_writable(output)
            .map_err(|source| Error::Write { path: output.display().to_string(), source })?;
    }
    Ok(())
}

/// The file that a path leads to, if it is one on a disk.
fn regular_file(path: &Path) -> Option<PathBuf> {
    let path = fs::canonicalize(path).ok()?;
    path.is_file().then_some(path)
}

pub(super) fn print_json(report: &impl Serialize) -> Result<(), Error> {
    Ok(write_json(&mut io::stdout().lock(), report)?)
}

/// Writes a result as JSON.
pub(super) fn write_json(out: &mut dyn Write, report: &impl Serialize) -> io::Result<()> {
    // By way of a text, so that a report is compiled for one kind of output, not for each.
    let mut text = serde_json::to_vec_pretty(report)?;
    text.push(b'\n');
    out.write_all(&text)
}

/// Whether a number is 0 and so left out of JSON.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
pub(crate) fn is_zero(x: &f64) -> bool {
    *x == 0.0
}
