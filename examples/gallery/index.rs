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

/// Experiments of the papers that have pages of their own: source, what is seen, page.
const ELSEWHERE: [[&str; 3]; 9] = [
    ["Elandt Fig. 4", "a pencil turns in a loosened grip by the commanded angle", "pencil.md"],
    ["Masterjohn §V-A", "a coin that slides and spins comes to rest in both at once", "steps.md"],
    ["Masterjohn §V-C", "a spatula in soft bubbles is held at 16 N and turns at 1 N", "spatula.md"],
    ["Masterjohn §V-D", "an arm with a spatula lifts a pancake", "pancake.md"],
    ["Xie §5.1", "a desk on four feet slides and turns on a plane", "rigid_contact.md"],
    ["Xie §5.2", "a T-bar tilts, comes down and slides", "rigid_contact.md"],
    ["Xie §5.3", "a dumbbell topples and rolls", "rigid_contact.md"],
    ["Hotz §1", "a bolt slides into its hole", "rigid_contact.md#the-bolt"],
    ["Hotz §3", "two boxes in contact, by three methods", "rigid_contact.md"],
];

/// The text of the index, from the pages in a folder.
pub fn index(folder: &Path) -> Result<String, Failure> {
    let mut text = HEAD.to_owned();
    text += "| experiment | first of its numbers | expected | isobar |\n|---|---|---|---|\n";
    for experiment in &EXPERIMENTS {
        let name = experiment.name;
        // With `--only` in an empty folder there are not all of them.
        let Ok(page) = std::fs::read_to_string(folder.join(format!("{name}.md"))) else { continue };
        let title = page.lines().next().unwrap_or_default().trim_start_matches("# ");
        let rows = table(&page);
        let [head, .., _] = &rows[..] else { return Err(format!("{name}.md has no table of results").into()) };
        let [quantity, expected, value] = &rows[2];
        writeln!(text, "| {}: [{title}]({name}.md) | {quantity} | {expected} | {value} |", head[0])?;
    }
    text += "\nWith pages of their own:\n\n| experiment | what is seen |\n|---|---|\n";
    for [source, seen, page] in ELSEWHERE {
        writeln!(text, "| {source} | [{seen}](../{page}) |")?;
    }
    Ok(text)
}
