//! Surfaces that no inner point sees all of, filled with tetrahedra: by `isobar mesh`, and in scenes.

use std::fmt::Write;
use std::path::Path;

use isobar::geometry::{SurfaceMesh, VolumeMesh};
use isobar::io::Scene;

use crate::folder::Folder;
use crate::{isobar, text};

/// A bracket: a base of 4 × 3 × 1 cm and two arms upward, 1 × 3 × 3 cm, closed, metres.
fn bracket() -> String {
    let outline = [[0, 0], [4, 0], [4, 4], [3, 4], [3, 1], [1, 1], [1, 4], [0, 4]];
    let mut text = String::new();
    for y in [0, 3] {
        outline.iter().for_each(|[x, z]| writeln!(text, "v 0.0{x} 0.0{y} 0.0{z}").unwrap());
    }
    let ends = [[0, 1, 4], [0, 4, 5], [1, 2, 3], [1, 3, 4], [0, 5, 6], [0, 6, 7]];
    for [a, b, c] in ends.map(|end| end.map(|k| k + 1)) {
        writeln!(text, "f {a} {b} {c}\nf {} {} {}", c + 8, b + 8, a + 8).unwrap();
    }
    (0..8).for_each(|i| {
        writeln!(text, "f {} {} {} {}", i + 1, i + 9, (i + 1) % 8 + 9, (i + 1) % 8 + 1).unwrap();
    });
    text
}

const VOLUME: f64 = (4.0 + 3.0 + 3.0) * 3.0 * 1e-6;

/// The bracket above a rigid floor, or pressed into it.
fn scene(mesh: &str, pose: &str) -> String {
    format!(
        "[materials.rubber]\nhydroelastic_modulus = 1e6\ndissipation = 5.0\nfriction = 0.5\n[solver]\n\
         kind = \"lagged\"\ntime_step = 2e-3\n[[bodies]]\nname = \"floor\"\nfixed = true\n[[bodies.geometries]]\n\
         shape = {{ half_space = {{}} }}\nrigid = true\n[[bodies]]\nname = \"bracket\"\ndensity = 1000.0\n{pose}\n\
         [[bodies.geometries]]\nshape = {{ mesh = {{ file = \"bracket.obj\"{mesh} }} }}\nmaterial = \"rubber\"\n"
    )
}

fn volume(scene: &Scene) -> f64 {
    scene.model.bodies()[1].geometries[0].unit_mass.expect("a volume").mass
}

#[test]
fn the_command_writes_tetrahedra_and_says_how_good_they_are() {
    let folder = Folder::new("mesh");
    let (file, out) = (folder.file("bracket.obj", bracket()), folder.0.join("bracket.vtk"));
    let output = isobar(&["mesh", text(&file), "--out", text(&out), "--json"]);
    assert!(output.status.success(), "{output:?}");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let mesh = VolumeMesh::read(&out).expect("tetrahedra");
    assert_eq!(report["tetrahedra"], mesh.tetrahedra.len());
    assert_eq!(report["warnings"], serde_json::json!([]));
    assert!((mesh.mass_properties().expect("a volume").mass / VOLUME - 1.0).abs() < 0.02);
    assert!(report["dihedral_angles"][0].as_f64().expect("a number") > 9.0_f64.to_radians());
    let printed = isobar(&["mesh", text(&file), "--size", "2", "--scale", "1000"]);
    assert!(printed.status.success(), "{printed:?}");
    assert!(String::from_utf8_lossy(&printed.stdout).contains("lattice of 2.0000e0 m"), "{printed:?}");
}

#[test]
fn what_cannot_be_filled_is_refused_with_what_to_do() {
    let folder = Folder::new("mesh_refused");
    let file = folder.file("bracket.obj", bracket());
    let open: Vec<String> = bracket().lines().map(str::to_owned).collect();
    let open = folder.file("open.obj", open[..open.len() - 3].join("\n"));
    for (arguments, parts) in [
        (vec![text(&open)], ["open.obj: the surface is open: holes (1) of", "close them"]),
        (
            vec![text(&file), "--size", "0"],
            ["bracket.obj: the size of the lattice is 0 m", "from 1e-9 to 1e9"],
        ),
        (
            vec![text(&file), "--size", "1e-5"],
            ["bracket.obj: a resolution of 0.00001 m would", "choose a larger"],
        ),
        (
            vec![text(&file), "--size", "0.5"],
            ["bracket.obj: no point of a lattice of 0.5 m", "choose a size of"],
        ),
        (vec![text(&file), "--scale", "-1"], ["--scale: found -1", "greater than 0"]),
        (vec![text(&file), "--out", "a.stl"], ["--out: found a.stl", "ends in .vtk"]),
        (vec!["nothing.stl"], ["nothing.stl: ", "No such file"]),
    ] {
        let output = isobar(&[&["mesh"], &arguments[..]].concat());
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{message}");
        parts.iter().for_each(|part| assert!(message.contains(part), "`{part}` is not in: {message}"));
    }
}

#[test]
fn a_scene_fills_any_surface_and_tells_it() {
    let folder = Folder::new("mesh_scene");
    folder.file("bracket.obj", bracket());
    let load = |mesh: &str| Scene::load(folder.file("scene.toml", scene(mesh, "")));
    let told = load("").expect("filled");
    assert!((volume(&told) / VOLUME - 1.0).abs() < 0.02);
    let note = "mesh.file: ";
    assert!(
        told.warnings[0].contains(note) && told.warnings[0].contains("tetrahedra = { size"),
        "{:?}",
        told.warnings
    );
    let asked = load(", tetrahedra = { size = 0.004 }").expect("filled");
    assert!(
        (volume(&asked) / VOLUME - 1.0).abs() < 0.02 && asked.warnings.is_empty(),
        "{:?}",
        asked.warnings
    );
    assert!(load(", tetrahedra = {}").expect("filled").warnings.is_empty());
    let error = load(", tetrahedra = { size = -1.0 }").expect_err("a size").to_string();
    assert!(error.contains("bracket.obj: the size of the lattice is -1 m"), "{error}");
    let written =
        isobar(&["mesh", text(&folder.0.join("bracket.obj")), "--out", text(&folder.0.join("b.vtk"))]);
    assert!(written.status.success());
    let volume_mesh = scene(", tetrahedra = {}", "").replace("bracket.obj", "b.vtk");
    let error = Scene::load(folder.file("volume.toml", volume_mesh)).expect_err("tetrahedra").to_string();
    assert!(error.contains("mesh.tetrahedra: found beside a volume mesh"), "{error}");
    let rigid = scene(", tetrahedra = {}", "").replace("material = \"rubber\"", "rigid = true");
    let rigid = Scene::load(folder.file("rigid.toml", rigid)).expect("its boundary");
    assert!((volume(&rigid) / VOLUME - 1.0).abs() < 0.02);
}

#[test]
fn what_is_dropped_comes_to_rest() {
    let folder = Folder::new("mesh_rest");
    folder.file("bracket.obj", bracket());
    let pose = "translation = [0, 0, 0.01]";
    let bracket = folder.file("scene.toml", scene(", tetrahedra = {}", pose));
    let mug = Path::new(crate::ROOT).join("examples/mug/scene.toml");
    for (file, body) in [(bracket.as_path(), "bracket"), (&mug, "mug")] {
        let output = isobar(&["simulate", text(file), "--until", "0.6", "--json"]);
        assert!(output.status.success(), "{output:?}");
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        println!("{body}: {report}");
        let state = report["bodies"].as_array().expect("bodies").iter().find(|state| state["name"] == body);
        let state = state.expect("the body");
        let number = |key: &str, k: usize| state[key][k].as_f64().expect("a number");
        assert!(number("position", 2).abs() < 5e-4 && number("linear_velocity", 2).abs() < 1e-3, "{state}");
    }
}

#[test]
fn a_mug_is_lifted_by_its_handle() {
    let folder = Folder::new("mesh_grasp");
    // From a surface as printers have it.
    let example = Path::new(crate::ROOT).join("examples/mug");
    let surface = SurfaceMesh::read(example.join("mug.obj")).expect("a surface");
    let mut stl = String::from("solid mug\n");
    for triangle in 0..surface.triangles.len() {
        let corners =
            surface.corners(triangle).map(|x| format!("vertex {} {} {}\n", x[0], x[1], x[2])).concat();
        stl += &format!("facet normal 0 0 0\nouter loop\n{corners}endloop\nendfacet\n");
    }
    folder.file("mug.stl", stl + "endsolid mug\n");
    let grasp = std::fs::read_to_string(example.join("grasp.toml")).expect("there");
    let file = folder.file("grasp.toml", grasp.replace("mug.obj", "mug.stl"));
    let output = isobar(&["simulate", text(&file), "--until", "1.2", "--json"]);
    assert!(output.status.success(), "{output:?}");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let bodies = report["bodies"].as_array().expect("bodies");
    let mug = bodies.iter().find(|state| state["name"] == "mug").expect("the mug");
    let number = |key: &str, k: usize| mug[key][k].as_f64().expect("a number");
    // As high as the palm, and hardly turned about the handle.
    assert!(number("position", 2) > 0.075 && number("angular_velocity", 1).abs() < 0.02, "{mug}");
}

/// The force of a floor that the bracket is pressed into, flat, aslant on one foot, and on an edge, which a lattice half as wide
/// agrees with.
#[test]
fn a_press_hardly_depends_on_the_lattice() {
    let folder = Folder::new("mesh_press");
    folder.file("bracket.obj", bracket());
    let force = |size: f64, pose: &str| {
        let mesh = format!(", tetrahedra = {{ size = {size} }}");
        let file = folder.file("scene.toml", scene(&mesh, pose));
        let output = isobar(&["contact", text(&file), "--json"]);
        assert!(output.status.success(), "{output:?}");
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        report["pairs"][0]["force_on_a"][2].as_f64().expect("a number").abs()
    };
    for pose in [
        "translation = [0, 0, -0.0005]",
        "translation = [0, 0, -0.001]\nrpy = [0.1, 0, 0]",
        "translation = [0, 0, -0.002]\nrpy = [0.7, 0, 0]",
    ] {
        let forces = [0.003, 0.0015].map(|size| force(size, pose));
        println!("{pose}: {forces:?} N");
        assert!((forces[0] / forces[1] - 1.0).abs() < 0.002, "{pose}: {forces:?}");
    }
}
