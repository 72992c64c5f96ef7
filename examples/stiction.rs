//! How little held bodies creep with small stiction velocities and with bristles, and what that costs: a box on a
//! slope, a pencil held in its grip, a ball held for ten minutes, a leaning tower, and a pile that comes to rest.
//! Prints tables.
//!
//! `cargo run --release --example stiction` (or one of them: `-- slope`, `pencil`, `grasp`, `tower`, `pile`; and with
//! bristles alone: `-- grasp bristles`)

#[path = "../tests/support/step_scenes.rs"]
mod step_scenes;

use std::time::Instant;

use isobar::contact::{ContactModel, ContactSettings, SurfaceRepresentation};
use isobar::geometry::Shape;
use isobar::io::Scene;
use isobar::multibody::{Model, State};
use isobar::rollout::{Rollout, SimulationSettings};
use isobar::step::Integrator;
use nalgebra::Vector3;
use step_scenes::*;

type Failure = Box<dyn std::error::Error>;

/// The states at some times, and what the steps took.
struct Run {
    states: Vec<State>,
    /// Newton iterations per step, and most of a step.
    mean: f64,
    most: usize,
    /// Steps per second of wall time.
    rate: f64,
}

/// Simulates, and keeps the states at some times, which ascend.
fn run(rollout: &Rollout, times: [f64; 2]) -> Result<Run, Failure> {
    let time_step = rollout.settings.time_step;
    let (mut states, mut iterations, mut most, mut steps) = (Vec::new(), 0, 0, 0_u32);
    let begun = Instant::now();
    rollout.for_each(|report| {
        if let Some(statistics) = report.taken.as_ref().and_then(|taken| taken.statistics()) {
            iterations += statistics.iterations;
            most = most.max(statistics.iterations);
            steps += 1;
        }
        if times.get(states.len()).is_some_and(|time| report.time > time - 0.5 * time_step) {
            states.push(report.state.clone());
        }
    })?;
    let steps = f64::from(steps);
    Ok(Run { states, mean: iterations as f64 / steps, most, rate: steps / begun.elapsed().as_secs_f64() })
}

/// What friction at rest follows.
#[derive(Clone, Copy)]
enum Rest {
    /// A velocity: the stiction velocity, m/s.
    Velocity(f64),
    /// A deflection: the bristle length, m.
    Deflection(f64),
}

impl std::fmt::Display for Rest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Velocity(velocity) => write!(f, "v_s {velocity:.0e} m/s"),
            Self::Deflection(length) => write!(f, "bristles of {length:.0e} m"),
        }
    }
}

/// The model with another friction at rest.
fn with_rest(model: &Model, rest: Rest) -> Result<Model, Failure> {
    let mut builder = model.clone().into_builder();
    builder.contact.bristle_length = None;
    match rest {
        Rest::Velocity(velocity) => builder.contact.stiction_velocity = velocity,
        Rest::Deflection(length) => {
            builder.contact.stiction_velocity = ContactSettings::default().stiction_velocity;
            builder.contact.bristle_length = Some(length);
        }
    }
    Ok(builder.build()?)
}

fn lagged(time_step: f64) -> SimulationSettings {
    SimulationSettings { integrator: Integrator::velocity_level(ContactModel::Lagged), time_step }
}

/// A cube of 1 kg on a slope of 0.95 of its friction angle.
fn slope() -> (Model, State) {
    let angle = 0.95 * 0.5f64.atan();
    let (size, modulus, m) = ([0.1; 3], 1e6, material(1e6, 10.0, 0.01, 0.5));
    let mut b = Builder::default();
    let ground = compliant(Shape::Box { size: [4.0, 4.0, 0.1] }, 1.0);
    let pose = isobar::spatial::RigidTransform::from_translation([0.0, 0.0, -0.05]);
    b.fixed(ground, m, 1.0, pose);
    let depth = GRAVITY * angle.cos() / (0.01 * modulus / 0.1);
    let state = resting(Vector3::new(0.0, 0.0, 0.05 - depth));
    b.free(compliant(Shape::Box { size }, 1.0), m, 1.0, box_inertia(1.0, size), None, state);
    let contact = ContactSettings { surface: SurfaceRepresentation::Polygons, ..Default::default() };
    b.build(Vector3::new(angle.sin(), 0.0, -angle.cos()) * GRAVITY, contact)
}

/// Ten cubes of 1 kg on one another, each as deep in the next as its load presses it, on ground that leans by
/// 0.02 rad.
fn tower(modulus: f64) -> (Model, State) {
    let mut b = Builder::default();
    let ground = compliant(Shape::Box { size: [40.0, 2.0, 0.1] }, 1.0);
    let pose = isobar::spatial::RigidTransform::from_translation([0.0, 0.0, -0.05]);
    b.fixed(ground, material(modulus, 10.0, 0.01, 0.5), 1.0, pose);
    let (cube, mut z) = (compliant(Shape::Box { size: [0.1; 3] }, 1.0), -0.05);
    for i in 0..10 {
        z += 0.1 - f64::from(10 - i) * GRAVITY / (0.01 * modulus / 0.1);
        let inertia = box_inertia(1.0, [0.1; 3]);
        let state = resting(Vector3::new(0.0, 0.0, z));
        b.free(cube.clone(), material(modulus, 10.0, 1e-3, 0.5), 1.0, inertia, None, state);
    }
    b.build(Vector3::new(0.02, 0.0, -1.0) * GRAVITY, ContactSettings::default())
}

/// How far a body's origin has moved, m, and how far it has turned, rad.
fn moved(run: &Run, body: usize) -> (f64, f64) {
    let (first, last) = (&run.states[0], &run.states[run.states.len() - 1]);
    let change = first.difference(last);
    let of_body = &change[12 * body..12 * body + 6];
    let length = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>().sqrt();
    (length(&of_body[3..]), length(&of_body[..3]))
}

fn main() -> Result<(), Failure> {
    let only = std::env::args().nth(1).unwrap_or_default();
    let asked = |part: &str| only.is_empty() || only == part;
    let velocities = [1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-12].map(Rest::Velocity);
    let lengths = [1e-4, 1e-5, 1e-6, 1e-7, 1e-8].map(Rest::Deflection);
    let without = if std::env::args().nth(2).is_some() { &[] } else { &velocities[..] };
    let all = || without.iter().copied().chain(lengths);
    let costs = |run: &Run| format!("{:.2} iterations, most {}, {:.0} steps/s", run.mean, run.most, run.rate);

    if asked("slope") {
        println!("a box at 0.95 of its friction angle: what it creeps in a minute (from 1 s to 61 s)");
        for time_step in [1e-3, 1e-2] {
            for rest in all() {
                let (model, state) = slope();
                let model = with_rest(&model, rest)?;
                let run = run(&Rollout::new(&model, &state, lagged(time_step), 61.0), [1.0, 61.0])?;
                let distance = moved(&run, 0).0;
                println!("{time_step:.0e} s, {rest}: {distance:.3e} m; {}", costs(&run));
            }
        }
    }
    if asked("pencil") {
        println!("a pencil held by 4 N: how far it turns in a minute (from 1 s to 61 s)");
        let mut scene = Scene::load(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/pencil/scene.toml"))?;
        let parallel = scene.state.clone();
        // Turned about the vertical its faces are not exactly parallel to those of the pads.
        for yaw in [0.0, 1e-3] {
            let mut turn = vec![0.0; parallel.tangent_dimension()];
            turn[2] = yaw;
            scene.state = parallel.moved(&turn);
            for rest in all() {
                scene.model = with_rest(&scene.model, rest)?;
                let run = run(&scene.rollout(61.0)?, [1.0, 61.0])?;
                let (distance, turn) = moved(&run, 0);
                let turn = turn.to_degrees();
                println!("turned by {yaw} rad, {rest}: {turn:.3e}°, {distance:.3e} m; {}", costs(&run));
            }
        }
    }
    if asked("grasp") {
        println!("a ball held by 6 N: how far it creeps in ten minutes (from 2 s to 602 s)");
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/grasp_lift/gripper.toml");
        let mut scene = Scene::load(path)?;
        for rest in all() {
            scene.model = with_rest(&scene.model, rest)?;
            let found = run(&scene.rollout(602.0)?, [2.0, 602.0]);
            let Ok(run) = found.inspect_err(|error| println!("{rest}: {error}")) else {
                continue;
            };
            let (distance, turn) = moved(&run, 0);
            println!("{rest}: {distance:.3e} m, {turn:.3e} rad; {}", costs(&run));
        }
    }
    if asked("tower") {
        println!(
            "a leaning tower of ten cubes at 1e9 Pa, steps of 10 ms: how its top moves from 1 s to 61 s"
        );
        for rest in all() {
            let (model, state) = tower(1e9);
            let model = with_rest(&model, rest)?;
            let run = run(&Rollout::new(&model, &state, lagged(1e-2), 61.0), [1.0, 61.0])?;
            let (distance, turn) = moved(&run, 9);
            println!("{rest}: {distance:.3e} m, {turn:.3e} rad; {}", costs(&run));
        }
    }
    if asked("pile") {
        println!("a pile of 48 balls that fall and come to rest: the fastest of them after a second");
        for rest in all() {
            let (model, state) = pile(4, 3);
            let model = with_rest(&model, rest)?;
            let found = run(&Rollout::new(&model, &state, lagged(1e-3), 1.0), [0.0, 1.0]);
            let Ok(run) = found.inspect_err(|error| println!("{rest}: {error}")) else {
                continue;
            };
            let speeds = run.states[1].bodies.iter().map(|body| body.velocity.translational.norm());
            let fastest = speeds.fold(0.0, f64::max);
            println!("{rest}: {fastest:.1e} m/s; {}", costs(&run));
        }
    }
    Ok(())
}
