//! The index: a table of all experiments, with the numbers that their pages have.

use std::fmt::Write;
use std::path::Path;

use crate::experiments::EXPERIMENTS;
use crate::page::{Failure, table};

const HEAD: &str = "# The papers' experiments

Each is run, drawn and compared by one command:

```sh
cargo run --release --example gallery -- --out docs/gallery   # all of them
cargo run --release --example gallery -- --only layer         # one
```

The first number of each page is here; the pages have the others, and say why they differ where they do.
`tests/gallery` holds the numbers of the pages to what a fresh run gives.

";

/// Experiments of the papers that other programs run: source, what is seen, what the paper has, what comes out here, page.
const ELSEWHERE: [[&str; 5]; 9] = [
    [
        "Elandt Fig. 4",
        "a pencil turns in a loosened grip by a commanded 40°",
        "no numbers",
        "39.9995°",
        "pencil.md",
    ],
    [
        "Masterjohn §V-B",
        "an arm with a spatula lifts a pancake",
        "4.05 times fewer faces as polygons",
        "3.59 times",
        "pancake.md",
    ],
    [
        "Masterjohn §V-C",
        "a spatula in soft bubbles, held at 16 N, turns at 1 N",
        "pitch over time, Fig. 10, without numbers",
        "0.08° in 4 s at 16 N, 2.1° in 1.5 s at 1 N",
        "spatula.md",
    ],
    [
        "Xie §5.1",
        "a desk on four feet slides and turns",
        "methods agree within 1e-8",
        "within 1.1e-14",
        "rigid_contact.md#what-comes-out",
    ],
    [
        "Xie §5.2",
        "a T-bar tilts, comes down and slides",
        "patches: point, line, surface",
        "point, line, surface",
        "rigid_contact.md#what-comes-out",
    ],
    [
        "Xie §5.3",
        "a dumbbell topples and rolls",
        "patches: surface, point, line",
        "surface, point, line",
        "rigid_contact.md#what-comes-out",
    ],
    [
        "Hotz §1",
        "a bolt slides into its hole",
        "no numbers",
        "largest overlap 1.3e-14 m",
        "rigid_contact.md#the-bolt",
    ],
    [
        "Hotz §2",
        "a box on a plane, by its three methods",
        "no numbers",
        "they agree within 1e-13",
        "rigid_contact.md#what-comes-out",
    ],
    [
        "Huang §VI-D",
        "derivatives through the forces, of 20 scenes",
        "not possible there",
        "none refuted by differences",
        "gradient_table.md",
    ],
];

/// The text of the index, from the pages in a folder.
pub fn index(folder: &Path) -> Result<String, Failure> {
    let mut text = HEAD.to_owned();
    text += "| paper | page | first of its numbers | expected | isobar |\n|---|---|---|---|---|\n";
    for experiment in &EXPERIMENTS {
        let name = experiment.name;
        // With `--only` in an empty folder there are not all of them.
        let Ok(page) = std::fs::read_to_string(folder.join(format!("{name}.md"))) else { continue };
        let title = page.lines().next().unwrap_or_default().trim_start_matches("# ");
        // Below the head and the line under it.
        let rows = table(&page);
        let [head, _, [quantity, expected, value], ..] = &rows[..] else {
            return Err(format!("{name}.md has no table of results").into());
        };
        writeln!(text, "| {} | [{title}]({name}.md) | {quantity} | {expected} | {value} |", head[0])?;
    }
    text += "\nRun by programs of their own:\n\n| paper | what is seen | what the paper has | isobar | page |\n|---|---|---|---|---|\n";
    for [source, seen, has, ours, page] in ELSEWHERE {
        writeln!(text, "| {source} | {seen} | {has} | {ours} | [{page}](../{page}) |")?;
    }
    Ok(text)
}
