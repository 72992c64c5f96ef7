//! The `isobar` command.

mod advise;
mod contact;
mod contact_surface;
mod error;
mod fit;
mod fit_page;
mod gradient_check;
mod gradient_page;
mod interruption;
mod loaded;
mod messages;
mod model;
mod optimize;
mod outputs;
mod progress;
mod recordings;
mod report;
mod run_folder;
mod schema;
mod simulate;
mod view;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use interruption::handle_interruption;
use messages::tell;

// What the commands share, each from the file that it is in.
pub(crate) use error::Error;
pub(crate) use loaded::{load_scene, skirt_line};
pub(crate) use messages::{print_motion_warnings, print_warnings};
pub(crate) use outputs::is_zero;

/// What a scene is, in a few lines.
const ESSENTIALS: &str = "\
A scene is a TOML or JSON file; SI units, angles in rad, files relative to it:

  [materials.foam]                  # friction also static_friction, dynamic_friction
  hydroelastic_modulus = 1e5        # Pa; rigid geometries need none
  dissipation = 1.0                 # s/m
  friction = 0.5
  [solver]
  kind = \"lagged\"                  # or similar, tamsi, sap, semi_implicit_euler, rk4
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
    /// What to expect of a scene's contacts, and what to change in its materials, meshes and steps.
    #[command(after_help = advise::EXAMPLES)]
    Advise(advise::AdviseArguments),
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
    /// Write a page, glTF or VTK of a motion, to look at it.
    #[command(after_help = report::EXAMPLES)]
    Report(report::ReportArguments),
    /// What scene, problem and fit files may hold: every field with its unit and default.
    Schema(schema::SchemaArguments),
    /// Simulate a scene and write the trajectory.
    #[command(after_help = SCENE_HELP)]
    Simulate(simulate::SimulateArguments),
    /// Show a scene or its motion in the browser.
    #[command(after_help = view::EXAMPLES)]
    View(view::ViewArguments),
}

/// Runs the command with the arguments of the process: results on standard output, messages and
/// progress on standard error.
pub fn run() -> ExitCode {
    let arguments = Arguments::parse();
    let keeps = matches!(arguments.command, Command::Fit(_) | Command::Optimize(_) | Command::Simulate(_));
    let outcome = handle_interruption(keeps).and_then(|()| match &arguments.command {
        Command::Advise(arguments) => advise::run(arguments),
        Command::Contact(arguments) => contact::run(arguments),
        Command::Fit(arguments) => fit::run(arguments),
        Command::GradientCheck(arguments) => gradient_check::run(arguments),
        Command::Model(arguments) => model::run(arguments),
        Command::Optimize(arguments) => optimize::run(arguments),
        Command::Report(arguments) => report::run(arguments),
        Command::Schema(arguments) => schema::run(arguments),
        Command::Simulate(arguments) => simulate::run(arguments),
        Command::View(arguments) => view::run(arguments),
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
