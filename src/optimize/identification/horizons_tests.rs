use super::*;
use crate::contact::{Collider, Material};
use crate::field::RigidSurface;
use crate::geometry::Shape;
use crate::multibody::{
    Body, BodyGeometry, MassProperties, MassSource, ModelBuilder, NamedMaterial, NoForces,
};
use crate::rollout::{Rollout, SimulationSettings};
use crate::spatial::{Quaternion, RigidTransform, SpatialVelocity};
use crate::step::Integrator;
use nalgebra::{Matrix3, Vector3};

/// Half the edge of the cube, m.
const HALF: f64 = 0.05;

/// A rigid cube over a compliant half-space whose surface is at a height in m; or, `on_box`, over a rigid
/// box on it, which a compliant cube falls on.
fn model(height: f64, on_box: bool) -> Model {
    let material = Material::new(1e6, 1.0, 0.3);
    let cube = Shape::Box { size: [2.0 * HALF; 3] };
    let geometry = |collider: Collider, height: f64| {
        let x_bg = RigidTransform::from_translation([0.0, 0.0, height]);
        BodyGeometry::new(collider).at(x_bg).of_material(0)
    };
    let rigid = |shape: Shape| Collider::rigid(RigidSurface::new(shape.surface_mesh(1.0).unwrap()), material);
    let (falling, table) = if on_box {
        let slab = Shape::Box { size: [1.0, 1.0, 0.2] };
        (Collider::of_shape(&cube, 1.0, material).unwrap(), geometry(rigid(slab), height - 0.1))
    } else {
        (rigid(cube), geometry(Collider::compliant_half_space(material, 0.1), height))
    };
    let mass = MassProperties {
        mass: 0.4,
        center_of_mass: Vector3::zeros(),
        inertia: Matrix3::from_diagonal_element(7e-4),
    };
    let bodies = vec![
        Body::free("cube", MassSource::Given(mass), vec![geometry(falling, 0.0)]).unwrap(),
        Body::fixed("table", RigidTransform::identity(), vec![table]),
    ];
    let materials = vec![NamedMaterial { name: "pad".into(), material }];
    ModelBuilder { bodies, materials, ..Default::default() }.build().unwrap()
}

fn settings() -> SimulationSettings {
    SimulationSettings { integrator: Integrator::SemiImplicitEuler, time_step: 1e-3 }
}

/// What the model does from a fall onto a corner, every 5 ms for 0.25 s.
fn recording(model: &Model) -> Recording {
    let orientation = Quaternion::from_wxyz(0.9, 0.2, -0.3, 0.1).normalized();
    let velocity = SpatialVelocity::new(Vector3::new(3.0, 1.0, -2.0), Vector3::new(0.5, 0.2, -0.6));
    let body = BodyState { orientation, position: Vector3::new(0.0, 0.0, 0.15), velocity };
    let mut state = State::of_bodies(vec![body]);
    let mut states = Vec::new();
    for k in 0..=50 {
        states.push(RecordedState { time: 5e-3 * f64::from(k), body: state.bodies[0], line: None });
        let trajectory = Rollout::new(model, &state, settings(), 5e-3).simulate().unwrap();
        state = trajectory.states.last().unwrap().clone();
    }
    Recording { name: "made up".into(), states }
}

fn errors(model: &Model, recording: Recording, names: &[&str], values: &[f64]) -> HorizonErrors {
    let sigma = StandardDeviations {
        position: 1e-3,
        orientation: 1e-2,
        linear_velocity: None,
        angular_velocity: None,
        loss: Loss::Squares,
        starts: None,
    };
    let motion = RecordedMotion::new(model, "cube", recording, &sigma, &TimeWindow::default()).unwrap();
    let state = State::of_bodies(vec![posed(&motion.states().unwrap().recording.states[0]).bodies[0]]);
    let names = names.iter().copied();
    let measurements = vec![Measurement::Motion(motion)];
    let problem =
        Identification::new(model.clone(), state, settings(), NoForces, names, measurements).unwrap();
    problem.horizon_errors(values, &[10, 1, 100]).unwrap()
}

/// The height of the lowest corner of a recorded cube, m.
fn lowest(recorded: &RecordedState) -> f64 {
    let rotation = recorded.body.orientation.to_matrix();
    let corner = |i: u32| Vector3::from_fn(|k, _| if i >> k & 1 == 0 { HALF } else { -HALF });
    let heights = (0..8).map(|i| (recorded.body.position + rotation * corner(i)).z);
    heights.fold(f64::INFINITY, f64::min)
}

#[test]
fn what_the_model_itself_did_is_predicted_without_error() {
    for (height, on_box) in [(0.0, false), (0.02, false), (-0.03, true)] {
        let model = model(height, on_box);
        let recording = recording(&model);
        let touch = recording.states.iter().position(|s| lowest(s) - height < 1e-3).expect("it lands");
        assert!(touch > 5, "it flies first");
        let found = errors(&model, recording, &[], &[]);
        let HorizonErrors { recordings, mean } = &found;
        assert_eq!(recordings[0].start_sample, Some(touch - 2), "{height} {on_box}");
        assert_eq!(recordings[0].horizons[0], mean[0]);
        let (position, rotation) = (mean[0].position.unwrap(), mean[0].rotation.unwrap());
        assert!(position < 1e-8 && rotation < 1e-6, "{found:?}");
        assert_eq!(mean[2], HorizonError { samples: 100, position: None, rotation: None });
    }
}

#[test]
fn a_recording_that_is_moved_after_the_start_is_as_far_off_as_it_was_moved() {
    let model = model(0.0, false);
    let mut recording = recording(&model);
    let touch = recording.states.iter().position(|s| lowest(s) < 1e-3).unwrap();
    let names = ["bodies.table.shift[2]"];
    // By 1 mm at the first time after the start, by 2 mm at the second, and so on.
    for (k, state) in recording.states[touch - 2..].iter_mut().enumerate() {
        state.body.position.y += 1e-3 * k as f64;
        state.body.orientation = state.body.orientation.rotated_by(&Vector3::new(0.0, 0.0, 0.01 * k as f64));
    }
    let found = errors(&model, recording.clone(), &names, &[0.0]).mean;
    for (error, expected) in found.iter().zip([5.5, 1.0]) {
        assert!((error.position.unwrap() - expected * 1e-3).abs() < 1e-8, "{found:?}");
        assert!((error.rotation.unwrap() - expected * 1e-2).abs() < 1e-6, "{found:?}");
    }
    // Parameters change what is predicted, and not where it starts.
    let raised = errors(&model, recording, &names, &[0.02]);
    assert_eq!(raised.recordings[0].start_sample, Some(touch - 2));
    assert!(raised.mean[0].position.unwrap() > 6e-3, "{raised:?}");
}

#[test]
fn a_recording_in_flight_has_no_start_and_one_in_contact_starts_at_its_beginning() {
    let model = model(0.0, false);
    let all = recording(&model);
    let touch = all.states.iter().position(|s| lowest(s) < 1e-3).unwrap();
    let cut = |range: std::ops::Range<usize>| Recording { states: all.states[range].to_vec(), ..all.clone() };
    let flying = errors(&model, cut(0..touch), &[], &[]);
    assert_eq!(flying.recordings[0].start_sample, None);
    assert!(flying.recordings[0].horizons.iter().chain(&flying.mean).all(|error| error.position.is_none()));
    let late = errors(&model, cut(touch..touch + 5), &[], &[]);
    assert_eq!(late.recordings[0].start_sample, Some(0));
    assert!(late.mean[1].position.is_some() && late.mean[0].position.is_none());
}

#[test]
fn a_horizon_of_no_samples_is_refused() {
    let model = model(0.0, false);
    let recording = recording(&model);
    let state = posed(&recording.states[0]);
    let sigma = StandardDeviations {
        position: 1.0,
        orientation: 1.0,
        linear_velocity: None,
        angular_velocity: None,
        loss: Loss::Squares,
        starts: None,
    };
    let motion = RecordedMotion::new(&model, "cube", recording, &sigma, &TimeWindow::default()).unwrap();
    let measurements = vec![Measurement::Motion(motion)];
    let problem = Identification::new(model, state, settings(), NoForces, [], measurements).unwrap();
    let refused = problem.horizon_errors(&[], &[10, 0]).unwrap_err().to_string();
    assert_eq!(refused, "`horizons` is 0, it must be at least 1");
}
