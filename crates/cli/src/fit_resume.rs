//! What is kept of a fit beside its result while it runs.

use std::path::{Path, PathBuf};

use super::Error;
use isobar::io::CheckpointFile;
use isobar::optimize::fit::FitCheckpoint;

/// The files that the fits from several starts are kept in: `fit.progress.json` beside `fit.json`, and with
/// `fit.progress_1.json` and so on where there are several starts.
#[derive(Debug)]
pub(super) struct KeptFits(Vec<CheckpointFile>);

impl KeptFits {
    /// Those beside a result.
    pub fn beside(result: &Path, starts: usize) -> Self {
        let of_start = |start: usize| {
            let ending =
                if start == 0 { "progress.json".to_owned() } else { format!("progress_{start}.json") };
            CheckpointFile { path: result.with_extension(ending) }
        };
        Self((0..starts.max(1)).map(of_start).collect())
    }

    /// The files.
    pub fn paths(&self) -> impl Iterator<Item = PathBuf> {
        self.0.iter().map(|file| file.path.clone())
    }

    /// Where the fit from a start is kept, of a problem with this digest.
    pub fn of_start(&self, start: usize, digest: &str) -> FitCheckpoint<'_> {
        FitCheckpoint { store: &self.0[start], problem: digest.to_owned() }
    }

    /// Removes them.
    pub fn remove(&self) -> Result<(), Error> {
        for path in self.paths() {
            match std::fs::remove_file(&path) {
                Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                    return Err(Error::Write { path: path.display().to_string(), source });
                }
                _ => {}
            }
        }
        Ok(())
    }
}
