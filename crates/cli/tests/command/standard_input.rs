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

/// Problems and fits are the same as TOML and as JSON, from files and from standard input.
#[test]
fn problems_and_fits_may_be_json_and_come_from_standard_input() {
    let folder = folder("input-kinds");
    let driven = "\n[[actuators]]\nname = \"push\"\nforce = { body = \"ball\", direction = [0, 0, 1] }\n";
    folder.file("driven.toml", format!("{SCENE}{driven}"));
    folder.file("press.csv", "depth_m,force_N\n0.001,0.31\n0.002,1.27\n");
    let problem = [
        "scene = \"driven.toml\"\nuntil = 0.01\nknots = { count = 2 }\ncontrols = [{ actuator = \"push\" }]\n\
         costs = [{ name = \"effort\", control = \"push\", weight = 1 }]\n",
        r#"{"$schema": "problem.schema.json", "scene": "driven.toml", "until": 0.01, "knots": {"count": 2},
            "controls": [{"actuator": "push"}], "costs": [{"name": "effort", "control": "push", "weight": 1}]}"#,
    ];
    let fit = [
        "scene = \"scene.toml\"\nparameters = [{ name = \"materials.foam.hydroelastic_modulus\", initial = 3e4 }]\n\
         indentations = [{ body = \"ball\", direction = [0, 0, -1], file = \"press.csv\", force_sigma = 0.1 }]\n",
        r#"{"scene": "scene.toml", "parameters": [{"name": "materials.foam.hydroelastic_modulus", "initial": 3e4}],
            "indentations": [{"body": "ball", "direction": [0, 0, -1], "file": "press.csv", "force_sigma": 0.1}]}"#,
    ];
    for (commands, texts) in
        [(["check", "gradient-check", "optimize"], problem), (["check", "gradient-check", "fit"], fit)]
    {
        folder.file("it.toml", texts[0]);
        folder.file("it.json", texts[1]);
        for command in commands {
            let of = |file: &str, input: &str| {
                let output = run_with(&folder, &[command, file], input);
                let [out, err] =
                    [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).expect("text"));
                assert!(!out.is_empty(), "{command}: {err}");
                (output.status.code(), out.replace(file, "IT").replace("standard input", "IT"))
            };
            let expected = of("it.toml", "");
            assert_eq!(of("it.json", ""), expected, "{command}");
            for text in texts {
                assert_eq!(of("-", text).0, expected.0, "{command}");
            }
        }
    }
    let other = run_with(&folder, &["fit", "-"], problem[1]);
    let said = String::from_utf8_lossy(&other.stderr).into_owned();
    assert!(said.contains("is a problem, not a fit"), "{said}");
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
            &["optimize", "-", "--out", "results"],
            problem.to_owned(),
            "write the problem into one, or leave out --out",
        ),
        (&["gradient-check", "-"], problem.to_owned(), "missing field `costs`"),
        (&["check", "-"], problem.to_owned(), "missing field `costs`"),
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
