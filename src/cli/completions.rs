//! `isobar completions`: what makes a shell complete the arguments of isobar.

use std::io::Write;

use clap::Args;
use clap_complete::Shell;

use super::{Error, command_line};

/// Arguments of `isobar completions`.
#[derive(Debug, Args)]
pub(super) struct CompletionsArguments {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints the completions.
pub(super) fn run(arguments: &CompletionsArguments) -> Result<(), Error> {
    let mut command = command_line();
    let name = command.get_name().to_owned();
    // Into memory, since the generator ends the process where it cannot write.
    let mut text = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, name, &mut text);
    Ok(std::io::stdout().lock().write_all(&text)?)
}
