//! Controllers and ensembles in files and on the command line, and what is wrong with bad ones.

use isobar::Scene;
use isobar::io::ProblemFile;
use serde_json::Value;

use crate::folder::Folder;
use crate::recorded_files::PageData;
use crate::{isobar, run, text};

const SCENE: &str = r#"gravity = [0, 0, 0]
[materials.foam]
hydroelastic_modulus = 2e4
friction = 0.5
[contact]
excluded_pairs = [["cart", "post"]]
[solver]
kind = "lagged"
time_step = 0.01
[[bodies]]
name = "wall"
fixed = true
translation = [0.31, 0, 0]
[[bodies.geometries]]
shape = { box = { size = [0.2, 0.4, 0.4] } }
material = "foam"
[[bodies]]
name = "post"
fixed = true
translation = [0, 0, 9]
[[bodies.geometries]]
shape = { box = { size = [0.2, 0.2, 0.2] } }
material = "foam"
[[bodies]]
name = "cart"
mass = 2.0
[bodies.joint]
name = "slide"
type = "prismatic"
axis = [1, 0, 0]
damping = 0.5
[[bodies.geometries]]
shape = { box = { size = [0.2, 0.2, 0.2] } }
material = "foam"
[[actuators]]
name = "motor"
joints = ["slide"]
drive = "force"
effort = 30
[[controllers]]
name = "place"
period = 0.02
delay = 0.03
noise = { seed = 3, position = 1e-3 }
law = { pid = { actuators = ["motor"], joint = { joint = "slide" }, proportional = 40.0, derivative = 12.0, target = [0.12] } }
[[controllers]]
name = "push"
[controllers.law.grip_force]
actuators = [{ actuator = "motor", ratio = 0.5 }]
contacts = [{ on = "cart", from = "wall" }]
set_point = 4.0
proportional = 0.6
slip = { gain = 1.0 }
"#;

const PROBLEM: &str = r#"scene = "scene.toml"
until = 0.2
[[controller_parameters]]
name = "controllers.place.proportional"
lower = 1
upper = 400
log = true
[[controller_parameters]]
name = "controllers.push.slip.gain"
lower = 0
upper = 10
[ensemble]
members = 3
test = 4
[[vary]]
field = "bodies.cart.mass"
factor = { uniform = [0.6, 1.4] }
[[costs]]
name = "place"
joint_position = { joint = "slide" }
target = 0.1
weight = 100
[[success]]
joint_position = { joint = "slide" }
target = 0.5
weight = 1
deviation = "above"
[optimizer]
max_iterations = 2
"#;

/// What is wrong with a scene.
fn scene_message(folder: &Folder, old: &str, new: &str) -> String {
    assert!(SCENE.contains(old), "the scene has no `{old}`");
    let path = folder.file("bad.toml", SCENE.replacen(old, new, 1));
    Scene::load(path).expect_err(new).to_string()
}

#[test]
fn bad_controllers_are_told_by_field_and_line() {
    let folder = Folder::new("bad-controllers");
    let law = "[controllers.law.grip_force]";
    for (old, new, expected) in [
        (
            "name = \"push\"",
            "name = \"place\"",
            "controllers[1].name: found `place`, the name of controllers[0] too",
        ),
        (
            "period = 0.02",
            "period = 0.015",
            "controllers[0].period: found 0.015; it must be a whole number of steps of 0.01 s",
        ),
        ("delay = 0.03", "delay = -0.01", "controllers[0].delay: found -0.01; it must be at least 0"),
        ("position = 1e-3", "position = -1", "controllers[0].noise.position: found -1"),
        (
            "joint = \"slide\" }",
            "joint = \"slid\" }",
            "controllers[0].law.pid.joint.joint: found `slid`, no joint of the scene; there are: slide",
        ),
        (
            "joint = \"slide\" }",
            "joint = \"slide\", coordinate = 1 }",
            "controllers[0].law.pid.joint.coordinate: found 1",
        ),
        (
            "joint = { joint = \"slide\" }, ",
            "",
            "controllers[0].law.pid: exactly one of `joint`, `position` and `rotation`",
        ),
        ("target = [0.12]", "target = []", "controllers[0].law.pid.target: found 0 numbers; there must be 1"),
        (
            "actuator = \"motor\", ratio",
            "actuator = \"moto\", ratio",
            "controllers[1].law.grip_force.actuators[0].actuator: found `moto`, no actuator",
        ),
        (
            "from = \"wall\"",
            "from = \"post\"",
            "controllers[1].law.grip_force.contacts[0]: found `cart` and `post`, which cannot touch",
        ),
        (
            "slip = { gain = 1.0 }",
            "slip = { gain = 1.0, threshold = 0 }",
            "controllers[1].law.grip_force.slip.threshold: found 0",
        ),
        (
            "slip = { gain = 1.0 }",
            "slip = { gain = 1.0, from = -1 }",
            "controllers[1].law.grip_force.slip.from: found -1",
        ),
        (law, "[controllers.law.grip]", "unknown variant `grip`"),
        ("set_point = 4.0\n", "", "missing field `set_point`"),
        (
            "set_point = 4.0",
            "set_point = [4.0, 5.0]",
            "controllers[1].law.grip_force.set_point: found 2 numbers; there must be 1: a number for each of \
             `set_point_times`",
        ),
        (
            "set_point = 4.0",
            "set_point = [4.0, 5.0]\nset_point_times = [0.1, 0.1]",
            "controllers[1].law.grip_force.set_point_times[1]",
        ),
    ] {
        let message = scene_message(&folder, old, new);
        assert!(message.contains(expected), "{message}\n  lacks {expected}");
        assert!(message.contains("bad.toml:"), "{message}");
    }
    let network = "[controllers.law.neural_network]\nhidden = 2\ninputs = [{ normal_force = { on = \"cart\", from = \"wall\" } }]\n\
                   outputs = [{ actuators = [\"motor\"] }]\n";
    let from = SCENE.find(law).expect("a law");
    let with = |law: &str| format!("{}{law}", &SCENE[..from]);
    assert!(Scene::load(folder.file("net.toml", with(network))).is_ok());
    for (old, new, expected) in [
        ("hidden = 2", "hidden = 0", "neural_network.hidden: found 0; it must be between 1 and 1000"),
        (
            "hidden = 2",
            "hidden = 2\noutput_offsets = [1, 2]",
            "neural_network.output_offsets: found 2 numbers; there must be 1",
        ),
        ("on = \"cart\"", "on = \"car\"", "neural_network.inputs[0].normal_force.on: found `car`, no body"),
        (
            "{ normal_force = { on = \"cart\", from = \"wall\" } }",
            "{ scale = 2 }",
            "neural_network.inputs[0]: found 0 quantities",
        ),
    ] {
        let error =
            Scene::load(folder.file("net.toml", with(&network.replacen(old, new, 1)))).expect_err(new);
        assert!(error.to_string().contains(expected), "{error}\n  lacks {expected}");
    }
}

#[test]
fn bad_ensembles_are_told_by_field_and_line() {
    let folder = Folder::new("bad-ensembles");
    folder.file("scene.toml", SCENE);
    assert!(ProblemFile::load(folder.file("good.toml", PROBLEM)).is_ok());
    for (old, new, expected) in [
        (
            "controllers.place.proportional",
            "controllers.place.gain",
            "controller_parameters[0].name: found `controllers.place.gain`, no parameter of a controller of the scene; there are: controllers.place.proportional",
        ),
        (
            "controllers.push.slip.gain",
            "controllers.place.proportional",
            "controller_parameters[1].name: found `controllers.place.proportional` twice",
        ),
        (
            "lower = 1\n",
            "lower = 0\n",
            "controller_parameters[0].lower: found 0; with `log` it must be positive",
        ),
        ("lower = 1\n", "lower = 500\n", "controller_parameters[0].lower: found 500, above `upper`"),
        ("log = true", "log = true\nscale = 2", "controller_parameters[0].scale: found beside `log`"),
        ("members = 3", "members = 0", "ensemble.members: found 0; it must be between 1 and"),
        (
            "members = 3",
            "members = 3\nrisk = { conditional_value = 1.5 }",
            "ensemble.risk.conditional_value: found 1.5",
        ),
        (
            "[ensemble]\nmembers = 3\ntest = 4\n",
            "",
            "ensemble: is missing; `[[vary]]` needs the number of members",
        ),
        ("bodies.cart.mass", "bodies.car.mass", "vary[0].field: found `car`, which bodies does not have"),
        (
            "bodies.cart.mass",
            "bodies.cart.joint.type",
            "vary[0].field: found `bodies.cart.joint.type`, which is no number",
        ),
        (
            "factor = { uniform = [0.6, 1.4] }",
            "factor = { uniform = [1.4, 0.6] }",
            "vary[0].factor.uniform: found 1.4 above 0.6",
        ),
        (
            "factor = { uniform = [0.6, 1.4] }",
            "factor = { log_uniform = [0, 1] }",
            "vary[0].factor.log_uniform[0]: found 0",
        ),
        ("factor = { uniform = [0.6, 1.4] }", "", "vary[0]: exactly one of `value`, `factor` and `offset`"),
        (
            "factor = { uniform = [0.6, 1.4] }",
            "factor = { list = [\"a\"] }",
            "vary[0].factor.list[0]: found `a`; a text can only be a `value`",
        ),
        ("factor = { uniform = [0.6, 1.4] }", "value = { list = [-1] }", "scene.toml:"),
        ("deviation = \"above\"", "deviation = \"both\"", "success[0].deviation: must be `above` or `below`"),
        (
            "max_iterations = 2",
            "kind = \"ilqr\"",
            "optimizer.kind: found `ilqr`; with controllers or an ensemble the method is `lbfgs`",
        ),
        ("max_iterations = 2", "starts = { count = 0, spread = 1 }", "optimizer.starts.count: found 0"),
        (
            "max_iterations = 2",
            "initial_damping = 1",
            "optimizer.initial_damping: the method `lbfgs` has no damping",
        ),
        (
            "until = 0.2",
            "until = 0.2\nconstraints = [{ control = \"motor\", upper = 1 }]",
            "constraints: are given beside controllers or an ensemble",
        ),
        ("until = 0.2", "until = 0.2\ncontrols = [{ actuator = \"motor\" }]", "knots: is missing"),
    ] {
        assert!(PROBLEM.contains(old), "the problem has no `{old}`");
        let error = ProblemFile::load(folder.file("bad.toml", PROBLEM.replacen(old, new, 1))).expect_err(new);
        assert!(error.to_string().contains(expected), "{error}\n  lacks {expected}");
    }
}

#[test]
fn what_is_optimized_can_be_simulated_checked_and_gone_on_with() {
    let folder = Folder::new("ensemble-command");
    let scene = folder.file("scene.toml", SCENE);
    let problem = folder.file("problem.toml", PROBLEM);
    let out = folder.0.join("out");
    let (code, printed, error) = run(&["optimize", text(&problem), "--out", text(&out)]);
    // Two iterations are too few.
    assert!(code == Some(0) || error.contains("--max-iterations"), "{error}");
    assert!(printed.contains("test of 4 other members") && printed.contains("4 of 4 succeed"), "{printed}");
    let result: Value =
        serde_json::from_str(&std::fs::read_to_string(out.join("result.json")).unwrap()).unwrap();
    let cost = |key: &str| result[key].as_f64().expect("a number");
    assert!(cost("cost") < cost("cost_at_start"));
    assert_eq!(result["parameters"][0]["name"], "controllers.place.proportional");
    // The controllers that were found are those that are simulated.
    let found = result["parameters"][0]["value"].as_f64().expect("a number");
    let controllers = out.join("controllers.toml");
    let mut own = Scene::load(&scene).expect("a scene");
    assert_eq!(own.controller_parameters()[0], 40.0);
    own.read_controllers(&controllers).expect("controllers");
    assert_eq!(own.controller_parameters()[0], found);
    let end = |arguments: &[&str]| {
        let csv = folder.0.join("motion.csv");
        let mut all = vec!["simulate", text(&scene), "--until", "0.2", "--out", text(&csv)];
        all.extend(arguments);
        let (code, _, error) = run(&all);
        assert_eq!(code, Some(0), "{error}");
        std::fs::read_to_string(csv).expect("a motion").lines().last().expect("a row").to_owned()
    };
    assert_ne!(end(&[]), end(&["--controller", text(&controllers)]));
    assert_eq!(end(&[]), end(&[]));
    let (code, _, error) = run(&["simulate", text(&scene), "--until", "0.1", "--controller", text(&problem)]);
    assert!(code == Some(2) && error.contains("problem.toml"), "{error}");
    let (code, _, error) = run(&["simulate", text(&scene), "--until", "0.1", "--error"]);
    assert!(code == Some(2) && error.contains("controllers sample at steps"), "{error}");
    // Its page has what was found and how unseen members fare.
    let (code, _, error) = run(&["report", text(&out)]);
    assert_eq!(code, Some(0), "{error}");
    let page = PageData::read(&out.join("report.html"));
    let value =
        page.table("Parameters")[0][2].as_str().and_then(|text| text.parse::<f64>().ok()).expect("a number");
    assert!((value / found - 1.0).abs() < 1e-6, "{value} {found}");
    assert_eq!(page.table("Members that the optimization has not seen")[0][2], "4 of 4");
    // The motion of an iteration is that of its controllers: that of the last one was found.
    let place = |page: &PageData| {
        let positions = page.array(&page.plot("Joint displacements")["series"][0]["y"]);
        positions[positions.len() - 1]
    };
    let of = |iteration: &str| {
        let other = folder.0.join("iteration.html");
        let (code, _, error) = run(&["report", text(&out), "--iteration", iteration, "--out", text(&other)]);
        assert_eq!(code, Some(0), "{error}");
        PageData::read(&other)
    };
    let (first, last) = (of("0"), of(&result["iterations"].to_string()));
    assert!(first.header["about"].to_string().contains("after iteration 0"));
    assert!((place(&first) - place(&page)).abs() > 1e-5, "{} {}", place(&first), place(&page));
    assert!((place(&last) - place(&page)).abs() < 1e-6, "{} {}", place(&last), place(&page));
    // It goes on, and its gradient is right at both ends.
    let more =
        ["optimize", text(&problem), "--out", text(&out), "--resume", "--max-iterations", "4", "--json"];
    let (_, printed, error) = run(&more);
    let more: Value = serde_json::from_str(&printed).expect(&error);
    assert!(
        more["cost"].as_f64() <= Some(cost("cost")) && more["iterations"].as_u64() > Some(1),
        "{printed}"
    );
    let at = out.join("result.json");
    let (code, printed, error) = run(&["gradient-check", text(&problem), "--at", text(&at), "--all"]);
    assert_eq!(code, Some(0), "{printed}{error}");
    assert!(printed.contains("ln controllers.place.proportional"), "{printed}");
}

#[test]
fn the_policy_of_a_trajectory_is_written_and_followed() {
    let folder = Folder::new("policy-command");
    let scene = SCENE.split("[[controllers]]").next().expect("a scene");
    let scene = folder.file("scene.toml", scene);
    let problem = folder.file(
        "problem.toml",
        "scene = 'scene.toml'\nuntil = 0.2\n[knots]\ncount = 4\ninterpolation = 'linear'\n[[controls]]\n\
         actuator = 'motor'\n[[costs]]\njoint_position = { joint = 'slide' }\ntarget = 0.1\nweight = 30\n\
         [[costs]]\ncontrol = 'motor'\nweight = 0.1\n[optimizer]\nkind = 'ilqr'\n",
    );
    let out = folder.0.join("out");
    let output = isobar(&["optimize", text(&problem), "--out", text(&out)]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let end = |option: &str, file: &str| {
        let (csv, file) = (folder.0.join("motion.csv"), out.join(file));
        let output =
            isobar(&["simulate", text(&scene), "--until", "0.2", "--out", text(&csv), option, text(&file)]);
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        let text = std::fs::read_to_string(csv).expect("a motion");
        let last =
            text.lines().last().expect("a row").split(',').map(|x| x.parse::<f64>().expect("a number"));
        last.collect::<Vec<f64>>()
    };
    let (commands, policy) = (end("--commands", "commands.toml"), end("--controller", "policy.json"));
    assert!(commands.iter().zip(&policy).all(|(a, b)| (a - b).abs() < 1e-9), "{commands:?} {policy:?}");
}
