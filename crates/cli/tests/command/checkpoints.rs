//! Checkpoints that were changed, damaged or made up.

use std::fs;

use serde_json::{Value, json};

use crate::folder::Folder;
use crate::{isobar, text};

/// A pendulum that is swung up.
const SCENE: &str = r#"[solver]
kind = "lagged"
time_step = 0.01
[[bodies]]
name = "pendulum"
mass = 1.0
inertia = [[0.01, 0, 0], [0, 0.01, 0], [0, 0, 0.01]]
center_of_mass = [0, 0, -0.3]
joint = { type = "revolute", name = "hinge", axis = [0, 1, 0], damping = 0.05 }
[[actuators]]
name = "turn"
joints = ["hinge"]
drive = "force"
command = 1.0
"#;

const PROBLEM: &str = r#"scene = "scene.toml"
until = 1.0
[knots]
count = 5
[[controls]]
actuator = "turn"
lower = -6
upper = 6
[[costs]]
name = "effort"
control = "turn"
weight = 0.01
[[costs]]
joint_position = { joint = "hinge" }
target = 2.5
weight = 10
when = "end"
[optimizer]
cost_tolerance = 0
"#;

/// A run of a method that was stopped after two iterations: its folder, the arguments to go on for
/// one more, and the checkpoint.
fn stopped(kind: &str) -> (Folder, Vec<String>, Value) {
    let folder = Folder::new(kind);
    folder.file("scene.toml", SCENE);
    let problem = folder.file("problem.toml", format!("{PROBLEM}kind = \"{kind}\"\n"));
    let out = folder.0.join("out");
    let arguments = |iterations: &str| {
        ["optimize", text(&problem), "--out", text(&out), "--json", "--max-iterations", iterations]
            .map(str::to_owned)
    };
    let output = isobar(&arguments("2"));
    // Two iterations are not enough to converge.
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let saved = fs::read_to_string(out.join("checkpoint.json")).expect("a checkpoint");
    let mut more = arguments("3").to_vec();
    more.push("--resume".to_owned());
    (folder, more, serde_json::from_str(&saved).expect("JSON"))
}

/// A change of a checkpoint, and the field that the message about it names.
type Change = (&'static str, fn(&mut Value));

fn shorten(list: &mut Value) {
    list.as_array_mut().expect("a list").pop();
}

const OF_ALL: [Change; 7] = [
    ("`variables`: found 4 entries, it must be 5 entries", |c| shorten(&mut c["variables"])),
    ("`variables[1]`: found 1000000, it must be between", |c| c["variables"][1] = json!(1e6)),
    ("`history`: found 2 entries, it must be 3 entries", |c| shorten(&mut c["history"])),
    ("`history[1].iteration`: found 7", |c| c["history"][1]["iteration"] = json!(7)),
    ("`history[0].gradient_norm`: found -1", |c| c["history"][0]["gradient_norm"] = json!(-1.0)),
    ("cannot be read", |c| c["cost"] = Value::Null),
    ("cannot be read", |c| shorten_solver(c)),
];

/// A solver without its tolerances.
fn shorten_solver(checkpoint: &mut Value) {
    checkpoint["solver"].as_object_mut().expect("a table").remove("tolerances");
}

fn check(kind: &str, of_method: &[Change]) {
    let (folder, arguments, good) = stopped(kind);
    let path = folder.0.join("out/checkpoint.json");
    let resume = |checkpoint: &Value| {
        fs::write(&path, checkpoint.to_string()).expect("written");
        isobar(&arguments)
    };
    for (expected, change) in OF_ALL.iter().chain(of_method) {
        let mut changed = good.clone();
        change(&mut changed);
        let output = resume(&changed);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{kind}, {expected}: {message}");
        assert_eq!(message.trim_end().lines().count(), 1, "{message}");
        for part in [*expected, "out/checkpoint.json", "remove it to start anew"] {
            assert!(message.contains(part), "{kind}: `{part}` is not in: {message}");
        }
    }
    // A false cost, and a best one that is better than any, do no harm.
    let result = |checkpoint: &Value| -> Value {
        let output = resume(checkpoint);
        assert_eq!(output.status.code(), Some(3), "{output:?}");
        serde_json::from_slice(&output.stdout).expect("JSON")
    };
    let whole = result(&good);
    let mut lying = good.clone();
    lying["cost"] = json!(1e-30);
    lying["history"][2]["cost"] = json!(1e-30);
    assert_eq!(result(&lying), whole, "{kind}");
    assert_eq!(whole["iterations"], 3);
}

#[test]
fn those_of_ilqr() {
    check(
        "ilqr",
        &[
            ("`solver.scales`: found 4 entries, it must be 5 entries", |c| {
                shorten(&mut c["solver"]["scales"]);
            }),
            ("`solver.scales[0]`: found -1", |c| c["solver"]["scales"][0] = json!(-1.0)),
            ("`solver.growth`: found 0", |c| c["solver"]["growth"] = json!(0.0)),
            ("`solver.regularization`: found -1", |c| c["solver"]["regularization"] = json!(-1.0)),
            ("`solver.tolerances.cost`: found -1", |c| c["solver"]["tolerances"]["cost"] = json!(-1.0)),
        ],
    );
}

#[test]
fn those_of_lbfgs() {
    check(
        "lbfgs",
        &[
            ("`solver.pairs[0].s`: found 4 entries", |c| shorten(&mut c["solver"]["pairs"][0]["s"])),
            ("`solver.pairs[0].y`: found 4 entries", |c| shorten(&mut c["solver"]["pairs"][0]["y"])),
            ("`solver.pairs[0]: s·y`", |c| c["solver"]["pairs"][0]["s"] = json!([0, 0, 0, 0, 0])),
            ("`solver.memory`: found 0", |c| c["solver"]["memory"] = json!(0)),
            ("`solver.bounds`: found other bounds", |c| c["solver"]["bounds"][0][0] = Value::Null),
            ("`solver.bounds`: found other bounds", |c| c["solver"]["bounds"] = Value::Null),
        ],
    );
}

#[test]
fn those_of_levenberg_marquardt() {
    check(
        "levenberg_marquardt",
        &[
            ("`solver.scale`: found 4 entries", |c| shorten(&mut c["solver"]["scale"])),
            ("`solver.growth`: found 1", |c| c["solver"]["growth"] = json!(1.0)),
            ("`solver.damping`: found -1", |c| c["solver"]["damping"] = json!(-1.0)),
            ("`solver.initial_damping`: found 0", |c| c["solver"]["initial_damping"] = json!(0.0)),
            ("`solver.bounds`: found other bounds", |c| c["solver"]["bounds"][1][2] = json!(5.0)),
        ],
    );
}
