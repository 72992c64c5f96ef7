//! Makes the synthetic measurements of `examples/fit_ball`: simulated, with noise from a seeded
//! generator, so that every run writes the same files.
//!
//! ```sh
//! cargo run --release --example make_fit_data
//! ```

#[path = "support/normal.rs"]
mod normal;

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use isobar::io::Scene;
use isobar::multibody::{BodyState, Model, PairWorkspace, State, seeded};
use isobar::optimize::identification::parameters_at;
use isobar::rollout::Rollout;
use isobar::spatial::{Quaternion, SpatialVelocity};
use nalgebra::Vector3;
use normal::normal;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// The values that a fit should find.
pub const TRUTH: [(&str, f64); 3] = [
    ("materials.foam.hydroelastic_modulus", 1e5),
    ("materials.foam.dissipation", 0.8),
    ("materials.foam.friction", 0.4),
];

/// Standard deviations of the noise: position in m, orientation in rad, velocity in m/s, angular
/// velocity in rad/s.
const MOTION_NOISE: [f64; 4] = [1e-3, 1e-2, 0.02, 0.2];
/// Standard deviation of the noise of a force, N.
const FORCE_NOISE: f64 = 0.2;
/// Interval of the recorded times, s, and their number.
const INTERVAL: f64 = 0.01;
const RECORDED_TIMES: usize = 26;

/// Height of the ball's centre, its velocity and its angular velocity at the start of each throw.
const THROWS: [(f64, [f64; 3], [f64; 3]); 4] = [
    (0.08, [1.5, 0.0, -0.8], [0.0, 0.0, 0.0]),
    (0.07, [0.5, -1.0, -0.5], [10.0, 0.0, 0.0]),
    (0.10, [0.0, 0.5, -1.2], [0.0, 15.0, 5.0]),
    (0.06, [-2.0, 0.3, -0.3], [0.0, 10.0, -10.0]),
];

fn normal_vector(random: &mut ChaCha8Rng, deviation: f64) -> Vector3<f64> {
    Vector3::from_fn(|_, _| deviation * normal(random))
}

/// Forces of the ball on the table at depths up to 10 mm.
fn indentation(model: &Model, scene: &Scene, random: &mut ChaCha8Rng) -> String {
    let mut text = String::from("# Synthetic: simulated, with noise, by examples/make_fit_data.rs\n");
    text += "depth_m,force_N,sigma_N\n";
    let mut frames = Vec::new();
    for k in 1..=20 {
        let depth = 5e-4 * f64::from(k);
        let mut state = scene.state.clone();
        state.bodies[0].position.z -= depth;
        model.body_frames(&state, &mut frames);
        let contact = model.body_pair_contact(&frames, model.pairs(), &mut PairWorkspace::default());
        // The ball is the first body of the pair; the table pushes it up.
        let force = contact.wrench_on_a.translational.z + FORCE_NOISE * normal(random);
        let _ = writeln!(text, "{depth:.4},{force:.4},{FORCE_NOISE}");
    }
    text
}

/// One throw, recorded: the state that the ball is released in is known, the others are measured.
fn throw(
    model: &Model,
    scene: &Scene,
    start: BodyState,
    random: &mut ChaCha8Rng,
) -> Result<String, Box<dyn Error>> {
    let settings = scene.simulation_settings()?;
    let steps_between = (INTERVAL / settings.time_step).round() as usize;
    let until = INTERVAL * (RECORDED_TIMES - 1) as f64;
    let motion = Rollout::new(model, &State::of_bodies(vec![start]), settings, until).simulate()?;

    let mut text = String::from("# Synthetic: simulated, with noise, by examples/make_fit_data.rs\n");
    text += "t_s,px_m,py_m,pz_m,qw,qx,qy,qz,vx_m_s,vy_m_s,vz_m_s,wx_rad_s,wy_rad_s,wz_rad_s\n";
    for (k, state) in motion.states.iter().step_by(steps_between).enumerate() {
        let [p, r, v, w] = if k == 0 { [0.0; 4] } else { MOTION_NOISE };
        let body = state.bodies[0];
        let position = body.position + normal_vector(random, p);
        let q = body.orientation.rotated_by(&normal_vector(random, r)).normalized();
        let linear = body.velocity.translational + normal_vector(random, v);
        let angular = body.velocity.rotational + normal_vector(random, w);
        let _ = write!(text, "{:.3}", INTERVAL * k as f64);
        let numbers = position.iter().copied().chain([q.w, q.v.x, q.v.y, q.v.z]);
        for number in numbers.chain(linear.iter().copied()).chain(angular.iter().copied()) {
            let _ = write!(text, ",{number:.6}");
        }
        text.push('\n');
    }
    Ok(text)
}

/// The names and the contents of the files.
///
/// # Errors
/// The scene cannot be read or simulated.
pub fn files(scene: &Path) -> Result<Vec<(String, String)>, Box<dyn Error>> {
    let scene = Scene::load(scene)?;
    let mut values = Vec::new();
    for (name, value) in TRUTH {
        values.extend(parameters_at(&scene.model, name)?.into_iter().map(|parameter| (parameter, value)));
    }
    let (model, _) = seeded::<f64>(&scene.model, &scene.state, &values)?;
    let mut random = ChaCha8Rng::seed_from_u64(20_240_501);
    let mut files = vec![("indentation.csv".to_owned(), indentation(&model, &scene, &mut random))];
    for (i, (height, linear, angular)) in THROWS.into_iter().enumerate() {
        let start = BodyState {
            orientation: Quaternion::identity(),
            position: Vector3::new(0.0, 0.0, height),
            velocity: SpatialVelocity::new(angular.into(), linear.into()),
        };
        files.push((format!("throw_{}.csv", i + 1), throw(&model, &scene, start, &mut random)?));
    }
    Ok(files)
}

#[allow(dead_code, reason = "the tests use this file as a module")]
fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("examples/fit_ball");
    let data = folder.join("data");
    fs::create_dir_all(&data)?;
    for (name, text) in files(&folder.join("scene.toml"))? {
        fs::write(data.join(&name), text)?;
        println!("{}", data.join(&name).display());
    }
    Ok(())
}
