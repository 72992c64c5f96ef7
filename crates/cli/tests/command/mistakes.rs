//! Mistakes that people make, and what the command says to them: where, what was found, and what to write.

use crate::folder::Folder;
use crate::{run, text};

const SCENE: &str = r#"[materials.foam]
hydroelastic_modulus = 1e5
friction = 0.5
[solver]
kind = "lagged"
time_step = 2e-3
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
[[actuators]]
name = "push"
force = { body = "ball", direction = [1, 0, 0] }
command = 1.0
"#;

const PROBLEM: &str = r#"scene = "scene.toml"
until = 0.6
hold = 0.3
knots = { count = 2 }
[[controls]]
actuator = "push"
[[costs]]
name = "effort"
control = "push"
weight = 1
"#;

const FIT: &str = r#"scene = "scene.toml"
[[parameters]]
name = "materials.foam.hydroelastic_modulus"
initial = 3e4
[[indentations]]
body = "ball"
direction = [0, 0, -1]
file = "press.csv"
force_sigma = 0.1
"#;

/// A folder with the scene, the problem and the fit.
fn folder(name: &str) -> Folder {
    let folder = Folder::new(name);
    for (name, text) in [("scene.toml", SCENE), ("problem.toml", PROBLEM), ("fit.toml", FIT)] {
        folder.file(name, text);
    }
    folder.file("press.csv", "depth_m,force_N\n0.001,0.31\n0.002,1.27\n");
    folder
}

/// What a check says of a file.
fn said(folder: &Folder, name: &str, content: &str) -> (Option<i32>, String) {
    let (code, _, said) = run(&["check", text(&folder.file(name, content))]);
    (code, said)
}

#[test]
fn tables_in_the_wrong_brackets_are_told_the_right_ones() {
    let folder = folder("brackets");
    for (name, text, old, new, parts) in [
        ("a.toml", SCENE, "[[bodies]]\n", "[bodies]\n", [":14:", "duplicate key", "`[[bodies]]`"]),
        (
            "a.toml",
            SCENE,
            "[[bodies]]\nname = \"floor\"",
            "[bodies]\nname = \"floor\"",
            [":14:", "found `[bodies]`", "`[[bodies]]`"],
        ),
        (
            "a.toml",
            SCENE,
            "[solver]",
            "[[materials]]\n[solver]",
            [":4:", "found `[[materials]]`", "`[materials.NAME]`"],
        ),
        (
            "a.toml",
            SCENE,
            "[materials.foam]",
            "[[materials]]",
            [":1:", "materials: found a list", "`[materials.…]`"],
        ),
        ("a.toml", SCENE, "[solver]", "[[solver]]", [":4:", "solver: found a list", "`[solver]`"]),
        ("a.toml", SCENE, "[solver]", "[materials.foam]", [":4:", "found `[materials.foam]`", "once"]),
        ("a.toml", SCENE, "mass = 0.1", "mass = 0.1\nmass = 1", [":11:", "duplicate key `mass`", "once"]),
        (
            "p.toml",
            PROBLEM,
            "[[controls]]",
            "[controls]\nactuator = \"push\"\n[controls]",
            [":7:", "found `[controls]`", "`[[controls]]`"],
        ),
        (
            "f.toml",
            FIT,
            "[[parameters]]",
            "[parameters]\nname = \"x\"\n[parameters]",
            [":4:", "found `[parameters]`", "`[[parameters]]`"],
        ),
        (
            "a.toml",
            SCENE,
            "[[bodies.geometries]]",
            "[bodies.geometries]\n[bodies.geometries]",
            [":12:", "geometries", "`[[bodies.geometries]]`"],
        ),
    ] {
        let (_, said) = said(&folder, name, &text.replacen(old, new, 1));
        assert!(parts.iter().all(|part| said.contains(part)), "{new}: {said}");
    }
}

#[test]
fn joints_begin_where_digits_are_left() {
    let folder = folder("far-joints");
    let jointed = |fields: &str| {
        let joint = format!("joint = {{ name = \"j\", axis = [0, 0, 1], {fields} }}");
        SCENE.replace("translation = [0, 0, 0.05]", &joint)
    };
    for (fields, field) in [
        ("type = \"revolute\", position = 1e300", "position"),
        ("type = \"prismatic\", position = -1e7", "position"),
        ("type = \"prismatic\", velocity = 1e300", "velocity"),
    ] {
        let (code, said) = said(&folder, "a.toml", &jointed(fields));
        let expected = format!("bodies[0].joint.{field}: found ");
        assert!(
            code == Some(2) && said.contains(&expected) && said.contains("between -1e6 and 1e6"),
            "{said}"
        );
    }
}

#[test]
fn starts_beyond_their_ranges_are_told_wherever_they_come_from() {
    let folder = folder("starts");
    let controlled = PROBLEM.replace("actuator = \"push\"\n", "actuator = \"push\"\nlower = 5\nupper = 20\n");
    let designed =
        format!("{PROBLEM}[[model_parameters]]\nname = \"bodies.ball.mass\"\nlower = 0.3\nupper = 1\n");
    for (problem, field) in [
        (
            controlled,
            "controls[0]: found 1 in the scene, to start from; it is moved to the range from 5 to 20",
        ),
        (
            designed,
            "model_parameters[0]: found 0.1 in the scene, to start from; it is moved to the range from 0.3 to 1",
        ),
    ] {
        let (code, said) = said(&folder, "p.toml", &problem);
        assert!(code == Some(0) && said.contains("warning") && said.contains(field), "{said}");
    }
}

#[test]
fn what_varies_beyond_its_range_is_told_by_its_table_and_member() {
    let folder = folder("vary");
    for (field, draw, part) in [
        ("bodies.ball.mass", "offset = { list = [0.1, -5] }", "member 1 has `bodies[0].mass` of "),
        (
            "materials.foam.hydroelastic_modulus",
            "factor = { list = [1, -1] }",
            "member 1 has `materials.foam.hydroelastic_modulus` of ",
        ),
        (
            "bodies.ball.geometries[0].shape.sphere.radius",
            "value = { list = [0.05, 0] }",
            "member 1 has `bodies[0].geometries[0].shape",
        ),
    ] {
        let problem = format!("{PROBLEM}[ensemble]\nmembers = 3\n[[vary]]\nfield = \"{field}\"\n{draw}\n");
        let (code, said) = said(&folder, "p.toml", &problem);
        assert!(code == Some(2) && said.contains("p.toml:13: vary[0]: ") && said.contains(part), "{said}");
        assert!(said.contains("scene.toml: found ") || said.contains("must be"), "{said}");
    }
}

#[test]
fn columns_keep_their_prefix_and_their_units_are_of_their_kind() {
    let folder = folder("columns");
    let with = |column: &str, unit: &str| {
        let columns = format!("columns = {{ {column} = {{ name = \"{column}\", unit = \"{unit}\" }} }}\n");
        said(&folder, "f.toml", &format!("{FIT}{columns}"))
    };
    assert_eq!(with("depth_m", "mm").0, Some(0));
    for (column, unit, known) in [("depth_m", "s", "\"m\", \"cm\""), ("force_N", "deg", "\"N\", \"mN\"")] {
        let (code, said) = with(column, unit);
        let part = format!("indentations[0].columns.{column}.unit: found \"{unit}\"");
        assert!(code == Some(2) && said.contains(&part) && said.contains(known), "{said}");
    }
    let sensor = "scene = \"scene.toml\"\n[[parameters]]\nname = \"bodies.ball.mass\"\ninitial = 1\n[[sensors]]\nname = \"s\"\n\
                  channels = [{ quantity = \"position\", of = \"ball\", sigma = 1e-3, unit = \"deg\" }]\n\
                  [[recordings]]\nfiles = [\"press.csv\"]\n";
    let (_, told) = said(&folder, "f.toml", sensor);
    assert!(
        told.contains("sensors[0].channels[0].unit: found \"deg\"; that of `position` can be \"m\""),
        "{told}"
    );
    folder.file(
        "throw.csv",
        "Zeit;x;ball.py_m;ball.pz_m;ball.qw;ball.qx;ball.qy;ball.qz;ball.vx_m_s;ball.vy_m_s;ball.vz_m_s;ball.wx_rad_s;ball.wy_rad_s;ball.wz_rad_s\n\
         0;0;0;0,2;1;0;0;0;0;0;0;0;0;0\n10;0;0;0,1995;1;0;0;0;0;0;-0,0981;0;0;0\n20;0;0;0,198;1;0;0;0;0;0;-0,1962;0;0;0\n",
    );
    let named =
        "columns = { t_s = { name = \"Zeit\", unit = \"ms\" }, px_m = { name = \"x\", unit = \"mm\" } }";
    let throw = format!(
        "scene = \"scene.toml\"\n[[parameters]]\nname = \"materials.foam.friction\"\ninitial = 0.4\n[[trajectories]]\nbody = \"ball\"\n\
         files = [\"throw.csv\"]\nposition_sigma = 1e-3\norientation_sigma = 1e-2\nstarts = \"recorded\"\n{named}\n"
    );
    let (code, said) = said(&folder, "f.toml", &throw);
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn other_mistakes_are_told_what_to_write() {
    let folder = folder("others");
    let scene = folder.0.join("scene.toml");
    // Options with negative numbers.
    for (arguments, part) in [
        (&["simulate", text(&scene), "--until", "1", "--every", "-1"][..], "'-1' for '--every"),
        (&["advise", text(&scene), "--load", "-1"], "--load"),
        (&["gradient-check", text(&scene), "--steps", "-1"], "'-1' for '--steps"),
        (&["gradient-check", text(&scene), "--undecided", "-1"], "--undecided: found -1"),
        (&["optimize", text(&scene), "--max-iterations", "-1"], "'-1' for '--max-iterations"),
        (&["report", text(&scene), "--iteration", "-1"], "'-1' for '--iteration"),
    ] {
        let (code, _, said) = run(arguments);
        assert!(code == Some(2) && said.contains(part) && !said.contains("tip"), "{said}");
    }
    // The files of robots.
    for name in ["robot.urdf", "robot.xml", "robot.sdf"] {
        let (code, _, said) = run(&["simulate", text(&folder.file(name, "<robot/>")), "--until", "1"]);
        assert!(
            code == Some(2) && said.contains("`[[robots]]` with `urdf = ") && said.contains(name),
            "{said}"
        );
    }
    let nested = format!("<mujoco>{}{}</mujoco>", "<body>".repeat(200), "</body>".repeat(200));
    assert!(said(&folder, "deep.xml", &nested).1.contains("is not a valid MJCF"));
    // Two rigid bodies that are fixed both.
    let rigid = SCENE.replace("mass = 0.1", "fixed = true").replace("material = \"foam\"", "rigid = true");
    let rigid = rigid
        .split("[[actuators]]")
        .next()
        .expect("a part")
        .replace("half_space = {}", "box = { size = [1, 1, 0.1] }");
    let (_, _, told) = run(&["contact", text(&folder.file("rigid.toml", rigid))]);
    assert!(told.contains("both geometries are rigid") && !told.contains("fix both"), "{told}");
    // Sizes: a box of 40 m beside one of 0.1 m.
    let far = SCENE.replace("half_space = {}", "box = { size = [40, 40, 40] }");
    let far = far
        .replace("name = \"floor\"\nfixed = true", "name = \"floor\"\nmass = 1\ntranslation = [0, 0, -20]")
        .replace("rigid = true", "material = \"foam\"");
    let (_, told) = said(&folder, "far.toml", &far);
    assert!(told.contains("`floor` is 4.000e1 m long") && told.contains("lengths are in metres"), "{told}");
    // Sums of times are what one would write.
    let (_, out, _) = run(&["check", text(&folder.0.join("problem.toml"))]);
    assert!(out.contains("until 0.9 s"), "{out}");
    // Commands that end before the motion.
    let commands = "[[actuators]]\nname = \"push\"\ncommand = { times = [0, 0.01], values = [0, 1], interpolation = \"linear\" }\n";
    let commands = folder.file("commands.toml", commands);
    let simulate =
        |until: &str| run(&["simulate", text(&scene), "--until", until, "--commands", text(&commands)]).2;
    assert!(
        simulate("0.02").contains("note: the commands end at 0.01 s; from then on the last ones are held")
    );
    assert!(!simulate("0.01").contains("note:"));
    // What comes after an ensemble works as it is printed.
    let ensemble =
        format!("{PROBLEM}[ensemble]\nmembers = 2\n").replace("0.6", "0.02").replace("0.3", "0.01");
    let (ensemble, results) = (folder.file("ensemble.toml", ensemble), folder.0.join("results"));
    let (_, out, told) = run(&["optimize", text(&ensemble), "--out", text(&results)]);
    assert!(out.ends_with(&format!("to look at it: isobar report {}\n", results.display())), "{out}{told}");
    assert_eq!(run(&["report", text(&results)]).0, Some(0));
    // A folder in the place of what is kept of a fit.
    std::fs::create_dir(folder.0.join("b.progress.json")).expect("a folder");
    let (code, _, told) =
        run(&["fit", text(&folder.0.join("fit.toml")), "--out", text(&folder.0.join("b.json"))]);
    assert!(code == Some(2) && told.contains("b.progress.json: cannot be written"), "{told}");
}

/// A table with a mistake in one row tells nothing, and limits nothing from one side either.
#[test]
fn tables_with_a_mistake_bound_nothing() {
    let folder = folder("mistyped");
    let fit = folder.file(
        "fit.toml",
        FIT.replace("initial = 3e4\n", "initial = 3e4\nlog = true\nlower = 1e3\nupper = 1e7\n"),
    );
    let depths = [0.001, 0.002, 0.003, 0.05, 0.005, 0.006, 0.007, 0.008];
    let force = |i: usize| 3e5 * (1e-3 * (i as f64 + 1.0)).powi(2);
    let row = |(i, depth): (usize, &f64)| format!("{depth},{:.4}\n", force(i));
    let rows: String = depths.iter().enumerate().map(row).collect();
    folder.file("press.csv", format!("depth_m,force_N\n{rows}"));
    let (_, printed, _) = run(&["fit", text(&fit)]);
    assert!(printed.contains("not known: the residuals are"), "{printed}");
    assert!(!printed.contains("at most") && !printed.contains("at least"), "{printed}");
    // The mark of thousands is none of decimals.
    let table = "depth_m;force_N\n0.001;787.5\n0.002;1,111\n";
    folder.file("press.csv", table);
    let (code, _, told) = run(&["fit", text(&fit)]);
    let part = "press.csv, line 3, column `force_N`: `1,111`";
    assert!(code == Some(2) && told.contains(part) && told.contains("decimal mark"), "{told}");
    folder.file("press.csv", table.replace("787.5", "787,5").replace("0.00", "0,00"));
    assert_eq!(run(&["check", text(&fit)]).0, Some(0));
}

#[test]
fn outputs_that_are_no_files_and_bodies_as_light_as_nothing_are_told() {
    let folder = folder("outputs");
    for arguments in [&["fit", "fit.toml", "--out", "-"][..], &["optimize", "problem.toml", "--out", "-"]] {
        let file = folder.0.join(arguments[1]);
        let (code, _, told) = run(&[arguments[0], text(&file), "--out", "-"]);
        assert!(code == Some(2) && told.contains("--json prints"), "{told}");
        assert!(!std::path::Path::new("-").exists());
    }
    let millimetres = SCENE.replace("radius = 0.05, resolution = 0.05", "radius = 50, resolution = 50");
    let (_, told) = said(&folder, "mm.toml", &millimetres);
    assert!(told.contains("less than air: lengths are in metres"), "{told}");
    let (code, _, told) = run(&["report", text(&folder.0.join("nowhere"))]);
    assert!(code == Some(2) && told.contains("nowhere: there is no such file or folder"), "{told}");
}
