//! What goes wrong, before it is a Python exception: work that runs without the interpreter can make it too.

use std::path::PathBuf;

use isobar::io::FileError;
use isobar::rollout::SimulationError;
use pyo3::prelude::*;
use pyo3::types::PyType;

use crate::laws;

/// Why something could not be done.
#[derive(Clone, Debug)]
pub enum Failure {
    /// An argument or a file is not good.
    Input { message: String, file: Option<PathBuf>, line: Option<usize>, field: Option<String> },
    /// A simulation, a fit or an optimization failed on its way.
    Simulation(String),
}

impl Failure {
    /// An argument that is not what it has to be.
    pub fn argument(name: &str, found: impl std::fmt::Display, allowed: &str) -> Self {
        Self::input(format!("{name}: found {found}; it must be {allowed}"))
    }

    pub fn message(&self) -> &str {
        let (Self::Input { message, .. } | Self::Simulation(message)) = self;
        message
    }

    /// Bad input that is not a file.
    pub fn input(message: impl ToString) -> Self {
        Self::Input { message: message.to_string(), file: None, line: None, field: None }
    }
}

impl From<FileError> for Failure {
    fn from(error: FileError) -> Self {
        let message = error.to_string();
        let (file, line, field) = match error {
            FileError::Invalid { path, line, field, .. } => (Some(path), line, Some(field)),
            FileError::Robot { path, line, .. } => (Some(path), line, None),
            FileError::RobotElement { path, element, .. } => (Some(path), None, Some(element)),
            FileError::Field { path, field, .. } => (Some(path), None, Some(field)),
            FileError::Read { path, .. } | FileError::Extension { path } | FileError::Write { path, .. } => {
                (Some(path), None, None)
            }
            _ => (None, None, None),
        };
        Self::Input { message, file, line, field }
    }
}

impl From<SimulationError> for Failure {
    fn from(error: SimulationError) -> Self {
        match &error {
            SimulationError::Until(found) => {
                Self::argument("until", found, "at least 0 and finite, in seconds")
            }
            SimulationError::TooManySteps { until, time_step } => {
                let allowed = format!("shorter: in steps of {time_step} s these are too many");
                Self::argument("until", format_args!("{until:e} s"), &allowed)
            }
            SimulationError::ControlSteps { .. } | SimulationError::ControlDimension { .. } => {
                Self::input(format_args!("controls: {error}"))
            }
            failed if failed.is_failed_step() => Self::Simulation(error.to_string()),
            _ => Self::input(error),
        }
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        // Where a law has raised something it is why.
        laws::raised()
            .unwrap_or_else(|| Python::attach(|py| raised(py, failure).unwrap_or_else(|error| error)))
    }
}

/// The exception, of a class of the package's.
fn raised(py: Python<'_>, failure: Failure) -> PyResult<PyErr> {
    let class = |name| -> PyResult<Bound<'_, PyType>> {
        Ok(py.import("isobar._errors")?.getattr(name)?.cast_into::<PyType>()?)
    };
    Ok(match failure {
        Failure::Input { message, file, line, field } => {
            PyErr::from_type(class("InputError")?, (message, file, line, field))
        }
        Failure::Simulation(message) => PyErr::from_type(class("SimulationError")?, (message,)),
    })
}
