//! What commands print in the guide is what they print.
//!
//! `ISOBAR_GUIDE=all` runs the commands of all chapters, also the fits and the optimizations, which take minutes, and
//! `ISOBAR_GUIDE=write` writes what they print into the chapters.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::folder::Folder;
use crate::guide::{files, pages, source};

/// Chapters whose commands take seconds.
const QUICK: [&str; 4] = ["choosing.md", "coming-from.md", "own.md", "start-here.md"];

/// Lines that stand for any number of lines.
const ELLIPSIS: &str = "...";

/// A line whose numbers are all the same, and blanks too.
fn shape(line: &str) -> String {
    let word = |word: &str| match word.trim_matches(['(', ')', ',', ';']).parse::<f64>() {
        Ok(_) => "#".to_owned(),
        Err(_) => word.to_owned(),
    };
    line.split_whitespace().map(word).collect::<Vec<_>>().join(" ")
}

/// Numbers that differ by less than this part of the largest one in their line are the same: where they are zero but for
/// rounding, that is another's on another machine.
const SAME: f64 = 1e-9;

/// Whether two lines say the same.
fn agree(a: &str, b: &str) -> bool {
    let number = |word: &str| word.parse::<f64>().ok();
    let largest = a.split_whitespace().filter_map(number).fold(0.0, |largest, x| f64::max(largest, x.abs()));
    let same = |(a, b): (&str, &str)| match (number(a), number(b)) {
        (Some(a), Some(b)) => (a - b).abs() <= SAME * largest,
        _ => a == b,
    };
    shape(a) == shape(b) && a.split_whitespace().zip(b.split_whitespace()).all(same)
}

/// Where in `printed`, from `from` on, the lines come that are most like `lines`.
fn place_of(lines: &[&str], printed: &[&str], from: usize) -> usize {
    let last = printed.len().saturating_sub(lines.len());
    let like = |at: usize| -> usize {
        let pairs = lines.iter().zip(&printed[at..]);
        pairs.map(|(a, b)| 2 * usize::from(shape(a) == shape(b)) + usize::from(a == b)).sum()
    };
    // The first of the best.
    (from..=last).rev().max_by_key(|&at| like(at)).unwrap_or(from)
}

/// What a transcript with ellipses becomes where this is printed.
fn updated(shown: &[&str], printed: &[&str]) -> Vec<String> {
    let mut lines = Vec::new();
    let mut from = 0;
    let mut ellipses = shown.iter().filter(|line| line.trim() == ELLIPSIS);
    let parts: Vec<_> = shown.split(|line| line.trim() == ELLIPSIS).collect();
    for (k, part) in parts.iter().enumerate() {
        if k > 0 {
            lines.push(ellipses.next().copied().unwrap_or(ELLIPSIS).to_owned());
        }
        let range = match (k, parts.len()) {
            (_, 1) => 0..printed.len(),
            (0, _) => 0..part.len(),
            (k, count) if k + 1 == count => printed.len().saturating_sub(part.len())..printed.len(),
            _ => {
                let at = place_of(part, printed, from);
                at..at + part.len()
            }
        };
        from = range.end;
        let range = range.start.min(printed.len())..range.end.min(printed.len());
        let now = &printed[range];
        let is_known = now.len() == part.len() && now.iter().zip(*part).all(|(a, b)| agree(a, b));
        let kept = if is_known { part } else { now };
        lines.extend(kept.iter().map(|line| (*line).to_owned()));
    }
    lines
}

/// What commands print, in a folder, without blanks at the ends of lines.
fn printed(commands: &str, folder: &Path) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_isobar")).parent().expect("it lies in a folder");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let paths = std::env::join_paths([program.to_owned()].into_iter().chain(std::env::split_paths(&path)));
    let output = Command::new("sh")
        .args(["-c", &format!("exec 2>&1\n{commands}")])
        .env("PATH", paths.expect("folders without colons"))
        .current_dir(folder)
        .output()
        .expect("there is a shell");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    text.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

/// A chapter with what its commands print now, and the transcripts that differ.
fn run(page: &str, text: &str) -> (String, Vec<String>) {
    let folder = Folder::new(&format!("guide_{page}"));
    for (name, content) in files() {
        folder.file(&name, content);
    }
    let examples = Path::new(crate::ROOT).join("examples");
    std::os::unix::fs::symlink(examples, folder.0.join("examples")).expect("a link");
    let (mut now, mut differing) = (String::new(), Vec::new());
    let mut lines = text.lines();
    let mut output: Option<String> = None;
    while let Some(line) = lines.next() {
        now += line;
        now.push('\n');
        let Some(language) = line.strip_prefix("```") else {
            output = output.filter(|_| line.is_empty());
            continue;
        };
        let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        let shown = output.take().filter(|_| language == "text");
        match shown {
            Some(printed) => {
                let updated = updated(&block, &printed.trim_end().lines().collect::<Vec<_>>());
                if updated != block {
                    differing.push(format!(
                        "{page}: in place of\n{}\nit is\n{}",
                        block.join("\n"),
                        updated.join("\n")
                    ));
                }
                now.extend(updated.iter().map(|line| line.to_owned() + "\n"));
            }
            None => now.extend(block.iter().map(|line| format!("{line}\n"))),
        }
        now += "```\n";
        let commands = block.join("\n");
        // Those that build programs of the repository are not run.
        if language == "sh" && !commands.contains("cargo ") {
            output = Some(printed(&commands, &folder.0));
        }
    }
    (now, differing)
}

#[test]
fn transcripts_in_the_guide_are_what_commands_print() {
    let mode = std::env::var("ISOBAR_GUIDE").unwrap_or_default();
    let mut differing = Vec::new();
    for (page, text) in pages() {
        let has_commands = text.contains("```sh");
        if has_commands && (QUICK.contains(&page.as_str()) || ["all", "write"].contains(&mode.as_str())) {
            let (now, different) = run(&page, &text);
            if mode == "write" {
                fs::write(source().join(&page), now).expect("the chapter is written");
            }
            differing.extend(different);
        }
    }
    assert!(differing.is_empty(), "{}", differing.join("\n\n"));
}
