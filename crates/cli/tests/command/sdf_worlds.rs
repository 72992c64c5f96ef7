//! Worlds of SDF files: their models as one robot.

use std::path::Path;

use isobar::io::robot::{Robot, RobotOptions};
use isobar::io::{FileError, Scene};
use isobar::multibody::tree::{JointKind, Workspace};

use crate::folder::Folder;

/// A table that stands, a box on it that is free, and an arm that is on the world.
const GOOD: &str = r#"<sdf version="1.9">
<world name="room">
<light name="sun"/>
<model name="table"><static>true</static><pose>0 0 1 0 0 0</pose>
<link name="top"><pose>0 0 0.5 0 0 0</pose></link></model>
<model name="box"><pose>1 0 2 0 0 1.5707963267948966</pose>
<link name="body"><pose>0.1 0 0 0 0 0</pose><gravity>false</gravity></link></model>
<model name="arm"><pose>0 3 0 0 0 0</pose>
<link name="body"><gravity>false</gravity></link><link name="hand"><gravity>false</gravity><pose>0 0 1 0 0 0</pose></link>
<joint name="base" type="fixed"><parent>world</parent><child>body</child></joint>
<joint name="turn" type="revolute"><parent>body</parent><child>hand</child><axis><xyz>0 0 1</xyz></axis></joint></model>
</world></sdf>"#;

fn with(old: &str, new: &str) -> String {
    assert_eq!(GOOD.matches(old).count(), 1, "{old}");
    GOOD.replace(old, new)
}

fn parse(text: &str) -> Result<Robot, FileError> {
    Robot::parse(text, Path::new("room.sdf"), &RobotOptions::default())
}

#[test]
fn the_models_of_a_world_are_one_robot() {
    let robot = parse(GOOD).expect("a world");
    let m = &robot.mechanism;
    let links: Vec<&str> = m.bodies().iter().map(|body| body.name.as_str()).collect();
    assert_eq!(
        (robot.name.as_str(), links),
        ("room", vec!["table::top", "box::body", "arm::body", "arm::hand"])
    );
    let kinds: Vec<(&str, JointKind)> =
        m.joints().iter().map(|joint| (joint.name.as_str(), joint.kind)).collect();
    // The table stands, and so does the base of the arm.
    let turn = JointKind::Revolute { axis: nalgebra::Vector3::z() };
    assert_eq!(kinds, [("box::body on the world", JointKind::Free), ("arm::turn", turn)]);
    // Where the models are in the world, which the scene places: the box's link is at (1, 0.1, 2), turned.
    let folder = Folder::new("sdf-world");
    folder.file("room.sdf", GOOD);
    let scene = "[[robots]]\nurdf = \"room.sdf\"\ntranslation = [0, 0, 10]";
    let scene = Scene::load(folder.file("scene.toml", scene)).expect("a scene");
    let m = scene.model.mechanism();
    let mut workspace = Workspace::new(m);
    m.update_kinematics(&scene.state.joints.q, &scene.state.joints.v, &mut workspace);
    let place = |link: &str| workspace.body_pose(m, m.body_index(link).expect("a link")).translation;
    for (link, expected) in
        [("table::top", [0.0, 0.0, 11.5]), ("box::body", [1.0, 0.1, 12.0]), ("arm::hand", [0.0, 3.0, 11.0])]
    {
        assert!((place(link) - nalgebra::Vector3::from(expected)).amax() < 1e-14, "{link}: {}", place(link));
    }
}

#[test]
fn models_are_placed_by_others_and_by_frames() {
    let frame = "<frame name=\"corner\"><pose relative_to=\"table\">0 2 0 0 0 0</pose></frame><light";
    let text = with("<light", frame).replace("<pose>1 0 2", "<pose relative_to=\"corner\">1 0 2");
    let folder = Folder::new("sdf-world-frames");
    folder.file("room.sdf", text);
    let scene = Scene::load(folder.file("scene.toml", "[[robots]]\nurdf = \"room.sdf\"")).expect("a scene");
    // The box: (0, 0, 1) + (0, 2, 0) + (1, 0, 2), and its link 0.1 m along its own x axis, which is y.
    let at = &scene.state.joints.q[4..7];
    assert!([1.0, 2.1, 3.0].iter().zip(at).all(|(a, b)| (a - b).abs() < 1e-14), "{at:?}");
}

/// As in a file without a world, the scene says where it is.
#[test]
fn a_world_of_one_model_is_that_model() {
    let start = GOOD.find("<model name=\"table\"").expect("a table");
    let end = GOOD.find("<model name=\"arm\"").expect("an arm");
    let text = format!("{}<include>\n<uri>model://sun</uri></include>{}", &GOOD[..start], &GOOD[end..]);
    let robot = parse(&text).expect("a world");
    let joints: Vec<&str> = robot.mechanism.joints().iter().map(|joint| joint.name.as_str()).collect();
    assert_eq!((robot.name.as_str(), joints), ("arm", vec!["turn"]));
    let told = robot.warnings.join("; ");
    assert!(told.contains("room.sdf:4: `include` of a world is not read: model://sun is left out"), "{told}");
    assert!(told.contains("the pose of the model itself is not used"), "{told}");
}

#[test]
fn what_is_wrong_with_a_world_is_told_with_its_line() {
    let included =
        "<sdf version=\"1.9\">\n<world name=\"w\"><include><uri>model://a</uri></include></world></sdf>";
    for (text, part) in [
        (
            with("<light name=\"sun\"/>", "<joint name=\"weld\"/>"),
            ":3: is not a valid SDF: found joint `weld` in `world`",
        ),
        (
            with("<pose>0 0 1 0 0 0</pose>\n", "<pose relative_to=\"shelf\">0 0 1 0 0 0</pose>\n"),
            ":4: is not a valid SDF: model `table`: its pose is relative to `shelf`, which is no model or frame of the world",
        ),
        (
            with("<pose>0 0 1 0 0 0</pose>\n", "<pose relative_to=\"table\">0 0 1 0 0 0</pose>\n"),
            "its pose is relative to `table`, which is given in itself",
        ),
        (with("</world>", "</world><world/>"), "found a second one, world; one model or world is allowed"),
        (
            included.to_owned(),
            ":2: is not a valid SDF: `world` has no `model`; it must have one; includes are not read: name the file of one of model://a",
        ),
    ] {
        let message = parse(&text).expect_err("bad").to_string();
        assert!(message.contains(part), "{message}");
    }
    let two = with("name=\"box\"", "name=\"table\"");
    let message = parse(&two).expect_err("two tables").to_string();
    assert!(message.contains("second model, model `table`"), "{message}");
}
