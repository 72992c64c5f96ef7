//! Models compared by what they predict, and what is doubtful about measurements.

use std::fs;

use crate::fit::{GOOD, coarse};
use crate::folder::Folder;
use crate::{isobar, text};

/// A frozen modulus, which the recordings contradict, and one parameter more than they need.
const CANDIDATES: &str = r#"
[[candidates]]
name = "modulus as given"
without = ["materials.foam.hydroelastic_modulus"]

[[candidates]]
name = "gravity too"
[[candidates.parameters]]
name = "gravity[2]"
initial = -9.81
lower = -12.0
upper = -8.0

[[candidates]]
name = "starts as recorded"
starts = "recorded"
"#;

/// The example's four throws and no indentation, with these candidates.
fn throws(folder: &Folder, candidates: &str) -> std::path::PathBuf {
    for (file, content) in &coarse().1 {
        folder.file(&format!("data/{file}"), content);
    }
    let (before, rest) = GOOD.split_once("[[indentations]]").expect("indentations");
    let (_, after) = rest.split_once("[[trajectories]]").expect("trajectories");
    let solver = "[solver]\ncost_tolerance = 1e-5\n";
    folder.file("fit.toml", format!("{before}[[trajectories]]{after}until = 0.15\n{solver}{candidates}"))
}

#[test]
fn models_are_compared_by_what_they_predict() {
    let folder = Folder::with_example("compare");
    let fit = throws(&folder, CANDIDATES);
    let out = folder.0.join("comparison.json");
    let output = isobar(&["fit", text(&fit), "--compare", "--folds", "2", "--json", "--out", text(&out)]);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{told}");
    assert_eq!(fs::read(&out).expect("written"), output.stdout);
    let comparison: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let candidates = comparison["candidates"].as_array().expect("a list");
    println!("{comparison:#}");
    let named = |name: &str| candidates.iter().find(|c| c["name"] == name).expect("there");
    let score = |name: &str| named(name)["score"].as_f64().expect("a number");
    assert_eq!((comparison["folds"].as_u64(), comparison["measurements"].as_u64()), (Some(2), Some(4)));
    // Differences over standard deviations that are those of the noise.
    assert!(score("as given") < 1.3, "{}", score("as given"));
    assert!(score("modulus as given") > 3.0 * score("as given"));
    assert_eq!(named("gravity too")["parameters"].as_array().expect("names").len(), 4);
    assert_eq!(named("as given")["held_out"].as_array().expect("errors").len(), 4);
    // The order is that of the scores, and the simpler model is taken.
    let scores: Vec<f64> = candidates.iter().map(|c| c["score"].as_f64().expect("a number")).collect();
    assert!(scores.is_sorted());
    assert_ne!(comparison["recommended"], "modulus as given");
    assert_ne!(comparison["recommended"], "gravity too");
}

#[test]
fn a_candidate_is_fitted_by_itself() {
    let folder = Folder::with_example("candidate");
    let fit = throws(&folder, CANDIDATES);
    let output = isobar(&["fit", text(&fit), "--candidate", "modulus as given", "--json"]);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect(&told);
    let names: Vec<_> = report["estimates"].as_array().expect("a list").iter().map(|e| &e["name"]).collect();
    assert_eq!(names.len(), 2, "{names:?}");
    assert!(names.iter().all(|name| *name != "materials.foam.hydroelastic_modulus"), "{names:?}");
}

#[test]
fn a_model_that_cannot_be_simulated_comes_last() {
    let folder = Folder::with_example("compare_failed");
    let scene = &coarse().0;
    // So light that it flies away.
    let light = scene.replace("mass = 0.1", "mass = 1e-9").replace("2.5e-4", "5e-3");
    folder.file("light.toml", light);
    let fit = throws(&folder, "[[candidates]]\nname = \"light\"\nscene = \"light.toml\"\n");
    let output = isobar(&["fit", text(&fit), "--compare", "--folds", "2"]);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{told}");
    println!("{printed}{told}");
    let (good, light) = (printed.find("as given").expect("there"), printed.find("light").expect("there"));
    assert!(good < light && printed.contains("take `as given`"), "{printed}");
}

#[test]
fn candidates_that_make_no_sense_are_refused() {
    let folder = Folder::with_example("candidates_bad");
    for (candidate, expected) in [
        ("name = \"as given\"", "candidates[0].name: found \"as given\", the name of another one"),
        (
            "name = \"a\"\nwithout = [\"x\"]",
            "candidates[0].without[0]: found \"x\", which is no parameter of the fit",
        ),
        ("name = \"a\"\nscene = \"no.toml\"", "candidates[0].scene: found \"no.toml\", which is no file"),
        ("name = \"a\"\nstart = \"recorded\"", "candidates[0].start: unknown field `start`"),
        (
            "name = \"a\"\n[[candidates.parameters]]\nname = \"gravity[2]\"\ninitial = 1.0\nlower = 2.0",
            "candidates[0].parameters",
        ),
    ] {
        let fit = folder.file("fit.toml", format!("{GOOD}\n[[candidates]]\n{candidate}\n"));
        for arguments in [&["check"][..], &["fit", "--compare"]] {
            let mut all = arguments.to_vec();
            all.insert(1, text(&fit));
            let output = isobar(&all);
            let told = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(told.contains(expected), "{all:?}: {told}");
            assert_eq!(output.status.code(), Some(2), "{told}");
        }
    }
    // A quantity that the scene of a candidate does not have.
    let parameter =
        "name = \"a\"\n[[candidates.parameters]]\nname = \"materials.rubber.friction\"\ninitial = 1.0";
    let fit = folder.file("fit.toml", format!("{GOOD}\n[[candidates]]\n{parameter}\n"));
    let output = isobar(&["fit", text(&fit), "--compare"]);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("candidates[0]") && told.contains("no material `rubber`"), "{told}");
    assert_eq!(output.status.code(), Some(2), "{told}");
    let fit = folder.file("fit.toml", GOOD);
    let output = isobar(&["fit", text(&fit), "--candidate", "other"]);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("no one is called \"other\"; there are \"as given\""), "{told}");
    let output = isobar(&["fit", text(&fit), "--folds", "3"]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn columns_that_stand_for_nothing_are_told_of_once() {
    let folder = Folder::with_example("unclaimed");
    for throw in ["data/throw_1.csv", "data/throw_4.csv"] {
        let recording = fs::read_to_string(folder.0.join(throw)).expect("there");
        let with = |line: &str| match line {
            comment if comment.starts_with('#') => format!("{comment}\n"),
            header if header.starts_with("t_s") => format!("{header},temperature,other.px_m,table.px_m\n"),
            row => format!("{row},20,0,0\n"),
        };
        folder.file(throw, recording.lines().map(with).collect::<String>());
    }
    let fit = folder.file("fit.toml", GOOD);
    let output = isobar(&["check", text(&fit)]);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{told}");
    let (before, after) =
        told.split_once("throw_1.csv, line 2 and another file: ").unwrap_or_else(|| panic!("{told}"));
    // `table.px_m` is what a simulation writes of another body of the scene.
    assert!(after.starts_with("columns `temperature`, `other.px_m` are not used"), "{told}");
    assert_eq!((before.matches('\n').count(), after.matches('\n').count()), (0, 1), "{told}");
}

#[test]
fn recordings_that_contradict_themselves_are_refused() {
    let folder = Folder::with_example("contradiction");
    let fit = folder.file("fit.toml", GOOD);
    let path = "data/throw_4.csv";
    let recording = fs::read_to_string(folder.0.join(path)).expect("there");
    let refused = |change: fn(&mut [f64])| {
        let with = |line: &str| {
            let mut numbers: Vec<f64> = match line.split(',').map(str::parse).collect() {
                Ok(numbers) => numbers,
                Err(_) => return format!("{line}\n"),
            };
            change(&mut numbers);
            let fields: Vec<String> = numbers.iter().map(f64::to_string).collect();
            format!("{}\n", fields.join(","))
        };
        folder.file(path, recording.lines().map(with).collect::<String>());
        let output = isobar(&["fit", text(&fit)]);
        assert_eq!(output.status.code(), Some(2));
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(told.contains("throw_4.csv, line 3, column `"), "{told}");
        told
    };
    assert!(refused(|row| row[1..4].iter_mut().for_each(|p| *p *= 1000.0)).contains("seem to be in mm"));
    assert!(refused(|row| row[4..8].rotate_left(1)).contains("`qw`, `qx`, `qy`, `qz` hold x, y, z, w"));
    assert!(refused(|row| row[0] *= 1000.0).contains("times in ms"));
}

#[test]
fn a_body_that_starts_inside_another_is_told_of() {
    let folder = Folder::with_example("deep");
    let fit = folder.file("fit.toml", GOOD);
    let scene = fs::read_to_string(folder.0.join("scene.toml")).expect("there");
    let told = |height: &str| {
        let table = "name = \"table\"\n";
        assert!(scene.contains(table));
        folder.file("scene.toml", scene.replace(table, &format!("{table}translation = [0, 0, {height}]\n")));
        String::from_utf8_lossy(&isobar(&["check", text(&fit)]).stderr).into_owned()
    };
    // The ball, of a radius of 50 mm, is thrown from a height of 80 mm.
    assert!(!told("0").contains("warning"), "{}", told("0"));
    let deep = told("0.05");
    assert!(
        deep.contains("throw_1.csv, line 3: simulations start with `ball` deep inside another body"),
        "{deep}"
    );
    let depth = deep.split_once("touch nothing ").and_then(|(_, rest)| rest.split_once(" m away"));
    let depth: f64 = depth.expect("a depth").0.parse().expect("a number");
    assert!((depth - 0.02).abs() < 1e-3, "{deep}");
    assert!(told("1.0").contains("it would touch something even twice its size away"), "{}", told("1.0"));
}
