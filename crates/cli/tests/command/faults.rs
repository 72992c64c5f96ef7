//! Inputs that once panicked, went on for ever, or ended with exit code 0 and numbers that are none.

use std::fmt::Write;

use crate::folder::Folder;
use crate::{isobar, text};

/// What a command says to bad input: one line.
fn refusal(arguments: &[&str], code: i32) -> String {
    let output = isobar(arguments);
    let message = String::from_utf8(output.stderr).expect("text");
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {message}");
    assert!(output.stdout.is_empty(), "{arguments:?}");
    assert_eq!(message.trim_end().lines().count(), 1, "{arguments:?}: {message}");
    message
}

fn assert_holds(message: &str, parts: &[&str]) {
    for part in parts {
        assert!(message.contains(part), "`{part}` is not in: {message}");
    }
}

#[test]
fn angles_that_overflow_are_refused() {
    let folder = Folder::new("rpy");
    let scene = r#"materials.foam.hydroelastic_modulus = 1e5
[[bodies]]
name = "a"
mass = 1
translation = [0, 0, 0.045]
[[bodies.geometries]]
shape = { sphere = { radius = 0.05, resolution = 0.04 } }
material = "foam"
[[bodies]]
name = "floor"
fixed = true
rpy = [1e155, 0, 0]
[[bodies.geometries]]
shape = { half_space = { } }
rigid = true
"#;
    let path = folder.file("rpy.toml", scene);
    for arguments in [vec!["contact", text(&path)], vec!["simulate", text(&path), "--until", "0.1"]] {
        let message = refusal(&arguments, 2);
        assert_holds(&message, &["rpy.toml:12:", "bodies[1].rpy[0]", "found 1e155", "between -1e6 and 1e6"]);
    }
    // Lengths that are finite would overflow where the pose is made of them.
    let jointed = scene
        .replace("fixed = true\nrpy = [1e155, 0, 0]\n", "mass = 1\njoint = { type = \"prismatic\", axis = [1, 0, 0], translation = [1e308, 0, 0], position = 1e308 }\n")
        .replace("shape = { half_space = { } }\nrigid = true", "shape = { box = { size = [1, 1, 1] } }\nmaterial = \"foam\"");
    let path = folder.file("joint.toml", jointed);
    let message = refusal(&["contact", text(&path)], 2);
    assert_holds(&message, &["joint.toml:12:", "bodies[1].joint.position", "between -1e6 and 1e6"]);
}

#[test]
fn a_field_that_overflows_gets_no_skirt() {
    let folder = Folder::new("skirt");
    let scene = |skirt: &str| {
        format!(
            r#"{skirt}
materials.foam.hydroelastic_modulus = 1e5
[[bodies]]
name = "a"
[[bodies.geometries]]
shape = {{ volume_mesh = {{ vertices = [[0,0,-0.05],[0.05,0,0.03],[0,0.05,0.03],[-0.05,-0.05,1e308],[0,0,0]], tetrahedra = [[0,2,4,1],[0,1,4,3],[0,3,4,2],[1,2,4,3]] }} }}
material = "foam"
"#
        )
    };
    for skirt in ["", "contact.skirt = 0.001"] {
        let path = folder.file("scene.toml", scene(skirt));
        let message = refusal(&["contact", text(&path)], 2);
        assert_holds(&message, &["scene.toml:6:", "bodies[0].geometries[0].shape", "tetrahedron", "finite"]);
    }
}

/// A fit of one parameter to one recording and one table.
const FIT: &str = r#"scene = "scene.toml"
[[parameters]]
name = "materials.foam.hydroelastic_modulus"
initial = 2e4
lower = 1e3
upper = 1e7
log = true
[[indentations]]
body = "ball"
direction = [0, 0, -1]
file = "table.csv"
[[trajectories]]
body = "ball"
files = ["recording.csv"]
position_sigma = 1e-3
orientation_sigma = 1e-2
[solver]
max_iterations = 3
"#;

const FIT_SCENE: &str = r#"materials.foam.hydroelastic_modulus = 3e4
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
name = "table"
fixed = true
[[bodies.geometries]]
shape = { half_space = {} }
rigid = true
"#;

const TABLE: &str = "# pressed\ndepth_m,force_N,sigma_N\n0.0010,0.1468,0.2\n0.0090,19.7197,0.2\n";

const RECORDING: &str = "t_s,px_m,py_m,pz_m,qw,qx,qy,qz,vx_m_s,vy_m_s,vz_m_s,wx_rad_s,wy_rad_s,wz_rad_s
0.000,0,0,0.08,1,0,0,0,1.5,0,-0.8,0,0,0
0.010,0.015,0,0.0715,1,0,0,0,1.5,0,-0.898,0,0,0
";

#[test]
fn a_fit_names_the_row_of_a_gap_and_of_what_overflows() {
    let folder = Folder::new("fit");
    folder.file("scene.toml", FIT_SCENE);
    let fit = folder.file("fit.toml", FIT);
    let run = |table: &str, recording: &str, code: i32| {
        folder.file("table.csv", table);
        folder.file("recording.csv", recording);
        refusal(&["fit", text(&fit), "--json"], code)
    };
    let gap = run(TABLE, &RECORDING.replace("0.010,", "1e6,"), 2);
    assert_holds(
        &gap,
        &["fit.toml:12: trajectories", "recording.csv, line 3:", "1000000 s", "100000 steps of 0.002 s"],
    );
    let large = run(&TABLE.replace("19.7197", "1e155"), RECORDING, 3);
    assert_holds(&large, &["table.csv, line 4:", "standard deviations"]);
    let far = run(TABLE, &RECORDING.replace("0.015,", "1e155,"), 3);
    assert_holds(&far, &["recording.csv, line 3:", "standard deviations"]);
}

/// A chain of links without geometries beside a floor; once all pairs of links were listed and looked
/// through for every pair.
#[test]
fn a_robot_of_a_thousand_links_is_loaded() {
    let folder = Folder::new("chain");
    let mut urdf = "<robot name=\"r\"><link name=\"l0\"/>".to_owned();
    for i in 1..=1000 {
        let _ = write!(
            urdf,
            "<link name=\"l{i}\"><inertial><mass value=\"1\"/><inertia ixx=\"1\" ixy=\"0\" ixz=\"0\" iyy=\"1\" iyz=\"0\" izz=\"1\"/></inertial></link><joint name=\"j{i}\" type=\"revolute\"><parent link=\"l{}\"/><child link=\"l{i}\"/><axis xyz=\"0 0 1\"/><limit lower=\"-1\" upper=\"1\" effort=\"1\" velocity=\"1\"/></joint>",
            i - 1
        );
    }
    folder.file("chain.urdf", urdf + "</robot>");
    let scene = folder.file(
        "scene.toml",
        "robots = [{ urdf = \"chain.urdf\", self_contact = false }]\n[[bodies]]\nname = \"floor\"\nfixed = true\n[[bodies.geometries]]\nshape = { half_space = {} }\nrigid = true\n",
    );
    let loaded = isobar::io::Scene::load(&scene).expect("a scene");
    assert_eq!((loaded.model.bodies().len(), loaded.model.mechanism().joints().len()), (1002, 1000));
    assert!(loaded.excluded.is_empty() && loaded.model.pairs().is_empty(), "nothing can touch");
    assert!(isobar(&["contact", text(&scene)]).status.success());
}

/// The element that is wrong is found although it is the last of many.
#[test]
fn the_last_of_many_links_is_named() {
    let folder = Folder::new("culprit");
    let mut urdf = format!("<robot name=\"r\" x=\"{}\">\n", "y".repeat(20_000));
    for i in 0..20_000 {
        let _ = writeln!(urdf, "<link name=\"l{i}\"/>");
    }
    urdf += "<link name=\"b\"><inertial><mass value=\"x\"/></inertial></link></robot>";
    let path = folder.file("robot.urdf", urdf);
    let message = refusal(&["model", text(&path)], 2);
    assert_holds(&message, &["robot.urdf:20002:", "link `b`: `inertial` has no element `inertia`"]);
    let scene = folder.file("scene.toml", "robots = [{ urdf = \"robot.urdf\" }]\n");
    assert_holds(
        &refusal(&["contact", text(&scene)], 2),
        &["robots[0].urdf", "robot.urdf:20002:", "link `b`"],
    );
}

#[test]
fn many_sections_of_metadata_are_passed_over() {
    let folder = Folder::new("metadata");
    let sections = "METADATA\nINFORMATION 0\n\n".repeat(100_000);
    folder.file(
        "mesh.vtk",
        format!("# vtk DataFile Version 3.0\nx\nASCII\nDATASET UNSTRUCTURED_GRID\n{sections}"),
    );
    let scene = folder.file(
        "scene.toml",
        "materials.foam.hydroelastic_modulus = 1e5\n[[bodies]]\nname = \"b\"\n[[bodies.geometries]]\nshape = { mesh = { file = \"mesh.vtk\" } }\nmaterial = \"foam\"\n",
    );
    assert_holds(&refusal(&["contact", text(&scene)], 2), &["mesh.vtk:300002:", "no POINTS section"]);
}
