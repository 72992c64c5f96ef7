//! What the command says of itself: the examples in its help, completions, manual pages; and what it does
//! not say where nobody wants to hear it.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::folder::Folder;
use crate::{isobar, text};

/// Runs a command in the repository.
fn here(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_isobar"));
    command.current_dir(crate::ROOT).args(arguments).output().expect("the command runs")
}

fn names() -> Vec<String> {
    let command = isobar_cli::command_line();
    command.get_subcommands().map(|subcommand| subcommand.get_name().to_owned()).collect()
}

/// The examples in the help of a subcommand, or of isobar itself.
fn examples(subcommand: Option<&str>) -> Vec<String> {
    let arguments: Vec<&str> = subcommand.into_iter().chain(["--help"]).collect();
    let output = isobar(&arguments);
    let help = String::from_utf8(output.stdout).expect("text");
    // Colours are for terminals.
    assert!(output.status.success() && !help.contains('\u{1b}'), "{help:?}");
    let (_, examples) = help.split_once("\nExamples:\n").expect("examples");
    let lines =
        examples.lines().map(|line| line.strip_prefix("  ").expect("an example and nothing after it"));
    lines.map(str::to_owned).collect()
}

/// The words of an example, of which one in quotes may have spaces.
fn words(example: &str) -> Vec<&str> {
    let parts = example.split('\'').enumerate();
    parts
        .flat_map(|(i, part)| if i % 2 == 1 { vec![part] } else { part.split_whitespace().collect() })
        .collect()
}

#[test]
fn every_example_is_a_command_with_files_that_exist() {
    let names = names();
    assert!(names.len() >= 11, "{names:?}");
    for subcommand in names.iter().map(|name| Some(name.as_str())).chain([None]) {
        let examples = examples(subcommand);
        assert!((2..=3).contains(&examples.len()), "{subcommand:?}: {examples:?}");
        for example in &examples {
            let words = words(example);
            assert!(subcommand.is_none_or(|name| words[1] == name), "{example}");
            if let Err(refused) = isobar_cli::command_line().try_get_matches_from(&words) {
                panic!("{example}: {refused}");
            }
            for file in words.iter().filter(|word| word.starts_with("examples/")) {
                let path = Path::new(crate::ROOT).join(file);
                assert!(path.exists(), "{example}: {file}");
            }
        }
    }
    let refused = isobar_cli::command_line().try_get_matches_from(["isobar", "check", "--jsn", "a"]);
    assert!(refused.is_err());
}

/// Those that take no time and write nothing; the others run wherever their files are tested.
#[test]
fn short_examples_run() {
    for name in ["check", "completions", "contact", "gradient", "man", "mesh", "model", "schema"] {
        for example in examples(Some(name)).iter().filter(|example| !example.contains("--out")) {
            let output = here(&words(example)[1..]);
            assert!(output.status.success(), "{example}: {}", String::from_utf8_lossy(&output.stderr));
            assert!(!output.stdout.is_empty(), "{example}");
        }
    }
}

#[test]
fn every_shell_completes_every_subcommand() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let output = isobar(&["completions", shell]);
        assert!(output.status.success(), "{output:?}");
        let script = String::from_utf8(output.stdout).expect("text");
        for part in
            names().iter().map(String::as_str).chain(["derivatives", "independent-mimic-joints", "quiet"])
        {
            assert!(script.contains(part), "{shell}: {part}");
        }
    }
    assert_eq!(isobar(&["completions", "cobol"]).status.code(), Some(2));
}

#[test]
fn the_manual_has_a_page_for_every_subcommand() {
    let folder = Folder::new("man");
    let pages = folder.0.join("share/man1");
    let output = isobar(&["man", "--out", text(&pages)]);
    assert!(output.status.success(), "{output:?}");
    let mut expected: Vec<String> = names().iter().map(|name| format!("isobar-{name}.1")).collect();
    expected.push("isobar.1".to_owned());
    expected.sort();
    let mut found: Vec<String> = fs::read_dir(&pages)
        .expect("the folder")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    found.sort();
    assert_eq!(found, expected);
    let read = |name: &str| fs::read_to_string(pages.join(name)).expect("a page");
    assert_eq!(isobar(&["man"]).stdout, read("isobar.1").as_bytes());
    for name in names() {
        let page = read(&format!("isobar-{name}.1"));
        assert!(page.contains(&format!(".TH isobar-{name} 1")), "{page}");
        // Examples stay on lines of their own.
        let (_, notes) = page.split_once("\n.SH NOTES\n.nf\n").expect("notes");
        let escaped = examples(Some(&name))[0].replace('-', "\\-").replace('\'', "\\*(Aq");
        assert!(notes.lines().any(|line| line.trim_start() == escaped), "{escaped}: {notes}");
    }
    // A folder that cannot be made is no surprise later.
    let file = folder.file("file", "");
    assert_eq!(isobar(&["man", "--out", text(&file)]).status.code(), Some(2));
}

/// A ball whose angle is doubtful, on a floor.
const DOUBTFUL: &str = r#"[materials.foam]
hydroelastic_modulus = 1e5
[solver]
kind = "lagged"
[[bodies]]
name = "ball"
translation = [0, 0, 0.05]
rpy = [0, 0, 90]
mass = 0.1
[[bodies.geometries]]
shape = { sphere = { radius = 0.05, resolution = 0.05 } }
material = "foam"
[[bodies]]
name = "floor"
fixed = true
[[bodies.geometries]]
shape = { half_space = {} }
rigid = true
"#;

#[test]
fn quiet_leaves_errors_and_results() {
    let folder = Folder::new("quiet");
    let scene = folder.file("scene.toml", DOUBTFUL);
    let scene = text(&scene);
    for command in [
        &["simulate", scene, "--until", "0.01"][..],
        &["contact", scene],
        &["check", scene],
        &["gradient-check", scene, "--steps", "1"],
    ] {
        let loud = isobar(command);
        assert!(String::from_utf8_lossy(&loud.stderr).contains("did you mean degrees"), "{loud:?}");
        for quiet in [[&["--quiet"], command].concat(), [command, &["--quiet"]].concat()] {
            let output = isobar(&quiet);
            assert_eq!((output.status, &output.stdout), (loud.status, &loud.stdout), "{quiet:?}");
            assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{quiet:?}");
        }
    }
    let none = folder.0.join("none.toml");
    for command in ["simulate", "check"] {
        let mut words = vec!["--quiet", command, text(&none)];
        words.extend((command == "simulate").then_some(["--until", "1"]).into_iter().flatten());
        let output = isobar(&words);
        assert_eq!(output.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&output.stderr).contains("none.toml: cannot be read"), "{output:?}");
    }
    // Of a file on standard output the summary is a result.
    let table = isobar(&["simulate", scene, "--until", "0.01", "--out", "-", "--quiet"]);
    let summary = String::from_utf8_lossy(&table.stderr).into_owned();
    assert!(summary.starts_with("10 steps of 0.001 s") && !summary.contains("degrees"), "{summary}");
}

#[test]
fn what_is_done_is_logged_where_it_is_asked_for() {
    let folder = Folder::new("logged");
    let scene = folder.file("scene.toml", DOUBTFUL);
    let words = ["simulate", text(&scene), "--until", "0.01"];
    let silent = isobar(&words);
    let logged = |filter: &str, more: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_isobar"));
        let output = command.args(words).args(more).env("RUST_LOG", filter).output().unwrap();
        assert_eq!(output.stdout, silent.stdout, "{filter}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let debug = logged("isobar=debug", &[]);
    assert!(
        debug.contains("DEBUG isobar::io::scene::file: ") && debug.contains("2 bodies, 0 joints"),
        "{debug}"
    );
    assert!(!debug.contains("TRACE"), "{debug}");
    let trace = logged("isobar::rollout=trace", &[]);
    assert_eq!(trace.matches("TRACE isobar::rollout::checked_step: step ").count(), 10, "{trace}");
    assert!(trace.contains("step 1 at 0 s: ") && !trace.contains("DEBUG"), "{trace}");
    for (filter, more) in [("isobar=trace", &["--quiet"][..]), ("isobar=off", &[]), ("", &[])] {
        assert!(!logged(filter, more).contains("isobar::"), "{filter} {more:?}");
    }
}

/// Bars are for terminals: here nothing but messages comes.
#[test]
fn progress_is_shown_on_terminals_alone() {
    let folder = Folder::new("progress");
    for kind in ["scene", "problem", "fit"] {
        let file = folder.0.join(format!("{kind}.toml"));
        assert!(isobar(&["init", kind, text(&file)]).status.success());
    }
    let file = |name: &str| text(&folder.0.join(name)).to_owned();
    let [scene, problem, fit] = ["scene.toml", "problem.toml", "fit.toml"].map(file);
    for command in [
        &["simulate", &scene, "--until", "0.5"][..],
        &["optimize", &problem, "--max-iterations", "3"],
        &["fit", &fit],
    ] {
        let said = String::from_utf8(isobar(command).stderr).expect("text");
        assert!(!said.contains(['\r', '\u{1b}']), "{said:?}");
        let known = ["loaded", "ball ", "table ", "can touch: ", "isobar: "];
        assert!(said.lines().all(|line| known.iter().any(|start| line.starts_with(start))), "{said:?}");
    }
}
