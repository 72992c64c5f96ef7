//! The guide's files load, its commands exist, and its links lead somewhere.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use isobar::Scene;
use isobar::io::reference::FileKind;
use isobar::io::{FitFile, ProblemFile};

use crate::folder::Folder;
use crate::isobar;

/// The folder of the chapters.
pub(crate) fn source() -> PathBuf {
    Path::new(crate::ROOT).join("docs/guide/src")
}

/// The chapters, with their names as files.
pub(crate) fn pages() -> BTreeMap<String, String> {
    let mut pages = BTreeMap::new();
    for entry in fs::read_dir(source()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "md") {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            pages.insert(name, fs::read_to_string(&path).unwrap());
        }
    }
    assert!(pages.len() > 9, "{pages:?}");
    pages
}

/// The blocks of code of a page, each with its language.
fn blocks(page: &str) -> Vec<(String, String)> {
    let (mut found, mut open) = (Vec::new(), None::<(String, String)>);
    for line in page.lines() {
        match (line.strip_prefix("```"), open.take()) {
            (Some(language), None) => open = Some((language.trim().to_owned(), String::new())),
            (Some(_), Some(block)) => found.push(block),
            (None, Some((language, text))) => open = Some((language, text + line + "\n")),
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "a block of code does not end");
    found
}

/// A page without its blocks of code.
fn prose(page: &str) -> String {
    let mut is_code = false;
    let mut kept = String::new();
    for line in page.lines() {
        if line.starts_with("```") {
            is_code = !is_code;
        } else if !is_code {
            kept += line;
            kept += "\n";
        }
    }
    kept
}

/// The name in the first line of a block that is a whole file: `# ball.toml`.
fn file_name(block: &str) -> Option<&str> {
    let name = block.lines().next()?.strip_prefix("# ")?;
    let is_file = [".toml", ".csv", ".obj"].iter().any(|end| name.ends_with(end));
    (is_file && !name.contains(char::is_whitespace)).then_some(name)
}

/// All whole files of the guide, by name.
pub(crate) fn files() -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    for (page, text) in pages() {
        for (_, block) in blocks(&text) {
            let Some(name) = file_name(&block) else { continue };
            let before = files.insert(name.to_owned(), block.clone());
            assert!(before.is_none_or(|before| before == block), "{page}: another {name} than before");
        }
    }
    files
}

#[test]
fn the_files_of_the_guide_load() {
    let folder = Folder::new("guide_files");
    let files = files();
    for (name, text) in &files {
        folder.file(name, text);
    }
    let (mut scenes, mut problems, mut fits) = (0, 0, 0);
    for name in files.keys().filter(|name| name.ends_with(".toml")) {
        let path = folder.0.join(name);
        match FileKind::of(&path).unwrap_or_else(|e| panic!("{e}")) {
            FileKind::Problem => {
                ProblemFile::load(&path).unwrap_or_else(|e| panic!("{e}"));
                problems += 1;
            }
            FileKind::Fit => {
                let fit = FitFile::load(&path).unwrap_or_else(|e| panic!("{e}"));
                fit.identification().unwrap_or_else(|e| panic!("{e}"));
                fits += 1;
            }
            FileKind::Scene => {
                let scene = Scene::load(&path).unwrap_or_else(|e| panic!("{e}"));
                scene.check_motion().unwrap_or_else(|e| panic!("{e}"));
                scenes += 1;
            }
        }
    }
    assert!(scenes >= 8 && problems >= 1 && fits >= 1, "{scenes} scenes, {problems} problems, {fits} fits");
}

#[test]
fn the_parts_of_files_in_the_guide_are_toml() {
    for (page, text) in pages() {
        for (_, block) in blocks(&text).into_iter().filter(|(language, _)| language == "toml") {
            block.parse::<toml::Table>().unwrap_or_else(|e| panic!("{page}: {e}\n{block}"));
        }
    }
}

#[test]
fn the_commands_of_the_guide_exist() {
    let help = |arguments: &[&str]| {
        let output = isobar(arguments);
        assert!(output.status.success(), "isobar {arguments:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let commands = help(&["--help"]);
    let commands: BTreeSet<&str> =
        commands.lines().filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next()).collect();
    let mut helps: BTreeMap<String, String> = BTreeMap::new();
    let mut count = 0;
    for (page, text) in pages() {
        for (_, block) in blocks(&text).into_iter().filter(|(language, _)| language == "sh") {
            let lines = block.lines().filter_map(|line| line.trim().strip_prefix("isobar "));
            for line in lines {
                let words: Vec<&str> =
                    line.split_whitespace().take_while(|word| !matches!(*word, "|" | ">")).collect();
                let command = words[0];
                assert!(commands.contains(command), "{page}: isobar {line}");
                let help =
                    helps.entry(command.to_owned()).or_insert_with(|| help(&[command, "--help"])).as_str();
                for word in words.iter().filter(|word| word.starts_with("--")) {
                    let is_known = help.split(|c: char| c.is_whitespace() || c == ',').any(|w| w == *word);
                    assert!(is_known, "{page}: isobar {line}: {word}");
                }
                count += 1;
            }
        }
    }
    assert!(count > 15, "{count} commands");
}

/// The places that links of a page lead to.
fn links(page: &str) -> Vec<String> {
    let prose = prose(page);
    let ends = prose.match_indices("](").map(|(at, _)| &prose[at + 2..]);
    ends.filter_map(|rest| Some(rest[..rest.find(')')?].to_owned())).collect()
}

/// What a heading is called in links.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | ' '));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[test]
fn the_links_of_the_guide_lead_somewhere() {
    let pages = pages();
    let mut count = 0;
    for (page, text) in &pages {
        for link in links(text).iter().filter(|link| !link.contains("://")) {
            let (file, place) = link.split_once('#').unwrap_or((link, ""));
            let file = if file.is_empty() { page } else { file };
            assert!(source().join(file).exists(), "{page}: {link}");
            if !place.is_empty() {
                let target = pages.get(file).unwrap_or_else(|| panic!("{page}: {link}"));
                let prose = prose(target);
                let mut headings = prose.lines().filter(|line| line.starts_with('#'));
                let is_there = headings.any(|line| anchor(line.trim_start_matches('#')) == place);
                assert!(is_there, "{page}: {link}: no such heading");
            }
            count += 1;
        }
        for rest in text.split("{{#include ").skip(1) {
            let file = rest.split("}}").next().unwrap();
            assert!(source().join(file).exists(), "{page}: {file}");
        }
    }
    assert!(count > 30, "{count} links");
}

#[test]
fn every_chapter_is_in_the_table_of_contents() {
    let docs = Path::new(crate::ROOT).join("docs");
    let listed: BTreeSet<String> =
        links(&fs::read_to_string(docs.join("SUMMARY.md")).unwrap()).into_iter().collect();
    let mut chapters = 0;
    for folder in ["guide/src", "gallery"] {
        for entry in fs::read_dir(docs.join(folder)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if name.ends_with(".md") {
                assert!(listed.contains(&format!("{folder}/{name}")), "{folder}/{name}");
                chapters += 1;
            }
        }
    }
    assert!(chapters > 30, "{chapters}");
    assert!(listed.iter().all(|page| docs.join(page).exists()), "{listed:?}");
}

#[test]
fn the_rust_of_the_guide_is_tested() {
    let crate_page = include_str!("../../../../src/lib.rs");
    for (page, text) in pages() {
        if blocks(&text).iter().any(|(language, _)| language.starts_with("rust")) {
            assert!(crate_page.contains(&format!("../docs/guide/src/{page}")), "{page} is not in src/lib.rs");
        }
        // rustdoc takes a block without a language for Rust.
        assert!(blocks(&text).iter().all(|(language, _)| !language.is_empty()), "{page}");
    }
}
