//! The bolt of Hotz et al. (1999), §1: it slides into its hole, overlaps nothing, and the methods agree.

use isobar::multibody::{BodyState, State};
use isobar::spatial::{RigidTransform, rotation_exponential};
use isobar::step::ComplementarityMethod;
use nalgebra::Vector3;

use crate::bolt_scene::{BoltMotion, BoltScene, FILE};

const METHODS: [ComplementarityMethod; 3] =
    [ComplementarityMethod::Lcp, ComplementarityMethod::Ncp, ComplementarityMethod::Bilateral];

fn scene(friction: f64) -> BoltScene {
    BoltScene::load(FILE).expect("a scene").with_friction(friction).expect("a valid coefficient")
}

#[test]
fn a_bolt_slides_into_its_hole_and_overlaps_nothing() {
    let scene = scene(0.1);
    let motion = scene.simulate(ComplementarityMethod::Ncp, 170).expect("steps that converge");
    let least = motion.states.iter().map(|state| scene.distance(state)).fold(f64::INFINITY, f64::min);
    let jammed = motion.contacts.iter().filter(|contacts| contacts.len() > 1).count();
    let depth = scene.insertion(motion.states.last().expect("states"));
    println!("least distance {least:e}, touches in several places {jammed} times, comes to {depth}");
    assert!(least > -1e-9, "{least:e}");
    assert!(depth > 0.04 && jammed > 5);
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
    let bottom = RigidTransform::from_translation(Vector3::new(5e-5, -3e-5, -0.05 + 0.033));
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
