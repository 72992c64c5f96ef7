//! The bolt of Hotz et al. (1999), §1: it slides into its hole, overlaps nothing, and the methods agree.

use isobar::multibody::{BodyState, NoForces, Parameter, State};
use isobar::spatial::{RigidTransform, rotation_exponential};
use isobar::step::{ComplementarityMethod, Integrator};
use nalgebra::Vector3;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::bolt_scene::{BoltMotion, BoltScene, FILE};
use crate::folder::Folder;
use crate::gradients::{Case, Found, check};

const METHODS: [ComplementarityMethod; 3] =
    [ComplementarityMethod::Lcp, ComplementarityMethod::Ncp, ComplementarityMethod::Bilateral];

fn scene(friction: f64) -> BoltScene {
    BoltScene::load(FILE).expect("a scene").with_friction(friction).expect("a valid coefficient")
}

/// Simulates until a bolt rests on the bottom of its hole: nothing overlaps on the way.
fn slides_in(scene: &BoltScene, method: ComplementarityMethod, steps: usize) -> BoltMotion {
    let motion = scene.simulate(method, steps).expect("steps that converge");
    let least = motion.states.iter().map(|state| scene.distance(state)).fold(f64::INFINITY, f64::min);
    let end = motion.states.last().expect("states");
    let depth = scene.insertion(end);
    println!("{method:?}: least distance {least:e}, comes to {depth}");
    assert!(least > -1e-9, "{least:e}");
    // The bottom is 0.05 m deep.
    assert!((depth - 0.05).abs() < 1e-6 && end.velocity.translational.norm() < 0.1);
    motion
}

#[test]
fn a_bolt_slides_into_its_hole_and_overlaps_nothing() {
    for friction in [0.0, 0.1, 0.3] {
        let motion = slides_in(&scene(friction), ComplementarityMethod::Ncp, 240);
        // Beside the bottom it touches at the tip and at the mouth at once.
        let both = motion.contacts.iter().take(150).filter(|contacts| contacts.len() > 1).count();
        println!("friction {friction}: at two places at once {both} times");
        assert!(both > 5);
    }
}

#[test]
fn edges_that_pass_each_other_within_a_step_do_not_overlap() {
    let folder = Folder::new("bolt");
    let text = std::fs::read_to_string(FILE).expect("the scene");
    let tip = "tip_radius = 0.008, tip_length = 0.003";
    assert!(text.contains(tip));
    for (shape, friction) in [("tip_length = 0.008", 0.1), ("tip_radius = 0.004, tip_length = 0.006", 0.0)] {
        let text = text.replace(tip, shape).replace("0.0345]", "0.0395]");
        let path = folder.file("scene.toml", text);
        let scene = BoltScene::load(&path).expect("a scene").with_friction(friction).expect("a scene");
        slides_in(&scene, ComplementarityMethod::Lcp, 300);
    }
}

/// How far the motions of the methods are apart.
fn apart(scene: &BoltScene, steps: usize) -> f64 {
    let motions: Vec<BoltMotion> =
        METHODS.iter().map(|method| scene.simulate(*method, steps).expect("steps that converge")).collect();
    let difference = |a: &BodyState, b: &BodyState| {
        let [a, b] = [a, b].map(|state| State::of_bodies(vec![*state]));
        a.difference(&b).iter().fold(0.0, |most: f64, x| most.max(x.abs()))
    };
    let first = &motions[0];
    assert!(first.contacts.iter().any(|contacts| !contacts.is_empty()));
    let off = |motion: &BoltMotion| {
        first.states.iter().zip(&motion.states).map(|(a, b)| difference(a, b)).fold(0.0, f64::max)
    };
    motions.iter().map(off).fold(0.0, f64::max)
}

#[test]
fn the_methods_agree_where_a_bolt_slides_over_the_mouth_without_friction() {
    let off = apart(&scene(0.0), 60);
    println!("sliding: {off:e}");
    assert!(off < 1e-8, "{off:e}");
}

#[test]
fn the_methods_agree_where_a_bolt_rests_on_the_bottom_or_slides_along_the_wall() {
    let mut scene = scene(0.0);
    let bottom = RigidTransform::from_translation([5e-5, -3e-5, -0.05 + 0.033]);
    scene.start = State::of_bodies(vec![BodyState::at_rest(&bottom)]);
    let off = apart(&scene, 20);
    println!("resting: {off:e}");
    assert!(off < 1e-8, "{off:e}");
    // In line with the hole, at its wall.
    let turn = rotation_exponential(&Vector3::new(0.0, 0.0, 0.4));
    let wall = RigidTransform::new(turn, Vector3::new(1.2e-4, 1.6e-4, -0.005));
    scene.start = State::of_bodies(vec![BodyState::at_rest(&wall)]);
    let mut builder = scene.model.into_builder();
    builder.gravity = Vector3::new(0.6, 0.8, -9.81);
    builder.loads.clear();
    scene.model = builder.build().expect("a valid model");
    let off = apart(&scene, 50);
    println!("along the wall: {off:e}");
    assert!(off < 1e-8, "{off:e}");
}

/// A bolt that begins beside the hole and askew, otherwise than that of the file.
fn any_start(rng: &mut ChaCha8Rng, scene: &mut BoltScene) {
    let turn = rotation_exponential(&Vector3::from_fn(|_, _| rng.random_range(-0.1..0.1)));
    let beside = Vector3::new(rng.random_range(-0.003..0.003), rng.random_range(-0.003..0.003), 0.0345);
    scene.start = State::of_bodies(vec![BodyState::at_rest(&RigidTransform::new(turn, beside))]);
}

/// Compares derivatives at every fifth step in contact, along as many motions as it takes.
fn study(method: ComplementarityMethod, states: usize) {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let parameters = [
        Parameter::GeometryScale { body: 0, geometry: 0 },
        Parameter::GeometryScale { body: 1, geometry: 0 },
        Parameter::GeometryPose { body: 0, geometry: 0, axis: 0 },
        Parameter::FixedPose { body: 1, axis: 3 },
        Parameter::Mass { body: 0 },
    ];
    let mut found = Found::default();
    for motion in 0.. {
        let mut scene = scene([0.1, 0.0, 0.05][motion % 3]);
        if motion > 0 {
            any_start(&mut rng, &mut scene);
        }
        let of_motion = scene.simulate(method, 170).expect("steps that converge");
        for (step, state) in of_motion.states.iter().enumerate().take(170) {
            if step % 5 == 0 && !of_motion.contacts[step + 1].is_empty() {
                let case = Case {
                    model: &scene.model,
                    integrator: Integrator::Complementarity(method),
                    time_step: scene.time_step,
                    applied: &NoForces,
                    control: &[],
                    parameters: &parameters,
                };
                let before = found.worst;
                check(&case, &State::of_bodies(vec![*state]), &mut found);
                if found.worst > before.max(1e-6) {
                    println!("motion {motion} step {step}: {:.1e}", found.worst);
                }
            }
            if found.states == states {
                println!("{method:?}: {found:?}");
                assert!(found.worst < 1e-6 && found.unclear == 0);
                assert!(50 * found.refused <= states);
                return;
            }
        }
    }
}

#[test]
fn derivatives_of_steps_are_those_of_differences() {
    for method in [ComplementarityMethod::Ecp, ComplementarityMethod::Lcp, ComplementarityMethod::Ncp] {
        study(method, 12);
    }
}

#[test]
#[ignore = "takes minutes; what it measures is told in docs/rigid_contact.md"]
fn study_derivatives_of_lcp_at_200_states_of_the_bolt() {
    study(ComplementarityMethod::Lcp, 200);
}

#[test]
#[ignore = "takes minutes; what it measures is told in docs/rigid_contact.md"]
fn study_derivatives_of_ncp_at_200_states_of_the_bolt() {
    study(ComplementarityMethod::Ncp, 200);
}
