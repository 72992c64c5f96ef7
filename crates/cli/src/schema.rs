//! `isobar schema`: what the files that people write may hold.

use std::io::Write;

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};

use super::Error;
use isobar::io::reference::FileKind;

/// Arguments of `isobar schema`.
#[derive(Debug, Args)]
pub(super) struct SchemaArguments {
    /// The kind of file
    #[arg(value_enum)]
    kind: Kind,
    /// Print a page of Markdown for people, instead of a JSON schema for editors
    #[arg(long)]
    markdown: bool,
}

/// A kind of file, as an argument.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kind(pub FileKind);

impl ValueEnum for Kind {
    fn value_variants<'a>() -> &'a [Self] {
        &[Self(FileKind::Scene), Self(FileKind::Problem), Self(FileKind::Fit)]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let Self(kind) = self;
        Some(PossibleValue::new(kind.name()).help(kind.meaning()))
    }
}

/// Prints the schema or the page.
pub(super) fn run(arguments: &SchemaArguments) -> Result<(), Error> {
    let SchemaArguments { kind: Kind(kind), markdown } = arguments;
    let text = if *markdown { kind.markdown() } else { kind.json_schema() };
    Ok(std::io::stdout().lock().write_all(text.as_bytes())?)
}
