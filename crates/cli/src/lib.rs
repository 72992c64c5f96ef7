//! The `isobar` command.

mod advise;
mod check;
mod completions;
mod contact;
mod contact_surface;
mod error;
mod fit;
mod fit_charts;
mod fit_compare;
mod fit_horizons;
mod fit_page;
mod fit_print;
mod fit_report;
mod fit_resume;
mod gradient;
mod gradient_charts;
mod gradient_check;
mod gradient_check_fit;
mod gradient_check_problem;
mod gradient_page;
mod help;
mod init;
mod interruption;
mod loaded;
mod logging;
mod man;
mod mesh;
mod messages;
mod model;
mod optimize;
mod optimize_ending;
mod optimize_report;
mod optimized_problem;
mod outputs;
mod progress;
mod recordings;
mod report;
mod robot;
mod run_folder;
mod schema;
mod shard;
mod simulate;
mod view;

use std::process::ExitCode;

use clap::{Arg, CommandFactory, FromArgMatches, Parser, Subcommand};

use interruption::handle_interruption;
use isobar::io::FileError;
use messages::{set_quiet, tell};

// What the commands share, each from the file that it is in.
pub(crate) use error::Error;
pub(crate) use loaded::{load_scene, skirt_line};
pub(crate) use messages::{print_motion_warnings, print_warnings};
pub(crate) use outputs::is_zero;

/// Differentiable simulation of contact patches.
#[derive(Debug, Parser)]
#[command(name = "isobar", version, about, after_help = help::ISOBAR)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// Print neither progress, nor what was loaded, nor warnings on standard error; errors and results
    /// stay
    #[arg(long, global = true)]
    quiet: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// What to expect of a scene's contacts, and what to change in its materials, meshes and steps.
    #[command(after_help = help::ADVISE)]
    Advise(advise::AdviseArguments),
    /// Check files without running them: scenes, problems, fits and robots.
    #[command(after_help = help::CHECK)]
    Check(check::CheckArguments),
    /// Print what makes a shell complete the arguments of isobar.
    #[command(after_help = help::COMPLETIONS)]
    Completions(completions::CompletionsArguments),
    /// Contact between the bodies of a scene, at the poses and velocities of the file.
    #[command(after_help = help::CONTACT)]
    Contact(contact::ContactArguments),
    /// Fit parameters of a scene to measurements.
    #[command(after_help = help::FIT)]
    Fit(fit::FitArguments),
    /// Derivatives of quantities at the end of a scene's motion, by the adjoint.
    #[command(after_help = help::GRADIENT)]
    Gradient(gradient::GradientArguments),
    /// Check the derivatives of a scene, of the cost of a problem, or of the residuals of a fit, against
    /// differences.
    #[command(after_help = help::GRADIENT_CHECK)]
    GradientCheck(gradient_check::GradientCheckArguments),
    /// Write a scene, problem or fit to begin with, in which each field is explained.
    #[command(after_help = help::INIT)]
    Init(init::InitArguments),
    /// Print or write the manual pages.
    #[command(after_help = help::MAN)]
    Man(man::ManArguments),
    /// Fill a closed surface with tetrahedra, and say how well they stand for it.
    #[command(after_help = help::MESH)]
    Mesh(mesh::MeshArguments),
    /// Mass matrix, forces and poses of a robot, or of the joints of a scene.
    #[command(after_help = help::MODEL)]
    Model(model::ModelArguments),
    /// Optimize the commands of a scene's actuators, and the parameters of its controllers.
    #[command(after_help = help::OPTIMIZE)]
    Optimize(optimize::OptimizeArguments),
    /// Write a page, glTF or VTK of a motion, to look at it.
    #[command(after_help = help::REPORT)]
    Report(report::ReportArguments),
    /// What scene, problem and fit files may hold: every field with its unit and default.
    #[command(after_help = help::SCHEMA)]
    Schema(schema::SchemaArguments),
    /// Simulate a scene and write the trajectory.
    #[command(after_help = help::SIMULATE)]
    Simulate(simulate::SimulateArguments),
    /// Show a scene or its motion in the browser.
    #[command(after_help = help::VIEW)]
    View(view::ViewArguments),
}

/// The arguments that `isobar` takes, with their help: for manual pages, completions of shells, and
/// checks of whether a command line is one of isobar.
pub fn command_line() -> clap::Command {
    // A negative number is out of the range of an option, and no unknown option.
    let of_option = |argument: Arg| match argument.is_positional() || !argument.get_action().takes_values() {
        true => argument,
        false => argument.allow_negative_numbers(true),
    };
    Arguments::command().mut_subcommands(|command| command.mut_args(of_option))
}

/// Runs the command with the arguments of the process: results on standard output, messages and
/// progress on standard error.
pub fn run() -> ExitCode {
    let parsed = command_line().try_get_matches().and_then(|found| Arguments::from_arg_matches(&found));
    let arguments = match parsed {
        Ok(arguments) => arguments,
        // Help, or what is wrong with the arguments.
        Err(said) => {
            return ended(said.print().map_err(Error::Output), u8::try_from(said.exit_code()).unwrap_or(2));
        }
    };
    set_quiet(arguments.quiet);
    if logging::is_asked_for() && !arguments.quiet {
        logging::start();
    }
    let keeps = matches!(arguments.command, Command::Fit(_) | Command::Optimize(_) | Command::Simulate(_));
    let outcome = handle_interruption(keeps).and_then(|()| match &arguments.command {
        Command::Advise(arguments) => advise::run(arguments),
        Command::Check(arguments) => check::run(arguments),
        Command::Completions(arguments) => completions::run(arguments, command_line()),
        Command::Contact(arguments) => contact::run(arguments),
        Command::Fit(arguments) => fit::run(arguments),
        Command::Gradient(arguments) => gradient::run(arguments),
        Command::GradientCheck(arguments) => gradient_check::run(arguments),
        Command::Init(arguments) => init::run(arguments),
        Command::Man(arguments) => man::run(arguments, command_line()),
        Command::Mesh(arguments) => mesh::run(arguments),
        Command::Model(arguments) => model::run(arguments),
        Command::Optimize(arguments) => optimize::run(arguments),
        Command::Report(arguments) => report::run(arguments),
        Command::Schema(arguments) => schema::run(arguments),
        Command::Simulate(arguments) => simulate::run(arguments),
        Command::View(arguments) => view::run(arguments),
    });
    ended(outcome, 0)
}

/// Tells an error, and says how the process ends: with this code where there is none.
fn ended(outcome: Result<(), Error>, code: u8) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::from(code),
        // Whoever read the output has seen enough.
        Err(
            Error::Output(source)
            | Error::Write { source, .. }
            | Error::File(FileError::Write { source, .. }),
        ) if source.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::from(code),
        Err(error) => {
            // Bad files were told one by one.
            if !matches!(error, Error::BadFiles(_)) {
                tell(format_args!("isobar: {error}"));
            }
            ExitCode::from(error.exit_code())
        }
    }
}
