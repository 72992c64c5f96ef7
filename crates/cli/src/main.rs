//! The isobar command.

use std::process::ExitCode;

fn main() -> ExitCode {
    isobar_cli::run()
}
