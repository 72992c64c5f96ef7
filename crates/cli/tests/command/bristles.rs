//! Bristles in scene files: columns of trajectories, checks of derivatives, and what is refused.

use serde_json::Value;

use isobar::io::{Scene, TrajectoryTable};
use isobar::rollout::Trajectory;

use crate::folder::Folder;
use crate::{isobar, text};

/// A box of two parts on a slope, which sticks, and a ball that leans on it.
fn scene(contact: &str, kind: &str) -> String {
    format!(
        r#"
gravity = [3.9, 0.2, -9]
[materials.foam]
hydroelastic_modulus = 2e5
dissipation = 2.0
friction = 0.5
[contact]
surface = "polygons"
{contact}
[solver]
kind = "{kind}"
time_step = 1e-3
[[bodies]]
name = "block"
translation = [0.001, 0.002, 0.0485]
rpy = [0.01, 0.02, 0.3]
mass = 0.6
[[bodies.geometries]]
shape = {{ box = {{ size = [0.1, 0.12, 0.1] }} }}
translation = [0.06, 0, 0]
material = "foam"
[[bodies.geometries]]
shape = {{ box = {{ size = [0.08, 0.1, 0.1] }} }}
translation = [-0.06, 0, 0]
material = "foam"
[[bodies]]
name = "floor"
fixed = true
[[bodies.geometries]]
shape = {{ half_space = {{ thickness = 0.1 }} }}
rigid = true
"#
    )
}

const BRISTLES: &str = "bristle_length = 1e-5";

#[test]
fn trajectories_have_columns_of_bristles_and_come_back_to_the_bit() {
    let folder = Folder::new("bristles");
    let file = folder.file("scene.toml", scene(BRISTLES, "lagged"));
    let out = folder.0.join("motion.csv");
    let run = isobar(&["simulate", "--until", "0.02", "--out", text(&out), text(&file)]);
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let csv = std::fs::read_to_string(&out).expect("written");
    let header = csv.lines().next().expect("a header");
    // Two pairs of geometries of the same bodies.
    for column in ["block-floor[0].bristle_rx_rad", "block-floor[1].bristle_z_m"] {
        assert!(header.contains(column), "{header}");
    }
    let loaded = Scene::load(&file).expect("valid");
    let rollout = loaded.rollout(0.02).expect("a rollout");
    let expected = rollout.simulate().expect("a simulation");
    let read = Trajectory::read(&out, &loaded.model).expect("a trajectory");
    assert_eq!(read, expected);
    let last = &read.states[read.states.len() - 1];
    assert_eq!(last.bristles.len(), 2);
    for pair in 0..2 {
        assert!(read.states.iter().any(|state| state.bristles[pair].translation.norm() > 1e-8));
    }
    let table = TrajectoryTable::read(&out).expect("a table");
    assert_eq!(table.bristles[1].deflections[20], last.bristles[1]);
    // A table without them says that none are deflected; one that lacks some is refused.
    let plain = folder.file("plain.toml", scene("", "lagged"));
    let run = isobar(&["simulate", "--until", "0.002", "--out", text(&out), text(&plain)]);
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let read = Trajectory::read(&out, &loaded.model).expect("a trajectory");
    assert!(read.states.iter().all(|state| state.bristles.len() == 2));
    assert!(read.states.iter().all(|state| state.bristles.iter().all(|s| s.translation.norm() == 0.0)));
    let bad = folder.file("bad.csv", csv.replace("block-floor[1].", "block-wall."));
    let error = Trajectory::read(&bad, &loaded.model).expect_err("refused").to_string();
    assert!(error.contains("bristles of `block-floor[1]`"), "{error}");
    let bad = folder.file("bad.csv", csv.replacen("block-floor[1].bristle_x_m", "block-wall.bristle_x_m", 1));
    let error = Trajectory::read(&bad, &loaded.model).expect_err("refused").to_string();
    assert!(error.contains("is missing"), "{error}");
}

#[test]
fn derivatives_of_bristles_are_checked_by_name() {
    let folder = Folder::new("bristles checked");
    let file = folder.file("scene.toml", scene(BRISTLES, "lagged"));
    let run = isobar(&["gradient-check", "--steps", "3", "--json", text(&file)]);
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let report: Value = serde_json::from_slice(&run.stdout).expect("JSON");
    let all = report.to_string();
    for name in [
        "rotation of the bristles between block and floor after one step",
        "translation of the bristles between block and floor after 3 steps",
    ] {
        assert!(all.contains(name), "{name}");
    }
}

#[test]
fn other_solvers_and_wrong_lengths_are_refused() {
    let folder = Folder::new("bristles refused");
    for (contact, kind, parts) in [
        (BRISTLES, "sap", vec!["contact.bristle_length", "\"sap\"", "\"lagged\""]),
        (BRISTLES, "rk4", vec!["contact.bristle_length", "\"rk4\"", "\"lagged\""]),
        ("bristle_length = 0", "lagged", vec!["contact.bristle_length", "found 0"]),
        ("bristle_length = -1e-6", "lagged", vec!["contact.bristle_length", "-"]),
    ] {
        let file = folder.file("scene.toml", scene(contact, kind));
        let run = isobar(&["simulate", "--until", "0.01", "--out", "-", text(&file)]);
        assert_eq!(run.status.code(), Some(2));
        let message = String::from_utf8_lossy(&run.stderr).into_owned();
        for part in parts {
            assert!(message.contains(part), "`{part}` is not in: {message}");
        }
    }
    // With controlled error they are there.
    let with_accuracy =
        scene(BRISTLES, "lagged").replace("time_step = 1e-3", "time_step = 5e-3\naccuracy = 1e-5");
    let file = folder.file("scene.toml", with_accuracy);
    let run = isobar(&["simulate", "--until", "0.02", "--out", "-", text(&file)]);
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
}
