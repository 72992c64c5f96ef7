//! The `isobar` command.

mod contact;
mod fit;
mod gradient_check;
mod interruption;
mod loaded;
mod messages;
mod model;
mod optimize;
mod outputs;
mod progress;
mod schema;
mod simulate;

use std::path::Path;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use interruption::handle_interruption;
use messages::tell;

use crate::io::{FileError, Scene};
use crate::multibody::ModelError;
use crate::rollout::{MotionWarning, SimulationError};

/// What a scene is, in a few lines.
const ESSENTIALS: &str = "\
A scene is a TOML or JSON file; SI units, angles in rad, files relative to it:

  [materials.foam]                  # friction also static_friction, dynamic_friction
  hydroelastic_modulus = 1e5        # Pa; rigid geometries need none
  dissipation = 1.0                 # s/m
  friction = 0.5
  [solver]
  kind = \"lagged\"                  # or similar, tamsi, sap, semi-implicit-euler, rk4
  time_step = 1e-3                  # s
  [[bodies]]
  name = \"ball\"
  mass = 0.1                        # kg; or density, or fixed = true
  translation = [0, 0, 0.05]        # m; and rpy, linear_velocity, angular_velocity, joint, …
  [[bodies.geometries]]
  shape = { sphere = { radius = 0.05 } }   # or mesh = { file = \"ball.stl\", scale = 0.001 }, …
  material = \"foam\"                # and rigid = true

Every field with its unit, default and meaning: isobar schema scene --markdown
(likewise problem, for optimize, and fit); without --markdown a JSON schema for editors.";

/// Where the scene file is described.
const SCENE_HELP: &str =
    "What the scene file may hold: isobar --help (the essentials), isobar schema scene --markdown (all)";

/// Differentiable simulation of contact patches.
#[derive(Debug, Parser)]
#[command(name = "isobar", version, about, after_help = ESSENTIALS)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Contact between the bodies of a scene, at the poses and velocities of the file.
    #[command(after_help = SCENE_HELP)]
    Contact(contact::ContactArguments),
    /// Fit parameters of a scene to measurements.
    #[command(after_help = "What the fit file may hold: isobar schema fit --markdown")]
    Fit(fit::FitArguments),
    /// Check the derivatives of a scene, or of the cost of a problem, against differences.
    #[command(after_help = SCENE_HELP)]
    GradientCheck(gradient_check::GradientCheckArguments),
    /// Mass matrix, forces and poses of a robot, or of the joints of a scene.
    Model(model::ModelArguments),
    /// Optimize the commands of a scene's actuators.
    #[command(after_help = "What the problem file may hold: isobar schema problem --markdown")]
    Optimize(optimize::OptimizeArguments),
    /// What scene, problem and fit files may hold: every field with its unit and default.
    Schema(schema::SchemaArguments),
    /// Simulate a scene and write the trajectory.
    #[command(after_help = SCENE_HELP)]
    Simulate(simulate::SimulateArguments),
}

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
enum Error {
    /// A scene, problem or fit file is not good.
    #[error(transparent)]
    File(#[from] FileError),
    /// Contact cannot be computed between the scene's bodies.
    #[error("{path}: bodies: {source}")]
    Model {
        /// The scene file.
        path: String,
        /// Why.
        source: ModelError,
    },
    /// An argument is out of range.
    #[error("--{name}: found {found}; it must be {allowed}")]
    Argument {
        /// Name of the argument.
        name: &'static str,
        /// What was given.
        found: String,
        /// What is allowed.
        allowed: &'static str,
    },
    /// The numbers of a contact overflow.
    #[error(
        "{path}: the contact between `{a}` and `{b}` is not finite; velocities, moduli or lengths are too large"
    )]
    NotFinite {
        /// The scene file.
        path: String,
        /// Name of the one body.
        a: String,
        /// Name of the other body.
        b: String,
    },
    /// The simulation stopped.
    #[error("{path}: {source}")]
    Simulation {
        /// The scene file.
        path: String,
        /// Why.
        source: Box<SimulationError>,
    },
    /// A checkpoint cannot be gone on from.
    #[error("{path}: {message}")]
    Checkpoint {
        /// The problem file.
        path: String,
        /// Why.
        message: String,
    },
    /// An optimization did not come to its end.
    #[error("{path}: {message}")]
    Optimization {
        /// The problem file.
        path: String,
        /// Why.
        message: String,
    },
    /// An optimization came to an end that meets no criterion of convergence; its result is kept.
    #[error("{path}: not converged, {termination}; `{command}` shows more")]
    NotConverged {
        /// The problem file.
        path: String,
        /// How it ended.
        termination: String,
        /// The command that goes on, or shows why it cannot.
        command: String,
    },
    /// A fit did not come to its end.
    #[error("{path}: {message}")]
    Fit {
        /// The fit file.
        path: String,
        /// Why.
        message: String,
    },
    /// Derivatives are wrong where the function is smooth.
    #[error("{path}: {count} derivatives are wrong")]
    WrongDerivatives {
        /// The scene file.
        path: String,
        /// How many.
        count: usize,
    },
    /// The numbers of a robot's dynamics overflow.
    #[error(
        "{path}: the dynamics are not finite; masses, lengths, velocities or accelerations are too large"
    )]
    NotFiniteModel {
        /// The robot's file.
        path: String,
    },
    /// A result cannot be written to a file.
    #[error("{path}: cannot be written: {source}")]
    Write {
        /// The file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// An output is one of the inputs.
    #[error("{path}: the command reads this file and would overwrite it; name another one to write")]
    OverwritesInput {
        /// The file.
        path: String,
    },
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

impl Error {
    /// The exit code: 1 for wrong derivatives, 2 for bad input, 3 for a simulation, a fit or
    /// an optimization that failed on the way or did not converge, 130 for one that Ctrl-C ended.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Simulation { source, .. } if source.is_failed_step() => 3,
            Self::Fit { .. } | Self::Optimization { .. } | Self::NotConverged { .. } => 3,
            Self::WrongDerivatives { .. } => 1,
            Self::Interrupted(_) => interruption::INTERRUPTED,
            _ => 2,
        }
    }
}

/// Whether a number is 0 and so left out of JSON.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(x: &f64) -> bool {
    *x == 0.0
}

/// What to say of a scene whose bodies have skirts of this thickness in metres.
fn skirt_line(thickness: f64) -> Option<String> {
    let millimetres = (thickness * 1e9).round() / 1e6;
    (thickness > 0.0).then(|| format!("with a skirt of {millimetres} mm: forces act before bodies touch"))
}

/// Loads a scene, with its warnings on standard error.
fn load_scene(path: &Path) -> Result<Scene, Error> {
    let scene = Scene::load(path)?;
    print_warnings(&scene.warnings);
    Ok(scene)
}

/// Prints a scene's warnings on standard error.
fn print_warnings(warnings: &[String]) {
    for warning in warnings {
        tell(format_args!("isobar: {warning}"));
    }
}

/// Prints what went wrong in a motion without an error, on standard error.
fn print_motion_warnings(warnings: &[MotionWarning]) {
    for warning in warnings {
        tell(format_args!("isobar: warning: {warning}"));
    }
}

/// Runs the command with the arguments of the process: results on standard output, messages and
/// progress on standard error.
pub fn run() -> ExitCode {
    let arguments = Arguments::parse();
    let keeps = matches!(arguments.command, Command::Fit(_) | Command::Optimize(_) | Command::Simulate(_));
    let outcome = handle_interruption(keeps).and_then(|()| match &arguments.command {
        Command::Contact(arguments) => contact::run(arguments),
        Command::Fit(arguments) => fit::run(arguments),
        Command::GradientCheck(arguments) => gradient_check::run(arguments),
        Command::Model(arguments) => model::run(arguments),
        Command::Optimize(arguments) => optimize::run(arguments),
        Command::Schema(arguments) => schema::run(arguments),
        Command::Simulate(arguments) => simulate::run(arguments),
    });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever read the output has seen enough.
        Err(Error::Output(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            tell(format_args!("isobar: {error}"));
            ExitCode::from(error.exit_code())
        }
    }
}
