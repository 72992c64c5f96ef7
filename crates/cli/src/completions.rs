//! `isobar completions`: what makes a shell complete the arguments of isobar.

use std::io::Write;

use clap::Args;
use clap_complete::Shell;

use super::Error;

/// Arguments of `isobar completions`.
#[derive(Debug, Args)]
pub(super) struct CompletionsArguments {
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints the completions. `isobar` is what the command takes.
pub(super) fn run(arguments: &CompletionsArguments, mut isobar: clap::Command) -> Result<(), Error> {
    let name = isobar.get_name().to_owned();
    // Into memory, since the generator ends the process where it cannot write.
    let mut text = Vec::new();
    clap_complete::generate(arguments.shell, &mut isobar, name, &mut text);
    Ok(std::io::stdout().lock().write_all(&text)?)
}
