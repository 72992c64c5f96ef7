//! Bodies with bristles: what sticks stays, what slides slides as without them, what rolls rolls.

use isobar::contact::{ContactGeometry, ContactModel, ContactSettings, SurfaceRepresentation};
use isobar::geometry::Shape;
use isobar::multibody::{AppliedForces, ForceDependence, Forces, Model, State, StateDependence};
use isobar::rollout::{Rollout, SimulationError, SimulationSettings};
use isobar::scalar::Scalar;
use isobar::spatial::RigidTransform;
use isobar::step::{
    ControlledMethod, ErrorControlled, Integrator, StepError, StepProblem, StepWorkspace, VelocityLevel,
};
use nalgebra::Vector3;

use crate::step_scenes::*;

/// The bristle length that the documentation recommends, m.
const LENGTH: f64 = 1e-6;
const FRICTION: f64 = 0.5;
/// The sides of a box, m, and its mass, kg.
const SIZE: [f64; 3] = [0.1; 3];
const MASS: f64 = 1.0;
const DT: f64 = 1e-3;

fn lagged() -> Integrator {
    Integrator::velocity_level(ContactModel::Lagged)
}

/// A box of foam on hard ground, as deep as the load presses it.
fn box_on_ground(
    gravity: Vector3<f64>,
    bristle_length: Option<f64>,
    stiction_velocity: f64,
) -> (Model, State) {
    let (modulus, m) = (1e6, material(1e6, 10.0, 0.01, FRICTION));
    let mut b = Builder::default();
    let depth = -gravity.z * MASS / (SIZE[0] * SIZE[1] * modulus / (0.5 * SIZE[2]));
    let state = resting(Vector3::new(0.0, 0.0, 0.5 * SIZE[2] - depth));
    b.free(compliant(Shape::Box { size: SIZE }, 1.0), m, MASS, box_inertia(MASS, SIZE), None, state);
    b.fixed(ContactGeometry::RigidHalfSpace.into(), m, 0.08, RigidTransform::identity());
    let surface = SurfaceRepresentation::Polygons;
    let settings = ContactSettings { surface, bristle_length, stiction_velocity, ..Default::default() };
    b.build(gravity, settings)
}

/// A box of foam on ground of foam, as deep as the load presses it.
fn box_on_foam(gravity: Vector3<f64>, bristle_length: f64) -> (Model, State) {
    let m = material(1e6, 10.0, 0.01, FRICTION);
    let mut b = Builder::default();
    let ground = compliant(Shape::Box { size: [4.0, 4.0, 0.1] }, 1.0);
    b.fixed(ground, m, 1.0, RigidTransform::from_translation([0.0, 0.0, -0.05]));
    let depth = -gravity.z * MASS / (SIZE[0] * SIZE[1] * 1e6 / (2.0 * 0.5 * SIZE[2]));
    let state = resting(Vector3::new(0.0, 0.0, 0.5 * SIZE[2] - depth));
    b.free(compliant(Shape::Box { size: SIZE }, 1.0), m, MASS, box_inertia(MASS, SIZE), None, state);
    let surface = SurfaceRepresentation::Polygons;
    let settings = ContactSettings { surface, bristle_length: Some(bristle_length), ..Default::default() };
    b.build(gravity, settings)
}

/// Gravity on a slope of a part of the friction angle.
fn on_slope(part: f64) -> Vector3<f64> {
    let angle = part * FRICTION.atan();
    Vector3::new(angle.sin(), 0.0, -angle.cos()) * GRAVITY
}

/// A force and a torque on the first body, in W, that change their sign every so many seconds.
#[derive(Clone, Copy, Debug)]
struct Push {
    force: Vector3<f64>,
    torque: Vector3<f64>,
    every: f64,
}

impl AppliedForces for Push {
    fn apply<T: Scalar>(&self, _: &Model<T>, _: &State<T>, time: f64, _: &[T], forces: &mut Forces<T>) {
        // The middle of a step: what is at its ends is rounding.
        let turns = ((time + 0.5 * DT) / self.every) as i64;
        let sign = if turns % 2 == 0 { 1.0 } else { -1.0 };
        forces.bodies[0].translational += self.force.map(|x| T::from(sign * x));
        forces.bodies[0].rotational += self.torque.map(|x| T::from(sign * x));
    }

    fn dependence(&self) -> ForceDependence {
        ForceDependence { state: StateDependence::None, model: false }
    }
}

/// The states after each step.
fn states(model: &Model, state: &State, applied: &impl AppliedForces, steps: usize) -> Vec<State> {
    let settings = SimulationSettings { integrator: lagged(), time_step: DT };
    let rollout = Rollout::new(model, state, settings, steps as f64 * DT).under(applied);
    rollout.simulate().expect("a simulation").states
}

fn position(state: &State) -> Vector3<f64> {
    state.bodies[0].position
}

#[test]
fn a_box_on_a_slope_stays_for_ever() {
    let (model, state) = box_on_ground(on_slope(0.95), Some(LENGTH), 1e-3);
    let states = states(&model, &state, &isobar::multibody::NoForces, 60_000);
    let moved = |from: f64, to: f64| {
        let at = |time: f64| position(&states[(time / DT).round() as usize]);
        (at(to) - at(from)).norm()
    };
    println!("0–1 s {:e}, 1–60 s {:e}, 30–60 s {:e}", moved(0.0, 1.0), moved(1.0, 60.0), moved(30.0, 60.0));
    assert!(moved(1.0, 60.0) < 1e-6 && moved(30.0, 60.0) < 1e-12);
    // It gives by what its load needs: x/√(1 + x²) = tan of the slope over the friction.
    let gravity = on_slope(0.95);
    let given = given(-gravity.x / gravity.z / FRICTION);
    let found = -states[60_000].bristles[0].translation.x;
    println!("deflection {found:e}, by the law {given:e}");
    assert!((found / given - 1.0).abs() < 1e-4, "{found:e} {given:e}");
}

/// The deflection, m, that holds a load which is this part of friction.
fn given(part: f64) -> f64 {
    LENGTH * part / (1.0 - part * part).sqrt()
}

#[test]
fn long_bristles_do_not_rock_for_ever() {
    // Without damping a box of foam on foam rocks on them with two of these steps, and creeps by it. Here it
    // would go on as it is when it comes to rest with long steps.
    for length in [1e-4, 1e-5] {
        let (model, state) = box_on_foam(on_slope(0.95), length);
        let integrator = lagged();
        let at_rest = SimulationSettings { integrator, time_step: 1e-2 };
        let settled = Rollout::new(&model, &state, at_rest, 20.0).simulate().expect("a simulation");
        let mut pushed = settled.states.last().expect("states").clone();
        let push = 1e-5;
        pushed.bodies[0].velocity.translational.x = push;
        for time_step in [1e-3, 2e-4] {
            let settings = SimulationSettings { integrator, time_step };
            let found = Rollout::new(&model, &pushed, settings, 2.0).simulate().expect("a simulation").states;
            let speed = found[found.len() - 1].bodies[0].velocity.translational.norm();
            println!("{length:e} m, {time_step:e} s: {speed:e} m/s");
            assert!(speed < 1e-3 * push, "{length:e} m, {time_step:e} s: {speed:e} m/s");
        }
    }
}

#[test]
fn a_box_on_a_steeper_slope_slides_as_coulomb_says() {
    let gravity = on_slope(1.05);
    let (model, state) = box_on_ground(gravity, Some(LENGTH), 1e-3);
    let states = states(&model, &state, &isobar::multibody::NoForces, 2000);
    let speed = |k: usize| states[k].bodies[0].velocity.translational.x;
    let found = (speed(2000) - speed(1000)) / (1000.0 * DT);
    let expected = gravity.x + FRICTION * gravity.z;
    println!("{found} m/s² of {expected}; deflection {:e}", states[2000].bristles[0].translation.x);
    assert!((found / expected - 1.0).abs() < 0.01, "{found} {expected}");
    // Ten lengths, in the direction of the slip: the ground is O, the box F.
    assert!((states[2000].bristles[0].translation.x / (-10.0 * LENGTH) - 1.0).abs() < 1e-3);
}

#[test]
fn a_twist_below_the_limit_is_held_and_given_back() {
    let (model, state) = box_on_ground(down(), Some(LENGTH), 1e-3);
    // The limit of a square of side a is about 0.38 a μ N; faces at their centroids have it a little lower.
    let limit = 0.38 * SIZE[0] * FRICTION * MASS * GRAVITY;
    let push = Push { force: Vector3::zeros(), torque: Vector3::z() * (0.6 * limit), every: 1.0 };
    let held = states(&model, &state, &push, 1000);
    let turn = |state: &State| {
        let r = state.bodies[0].orientation.to_matrix();
        r[(1, 0)].atan2(r[(0, 0)])
    };
    let (middle, end) = (turn(&held[500]), turn(&held[1000]));
    println!("turned by {middle:e} at 0.5 s, {end:e} at 1 s");
    assert!(middle > 0.1 * LENGTH / SIZE[0] && middle < 20.0 * LENGTH / SIZE[0]);
    assert!((end - middle).abs() < 1e-12);
    // Let go, it turns back.
    let free = states(&model, &held[1000], &isobar::multibody::NoForces, 1000);
    let left = free[1000].bristles[0].rotation.norm();
    println!("back to {:e}, deflection {left:e}", turn(&free[1000]));
    // What is farthest from the middle has slipped a little.
    assert!(turn(&free[1000]).abs() < 0.3 * middle && left < 1e-4 * middle);
}

#[test]
fn a_load_that_turns_back_takes_the_deflection_with_it() {
    let (model, state) = box_on_ground(down(), Some(LENGTH), 1e-3);
    let force = Vector3::x() * (0.7 * FRICTION * MASS * GRAVITY);
    let push = Push { force, torque: Vector3::zeros(), every: 1.5 };
    let states = states(&model, &state, &push, 4500);
    for (k, sign) in [(1500, 1.0), (3000, -1.0), (4500, 1.0)] {
        // The half-space is O and the box is F.
        let found = -states[k].bristles[0].translation.x;
        println!("{k}: deflection {found:e} of {:e}", sign * given(0.7));
        assert!((found / (sign * given(0.7)) - 1.0).abs() < 1e-3, "{k}: {found:e}");
    }
}

/// The velocity of a ball that rolls for a second, relative to that at its start, and how it would be without
/// bristles.
fn rolled(ball_is_rigid: bool) -> [f64; 2] {
    let (radius, mass) = (0.05, 0.5);
    [Some(LENGTH), None].map(|bristle_length| {
        let mut b = Builder::default();
        let m = material(2e5, 0.0, 0.0, FRICTION);
        let mut state = resting(Vector3::new(0.0, 0.0, radius - 1.5e-3));
        state.velocity.translational.x = 0.4;
        state.velocity.rotational.y = 0.4 / (radius - 1.5e-3);
        let shape = Shape::Sphere { radius };
        let geometry = if ball_is_rigid { rigid(shape, 0.01) } else { compliant(shape, 0.01) };
        b.free(geometry, m, mass, ball_inertia(mass, radius), None, state);
        let ground =
            if ball_is_rigid { ContactGeometry::CompliantHalfSpace } else { ContactGeometry::RigidHalfSpace };
        b.fixed(ground.into(), m, 0.08, RigidTransform::identity());
        let surface = SurfaceRepresentation::Polygons;
        let settings =
            ContactSettings { surface, bristle_length, stiction_velocity: 1e-5, ..Default::default() };
        let (model, state) = b.build(down(), settings);
        let states = states(&model, &state, &isobar::multibody::NoForces, 1000);
        if bristle_length.is_some() {
            let longest = states.iter().map(|s| s.bristles[0].translation.norm()).fold(0.0, f64::max);
            println!("longest deflection {longest:e}");
        }
        states[1000].bodies[0].velocity.translational.x / 0.4
    })
}

#[test]
fn what_rolls_is_not_braked() {
    for ball_is_rigid in [false, true] {
        let [with, without] = rolled(ball_is_rigid);
        println!("rigid ball {ball_is_rigid}: {with} with bristles, {without} without");
        // Facets brake it, with or without.
        assert!((with - without).abs() < 1e-3, "{with} {without}");
        assert!(with > 0.5);
    }
}

/// A box on a guide along x, which its depth presses on the ground with this many newtons.
fn guided(load: f64, bristle_length: Option<f64>, stiction_velocity: f64, speed: f64) -> (Model, State) {
    let (modulus, m) = (1e6, material(1e6, 0.0, 0.0, FRICTION));
    let mut b = Builder::default();
    let depth = load / (SIZE[0] * SIZE[1] * modulus / (0.5 * SIZE[2]));
    let mut state = resting(Vector3::new(0.0, 0.0, 0.5 * SIZE[2] - depth));
    state.velocity.translational.x = speed;
    let guide = Some((Vector3::x(), 0.0));
    b.free(compliant(Shape::Box { size: SIZE }, 1.0), m, MASS, box_inertia(MASS, SIZE), guide, state);
    b.fixed(ContactGeometry::RigidHalfSpace.into(), m, 0.08, RigidTransform::identity());
    let surface = SurfaceRepresentation::Polygons;
    let settings = ContactSettings { surface, bristle_length, stiction_velocity, ..Default::default() };
    b.build(Vector3::zeros(), settings)
}

#[test]
fn what_slides_stops_where_coulomb_says_as_steps_and_bristles_shrink() {
    // v²/(2 μ N/m)
    let (speed, load) = (0.3, 10.0);
    let coulomb = speed * speed / (2.0 * FRICTION * load / MASS);
    let stop = |length: Option<f64>, stiction_velocity: f64, time_step: f64| {
        let (model, state) = guided(load, length, stiction_velocity, speed);
        let settings = SimulationSettings { integrator: lagged(), time_step };
        let states = Rollout::new(&model, &state, settings, 0.2).simulate().expect("a simulation").states;
        states[states.len() - 1].joints.q[0]
    };
    let mut last = [f64::INFINITY; 2];
    for part in [1.0, 0.25, 0.0625] {
        let with = stop(Some(100.0 * LENGTH * part), 1e-3 * part, 4e-3 * part);
        let without = stop(None, 1e-3 * part, 4e-3 * part);
        let found = [(with - without).abs(), (with - coulomb).abs()];
        println!("part {part}: {with:e} with, {without:e} without, {coulomb:e} by Coulomb");
        assert!(found[0] < 0.5 * last[0] && found[1] < 0.5 * last[1], "{found:?} {last:?}");
        last = found;
    }
    assert!(last[1] < 0.01 * coulomb);
}

#[test]
fn friction_never_adds_energy() {
    let load = 10.0;
    let (model, state) = guided(load, Some(LENGTH), 1e-3, 0.02);
    // Sliding, then pushed to and fro; the work of the push is taken off.
    let push = Push { force: Vector3::x() * 4.0, torque: Vector3::zeros(), every: 0.05 };
    let states = states(&model, &state, &push, 400);
    // Kinetic energy, and what bristles of the whole box store: μ N (√(z² + ℓ²) − ℓ).
    let (start, first) = (states[0].joints.v[0], states[1].joints.v[0]);
    let (braked, trial) = (MASS * (start - first) / DT + 4.0, (DT + LENGTH / 1e-3) * first);
    let most = braked * (trial * trial + LENGTH * LENGTH).sqrt() / trial;
    println!("friction is at most {most} N of {}", FRICTION * load);
    let energy = |state: &State| {
        let (v, z) = (state.joints.v[0], state.bristles[0].translation.x);
        0.5 * MASS * v * v + most * ((z * z + LENGTH * LENGTH).sqrt() - LENGTH)
    };
    let mut grown = 0.0_f64;
    for (k, pair) in states.windows(2).enumerate() {
        let force = if (k / 50) % 2 == 0 { 4.0 } else { -4.0 };
        let work = force * pair[1].joints.v[0] * DT;
        grown = grown.max(energy(&pair[1]) - energy(&pair[0]) - work);
    }
    println!("most in a step {grown:e} of {:e}; at the end {:e}", energy(&states[0]), energy(&states[400]));
    assert!(grown < 1e-15, "{grown:e}");
    assert!(energy(&states[400]) < 0.1 * energy(&states[0]));
}

#[test]
fn a_grasp_holds_without_creep() {
    for length in [None, Some(LENGTH)] {
        let (model, state) = gripper(Held::Ball, 0.028, SurfaceRepresentation::Polygons);
        let mut builder = model.into_builder();
        builder.contact.bristle_length = length;
        let model = builder.build().expect("a model");
        // Fingers on guides, which the force presses together.
        let settings = SimulationSettings { integrator: lagged(), time_step: 2e-3 };
        let squeeze = Grip(15.0);
        let rollout = Rollout::new(&model, &state, settings, 6.0).under(&squeeze);
        let states = rollout.simulate().expect("a simulation").states;
        let at = |time: f64| position(&states[(time / 2e-3).round() as usize]);
        let (sank, crept) = ((at(2.0) - at(0.0)).norm(), (at(6.0) - at(4.0)).norm());
        println!("{length:?}: {sank:e} m in 2 s, {crept:e} m from 4 s to 6 s");
        assert_eq!(crept < 1e-11, length.is_some(), "{crept:e}");
        assert!(sank < 2e-3);
    }
}

/// Forces on the joints of two fingers.
#[derive(Clone, Copy, Debug)]
struct Grip(f64);

impl AppliedForces for Grip {
    fn apply<T: Scalar>(&self, _: &Model<T>, _: &State<T>, _: f64, _: &[T], forces: &mut Forces<T>) {
        forces.joints[0] += T::from(self.0);
        forces.joints[1] -= T::from(self.0);
    }

    fn dependence(&self) -> ForceDependence {
        ForceDependence { state: StateDependence::None, model: false }
    }
}

#[test]
fn steps_of_controlled_error_hold_too() {
    let method = VelocityLevel { model: ContactModel::Lagged, ..Default::default() };
    let (model, state) = box_on_ground(on_slope(0.95), Some(LENGTH), 1e-3);
    for method in [ControlledMethod::VelocityLevel(method), ControlledMethod::Extrapolated(method)] {
        let integrator = Integrator::ErrorControlled(ErrorControlled { method, accuracy: 1e-6 });
        let settings = SimulationSettings { integrator, time_step: 1e-2 };
        let states = Rollout::new(&model, &state, settings, 8.0).simulate().expect("a simulation").states;
        // Extrapolation damps vibrations less.
        let (before, after) = (position(&states[500]), position(&states[800]));
        let found = -states[800].bristles[0].translation.x;
        println!("{method:?}: deflection {found:e}, moves {:e}", (after - before).norm());
        let gravity = on_slope(0.95);
        assert!((found / given(-gravity.x / gravity.z / FRICTION) - 1.0).abs() < 1e-4);
        assert!((after - before).norm() < 1e-11);
    }
}

#[test]
fn other_steps_say_that_they_have_none() {
    let (model, state) = box_on_ground(down(), Some(LENGTH), 1e-3);
    let other =
        [ContactModel::Sap, ContactModel::Similar, ContactModel::Tamsi].map(Integrator::velocity_level);
    for integrator in other.into_iter().chain([Integrator::SemiImplicitEuler, Integrator::RungeKutta4]) {
        let refused = integrator.step(&StepProblem::new(&model, &state, DT), &mut StepWorkspace::default());
        assert_eq!(refused, Err(StepError::Bristles));
    }
    let message = StepError::Bristles.to_string();
    assert!(message.contains("`lagged`") && message.contains("`bristle_length`"), "{message}");
    // A state of another model.
    let mut wrong = model.completed(state.clone());
    wrong.bristles.push(wrong.bristles[0]);
    let settings = SimulationSettings { integrator: lagged(), time_step: DT };
    let refused = Rollout::new(&model, &wrong, settings, DT).simulate();
    assert_eq!(refused, Err(SimulationError::BristleCount { state: 2, model: 1 }));
}

#[test]
fn pairs_that_part_lose_their_deflection() {
    let (model, mut state) = box_on_ground(down(), Some(LENGTH), 1e-3);
    state.bodies[0].velocity.translational.x = 0.1;
    let mut last = states(&model, &state, &isobar::multibody::NoForces, 5).pop().expect("states");
    assert!(last.bristles[0].translation.norm() > 0.0);
    last.bodies[0].position.z += 0.01;
    let integrator = lagged();
    let after = integrator.step(&StepProblem::new(&model, &last, DT), &mut StepWorkspace::default());
    assert!(after.expect("a step").bristles[0].numbers().iter().all(|x| *x == 0.0));
}
