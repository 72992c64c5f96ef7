//! What a page shows: a film with its plots, plots of their own, tables.

use super::recorder::Recording;

/// What a page shows.
#[derive(Clone, Debug, Default)]
pub struct Page<'a> {
    /// Its title.
    pub title: String,
    /// What it is of: labels, and what they say.
    pub about: Vec<[String; 2]>,
    /// Warnings, each a sentence.
    pub warnings: Vec<String>,
    /// A film, with its plots.
    pub recording: Option<&'a Recording>,
    /// Another film that is shown beside it, with the names of both, as in `[found, start]`.
    pub beside: Option<(&'a Recording, [&'a str; 2])>,
    /// Whether pressure fields of any number of tetrahedra are in it, to be sliced; else only those that cost little.
    pub has_fine_fields: bool,
    /// Other plots.
    pub charts: Vec<Chart>,
    /// Tables.
    pub tables: Vec<Table>,
    /// Where it is made anew when what it is of changes: its version, and the name of the script beside it that says the
    /// newest (see [`write_version`](super::write_version)).
    pub version: Option<(u64, String)>,
}

/// A plot of its own.
#[derive(Clone, Debug, Default)]
pub struct Chart {
    /// Its title.
    pub title: String,
    /// What its axes say, with their units.
    pub axes: [String; 2],
    /// Whether the vertical axis is logarithmic.
    pub is_logarithmic: bool,
    /// Whether the horizontal axis is logarithmic.
    pub is_logarithmic_along: bool,
    /// Whether the horizontal axis is the time of the film.
    pub is_over_time: bool,
    /// Its curves.
    pub curves: Vec<Curve>,
    /// What is said below it; empty for nothing.
    pub note: String,
}

/// A curve of a plot, or marks.
#[derive(Clone, Debug, Default)]
pub struct Curve {
    /// Its name.
    pub name: String,
    /// Which of the page's colours it has: curves with the same number have the same. Without one it has
    /// the next.
    pub color: Option<usize>,
    /// How it is drawn.
    pub mode: CurveMode,
    /// Where its points are along the horizontal axis.
    pub x: Vec<f64>,
    /// Where they are along the vertical axis; not a number leaves a gap.
    pub y: Vec<f64>,
    /// The ends of an interval around each point.
    pub interval: Option<[Vec<f64>; 2]>,
}

/// How a curve is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CurveMode {
    /// Points joined by lines.
    #[default]
    Lines,
    /// A mark at each point.
    Markers,
    /// Each value until the next.
    Steps,
}

/// A table.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// Its title.
    pub title: String,
    /// Whether it is what one opens the page for: it then comes first.
    pub is_result: bool,
    /// The titles of its columns.
    pub columns: Vec<String>,
    /// Its rows, with a text for each column.
    pub rows: Vec<Vec<String>>,
}
