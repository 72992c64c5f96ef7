//! Checkpoints of an optimization in a file.

use std::io::Write;
use std::path::PathBuf;

use argmin::core::Error;

use crate::input_file;
use crate::io::atomic::write_atomically;
use crate::optimize::checkpoint::CheckpointStore;
use crate::optimize::data::DataError;

/// A file that is replaced as a whole at every save, so that an interruption while it is written leaves
/// it as it was before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointFile {
    /// Where it is.
    pub path: PathBuf,
}

impl CheckpointStore for CheckpointFile {
    fn load(&self) -> Result<Option<String>, Error> {
        match input_file::read_text(&self.path) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(DataError::Read { path: self.name(), source }.into()),
        }
    }

    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn save(&self, text: &str) -> Result<(), Error> {
        write_atomically::<std::io::Error>(&self.path, |writer| writer.write_all(text.as_bytes()))
            .map_err(|error| Error::msg(format!("{}: cannot be written: {error}", self.path.display())))
    }
}
