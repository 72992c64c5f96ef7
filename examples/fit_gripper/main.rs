//! Recordings of a grasp by a robot's own sensors and a camera, with noise from a seeded generator, and how often the
//! intervals of a fit hold the true values.
//!
//! ```sh
//! cargo run --release --example fit_gripper -- data               # writes examples/fit_gripper/data
//! cargo run --release --example fit_gripper -- coverage 200       # that many recordings, each with a fit
//! ```

#[path = "../support/coverage.rs"]
mod coverage;
#[path = "../support/normal.rs"]
mod normal;
mod recording;

use std::error::Error;
use std::fs;
use std::path::Path;

use isobar::io::{FitFile, Scene};
use isobar::optimize::fit::{Fit, fit};
use recording::{CAMERA_DELAY, recording};

/// The true values, in the order of the parameters in fit.toml; all but the last are those of the scene.
const TRUTH: [f64; 5] = [2e5, 0.8, 2.0, 0.2, CAMERA_DELAY];
/// Standard deviations of the start: of where the ball lies in m, and of where the joints are in m.
const START_NOISE: [f64; 2] = [1e-3, 1e-4];

fn main() -> Result<(), Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/fit_gripper");
    let scene = Scene::load(folder.join("scene.toml"))?;
    let mut arguments = std::env::args().skip(1);
    match arguments.next().as_deref() {
        Some("data") => {
            for number in 1..=2 {
                fs::write(
                    folder.join(format!("data/grasp_{number}.csv")),
                    recording(&scene, number, START_NOISE)?,
                )?;
            }
            Ok(())
        }
        Some("coverage") => {
            let runs: u64 = arguments.next().map_or(Ok(200), |text| text.parse())?;
            count(&folder, &scene, runs)
        }
        _ => Err("the first argument must be `data` or `coverage`".into()),
    }
}

/// Fits one recording a run, and counts in how many the 95 % intervals hold the true values.
fn count(folder: &Path, scene: &Scene, runs: u64) -> Result<(), Box<dyn Error>> {
    let place = std::env::temp_dir().join(format!("isobar-fit-gripper-{}", std::process::id()));
    let names = ["modulus", "friction", "joint damping", "mass", "delay"];
    coverage::print_coverage(&names, &TRUTH, runs, |run| {
        fitted(folder, scene, &place.join(run.to_string()), run).map_err(|error| error.to_string())
    });
    fs::remove_dir_all(&place)?;
    Ok(())
}

/// The fit of a recording of its own, in a folder of its own.
fn fitted(folder: &Path, scene: &Scene, place: &Path, run: u64) -> Result<Fit, Box<dyn Error>> {
    fs::create_dir_all(place.join("data"))?;
    for name in ["scene.toml", "fit.toml"] {
        fs::copy(folder.join(name), place.join(name))?;
    }
    fs::write(place.join("data/grasp_1.csv"), recording(scene, 1000 + run, START_NOISE)?)?;
    let file = FitFile::load(place.join("fit.toml"))?;
    let problem = file.identification()?;
    Ok(fit(&problem, &file.parameters, file.settings(), None)?)
}
