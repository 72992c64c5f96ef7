//! Scenes that come from standard input.

use std::fs;
use std::io::Write;
use std::process::{Command, Output, Stdio};

use crate::folder::Folder;

/// A ball, whose mesh lies in the working directory, over a floor.
const SCENE: &str = r#"[materials.foam]
hydroelastic_modulus = 1e5
[solver]
kind = "lagged"
[[bodies]]
name = "ball"
translation = [0, 0, 0.05]
mass = 0.1
[[bodies.geometries]]
shape = { sphere = { radius = 0.05, resolution = 0.05 } }
material = "foam"
[[bodies]]
name = "block"
fixed = true
[[bodies.geometries]]
shape = { mesh = { file = "block.obj" } }
rigid = true
"#;

const BLOCK: &str = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n";

/// Runs the command in a folder, with this on standard input.
fn run_with(folder: &Folder, arguments: &[&str], input: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_isobar"));
    command.current_dir(&folder.0).args(arguments);
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().expect("it runs");
    // A command that refuses its arguments does not read it.
    let _ = child.stdin.take().expect("a pipe").write_all(input.as_bytes());
    child.wait_with_output().expect("it ends")
}

/// A folder with the scene and its mesh.
fn folder(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.file("scene.toml", SCENE);
    folder.file("block.obj", BLOCK);
    folder
}

/// Every command that takes a scene says the same of it, but for its name.
#[test]
fn a_scene_is_the_same_from_standard_input() {
    let folder = folder("input-same");
    let commands: [&[&str]; 8] = [
        &["simulate", "SCENE", "--until", "0.01", "--out", "-"],
        &["contact", "SCENE", "--json"],
        &["check", "SCENE"],
        &["check", "SCENE", "--json"],
        &["advise", "SCENE"],
        &["gradient", "SCENE", "--until", "0.003", "--of", "position of ball"],
        &["gradient-check", "SCENE", "--steps", "1", "--only", "ball.vx"],
        &["report", "SCENE", "motion.csv", "--out", "page.html"],
    ];
    let made = run_with(&folder, &["simulate", "scene.toml", "--until", "0.01", "--out", "motion.csv"], "");
    assert!(made.status.success(), "{made:?}");
    for arguments in commands {
        let of = |scene: &str| -> Output {
            let arguments: Vec<&str> =
                arguments.iter().map(|word| if *word == "SCENE" { scene } else { *word }).collect();
            run_with(&folder, &arguments, SCENE)
        };
        let (file, input) = (of("scene.toml"), of("-"));
        assert!(file.status.code() == input.status.code() && !file.stdout.is_empty(), "{input:?}");
        for (of_file, of_input) in [(file.stdout, input.stdout), (file.stderr, input.stderr)] {
            let text = |bytes| String::from_utf8(bytes).expect("text");
            assert_eq!(
                text(of_file).replace("scene.toml", "standard input"),
                text(of_input),
                "{arguments:?}"
            );
        }
    }
    let page = run_with(&folder, &["view", "-", "--print"], SCENE);
    assert!(page.status.success(), "{page:?}");
    fs::remove_file(String::from_utf8(page.stdout).expect("text").trim()).expect("the page");
}

/// What begins with a brace is JSON, and joints are looked at too.
#[test]
fn json_and_scenes_with_joints_come_from_standard_input() {
    let folder = folder("input-json");
    let json = r#"
{"bodies": [{"name": "cart", "mass": 1, "inertia": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
  "joint": {"type": "prismatic", "name": "slide", "axis": [1, 0, 0]}}]}"#;
    let checked = run_with(&folder, &["check", "-"], json);
    let said = String::from_utf8(checked.stdout).expect("text");
    assert!(said.starts_with("standard input: scene, 1 body (1 on joints)"), "{said}");
    let model = run_with(&folder, &["model", "-"], json);
    let said = String::from_utf8(model.stdout).expect("text");
    assert!(model.status.success() && said.contains("standard input"), "{said}");
}

#[test]
fn mistakes_name_standard_input_and_the_line() {
    let folder = folder("input-wrong");
    let problem = "scene = \"scene.toml\"\nuntil = 0.1\nknots.count = 2\n";
    for (arguments, input, part) in [
        (&["contact", "-"][..], SCENE.replace("mass = 0.1", "mass = -1"), "standard input:8: bodies[0].mass"),
        (&["check", "-"], format!("{SCENE}\n[[bodies"), "standard input:19"),
        (&["check", "-"], "{\"bodies\": [".to_owned(), "standard input:1"),
        (&["simulate", "-", "--until", "1"], String::new(), "standard input"),
        (
            &["gradient-check", "-"],
            problem.to_owned(),
            "found a problem; only a scene can come from standard input",
        ),
        (&["check", "-"], problem.to_owned(), "found a problem; only a scene can come from standard input"),
        (&["contact", "-"], SCENE.replace("block.obj", "none.obj"), "none.obj"),
    ] {
        let output = run_with(&folder, arguments, &input);
        let message = String::from_utf8(output.stderr).expect("text");
        assert_eq!((output.status.code(), message.lines().count()), (Some(2), 1), "{message}");
        assert!(message.contains(part) && message.contains("standard input"), "{part}: {message}");
    }
}

/// A file is no pipe, and a device is refused as a scene's file is.
#[cfg(unix)]
#[test]
fn standard_input_may_be_a_file_but_no_device() {
    let folder = folder("input-device");
    let check = |input: &str| {
        let input = fs::File::open(folder.0.join(input)).expect("it opens");
        let mut command = Command::new(env!("CARGO_BIN_EXE_isobar"));
        command.current_dir(&folder.0).args(["check", "-"]).stdin(input).output().expect("it runs")
    };
    let good = check("scene.toml");
    assert!(good.status.success(), "{good:?}");
    let zero = check("/dev/zero");
    let message = String::from_utf8_lossy(&zero.stderr).into_owned();
    assert!(zero.status.code() == Some(2) && message.contains("it is a device"), "{message}");
}
