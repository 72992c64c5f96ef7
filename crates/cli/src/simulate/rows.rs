//! Where the rows of a trajectory go: a file, standard output, or nowhere.

use std::io::{self, StdoutLock};
use std::path::{Path, PathBuf};

use crate::Error;
use isobar::io::{FileError, OutputFile, TrajectoryWriter};
use isobar::multibody::{Model, State};
use isobar::rollout::StepReport;

/// The rows of a trajectory, as they come.
pub(super) struct Rows<'m> {
    to: Destination<'m>,
    /// The time of the last row.
    last: Option<f64>,
}

enum Destination<'m> {
    File(TrajectoryWriter<'m, OutputFile>, PathBuf),
    StandardOutput(TrajectoryWriter<'m, StdoutLock<'static>>),
    Nowhere,
}

impl<'m> Rows<'m> {
    /// A table for the states of a model; `-` is standard output.
    /// With `forces` the rows have the forces of contacts too.
    pub fn create(model: &'m Model, forces: bool, out: Option<&Path>) -> Result<Self, Error> {
        let create = || {
            Ok(match out {
                None => Destination::Nowhere,
                Some(path) if path.as_os_str() == "-" => {
                    Destination::StandardOutput(TrajectoryWriter::new(model, forces, io::stdout().lock())?)
                }
                Some(path) => {
                    let file = TrajectoryWriter::new(model, forces, OutputFile::create(path)?)?;
                    Destination::File(file, path.to_owned())
                }
            })
        };
        let to = create().map_err(|source| Self::error(out, source))?;
        Ok(Self { to, last: None })
    }

    /// Why rows could not be written.
    pub fn error(out: Option<&Path>, source: io::Error) -> Error {
        match out.filter(|path| path.as_os_str() != "-") {
            Some(path) => FileError::Write { path: path.to_owned(), source }.into(),
            None => Error::Output(source),
        }
    }

    /// Writes the row of a state that the simulation has come to, with the forces of its step.
    pub fn write_report(&mut self, report: &StepReport<'_>) -> io::Result<()> {
        self.last = Some(report.time);
        match &mut self.to {
            Destination::File(writer, _) => writer.write_report(report),
            Destination::StandardOutput(writer) => writer.write_report(report),
            Destination::Nowhere => Ok(()),
        }
    }

    /// Writes a row.
    pub fn write(&mut self, time: f64, state: &State) -> io::Result<()> {
        self.last = Some(time);
        match &mut self.to {
            Destination::File(writer, _) => writer.write(time, state),
            Destination::StandardOutput(writer) => writer.write(time, state),
            Destination::Nowhere => Ok(()),
        }
    }

    /// Writes the last row, if it is not there yet.
    pub fn write_last(&mut self, time: f64, state: &State) -> Result<(), Error> {
        if self.last == Some(time) {
            return Ok(());
        }
        self.write(time, state).map_err(|source| self.failed(source))
    }

    fn failed(&self, source: io::Error) -> Error {
        match &self.to {
            Destination::File(_, path) => Self::error(Some(path), source),
            _ => Self::error(None, source),
        }
    }

    /// Completes the table; a file appears.
    pub fn finish(self) -> Result<(), Error> {
        match self.to {
            Destination::File(writer, path) => writer
                .finish()
                .and_then(OutputFile::finish)
                .map_err(|source| Self::error(Some(&path), source)),
            Destination::StandardOutput(writer) => Ok(writer.finish().map(drop)?),
            Destination::Nowhere => Ok(()),
        }
    }
}
