//! What one command writes the next one reads: trajectories, commands, forces; robots on robots.

use std::fs;

use isobar::io::{Scene, TrajectoryTable};
use isobar::multibody::{BodyPair, SensorWorkspace, State};
use isobar::spatial::RigidTransform;
use nalgebra::Vector3;
use serde_json::Value;

use crate::folder::Folder;
use crate::{isobar, text};

/// A ball that is thrown onto a floor, and one beside it.
const BALLS: &str = r#"[materials.foam]
hydroelastic_modulus = 2e4
dissipation = 0.5
friction = 0.4
[solver]
kind = "lagged"
time_step = 2e-3
[[bodies]]
name = "red ball"
translation = [0, 0, 0.06]
linear_velocity = [0.3, 0.1, -1]
angular_velocity = [1, 2, 3]
mass = 0.2
[[bodies.geometries]]
shape = { sphere = { radius = 0.05, resolution = 0.03 } }
material = "foam"
[[bodies]]
name = "other-ball"
translation = [0.3, 0, 0.049]
mass = 0.1
[[bodies.geometries]]
shape = { sphere = { radius = 0.05, resolution = 0.03 } }
material = "foam"
[[bodies]]
name = "floor"
fixed = true
[[bodies.geometries]]
shape = { half_space = {} }
material = "foam"
rigid = true
"#;

fn json(arguments: &[&str]) -> Value {
    let output = isobar(arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn error(arguments: &[&str]) -> String {
    let output = isobar(arguments);
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8(output.stderr).expect("text")
}

/// A fit of a scene to what was simulated with it finds the parameters again.
#[test]
fn a_fit_reads_what_a_simulation_writes() {
    let folder = Folder::new("fit-simulated");
    let scene = folder.file("scene.toml", BALLS);
    let out = folder.0.join("motion.csv");
    json(&["simulate", text(&scene), "--until", "0.1", "--out", text(&out), "--forces=state", "--json"]);
    // The recordings are of one free body: the other one, far from it, is left out.
    let (before, others) = BALLS.split_at(BALLS.rfind("[[bodies]]\nname = \"floor\"").expect("a floor"));
    let alone = before.split("[[bodies]]\nname = \"other-ball\"").next().expect("the first ball");
    folder.file("alone.toml", format!("{alone}{others}"));
    let fit = r#"scene = "alone.toml"
[[parameters]]
name = "materials.foam.hydroelastic_modulus"
initial = 1.5e4
lower = 1e3
log = true
[[parameters]]
name = "materials.foam.friction"
initial = 0.3
lower = 0.0
[[trajectories]]
body = "red ball"
files = ["motion.csv"]
position_sigma = 1e-3
orientation_sigma = 1e-2
"#;
    let file = folder.file("fit.toml", fit);
    let result = json(&["fit", text(&file), "--json"]);
    for (estimate, truth) in result["estimates"].as_array().expect("estimates").iter().zip([2e4, 0.4]) {
        let value = estimate["value"].as_f64().expect("a number");
        assert!((value / truth - 1.0).abs() < 1e-4, "{estimate}");
    }
    let wrong = folder.file("wrong.toml", fit.replace("\"red ball\"", "\"floor\""));
    let message = error(&["fit", text(&wrong)]);
    assert!(
        message.contains("motion.csv: no column `px_m` or `floor.px_m`; the columns found are"),
        "{message}"
    );
}

/// The forces are those that `isobar contact` and sensors have at the states of the file.
#[test]
fn forces_of_contacts_are_in_trajectories_on_request() {
    let folder = Folder::new("forces");
    let file = folder.file("scene.toml", BALLS);
    let [plain, with_forces] = ["plain.csv", "forces.csv"].map(|name| folder.0.join(name));
    json(&["simulate", text(&file), "--until", "0.04", "--out", text(&plain), "--json"]);
    json(&[
        "simulate",
        text(&file),
        "--until",
        "0.04",
        "--out",
        text(&with_forces),
        "--forces=state",
        "--json",
    ]);
    let (plain, table) =
        (TrajectoryTable::read(plain).expect("read"), TrajectoryTable::read(with_forces).expect("read"));
    assert!(plain.contacts.is_empty());
    assert_eq!((&plain.times, &plain.bodies), (&table.times, &table.bodies));
    let pairs: Vec<&str> = table.contacts.iter().map(|contact| contact.pair.as_str()).collect();
    assert_eq!(pairs, ["red ball-other-ball", "red ball-floor", "other-ball-floor"]);
    let scene = Scene::load(&file).expect("valid");
    let mut workspace = SensorWorkspace::default();
    let mut touching = 0;
    for (k, _) in table.times.iter().enumerate() {
        let bodies = table.bodies.iter().map(|motion| motion.states[k]).collect();
        let state = State::new(bodies, scene.state.joints.clone());
        for (contact, (a, b)) in table.contacts.iter().zip([(0, 1), (0, 2), (1, 2)]) {
            let measured = scene.model.pair_contact(&state, BodyPair { a, b }, &mut workspace).wrench_on_a;
            assert_eq!(contact.wrenches[k], measured, "{} at {k}", contact.pair);
            touching += usize::from(measured.translational.z > 0.0);
        }
    }
    assert!(touching > 20, "{touching}");
    assert!(table.contacts[0].wrenches.iter().all(|w| w.translational == Vector3::zeros()));
    // A table with some of the columns of a contact is told which is missing.
    let text_of = fs::read_to_string(folder.0.join("forces.csv")).expect("read");
    let cut = folder.file("cut.csv", text_of.replacen("red ball-floor.tz_N_m", "red ball-wall.tz_N_m", 1));
    let message = TrajectoryTable::read(cut).expect_err("a column is missing").to_string();
    assert!(message.contains("the column `red ball-floor.tz_N_m` is missing"), "{message}");
}

/// A cart on rails with two drives.
const CART: &str = r#"gravity = [0, 0, 0]
[solver]
kind = "lagged"
time_step = 0.01
[[bodies]]
name = "cart"
mass = 2.0
inertia = [[1e-3, 0, 0], [0, 1e-3, 0], [0, 0, 1e-3]]
joint = { name = "slide", type = "prismatic", axis = [1, 0, 0], damping = 0.5 }
[[bodies]]
name = "mast"
mass = 0.3
inertia = [[1e-3, 0, 0], [0, 1e-3, 0], [0, 0, 1e-3]]
center_of_mass = [0, 0, 0.2]
joint = { name = "hinge", type = "revolute", parent = "cart", axis = [0, 1, 0] }
[[actuators]]
name = "push"
joints = ["slide"]
drive = "force"
command = 1.0
[[actuators]]
name = "swing"
joints = ["hinge"]
drive = { position = { stiffness = 4, damping = 0.4 } }
command = 0.2
"#;

const PROBLEM: &str = r#"scene = "scene.toml"
until = 0.5
knots = { count = 4, interpolation = "linear" }
[[controls]]
actuator = "push"
[[costs]]
control = "push"
weight = 0.01
[[costs]]
position = { body = "cart" }
target = [0.2, 0, 0]
weight = [10, 0, 0]
when = "end"
"#;

/// The commands that an optimization finds move the scene as it says, to the bit.
#[test]
fn a_simulation_takes_the_commands_that_an_optimization_writes() {
    let folder = Folder::new("commands");
    let scene = folder.file("scene.toml", CART);
    let problem = folder.file("problem.toml", PROBLEM);
    let result = folder.0.join("result");
    json(&["optimize", text(&problem), "--out", text(&result), "--json"]);
    let commands = result.join("commands.toml");
    let out = folder.0.join("out.csv");
    let simulate = |commands: &str| {
        let out = text(&out);
        isobar(&["simulate", text(&scene), "--until", "0.5", "--out", out, "--commands", commands, "--json"])
    };
    assert!(simulate(text(&commands)).status.success());
    let (found, simulated) =
        (TrajectoryTable::read(result.join("trajectory.csv")), TrajectoryTable::read(&out));
    assert_eq!(found.expect("read"), simulated.expect("read"));

    let line = "[[actuators]]\nname = \"push\"\ncommand = 1\n";
    for (content, expected) in [
        (
            line.replace("push", "pull"),
            "commands.toml:2: actuators[0].name: found `pull`, no actuator of the scene",
        ),
        (line.repeat(2), "commands.toml:5: actuators[1].name: found `push`, the name of actuators[0] too"),
        (line.replace('1', "nan"), "commands.toml:3: actuators[0].command: found NaN; it must be finite"),
        (line.replace("command", "comand"), "commands.toml:3: actuators[0].comand: unknown field `comand`"),
        (
            line.replace('1', "{ times = [1, 0], values = [0, 0] }"),
            "commands.toml:3: actuators[0].command.times[1]: ",
        ),
        (String::new(), "missing field `actuators`"),
    ] {
        let file = folder.file("commands.toml", content);
        let output = simulate(text(&file));
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains(expected), "{expected}: {message}");
    }
}

const LINK: &str =
    r#"<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>"#;

/// An arm of two links, and a hand to be mounted on it.
fn robots() -> Folder {
    let folder = Folder::new("mounted");
    folder.file(
        "arm.urdf",
        format!(
            r#"<robot name="arm"><link name="base"/><link name="wrist">{LINK}</link>
            <joint name="turn" type="continuous"><parent link="base"/><child link="wrist"/>
            <origin xyz="0 0 1"/><axis xyz="0 0 1"/></joint></robot>"#
        ),
    );
    folder.file(
        "hand.urdf",
        format!(
            r#"<robot name="hand"><link name="palm">{LINK}</link><link name="finger">{LINK}</link>
            <joint name="close" type="prismatic"><parent link="palm"/><child link="finger"/><axis xyz="1 0 0"/>
            <limit lower="0" upper="1" effort="1" velocity="1"/></joint></robot>"#
        ),
    );
    folder
}

const MOUNTED: &str = r#"[[robots]]
urdf = "hand.urdf"
prefix = "hand "
parent = "arm wrist"
translation = [0.5, 0, 0]
positions = { close = 0.25 }
[[robots]]
urdf = "arm.urdf"
prefix = "arm "
positions = { turn = 1.5707963267948966 }
"#;

#[test]
fn a_robot_is_mounted_on_the_link_of_another() {
    let folder = robots();
    let file = folder.file("scene.toml", MOUNTED);
    let scene = Scene::load(&file).expect("valid");
    let mut frames = Vec::new();
    scene.model.body_frames(&scene.state, &mut frames);
    let pose = |name: &str| -> RigidTransform { frames[scene.model.body_index(name).expect("a body")].pose };
    // The wrist is turned by a quarter about z: the hand's x is the world's y.
    for (name, at) in [("hand palm", [0.0, 0.5, 1.0]), ("hand finger", [0.0, 0.75, 1.0])] {
        assert!(
            (pose(name).translation - Vector3::from(at)).norm() < 1e-15,
            "{name}: {}",
            pose(name).translation
        );
    }
    let out = folder.0.join("out.csv");
    json(&["simulate", text(&file), "--until", "0.01", "--out", text(&out), "--json"]);

    // On a fixed body in the same way.
    let on_body = MOUNTED.replace("parent = \"arm wrist\"", "parent = \"table\"")
        + "[materials.wood]\nfriction = 0.3\n[[bodies]]\nname = \"table\"\nfixed = true\ntranslation = [0, 0, 2]\n\
           [[bodies.geometries]]\nshape = { box = { size = [1, 1, 0.1] } }\nmaterial = \"wood\"\nrigid = true\n";
    let file = folder.file("on_body.toml", on_body);
    let scene = Scene::load(&file).expect("valid");
    scene.model.body_frames(&scene.state, &mut frames);
    let palm = frames[scene.model.body_index("hand palm").expect("a body")].pose;
    assert_eq!(palm.translation, Vector3::new(0.5, 0.0, 2.0));
    for (from, to, expected) in [
        (
            "\"arm wrist\"",
            "\"wrist\"",
            "scene.toml:4: robots[0].parent: found `wrist`, which is no body; the bodies are",
        ),
        ("\"arm wrist\"", "\"hand finger\"", "loop"),
        (
            "parent =",
            "base = \"free\"\nparent =",
            "robots[0].parent: found `arm wrist` beside base = \"free\"",
        ),
    ] {
        let file = folder.file("scene.toml", MOUNTED.replace(from, to));
        let message = error(&["simulate", text(&file), "--until", "0.01", "--out", text(&out)]);
        assert!(message.contains(expected), "{expected}: {message}");
    }
}

/// A cube that is dropped, so that a step is cut where it lands, and comes to rest.
#[test]
fn forces_of_steps_are_what_changes_momentum() {
    let folder = Folder::new("step-forces");
    let scene = r#"
[materials.steel]
hydroelastic_modulus = 1e8
dissipation = 1.0
friction = 0.5
[solver]
time_step = 5e-3
[[bodies]]
name = "cube"
translation = [0, 0, 0.07]
mass = 0.4
[[bodies.geometries]]
shape = { box = { size = [0.1, 0.1, 0.1] } }
material = "steel"
[[bodies]]
name = "floor"
fixed = true
[[bodies.geometries]]
shape = { half_space = {} }
rigid = true
"#;
    let file = folder.file("scene.toml", scene);
    let out = folder.0.join("forces.csv");
    json(&["simulate", text(&file), "--until", "0.5", "--out", text(&out), "--forces=step", "--json"]);
    let table = TrajectoryTable::read(out).expect("read");
    let forces: Vec<f64> = table.contacts[0].wrenches.iter().map(|w| w.translational.z).collect();
    let speeds: Vec<f64> = table.bodies[0].states.iter().map(|s| s.velocity.translational.z).collect();
    let weight = 0.4 * 9.81;
    let mut pushed = 0;
    for k in 1..forces.len() {
        let expected = 0.4 * (speeds[k] - speeds[k - 1]) / 5e-3 + weight;
        assert!((forces[k] - expected).abs() < 1e-6 * weight, "{k}: {} {expected}", forces[k]);
        pushed += usize::from(forces[k] > 2.0 * weight);
    }
    assert!(pushed > 0, "{forces:?}");
    assert!((forces[forces.len() - 1] / weight - 1.0).abs() < 1e-6, "{forces:?}");
}
