//! `isobar schema`: what the files that people write may hold.

use std::io::Write;

use clap::Args;

use super::Error;
use crate::io::reference::FileKind;

/// Arguments of `isobar schema`.
#[derive(Debug, Args)]
pub(super) struct SchemaArguments {
    /// The kind of file
    #[arg(value_enum)]
    kind: FileKind,
    /// Print a page of Markdown for people, instead of a JSON schema for editors
    #[arg(long)]
    markdown: bool,
}

/// Prints the schema or the page.
pub(super) fn run(arguments: &SchemaArguments) -> Result<(), Error> {
    let SchemaArguments { kind, markdown } = arguments;
    let text = if *markdown { kind.markdown() } else { kind.json_schema() };
    Ok(std::io::stdout().lock().write_all(text.as_bytes())?)
}
