//! Fits that go on where they were stopped, from several starts, with profiles and a page.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::fit::GOOD;
use crate::folder::Folder;
use crate::recorded_files::PageData;
use crate::{isobar, text};

/// The indentation alone, whose dissipation nothing depends on, with these settings.
fn indentation(folder: &Folder, settings: &str) -> std::path::PathBuf {
    let (before, rest) =
        GOOD.split_once("[[parameters]]\nname = \"materials.foam.dissipation\"").expect("there");
    let tables =
        &rest[rest.find("[[indentations]]").expect("there")..rest.find("[[trajectories]]").expect("there")];
    let offset =
        "[[parameters]]\nname = \"indentations[0].offset\"\ninitial = 0\nlower = -0.01\nupper = 0.01\n";
    folder.file("fit.toml", format!("{before}{offset}{tables}{settings}"))
}

fn json(text: &[u8]) -> Value {
    serde_json::from_slice(text).expect("JSON")
}

/// How often a fit is killed. On a busy machine it comes less far between two times, and would be killed far more often.
const MOST_KILLS: usize = 6;

/// Runs a fit until so many files more were kept of it, ends it without a word, and so on until it comes to its end. What it
/// has written then, and how often it was ended.
fn killed_again_and_again(fit: &Path, out: &Path, more: &[&str], after: usize) -> (Vec<u8>, usize) {
    let folder = out.parent().expect("a folder");
    let names = || fs::read_dir(folder).expect("there").map(|entry| entry.expect("an entry").file_name());
    let kept = || -> Vec<_> {
        let names = names().filter(|name| name.to_string_lossy().contains(".progress"));
        names.map(|name| fs::read(folder.join(name)).unwrap_or_default()).collect()
    };
    let mut kills = 0;
    loop {
        let mut child = Command::new(env!("CARGO_BIN_EXE_isobar"))
            .args(["fit", text(fit), "--out", text(out), if kills == 0 { "--quiet" } else { "--resume" }])
            .args(more)
            .stdout(Stdio::null())
            .spawn()
            .expect("the command runs");
        let (mut seen, mut changes) = (kept(), 0);
        let ended = loop {
            if let Some(status) = child.try_wait().expect("it can be waited for") {
                break Some(status);
            }
            let now = kept();
            changes += usize::from(now != seen);
            seen = now;
            if changes > after && kills < MOST_KILLS {
                break None;
            }
            std::thread::sleep(Duration::from_millis(1));
        };
        if let Some(status) = ended {
            assert!(status.success(), "{status}");
            assert!(!names().any(|name| name.to_string_lossy().ends_with(".part")), "{:?}", names());
            return (fs::read(out).expect("written"), kills);
        }
        child.kill().and_then(|()| child.wait()).expect("it can be ended");
        kills += 1;
    }
}

#[test]
fn a_fit_that_is_killed_again_and_again_is_the_same_to_the_last_byte() {
    let folder = Folder::with_example("fit_killed");
    let out = folder.0.join("fit.json");
    let candidates = "[[candidates]]\nname = \"frictionless\"\nwithout = [\"materials.foam.friction\"]\n";
    let recorded = format!("{GOOD}starts = \"recorded\"\nuntil = 0.15\n{candidates}");
    let estimated = recorded.replace("starts = \"recorded\"\n", "");
    for (text_of_fit, more, after) in
        [(&recorded, &[][..], 1), (&estimated, &[], 2), (&recorded, &["--compare", "--folds", "2"], 3)]
    {
        let fit = folder.file("fit.toml", text_of_fit);
        let whole = isobar(&[&["fit", text(&fit), "--json"], more].concat()).stdout;
        let (resumed, kills) = killed_again_and_again(&fit, &out, more, after);
        println!("{kills} kills");
        assert!(kills > 1, "{kills}");
        assert_eq!(String::from_utf8_lossy(&resumed), String::from_utf8_lossy(&whole));
    }
}

#[test]
fn a_fit_that_was_stopped_goes_on_to_the_same_result() {
    let folder = Folder::with_example("fit_resume");
    let fit = indentation(&folder, "[solver]\nmax_iterations = 3\n");
    let (out, kept) = (folder.0.join("fit.json"), folder.0.join("fit.progress.json"));
    let output = isobar(&["fit", text(&fit), "--out", text(&out)]);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(3), "{told}");
    // The best so far is written, and what a fit goes on with is kept.
    let stopped = json(&fs::read(&out).expect("written"));
    assert_eq!((stopped["iterations"].as_u64(), stopped["converged"].as_bool()), (Some(3), Some(false)));
    assert!(kept.exists());

    let more = indentation(&folder, "[solver]\nmax_iterations = 50\n");
    let output = isobar(&["fit", text(&more), "--out", text(&out), "--resume"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(!kept.exists(), "nothing is left to go on with");
    let resumed = fs::read(&out).expect("written");
    let whole = isobar(&["fit", text(&more), "--json"]).stdout;
    assert!(json(&whole)["iterations"].as_u64() > Some(3));
    assert_eq!(String::from_utf8_lossy(&resumed), String::from_utf8_lossy(&whole));

    // What was kept of another problem is refused.
    let fit = indentation(&folder, "[solver]\nmax_iterations = 3\n");
    isobar(&["fit", text(&fit), "--out", text(&out)]);
    let bounds = GOOD.replace("lower = 1e3", "lower = 2e3");
    let other = folder.file("fit.toml", bounds);
    let output = isobar(&["fit", text(&other), "--out", text(&out), "--resume"]);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("fit.progress.json: it is of problem"), "{told}");
    fs::write(&kept, "{}").expect("a file for the test");
    let output = isobar(&["fit", text(&other), "--out", text(&out), "--resume"]);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("fit.progress.json: it cannot be read"), "{told}");
    assert_eq!(isobar(&["fit", text(&other), "--resume"]).status.code(), Some(2));
}

#[test]
fn starts_are_divided_among_jobs() {
    let folder = Folder::with_example("fit_shards");
    let fit = indentation(&folder, "[solver]\nstarts = { count = 4, seed = 1 }\n");
    let (whole, divided) = (folder.0.join("whole.json"), folder.0.join("divided.json"));
    let one = json(&isobar(&["fit", text(&fit), "--json", "--out", text(&whole)]).stdout);
    let job =
        |more: &[&str]| isobar(&[&["fit", text(&fit), "--out", text(&divided), "--json"], more].concat());
    for (shard, own) in [("3/3", vec![2]), ("1/3", vec![0, 3]), ("2/3", vec![1]), ("2/3", vec![1])] {
        let output = job(&["--shard", shard]);
        assert!(output.status.success() && !divided.exists(), "{output:?}");
        let found = json(&output.stdout);
        assert_eq!(found.as_array().map(Vec::len), Some(own.len()));
        for (found, k) in found.as_array().expect("starts").iter().zip(own) {
            // Which is best only all of them tell.
            assert_eq!(
                [&found["cost"], &found["values"]],
                [&one["starts"][k]["cost"], &one["starts"][k]["values"]]
            );
        }
    }
    let output = job(&["--shard", "5/5"]);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        output.status.code() == Some(2) && told.contains("--shard: found 5/5") && told.contains("starts: 4"),
        "{told}"
    );
    assert_eq!(json(&job(&["--resume"]).stdout), one);
    let bytes = |path: &std::path::Path| fs::read(path).expect("a result");
    assert_eq!(bytes(&whole), bytes(&divided));
    assert!(!folder.0.join("divided.progress_3.json").exists());
}

#[test]
fn starts_profiles_and_residuals_are_told_of_in_words_and_on_the_page() {
    let folder = Folder::with_example("fit_profiles");
    let fit = indentation(&folder, "[solver]\nstarts = { count = 4, seed = 1 }\n");
    let (out, page) = (folder.0.join("fit.json"), folder.0.join("fit.html"));
    let output = isobar(&["fit", text(&fit), "--profiles", "--out", text(&out), "--record", text(&page)]);
    let (told, printed) =
        (String::from_utf8_lossy(&output.stderr), String::from_utf8_lossy(&output.stdout).into_owned());
    assert!(output.status.success(), "{told}");
    println!("{printed}");
    // One of them is so far off that nothing touches, and nothing tells which way to go.
    assert!(printed.contains("3 of 4 starts ended at the best optimum"), "{printed}");
    assert!(printed.contains("95 % intervals by profiles"), "{printed}");
    let report = json(&fs::read(&out).expect("written"));
    assert_eq!(report["starts"].as_array().map(Vec::len), Some(4));
    let profiles = report["profiles"].as_array().expect("profiles");
    assert_eq!(profiles.len(), 2);
    for (profile, estimate) in profiles.iter().zip(report["estimates"].as_array().expect("estimates")) {
        let ends = |value: &Value| [0, 1].map(|k| value["interval"][k].as_f64().expect("an end"));
        let (found, symmetric) = (ends(profile), ends(estimate));
        let width = symmetric[1] - symmetric[0];
        // The curvature is nearly the same over a short interval.
        assert!((0..2).all(|k| (found[k] - symmetric[k]).abs() < 0.2 * width), "{found:?} {symmetric:?}");
        assert!(profile["points"].as_array().is_some_and(|points| points.len() >= 5));
    }
    let quantities = report["diagnostics"]["quantities"].as_array().expect("quantities");
    assert_eq!(quantities[0]["quantity"], "force");
    assert!(quantities[0]["whiteness"]["p_value"].as_f64().is_some_and(|p| p > 1e-3), "{quantities:?}");
    let page = PageData::read(&page);
    let plots = page.header["plots"].as_array().expect("plots");
    assert!(plots.iter().any(|plot| plot["title"] == "Profile of indentations[0].offset"));
    assert_eq!(page.table("Residuals over standard deviations").len(), 1);
    assert_eq!(page.table("Starts").len(), 4);
}

#[test]
fn what_a_recording_holds_that_the_model_does_not_is_told() {
    let folder = Folder::with_example("fit_residuals");
    // A tracker that jumps now and then, and a ball that loses speed in a way that no friction explains.
    let path = "data/throw_1.csv";
    let recording = fs::read_to_string(folder.0.join(path)).expect("there");
    let mut count = 0;
    let with = |line: &str| {
        let mut fields: Vec<String> = line.split(',').map(str::to_owned).collect();
        if fields.len() > 3 && fields[0].parse::<f64>().is_ok() {
            count += 1;
            if count % 9 == 5 {
                let jumped = fields[1].parse::<f64>().expect("a number") + 0.2;
                fields[1] = jumped.to_string();
            }
        }
        fields.join(",") + "\n"
    };
    folder.file(path, recording.lines().map(with).collect::<String>());
    let solver = "[solver]\ncost_tolerance = 1e-5\n";
    let fit = folder.file("fit.toml", format!("{GOOD}starts = \"recorded\"\n{solver}"));
    let output = isobar(&["fit", text(&fit), "--json"]);
    let report = json(&output.stdout);
    println!("{:#}", report["diagnostics"]["remarks"]);
    let outliers = report["diagnostics"]["outliers"].as_array().expect("a list");
    assert_eq!(outliers.len(), 1, "{outliers:?}");
    assert_eq!(outliers[0]["outlier_loss"], "cauchy");
    let phases = &report["diagnostics"]["quantities"][0]["phases"];
    assert_eq!(phases[0]["phase"], "before_touch", "{phases}");
    assert!(phases.as_array().is_some_and(|phases| phases.len() >= 2), "{phases}");
    // With the values that are named nothing is said of them any more.
    let limit = format!("outlier_limit = {}\noutlier_loss = \"cauchy\"\n", outliers[0]["outlier_limit"]);
    let fit = folder.file("fit.toml", format!("{GOOD}starts = \"recorded\"\n{limit}{solver}"));
    let report = json(&isobar(&["fit", text(&fit), "--json"]).stdout);
    assert!(report["diagnostics"]["outliers"].as_array().is_some_and(Vec::is_empty));
}
