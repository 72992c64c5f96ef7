//! Joints, robots and actuators in scene files, and their trajectories.

use std::path::{Path, PathBuf};

use isobar::io::{Scene, TrajectoryTable};
use isobar::multibody::tree::JointKind;
use isobar::multibody::{BodyFrame, BodyPair, Drive, Motion, TANGENT_DIMENSION};
use isobar::rollout::Trajectory;
use isobar::spatial::{RigidTransform, rotation_from_rpy};
use nalgebra::Vector3;
use serde_json::Value;

use crate::folder::Folder;
use crate::{isobar, text};

const MATERIALS: &str = r#"
[materials.foam]
hydroelastic_modulus = 1e5
dissipation = 1.0
friction = 0.5
[solver]
kind = "lagged"
time_step = 2e-3
"#;

/// A mechanism with a joint of every type, on a fixed stand.
const EVERY_JOINT: &str = r#"
[[bodies]]
name = "stand"
fixed = true
translation = [0.1, 0, 0]
rpy = [0, 0, 0.5]
[[bodies.geometries]]
shape = { box = { size = [0.1, 0.1, 0.4] } }
rigid = true
[[bodies]]
name = "arm"
mass = 0.5
[bodies.joint]
name = "shoulder"
type = "revolute"
parent = "stand"
axis = [0, 2, 0]
translation = [0.06, 0, 0.15]
position = 0.3
velocity = -0.2
lower = -1
upper = 2
stop_stiffness = 50
stop_dissipation = 0.5
damping = 0.02
rotor_inertia = 1e-3
spring = { stiffness = 2.0, rest = 0.1 }
[[bodies.geometries]]
shape = { capsule = { radius = 0.02, length = 0.2, resolution = 0.02 } }
rpy = [0, 1.5707963267948966, 0]
translation = [0.1, 0, 0]
material = "foam"
[[bodies]]
name = "slider"
mass = 0.1
joint = { type = "prismatic", parent = "arm", axis = [1, 0, 0], translation = [0.2, 0, 0], position = 0.01 }
[[bodies.geometries]]
shape = { box = { size = [0.03, 0.03, 0.03] } }
material = "foam"
[[bodies]]
name = "tip"
density = 800
joint = { type = "fixed", parent = "slider", translation = [0.02, 0, 0] }
[[bodies.geometries]]
shape = { sphere = { radius = 0.01, resolution = 0.01 } }
material = "foam"
[[bodies]]
name = "pendulum"
mass = 0.2
inertia = [[2e-4, 0, 0], [0, 2e-4, 0], [0, 0, 1e-4]]
center_of_mass = [0, 0, -0.05]
joint = { type = "ball", parent = "slider", position = [0.6, 0, 0.8, 0], velocity = [0.1, 0.2, 0.3] }
[[bodies]]
name = "puck"
density = 300
joint = { type = "planar", translation = [-0.4, 0, 0], position = [0.01, 0.02, 0.3], velocity = [0.3, 0, 1] }
[[bodies.geometries]]
shape = { cylinder = { radius = 0.04, length = 0.02 } }
material = "foam"
[[bodies]]
name = "loose"
density = 300
[bodies.joint]
type = "free"
position = [0.8, 0, 0, 0.6, 0.5, 0.5, 0.2]
velocity = [1, 2, 3, 0.1, 0.2, 0.3]
[[bodies.geometries]]
shape = { box = { size = [0.04, 0.05, 0.06] } }
material = "foam"
[[bodies]]
name = "stone"
density = 2000
translation = [1, 1, 1]
[[bodies.geometries]]
shape = { box = { size = [0.1, 0.1, 0.1] } }
material = "foam"
[[actuators]]
name = "bend"
joints = ["shoulder"]
drive = { velocity = { damping = 0.5 } }
effort = 3
command = { times = [0, 0.1], values = [0.5, -0.5] }
[[actuators]]
name = "reach"
joints = ["slider", { joint = "puck", coordinate = 2, ratio = -0.5 }]
drive = { position = { stiffness = 30, damping = 1 } }
command = 0.05
"#;

/// A gripper whose right finger's mesh is absent.
const GRIPPER: &str = r#"<robot name="gripper">
  <link name="palm"><inertial><mass value="0.3"/><inertia ixx="1e-3" ixy="0" ixz="0" iyy="1e-3" iyz="0" izz="1e-3"/></inertial></link>
  <link name="left">
    <inertial><mass value="0.1"/><inertia ixx="1e-4" ixy="0" ixz="0" iyy="1e-4" iyz="0" izz="1e-4"/></inertial>
    <collision><origin xyz="0 0 -0.03"/><geometry><box size="0.02 0.04 0.06"/></geometry></collision>
  </link>
  <link name="right">
    <inertial><mass value="0.1"/><inertia ixx="1e-4" ixy="0" ixz="0" iyy="1e-4" iyz="0" izz="1e-4"/></inertial>
    <collision><geometry><mesh filename="package://gripper/finger.obj" scale="1 1 1"/></geometry></collision>
  </link>
  <joint name="close left" type="prismatic">
    <origin xyz="-0.04 0 0"/><parent link="palm"/><child link="left"/><axis xyz="1 0 0"/>
    <limit lower="-0.01" upper="0.05" effort="10" velocity="1"/>
  </joint>
  <joint name="close right" type="prismatic">
    <origin xyz="0.04 0 0"/><parent link="palm"/><child link="right"/><axis xyz="-1 0 0"/>
    <limit lower="0.005" upper="0.05" effort="10" velocity="1"/>
  </joint>
</robot>
"#;

const TETRAHEDRON: &str = "v 0 0 0\nv 0.02 0 0\nv 0 0.02 0\nv 0 0 0.02\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n";

fn load(folder: &Folder, scene: &str) -> Scene {
    Scene::load(folder.file("scene.toml", scene)).expect("a valid scene")
}

fn frames(scene: &Scene) -> Vec<BodyFrame> {
    let mut frames = Vec::new();
    scene.model.body_frames(&scene.state, &mut frames);
    frames
}

fn run(scene: &Scene, until: f64) -> Trajectory {
    scene.rollout(until).expect("available").motion().completed().expect("simulates")
}

#[test]
fn joints_of_every_type_are_read() {
    let folder = Folder::new("every-joint");
    let scene = load(&folder, &format!("{MATERIALS}{EVERY_JOINT}"));
    let (model, mechanism) = (&scene.model, scene.model.mechanism());
    let joints: Vec<(&str, &str)> =
        mechanism.joints().iter().map(|j| (j.name.as_str(), j.kind.name())).collect();
    let expected = [
        ("shoulder", "revolute"),
        ("slider", "prismatic"),
        ("pendulum", "ball"),
        ("puck", "planar"),
        ("loose", "free"),
    ];
    assert_eq!(joints, expected, "depth first from the joints on the world, in the file's order");
    let shoulder = &mechanism.joints()[0];
    let JointKind::Revolute { axis } = shoulder.kind else { panic!("revolute") };
    assert_eq!(axis, Vector3::y());
    let limits = shoulder.limits;
    assert_eq!([limits.lower, limits.upper, limits.stiffness, limits.dissipation], [-1.0, 2.0, 50.0, 0.5]);
    assert_eq!([shoulder.damping, shoulder.rotor_inertia], [0.02, 1e-3]);
    assert_eq!([shoulder.spring.stiffness, shoulder.spring.rest], [2.0, 0.1]);
    let q = &scene.state.joints.q;
    assert_eq!(q[..6], [0.3, 0.01, 0.6, 0.0, 0.8, 0.0]);
    assert_eq!(q[6..9], [0.01, 0.02, 0.3]);
    assert_eq!(q[9..], [0.8, 0.0, 0.0, 0.6, 0.5, 0.5, 0.2]);
    assert_eq!(scene.state.joints.v[..8], [-0.2, 0.0, 0.1, 0.2, 0.3, 0.3, 0.0, 1.0]);
    // The tip's pose by hand: stand, shoulder, slider, fixed joint.
    let frames = frames(&scene);
    let turned = |rpy: [f64; 3], p: [f64; 3]| {
        RigidTransform::new(rotation_from_rpy(rpy[0], rpy[1], rpy[2]), Vector3::from(p))
    };
    let expected = turned([0.0, 0.0, 0.5], [0.1, 0.0, 0.0])
        * turned([0.0, 0.3, 0.0], [0.06, 0.0, 0.15])
        * turned([0.0; 3], [0.23, 0.0, 0.0]);
    let tip = frames[model.body_index("tip").expect("a body")].pose;
    assert!((tip.translation - expected.translation).norm() < 1e-15);
    assert!((tip.rotation - expected.rotation).norm() < 1e-15);
    // The pendulum's given mass, the puck's by density.
    let mass = |name: &str| model.body_mass(model.body_index(name).expect("a body")).expect("a mass").mass;
    assert_eq!(mass("pendulum"), 0.2);
    let puck = 300.0 * std::f64::consts::PI * 0.04_f64.powi(2) * 0.02;
    assert!(mass("puck") < puck && mass("puck") > 0.7 * puck);
    // Connected: stand–arm, arm–slider, arm–tip, slider–tip; not stand–slider, arm–loose.
    let touch = |a: &str, b: &str| {
        let [a, b] = [a, b].map(|name| model.body_index(name).expect("a body"));
        model.pairs_of(BodyPair::of(a, b)).next().is_some()
    };
    for (a, b) in [("stand", "arm"), ("arm", "slider"), ("arm", "tip"), ("slider", "tip")] {
        assert!(!touch(a, b), "{a} {b}");
    }
    for (a, b) in [("stand", "slider"), ("arm", "loose"), ("puck", "stone"), ("stand", "puck")] {
        assert!(touch(a, b), "{a} {b}");
    }
    // Actuators and commands.
    let [bend, reach] = model.actuators() else { panic!("two actuators") };
    assert_eq!((bend.drive, bend.effort), (Drive::Velocity { damping: 0.5 }, 3.0));
    assert_eq!(reach.drive, Drive::Position { stiffness: 30.0, damping: 1.0 });
    assert_eq!(
        reach.coordinates().iter().map(|c| (c.v, c.q, c.ratio)).collect::<Vec<_>>(),
        [(1, 1, 1.0), (7, 8, -0.5)]
    );
    assert_eq!(scene.commands.iter().map(|c| c.at(0.05)).collect::<Vec<_>>(), [0.5, 0.05]);
    assert_eq!(scene.commands.iter().map(|c| c.at(0.15)).collect::<Vec<_>>(), [-0.5, 0.05]);
    assert!(scene.warnings.is_empty(), "{:?}", scene.warnings);
}

/// All numbers of a table's row, bit by bit.
fn bits(table: &TrajectoryTable, row: usize) -> Vec<u64> {
    let joints = table.joints.iter().flat_map(|j| j.q[row].iter().chain(&j.v[row]).copied());
    joints.map(f64::to_bits).collect()
}

#[test]
fn trajectories_of_joints_come_back_bit_by_bit() {
    let folder = Folder::new("joint-bits");
    let scene = load(&folder, &format!("{MATERIALS}{EVERY_JOINT}"));
    let mut trajectory = run(&scene, 0.05);
    let joints = &mut trajectory.states[3].joints;
    joints.q[10..13].copy_from_slice(&[-0.0, f64::MIN_POSITIVE / 3.0, 0.1 + 0.2]);
    joints.v[0] = -1e-300;
    let path = folder.0.join("out.csv");
    trajectory.write(&path, &scene.model).expect("written");
    let table = TrajectoryTable::read(&path).expect("read");
    assert_eq!(table.times, trajectory.times);
    assert_eq!(table.bodies.len(), 1);
    let names: Vec<&str> = table.joints.iter().map(|j| j.name.as_str()).collect();
    assert_eq!(names, ["shoulder", "slider", "pendulum", "puck", "loose"]);
    for (row, state) in trajectory.states.iter().enumerate() {
        let expected: Vec<u64> = scene
            .model
            .mechanism()
            .joints()
            .iter()
            .flat_map(|j| state.joints.q[j.q.clone()].iter().chain(&state.joints.v[j.v.clone()]))
            .map(|x| x.to_bits())
            .collect();
        assert_eq!(bits(&table, row), expected, "row {row}");
    }
    let csv = std::fs::read_to_string(&path).expect("read");
    let header = csv.lines().next().expect("a header");
    assert!(header.contains("shoulder.q,shoulder.v,slider.q"), "{header}");
    assert!(header.contains("pendulum.q[3],pendulum.v[0],pendulum.v[1],pendulum.v[2]"), "{header}");
    for (old, new, parts) in [
        ("shoulder.v", "shoulder.q", vec!["`shoulder.q` twice"]),
        ("shoulder.v", "shoulder.u", vec!["`shoulder.u`", "NAME.q[0]"]),
        ("shoulder.v", "elbow.v", vec!["`shoulder.v` is missing"]),
        ("pendulum.q[3]", "pendulum.q[4]", vec!["`pendulum.q[3]` is missing"]),
        ("pendulum.q[3]", "pendulum.q[03]", vec!["`pendulum.q[03]`", "allowed"]),
        ("pendulum.q[3]", "pendulum.q", vec!["`pendulum.q` beside"]),
    ] {
        assert!(header.contains(old));
        let bad = folder.file("bad.csv", csv.replacen(old, new, 1));
        let error = TrajectoryTable::read(bad).expect_err(new).to_string();
        for part in parts.into_iter().chain(["bad.csv:1:"]) {
            assert!(error.contains(part), "`{part}` is not in: {error}");
        }
    }
}

#[test]
fn the_command_simulates_joints() {
    let folder = Folder::new("command");
    let scene = folder.file("scene.toml", format!("{MATERIALS}{EVERY_JOINT}"));
    let out = folder.0.join("out.csv");
    let run = |until: &str, json: &[&str]| {
        let mut arguments = vec!["simulate", text(&scene), "--until", until, "--out", text(&out)];
        arguments.extend(json);
        let output = isobar(&arguments);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text")
    };
    let summary: Value = serde_json::from_str(&run("0.02", &["--json"])).expect("JSON alone");
    assert_eq!(summary["joints"][0]["name"], "shoulder");
    assert_eq!(summary["joints"][4]["q"].as_array().map(Vec::len), Some(7));
    let table = TrajectoryTable::read(&out).expect("read");
    assert_eq!(summary["joints"][0]["q"][0].as_f64(), table.joints[0].q.last().map(|q| q[0]));
    let plain = run("0", &[]);
    assert!(plain.contains("shoulder (revolute)") && plain.contains("stone"), "{plain}");
}

/// The text of a bundled scene.
fn bundled(name: &str) -> String {
    let path = Path::new(crate::ROOT).join("examples/grasp_lift").join(name);
    std::fs::read_to_string(path).expect("the bundled scene")
}

#[test]
fn the_gripper_lifts_with_a_good_squeeze_and_not_with_a_weak_one() {
    let folder = Folder::new("gripper");
    let squeeze = "values = [1, 6, 6]";
    for name in ["gripper.toml", "box_gripper.toml"] {
        for (values, lifts) in [(squeeze, true), ("values = [1, 0.8, 0.8]", false)] {
            let text_of_scene = bundled(name);
            assert!(text_of_scene.contains(squeeze));
            let scene = load(&folder, &text_of_scene.replace(squeeze, values));
            let trajectory = run(&scene, 2.0);
            let last = trajectory.states.last().expect("states");
            let (held, lift) = (last.bodies[0], last.joints.q[0]);
            assert!((lift - 0.1).abs() < 2e-3, "the palm is up: {lift}");
            let rise = held.position.z - scene.state.bodies[0].position.z;
            println!("{name}, {values}: rises by {rise:.4} m");
            if lifts {
                assert!(rise > 0.097 && rise < 0.1, "{rise}");
                assert!(held.velocity.translational.norm() < 1e-3 && held.position.xy().norm() < 1e-4);
            } else {
                assert!(rise.abs() < 5e-3, "{rise}");
            }
        }
    }
}

/// A scene with the gripper as a robot, and its folder with the URDF.
fn robot_scene(folder: &Folder, robot: &str, rest: &str) -> String {
    folder.file("gripper.urdf", GRIPPER);
    format!("{MATERIALS}[[robots]]\nurdf = \"gripper.urdf\"\n{robot}\n{rest}")
}

const BALL: &str = r#"
[[bodies]]
name = "ball"
density = 800
translation = [0.001, 0, 0.28]
[[bodies.geometries]]
shape = { sphere = { radius = 0.03, resolution = 0.015 } }
material = "foam"
"#;

#[test]
fn robots_are_loaded_with_pose_prefix_materials_and_positions() {
    let folder = Folder::new("robots");
    let robot = "prefix = \"a \"\ntranslation = [0, 0, 0.3]\nrpy = [0, 0, 0.2]\n\
                 positions = { \"close left\" = 0.015 }\nvelocities = { \"close right\" = -0.1 }\n\
                 resolution = 0.02\nmaterials = { left = \"foam\" }";
    let second = "[[robots]]\nurdf = \"gripper.urdf\"\nprefix = \"b \"\nbase = \"free\"\n\
                  translation = [1, 2, 3]\nrpy = [0.1, 0.2, 0.3]\nvelocities = { palm = [1, 2, 3, 4, 5, 6] }\n\
                  materials = { left = \"rigid\" }\n";
    let actuator = "[[actuators]]\nname = \"squeeze\"\njoints = [\"a close left\", \"a close right\"]\n\
                    drive = \"force\"\neffort = 20\n";
    let scene = load(&folder, &robot_scene(&folder, robot, &format!("{BALL}{second}{actuator}")));
    let (model, state) = (&scene.model, &scene.state);
    let names: Vec<&str> = model.bodies().iter().map(|b| b.name.as_str()).collect();
    assert_eq!(names, ["ball", "a palm", "a left", "a right", "b palm", "b left", "b right"]);
    let joints: Vec<&str> = model.mechanism().joints().iter().map(|j| j.name.as_str()).collect();
    assert_eq!(joints, ["a close left", "a close right", "b palm", "b close left", "b close right"]);
    assert_eq!(scene.fixed, [false, true, false, false, false, false, false]);
    assert!(matches!(model.bodies()[1].motion, Motion::Fixed { .. }));
    assert_eq!(state.joints.q[..2], [0.015, 0.0]);
    assert_eq!(state.joints.v[..8], [0.0, -0.1, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let frames = frames(&scene);
    let expected = rotation_from_rpy(0.0, 0.0, 0.2) * Vector3::new(-0.04 + 0.015, 0.0, 0.0);
    assert!((frames[2].pose.translation - expected - Vector3::new(0.0, 0.0, 0.3)).norm() < 1e-15);
    assert_eq!(frames[4].pose.translation, Vector3::new(1.0, 2.0, 3.0));
    assert!((frames[4].pose.rotation - rotation_from_rpy(0.1, 0.2, 0.3)).norm() < 1e-14);
    // Only links with a material collide; not with what they are jointed to.
    let pairs: Vec<(usize, usize)> = model.pairs().iter().map(|p| (p.bodies.a, p.bodies.b)).collect();
    assert_eq!(pairs, [(0, 2), (0, 5), (2, 5)]);
    assert_eq!(model.bodies()[2].geometries[0].x_bg.translation, Vector3::new(0.0, 0.0, -0.03));
    assert_eq!(scene.commands[0].at(1.0), 0.0, "no force where no command is given");
    // Warnings: two for the mesh that is absent, two for the joint that starts beyond its limit.
    let warned = |part: &str| scene.warnings.iter().filter(|w| w.contains(part)).count();
    assert_eq!([warned("finger.obj"), warned("beyond its limit 0.005")], [2, 2], "{:?}", scene.warnings);
    run(&scene, 0.02);
}

#[test]
fn actuators_without_an_effort_have_that_of_the_robots_joints() {
    let folder = Folder::new("effort");
    let actuator = |name: &str, joints: &str, rest: &str| {
        format!("[[actuators]]\nname = \"{name}\"\njoints = [{joints}]\ndrive = \"force\"\n{rest}\n")
    };
    let [left, right] = ["\"close left\"", "\"close right\""];
    let both = format!("{left}, {right}");
    let slide = "[[bodies]]\nname = \"slide\"\nmass = 1\ninertia = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]\n\
                 joint = { type = \"prismatic\", axis = [1, 0, 0] }\n";
    let actuators = [
        actuator("left", left, ""),
        actuator("both", &both, ""),
        actuator("stated", &both, "effort = 20"),
        actuator("body", "\"slide\"", ""),
        actuator("mixed", &format!("\"slide\", {left}"), ""),
    ];
    let rest = format!("{slide}{}", actuators.concat());
    let efforts = |urdf: &str| -> Vec<f64> {
        folder.file("gripper.urdf", urdf);
        let scene = load(&folder, &format!("{MATERIALS}[[robots]]\nurdf = \"gripper.urdf\"\n{rest}"));
        scene.model.actuators().iter().map(|a| a.effort).collect()
    };
    let none = f64::INFINITY;
    assert_eq!(efforts(GRIPPER), [10.0, 10.0, 20.0, none, 10.0]);
    let weak = GRIPPER.replacen("effort=\"10\"", "effort=\"30\"", 1);
    assert_eq!(efforts(&weak), [30.0, 10.0, 20.0, none, 30.0]);
    // 0 says nothing.
    assert_eq!(efforts(&weak.replace("effort=\"10\"", "effort=\"0\"")), [30.0, 30.0, 20.0, none, 30.0]);
}

#[test]
fn a_link_whose_mesh_is_there_collides() {
    let folder = Folder::new("mesh");
    let scene = robot_scene(&folder, "packages = [\"ros\"]\nmaterials = { right = \"rigid\" }", BALL);
    let path = folder.file("scene.toml", &scene);
    let error = Scene::load(&path).expect_err("no mesh").to_string();
    for part in ["scene.toml:", "robots[0].materials.right", "finger.obj", "ros"] {
        assert!(error.contains(part), "`{part}` is not in: {error}");
    }
    folder.file("ros/gripper/finger.obj", TETRAHEDRON);
    let rigid = Scene::load(&path).expect("valid");
    assert_eq!(rigid.model.pairs().len(), 1);
    let mirrored = GRIPPER.replace("scale=\"1 1 1\"", "scale=\"-1 2 1\"");
    folder.file("gripper.urdf", mirrored);
    let scene = Scene::load(&path).expect("valid");
    let volume = |s: &Scene| s.model.bodies()[3].geometries[0].unit_mass.expect("a volume").mass;
    assert!((volume(&scene) / volume(&rigid) - 2.0).abs() < 1e-12);
}

#[test]
fn a_robot_need_not_touch_itself() {
    let folder = Folder::new("self-contact");
    folder.file("ros/gripper/finger.obj", TETRAHEDRON);
    let pairs = |extra: &str| {
        let robot = "packages = [\"ros\"]\nmaterials = { left = \"foam\", right = \"rigid\" }";
        load(&folder, &robot_scene(&folder, &format!("{robot}\n{extra}"), BALL)).model.pairs().len()
    };
    assert_eq!([pairs(""), pairs("self_contact = false")], [3, 2]);
}

/// Numbers agree but for rounding, the rest is equal.
fn assert_close(a: &Value, b: &Value) {
    match (a, b) {
        (Value::Object(x), Value::Object(y)) => {
            assert!(x.keys().eq(y.keys()));
            x.values().zip(y.values()).for_each(|(x, y)| assert_close(x, y));
        }
        (Value::Array(x), Value::Array(y)) => {
            assert_eq!(x.len(), y.len());
            x.iter().zip(y).for_each(|(x, y)| assert_close(x, y));
        }
        (Value::Number(x), Value::Number(y)) => {
            let [x, y] = [x, y].map(|n| n.as_f64().expect("a number"));
            assert!((x - y).abs() <= 1e-9 * x.abs().max(y.abs()) + 1e-12, "{x} {y}");
        }
        _ => assert_eq!(a, b),
    }
}

/// Contact of links is that of free bodies where they are, with their velocities.
#[test]
fn contact_of_links_is_that_of_bodies_at_their_poses() {
    let folder = Folder::new("contact");
    let jointed = format!(
        "{MATERIALS}
[[bodies]]
name = \"finger\"
joint = {{ type = \"prismatic\", axis = [1, 0, 0], translation = [-0.0390625, 0, 0.28], position = 0.00390625, velocity = 0.1 }}
[[bodies.geometries]]
shape = {{ box = {{ size = [0.02, 0.05, 0.05] }} }}
material = \"foam\"
{BALL}"
    );
    let joint = jointed.lines().find(|l| l.starts_with("joint")).expect("a joint").to_owned();
    let free = jointed.replace(&joint, "translation = [-0.03515625, 0, 0.28]\nlinear_velocity = [0.1, 0, 0]");
    let report = |scene: &str| {
        let scene = folder.file("scene.toml", scene);
        let output = isobar(&["contact", text(&scene), "--json", "--derivatives"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice::<Value>(&output.stdout).expect("JSON")
    };
    let report_of_links = report(&jointed);
    assert!(report_of_links["pairs"][0]["force_on_a"][0].as_f64().expect("a number") < -0.1);
    assert_close(&report_of_links, &report(&free));
    // Neither links without geometry nor connected ones are listed.
    let scene = robot_scene(&folder, "materials = { left = \"foam\" }\ntranslation = [0, 0, 0.3]", BALL);
    let pairs = report(&scene)["pairs"].as_array().expect("pairs").len();
    assert_eq!(pairs, 1);
}

#[test]
fn derivatives_of_a_gripper_pass_the_check() {
    let folder = Folder::new("check");
    let scene = bundled("gripper.toml")
        // Closed on the ball, turned a little and off its middle: a generic state.
        .replace("lower = 0.0", "lower = 0.0\nposition = 0.0163\nvelocity = 0.01")
        .replace(
            "translation = [0, 0, 0.035]",
            "translation = [0.0003, 0.0007, 0.0346]\nrpy = [0.1, 0.2, 0.3]",
        )
        .replace("resolution = 0.012", "resolution = 0.02");
    let path = folder.file("scene.toml", scene);
    let output = isobar(&["gradient-check", text(&path), "--json", "--steps", "3"]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {output:?}"));
    let rows = report["rows"].as_array().expect("rows");
    let of = |input: &str, verdict: &str| {
        rows.iter().filter(|r| r["input"] == input && r["verdict"] == verdict).count()
    };
    for input in ["left.q", "lift.v", "palm.mass", "left finger.inertia[0][0]", "command of squeeze"] {
        assert!(rows.iter().any(|r| r["input"] == input), "{input}");
        assert_eq!(of(input, "wrong"), 0, "{input}");
    }
    for input in ["left.q", "lift.v", "palm.mass", "command of squeeze", "command of lift"] {
        assert!(of(input, "ok") >= 5, "{input}: {}", of(input, "ok"));
    }
    let quantities = ["displacement of joint left after one step", "velocity of joint lift after 3 steps"];
    for quantity in quantities {
        assert!(rows.iter().any(|r| r["quantity"] == quantity && r["verdict"] == "ok"), "{quantity}");
    }
    assert_eq!(output.status.code(), Some(0));
}

/// The bodies of a state have twelve directions each; those of joints follow.
#[test]
fn the_state_of_a_scene_fits_its_model() {
    let folder = Folder::new("state");
    let scene = load(&folder, &format!("{MATERIALS}{EVERY_JOINT}"));
    let nv = scene.model.mechanism().velocity_dimension();
    assert_eq!(scene.state.tangent_dimension(), TANGENT_DIMENSION + 2 * nv);
    assert!(scene.check_motion().is_ok());
    // A body without a mass: all of them are held where the joints put them.
    let text =
        format!("{MATERIALS}{EVERY_JOINT}").replace("name = \"stone\"\ndensity = 2000", "name = \"stone\"");
    let held = Scene::load(folder.file("held.toml", text)).expect("valid for contact");
    let error = held.check_motion().expect_err("no mass").to_string();
    assert!(error.contains("body `stone` moves but has no mass"), "{error}");
    assert_eq!(held.simulation_settings().expect_err("no mass").to_string(), error);
    assert_eq!((held.state.tangent_dimension(), held.commands.len()), (0, 0));
    for (held, frame) in held.model.bodies().iter().zip(frames(&scene)) {
        let Motion::Fixed { x_wb, v_wb } = &held.motion else { panic!("held") };
        assert!((x_wb.translation - frame.pose.translation).norm() < 1e-15);
        assert!((v_wb.translational - frame.velocity.translational).norm() < 1e-15);
    }
}

/// What the simulation says to a scene, by the library and by the command, which agree.
fn message(folder: &Folder, text_of_scene: &str) -> String {
    let path: PathBuf = folder.file("scene.toml", text_of_scene);
    let error =
        Scene::load(&path).and_then(|scene| scene.check_motion()).expect_err(text_of_scene).to_string();
    let out = folder.0.join("out.csv");
    let output = isobar(&["simulate", text(&path), "--until", "0.001", "--out", text(&out)]);
    assert_eq!(output.status.code(), Some(2), "{error}");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(stderr.trim_end(), format!("isobar: {error}"));
    assert_eq!(error.lines().count(), 1, "one line: {error}");
    assert!(!out.exists() && error.contains("scene.toml"), "{error}");
    error
}

#[test]
fn every_bad_joint_and_actuator_is_named() {
    let folder = Folder::new("bad-joints");
    let good = format!("{MATERIALS}{EVERY_JOINT}");
    let with = |old: &str, new: &str| {
        assert!(good.contains(old), "the scene has no `{old}`");
        good.replacen(old, new, 1)
    };
    let robot = |extra: &str| robot_scene(&folder, extra, BALL);
    let cases: Vec<(String, Vec<&str>)> = vec![
        // The tree.
        (
            with("parent = \"stand\"", "parent = \"stnad\""),
            vec!["bodies[1].joint.parent", "`stnad`", "stand"],
        ),
        (
            with("parent = \"stand\"", "parent = \"tip\""),
            vec!["bodies", "`shoulder`", "`slider`", "`tip`", "loop"],
        ),
        (with("parent = \"stand\"", "parent = \"arm\""), vec!["`shoulder`", "loop"]),
        (with("parent = \"stand\"", "parent = \"stone\""), vec!["joint.parent", "`stone`", "free"]),
        (
            with("name = \"shoulder\"", "name = \"slider\""),
            vec!["bodies[2].joint", "`slider`", "bodies[1].joint"],
        ),
        (with("name = \"shoulder\"", "name = \"\""), vec!["bodies[1].joint.name", "\"\"", "empty"]),
        (with("density = 300\n", ""), vec!["bodies[5]", "`puck`", "zero inertia"]),
        (with("density = 800\n", "mass = -1\n"), vec!["bodies[3].mass", "-1", "positive"]),
        (with("mass = 0.2\n", ""), vec!["bodies[4].inertia", "without mass or density"]),
        (
            with(
                "inertia = [[2e-4, 0, 0], [0, 2e-4, 0], [0, 0, 1e-4]]\ncenter_of_mass = [0, 0, -0.05]\n",
                "",
            ),
            vec!["bodies[4]", "`pendulum`", "no finite positive volume", "inertia"],
        ),
        // A joint's numbers.
        (with("lower = -1", "lower = 3"), vec!["bodies[1].joint.lower", "found 3", "upper = 2"]),
        (with("lower = -1", "lower = nan"), vec!["bodies[1].joint.lower", "NaN", "finite"]),
        (with("axis = [0, 2, 0]", "axis = [0, 0, 0]"), vec!["bodies[1].joint.axis", "zero"]),
        (with("axis = [0, 2, 0]\n", ""), vec!["bodies[1].joint.axis", "missing", "revolute"]),
        (
            with("type = \"planar\",", "type = \"planar\", axis = [0, 0, 1],"),
            vec!["bodies[5].joint.axis", "planar"],
        ),
        (
            with("type = \"revolute\"", "type = \"hinge\""),
            vec!["bodies[1].joint.type", "`hinge`", "`revolute`"],
        ),
        (with("damping = 0.02", "damping = -0.02"), vec!["joint.damping", "-0.02", "at least 0"]),
        (with("damping = 0.02", "dampening = 0.02"), vec!["`dampening`", "`damping`"]),
        (with("rotor_inertia = 1e-3", "rotor_inertia = -1"), vec!["joint.rotor_inertia", "at least 0"]),
        // Friction, and joints that follow others.
        (with("rotor_inertia = 1e-3", "friction = -1"), vec!["bodies[1].joint.friction", "-1", "at least 0"]),
        (with("rotor_inertia = 1e-3", "stiction_velocity = 0"), vec!["joint.stiction_velocity", "positive"]),
        (
            with("type = \"planar\",", "type = \"planar\", friction = 1,"),
            vec!["bodies[5].joint.friction", "planar"],
        ),
        (
            with("type = \"planar\",", "type = \"planar\", mimic = { joint = \"shoulder\" },"),
            vec!["bodies[5].joint.mimic", "planar", "only revolute and prismatic"],
        ),
        (
            with("translation = [0.2, 0, 0], position = 0.01", "mimic = { joint = \"elbow\" }"),
            vec!["bodies[2].joint", "`slider`", "the joint that it mimics", "`elbow`, which is no joint"],
        ),
        (
            with("translation = [0.2, 0, 0], position = 0.01", "mimic = { joint = \"puck\" }"),
            vec!["bodies[2].joint", "`puck`, a planar joint", "revolute or prismatic"],
        ),
        (
            with("position = 0.01", "position = 0.01, mimic = { joint = \"shoulder\" }"),
            vec!["bodies[2].joint.position", "beside `mimic`", "`shoulder`"],
        ),
        (
            with("position = 0.01", "mimic = { joint = \"shoulder\", multiplier = 0 }"),
            vec!["bodies[2].joint.mimic.multiplier", "found 0", "fixed"],
        ),
        (
            with("position = 0.01", "mimic = { joint = \"shoulder\", offset = inf }"),
            vec!["bodies[2].joint.mimic.offset", "inf", "finite"],
        ),
        (
            with("position = 0.01", "mimic = { joint = \"shoulder\", ratio = 2 }"),
            vec!["`ratio`", "`multiplier`"],
        ),
        (with("stop_stiffness = 50", "stop_stiffness = 0"), vec!["joint.stop_stiffness", "positive"]),
        (with("stiffness = 2.0, rest", "stiffness = -2.0, rest"), vec!["joint.spring.stiffness", "-2"]),
        (
            with("type = \"planar\",", "type = \"planar\", lower = 0,"),
            vec!["bodies[5].joint.lower", "planar"],
        ),
        (
            with("type = \"planar\",", "type = \"planar\", spring = { stiffness = 1 },"),
            vec!["bodies[5].joint.spring", "planar"],
        ),
        (
            with("position = 0.3", "position = [0.3, 0]"),
            vec!["joint.position", "found 2", "`shoulder`", "has 1"],
        ),
        (with("position = 0.3", "position = \"up\""), vec!["joint.position", "\"up\"", "a number"]),
        (
            with("position = [0.6, 0, 0.8, 0]", "position = [1, 0, 0.8, 0]"),
            vec!["bodies[4].joint.position", "length 1.28"],
        ),
        (
            with("velocity = [0.3, 0, 1]", "velocity = [0.3, 0, inf]"),
            vec!["bodies[5].joint.velocity[2]", "inf"],
        ),
        (
            with("mass = 0.5\n", "mass = 0.5\ntranslation = [0, 0, 1]\n"),
            vec!["bodies[1].translation", "beside joint", "`arm`"],
        ),
        (with("mass = 0.5\n", "mass = 0.5\nfixed = true\n"), vec!["bodies[1].fixed", "beside joint"]),
        // Actuators.
        (
            with("joints = [\"shoulder\"]", "joints = [\"elbow\"]"),
            vec!["actuators[0].joints[0]", "`elbow`", "`shoulder`"],
        ),
        (with("joints = [\"shoulder\"]", "joints = []"), vec!["actuators[0].joints", "at least one"]),
        (
            with("joints = [\"shoulder\"]", "joints = [\"pendulum\"]"),
            vec!["joints[0]", "`pendulum`", "ball", "none"],
        ),
        (
            with("coordinate = 2", "coordinate = 3"),
            vec!["actuators[1].joints[1]", "`puck`", "coordinate 3", "0, 1, 2"],
        ),
        (with("ratio = -0.5", "ratio = inf"), vec!["actuators[1].joints[1].ratio", "inf"]),
        (with("ratio = -0.5", "ration = -0.5"), vec!["`ration`", "`ratio`"]),
        (with("name = \"reach\"", "name = \"bend\""), vec!["actuators[1].name", "`bend`", "actuators[0]"]),
        (
            with("velocity = { damping = 0.5 }", "speed = { damping = 0.5 }"),
            vec!["drive", "`speed`", "`velocity`"],
        ),
        (with("damping = 0.5 }", "damping = -0.5 }"), vec!["actuators[0].drive.velocity.damping", "-0.5"]),
        (with("effort = 3", "effort = 0"), vec!["actuators[0].effort", "positive"]),
        (with("command = 0.05\n", ""), vec!["actuators[1].command", "missing", "position"]),
        (with("command = 0.05", "command = \"go\""), vec!["actuators[1].command", "\"go\"", "times"]),
        (
            with("times = [0, 0.1]", "times = [0, 0]"),
            vec!["actuators[0].command.times[1]", "knot 1 is at 0 s"],
        ),
        (with("times = [0, 0.1]", "times = []"), vec!["actuators[0].command.times", "no knots"]),
        (
            with("values = [0.5, -0.5]", "values = [0.5]"),
            vec!["actuators[0].command.values", "1 values at 2 knots"],
        ),
        (with("values = [0.5, -0.5]", "values = [nan, 0]"), vec!["command.values[0]", "NaN"]),
        (with("values = [0.5,", "interpolation = \"smooth\", values = [0.5,"), vec!["`smooth`", "`cubic`"]),
        (
            with(
                "times = [0, 0.1], values = [0.5, -0.5]",
                "times = [0, 1, 3], values = [1, 2, 3], interpolation = \"cubic\"",
            ),
            vec!["command.times[", "equally spaced"],
        ),
        // Robots.
        (
            robot("").replace("gripper.urdf", "none.urdf"),
            vec!["robots[0].urdf", "none.urdf", "cannot be read"],
        ),
        (robot("prefixes = \"a\""), vec!["`prefixes`", "`prefix`"]),
        (robot("base = \"floating\""), vec!["robots[0].base", "`floating`", "`free`"]),
        (robot("materials = { leff = \"foam\" }"), vec!["robots[0].materials.leff", "no link", "left"]),
        (robot("materials = { left = \"foan\" }"), vec!["robots[0].materials.left", "`foan`", "foam"]),
        (
            robot("materials = { palm = \"foam\" }"),
            vec!["robots[0].materials.palm", "no collision geometry", "left, right"],
        ),
        (robot("positions = { close = 1 }"), vec!["robots[0].positions.close", "no joint", "close left"]),
        (robot("positions = { \"close left\" = [1, 2] }"), vec!["robots[0].positions.close left", "found 2"]),
        (robot("resolution = 0"), vec!["robots[0].resolution", "positive"]),
        (
            robot("[[robots]]\nurdf = \"gripper.urdf\"\n"),
            vec!["robots[1].prefix", "`palm`", "robots[0]", "prefix"],
        ),
        (
            robot("base = \"free\"\npositions = { palm = [1, 0, 0, 0, 0, 0, 0] }"),
            vec!["robots[0].positions.palm", "base"],
        ),
    ];
    let mut missing = Vec::new();
    for (scene, parts) in cases {
        let error = message(&folder, &scene);
        missing.extend(
            parts.iter().filter(|p| !error.contains(**p)).map(|p| format!("`{p}` is not in: {error}")),
        );
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

#[test]
fn json_is_the_same_scene() {
    let folder = Folder::new("json");
    let toml = format!("{MATERIALS}{EVERY_JOINT}");
    let table: toml::Table = toml.parse().expect("TOML");
    let json = folder.file("scene.json", serde_json::to_string_pretty(&table).expect("JSON"));
    let (a, b) = (load(&folder, &toml), Scene::load(&json).expect("valid"));
    assert_eq!(run(&a, 0.02), run(&b, 0.02), "to the last bit");
    let text_of_json = std::fs::read_to_string(&json).expect("read");
    let line = text_of_json.lines().position(|l| l.contains("\"lower\"")).expect("a limit") + 1;
    let bad = folder.file("bad.json", text_of_json.replace("\"lower\": -1", "\"lower\": 3"));
    let error = Scene::load(bad).expect_err("reversed").to_string();
    assert!(error.contains(&format!("bad.json:{line}: bodies[1].joint.lower: found 3")), "{error}");
    let double = "{\"robots\": [{\"urdf\": \"a\", \"positions\": {\"x\": 1, \"x\": 2}}]}";
    let error = Scene::load(folder.file("double.json", double)).expect_err("twice");
    assert!(error.to_string().contains("`x` is defined twice"), "{error}");
}

#[test]
fn trajectories_of_scenes_with_joints_are_refused_and_sensors_are_checked() {
    let folder = Folder::new("fit");
    folder.file("scene.toml", format!("{MATERIALS}{EVERY_JOINT}"));
    folder.file(
        "motion.csv",
        "t_s,px_m,py_m,pz_m,qw,qx,qy,qz,vx_m_s,vy_m_s,vz_m_s,wx_rad_s,wy_rad_s,wz_rad_s\n\
         0,0,0,0,1,0,0,0,0,0,0,0,0,0\n0.1,0,0,0,1,0,0,0,0,0,0,0,0,0\n",
    );
    folder.file("log.csv", "t_s,shoulder.q\n0,0.1\n0.01,0.2\n");
    let refused = |measured: &str| {
        let parameter = "[[parameters]]\nname = \"materials.foam.friction\"\ninitial = 0.5\n";
        let text_of_fit = format!("scene = \"scene.toml\"\n{parameter}{measured}");
        let output = isobar(&["fit", text(&folder.file("fit.toml", text_of_fit))]);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        stderr
    };
    let trajectories = "[[trajectories]]\nbody = \"x\"\nfiles = [\"motion.csv\"]\nposition_sigma = 1e-3\n\
                        orientation_sigma = 1e-2\n";
    let joints = refused(trajectories);
    assert!(
        joints.contains("joint `shoulder` of the scene moves") && joints.contains("use `recordings`"),
        "{joints}"
    );
    let sensed = |channel: &str, more: &str| {
        refused(&format!(
            "[[sensors]]\nname = \"robot\"\nchannels = [{channel}]\n[[recordings]]\nfiles = [\"log.csv\"]\n{more}"
        ))
    };
    let unknown = sensed(
        "{ quantity = \"joint_position\", of = \"knee\", sigma = 1e-3, columns = [\"shoulder.q\"] }",
        "",
    );
    assert!(
        unknown.contains("sensors: no joint with one coordinate `knee`; there are: `shoulder`"),
        "{unknown}"
    );
    let column = sensed("{ quantity = \"joint_velocity\", of = \"shoulder\", sigma = 1e-3 }", "");
    assert!(column.contains("log.csv: no column `shoulder.v`; the columns found are"), "{column}");
    let good = "{ quantity = \"joint_position\", of = \"shoulder\", sigma = 1e-3 }";
    let command = sensed(good, "commands = { motor = \"u\" }\n");
    assert!(
        command.contains("recordings[0].commands: found `motor`; the scene's actuators are"),
        "{command}"
    );
    let sigma = sensed(&good.replace("1e-3", "0.0"), "");
    assert!(sigma.contains("`sigma` is 0, it must be positive"), "{sigma}");
    let no_sensors = refused("[[recordings]]\nfiles = [\"log.csv\"]\n");
    assert!(
        no_sensors.contains("sensors: missing; they say what the columns of recordings are"),
        "{no_sensors}"
    );
}

#[test]
fn a_urdf_with_a_loop_or_joints_that_mimic_none_names_its_file() {
    let folder = Folder::new("bad-urdf");
    let scene = robot_scene(&folder, "", BALL);
    let mimic = |joint: &str| {
        let mimic = format!("<axis xyz=\"-1 0 0\"/><mimic joint=\"{joint}\"/>");
        GRIPPER.replacen("<axis xyz=\"-1 0 0\"/>", &mimic, 1)
    };
    folder.file("gripper.urdf", mimic("close lift"));
    let error = message(&folder, &scene);
    assert!(error.contains("gripper.urdf") && error.contains("`close lift`, which is no joint"), "{error}");
    folder.file("gripper.urdf", mimic("close left"));
    let follower = scene.replace("urdf =", "positions = { \"close right\" = 0.01 }\nurdf =");
    let error = message(&folder, &follower);
    assert!(error.contains("robots[0].positions.close right") && error.contains("`close left`"), "{error}");
    let driven =
        format!("{scene}[[actuators]]\nname = \"a\"\njoints = [\"close right\"]\ndrive = \"force\"\n");
    let error = message(&folder, &driven);
    assert!(
        error.contains("actuators[0].joints[0]") && error.contains("follows joint `close left`"),
        "{error}"
    );
    let one = load(&folder, &scene);
    assert_eq!(one.state.joints.v.len() + 1, one.model.mechanism().joints().len());
    // Trajectories have the coordinates that there are.
    let out = folder.0.join("moved.csv");
    let path = folder.0.join("scene.toml");
    let output = isobar(&["simulate", text(&path), "--until", "0.004", "--out", text(&out), "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let states = TrajectoryTable::read(&out).expect("a trajectory");
    assert_eq!(states.joints.len(), one.state.joints.v.len());
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(report["joints"].as_array().map(Vec::len), Some(one.state.joints.v.len()));
    let independent = scene.replace("urdf =", "independent_mimic_joints = true\nurdf =");
    load(&folder, &independent);
    folder.file("gripper.urdf", GRIPPER.replacen("<parent link=\"palm\"/>", "<parent link=\"left\"/>", 1));
    let error = message(&folder, &scene);
    assert!(error.contains("robots[0].urdf") && error.contains("gripper.urdf"), "{error}");
    assert!(error.contains("loop"), "{error}");
}

#[test]
fn friction_of_joints_beyond_their_effort_is_told_and_can_be_replaced() {
    let folder = Folder::new("joint-friction");
    let drive = "drive = { position = { stiffness = 300, damping = 3 } }\n";
    let scene = robot_scene(&folder, drive, BALL);
    let limit = "<limit lower=\"-0.01\"";
    folder.file("gripper.urdf", GRIPPER.replacen(limit, &format!("<dynamics friction=\"12\"/>{limit}"), 1));
    let friction = |scene: &Scene| -> Vec<f64> {
        scene.model.mechanism().joints().iter().map(|joint| joint.friction).collect()
    };
    let told = |scene: &Scene| scene.warnings.iter().find(|w| w.contains("joint_friction")).cloned();
    let sticky = load(&folder, &scene);
    assert_eq!(friction(&sticky), [12.0, 0.0]);
    let warning = told(&sticky).expect("a warning");
    assert!(warning.contains("robots[0].drive") && warning.contains("close left"), "{warning}");
    assert!(!warning.contains("close right"), "{warning}");
    let replaced = load(&folder, &scene.replace(drive, &format!("{drive}joint_friction = 0.5\n")));
    assert_eq!((friction(&replaced), told(&replaced)), (vec![0.5, 0.5], None));
    // Without drives nobody says what the file's friction is for.
    assert_eq!(told(&load(&folder, &scene.replace(drive, ""))), None);
    let error = message(&folder, &scene.replace(drive, "joint_friction = -1\n"));
    assert!(error.contains("robots[0].joint_friction") && error.contains("at least 0"), "{error}");
}

#[test]
fn a_robot_has_drives_on_all_its_joints_and_links_that_do_not_touch() {
    let folder = Folder::new("driven-robot");
    let drive = "drive = { position = { stiffness = 300, damping = 3 } }\npositions = { \"close left\" = 0.015, \"close right\" = 0.01 }\n";
    let materials = "materials = { left = \"foam\", right = \"foam\" }";
    let robot = |extra: &str| {
        let scene = robot_scene(&folder, &format!("prefix = \"a \"\n{drive}{materials}\n{extra}"), BALL);
        let mesh = "<mesh filename=\"package://gripper/finger.obj\" scale=\"1 1 1\"/>";
        assert!(GRIPPER.contains(mesh));
        folder.file("gripper.urdf", GRIPPER.replace(mesh, "<box size=\"0.02 0.04 0.06\"/>"));
        scene
    };
    let plain = robot("commands = { \"close right\" = 0.02 }\n");
    let scene = load(&folder, &plain);
    let actuators = scene.model.actuators();
    let found: Vec<(&str, f64)> = actuators.iter().map(|a| (a.name.as_str(), a.effort)).collect();
    let moving = scene.model.mechanism().joints().len();
    assert_eq!(found.len(), moving);
    assert!(found.contains(&("a close left", 10.0)) && found.contains(&("a close right", 10.0)), "{found:?}");
    let command = |name: &str| {
        let index = actuators.iter().position(|a| a.name == name).expect("there");
        scene.commands[index].at(0.0)
    };
    assert_eq!((command("a close left"), command("a close right")), (0.015, 0.02));
    // A table of its own goes before.
    let own = "[[actuators]]\nname = \"own\"\njoints = [\"a close left\"]\ndrive = \"force\"\n";
    let mixed = load(&folder, &format!("{}{own}", robot("")));
    assert_eq!(mixed.model.actuators().len(), moving);
    assert_eq!(mixed.model.actuators()[0].name, "own");
    let twice = own.replace("\"own\"", "\"a close right\"");
    let error = message(&folder, &format!("{}{twice}", robot("")));
    assert!(error.contains("robots[0].drive") && error.contains("`a close right`"), "{error}");
    let unknown = message(&folder, &robot("commands = { elbow = 0.02 }\n"));
    assert!(unknown.contains("robots[0].commands.elbow") && unknown.contains("close left"), "{unknown}");
    let without = message(&folder, &robot("commands = { \"close left\" = 0.02 }\n").replace(drive, ""));
    assert!(without.contains("robots[0].commands") && without.contains("without `drive`"), "{without}");
    // Drives that carry the weight: the joints stay where they are.
    let light = load(&folder, &robot("gravity_compensation = true\n"));
    let moved = run(&light, 0.1);
    let last = moved.states.last().expect("states");
    assert!(last.joints.v.iter().all(|v| v.abs() < 1e-9), "{:?}", last.joints.v);
    assert!(last.bodies[0].velocity.translational.z < -0.1, "what is held has its weight");
    let free = message(&folder, &robot("gravity_compensation = true\nbase = \"free\"\n"));
    assert!(free.contains("robots[0].gravity_compensation") && free.contains("free base"), "{free}");
    // Pairs of an SRDF file.
    let touching = |scene: &Scene| {
        let body = |name: &str| scene.model.body_index(name).expect("a body");
        scene.model.pairs_of(BodyPair::of(body("a left"), body("a right"))).count()
    };
    assert_eq!(touching(&scene), 1);
    folder.file("gripper.srdf", "<robot name=\"gripper\"><disable_collisions link1=\"left\" link2=\"right\" reason=\"Never\"/></robot>");
    assert_eq!(touching(&load(&folder, &robot("srdf = \"gripper.srdf\"\n"))), 0);
    folder.file(
        "gripper.srdf",
        "<robot name=\"gripper\">\n<disable_collisions link1=\"left\" link2=\"thumb\"/></robot>",
    );
    let error = message(&folder, &robot("srdf = \"gripper.srdf\"\n"));
    for part in ["robots[0].srdf", "gripper.srdf", "2", "link2 is `thumb`", "palm"] {
        assert!(error.contains(part), "`{part}` is not in: {error}");
    }
}
