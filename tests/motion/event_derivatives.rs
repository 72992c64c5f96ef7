//! Derivatives of events: both modes against each other and against differences, for every kind of geometry; and what is
//! said where there is no event or no derivative.

use nalgebra::Vector3;

use crate::event_scenes::{
    GRAVITY, body_state, controlled, foam, geometry, lagged, lift_off, model, place, touch, up,
};
use crate::folder::Folder;
use crate::moving_bodies::{CONTROLS, Pull, compliant, heap};

use isobar::Scene;
use isobar::contact::{ContactGeometry, ContactSettings};
use isobar::field::{PressureField, RigidSurface, primitive_field};
use isobar::geometry::Shape;
use isobar::multibody::{BodyGeometry, NamedMaterial, Parameter, State, seeded};
use isobar::rollout::{
    Checkpoints, Controls, Event, EventKind, EventLoss, EventMoment, Features, Rollout, SimulationError,
    SimulationSettings, event_gradients, event_loss_gradient,
};
use isobar::scalar::{DualArray, Scalar};
use isobar::spatial::{RigidTransform, rotation_from_rpy};
use isobar::step::{ControlledMethod, Integrator};

/// All times, and all coordinates of states, with weights.
struct Everything;

impl EventLoss for Everything {
    fn value<T: Scalar>(&self, events: &[EventMoment<T>]) -> T {
        let mut sum = T::from(0.0);
        for (i, event) in events.iter().enumerate() {
            sum = sum * 0.7 + event.time * (3.0 + i as f64);
            for body in &event.state.bodies {
                let point =
                    body.orientation.to_matrix() * Vector3::new(0.3, 0.5, -0.2).map(T::from) + body.position;
                sum += point.dot(&point)
                    + body.velocity.translational.x * 0.1
                    + body.velocity.rotational.z * 0.02;
            }
        }
        sum
    }
}

/// Forward and reverse mode against each other, and against differences of what is found at moved values.
fn check(
    rollout: &Rollout<'_>,
    kinds: &[EventKind],
    parameters: &[Parameter],
    every: usize,
    name: &str,
) -> Vec<Event> {
    let lengths = rollout.find_substeps().expect("simulates");
    let is_controlled = lengths.iter().any(|list| !list.is_empty());
    // With the substeps held the events are functions without jumps.
    let rollout = if is_controlled { rollout.holding(&lengths) } else { *rollout };
    let events = rollout.find_events(kinds).expect("simulates");
    assert!(!events.is_empty(), "{name}");
    let forward = event_gradients(&rollout, &events, parameters).expect("simulates");
    let reverse =
        event_loss_gradient(&rollout, &events, &Everything, parameters, Checkpoints::All).expect("simulates");
    let moments = |events: &[Event]| -> Vec<EventMoment> { events.iter().map(Event::moment).collect() };
    assert_eq!(reverse.value, Everything.value(&moments(&events)));
    let at = |parameter: Parameter, value: f64| {
        let (model, initial) =
            seeded(rollout.model, rollout.initial, &[(parameter, value)]).expect("in range");
        let moved = Rollout { model: &model, initial: &initial, ..rollout };
        let found = moved.find_events(kinds).expect("simulates");
        assert_eq!(found.len(), events.len(), "{name}: {}", parameter.name(rollout.model));
        found
    };
    let largest = reverse.by_parameters.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    let mut worst = [0.0_f64; 2];
    for (k, parameter) in parameters.iter().enumerate() {
        // By dual numbers through the loss: its derivative is the sum over events.
        let loss = {
            type Dual = DualArray<1>;
            let moments: Vec<EventMoment<Dual>> = events
                .iter()
                .zip(&forward)
                .map(|(event, by)| EventMoment {
                    time: Dual::new(event.time, [by.time[k]]),
                    state: State::lift(&event.state)
                        .moved(&by.state.column(k).iter().map(|x| Dual::new(0.0, [*x])).collect::<Vec<_>>()),
                })
                .collect();
            Everything.value(&moments).eps[0]
        };
        let error = (loss - reverse.by_parameters[k]).abs() / loss.abs().max(1e-6 * largest);
        worst[0] = worst[0].max(error);
        assert!(
            error < 1e-9,
            "{name} {}: {loss:e} {:e}",
            parameter.name(rollout.model),
            reverse.by_parameters[k]
        );
        if k % every != 0 {
            continue;
        }
        let value = parameter.value(rollout.model).expect("a parameter");
        let scale = if value == 0.0 { 1.0 } else { value.abs() };
        let errors = [1e-4, 2e-5].map(|h| {
            let along = |h: f64| {
                let found = at(*parameter, value + h * scale);
                Everything.value(&moments(&found))
            };
            let difference =
                (8.0 * (along(0.5 * h) - along(-0.5 * h)) - (along(h) - along(-h))) / (6.0 * h * scale);
            (difference - loss).abs() / loss.abs().max(1e-3 * largest / scale)
        });
        let error = errors.into_iter().fold(f64::INFINITY, f64::min);
        worst[1] = worst[1].max(error);
        assert!(error < 1e-6, "{name} {}: {loss:e} {errors:?}", parameter.name(rollout.model));
    }
    println!(
        "{name}: {} events, modes differ by {:.1e}, differences by {:.1e}",
        events.len(),
        worst[0],
        worst[1]
    );
    events
}

/// Two boxes whose edges cross: one turned by 45° about x falls, turning, on the edge along y of another.
#[test]
fn edges_of_two_boxes_touch() {
    let materials = foam(1e5, 0.5);
    let size = [0.12, 0.08, 0.08];
    let block = || compliant(&Shape::Box { size }, 0.1, RigidTransform::identity(), &materials, 0);
    let quarter = std::f64::consts::FRAC_PI_4;
    // The lower one lies along y with an edge on top.
    let lower = RigidTransform::new(
        rotation_from_rpy(0.0, 0.0, 2.0 * quarter) * rotation_from_rpy(quarter, 0.0, 0.0),
        Vector3::zeros(),
    );
    let model = model(vec![block()], vec![(lower, block())], materials.clone());
    let half_diagonal = 0.04 * 2.0_f64.sqrt();
    let height = 0.05;
    let z = 2.0 * half_diagonal + height;
    let fallen = body_state([quarter, 0.0, 0.0], [0.011, 0.007, z], [0.0; 3], [0.0; 3]);
    let start = State::of_bodies(vec![fallen]);
    let settings = |integrator| SimulationSettings { integrator, time_step: 7e-3 };
    let rollout = Rollout::new(&model, &start, settings(Integrator::RungeKutta4), 0.12);
    let events = rollout.find_events(&[touch(&model, 0)]).expect("simulates");
    let time = (2.0 * height / GRAVITY).sqrt();
    assert!((events[0].time - time).abs() < 1e-12, "{:e}", events[0].time - time);
    assert!(matches!(events[0].features, Some(Features::Edges { .. })) && events[0].is_unique, "{events:?}");
    let by = event_gradients(&rollout, &events, &[Parameter::initial_position(0, 2)]).expect("simulates");
    assert!((by[0].time[0] - 1.0 / (GRAVITY * time)).abs() < 1e-8);
    // Turning.
    let turning =
        body_state([quarter + 0.1, 0.05, -0.1], [0.011, 0.007, z], [1.2, -0.4, 0.6], [0.1, -0.05, -0.2]);
    let start = State::of_bodies(vec![turning]);
    let mut parameters: Vec<Parameter> =
        (0..12).map(|index| Parameter::InitialTangent { body: 0, index }).collect();
    for body in [0, 1] {
        parameters.push(Parameter::GeometryScale { body, geometry: 0 });
        parameters.extend((0..6).map(|axis| Parameter::GeometryPose { body, geometry: 0, axis }));
    }
    parameters.extend((0..6).map(|axis| Parameter::FixedPose { body: 1, axis }));
    let rollout = Rollout::new(&model, &start, settings(Integrator::RungeKutta4), 0.12);
    let Some(Features::Edges { of_a, of_b }) =
        rollout.find_events(&[touch(&model, 0)]).expect("simulates")[0].features
    else {
        panic!("edges")
    };
    for (body, vertices) in [(0, of_a), (1, of_b)] {
        for vertex in vertices {
            let vertex = vertex as usize;
            parameters.extend((0..3).map(|axis| Parameter::MeshVertex { body, geometry: 0, vertex, axis }));
        }
    }
    for integrator in [
        Integrator::SemiImplicitEuler,
        Integrator::RungeKutta4,
        Integrator::VelocityLevel(lagged()),
        controlled(ControlledMethod::Extrapolated(lagged()), 1e-3),
    ] {
        let rollout = Rollout::new(&model, &start, settings(integrator), 0.105);
        let every = if integrator == Integrator::RungeKutta4 { 2 } else { 11 };
        check(&rollout, &[touch(&model, 0), up(0)], &parameters, every, &format!("edges, {integrator:?}"));
    }
}

/// Other kinds of geometry: a rigid surface on a compliant half-space and in a field, with skirts, and against them.
#[test]
fn rigid_surfaces_half_spaces_and_skirts_touch() {
    let materials = foam(2e5, 0.3);
    let turned = place([0.4, -0.3, 0.2], [0.003, 0.001, -0.002]);
    let shape = Shape::Box { size: [0.08, 0.06, 0.05] };
    let soft = || compliant(&shape, 0.1, turned, &materials, 0);
    let skirted = || {
        let own = soft();
        BodyGeometry { collider: own.collider.with_skirt(0.004).expect("thin"), ..own }
    };
    let hard = || {
        let mesh = shape.surface_mesh(0.1).expect("a shape");
        geometry(ContactGeometry::Rigid(RigidSurface::new(mesh)), &materials, turned)
    };
    let soft_floor = || geometry(ContactGeometry::CompliantHalfSpace, &materials, RigidTransform::identity());
    let skirted_floor = || {
        let own = soft_floor();
        BodyGeometry { collider: own.collider.with_skirt(0.003).expect("thin"), ..own }
    };
    let hard_floor = || geometry(ContactGeometry::RigidHalfSpace, &materials, RigidTransform::identity());
    let block = || {
        compliant(
            &Shape::Box { size: [0.3, 0.3, 0.06] },
            0.1,
            place([0.0; 3], [0.0, 0.0, -0.03]),
            &materials,
            0,
        )
    };
    let start = body_state([0.1, 0.2, 0.0], [0.01, 0.0, 0.09], [2.0, 1.0, -1.5], [0.2, 0.1, 0.0]);
    let start = State::of_bodies(vec![start]);
    let mut times = Vec::new();
    for (name, falling, ground) in [
        ("soft on rigid half-space", soft(), hard_floor()),
        ("skirt on rigid half-space", skirted(), hard_floor()),
        ("soft on soft half-space", soft(), soft_floor()),
        ("rigid on soft half-space", hard(), soft_floor()),
        ("rigid on the skirt of a half-space", hard(), skirted_floor()),
        ("rigid on soft box", hard(), block()),
        ("soft on soft box", soft(), block()),
    ] {
        let model = model(vec![falling], vec![(RigidTransform::identity(), ground)], materials.clone());
        let settings = SimulationSettings { integrator: Integrator::RungeKutta4, time_step: 2e-3 };
        let rollout = Rollout::new(&model, &start, settings, 0.13);
        let mut parameters: Vec<Parameter> =
            (0..12).map(|index| Parameter::InitialTangent { body: 0, index }).collect();
        parameters.extend((0..6).map(|axis| Parameter::FixedPose { body: 1, axis }));
        parameters.push(Parameter::GeometryScale { body: 0, geometry: 0 });
        let kinds = [touch(&model, 0)];
        let events = check(&rollout, &kinds, &parameters, 6, name);
        times.push(events[0].time);
    }
    // The same shape touches the same plane at the same time, and with a skirt sooner.
    for i in [2, 3, 5, 6] {
        assert!((times[i] - times[0]).abs() < 1e-12, "{i}: {:e}", times[i] - times[0]);
    }
    assert!(times[1] < times[0] - 1e-4 && times[4] < times[0] - 1e-4, "{times:?}");
    // Of a soft box with a skirt on a soft floor with another, neither boundary is where the overlap begins.
    let model =
        model(vec![skirted()], vec![(RigidTransform::identity(), skirted_floor())], materials.clone());
    let rollout = Rollout::new(&model, &start, SimulationSettings::default(), 0.1);
    let refused = rollout.find_events(&[touch(&model, 0)]);
    assert!(matches!(refused, Err(SimulationError::EventSkirts { .. })), "{refused:?}");
}

/// An arm of two links, swung up, whose hand comes to its highest point and falls to the floor: when, follows where its
/// joints are and where their axes point, in the motion and at the event.
#[test]
fn events_of_links_follow_their_joints() {
    let folder = Folder::new("events-of-links");
    let scene = folder.file(
        "scene.toml",
        r#"
gravity = [0, 0, -9.81]
[materials.foam]
hydroelastic_modulus = 1e5
friction = 0.4
[solver]
kind = "rk4"
time_step = 4e-3
[[bodies]]
name = "arm"
mass = 0.4
center_of_mass = [0.1, 0.01, 0.0]
inertia = [[1e-3, 0, 0], [0, 2e-3, 0], [0, 0, 2e-3]]
joint = { name = "shoulder", type = "revolute", axis = [0, -1, 0], translation = [0, 0, 0.2], rpy = [0.1, 0.05, -0.2], position = 0.3, velocity = 4.0 }
[[bodies]]
name = "hand"
mass = 0.3
center_of_mass = [0.02, 0.0, 0.01]
inertia = [[1e-3, 0, 0], [0, 1e-3, 0], [0, 0, 1e-3]]
joint = { name = "wrist", type = "revolute", parent = "arm", axis = [0, -1, 0], translation = [0.2, 0, 0], position = -0.2, velocity = 1.0, damping = 0.02 }
[[bodies.geometries]]
shape = { box = { size = [0.06, 0.05, 0.04] } }
translation = [0.03, 0, 0]
material = "foam"
[[bodies]]
name = "floor"
fixed = true
[[bodies.geometries]]
shape = { half_space = {} }
rigid = true
material = "foam"
"#,
    );
    let scene = Scene::load(scene).expect("a scene");
    let (model, settings) = (&scene.model, scene.simulation_settings().expect("settings"));
    let of_joint = |p: &Parameter| matches!(p, Parameter::JointFrame { .. } | Parameter::JointAxis { .. });
    let mut parameters: Vec<Parameter> = Parameter::places(model).into_iter().filter(of_joint).collect();
    parameters.extend((0..4).map(|index| Parameter::InitialJoint { index }));
    let hand = model.body_index("hand").expect("a body");
    let rollout = Rollout::new(model, &scene.state, settings, 0.45);
    let events = check(&rollout, &[up(hand), touch(model, 0)], &parameters, 1, "links");
    assert!(events.len() >= 2, "{events:?}");
}

/// Several bodies in contact under controls, at generic states.
#[test]
fn events_of_a_heap_follow_everything() {
    let (model, initial) = heap(ContactSettings { stiction_velocity: 0.02, ..Default::default() });
    let parameters: Vec<Parameter> = Parameter::all(&model).into_iter().step_by(7).collect();
    let steps = 4;
    let value = |i: usize| 0.3 * (0.37 * i as f64).sin() + 0.1;
    let controls =
        Controls::from_values(CONTROLS, (0..steps * CONTROLS).map(value).collect()).expect("whole rows");
    let kinds: Vec<EventKind> = (0..3)
        .flat_map(|body| [Vector3::z(), -Vector3::z()].map(|direction| EventKind::Apex { body, direction }))
        .chain((0..model.pairs().len()).flat_map(|pair| [touch(&model, pair), lift_off(&model, pair)]))
        .collect();
    let integrator = Integrator::VelocityLevel(lagged());
    let settings = SimulationSettings { integrator, time_step: 5e-3 };
    let rollout = Rollout::new(&model, &initial, settings, 0.02).under(&Pull).with_controls(&controls);
    let events = check(&rollout, &kinds, &parameters, 24, "heap, Lagged");
    // With respect to the control values.
    let gradient =
        event_loss_gradient(&rollout, &events, &Everything, &[], Checkpoints::All).expect("simulates");
    let largest = gradient.by_controls.values().iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    for k in [0, 8] {
        let along = |h: f64| {
            let mut moved = controls.clone();
            moved.values_mut()[k] += h;
            let found = rollout.with_controls(&moved).find_events(&kinds).expect("simulates");
            Everything.value(&found.iter().map(Event::moment).collect::<Vec<_>>())
        };
        let errors = [1e-4, 1e-5].map(|h| {
            let difference = (8.0 * (along(0.5 * h) - along(-0.5 * h)) - (along(h) - along(-h))) / (6.0 * h);
            (difference - gradient.by_controls.values()[k]).abs()
        });
        let error = errors.into_iter().fold(f64::INFINITY, f64::min);
        assert!(error < 1e-6 * largest, "{k}: {errors:?} of {largest:e}");
    }
}

#[test]
fn what_has_no_event_or_no_derivative_is_said() {
    let materials = foam(1e5, 0.5);
    let cube = |materials: &[NamedMaterial]| {
        compliant(&Shape::Box { size: [0.1; 3] }, 0.1, RigidTransform::identity(), materials, 0)
    };
    let floor = || geometry(ContactGeometry::RigidHalfSpace, &materials, RigidTransform::identity());
    let model = model(
        vec![cube(&materials), cube(&materials)],
        vec![(RigidTransform::identity(), floor())],
        materials.clone(),
    );
    let at = |z: f64| {
        State::of_bodies(vec![
            body_state([0.0; 3], [0.0, 0.0, z], [0.0; 3], [0.0; 3]),
            body_state([0.0; 3], [5.0, 0.0, 1.0], [0.0; 3], [0.0; 3]),
        ])
    };
    let start = at(0.08);
    let settings = SimulationSettings { integrator: Integrator::RungeKutta4, time_step: 5e-3 };
    let rollout = Rollout::new(&model, &start, settings, 0.1);
    let on_floor =
        model.pairs().iter().position(|pair| (pair.bodies.a, pair.bodies.b) == (0, 2)).expect("a pair");
    // Flat on four corners: the time is known, and it is said that it has a kink.
    let events = rollout.find_events(&[touch(&model, on_floor)]).expect("simulates");
    assert!(!events[0].is_unique && (events[0].time - (0.06 / GRAVITY).sqrt()).abs() < 1e-12, "{events:?}");
    let by = event_gradients(&rollout, &events, &[Parameter::initial_position(0, 2)]).expect("simulates");
    assert!((by[0].time[0] - 1.0 / (GRAVITY * events[0].time)).abs() < 1e-8);
    assert!(event_gradients(&rollout, &events, &[]).expect("simulates")[0].time.is_empty());
    // An overlap from the start is no event.
    let inside = at(0.049);
    assert!(
        Rollout::new(&model, &inside, settings, 5e-3)
            .find_events(&[touch(&model, on_floor)])
            .expect("simulates")
            .is_empty()
    );
    // A body that stays where it is: its velocity does not fall through zero, and a grazing event has no derivative.
    let mut grazing = events[0].clone();
    grazing.rate = 0.0;
    let error = event_gradients(&rollout, &[grazing.clone()], &[]).expect_err("grazing");
    assert!(matches!(error, SimulationError::GrazingEvent { .. }), "{error}");
    let error =
        event_loss_gradient(&rollout, &[grazing], &Everything, &[], Checkpoints::All).expect_err("grazing");
    assert!(error.to_string().contains("grazing"), "{error}");
    // Events of other rollouts, and kinds that the model does not have.
    let shorter = Rollout::new(&model, &start, settings, 0.05);
    let error = event_gradients(&shorter, &events, &[]).expect_err("too short");
    assert!(matches!(error, SimulationError::EventOfOtherRollout { .. }), "{error}");
    let refused = |kind| rollout.find_events(&[kind]).expect_err("refused").to_string();
    assert!(refused(up(2)).contains("fixed") && refused(up(9)).contains("body 9"));
    let direction = Vector3::zeros();
    assert!(refused(EventKind::Apex { body: 0, direction }).contains("zero"));
    let mut pair = model.pairs()[0];
    pair.geometry_a = 7;
    assert!(refused(EventKind::Touch { pair }).contains("geometry 7"));
    // A pressure that is not zero at the boundary.
    let (mesh, extent) = primitive_field(&Shape::Box { size: [0.1; 3] }, 0.1).expect("a shape");
    let extent = extent.iter().map(|e| 0.5 + 0.5 * e).collect();
    let field = ContactGeometry::Compliant(PressureField::new(mesh, extent).expect("a field"));
    let own = geometry(field, &materials, RigidTransform::identity());
    let model =
        crate::event_scenes::model(vec![own], vec![(RigidTransform::identity(), floor())], materials.clone());
    let start = State::of_bodies(vec![body_state([0.1, 0.2, 0.3], [0.0, 0.0, 0.1], [0.0; 3], [0.0; 3])]);
    let rollout = Rollout::new(&model, &start, settings, 0.1);
    let refused = rollout.find_events(&[touch(&model, 0)]);
    assert!(matches!(refused, Err(SimulationError::EventFeatures { .. })), "{refused:?}");
}
