//! Scene files, trajectory files and the command.

use std::fs;

use isobar::io::{Scene, TrajectoryTable};
use isobar::multibody::{Motion, State};
use isobar::rollout::Trajectory;
use isobar::spatial::Quaternion;

use crate::folder::Folder;
use crate::{isobar, text};

/// A ball on a table, and a peg of steel far away.
pub const TOML: &str = r#"
gravity = [0.1, 0, -9.81]
[materials.foam]
hydroelastic_modulus = 1e5
dissipation = 1.0
friction = 0.5
[materials.steel]
static_friction = 0.4
dynamic_friction = 0.3
[solver]
kind = "rk4"
time_step = 2e-3
[contact]
surface = "polygons"
face_filter = "drake"
friction_regularization = "atan"
stiction_velocity = 1e-2
excluded_pairs = [["peg", "table"]]
[[bodies]]
name = "ball"
translation = [0, 0, 0.045]
rpy = [0.1, 0.2, 0.3]
linear_velocity = [0.5, 0, 0]
angular_velocity = [0, 3, 1]
density = 200
[[bodies.geometries]]
shape = { sphere = { radius = 0.05, resolution = 0.03 } }
translation = [0.01, 0, 0]
material = "foam"
[[bodies]]
name = "table"
fixed = true
[[bodies.geometries]]
shape = { half_space = { thickness = 0.1 } }
material = "foam"
[[bodies]]
name = "peg"
translation = [1, 0, 2]
quaternion_wxyz = [0.5, 0.5, 0.5, 0.5]
mass = 0.3
inertia = [[1e-3, 0, 0], [0, 2e-3, 0], [0, 0, 2e-3]]
[[bodies.geometries]]
shape = { box = { size = [0.1, 0.2, 0.3] } }
rigid = true
material = "steel"
"#;

const JSON: &str = r#"{
"gravity": [0.1, 0, -9.81],
"materials": {
  "foam": {"hydroelastic_modulus": 1e5, "dissipation": 1.0, "friction": 0.5},
  "steel": {"static_friction": 0.4, "dynamic_friction": 0.3}},
"solver": {"kind": "rk4", "time_step": 2e-3},
"contact": {"surface": "polygons", "face_filter": "drake", "friction_regularization": "atan",
  "stiction_velocity": 1e-2, "excluded_pairs": [["peg", "table"]]},
"bodies": [
  {"name": "ball", "translation": [0, 0, 0.045], "rpy": [0.1, 0.2, 0.3], "linear_velocity": [0.5, 0, 0],
   "angular_velocity": [0, 3, 1], "density": 200,
   "geometries": [{"shape": {"sphere": {"radius": 0.05, "resolution": 0.03}}, "translation": [0.01, 0, 0],
     "material": "foam"}]},
  {"name": "table", "fixed": true,
   "geometries": [{"shape": {"half_space": {"thickness": 0.1}}, "material": "foam"}]},
  {"name": "peg", "translation": [1, 0, 2], "quaternion_wxyz": [0.5, 0.5, 0.5, 0.5], "mass": 0.3,
   "inertia": [[1e-3, 0, 0], [0, 2e-3, 0], [0, 0, 2e-3]],
   "geometries": [{"shape": {"box": {"size": [0.1, 0.2, 0.3]}}, "rigid": true, "material": "steel"}]}
]}"#;

fn run(scene: &Scene, until: f64) -> Trajectory {
    scene.rollout(until).expect("available").motion().completed().expect("simulates")
}

#[test]
fn toml_and_json_are_the_same_scene() {
    let folder = Folder::new("formats");
    let toml = Scene::load(folder.file("a.toml", TOML)).expect("valid");
    let json = Scene::load(folder.file("a.json", JSON)).expect("valid");
    assert_eq!(toml.state, json.state);
    assert_eq!(toml.model.contact(), json.model.contact());
    assert_eq!(toml.model.materials(), json.model.materials());
    assert_eq!(toml.model.pairs(), json.model.pairs());
    assert_eq!(toml.simulation_settings().ok(), json.simulation_settings().ok());
    let (a, b) = (run(&toml, 0.1), run(&json, 0.1));
    assert_eq!(a, b, "to the last bit");
}

#[test]
fn scene_files_say_what_they_mean() {
    let folder = Folder::new("meaning");
    let scene = Scene::load(folder.file("a.toml", TOML)).expect("valid");
    let model = &scene.model;
    assert_eq!(model.gravity().x, 0.1);
    assert_eq!(scene.fixed, [false, true, false]);
    // Ball and table, ball and peg; peg and table are excluded.
    let pairs: Vec<_> = model.pairs().iter().map(|p| (p.bodies.a, p.bodies.b)).collect();
    assert_eq!(pairs, [(0, 1), (0, 2)]);
    let ball = model.bodies()[0].mass().expect("free");
    // The centre of mass is that of the shifted sphere; the mass that of an inscribed polyhedron.
    assert!((ball.center_of_mass.x - 0.01).abs() < 1e-15 && ball.center_of_mass.yz().norm() < 1e-15);
    let sphere = 200.0 * 4.0 / 3.0 * std::f64::consts::PI * 0.05_f64.powi(3);
    assert!(ball.mass < sphere && ball.mass > 0.8 * sphere);
    let peg = model.bodies()[2].mass().expect("free");
    assert_eq!((peg.mass, peg.inertia[(0, 0)]), (0.3, 1e-3));
    assert!(matches!(model.bodies()[1].motion, Motion::Fixed { .. }));
    // Half a turn around (1, 1, 1) by thirds: x goes to y.
    let r = scene.state.bodies[1].orientation.to_matrix();
    assert!((r.column(0) - nalgebra::Vector3::y()).norm() < 1e-15);
    let rpy = scene.state.bodies[0].orientation.to_matrix();
    let expected = nalgebra::Rotation3::from_euler_angles(0.1, 0.2, 0.3);
    assert!((rpy - expected.matrix()).norm() < 1e-15);
    assert_eq!(scene.state.bodies[0].velocity.rotational.y, 3.0);
}

#[test]
fn trajectories_come_back_bit_by_bit() {
    let folder = Folder::new("bits");
    let scene = Scene::load(folder.file("a.toml", TOML)).expect("valid");
    let mut trajectory = run(&scene, 0.05);
    // Numbers that are hard to write.
    let body = &mut trajectory.states[3].bodies[0];
    body.position.x = -0.0;
    body.position.y = f64::MIN_POSITIVE / 3.0;
    body.position.z = f64::MAX;
    body.velocity.translational.x = 0.1 + 0.2;
    body.velocity.translational.y = -1e-300;
    // A quaternion that is not of unit length must not be touched either.
    body.orientation = Quaternion { w: 0.1, v: nalgebra::Vector3::new(1.0 / 3.0, 2.0, -7e22) };
    let path = folder.0.join("out.csv");
    trajectory.write(&path, &scene.model).expect("written");
    let table = TrajectoryTable::read(&path).expect("read");
    let names: Vec<&str> = table.bodies.iter().map(|b| b.name.as_str()).collect();
    assert_eq!(names, ["ball", "peg"]);
    let bits = |s: &State| -> Vec<u64> {
        let numbers = s.bodies.iter().flat_map(|b| {
            let (q, p, v) = (b.orientation, b.position, b.velocity);
            let vectors = [q.v, p, v.rotational, v.translational];
            let mut all = vec![q.w];
            all.extend(vectors.iter().flat_map(|v| [v.x, v.y, v.z]));
            all
        });
        numbers.map(f64::to_bits).collect()
    };
    assert_eq!(table.times.len(), trajectory.times.len());
    for (i, state) in trajectory.states.iter().enumerate() {
        assert_eq!(table.times[i].to_bits(), trajectory.times[i].to_bits());
        let read = State::of_bodies(table.bodies.iter().map(|b| b.states[i]).collect());
        assert_eq!(bits(&read), bits(state), "row {i}");
    }
    // And once more: the same file.
    let text = fs::read(&path).expect("read");
    trajectory.write(&path, &scene.model).expect("written");
    assert_eq!(fs::read(&path).expect("read"), text);
}

#[test]
fn the_command_simulates_a_projectile() {
    let folder = Folder::new("projectile");
    let stone = r#"
[solver]
kind = "rk4"
time_step = 0.01
[[bodies]]
name = "stone"
translation = [1, 2, 3]
linear_velocity = [2, 0, 5]
angular_velocity = [0, 7, 0]
density = 2000
[[bodies.geometries]]
shape = { box = { size = [0.1, 0.1, 0.2] } }
rigid = true
"#;
    let scene = folder.file("stone.toml", stone);
    let out = folder.0.join("stone.csv");
    let output = isobar(&["simulate", "--until", "0.815", "--json", "--out", text(&out), text(&scene)]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let summary: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON alone");
    assert_eq!(summary["steps"], 82);
    let table = TrajectoryTable::read(&out).expect("read");
    assert_eq!(table.times.last(), Some(&0.815));
    for (t, s) in table.times.iter().zip(&table.bodies[0].states) {
        let expected = nalgebra::Vector3::new(1.0 + 2.0 * t, 2.0, 3.0 + 5.0 * t - 0.5 * 9.81 * t * t);
        assert!((s.position - expected).norm() < 1e-12, "t = {t}");
        assert!((s.velocity.rotational - nalgebra::Vector3::new(0.0, 7.0, 0.0)).norm() < 1e-10);
        let r = nalgebra::Rotation3::from_axis_angle(&nalgebra::Vector3::y_axis(), 7.0 * t);
        assert!((s.orientation.to_matrix() - r.matrix()).norm() < 1e-6, "t = {t}");
    }
}

/// The errors that a fall has: with an order of one g δt t / 2, which a second run tells exactly.
#[test]
fn the_command_estimates_the_error_of_its_steps() {
    let folder = Folder::new("error");
    for (kind, expected) in
        [("semi_implicit_euler", 0.5 * 9.81 * 0.01 * 0.8), ("lagged", 0.5 * 9.81 * 0.01 * 0.8), ("rk4", 0.0)]
    {
        let scene = folder.file(
            "stone.toml",
            format!(
                "[solver]\nkind = \"{kind}\"\ntime_step = 0.01\n[[bodies]]\nname = \"stone\"\n\
                 linear_velocity = [2, 0, 5]\ndensity = 2000\n\
                 [[bodies.geometries]]\nshape = {{ sphere = {{ radius = 0.1 }} }}\nrigid = true\n"
            ),
        );
        let output = isobar(&["simulate", "--until", "0.8", "--error", "--json", text(&scene)]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let summary: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON alone");
        let error = &summary["discretization_errors"][0];
        assert_eq!(error["name"], "stone");
        for at in 0..2 {
            let found = error["position"][at].as_f64().expect("a number");
            assert!((found - expected).abs() < 1e-12, "{kind}: {found} m, not {expected} m");
            assert!(error["angle"][at].as_f64().expect("a number") < 1e-12, "{kind}: {error}");
        }
    }
}

#[test]
fn the_command_prints_contact() {
    let folder = Folder::new("contact");
    let scene = folder.file("scene.toml", TOML.replace("kind = \"rk4\"", "kind = \"lagged\""));
    let run = |arguments: &[&str]| {
        let output = isobar(&[&["contact", text(&scene)], arguments].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text")
    };
    let report: serde_json::Value = serde_json::from_str(&run(&["--json", "--derivatives"])).expect("JSON");
    let pairs = report["pairs"].as_array().expect("a list");
    let names: Vec<_> = pairs.iter().map(|p| (p["a"].as_str(), p["b"].as_str())).collect();
    assert_eq!(names, [(Some("ball"), Some("table")), (Some("ball"), Some("peg"))]);
    let keys = [
        "a",
        "area",
        "b",
        "centroid",
        "energy",
        "faces",
        "force_on_a",
        "max_pressure",
        "torque_on_a",
        "wrench_by_dissipation",
        "wrench_by_friction",
        "wrench_by_modulus_a",
        "wrench_by_modulus_b",
        "wrench_by_pose_a",
    ];
    let mut found: Vec<&str> = pairs[0].as_object().expect("an object").keys().map(String::as_str).collect();
    found.sort_unstable();
    assert_eq!(found, keys);
    assert!(pairs[0]["force_on_a"][2].as_f64().expect("a number") > 0.0);
    assert_eq!(pairs[0]["wrench_by_pose_a"].as_array().map(Vec::len), Some(6));
    // Apart: zeros, and no centroid.
    assert_eq!(pairs[1]["faces"], 0);
    assert_eq!(pairs[1]["area"], 0.0);
    assert_eq!(pairs[1]["centroid"], serde_json::Value::Null);
    assert_eq!(pairs[1]["wrench_by_pose_a"][5][5], 0.0);
    let plain = run(&[]);
    assert!(plain.contains("ball – table") && plain.contains("largest pressure"), "{plain}");
}
