//! A contact law of one's own: written once, fitted to measurements, its gradient checked.
//!
//! Rubber on a table dissipates more the faster it is pressed, and its friction grows with the slip speed
//! and falls with the pressure. None of isobar's laws says so; this one does, with three parameters
//! of its own. The program makes recordings of a thrown ball with known parameters and noise, finds
//! the parameters again from others, and compares the gradients of steps with differences.
//!
//! `cargo run --release --example own_law`

use std::error::Error;
use std::f64::consts::TAU;

use isobar::check::{CheckSettings, Verdict, check_scene};
use isobar::contact::{
    Collider, ContactLaw, ContactModel, ContactSettings, DampingPoint, FrictionPoint, Material, OwnLaw,
};
use isobar::geometry::Shape;
use isobar::multibody::{
    Body, BodyGeometry, BodyState, MassSource, Model, ModelBuilder, NamedMaterial, NoForces, State,
};
use isobar::optimize::data::{RecordedState, Recording};
use isobar::optimize::fit::{FitSettings, fit};
use isobar::optimize::identification::{
    Identification, Loss, Measurement, RecordedMotion, StandardDeviations, TimeWindow, parameters_at,
};
use isobar::optimize::parameters::{FitParameter, FitParameters};
use isobar::rollout::{Rollout, SimulationSettings};
use isobar::scalar::Scalar;
use isobar::spatial::{Quaternion, RigidTransform, SpatialVelocity};
use isobar::step::Integrator;
use nalgebra::Vector3;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Rubber: the damping factor e^(−d v_n), and the coefficient of friction
/// (μ + a ln(1 + v/v₀)) / (1 + b p), by slip speed v and pressure p.
#[derive(Debug)]
struct Rubber;

/// The slip speed v₀ from which friction grows, m/s.
const SLOW: f64 = 0.01;

impl ContactLaw for Rubber {
    fn parameters(&self) -> &'static [&'static str] {
        // In s/m, of no dimension, and in 1/Pa.
        &["damping", "speed_effect", "pressure_effect"]
    }

    fn damping_factor<T: Scalar>(&self, at: &DampingPoint<T>) -> T {
        let [damping, ..] = at.own;
        (-(damping * at.normal_velocity)).exp()
    }

    fn friction_coefficient<T: Scalar>(&self, at: &FrictionPoint<T>) -> T {
        let [_, speed_effect, pressure_effect, _] = at.own;
        let grown = at.dynamic_friction + speed_effect * (at.slip_speed / SLOW + 1.0).ln();
        grown / (pressure_effect * at.pressure + 1.0)
    }
}

/// The parameters of the recordings, and where the fit starts.
const PARAMETERS: [(&str, f64, f64); 3] = [
    ("materials.rubber.damping", 1.2, 0.3),
    ("materials.rubber.speed_effect", 0.06, 0.01),
    ("materials.rubber.pressure_effect", 5e-5, 1e-5),
];

/// Height of the ball's centre, its velocity and its angular velocity at the start of each throw.
const THROWS: [(f64, [f64; 3], [f64; 3]); 4] = [
    (0.06, [1.5, 0.0, -0.8], [0.0, 0.0, 0.0]),
    (0.06, [0.3, -0.6, -2.0], [10.0, 0.0, 0.0]),
    (0.07, [0.0, 0.2, -1.2], [0.0, 15.0, 5.0]),
    (0.06, [-2.0, 0.3, -0.3], [0.0, 10.0, -10.0]),
];

/// Standard deviations of the noise: position in m, orientation in rad.
const NOISE: [f64; 2] = [2e-4, 2e-3];

/// A rubber ball on a rubber table.
fn scene() -> Result<Model, Box<dyn Error>> {
    let rubber = Material::new(1e5, 0.0, 0.3);
    let ball = Collider::of_shape(&Shape::Sphere { radius: 0.05 }, 0.02, rubber)?;
    let ball = BodyGeometry::new(ball).of_material(0);
    let table = BodyGeometry::new(Collider::compliant_half_space(rubber, 0.05)).of_material(0);
    let bodies = vec![
        Body::free("ball", MassSource::Density(200.0), vec![ball])?,
        Body::fixed("table", RigidTransform::identity(), vec![table]),
    ];
    let materials = vec![NamedMaterial { name: "rubber".into(), material: rubber }];
    let contact = ContactSettings { law: Some(OwnLaw::new(&Rubber)), ..Default::default() };
    let model = ModelBuilder { bodies, materials, contact, ..Default::default() }.build()?;
    with(&model, PARAMETERS.map(|(name, _, start)| (name, start)))
}

/// The model with parameters at these values.
fn with(model: &Model, parameters: [(&str, f64); 3]) -> Result<Model, Box<dyn Error>> {
    let mut values = Vec::new();
    for (name, value) in parameters {
        values.extend(parameters_at(model, name)?.into_iter().map(|parameter| (parameter, value)));
    }
    Ok(model.with_parameters(&values)?)
}

fn thrown((height, linear, angular): &(f64, [f64; 3], [f64; 3])) -> BodyState {
    BodyState {
        orientation: Quaternion::identity(),
        position: Vector3::new(0.0, 0.0, *height),
        velocity: SpatialVelocity::new(Vector3::from(*angular), Vector3::from(*linear)),
    }
}

/// A normally distributed number with standard deviation 1 (Box and Muller, 1958).
fn normal(random: &mut ChaCha8Rng) -> f64 {
    let (u, v): (f64, f64) = (random.random(), random.random());
    (-2.0 * (1.0 - u).ln()).sqrt() * (TAU * v).cos()
}

/// What a camera would see of a throw: poses every 5 ms, with noise, after a start that is known.
fn recording(
    model: &Model,
    settings: &SimulationSettings,
    start: BodyState,
    random: &mut ChaCha8Rng,
) -> Result<Recording, Box<dyn Error>> {
    let motion = Rollout::new(model, &State::of_bodies(vec![start]), *settings, 0.15).simulate()?;
    let mut states = Vec::new();
    for (time, state) in motion.times.iter().zip(&motion.states).step_by(10) {
        let body = state.bodies[0];
        let sigma = if states.is_empty() { [0.0; 2] } else { NOISE };
        let mut noise = |sigma: f64| Vector3::from_fn(|_, _| sigma * normal(random));
        states.push(RecordedState {
            time: *time,
            body: BodyState {
                position: body.position + noise(sigma[0]),
                orientation: body.orientation.rotated_by(&noise(sigma[1])),
                ..body
            },
            line: None,
        });
    }
    Ok(Recording { name: "throw".into(), states })
}

fn main() -> Result<(), Box<dyn Error>> {
    let model = scene()?;
    let settings =
        SimulationSettings { integrator: Integrator::velocity_level(ContactModel::Tamsi), time_step: 5e-4 };

    // Recordings, with the true parameters.
    let true_model = with(&model, PARAMETERS.map(|(name, truth, _)| (name, truth)))?;
    let mut random = ChaCha8Rng::seed_from_u64(20_261_122);
    let sigma = StandardDeviations {
        position: NOISE[0],
        orientation: NOISE[1],
        linear_velocity: None,
        angular_velocity: None,
        loss: Loss::Squares,
        starts: None,
    };
    let mut measurements = Vec::new();
    for throw in &THROWS {
        let recording = recording(&true_model, &settings, thrown(throw), &mut random)?;
        let motion = RecordedMotion::new(&model, "ball", recording, &sigma, &TimeWindow::default())?;
        measurements.push(Measurement::Motion(motion));
    }

    // The fit: nothing in it knows the law.
    let start = State::of_bodies(vec![thrown(&THROWS[0])]);
    let names = PARAMETERS.map(|(name, ..)| name);
    let problem = Identification::new(model.clone(), start, settings, NoForces, names, measurements)?;
    let unknown =
        PARAMETERS.map(|(name, _, start)| FitParameter::new(name, start).bounded(0.0, f64::INFINITY));
    let result = fit(&problem, &FitParameters::new(unknown.to_vec())?, &FitSettings::default(), None)?;
    println!("{} after {} iterations", result.termination, result.iterations);
    println!("{:34} {:>9} {:>9} {:>9} {:>9}", "parameter", "true", "start", "fitted", "± (95 %)");
    for ((name, truth, start), estimate) in PARAMETERS.iter().zip(&result.uncertainty.estimates) {
        let half_width = estimate.standard_error.map_or(f64::NAN, |e| 1.96 * e);
        println!("{name:34} {truth:9.3e} {start:9.3e} {:9.3e} {half_width:9.1e}", estimate.value);
    }

    // The gradients of steps, with respect to every parameter, against differences; the ball slides.
    let touching = State::of_bodies(vec![thrown(&(0.047, [0.5, 0.2, -0.3], [3.0, 5.0, -2.0]))]);
    for integrator in [settings.integrator, Integrator::RungeKutta4] {
        let settings = SimulationSettings { integrator, ..settings };
        let report = check_scene(
            &Rollout::new(&true_model, &touching, settings, 5.0 * settings.time_step),
            &CheckSettings::default(),
        )?;
        let name = if integrator == Integrator::RungeKutta4 { "rk4" } else { "tamsi" };
        let counts = [Verdict::Ok, Verdict::Zero, Verdict::Kink, Verdict::Noisy, Verdict::Wrong]
            .map(|verdict| format!("{} {}", report.count(verdict), verdict.as_str()));
        println!("derivatives of 1 and 5 steps of {name}: {}", counts.join(", "));
    }
    Ok(())
}
