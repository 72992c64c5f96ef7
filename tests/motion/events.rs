//! Events of rollouts: times of touch, flight and bounce against closed forms and an independent integration, and
//! derivatives in both modes against each other and against differences.

use std::sync::Arc;

use nalgebra::{Matrix3, Vector3};

use crate::moving_bodies::{CONTROLS, Pull, compliant, heap};

use isobar::contact::{
    Collider, ContactGeometry, ContactModel, ContactSettings, Material, MaterialParameter,
    SurfaceRepresentation,
};
use isobar::field::{PressureField, RigidSurface, primitive_field};
use isobar::geometry::Shape;
use isobar::multibody::tree::{BodyDescription, JointDescription, JointKind, Mechanism};
use isobar::multibody::{
    AppliedForces, Body, BodyGeometry, BodyState, MassProperties, MassSource, Model, ModelBuilder,
    NamedMaterial, PairWorkspace, Parameter, State, seeded,
};
use isobar::rollout::{
    Checkpoints, Controls, Event, EventError, EventKind, EventLoss, EventMoment, Features, Rollout,
    SimulationError, SimulationSettings, event_gradients, event_loss_gradient,
};
use isobar::scalar::Scalar;
use isobar::spatial::{Quaternion, RigidTransform, SpatialVelocity, rotation_from_rpy};
use isobar::step::{ControlledMethod, ErrorControlled, Integrator, SolverTolerance, VelocityLevel};

const GRAVITY: f64 = 9.81;
const RADIUS: f64 = 0.05;
const MASS: f64 = 0.2;

fn controlled(method: ControlledMethod, accuracy: f64) -> Integrator {
    Integrator::ErrorControlled(ErrorControlled { method, accuracy })
}

fn place(rpy: [f64; 3], p: [f64; 3]) -> RigidTransform {
    RigidTransform::new(rotation_from_rpy(rpy[0], rpy[1], rpy[2]), Vector3::from(p))
}

fn body_state(rpy: [f64; 3], p: [f64; 3], w: [f64; 3], v: [f64; 3]) -> BodyState {
    BodyState {
        orientation: Quaternion::from_matrix(&rotation_from_rpy(rpy[0], rpy[1], rpy[2])),
        position: Vector3::from(p),
        velocity: SpatialVelocity::new(Vector3::from(w), Vector3::from(v)),
    }
}

fn foam(modulus: f64, dissipation: f64) -> Vec<NamedMaterial> {
    vec![NamedMaterial { name: "foam".into(), material: Material::new(modulus, dissipation, 0.3) }]
}

fn geometry(geometry: ContactGeometry, materials: &[NamedMaterial], x_bg: RigidTransform) -> BodyGeometry {
    let is_rigid = geometry.is_rigid();
    let material = if is_rigid { Material::NONE } else { materials[0].material };
    let collider = Collider::new(Arc::new(geometry), material, 0.1);
    BodyGeometry { x_bg, collider, material: (!is_rigid).then_some(0), unit_mass: None }
}

/// A ball whose mesh is turned, so that it is lowest in one vertex.
fn ball(materials: &[NamedMaterial]) -> BodyGeometry {
    compliant(&Shape::Sphere { radius: RADIUS }, 0.05, place([0.3, 0.2, 0.1], [0.0; 3]), materials, 0)
}

/// How far below its origin the ball's lowest vertex is.
fn lowest(ball: &BodyGeometry) -> f64 {
    let ContactGeometry::Compliant(field) = &*ball.collider.geometry else { panic!("compliant") };
    field.mesh().vertices.iter().map(|v| -(ball.x_bg * *v).z).fold(0.0, f64::max)
}

fn mass(of: f64) -> MassProperties {
    MassProperties {
        mass: of,
        center_of_mass: Vector3::zeros(),
        inertia: Matrix3::identity() * (0.4 * of * 0.0025),
    }
}

/// Free bodies over others that do not move; two of which touch.
fn model(
    free: Vec<BodyGeometry>,
    fixed: Vec<(RigidTransform, BodyGeometry)>,
    materials: Vec<NamedMaterial>,
) -> Model {
    let mut bodies: Vec<Body> = (free.into_iter().enumerate())
        .map(|(i, own)| {
            Body::free(format!("free {i}"), MassSource::Given(mass(MASS)), vec![own]).expect("a mass")
        })
        .collect();
    bodies.extend(
        fixed.into_iter().enumerate().map(|(i, (pose, own))| {
            Body::fixed(format!("fixed {i}"), pose, SpatialVelocity::zero(), vec![own])
        }),
    );
    ModelBuilder { bodies, materials, ..Default::default() }.build().expect("a model")
}

fn up(body: usize) -> EventKind {
    EventKind::Apex { body, direction: Vector3::z() }
}

fn touch(model: &Model, pair: usize) -> EventKind {
    EventKind::Touch { pair: model.pairs()[pair] }
}

fn lift_off(model: &Model, pair: usize) -> EventKind {
    EventKind::LiftOff { pair: model.pairs()[pair] }
}

/// A free ball falls, turning or not, on a fixed box that is turned about z, or on a half-space.
#[test]
fn a_falling_ball_touches_when_the_closed_form_says() {
    let materials = foam(1e5, 0.5);
    let half = compliant(
        &Shape::Box { size: [0.4, 0.3, 0.1] },
        0.1,
        place([0.0, 0.0, 0.3], [0.01, 0.02, -0.05]),
        &materials,
        0,
    );
    let floor = geometry(ContactGeometry::RigidHalfSpace, &materials, RigidTransform::identity());
    for ground in [half, floor] {
        let own = ball(&materials);
        let below = lowest(&own);
        let model = model(vec![own], vec![(RigidTransform::identity(), ground)], materials.clone());
        let (height, speed) = (0.0712, 0.3);
        let start = body_state([0.0; 3], [0.02, 0.05, below + height], [0.0; 3], [0.1, 0.0, speed]);
        let start = State::of_bodies(vec![start]);
        let fall = (speed * speed + 2.0 * GRAVITY * height).sqrt();
        let (time, by_height, by_speed) =
            ((speed + fall) / GRAVITY, 1.0 / fall, (1.0 + speed / fall) / GRAVITY);
        let by_gravity = (speed + fall) / (GRAVITY * GRAVITY) - height / (GRAVITY * fall);
        for integrator in [
            Integrator::RungeKutta4,
            Integrator::DormandPrince,
            controlled(ControlledMethod::DormandPrince, 1e-10),
            controlled(ControlledMethod::Radau, 1e-10),
        ] {
            let rollout =
                Rollout::new(&model, &start, SimulationSettings { integrator, time_step: 7e-3 }, 0.2);
            let events = rollout.find_events(&[touch(&model, 0), up(0)]).expect("simulates");
            let [top, first] = &events[..2] else { panic!("{events:?}") };
            assert!((top.time - speed / GRAVITY).abs() < 1e-12, "{integrator:?}");
            assert!(
                (top.state.bodies[0].position.z - below - height - speed * speed / (2.0 * GRAVITY)).abs()
                    < 1e-13
            );
            assert!((first.time - time).abs() < 1e-12, "{integrator:?}: {:e}", first.time - time);
            assert!(
                first.is_unique && matches!(first.features, Some(Features::VertexOfA { .. })),
                "{first:?}"
            );
            assert!((first.rate + fall).abs() < 1e-8 * fall, "{:e}", first.rate + fall);
            let parameters = [
                Parameter::initial_position(0, 2),
                Parameter::initial_velocity(0, 2),
                Parameter::Gravity { axis: 2 },
            ];
            let gradients =
                event_gradients(&rollout, &[first.clone(), top.clone()], &parameters).expect("simulates");
            let errors =
                gradients[0].time.iter().zip([by_height, by_speed, by_gravity]).map(|(a, b)| (a - b).abs());
            let worst = errors.fold(0.0, f64::max);
            println!(
                "{integrator:?}: located to {:.1e} s, gradients to {worst:.1e}",
                (first.time - time).abs()
            );
            assert!(worst < 1e-8, "{integrator:?}: {:?}", gradients[0].time);
            // The height of the top, and the speed of the impact.
            assert!((gradients[1].state[(5, 1)] - speed / GRAVITY).abs() < 1e-9);
            assert!((gradients[0].state[(11, 0)] + GRAVITY / fall).abs() < 1e-7);
            assert!(gradients[0].state[(5, 0)].abs() < 1e-9, "the height of the impact is given");
        }
    }
}

/// A cubic polynomial between heights, for the force on the ball without dissipation over its modulus.
struct Force {
    /// Where each piece ends, in increasing order.
    ends: Vec<f64>,
    /// Its middle, and the coefficients around it.
    pieces: Vec<(f64, [f64; 4])>,
}

impl Force {
    /// The force that a model has, which is a cubic between the heights at which a vertex of the ball enters the floor.
    fn of(model: &Model, below: f64, depth: f64) -> Self {
        let own = &model.bodies()[0].geometries[0];
        let ContactGeometry::Compliant(field) = &*own.collider.geometry else { panic!("compliant") };
        let mut heights: Vec<f64> = field.mesh().vertices.iter().map(|v| -(own.x_bg * *v).z).collect();
        heights.push(below - depth);
        heights.retain(|z| *z >= below - depth);
        heights.sort_by(f64::total_cmp);
        heights.dedup_by(|a, b| (*a - *b).abs() < 1e-9);
        let (mut frames, mut workspace) = (Vec::new(), PairWorkspace::default());
        let modulus = model.materials()[0].material.hydroelastic_modulus;
        let mut force = |z: f64| {
            let state = State { bodies: vec![], joints: model.mechanism().state(vec![z], vec![0.0]) };
            model.body_frames(&state, &mut frames);
            let contact = model.body_pair_contact(&frames, model.pairs(), &mut workspace);
            contact.wrench_on_a.translational.z / modulus
        };
        let pieces = heights.windows(2).map(|ends| {
            let (middle, half) = (0.5 * (ends[0] + ends[1]), 0.5 * (ends[1] - ends[0]));
            // The cubic through four points.
            let at = [-0.9, -0.3, 0.3, 0.9];
            let matrix = nalgebra::Matrix4::from_fn(|i, k| f64::powi(at[i], k as i32));
            let values = nalgebra::Vector4::from_fn(|i, _| force(middle + half * at[i]));
            let c = matrix.lu().solve(&values).expect("four points");
            let off = (force(middle) - c[0]).abs() / (c[0].abs() + 1e-12);
            assert!(off < 1e-9, "the force is a cubic: {off:e}");
            (middle, [c[0], c[1] / half, c[2] / half.powi(2), c[3] / half.powi(3)])
        });
        Self { pieces: pieces.collect(), ends: heights[1..].to_vec() }
    }

    fn at(&self, z: f64) -> f64 {
        match self.ends.iter().position(|end| z < *end) {
            None => 0.0,
            Some(i) => {
                let (middle, c) = &self.pieces[i];
                let x = z - middle;
                c[0] + x * (c[1] + x * (c[2] + x * c[3]))
            }
        }
    }

    /// The flight after a fall from `height` over the touch: how long the contact lasts, and the velocity after it; by
    /// the classical Runge–Kutta method in short steps.
    fn bounce(&self, below: f64, [height, modulus, dissipation]: [f64; 3]) -> [f64; 4] {
        let rate =
            |[z, v]: [f64; 2]| [v, self.at(z) * modulus * (1.0 - dissipation * v).max(0.0) / MASS - GRAVITY];
        let fall = (2.0 * GRAVITY * height).sqrt();
        let (mut x, mut time, mut dt) = ([below, -fall], 0.0, 2e-6);
        let step = |x: [f64; 2], dt: f64| {
            let moved = |k: [f64; 2], h: f64| [x[0] + h * k[0], x[1] + h * k[1]];
            let k1 = rate(x);
            let k2 = rate(moved(k1, 0.5 * dt));
            let k3 = rate(moved(k2, 0.5 * dt));
            let k4 = rate(moved(k3, dt));
            [0, 1].map(|i| x[i] + dt / 6.0 * (k1[i] + 2.0 * k2[i] + 2.0 * k3[i] + k4[i]))
        };
        loop {
            let next = step(x, dt);
            assert!(next[0] > below - 0.02, "as deep as the force is known");
            if next[0] >= below {
                break;
            }
            (x, time) = (next, time + dt);
        }
        // The last step ends at the height of the touch.
        dt = (below - x[0]) / x[1];
        for _ in 0..5 {
            let end = step(x, dt);
            dt -= (end[0] - below) / end[1];
        }
        let speed = step(x, dt)[1];
        let impact = fall / GRAVITY;
        let lift = impact + time + dt;
        // Impact, lift-off, the height of the bounce over the touch, the next touch.
        [impact, lift, speed * speed / (2.0 * GRAVITY), lift + 2.0 * speed / GRAVITY]
    }
}

/// Time of flight and height of a bounce, and the time of its touches.
struct Bounce;

impl EventLoss for Bounce {
    fn value<T: Scalar>(&self, events: &[EventMoment<T>]) -> T {
        let flight = events[3].time - events[1].time;
        flight + events[2].state.joints.q[0] * 3.0 + events[0].time * 0.2
    }
}

/// A ball on a rail, so that it does not turn, over a rigid floor: the model, and how far below its origin the ball's
/// lowest vertex is.
fn ball_on_rail(modulus: f64, dissipation: f64) -> (Model, f64) {
    let materials = foam(modulus, dissipation);
    let own = ball(&materials);
    let below = lowest(&own);
    let links = vec![BodyDescription { name: "ball".into(), mass: Some(mass(MASS)) }];
    let kind = JointKind::Prismatic { axis: Vector3::z() };
    let rail = JointDescription::new("rail", kind, None, "ball", RigidTransform::identity());
    let mechanism = Mechanism::new(links, vec![rail]).expect("a mechanism");
    let floor = geometry(ContactGeometry::RigidHalfSpace, &materials, RigidTransform::identity());
    let bodies = vec![
        Body::link("ball", 0, vec![own]),
        Body::fixed("floor", RigidTransform::identity(), SpatialVelocity::zero(), vec![floor]),
    ];
    let contact = ContactSettings { surface: SurfaceRepresentation::Triangles, ..Default::default() };
    let builder = ModelBuilder { bodies, materials, mechanism, contact, ..Default::default() };
    (builder.build().expect("a model"), below)
}

/// The ball at rest at a height over the touch.
fn raised(model: &Model, position: f64) -> State {
    State { bodies: vec![], joints: model.mechanism().state(vec![position], vec![0.0]) }
}

/// Height over the touch, hydroelastic modulus and dissipation.
const DROP: [f64; 3] = [0.08, 1.3e5, 0.4];

/// The derivatives of what [`Force::bounce`] returns with respect to [`DROP`]: Richardson's extrapolation of central
/// differences.
fn bounce_derivatives(force: &Force, below: f64) -> [[f64; 4]; 3] {
    [0, 1, 2].map(|k| {
        let difference = |h: f64| {
            let [plus, minus] = [h, -h].map(|h| {
                let mut moved = DROP;
                moved[k] *= 1.0 + h;
                force.bounce(below, moved)
            });
            [0, 1, 2, 3].map(|i| (plus[i] - minus[i]) / (2.0 * h * DROP[k]))
        };
        let (coarse, fine) = (difference(2e-3), difference(1e-3));
        [0, 1, 2, 3].map(|i| (4.0 * fine[i] - coarse[i]) / 3.0)
    })
}

fn bounce_parameters() -> [Parameter; 3] {
    let material = |parameter| Parameter::Material { material: 0, parameter };
    [
        Parameter::InitialJoint { index: 0 },
        material(MaterialParameter::HydroelasticModulus),
        material(MaterialParameter::Dissipation),
    ]
}

#[test]
fn the_bounce_of_a_ball_follows_modulus_dissipation_and_height_as_quadrature_says() {
    let [height, modulus, dissipation] = DROP;
    let (model, below) = ball_on_rail(modulus, dissipation);
    let start = raised(&model, below + height);
    let force = Force::of(&model, below, 0.02);
    let expected = force.bounce(below, DROP);
    let by = bounce_derivatives(&force, below);
    let parameters = bounce_parameters();
    // The force has kinks of higher order, where vertices enter the floor: explicit steps make more of them.
    for (method, time_step, allowed) in
        [(ControlledMethod::Radau, 0.01, 1e-6), (ControlledMethod::DormandPrince, 0.1, 2e-5)]
    {
        let settings = SimulationSettings { integrator: controlled(method, 1e-12), time_step };
        let rollout = Rollout::new(&model, &start, settings, 0.345);
        let kinds = [touch(&model, 0), lift_off(&model, 0), up(0)];
        let events = rollout.find_events(&kinds).expect("simulates");
        assert!(
            events.iter().map(|e| e.kind).eq([kinds[0], kinds[1], kinds[2], kinds[0]]),
            "{}",
            events.len()
        );
        assert!(events[1].rate > 0.0 && events[2].rate < 0.0);
        let value = |i: usize| if i == 2 { events[2].state.joints.q[0] - below } else { events[i].time };
        let off = [0, 1, 2, 3].map(|i| value(i) - expected[i]);
        println!("{method:?}: off by {off:?}");
        assert!(off.iter().all(|off| off.abs() < 1e-9), "{off:?}");
        assert!(off[0].abs() < 1e-12, "the impact: {:e}", off[0]);
        let gradients = event_gradients(&rollout, &events, &parameters).expect("simulates");
        let reverse = event_loss_gradient(&rollout, &events, &Bounce, &parameters, Checkpoints::SquareRoot)
            .expect("simulates");
        for (k, expected) in by.iter().enumerate() {
            let found = |i: usize| if i == 2 { gradients[2].state[(0, k)] } else { gradients[i].time[k] };
            let relative = |found: f64, expected: f64| (found - expected).abs() / expected.abs();
            let flight = relative(found(3) - found(1), expected[3] - expected[1]);
            let (lift, top) = (relative(found(1), expected[1]), relative(found(2), expected[2]));
            println!("  parameter {k}: lift-off {lift:.1e}, height {top:.1e}, flight {flight:.1e}");
            assert!(
                flight < allowed && top < allowed && lift < 1e-6,
                "{method:?} {k}: {flight:e} {top:e} {lift:e}"
            );
            // With respect to the material the impact does not change.
            assert!((found(0) - expected[0]).abs() < 1e-8);
            let forward = found(3) - found(1) + 3.0 * found(2) + 0.2 * found(0);
            let error = relative(reverse.by_parameters[k], forward);
            assert!(error < 1e-9, "{method:?} {k}: {error:e}");
        }
        assert_eq!(reverse.by_initial[0], reverse.by_parameters[0]);
    }
}

/// The table of the guide: the error of the derivative of a time of flight with respect to the height of the fall, with
/// the sizes of substeps held and from differences with free sizes.
#[test]
#[ignore = "a study"]
fn what_held_step_sizes_cost_at_the_onset_of_contact() {
    let [height, modulus, dissipation] = DROP;
    let (model, below) = ball_on_rail(modulus, dissipation);
    let force = Force::of(&model, below, 0.02);
    let expected = force.bounce(below, DROP);
    let by = bounce_derivatives(&force, below)[0];
    let flight = (expected[3] - expected[1], by[3] - by[1]);
    for method in [
        ControlledMethod::Radau,
        ControlledMethod::DormandPrince,
        ControlledMethod::BogackiShampine,
        ControlledMethod::Extrapolated(lagged()),
    ] {
        println!(
            "{method:?}: accuracy, error of the time of flight, of its derivative, of differences over 2 mm and 0.2 mm"
        );
        for exponent in 3..=9 {
            let accuracy = 10_f64.powi(-exponent);
            let settings = SimulationSettings { integrator: controlled(method, accuracy), time_step: 0.01 };
            // The contact of coarse steps may last another time: over the floor for long enough.
            let times = |raise: f64| {
                let start = raised(&model, below + height + raise);
                let rollout = Rollout::new(&model, &start, settings, 0.36);
                let events =
                    rollout.find_events(&[touch(&model, 0), lift_off(&model, 0)]).expect("simulates");
                let gradients =
                    event_gradients(&rollout, &events, &bounce_parameters()[..1]).expect("no grazing");
                let time = |i: usize| events.get(i).map_or(f64::NAN, |event| event.time);
                let slope = |i: usize| gradients.get(i).map_or(f64::NAN, |by| by.time[0]);
                (time(2) - time(1), slope(2) - slope(1))
            };
            let (time, slope) = times(0.0);
            let free = [1e-3, 1e-4].map(|h| ((times(h).0 - times(-h).0) / (2.0 * h) / flight.1 - 1.0).abs());
            println!(
                "{accuracy:.0e} {:.0e} {:.0e} {:.0e} {:.0e}",
                (time / flight.0 - 1.0).abs(),
                (slope / flight.1 - 1.0).abs(),
                free[0],
                free[1]
            );
        }
    }
}

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
fn check<A: AppliedForces>(
    rollout: &Rollout<'_, A>,
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
            use isobar::scalar::DualArray;
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

fn lagged() -> VelocityLevel {
    let tolerance = SolverTolerance { relative: 1e-15, max_iterations: 200 };
    VelocityLevel { model: ContactModel::Lagged, tolerance }
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
        let (mesh, _) = primitive_field(&shape, 0.1).expect("a shape");
        geometry(ContactGeometry::Rigid(RigidSurface::new(mesh.boundary())), &materials, turned)
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
    assert!(matches!(refused, Err(SimulationError::Event(EventError::Skirts { .. }))), "{refused:?}");
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
    let settings = |integrator| SimulationSettings { integrator, time_step: 5e-3 };
    // One step of costly methods.
    let first = Controls::from_values(CONTROLS, controls.row(0).to_vec()).expect("a row");
    for method in [ControlledMethod::Radau, ControlledMethod::DormandPrince] {
        let rollout = Rollout::new(&model, &initial, settings(controlled(method, 1e-4)), 5e-3);
        let rollout = rollout.under(&Pull).with_controls(&first);
        check(&rollout, &kinds, &parameters[..8], 8, &format!("heap, {method:?}"));
    }
    let integrator = Integrator::VelocityLevel(lagged());
    let rollout =
        Rollout::new(&model, &initial, settings(integrator), 0.02).under(&Pull).with_controls(&controls);
    let events = check(&rollout, &kinds, &parameters, 16, &format!("heap, {integrator:?}"));
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
    assert!(matches!(error, SimulationError::Event(EventError::Grazing { .. })), "{error}");
    let error =
        event_loss_gradient(&rollout, &[grazing], &Everything, &[], Checkpoints::All).expect_err("grazing");
    assert!(error.to_string().contains("grazing"), "{error}");
    // Events of other rollouts, and kinds that the model does not have.
    let shorter = Rollout::new(&model, &start, settings, 0.05);
    let error = event_gradients(&shorter, &events, &[]).expect_err("too short");
    assert!(matches!(error, SimulationError::Event(EventError::OtherRollout { .. })), "{error}");
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
    let model = self::model(vec![own], vec![(RigidTransform::identity(), floor())], materials.clone());
    let start = State::of_bodies(vec![body_state([0.1, 0.2, 0.3], [0.0, 0.0, 0.1], [0.0; 3], [0.0; 3])]);
    let rollout = Rollout::new(&model, &start, settings, 0.1);
    let refused = rollout.find_events(&[touch(&model, 0)]);
    assert!(matches!(refused, Err(SimulationError::Event(EventError::NoFeatures { .. }))), "{refused:?}");
}

/// A ball thrown up just so that its highest vertex grazes a ceiling.
#[test]
fn a_touch_that_grazes_has_no_derivative() {
    let materials = foam(1e5, 0.0);
    let own = ball(&materials);
    let ContactGeometry::Compliant(field) = &*own.collider.geometry else { panic!("compliant") };
    let above = field.mesh().vertices.iter().map(|v| (own.x_bg * *v).z).fold(0.0, f64::max);
    let ceiling = geometry(ContactGeometry::RigidHalfSpace, &materials, RigidTransform::identity());
    // The half-space fills what is above.
    let over = RigidTransform::new(rotation_from_rpy(std::f64::consts::PI, 0.0, 0.0), Vector3::zeros());
    let model = model(vec![own], vec![(over, ceiling)], materials.clone());
    let speed = 0.5;
    let top = speed * speed / (2.0 * GRAVITY);
    let settings = SimulationSettings { integrator: Integrator::RungeKutta4, time_step: speed / GRAVITY };
    // One step to the top: nanometres deep the touch is clear, and rounding deep it grazes.
    let mut outcomes = Vec::new();
    for depth in [1e-9, 1e-15, 3e-17, -1e-9] {
        let start = body_state([0.0; 3], [0.0, 0.0, depth - above - top], [0.0; 3], [0.0, 0.0, speed]);
        let start = State::of_bodies(vec![start]);
        let rollout = Rollout::new(&model, &start, settings, speed / GRAVITY);
        let events = rollout.find_events(&[touch(&model, 0)]).expect("simulates");
        let gradients = event_gradients(&rollout, &events, &[Parameter::initial_velocity(0, 2)]);
        outcomes.push((events.len(), gradients.map(|by| by.first().map(|by| by.time[0]))));
    }
    println!("{outcomes:?}");
    // The time of the touch follows the speed by −t/v there, v being what is left of it.
    let left = (2.0 * GRAVITY * 1e-9_f64).sqrt();
    let expected = -(speed - left) / GRAVITY / left;
    let Ok(Some(found)) = outcomes[0].1 else { panic!("{outcomes:?}") };
    assert!((found - expected).abs() < 1e-5 * expected.abs(), "{found} {expected}");
    for (count, outcome) in &outcomes[1..3] {
        assert!(
            *count == 0 || matches!(outcome, Err(SimulationError::Event(EventError::Grazing { .. }))),
            "{outcomes:?}"
        );
    }
    assert_eq!(outcomes[3], (0, Ok(None)));
}
