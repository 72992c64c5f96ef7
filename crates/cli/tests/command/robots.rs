//! Robots from URDF files: numbers measured with Drake 1.51.1 (`tests/reference/multibody/*.json`,
//! which say how), what the format can say, and what is wrong with bad files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use isobar::geometry::Shape;
use isobar::io::FileError;
use isobar::io::robot::{LinkGeometry, MimicJoints, Robot, RobotBase, RobotOptions};
use isobar::multibody::ModelError;
use isobar::multibody::tree::{JointKind, Mechanism, Workspace};
use isobar::spatial::RigidTransform;
use nalgebra::{DMatrix, Vector3};
use serde_json::{Value, json};

use crate::folder::Folder;
use crate::isobar;

fn model(arguments: &[&str]) -> Output {
    isobar(&[&["model"], arguments].concat())
}

/// The folder of models.
fn models() -> PathBuf {
    Path::new(crate::ROOT).join("../shared/data/models")
}

/// The two arms with their reference.
const ARMS: [(&str, &str); 2] =
    [("jaco/j2n6s300.urdf", "j2n6s300.json"), ("franka/panda_arm_hand.urdf", "panda_arm_hand.json")];

fn reference(name: &str) -> Value {
    let path = Path::new(crate::ROOT).join("tests/reference/multibody").join(name);
    serde_json::from_str(&fs::read_to_string(path).expect("the reference")).expect("JSON")
}

/// All numbers of a value, in order.
fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(parts) => parts.iter().flat_map(numbers).collect(),
        value => vec![value.as_f64().expect("a number")],
    }
}

/// Numbers agree to 10⁻¹⁰ of the largest of them.
fn assert_agree(got: &[f64], expected: &[f64], what: &str) {
    assert_eq!(got.len(), expected.len(), "{what}");
    let scale = expected.iter().fold(0.0f64, |s, x| s.max(x.abs()));
    for (g, e) in got.iter().zip(expected) {
        assert!((g - e).abs() <= 1e-10 * scale, "{what}: {g} {e}, largest {scale}");
    }
}

/// The rows of a 3×3 matrix one after another.
fn rows(x: &RigidTransform) -> Vec<f64> {
    x.rotation.transpose().as_slice().to_vec()
}

/// An arm's file without its transmissions, as the reference is of it.
fn without_transmissions(urdf: &str, folder: &Folder) -> PathBuf {
    let text = std::fs::read_to_string(models().join(urdf)).expect("a model");
    let mut parts = text.split("<transmission");
    let mut rest = parts.next().expect("a beginning").to_owned();
    parts.for_each(|part| rest += part.split_once("</transmission>").expect("an end").1);
    folder.file("arm.urdf", rest)
}

/// An arm of five joints that lies beside its reference.
fn small_arm() -> PathBuf {
    Path::new(crate::ROOT).join("tests/reference/multibody/small_arm.urdf")
}

#[test]
fn a_small_arm_agrees_with_drake() {
    agrees_with(&small_arm(), "small_arm.json");
}

#[test]
#[ignore = "needs the recordings and models in ../shared/data"]
fn arms_agree_with_drake() {
    let folder = Folder::new("arms");
    for (urdf, name) in ARMS {
        agrees_with(&without_transmissions(urdf, &folder), name);
    }
}

/// The masses, forces and poses of a robot are those of a reference.
pub(crate) fn agrees_with(file: &Path, name: &str) {
    let robot = Robot::load(file, &RobotOptions::default()).expect("a robot");
    let m = &robot.mechanism;
    let n = m.velocity_dimension();
    let reference = reference(name);
    let joints: Vec<&str> = m.joints().iter().map(|j| j.name.as_str()).collect();
    assert_eq!(json!(joints), reference["joint_order"]);
    let mass: f64 = m.bodies().iter().filter_map(|b| Some(b.mass?.mass)).sum();
    assert_agree(&[mass], &numbers(&reference["total_mass"]), "mass");
    let mut workspace = Workspace::new(m);
    let (mut matrix, mut tau) = (DMatrix::zeros(n, n), vec![0.0; n]);
    let states = reference["states"].as_array().expect("states");
    assert!(states.len() >= 6);
    for state in states {
        let [q, v, vdot] = ["q", "v", "vdot"].map(|k| numbers(&state[k]));
        m.update_kinematics(&q, &v, &mut workspace);
        m.mass_matrix(&mut workspace, &mut matrix);
        assert_agree(matrix.as_slice(), &numbers(&state["mass_matrix"]), "mass matrix");
        let zero = Vector3::zeros();
        m.inverse_dynamics(&mut workspace, &vdot, &zero, &[], &mut tau);
        assert_agree(&tau, &numbers(&state["inverse_dynamics_without_gravity"]), "inverse dynamics");
        m.inverse_dynamics(&mut workspace, &vec![0.0; n], &zero, &[], &mut tau);
        assert_agree(&tau, &numbers(&state["bias"]), "bias");
        m.gravity_forces(&mut workspace, &Vector3::new(0.0, 0.0, -9.81), &mut tau);
        assert_agree(&tau, &numbers(&state["gravity_generalized_force"]), "gravity");
        let energy = m.kinetic_energy(&workspace, &v);
        assert_agree(&[energy], &numbers(&state["kinetic_energy"]), "kinetic energy");
        for (body, pose) in state["body_poses"].as_object().expect("poses") {
            let x_wb = workspace.body_pose(m, m.body_index(body).expect("a body"));
            assert_agree(&rows(&x_wb), &numbers(&pose["R"]), body);
            assert_agree(x_wb.translation.as_slice(), &numbers(&pose["p"]), body);
        }
    }
}

#[test]
fn the_command_prints_what_drake_has_of_a_small_arm() {
    prints_what_drake_has(&small_arm(), "small_arm.json");
}

#[test]
#[ignore = "needs the recordings and models in ../shared/data"]
fn the_command_prints_what_drake_has() {
    let folder = Folder::new("arms");
    for (urdf, name) in ARMS {
        let told = prints_what_drake_has(&without_transmissions(urdf, &folder), name);
        // Meshes that would only be drawn are not missed.
        assert!(!told.contains("package://drake_models/"), "{told}");
    }
}

/// What the command says on standard error besides.
fn prints_what_drake_has(urdf: &Path, name: &str) -> String {
    let folder = Folder::new("command");
    let reference = reference(name);
    let urdf = urdf.to_str().expect("a name");
    for (i, state) in reference["states"].as_array().expect("states").iter().take(3).enumerate() {
        let mut input = json!({ "q": state["q"], "v": state["v"], "vdot": state["vdot"] });
        if i == 1 {
            // The same with the joints named in another order.
            for list in input.as_object_mut().expect("lists").values_mut() {
                list.as_array_mut().expect("a list").reverse();
            }
            let mut names = reference["joint_order"].clone();
            names.as_array_mut().expect("names").reverse();
            input["joints"] = names;
        }
        let file = folder.file("state.json", input.to_string());
        let output = model(&[urdf, "--state", file.to_str().expect("a name"), "--json"]);
        assert!(output.status.success());
        let got: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(got["joints"], reference["joint_order"]);
        for field in ["mass_matrix", "inverse_dynamics_without_gravity", "gravity_generalized_force"] {
            assert_agree(&numbers(&got[field]), &numbers(&state[field]), field);
        }
        for (body, pose) in state["body_poses"].as_object().expect("poses") {
            let got = &got["body_poses"][body];
            assert_agree(&numbers(&got["rotation_matrix"]), &numbers(&pose["R"]), body);
            assert_agree(&numbers(&got["translation"]), &numbers(&pose["p"]), body);
        }
    }
    let text = model(&[urdf]);
    assert!(text.status.success());
    let out = String::from_utf8_lossy(&text.stdout);
    assert!(out.contains("mass matrix") && out.contains("positions of the bodies"));
    String::from_utf8_lossy(&text.stderr).into_owned()
}

#[test]
#[ignore = "needs the recordings and models in ../shared/data"]
fn all_models_load_unchanged() {
    let models = models();
    for urdf in [ARMS[0].0, ARMS[1].0, "allegro/allegro_hand_description_right.urdf"] {
        for base in [RobotBase::Fixed { x_wb: RigidTransform::identity() }, RobotBase::Free] {
            let options = RobotOptions { base, ..RobotOptions::default() };
            let robot = Robot::load(&models.join(urdf), &options).expect("a robot");
            let free = if base == RobotBase::Free { 6 } else { 0 };
            assert!(robot.mechanism.velocity_dimension() >= 9 + free);
            assert_eq!(
                robot.mechanism.trees().len(),
                if free > 0 || !urdf.contains("allegro") { 1 } else { 4 }
            );
            assert!(!robot.warnings.iter().any(|w| w.contains("drake_models")), "{:?}", robot.warnings);
            assert!(!robot.collisions.is_empty());
            let known = |name: &str| robot.mechanism.body_index(name).is_some();
            assert!(robot.collisions.iter().all(|c| known(&c.body) && c.mesh_file() == Ok(None)));
        }
    }
}

/// A robot of two links.
const GOOD: &str = r#"<?xml version="1.0"?>
<robot name="two">
  <link name="base"/>
  <link name="arm">
    <inertial>
      <origin xyz="0.1 0.2 0.3" rpy="0.3 -0.2 0.1"/>
      <mass value="2"/>
      <inertia ixx="0.03" ixy="0.001" ixz="0" iyy="0.04" iyz="-0.002" izz="0.05"/>
    </inertial>
    <collision><geometry><box size="0.1 0.2 0.3"/></geometry></collision>
  </link>
  <joint name="hinge" type="revolute">
    <parent link="base"/>
    <child link="arm"/>
    <origin xyz="0 0 1" rpy="0 0.5 0"/>
    <axis xyz="0 3 4"/>
    <limit lower="-1" upper="2" effort="30" velocity="4"/>
    <dynamics damping="0.7"/>
  </joint>
</robot>"#;

fn parse(text: &str) -> Result<Robot, FileError> {
    Robot::parse(text, Path::new("two.urdf"), &RobotOptions::default())
}

/// The file with one part replaced.
fn with(old: &str, new: &str) -> String {
    assert_eq!(GOOD.matches(old).count(), 1, "{old}");
    GOOD.replace(old, new)
}

#[test]
fn links_and_joints_are_read() {
    let robot = parse(GOOD).expect("a robot");
    let m: &Mechanism = &robot.mechanism;
    assert_eq!((robot.name.as_str(), m.bodies().len(), m.joints().len()), ("two", 2, 1));
    assert!(robot.warnings.is_empty());
    let joint = &m.joints()[0];
    assert_eq!(joint.kind, JointKind::Revolute { axis: Vector3::new(0.0, 0.6, 0.8) });
    let limits = &joint.limits;
    assert_eq!((limits.lower, limits.upper, limits.effort, limits.velocity), (-1.0, 2.0, 30.0, 4.0));
    assert_eq!((joint.damping, joint.child), (0.7, 1));
    let mass = m.bodies()[1].mass.expect("mass");
    assert_eq!((mass.mass, mass.center_of_mass), (2.0, Vector3::new(0.1, 0.2, 0.3)));
    let r = nalgebra::Rotation3::from_euler_angles(0.3, -0.2, 0.1);
    let own = nalgebra::Matrix3::new(0.03, 0.001, 0.0, 0.001, 0.04, -0.002, 0.0, -0.002, 0.05);
    assert!((mass.inertia - r * own * r.transpose()).amax() < 1e-16);
    assert_eq!(robot.collisions[0].geometry, LinkGeometry::Primitive(Shape::Box { size: [0.1, 0.2, 0.3] }));
    // An inertia that breaks the triangle inequality is a warning.
    let thin = parse(&with("izz=\"0.05\"", "izz=\"0.09\"")).expect("a robot");
    assert!(thin.warnings[0].contains("link `arm`: its inertia"), "{:?}", thin.warnings);
    // Rounding in that of a point mass is none.
    let inertia = "ixx=\"0.03\" ixy=\"0.001\" ixz=\"0\" iyy=\"0.04\" iyz=\"-0.002\" izz=\"0.05\"";
    let point = "ixx=\"0\" ixy=\"0\" ixz=\"2.40741e-35\" iyy=\"-5.4e-20\" iyz=\"0\" izz=\"0\"";
    assert!(parse(&with(inertia, point)).expect("a robot").warnings.is_empty());
    // One for all links of a robot.
    let inertial = "<inertial><mass value=\"2\"/><inertia ixx=\"0.01\" ixy=\"0\" ixz=\"0\" iyy=\"0.01\" iyz=\"0\" izz=\"0.1\"/></inertial>";
    let text = with("izz=\"0.05\"", "izz=\"0.09\"")
        .replace(r#"<link name="base"/>"#, &format!(r#"<link name="base">{inertial}</link>"#));
    let told = parse(&text).expect("a robot").warnings;
    assert!(told.len() == 1 && told[0].starts_with("link `base`: its inertia"), "{told:?}");
    assert!(told[0].ends_with("kg m²; so it is with arm"), "{told:?}");
    // Without the element there are no limits; a continuous joint has none of position.
    let limit = r#"<limit lower="-1" upper="2" effort="30" velocity="4"/>"#;
    let free = parse(&with(limit, "")).expect("a robot").mechanism.joints()[0].limits;
    assert_eq!((free.lower, free.upper, free.effort), (f64::NEG_INFINITY, f64::INFINITY, f64::INFINITY));
    let turning = parse(&with("revolute", "continuous")).expect("a robot").mechanism.joints()[0].limits;
    assert_eq!((turning.lower, turning.upper, turning.effort), (f64::NEG_INFINITY, f64::INFINITY, 30.0));
}

#[test]
fn joints_of_all_types_are_read() {
    let limit = r#"<limit lower="-1" upper="2" effort="30" velocity="4"/>"#;
    for (name, kind) in [
        ("prismatic", JointKind::Prismatic { axis: Vector3::new(0.0, 0.6, 0.8) }),
        ("planar", JointKind::Planar),
        ("spherical", JointKind::Ball),
        ("floating", JointKind::Free),
    ] {
        let robot = parse(&with("revolute", name)).expect("a robot");
        assert_eq!(robot.mechanism.joints()[0].kind, kind);
        assert!(parse(&with(limit, "").replace("revolute", name)).is_ok());
    }
    // The axis of a planar joint is its normal, and at zero the child lies on the joint's frame.
    for (axis, normal) in
        [("0 3 4", [0.0, 0.6, 0.8]), ("0 0 -1", [0.0, 0.0, -1.0]), ("0 0 1", [0.0, 0.0, 1.0])]
    {
        let robot = parse(&with("revolute", "planar").replace("0 3 4", axis)).expect("a robot");
        let m = &robot.mechanism;
        let mut workspace = Workspace::new(m);
        let origin = isobar::spatial::rotation_from_rpy(0.0, 0.5, 0.0);
        m.update_kinematics(&[0.0; 3], &[0.3, 0.4, 2.0], &mut workspace);
        assert!((workspace.body_pose(m, 1).rotation - origin).amax() < 1e-15);
        let velocity = workspace.body_velocity(m, 1);
        let normal = origin * Vector3::from(normal);
        assert!((velocity.rotational - normal * 2.0).amax() < 1e-15);
        assert!(velocity.translational.dot(&normal).abs() < 1e-15);
        assert!((velocity.translational.norm() - 0.5).abs() < 1e-15);
    }
    let fixed = parse(&with("revolute", "fixed")).expect("a robot");
    assert_eq!(fixed.mechanism.velocity_dimension(), 0);
}

#[test]
fn bases_and_the_world() {
    let free = RobotOptions { base: RobotBase::Free, ..RobotOptions::default() };
    let base = with(r#"<link name="base"/>"#, &GOOD_LINK.replace("NAME", "base"));
    let robot = Robot::parse(&base, Path::new("two.urdf"), &free).expect("a robot");
    let names: Vec<&str> = robot.mechanism.joints().iter().map(|j| j.name.as_str()).collect();
    assert_eq!((names, robot.mechanism.configuration_dimension()), (vec!["base", "hinge"], 8));
    // The world is there without a link of that name.
    let on_world =
        with(r#"<link name="base"/>"#, "").replace(r#"parent link="base""#, r#"parent link="world""#);
    assert_eq!(parse(&on_world).expect("a robot").mechanism.bodies().len(), 1);
}

const GOOD_LINK: &str = r#"<link name="NAME"><inertial><mass value="1"/>
    <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>"#;

#[test]
fn meshes_are_found_in_packages() {
    let folder = Folder::new("meshes");
    let mesh = |name: &str| format!(r#"<mesh filename="{name}" scale="1 2 3"/>"#);
    let shape = r#"<box size="0.1 0.2 0.3"/>"#;
    let urdf = folder.file("arm/urdf/arm.urdf", with(shape, &mesh("package://arm/meshes/a.obj")));
    let load = |packages: &[PathBuf]| {
        let options = RobotOptions { package_path: packages.to_vec(), ..RobotOptions::default() };
        Robot::load(&urdf, &options).expect("a robot")
    };
    // An absent mesh is a warning, and an error where it is asked for.
    let absent = load(&[]);
    assert_eq!(absent.warnings, ["meshes that are not found: package://arm/meshes/a.obj"]);
    let message = absent.collisions[0].mesh_file().expect_err("it is not there").to_string();
    assert!(message.contains("body `arm`") && message.contains("package://arm/meshes/a.obj"), "{message}");
    // On the search path, in a folder that holds packages or is one.
    let elsewhere = folder.file("other/arm/meshes/a.obj", "");
    for packages in [folder.0.join("other"), folder.0.join("other/arm")] {
        let robot = load(&[packages]);
        assert!(robot.warnings.is_empty());
        assert_eq!(robot.collisions[0].mesh_file(), Ok(Some(elsewhere.as_path())));
        let LinkGeometry::Mesh(mesh) = &robot.collisions[0].geometry else { panic!("a mesh") };
        assert_eq!(mesh.scale, Vector3::new(1.0, 2.0, 3.0));
    }
    // Above the file itself.
    let inside = folder.file("arm/meshes/a.obj", "");
    assert_eq!(load(&[]).collisions[0].mesh_file(), Ok(Some(inside.as_path())));
}

#[test]
fn mimicking_joints_follow_or_are_independent() {
    let refused = |mimic: &str| {
        let text = with("<dynamics damping=\"0.7\"/>", mimic);
        parse(&text).expect_err("refused").to_string()
    };
    let absent = refused(r#"<mimic joint="other" multiplier="2"/>"#);
    for part in ["two.urdf", "`hinge`", "the joint that it mimics", "`other`, which is no joint"] {
        assert!(absent.contains(part), "`{part}` is not in: {absent}");
    }
    let itself = refused(r#"<mimic joint="hinge"/>"#);
    assert!(itself.contains("`hinge`, which follows it in turn"), "{itself}");
    let still = refused(r#"<mimic joint="hinge" multiplier="0"/>"#);
    assert!(still.contains("its multiplier is 0") && still.contains("not 0"), "{still}");
    let text = with("<dynamics damping=\"0.7\"/>", r#"<mimic joint="other" multiplier="2"/>"#);
    let options = RobotOptions { mimic: MimicJoints::Independent, ..RobotOptions::default() };
    let robot = Robot::parse(&text, Path::new("two.urdf"), &options).expect("a robot");
    assert!(robot.warnings[0].contains("joint `hinge` mimics joint `other`"), "{:?}", robot.warnings);
    // Published files have fixed joints that mimic others, which changes nothing.
    let fixed = parse(&text.replace("type=\"revolute\"", "type=\"fixed\"")).expect("a robot");
    let told = "two.urdf: joint `hinge` is fixed, so that it cannot mimic joint `other`";
    assert_eq!((fixed.mechanism.velocity_dimension(), fixed.warnings), (0, vec![told.to_owned()]));
}

/// A gripper of the kind of Robotiq's, that hangs on a lift: two knuckles that turn against each other, and on each
/// a finger that turns back, so that it stays upright. One joint leads, three follow in a chain. Written for this
/// test.
fn parallel_gripper() -> String {
    let link = |name: &str, mass: f64, com: [f64; 3], inertia: f64| {
        let [x, y, z] = com;
        format!(
            "<link name=\"{name}\"><inertial><origin xyz=\"{x} {y} {z}\"/><mass value=\"{mass}\"/><inertia ixx=\"{inertia}\" ixy=\"0\" ixz=\"0\" iyy=\"{inertia}\" iyz=\"0\" izz=\"{inertia}\"/></inertial></link>"
        )
    };
    let joint = |name: &str, parent: &str, child: &str, xyz: &str, rest: &str| {
        format!(
            "<joint name=\"{name}\" type=\"revolute\"><parent link=\"{parent}\"/><child link=\"{child}\"/><origin xyz=\"{xyz}\"/><axis xyz=\"0 1 0\"/><limit lower=\"-0.1\" upper=\"0.8\" effort=\"50\" velocity=\"2\"/>{rest}</joint>"
        )
    };
    let parts = [
        "<robot name=\"gripper\"><link name=\"base\"/>".to_owned(),
        link("palm", PALM, [0.0; 3], 1e-3),
        link("left_knuckle", KNUCKLE, [0.0, 0.0, CENTER], KNUCKLE_INERTIA),
        link("right_knuckle", KNUCKLE, [0.0, 0.0, CENTER], KNUCKLE_INERTIA),
        link("left_finger", FINGER, [0.01, 0.0, 0.02], 1e-5),
        link("right_finger", FINGER, [-0.01, 0.0, 0.02], 1e-5),
        "<joint name=\"lift\" type=\"prismatic\"><parent link=\"base\"/><child link=\"palm\"/><axis xyz=\"0 0 1\"/><limit lower=\"-1\" upper=\"1\" effort=\"9\" velocity=\"9\"/></joint>".to_owned(),
        // The followers first: their order in the file does not matter.
        joint("left_finger_joint", "left_knuckle", "left_finger", &format!("0 0 {LENGTH}"), "<mimic joint=\"left_knuckle_joint\" multiplier=\"-1\" offset=\"0.1\"/>"),
        joint("right_finger_joint", "right_knuckle", "right_finger", &format!("0 0 {LENGTH}"), "<dynamics damping=\"0.3\" friction=\"0.03\"/><mimic joint=\"right_knuckle_joint\" multiplier=\"-1\"/>"),
        joint("right_knuckle_joint", "palm", "right_knuckle", "0.04 0 0", "<dynamics damping=\"0.2\" friction=\"0.02\"/><mimic joint=\"left_knuckle_joint\" multiplier=\"-1\" offset=\"0\"/>"),
        joint("left_knuckle_joint", "palm", "left_knuckle", "-0.04 0 0", "<dynamics damping=\"0.1\" friction=\"0.01\"/>"),
        "</robot>".to_owned(),
    ];
    parts.join("\n")
}

const PALM: f64 = 0.5;
const KNUCKLE: f64 = 0.06;
const KNUCKLE_INERTIA: f64 = 4e-5;
const CENTER: f64 = 0.03;
const FINGER: f64 = 0.04;
const LENGTH: f64 = 0.055;

#[test]
fn a_parallel_gripper_has_the_mass_matrix_of_its_reduced_coordinates() {
    let robot = parse(&parallel_gripper()).expect("a robot");
    assert!(robot.warnings.is_empty(), "{:?}", robot.warnings);
    let m = &robot.mechanism;
    let own: Vec<&str> = m.joints_with_coordinates().map(|joint| joint.name.as_str()).collect();
    assert_eq!((own, m.joints().len()), (vec!["lift", "left_knuckle_joint"], 5));
    let leader = &m.joints()[m.joint_index("left_knuckle_joint").expect("it leads")];
    // Those of all four joints.
    assert!((leader.damping - 0.6).abs() < 1e-15 && (leader.friction - 0.06).abs() < 1e-15);
    let mut workspace = Workspace::new(m);
    let (mut matrix, mut tau) = (DMatrix::zeros(2, 2), [0.0; 2]);
    let g = 9.81;
    for (angle, rate) in [(0.0, 0.0), (0.31, 0.7), (0.74, -1.9), (-0.6, 0.4)] {
        let (q, v, vdot) = ([0.02, angle], [0.1, rate], [0.3, -0.8]);
        m.update_kinematics(&q, &v, &mut workspace);
        m.mass_matrix(&mut workspace, &mut matrix);
        // Knuckles turn about their joints; fingers only go around, as they stay upright. What goes sideways on one
        // side goes against the other.
        let moment = 2.0 * (KNUCKLE * CENTER + FINGER * LENGTH);
        let turning = 2.0 * (KNUCKLE_INERTIA + KNUCKLE * CENTER * CENTER + FINGER * LENGTH * LENGTH);
        let all = PALM + 2.0 * (KNUCKLE + FINGER);
        let coupled = -moment * f64::sin(angle);
        let expected = [all, coupled, coupled, turning];
        for (found, expected) in matrix.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
        m.inverse_dynamics(&mut workspace, &vdot, &Vector3::new(0.0, 0.0, -g), &[], &mut tau);
        let expected = [
            all * (vdot[0] + g) + coupled * vdot[1] - moment * angle.cos() * rate * rate,
            coupled * (vdot[0] + g) + turning * vdot[1],
        ];
        for (found, expected) in tau.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
        let mut back = [0.0; 2];
        m.forward_dynamics(&mut workspace, &tau, &Vector3::new(0.0, 0.0, -g), &[], &mut back);
        assert!(back.iter().zip(vdot).all(|(a, b)| (a - b).abs() < 1e-11), "{back:?}");
        let pose = workspace.body_pose(m, m.body_index("left_finger").expect("a finger"));
        let expected = Vector3::new(-0.04 + LENGTH * f64::sin(angle), 0.0, 0.02 + LENGTH * angle.cos());
        assert!((pose.translation - expected).norm() < 1e-15);
        let tilt = isobar::spatial::rotation_from_rpy(0.0, 0.1, 0.0);
        assert!((pose.rotation - tilt).amax() < 1e-15);
    }
    // The command tells of the two coordinates.
    let folder = Folder::new("parallel");
    let file = folder.file("gripper.urdf", parallel_gripper());
    let output = model(&[file.to_str().expect("a name"), "--json"]);
    let got: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(got["joints"], json!(["lift", "left_knuckle_joint"]));
    assert_eq!(numbers(&got["mass_matrix"]).len(), 4);
}

/// The hand of the Panda arm, whose right finger follows the left one, as the maker's description has it.
#[test]
#[ignore = "needs the recordings and models in ../shared/data"]
fn the_hand_of_the_panda_has_one_coordinate() {
    let path = models().join(ARMS[1].0);
    let text = fs::read_to_string(&path).expect("the model");
    let start = text.find("<joint name=\"panda_finger_joint2\"").expect("the joint");
    let end = start + text[start..].find("</joint>").expect("its end");
    let mut mimicking = text.clone();
    mimicking.insert_str(end, "<mimic joint=\"panda_finger_joint1\"/>");
    let read = |text: &str| Robot::parse(text, &path, &RobotOptions::default()).expect("a robot").mechanism;
    let (whole, reduced) = (read(&text), read(&mimicking));
    let n = reduced.velocity_dimension();
    assert_eq!((whole.velocity_dimension(), n), (9, 8));
    let of = |mechanism: &Mechanism, q: &[f64], v: &[f64]| {
        let n = mechanism.velocity_dimension();
        let (mut matrix, mut workspace) = (DMatrix::zeros(n, n), Workspace::new(mechanism));
        mechanism.update_kinematics(q, v, &mut workspace);
        mechanism.mass_matrix(&mut workspace, &mut matrix);
        matrix
    };
    let mut q: Vec<f64> = (0..n).map(|k| (0.7 * k as f64 + 0.3).sin()).collect();
    q[7] = 0.02;
    let found = of(&reduced, &q, &vec![0.0; n]);
    q.push(0.02);
    let all = of(&whole, &q, &vec![0.0; n + 1]);
    let g = DMatrix::from_fn(9, 8, |row, column| if row.min(7) == column { 1.0 } else { 0.0 });
    assert!((&found - g.transpose() * all * &g).amax() < 1e-12);
    let mass =
        |name: &str| whole.bodies()[whole.body_index(name).expect("a finger")].mass.expect("mass").mass;
    assert!((found[(7, 7)] - mass("panda_leftfinger") - mass("panda_rightfinger")).abs() < 1e-12);
}

/// Each kind of bad file gives one message that says what is wrong, and exit code 2.
#[test]
fn bad_files_are_refused() {
    let folder = Folder::new("bad");
    let joint = |name: &str, parent: &str, child: &str| {
        format!(
            r#"<joint name="{name}" type="continuous"><parent link="{parent}"/><child link="{child}"/></joint></robot>"#
        )
    };
    let two_more = format!("{}{}", GOOD_LINK.replace("NAME", "a"), GOOD_LINK.replace("NAME", "b"));
    let hinge = &GOOD[GOOD.find("<joint").expect("a joint")..GOOD.find("</robot>").expect("an end")];
    let cases: Vec<(&str, String, &[&str])> = vec![
        ("empty", String::new(), &["is not a valid URDF"]),
        ("not-xml", GOOD[..400].to_owned(), &[":12: is not a valid URDF: joint `hinge` is not closed"]),
        ("no-link", "<robot name=\"x\"></robot>".to_owned(), &["has no link"]),
        (
            "number",
            with("value=\"2\"", "value=\"two\""),
            &[":4: is not a valid URDF: link `arm`", "invalid float"],
        ),
        (
            "line break",
            with("child link=\"arm\"", "child link=\"a&#10;\nrm\""),
            &["its child `a  rm` is not among"],
        ),
        ("type", with("revolute", "screw"), &[":12: is not a valid URDF: joint `hinge`", "screw"]),
        ("loop", with("</robot>", &joint("back", "arm", "base")), &["`hinge`", "`back`", "loop"]),
        (
            "ring-beside",
            with(
                "</robot>",
                &format!("{two_more}{}", joint("c", "a", "b").replace("</robot>", &joint("d", "b", "a"))),
            ),
            &["`c`", "`d`", "loop"],
        ),
        ("itself", with(r#"parent link="base""#, r#"parent link="arm""#), &["`hinge`", "loop"]),
        (
            "two-parents",
            with("</robot>", &joint("again", "base", "arm")),
            &["`arm`", "`hinge`", "`again`", "closes a loop"],
        ),
        (
            "parent",
            with(r#"parent link="base""#, r#"parent link="bass""#),
            &["joint `hinge`", "parent `bass`", "`base`, `arm`"],
        ),
        ("child", with(r#"child link="arm""#, r#"child link="leg""#), &["joint `hinge`", "child `leg`"]),
        ("apart", with(hinge, ""), &["body `arm` is not connected"]),
        ("twice", with("<link name=\"base\"/>", "<link name=\"arm\"/>"), &["two bodies with the name `arm`"]),
        (
            "joint-twice",
            with(
                "</robot>",
                &format!(
                    "{two_more}{}",
                    joint("hinge", "arm", "a").replace("</robot>", &joint("d", "a", "b"))
                ),
            ),
            &["two joints with the name `hinge`"],
        ),
        ("mass", with("value=\"2\"", "value=\"-2\""), &["body `arm`", "mass is -2 kg"]),
        ("mass-nan", with("value=\"2\"", "value=\"nan\""), &["body `arm`", "mass is NaN kg"]),
        ("mass-0", with("value=\"2\"", "value=\"0\""), &["body `arm`", "mass is 0 kg"]),
        ("inertia-negative", with("ixx=\"0.03\"", "ixx=\"-0.03\""), &["body `arm`", "positive definite"]),
        (
            "no-inertia",
            with(&GOOD[GOOD.find("<inertial>").expect("it")..GOOD.find("<collision>").expect("it")], ""),
            &["joint `hinge`", "`arm`", "zero inertia"],
        ),
        (
            "limits",
            with("lower=\"-1\"", "lower=\"3\""),
            &["joint `hinge`", "limits are reversed", "lower is 3", "upper is 2"],
        ),
        (
            "limit-nan",
            with("lower=\"-1\"", "lower=\"nan\""),
            &["joint `hinge`", "its range of positions is [NaN, 2.0]"],
        ),
        ("effort", with("effort=\"30\"", "effort=\"-1\""), &["joint `hinge`", "its effort limit is -1"]),
        ("axis", with("0 3 4", "0 0 0"), &["joint `hinge`", "its axis is [0.0, 0.0, 0.0]"]),
        ("planar-axis", with("0 3 4", "0 0 0").replace("revolute", "planar"), &["joint `hinge`", "its axis"]),
        ("vector", with("0 3 4", "0 3"), &[":12: is not a valid URDF: joint `hinge`", "expected 3 found 2"]),
        ("origin", with("xyz=\"0 0 1\"", "xyz=\"0 0 inf\""), &["joint `hinge`", "position of its frame F"]),
        ("rpy", with("rpy=\"0 0.5 0\"", "rpy=\"0 nan 0\""), &["joint `hinge`", "rotation of its frame F"]),
        ("damping", with("damping=\"0.7\"", "damping=\"-0.7\""), &["joint `hinge`", "its damping is -0.7"]),
        ("box", with("0.1 0.2 0.3\"/></geometry>", "0.1 0.2 -0.3\"/></geometry>"), &["link `arm`", "-0.3 m"]),
        (
            "mimic",
            with("<dynamics damping=\"0.7\"/>", "<mimic joint=\"x\"/>"),
            &["joint `hinge`", "`x`, which is no joint"],
        ),
    ];
    for (name, text, parts) in cases {
        let file = folder.file(&format!("{name}.urdf"), &text);
        let file = file.to_str().expect("a name");
        let output = model(&[file, "--json"]);
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{name}: {message}");
        assert!(output.stdout.is_empty(), "{name}");
        assert_eq!(message.lines().count(), 1, "{name}: {message}");
        for part in [file].iter().chain(parts) {
            assert!(message.contains(part), "{name}: `{part}` is not in {message}");
        }
    }
    let absent = model(&[folder.0.join("absent.urdf").to_str().expect("a name")]);
    assert_eq!(absent.status.code(), Some(2));
}

#[test]
fn typed_errors_tell_cases_apart() {
    let reversed = parse(&with("lower=\"-1\"", "lower=\"3\"")).expect_err("reversed");
    let FileError::Mechanism { source, .. } = reversed else { panic!("{reversed}") };
    assert_eq!(source, ModelError::LimitsReversed { joint: "hinge".into(), lower: 3.0, upper: 2.0 });
}

/// Namespaces, comments and elements outside the core of the format are passed over; whatever the
/// text, there is no panic.
#[test]
fn odd_files_do_not_panic() {
    assert!(
        parse(&with("<link name=\"base\"/>", "<!-- a --><link name=\"base\"/><gazebo><x/></gazebo>")).is_ok()
    );
    let namespaced =
        with("<robot name=\"two\">", "<robot name=\"two\" xmlns:drake=\"http://drake.mit.edu\">")
            .replace("effort=\"30\"", "effort=\"30\" drake:acceleration=\"3\"");
    assert!(parse(&namespaced).is_ok());
    for odd in [
        with("<robot name=\"two\">", "<robot name=\"two\" xmlns=\"urn:x\">"),
        with("<link name=\"base\"/>", "<d:link name=\"base\"/>"),
        with("<collision>", "<collision xmlns:k=\"urn:k\"><k:name/>"),
        with("<collision>", "<collision xmlns=\"urn:k\">"),
        with("<link name=\"base\"/>", "<link name=\"base\" xmlns:k=\"urn:k\"><k:visual/></link>"),
        with("name=\"base\"/>", "name=\"&lt;&#0;\"/>"),
    ] {
        let _ = parse(&odd);
    }
    for end in (0..GOOD.len()).step_by(7) {
        assert!(parse(&GOOD[..end]).is_err());
        let _ = parse(&GOOD[end..]);
        let mut cut = GOOD[..end].to_owned();
        cut.push_str(GOOD.get(end + 5..).unwrap_or(""));
        let _ = parse(&cut);
    }
}

/// Each kind of bad state gives one message and exit code 2.
#[test]
fn bad_states_are_refused() {
    let folder = Folder::new("states");
    let urdf = folder.file("two.urdf", GOOD);
    let ball = folder.file("ball.urdf", with("revolute", "spherical"));
    let good = r#"{"q": [0.1], "v": [0.2], "vdot": [0.3]}"#;
    let run = |urdf: &Path, text: &str| {
        let state = folder.file("state.json", text);
        let arguments = [urdf, Path::new("--state"), &state, Path::new("--json")];
        model(&arguments.map(|a| a.to_str().expect("a name")))
    };
    assert!(run(&urdf, good).status.success());
    assert!(run(&urdf, r#"{"q": [0.1]}"#).status.success());
    assert!(run(&ball, r#"{"q": [0.5, 0.5, 0.5, 0.1]}"#).status.success());
    for (urdf, text, parts) in [
        (&urdf, "", &["line 1"][..]),
        (&urdf, r#"{"v": [0.2]}"#, &["missing field `q`"]),
        (&urdf, r#"{"q": [0.1], "w": [1]}"#, &["unknown field `w`"]),
        (&urdf, r#"{"q": [0.1, 0.2]}"#, &["q: found 2 numbers; the joints have 1"]),
        (&urdf, r#"{"q": [0.1], "v": []}"#, &["v: found 0 numbers"]),
        (&urdf, r#"{"q": [0.1], "vdot": [1, 2]}"#, &["vdot: found 2 numbers"]),
        (&urdf, r#"{"q": ["a"]}"#, &["line 1"]),
        (&urdf, r#"{"q": [0.1], "v": [1e200]}"#, &["not finite"]),
        (&urdf, r#"{"q": [0.1], "joints": ["knee"]}"#, &["joints[0]: found `knee`", "hinge"]),
        (&urdf, r#"{"q": [0.1], "joints": []}"#, &["joints: found 0 names; there are 1"]),
        (&urdf, r#"{"q": [0.1], "joints": ["hinge", "hinge"]}"#, &["joints[1]: `hinge` is there twice"]),
        (&ball, r#"{"q": [0, 0, 0, 0]}"#, &["quaternion of joint `hinge`"]),
    ] {
        let output = run(urdf, text);
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{text}: {message}");
        assert!(output.stdout.is_empty(), "{text}");
        for part in parts {
            assert!(message.contains(part), "{text}: `{part}` is not in {message}");
        }
    }
}
