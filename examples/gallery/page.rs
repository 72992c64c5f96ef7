//! A page of the gallery as plain data, its text, and the numbers of a page that was written before.

use std::fmt::Write;

use crate::figure::Plot;

/// A number of a page beside that of the paper.
pub struct Row {
    pub quantity: String,
    /// What it is held against, with its source.
    pub expected: String,
    pub value: f64,
    /// By how much a run on another machine may differ: relative to the value, absolute where it
    /// is below 1.
    #[allow(dead_code, reason = "the tests read it")]
    pub tolerance: f64,
}

/// What is drawn in one file.
pub enum Picture {
    Plots(Vec<Plot<'static>>),
    Svg(String),
    /// An animated PNG.
    Png(Vec<u8>),
}

impl Picture {
    /// The end of the file's name.
    pub const fn extension(&self) -> &'static str {
        match self {
            Self::Plots(_) | Self::Svg(_) => "svg",
            Self::Png(_) => "png",
        }
    }
}

pub struct Figure {
    /// What the file is called, after the page.
    pub suffix: &'static str,
    pub caption: String,
    pub picture: Picture,
}

/// A page.
pub struct Page {
    pub name: &'static str,
    pub title: &'static str,
    /// The paper and its figure or section.
    pub source: &'static str,
    /// The result in a sentence or two.
    pub result: String,
    pub figures: Vec<Figure>,
    pub rows: Vec<Row>,
    /// Why the numbers differ where they do.
    pub why: String,
    /// Further tables and remarks, in Markdown.
    pub more: String,
}

/// How much of an experiment is run: all of it, or the rows that take a moment, for the tests.
#[derive(Clone, Copy, PartialEq)]
pub enum Run {
    Full,
    #[allow(dead_code, reason = "the tests alone ask for it")]
    Short,
}

pub type Failure = Box<dyn std::error::Error>;

/// Points (x, y) of a curve.
pub type Points = Vec<(f64, f64)>;

pub fn row(quantity: impl Into<String>, expected: impl Into<String>, value: f64, tolerance: f64) -> Row {
    Row { quantity: quantity.into(), expected: expected.into(), value, tolerance }
}

/// Four digits.
pub fn shown(value: f64) -> String {
    let magnitude = value.abs();
    if value == 0.0 {
        "0".into()
    } else if !(1e-3..1e5).contains(&magnitude) {
        format!("{value:.3e}")
    } else {
        let decimals = (3 - magnitude.log10().floor() as i32).max(0) as usize;
        format!("{value:.decimals$}")
    }
}

/// The text of a page.
pub fn markdown(page: &Page) -> String {
    let Page { name, title, source, result, why, more, .. } = page;
    let mut text = format!("# {title}\n\n{result}\n\n");
    for Figure { suffix, caption, picture } in &page.figures {
        let _ = writeln!(text, "![{caption}]({name}{suffix}.{})\n\n*{caption}*\n", picture.extension());
    }
    let _ = writeln!(text, "| {source} | expected | isobar |\n|---|---|---|");
    for Row { quantity, expected, value, .. } in &page.rows {
        let _ = writeln!(text, "| {quantity} | {expected} | {} |", shown(*value));
    }
    let _ = write!(text, "\n{why}\n\n");
    if !more.is_empty() {
        let _ = write!(text, "{}\n\n", more.trim_end());
    }
    let _ = writeln!(text, "```sh\ncargo run --release --example gallery -- --only {name}\n```");
    text
}

/// The cells of the table of results of a page: source or quantity, expected, isobar.
pub fn table(markdown: &str) -> Vec<[String; 3]> {
    let lines = markdown.lines().skip_while(|line| !line.ends_with("| expected | isobar |"));
    let rows = lines.take_while(|line| line.starts_with('|'));
    let cells = rows.filter_map(|line| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        cells.try_into().ok()
    });
    cells.map(|cells: [&str; 3]| cells.map(str::to_owned)).collect()
}
