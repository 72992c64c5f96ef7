//! What robots' files have that is not in the formats' cores, and what is told of it: points and rods, planes, static
//! models, gravity by link, Drake's tags, files for xacro.

use std::path::Path;

use isobar::contact::ContactGeometry;
use isobar::io::Scene;
use isobar::io::robot::{LinkGeometry, Robot, RobotBase, RobotOptions};
use isobar::multibody::tree::Workspace;
use nalgebra::{DMatrix, Vector3};

use crate::folder::Folder;
use crate::{run, text};

const INERTIA: &str = "<inertial><mass value=\"1\"/><inertia ixx=\"1e-3\" ixy=\"0\" ixz=\"0\" iyy=\"1e-3\" iyz=\"0\" izz=\"1e-3\"/></inertial>";

fn near(found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() < 1e-12, "{found}, not {expected}");
}

fn parse(text: &str, file: &str) -> Robot {
    let robot = Robot::parse(text, Path::new(file), &RobotOptions::default());
    robot.unwrap_or_else(|error| panic!("{error}"))
}

fn refused(text: &str, file: &str) -> String {
    let robot = Robot::parse(text, Path::new(file), &RobotOptions::default());
    robot.expect_err("refused").to_string()
}

/// The mass matrix where all joints are at 0.
fn mass_matrix(robot: &Robot) -> DMatrix<f64> {
    let mechanism = &robot.mechanism;
    let (state, mut workspace) = (mechanism.neutral_state(), Workspace::new(mechanism));
    mechanism.update_kinematics(&state.q, &state.v, &mut workspace);
    let mut matrix = DMatrix::zeros(state.v.len(), state.v.len());
    mechanism.mass_matrix(&mut workspace, &mut matrix);
    matrix
}

/// A hinge that carries a body of half a kilogram at 0.5 m.
fn pendulum(axis: &str, inertia: &str, rest: &str) -> String {
    format!(
        "<robot name=\"p\"><link name=\"base\"/><link name=\"arm\"><inertial><origin xyz=\"0 0 -0.5\"/><mass \
         value=\"0.5\"/><inertia {inertia} ixy=\"0\" ixz=\"0\" iyz=\"0\"/></inertial></link><joint name=\"j\" \
         type=\"revolute\"><parent link=\"base\"/><child link=\"arm\"/><axis xyz=\"{axis}\"/>{rest}</joint></robot>"
    )
}

#[test]
fn points_and_rods_move_where_their_place_resists() {
    for (inertia, expected) in
        [("ixx=\"0\" iyy=\"0\" izz=\"0\"", 0.125), ("ixx=\"0.01\" iyy=\"0.01\" izz=\"0\"", 0.135)]
    {
        let robot = parse(&pendulum("0 1 0", inertia, ""), "p.urdf");
        near(mass_matrix(&robot)[(0, 0)], expected);
        assert!(robot.warnings.is_empty(), "{:?}", robot.warnings);
        // About the line through it nothing resists.
        let message = refused(&pendulum("0 0 1", inertia, ""), "p.urdf");
        assert!(message.contains("joint `j` moves without resistance"), "{message}");
    }
    let wrong = parse(&pendulum("0 1 0", "ixx=\"0.01\" iyy=\"0.05\" izz=\"0.01\"", ""), "p.urdf");
    assert_eq!(wrong.warnings.len(), 1, "no distribution of mass has these moments");
}

#[test]
fn a_velocity_limit_may_be_negative_or_left_out() {
    let body = "ixx=\"1\" iyy=\"1\" izz=\"1\"";
    for limit in ["velocity=\"-1\"", ""] {
        let limit = format!("<limit lower=\"-1\" upper=\"2\" effort=\"5\" {limit}/>");
        let robot = parse(&pendulum("0 1 0", body, &limit), "p.urdf");
        let limits = robot.mechanism.joints()[0].limits;
        assert_eq!((limits.lower, limits.upper, limits.effort), (-1.0, 2.0, 5.0));
        assert_eq!(limits.velocity, f64::INFINITY);
    }
    let message = refused(&pendulum("0 1 0", body, "<limit velocity=\"nan\"/>"), "p.urdf");
    assert!(message.contains("its velocity limit is NaN"), "{message}");
}

#[test]
fn files_for_xacro_are_refused_with_what_to_do() {
    let file = |inside: &str| {
        format!(
            "<robot name=\"r\" xmlns:xacro=\"http://www.ros.org/wiki/xacro\">\n<link name=\"base\"/>\n{inside}</robot>"
        )
    };
    assert_eq!(parse(&file(""), "r.urdf").mechanism.bodies().len(), 1);
    for (inside, found) in [
        ("<xacro:macro name=\"f\" params=\"n\"><link name=\"l\"/></xacro:macro>", "`xacro:macro`"),
        ("<xacro:include filename=\"a.xacro\"/>", "`xacro:include`"),
        ("<link name=\"${n}\"/>", "\"${n}\""),
        (
            "<link name=\"l\"><visual><geometry><mesh filename=\"$(find a)/m.stl\"/></geometry></visual></link>",
            "\"$(find a)/m.stl\"",
        ),
    ] {
        let message = refused(&file(inside), "r.urdf");
        assert!(message.contains(&format!("r.urdf:3: is not a valid URDF: found {found}")), "{message}");
        assert!(message.contains("run xacro first"), "{message}");
    }
    let sdf = "<sdf version=\"1.9\"><model name=\"m\"><xacro:if value=\"1\"/></model></sdf>";
    assert!(refused(sdf, "m.sdf").contains("run xacro first"));
}

/// An SDF file of one model.
fn sdf(inside: &str) -> String {
    format!("<sdf version=\"1.9\" xmlns:drake=\"drake.mit.edu\"><model name=\"m\">{inside}</model></sdf>")
}

const SDF_MASS: &str =
    "<inertial><mass>1</mass><inertia><ixx>1e-3</ixx><iyy>1e-3</iyy><izz>1e-3</izz></inertia></inertial>";

/// A link on a hinge with something beside each.
fn hinged(link: &str, joint: &str) -> String {
    sdf(&format!(
        "<link name=\"base\">{SDF_MASS}</link><link name=\"arm\">{link}{SDF_MASS}</link><joint name=\"j\" \
         type=\"revolute\"><parent>base</parent><child>arm</child><axis><xyz>0 0 1</xyz></axis>{joint}</joint>"
    ))
}

#[test]
fn a_static_model_does_not_move() {
    let robot = parse(
        &hinged("", "").replace("<link name=\"base\">", "<static>1</static><link name=\"base\">"),
        "m.sdf",
    );
    assert_eq!((robot.mechanism.joints().len(), robot.mechanism.bodies().len()), (0, 2));
    assert!(robot.warnings.is_empty(), "{:?}", robot.warnings);
    let walls = sdf(
        "<static>true</static><link name=\"a\"><pose>1 0 0 0 0 0</pose></link><link name=\"b\"><pose>0 2 0 0 0 0</pose></link>",
    );
    let robot = parse(&walls, "m.sdf");
    let mechanism = &robot.mechanism;
    let workspace = Workspace::new(mechanism);
    let places = ["a", "b"].map(|name| mechanism.body_index(name).expect("a link"));
    let places = places.map(|body| workspace.body_pose(mechanism, body).translation);
    assert_eq!(places, [Vector3::x(), 2.0 * Vector3::y()]);
    assert!(refused(&walls.replace("true", "false"), "m.sdf").contains("is the child of no joint"));
    let ground = sdf("<static>true</static><link name=\"ground\"/>");
    assert!(parse(&ground, "m.sdf").warnings.is_empty(), "what does not move needs no mass");
    let free = RobotOptions { base: RobotBase::Free, ..Default::default() };
    let message = Robot::parse(&ground, Path::new("m.sdf"), &free).expect_err("free").to_string();
    assert!(message.contains("model `m`: it is static, so its base cannot be free"), "{message}");
}

#[test]
fn a_plane_is_a_half_space_along_its_normal() {
    let plane = |normal: &str| {
        let shape = format!("<plane>{normal}<size>1 1</size></plane>");
        sdf(&format!(
            "<static>true</static><link name=\"ground\"><collision name=\"c\"><pose>0 0 0.1 0 0 0</pose><geometry>{shape}</geometry></collision></link>"
        ))
    };
    for (normal, expected) in [
        ("", [0.0, 0.0, 1.0]),
        ("<normal>0 0 2</normal>", [0.0, 0.0, 1.0]),
        ("<normal>0 -3 4</normal>", [0.0, -0.6, 0.8]),
        ("<normal>0 0 -1</normal>", [0.0, 0.0, -1.0]),
    ] {
        let robot = parse(&plane(normal), "m.sdf");
        assert_eq!(robot.collisions[0].geometry, LinkGeometry::HalfSpace);
        let x_bg = robot.collisions[0].x_bg;
        assert!((x_bg.rotation * Vector3::z() - Vector3::from(expected)).norm() < 1e-15);
        assert_eq!(x_bg.translation, Vector3::new(0.0, 0.0, 0.1));
    }
    assert!(refused(&plane("<normal>0 0 0</normal>"), "m.sdf").contains("`normal` is"));
    let folder = Folder::new("plane");
    folder.file("m.sdf", plane(""));
    let scene = |material: &str| {
        let scene = format!(
            "[materials.foam]\nhydroelastic_modulus = 1e5\n[[robots]]\nurdf = \"m.sdf\"\nmaterials = {{ ground = \
             \"{material}\" }}\n[[bodies]]\nname = \"ball\"\nmass = 1\ntranslation = [0, 0, 0.14]\n\
             [[bodies.geometries]]\nshape = {{ sphere = {{ radius = 0.05 }} }}\nmaterial = \"foam\"\n"
        );
        folder.file("scene.toml", scene)
    };
    let (code, told, errors) = run(&["contact", text(&scene("rigid")), "--json"]);
    assert_eq!(code, Some(0), "{errors}");
    let told: serde_json::Value = serde_json::from_str(&told).expect("JSON");
    // The ball is 1 cm deep in the plane at 0.1 m: a cap of a sphere.
    let area = std::f64::consts::PI * (0.05_f64.powi(2) - 0.04_f64.powi(2));
    let found = told["pairs"][0]["area"].as_f64().expect("an area");
    assert!((found / area - 1.0).abs() < 0.05, "{found} m², not {area}");
    let (code, _, errors) = run(&["check", text(&scene("foam"))]);
    assert_eq!(code, Some(2));
    assert!(errors.contains("link `ground` collides with a plane") && errors.contains("rigid"), "{errors}");
}

#[test]
fn gravity_acts_where_the_file_has_it() {
    let folder = Folder::new("gravity");
    let fall = |file: &str, content: &str| -> (f64, String) {
        folder.file(file, content);
        let scene = folder.file("scene.toml", format!("[[robots]]\nurdf = \"{file}\"\nbase = \"free\"\n"));
        let out = folder.0.join("out.csv");
        let (code, _, told) = run(&["simulate", text(&scene), "--until", "0.1", "--out", text(&out)]);
        assert_eq!(code, Some(0), "{told}");
        let table = std::fs::read_to_string(&out).expect("a trajectory");
        let lines: Vec<Vec<&str>> = table.lines().map(|line| line.split(',').collect()).collect();
        let column = lines[0].iter().position(|name| name.ends_with(".q[6]")).expect("the height");
        (lines.last().expect("a line")[column].parse().expect("a number"), told)
    };
    let link = |inside: &str| sdf(&format!("<link name=\"l\">{inside}{SDF_MASS}</link>"));
    let (height, told) = fall("off.sdf", &link("<gravity>false</gravity>"));
    assert_eq!((height, told.contains("warning")), (0.0, false), "{told}");
    assert!(fall("on.sdf", &link("<gravity>true</gravity>")).0 < -0.04);
    let urdf = |inside: &str| {
        format!(
            "<robot name=\"r\"><link name=\"l\">{INERTIA}</link><gazebo reference=\"l\">{inside}</gazebo></robot>"
        )
    };
    assert_eq!(fall("off.urdf", &urdf("<turnGravityOff>true</turnGravityOff>")).0, 0.0);
    assert!(fall("on.urdf", &urdf("<gravity>1</gravity>")).0 < -0.04);
    // On a fixed base the first link does not count; on a free one it falls, and the other with it, which is told.
    let light = hinged("<gravity>0</gravity>", "");
    assert!(parse(&light, "m.sdf").warnings.is_empty());
    let (height, told) = fall("some.sdf", &light);
    assert!(height < -0.04);
    assert_eq!(told.matches("has it act on base, and so it does on arm").count(), 1, "{told}");
}

#[test]
fn what_is_not_simulated_is_told_once() {
    let told = |robot: Robot| robot.warnings;
    let link = "<kinematic>1</kinematic><velocity_decay><linear>0.1</linear></velocity_decay>";
    assert_eq!(
        told(parse(&hinged(link, ""), "m.sdf")),
        [
            "`kinematic` is not simulated; it is given for arm",
            "`velocity_decay` is not simulated; it is given for arm"
        ]
    );
    let soft = "<drake:deformable_properties><drake:youngs_modulus>1e5</drake:youngs_modulus></drake:deformable_properties>";
    assert_eq!(
        told(parse(&hinged(soft, ""), "m.sdf")),
        ["`drake:deformable_properties` is not simulated; it is given for arm"]
    );
    let none = "<kinematic>0</kinematic><velocity_decay><linear>0</linear></velocity_decay>";
    assert!(told(parse(&hinged(none, ""), "m.sdf")).is_empty());
    let more = "<gazebo reference=\"arm\"><dampingFactor>0.1</dampingFactor></gazebo><drake:linear_bushing_rpy/>\
                <drake:linear_bushing_rpy/><loop_joint/></robot>";
    let file = pendulum("0 1 0", "ixx=\"1\" iyy=\"1\" izz=\"1\"", "").replace("</robot>", more);
    assert_eq!(
        told(parse(&file, "p.urdf")),
        [
            "`dampingFactor` is not simulated",
            "`drake:linear_bushing_rpy` is not simulated",
            "`loop_joint` is not simulated"
        ]
    );
    let joint = "<drake:joint name=\"ball\" type=\"ball\"/></robot>";
    assert!(refused(&file.replace("</robot>", joint), "p.urdf").contains("found drake:joint `ball`"));
}

#[test]
fn rotors_add_their_inertia_times_the_square_of_the_gear_ratio() {
    // Drake 1.51.1 has 1.001 kg m² too.
    let rotor = "<drake:rotor_inertia>1e-4</drake:rotor_inertia><drake:gear_ratio>100</drake:gear_ratio>";
    let robot = parse(&hinged("", rotor), "m.sdf");
    near(mass_matrix(&robot)[(0, 0)], 1.001);
    let transmission = "<transmission><joint name=\"j\"/><actuator name=\"a\"><drake:rotor_inertia value=\"1e-4\"/>\
                        <drake:gear_ratio value=\"100\"/></actuator></transmission></robot>";
    let file = pendulum("0 1 0", "ixx=\"1\" iyy=\"1\" izz=\"1\"", "").replace("</robot>", transmission);
    near(mass_matrix(&parse(&file, "p.urdf"))[(0, 0)], 2.125);
    assert!(
        refused(&file.replace("\"100\"", "\"many\""), "p.urdf").contains("`drake:gear_ratio` is \"many\"")
    );
}

/// A ball with Drake's properties, in both formats.
fn ball(properties: &str) -> [(&'static str, String); 2] {
    let element = |(name, value): (&str, &str), in_text: bool| match (in_text, value) {
        (_, "") => format!("<drake:{name}/>"),
        (true, _) => format!("<drake:{name}>{value}</drake:{name}>"),
        (false, _) => format!("<drake:{name} value=\"{value}\"/>"),
    };
    let all = |in_text: bool| -> String {
        let words = properties.split_whitespace();
        words.map(|word| element(word.split_once('=').unwrap_or((word, "")), in_text)).collect()
    };
    let tags =
        |in_text: bool| format!("<drake:proximity_properties>{}</drake:proximity_properties>", all(in_text));
    let sdf = sdf(&format!(
        "<link name=\"ball\">{SDF_MASS}<collision name=\"c\"><geometry><sphere><radius>0.05</radius></sphere></geometry>{}</collision></link>",
        tags(true)
    ));
    let urdf = format!(
        "<robot name=\"ball\"><link name=\"ball\">{INERTIA}<collision><geometry><sphere radius=\"0.05\"/></geometry>{}</collision></link></robot>",
        tags(false)
    );
    [("ball.sdf", sdf), ("ball.urdf", urdf)]
}

#[test]
fn drakes_properties_are_the_material_unless_the_scene_gives_one() {
    let folder = Folder::new("proximity");
    let scene = |file: &str, line: &str| {
        let scene = format!(
            "[materials.foam]\nhydroelastic_modulus = 2e5\nfriction = 0.9\n[[robots]]\nurdf = \"{file}\"\nprefix = \"a \"\n\
             base = \"free\"\ntranslation = [0, 0, 0.05]\n{line}\n[[bodies]]\nname = \"floor\"\nfixed = true\n\
             [[bodies.geometries]]\nshape = {{ half_space = {{}} }}\nmaterial = \"foam\"\nrigid = true\n"
        );
        folder.file("scene.toml", scene)
    };
    let compliant = "compliant_hydroelastic hydroelastic_modulus=1e5 mesh_resolution_hint=0.02 \
                     hunt_crossley_dissipation=1.5 relaxation_time=0.1 mu_dynamic=0.5 mu_static=0.6";
    for (file, content) in ball(compliant) {
        folder.file(file, content);
        let loaded = Scene::load(scene(file, "")).expect("a scene");
        let [foam, own] = loaded.model.materials() else { panic!("two materials") };
        assert_eq!((foam.name.as_str(), own.name.as_str()), ("foam", "a ball"));
        let m = own.material;
        assert_eq!((m.hydroelastic_modulus, m.dissipation, m.relaxation_time), (1e5, 1.5, 0.1));
        assert_eq!((m.dynamic_friction, m.static_friction), (0.5, 0.6));
        assert!(loaded.warnings.is_empty(), "{:?}", loaded.warnings);
        let tetrahedra =
            |scene: &Scene| match scene.model.bodies()[1].geometries[0].collider.geometry.as_ref() {
                ContactGeometry::Compliant(field) => field.tetrahedra().len(),
                _ => panic!("compliant"),
            };
        let finer = Scene::load(scene(file, "resolution = 0.005")).expect("a scene");
        assert!(tetrahedra(&finer) > 4 * tetrahedra(&loaded), "the scene's resolution wins");
        let given = Scene::load(scene(file, "materials = { ball = \"foam\" }")).expect("a scene");
        assert_eq!(given.model.materials().len(), 1);
        assert_eq!(given.model.bodies()[1].geometries[0].material, Some(0));
        let none = Scene::load(scene(file, "materials = { ball = \"none\" }")).expect("a scene");
        assert!(none.model.bodies()[1].geometries.is_empty() && none.warnings.is_empty());
    }
    // The floor is rigid, and so a rigid ball must not meet it.
    for (file, content) in ball("rigid_hydroelastic mu_dynamic=0.5") {
        folder.file(file, content);
        let apart = "self_contact = false\n[contact]\nexcluded_pairs = [[\"a ball\", \"floor\"]]";
        let loaded = Scene::load(scene(file, apart)).expect("a scene");
        assert!(matches!(
            loaded.model.bodies()[1].geometries[0].collider.geometry.as_ref(),
            ContactGeometry::Rigid(_)
        ));
        assert_eq!(loaded.model.materials()[1].material.static_friction, 0.5);
    }
    // One coefficient stands for both, and without any Drake has 1.
    for (friction, expected) in [("mu_dynamic=0.5", 0.5), ("mu_static=0.6", 0.6), ("", 1.0)] {
        for (file, content) in ball(&format!("compliant_hydroelastic hydroelastic_modulus=1e5 {friction}")) {
            folder.file(file, content);
            let loaded = Scene::load(scene(file, "")).expect("a scene");
            let material = loaded.model.materials()[1].material;
            assert_eq!([material.dynamic_friction, material.static_friction], [expected; 2], "{friction}");
        }
    }
    // Without a modulus or a kind the scene is asked for a material.
    for properties in ["compliant_hydroelastic mu_dynamic=0.5", "hydroelastic_modulus=1e5 mu_dynamic=0.5"] {
        for (file, content) in ball(properties) {
            folder.file(file, content);
            let loaded = Scene::load(scene(file, "")).expect("a scene");
            assert!(loaded.model.bodies()[1].geometries.is_empty());
            let warnings: Vec<String> = loaded.warnings.iter().map(ToString::to_string).collect();
            assert!(warnings[0].contains("no material touch nothing: ball"), "{warnings:?}");
        }
    }
    for (properties, message) in [
        ("compliant_hydroelastic rigid_hydroelastic", "says compliant and rigid"),
        ("compliant_hydroelastic hydroelastic_modulus=soft", "`drake:hydroelastic_modulus` is \"soft\""),
        (
            "compliant_hydroelastic hydroelastic_modulus=-1",
            "proximity_properties, hydroelastic_modulus: found -1",
        ),
        (
            "rigid_hydroelastic mu_dynamic=0.5 mu_static=0.4",
            "link `ball`, drake:proximity_properties, dynamic_friction: found 0.5",
        ),
    ] {
        for (file, content) in ball(properties) {
            folder.file(file, content);
            let error = Scene::load(scene(file, "")).expect_err("refused").to_string();
            assert!(error.contains(message), "{error}");
        }
    }
}

#[test]
fn collision_filter_groups_keep_links_apart() {
    let shape =
        "<collision><geometry><drake:ellipsoid a=\"0.1\" b=\"0.1\" c=\"0.2\"/></geometry></collision>";
    let links: String =
        ["a", "b", "c"].map(|name| format!("<link name=\"{name}\">{INERTIA}{shape}</link>")).concat();
    let joint = |name: &str, child: &str| {
        format!(
            "<joint name=\"{name}\" type=\"floating\"><parent link=\"world\"/><child link=\"{child}\"/></joint>"
        )
    };
    let joints = joint("1", "a") + &joint("2", "b") + &joint("3", "c");
    let groups = |member: &str| {
        format!(
            "<drake:collision_filter_group name=\"g\"><drake:member link=\"a\"/><drake:member link=\"{member}\"/>\
             <drake:ignored_collision_filter_group name=\"g\"/></drake:collision_filter_group>"
        )
    };
    let folder = Folder::new("groups");
    let load = |groups: &str| {
        folder.file("r.urdf", format!("<robot name=\"r\">{links}{joints}{groups}</robot>"));
        let scene = "[materials.foam]\nhydroelastic_modulus = 1e5\n[[robots]]\nurdf = \"r.urdf\"\nmaterials = { a = \
                     \"foam\", b = \"foam\", c = \"foam\" }\n";
        Scene::load(folder.file("scene.toml", scene))
    };
    assert_eq!(load("").expect("a scene").model.pairs().len(), 3);
    assert_eq!(load(&groups("b")).expect("a scene").model.pairs().len(), 2);
    let error = load(&groups("d")).expect_err("no link d").to_string();
    assert!(error.contains("collision filter group") && error.contains("`d`"), "{error}");
}

/// A U, which no inner point sees all of, as an OBJ file.
fn u() -> String {
    let outline = [[0, 0], [3, 0], [3, 3], [2, 3], [2, 1], [1, 1], [1, 3], [0, 3]];
    let mut text = String::new();
    for z in [0, 1] {
        outline.iter().for_each(|[x, y]| text += &format!("v 0.0{x} 0.0{y} 0.0{z}\n"));
    }
    text += "f 8 7 6 5 4 3 2 1\nf 9 10 11 12 13 14 15 16\n";
    (0..8).for_each(|i| text += &format!("f {} {} {} {}\n", i + 1, (i + 1) % 8 + 1, (i + 1) % 8 + 9, i + 9));
    text
}

#[test]
fn links_collide_as_the_hull_of_their_mesh() {
    let folder = Folder::new("hull");
    folder.file("u.obj", u());
    let robot = |mesh: &str| {
        format!(
            "<robot name=\"hand\"><link name=\"finger\">{INERTIA}<collision><geometry>{mesh}</geometry></collision></link></robot>"
        )
    };
    let plain = robot("<mesh filename=\"u.obj\" scale=\"1 1 -2\"/>");
    let load = |content: &str, line: &str| {
        folder.file("robot.urdf", content);
        let scene = format!(
            "[materials.rubber]\nhydroelastic_modulus = 1e5\n[[robots]]\nurdf = \"robot.urdf\"\n{line}\n"
        );
        Scene::load(folder.file("scene.toml", scene))
    };
    let volume = |scene: &Scene| scene.model.bodies()[0].geometries[0].unit_mass.expect("a volume").mass;
    let rubber = "materials = { finger = \"rubber\" }\n";
    let filled = load(&plain, rubber).expect("a U");
    assert!((volume(&filled) / (7e-4 * 0.02) - 1.0).abs() < 0.02);
    let note = "u.obj: no inner point sees all of the surface, so it is filled with";
    assert!(filled.warnings[0].contains(note), "{:?}", filled.warnings);
    for collision in ["collision = \"convex\"", "collision = { finger = \"convex\" }"] {
        let scene = load(&plain, &format!("{rubber}{collision}")).expect("a hull");
        near(volume(&scene), 0.03 * 0.03 * 0.02);
    }
    let rigid = "materials = { finger = \"rigid\" }\n";
    near(volume(&load(&plain, rigid).expect("a U")), 7e-4 * 0.02);
    let declared = robot("<mesh filename=\"u.obj\" scale=\"1 1 -2\"><drake:declare_convex/></mesh>");
    near(volume(&load(&declared, rubber).expect("a hull")), 0.03 * 0.03 * 0.02);
    let given = format!("{rigid}collision = \"mesh\"");
    near(volume(&load(&declared, &given).expect("a U")), 7e-4 * 0.02);
    for (line, message) in [
        ("collision = { thumb = \"convex\" }", "robots[0].collision.thumb: is no link; the links are finger"),
        ("collision = \"hull\"", "unknown variant `hull`"),
        ("collision = 3", "\"mesh\", \"convex\", or a table"),
    ] {
        let error = load(&plain, &format!("{rigid}{line}")).expect_err("refused").to_string();
        assert!(error.contains(message), "{error}");
    }
}
