//! What is kept of fits beside their result while they run.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::Error;
use isobar::argmin;
use isobar::io::{CheckpointFile, write_atomically};
use isobar::optimize::checkpoint::{CheckpointStore, ProblemCheckpoints};
use isobar::optimize::data::DataError;

/// The files that fits are kept in: `fit.progress.json` beside `fit.json`, and with `fit.progress_1.json` and so on where
/// there are several.
#[derive(Debug)]
pub(super) struct KeptFits {
    result: PathBuf,
    failed: Arc<Mutex<Option<Error>>>,
}

/// The file of one fit. That it cannot be written does not end the fit, and is told at the end.
#[derive(Debug)]
struct KeptFile {
    file: CheckpointFile,
    failed: Arc<Mutex<Option<Error>>>,
}

impl CheckpointStore for KeptFile {
    fn load(&self) -> Result<Option<String>, argmin::core::Error> {
        self.file.load()
    }

    fn name(&self) -> String {
        self.file.name()
    }

    fn save(&self, text: &str) -> Result<(), argmin::core::Error> {
        if let Err(source) =
            write_atomically::<io::Error>(&self.file.path, |out| out.write_all(text.as_bytes()))
        {
            let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
            failed.get_or_insert(Error::Write { path: self.name(), source });
        }
        Ok(())
    }
}

impl KeptFits {
    /// Those beside a result.
    pub fn beside(result: &Path) -> Self {
        Self { result: result.to_owned(), failed: Arc::default() }
    }

    /// The file of the fit at a place among others; the first of them at 0.
    pub fn path(&self, place: &[usize]) -> PathBuf {
        let numbers: String = match place {
            [0] => String::new(),
            _ => place.iter().map(|number| format!("_{number}")).collect(),
        };
        self.result.with_extension(format!("progress{numbers}.json"))
    }

    /// Where the fit at a place is kept, of a problem with this digest.
    pub fn at(&self, place: &[usize], digest: &str) -> ProblemCheckpoints {
        let file = CheckpointFile { path: self.path(place) };
        let store = Arc::new(KeptFile { file, failed: Arc::clone(&self.failed) });
        ProblemCheckpoints { store, problem: digest.to_owned() }
    }

    /// Removes the files of all places, whichever run has left them.
    ///
    /// # Errors
    /// The first of them could not be written, or one cannot be removed.
    pub fn remove(&self) -> Result<(), Error> {
        let first = self.path(&[0]);
        let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let stem = name(&first.with_extension(""));
        let is_kept = |path: &PathBuf| {
            let name = name(path);
            let numbers = name.strip_prefix(&stem).and_then(|rest| rest.strip_suffix(".json"));
            numbers.is_some_and(|numbers| numbers.chars().all(|c| c == '_' || c.is_ascii_digit()))
        };
        let folder = match self.result.parent() {
            Some(folder) if folder != Path::new("") => folder,
            _ => Path::new("."),
        };
        let failed = |path: &Path, source| Error::Write { path: path.display().to_string(), source };
        let entries = fs::read_dir(folder).map_err(|source| failed(folder, source))?;
        for path in entries.flatten().map(|entry| entry.path()).filter(is_kept) {
            fs::remove_file(&path).map_err(|source| failed(&path, source))?;
        }
        Ok(())
    }

    /// Removes the file of one place, if there is one.
    ///
    /// # Errors
    /// It cannot be removed.
    pub fn remove_at(&self, place: &[usize]) -> Result<(), Error> {
        match fs::remove_file(self.path(place)) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                Err(Error::Write { path: self.path(place).display().to_string(), source })
            }
            _ => Ok(()),
        }
    }

    /// That all could be written.
    ///
    /// # Errors
    /// One of the files could not be.
    pub fn check(&self) -> Result<(), Error> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).take().map_or(Ok(()), Err)
    }

    /// The end of what is kept: nothing is left to go on with.
    ///
    /// # Errors
    /// A file could not be written, or cannot be removed.
    pub fn end(&self) -> Result<(), Error> {
        self.check()?;
        self.remove()
    }
}

/// Why a fit failed: of what was kept of another one, or of itself.
pub(super) fn fit_error(path: &Path, error: &argmin::core::Error) -> Error {
    let (path, message) = (path.display().to_string(), error.to_string());
    match error.is::<DataError>() {
        true => Error::Checkpoint { path, message },
        false => Error::Fit { path, message },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_written_is_told_at_the_end_and_files_of_other_runs_go() {
        let folder = tempfile::tempdir().unwrap();
        let kept = KeptFits::beside(&folder.path().join("fit.json"));
        let others = ["fit.json", "fit.progress_old.json", "other.progress.json"];
        for name in
            others.iter().chain(&["fit.progress.json", "fit.progress_3.json", "fit.progress_0_1_0.json"])
        {
            fs::write(folder.path().join(name), "").unwrap();
        }
        kept.end().unwrap();
        let mut left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, others);
        fs::create_dir(kept.path(&[2])).unwrap();
        let at = |place: usize| kept.at(&[place], "it");
        at(2).store.save("text").unwrap();
        at(1).store.save("text").unwrap();
        assert_eq!(at(1).store.load().unwrap().as_deref(), Some("text"));
        let told = kept.end().unwrap_err().to_string();
        assert!(told.contains("fit.progress_2.json: cannot be written: it is a folder"), "{told}");
    }
}
