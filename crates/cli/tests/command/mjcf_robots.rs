//! Robots from MJCF files: numbers measured with MuJoCo 4.0.0 (`tests/reference/multibody/mjcf_robot.json`, which says how),
//! what a scene makes of a file, and what is wrong with bad files.

use std::path::Path;

use isobar::io::Scene;
use isobar::io::robot::{LinkGeometry, MimicJoints, Robot, RobotOptions};
use isobar::multibody::Drive;
use isobar::multibody::tree::JointKind;

use crate::folder::Folder;
use crate::robots::agrees_with;
use crate::{isobar, text};

const GOOD: &str = r#"<mujoco model="two">
  <compiler angle="radian"/>
  <default>
    <default class="pad"><geom type="box" size="0.02 0.02 0.02"/></default>
  </default>
  <worldbody>
    <body name="base">
      <geom name="block" class="pad" contype="2" conaffinity="2"/>
      <body name="arm" pos="0 0 0.2">
        <joint name="swing" ref="0.3" range="-1 1" actuatorfrcrange="-9 8" frictionloss="0.2" stiffness="5" springref="0.1"/>
        <joint name="reach" type="slide"/>
        <geom name="link" type="capsule" size="0.01 0.1" solref="0.02 1"/>
        <geom name="tip" class="pad" pos="0 0 0.1" friction="0.4"/>
        <geom type="mesh" mesh="none" contype="0" conaffinity="0" mass="0"/>
      </body>
    </body>
    <body name="ball" pos="0 0 1"><freejoint/><geom name="ball" size="0.05"/></body>
  </worldbody>
  <contact><exclude body1="arm" body2="ball"/></contact>
  <actuator>
    <position name="servo" joint="swing" kp="10" kv="1" gear="2" forcerange="-3 3"/>
    <motor joint="reach" gear="-4" ctrlrange="-1 2"/>
  </actuator>
</mujoco>"#;

fn with(old: &str, new: &str) -> String {
    assert_eq!(GOOD.matches(old).count(), 1, "{old}");
    GOOD.replace(old, new)
}

fn parse(text: &str) -> Robot {
    Robot::parse(text, Path::new("two.xml"), &RobotOptions::default()).expect("a robot")
}

#[test]
fn a_robot_agrees_with_mujoco() {
    let file = Path::new(crate::ROOT).join("tests/reference/multibody/mjcf_robot.xml");
    agrees_with(&file, "mjcf_robot.json");
    let robot = Robot::load(&file, &RobotOptions::default()).expect("a robot");
    assert!(robot.warnings.is_empty(), "{:?}", robot.warnings);
    let of =
        |name: &str| &robot.collisions.iter().find(|shape| shape.body == name).expect("a shape").geometry;
    assert_eq!(*of("world"), LinkGeometry::HalfSpace);
    let independent = RobotOptions { mimic: MimicJoints::Independent, ..RobotOptions::default() };
    let robot = Robot::load(&file, &independent).expect("a robot");
    assert!(robot.warnings[0].contains("joint `right` mimics joint `left`"), "{:?}", robot.warnings);
}

#[test]
fn joints_have_what_the_file_says() {
    let robot = parse(GOOD);
    let m = &robot.mechanism;
    let swing = &m.joints()[m.joint_index("swing").expect("a joint")];
    assert_eq!((swing.limits.lower, swing.limits.upper, swing.limits.effort), (-1.0, 1.0, 6.0));
    assert_eq!((swing.friction, swing.spring.stiffness, swing.spring.rest), (0.2, 5.0, 0.1));
    assert_eq!(m.joints()[m.joint_index("ball").expect("a joint")].kind, JointKind::Free);
    let frictions: Vec<_> = robot.collisions.iter().map(|shape| shape.proximity.dynamic_friction).collect();
    assert_eq!(frictions, [1.0, 1.0, 0.4, 1.0].map(Some));
    // Only what moves the robot is told of.
    let told = |text: &str| parse(text).warnings.join("; ");
    assert_eq!(told(GOOD), "");
    let text = with("<joint name=\"reach\"", "<joint springdamper=\"1 1\" damping=\"1 2\" name=\"reach\"");
    assert_eq!(
        told(&text),
        "`damping` of a higher degree is not simulated; it is given for reach; `springdamper` is not simulated; it is \
         given for reach"
    );
    let text = with(
        "</actuator>",
        "<damper joint=\"reach\"/></actuator><option density=\"1.2\" gravity=\"0 0 0\"/>",
    );
    let told = told(&text);
    for part in ["the fluid of `density`", "`gravity` (a scene has its own)", "given for damper"] {
        assert!(told.contains(part), "{told}");
    }
}

#[test]
fn scenes_take_actuators_starts_and_materials_by_geom_and_class() {
    let folder = Folder::new("mjcf-scene");
    folder.file("two.xml", GOOD);
    let load = |rest: &str| {
        let scene = format!(
            "[materials.foam]\nhydroelastic_modulus = 1e5\n[[robots]]\nurdf = \"two.xml\"\nprefix = \"a \"\n\
             translation = [0, 0, 2]\n{rest}"
        );
        Scene::load(folder.file("scene.toml", scene)).map_err(|error| error.to_string())
    };
    let scene = load("materials = { pad = \"foam\", block = \"rigid\" }\ncommands = { servo = 0.4 }")
        .expect("a scene");
    let told: Vec<String> = scene.warnings.iter().map(ToString::to_string).collect();
    assert!(told.iter().any(|told| told.contains("touch nothing: arm, ball;") && told.contains("by link, geom or class")));
    // The tip and the block have a material, and their bits keep them apart.
    let geometries: Vec<usize> = scene.model.bodies().iter().map(|body| body.geometries.len()).collect();
    assert_eq!((geometries, scene.model.pairs().len()), (vec![1, 0, 1, 0], 0));
    let [servo, motor] = scene.model.actuators() else { panic!("two actuators") };
    assert_eq!((servo.name.as_str(), motor.name.as_str()), ("a servo", "a reach"));
    assert_eq!(servo.drive, Drive::Position { stiffness: 40.0, damping: 4.0 });
    assert_eq!((servo.effort, servo.coordinates()[0].ratio), (6.0, 0.5));
    assert_eq!((motor.drive, motor.effort, motor.coordinates()[0].ratio), (Drive::Force, 8.0, -4.0));
    // The free joint starts in the file's frame, which the scene places.
    assert_eq!(scene.state.joints.q[..2], [0.3, 0.0]);
    assert_eq!(scene.state.joints.q[2..], [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
    let scene = load(
        "positions = { swing = 0.5 }\ndrive = \"force\"\nmaterials = { arm = \"foam\", ball = \"foam\" }",
    );
    let scene = scene.expect("a scene");
    assert_eq!((scene.state.joints.q[0], scene.model.actuators().len()), (0.5, 2));
    // The ball and the arm have geometries that could meet, but for the exclusion.
    assert_eq!(scene.model.pairs().len(), 0);
    let wrong = load("materials = { palm = \"foam\" }").expect_err("no link");
    assert!(wrong.contains("is no link"), "{wrong}");
    let wrong = load("commands = { swing = 1 }").expect_err("no actuator");
    assert!(wrong.contains("is no actuator of the robot's file; there are servo, reach"), "{wrong}");
}

/// One tree on a free joint has a free base too, which is then where the scene says.
#[test]
fn joints_start_at_a_keyframe() {
    let home = r#"  <keyframe><key name="up" qpos="0 0 0 0 0 2 1 0 0 0"/>
    <key name="home" qpos="0.5 -0.2 1 2 3 0 2 0 0" ctrl="0.5 0"/></keyframe>
</mujoco>"#;
    let text = with("</mujoco>", home);
    let folder = Folder::new("mjcf-keyframe");
    folder.file("two.xml", &text);
    let scene = |keys: &str| {
        Scene::load(folder.file("scene.toml", format!("[[robots]]\nurdf = \"two.xml\"\n{keys}")))
    };
    let scene_at_home = scene("keyframe = \"home\"\npositions = { reach = 0.1 }").expect("a scene");
    let told = &scene_at_home.warnings;
    assert!(told.iter().any(|w| w.contains("`ctrl` of a keyframe is not simulated")), "{told:?}");
    // A joint is where `positions` has it; a free one has its quaternion first, of unit length.
    assert_eq!(scene_at_home.state.joints.q, [0.5, 0.1, 0.0, 1.0, 0.0, 0.0, 1.0, 2.0, 3.0]);
    let refused = |keys: &str| scene(keys).expect_err("bad").to_string();
    let message = refused("keyframe = \"down\"");
    assert!(message.contains("found no keyframe `down`; there are up, home"), "{message}");
    let message = refused("keyframe = \"up\"");
    assert!(
        message.contains("key `up`: found 10 numbers in `qpos`; the joints of the file have 9"),
        "{message}"
    );
    folder.file("arm.urdf", "<robot name=\"arm\"><link name=\"a\"/></robot>");
    let scene = folder.file("urdf.toml", "[[robots]]\nurdf = \"arm.urdf\"\nkeyframe = \"home\"");
    let message = Scene::load(&scene).expect_err("no MJCF file").to_string();
    assert!(message.contains("found no keyframe `home`; MJCF files alone have them"), "{message}");
}

#[test]
fn a_free_base_is_instead_of_the_free_joint() {
    let folder = Folder::new("mjcf-free");
    folder.file(
        "ball.xml",
        "<mujoco><worldbody><body pos=\"0 0 3\"><freejoint/><geom size=\"0.1\"/></body></worldbody></mujoco>",
    );
    // In the frame that the scene places, or in the world.
    for (base, height) in [("fixed", 3.0), ("free", 1.0)] {
        let scene = format!("[[robots]]\nurdf = \"ball.xml\"\nbase = \"{base}\"\ntranslation = [0, 0, 1]");
        let scene = Scene::load(folder.file("scene.toml", scene)).expect("a scene");
        assert_eq!(scene.state.joints.q, [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, height]);
    }
}

#[test]
fn what_is_wrong_is_told_with_its_file_and_line() {
    let folder = Folder::new("mjcf-bad");
    folder.file("part.xml", "<mujoco>\n<body>\n<geom class=\"none\"/></body></mujoco>");
    folder.file("self.xml", "<mujoco>\n<include file=\"self.xml\"/></mujoco>");
    let end = "</mujoco>";
    let section = |section: &str| with(end, &format!("\n{section}{end}"));
    let body = |inside: &str| with("<freejoint/>", inside);
    let cases = [
        (
            section("<tendon><spatial name=\"t\"/></tendon>"),
            ":25:",
            "spatial `t`: found in `tendon`; no tendon but `fixed`",
        ),
        (section("<deformable><flex name=\"f\"/></deformable>"), ":25:", "flex `f`: found in `deformable`"),
        (
            section("<equality><weld body1=\"arm\"/></equality>"),
            ":25:",
            "weld: found in `equality`; of its constraints",
        ),
        (section("<equality><joint joint1=\"swing\"/></equality>"), ":25:", "no attribute `joint2`"),
        (
            section("<equality><joint joint1=\"swing\" joint2=\"reach\" polycoef=\"0 1 2\"/></equality>"),
            ":25:",
            "not that of a line",
        ),
        (section("<actuator><muscle joint=\"swing\"/></actuator>"), ":25:", "no muscle is simulated"),
        (section("<actuator><motor joint=\"swong\"/></actuator>"), ":25:", "\"swong\", which is no joint"),
        (
            section("<contact><exclude body1=\"arm\" body2=\"leg\"/></contact>"),
            ":25:",
            "body2 = \"leg\", which is no body",
        ),
        (section("<wordbody/>"), ":25:", "wordbody: found in `mujoco`; the sections are compiler"),
        (section("<default class=\"top\"/>"), ":25:", "the outermost class is `main`"),
        (section("<compiler angle=\"grad\"/>"), ":25:", "it must be one of degree, radian"),
        (section("<compiler eulerseq=\"xyzx\"/>"), ":25:", "three of x, y, z, X, Y, Z"),
        (section("<compiler coordinate=\"global\"/>"), ":25:", "it must be one of local"),
        (
            section("<include file=\"nowhere.xml\"/>"),
            ":25:",
            "\"nowhere.xml\", which is not there; looked for",
        ),
        (section("<include file=\"self.xml\"/>"), "self.xml:2:", "a file may be included once"),
        (
            with("<freejoint/>", "<include file=\"part.xml\"/>"),
            "part.xml:3:",
            "the class `none`, which is not there; there are main, pad",
        ),
        (body("<joint axis=\"0 0 0\"/>"), ":17:", "its axis is 0 0 0"),
        (body("<joint axis=\"0 1\"/>"), ":17:", "expected numbers, 3; found 2"),
        (body("<joint pos=\"0 1 x\"/>"), ":17:", "which is no number"),
        (body("<joint type=\"screw\"/>"), ":17:", "it must be one of hinge, slide, ball, free"),
        (body("<freejoint/><joint/>"), ":17:", "it must be the only joint"),
        (body("<jiont/>"), ":17:", "found in `body`; what is read there is body, frame"),
        (body("<attach model=\"m\"/>"), ":17:", "attach: found in `body`"),
        (body("<frame quat=\"0 0 0 0\"/>"), ":17:", "its rotation has no direction"),
        (body("<frame euler=\"1 0 0\" zaxis=\"0 0 1\"/>"), ":17:", "turned in two ways"),
        (body("<inertial mass=\"1\"/>"), ":17:", "no attribute `pos`"),
        (body("<geom type=\"hfield\"/>"), ":17:", "the shapes that are read are sphere"),
        (body("<geom type=\"capsule\" mesh=\"m\"/>"), ":17:", "a capsule fitted to a mesh"),
        (
            body("<geom type=\"mesh\" mesh=\"m\"/>"),
            ":17:",
            "the mesh `m`, which is not there; there are none",
        ),
        (body("<geom fromto=\"0 0 0 1 0 0\"/>"), ":17:", "found fromto for a sphere"),
        (body("<geom size=\"1\" shellinertia=\"true\"/>"), ":17:", "masses of surfaces are not read"),
        (body("<joint/><geom size=\"0\"/>"), "", "its collision geometry"),
        (body("<body name=\"arm\"/>"), ":17:", "found a second body `arm`"),
        (body("<inertial pos=\"0 0 0\" mass=\"nan\"/>"), ":17:", "expected numbers, 1; found 1, none"),
        (body("<joint/>").replace("size=\"0.05\"", "size=\"0.05\" mass=\"0\""), "", "ball"),
    ];
    for (number, (content, line, part)) in cases.iter().enumerate() {
        let file = folder.file("bad.xml", content);
        let output = isobar(&["model", text(&file)]);
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{number}: {told}");
        assert_eq!(told.lines().count(), 1, "{number}: {told}");
        assert!(told.contains(line) && told.contains(part), "{number}, {line}, `{part}`: {told}");
    }
    // Elements count together, however files nest them.
    let deep = format!("<mujoco>{}{}</mujoco>", "<frame>".repeat(60), "</frame>".repeat(60));
    folder.file("deep.xml", deep);
    let nested = format!("{}<include file=\"deep.xml\"/>{}", "<frame>".repeat(50), "</frame>".repeat(50));
    let file = folder.file("bad.xml", format!("<mujoco><worldbody>{nested}</worldbody></mujoco>"));
    let told = String::from_utf8_lossy(&isobar(&["model", text(&file)]).stderr).into_owned();
    assert!(told.contains("deep.xml:1:") && told.contains("nested more than 100 deep"), "{told}");
}
