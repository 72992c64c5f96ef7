//! `isobar gradient-check` on scenes as users write them: no smooth derivative is wrong, and a
//! kink is called a kink.

use std::fs;

use serde_json::Value;

use crate::folder::Folder;
use crate::recorded_files::PageData;
use crate::{isobar, text};

const MATERIALS: &str = r#"
[materials.foam]
hydroelastic_modulus = 1e5
dissipation = 1.0
friction = 0.5
[materials.rubber]
hydroelastic_modulus = 4e5
dissipation = 0.3
friction = 0.8
"#;

const BALL_ON_BOX: &str = r#"
[[bodies]]
name = "ball"
translation = [0.0131, 0.007, 0.093]
linear_velocity = [0.1, 0.05, -0.2]
angular_velocity = [0.3, 1, 0.2]
mass = 0.2
[[bodies.geometries]]
shape = { sphere = { radius = 0.05, resolution = 0.03 } }
material = "foam"
[[bodies]]
name = "box"
fixed = true
[[bodies.geometries]]
shape = { box = { size = [0.3, 0.3, 0.1] } }
material = "rubber"
"#;

const FLAT_CUBE: &str = r#"
[[bodies]]
name = "cube"
translation = [0, 0, HEIGHT]
density = 300
[[bodies.geometries]]
shape = { box = { size = [0.1, 0.1, 0.1] } }
material = "foam"
[[bodies]]
name = "floor"
fixed = true
[[bodies.geometries]]
shape = { half_space = {} }
rigid = true
"#;

const SLIDING_BOX: &str = r#"
[solver]
kind = "rk4"
time_step = 5e-4
[[bodies]]
name = "box"
translation = [0.01, 0.02, 0.0483]
rpy = [0.01, 0.02, 0.3]
linear_velocity = [0.5, 0.1, 0]
mass = 0.3
[[bodies.geometries]]
shape = { box = { size = [0.1, 0.12, 0.1] } }
rigid = true
[[bodies]]
name = "floor"
fixed = true
[[bodies.geometries]]
shape = { half_space = { thickness = 0.1 } }
material = "foam"
"#;

const SEVERAL: &str = r#"
[contact]
surface = "polygons"
[[bodies]]
name = "dumbbell"
translation = [0, 0.01, 0.043]
rpy = [0.02, 0.05, 0.1]
linear_velocity = [0.1, 0.3, -0.1]
angular_velocity = [0.4, -0.3, 0.5]
density = 500
[[bodies.geometries]]
shape = { sphere = { radius = 0.05, resolution = 0.03 } }
translation = [0.08, 0, 0]
material = "foam"
[[bodies.geometries]]
shape = { capsule = { radius = 0.05, length = 0.05, resolution = 0.03 } }
translation = [-0.08, 0, 0]
rpy = [0, 1.2, 0]
material = "rubber"
[[bodies]]
name = "slab"
translation = [0, 0, -0.05]
mass = 3
[[bodies.geometries]]
shape = { box = { size = [0.4, 0.3, 0.1] } }
material = "rubber"
[[bodies]]
name = "floor"
fixed = true
[[bodies.geometries]]
shape = { half_space = { thickness = 0.1 } }
translation = [0, 0, -0.099]
material = "foam"
"#;

/// A ball in the middle of a ramp, turned like it.
const SYMMETRIC_RAMP: &str = r#"
[[bodies]]
name = "ball"
translation = [0.019469594417916, 0, 0.09604652462844168]
rpy = [0, 0.2, 0]
mass = 0.2
[[bodies.geometries]]
shape = { sphere = { radius = 0.05, resolution = 0.03 } }
material = "foam"
[[bodies]]
name = "ramp"
fixed = true
rpy = [0, 0.2, 0]
[[bodies.geometries]]
shape = { box = { size = [0.4, 0.3, 0.1] } }
material = "rubber"
"#;

const EGG: &str = r#"
[contact]
dissipation_model = "strain_rate"
positive_part_width = 0.1
[[bodies]]
name = "egg"
translation = [0, 0, 0.027]
rpy = [0.2, 0.1, 0]
linear_velocity = [0.2, 0, -0.1]
density = 800
[[bodies.geometries]]
shape = { ellipsoid = { semi_axes = [0.05, 0.04, 0.03], resolution = 0.02 } }
material = "foam"
[[bodies]]
name = "floor"
fixed = true
[[bodies.geometries]]
shape = { half_space = {} }
rigid = true
"#;

/// The scenes whose places and meshes are checked as well.
const WITH_SHAPES: [&str; 3] = ["ball on box", "egg", "ball on box, lagged"];

#[test]
fn scenes_pass() {
    let folder = Folder::new("gradient-check");
    fs::create_dir_all(&folder.0).expect("a folder for the test");
    let short_steps = |height: &str| {
        format!("[solver]\nkind = \"semi_implicit_euler\"\ntime_step = 1e-5\n{FLAT_CUBE}")
            .replace("HEIGHT", height)
    };
    let by = |kind: &str, text: &str| format!("[solver]\nkind = \"{kind}\"\n{text}");
    // Each: the scene, how many derivatives agree at least, and how many are noisy at most.
    for (name, scene, least_ok, most_noisy) in [
        ("ball on box", by("semi_implicit_euler", BALL_ON_BOX), 180, 30),
        ("cube flat on a floor", short_steps("0.049"), 80, 0),
        // Friction in the explicit steps of 1 ms is unstable: what comes after 20 of them cannot
        // be told by differences.
        (
            "cube flat on a floor, long steps",
            by("semi_implicit_euler", &FLAT_CUBE.replace("HEIGHT", "0.049")),
            60,
            80,
        ),
        ("cube that just touches", short_steps("0.05"), 40, 20),
        ("sliding box", SLIDING_BOX.to_owned(), 140, 10),
        ("egg", by("semi_implicit_euler", EGG), 130, 10),
        ("ball on box, lagged", by("lagged", BALL_ON_BOX), 180, 30),
        ("ball on box, tamsi", by("tamsi", BALL_ON_BOX), 180, 30),
        ("cube flat on a floor, lagged", by("lagged", &FLAT_CUBE.replace("HEIGHT", "0.049")), 60, 50),
        ("several geometries, lagged", by("lagged", SEVERAL), 560, 30),
        // Aligned meshes: where differences know neither a derivative nor those of the sides, rows are
        // noisy and count as undecided.
        ("symmetric on a ramp, tamsi", by("tamsi", SYMMETRIC_RAMP), 400, 80),
    ] {
        let path = folder.0.join("scene.toml");
        fs::write(&path, format!("{MATERIALS}{scene}")).expect("a file for the test");
        // What cannot be told is counted here, scene by scene.
        let mut arguments = vec!["gradient-check", "--json", "--undecided", "1", text(&path)];
        if !name.ends_with("long steps") {
            arguments.extend(["--steps", "3"]);
        }
        if !WITH_SHAPES.contains(&name) {
            arguments.extend(["--no-places", "--vertices", "0"]);
        }
        let run = isobar(&arguments);
        let stderr = String::from_utf8_lossy(&run.stderr).into_owned();
        let report: Value =
            serde_json::from_slice(&run.stdout).unwrap_or_else(|e| panic!("{name}: {e}: {stderr}"));
        let rows = report["rows"].as_array().expect("rows");
        let worst: Vec<usize> = ["ok", "zero", "kink", "noisy", "wrong"]
            .map(|verdict| {
                let found = |row: &&Value| row.to_string().contains(&format!("\"verdict\":\"{verdict}\""));
                rows.iter().filter(found).count()
            })
            .to_vec();
        let untold = rows.iter().filter(|row| row["verdict"] == "kink" && row["side"].is_null()).count();
        println!(
            "{name}: {} derivatives, ok/zero/kink/noisy/wrong {worst:?}, {untold} kinks not told",
            rows.len()
        );
        let ways = report["ways"].as_array().expect("ways");
        assert_eq!(ways.len(), 8, "{name}");
        for way in ways {
            println!("  {}: {:e}", way["way"], way["worst"].as_f64().expect("a number"));
            // Where steps are unstable rounding grows from one to the next.
            assert!(way["disagreeing"] == 0 || name.ends_with("long steps"), "{name}: {way}");
        }
        assert!(worst[4] == 0 && run.status.success(), "{name}: {worst:?} {stderr}");
        assert_eq!(worst.iter().sum::<usize>(), rows.len());
        for row in rows {
            // Differences are kept where they leave a doubt, largest step first; ways are not compared with any.
            let differences = row["differences"].as_array().map_or(&[][..], Vec::as_slice);
            let doubtful = row["verdict"] != "ok" && row["verdict"] != "zero" && row["step"] != 0.0;
            assert_eq!(differences.len() >= 5, doubtful, "{name}: {row}");
            let steps: Vec<f64> = differences.iter().filter_map(|d| d["step"].as_f64()).collect();
            assert!(steps.len() == differences.len() && steps.is_sorted_by(|a, b| a > b), "{name}: {row}");
        }
        let (ok, kinks, noisy) = (worst[0], worst[2], worst[3]);
        assert!(ok >= least_ok && noisy <= most_noisy, "{name}: {worst:?}");
        assert!(name != "cube that just touches" || kinks > 0, "{name}: {worst:?}");
        // What cannot be told says why, and kinks where and when.
        let says = |what: &str| rows.iter().any(|row| row["note"].as_str().is_some_and(|n| n.contains(what)));
        if name.starts_with("symmetric") {
            assert!(kinks > 0 && says("the contact of ball and ramp at t = 0.000000 s"), "{name}: {worst:?}");
            assert!(says("meshes are aligned") && says("right beside it"), "{name}");
        }
        assert!(name != "cube flat on a floor, long steps" || says("friction chatters"), "{name}");
    }
}

#[test]
fn a_check_with_too_many_undecided_derivatives_does_not_pass() {
    let folder = Folder::new("gradient-check-undecided");
    let path = folder.file(
        "scene.toml",
        format!(
            "{MATERIALS}[solver]\nkind = \"semi_implicit_euler\"\n{}",
            FLAT_CUBE.replace("HEIGHT", "0.049")
        ),
    );
    let page = folder.0.join("check.html");
    let run = isobar(&["gradient-check", text(&path), "--record", text(&page)]);
    let (out, err) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    assert_eq!(run.status.code(), Some(1), "{err}");
    assert!(err.contains("derivatives are undecided, more than 2 %") && err.contains("--undecided"), "{err}");
    assert!(out.contains("\nnoisy: undecided: differences are too inaccurate"), "{out}");
    let run = isobar(&["gradient-check", "--undecided", "1.5", text(&path)]);
    assert_eq!(run.status.code(), Some(2));

    // The page draws the differences of what is doubtful, and says what to do.
    let data = PageData::read(&page);
    assert_eq!(data.table("Verdicts").len(), 6);
    let plots = data.header["plots"].as_array().expect("plots");
    assert_eq!(plots.len(), 24);
    let about = data.header["about"].as_array().expect("lines");
    let figures =
        about.iter().find(|line| line[0] == "figures").and_then(|line| line[1].as_str()).expect("a line");
    let count = figures.strip_prefix("of 24 of ").and_then(|rest| rest.split(' ').next()).expect("a count");
    let doubtful = |row: &&Value| row[2] == "noisy" || row[2] == "kink";
    let rows = data.table("Derivatives").iter().filter(doubtful).count();
    assert!(count.parse::<usize>().is_ok_and(|count| count > 24 && count <= rows), "{figures} {rows}");
    for plot in plots {
        assert!(plot["log_x"] == true && plot["log_y"] == true, "{plot}");
        assert!(plot["note"].as_str().is_some_and(|note| note.ends_with('.') && note.len() > 40), "{plot}");
        let series = plot["series"].as_array().expect("curves");
        assert!(series.len() >= 4 && data.array(&series[0]["x"]).len() >= 5, "{plot}");
    }
}

/// A box flat on a plate of its size: meshes are aligned along all edges.
const FLAT_BOX: &str = r#"
[[bodies]]
name = "box"
translation = [0, 0, 0.0499]
mass = 1.0
[[bodies.geometries]]
shape = { box = { size = [0.1, 0.1, 0.1] } }
material = "foam"
[[bodies]]
name = "plate"
fixed = true
translation = [0, 0, -0.01]
[[bodies.geometries]]
shape = { box = { size = [0.1, 0.1, 0.02] } }
material = "foam"
"#;

#[test]
fn a_start_whose_derivatives_are_undecided_is_looked_at_beside() {
    let folder = Folder::new("gradient-check-beside");
    let path = folder.file("scene.toml", format!("{MATERIALS}[solver]\nkind = \"lagged\"\n{FLAT_BOX}"));
    let few = ["--steps", "1", "--no-places", "--vertices", "0"];
    let run = isobar(&[&["gradient-check", text(&path), "--json"], &few[..]].concat());
    assert_eq!(run.status.code(), Some(0), "{}", String::from_utf8_lossy(&run.stderr));
    let report: serde_json::Value = serde_json::from_slice(&run.stdout).expect("JSON");
    assert_eq!(report["beside"]["part"], 0.01);
    let count = |key: &str| report["beside"][key].as_u64().expect("a number");
    let rows = report["rows"].as_array().expect("rows");
    let is_undecided =
        |row: &&Value| row["verdict"] == "noisy" || (row["verdict"] == "kink" && row["side"].is_null());
    let undecided = rows.iter().filter(is_undecided).count() as u64;
    // All components of their vectors.
    assert!((undecided..=3 * undecided).contains(&count("derivatives")), "{undecided}: {}", report["beside"]);
    assert!(count("undecided") * 50 < count("derivatives"), "{}", report["beside"]);
    // It touches there.
    assert!(count("zero") * 2 < count("derivatives"), "{}", report["beside"]);
    // Where every derivative may be undecided, none is looked at again.
    let run = isobar(&[&["gradient-check", text(&path), "--json", "--undecided", "1"], &few[..]].concat());
    let report: serde_json::Value = serde_json::from_slice(&run.stdout).expect("JSON");
    assert_eq!(report["beside"], serde_json::Value::Null);
}

/// In every step a desk on four feet is at a kink in their lengths, from whatever state it starts.
#[test]
fn feet_of_one_length_are_at_kinks_and_none_of_their_derivatives_is_wrong() {
    let desk = std::path::Path::new(crate::ROOT).join("examples/rigid_contact/desk.toml");
    let run = isobar(&["gradient-check", text(&desk), "--steps", "3", "--only", "vertices", "--json"]);
    let err = String::from_utf8_lossy(&run.stderr);
    assert_eq!(run.status.code(), Some(0), "{err}");
    let report: Value = serde_json::from_slice(&run.stdout).expect("JSON");
    let rows = report["rows"].as_array().expect("rows");
    let kinks = rows.iter().filter(|row| row["verdict"] == "kink").count();
    assert!(kinks > 0 && kinks * 2 < rows.len(), "{kinks} of {}", rows.len());
}

/// A box on a floor under loads of all kinds, and actuators that push it, one beyond its limit.
const LOADED: &str = r#"
[[loads]]
name = "wind"
body = "box"
force = { period = 0.013, mean = [0.4, -0.2, 0.1], sine = [1, 0, 0.3] }
torque = [0.01, 0.02, -0.01]
[[loads]]
body = "box"
force = { times = [0, 0.004, 0.02], values = [[0, 0, 0], [0.5, 0.2, 0], [0, 0, -0.3]], interpolation = "linear" }
point = [0.03, 0.02, 0.04]
frame = "body"
[[actuators]]
name = "push"
force = { body = "box", point = [0.05, 0, 0], direction = [0, 1, 0], frame = "body" }
command = 0.4
[[actuators]]
name = "twist"
torque = { body = "box", axis = [0, 0, 1] }
effort = 0.02
command = -0.05
"#;

#[test]
fn values_of_loads_and_of_what_pushes_bodies_are_checked() {
    let folder = Folder::new("gradient-check-loads");
    for kind in ["rk4", "lagged"] {
        let scene = SLIDING_BOX.replace("rk4", kind);
        let path = folder.file("scene.toml", format!("{MATERIALS}{scene}{LOADED}"));
        let options = ["--json", "--undecided", "1", "--no-places", "--vertices", "1", "--steps", "6"];
        let run = isobar(&[&["gradient-check"], &options[..], &[text(&path)]].concat());
        let stderr = String::from_utf8_lossy(&run.stderr).into_owned();
        let report: Value =
            serde_json::from_slice(&run.stdout).unwrap_or_else(|e| panic!("{kind}: {e}: {stderr}"));
        assert!(run.status.success(), "{kind}: {stderr}");
        let rows = report["rows"].as_array().expect("rows");
        let count = |input: &str, verdict: &str| {
            rows.iter().filter(|row| row["input"] == input && row["verdict"] == verdict).count()
        };
        for input in [
            "wind.force.mean[0]",
            "wind.force.sine[0]",
            "wind.force.cosine[1]",
            "wind.torque[2]",
            "loads[1].force.values[0][0]",
            "command of push",
            "twist.effort",
        ] {
            let [ok, wrong] = ["ok", "wrong"].map(|verdict| count(input, verdict));
            // All but the contact's force and torque at the start, and all after one step that takes the sine at its
            // beginning; of the others rounding may hide a few.
            let least = if kind == "lagged" && input.contains("sine[0]") { 10 } else { 20 };
            assert!(ok >= least && wrong == 0, "{kind} {input}: {ok} {wrong}");
        }
        // Beyond its limit the force does not follow the command.
        assert_eq!(count("command of twist", "zero"), 30, "{kind}");
    }
}

/// What does not depend on the only parameters that are checked is zero, though products may leave 1e-51 of it.
#[test]
fn components_without_any_sensitivity_are_no_alarm() {
    let folder = Folder::new("only");
    for kind in ["lagged", "tamsi", "sap"] {
        let scene = folder.file(
            &format!("{kind}.toml"),
            format!(
                "gravity = [0, 0, 0]\n[solver]\nkind = \"{kind}\"\ntime_step = 1e-3\n[materials.m]\n\
                 hydroelastic_modulus = 1e5\n[[bodies]]\nname = \"ball\"\nlinear_velocity = [1, 0, 0]\nmass = 1\n\
                 [[bodies.geometries]]\nshape = {{ sphere = {{ radius = 0.05 }} }}\nmaterial = \"m\"\n"
            ),
        );
        let output = isobar(&["gradient-check", text(&scene), "--steps", "1", "--only", "ball.vx"]);
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success() && !printed.contains("WRONG"), "{kind}: {printed}");
    }
}

/// The columns of commands are those that are asked for.
#[test]
fn one_command_of_several_is_checked_by_itself() {
    for actuator in ["lift", "squeeze"] {
        let only = format!("command of {actuator}");
        let output =
            isobar(&["gradient-check", "examples/grasp_lift/gripper.toml", "--steps", "3", "--only", &only]);
        assert!(output.status.success(), "{output:?}");
    }
}

/// What depends on none of the parameters that are asked for has nothing to be measured by among their derivatives.
#[test]
fn nothing_is_wrong_where_a_component_depends_on_no_parameter() {
    let ball = |name: &str, z: f64| {
        format!(
            "[[bodies]]\nname = \"{name}\"\ntranslation = [0, 0, {z}]\nmass = 0.1\n[[bodies.geometries]]\nshape = {{ sphere = {{ radius = 0.05 }} }}\nmaterial = \"foam\"\n"
        )
    };
    let block = "[[bodies]]\nname = \"block\"\nfixed = true\ntranslation = [0, 0, -0.05]\n[[bodies.geometries]]\nshape = { box = { size = [0.3, 0.3, 0.1] } }\nmaterial = \"foam\"\nrigid = true\n";
    let head = "gravity = [0, 0, 0]\n";
    let alone = format!("{head}{MATERIALS}{}", ball("ball", 0.0));
    let apart = format!("{head}{MATERIALS}{}{}", ball("ball", 0.0), ball("other", 1.0));
    // A sphere whose mesh has edges in the planes of the block's: derivatives that are zero by symmetry round.
    let aligned = format!("{MATERIALS}{}{block}", ball("ball", 0.049));
    let folder = Folder::new("gradient-check-only");
    for (scene, passes, only) in [
        (&alone, true, "ball.vx"),
        (&alone, true, "gravity"),
        (&apart, true, "gravity"),
        (&apart, true, "ball.rx"),
        (&aligned, false, "ball.wz"),
        (&aligned, false, "ball.rx"),
        (&aligned, false, "ball.vx"),
    ] {
        for solver in ["lagged", "sap"] {
            let text_of = format!("solver.kind = \"{solver}\"\n{scene}");
            let file = folder.file("scene.toml", text_of);
            for steps in ["1", "5"] {
                let output =
                    isobar(&["gradient-check", text(&file), "--steps", steps, "--only", only, "--json"]);
                let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
                let rows = report["rows"].as_array().expect("rows");
                let wrong: Vec<&Value> = rows.iter().filter(|row| row["verdict"] == "wrong").collect();
                assert!(!rows.is_empty() && wrong.is_empty(), "{only}, {solver}: {wrong:?}");
                assert!(!passes || output.status.success(), "{only}, {solver}: {output:?}");
            }
        }
    }
}
