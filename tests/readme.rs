//! The README says what the examples do.

use std::path::Path;
use std::process::Command;

fn read(file: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap()
}

/// The first block of a language in the README.
fn block<'a>(readme: &'a str, language: &str) -> &'a str {
    let start = format!("```{language}\n");
    let from = readme.find(&start).unwrap_or_else(|| panic!("no {language} block")) + start.len();
    let length = readme[from..].find("```").unwrap();
    &readme[from..from + length]
}

/// A file without the comments at its top.
fn code(file: &str) -> &str {
    file.trim_start_matches(|c| c != '\n').trim_start()
}

#[test]
fn the_library_example_is_the_quick_start() {
    let (readme, example) = (read("README.md"), read("examples/quick_start.rs"));
    assert_eq!(block(&readme, "rust"), code(&example));
}

#[test]
fn the_quick_start_prints_what_the_readme_says() {
    // Cargo builds the examples beside the tests' own folder.
    let tests = std::env::current_exe().unwrap();
    let folder = tests.parent().and_then(Path::parent).unwrap().join("examples");
    let program = folder.join(format!("quick_start{}", std::env::consts::EXE_SUFFIX));
    if !program.exists() {
        println!("skipped: the example has not been built ({})", program.display());
        return;
    }
    let output = Command::new(program).output().unwrap();
    assert!(output.status.success());
    assert_eq!(String::from_utf8(output.stdout).unwrap(), block(&read("README.md"), "text"));
}

#[test]
fn the_scene_of_the_readme_is_valid() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("readme_scene.toml");
    std::fs::write(&file, block(&read("README.md"), "toml")).unwrap();
    let output =
        Command::new(env!("CARGO_BIN_EXE_isobar")).args(["contact", "--json"]).arg(&file).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let pairs: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(pairs["pairs"][0]["force_on_a"][2].as_f64().unwrap() > 0.0, "{pairs}");
}
