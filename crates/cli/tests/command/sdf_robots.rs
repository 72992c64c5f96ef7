//! Robots from SDF files: masses, axes and frames by hand, the same mechanism as URDF, a published gripper, and what
//! is wrong with bad files.

use std::path::{Path, PathBuf};

use isobar::geometry::Shape;
use isobar::io::robot::{LinkGeometry, MimicJoints, Robot, RobotBase, RobotOptions};
use isobar::io::{FileError, Scene};
use isobar::multibody::tree::{JointKind, JointSpring, Mechanism, Workspace};
use isobar::spatial::{RigidTransform, rotation_from_rpy};
use nalgebra::{DMatrix, Vector3};

use crate::folder::Folder;
use crate::{isobar, text};

const QUARTER: f64 = std::f64::consts::FRAC_PI_2;

/// A base half a metre up and turned by a quarter about z, an arm beside it that turns about an axis above its own
/// frame, and a slide that goes along the model's z axis and is told by a frame on the arm.
const GOOD: &str = r#"<?xml version="1.0"?>
<sdf version="1.9" xmlns:drake="http://drake.mit.edu">
  <model name="two">
    <link name="base">
      <pose>0 0 0.5 0 0 1.5707963267948966</pose>
    </link>
    <link name="arm">
      <pose relative_to="base" degrees="true">0.2 0 0 0 0 0</pose>
      <inertial>
        <pose>0.1 0 0 0 0 1.5707963267948966</pose>
        <mass> 2 </mass>
        <inertia><ixx>0.01</ixx><iyy>0.02</iyy><izz>0.03</izz></inertia>
      </inertial>
      <collision name="block">
        <pose relative_to="tip">0 0 0.3 0 0 0</pose>
        <geometry><box><size>0.1 0.2 0.3</size></box></geometry>
        <drake:proximity_properties><drake:hydroelastic_modulus>1e5</drake:hydroelastic_modulus></drake:proximity_properties>
      </collision>
    </link>
    <joint name="hinge" type="revolute">
      <parent>base</parent>
      <child>arm</child>
      <pose degrees="1">0 0 0.1 90 0 0</pose>
      <axis>
        <xyz>0 0 1</xyz>
        <limit><lower>-1</lower><upper>2</upper><effort>30</effort><velocity>-1</velocity><stiffness>15000</stiffness></limit>
        <dynamics><damping>0.7</damping><friction>0.2</friction><spring_stiffness>5</spring_stiffness><spring_reference>0.4</spring_reference></dynamics>
      </axis>
    </joint>
    <frame name="tip" attached_to="arm">
      <pose rotation_format="quat_xyzw">0.4 0 0 0 0.7071067811865476 0 0.7071067811865476</pose>
    </frame>
    <link name="slider">
      <pose relative_to="tip">0 0 0.1 0 0 0</pose>
      <inertial><mass>0.5</mass></inertial>
    </link>
    <joint name="slide" type="prismatic">
      <parent>tip</parent>
      <child>slider</child>
      <axis><xyz expressed_in="__model__">0 0 3</xyz></axis>
    </joint>
  </model>
</sdf>"#;

fn parse_with(text: &str, options: &RobotOptions) -> Result<Robot, FileError> {
    Robot::parse(text, Path::new("two.sdf"), options)
}

fn parse(text: &str) -> Result<Robot, FileError> {
    parse_with(text, &RobotOptions::default())
}

/// The file with one part replaced.
fn with(old: &str, new: &str) -> String {
    assert_eq!(GOOD.matches(old).count(), 1, "{old}");
    GOOD.replace(old, new)
}

fn pose(mechanism: &Mechanism, workspace: &Workspace, body: &str) -> RigidTransform {
    workspace.body_pose(mechanism, mechanism.body_index(body).expect("a body"))
}

fn assert_near(found: &RigidTransform, rotation: nalgebra::Matrix3<f64>, translation: [f64; 3]) {
    assert!((found.rotation - rotation).amax() < 1e-14, "{found:?}");
    assert!((found.translation - Vector3::from(translation)).amax() < 1e-14, "{found:?}");
}

#[test]
fn frames_axes_and_masses_are_those_by_hand() {
    let robot = parse(GOOD).expect("a robot");
    assert_eq!(robot.warnings.len(), 1, "{:?}", robot.warnings);
    assert!(robot.warnings[0].contains("link `base` has no `inertial`"), "{:?}", robot.warnings);
    let m = &robot.mechanism;
    let mut workspace = Workspace::new(m);
    let (q, v) = ([0.3, 0.05], [0.8, 0.0]);
    m.update_kinematics(&q, &v, &mut workspace);
    let turned = rotation_from_rpy(0.0, 0.0, QUARTER);
    assert_near(&pose(m, &workspace, "base"), turned, [0.0, 0.0, 0.5]);
    // The hinge is at (0, 0.2, 0.6). Its z axis is −y of the arm, which is x of the model.
    let (sine, cosine) = q[0].sin_cos();
    let around = rotation_from_rpy(q[0], 0.0, 0.0);
    assert_near(&pose(m, &workspace, "arm"), around * turned, [0.0, 0.2 + 0.1 * sine, 0.6 - 0.1 * cosine]);
    // The tip is 0.4 m along x of the arm, which is y of the model, and the slider a further 0.1 m along z of the tip,
    // which is x of the arm. It slides along what is z of the model where the hinge is at zero.
    let (y, z) = (0.5, -0.1 + q[1]);
    let expected = [0.0, 0.2 + cosine * y - sine * z, 0.6 + sine * y + cosine * z];
    let tip = turned * rotation_from_rpy(0.0, QUARTER, 0.0);
    assert_near(&pose(m, &workspace, "slider"), around * tip, expected);
    let slider = workspace.body_velocity(m, m.body_index("slider").expect("a body"));
    assert!((slider.rotational - Vector3::new(v[0], 0.0, 0.0)).amax() < 1e-15);

    // The arm: 0.02 kg m² about x of its inertial frame, 0.01 about y of its own, which the hinge is parallel to, with
    // 2 kg at (0.1, −0.1) from it. The slider: 0.5 kg, and 1 kg m² as the format has it where nothing is said.
    let mut matrix = DMatrix::zeros(2, 2);
    m.mass_matrix(&mut workspace, &mut matrix);
    let hinge = 0.01 + 2.0 * (0.01 + 0.01) + 1.0 + 0.5 * (y * y + z * z);
    let expected = DMatrix::from_row_slice(2, 2, &[hinge, 0.5 * y, 0.5 * y, 0.5]);
    assert!((&matrix - expected).amax() < 1e-14, "{matrix}");

    let [hinge, slide] = ["hinge", "slide"].map(|name| &m.joints()[m.joint_index(name).expect("a joint")]);
    let limits = hinge.limits;
    assert_eq!(
        (limits.lower, limits.upper, limits.effort, limits.velocity),
        (-1.0, 2.0, 30.0, f64::INFINITY)
    );
    assert_eq!((limits.stiffness, limits.dissipation), (15e3, 1.0));
    assert_eq!((hinge.damping, hinge.friction), (0.7, 0.2));
    assert_eq!(hinge.spring, JointSpring { stiffness: 5.0, rest: 0.4 });
    assert_eq!((slide.limits.lower, slide.limits.effort), (f64::NEG_INFINITY, f64::INFINITY));
    // The block stands 0.3 m along x of the arm beyond the tip, its z axis along that.
    let block = &robot.collisions[0];
    assert_eq!((block.body.as_str(), block.name.as_deref()), ("arm", Some("block")));
    assert_near(&block.x_bg, rotation_from_rpy(0.0, QUARTER, 0.0), [0.7, 0.0, 0.0]);
    assert_eq!(block.geometry, LinkGeometry::Primitive(Shape::Box { size: [0.1, 0.2, 0.3] }));
}

#[test]
fn all_shapes_and_joints_are_read() {
    let shape = "<box><size>0.1 0.2 0.3</size></box>";
    for (written, expected) in [
        ("<sphere><radius>0.1</radius></sphere>", Shape::Sphere { radius: 0.1 }),
        (
            "<cylinder><radius>0.1</radius><length>0.2</length></cylinder>",
            Shape::Cylinder { radius: 0.1, length: 0.2 },
        ),
        (
            "<capsule><radius>0.1</radius><length>0.2</length></capsule>",
            Shape::Capsule { radius: 0.1, length: 0.2 },
        ),
        (
            "<drake:capsule><radius>0.1</radius><length>0.2</length></drake:capsule>",
            Shape::Capsule { radius: 0.1, length: 0.2 },
        ),
        (
            "<ellipsoid><radii>0.1 0.2 0.3</radii></ellipsoid>",
            Shape::Ellipsoid { semi_axes: [0.1, 0.2, 0.3] },
        ),
        (
            "<drake:ellipsoid><a>0.1</a><b>0.2</b><c>0.3</c></drake:ellipsoid>",
            Shape::Ellipsoid { semi_axes: [0.1, 0.2, 0.3] },
        ),
    ] {
        let robot = parse(&with(shape, written)).expect("a robot");
        assert_eq!(robot.collisions[0].geometry, LinkGeometry::Primitive(expected));
    }
    let mesh = "<mesh><uri>package://arm/a.obj</uri><scale>1 2 3</scale></mesh>";
    let robot = parse(&with(shape, mesh)).expect("a robot");
    assert!(robot.warnings.contains(&"meshes that are not found: package://arm/a.obj".to_owned()));
    let LinkGeometry::Mesh(mesh) = &robot.collisions[0].geometry else { panic!("a mesh") };
    assert_eq!(mesh.scale, Vector3::new(1.0, 2.0, 3.0));

    for (name, kind) in [
        ("fixed", JointKind::Fixed),
        ("continuous", JointKind::Revolute { axis: Vector3::z() }),
        ("prismatic", JointKind::Prismatic { axis: Vector3::z() }),
        ("ball", JointKind::Ball),
    ] {
        let robot = parse(&with("type=\"revolute\"", &format!("type=\"{name}\""))).expect("a robot");
        let m = &robot.mechanism;
        // A fixed joint is none of a mechanism: its links are one.
        let Some(hinge) = m.joint_index("hinge") else {
            assert_eq!(kind, JointKind::Fixed);
            continue;
        };
        let joint = &m.joints()[hinge];
        assert_eq!(joint.kind, kind);
        if name == "continuous" {
            assert_eq!((joint.limits.lower, joint.limits.effort), (f64::NEG_INFINITY, 30.0));
        }
    }
}

/// A slide that follows the hinge, as either way of writing has it, and joints on the world.
#[test]
fn joints_follow_others_and_the_base_is_where_it_is_put() {
    let axis = "<axis><xyz expressed_in=\"__model__\">0 0 3</xyz></axis>";
    let drake = "<drake:mimic joint=\"hinge\" multiplier=\"0.5\" offset=\"0.1\"/>";
    let own = "<mimic joint=\"hinge\"><multiplier>0.5</multiplier><offset>0.2</offset><reference>0.2</reference></mimic>";
    for follower in [
        with(axis, &format!("{axis}{drake}")),
        with(axis, &axis.replace("</axis>", &format!("{own}</axis>"))),
    ] {
        let m = parse(&follower).expect("a robot").mechanism;
        assert_eq!(m.velocity_dimension(), 1);
        let mut workspace = Workspace::new(&m);
        m.update_kinematics(&[0.0], &[0.0], &mut workspace);
        let z = pose(&m, &workspace, "slider").translation.z;
        assert!((z - (0.5 + 0.1)).abs() < 1e-15, "{z}");
        let options = RobotOptions { mimic: MimicJoints::Independent, ..RobotOptions::default() };
        let free = parse_with(&follower, &options).expect("a robot");
        assert_eq!(free.mechanism.velocity_dimension(), 2);
        assert!(
            free.warnings.iter().any(|w| w.contains("joint `slide` mimics joint `hinge`")),
            "{:?}",
            free.warnings
        );
    }
    // The base places the model's frame.
    let x_wb = RigidTransform::new(rotation_from_rpy(0.3, 0.2, 0.1), Vector3::new(1.0, 2.0, 3.0));
    let options = |base| RobotOptions { base, ..RobotOptions::default() };
    let on_world = with("<parent>base</parent>", "<parent>world</parent>")
        .replace("<link name=\"base\">\n      <pose>0 0 0.5 0 0 1.5707963267948966</pose>\n    </link>", "")
        .replace("relative_to=\"base\"", "");
    let place = |text: &str, body: &str, base, q: &[f64]| {
        let m = parse_with(text, &options(base)).expect("a robot").mechanism;
        let mut workspace = Workspace::new(&m);
        m.update_kinematics(q, &vec![0.0; m.velocity_dimension()], &mut workspace);
        pose(&m, &workspace, body)
    };
    let fixed = RobotBase::Fixed { x_wb };
    let turned = RigidTransform::new(rotation_from_rpy(0.0, 0.0, QUARTER), Vector3::new(0.0, 0.0, 0.5));
    let expected = x_wb * turned;
    assert_near(&place(GOOD, "base", fixed, &[0.0; 2]), expected.rotation, expected.translation.into());
    let arm = x_wb * Vector3::new(0.2, 0.0, 0.0);
    assert_near(&place(&on_world, "arm", fixed, &[0.0; 2]), x_wb.rotation, arm.into());
    let quaternion = isobar::spatial::Quaternion::from_matrix(&x_wb.rotation);
    let q = [quaternion.w, quaternion.v.x, quaternion.v.y, quaternion.v.z, 1.0, 2.0, 3.0, 0.0, 0.0];
    assert_near(&place(GOOD, "base", RobotBase::Free, &q), expected.rotation, expected.translation.into());
    let error = parse_with(&on_world, &options(RobotBase::Free)).expect_err("on the world").to_string();
    assert!(error.contains("joint `hinge`") && error.contains("cannot be free"), "{error}");
    // The model's own pose is left to the scene.
    let placed = with("<model name=\"two\">", "<model name=\"two\"><pose>0 0 1 0 0 0</pose>");
    let robot = parse(&placed).expect("a robot");
    assert!(robot.warnings[0].contains("two.sdf:3: the pose of the model itself"), "{:?}", robot.warnings);
}

/// The small arm of Drake's numbers, told by an SDF file that places frames in other ways.
#[test]
fn urdf_and_sdf_have_the_same_mass_matrix() {
    let folder = Path::new(crate::ROOT).join("tests/reference/multibody");
    let read = |name: &str| Robot::load(&folder.join(name), &RobotOptions::default()).expect("a robot");
    let [urdf, sdf] = ["small_arm.urdf", "small_arm.sdf"].map(read);
    assert!(sdf.warnings.is_empty(), "{:?}", sdf.warnings);
    let matrix = |robot: &Robot, q: &[f64]| {
        let m = &robot.mechanism;
        // Joints come in other orders.
        let order =
            ["turn", "bend", "reach", "left", "right"].map(|name| m.joint_index(name).expect("a joint"));
        let order = order.map(|joint| m.joints()[joint].v.start);
        let mut own = [0.0; 5];
        (0..5).for_each(|i| own[order[i]] = q[i]);
        let (mut workspace, mut matrix) = (Workspace::new(m), DMatrix::zeros(5, 5));
        m.update_kinematics(&own, &[0.0; 5], &mut workspace);
        m.mass_matrix(&mut workspace, &mut matrix);
        let tool = pose(m, &workspace, "tool");
        (DMatrix::from_fn(5, 5, |i, j| matrix[(order[i], order[j])]), tool)
    };
    for q in [[0.0; 5], [0.7, -1.3, 0.12, 0.01, 0.4], [-2.1, 0.6, 0.28, -0.015, -0.9]] {
        let ((a, tool_a), (b, tool_b)) = (matrix(&urdf, &q), matrix(&sdf, &q));
        assert!((&a - &b).amax() < 1e-12, "{a} {b}");
        assert_near(&tool_a, tool_b.rotation, tool_b.translation.into());
    }
}

/// Each kind of bad file gives one message with the line, and exit code 2.
#[test]
fn bad_files_are_refused() {
    let folder = Folder::new("bad-sdf");
    let joint = |name: &str, parent: &str, child: &str| {
        format!(
            "<joint name=\"{name}\" type=\"fixed\"><parent>{parent}</parent><child>{child}</child></joint>\n  </model>"
        )
    };
    let end = "  </model>";
    let parent = "<parent>base</parent>";
    let cases: Vec<(&str, String, &[&str])> = vec![
        ("empty", String::new(), &["is not a valid SDF", "no element"]),
        ("not-xml", GOOD[..900].to_owned(), &[":23: is not a valid SDF", "not closed"]),
        ("urdf", "<robot name=\"x\"/>".to_owned(), &[":1: is not a valid SDF", "`robot`; it must be `sdf`"]),
        ("version", with("1.9", "1.4"), &[":2:", "\"1.4\"; it must be 1.5"]),
        ("no-version", with(" version=\"1.9\"", ""), &[":2:", "no attribute `version`"]),
        (
            "world",
            "<sdf version=\"1.7\">\n<world/></sdf>".to_owned(),
            &[":2:", "`world` has no `model`; it must have one"],
        ),
        ("no-model", "<sdf version=\"1.7\"/>".to_owned(), &[":1:", "no `model`"]),
        (
            "two",
            with("</sdf>", "<model name=\"b\"/></sdf>"),
            &["second one, model `b`; one model or world is allowed"],
        ),
        ("no-link", "<sdf version=\"1.7\"><model name=\"x\"/></sdf>".to_owned(), &["has no link"]),
        ("nested", with(end, "<model name=\"hand\"/></model>"), &[":42:", "found model `hand`", "`frame`"]),
        ("include", with(end, "<include/></model>"), &["found include"]),
        ("ball-constraint", with(end, "<drake:ball_constraint/></model>"), &["drake:ball_constraint"]),
        ("static", with(end, "<static>yes</static></model>"), &["`static` is \"yes\"", "true or false"]),
        (
            "placement",
            with("name=\"two\"", "name=\"two\" placement_frame=\"tip\""),
            &[":3:", "placement_frame"],
        ),
        (
            "type",
            with("revolute", "screw"),
            &[":20: is not a valid SDF: joint `hinge`", "\"screw\"; it must be one of fixed, revolute"],
        ),
        ("number", with("<lower>-1<", "<lower>low<"), &[":26:", "`lower` is \"low\", which is no number"]),
        ("numbers", with("<xyz>0 0 1</xyz>", "<xyz>0 1</xyz>"), &[":25:", "expected 3 found 2 numbers"]),
        (
            "pose",
            with("<pose>0.1 0 0 0 0 1.5707963267948966</pose>", "<pose>0.1</pose>"),
            &[":10:", "expected 6"],
        ),
        ("format", with("quat_xyzw", "matrix"), &[":31:", "rotation_format = \"matrix\"", "euler_rpy"]),
        ("quaternion", with("0 0.7071067811865476 0 0.7071067811865476", "0 0 0 0"), &[":31:", "length 0"]),
        ("old-frame", with("relative_to=\"base\"", "frame=\"base\""), &[":8:", "it is relative_to"]),
        (
            "relative",
            with("relative_to=\"base\"", "relative_to=\"bass\""),
            &[":8:", "`bass`, which is no frame", "hinge"],
        ),
        (
            "circle",
            with("<pose>0 0 0.5 0 0 1.5707963267948966</pose>", "<pose relative_to=\"arm\"/>"),
            &["is given in itself"],
        ),
        (
            "attached",
            with("attached_to=\"arm\"", "attached_to=\"tip\"")
                .replace("<pose rotation_format", "<pose relative_to=\"arm\" rotation_format"),
            &["`tip` is attached to itself"],
        ),
        (
            "inertial-frame",
            with("<pose>0.1 0 0 0 0 1.57", "<pose relative_to=\"tip\">0.1 0 0 0 0 1.57"),
            &[":10:", "in the link's frame"],
        ),
        ("auto", with("<inertial><mass>", "<inertial auto=\"true\"><mass>"), &[":35:", "auto"]),
        (
            "no-axis",
            with("<axis><xyz expressed_in=\"__model__\">0 0 3</xyz></axis>", ""),
            &[":37:", "joint `slide`", "no element `axis`"],
        ),
        ("axis-0", with("0 0 3", "0 0 0"), &["joint `slide`", "its axis is"]),
        ("expressed", with("__model__", "modell"), &[":40:", "`modell`, which is no frame"]),
        ("parent", with(parent, "<parent>bass</parent>"), &[":20:", "`bass`, which is no frame"]),
        ("no-child", with("<child>arm</child>", ""), &[":20:", "joint `hinge`", "no element `child`"]),
        ("empty-child", with("<child>arm</child>", "<child/>"), &["`child` is empty"]),
        ("loop", with(end, &joint("back", "slider", "base")), &[":20:", "joint `hinge` is in a loop"]),
        (
            "two-parents",
            with(end, &joint("again", "base", "slider")),
            &[":42:", "joint `again` closes a loop", "`slider`", "`slide`"],
        ),
        ("itself", with(parent, "<parent>arm</parent>"), &[":20:", "joint `hinge` is in a loop"]),
        (
            "apart",
            with(end, "<link name=\"b\"/></model>"),
            &[":42:", "link `b` is the child of no joint, as is link `base`"],
        ),
        (
            "twice",
            with("link name=\"slider\"", "link name=\"arm\""),
            &[":33:", "a second `arm`, after that of line 7"],
        ),
        (
            "reserved",
            with("link name=\"slider\"", "link name=\"world\""),
            &[":33:", "`world`, which the format keeps"],
        ),
        (
            "no-shape",
            with("<box><size>0.1 0.2 0.3</size></box>", "<heightmap/>"),
            &[":16:", "`geometry` has `heightmap`", "drake:ellipsoid, mesh, plane"],
        ),
        ("size", with("0.1 0.2 0.3</size>", "0.1 0.2 -0.3</size>"), &["link `arm`", "-0.3 m"]),
        (
            "no-radius",
            with("<box><size>0.1 0.2 0.3</size></box>", "<sphere/>"),
            &[":16:", "no element `radius`"],
        ),
        (
            "submesh",
            with("<box><size>0.1 0.2 0.3</size></box>", "<mesh><uri>a.obj</uri><submesh/></mesh>"),
            &[":16:", "submesh"],
        ),
        ("mass", with("> 2 <", ">-2<"), &["body `arm`", "mass is -2 kg"]),
        ("limits", with("<lower>-1<", "<lower>3<"), &["joint `hinge`", "limits are reversed"]),
        (
            "mimic",
            with(
                "</axis>\n    </joint>\n    <frame",
                "</axis><drake:mimic joint=\"x\"/></joint>\n    <frame",
            ),
            &["joint `hinge`", "`x`, which is no joint"],
        ),
    ];
    for (name, content, parts) in cases {
        let file = folder.file(&format!("{name}.sdf"), &content);
        let output = isobar(&["model", text(&file), "--json"]);
        let message = String::from_utf8_lossy(&output.stderr);
        let message: Vec<&str> = message.lines().filter(|line| !line.starts_with("warning")).collect();
        assert_eq!(output.status.code(), Some(2), "{name}: {message:?}");
        assert!(output.stdout.is_empty(), "{name}");
        assert_eq!(message.len(), 1, "{name}: {message:?}");
        for part in [text(&file)].iter().chain(parts) {
            assert!(message[0].contains(part), "{name}: `{part}` is not in {}", message[0]);
        }
    }
    // Whatever the text, there is no panic.
    for end in (0..GOOD.len()).step_by(11) {
        assert!(parse(&GOOD[..end]).is_err());
        let _ = parse(&format!("{}{}", &GOOD[..end], GOOD.get(end + 5..).unwrap_or("")));
    }
}

/// A scene and the commands take the file by its ending.
#[test]
fn scenes_and_commands_take_sdf_files() {
    let folder = Folder::new("sdf-scene");
    let robot = folder.file("two.sdf", GOOD);
    let scene = folder.file(
        "scene.toml",
        "[materials.foam]\nhydroelastic_modulus = 1e5\n[[robots]]\nurdf = \"two.sdf\"\nprefix = \"a \"\n\
         positions = { hinge = 0.2 }\nmaterials = { arm = \"foam\" }\ndrive = \"force\"\n",
    );
    let loaded = Scene::load(&scene).expect("a scene");
    let m = loaded.model.mechanism();
    assert!(m.body_index("a slider").is_some());
    assert_eq!(loaded.state.joints.q, [0.2, 0.0]);
    assert_eq!(loaded.model.actuators()[0].effort, 30.0);
    let output = isobar(&["check", text(&robot)]);
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(told.contains("two.sdf: robot two, 3 links, 2 joints that move"), "{told}");
    assert!(isobar(&["model", text(&robot)]).status.success());
}

/// The gripper of Drake's models: its links lie where its file says, its bubbles at the tips of its fingers.
#[test]
#[ignore = "needs the recordings and models in ../shared/data"]
fn the_wsg_gripper_is_read() {
    let file: PathBuf =
        Path::new(crate::ROOT).join("../shared/data/models/wsg_50/schunk_wsg_50_hydro_bubble.sdf");
    let robot = Robot::load(&file, &RobotOptions::default()).expect("a robot");
    // Visual meshes that are not there are no matter.
    assert!(robot.warnings.is_empty(), "{:?}", robot.warnings);
    let m = &robot.mechanism;
    assert_eq!((robot.name.as_str(), m.bodies().len(), m.joints().len()), ("Schunk_Gripper", 5, 2));
    let mass: f64 = m.bodies().iter().map(|body| body.mass.expect("a mass").mass).sum();
    assert!((mass - 1.188882).abs() < 1e-12);
    let mut workspace = Workspace::new(m);
    let moving: Vec<&str> = m.joints_with_coordinates().map(|joint| joint.name.as_str()).collect();
    assert_eq!(moving, ["left_finger_sliding_joint", "right_finger_sliding_joint"]);
    for (name, range) in [(moving[0], [-0.055, 0.0]), (moving[1], [0.0, 0.055])] {
        let joint = &m.joints()[m.joint_index(name).expect("a joint")];
        assert_eq!(joint.kind, JointKind::Prismatic { axis: Vector3::y() });
        assert_eq!([joint.limits.lower, joint.limits.upper], range);
        assert_eq!((joint.limits.effort, joint.limits.stiffness), (80.0, 15e3));
    }
    m.update_kinematics(&[-0.02, 0.03], &[0.0; 2], &mut workspace);
    let mut matrix = DMatrix::zeros(2, 2);
    m.mass_matrix(&mut workspace, &mut matrix);
    assert!((matrix - DMatrix::identity(2, 2) * 0.1).amax() < 1e-15);
    for (body, place) in [
        ("gripper", [0.0, 0.0, 0.0]),
        ("left_finger_bubble", [0.0, -0.02, -0.0725]),
        ("left_finger", [0.0, -0.02, -0.19]),
        ("right_finger_bubble", [0.0, 0.03, -0.0725]),
        ("right_finger", [0.0, 0.03, -0.19]),
    ] {
        assert_near(&pose(m, &workspace, body), nalgebra::Matrix3::identity(), place);
    }
    let bubble = &robot.collisions[0];
    assert_eq!((bubble.body.as_str(), robot.collisions.len()), ("left_finger_bubble", 2));
    assert_eq!(bubble.x_bg.translation, Vector3::new(0.0, -0.041665, -0.1095));
    let semi_axes = [0.04165, 0.04165, 0.0625];
    assert_eq!(bubble.geometry, LinkGeometry::Primitive(Shape::Ellipsoid { semi_axes }));
}
