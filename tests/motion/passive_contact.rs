//! Contact over implicit steps gives no energy: what is laid down lies, and what falls comes back no higher.

use isobar::check::{CheckSettings, Verdict, compare_derivative};
use isobar::contact::{ContactModel, ContactSettings, FaceFilter, SurfaceRepresentation};
use isobar::io::Scene;
use isobar::multibody::{AppliedForces, DifferentiatedModel, Model, NoForces, State};
use isobar::rollout::{Rollout, SimulationSettings};
use isobar::step::{DerivativeWorkspace, Integrator, StepError, StepProblem, StepWorkspace, Tape};
use nalgebra::Vector3;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::folder::Folder;
use crate::plain_scenes::Plain;
use crate::step_scenes::{MODELS, flat_cube, tumbling_cube};

const DT: f64 = 1e-3;

/// What a motion of a scene does: its largest rise of energy, in parts of its drop's, and the largest speed after 0.7 s.
fn rise_and_speed(plain: &Plain) -> (f64, f64) {
    let folder = Folder::new("plain");
    let path = folder.file("scene.json", plain.scene.to_string());
    let scene = Scene::load(path).expect("a scene");
    let energy = |state: &State| scene.model.mechanical_energy(state);
    let mass: f64 = scene.model.free_bodies().map(|(_, _, mass)| mass.mass).sum();
    let unit = mass * scene.model.gravity().norm() * plain.drop.max(0.05 * plain.size);
    let (start, mut rise, mut speed) = (energy(&scene.state), 0.0_f64, 0.0_f64);
    let outcome = scene.rollout(1.0).expect("settings").for_each(|report| {
        rise = rise.max((energy(report.state) - start) / unit);
        if report.time > 0.7 {
            let speeds = report.state.bodies.iter().map(|body| body.velocity.translational.norm());
            speed = speeds.fold(speed, f64::max);
        }
    });
    outcome.unwrap_or_else(|error| panic!("{error}: {}", plain.scene));
    (rise, speed)
}

/// `cargo run --release --example plain_scenes` tries thousands.
#[test]
fn flat_faced_bodies_gain_no_energy_and_lie_still() {
    let mut random = ChaCha8Rng::seed_from_u64(5);
    let mut tried = [0; 2];
    while tried[0] < 60 {
        let plain = Plain::random(&mut random);
        let dt = plain.scene["solver"]["time_step"].as_f64().expect("a number");
        let is_large = plain.scene.to_string().len() > 20_000;
        if dt < 1e-3 || is_large || plain.arrangement == "five" {
            continue;
        }
        let (rise, speed) = rise_and_speed(&plain);
        assert!(rise < 0.01, "rises by {rise} of its drop: {}", plain.scene);
        tried[0] += 1;
        if plain.rests {
            assert!(speed < 1e-4, "moves at {speed} m/s: {}", plain.scene);
            tried[1] += 1;
        }
    }
    assert!(tried[1] > 10, "{tried:?}");
}

/// The speed at which a cube that comes down on the rigid floor at 1 m/s leaves it.
fn rebound(kind: ContactModel, contact: ContactSettings, height: f64) -> f64 {
    let (model, mut state) = tumbling_cube(0.0, 0.5, contact);
    state.bodies[0].position = Vector3::new(0.0, 0.0, 0.05 + height);
    state.bodies[0].orientation = isobar::spatial::Quaternion::from_wxyz(1.0, 0.0, 0.0, 0.0);
    state.bodies[0].velocity.rotational = Vector3::zeros();
    state.bodies[0].velocity.translational = Vector3::new(0.0, 0.0, -1.0);
    let settings = SimulationSettings { integrator: Integrator::velocity_level(kind), time_step: 5e-3 };
    let mut fastest = 0.0_f64;
    let outcome = Rollout::new(&model, &state, settings, 0.2)
        .for_each(|report| fastest = fastest.max(report.state.bodies[0].velocity.translational.z));
    outcome.expect("simulates");
    fastest
}

#[test]
fn a_landing_is_foreseen_but_for_comparison_with_drake() {
    let drake = ContactSettings { face_filter: FaceFilter::Drake, ..ContactSettings::default() };
    for kind in MODELS {
        // Whatever the part of a step that the cube is in the floor for.
        for part in 0..10 {
            let height = 0.01 + 5e-4 * f64::from(part);
            let speed = rebound(kind, ContactSettings::default(), height);
            assert!(speed <= 1.1, "{kind:?} at {height} m: {speed} m/s");
        }
        let of_drake = (0..10).map(|part| rebound(kind, drake, 0.01 + 5e-4 * f64::from(part)));
        let (low, high) =
            of_drake.fold((f64::MAX, 0.0), |(low, high): (f64, f64), x| (low.min(x), high.max(x)));
        assert!(high - low > 0.1, "{kind:?}: as chance has it, {low} to {high} m/s");
    }
}

/// A flat cube that slides, turns and tilts a little: faces whose columns end in other elements than their own.
fn nearly_flat(random: &mut ChaCha8Rng, surface: SurfaceRepresentation) -> (Model, State) {
    let mut number = |size: f64| random.random_range(-size..size);
    let (model, mut state) = flat_cube(1e-3, Vector3::new(0.3, 0.1, -0.02), 1e-2);
    let mut builder = model.into_builder();
    builder.contact.surface = surface;
    let body = &mut state.bodies[0];
    body.orientation = body.orientation.rotated_by(&Vector3::from_fn(|_, _| number(0.004)));
    body.position.z += number(2e-4);
    body.velocity.rotational += Vector3::from_fn(|_, _| number(0.3));
    body.velocity.translational += Vector3::from_fn(|_, _| number(0.1));
    (builder.build().expect("a model"), state)
}

#[test]
fn derivatives_of_nearly_flat_bodies_agree_with_differences() {
    let mut random = ChaCha8Rng::seed_from_u64(11);
    let (mut decided, mut wrong) = (0, Vec::new());
    for case in 0..8 {
        let surface = [SurfaceRepresentation::Triangles, SurfaceRepresentation::Polygons][case % 2];
        let (model, state) = nearly_flat(&mut random, surface);
        for kind in MODELS {
            let integrator = Integrator::velocity_level(kind);
            let differentiated =
                DifferentiatedModel::new(&model, &[], NoForces.dependence(), 0).expect("no parameters");
            let (mut steps, mut tape) = (StepWorkspace::default(), Tape::default());
            let step = StepProblem::new(&model, &state, DT);
            let after = integrator.step_taped(&step, &differentiated, &mut steps, &mut tape).expect("a step");
            let jacobian = tape
                .jacobian(&differentiated, &NoForces, &mut DerivativeWorkspace::default())
                .expect("derivatives")
                .by_state;
            for k in 0..state.tangent_dimension() {
                let moved = |x: f64| {
                    let mut tangent = vec![0.0; state.tangent_dimension()];
                    tangent[k] = x;
                    let state = state.moved(&tangent);
                    let step = StepProblem::new(&model, &state, DT);
                    Ok::<_, StepError>(after.difference(&integrator.step(&step, &mut steps)?))
                };
                let claimed: Vec<f64> = jacobian.column(k).iter().copied().collect();
                let found = compare_derivative(moved, 0.0, 1e-2, &claimed, &CheckSettings::default());
                for (row, comparison) in found.expect("steps").iter().enumerate() {
                    match comparison.verdict {
                        Verdict::Ok => decided += 1,
                        Verdict::Wrong => wrong.push((case, kind, row, k)),
                        _ => {}
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
    assert!(decided > 2000, "{decided}");
}
