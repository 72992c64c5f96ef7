//! Fits through the library and the command: the bundled example, indentation, what the data do
//! not determine, both methods, bad fit files, evaluation of parameters on recordings.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use isobar::io::FitFile;
use isobar::optimize::fit::{Fit, FitSettings, Method, fit};
use isobar::optimize::identification::MeasurementError;
use isobar::optimize::least_squares::Residuals;
use isobar::optimize::uncertainty::Identifiability;

#[path = "../../../../examples/make_fit_data.rs"]
mod make_fit_data;

pub(crate) use make_fit_data::TRUTH;

use crate::folder::Folder;
use crate::recorded_files::PageData;
use crate::{isobar, text};

/// The bundled example.
fn example() -> PathBuf {
    Path::new(crate::ROOT).join("examples/fit_ball")
}

impl Folder {
    /// A folder with the example's scene and measurements, of a ball with few faces, which is fitted in a third of the
    /// time. Of the throws these are the first and the last.
    pub(crate) fn with_example(name: &str) -> Self {
        let folder = Self::new(name);
        fs::create_dir_all(folder.0.join("data")).expect("a folder for the data");
        let (scene, data) = coarse();
        folder.file("scene.toml", scene);
        for (file, content) in data.iter().filter(|(file, _)| file != "throw_2.csv" && file != "throw_3.csv")
        {
            folder.file(&format!("data/{file}"), content);
        }
        folder
    }
}

/// The example's scene with few faces, and what its program makes of it.
pub(crate) fn coarse() -> &'static (String, Vec<(String, String)>) {
    static COARSE: OnceLock<(String, Vec<(String, String)>)> = OnceLock::new();
    COARSE.get_or_init(|| {
        let scene = fs::read_to_string(example().join("scene.toml")).expect("there");
        let scene = scene.replace("resolution = 0.02", "resolution = 0.04");
        let folder = Folder::new("coarse_fit");
        let data = make_fit_data::files(&folder.file("scene.toml", &scene)).expect("can be made");
        (scene, data)
    })
}

/// Two of the example's throws and its indentation, from starts off by factors of 3 to 5.
pub(crate) const GOOD: &str = r#"scene = "scene.toml"

[[parameters]]
name = "materials.foam.hydroelastic_modulus"
initial = 3e4
lower = 1e3
upper = 1e7
log = true

[[parameters]]
name = "materials.foam.dissipation"
initial = 0.2
lower = 0.0
upper = 10.0

[[parameters]]
name = "materials.foam.friction"
initial = 0.08
lower = 0.0
upper = 2.0

[[indentations]]
body = "ball"
direction = [0, 0, -1]
file = "data/indentation.csv"

[[trajectories]]
body = "ball"
files = ["data/throw_*.csv"]
position_sigma = 1e-3
orientation_sigma = 1e-2
linear_velocity_sigma = 0.02
angular_velocity_sigma = 0.2
"#;

pub(crate) fn run(file: &FitFile, method: Method) -> Fit {
    let problem = file.identification().expect("valid");
    let settings = FitSettings { method, max_iterations: 300, cost_tolerance: 1e-14, ..Default::default() };
    fit(&problem, &file.parameters, &settings, None).expect("can be evaluated")
}

#[test]
fn the_bundled_measurements_are_what_their_program_makes() {
    let files = make_fit_data::files(&example().join("scene.toml")).expect("can be made");
    assert_eq!(files.len(), 5);
    for (name, made) in files {
        let bundled = fs::read_to_string(example().join("data").join(&name)).expect("bundled");
        assert!(bundled.starts_with("# Synthetic"), "{name} is labelled");
        let fields = |text: &str| -> Vec<Vec<String>> {
            text.lines().map(|line| line.split(',').map(str::to_owned).collect()).collect()
        };
        let (bundled, made) = (fields(&bundled), fields(&made));
        assert_eq!(bundled.len(), made.len(), "{name}");
        for (line, (b, m)) in bundled.iter().zip(&made).enumerate() {
            assert_eq!(b.len(), m.len(), "{name}, line {}", line + 1);
            for (b, m) in b.iter().zip(m) {
                // The last digit may differ with the machine's sine and logarithm.
                let close = match (b.parse::<f64>(), m.parse::<f64>()) {
                    (Ok(b), Ok(m)) => (b - m).abs() < 2e-4 * (1.0 + b.abs()),
                    _ => b == m,
                };
                assert!(close, "{name}, line {}: {b} and {m}", line + 1);
            }
        }
    }
}

#[test]
fn the_bundled_example_gives_the_true_parameters_within_their_errors() {
    let file = FitFile::load(example().join("fit.toml")).expect("valid");
    let result = run(&file, Method::LevenbergMarquardt);
    assert!(result.converged, "{result:?}");
    // The residuals are the noise: s² = 1 with a standard deviation of √(2/m).
    let variance = result.uncertainty.residual_variance.expect("there is noise");
    assert!((variance - 1.0).abs() < 4.0 * (2.0 / result.residuals as f64).sqrt(), "{variance}");
    for (estimate, (name, truth)) in result.uncertainty.estimates.iter().zip(TRUTH) {
        assert_eq!(estimate.name, name);
        assert_eq!(estimate.identifiability, Identifiability::Identified);
        let error = estimate.standard_error.expect("identified");
        assert!((estimate.value - truth).abs() < 3.5 * error, "{estimate:?}");
        assert!(error < 0.02 * truth, "{estimate:?}");
    }
    for (parameter, (_, truth)) in file.parameters.as_slice().iter().zip(TRUTH) {
        let factor = truth / parameter.initial;
        assert!((3.0..10.0).contains(&factor), "the start is not the truth: {factor}");
    }
}

#[test]
fn both_methods_find_the_same_minimum() {
    let folder = Folder::with_example("methods");
    let file = FitFile::load(folder.file("fit.toml", format!("{GOOD}until = 0.12\n"))).expect("valid");
    let lm = run(&file, Method::LevenbergMarquardt);
    let lbfgs = run(&file, Method::Lbfgs);
    assert!(lm.converged && lbfgs.converged, "{lm:?}\n{lbfgs:?}");
    for (a, b) in lm.uncertainty.estimates.iter().zip(&lbfgs.uncertainty.estimates) {
        let error = a.standard_error.expect("identified");
        assert!((a.value - b.value).abs() < 1e-2 * error, "{a:?} {b:?}");
    }
    assert!((lm.cost_after / lbfgs.cost_after - 1.0).abs() < 1e-6);
}

#[test]
fn indentation_gives_the_modulus_and_says_that_it_does_not_give_dissipation() {
    let path = example().join("fit_indentation_only.toml");
    let result = run(&FitFile::load(&path).expect("valid"), Method::LevenbergMarquardt);
    let [modulus, dissipation] = &result.uncertainty.estimates[..] else { panic!("{result:?}") };
    let error = modulus.standard_error.expect("identified");
    assert!((modulus.value - TRUTH[0].1).abs() < 3.5 * error && error < 0.01 * TRUTH[0].1, "{modulus:?}");
    assert_eq!(dissipation.identifiability, Identifiability::NoDependence);
    assert_eq!(dissipation.standard_error, None);

    let output = isobar(&["fit", text(&path)]);
    assert_eq!(output.status.code(), Some(0));
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = |name: &str| out.lines().find(|l| l.starts_with(name)).expect(name).to_owned();
    assert!(line("materials.foam.hydroelastic_modulus (Pa)").ends_with("identified"), "{out}");
    let dissipation = line("materials.foam.dissipation (s/m)");
    assert!(dissipation.contains("unknown") && dissipation.contains("do not depend on it"), "{out}");
}

#[test]
fn tables_of_other_programs_are_fitted_alike() {
    let folder = Folder::with_example("other_programs");
    let table = fs::read_to_string(folder.0.join("data/indentation.csv")).expect("there");
    // As a spreadsheet writes it where decimals have commas, in mm, with names of its own.
    let translated = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        match fields[0].parse::<f64>() {
            Ok(depth) => format!("{};{};{}\r\n", 1e3 * depth, fields[1], fields[2]).replace('.', ","),
            Err(_) if line.starts_with('#') => format!("{line}\r\n"),
            Err(_) => "Weg [mm];force_N;sigma_N\r\n".to_owned(),
        }
    };
    let text_of = |file: &str, columns: &str| {
        let fit = fs::read_to_string(example().join("fit_indentation_only.toml")).expect("there");
        fit.replace("data/indentation.csv\"", &format!("{file}\"\n{columns}"))
    };
    folder.file("data/other.csv", table.lines().map(translated).collect::<String>());
    let columns = "columns = { depth_m = { name = \"Weg [mm]\", unit = 1e-3 } }";
    let fitted = |file: &str, columns: &str| {
        let path = folder.file("fit.toml", text_of(file, columns));
        run(&FitFile::load(&path).expect("valid"), Method::LevenbergMarquardt)
    };
    let (plain, other) = (fitted("data/indentation.csv", ""), fitted("data/other.csv", columns));
    assert!((other.values()[0] / plain.values()[0] - 1.0).abs() < 1e-9, "{plain:?} {other:?}");
    let named = fitted("data/other.csv", &columns.replace("1e-3", "\"mm\""));
    assert_eq!(named.values(), other.values());

    let refuse =
        |columns: &str| refused(&["fit", text(&folder.file("fit.toml", text_of("data/other.csv", columns)))]);
    let missing = refuse("");
    assert!(
        missing.contains("other.csv: no column `depth_m`; the columns found are `Weg [mm]`"),
        "{missing}"
    );
    assert!(missing.contains("`columns` in a fit file"), "{missing}");
    let unknown = refuse("columns = { depth = { name = \"Weg [mm]\" } }");
    assert!(
        unknown.contains("indentations[0].columns.depth: no such column; there are `depth_m`"),
        "{unknown}"
    );
    let unit = refuse("columns = { depth_m = { name = \"Weg [mm]\", unit = 0 } }");
    assert!(unit.contains("columns.depth_m.unit: found 0; it must be finite and not 0"), "{unit}");
    let wordy = refuse("columns = { depth_m = { name = \"Weg [mm]\", unit = \"furlong\" } }");
    let allowed = "found the unit `furlong`; there are m, cm, mm,";
    assert!(wordy.contains("columns.depth_m.unit") && wordy.contains(allowed), "{wordy}");
}

#[test]
fn a_gap_before_the_touch_is_an_offset_and_what_is_known_before_counts() {
    let folder = Folder::with_example("offset");
    let table = fs::read_to_string(folder.0.join("data/indentation.csv")).expect("there");
    // Depths are counted from 1 mm before the touch.
    let moved = |line: &str| match line.split_once(',').map(|(depth, rest)| (depth.parse::<f64>(), rest)) {
        Some((Ok(depth), rest)) => format!("{},{rest}\n", depth + 1e-3),
        _ => format!("{line}\n"),
    };
    folder.file("data/indentation.csv", table.lines().map(moved).collect::<String>());
    let (before, rest) =
        GOOD.split_once("[[parameters]]\nname = \"materials.foam.dissipation\"").expect("there");
    let tables =
        &rest[rest.find("[[indentations]]").expect("there")..rest.find("[[trajectories]]").expect("there")];
    let offset =
        "[[parameters]]\nname = \"indentations[0].offset\"\ninitial = 0\nlower = -0.01\nupper = 0.01\n";
    let fitted = |more: &str| {
        let path = folder.file("fit.toml", format!("{before}{offset}{more}\n{tables}"));
        run(&FitFile::load(&path).expect("valid"), Method::LevenbergMarquardt)
    };
    let found = fitted("");
    let error = |found: &Fit, k: usize| found.uncertainty.estimates[k].standard_error.expect("identified");
    assert!((found.values()[1] - 1e-3).abs() < 4.0 * error(&found, 1), "{found:?}");
    assert!((found.values()[0] - TRUTH[0].1).abs() < 4.0 * error(&found, 0), "{found:?}");
    // Known ten times better than from the table, the offset is what was known, and the modulus is known better.
    let known = 1e-3 + 0.3 * error(&found, 1);
    let with = fitted(&format!("prior = {{ value = {known}, sigma = {} }}", 0.1 * error(&found, 1)));
    assert_eq!(with.residuals, found.residuals + 1);
    assert!((with.values()[1] - known).abs() < 0.1 * error(&found, 1), "{with:?}");
    assert!(error(&with, 1) < 0.2 * error(&found, 1) && error(&with, 0) < error(&found, 0));
}

/// A block that stays on a slope of 20 degrees, as measured to 1 mm, sticks at any friction from tan 20 degrees on.
#[test]
fn what_sticks_bounds_friction_from_below() {
    let folder = Folder::new("sticks");
    let (angle, rest) = (20.0_f64.to_radians(), 0.0199);
    let scene = format!(
        "[materials.wood]\nhydroelastic_modulus = 1e6\ndissipation = 1\nfriction = 0.8\n\
         [solver]\nkind = \"lagged\"\ntime_step = 2e-3\n[contact]\nstiction_velocity = 1e-5\n\
         [[bodies]]\nname = \"block\"\nmass = 0.2\nrpy = [0, {angle}, 0]\ntranslation = [{}, 0, {}]\n\
         [[bodies.geometries]]\nshape = {{ box = {{ size = [0.08, 0.06, 0.04] }} }}\nmaterial = \"wood\"\n\
         [[bodies]]\nname = \"slope\"\nfixed = true\nrpy = [0, {angle}, 0]\n\
         [[bodies.geometries]]\nshape = {{ half_space = {{}} }}\nrigid = true\n",
        rest * angle.sin(),
        rest * angle.cos()
    );
    let (scene, csv) = (folder.file("scene.toml", scene), folder.0.join("rest.csv"));
    let made = isobar(&["simulate", text(&scene), "--until", "0.3", "--every", "10", "--out", text(&csv)]);
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let simulated = fs::read_to_string(&csv).expect("written");
    // The state that the simulation starts at is exact.
    let noisy = |(row, line): (usize, &str)| {
        let noise = |column: usize| if (row + column).is_multiple_of(3) { 1.4e-3 } else { -0.7e-3 };
        let measured = |(column, field): (usize, &str)| match (column, field.parse::<f64>()) {
            (1..=3, Ok(x)) if row > 1 => (x + noise(column)).to_string(),
            _ => field.to_owned(),
        };
        line.split(',').enumerate().map(measured).collect::<Vec<_>>().join(",") + "\n"
    };
    folder.file("rest.csv", simulated.lines().enumerate().map(noisy).collect::<String>());
    let fit = folder.file(
        "fit.toml",
        "scene = \"scene.toml\"\n[[parameters]]\nname = \"materials.wood.friction\"\ninitial = 0.6\nlower = 0.0\n\
         [[trajectories]]\nbody = \"block\"\nfiles = [\"rest.csv\"]\nposition_sigma = 1e-3\norientation_sigma = 1e-2\n",
    );
    let (json, page) = (folder.0.join("fit.json"), folder.0.join("fit.html"));
    let output = isobar(&["fit", text(&fit), "--out", text(&json), "--record", text(&page)]);
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{out}{}", String::from_utf8_lossy(&output.stderr));
    let report: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(&json).expect("written")).expect("JSON");
    let estimate = &report["estimates"][0];
    assert_eq!(estimate["verdict"], "at_least");
    let limit = estimate["limit"].as_f64().expect("a limit");
    // A little below 0.4 it slides, within the 0.3 s, by as much as is measured.
    assert!((20.0_f64.to_radians().tan()..0.42).contains(&limit), "{limit}");
    let line = out.lines().find(|line| line.starts_with("materials.wood.friction")).expect("its line");
    let (short, long) = (format!("≥ {limit:.1e}"), format!("at least {limit:.1e} (95 %)"));
    assert!(line.contains(&short) && line.contains(&long), "{line}");
    assert!(PageData::read(&page).header["tables"].to_string().contains(&short));
    let (_, told) = out.split_once("\nwhat to record\n").expect("a heading");
    let sentence = report["what_to_record"][0].as_str().expect("a sentence");
    assert!(sentence.starts_with("materials.wood.friction: the data bound it from below only; let it slide"));
    assert_eq!(told, format!("- {sentence}\n"));
    assert!(!report["diagnostics"]["remarks"].to_string().contains("let it slide"));
    assert!(PageData::read(&page).header["tables"].to_string().contains(sentence));
}

/// Recordings of drops from two heights, in one fit: a table says from where its own start.
#[test]
fn recordings_may_start_elsewhere_than_the_scene() {
    let folder = Folder::new("starts_elsewhere");
    let at = |height: f64, modulus: f64| {
        format!(
            "[materials.foam]\nhydroelastic_modulus = {modulus}\ndissipation = 0.4\n\
             [solver]\nkind = \"lagged\"\ntime_step = 2e-3\n\
             [[bodies]]\nname = \"ball\"\nmass = 0.2\ntranslation = [0, 0, {height}]\n\
             [[bodies.geometries]]\nshape = {{ sphere = {{ radius = 0.05 }} }}\nmaterial = \"foam\"\n\
             [[bodies]]\nname = \"floor\"\nfixed = true\ntranslation = [0, 0, 0]\n\
             [[bodies.geometries]]\nshape = {{ half_space = {{}} }}\nrigid = true\n"
        )
    };
    for (name, height) in [("low", 0.07), ("high", 0.12)] {
        let scene = folder.file("made.toml", at(height, 2e5));
        let csv = folder.0.join(format!("{name}.csv"));
        let made = isobar(&["simulate", text(&scene), "--until", "0.3", "--out", text(&csv)]);
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    }
    folder.file("scene.toml", at(0.07, 1e5));
    let fit = |field: &str| {
        folder.file(
            "fit.toml",
            format!(
                "scene = \"scene.toml\"\n\
                 [[parameters]]\nname = \"materials.foam.hydroelastic_modulus\"\ninitial = 1e5\n\
                 [[sensors]]\nname = \"camera\"\n\
                 channels = [{{ quantity = \"position\", of = \"ball\", sigma = 1e-4 }}]\n\
                 [[recordings]]\nfiles = [\"low.csv\"]\n\
                 [[recordings]]\nfiles = [\"high.csv\"]\ninitial = {{ {field} }}\n"
            ),
        )
    };
    let path = fit("\"bodies.ball.translation[2]\" = 0.12");
    let found = run(&FitFile::load(&path).expect("valid"), Method::LevenbergMarquardt);
    assert!((found.values()[0] / 2e5 - 1.0).abs() < 1e-4, "{found:?}");

    let floor = refused(&["fit", text(&fit("\"bodies.floor.translation[2]\" = 0.01"))]);
    assert!(floor.contains("recordings[1].initial") && floor.contains("does not depend on"), "{floor}");
    // Among others too.
    let mass =
        refused(&["fit", text(&fit("\"bodies.ball.translation[2]\" = 0.12, \"bodies.ball.mass\" = 0.3"))]);
    assert!(mass.contains("initial.bodies.ball.mass") && mass.contains("does not depend on"), "{mass}");
    let unknown = refused(&["fit", text(&fit("\"bodies.cube.translation[2]\" = 0.01"))]);
    assert!(unknown.contains("recordings[1].initial") && unknown.contains("cube"), "{unknown}");
}

/// What the command says to a bad fit file: one line, exit code 2, nothing on stdout.
fn refused(arguments: &[&str]) -> String {
    let output = isobar(arguments);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert_eq!(message.lines().count(), 1, "{message}");
    assert!(output.stdout.is_empty());
    message
}

#[test]
fn bad_fit_files_are_refused_one_by_one() {
    let folder = Folder::with_example("bad");
    let with = |old: &str, new: &str| {
        assert!(GOOD.contains(old), "the fit file has no `{old}`");
        let path = folder.file("fit.toml", GOOD.replacen(old, new, 1));
        refused(&["fit", text(&path)])
    };
    let measurements = &GOOD[GOOD.find("[[indentations]]").expect("there")..];
    for (old, new, expected) in [
        (
            "scene.toml",
            "no_scene.toml",
            &["fit.toml:1: scene: found \"no_scene.toml\", which is no file"][..],
        ),
        ("foam.friction", "rubber.friction", &["fit.toml:3: parameters", "no material `rubber`", "`foam`"]),
        ("foam.friction", "foam.grip", &["no `grip`", "`hydroelastic_modulus`"]),
        ("upper = 2.0", "upper = -1.0", &["`materials.foam.friction`: `lower` is 0", "below `upper`"]),
        ("initial = 0.08", "initial = nan", &["`initial` is NaN", "a finite number"]),
        ("initial = 0.08", "initial = 3.0", &["`initial` is 3", "between 0 and 2"]),
        ("lower = 0.0", "lover = 0.0", &["fit.toml:13: parameters[1].lover: unknown field `lover`"]),
        (
            "[0, 0, -1]",
            "[0, 0, -1, 9]",
            &["fit.toml:24", "indentations[0].direction", "length 4", "a list of 3 elements"],
        ),
        (
            "[0, 0, -1]",
            "[1]",
            &["fit.toml:24", "indentations[0].direction", "length 1", "a list of 3 elements"],
        ),
        ("[0, 0, -1]", "[0, 0, 0]", &["indentations[0]", "`direction` is [0, 0, 0]", "not zero"]),
        ("body = \"ball\"", "body = \"bal\"", &["indentations[0]", "no body `bal`", "`ball`, `table`"]),
        (
            "data/indentation",
            "data/missing",
            &["indentations[0].file: found \"data/missing.csv\", which is no file"],
        ),
        ("throw_*", "toss_*", &["trajectories[0].files[0]", "data/toss_*.csv", "no file matches"]),
        ("position_sigma = 1e-3", "position_sigma = 0", &["`position_sigma` is 0", "positive"]),
        ("position_sigma = 1e-3\n", "", &["missing field `position_sigma`"]),
        ("position_sigma", "horizon = -1\nposition_sigma", &["`horizon` is -1", "positive"]),
        ("position_sigma", "outlier_limit = 0\nposition_sigma", &["`outlier_limit` is 0", "positive"]),
        ("position_sigma", "velocity_delay = -1\nposition_sigma", &["velocity_delay: found -1", "between 0"]),
        (
            "initial = 0.08\nlower = 0.0",
            "initial = -0.08",
            &["fit.toml:3: parameters:", "-0.08", "at least 0"],
        ),
        (measurements, "", &["no measurements"]),
        (
            "name = \"materials.foam.friction\"",
            "name = \"indentations[1].offset\"",
            &["fit.toml:3: parameters", "no table 1; there are 1"],
        ),
        (
            "[[parameters]]",
            "[[parameters]]\nname = \"bodies.ball.mass\"\ninitial = 0.1\n\
             [[parameters]]\nname = \"bodies.ball.pseudo_inertia[3]\"\ninitial = 0\n[[parameters]]",
            &["`bodies.ball.mass` and `bodies.ball.pseudo_inertia[3]`"],
        ),
        (
            "materials.foam.friction",
            "bodies.ball.pseudo_inertia[10]",
            &["`pseudo_inertia[INDEX]` with INDEX 0 to 9"],
        ),
        ("initial = 0.08", "initial = 0.08\nprior = { value = 0.4, sigma = 0 }", &["`prior.sigma` is 0"]),
        ("initial = 0.08", "initial = 0.08\nalso = [\"materials.foam.dissipation\"]", &["is listed twice"]),
        (
            "initial = 0.08",
            "initial = 0.08\nalso = [\"joints.a.damping\"]",
            &["fit.toml:3: parameters", "no joint `a`"],
        ),
    ] {
        let message = with(old, new);
        assert!(expected.iter().all(|e| message.contains(e)), "{old} -> {new}: {message}");
    }
}

#[test]
fn a_start_that_no_body_has_is_refused() {
    let folder = Folder::new("no-body");
    let scene = folder.file(
        "scene.toml",
        "gravity = [0, 0, 0]\n[materials.m]\nhydroelastic_modulus = 1e5\n[[bodies]]\nname = \"b\"\nmass = 1\n\
         center_of_mass = [0, 0, 0]\ninertia = [[0.01, 0, 0], [0, 0.015, 0], [0, 0, 0.02]]\nangular_velocity = [1, 2, 3]\n\
         [[bodies.geometries]]\nshape = { sphere = { radius = 0.05 } }\nmaterial = \"m\"\n",
    );
    let csv = folder.0.join("turn.csv");
    let made = isobar(&["simulate", text(&scene), "--until", "0.1", "--every", "10", "--out", text(&csv)]);
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    for (quantity, start, expected) in [
        ("inertia[0][0]", 0.1, "triangle inequality"),
        ("inertia[1][1]", -0.05, "positive definite"),
        ("mass", -2.0, "b.mass is -2; it must be positive"),
    ] {
        let fit = folder.file(
            "fit.toml",
            format!(
                "scene = \"scene.toml\"\n[[parameters]]\nname = \"bodies.b.{quantity}\"\ninitial = {start}\n\
                 [[trajectories]]\nbody = \"b\"\nfiles = [\"turn.csv\"]\nposition_sigma = 1e-3\norientation_sigma = 1e-3\n"
            ),
        );
        for command in ["check", "fit"] {
            let said = refused(&[command, text(&fit)]);
            let has_hint = quantity == "mass" || said.contains("or fit `bodies.b.pseudo_inertia[INDEX]`");
            assert!(
                said.contains("fit.toml:2: parameters: ") && said.contains(expected) && has_hint,
                "{said}"
            );
        }
    }
}

#[test]
fn bad_measurements_are_refused_one_by_one() {
    let folder = Folder::with_example("data");
    let path = folder.file("fit.toml", GOOD);
    for (file, old, new, expected) in [
        (
            "indentation.csv",
            "force_N",
            "force",
            &["no column `force_N`", "`depth_m`, `force`, `sigma_N`"][..],
        ),
        (
            "indentation.csv",
            "depth_m,force_N",
            "force_N,depth_m",
            &["columns of depth and force are swapped"],
        ),
        ("indentation.csv", "0.0005,", "0.0005,1,", &["indentation.csv, line 3: 4 fields, the header has 3"]),
        ("indentation.csv", "0.0005,", "NaN,", &["line 3, column `depth_m`: `NaN`", "a finite number"]),
        ("indentation.csv", ",0.2\n", ",-0.2\n", &["line 3, column `sigma_N`: -0.2", "positive"]),
        ("throw_4.csv", "wx_rad_s", "wx", &["throw_4.csv: no column `wx_rad_s`"]),
        ("throw_4.csv", "0.010,", "", &["throw_4.csv, line 4: 13 fields, the header has 14"]),
        ("throw_4.csv", "0.010,", "inf,", &["throw_4.csv, line 4, column `t_s`: `inf`"]),
        ("throw_4.csv", "0.010,", "-1,", &["throw_4.csv, line 4, column `t_s`: -1 after 0", "increasing"]),
    ] {
        let name = format!("data/{file}");
        let good = fs::read_to_string(folder.0.join(&name)).expect("there");
        assert!(good.contains(old), "{file} has no `{old}`");
        folder.file(&name, good.replacen(old, new, 1));
        let message = refused(&["fit", text(&path)]);
        assert!(expected.iter().all(|e| message.contains(e)), "{file}: {old} -> {new}: {message}");
        folder.file(&name, &good);
    }
}

#[test]
fn parameters_are_evaluated_on_a_folder_of_recordings() {
    let folder = Folder::with_example("evaluate");
    fs::remove_file(folder.0.join("data/indentation.csv")).expect("there");
    let path = folder.file("fit.toml", GOOD);
    let data = folder.0.join("data");
    let errors = |values: [f64; 3]| {
        let named: std::collections::BTreeMap<&str, f64> =
            TRUTH.iter().map(|(name, _)| *name).zip(values).collect();
        let json = serde_json::to_string(&named).expect("numbers");
        let parameters = folder.file("parameters.json", &json);
        let output = isobar(&["fit", text(&path), "--json", "--evaluate", text(&parameters), text(&data)]);
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(report["parameters"], serde_json::to_value(&named).expect("numbers"));
        let measurements = report["measurements"].as_array().expect("a list").clone();
        assert_eq!(measurements.len(), 2);
        assert_eq!(report["measurements_at_start"].as_array().map(Vec::len), Some(2));
        measurements
            .iter()
            .map(|m| (m["position"].as_f64().expect("m"), m["orientation"].as_f64().expect("rad")))
            .collect::<Vec<_>>()
    };
    let truth = errors(TRUTH.map(|(_, value)| value));
    for &(position, orientation) in &truth {
        // Noise of 1 mm and 0.01 rad in each of three directions.
        assert!((position / (1e-3 * 3f64.sqrt()) - 1.0).abs() < 0.3, "{position}");
        assert!((orientation / (1e-2 * 3f64.sqrt()) - 1.0).abs() < 0.3, "{orientation}");
    }
    for (wrong, right) in errors([1e5, 0.8, 0.1]).iter().zip(&truth) {
        assert!(wrong.0 > 3.0 * right.0 && wrong.1 > 3.0 * right.1, "{wrong:?} {right:?}");
    }
    // The same through the library.
    let file = FitFile::load(&path).expect("valid");
    let problem = file.evaluation(&[TRUTH[2].0], &data).expect("valid");
    let from_library = problem.errors(&[TRUTH[2].1]).expect("can be simulated");
    assert!(matches!(from_library[..], [MeasurementError::Motion { times: 25, .. }, _]), "{from_library:?}");

    let empty = folder.0.join("empty");
    fs::create_dir_all(&empty).expect("a folder");
    let parameters = folder.file("parameters.json", "{\"materials.foam.friction\": 0.4}");
    let evaluate = |parameters: &Path, data: &Path| {
        refused(&["fit", text(&path), "--evaluate", text(parameters), text(data)])
    };
    assert!(evaluate(&parameters, &empty).contains("no file `*.csv`"));
    assert!(evaluate(&parameters, &folder.0.join("none")).contains("cannot be read"));
    assert!(evaluate(&folder.0.join("none.json"), &data).contains("none.json: cannot be read"));
    let unknown = folder.file("parameters.json", "{\"materials.foam.grip\": 0.4}");
    assert!(evaluate(&unknown, &data).contains("no `grip`"));
    let negative = folder.file("parameters.json", "{\"materials.foam.friction\": -0.4}");
    assert!(
        evaluate(&negative, &data).contains("parameters.json: parameters: materials.foam.friction is -0.4")
    );
}

#[test]
fn windows_can_be_made_to_start_where_nothing_touches() {
    let folder = Folder::with_example("free");
    let header = fs::read_to_string(folder.0.join("data/throw_1.csv")).expect("there");
    let header = header.lines().nth(1).expect("a header");
    let recording = |heights: &[f64]| {
        let mut text = format!("{header}\n");
        for (k, z) in heights.iter().enumerate() {
            text += &format!("{},0,0,{z},1,0,0,0,0,0,0,0,0,0\n", 0.01 * k as f64);
        }
        folder.file("data/throw_1.csv", &text)
    };
    let _ = fs::remove_file(folder.0.join("data/throw_4.csv"));
    let starts = "horizon = 1e-3\nfree_starts = true\nposition_sigma";
    let path = folder.file("fit.toml", GOOD.replacen("position_sigma", starts, 1));
    let compared = || {
        let problem = FitFile::load(&path).expect("valid").identification()?;
        let truth = TRUTH.map(|(_, value)| value);
        let errors = problem.errors(&truth).expect("can be simulated");
        match errors[..] {
            [MeasurementError::Motion { times, .. }, _] => Ok::<_, isobar::io::FileError>(times),
            _ => panic!("{errors:?}"),
        }
    };
    // The ball of radius 0.05 m touches in the fourth state: windows of one interval start from
    // the states 0, 1, 5 and 6.
    recording(&[0.06, 0.06, 0.06, 0.045, 0.06, 0.06, 0.06, 0.06]);
    assert_eq!(compared().expect("valid"), 4);
    recording(&[0.045; 5]);
    let message = compared().expect_err("never free").to_string();
    assert!(message.contains("trajectories[0]") && message.contains("without contact"), "{message}");
}

#[test]
fn the_derivatives_of_residuals_are_checked_at_the_start_and_at_a_result() {
    let folder = Folder::with_example("fit_gradient_check");
    let fit = folder.file("fit.toml", GOOD);
    let result = folder.0.join("result.json");
    let output = isobar(&["fit", text(&fit), "--out", text(&result)]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let output = isobar(&["gradient-check", text(&fit), "--json", "--undecided", "1", "--at", text(&result)]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a report");
    let rows = report["rows"].as_array().expect("rows");
    let count = |what: &str, when: &str| {
        let found = rows.iter().filter(|row| row["quantity"].as_str().is_some_and(|q| q.ends_with(when)));
        found.filter(|row| row["verdict"] == what).count()
    };
    for when in ["at the start", &format!("at {}", result.display())] {
        let verdicts = ["ok", "zero", "kink", "noisy", "wrong"].map(|verdict| count(verdict, when));
        println!("{when}: ok, zero, kink, noisy, wrong {verdicts:?}");
        assert!(verdicts[0] > 4 * (verdicts[2] + verdicts[3]) && verdicts[4] == 0, "{when}: {verdicts:?}");
    }
    assert!(rows.iter().any(|row| row["input"] == "materials.foam.friction"));
    // The fit's own way agrees with dual numbers.
    let ways = report["ways"].as_array().expect("ways");
    assert_eq!(ways.len(), 2);
    for way in ways {
        assert!(way["disagreeing"] == 0 && way["compared"].as_u64() > Some(100), "{way}");
    }
    // A result of another fit has other parameters.
    fs::write(&result, "{\"materials.foam.friction\": 0.5}").expect("a file for the test");
    let output = isobar(&["gradient-check", text(&fit), "--at", text(&result)]);
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(message.contains("no value of `materials.foam.hydroelastic_modulus`"), "{message}");
}

/// A block that slides on a floor; all there is to know of their friction.
const SLIDING: &str = r#"
[materials.m]
hydroelastic_modulus = 1e6
dissipation = 2.0
friction = FRICTION
[materials.g]
friction = FRICTION
[solver]
kind = "lagged"
time_step = 0.002
[contact]
stiction_velocity = 0.001
[[bodies]]
name = "block"
translation = [0, 0, 0.024987734]
linear_velocity = [1.0, 0, 0]
mass = 0.5
[[bodies.geometries]]
shape = { box = { size = [0.1, 0.1, 0.05] } }
material = "m"
[[bodies]]
name = "floor"
fixed = true
[[bodies.geometries]]
shape = { half_space = {} }
material = "g"
rigid = true
"#;

/// Two coefficients that are both 0 combine to 0 without a derivative; a fit of what is one number for both has one.
#[test]
fn friction_is_found_from_0() {
    let folder = Folder::new("friction-from-0");
    let truth = folder.file("truth.toml", SLIDING.replace("FRICTION", "0.35"));
    let (truth, slide) = (text(&truth), folder.0.join("slide.csv"));
    let made = isobar(&["simulate", truth, "--until", "0.2", "--out", text(&slide), "--every", "5"]);
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    folder.file("scene.toml", SLIDING.replace("FRICTION", "0.0"));
    let fit = folder.file(
        "fit.toml",
        r#"scene = "scene.toml"
[[parameters]]
name = "pairs.block.floor.friction"
initial = 0.0
lower = 0.0
upper = 2.0
[[trajectories]]
body = "block"
files = ["slide.csv"]
position_sigma = 1e-3
orientation_sigma = 1e-2
starts = "recorded"
"#,
    );
    let found = self::run(&FitFile::load(&fit).expect("valid"), Method::LevenbergMarquardt);
    assert!(found.converged && (found.values()[0] - 0.35).abs() < 1e-3, "{:?}", found.values());
}

/// A table of forces of which one row is 0, as a sample that was dropped, and one 90 N.
#[test]
fn rows_of_forces_that_are_wrong_are_named_and_bounded() {
    let folder = Folder::new("wrong-rows");
    folder.file(
        "scene.toml",
        "[materials.foam]\nhydroelastic_modulus = 1e5\n[[bodies]]\nname = \"ball\"\ntranslation = [0, 0, 0.05]\nmass = 0.1\n\
         [[bodies.geometries]]\nshape = { sphere = { radius = 0.05, resolution = 0.02 } }\nmaterial = \"foam\"\n[[bodies]]\n\
         name = \"table\"\nfixed = true\n[[bodies.geometries]]\nshape = { half_space = {} }\nrigid = true\n",
    );
    let with = |extra: &str| {
        format!(
            "scene = \"scene.toml\"\n[[parameters]]\nname = \"materials.foam.hydroelastic_modulus\"\ninitial = 3e4\n\
             lower = 1e2\nupper = 1e9\nlog = true\n[[indentations]]\nbody = \"ball\"\ndirection = [0, 0, -1]\n\
             file = \"table.csv\"\nforce_sigma = 0.1\n{extra}"
        )
    };
    // The forces of the model itself, from what rows of 1 N are off by; but for two rows.
    let forces = |depths: &[f64]| {
        let rows: String = depths.iter().map(|depth| format!("{depth},1\n")).collect();
        folder.file("table.csv", format!("depth_m,force_N\n{rows}"));
        let problem = FitFile::load(folder.file("truth.toml", with("")))
            .expect("valid")
            .identification()
            .expect("valid");
        let residuals = problem.residuals(&[1e5]).expect("evaluated");
        residuals.iter().map(|residual| 1.0 + 0.1 * residual).collect::<Vec<f64>>()
    };
    let depths: Vec<f64> = (1..=10).map(|k| 1e-3 * f64::from(k)).collect();
    let mut measured = forces(&depths);
    (measured[4], measured[7]) = (0.0, 90.0);
    let rows: String =
        depths.iter().zip(&measured).map(|(depth, force)| format!("{depth},{force}\n")).collect();
    folder.file("table.csv", format!("depth_m,force_N\n{rows}"));
    let fitted = |extra: &str| {
        let path = folder.file("fit.toml", with(extra));
        let output = isobar(&["fit", text(&path), "--json"]);
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let modulus = report["estimates"][0]["value"].as_f64().expect("a number");
        (modulus, report["diagnostics"]["remarks"].to_string())
    };
    let (biased, remarks) = fitted("");
    assert!(biased > 1.3e5, "{biased}");
    assert!(
        remarks.contains("2 of 10 rows of") && remarks.contains("0 N at 0.005 m, 90 N at 0.008 m"),
        "{remarks}"
    );
    let (bounded, remarks) = fitted("outlier_limit = 3.0\noutlier_loss = \"cauchy\"\n");
    assert!((bounded - 1e5).abs() < 1e3 && !remarks.contains("far off"), "{bounded} {remarks}");
}
