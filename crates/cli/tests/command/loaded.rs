//! What was loaded is told, and what is hardly meant: lengths in millimetres, angles in degrees,
//! links that touch nothing.

use serde_json::{Value, json};

use crate::folder::Folder;
use crate::{isobar, text};

/// A ball from a file beside a block, on a floor.
const SCENE: &str = r#"[materials.foam]
hydroelastic_modulus = 1e5
friction = 0.5
[materials.steel]
friction = 0.3
[[bodies]]
name = "tetrahedron"
translation = [0, 0, 0.2]
mass = 0.25
[[bodies.geometries]]
shape = { mesh = { file = "tetrahedron.obj", scale = 0.001 } }
material = "steel"
rigid = true
[[bodies]]
name = "block"
translation = [0, 0, 0.5]
density = 1000
[[bodies.geometries]]
shape = { box = { size = [0.1, 0.2, 0.3] } }
material = "foam"
[[bodies]]
name = "floor"
fixed = true
[[bodies.geometries]]
shape = { half_space = { thickness = 0.1 } }
material = "foam"
"#;

/// Edges of 100 along the axes.
const TETRAHEDRON: &str = "v 0 0 0\nv 100 0 0\nv 0 100 0\nv 0 0 100\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n";

fn folder(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.file("tetrahedron.obj", TETRAHEDRON);
    folder
}

/// What a command prints on standard output and standard error for a scene.
fn run(folder: &Folder, command: &[&str], scene: &str) -> (String, String) {
    let file = folder.file("scene.toml", scene);
    let out = folder.0.join("out.csv");
    let simulation = ["--until", "0.002", "--out", text(&out)];
    let options: &[&str] = if command[0] == "simulate" { &simulation } else { &[] };
    let output = isobar(&[command, options, &[text(&file)]].concat());
    let [out, err] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).expect("text"));
    assert!(output.status.success(), "{err}");
    (out, err)
}

#[test]
fn sizes_masses_and_pairs_are_told() {
    let folder = folder("loaded");
    let (out, _) = run(&folder, &["simulate", "--json"], SCENE);
    let report: Value = serde_json::from_str(&out).expect("JSON");
    let loaded = &report["loaded"];
    let bodies = loaded["bodies"].as_array().expect("bodies");
    let expected = [
        ("tetrahedron", "free", Some([0.1, 0.1, 0.1]), Some(0.25), json!(["steel"])),
        ("block", "free", Some([0.1, 0.2, 0.3]), Some(6.0), json!(["foam"])),
        ("floor", "fixed", None, None, json!(["foam"])),
    ];
    for (body, (name, moves, size, mass, materials)) in bodies.iter().zip(expected) {
        assert_eq!((&body["name"], &body["moves"]), (&json!(name), &json!(moves)));
        assert_eq!(body["materials"], materials);
        let near =
            |value: &Value, expected: f64| (value.as_f64().expect("a number") - expected).abs() < 1e-12;
        match size {
            Some(size) => assert!((0..3).all(|i| near(&body["size"][i], size[i])), "{body}"),
            None => assert!(body.get("size").is_none() && body["unbounded"] == true, "{body}"),
        }
        match mass {
            Some(mass) => assert!(near(&body["mass"], mass), "{body}"),
            None => assert!(body.get("mass").is_none(), "{body}"),
        }
    }
    assert_eq!((&bodies[0]["triangles"], &bodies[0]["tetrahedra"]), (&json!(4), &json!(0)));
    assert!(bodies[1]["tetrahedra"].as_u64().expect("a number") > 0);
    assert_eq!(loaded["pair_count"], 3);
    assert_eq!(
        loaded["pairs"],
        json!([["tetrahedron", "block"], ["tetrahedron", "floor"], ["block", "floor"]])
    );

    let (out, table) = run(&folder, &["simulate"], SCENE);
    assert!(!out.contains("can touch"), "{out}");
    for line in ["tetrahedron  free", "0.1 × 0.2 × 0.3", "unbounded", "can touch: tetrahedron – block, "]
    {
        assert!(table.contains(line), "{line}: {table}");
    }
    assert!(!table.contains("warning"), "{table}");
    // Contact alone holds all bodies where they are.
    let (out, _) = run(&folder, &["contact", "--json"], SCENE);
    let report: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(report["loaded"]["pair_count"], 3);
    assert_eq!(report["pairs"].as_array().expect("pairs").len(), 3);
}

#[test]
fn lengths_in_other_units_are_doubted() {
    let folder = folder("units");
    let scaled = |scale: &str| SCENE.replace("scale = 0.001", scale);
    // A thousand times too small, and in millimetres.
    for (scale, parts) in [
        (
            "scale = 1e-6",
            &["scene.toml:6: bodies[0]: body `tetrahedron` is 1.000e-4 m long, and `block` 3.000e-1 m"][..],
        ),
        (
            "extent = \"distance\"",
            &["body `tetrahedron` is 1.000e2 m long", "a mesh in millimetres needs scale = 0.001"],
        ),
    ] {
        let (_, err) = run(&folder, &["simulate"], &scaled(scale));
        let warnings: Vec<&str> = err.lines().filter(|line| line.contains("are in metres")).collect();
        assert_eq!(warnings.len(), 1, "{err}");
        for part in parts {
            assert!(warnings[0].contains(part), "{part}: {err}");
        }
    }
    // A small ball beside small ones is no mistake.
    let small = SCENE.replace("size = [0.1, 0.2, 0.3]", "size = [0.004, 0.004, 0.004]");
    let (_, err) = run(&folder, &["simulate"], &small);
    assert!(!err.contains("warning"), "{err}");
}

#[test]
fn angles_in_degrees_are_doubted() {
    let folder = folder("degrees");
    let turned = SCENE.replace("density = 1000\n", "density = 1000\nrpy = [0, 0, 90]\n");
    for command in [&["contact"][..], &["simulate"]] {
        let (_, err) = run(&folder, command, &turned);
        let expected = "bodies[1].rpy[2]: found 90, more than a whole turn; angles are in radians: did you mean degrees?";
        assert!(err.contains(expected), "{err}");
        assert_eq!(err.matches("did you mean degrees").count(), 1, "{err}");
    }
    // A turn and a half is not, and neither is a whole one that was rounded.
    let (_, err) = run(&folder, &["simulate"], &turned.replace("90", "6.2832"));
    assert!(!err.contains("warning"), "{err}");
}

/// A robot with two links that could collide and one that could not.
const ROBOT: &str = r#"<robot name="r">
  <link name="palm"><collision><geometry><sphere radius="0.05"/></geometry></collision></link>
  <link name="finger">
    <inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
    <collision><geometry><sphere radius="0.05"/></geometry></collision>
    <collision><geometry><sphere radius="0.06"/></geometry></collision></link>
  <link name="tip">
    <inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
  <joint name="elbow" type="continuous"><parent link="palm"/><child link="finger"/></joint>
  <joint name="wrist" type="continuous"><parent link="finger"/><child link="tip"/></joint>
</robot>"#;

#[test]
fn links_that_touch_nothing_are_told() {
    let folder = folder("links");
    folder.file("robot.urdf", ROBOT);
    let scene = |materials: &str| {
        format!(
            "{SCENE}\n[[robots]]\nurdf = \"robot.urdf\"\ntranslation = [1, 0, 1]\nmaterials = {{ {materials} }}\n"
        )
    };
    let said = "links that have collision geometry but no material touch nothing: ";
    let (_, err) = run(&folder, &["simulate"], &scene("palm = \"foam\""));
    assert!(
        err.contains(&format!("robots[0].materials: {said}finger; `materials` names those that do")),
        "{err}"
    );
    let (_, err) = run(&folder, &["simulate"], &scene(""));
    assert!(err.contains(&format!("{said}palm, finger;")), "{err}");
    let (_, err) = run(&folder, &["simulate"], &scene("palm = \"foam\", finger = \"foam\""));
    assert!(!err.contains(said), "{err}");
}

#[test]
fn old_spellings_mean_the_same_and_are_warned_of_once() {
    let folder = folder("old-spellings");
    let new = format!("[solver]\nkind = \"semi_implicit_euler\"\nmax_iterations = 7\n{SCENE}");
    let old = format!("[solver]\nkind = \"semi-implicit-euler\"\nmaximum_iterations = 7\n{SCENE}");
    let (out, err) = run(&folder, &["simulate"], &new);
    assert!(!err.contains("solver"), "{err}");
    let (old_out, old_err) = run(&folder, &["simulate"], &old);
    assert_eq!(old_out, out);
    let told: Vec<&str> = old_err.lines().filter(|line| line.contains("solver")).collect();
    let file = folder.0.join("scene.toml");
    let file = text(&file);
    assert_eq!(
        told,
        [
            format!(
                "isobar: warning: {file}:3: solver.maximum_iterations: this field is now called `max_iterations`; write that instead"
            ),
            format!(
                "isobar: warning: {file}:2: solver.kind: found \"semi-implicit-euler\", which is now spelled \"semi_implicit_euler\"; write that instead"
            ),
        ],
        "{old_err}"
    );

    // In JSON too.
    let solver = json!({ "kind": "semi-implicit-euler", "maximum_iterations": 7 });
    let ball = json!({ "shape": { "sphere": { "radius": 0.1 } }, "rigid": true });
    let bodies = json!([{ "name": "ball", "mass": 1, "geometries": [ball] }]);
    let scene = json!({ "solver": solver, "bodies": bodies });
    let file = folder.file("scene.json", scene.to_string());
    let scene = isobar::Scene::load(&file).expect("loads");
    assert_eq!(
        (scene.solver, scene.tolerance.max_iterations),
        (isobar::io::SolverKind::SemiImplicitEuler, 7)
    );
    assert_eq!(scene.warnings.len(), 2, "{:?}", scene.warnings);

    // Both at once are a mistake.
    let both = "[solver]\nmax_iterations = 7\nmaximum_iterations = 8\n";
    let wrong = isobar::Scene::load(folder.file("both.toml", both)).expect_err("both").to_string();
    assert!(wrong.contains("both.toml:3: solver.maximum_iterations: unknown field"), "{wrong}");
}
