//! Parameters of the model that are optimized with the commands: what a problem file says of them, what is written, and
//! what is wrong with bad ones.

use isobar::Scene;
use isobar::io::ProblemFile;
use serde_json::Value;

use crate::folder::Folder;
use crate::press::PRESS;
use crate::{run, text};

const PROBLEM: &str = r#"scene = "scene.toml"
until = 0.05
[knots]
count = 2
[[controls]]
actuator = "press"
lower = 0
upper = 20
[[model_parameters]]
name = "materials.foam.hydroelastic_modulus"
also = ["materials.wood.hydroelastic_modulus"]
lower = 1e4
upper = 1e6
log = true
[[model_parameters]]
name = "bodies.ball.shift[2]"
lower = -0.01
upper = 0.01
[[costs]]
position = { body = "ball" }
target = [0, 0, 0.004]
weight = 100
[[costs]]
contact_force = { on = "ball", from = "pad" }
target = [1, 0, 0]
weight = 0.1
[optimizer]
max_iterations = 3
"#;

#[test]
fn a_design_is_optimized_written_and_simulated() {
    let folder = Folder::new("design-command");
    let scene = folder.file("scene.toml", PRESS);
    let problem = folder.file("problem.toml", PROBLEM);
    let out = folder.0.join("out");
    let (code, printed, error) = run(&["optimize", text(&problem), "--out", text(&out)]);
    assert!(code == Some(0) || error.contains("--max-iterations"), "{error}");
    assert!(printed.contains("bodies.ball.shift[2]"), "{printed}");
    let read = |name: &str| std::fs::read_to_string(out.join(name)).expect("it is written");
    let result: Value = serde_json::from_str(&read("result.json")).expect("JSON");
    let number = |value: &Value| value.as_f64().expect("a number");
    assert!(number(&result["cost"]) < 0.5 * number(&result["cost_at_start"]));
    let parameters = result["parameters"].as_array().expect("parameters");
    assert_eq!(parameters[0]["name"], "materials.foam.hydroelastic_modulus");
    assert_eq!((&parameters[0]["start"], &parameters[1]["start"]), (&8e4.into(), &0.0.into()));
    // What was found is what is simulated.
    let controllers = out.join("controllers.toml");
    let mut own = Scene::load(&scene).expect("a scene");
    let before = own.state.bodies[0].position.z;
    own.read_controllers(&controllers).expect("a design");
    for material in own.model.materials() {
        assert_eq!(material.material.hydroelastic_modulus, number(&parameters[0]["value"]));
    }
    let shift = own.state.bodies[0].position.z - before;
    assert!((shift - number(&parameters[1]["value"])).abs() < 1e-16, "{shift}");
    let csv = folder.0.join("motion.csv");
    let simulate = ["simulate", text(&scene), "--until", "0.05", "--out", text(&csv)];
    let (code, _, error) = run(&[&simulate[..], &["--controller", text(&controllers)]].concat());
    assert_eq!(code, Some(0), "{error}");
    let simulated = std::fs::read_to_string(&csv).expect("a motion");
    assert_eq!(simulated, read("trajectory.csv"), "the bits of the motion that was found");
    // The gradient is right at both ends.
    let at = out.join("result.json");
    let (code, printed, error) = run(&["gradient-check", text(&problem), "--at", text(&at)]);
    assert_eq!(code, Some(0), "{printed}{error}");
    assert!(printed.contains("ln materials.foam.hydroelastic_modulus"), "{printed}");
}

#[test]
fn bad_designs_are_told_by_field_and_line() {
    let folder = Folder::new("bad-designs");
    folder.file("scene.toml", PRESS);
    let varied = "[ensemble]\nmembers = 2\n[[vary]]\nfield = \"materials.foam.hydroelastic_modulus\"\n\
                  factor = { uniform = [0.5, 2] }\n[[costs]]\nposition";
    for (old, new, expected) in [
        ("bodies.ball.shift[2]", "bodies.cube.shift[2]", "model_parameters[1].name: parameter"),
        ("bodies.ball.shift[2]", "bodies.pad.shift[0]", "joints move the body"),
        (
            "bodies.ball.shift[2]",
            "materials.foam.hydroelastic_modulus",
            "model_parameters[1].name: found `materials.foam.hydroelastic_modulus` twice",
        ),
        ("[[costs]]\nposition", varied, "which `vary` changes; what is optimized is the same in all members"),
        (
            "also = [\"materials.wood.hydroelastic_modulus\"]",
            "also = [\"materials.foam.hydroelastic_modulus\"]",
            "design variable 0: its parameter foam.hydroelastic_modulus is that of another variable",
        ),
        ("lower = -0.01", "lower = 0.02", "model_parameters[1].lower: found 0.02, above `upper`"),
        (
            "upper = 0.01",
            "upper = 0.01\nlog = true",
            "model_parameters[1].lower: found -0.01; with `log` it must be positive",
        ),
        ("max_iterations = 3", "kind = \"ilqr\"", "as with `model_parameters`"),
    ] {
        assert!(PROBLEM.contains(old), "the problem has no `{old}`");
        let error = ProblemFile::load(folder.file("bad.toml", PROBLEM.replacen(old, new, 1))).expect_err(new);
        assert!(error.to_string().contains(expected), "{error}\n  lacks {expected}");
    }
    // Changed by `vary` under another name.
    let hidden = PROBLEM
        .replace(
            "bodies.ball.shift[2]\"\nlower = -0.01\nupper = 0.01",
            "bodies.ball.mass\"\nlower = 0.01\nupper = 1",
        )
        .replace(
            "[[costs]]\nposition",
            &varied.replace("materials.foam.hydroelastic_modulus", "bodies.ball.density"),
        );
    let error =
        ProblemFile::load(folder.file("bad.toml", hidden)).expect_err("a mass that varies").to_string();
    let expected = "model_parameters[1].name: found `bodies.ball.mass`, which `vary` changes, from";
    assert!(error.contains(expected), "{error}");
    // In a file of controllers too.
    let mut scene = Scene::load(folder.0.join("scene.toml")).expect("a scene");
    for (design, expected) in [
        ("'bodies.cube.mass' = 1.0", "controllers.toml:"),
        ("'bodies.ball.mass' = -1.0", "model_parameters"),
        ("'bodies.ball.mass' = 'a'", "model_parameters"),
    ] {
        let file =
            folder.file("controllers.toml", format!("controllers = []\n[model_parameters]\n{design}\n"));
        let error = scene.read_controllers(&file).expect_err(design).to_string();
        assert!(error.contains(expected), "{error}");
    }
}

/// Two angles at which a pendulum without gravity points to the same place, a whole turn apart: the angle that is
/// smaller costs less, and between the two there is a hill.
#[test]
fn several_starts_of_an_ensemble_find_the_better_of_two_minima() {
    let folder = Folder::new("ensemble-starts");
    folder.file(
        "scene.toml",
        "gravity = [0, 0, 0]\n[solver]\nkind = \"lagged\"\ntime_step = 0.01\n\
         [[bodies]]\nname = \"pendulum\"\nmass = 1.0\ninertia = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]\n\
         joint = { name = \"hinge\", type = \"revolute\", axis = [0, 1, 0], position = -2.0 }\n",
    );
    let problem = |optimizer: &str| {
        let text = format!(
            "scene = \"scene.toml\"\nuntil = 0.02\n\
             [[model_parameters]]\nname = \"joints.hinge.shift\"\nlower = -5.0\nupper = 5.0\n\
             [[model_parameters]]\nname = \"bodies.pendulum.mass\"\nlower = 0.5\nupper = 2.0\nlog = true\n\
             [ensemble]\nmembers = 2\n[[vary]]\nfield = \"bodies.pendulum.inertia[1][1]\"\nfactor = {{ uniform = [0.6, 1.4] }}\n\
             [[costs]]\norientation = {{ body = \"pendulum\", rpy = [0, 2.5, 0] }}\nweight = 1.0\nwhen = \"end\"\n\
             [[costs]]\njoint_position = {{ joint = \"hinge\" }}\nweight = 0.1\nwhen = \"end\"\n\
             [optimizer]\n{optimizer}\n"
        );
        folder.file("problem.toml", text)
    };
    let optimized = |optimizer: &str, more: &[&str]| -> Value {
        let problem = problem(optimizer);
        let mut all = vec!["optimize", text(&problem), "--json"];
        all.extend(more);
        let (code, printed, error) = run(&all);
        assert_eq!(code, Some(0), "{error}");
        serde_json::from_str(&printed).expect("JSON")
    };
    let number = |value: &Value| value.as_f64().expect("a number");
    let one = optimized("", &[]);
    assert_eq!(one.get("starts"), None);
    let out = folder.0.join("out");
    let several = optimized("starts = { count = 6, spread = 0.5, seed = 4 }", &["--out", text(&out)]);
    let starts = several["starts"].as_array().expect("starts");
    assert_eq!(starts.len(), 6);
    // The first is the only one of the other run, to the last digit, and the best is what is kept.
    assert_eq!(starts[0]["cost"], one["cost"]);
    let least = starts.iter().map(|start| number(&start["cost"])).fold(f64::INFINITY, f64::min);
    assert_eq!(number(&several["cost"]), least);
    assert!(least < 0.6 * number(&one["cost"]), "{least} {}", one["cost"]);
    let angle = |result: &Value| number(&result["parameters"][0]["value"]) - 2.0;
    assert!(angle(&one) < -3.0 && (angle(&several) - 2.5).abs() < 0.1, "{one} {several}");
    assert!(out.join("checkpoint_5.json").exists());
    // Each of several jobs has starts of its own, and what is made of all is the same.
    let path = problem("starts = { count = 6, spread = 0.5, seed = 4 }");
    let shared = folder.0.join("shared");
    let job = |shard: &str, more: &[&str]| {
        run(&[&["optimize", text(&path), "--out", text(&shared), "--shard", shard], more].concat())
    };
    for shard in ["3/4", "1/4", "4/4", "2/4"] {
        let (code, printed, error) = job(shard, &["--json"]);
        assert_eq!(code, Some(0), "{error}");
        let found: Value = serde_json::from_str(&printed).expect("JSON");
        let of_all = starts.iter().skip(usize::from(shard.as_bytes()[0] - b'1')).step_by(4);
        assert!(of_all.eq(found.as_array().expect("starts")), "{found}");
    }
    let (code, _, error) = job("2/4", &[]);
    assert!(code == Some(2) && error.contains("has results already (checkpoint_1.json)"), "{error}");
    let (code, _, error) = job("7/7", &[]);
    assert!(
        code == Some(2) && error.contains("--shard: found 7/7") && error.contains("starts: 6"),
        "{error}"
    );
    let arguments = ["optimize", text(&path), "--out", text(&shared), "--resume", "--json"];
    let merged: Value = serde_json::from_str(&run(&arguments).1).expect("JSON");
    assert_eq!(merged, several);
    let file = ProblemFile::load(folder.0.join("problem.toml")).expect("a problem");
    // The logarithm of the second number is scattered, within its bounds.
    let problem = file.optimized().expect("a problem");
    let starts = file.all_starts(problem.shared_variables());
    assert_eq!(starts[0], file.whole_start());
    assert!(starts.iter().all(|start| (0.5..=2.0).contains(&start[1])), "{starts:?}");
    assert!((1..6).all(|k| starts[k][1] != starts[k - 1][1]), "{starts:?}");
}
