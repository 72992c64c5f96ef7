//! What steps converge to as they shrink: one motion, that of the continuous model.

use std::path::Path;

use isobar::Scene;
use isobar::contact::{
    ContactLaw, ContactModel, ContactSettings, FrictionPoint, MaterialParameter, OwnLaw,
    SurfaceRepresentation,
};
use isobar::multibody::NoForces;
use isobar::multibody::{Model, Parameter, State, seeded};
use isobar::optimize::data::{Columns, RecordedState, Recording};
use isobar::optimize::fit::{FitSettings, fit};
use isobar::optimize::identification::{
    Identification, Loss, Measurement, RecordedMotion, StandardDeviations, TimeWindow,
};
use isobar::optimize::parameters::{FitParameter, FitParameters};
use isobar::rollout::{Rollout, SimulationSettings, Trajectory, discretization_errors, finer_settings};
use isobar::scalar::Scalar;
use isobar::step::{ControlledMethod, ErrorControlled, Integrator, VelocityLevel};
use nalgebra::Vector3;
use rayon::prelude::*;

use crate::step_scenes::{MODELS, ball_on_box, flat_cube, tumbling_cube};

fn controlled(method: ControlledMethod, accuracy: f64) -> Integrator {
    Integrator::ErrorControlled(ErrorControlled { method, accuracy })
}

fn end_of(model: &Model, state: &State, integrator: Integrator, time_step: f64, until: f64) -> State {
    let settings = SimulationSettings { integrator, time_step };
    let mut last = state.clone();
    let outcome =
        Rollout::new(model, state, settings, until).for_each(|report| last.clone_from(report.state));
    outcome.expect("simulates");
    last
}

/// How far the body of two states is apart: its position, and its turn times 5 cm.
fn distance(a: &State, b: &State) -> f64 {
    let apart = a.difference(b);
    let norm = |part: &[f64]| part.iter().map(|x| x * x).sum::<f64>().sqrt();
    norm(&apart[3..6]) + 0.05 * norm(&apart[..3])
}

/// The same scene with these values in both materials.
fn with_materials((model, state): &(Model, State), values: &[(MaterialParameter, f64)]) -> (Model, State) {
    let all: Vec<(Parameter, f64)> = (0..2)
        .flat_map(|material| {
            values.iter().map(move |&(p, x)| (Parameter::Material { material, parameter: p }, x))
        })
        .collect();
    seeded(model, state, &all).expect("valid values")
}

/// A ball that comes down turning and slips through its impact.
fn slipping_ball(stiction_velocity: f64) -> (Model, State) {
    let (model, mut state) = ball_on_box(0.07, SurfaceRepresentation::Triangles);
    state.bodies[0].position.z = 0.052;
    state.bodies[0].velocity.translational.z = -0.3;
    state.bodies[0].velocity.translational.x = 1.0;
    let mut builder = model.into_builder();
    builder.contact.stiction_velocity = stiction_velocity;
    // The points that steps have.
    builder.contact.quadrature_order = Some(1);
    (builder.build().expect("a valid model"), state)
}

/// The errors of steps of 1/2, 1/8 and 1/32 ms.
fn errors(scene: &(Model, State), kind: ContactModel, reference: &State, until: f64) -> Vec<f64> {
    let error = |dt: f64| {
        distance(reference, &end_of(&scene.0, &scene.1, Integrator::velocity_level(kind), dt, until))
    };
    [5e-4, 1.25e-4, 3.125e-5].into_par_iter().map(error).collect()
}

fn assert_first_order(what: &str, errors: &[f64]) {
    let order = (errors[0] / errors[2]).log(16.0);
    println!("{what}: {errors:?} m, order {order:.2}");
    assert!((order - 1.0).abs() < 0.2, "{what}: {errors:?}, order {order}");
}

/// All kinds, where bodies slip: there they are one model, with the normal damping that each of them has in
/// common with explicit steps. `sap` damps by a relaxation time, and `similar` by a normal velocity that the slip
/// reduces, so that these two have none.
#[test]
fn all_kinds_of_velocity_level_steps_converge_to_the_continuous_motion_in_first_order() {
    use MaterialParameter::{Dissipation, DynamicFriction, RelaxationTime, StaticFriction};
    let until = 0.05;
    let scene = slipping_ball(1e-5);
    for kind in MODELS {
        let damped = matches!(kind, ContactModel::Lagged | ContactModel::Tamsi);
        let values = [
            (Dissipation, if damped { 1.0 } else { 0.0 }),
            (RelaxationTime, 0.0),
            (StaticFriction, 0.1),
            (DynamicFriction, 0.1),
        ];
        let scene = with_materials(&scene, &values);
        let reference = controlled(ControlledMethod::DormandPrince, 1e-10);
        let reference = end_of(&scene.0, &scene.1, reference, 0.01, until);
        assert_first_order(&format!("{kind:?}"), &errors(&scene, kind, &reference, until));
    }
}

/// Friction as other steps have it, μ v_t/√(|v_t|² + v_s²), written as a coefficient for TAMSI's own transition
/// from sticking to slipping.
#[derive(Debug)]
struct SmoothTransition;

const STICTION_VELOCITY: f64 = 1e-2;

impl ContactLaw for SmoothTransition {
    fn friction_coefficient<T: Scalar>(&self, at: &FrictionPoint<T>) -> T {
        let soft = at.slip_speed / STICTION_VELOCITY;
        let square = soft * soft - 1.0;
        // At rest the ratio, whose derivative a root of zero is in, has no weight.
        let ratio = if square.real() > 1e-20 { square.sqrt() } else { T::from(0.0) };
        let part = if ratio.real() < 1.0 { (T::from(2.0) - ratio).recip() } else { ratio };
        at.dynamic_friction * part / soft
    }
}

/// From slipping to rolling; TAMSI, whose transition from sticking to slipping is another, with a law that makes
/// it the same.
#[test]
fn steps_converge_to_the_continuous_motion_through_stiction() {
    let until = 0.12;
    let scene = |law| {
        let (model, mut state) = slipping_ball(STICTION_VELOCITY);
        state.bodies[0].velocity.translational.x = 0.05;
        let mut builder = model.into_builder();
        builder.contact.law = law;
        (builder.build().expect("a valid model"), state)
    };
    let plain = scene(None);
    let reference = controlled(ControlledMethod::Radau, 1e-9);
    let reference = end_of(&plain.0, &plain.1, reference, 0.01, until);
    assert_first_order("Lagged", &errors(&plain, ContactModel::Lagged, &reference, until));
    let own = scene(Some(OwnLaw::new(&SmoothTransition)));
    assert_first_order("Tamsi, own law", &errors(&own, ContactModel::Tamsi, &reference, until));
}

/// A soft cube slides on a rigid plane that it lies flat on. The elements of its lateral faces reach the surface and have no
/// pressure gradient across it, but they bear a part of the load.
#[test]
fn steps_of_a_body_that_lies_flat_converge_to_the_continuous_motion() {
    use MaterialParameter::{DynamicFriction, RelaxationTime, StaticFriction};
    let until = 0.03;
    let values = [(RelaxationTime, 0.0), (StaticFriction, 0.1), (DynamicFriction, 0.1)];
    let scene = with_materials(&flat_cube(4e-4, Vector3::new(0.6, 0.2, 0.0), 1e-5), &values);
    let reference = controlled(ControlledMethod::DormandPrince, 1e-10);
    let reference = end_of(&scene.0, &scene.1, reference, 0.01, until);
    for kind in MODELS {
        assert_first_order(&format!("{kind:?}"), &errors(&scene, kind, &reference, until));
    }
}

/// A cube that lands on a corner and tumbles on, with slip.
#[test]
fn the_error_of_a_tumbling_cube_falls_with_the_accuracy() {
    let settings = ContactSettings {
        stiction_velocity: 1e-2,
        surface: SurfaceRepresentation::Triangles,
        quadrature_order: Some(2),
        ..Default::default()
    };
    let (model, state) = tumbling_cube(0.5, 0.4, settings);
    let until = 0.1;
    // The whole motion is one step, so that the accuracy alone makes substeps.
    let end = |method, accuracy| end_of(&model, &state, controlled(method, accuracy), until, until);
    let reference = end(ControlledMethod::DormandPrince, 1e-11);
    let lagged = VelocityLevel { model: ContactModel::Lagged, ..Default::default() };
    for method in [ControlledMethod::Radau, ControlledMethod::Extrapolated(lagged)] {
        // At 1e-3 m the motion is a few substeps.
        let accuracies = [1e-4, 1e-5, 1e-6, 1e-7, 1e-8];
        let errors: Vec<f64> =
            accuracies.into_par_iter().map(|accuracy| distance(&reference, &end(method, accuracy))).collect();
        let slope = (errors[0] / errors[4]).log10() / 4.0;
        println!("{method:?}: {errors:?}, slope {slope:.2}");
        assert!((slope - 1.0).abs() < 0.2, "{method:?}: {slope}");
        for (accuracy, error) in accuracies.iter().zip(&errors) {
            assert!(error < accuracy, "{method:?}: {error:e} at {accuracy:e}");
        }
    }
}

/// SAP's friction as its own regularization has it jumps in the limit, and steps of controlled error do not converge where a
/// rolling ball lifts off.
#[test]
fn the_error_of_sap_falls_with_the_accuracy() {
    let (model, mut state) = slipping_ball(1e-3);
    state.bodies[0].velocity.translational.x = 0.1;
    let mut builder = model.into_builder();
    builder.contact.sap_stiction = true;
    let model = builder.build().expect("a valid model");
    let sap = VelocityLevel { model: ContactModel::Sap, ..Default::default() };
    let until = 0.14;
    let end = |accuracy| {
        end_of(&model, &state, controlled(ControlledMethod::Extrapolated(sap), accuracy), 0.007, until)
    };
    let accuracies = [1e-4, 1e-5, 1e-6, 1e-8];
    let ends: Vec<State> = accuracies.into_par_iter().map(end).collect();
    let errors: Vec<f64> = ends[..3].iter().map(|end| distance(&ends[3], end)).collect();
    println!("{errors:?}");
    for (accuracy, error) in accuracies.iter().zip(&errors) {
        assert!(*error < 4.0 * accuracy, "{error:e} at {accuracy:e}");
    }
}

/// What `isobar simulate --error` tells, beside the error itself.
#[test]
fn a_tenth_of_the_accuracy_tells_the_error() {
    let (model, state) = slipping_ball(1e-2);
    let until = 0.1;
    let lagged = VelocityLevel { model: ContactModel::Lagged, ..Default::default() };
    let run = |settings| Rollout::new(&model, &state, settings, until).simulate().expect("simulates");
    let of =
        |method, accuracy| SimulationSettings { integrator: controlled(method, accuracy), time_step: 0.01 };
    let exact = run(of(ControlledMethod::DormandPrince, 1e-10));
    for method in [
        ControlledMethod::BogackiShampine,
        ControlledMethod::Extrapolated(lagged),
        ControlledMethod::VelocityLevel(lagged),
    ] {
        let settings = of(method, 1e-6);
        let (coarse, fine) = (run(settings), run(finer_settings(&settings)));
        let told = &discretization_errors(&model, settings.integrator, &coarse, &fine)[0];
        let place = |trajectory: &Trajectory| trajectory.states.last().expect("states").bodies[0].position;
        let error = (place(&coarse) - place(&exact)).norm();
        println!("{method:?}: {:e} told, {error:e}", told.position[0]);
        // It is not said to be less than the finer motion may have.
        let differs = told.position[0] - 0.1 * 1e-6;
        assert!((0.4..2.5).contains(&(differs / error)), "{method:?}: {told:?}, {error:e}");
    }
}

/// Modulus, dissipation and friction of a motion that was made by an accurate explicit method, from other values.
#[test]
fn a_fit_by_lagged_steps_of_an_accuracy_finds_the_continuous_models_parameters() {
    let scene = slipping_ball(1e-2);
    let time_step = 0.01;
    let settings =
        SimulationSettings { integrator: controlled(ControlledMethod::DormandPrince, 1e-9), time_step };
    let motion = Rollout::new(&scene.0, &scene.1, settings, 0.2).simulate().expect("simulates");
    let recorded =
        |(time, state): (&f64, &State)| RecordedState { time: *time, body: state.bodies[0], line: None };
    let states = motion.times.iter().zip(&motion.states).map(recorded).collect();
    let recording = Recording { name: "a ball".into(), states };
    let sigma = StandardDeviations {
        position: 1e-3,
        orientation: 1e-2,
        linear_velocity: Some(0.02),
        angular_velocity: Some(0.2),
        loss: Loss::Squares,
        starts: None,
    };
    let (model, state) = scene;
    let body = model.bodies()[0].name.clone();
    let motion =
        RecordedMotion::new(&model, &body, recording, &sigma, &TimeWindow::default()).expect("valid");
    let lagged = VelocityLevel { model: ContactModel::Lagged, ..Default::default() };
    let integrator = controlled(ControlledMethod::Extrapolated(lagged), 1e-5);
    let names =
        ["hydroelastic_modulus", "dissipation", "friction"].map(|n| format!("materials.material 0.{n}"));
    let problem = Identification::new(
        model,
        state,
        SimulationSettings { integrator, time_step },
        NoForces,
        names.iter().map(String::as_str),
        vec![Measurement::Motion(motion)],
    )
    .expect("valid");
    let unknown = |k: usize, start: f64, upper: f64| FitParameter::new(&names[k], start).bounded(1e-2, upper);
    let parameters = FitParameters::new(vec![
        unknown(0, 4e4, 1e7).logarithmic(),
        unknown(1, 0.5, 10.0),
        unknown(2, 0.4, 2.0),
    ]);
    let result =
        fit(&problem, &parameters.expect("valid"), &FitSettings::default(), None).expect("simulates");
    println!("{:?} after {} iterations", result.values(), result.iterations);
    assert!(result.converged, "{}", result.termination);
    for (found, exact) in result.values().into_iter().zip([1e5, 1.25, 0.8]) {
        assert!((found / exact - 1.0).abs() < 1e-2, "{found} for {exact}");
    }
}

/// Throws in Drake's continuous model with its law of friction (`examples/fit_ball/in_drake.py`), half a second each with
/// impacts, sliding and spin.
#[test]
fn throws_in_drakes_continuous_model_are_followed_to_a_micrometre() {
    let scene = Scene::load("examples/fit_ball/scene_drake.toml").expect("a scene");
    for k in 0..4 {
        let file = format!("examples/fit_ball/data/drake_{k}.csv");
        let states = Recording::read(Path::new(&file), "ball", &Columns::new()).expect("a recording").states;
        let mut start = scene.state.clone();
        start.bodies[0] = states[0].body;
        let rollout = scene.rollout(states[states.len() - 1].time).expect("a rollout");
        let motion = Rollout { initial: &start, ..rollout }.simulate().expect("simulates");
        assert_eq!(motion.times.len(), states.len());
        for ((time, own), recorded) in motion.times.iter().zip(&motion.states).zip(&states) {
            assert!((time - recorded.time).abs() < 1e-9);
            let apart = (own.bodies[0].position - recorded.body.position).norm();
            assert!(apart < 1e-6, "{file} at {time} s: {apart} m");
        }
    }
}
