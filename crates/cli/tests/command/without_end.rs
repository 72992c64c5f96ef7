//! Files and pipes without end, or without anybody at their other end.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::folder::Folder;
use crate::{run, text};

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
name = "table"
fixed = true
[[bodies.geometries]]
shape = { half_space = {} }
rigid = true
"#;

const FIT: &str = r#"scene = "scene.toml"
[[parameters]]
name = "materials.foam.hydroelastic_modulus"
initial = 3e4
log = true
[[indentations]]
body = "ball"
direction = [0, 0, -1]
file = "press.csv"
force_sigma = 0.1
"#;

#[test]
fn files_that_are_too_long_are_refused_before_they_are_read() {
    let folder = Folder::new("too-long");
    let (scene, fit) = (folder.file("scene.toml", SCENE), folder.file("fit.toml", FIT));
    let long = folder.0.join("press.csv");
    fs::File::create(&long).and_then(|file| file.set_len(100 << 30)).expect("a file with a hole");
    let page = folder.0.join("page.html");
    for arguments in [
        &["contact", text(&scene), "--at", text(&long), "--time", "0.1"][..],
        &["report", text(&scene), text(&long), "--out", text(&page)],
        &["fit", text(&fit)],
        &["check", text(&fit)],
    ] {
        let (code, _, said) = run(arguments);
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains("press.csv") && said.contains("it has more than 4294967296 bytes"), "{said}");
    }
}

#[test]
fn standard_input_without_end_is_refused() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_isobar"));
    command.args(["simulate", "-", "--until", "0.1"]).stdin(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it runs");
    let mut input = child.stdin.take().expect("a pipe");
    let comments = "# without end\n".repeat(5000);
    let writer = std::thread::spawn(move || while input.write_all(comments.as_bytes()).is_ok() {});
    let output = child.wait_with_output().expect("it ends");
    writer.join().expect("nobody reads on");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("standard input: cannot be read: it has more than 268435456 bytes"), "{said}");
}

/// The first signal ends a command that waits for a reader.
#[test]
fn a_pipe_that_nobody_reads_holds_nothing_up() {
    let folder = Folder::new("no-reader");
    let (scene, fit) = (folder.file("scene.toml", SCENE), folder.file("fit.toml", FIT));
    folder.file("press.csv", "depth_m,force_N\n0.001,0.31\n0.002,1.27\n");
    let pipe = folder.0.join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs").success());
    let waits = |child: &str| {
        let of_threads = fs::read_dir(Path::new("/proc").join(child).join("task"));
        of_threads.is_ok_and(|threads| threads.count() > 2)
    };
    for arguments in [&["simulate", text(&scene), "--until", "0.001"][..], &["fit", text(&fit)]] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_isobar"));
        command.args(arguments).arg("--out").arg(&pipe).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it runs");
        let (id, begin) = (child.id().to_string(), Instant::now());
        while !waits(&id) && begin.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(50));
        }
        std::thread::sleep(Duration::from_millis(500));
        assert!(child.try_wait().expect("a child").is_none(), "{arguments:?} waits for a reader");
        assert!(Command::new("kill").args(["-INT", &id]).status().expect("kill runs").success());
        while child.try_wait().expect("a child").is_none() {
            if begin.elapsed() > Duration::from_secs(60) {
                child.kill().expect("it can be ended");
                panic!("{arguments:?} does not end");
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let output = child.wait_with_output().expect("it ended");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(130), "{said}");
        assert!(said.contains("pipe: cannot be written: it is a pipe that nobody reads"), "{said}");
    }
}
