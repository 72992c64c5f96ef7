//! What is drawn of robots: it is in their recordings, and nothing that is wrong with it stops them.

use std::fs;

use isobar::Scene;
use isobar::io::robot::{Robot, RobotOptions};
use serde_json::Value;

use crate::folder::Folder;
use crate::recorded_files::{PageData, floats, glb, index, run, vtu};
use crate::{isobar, text};

/// An arm that swings about y with a box that collides, and a mesh and other shapes that are drawn.
const ROBOT: &str = r#"<robot name="swing">
  <link name="base"><visual><geometry><box size="0.2 0.2 0.02"/></geometry></visual></link>
  <link name="arm">
    <inertial><mass value="1"/><inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial>
    <visual><origin xyz="0 0 -0.5" rpy="0 0 1.5707963267948966"/>
      <geometry><mesh filename="meshes/fin.obj" scale="1 2 -1"/></geometry></visual>
    <visual><geometry><cylinder radius="0.05" length="0.3"/></geometry></visual>
    <visual><geometry><mesh filename="meshes/fin.dae"/></geometry></visual>
    <visual><geometry><mesh filename="package://gone/fin.obj"/></geometry></visual>
    <visual><geometry><mesh filename="meshes/broken.obj"/></geometry></visual>
    <visual><geometry><sphere radius="wide"/></geometry></visual>
    <visual><geometry><mesh filename="meshes/fin.obj" scale="1e300 1 1"/></geometry></visual>
    <collision><origin xyz="0 0 -0.5"/><geometry><box size="0.1 0.1 0.4"/></geometry></collision>
  </link>
  <joint name="hinge" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/></joint>
</robot>
"#;

const SCENE: &str = r#"[materials.foam]
hydroelastic_modulus = 1e5
[solver]
kind = "lagged"
time_step = 0.01
[[robots]]
urdf = "swing.urdf"
prefix = "left "
positions = { hinge = 0.5 }
materials = { arm = "foam" }
"#;

/// A triangle: open, as what is drawn may be.
const FIN: &str = "v 0 0 0\nv 0.1 0 0\nv 0 0.1 0.3\nf 1 2 3\n";

/// The corners of the triangle in the frame of the arm: stretched, turned by a right angle about z, moved.
const CORNERS: [[f64; 3]; 3] = [[0.0, 0.0, -0.5], [0.0, 0.1, -0.5], [-0.2, 0.0, -0.8]];

fn files() -> Folder {
    let folder = Folder::new("visuals");
    for (name, content) in [
        ("swing.urdf", ROBOT),
        ("scene.toml", SCENE),
        ("meshes/fin.obj", FIN),
        ("meshes/fin.dae", "<COLLADA/>"),
        ("meshes/broken.obj", "v 0 0 nowhere\n"),
    ] {
        folder.file(name, content);
    }
    folder
}

fn node<'d>(document: &'d Value, name: &str) -> &'d Value {
    let nodes = document["nodes"].as_array().expect("nodes");
    nodes.iter().find(|node| node["name"] == name).unwrap_or_else(|| panic!("no node {name}"))
}

/// The corners of the first triangles of a node's mesh.
fn positions(document: &Value, binary: &[u8], node: &Value, primitive: usize) -> Vec<f64> {
    let mesh = &document["meshes"][index(&node["mesh"])];
    let accessor = index(&mesh["primitives"][primitive]["attributes"]["POSITION"]);
    floats(document, binary, accessor).into_iter().map(f64::from).collect()
}

fn assert_near(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len(), "{found:?}");
    assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6), "{found:?} {expected:?}");
}

#[test]
fn what_is_drawn_of_a_robot_is_in_its_recordings() {
    let folder = files();
    let scene = folder.0.join("scene.toml");
    let [page, film, series, table] =
        ["film.html", "film.glb", "film.pvd", "motion.csv"].map(|name| folder.0.join(name));
    let mut arguments = vec!["simulate", text(&scene), "--until", "0.1", "--out", text(&table)];
    for file in [&page, &film, &series] {
        arguments.extend(["--record", text(file)]);
    }
    run(&arguments);
    // The page: the parts of the arm by their kinds, the mesh where the URDF places it.
    let data = PageData::read(&page);
    let bodies = data.header["films"][0]["bodies"].as_array().unwrap();
    let names: Vec<&Value> = bodies.iter().map(|body| &body["name"]).collect();
    assert_eq!(names, ["left base", "left arm"]);
    assert_ne!(bodies[0]["color"], bodies[1]["color"]);
    let parts = bodies[1]["parts"].as_array().unwrap();
    let kinds: Vec<&Value> = parts.iter().map(|part| &part["kind"]).collect();
    assert_eq!(kinds, ["compliant", "visual", "visual"]);
    assert_near(&data.array(&parts[1]["vertices"]), CORNERS.as_flattened());
    // Mirrored, so that its corners are in the other order.
    assert_eq!(data.array(&parts[1]["triangles"]), [0.0, 2.0, 1.0]);
    let cylinder = data.array(&parts[2]["vertices"]);
    let largest = |k: usize| cylinder.iter().skip(k).step_by(3).copied().fold(0.0, f64::max);
    assert_near(&[largest(0), largest(2)], &[f64::from(0.05_f32), f64::from(0.15_f32)]);
    assert!(cylinder.len() > 3 * 2 * 20, "it is round: {} coordinates", cylinder.len());
    // glTF: the body's own mesh is what is drawn, and what collides a node without size below it.
    let (document, binary) = glb(&film);
    let arm = node(&document, "left arm");
    assert_near(&positions(&document, &binary, arm, 0), CORNERS.as_flattened());
    assert_eq!(document["meshes"][index(&arm["mesh"])]["primitives"].as_array().unwrap().len(), 2);
    let collision = &document["nodes"][index(&arm["children"][0])];
    assert_eq!(
        (&collision["name"], &collision["scale"]),
        (&"left arm collision".into(), &[0.0; 3][..].into())
    );
    let height = |primitive: Vec<f64>| primitive.iter().skip(2).step_by(3).copied().fold(f64::MIN, f64::max);
    assert_near(&[height(positions(&document, &binary, collision, 0))], &[-0.3]);
    assert!(node(&document, "left base")["children"].is_null());
    // VTK: which triangles are only drawn, in the world.
    let grid = vtu(&folder.0.join("film_vtk/bodies_00000.vtu"));
    let visual = |body: f64, drawn: f64| {
        grid["body"].iter().zip(&grid["visual"]).filter(|&(&b, &v)| b == body && v == drawn).count()
    };
    assert_eq!([visual(0.0, 0.0), visual(0.0, 1.0), visual(1.0, 0.0)], [0, 24, 24]);
    assert_eq!(visual(1.0, 1.0), 1 + data.array(&parts[2]["triangles"]).len() / 3);
    let (sin, cos) = 0.5_f64.sin_cos();
    let turned = CORNERS.map(|[x, y, z]| [cos * x + sin * z, y, cos * z - sin * x]);
    let first = grid["body"].iter().zip(&grid["visual"]).position(|(&b, &v)| b == 1.0 && v == 1.0).unwrap();
    let corner = |k: usize| {
        let point = grid["connectivity"][3 * first + k] as usize;
        grid["points"][3 * point..3 * point + 3].to_vec()
    };
    assert_near(&[corner(0), corner(2), corner(1)].concat(), turned.as_flattened());
    // A report of the trajectory is the same film.
    let again = folder.0.join("again.glb");
    run(&["report", text(&scene), text(&table), "--out", text(&again)]);
    let meshes = |document: &Value| document["meshes"].as_array().unwrap().len();
    assert_eq!(meshes(&glb(&again).0), meshes(&document));
}

#[test]
fn what_cannot_be_drawn_is_told_in_a_line_where_a_motion_is_recorded() {
    let folder = files();
    let scene = folder.0.join("scene.toml");
    let film = folder.0.join("film.glb");
    let told = |more: &[&str]| {
        let output = isobar(&[&["simulate", text(&scene), "--until", "0.01"], more].concat());
        assert!(output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    let message = told(&["--record", text(&film)]);
    let lines: Vec<&str> = message.lines().filter(|line| line.contains("recordings leave out")).collect();
    let [line] = lines[..] else { panic!("{message}") };
    for part in [
        "isobar: warning: robot `swing`: ",
        "`meshes/fin.dae` of link `left arm` (.dae is not read)",
        "`package://gone/fin.obj` of link `left arm` (not found)",
        "`meshes/broken.obj` of link `left arm` (",
        "broken.obj:1: ",
        "the visual element of link `left arm` (`sphere` has radius = \"wide\"",
        "`meshes/fin.obj` of link `left arm` (it reaches farther than 1e9 m)",
        "visual meshes are read from .obj, .ply, .stl, .vtk, .vtu and .msh",
    ] {
        assert!(line.contains(part), "{part}: {line}");
    }
    assert!(!line.contains("left base"), "{line}");
    // Nothing is read, and nothing told, without a recording.
    assert!(!told(&[]).contains("fin"));
    assert_eq!(Scene::load(&scene).unwrap().visual_meshes().meshes.len(), 3);
    assert!(Robot::load(&folder.0.join("swing.urdf"), &RobotOptions::default()).unwrap().warnings.is_empty());
    fs::write(folder.0.join("meshes/fin.obj"), "").unwrap();
    assert!(told(&["--record", text(&film)]).contains("fin.obj"));
}
