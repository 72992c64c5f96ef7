//! What commands write, where, and what becomes of it when they are stopped.

use std::fs;

use isobar::io::{Scene, TrajectoryTable};

use crate::folder::Folder;
use crate::{isobar, text};

/// A ball that falls on a floor.
const SCENE: &str = r#"[materials.foam]
hydroelastic_modulus = 1e5
dissipation = 1.0
[solver]
kind = "lagged"
time_step = 1e-3
[[bodies]]
name = "ball"
translation = [0, 0, 0.05]
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

/// A cart that an actuator pushes.
const CART: &str = r#"[[bodies]]
name = "cart"
mass = 1
inertia = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
joint = { type = "prismatic", name = "slide", axis = [1, 0, 0] }
[[actuators]]
name = "push"
joints = ["slide"]
drive = "force"
command = 0
"#;

fn names(folder: &Folder) -> Vec<String> {
    let entries = fs::read_dir(&folder.0).expect("the folder").map(|entry| entry.expect("an entry"));
    let mut names: Vec<String> = entries.map(|e| e.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn every_nth_state_the_first_and_the_last_are_written() {
    let folder = Folder::new("every");
    let scene = folder.file("scene.toml", SCENE);
    let (all, some) = (folder.0.join("all.csv"), folder.0.join("some.csv"));
    let simulate = |more: &[&str]| {
        let mut arguments = vec!["simulate", text(&scene), "--until", "0.025"];
        arguments.extend(more);
        let output = isobar(&arguments);
        assert!(output.status.success(), "{output:?}");
        output
    };
    simulate(&["--out", text(&all)]);
    simulate(&["--out", text(&some), "--every", "10"]);
    let rows = |path| -> Vec<String> {
        fs::read_to_string(path).expect("a table").lines().map(str::to_owned).collect()
    };
    let (all_rows, some_rows) = (rows(&all), rows(&some));
    assert_eq!(all_rows.len(), 1 + 26);
    let expected: Vec<&String> = [0, 1, 11, 21, 26].map(|i| &all_rows[i]).to_vec();
    assert_eq!(some_rows.iter().collect::<Vec<_>>(), expected);
    // Standard output takes the same rows, and the summary goes where it does not disturb them.
    let printed = simulate(&["--out", "-", "--every", "10"]);
    assert_eq!(String::from_utf8(printed.stdout).expect("text").lines().collect::<Vec<_>>(), some_rows);
    assert!(String::from_utf8_lossy(&printed.stderr).contains("written to standard output"));
    let silent = simulate(&["--json"]);
    let summary: serde_json::Value = serde_json::from_slice(&silent.stdout).expect("JSON alone");
    assert!(summary["out"].is_null() && summary["steps"] == 25, "{summary}");
    assert_eq!(names(&folder), ["all.csv", "scene.toml", "some.csv"]);
    let zero = isobar(&["simulate", text(&scene), "--until", "0.1", "--every", "0"]);
    assert_eq!(zero.status.code(), Some(2));
}

/// A run of a million years is refused at once where its output cannot be written.
#[test]
fn what_sleeps_stays_to_the_last_digit() {
    let folder = Folder::new("sleep");
    let scene = folder.file("scene.toml", SCENE);
    let rows = |sleep: &[&str]| {
        let out = folder.0.join("motion.csv");
        let output =
            isobar(&[&["simulate", text(&scene), "--until", "2", "--out", text(&out)], sleep].concat());
        assert!(output.status.success(), "{output:?}");
        let written = fs::read_to_string(out).expect("a motion");
        let without_time = |row: &str| row.split_once(',').map(|(_, rest)| rest.to_owned());
        written.lines().filter_map(without_time).collect::<Vec<String>>()
    };
    let [awake, asleep] = [rows(&[]), rows(&["--sleep"])];
    assert_eq!(awake[..500], asleep[..500]);
    assert!(asleep[1500..].iter().all(|row| *row == asleep[1500]));
    assert_ne!(awake[1999], awake[1500]);
    for (scene, sleep, said) in [
        (SCENE.to_owned(), "--sleep=-1", "--sleep: found -1; it must be more than 0"),
        (SCENE.replace("lagged", "rk4"), "--sleep", "--sleep: bodies sleep in steps of the kinds lagged"),
    ] {
        let output = isobar(&["simulate", text(&folder.file("other.toml", scene)), "--until", "0.1", sleep]);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && error.contains(said), "{error}");
    }
}

#[test]
fn outputs_are_tried_before_anything_is_computed() {
    let folder = Folder::new("tried");
    let scene = folder.file("scene.toml", SCENE);
    fs::create_dir(folder.0.join("sub")).expect("a folder");
    for (out, part) in [("none/out.csv", "cannot be written"), ("sub", "it is a folder")] {
        let out = folder.0.join(out);
        let output = isobar(&["simulate", text(&scene), "--until", "1e6", "--out", text(&out)]);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains(text(&out)) && message.contains(part), "{message}");
    }
    let long = isobar(&["simulate", text(&scene), "--until", "1e9"]);
    let message = String::from_utf8_lossy(&long.stderr).into_owned();
    assert!(long.status.code() == Some(2) && message.contains("more than 1e9 steps"), "{message}");
}

#[test]
fn what_is_read_is_not_overwritten() {
    let folder = Folder::new("inputs");
    let scene = folder.file("scene.toml", SCENE);
    let refused = |arguments: &[&str]| {
        let output = isobar(arguments);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains("would overwrite it"), "{message}");
    };
    refused(&["simulate", text(&scene), "--until", "0.01", "--out", text(&scene)]);
    let other = folder.0.join("../").join(folder.0.file_name().expect("a name")).join("scene.toml");
    refused(&["simulate", text(&scene), "--until", "0.01", "--out", text(&other)]);
    assert_eq!(fs::read_to_string(&scene).expect("the scene"), SCENE);
    // A mesh is an input too, and so is the problem that lies where results go.
    let points = "[[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]";
    folder.file("mesh.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n");
    let shape = "sphere = { radius = 0.05, resolution = 0.05 }";
    let meshed = folder.file("meshed.toml", SCENE.replace(shape, "mesh = { file = \"mesh.obj\" }"));
    refused(&["simulate", text(&meshed), "--until", "0", "--out", text(&folder.0.join("mesh.obj"))]);
    let hull = folder.file("hull.toml", SCENE.replace(shape, &format!("convex = {{ points = {points} }}")));
    let good = isobar(&["simulate", text(&hull), "--until", "0", "--out", text(&folder.0.join("hull.csv"))]);
    assert!(good.status.success(), "{good:?}");
    folder.file("actuated.toml", CART);
    let problem = folder.file(
        "commands.toml",
        "scene = \"actuated.toml\"\nuntil = 0.1\nknots.count = 2\n[[controls]]\nactuator = \"push\"\n[[costs]]\ncontrol = \"push\"\nweight = 1\n",
    );
    refused(&["optimize", text(&problem), "--out", text(&folder.0)]);
}

/// Memory is limited before it is asked for, with the field and the numbers.
#[test]
fn problems_that_do_not_fit_into_memory_are_refused() {
    let folder = Folder::new("memory");
    folder.file("scene.toml", CART);
    for (until, knots, parts) in [
        ("9e5", "2", ["problem.toml:2: until", "900000000 steps", "4 GiB"]),
        ("0.1", "900000000000", ["problem.toml:3: knots.count", "found 900000000000", "at most 1000000"]),
    ] {
        let problem = folder.file(
            "problem.toml",
            format!("scene = \"scene.toml\"\nuntil = {until}\nknots.count = {knots}\n[[controls]]\nactuator = \"push\"\n[[costs]]\ncontrol = \"push\"\nweight = 1\n"),
        );
        let output = isobar(&["optimize", text(&problem)]);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{message}");
        parts.iter().for_each(|part| assert!(message.contains(part), "`{part}` is not in: {message}"));
    }
}

/// Weights that overflow are told with the name of their term, and no result has a number that is none.
#[test]
fn a_cost_that_overflows_is_named() {
    let folder = Folder::new("overflow");
    folder.file("scene.toml", CART);
    let problem = folder.file(
        "problem.toml",
        "scene = \"scene.toml\"\nuntil = 0.1\nknots.count = 2\n[[controls]]\nactuator = \"push\"\n[[costs]]\nname = \"huge\"\njoint_position = { joint = \"slide\" }\ntarget = 1e150\nweight = 1e150\nwhen = \"end\"\n",
    );
    let out = folder.0.join("out");
    let output = isobar(&["optimize", text(&problem), "--json", "--out", text(&out)]);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(3) && output.stdout.is_empty(), "{message}");
    assert!(message.contains("problem.toml: the cost of `huge` is inf"), "{message}");
    assert!(!out.exists(), "nothing is written");
}

#[test]
fn equal_primitives_share_their_mesh() {
    let folder = Folder::new("shared");
    let ball = |name: &str, radius: f64, rigid: bool| {
        format!(
            "[[bodies]]\nname = \"{name}\"\nmass = 1\ntranslation = [0, 0, 1]\n[[bodies.geometries]]\nshape = {{ sphere = {{ radius = {radius}, resolution = 0.05 }} }}\nmaterial = \"foam\"\nrigid = {rigid}\n"
        )
    };
    let balls =
        [ball("a", 0.05, false), ball("b", 0.05, false), ball("c", 0.06, false), ball("d", 0.05, true)];
    for skirt in ["", "contact.skirt = 0.002\n"] {
        let head = format!("{skirt}materials.foam.hydroelastic_modulus = 1e5\n");
        let path = folder.file("scene.toml", head + &balls.concat());
        let scene = Scene::load(&path).expect("a scene");
        let mesh = |i: usize| &scene.model.bodies()[i].geometries[0].collider.geometry;
        assert!(std::sync::Arc::ptr_eq(mesh(0), mesh(1)), "{skirt}");
        assert!([2, 3].iter().all(|&i| !std::sync::Arc::ptr_eq(mesh(0), mesh(i))), "{skirt}");
    }
}

/// What files hold cannot steer the terminal, and a message is one line.
#[test]
fn control_and_bidirectional_characters_are_escaped() {
    let folder = Folder::new("escaped");
    let shape = "sphere = { radius = 0.05, resolution = 0.05 }";
    let name = "\\u001b[2J\\u202egnp.\\nobj";
    let scene = SCENE.replace(shape, &format!("mesh = {{ file = \"{name}\" }}"));
    let path = folder.file("scene.toml", scene);
    let output = isobar(&["contact", text(&path)]);
    let message = String::from_utf8(output.stderr).expect("text");
    assert_eq!((output.status.code(), message.lines().count()), (Some(2), 1), "{message}");
    assert!(message.contains("\\u{1b}[2J\\u{202e}gnp.\\nobj"), "{message}");
    assert!(!message.contains(['\u{1b}', '\u{202e}']), "{message}");
}

#[cfg(unix)]
mod unix {
    use super::*;
    use std::os::unix::fs::FileTypeExt;
    use std::process::{Child, Command, Stdio};
    use std::time::{Duration, Instant};

    #[test]
    fn special_files_are_written_to_and_stay() {
        let folder = Folder::new("special");
        let scene = folder.file("scene.toml", SCENE);
        let pipe = folder.0.join("pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs").success());
        let reader = {
            let pipe = pipe.clone();
            std::thread::spawn(move || fs::read_to_string(pipe).expect("the table"))
        };
        for out in [pipe.as_path(), std::path::Path::new("/dev/null")] {
            let output = isobar(&["simulate", text(&scene), "--until", "0.003", "--out", text(out)]);
            assert!(output.status.success(), "{output:?}");
        }
        assert_eq!(reader.join().expect("read").lines().count(), 5);
        assert!(fs::symlink_metadata(&pipe).expect("the pipe").file_type().is_fifo());
        assert!(fs::symlink_metadata("/dev/null").expect("it").file_type().is_char_device());
        assert_eq!(names(&folder), ["pipe", "scene.toml"]);
    }

    /// Messages that cannot be written are lost, and the exit code stays what it is.
    #[test]
    fn an_unwritable_standard_error_does_no_harm() {
        let folder = Folder::new("full");
        let scene = folder.file("scene.toml", SCENE);
        let full = || fs::OpenOptions::new().write(true).open("/dev/full").expect("it opens");
        let run = |arguments: &[&str]| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_isobar"));
            command.args(arguments).stdout(Stdio::null()).stderr(full()).status().expect("it runs").code()
        };
        assert_eq!(run(&["contact", "none.toml"]), Some(2));
        assert_eq!(run(&["simulate", text(&scene), "--until", "0.01", "--out", "-"]), Some(0));
        assert_eq!(run(&["dance"]), Some(2));
    }

    /// Whoever read the table has seen enough.
    #[test]
    fn a_reader_that_goes_is_no_error() {
        let folder = Folder::new("reader-goes");
        let scene = folder.file("scene.toml", SCENE);
        let mut command = Command::new(env!("CARGO_BIN_EXE_isobar"));
        command.args(["--quiet", "simulate", text(&scene), "--until", "0.5", "--out", "-"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("it ends");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success() && !said.contains("pipe"), "{said}");
    }

    /// No room on standard output is the same error in every command, also in those that only tell of themselves.
    #[test]
    fn no_room_for_results_has_one_exit_code() {
        let folder = Folder::new("no-room");
        let scene = folder.file("scene.toml", SCENE);
        let scene = text(&scene);
        let fit = format!("{}/examples/fit_ball/fit_indentation_only.toml", crate::ROOT);
        let problem = format!("{}/examples/grasp_lift/box_problem.toml", crate::ROOT);
        let commands: [&[&str]; 18] = [
            &["simulate", scene, "--until", "0.01"],
            &["simulate", scene, "--until", "0.01", "--json"],
            &["simulate", scene, "--until", "0.01", "--out", "-"],
            &["contact", scene],
            &["contact", scene, "--json"],
            &["check", scene],
            &["advise", scene],
            &["gradient", scene, "--until", "0.01", "--of", "position of ball"],
            &["gradient", scene, "--until", "0.01", "--of", "position of ball", "--json"],
            &["gradient-check", scene, "--steps", "1", "--only", "ball.vx"],
            &["fit", &fit],
            &["optimize", &problem, "--max-iterations", "1"],
            &["schema", "scene"],
            &["completions", "bash"],
            &["man"],
            &["init", "scene", "-"],
            &["--version"],
            &["simulate", "--help"],
        ];
        let run = |arguments: &[&str], to: Stdio| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_isobar"));
            command.arg("--quiet").args(arguments).stdout(to).stderr(Stdio::piped());
            command.spawn().expect("it runs")
        };
        for arguments in commands {
            let full = fs::OpenOptions::new().write(true).open("/dev/full").expect("it opens");
            let output = run(arguments, full.into()).wait_with_output().expect("it ends");
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
            assert!(said.starts_with("isobar: standard output: No space"), "{arguments:?}: {said}");
            // Whoever reads no further is no error.
            let (reader, writer) = std::io::pipe().expect("a pipe");
            drop(reader);
            let output = run(arguments, writer.into()).wait_with_output().expect("it ends");
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.success() && said.is_empty(), "{arguments:?}: {said}");
        }
    }

    /// What a killed run left goes when its output is written again; what is being written stays.
    #[test]
    fn leftovers_of_a_killed_run_are_removed_by_the_next() {
        let folder = Folder::new("killed");
        let scene = folder.file("scene.toml", SCENE);
        let [out, other] = ["out.csv", "other.csv"].map(|name| folder.0.join(name));
        let parts = || names(&folder).into_iter().filter(|name| name.ends_with(".part")).collect::<Vec<_>>();
        let begun = |out: &std::path::Path| {
            let (before, start) = (parts(), Instant::now());
            let child = spawn(&["simulate", text(&scene), "--until", "1e5", "--out", text(out)]);
            let has_rows = |name: &String| {
                let found = fs::metadata(folder.0.join(name));
                !before.contains(name) && found.is_ok_and(|found| found.len() > 20_000)
            };
            while !parts().iter().any(has_rows) {
                assert!(start.elapsed() < Duration::from_secs(120), "nothing is written");
                std::thread::sleep(Duration::from_millis(2));
            }
            child
        };
        let kill = |mut child: Child| {
            child.kill().expect("it can be killed");
            child.wait().expect("it ends");
        };
        kill(begun(&out));
        let left = parts();
        kill(begun(&other));
        let alive = begun(&out);
        let write = || isobar(&["simulate", text(&scene), "--until", "0.01", "--out", text(&out)]);
        // The one alive has removed the first; those of another output and of the living run stay.
        assert!(parts().len() == 2 && !parts().contains(&left[0]), "{left:?} {:?}", parts());
        let kept = parts();
        assert!(write().status.success());
        assert_eq!(parts(), kept);
        kill(alive);
        assert!(write().status.success());
        assert_eq!(parts().len(), 1);
        assert!(
            isobar(&["simulate", text(&scene), "--until", "0.01", "--out", text(&other)]).status.success()
        );
        assert_eq!(names(&folder), ["other.csv", "out.csv", "scene.toml"]);
    }

    /// Waits for something, sends Ctrl-C, and takes what became of the command.
    fn interrupted(mut child: Child, is_there: impl Fn() -> bool) -> (Option<i32>, String) {
        let begun = Instant::now();
        while !is_there() {
            assert!(child.try_wait().expect("known").is_none(), "it ended by itself");
            assert!(begun.elapsed() < Duration::from_secs(120), "nothing to interrupt");
            std::thread::sleep(Duration::from_millis(2));
        }
        let process = child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &process]).status().expect("kill runs").success());
        let output = child.wait_with_output().expect("it ends");
        (output.status.code(), String::from_utf8(output.stderr).expect("text"))
    }

    fn spawn(arguments: &[&str]) -> Child {
        let mut command = Command::new(env!("CARGO_BIN_EXE_isobar"));
        command.args(arguments).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it runs")
    }

    #[test]
    fn ctrl_c_keeps_the_states_until_then() {
        let folder = Folder::new("ctrl-c");
        let scene = folder.file("scene.toml", SCENE);
        let out = folder.0.join("out.csv");
        let child = spawn(&["simulate", text(&scene), "--until", "1e5", "--out", text(&out)]);
        let begun = || {
            let mut files = fs::read_dir(&folder.0).expect("the folder").filter_map(Result::ok);
            files.any(|file| file.metadata().is_ok_and(|found| found.len() > 20_000))
        };
        let (code, message) = interrupted(child, begun);
        assert_eq!(code, Some(130), "{message}");
        assert!(message.contains("stopped at t = ") && message.contains("of 100000000 steps"), "{message}");
        let kept = TrajectoryTable::read(&out).expect("a whole table");
        let last = kept.times.last().expect("a row");
        assert!(kept.times.len() > 50 && message.contains(&format!("t = {last} s")), "{message}");
        assert_eq!(names(&folder), ["out.csv", "scene.toml"]);
    }

    #[test]
    fn ctrl_c_keeps_the_result_of_an_optimization() {
        let folder = Folder::new("ctrl-c-optimize");
        let cart = "[solver]\nkind = \"lagged\"\ntime_step = 1e-3\n[[bodies]]\nname = \"cart\"\nmass = 1\ninertia = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]\njoint = { type = \"planar\", name = \"slide\", position = [0.1, 0, 0] }\n[[actuators]]\nname = \"push\"\njoints = [{ joint = \"slide\", coordinate = 2 }]\ndrive = \"force\"\ncommand = 1\n";
        folder.file("scene.toml", cart);
        let problem = folder.file(
            "problem.toml",
            "scene = \"scene.toml\"\nuntil = 0.2\nknots.count = 10\n[[controls]]\nactuator = \"push\"\n[[costs]]\norientation = { body = \"cart\", rpy = [0, 0, 2] }\nweight = 10\n[optimizer]\nkind = \"lbfgs\"\nsmoothing = { deviation = 1, pairs = 20, seed = 1 }\nmax_iterations = 1000000\ncost_tolerance = 0\n",
        );
        let out = folder.0.join("out");
        let child = spawn(&["optimize", text(&problem), "--out", text(&out)]);
        let (code, message) = interrupted(child, || out.join("checkpoint.json").exists());
        assert_eq!(code, Some(130), "{message}");
        assert!(message.contains("was stopped after") && message.contains("--resume"), "{message}");
        let mut left: Vec<_> = fs::read_dir(&out)
            .expect("the folder")
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .collect();
        left.sort();
        assert_eq!(left, ["checkpoint.json", "commands.toml", "result.json", "run.json", "trajectory.csv"]);
    }
}
