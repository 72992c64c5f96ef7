//! The README and the guide say what the examples do.

use std::path::Path;
use std::process::Command;

use crate::{isobar, text};

fn read(file: &str) -> String {
    std::fs::read_to_string(Path::new(crate::ROOT).join(file)).unwrap()
}

/// The first block of a language in a page.
fn block<'a>(page: &'a str, language: &str) -> &'a str {
    let start = format!("```{language}\n");
    let from = page.find(&start).unwrap_or_else(|| panic!("no {language} block")) + start.len();
    let length = page[from..].find("```").unwrap();
    &page[from..from + length]
}

/// All blocks of a language in a page.
fn blocks<'a>(mut page: &'a str, language: &str) -> Vec<&'a str> {
    let start = format!("```{language}\n");
    let mut found = Vec::new();
    while let Some(from) = page.find(&start) {
        page = &page[from..];
        found.push(block(page, language));
        page = &page[start.len()..];
    }
    found
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
fn the_law_of_rubber_in_the_guide_is_that_of_the_example() {
    let chapter = read("docs/guide/src/own.md");
    let law = "impl ContactLaw for Rubber";
    let block = blocks(&chapter, "rust").into_iter().find(|block| block.contains(law)).unwrap();
    let without_comments = |text: &str| -> String {
        text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
    };
    let definition = block[block.find(law).unwrap()..].split("\n\nlet contact").next().unwrap();
    assert!(definition.contains("damping_factor") && definition.contains("friction_coefficient"));
    let example = without_comments(&read("examples/own_law.rs"));
    assert!(example.contains(definition.trim()), "{definition}");
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
fn the_first_scene_of_the_guide_is_valid() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("first_scene.toml");
    std::fs::write(&file, block(&read("docs/guide/src/start-here.md"), "toml")).unwrap();
    let output = isobar(&["check", text(&file)]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn the_joints_and_robots_of_the_guide_are_valid() {
    let chapter = read("docs/guide/src/scenes.md");
    let all = blocks(&chapter, "toml");
    let find = |part: &str| *all.iter().find(|b| b.contains(part)).unwrap();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let urdf = r#"<robot name="r">
      <link name="palm"><collision><geometry><sphere radius="0.05"/></geometry></collision></link>
      <link name="finger">
        <inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
        <collision><geometry><sphere radius="0.05"/></geometry></collision></link>
      <joint name="elbow" type="continuous"><parent link="palm"/><child link="finger"/></joint>
    </robot>"#;
    std::fs::write(folder.join("gripper.urdf"), urdf).unwrap();
    let file = folder.join("guide_joints.toml");
    std::fs::write(&file, format!("{}\n{}", find("[bodies.joint]"), find("[[robots]]"))).unwrap();
    let out = folder.join("guide_joints.csv");
    let output = isobar(&["simulate", "--json", "--until", "0.01", "--out", text(&out), text(&file)]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let summary: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let joints: Vec<&str> =
        summary["joints"].as_array().unwrap().iter().map(|j| j["name"].as_str().unwrap()).collect();
    assert_eq!(joints, ["lift", "close", "left elbow"]);
}
