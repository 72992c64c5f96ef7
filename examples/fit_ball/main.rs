//! How often the intervals of a fit to noisy recordings of a ball hold the true values, for windows of three lengths.
//!
//! ```sh
//! cargo run --release --example fit_ball -- 200       # so many recordings a length, each with a fit
//! ```
//!
//! The recordings are simulated by the steps that the fit takes, so that noise is all that is off: 1 mm, 5 mrad, 2 cm/s
//! and 20 mrad/s in every recorded state, the states that windows start at included.

#[path = "../support/coverage.rs"]
mod coverage;
#[path = "../support/normal.rs"]
mod normal;

use std::error::Error;
use std::path::Path;

use isobar::contact::ContactModel;
use isobar::io::Scene;
use isobar::multibody::{BodyState, Model, NoForces, State, seeded};
use isobar::optimize::data::{RecordedState, Recording};
use isobar::optimize::fit::{Fit, FitSettings, fit};
use isobar::optimize::identification::{
    Identification, Loss, Measurement, RecordedMotion, StandardDeviations, StartDeviations, TimeWindow,
    parameters_at,
};
use isobar::optimize::parameters::{FitParameter, FitParameters};
use isobar::rollout::{Rollout, SimulationSettings};
use isobar::spatial::SpatialVelocity;
use isobar::step::Integrator;
use nalgebra::Vector3;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

const NAMES: [&str; 3] =
    ["materials.foam.hydroelastic_modulus", "materials.foam.dissipation", "materials.foam.friction"];
const TRUTH: [f64; 3] = [7e4, 0.8, 0.35];
/// Standard deviations: position in m, orientation in rad, velocity in m/s, angular velocity in rad/s.
const NOISE: [f64; 4] = [1e-3, 5e-3, 0.02, 0.02];
/// Recorded intervals, each of so many time steps.
const INTERVALS: usize = 60;
const STEPS: usize = 5;
const TIME_STEP: f64 = 2e-3;
/// The lengths of windows, s.
const WINDOWS: [f64; 3] = [0.05, 0.1, 0.3];
/// Height of the ball's centre in m, its velocity in m/s and its angular velocity in rad/s at the start of each throw.
const THROWS: [(f64, [f64; 3], [f64; 3]); 3] = [
    (0.08, [1.5, 0.0, -0.8], [0.0, 0.0, 0.0]),
    (0.07, [0.5, -1.0, -0.5], [10.0, 0.0, 0.0]),
    (0.10, [0.0, 0.5, -1.2], [0.0, 15.0, 5.0]),
];

fn main() -> Result<(), Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/fit_ball");
    let scene = Scene::load(folder.join("scene.toml"))?;
    let runs: u64 = std::env::args().nth(1).map_or(Ok(200), |text| text.parse())?;
    let settings = SimulationSettings {
        integrator: Integrator::velocity_level(ContactModel::Lagged),
        time_step: TIME_STEP,
    };
    let exact = THROWS.map(|throw| thrown(&scene, settings, throw));
    let exact = exact.into_iter().collect::<Result<Vec<_>, _>>()?;
    for horizon in WINDOWS {
        println!("windows of {horizon} s");
        coverage::print_coverage(&["modulus", "dissipation", "friction"], &TRUTH, runs, |run| {
            fitted(&scene, settings, &exact, (horizon, run)).map_err(|error| error.to_string())
        });
    }
    Ok(())
}

/// The model with the true values.
fn true_model(scene: &Scene) -> Result<Model, Box<dyn Error>> {
    let mut parameters = Vec::new();
    for (name, value) in NAMES.into_iter().zip(TRUTH) {
        parameters.extend(parameters_at(&scene.model, name)?.into_iter().map(|parameter| (parameter, value)));
    }
    Ok(seeded(&scene.model, &scene.state, &parameters)?.0)
}

/// The exact states of a throw at the recorded times.
fn thrown(
    scene: &Scene,
    settings: SimulationSettings,
    (height, velocity, spin): (f64, [f64; 3], [f64; 3]),
) -> Result<Vec<State>, Box<dyn Error>> {
    let mut start = scene.state.clone();
    let ball = &mut start.bodies[0];
    ball.position.z = height;
    ball.velocity = SpatialVelocity::new(Vector3::from(spin), Vector3::from(velocity));
    let model = true_model(scene)?;
    let until = (INTERVALS * STEPS) as f64 * TIME_STEP;
    let trajectory = Rollout::new(&model, &start, settings, until).simulate()?;
    Ok(trajectory.states.into_iter().step_by(STEPS).collect())
}

/// The fit to recordings of the throws with noise of their own in each run.
fn fitted(
    scene: &Scene,
    settings: SimulationSettings,
    exact: &[Vec<State>],
    (horizon, run): (f64, u64),
) -> Result<Fit, Box<dyn Error>> {
    let random = &mut ChaCha8Rng::seed_from_u64(run);
    let [position, orientation, linear_velocity, angular_velocity] = NOISE;
    let starts = Some(StartDeviations { position, orientation, linear_velocity, angular_velocity });
    let (linear_velocity, angular_velocity) = (Some(linear_velocity), Some(angular_velocity));
    let loss = Loss::Squares;
    let sigma = StandardDeviations { position, orientation, linear_velocity, angular_velocity, loss, starts };
    let window = TimeWindow { horizon, ..TimeWindow::default() };
    let mut measurements = Vec::new();
    for (number, states) in exact.iter().enumerate() {
        let of_state =
            |(k, state): (usize, &State)| measured(&state.bodies[0], (k * STEPS) as f64 * TIME_STEP, random);
        let states = states.iter().enumerate().map(of_state).collect();
        let recording = Recording { name: format!("throw {number}"), states };
        let motion = RecordedMotion::new(&scene.model, "ball", recording, &sigma, &window)?;
        measurements.push(Measurement::Motion(motion));
    }
    let (model, state) = (scene.model.clone(), scene.state.clone());
    let problem = Identification::new(model, state, settings, NoForces, NAMES, measurements)?;
    let parameters = FitParameters::new(vec![
        FitParameter::new(NAMES[0], 3e4).bounded(1e3, 1e7).logarithmic(),
        FitParameter::new(NAMES[1], 0.3).bounded(0.0, 10.0),
        FitParameter::new(NAMES[2], 0.2).bounded(0.0, 2.0),
    ])?;
    Ok(fit(&problem, &parameters, &FitSettings::default(), None)?)
}

/// A state of the ball as it is recorded.
fn measured(ball: &BodyState, time: f64, random: &mut ChaCha8Rng) -> RecordedState {
    let mut noise = |deviation: f64| Vector3::from_fn(|_, _| deviation * normal::normal(random));
    let (position, orientation) =
        (ball.position + noise(NOISE[0]), ball.orientation.rotated_by(&noise(NOISE[1])));
    let linear = ball.velocity.translational + noise(NOISE[2]);
    let velocity = SpatialVelocity::new(ball.velocity.rotational + noise(NOISE[3]), linear);
    RecordedState { time, body: BodyState { position, orientation, velocity }, line: None }
}
