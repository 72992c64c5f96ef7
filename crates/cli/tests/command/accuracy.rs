//! Steps of controlled error in scene files: what is printed, what the command does with them, and what is refused.

use serde_json::Value;

use crate::folder::Folder;
use crate::{isobar, text};

fn printed(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn scene(solver: &str) -> String {
    format!(
        r#"
[materials.foam]
hydroelastic_modulus = 1e5
dissipation = 0.5
friction = 0.3
[solver]
{solver}
[contact]
surface = "polygons"
[[bodies]]
name = "ball"
translation = [0, 0, 0.055]
linear_velocity = [0.2, 0, -0.5]
mass = 0.1
[[bodies.geometries]]
shape = {{ sphere = {{ radius = 0.05, resolution = 0.03 }} }}
material = "foam"
[[bodies]]
name = "floor"
fixed = true
[[bodies.geometries]]
shape = {{ half_space = {{}} }}
rigid = true
"#
    )
}

#[test]
fn solvers_with_an_accuracy_agree_to_it_and_say_what_they_took() {
    let folder = Folder::new("accuracy");
    let end = |solver: &str| {
        let file = folder.file("scene.toml", scene(solver));
        let file = text(&file);
        let out = isobar(&["simulate", file, "--until", "0.1", "--json"]);
        assert!(out.status.success(), "{solver}: {}", printed(&out.stderr));
        let json: Value = serde_json::from_slice(&out.stdout).expect("JSON");
        let place = &json["bodies"][0]["position"];
        let place: Vec<f64> = (0..3).map(|i| place[i].as_f64().expect("a number")).collect();
        (place, json["substeps"].clone())
    };
    let (reference, substeps) = end("kind = \"radau\"\naccuracy = 1e-9\ntime_step = 0.01");
    assert!(substeps["by_order"]["5"].as_u64() > Some(20), "{substeps}");
    for (solver, allowed) in [
        ("kind = \"lagged\"\naccuracy = 1e-6\ntime_step = 0.01", 1e-5),
        ("kind = \"lagged\"\naccuracy = 1e-6\norder = 1\ntime_step = 0.01", 3e-3),
        ("kind = \"tamsi\"\naccuracy = 1e-6\ntime_step = 0.01", 1e-3),
        ("kind = \"dormand_prince\"\naccuracy = 1e-7\ntime_step = 0.01", 1e-6),
        ("kind = \"bogacki_shampine\"\naccuracy = 1e-7\ntime_step = 0.01", 1e-6),
    ] {
        let (place, substeps) = end(solver);
        let off = place.iter().zip(&reference).fold(0.0, |most: f64, (a, b)| most.max((a - b).abs()));
        assert!(off < allowed, "{solver}: {off:e}");
        let shortest = &substeps["shortest"];
        let length = shortest["length"].as_f64().expect("a number");
        assert!(length > 0.0 && length < 0.01, "{solver}: {substeps}");
        assert!(shortest["why"].as_str().is_some_and(|why| why.contains("`ball`")), "{solver}: {substeps}");
    }
    // Without it they take steps of the length given.
    for solver in ["dormand_prince", "bogacki_shampine"] {
        let (place, substeps) = end(&format!("kind = \"{solver}\"\ntime_step = 2.5e-4"));
        let off = place.iter().zip(&reference).fold(0.0, |most: f64, (a, b)| most.max((a - b).abs()));
        assert!(off < 1e-4 && substeps.is_null(), "{solver}: {off:e} {substeps}");
    }
    let file = folder.file("scene.toml", scene("kind = \"lagged\"\naccuracy = 1e-6\ntime_step = 0.01"));
    let out = isobar(&["simulate", text(&file), "--until", "0.1"]);
    let shown = printed(&out.stdout);
    assert!(shown.contains(" substeps, ") && shown.contains("the shortest "), "{shown}");
    let out = isobar(&["gradient-check", text(&file), "--steps", "1", "--vertices", "0"]);
    assert!(out.status.success(), "{}{}", printed(&out.stdout), printed(&out.stderr));
}

#[test]
fn what_does_not_go_together_is_refused() {
    let folder = Folder::new("accuracy_refused");
    for (solver, says) in [
        (
            "kind = \"rk4\"\naccuracy = 1e-6",
            "solver.accuracy: the solver \"rk4\" takes steps of fixed length",
        ),
        (
            "kind = \"semi_implicit_euler\"\naccuracy = 1e-6",
            "the solver \"semi_implicit_euler\" takes steps of fixed length",
        ),
        ("kind = \"lagged\"\naccuracy = 0", "solver.accuracy"),
        ("kind = \"lagged\"\norder = 2", "give an `accuracy` too"),
        ("kind = \"lagged\"\naccuracy = 1e-6\norder = 3", "solver.order: found 3; it must be 1 or 2"),
        ("kind = \"radau\"\naccuracy = 1e-6\norder = 1", "has an order of its own"),
        ("kind = \"radau\"", "solver.accuracy: missing; the solver \"radau\" needs it"),
    ] {
        let file = folder.file("scene.toml", scene(solver));
        let out = isobar(&["simulate", text(&file), "--until", "0.1"]);
        let message = printed(&out.stderr);
        assert!(!out.status.success() && message.contains(says), "{solver}: {message}");
    }
    // What cannot be had ends with a message that names the body.
    let file = folder.file("scene.toml", scene("kind = \"lagged\"\naccuracy = 1e-20"));
    let out = isobar(&["simulate", text(&file), "--until", "0.1"]);
    let message = printed(&out.stderr);
    assert!(message.contains("`ball`") && message.contains("positions are rounded to"), "{message}");
}
