//! Why a command failed, and with which exit code.

use isobar::io::FileError;
use isobar::io::reference::FileKind;
use isobar::multibody::ModelError;
use isobar::rollout::SimulationError;

/// The exit code of a command that Ctrl-C ended, as shells have it.
pub(super) const INTERRUPTED: u8 = 130;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// A scene, problem or fit file is not good.
    #[error(transparent)]
    File(#[from] FileError),
    /// Contact cannot be computed between the scene's bodies.
    #[error("{path}: bodies: {source}")]
    Model { path: String, source: ModelError },
    /// An argument is out of range.
    #[error("--{name}: found {found}; it must be {allowed}")]
    Argument { name: &'static str, found: String, allowed: &'static str },
    /// An argument does not fit the files that it is given with.
    #[error("--{name}: found {found}; it must be {allowed}")]
    Value { name: &'static str, found: String, allowed: String },
    /// The numbers of a contact overflow.
    #[error(
        "{path}: the contact between `{a}` and `{b}` is not finite; velocities, moduli or lengths are too large"
    )]
    NotFinite { path: String, a: String, b: String },
    /// The simulation stopped.
    #[error("{path}: {source}")]
    Simulation { path: String, source: Box<SimulationError> },
    /// A checkpoint cannot be gone on from.
    #[error("{path}: {message}")]
    Checkpoint { path: String, message: String },
    /// An optimization did not come to its end.
    #[error("{path}: {message}")]
    Optimization { path: String, message: String },
    /// An optimization came to an end that meets no criterion of convergence; its result is kept.
    #[error("{path}: not converged, {termination}; {advice}")]
    NotConverged {
        path: String,
        termination: String,
        /// What to do.
        advice: String,
    },
    /// A fit did not come to its end.
    #[error("{path}: {message}")]
    Fit { path: String, message: String },
    /// Differences could not decide on more derivatives than may be.
    #[error(
        "{path}: {undecided} of {count} derivatives are undecided, more than {allowed} %: their notes say why; check where meshes are not aligned, at a start that is less sensitive, with fewer --steps, or allow more with --undecided"
    )]
    UndecidedDerivatives {
        path: String,
        undecided: usize,
        count: usize,
        /// How many may be, in percent.
        allowed: f64,
    },
    #[error("{path}: {count} derivatives are wrong")]
    WrongDerivatives { path: String, count: usize },
    /// The numbers of a robot's dynamics overflow.
    #[error(
        "{path}: the dynamics are not finite; masses, lengths, velocities or accelerations are too large"
    )]
    NotFiniteModel { path: String },
    /// A result cannot be written to a file.
    #[error("{path}: cannot be written: {source}")]
    Write { path: String, source: std::io::Error },
    /// A file is of another kind than the command takes.
    #[error("{path}: is a {}, not a {}; `isobar {} {path}` takes it", found.name(), wanted.name(), command_of(*found))]
    Kind { path: String, found: FileKind, wanted: FileKind },
    /// Arguments do not go together; what to write instead.
    #[error("{0}")]
    Usage(String),
    /// No browser shows a page.
    #[error("{path}: no browser could be started to show it: {source}")]
    Browser { path: String, source: std::io::Error },
    /// A file that would be overwritten without having been asked for.
    #[error("{path}: exists already; name another file, or overwrite it with --force")]
    Exists { path: String },
    /// Files that were checked are bad; each was told when it was found.
    #[error("{0} of the files are bad")]
    BadFiles(usize),
    /// An output is one of the inputs.
    #[error("{path}: the command reads this file and would overwrite it; name another one to write")]
    OverwritesInput { path: String },
    /// Ctrl-C ended the command, which kept what it had come to.
    #[error("{0}")]
    Interrupted(String),
    /// Ctrl-C cannot be handled.
    #[error("Ctrl-C cannot be handled: {0}")]
    Handler(String),
    /// The results cannot be written.
    #[error("standard output: {0}")]
    Output(#[from] std::io::Error),
}

/// The command that takes files of a kind first of all.
fn command_of(kind: FileKind) -> &'static str {
    match kind {
        FileKind::Scene => "simulate",
        FileKind::Problem => "optimize",
        FileKind::Fit => "fit",
    }
}

impl Error {
    /// The exit code: 1 for wrong derivatives, 2 for bad input, 3 for a simulation, a fit or
    /// an optimization that failed on the way or did not converge, 130 for one that Ctrl-C ended.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Simulation { source, .. } if source.is_failed_step() => 3,
            Self::Fit { .. } | Self::Optimization { .. } | Self::NotConverged { .. } => 3,
            Self::WrongDerivatives { .. } | Self::UndecidedDerivatives { .. } => 1,
            Self::Interrupted(_) => INTERRUPTED,
            Self::Write { source, .. } | Self::File(FileError::Write { source, .. })
                if source.kind() == std::io::ErrorKind::Interrupted =>
            {
                INTERRUPTED
            }
            _ => 2,
        }
    }
}
