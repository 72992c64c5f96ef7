//! Actuators of MJCF files on joints and on fixed tendons, and what is told of them and of attributes that no element has.

use std::path::Path;

use isobar::io::Scene;
use isobar::io::robot::{Robot, RobotOptions};
use isobar::multibody::Drive;

use crate::folder::Folder;

/// A hand whose second finger follows the first, right − ref = 0.1 − 2 left, beside a thumb.
fn hand(rest: &str) -> String {
    format!(
        r#"<mujoco>
<compiler angle="radian"/>
<worldbody><body name="palm"><geom size="0.1"/>
<body><joint name="left"/><geom size="0.1"/></body>
<body><joint name="right"/><geom size="0.1"/></body>
<body><joint name="thumb"/><geom size="0.1"/></body>
</body></worldbody>
<tendon>
<fixed name="both"><joint joint="left" coef="0.5"/><joint joint="thumb" coef="-2"/></fixed>
<fixed name="fingers"><joint joint="left" coef="3"/><joint joint="right" coef="0.5"/></fixed>
</tendon>
<actuator>{rest}</actuator>
</mujoco>"#
    )
}

fn with_mimic(text: &str, offset: f64) -> String {
    let joint =
        format!("<equality><joint joint1=\"right\" joint2=\"left\" polycoef=\"{offset} -2\"/></equality>");
    text.replace("<actuator>", &format!("{joint}<actuator>"))
}

fn told(text: &str) -> String {
    let robot = Robot::parse(text, Path::new("hand.xml"), &RobotOptions::default());
    robot.expect("a robot").warnings.join("; ")
}

/// The drive, the effort and the ratios of the actuator of a scene with a hand alone.
fn made(text: &str) -> (Drive, f64, Vec<(usize, f64)>) {
    let folder = Folder::new("mjcf-actuators");
    folder.file("hand.xml", text);
    let scene = Scene::load(folder.file("scene.toml", "[[robots]]\nurdf = \"hand.xml\"")).expect("a scene");
    let [actuator] = scene.model.actuators() else { panic!("one actuator: {:?}", scene.warnings) };
    let ratios = actuator.coordinates().iter().map(|at| (at.v, at.ratio)).collect();
    (actuator.drive, actuator.effort, ratios)
}

/// A motor pulls each joint of a tendon with its factor, as MuJoCo's moment arms are.
#[test]
fn motors_of_tendons_drive_their_joints_by_their_factors() {
    let text = hand("<motor tendon=\"both\" gear=\"3\"/>");
    assert_eq!(made(&text), (Drive::Force, f64::INFINITY, vec![(0, 1.5), (2, -6.0)]));
    assert_eq!(told(&text), "");
    // The force of another joint acts on the one that it follows.
    let text = with_mimic(&hand("<general tendon=\"fingers\" gainprm=\"10\" ctrlrange=\"-1 1\"/>"), 0.1);
    assert_eq!(made(&text), (Drive::Force, 20.0, vec![(0, 20.0)]));
    let text = hand("<motor tendon=\"both\" forcerange=\"-1 1\"/>");
    assert!(told(&text).contains("the limit of the force of a tendon whose joints have different factors"));
}

/// Each joint follows the next, and the motors of all of them drive the last: in a time that does not grow with the cube
/// of their number.
#[test]
fn motors_drive_the_end_of_a_long_chain_of_followers() {
    let count = 2000;
    let joined = |part: &dyn Fn(usize) -> String, last: usize| (0..last).map(part).collect::<String>();
    let inertia = "<inertial pos=\"0 0 0\" mass=\"1\" diaginertia=\"1 1 1\"/>";
    let bodies = joined(&|k| format!("<body><joint name=\"j{k}\"/>{inertia}</body>\n"), count);
    let follow = |k| format!("<joint joint1=\"j{k}\" joint2=\"j{}\" polycoef=\"0 -1\"/>\n", k + 1);
    let motors = joined(&|k| format!("<motor joint=\"j{k}\" gear=\"3\"/>\n"), count);
    let text = format!(
        "<mujoco><worldbody><body>{inertia}{bodies}</body></worldbody><equality>{}</equality>\
         <actuator>{motors}</actuator></mujoco>",
        joined(&follow, count - 1)
    );
    let folder = Folder::new("mjcf-chain");
    folder.file("chain.xml", &text);
    let scene = Scene::load(folder.file("scene.toml", "[[robots]]\nurdf = \"chain.xml\"")).expect("a scene");
    assert_eq!(scene.model.actuators().len(), count);
    for (k, actuator) in scene.model.actuators().iter().enumerate() {
        let ratio = if (count - 1 - k) % 2 == 0 { 3.0 } else { -3.0 };
        let ratios: Vec<f64> = actuator.coordinates().iter().map(|at| at.ratio).collect();
        assert_eq!(ratios, [ratio]);
    }
}

#[test]
fn servos_of_lengths_in_proportion_to_one_position_are_read() {
    let servo = "<position tendon=\"fingers\" kp=\"8\" kv=\"2\" gear=\"0.5\"/>";
    // The length is 3 left + 0.5 (−2 left), times the gear left alone.
    let (drive, _, ratios) = made(&with_mimic(&hand(servo), 0.0));
    assert_eq!(drive, Drive::Position { stiffness: 8.0, damping: 2.0 });
    assert_eq!(ratios, [(0, 1.0)]);
    for text in [hand(servo), with_mimic(&hand(servo), 0.1)] {
        assert!(
            told(&text).contains("a servo of a length that is not in proportion to one position"),
            "{}",
            told(&text)
        );
    }
}

/// A length that stays what it is couples two joints, and a keyframe is not what positions are measured from.
#[test]
fn a_constant_length_of_two_joints_has_one_follow_the_other() {
    let equality = "<equality><tendon tendon1=\"both\" polycoef=\"0.1\"/></equality>\
                    <keyframe><key name=\"open\" qpos=\"0.4 0 0.3\"/></keyframe><actuator>";
    let text =
        hand("").replace("<actuator>", equality).replace("name=\"thumb\"", "name=\"thumb\" ref=\"0.2\"");
    for keyframe in [None, Some("open".to_owned())] {
        let options = RobotOptions { keyframe, ..RobotOptions::default() };
        let robot = Robot::parse(&text, Path::new("hand.xml"), &options).expect("a robot");
        let m = &robot.mechanism;
        let follows = m.joints()[m.joint_index("thumb").expect("a joint")].follows.expect("it follows");
        assert_eq!(m.joints()[follows.joint].name, "left");
        // 0.5 left − 2 (thumb − 0.2) = 0.1.
        assert_eq!((follows.ratio, follows.offset), (0.25, 0.2 - 0.05));
    }
    let three =
        text.replace("<fixed name=\"both\">", "<fixed name=\"both\"><joint joint=\"right\" coef=\"1\"/>");
    let refused =
        Robot::parse(&three, Path::new("hand.xml"), &RobotOptions::default()).expect_err("three joints");
    assert!(
        refused
            .to_string()
            .contains(":12: is not a valid MJCF: tendon: found in `equality`; of tendons only"),
        "{refused}"
    );
}

#[test]
fn what_tendons_and_servos_do_besides_is_told() {
    let text = hand("<position joint=\"thumb\" name=\"bend\" inheritrange=\"1\"/>")
        .replace("name=\"both\"", "name=\"both\" stiffness=\"5\" range=\"0 1\"");
    assert_eq!(
        told(&text),
        "`ctrlrange` of a servo is not simulated; it is given for position `bend`; `range` of a tendon is not simulated; \
         it is given for fixed `both`; `stiffness` of a tendon is not simulated; it is given for fixed `both`"
    );
}

#[test]
fn attributes_that_no_element_has_are_told_once_with_file_and_line() {
    let text = hand("").replace("<joint name=\"left\"/>", "<joint name=\"left\" rnage=\"-1 1\"/>");
    let text = text.replace("<joint name=\"right\"/>", "<joint name=\"right\" rnage=\"-1 1\" colour=\"1\"/>");
    assert_eq!(
        told(&text),
        "hand.xml:5: joint `right`: the attribute `colour` is not known and not read; hand.xml:4: joint `left`: the \
         attribute `rnage` is not known and not read; it may be meant to be `range`"
    );
}

#[test]
fn what_is_wrong_with_tendons_is_told_with_its_line() {
    for (from, to, part) in [
        (
            "<fixed name=\"both\">",
            "<spatial/><fixed name=\"both\">",
            ":9: is not a valid MJCF: spatial: found in `tendon`",
        ),
        (
            "joint=\"thumb\" coef",
            "joint=\"palm\" coef",
            ":9: is not a valid MJCF: joint: found joint = \"palm\", which is no joint",
        ),
        (
            "name=\"fingers\"",
            "name=\"both\"",
            ":10: is not a valid MJCF: fixed `both`: found a second tendon `both`",
        ),
        (
            "tendon=\"both\"",
            "tendon=\"all\"",
            ":12: is not a valid MJCF: motor: found tendon = \"all\", which is no fixed tendon",
        ),
    ] {
        let good = hand("<motor tendon=\"both\"/>");
        assert_eq!(good.matches(from).count(), 1, "{from}");
        let robot = Robot::parse(&good.replace(from, to), Path::new("hand.xml"), &RobotOptions::default());
        let message = robot.expect_err("bad").to_string();
        assert!(message.contains(part), "{message}");
    }
}
