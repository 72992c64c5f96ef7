//! The end of a motion that is optimized: what a problem file says of it, what is written, and what is wrong with bad ones.

use isobar::io::ProblemFile;
use serde_json::Value;

use crate::folder::Folder;
use crate::press::PRESS;
use crate::{run, text};

const PROBLEM: &str = r#"scene = "scene.toml"
until = 0.05
[end_time]
lower = 0.02
upper = 0.1
weight = 2.0
[knots]
count = 3
interpolation = "linear"
[[controls]]
actuator = "press"
lower = 0
upper = 20
[[costs]]
position = { body = "ball" }
target = [0.004, 0, -0.002]
weight = 200
when = "end"
[[costs]]
control = "press"
weight = 0.1
[optimizer]
max_iterations = 4
"#;

#[test]
fn an_end_is_found_written_and_simulated() {
    let folder = Folder::new("end-time-command");
    let scene = folder.file("scene.toml", PRESS);
    let problem = folder.file("problem.toml", PROBLEM);
    let out = folder.0.join("out");
    let (code, printed, error) = run(&["optimize", text(&problem), "--out", text(&out)]);
    assert!(code == Some(0) || error.contains("--max-iterations"), "{error}");
    let read = |name: &str| std::fs::read_to_string(out.join(name)).expect("it is written");
    let result: Value = serde_json::from_str(&read("result.json")).expect("JSON");
    let number = |value: &Value| value.as_f64().expect("a number");
    assert!(number(&result["cost"]) < 0.9 * number(&result["cost_at_start"]));
    let parameter = &result["parameters"][0];
    assert_eq!((&parameter["name"], &parameter["start"]), (&"end_time".into(), &0.05.into()));
    let end = number(&parameter["value"]);
    assert!((0.02..0.1).contains(&end) && end != 0.05, "{end}");
    // The parts are the cost, time among them, and knots are stretched with the motion.
    let costs = result["costs"].as_array().expect("costs");
    let sum: f64 = costs.iter().map(|part| number(&part["end"])).sum();
    assert!((sum - number(&result["cost"])).abs() < 1e-12 * sum, "{sum}");
    let time = costs.last().expect("time");
    assert_eq!(time["name"], "time");
    assert!((number(&time["end"]) - 2.0 * end).abs() < 1e-15 && printed.contains("time"), "{printed}");
    let times = result["commands"][0]["times"].as_array().expect("times");
    assert!((number(&times[2]) - end).abs() < 1e-15 && (number(&times[1]) - 0.5 * end).abs() < 1e-15);
    // What was found is what is simulated.
    assert!(printed.contains("isobar report "), "{printed}");
    let (csv, until) = (folder.0.join("motion.csv"), format!("{end}"));
    let controllers = out.join("controllers.toml");
    let simulate = ["simulate", text(&scene), "--until", &until, "--out", text(&csv)];
    let (code, _, error) = run(&[&simulate[..], &["--controller", text(&controllers)]].concat());
    assert_eq!(code, Some(0), "{error}");
    let numbers = |csv: &str| -> Vec<f64> {
        csv.lines().skip(1).flat_map(|line| line.split(',')).filter_map(|x| x.parse().ok()).collect()
    };
    let (simulated, found) = (std::fs::read_to_string(&csv).expect("a motion"), read("trajectory.csv"));
    assert_eq!(simulated.lines().count(), found.lines().count());
    for (simulated, found) in numbers(&simulated).iter().zip(numbers(&found)) {
        assert!((simulated - found).abs() < 1e-9 * found.abs().max(1.0), "{simulated} {found}");
    }
    // The gradient is right at both ends, and a run goes on.
    let at = out.join("result.json");
    let (code, printed, error) = run(&["gradient-check", text(&problem), "--at", text(&at)]);
    assert_eq!(code, Some(0), "{printed}{error}");
    assert!(printed.contains("end_time"), "{printed}");
    let more = ["optimize", text(&problem), "--out", text(&out), "--resume", "--max-iterations", "6"];
    let (code, _, error) = run(&more);
    assert!(code == Some(0) || error.contains("--max-iterations"), "{error}");
}

#[test]
fn bad_ends_are_told_by_field_and_line() {
    let folder = Folder::new("bad-ends");
    folder.file("scene.toml", PRESS);
    for (old, new, expected) in [
        ("lower = 0.02", "lower = 0", "bad.toml:4: end_time.lower: found 0; it must be positive"),
        ("lower = 0.02", "lower = 0.2", "end_time.lower: found 0.2, above `upper`, which is 0.1"),
        ("until = 0.05", "until = 0.2", "until: found 0.2; the start must be between `end_time.lower`, 0.02"),
        ("weight = 2.0", "weight = -2.0", "end_time.weight: found -2"),
        ("weight = 2.0", "scale = 0", "end_time.scale: found 0"),
        ("interpolation = \"linear\"", "", "end_time: the end time as a variable: the commands are held"),
        (
            "target = [0.004, 0, -0.002]",
            "target = { times = [0, 1], values = [[0, 0, 0], [1, 0, 0]] }",
            "costs[0].target: changes over time",
        ),
        ("max_iterations = 4", "kind = \"ilqr\"", "as with `model_parameters` and `end_time`"),
        ("upper = 0.1", "upper = 1e9", "end_time.upper: 1000000000 s in steps"),
        (
            "[optimizer]",
            "[[constraints]]\ncontrol = \"press\"\nupper = 5\n[optimizer]",
            "`model_parameters` or `end_time`, for which there are no constraints",
        ),
    ] {
        assert!(PROBLEM.contains(old), "the problem has no `{old}`");
        let error = ProblemFile::load(folder.file("bad.toml", PROBLEM.replacen(old, new, 1))).expect_err(new);
        assert!(error.to_string().contains(expected), "{error}\n  lacks {expected}");
    }
}
