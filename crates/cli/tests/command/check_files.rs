//! `isobar check`: what it says of good files and of bad ones.

use std::process::Command;

use serde_json::{Value, json};

use crate::folder::Folder;
use crate::{isobar, text};

/// A ball on a floor.
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
name = "floor"
fixed = true
[[bodies.geometries]]
shape = { half_space = {} }
rigid = true
"#;

/// A cart that is pushed to a place.
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

const PROBLEM: &str = "scene = \"cart.toml\"\nuntil = 0.1\nknots.count = 2\n[[controls]]\nactuator = \"push\"\n[[costs]]\ncontrol = \"push\"\nweight = 1\n";

const FIT: &str = "scene = \"scene.toml\"\n[[parameters]]\nname = \"materials.foam.hydroelastic_modulus\"\ninitial = 2e4\n[[indentations]]\nbody = \"ball\"\ndirection = [0, 0, -1]\nfile = \"table.csv\"\n";

const TABLE: &str = "depth_m,force_N,sigma_N\n0.001,0.3,0.1\n0.002,1.2,0.1\n";

/// A folder with a good file of each kind.
fn folder(name: &str) -> Folder {
    let folder = Folder::new(name);
    for (file, content) in [
        ("scene.toml", SCENE),
        ("cart.toml", CART),
        ("problem.toml", PROBLEM),
        ("fit.toml", FIT),
        ("table.csv", TABLE),
    ] {
        folder.file(file, content);
    }
    folder
}

/// The exit code, the lines of standard output and those of standard error.
fn check(arguments: &[&str]) -> (Option<i32>, Vec<String>, Vec<String>) {
    let output = isobar(&[&["check"], arguments].concat());
    let lines = |bytes| {
        let text = String::from_utf8(bytes).expect("text");
        text.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    (output.status.code(), lines(output.stdout), lines(output.stderr))
}

#[test]
fn good_files_have_a_line_each() {
    let files = [
        "examples/grasp_lift/gripper.toml",
        "examples/grasp_lift/problem.toml",
        "examples/fit_ball/fit.toml",
        "examples/pancake/arm.urdf",
    ];
    let run = Command::new(env!("CARGO_BIN_EXE_isobar"))
        .current_dir(crate::ROOT)
        .arg("check")
        .args(files)
        .output()
        .expect("runs");
    let expected = "\
examples/grasp_lift/gripper.toml: scene, 5 bodies (1 free, 3 on joints), 6 pairs can touch, solver lagged, time step 0.002 s
examples/grasp_lift/problem.toml: problem, scene examples/grasp_lift/gripper.toml, until 1.5 s, 50 unknowns, costs: effort, path of the palm, path of the ball
examples/fit_ball/fit.toml: fit, scene examples/fit_ball/scene.toml, parameters: materials.foam.hydroelastic_modulus, materials.foam.dissipation, materials.foam.friction; 4 recordings; 1 indentation test
examples/pancake/arm.urdf: robot arm, 9 links, 8 joints that move
";
    assert_eq!(String::from_utf8(run.stdout).expect("text"), expected);
    assert_eq!((run.status.code(), String::from_utf8_lossy(&run.stderr).as_ref()), (Some(0), ""));
}

#[test]
fn a_folder_has_a_line_for_each_file_that_is_read() {
    let folder = folder("check-folder");
    for (file, content) in [
        ("parts/open.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"),
        (
            "parts/arm.urdf",
            "<robot name=\"arm\"><link name=\"a\"><collision><geometry><mesh filename=\"a.obj\"/></geometry></collision></link></robot>",
        ),
        ("parts/bad.toml", "[[bodies]]\nname = \"a\"\nmass = -1\n"),
        ("parts/package.json", "{\"name\": \"other\", \"bodies\": 1}"),
        ("parts/drawing.xml", "<svg/>"),
        ("parts/of_others.xml", "<mujocoinclude><body/></mujocoinclude>"),
        (".hidden/scene.toml", "[[bodies]]\n"),
        ("Cargo.toml", "[package]\nname = \"other\"\n"),
    ] {
        let path = folder.0.join(file);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        std::fs::write(path, content).expect("written");
    }
    let (code, lines, errors) = check(&[text(&folder.0)]);
    let names: Vec<&str> = lines
        .iter()
        .map(|line| line.split(": ").next().and_then(|f| f.rsplit('/').next()).unwrap_or(""))
        .collect();
    assert_eq!(
        names,
        ["cart.toml", "fit.toml", "arm.urdf", "open.obj", "problem.toml", "scene.toml"],
        "{lines:?}"
    );
    assert!(lines[3].contains("mesh, 1 triangle, to be drawn alone"), "{}", lines[3]);
    assert!(
        code == Some(2) && errors.iter().any(|error| error.contains("bad.toml:1: bodies[0]")),
        "{errors:?}"
    );
    // Warnings say of which file they are, and what is named is told what it is.
    assert!(errors.iter().any(|error| error.contains("arm.urdf: ") && error.contains("a.obj")), "{errors:?}");
    let (_, _, errors) = check(&[text(&folder.0.join("parts/of_others.xml"))]);
    assert!(errors[0].contains(":1: is not a valid MJCF: its element is `mujocoinclude`"), "{errors:?}");
    let (code, _, errors) = check(&[text(&folder.0.join("absent"))]);
    assert!(code == Some(2) && errors[0].contains("absent"), "{errors:?}");
}

/// Each mistake is told as the command that runs the file tells it, and no other file goes unchecked.
#[test]
fn bad_files_are_told_as_elsewhere_and_the_others_are_checked_all_the_same() {
    let folder = folder("check-bad");
    let cases = [
        ("contact", "bad_scene.toml", SCENE.replace("mass = 0.1", "mass = -1"), ":8: bodies[0].mass"),
        ("contact", "torn.toml", format!("{SCENE}\n[[bodies"), "torn.toml:19"),
        (
            "optimize",
            "bad_problem.toml",
            PROBLEM.replace("\"push\"\nweight", "\"pull\"\nweight"),
            "costs[0].control",
        ),
        (
            "optimize",
            "no_scene.toml",
            PROBLEM.replace("cart.toml", "none.toml"),
            ":1: scene: found \"none.toml\"",
        ),
        ("fit", "bad_fit.toml", FIT.replace("table.csv", "none.csv"), ":8: indentations[0].file"),
        ("fit", "typo.toml", FIT.replace("initial", "initail"), ":4: parameters[0].initail: unknown field"),
        ("model", "bad.urdf", "<robot><link/></robot>".to_owned(), "bad.urdf"),
    ];
    let good = folder.0.join("scene.toml");
    for (command, name, content, part) in cases {
        let bad = folder.file(name, content);
        let (code, out, err) = check(&[text(&bad), text(&good)]);
        assert_eq!(code, Some(2), "{err:?}");
        assert!(
            out.len() == 1 && out[0].contains("scene.toml: scene, 2 bodies (1 free), 1 pair can touch"),
            "{out:?}"
        );
        let elsewhere = isobar(&[command, text(&bad)]);
        assert_eq!(elsewhere.status.code(), Some(2));
        assert_eq!(err.join("\n"), String::from_utf8_lossy(&elsewhere.stderr).trim_end(), "{name}");
        assert!(err.len() == 1 && err[0].contains(part), "{part}: {err:?}");
    }
    // Several bad files have a message each, in their order.
    let [first, last] = ["torn.toml", "bad.urdf"].map(|name| folder.0.join(name));
    let (code, out, err) = check(&[text(&first), text(&good), text(&last)]);
    assert_eq!((code, out.len(), err.len()), (Some(2), 1, 2), "{err:?}");
    assert!(err[0].contains("torn.toml") && err[1].contains("bad.urdf"), "{err:?}");
}

#[test]
fn what_kind_a_file_is_may_not_be_told() {
    let folder = folder("check-kind");
    for (name, content, found) in [
        ("empty.toml", "", "found no fields;"),
        ("shared.toml", "scene = \"scene.toml\"\n", "found `scene`;"),
        ("both.toml", "bodies = []\nknots.count = 2\n", "found `bodies`, `knots`;"),
    ] {
        let file = folder.file(name, content);
        let (code, out, err) = check(&[text(&file)]);
        assert_eq!((code, out.len(), err.len()), (Some(2), 0, 1), "{err:?}");
        for part in [
            name,
            found,
            "a scene must have `bodies` or `robots`",
            "a problem must have `scene`, `until`, `knots`, `controls` and `costs`",
            "a fit must have `scene`, `parameters`, and `trajectories` or `indentations`",
        ] {
            assert!(err[0].contains(part), "{part}: {err:?}");
        }
    }
    let table = folder.0.join("table.csv");
    let (code, _, err) = check(&[text(&table), text(&folder.0.join("none.toml"))]);
    assert_eq!((code, err.len()), (Some(2), 2), "{err:?}");
    assert!(
        err[0].contains("table.csv: the name: a scene, a problem and a fit must end in .toml or .json"),
        "{err:?}"
    );
    assert!(err[1].contains("none.toml: cannot be read"), "{err:?}");
}

#[test]
fn a_scene_may_be_for_contact_alone() {
    let folder = folder("check-contact");
    let massless = folder.file("massless.toml", SCENE.replace("mass = 0.1\n", ""));
    let lasting = SCENE.replace(
        "[[bodies]]\nname = \"ball\"",
        "contact.positive_part_width = 0.1\n[[bodies]]\nname = \"ball\"",
    );
    let explicit = folder.file("explicit.toml", lasting.replace("contact.pos", "[contact]\npos"));
    let (code, out, err) = check(&[text(&massless), text(&explicit)]);
    assert_eq!((code, err.len()), (Some(0), 0), "{err:?}");
    let alone = "1 pair can touch, for contact alone: it cannot be simulated (line";
    assert!(out[0].contains(&format!("massless.toml: scene, 2 bodies, {alone} 5: bodies[0]: ")), "{out:?}");
    // What to write, as the simulation that fails tells it too.
    assert!(
        out[0].contains("`ball` moves but has no mass; give mass or density, or fixed = true)"),
        "{out:?}"
    );
    assert_eq!(isobar(&["simulate", text(&massless), "--until", "0"]).status.code(), Some(2));
    let (_, json, _) = check(&["--json", text(&massless)]);
    let json: Value = serde_json::from_str(&json.join("\n")).expect("JSON");
    assert!(json[0]["good"] == true && json[0]["solver"].is_null(), "{json}");
    assert!(json[0]["contact_alone"].as_str().is_some_and(|why| why.contains("give mass")), "{json}");
    assert!(
        out[1].contains(&format!("2 bodies, {alone} 6: contact.positive_part_width: found 0.1")),
        "{out:?}"
    );
    // What not even contact can be computed of is bad.
    let rigid = SCENE.replace("mass = 0.1\n", "").replace("material = \"foam\"", "rigid = true");
    let (code, out, err) = check(&[text(&folder.file("rigid.toml", rigid))]);
    assert_eq!((code, out.len(), err.len()), (Some(2), 0, 1), "{err:?}");
}

#[test]
fn json_has_an_object_for_each_file() {
    let folder = folder("check-json");
    let doubtful = folder.file("doubtful.toml", SCENE.replace("mass = 0.1", "mass = 0.1\nrpy = [0, 0, 90]"));
    let bad = folder.file("bad.toml", SCENE.replace("mass = 0.1", "mass = -1"));
    let [problem, fit] = ["problem.toml", "fit.toml"].map(|name| folder.0.join(name));
    let (code, out, err) = check(&["--json", text(&doubtful), text(&bad), text(&problem), text(&fit)]);
    assert_eq!((code, err.len()), (Some(2), 2), "{err:?}");
    let all: Value = serde_json::from_str(&out.join("\n")).expect("JSON");
    let [doubtful, bad, problem, fit] = &all.as_array().expect("a list")[..] else { panic!("{all}") };
    let warnings = doubtful["warnings"].as_array().expect("a list");
    assert!(warnings.len() == 1 && err[0].contains(warnings[0].as_str().expect("text")), "{all}");
    let scene = ["good", "kind", "bodies", "pairs", "free", "on_joints", "solver", "time_step"]
        .map(|key| &doubtful[key]);
    let expected =
        [json!(true), json!("scene"), json!(2), json!(1), json!(1), json!(0), json!("lagged"), json!(1e-3)];
    assert_eq!(scene, expected.each_ref());
    assert!(bad["good"] == false && err[1].ends_with(bad["error"].as_str().expect("text")), "{all}");
    assert_eq!(
        [&problem["kind"], &problem["unknowns"], &problem["until"]],
        [&json!("problem"), &json!(2), &json!(0.1)]
    );
    assert_eq!(problem["costs"], json!(["control of push"]));
    assert_eq!(
        [&fit["kind"], &fit["recordings"], &fit["indentations"]],
        [&json!("fit"), &json!(0), &json!(1)]
    );
    assert_eq!(fit["parameters"], json!(["materials.foam.hydroelastic_modulus"]));
}
