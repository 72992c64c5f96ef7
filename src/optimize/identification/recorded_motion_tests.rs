use super::*;
use crate::contact::{Collider, ContactModel, ContactSettings, Material};
use crate::geometry::Shape;
use crate::multibody::{
    AppliedForces, Body, BodyGeometry, BodyState, Forces, MassProperties, MassSource, ModelBuilder,
    NamedMaterial, NoForces,
};
use crate::optimize::data::{RecordedState, Recording};
use crate::optimize::fit::{FitSettings, Method, fit};
use crate::optimize::identification::deviations::StartDeviations;
use crate::optimize::identification::recorded_states::state_of;
use crate::optimize::identification::{Identification, Loss, Measurement, StandardDeviations, TimeWindow};
use crate::optimize::least_squares::{Residuals, residuals_and_jacobian};
use crate::optimize::parameters::{FitParameter, FitParameters};
use crate::optimize::uncertainty::{Estimate, Identifiability};
use crate::rollout::Rollout;
use crate::spatial::{Quaternion, RigidTransform, SpatialForce, SpatialVelocity};
use crate::step::{ControlledMethod, ErrorControlled, Integrator, StepWorkspace};
use nalgebra::{DVector, Matrix3, Vector3};

#[path = "estimated_start_tests.rs"]
mod estimated_starts;
#[path = "resumed_tests.rs"]
mod resumed;

/// A pad below z = 0 that pushes with modulus · depth · (1 − dissipation · v_z) at a corner of
/// the body, from the parameters of the model's first material: impacts without contact queries.
#[derive(Clone, Debug)]
struct Pad;

impl AppliedForces for Pad {
    fn apply<T: Scalar>(&self, model: &Model<T>, state: &State<T>, _: f64, _: &[T], forces: &mut Forces<T>) {
        let material = &model.materials[0].material;
        for (body, force) in state.bodies.iter().zip(&mut forces.bodies) {
            let arm = body.orientation.to_matrix() * Vector3::new(0.02, 0.01, -0.05).map(T::from);
            let depth = -(body.position.z + arm.z);
            if depth.real() > 0.0 {
                let v = body.velocity.shifted(&arm).translational.z;
                let push = material.hydroelastic_modulus * depth * (T::from(1.0) - material.dissipation * v);
                let f = Vector3::new(T::from(0.0), T::from(0.0), push);
                *force += SpatialForce::new(arm.cross(&f), f);
            }
        }
    }
}

fn given(mass: f64, inertia: Matrix3<f64>) -> MassSource {
    MassSource::Given(MassProperties { mass, center_of_mass: Vector3::zeros(), inertia })
}

fn model(other: Option<Body>) -> Model {
    let material = Material::new(2000.0, 0.3, 0.5);
    let inertia = Matrix3::from_diagonal(&Vector3::new(1e-3, 1.5e-3, 2e-3));
    let source = given(0.4, inertia);
    let bodies = vec![Body::free("block", source, vec![]).unwrap()].into_iter().chain(other).collect();
    let materials = vec![NamedMaterial { name: "pad".into(), material }];
    ModelBuilder { bodies, materials, ..Default::default() }.build().unwrap()
}

fn start() -> RecordedState {
    let body = BodyState {
        position: Vector3::new(0.1, -0.2, 0.12),
        orientation: Quaternion::from_wxyz(0.9, 0.1, -0.3, 0.2),
        velocity: SpatialVelocity::new(Vector3::new(1.0, -2.0, 0.7), Vector3::new(0.3, 0.1, -0.5)),
    };
    RecordedState { time: 0.25, body, line: None }
}

/// First-order explicit steps, whose errors show.
pub(super) const EXPLICIT: SimulationSettings =
    SimulationSettings { integrator: Integrator::SemiImplicitEuler, time_step: 1e-3 };

/// What the model does from the start, every 10 ms for 0.4 s (through an impact), with noise.
fn recording(noise: f64) -> Recording {
    recording_with(noise, &EXPLICIT)
}

fn recording_with(noise: f64, settings: &SimulationSettings) -> Recording {
    let model = model(None);
    let (mut workspace, mut steps) =
        (StepWorkspace::default(), Steps { settings, commands: &[], held: None });
    let mut states = vec![start()];
    for k in 1..=40 {
        let last = states[k - 1];
        let time = start().time + 0.01 * k as f64;
        let span = last.time..time;
        let next = steps.advance((&model, &Pad), state_of(&last), span, &mut workspace, &mut Vec::new());
        states.push(RecordedState { time, body: next.unwrap().bodies[0], line: None });
    }
    for (k, state) in states.iter_mut().enumerate().skip(1) {
        let wave = |phase: f64| noise * (5.3 * (k * k) as f64 + 2.1 * phase).sin();
        state.body.position += Vector3::new(wave(0.0), wave(1.0), wave(2.0));
        state.body.orientation =
            state.body.orientation.rotated_by(&Vector3::new(wave(3.0), wave(4.0), wave(5.0)));
    }
    Recording { name: "made up".into(), states }
}

fn sigma() -> StandardDeviations {
    StandardDeviations {
        position: 1e-3,
        orientation: 1e-2,
        linear_velocity: Some(0.1),
        angular_velocity: None,
        loss: Loss::Squares,
        starts: None,
    }
}

fn identification(names: &[&str], noise: f64, horizon: f64) -> Identification<Pad> {
    identification_of(names, recording(noise), horizon, EXPLICIT)
}

fn identification_of(
    names: &[&str],
    recording: Recording,
    horizon: f64,
    settings: SimulationSettings,
) -> Identification<Pad> {
    let model = model(None);
    let window = TimeWindow { horizon, ..Default::default() };
    let motion = RecordedMotion::new(&model, "block", recording, &sigma(), &window).unwrap();
    let state = state_of(&start());
    Identification::new(model, state, settings, Pad, names.iter().copied(), vec![Measurement::Motion(motion)])
        .unwrap()
}

const NAMES: [&str; 4] = [
    "materials.pad.hydroelastic_modulus",
    "materials.pad.dissipation",
    "bodies.block.mass",
    "materials.pad.friction",
];

#[test]
fn the_true_parameters_reproduce_a_recording_without_noise() {
    for horizon in [0.05, f64::INFINITY] {
        let problem = identification(&NAMES, 0.0, horizon);
        let residuals = problem.residuals(&[2000.0, 0.3, 0.4, 0.5]).unwrap();
        assert_eq!(residuals.len(), 40 * 9);
        assert!(residuals.iter().all(|r: &f64| r.abs() < 1e-9));
        let wrong = problem.residuals(&[1500.0, 0.3, 0.4, 0.5]).unwrap();
        assert!(wrong.iter().any(|r: &f64| r.abs() > 1.0));
    }
}

#[test]
fn a_fit_by_error_controlled_steps_converges_with_its_substeps_held() {
    let method = ControlledMethod::BogackiShampine;
    let settings = |accuracy: f64| {
        let integrator = Integrator::ErrorControlled(ErrorControlled { method, accuracy });
        SimulationSettings { integrator, time_step: 0.01 }
    };
    let recording = recording_with(1e-3, &settings(1e-8));
    let problem = identification_of(&NAMES[..2], recording, 0.4, settings(1e-5));
    let at = [1900.0, 0.35];
    let held = problem.find_substeps(&at).unwrap();
    let steps = held.stretches.iter().map(Vec::len).sum::<usize>();
    assert!(steps == 40 && held.stretches.iter().flatten().any(|substeps| substeps.len() > 1), "{held:?}");
    // At the same parameters they are the same residuals, and their derivative is that with the substeps held.
    assert_eq!(problem.residuals_holding(&at, &held).unwrap(), problem.residuals(&at).unwrap());
    let (_, jacobian) = residuals_and_jacobian(&problem, &at).unwrap();
    for i in 0..2 {
        let moved = |s: f64| {
            let mut p = at;
            p[i] *= 1.0 + s;
            problem.residuals_holding(&p, &held).unwrap()
        };
        let (plus, minus) = (moved(1e-6), moved(-1e-6));
        let difference = |k: usize| (plus[k] - minus[k]) / (2e-6 * at[i]);
        let off = (0..plus.len()).map(|k| (difference(k) - jacobian[(k, i)]).abs()).fold(0.0, f64::max);
        assert!(off < 1e-6 * jacobian.column(i).amax(), "{off}");
    }
    let unknown = |name: &str, start: f64| FitParameter::new(name, start).bounded(0.01, 1e5).logarithmic();
    let parameters = FitParameters::new(vec![unknown(NAMES[0], 1200.0), unknown(NAMES[1], 0.8)]).unwrap();
    for method in [Method::LevenbergMarquardt, Method::Lbfgs] {
        let settings = FitSettings { method, ..Default::default() };
        let result = fit(&problem, &parameters, &settings, None).unwrap();
        assert!(result.converged, "{}", result.termination);
        for (estimate, truth) in result.uncertainty.estimates.iter().zip([2000.0, 0.3]) {
            let error = estimate.standard_error.unwrap();
            assert!((estimate.value - truth).abs() < 4.0 * error, "{estimate:?}");
        }
    }
}

#[test]
fn the_jacobian_agrees_with_differences() {
    let problem = identification(&NAMES[..3], 1e-3, 0.1);
    let at = [1700.0, 0.4, 0.45];
    let (residuals, jacobian) = residuals_and_jacobian(&problem, &at).unwrap();
    assert_eq!(residuals, problem.residuals(&at).unwrap());
    for i in 0..3 {
        let h = 1e-6 * at[i];
        let moved = |s: f64| {
            let mut p = at;
            p[i] += s * h;
            problem.residuals(&p).unwrap()
        };
        let (plus, minus) = (moved(1.0), moved(-1.0));
        let largest = jacobian.column(i).amax();
        assert!(largest > 0.0);
        for k in 0..residuals.len() {
            let difference = (plus[k] - minus[k]) / (2.0 * h);
            assert!((difference - jacobian[(k, i)]).abs() < 1e-6 * largest, "{k} {i}");
        }
    }
}

#[test]
fn a_noisy_recording_gives_the_parameters_within_their_errors_and_says_what_it_does_not_give() {
    let problem = identification(&[NAMES[0], NAMES[1], NAMES[3]], 1e-3, 0.1);
    assert!((0..3).all(|i| problem.is_never_negative(i)));
    let parameters = FitParameters::new(vec![
        FitParameter::new(NAMES[0], 800.0).bounded(100.0, 1e5).logarithmic(),
        FitParameter::new(NAMES[1], 0.05).bounded(0.0, 5.0),
        FitParameter::new(NAMES[3], 0.4).bounded(0.0, 1.0),
    ])
    .unwrap();
    for method in [Method::LevenbergMarquardt, Method::Lbfgs] {
        let result = fit(&problem, &parameters, &FitSettings { method, ..Default::default() }, None).unwrap();
        assert!(result.converged && result.cost_after < 0.1 * result.cost_before, "{result:?}");
        let estimates = &result.uncertainty.estimates;
        for (estimate, truth) in estimates.iter().zip([2000.0, 0.3]) {
            assert!(estimate.identifiability.is_identified(), "{estimate:?}");
            assert!((estimate.value - truth).abs() < 4.0 * estimate.standard_error.unwrap(), "{estimate:?}");
        }
        assert_eq!(estimates[2].identifiability, Identifiability::NoDependence);
    }
    // What is left is the noise, once at each end of a comparison.
    let errors = problem.errors(&[2000.0, 0.3, 0.5]).unwrap();
    let MeasurementError::Motion { times, position, .. } = &errors[0] else { panic!("{errors:?}") };
    assert_eq!(*times, 40);
    assert!(*position > 5e-4 && *position < 5e-3, "{errors:?}");
}

#[test]
fn windows_share_their_ends_and_cover_every_recorded_time() {
    let model = model(None);
    let motion = |horizon, from, until| {
        let window = TimeWindow { from, until, horizon, ..Default::default() };
        RecordedMotion::new(&model, "block", recording(0.0), &sigma(), &window)
    };
    let windows =
        |horizon, from, until| motion(horizon, from, until).unwrap().states().unwrap().windows.clone();
    let all = (f64::NEG_INFINITY, f64::INFINITY);
    assert_eq!(windows(f64::INFINITY, all.0, all.1), std::slice::from_ref(&(0..41)));
    assert_eq!(windows(0.2, all.0, all.1), [0..21, 20..41]);
    assert_eq!(windows(0.15, all.0, all.1), [0..16, 15..31, 30..41]);
    // A horizon shorter than the recorded interval still reaches the next recorded time.
    assert_eq!(motion(1e-4, all.0, all.1).unwrap().windows(), 40);
    assert_eq!(windows(0.05, 0.295, 0.365), [5..11, 10..12]);
    let refused = |r: Result<RecordedMotion, ProblemError>| r.unwrap_err().to_string();
    assert!(refused(motion(0.1, 5.0, 6.0)).contains("fewer than two recorded times"));
    assert!(refused(motion(0.0, 0.0, 1.0)).contains("`horizon` is 0"));
}

#[test]
fn what_does_not_fit_together_is_refused() {
    let with = |model: &Model, body: &str| {
        RecordedMotion::new(model, body, recording(0.0), &sigma(), &TimeWindow::default())
            .unwrap_err()
            .to_string()
    };
    let fixed = Body::fixed("table", crate::spatial::RigidTransform::identity(), vec![]);
    let free = Body::free("other", given(1.0, Matrix3::identity()), vec![]).unwrap();
    assert_eq!(with(&model(None), "cube"), "no body `cube`; the scene has `block`");
    assert!(with(&model(Some(fixed)), "table").contains("`table` is fixed"));
    assert!(with(&model(Some(free)), "block").contains("body `other` is free"));
    let bad = StandardDeviations { position: -1.0, ..sigma() };
    let refused = RecordedMotion::new(&model(None), "block", recording(0.0), &bad, &TimeWindow::default());
    assert!(refused.unwrap_err().to_string().contains("`position_sigma` is -1"));

    let bad = StandardDeviations { loss: Loss::Huber { limit: 0.0 }, ..sigma() };
    let refused = RecordedMotion::new(&model(None), "block", recording(0.0), &bad, &TimeWindow::default());
    assert!(refused.unwrap_err().to_string().contains("`outlier_limit` is 0"));

    let motion = RecordedMotion::new(&model(None), "block", recording(0.0), &sigma(), &TimeWindow::default());
    let measurement = Measurement::Motion(motion.unwrap());
    let named = |names: &[&str], measurements: Vec<Measurement>| {
        let settings = EXPLICIT;
        let state = state_of(&start());
        Identification::new(model(None), state, settings, Pad, names.iter().copied(), measurements)
            .unwrap_err()
            .to_string()
    };
    let measured = || vec![measurement.clone()];
    assert!(
        named(&["materials.foam.friction"], measured()).contains("no material `foam`; the scene has `pad`")
    );
    assert!(named(&["materials.pad.modulus"], measured()).contains("`hydroelastic_modulus`"));
    assert!(named(&["bodies.block.geometries[0].scale"], measured()).contains("has 0 geometries"));
    assert!(named(&["bodies.block.geometries[x].scale"], measured()).contains("it must be `materials"));
    assert!(named(&["bodies.block.size"], measured()).contains("no `size`"));
    assert!(named(&["bodies.cube.mass"], measured()).contains("no body `cube`"));
    assert!(named(&["gravity"], measured()).contains("it must be `materials"));
    let twice = ["materials.pad.friction", "materials.pad.static_friction"];
    assert!(named(&twice, measured()).contains("set the same quantity"));
    assert!(named(&[], vec![]).contains("no measurements"));
}

#[test]
fn jacobians_of_steps_give_the_derivative_that_forward_mode_gives() {
    let controlled = Integrator::ErrorControlled(ErrorControlled {
        method: ControlledMethod::BogackiShampine,
        accuracy: 1e-5,
    });
    let controlled = SimulationSettings { integrator: controlled, time_step: 0.01 };
    let names = [NAMES[0], NAMES[1], NAMES[2], "gravity[2]", "bodies.block.inertia[0][1]"];
    for settings in [EXPLICIT, controlled] {
        let problem = identification_of(&names, recording(1e-3), 0.1, settings);
        let at = [1700.0, 0.4, 0.45, -9.5, 1e-4];
        let held = problem.find_substeps(&at).unwrap();
        let (expected, jacobian) = residuals_and_jacobian(&problem, &at).unwrap();
        for substeps in [None, Some(&held)] {
            let (residuals, by_steps) = problem.minimized_with_jacobian(&at, substeps).unwrap();
            let largest = expected.iter().fold(0.0, |a: f64, b| a.max(b.abs()));
            assert!(residuals.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-11 * largest));
            for (column, expected) in by_steps.column_iter().zip(jacobian.column_iter()) {
                let off = (column - expected).amax();
                assert!(expected.amax() > 0.0 && off < 1e-9 * expected.amax(), "{off}");
            }
        }
    }
}

/// Bristles are a state that is not recorded: each window begins without deflection.
#[test]
fn recordings_of_bodies_with_bristles_are_fitted() {
    let material = Material::new(1e5, 1.0, 0.5);
    let geometry = |collider: Collider| vec![BodyGeometry::new(collider).of_material(0)];
    let block = geometry(Collider::of_shape(&Shape::Box { size: [0.1; 3] }, 0.1, material).unwrap());
    let inertia = Matrix3::from_diagonal(&Vector3::new(1e-3, 1.5e-3, 2e-3));
    let block = Body::free("block", given(0.4, inertia), block).unwrap();
    let floor = geometry(Collider::rigid_half_space(material));
    let floor = Body::fixed("floor", RigidTransform::identity(), floor);
    let materials = vec![NamedMaterial { name: "pad".into(), material }];
    let contact = ContactSettings { bristle_length: Some(1e-5), ..Default::default() };
    let bodies = vec![block, floor];
    let model = ModelBuilder { bodies, materials, contact, ..Default::default() }.build().unwrap();
    let mut first = start();
    (first.body.position, first.body.orientation) = (Vector3::new(0.0, 0.0, 0.0495), Quaternion::identity());
    first.body.velocity = SpatialVelocity::new(Vector3::zeros(), Vector3::new(0.4, 0.0, 0.0));
    let integrator = Integrator::velocity_level(ContactModel::Lagged);
    let settings = SimulationSettings { integrator, time_step: 1e-3 };
    let initial = state_of(&first);
    let motion = Rollout::new(&model, &initial, settings, 0.1).simulate().unwrap();
    let recorded = |(k, state): (usize, &State)| RecordedState {
        time: first.time + 1e-3 * k as f64,
        body: state.bodies[0],
        line: None,
    };
    let states: Vec<_> = motion.states.iter().enumerate().step_by(10).map(recorded).collect();
    let recording = Recording { name: "made up".into(), states };
    let window = TimeWindow { horizon: f64::INFINITY, ..Default::default() };
    let motion = RecordedMotion::new(&model, "block", recording, &sigma(), &window).unwrap();
    let names = ["materials.pad.friction"];
    let problem =
        Identification::new(model, initial, settings, NoForces, names, vec![Measurement::Motion(motion)])
            .unwrap();
    let (residuals, jacobian) = residuals_and_jacobian(&problem, &[0.5]).unwrap();
    let (_, by_steps) = problem.minimized_with_jacobian(&[0.5], None).unwrap();
    assert!((&by_steps - &jacobian).amax() < 1e-9 * jacobian.amax());
    assert_eq!(residuals.len(), 10 * 9);
    assert!(residuals.iter().all(|r| r.abs() < 1e-6), "{residuals:?}");
    let at = |friction: f64| problem.residuals(&[friction]).unwrap();
    let (plus, minus) = (at(0.5 + 1e-5), at(0.5 - 1e-5));
    let scale = jacobian.amax();
    assert!(scale > 1.0);
    for k in 0..residuals.len() {
        let difference: f64 = (plus[k] - minus[k]) / 2e-5;
        assert!((difference - jacobian[(k, 0)]).abs() < 1e-3 * scale, "{k}: {difference}");
    }
}
