//! The bolt of Hotz et al. (1999), §1: it slides into its hole, overlaps nothing, and the methods agree.

use isobar::multibody::{
    BodyState, DifferentiatedModel, ForceDependence, NoForces, Parameter, State, seeded,
};
use isobar::spatial::{RigidTransform, rotation_exponential};
use isobar::step::{
    ComplementarityMethod, DerivativeWorkspace, Integrator, StepError, StepProblem, StepWorkspace, Tape,
};
use nalgebra::Vector3;

use crate::bolt_scene::{BoltMotion, BoltScene, FILE};
use crate::gradients::slopes;

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

/// What derivatives of steps were compared with.
#[derive(Debug, Default)]
struct Compared {
    states: usize,
    refused: usize,
    unclear: usize,
    worst: f64,
}

/// Compares the derivatives of a step with differences; at a kink with those of one side.
fn compare(scene: &BoltScene, state: &State, integrator: Integrator, compared: &mut Compared) {
    let parameters = [
        Parameter::GeometryScale { body: 0, geometry: 0 },
        Parameter::GeometryScale { body: 1, geometry: 0 },
        Parameter::GeometryPose { body: 0, geometry: 0, axis: 0 },
        Parameter::FixedPose { body: 1, axis: 3 },
        Parameter::Mass { body: 0 },
    ];
    let differentiated = DifferentiatedModel::new(&scene.model, &parameters, ForceDependence::default(), 0)
        .expect("parameters that the model has");
    let problem = StepProblem::new(&scene.model, state, scene.time_step);
    let (mut workspace, mut tape) = (StepWorkspace::default(), Tape::default());
    let after = match integrator.step_taped(&problem, &differentiated, &mut workspace, &mut tape) {
        Err(StepError::NoDerivative { .. }) => {
            compared.refused += 1;
            return;
        }
        after => after.expect("a step"),
    };
    compared.states += 1;
    let mut derivatives = DerivativeWorkspace::default();
    let jacobian = tape.jacobian(&differentiated, &NoForces, &mut derivatives).expect("a derivative");
    for column in 0..12 + parameters.len() {
        let at = |d: f64| {
            let (mut tangent, mut values) = (vec![0.0; 12], Vec::new());
            match column {
                0..12 => tangent[column] = d,
                _ => {
                    let parameter = parameters[column - 12];
                    values.push((parameter, parameter.value(&scene.model).expect("a value") + d));
                }
            }
            let (model, _) = seeded(&scene.model, state, &values).expect("a model");
            let moved = state.moved(&tangent);
            let problem = StepProblem::new(&model, &moved, scene.time_step);
            after.difference(&integrator.step(&problem, &mut StepWorkspace::default()).expect("a step"))
        };
        let claimed: Vec<f64> = match column {
            0..12 => jacobian.by_state.column(column).iter().copied().collect(),
            _ => jacobian.by_parameters.column(column - 12).iter().copied().collect(),
        };
        let largest = claimed.iter().fold(1.0, |most: f64, x| most.max(x.abs()));
        let off = |slopes: Vec<f64>| {
            slopes.iter().zip(&claimed).map(|(a, b)| (a - b).abs() / largest).fold(0.0, f64::max)
        };
        let mut least: Option<f64> = None;
        for d in [1e-5, 1e-6, 1e-7, 1e-8] {
            for side in [d, -d] {
                if let Some(slopes) = slopes(at, side, largest) {
                    let off = off(slopes);
                    least = Some(least.map_or(off, |least| least.min(off)));
                }
            }
            if least.is_some_and(|least| least < 1e-6) {
                break;
            }
        }
        match least {
            Some(off) => {
                if off > 1e-6 {
                    println!("{integrator:?} column {column}: {off:.1e}");
                }
                compared.worst = compared.worst.max(off);
            }
            None => compared.unclear += 1,
        }
    }
}

#[test]
fn derivatives_of_steps_are_those_of_differences() {
    let scene = scene(0.1);
    for method in [ComplementarityMethod::Ecp, ComplementarityMethod::Lcp, ComplementarityMethod::Ncp] {
        let motion = scene.simulate(method, 170).expect("steps that converge");
        let mut compared = Compared::default();
        for (step, state) in motion.states.iter().enumerate().take(170) {
            if step % 5 == 0 && !motion.contacts[step + 1].is_empty() {
                let state = State::of_bodies(vec![*state]);
                let before = compared.worst;
                compare(&scene, &state, Integrator::Complementarity(method), &mut compared);
                if compared.worst > before.max(1e-6) {
                    println!("step {step}: {:.1e}", compared.worst);
                }
            }
        }
        println!("{method:?}: {compared:?}");
        assert!(compared.states > 15 && compared.refused == 0);
        assert!(compared.worst < 1e-6 && compared.unclear <= compared.states / 10);
    }
}
