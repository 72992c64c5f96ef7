//! Velocity-level steps in random scenes.

use crate::step_scenes::*;
use isobar::contact::{ContactModel, ContactSettings, SurfaceRepresentation};
use isobar::geometry::Shape;
use isobar::multibody::{Model, State};
use isobar::spatial::{Quaternion, RigidTransform};
use isobar::step::{Integrator, StepError, StepProblem, StepWorkspace};
use nalgebra::Vector3;
use proptest::prelude::{ProptestConfig, any, prop_assert, prop_assert_eq, proptest};
use rand::prelude::*;
use rand_chacha::ChaCha8Rng;

/// Three to six bodies thrown together over a fixed box, with moduli over four decades.
fn scene(seed: u64) -> (Model, State, f64) {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut b = Builder::default();
    let any_material = |random: &mut ChaCha8Rng| {
        let modulus = 10f64.powf(random.random_range(5.0..9.0));
        material(
            modulus,
            random.random_range(0.0..5.0),
            random.random_range(0.0..0.05),
            random.random_range(0.0..1.5),
        )
    };
    let m = any_material(&mut random);
    let ground = compliant(Shape::Box { size: [1.0, 1.0, 0.2] }, 1.0);
    b.fixed(ground, m, 1.0, RigidTransform::from_translation([0.0, 0.0, -0.1]));
    let shapes = [
        Shape::Sphere { radius: 0.05 },
        Shape::Box { size: [0.1, 0.08, 0.06] },
        Shape::Cylinder { radius: 0.04, length: 0.1 },
        Shape::Capsule { radius: 0.03, length: 0.08 },
        Shape::Ellipsoid { semi_axes: [0.06, 0.04, 0.05] },
    ];
    for _ in 0..random.random_range(3..7) {
        let shape = shapes[random.random_range(0..shapes.len())];
        let mass: f64 = 10f64.powf(random.random_range(-1.5..1.0));
        let mut vector = |scale: f64| Vector3::from_fn(|_, _| random.random_range(-scale..scale));
        let (place, turn) = (vector(0.08), vector(1.0));
        let (angular, linear) = (vector(10.0), vector(2.0));
        let orientation = Quaternion::from_wxyz(1.0, turn.x, turn.y, turn.z).normalized();
        let place = Vector3::new(place.x, place.y, 0.06 + place.z.abs());
        let state = moving(orientation, place, angular, linear);
        let m = any_material(&mut random);
        b.free(compliant(shape, 0.04), m, mass, ball_inertia(mass, 0.05), None, state);
    }
    let surface =
        if random.random() { SurfaceRepresentation::Polygons } else { SurfaceRepresentation::Triangles };
    let settings = ContactSettings {
        surface,
        stiction_velocity: 10f64.powf(random.random_range(-5.0..-2.0)),
        ..Default::default()
    };
    let (model, state) = b.build(down(), settings);
    (model, state, 10f64.powf(random.random_range(-4.0..-2.0)))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// The convex models converge; TAMSI does, or says that it does not.
    #[test]
    fn steps_converge(seed in any::<u64>()) {
        let (model, initial, dt) = scene(seed);
        for kind in MODELS {
            let mut workspace = StepWorkspace::default();
            let mut state = initial.clone();
            for step in 0..10 {
                match Integrator::velocity_level(kind).step(&StepProblem::new(&model, &state, dt), &mut workspace) {
                    Ok(next) => state = next,
                    Err(StepError::NotConverged { .. }) if kind == ContactModel::Tamsi => break,
                    Err(error) => prop_assert!(false, "{kind:?}, step {step} of {dt} s: {error}"),
                }
                prop_assert!(kind == ContactModel::Tamsi || workspace.statistics().iterations <= 100);
                prop_assert!(state.is_finite());
            }
        }
    }

    /// A step is a function of the state alone: the same bits in a used workspace.
    #[test]
    fn steps_do_not_depend_on_what_was_before(seed in any::<u64>()) {
        let (model, state, dt) = scene(seed);
        let (other_model, other, other_dt) = scene(seed.wrapping_add(1));
        for kind in MODELS {
            let integrator = Integrator::velocity_level(kind);
            let mut used = StepWorkspace::default();
            let _ = integrator.step(&StepProblem::new(&other_model, &other, other_dt), &mut used);
            let a = integrator.step(&StepProblem::new(&model, &state, dt), &mut used);
            let b = integrator.step(&StepProblem::new(&model, &state, dt), &mut StepWorkspace::default());
            prop_assert_eq!(a, b);
        }
    }
}

/// How many iterations random steps take, and how many of TAMSI's do not converge.
#[test]
fn iterations_in_random_scenes() {
    for kind in MODELS {
        let (mut counts, mut failed) = (Vec::new(), 0);
        for seed in 0..60 {
            let (model, mut state, dt) = scene(seed);
            let mut workspace = StepWorkspace::default();
            for _ in 0..10 {
                match Integrator::velocity_level(kind)
                    .step(&StepProblem::new(&model, &state, dt), &mut workspace)
                {
                    Ok(next) => state = next,
                    Err(error) => {
                        println!("{kind:?} seed {seed}: {error}");
                        failed += 1;
                        break;
                    }
                }
                counts.push(workspace.statistics().iterations);
            }
        }
        counts.sort_unstable();
        let at = |part: f64| counts[((counts.len() - 1) as f64 * part) as usize];
        println!(
            "{kind:?}: median {}, 90 % {}, 99 % {}, most {} iterations of {} steps, {failed} failed",
            at(0.5),
            at(0.9),
            at(0.99),
            at(1.0),
            counts.len()
        );
        if kind == ContactModel::Tamsi {
            assert!(failed <= 2, "{failed} of 60 runs");
        } else {
            assert_eq!(failed, 0);
            assert!(at(1.0) <= 100);
        }
    }
}

/// Kinetic, gravitational and stored energy, with elastic dissipative bodies that fall onto each
/// other softly: it does not grow by more than the first-order error of the step.
#[test]
fn energy_is_not_created() {
    for kind in MODELS {
        for seed in 0..2 {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            let mut b = Builder::default();
            let m = material(1e5, 2.0, 0.01, 0.5);
            let ground = compliant(Shape::Box { size: [1.0, 1.0, 0.2] }, 1.0);
            b.fixed(ground, m, 1.0, RigidTransform::from_translation([0.0, 0.0, -0.1]));
            let ball = compliant(Shape::Sphere { radius: 0.05 }, 0.03);
            for k in 0..4 {
                let shift = Vector3::from_fn(|_, _| random.random_range(-0.02..0.02));
                let place = shift + Vector3::new(0.0, 0.0, 0.08 + 0.1 * f64::from(k));
                b.free(ball.clone(), m, 0.2, ball_inertia(0.2, 0.05), None, resting(place));
            }
            let (model, mut state) = b.build(down(), ContactSettings::default());
            let total = |state: &State| {
                let mut frames = Vec::new();
                model.body_frames(state, &mut frames);
                model.mechanical_energy(state) + model.body_pair_energy(&frames, model.pairs())
            };
            let start = total(&state);
            let mut workspace = StepWorkspace::default();
            let mut highest = f64::NEG_INFINITY;
            for step in 1..=400 {
                state = Integrator::velocity_level(kind)
                    .step(&StepProblem::new(&model, &state, 1e-3), &mut workspace)
                    .unwrap();
                // The stored energy takes longer than the step.
                if step % 4 == 0 {
                    highest = highest.max(total(&state));
                }
            }
            println!(
                "{kind:?} seed {seed}: {start:.4} J, highest {highest:.4} J, end {:.4} J",
                total(&state)
            );
            assert!(highest <= start, "{kind:?} seed {seed}: {start} J at the start, {highest} J at most");
        }
    }
}
