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

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use isobar::io::{FitFile, Scene};
use isobar::multibody::State;
use isobar::optimize::fit::{Fit, fit};
use isobar::rollout::Rollout;
use normal::normal;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// The true values, in the order of the parameters in fit.toml; all but the last are those of the scene.
const TRUTH: [f64; 5] = [2e5, 0.8, 2.0, 0.2, CAMERA_DELAY];
const CAMERA_DELAY: f64 = 0.01;
/// Standard deviations of the noise: encoder of the lift and of the fingers in m, force of the lift's motor in N,
/// position in m and orientation in rad of the ball.
const LIFT_NOISE: f64 = 1e-4;
const FINGER_NOISE: f64 = 5e-5;
const FORCE_NOISE: f64 = 0.2;
const POSITION_NOISE: f64 = 5e-4;
const ORIENTATION_NOISE: f64 = 5e-3;
/// Of the state at the start: where the ball lies in m, and where the joints are in m.
const START_NOISE: f64 = 1e-3;
const JOINT_START_NOISE: f64 = 1e-4;
/// The time that is recorded and the intervals of robot and camera, s.
const LENGTH: f64 = 0.8;
const ROBOT_INTERVAL: f64 = 0.004;
const CAMERA_INTERVAL: f64 = 0.02;

/// A recording of the scene's motion from a start that is not exactly the scene's.
fn recording(scene: &Scene, seed: u64) -> Result<String, Box<dyn Error>> {
    let random = &mut ChaCha8Rng::seed_from_u64(seed);
    let mut noise = |deviation: f64| deviation * normal(random);
    let start = scene.state.real();
    let mut tangent = vec![0.0; start.tangent_dimension()];
    for axis in 0..3 {
        // The ball is as high as it is: it lies on the table.
        tangent[3 + axis] = if axis < 2 { noise(START_NOISE) } else { 0.0 };
    }
    let joints = start.body_tangent_dimension();
    (0..start.joints.v.len()).for_each(|joint| tangent[joints + joint] = noise(JOINT_START_NOISE));
    let start = start.moved(&tangent);
    let settings = scene.simulation_settings()?;
    let rollout = Rollout::new(&scene.model, &start, settings, LENGTH).with_controls(&scene.commands);
    let lift = &scene.model.actuators()[0];
    let mut text = String::from(
        "# Synthetic: simulated, with noise, by examples/fit_gripper/main.rs\n\
         t_s,lift.q,left.q,right.q,lift.force,\
         ball.px_m,ball.py_m,ball.pz_m,ball.qw,ball.qx,ball.qy,ball.qz\n",
    );
    // What the camera sees at a time it tells a delay later.
    let steps_in = |interval: f64| (interval / settings.time_step).round() as usize;
    let late = steps_in(CAMERA_DELAY);
    let trajectory = rollout.simulate()?;
    let states: &[State] = &trajectory.states;
    for (step, (&time, state)) in trajectory.times.iter().zip(states).enumerate() {
        if step % steps_in(ROBOT_INTERVAL) != 0 {
            continue;
        }
        let q = &state.joints.q;
        let command = scene.commands[0]
            .at(time - if step > 0 { 0.5 * settings.time_step } else { -0.5 * settings.time_step });
        let force = lift.force(&lift.coordinates()[0], command, &state.joints);
        write!(
            text,
            "{time:.6},{:.7},{:.7},{:.7},{:.4}",
            q[0] + noise(LIFT_NOISE),
            q[1] + noise(FINGER_NOISE),
            q[2] + noise(FINGER_NOISE),
            force + noise(FORCE_NOISE)
        )?;
        match step.checked_sub(late).filter(|_| step % steps_in(CAMERA_INTERVAL) == 0) {
            Some(seen) => {
                let turn = [0; 3].map(|_| noise(ORIENTATION_NOISE));
                let ball = &states[seen].bodies[0];
                let mut shift = vec![0.0; 12];
                shift[..3].copy_from_slice(&turn);
                let ball = ball.moved(&shift);
                for x in ball.position.iter() {
                    write!(text, ",{:.6}", x + noise(POSITION_NOISE))?;
                }
                let q = ball.orientation;
                writeln!(text, ",{:.6},{:.6},{:.6},{:.6}", q.w, q.v.x, q.v.y, q.v.z)?;
            }
            None => text += ",,,,,,,\n",
        }
    }
    Ok(text)
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/fit_gripper");
    let scene = Scene::load(folder.join("scene.toml"))?;
    let mut arguments = std::env::args().skip(1);
    match arguments.next().as_deref() {
        Some("data") => {
            for number in 1..=2 {
                fs::write(folder.join(format!("data/grasp_{number}.csv")), recording(&scene, number)?)?;
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
    fs::write(place.join("data/grasp_1.csv"), recording(scene, 1000 + run)?)?;
    let file = FitFile::load(place.join("fit.toml"))?;
    let problem = file.identification()?;
    Ok(fit(&problem, &file.parameters, file.settings(), None)?)
}
