//! Predictions over horizons through the command, and the recorded tosses of a cube that they were made for.

use std::fs;
use std::path::Path;

use isobar::io::FitFile;
use isobar::optimize::fit::Method;

use crate::fit::{GOOD, TRUTH, run};
use crate::folder::Folder;
use crate::{isobar, text};

#[test]
fn predictions_over_horizons_start_before_the_first_touch() {
    let folder = Folder::with_example("horizons");
    fs::remove_file(folder.0.join("data/indentation.csv")).expect("there");
    let path = folder.file("fit.toml", GOOD);
    let data = folder.0.join("data");
    // A recording that ends in flight.
    let throw = fs::read_to_string(data.join("throw_1.csv")).expect("there");
    let few: Vec<&str> = throw.lines().take(4).collect();
    fs::write(data.join("throw_9.csv"), few.join("\n")).expect("can be written");
    let evaluate = |friction: f64, more: &[&str]| {
        let values =
            TRUTH.map(|(name, value)| (name, if name.ends_with("friction") { friction } else { value }));
        let named: std::collections::BTreeMap<&str, f64> = values.into_iter().collect();
        let parameters = folder.file("parameters.json", serde_json::to_string(&named).expect("numbers"));
        let mut arguments = vec!["fit", text(&path), "--evaluate", text(&parameters), text(&data)];
        arguments.extend(more);
        isobar(&arguments)
    };
    let report = |friction: f64| -> serde_json::Value {
        let output = evaluate(friction, &["--horizons", "3,10,400", "--json"]);
        let messages = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{messages}");
        assert!(messages.contains("throw_9.csv: in no recorded pose"), "{messages}");
        assert!(messages.contains("throw_1.csv: it ends before horizons of 400 samples"), "{messages}");
        serde_json::from_slice(&output.stdout).expect("JSON")
    };
    let truth = report(TRUTH[2].1);
    let recordings = truth["recordings"].as_array().expect("a list");
    assert_eq!(recordings.len(), 3);
    let keys = |value: &serde_json::Value| -> Vec<String> {
        value.as_object().expect("a table").keys().cloned().collect()
    };
    assert_eq!(keys(&truth), ["recordings", "mean"]);
    assert_eq!(keys(&recordings[0]), ["file", "start_sample", "horizons"]);
    assert_eq!(keys(&recordings[0]["horizons"][0]), ["samples", "position_m", "rotation_rad"]);
    assert!(recordings[0]["file"].as_str().expect("a name").ends_with("throw_1.csv"));
    assert!(recordings[2]["start_sample"].is_null() && recordings[2]["horizons"][0]["position_m"].is_null());
    assert!(recordings[0]["start_sample"].as_u64().expect("a sample") > 0);
    for (i, samples) in [3, 10].into_iter().enumerate() {
        let mean = &truth["mean"][i];
        assert_eq!(mean["samples"], samples);
        // Noise of 1 mm and 0.01 rad in each of three directions, at the start and after it.
        let (position, rotation) =
            (mean["position_m"].as_f64().expect("m"), mean["rotation_rad"].as_f64().expect("rad"));
        assert!((1e-3..5e-3).contains(&position) && (1e-2..0.1).contains(&rotation), "{truth}");
        let of_two: f64 =
            recordings[..2].iter().map(|r| r["horizons"][i]["position_m"].as_f64().expect("m")).sum::<f64>()
                / 2.0;
        assert!((position - of_two).abs() < 1e-12);
    }
    assert!(truth["mean"][2]["position_m"].is_null());
    let rotation = |report: &serde_json::Value| report["mean"][1]["rotation_rad"].as_f64().expect("rad");
    assert!(rotation(&report(0.05)) > 2.0 * rotation(&truth), "another friction, another prediction");

    let table = evaluate(0.4, &["--horizons", "3,10"]);
    let table = String::from_utf8_lossy(&table.stdout).into_owned();
    let last = table.lines().last().expect("lines");
    assert!(table.contains("10 samples") && last.starts_with("mean"), "{table}");
    assert_eq!(evaluate(0.4, &["--horizons", "0"]).status.code(), Some(2));
    assert_eq!(isobar(&["fit", text(&path), "--horizons", "3"]).status.code(), Some(2));
}

#[test]
#[ignore = "needs the recordings and models in ../shared/data"]
fn recorded_tosses_of_a_cube_are_explained_better_by_the_fit() {
    let data = Path::new(crate::ROOT).join("../shared/data/cube_tosses");
    let example = Path::new(crate::ROOT).join("examples/cube_tosses");
    let folder = Folder::new("cube");
    fs::copy(example.join("scene.toml"), folder.0.join("scene.toml")).expect("the example is there");
    // Eight tosses instead of 60.
    let fit_file = fs::read_to_string(example.join("fit.toml")).expect("the example is there");
    let begin = fit_file.find("files = [").expect("a list of files");
    let end = begin + fit_file[begin..].find("]\n").expect("its end") + 1;
    let few = ["005", "017", "108", "136", "214", "261", "307", "415"];
    let few = few.map(|n| data.join(format!("toss_{n}.csv")));
    let path =
        folder.file("fit.toml", fit_file.replacen(&fit_file[begin..end], &format!("files = {few:?}"), 1));
    let file = FitFile::load(&path).expect("valid");
    let result = run(&file, Method::LevenbergMarquardt);
    assert!(result.cost_after < 0.5 * result.cost_before, "{result:?}");
    let value = |name: &str| {
        let estimate = result.uncertainty.estimates.iter().find(|estimate| estimate.name == name);
        estimate.expect("a parameter of the fit").value
    };
    let friction = value("materials.acrylic.friction");
    assert!(friction > 0.1 && friction < 0.25, "{friction}");
    let center = value("bodies.cube.center_of_mass[2]");
    assert!(center > 4e-3 && center < 8e-3, "{center}");

    // Recordings that were not fitted, with the parameters of all 60.
    let held_out = folder.0.join("held_out");
    fs::create_dir_all(&held_out).expect("a folder");
    for name in
        ["toss_072.csv", "toss_142.csv", "toss_232.csv", "toss_309.csv", "toss_402.csv", "toss_463.csv"]
    {
        fs::copy(data.join(name), held_out.join(name)).expect("the recordings are there");
    }
    let file = FitFile::load(example.join("fit.toml")).expect("valid");
    let values = FitFile::read_parameter_values(&example.join("best.json")).expect("valid");
    let names: Vec<&str> = values.keys().map(String::as_str).collect();
    let numbers: Vec<f64> = values.values().copied().collect();
    let problem = file.evaluation(&names, &held_out).expect("valid");
    let mean = problem.horizon_errors(&numbers, &[10, 20, 40]).expect("can be simulated").mean;
    let edge = 0.1048;
    for (error, [widths, degrees]) in mean.iter().zip([[0.018, 2.3], [0.032, 5.0], [0.058, 8.5]]) {
        let (position, rotation) =
            (error.position.expect("long enough"), error.rotation.expect("long enough"));
        assert!(position < widths * edge && rotation.to_degrees() < degrees, "{mean:?}");
    }
}
