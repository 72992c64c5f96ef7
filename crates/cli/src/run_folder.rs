//! What a folder of results is of: `run.json`, which names the problem, the program's version and the
//! command.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Error;
use super::outputs::write_json;
use super::recordings::command_line;
use isobar::io::{FileError, write_atomically};

/// The name of the file.
const NAME: &str = "run.json";

/// What a folder is of.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Run {
    /// The problem file, relative to the folder where both have a way to each other.
    pub problem: PathBuf,
    pub command: String,
    /// The version of this program.
    pub isobar: String,
}

impl Run {
    /// Writes down that this command solved a problem.
    pub fn write(folder: &Path, problem: &Path) -> Result<(), Error> {
        let path = folder.join(NAME);
        let failed = |source| Error::Write { path: path.display().to_string(), source };
        let run = Self {
            problem: way(folder, problem).map_err(failed)?,
            command: command_line(),
            isobar: env!("CARGO_PKG_VERSION").to_owned(),
        };
        write_atomically::<io::Error>(&path, |out| write_json(out, &run)).map_err(failed)
    }

    /// Reads what a folder is of; the problem is found from where this process is.
    pub fn read(folder: &Path) -> Result<Self, Error> {
        let path = folder.join(NAME);
        if !path.exists() {
            return Err(Error::Usage(format!(
                "{}: has no {NAME}, so it is no folder of results of `isobar optimize --out`",
                folder.display()
            )));
        }
        let run: Self = read_json(&path)?;
        let problem = folder.join(run.problem);
        if !problem.exists() {
            return Err(Error::Usage(format!(
                "{}: the results are of the problem `{}`, which is not there; move the two together, or \
                 write where it is into `problem`",
                path.display(),
                problem.display()
            )));
        }
        // From here it may be reached by a shorter way than over the folder.
        Ok(Self { problem: way(Path::new("."), &problem).unwrap_or(problem), ..run })
    }
}

/// A JSON file that this program has written.
pub(super) fn read_json<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, Error> {
    let text = isobar::input_file::read_text(path)
        .map_err(|source| FileError::Read { path: path.to_owned(), source })?;
    Ok(serde_json::from_str(&text).map_err(|source| FileError::Json { path: path.to_owned(), source })?)
}

/// The way from a folder to a file: relative, so that both can be moved together.
fn way(folder: &Path, file: &Path) -> io::Result<PathBuf> {
    let (folder, file) = (folder.canonicalize()?, file.canonicalize()?);
    let common = folder.components().zip(file.components()).take_while(|(a, b)| a == b).count();
    if common == 0 {
        return Ok(file);
    }
    let up = folder.components().skip(common).map(|_| std::path::Component::ParentDir);
    Ok(up.chain(file.components().skip(common)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_to_a_file_goes_up_as_far_as_it_must() {
        let root = tempfile::tempdir().unwrap();
        let [a, b] = ["a", "b"].map(|name| root.path().join(name));
        let inner = a.join("inner");
        std::fs::create_dir_all(&inner).unwrap();
        std::fs::create_dir_all(&b).unwrap();
        for (folder, file) in
            [(&inner, a.join("p.toml")), (&inner, b.join("p.toml")), (&a, inner.join("p.toml"))]
        {
            std::fs::write(&file, "").unwrap();
            let found = way(folder, &file).unwrap();
            assert!(found.is_relative(), "{}", found.display());
            assert_eq!(folder.join(found).canonicalize().unwrap(), file.canonicalize().unwrap());
        }
    }
}
