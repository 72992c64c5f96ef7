//! Robots with drives of computed torque in scene files: what they do, their gradients, and what is refused.

use isobar::check::{CheckSettings, Verdict, check_scene};
use isobar::io::Scene;
use isobar::multibody::Drive;
use isobar::multibody::tree::ComputedTorque;

use crate::folder::Folder;

const SOLVER: &str = r#"
[materials.foam]
hydroelastic_modulus = 1e5
dissipation = 1.0
friction = 0.5
[solver]
kind = "lagged"
time_step = 2e-3
"#;

/// An arm of two links with a limit of effort that it would fall at.
const ARM: &str = r#"<robot name="arm">
<link name="base"/>
<link name="upper"><inertial><origin xyz="0.15 0.01 0.02"/><mass value="2"/>
 <inertia ixx="0.004" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.02"/></inertial></link>
<link name="fore"><inertial><origin xyz="0.1 0 0.01"/><mass value="1"/>
 <inertia ixx="0.002" ixy="0" ixz="0" iyy="0.008" iyz="0" izz="0.008"/></inertial>
 <collision><origin xyz="0.2 0 0"/><geometry><box size="0.06 0.05 0.05"/></geometry></collision></link>
<joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><origin xyz="0 0 0.4"/>
 <axis xyz="0 1 0"/><limit effort="1" velocity="5" lower="-2" upper="2"/><dynamics damping="0.5"/></joint>
<joint name="elbow" type="revolute"><parent link="upper"/><child link="fore"/><origin xyz="0.3 0 0" rpy="0.2 0 0"/>
 <axis xyz="0 1 0.3"/><limit effort="1" velocity="5" lower="-2" upper="2"/><dynamics damping="0.2"/></joint>
</robot>"#;

const DRIVE: &str = "drive = { computed_torque = { natural_frequency = 20, damping_ratio = 0.8 } }\n";

const TABLE: &str = r#"
[[bodies]]
name = "table"
fixed = true
translation = [0.35, 0, 0.01]
[[bodies.geometries]]
shape = { box = { size = [0.6, 0.4, 0.1] } }
material = "foam"
"#;

/// A scene of the arm with more lines for the robot and at the end.
fn scene(of_robot: &str, rest: &str) -> String {
    let start = "positions = { shoulder = 0.3, elbow = 0.4 }\nmaterials = { fore = \"foam\" }\n";
    format!("{SOLVER}[[robots]]\nurdf = \"arm.urdf\"\nprefix = \"a \"\n{start}{of_robot}{rest}")
}

fn folder() -> Folder {
    let folder = Folder::new("computed-torque");
    folder.file("arm.urdf", ARM);
    folder
}

fn message(folder: &Folder, text: &str) -> String {
    let error = Scene::load(folder.file("scene.toml", text)).map(|_| ()).expect_err(text).to_string();
    assert!(error.lines().count() == 1 && error.contains("scene.toml"), "{error}");
    error
}

#[test]
fn a_robot_goes_to_its_commands_by_the_linear_law() {
    let folder = folder();
    let text = scene(&format!("{DRIVE}commands = {{ elbow = -0.5 }}\n"), "");
    let scene = Scene::load(folder.file("scene.toml", &text)).expect("a valid scene");
    let actuators = scene.model.actuators();
    let names: Vec<&str> = actuators.iter().map(|a| a.name.as_str()).collect();
    assert_eq!(names, ["a shoulder", "a elbow"]);
    assert!(actuators.iter().all(|a| a.drive == Drive::ComputedTorque && a.effort == f64::INFINITY));
    let law = ComputedTorque::oscillator(20.0, 0.8);
    assert_eq!(scene.model.mechanism().trees()[0].computed_torque, Some(law));
    let motion = scene.rollout(0.4).expect("available").motion().completed().expect("simulates");
    // Where no command is given, a joint stays where it starts.
    let (commands, dt) = ([0.3, -0.5], 2e-3);
    let (mut q, mut v) = ([0.3, 0.4], [0.0; 2]);
    for state in &motion.states[1..] {
        for k in 0..2 {
            v[k] = (v[k] + dt * law.stiffness * (commands[k] - q[k])) / law.step_factor(dt);
            q[k] += dt * v[k];
            let error = (state.joints.q[k] - q[k]).abs() + (state.joints.v[k] - v[k]).abs();
            assert!(error < 1e-10, "joint {k}: {error:e}");
        }
    }
    assert!((q[1] + 0.5).abs() < 0.01, "{q:?}");
}

/// Pushing on a table.
#[test]
fn gradients_agree_with_differences() {
    let folder = folder();
    for (solver, steps) in [("lagged", 2), ("sap", 1), ("rk4", 1), ("radau", 1)] {
        let pushing = scene(
            &format!("{DRIVE}commands = {{ elbow = 0.6, shoulder = 0.5 }}\nvelocities = {{ elbow = 0.3 }}\n"),
            TABLE,
        );
        let solver = match solver {
            "radau" => "kind = \"radau\"\naccuracy = 1e-6".to_owned(),
            fixed => format!("kind = \"{fixed}\""),
        };
        let pushing =
            pushing.replace("kind = \"lagged\"", &solver).replace("shoulder = 0.3", "shoulder = 0.55");
        let loaded = Scene::load(folder.file("scene.toml", &pushing)).expect("a valid scene");
        let rollout = loaded.rollout(f64::from(steps) * loaded.time_step).expect("a valid solver");
        let settings = CheckSettings { places: false, ..Default::default() };
        let report = check_scene(&rollout, &settings).expect("simulates");
        let count = |verdict| report.count(verdict);
        let counts = [Verdict::Ok, Verdict::Zero, Verdict::Kink, Verdict::Noisy, Verdict::Wrong].map(count);
        println!("{solver}: ok/zero/kink/noisy/wrong {counts:?}");
        let wrong: Vec<_> = report.rows.iter().filter(|r| r.comparison.verdict == Verdict::Wrong).collect();
        assert!(wrong.is_empty(), "{solver}: {wrong:#?}");
        assert!(counts[0] > 10 * (counts[2] + counts[3]), "{solver}: {counts:?}");
        let touches = report
            .rows
            .iter()
            .any(|row| row.quantity.contains("table") && row.comparison.verdict == Verdict::Ok);
        assert!(touches, "{solver}");
    }
}

#[test]
fn wrong_combinations_are_refused() {
    let folder = folder();
    let refused = |of_robot: &str, rest: &str, parts: &[&str]| {
        let error = message(&folder, &scene(of_robot, rest));
        for part in parts {
            assert!(error.contains(part), "`{part}` is not in: {error}");
        }
    };
    let drive = |fields: &str| format!("drive = {{ computed_torque = {{ {fields} }} }}\n");
    let field = "robots[0].drive.computed_torque";
    refused(&drive("natural_frequency = 0"), "", &[&format!("{field}.natural_frequency"), "positive"]);
    let ratio = drive("natural_frequency = 5, damping_ratio = -1");
    refused(&ratio, "", &[&format!("{field}.damping_ratio"), "at least 0"]);
    refused(&drive("natural_frequency = 5, effort = 3"), "", &["effort", "natural_frequency"]);
    refused(&format!("{DRIVE}base = \"free\"\n"), "", &[field, "free base"]);
    let own = "[[actuators]]\nname = \"own\"\njoints = [\"a elbow\"]\ndrive = \"force\"\n";
    refused(DRIVE, own, &[field, "`a elbow`", "`own`", "all joints"]);
    let alone = "[[actuators]]\nname = \"own\"\njoints = [\"a elbow\"]\ndrive = { computed_torque = { natural_frequency = 5 } }\n";
    refused("", alone, &["actuators[0].drive", "computed_torque"]);
    // What is mounted on the robot is of its tree.
    let other = |drive: &str| {
        format!("[[robots]]\nurdf = \"arm.urdf\"\nprefix = \"b \"\nparent = \"a fore\"\n{drive}")
    };
    refused(DRIVE, &other(""), &[field, "`b shoulder`", "same drive"]);
    refused(DRIVE, &other(&drive("natural_frequency = 5")), &[field, "`b shoulder`", "same drive"]);
    let both = scene(DRIVE, &other(DRIVE));
    let both = Scene::load(folder.file("both.toml", &both)).expect("a valid scene");
    assert_eq!(both.model.actuators().len(), 4);
    folder
        .file("arm.urdf", ARM.replace("name=\"elbow\" type=\"revolute\"", "name=\"elbow\" type=\"planar\""));
    let planar = scene(DRIVE, "").replace("elbow = 0.4", "elbow = [0, 0, 0.4]");
    let error = message(&folder, &planar);
    for part in [field, "`a elbow` (planar)", "several coordinates"] {
        assert!(error.contains(part), "`{part}` is not in: {error}");
    }
}
