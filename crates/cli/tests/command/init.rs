//! `isobar init`: what it writes works as it is, and nothing that exists is lost.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use isobar::Scene;
use isobar::io::{FitFile, ProblemFile};
use serde_json::Value;

use crate::folder::Folder;

/// Runs a command line in a folder.
fn run(folder: &Folder, line: &str) -> Output {
    let words: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(words[0], "isobar");
    Command::new(env!("CARGO_BIN_EXE_isobar"))
        .current_dir(&folder.0)
        .args(&words[1..])
        .output()
        .expect("runs")
}

/// What a command line prints, which ends well.
fn printed(folder: &Folder, line: &str) -> String {
    let output = run(folder, line);
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// The message of a command line that is refused.
fn refused(folder: &Folder, line: &str) -> String {
    let output = run(folder, line);
    let message = String::from_utf8(output.stderr).expect("text");
    assert_eq!((output.status.code(), message.lines().count()), (Some(2), 1), "{line}: {message}");
    message
}

fn names(folder: &Folder) -> Vec<String> {
    let entries = fs::read_dir(&folder.0).expect("the folder").map(|entry| entry.expect("an entry"));
    let mut names: Vec<String> = entries.map(|e| e.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn read(folder: &Folder, name: &str) -> String {
    fs::read_to_string(folder.0.join(name)).expect("a file")
}

/// The command that `isobar init` names at its end.
fn next(said: &str) -> &str {
    said.lines().last().and_then(|line| line.strip_prefix("next: ")).expect("what to run next")
}

#[test]
fn a_scene_is_simulated() {
    let folder = Folder::new("init-scene");
    let said = printed(&folder, "isobar init scene");
    assert_eq!(said, "written: scene.toml\nnext: isobar simulate scene.toml --until 1 --out motion.csv\n");
    let simulated = run(&folder, next(&said));
    assert!(simulated.status.success(), "{simulated:?}");
    let remarks = String::from_utf8_lossy(&simulated.stderr).into_owned();
    assert!(remarks.contains("can touch: ball – table") && !remarks.contains("warning"), "{remarks}");
    assert_eq!(names(&folder), ["motion.csv", "scene.toml"]);
    // The ball has rolled over the table, on which it lies.
    let motion = read(&folder, "motion.csv");
    let last: Vec<f64> =
        motion.lines().last().expect("a row").split(',').map(|x| x.parse().expect("a number")).collect();
    assert!(last[1] > 0.2 && (0.04..0.05).contains(&last[3]), "{last:?}");
}

/// The ball of a scene is made of what is asked for, and `advise` finds the same modulus for the force that it lands with.
#[test]
fn a_ball_is_of_an_elastic_material() {
    let folder = Folder::new("init-elastic");
    let moduli = ["1e4,0.3", "silicone", "rubber", "steel"].map(|material| {
        let said = printed(&folder, &format!("isobar init scene {material}.toml --elastic {material}"));
        assert!(run(&folder, next(&said)).status.success(), "{material}");
        let text = read(&folder, &format!("{material}.toml"));
        assert!(text.contains(&format!("# {material}; `isobar advise --elastic`")), "{text}");
        let table: toml::Table = text.parse().expect("a scene");
        table["materials"]["elastic"]["hydroelastic_modulus"].as_float().expect("a number")
    });
    assert!(moduli.is_sorted(), "{moduli:?}");
    // It lands with 0.0616 J, which is 2/5 F δ of Hertz; E* of rubber of 60 Shore A is 4.8e6 Pa.
    let stiffness = 4.0 / 3.0 * 4.8e6 * 0.05_f64.sqrt();
    let depth = (0.0616 / (0.4 * stiffness)).powf(0.4);
    let expected = stiffness * depth.powf(1.5) / (std::f64::consts::PI * depth * depth);
    // The mesh of the template has edges of 2 cm.
    assert!((moduli[2] / expected - 1.0).abs() < 0.25, "{moduli:?}, {expected}");
    let load = stiffness * depth.powf(1.5);
    let line = format!("isobar advise rubber.toml --load {load} --elastic elastic=rubber --json");
    let advice: Value = serde_json::from_str(&printed(&folder, &line)).expect("JSON");
    let elastic = &advice["pairs"][0]["elastic"];
    let advised = elastic["moduli"][0]["hydroelastic_modulus"].as_f64().expect("a number");
    assert!((advised / moduli[2] - 1.0).abs() < 0.1, "{advised}, {moduli:?}");
    assert_eq!(elastic["solution"], "hertz");
    let squeezed = run(&folder, "isobar advise rubber.toml --load 1e9 --elastic elastic=rubber");
    let told = String::from_utf8(squeezed.stderr).expect("text");
    assert!(
        squeezed.status.success() && told.contains("no modulus is found for material `elastic`"),
        "{told}"
    );
    for (line, words) in [
        ("isobar init fit --elastic steel", ["--elastic", "only a scene"]),
        ("isobar init scene b.toml --elastic stele", ["stele", "Shore A"]),
        ("isobar init scene b.toml --elastic 10,0.3", ["10,0.3", "half its size"]),
        ("isobar advise rubber.toml --elastic foam=steel", ["\"foam\"", "elastic"]),
        ("isobar advise rubber.toml --elastic elastic=steel --thickness 0", ["--thickness", "more than 0"]),
    ] {
        let message = refused(&folder, line);
        assert!(words.iter().all(|word| message.contains(word)), "{line}: {message}");
    }
}

#[test]
fn a_problem_is_optimized() {
    let folder = Folder::new("init-problem");
    let said = printed(&folder, "isobar init problem");
    assert_eq!(
        said,
        "written: pusher.toml, problem.toml\nnext: isobar optimize problem.toml --out solution\n"
    );
    let few = run(&folder, &format!("{} --max-iterations 3 --json", next(&said)));
    // Three iterations are not enough to converge.
    assert_eq!(few.status.code(), Some(3), "{few:?}");
    let report: Value = serde_json::from_slice(&few.stdout).expect("JSON");
    let [start, end] = ["cost_at_start", "cost"].map(|key| report[key].as_f64().expect("a number"));
    assert!(end < 0.5 * start, "{start} {end}");
    let warnings = String::from_utf8_lossy(&few.stderr).into_owned();
    assert!(!warnings.contains("warning"), "{warnings}");
}

#[test]
fn a_fit_finds_what_the_recording_was_made_with() {
    let folder = Folder::new("init-fit");
    let said = printed(&folder, "isobar init fit");
    assert_eq!(said, "written: ball.toml, throw.csv, fit.toml\nnext: isobar fit fit.toml\n");
    let report: Value =
        serde_json::from_str(&printed(&folder, &format!("{} --json", next(&said)))).expect("JSON");
    let estimates = report["estimates"].as_array().expect("a list");
    let number = |estimate: &Value, key: &str| estimate[key].as_f64().expect("a number");
    let material = Scene::load(folder.0.join("ball.toml")).expect("loads").model.materials()[0].material;
    for (found, truth) in estimates.iter().zip([material.hydroelastic_modulus, material.static_friction]) {
        let (value, error) = (number(found, "value"), number(found, "standard_error"));
        assert!((value - truth).abs() < 2.0 * error && error < 0.25 * truth, "{found}");
        assert_eq!(found["verdict"], "identified", "{found}");
    }
    assert_eq!(estimates.len(), 2);
    // The recording is what its first line says.
    let recording = read(&folder, "throw.csv");
    let command = recording.split('`').nth(1).expect("a command");
    printed(&folder, &command.replace("throw.csv", "again.csv"));
    let numbers = |text: &str| -> Vec<f64> {
        let rows = text.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit()));
        rows.flat_map(|row| row.split(',')).map(|x| x.parse().expect("a number")).collect()
    };
    let (recorded, again) = (numbers(&recording), numbers(&read(&folder, "again.csv")));
    assert_eq!((recorded.len(), again.len()), (31 * 14, 31 * 14));
    // With errors as the fit has them, of quaternions half as much.
    for (columns, sigma) in [(1..4, 5e-4), (5..8, 2.5e-3), (8..11, 0.01), (11..14, 0.1)] {
        let of = |row: usize| columns.clone().map(move |column| 14 * row + column);
        let squares = (0..31).flat_map(of).map(|i| ((recorded[i] - again[i]) / sigma).powi(2));
        let mean = squares.sum::<f64>() / (31.0 * 3.0);
        assert!((0.6..1.5).contains(&mean), "{columns:?}: {mean}");
    }
}

/// A field that is a comment shows its default, or what could stand there: with it the file is good too.
#[test]
fn fields_in_comments_can_be_taken_in() {
    let folder = Folder::new("init-comments");
    for kind in ["scene", "problem", "fit"] {
        printed(&folder, &format!("isobar init {kind}"));
    }
    type Load = fn(PathBuf) -> Result<(), isobar::io::FileError>;
    let scene: Load = |path| Scene::load(path)?.simulation_settings().map(drop);
    let problem: Load = |path| ProblemFile::load(path).map(drop);
    let fit: Load = |path| FitFile::load(path)?.identification().map(drop);
    let mut count = 0;
    for (name, load) in
        [("scene.toml", scene), ("pusher.toml", scene), ("problem.toml", problem), ("fit.toml", fit)]
    {
        let content = read(&folder, name);
        load(folder.0.join(name)).unwrap_or_else(|e| panic!("{e}"));
        let lines: Vec<&str> = content.lines().collect();
        let field = |line: &&str| {
            line.strip_prefix("# ")
                .filter(|line| {
                    line.split_once(" = ")
                        .is_some_and(|(key, _)| key.chars().all(|c| c.is_ascii_lowercase() || c == '_'))
                })
                .map(str::to_owned)
        };
        for (i, taken) in lines.iter().enumerate().filter_map(|(i, line)| Some((i, field(line)?))) {
            // The table of indentations is a comment as a whole.
            if i > 0
                && name == "fit.toml"
                && ["body", "direction", "file"].iter().any(|key| taken.starts_with(key))
            {
                continue;
            }
            let mut changed: Vec<&str> = lines.clone();
            changed[i] = &taken;
            let file = folder.file("changed.toml", changed.join("\n"));
            load(file).unwrap_or_else(|e| panic!("{name}: {e}"));
            count += 1;
        }
    }
    assert!(count >= 15, "{count}");
}

#[test]
fn files_that_exist_are_overwritten_only_if_that_is_asked_for() {
    let folder = Folder::new("init-force");
    printed(&folder, "isobar init problem");
    let text = read(&folder, "problem.toml");
    let message = refused(&folder, "isobar init problem");
    assert!(message.contains("problem.toml: exists already") && message.contains("--force"), "{message}");
    // A scene that was changed is not the one that a problem needs; one that was not is kept.
    let said = printed(&folder, "isobar init problem other.toml");
    assert!(said.starts_with("written: other.toml\nthere already: pusher.toml\n"), "{said}");
    folder.file("pusher.toml", "# mine");
    folder.file("problem.toml", "# mine");
    let message = refused(&folder, "isobar init problem third.toml");
    assert!(message.contains("pusher.toml: exists already"), "{message}");
    assert_eq!(names(&folder), ["other.toml", "problem.toml", "pusher.toml"]);
    assert_eq!([read(&folder, "problem.toml"), read(&folder, "pusher.toml")], ["# mine", "# mine"]);
    printed(&folder, "isobar init problem --force");
    assert_eq!(read(&folder, "problem.toml"), text);
    ProblemFile::load(folder.0.join("problem.toml")).expect("loads again");
}

#[test]
fn nothing_is_written_where_something_cannot_be() {
    let folder = Folder::new("init-nothing");
    assert!(refused(&folder, "isobar init fit none/fit.toml").contains("cannot be written"));
    assert!(
        refused(&folder, "isobar init fit data.txt").contains("data.txt: the name: it must end in .toml")
    );
    assert!(refused(&folder, "isobar init fit ball.toml").contains("has this name"));
    fs::create_dir(folder.0.join("throw.csv")).expect("a folder");
    assert!(refused(&folder, "isobar init fit").contains("throw.csv: exists already"));
    assert!(refused(&folder, "isobar init fit --force").contains("it is a folder"));
    assert_eq!(names(&folder), ["throw.csv"]);
}

#[test]
fn standard_output_gets_the_file_alone() {
    let folder = Folder::new("init-output");
    for (kind, named) in [("scene", ""), ("problem", "pusher.toml"), ("fit", "throw.csv")] {
        let output = run(&folder, &format!("isobar init {kind} -"));
        assert!(output.status.success(), "{output:?}");
        let source = Path::new(crate::ROOT).join("crates/cli/src/init").join(format!("{kind}.toml"));
        assert_eq!(output.stdout, fs::read(source).expect("the text"));
        assert!(String::from_utf8_lossy(&output.stderr).contains(named), "{output:?}");
    }
    assert!(names(&folder).is_empty());
}
